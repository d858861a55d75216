"""Text of kernels: words for numbers of limited precision, reductions and softmax of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from ..arrays import dtype_to_ctype

# ---- Words for numbers of limited precision, which are computed with as float32


def work_dtype(dtype: DTypeLike) -> str:
    """Return the dtype to compute in with values of a dtype.

    Examples
    --------
    >>> from theano_gpuarray.kernel_base import work_dtype
    >>> work_dtype("float16"), work_dtype("float64")
    ('float32', 'float64')
    """
    name = np.dtype(dtype).name
    return "float32" if name == "float16" else name


def load_w(dtype: DTypeLike) -> str:
    """Return the name of the function around each read of a kernel; empty where none is needed.

    Examples
    --------
    >>> from theano_gpuarray.kernel_base import load_w
    >>> f"{load_w('float16')}(x[i])", f"{load_w('float32')}(x[i])"
    ('ga_half2float(x[i])', '(x[i])')
    """
    return "ga_half2float" if np.dtype(dtype).name == "float16" else ""


def write_w(dtype: DTypeLike) -> str:
    """Return the name of the function around each write of a kernel; empty where none is needed.

    Examples
    --------
    >>> from theano_gpuarray.kernel_base import write_w
    >>> f"y[i] = {write_w('float16')}(z)"
    'y[i] = ga_float2half(z)'
    """
    return "ga_float2half" if np.dtype(dtype).name == "float16" else ""


# ---- Reductions and softmax of rows, by the work-items of one work-group together
#
# All of it is written with the words of ``cluda.h``, so that it is CUDA and OpenCL alike; every work-item of a group
# has
# to come by.

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])
#: Joins two values: texts of both -> text of the result.
Manner = Callable[[str, str], str]
#: Elements of the buffer of the functions with a fixed one.
WARP_SIZE = 32


def code_version(version: tuple[Any, ...]) -> Callable[[FunctionT], FunctionT]:
    """Decorator: attach a cache version to a source-generating function.

    Parameters
    ----------
    version : tuple
        An empty one says that the text is not to be cached.

    Examples
    --------
    >>> from theano_gpuarray.kernel_base import code_version
    >>> @code_version((1,))
    ... def body(x):
    ...     return f"{x} += 1"
    >>> body.code_version
    (1,)
    """

    def decorate(function: FunctionT) -> FunctionT:
        function.code_version = version  # type: ignore[attr-defined]  # callers read this attribute
        return function

    return decorate


def nvcc_kernel(name: str, params: Sequence[str] | str, body: Iterable[Any]) -> str:
    """Return the text of a kernel.

    Parameters
    ----------
    name : str
    params : str or sequence of str
        The parameters.
    body : iterable of str, or of such iterables
        Statements, without the semicolons between them.

    Examples
    --------
    >>> from theano_gpuarray.kernel_base import nvcc_kernel
    >>> print(nvcc_kernel("f", ["GLOBAL_MEM float *x"], ["x[LID_0] = 0", ["local_barrier()"]]))
    KERNEL void f(GLOBAL_MEM float *x) {
    x[LID_0] = 0;
    local_barrier();
    }
    """
    listed = params if isinstance(params, str) else ", ".join(params)
    statements = ";\n".join(_flat(body))
    return f"KERNEL void {name}({listed}) {{\n{statements};\n}}"


def _flat(body: Iterable[Any]) -> Iterable[str]:
    for part in body:
        if isinstance(part, str):
            yield part
        else:
            yield from _flat(part)


@code_version((1,))
def inline_reduce(N: Any, buf: str, pos: str, count: str, manner_fn: Manner) -> str:  # documented
    """Return text that reduces a buffer in local memory; the result is its first element, the rest is lost.

    Parameters
    ----------
    N : str or int
        Number of elements.
    buf : str
        The buffer.
    pos, count : str
        Number of the work-item, and of all of them.
    manner_fn : callable
        Returns the text that joins two values.

    Examples
    --------
    >>> from theano_gpuarray.kernel_base import inline_reduce
    >>> "buf[LID_0] + buf[theano_i]" in inline_reduce("n", "buf", "LID_0", "LDIM_0", lambda a, b: f"{a} + {b}")
    True
    """
    mine = f"{buf}[{pos}]"
    return f"""{{
  int theano_n = ({count}) < ({N}) ? ({count}) : ({N});
  for (int theano_i = ({pos}) + ({count}); theano_i < ({N}); theano_i += ({count}))
    {mine} = {manner_fn(mine, f"{buf}[theano_i]")};
  local_barrier();
  {_tree(buf, pos, manner_fn)}
}}"""


def _tree(buf: str, pos: str, manner_fn: Manner) -> str:
    """Return text that reduces the first ``theano_n`` elements of a buffer, half of them with the others, and so on."""
    mine = f"{buf}[{pos}]"
    return f"""while (theano_n > 1) {{
    const int theano_half = (theano_n + 1) / 2;
    if (({pos}) + theano_half < theano_n)
      {mine} = {manner_fn(mine, f"{buf}[({pos}) + theano_half]")};
    local_barrier();
    theano_n = theano_half;
  }}"""


def _element(x: str, stride: str, load: str, index: str) -> str:
    return f"{load}({x}[({index}) * ({stride})])"


def _sum_with_bias(x: str, stride_x: str, load_x: str, b: str, stride_b: str, load_b: str, index: str) -> str:
    """Return the text of an element of a row, with that of a bias where there is one."""
    element = _element(x, stride_x, load_x, index)
    return f"({element} + {_element(b, stride_b, load_b, index)})" if b else element


@code_version((1,))
def inline_reduce_fixed_shared(
    N: Any,  # documented
    buf: str,
    x: str,
    stride_x: str,
    load_x: str,
    pos: str,
    count: str,
    manner_fn: Manner,
    manner_init: Callable[[str], str],
    b: str = "",
    stride_b: str = "",
    load_b: str = "",
    dtype: str = "float32",
) -> str:
    """Return text that reduces a row in global memory by a buffer of 32 elements; the result is its first element.

    Parameters
    ----------
    N : str or int
        Number of elements of the row.
    buf : str
        The buffer in local memory.
    x, stride_x, load_x : str
        The row, its stride in elements, and the function around each read.
    pos, count : str
        Number of the work-item, and of all of them.
    manner_fn : callable
        Returns the text that joins two values.
    manner_init : callable
        Returns the text of a value as it is when it is first joined.
    b, stride_b, load_b : str
        A bias that is added, if there is one.
    dtype : str
        Of the result.

    Examples
    --------
    >>> from theano_gpuarray.kernel_base import inline_reduce_fixed_shared
    >>> text = inline_reduce_fixed_shared(
    ...     "n", "buf", "x", "sx", "", "LID_0", "LDIM_0", lambda a, b: f"{a} + {b}", lambda a: a)
    >>> "ga_float theano_red" in text
    True
    """
    ctype = dtype_to_ctype(work_dtype(dtype))
    first = manner_init(_sum_with_bias(x, stride_x, load_x, b, stride_b, load_b, pos))
    other = manner_init(_sum_with_bias(x, stride_x, load_x, b, stride_b, load_b, "theano_i"))
    slot = f"{buf}[({pos}) % {WARP_SIZE}]"
    return f"""{{
  const int theano_items = ({count}) < ({N}) ? ({count}) : ({N});
  int theano_n = theano_items < {WARP_SIZE} ? theano_items : {WARP_SIZE};
  {ctype} theano_red = 0;
  if (({pos}) < ({N})) {{
    theano_red = {first};
    for (int theano_i = ({pos}) + ({count}); theano_i < ({N}); theano_i += ({count}))
      theano_red = {manner_fn("theano_red", other)};
  }}
  for (int theano_turn = 0; theano_turn * {WARP_SIZE} < theano_items; theano_turn++) {{
    if (({pos}) / {WARP_SIZE} == theano_turn && ({pos}) < theano_items)
      {slot} = theano_turn ? {manner_fn(slot, "theano_red")} : theano_red;
    local_barrier();
  }}
  {_tree(buf, pos, manner_fn)}
}}"""


def _larger(a: str, b: str) -> str:
    return f"(({a}) > ({b}) ? ({a}) : ({b}))"


def _added(a: str, b: str) -> str:
    return f"({a}) + ({b})"


def _smaller(a: str, b: str) -> str:
    return f"(({a}) < ({b}) ? ({a}) : ({b}))"


def _multiplied(a: str, b: str) -> str:
    return f"({a}) * ({b})"


@code_version((1,))
def inline_reduce_sum(N: Any, buf: str, pos: str, count: str) -> str:  # documented names
    """Return text that adds up a buffer in local memory; see :func:`inline_reduce`."""
    return inline_reduce(N, buf, pos, count, _added)


@code_version((1,))
def inline_reduce_prod(N: Any, buf: str, pos: str, count: str) -> str:  # as above
    """Return text that multiplies the elements of a buffer in local memory; see :func:`inline_reduce`."""
    return inline_reduce(N, buf, pos, count, _multiplied)


@code_version((1,))
def inline_reduce_max(N: Any, buf: str, pos: str, count: str) -> str:  # as above
    """Return text that finds the largest element of a buffer in local memory; see :func:`inline_reduce`."""
    return inline_reduce(N, buf, pos, count, _larger)


@code_version((1,))
def inline_reduce_min(N: Any, buf: str, pos: str, count: str) -> str:  # as above
    """Return text that finds the smallest element of a buffer in local memory; see :func:`inline_reduce`."""
    return inline_reduce(N, buf, pos, count, _smaller)


@code_version((1,))
def inline_reduce_fixed_shared_max(
    N: Any,  # as above
    buf: str,
    x: str,
    stride_x: str,
    load_x: str,
    pos: str,
    count: str,
    b: str = "",
    stride_b: str = "",
    load_b: str = "",
    dtype: str = "float32",
) -> str:
    """Return text that finds the largest element of a row in global memory; see :func:`inline_reduce_fixed_shared`."""
    return inline_reduce_fixed_shared(
        N, buf, x, stride_x, load_x, pos, count, _larger, lambda a: a, b, stride_b, load_b, dtype
    )


@code_version((1,))
def inline_softmax(
    N: Any,  # documented
    buf: str,
    buf2: str,
    threadPos: str,  # documented
    threadCount: str,  # documented
    dtype: str = "float32",
) -> list[str]:
    """Return statements that compute the softmax of a row in local memory.

    Parameters
    ----------
    N : str or int
        Number of elements.
    buf, buf2 : str
        Buffers, each with the row. Afterwards `buf` has the softmax, and `buf2` that before it was divided.
    threadPos, threadCount : str
        Number of the work-item, and of all of them.
    dtype : str
        Of the result.

    Notes
    -----
    The statements use the variable `__i`, an int that they declare.
    """
    ctype = dtype_to_ctype(work_dtype(dtype))
    loop = f"for (__i = {threadPos}; __i < ({N}); __i += {threadCount})"
    return [
        "int __i",
        inline_reduce(N, buf, threadPos, threadCount, _larger),
        "local_barrier()",
        f"{ctype} row_max = {buf}[0]",
        "local_barrier()",
        f"{loop} {{ {buf2}[__i] = exp({buf2}[__i] - row_max); {buf}[__i] = {buf2}[__i]; }}",
        "local_barrier()",
        inline_reduce(N, buf, threadPos, threadCount, _added),
        "local_barrier()",
        f"{ctype} row_sum = {buf}[0]",
        "local_barrier()",
        f"{loop} {{ {buf}[__i] = {buf2}[__i] / row_sum; }}",
        "local_barrier()",
    ]


@code_version((1,))
def inline_softmax_fixed_shared(
    N: Any,  # documented
    buf: str,
    x: str,
    stride_x: str,
    load_x: str,
    sm: str,
    sm_stride: str,
    write_sm: str,
    threadPos: str,  # documented
    threadCount: str,  # documented
    b: str = "",
    stride_b: str = "",
    load_b: str = "",
    dtype: str = "float32",
) -> list[str]:
    """Return statements that compute the softmax of a row in global memory by a buffer of 32 elements.

    Parameters
    ----------
    N : str or int
        Number of elements.
    buf : str
        The buffer in local memory.
    x, stride_x, load_x : str
        The row, its stride in elements, and the function around each read.
    sm, sm_stride, write_sm : str
        The same of the result, which is written.
    threadPos, threadCount : str
        Number of the work-item, and of all of them.
    b, stride_b, load_b : str
        A bias that is added, if there is one.
    dtype : str
        Of the result.

    Notes
    -----
    The statements use the variable `tx`, an int that they declare.
    """
    ctype = dtype_to_ctype(work_dtype(dtype))
    row = (x, stride_x, load_x)
    bias = (b, stride_b, load_b)
    exponential = f"exp({_sum_with_bias(*row, *bias, 'tx')} - row_max)"
    loop = f"for (tx = {threadPos}; tx < ({N}); tx += {threadCount})"
    return [
        "int tx",
        inline_reduce_fixed_shared(N, buf, *row, threadPos, threadCount, _larger, lambda a: a, *bias, dtype=dtype),
        "local_barrier()",
        f"{ctype} row_max = {buf}[0]",
        "local_barrier()",
        inline_reduce_fixed_shared(
            N, buf, *row, threadPos, threadCount, _added, lambda a: f"exp({a} - row_max)", *bias, dtype=dtype
        ),
        "local_barrier()",
        f"{ctype} row_sum = {buf}[0]",
        "local_barrier()",
        f"{loop} {{ {sm}[tx * ({sm_stride})] = {write_sm}({exponential} / row_sum); }}",
        "local_barrier()",
    ]


__all__ = [
    "load_w",
    "work_dtype",
    "write_w",
    "code_version",
    "inline_reduce",
    "inline_reduce_fixed_shared",
    "inline_softmax",
    "inline_softmax_fixed_shared",
    "nvcc_kernel",
]
