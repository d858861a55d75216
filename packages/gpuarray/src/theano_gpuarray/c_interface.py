"""The Python part of the C interface for ops; `_device` looks these functions up by their names."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from theano_graph import format_error, record
from theano_linker_c.kernels import ConvolutionKernel, ConvolutionTask

from .arrays import GpuArray, asarray, broadcast_array, dtype_of_typecode, dtype_to_ctype, dtype_to_typecode, empty
from .codegen import KernelText
from .contexts import GpuContext, get_context, open_context
from .kernel_base import GpuKernel, gemm, load_w, text_of_program, work_dtype, write_w
from .region import run_kernel
from .types import as_device_value

if TYPE_CHECKING:
    from ._device import Buffer, Kernel


# ---- Arrays between C and Python, and copies of their elements

#: C code's description of an array: memory, number of the dtype, lengths, strides, offset and context.
Described = tuple["Buffer", int, tuple[int, ...], tuple[int, ...], int, GpuContext]


def describe_array(array: GpuArray) -> Described:
    """Return C code's description of an array.

    Raises
    ------
    TypeError
        If it is none.
    """
    if not isinstance(array, GpuArray):
        raise TypeError(
            format_error(
                f"C code for an array on a device got {type(array).__name__}",
                hint="pass a GpuArray: theano_gpuarray.arrays.asarray(x, context=...)",
            )
        )
    return array.buffer, dtype_to_typecode(array.dtype), array.shape, array.strides, array.offset, array.context


def make_array(
    buffer: Buffer,
    context: GpuContext,
    origin: GpuArray | None,
    typecode: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    offset: int,
) -> GpuArray:
    """Return an array from C code's description: `origin` itself where that still describes it."""
    if (
        origin is not None
        and origin.buffer is buffer
        and origin.shape == shape
        and origin.strides == strides
        and origin.offset == offset
        and origin.typecode == typecode
    ):
        return origin
    return GpuArray(buffer, dtype_of_typecode(typecode), shape, strides, offset, context)


def to_host(array: GpuArray) -> Any:
    """Return a copy on the host."""
    return np.asarray(array)


def from_host(
    context: GpuContext, address: int, typecode: int, shape: tuple[int, ...], strides: tuple[int, ...]
) -> GpuArray:
    """Return a copy of elements at an address of the host."""
    dtype = dtype_of_typecode(typecode)
    if 0 in shape:
        return empty(shape, dtype, context=context)
    ends = [(n - 1) * step for n, step in zip(shape, strides, strict=True)]
    first = sum(end for end in ends if end < 0)
    size = sum(end for end in ends if end > 0) + dtype.itemsize - first
    memory: Any = (ctypes.c_char * size).from_address(address + first)
    host: Any = np.ndarray(shape, dtype, memory, -first, strides)
    return asarray(host.copy(), context=context)


def set_array(target: GpuArray, source: GpuArray) -> None:
    """Set elements to those of another array, which is broadcast and converted."""
    target[...] = source


def move_array(target: GpuArray, source: GpuArray) -> None:
    """Copy the elements of an array of the same shape, which may be in another context."""
    if target.shape != source.shape:
        raise ValueError(
            format_error(
                f"an array of shape {source.shape} is moved to one of {target.shape}", hint="use one of that shape"
            )
        )
    target[...] = source


def copy_array(array: GpuArray, order: str) -> GpuArray:
    """Return a copy."""
    return array.copy(order)


def reshape(array: GpuArray, shape: tuple[int, ...], order: str, nocopy: int) -> GpuArray:
    """Return the elements with another shape.

    Raises
    ------
    ValueError
        If the shape has another number of elements.
    BufferError
        If that takes a copy, and none is allowed.
    """
    view = array.reshape(shape, order="C" if order == "A" else order)
    if nocopy and view.buffer is not array.buffer:
        raise BufferError(
            format_error(
                f"an array of shape {array.shape} with strides {array.strides} has no view of shape {shape}",
                hint="allow a copy",
            )
        )
    return view


