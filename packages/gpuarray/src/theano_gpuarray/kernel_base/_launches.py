"""Kernels with a text of their own: descriptions, launches with arrays and numbers, and products of matrices."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from theano_graph import format_error
from theano_linker_c.kernels import MatrixProductKernel

from ..arrays import SIZE, SSIZE, GpuArray, dtype_to_ctype, zeros
from ..codegen import KernelText
from ..contexts import GpuContext
from ..region import run_kernel
from ..types import as_device_value

# ---- Descriptions: text, parameters and names

_FLAGS = ("have_double", "have_small", "have_complex", "have_half")
_C_FLAGS = {
    "have_double": "GA_USE_DOUBLE",
    "have_small": "GA_USE_SMALL",
    "have_complex": "GA_USE_COMPLEX",
    "have_half": "GA_USE_HALF",
}
#: The names of parameters in ``#kernel`` lines that are no dtypes.
_WORDS: Mapping[str, Any] = {"*": GpuArray, "size": SIZE, "ssize": SSIZE}
#: Bytes of the smallest type that is not small.
_SMALL = 4


class Kernel:
    """A kernel of an op.

    Parameters
    ----------
    code : str
        The text, in which the words of ``cluda.h`` may be used: ``KERNEL``, ``GLOBAL_MEM``, ``LID_0``, ``ga_float``,
        ``ga_size``, ...
    params : sequence
        The kind of each parameter: `GpuArray` for memory, `SIZE` and `SSIZE` for lengths, dtypes for numbers. With the
        flag ``ctypes`` these are texts of C.
    name : str
        The name of the function in the text.
    flags : dict
        ``have_double``, ``have_small`` (types of less than 4 bytes), ``have_complex``, ``have_half``: whether the
        kernel uses such variables; ``ctypes``; and ``cflags``, a text such as ``"GA_USE_DOUBLE|GA_USE_SMALL"`` in place
        of these. :meth:`get_flags` makes them.
    codevar, objvar, fname, sname : str, optional
        Names in C code: of the text (``kcode_<name>``), of the kernel (``k_<name>``), and of the functions that launch
        it with given numbers of work-items (``<name>_call``) and for a number of elements (``<name>_scall``).

    Raises
    ------
    ValueError
        For a flag that does not exist.

    Examples
    --------
    >>> from theano_gpuarray.arrays import SIZE, GpuArray
    >>> text = "KERNEL void f(GLOBAL_MEM ga_float *x, ga_size n) {}"
    >>> k = Kernel(text, [GpuArray, SIZE], "f", Kernel.get_flags("float32"))
    >>> k.objvar, k.sname, k.parameters
    ('k_f', 'f_scall', ('*', 'size'))
    """

    def __init__(
        self,
        code: str,
        params: Sequence[Any],
        name: str,
        flags: Mapping[str, Any],
        codevar: str | None = None,
        objvar: str | None = None,
        fname: str | None = None,
        sname: str | None = None,
    ) -> None:
        unknown = sorted(set(flags) - {*_FLAGS, "ctypes", "cflags", "cluda"})
        if unknown:
            raise ValueError(
                format_error(
                    f"kernel {name!r}: there is no flag {unknown[0]!r}",
                    hint=f"use {', '.join(_FLAGS)}, ctypes and cflags, or Kernel.get_flags(dtype, ...)",
                )
            )
        self.code = code
        self.params = list(params)
        self.name = name
        self.flags = dict(flags)
        self.codevar = f"kcode_{name}" if codevar is None else codevar
        self.objvar = f"k_{name}" if objvar is None else objvar
        self.fname = f"{name}_call" if fname is None else fname
        self.sname = f"{name}_scall" if sname is None else sname

    @staticmethod
    def get_flags(*types: Any) -> dict[str, bool]:
        """Return the flags for a kernel with variables of some dtypes.

        Parameters
        ----------
        *types : dtype, or numbers of dtypes

        Examples
        --------
        >>> Kernel.get_flags("float64", "int8")["have_small"]
        True
        """
        flags = dict.fromkeys(_FLAGS, False)
        for kind in types:
            if kind in (SIZE, SSIZE) or kind is GpuArray:
                continue
            dtype = np.dtype(kind)
            flags["have_double"] |= dtype.name in ("float64", "complex128")
            flags["have_small"] |= dtype.itemsize < _SMALL
            flags["have_complex"] |= dtype.kind == "c"
            flags["have_half"] |= dtype.name == "float16"
        return flags

    @property
    def parameters(self) -> tuple[str, ...]:
        """The parameters by name: ``*``, ``size``, ``ssize``, or a dtype."""
        if self.flags.get("ctypes"):
            raise TypeError(
                format_error(
                    f"the parameters of kernel {self.name!r} are known to its C code only",
                    hint="leave out the flag `ctypes` for kernels that are launched from Python",
                )
            )
        return tuple(map(_parameter_name, self.params))

    def c_flags(self) -> str:
        """Return the flags as C code has them."""
        flags = self.flags.get("cflags")
        if flags:
            return str(flags)
        return "|".join(_C_FLAGS[flag] for flag in _FLAGS if self.flags.get(flag)) or "0"

    def c_type(self, position: int) -> str:
        """Return the type of a parameter in C: ``ga_size``, ``ga_float``, or ``void *`` for memory."""
        name = self.parameters[position]
        return {"*": "void *", "size": "ga_size", "ssize": "ga_ssize"}.get(name) or dtype_to_ctype(name)

    def key(self) -> tuple[Any, ...]:
        """Return the key that is equal for equal kernels."""
        return self.code, self.name, tuple(map(str, self.params)), tuple(sorted(self.flags.items()))


def _parameter_name(kind: Any) -> str:
    if isinstance(kind, type) and issubclass(kind, GpuArray):
        return "*"
    if isinstance(kind, int) and kind in (SIZE, SSIZE):
        return "size" if kind == SIZE else "ssize"
    if isinstance(kind, str) and kind in _WORDS:
        return kind
    name: str = np.dtype(kind).name
    return name


def parameter_of(word: str) -> Any:
    """Return a parameter as :class:`Kernel` has it, of its word in a ``#kernel`` line.

    Raises
    ------
    ValueError
        If there is no such dtype.
    """
    if word in _WORDS:
        return _WORDS[word]
    try:
        return np.dtype(word).name
    except TypeError:
        raise ValueError(
            format_error(
                f"{word!r} is no parameter of a kernel", hint="use `*`, `size`, `ssize`, or the name of a dtype"
            )
        ) from None


# ---- Launches with arrays and numbers

#: Letters of the runtime for parameters: other types cannot be passed by value.
_LETTERS = {
    "*": "P",
    "size": "q",
    "ssize": "q",
    "int64": "q",
    "uint64": "q",
    "int8": "b",
    "bool": "B",
    "uint8": "B",
    "int16": "h",
    "uint16": "H",
    "float16": "H",
    "int32": "i",
    "uint32": "I",
    "float32": "f",
    "float64": "d",
}
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]cluda\.h[">][ \t]*$', re.MULTILINE)
_MOST_ITEMS = 256
_SIGN = 1 << 63


class GpuKernel:
    """A kernel that has been compiled for a context.

    Parameters
    ----------
    source : str
        The text; ``#include "cluda.h"`` may stand in it.
    name : str
        The name of the function.
    types : sequence
        The kind of each parameter, as for :class:`Kernel`.
    context : GpuContext

    Raises
    ------
    TypeError
        For a parameter that cannot be passed by value.
    DeviceError
        If the text cannot be compiled; the message has the compiler's output.

    Examples
    --------
    >>> from theano_gpuarray.arrays import SIZE, zeros
    >>> from theano_gpuarray.contexts import open_context
    >>> context = open_context("null0")
    >>> k = GpuKernel("KERNEL void f(GLOBAL_MEM ga_float *x, ga_size n) {}", "f", [GpuArray, SIZE], context)
    >>> k(zeros(10, "float32", context=context), 10, n=10)
    """

    def __init__(self, source: str, name: str, types: Sequence[Any], context: GpuContext) -> None:
        kernel = Kernel(source, types, name, {})
        self.context = context
        self.name = name
        self._parameters = kernel.parameters
        for number, word in enumerate(self._parameters):
            if word not in _LETTERS:
                raise TypeError(
                    format_error(
                        f"kernel {name!r}: parameter {number} is a {word}, which no device takes by value",
                        hint="pass a wider number and convert it in the kernel, or an array",
                    )
                )
        letters = "".join(_LETTERS[word] for word in self._parameters)
        self._kernel = context.kernel(KernelText(name, text_of_program(source, name), letters))

    @property
    def maxlsize(self) -> int:
        """Work-items of a work-group at most."""
        return self._kernel.max_local

    @property
    def numargs(self) -> int:
        """Number of parameters."""
        return len(self._parameters)

    def __call__(
        self,
        *arguments: Any,
        n: int | Sequence[int] | None = None,
        gs: int | Sequence[int] | None = None,
        ls: int | Sequence[int] | None = None,
        shared: int = 0,
    ) -> None:
        """Launch the kernel.

        Parameters
        ----------
        *arguments : GpuArray or number
            One for each parameter. Of an array its memory is passed; offsets and strides are parameters of their own.
        n : int or sequence of int, optional
            Elements along each dimension: there are at least so many work-items, in groups of a size that fits the
            device.
        gs, ls : int or sequence of int, optional
            In place of `n`: numbers of work-groups, and of work-items in each, along each dimension.
        shared : int
            Bytes of local memory beyond the declarations of the text.

        Raises
        ------
        TypeError
            If the number of arguments, or one of them, does not fit.
        ValueError
            If neither `n`, nor both `gs` and `ls` are given.
        """
        if len(arguments) != len(self._parameters):
            raise TypeError(
                format_error(
                    f"kernel {self.name!r} has {len(self._parameters)} parameters, got {len(arguments)} arguments",
                    hint=f"pass one for each of {', '.join(self._parameters)}",
                )
            )
        groups, local = self._sizes(n, gs, ls)
        operands = [
            self._argument(i, word, x) for i, (word, x) in enumerate(zip(self._parameters, arguments, strict=True))
        ]
        self.context.launch(self._kernel, groups, local, operands, shared)

    def _sizes(self, n: Any, gs: Any, ls: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
        if n is not None:
            counts = _as_tuple(n)
            most = max(1, min(_MOST_ITEMS, self.maxlsize))
            local = tuple(min(most, max(counts[0], 1)) if d == 0 else 1 for d in range(len(counts)))
            return tuple(-(-count // items) for count, items in zip(counts, local, strict=True)), local
        if gs is None or ls is None:
            raise ValueError(
                format_error(
                    f"kernel {self.name!r}: it is not said how many work-items there are",
                    hint="pass n=elements, or gs=work-groups and ls=work-items in each",
                )
            )
        return _as_tuple(gs), _as_tuple(ls)

    def _argument(self, number: int, word: str, value: Any) -> Any:
        if word == "*":
            if isinstance(value, GpuArray):
                return value.buffer
            raise TypeError(
                format_error(
                    f"kernel {self.name!r}: argument {number} is {type(value).__name__}, not an array on the device",
                    hint="pass a GpuArray",
                )
            )
        if word == "float16":
            # The kernel gets the bits.
            return int(np.asarray(value, word).view("uint16"))
        if word.startswith("float"):
            return float(value)
        whole = int(np.asarray(value)[()])
        # Parameters of 64 bits are passed with a sign.
        return whole - 2 * _SIGN if whole >= _SIGN else whole


def text_of_program(source: str, name: str) -> str:
    """Return the text of a program's kernel, to stand behind the words of ``cluda.h``.

    The line that includes them is left out, and the compiler counts lines from the first of `source`.

    Parameters
    ----------
    source, name : str
        The text, and the kernel's name, which messages of the compiler give as that of a file.
    """
    return f'#line 1 "{name}"\n{_INCLUDE.sub("", source)}'


def _as_tuple(value: Any) -> tuple[int, ...]:
    return (int(value),) if isinstance(value, (int, np.integer)) else tuple(int(v) for v in value)


# ---- Products of matrices


def gemm(
    alpha: float,
    A: GpuArray,  # the documented names
    B: GpuArray,  # as above
    beta: float = 0.0,
    C: GpuArray | None = None,  # as above
    trans_a: bool = False,
    trans_b: bool = False,
    overwrite_c: bool = False,
) -> GpuArray:
    """Return ``alpha * A @ B + beta * C``.

    Parameters
    ----------
    alpha, beta : float
        Where beta is 0, C is not read.
    A, B, C : GpuArray
        Matrices of one dtype, float32 or float64, in one context.
    trans_a, trans_b : bool
        Whether the transposed matrices are multiplied.
    overwrite_c : bool
        Whether C itself gets the result.

    Raises
    ------
    TypeError
        If these are no matrices of one dtype.
    ValueError
        If their shapes do not fit.

    Examples
    --------
    >>> from theano_gpuarray.contexts import open_context
    >>> context = open_context("null0")
    >>> a = zeros((2, 3), "float32", context=context)
    >>> gemm(1.0, a, a, trans_b=True).shape
    (2, 2)
    """
    operands = [A, B] if C is None else [A, B, C]
    if any(not isinstance(x, GpuArray) or x.ndim != 2 or x.dtype != A.dtype for x in operands):
        kinds = [f"{x.dtype} of shape {x.shape}" if isinstance(x, GpuArray) else type(x).__name__ for x in operands]
        raise TypeError(
            format_error("gemm takes matrices of one dtype on a device", context=kinds, hint="convert them with astype")
        )
    left, right = (A.T if trans_a else A), (B.T if trans_b else B)
    dtype = A.dtype.name
    if C is None:
        C, beta = zeros((left.shape[0], right.shape[1]), dtype, context=A.context), 0.0
    factors = [np.asarray(v, dtype) for v in (alpha, beta)]
    (outcome,) = run_kernel(MatrixProductKernel("gemm", dtype), A.context, [C, factors[0], left, right, factors[1]])
    result = as_device_value(outcome, A.context)
    if not overwrite_c:
        return result
    C[...] = result
    return C


__all__ = ["Kernel", "GpuKernel", "text_of_program", "gemm"]