def fill_bytes(array: GpuArray, value: int) -> None:
    """Set each byte of the elements of a contiguous array."""
    _check_contiguous(array, "filled")
    if array.nbytes:
        array.buffer.fill(array.offset, array.nbytes, value)


def write_array(array: GpuArray, source: Any) -> None:
    """Copy bytes of the host to the elements of a contiguous array."""
    _check_contiguous(array, "written")
    if len(source) != array.nbytes:
        raise ValueError(
            format_error(
                f"{len(source)} bytes are written to an array of {array.nbytes}", hint="pass as many as it has"
            )
        )
    if array.nbytes:
        array.buffer.write(array.offset, source)


def read_array(array: GpuArray, target: Any) -> None:
    """Copy the elements of a contiguous array to memory of the host."""
    _check_contiguous(array, "read")
    if len(target) < array.nbytes:
        raise ValueError(
            format_error(
                f"{array.nbytes} bytes of an array are read into {len(target)}", hint="pass room for all of them"
            )
        )
    if array.nbytes:
        array.buffer.read(array.offset, target[: array.nbytes])


def _check_contiguous(array: GpuArray, what: str) -> None:
    if not (array.flags["C_CONTIGUOUS"] or array.flags["F_CONTIGUOUS"]):
        raise ValueError(
            format_error(f"an array with strides {array.strides} cannot be {what} at once", hint="copy it")
        )


def take_rows(target: GpuArray, array: GpuArray, index: GpuArray, check: int) -> None:
    """Copy rows of an array, by a vector of their numbers; negative ones count from the end.

    Raises
    ------
    IndexError
        If one is out of bounds, where that is checked; others are brought within the bounds.
    """
    length = array.shape[0]
    numbers = np.asarray(index)
    if check and numbers.size and not (-length <= int(numbers.min()) and int(numbers.max()) < length):
        raise IndexError(
            format_error(f"a number of a row is out of bounds: there are {length}", hint="correct the vector")
        )
    for position, number in enumerate(numbers):
        target[position] = array[min(max(int(number), -length), length - 1)]


def concatenate(parts: Sequence[GpuArray], axis: int, typecode: int) -> GpuArray:
    """Return arrays one behind the other along an axis, in one dtype."""
    first = parts[0]
    if axis >= first.ndim:
        raise ValueError(
            format_error(f"arrays of {first.ndim} dimensions have no axis {axis}", hint="choose another axis")
        )
    length = sum(part.shape[axis] for part in parts)
    shape = (*first.shape[:axis], length, *first.shape[axis + 1 :])
    result = empty(shape, dtype_of_typecode(typecode), context=first.context)
    begin = 0
    for part in parts:
        end = begin + part.shape[axis]
        lengths = (*first.shape[:axis], part.shape[axis], *first.shape[axis + 1 :])
        if part.shape != lengths:
            raise ValueError(
                format_error(
                    f"arrays of shapes {first.shape} and {part.shape} are joined along axis {axis}", hint="reshape"
                )
            )
        result[(*[slice(None)] * axis, slice(begin, end))] = part
        begin = end
    return result


# ---- Contexts and kernels


def compile_kernel(context: GpuContext, source: str, name: str, letters: str) -> Kernel:
    """Return a kernel of a text that may include ``cluda.h``; it is compiled once for each context.

    Parameters
    ----------
    context : GpuContext
    source, name : str
    letters : str
        One for each parameter, see :class:`~theano_gpuarray.codegen.KernelText`.
    """
    return context.kernel(KernelText(name, text_of_program(source, name), letters))


def default_context() -> GpuContext:
    """Return the context of the flag ``device``."""
    return get_context(None)


def open_device(name: str) -> GpuContext:
    """Open a device, as "cuda0"."""
    return open_context(name)


# ---- Expressions that are computed for each element


@record
class Operand:
    """A name in an expression: a number or an array, which is read, written or both."""

    name: str
    dtype: str
    is_number: bool
    is_read: bool
    is_written: bool


class Expression:
    """An expression in the text of a kernel, as ``z = a * b``, that is computed for each element.

    Parameters
    ----------
    context : GpuContext
    preamble : str
        Functions that it calls.
    text : str
        The expression: each name is an element of an array, or a number; of 16 bits as float.
    operands : sequence of tuple
        Name, number of the dtype, whether it is a number, whether it is read, whether it is written.
    """

    def __init__(
        self, context: GpuContext, preamble: str, text: str, operands: Sequence[tuple[str, int, int, int, int]]
    ) -> None:
        self._context = context
        self._preamble = preamble
        self._text = text
        self._operands = tuple(
            Operand(name, dtype_of_typecode(code).name, bool(number), bool(read), bool(written))
            for name, code, number, read, written in operands
        )
        self._kernel = cache(self._compiled)

    def _compiled(self, ndim: int) -> GpuKernel:
        params: list[Any] = ["size"] * (1 + ndim)
        declared = ["const ga_size count", *(f"const ga_size n{d}" for d in range(ndim))]
        before, after = [], []
        for k, x in enumerate(self._operands):
            kind, work = dtype_to_ctype(x.dtype), dtype_to_ctype(work_dtype(x.dtype))
            if x.is_number:
                params.append(x.dtype)
                declared.append(f"const {kind} number{k}")
                before.append(f"const {work} {x.name} = {load_w(x.dtype)}(number{k});")
                continue
            params += [GpuArray, "ssize", *["ssize"] * ndim]
            declared += [f"GLOBAL_MEM char *memory{k}", f"const ga_ssize offset{k}"]
            declared += [f"const ga_ssize step{k}_{d}" for d in range(ndim)]
            offset = " + ".join([f"offset{k}", *(f"i{d} * step{k}_{d}" for d in range(ndim))])
            element = f"*(GLOBAL_MEM {kind} *)(memory{k} + {offset})"
            before.append(f"{work} {x.name} = {f'{load_w(x.dtype)}({element})' if x.is_read else '0'};")
            if x.is_written:
                after.append(f"{element} = {write_w(x.dtype)}({x.name});")
        index = ["ga_size rest = i;"]
        for d in reversed(range(ndim)):
            index += [f"const ga_ssize i{d} = (ga_ssize)(rest % n{d});", f"rest /= n{d};"]
        body = "\n    ".join([*index, *before, f"{self._text};", *after])
        code = (
            f"{self._preamble}\nKERNEL void elemwise({', '.join(declared)}) {{\n"
            "  for (ga_size i = (ga_size)GID_0 * LDIM_0 + LID_0; i < count; i += (ga_size)GDIM_0 * LDIM_0) {\n"
            f"    {body}\n  }}\n}}\n"
        )
        return GpuKernel(code, "elemwise", params, self._context)

    def __call__(self, arguments: Sequence[GpuArray | bytes], broadcast: int) -> None:
        """Compute it.

        Parameters
        ----------
        arguments : sequence of GpuArray or bytes
            Arrays, and the bytes of numbers.
        broadcast : int
            Whether lengths of 1 stand for the others.

        Raises
        ------
        ValueError
            If the shapes do not fit.
        """
        arrays = [x for x in arguments if isinstance(x, GpuArray)]
        shape = np.broadcast_shapes(*[x.shape for x in arrays])
        for x, operand in zip(arguments, self._operands, strict=True):
            if isinstance(x, GpuArray) and x.shape != shape and (not broadcast or operand.is_written):
                raise ValueError(
                    format_error(
                        f"`{operand.name}` has shape {x.shape}, and the elements are those of {shape}",
                        hint="pass arrays of one shape" if broadcast else "pass the flag GE_BROADCAST",
                    )
                )
        operands: list[Any] = [count := int(np.prod(shape, dtype=np.int64)), *shape]
        for x, operand in zip(arguments, self._operands, strict=True):
            if isinstance(x, GpuArray):
                view = broadcast_array(x, shape)
                operands += [view, view.offset, *view.strides]
            else:
                operands.append(np.frombuffer(x, operand.dtype)[0])
        if count:
            self._kernel(len(shape))(*operands, n=count)


# ---- Products and correlations

_TASKS: Sequence[ConvolutionTask] = ("forward", "weight_grad", "input_grad")


def multiply(trans_a: int, trans_b: int, alpha: float, a: GpuArray, b: GpuArray, beta: float, z: GpuArray) -> None:
    """Let ``z = alpha * a @ b + beta * z``, of matrices and vectors, or for each matrix of 3-dimensional arrays.

    Without dimensions, `z` is the product of two vectors; as a matrix of two vectors it is their outer product.

    Raises
    ------
    ValueError
        If the shapes do not fit.
    """
    if a.ndim == b.ndim == z.ndim == 3 and a.shape[0] == b.shape[0] == z.shape[0]:
        for i in range(z.shape[0]):
            gemm(alpha, a[i], b[i], beta, z[i], bool(trans_a), bool(trans_b), overwrite_c=True)
        return
    kinds = (a.ndim, b.ndim, z.ndim)
    left, right, result = a, b, z
    if kinds == (2, 1, 1):
        right, result = b[:, None], z[:, None]
    elif kinds == (1, 1, 2):
        left, right = a[:, None], b[None, :]
    elif kinds == (1, 1, 0):
        left, right, result = a[None, :], b[:, None], z[None, None]
    elif kinds != (2, 2, 2):
        raise ValueError(
            format_error(f"arrays of {kinds} dimensions are no operands of a product", hint="pass matrices and vectors")
        )
    gemm(alpha, left, right, beta, result, bool(trans_a), bool(trans_b), overwrite_c=True)


def correlate(
    direction: int, bottom: GpuArray, weights: GpuArray, top: GpuArray, axes: int, numbers: Sequence[int]
) -> None:
    """Compute a correlation (0), its gradient by the filters (1) or by the images (2) into the array of the result.

    Parameters
    ----------
    direction : {0, 1, 2}
    bottom, weights, top : GpuArray
        Images, filters and the result of a correlation.
    axes : int
    numbers : sequence of int
        Zeros before the axes, zeros behind them, steps, dilations, and the number of groups.
    """
    before, after, steps, dilations = (tuple(numbers[k * axes : (k + 1) * axes]) for k in range(4))
    kernel = ConvolutionKernel(
        _TASKS[direction],
        bottom.dtype.name,
        steps,
        dilations,
        tuple(zip(before, after, strict=True)),
        False,
        numbers[-1],
    )
    result = (top, weights, bottom)[direction]
    operands: tuple[GpuArray, ...] = ((bottom, weights), (bottom, top), (weights, top))[direction]
    lengths = [] if direction == 0 else [np.asarray(result.shape[2:], "int64")]
    (outcome,) = run_kernel(kernel, result.context, [*operands, *lengths])
    computed = as_device_value(outcome, result.context)
    if computed.shape != result.shape:
        raise ValueError(
            format_error(
                f"a correlation gives an array of shape {computed.shape}, not of {result.shape}",
                hint="allocate one of that shape",
            )
        )
    result[...] = computed


__all__ = [
    "Expression",
    "compile_kernel",
    "concatenate",
    "copy_array",
    "correlate",
    "default_context",
    "describe_array",
    "fill_bytes",
    "from_host",
    "make_array",
    "move_array",
    "multiply",
    "open_device",
    "read_array",
    "reshape",
    "set_array",
    "take_rows",
    "to_host",
    "write_array",
]
