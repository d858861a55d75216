"""Views, joins, diagonals, and arrays that follow from lengths, on devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from types import MappingProxyType

import numpy as np

from theano_graph import format_error, record
from theano_linker_c.kernels import (
    ArrayRoutineKernel,
    ConcatenateKernel,
    FullKernel,
    IndexViewKernel,
    Kernel,
    LengthKernel,
    ReshapeKernel,
    SpecifyShapeKernel,
    SplitKernel,
    StackKernel,
    TransposeKernel,
    memory_type,
)
from theano_linker_c.scalar import CValue, c_stored

from ._form import DeviceOperand, Operand, Recorder, Run, contiguous_strides, register_device_form
from ._index_regions import host_positions, resolve
from ._kernel_writer import (
    KernelWriter,
    broadcast_to,
    contiguous,
    copy_into,
    host_numbers,
    is_device_dtype,
    merged_dimensions,
    move_type,
    on_device,
    spread,
)
from .reduction import cumulative

# ---- Views; a kernel is launched only where a view cannot be


def _after_first(kernel: object, count: int) -> Sequence[int]:
    return range(1, count)


@register_device_form(TransposeKernel)
def _transpose(kernel: TransposeKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    x = on_device(recorder, operands[0])
    for axis in kernel.drop:
        if x.shape[axis] != 1:
            raise ValueError(
                format_error(
                    f"dimshuffle: dimension {axis} of an array of shape {x.shape} cannot be dropped",
                    hint="drop dimensions of length 1 only, index it (x[0]), or reduce over it",
                )
            )
    shape = [1 if axis is None else x.shape[axis] for axis in kernel.order]
    return [x.view(shape, [0 if axis is None else x.strides[axis] for axis in kernel.order])]


@register_device_form(LengthKernel)
def _length(kernel: LengthKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    return [np.asarray(operands[0].shape[kernel.axis], "int64")]


@register_device_form(SpecifyShapeKernel, host_inputs=_after_first)
def _specify_shape(kernel: SpecifyShapeKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    x, *lengths = operands
    axes = [axis for axis, checked in enumerate(kernel.checked) if checked]
    if not lengths:
        for axis in axes:
            if x.shape[axis] != 1:
                raise ValueError(
                    format_error(
                        f"Dimension {axis} in Rebroadcast's input was supposed to be 1 (got {x.shape[axis]} instead)",
                        hint="pass an array of length 1 there, or do not make this dimension broadcastable",
                    )
                )
    for axis, length in zip(axes, lengths, strict=False):
        (n,) = host_numbers(length)
        if x.shape[axis] != n and kernel.compared:
            raise ValueError(
                format_error(
                    f"Input dimension mis-match. (dimension {axis} has length {x.shape[axis]}, what it is used with "
                    f"has {n})",
                    hint="a length of 1 broadcasts only where it is declared",
                )
            )
        if x.shape[axis] != n:
            raise AssertionError(
                format_error(
                    f"SpecifyShape: dimension {axis} has length {x.shape[axis]}, expected {n} (shape {x.shape})",
                    hint="pass an array of the specified shape, or specify another one",
                )
            )
    return [x]


@register_device_form(ReshapeKernel, host_inputs=_after_first)
def _reshape(kernel: ReshapeKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    x, lengths = on_device(recorder, operands[0]), host_numbers(operands[1])
    shape = _new_shape(kernel.ndim_out, x.shape, lengths)
    strides = reshaped_strides(x.shape, x.strides, shape)
    if strides is None:
        x = contiguous(recorder, x)
        strides = contiguous_strides(shape, x.itemsize)
    return [x.view(shape, strides)]


def _new_shape(ndim: int, shape: tuple[int, ...], lengths: Sequence[int]) -> tuple[int, ...]:
    """Return the lengths that are wanted, with the one that is -1 worked out."""
    if len(lengths) != ndim:
        raise ValueError(format_error(f"reshape: the shape has {len(lengths)} lengths, expected {ndim}"))
    if min(lengths, default=0) < -1 or sum(n == -1 for n in lengths) > 1:
        raise ValueError(
            format_error(
                f"reshape: {tuple(lengths)} is no shape: at most one length may be -1",
                hint="write lengths from 0 up, and -1 for one that follows from the others",
            )
        )
    product, size = 1, 1
    for n in lengths:
        product *= 1 if n == -1 else n
    for n in shape:
        size *= n
    if product != size if -1 not in lengths else product == 0 or size % product:
        raise ValueError(
            format_error(
                f"reshape: cannot give an array of shape {shape} the shape {tuple(lengths)}",
                hint="the numbers of elements must be equal; one length may be -1",
            )
        )
    return tuple(size // product if n == -1 else n for n in lengths)


def reshaped_strides(shape: Sequence[int], strides: Sequence[int], lengths: Sequence[int]) -> tuple[int, ...] | None:
    """Return the strides of the view that has the wanted lengths, or None where there is no such view.

    Parameters
    ----------
    shape, strides : sequence of int
        Of the array.
    lengths : sequence of int
        With the same number of elements.
    """
    if 0 in lengths:
        return contiguous_strides(lengths, 0)
    old = [(n, s) for n, s in zip(shape, strides, strict=True) if n != 1]
    result: list[int] = []
    first = 0
    for n in lengths:
        if n == 1:
            result.append(0)
            continue
        # Dimensions of the array that together hold this one; the remainder of the last of them serves the next.
        if first == len(old):
            return None
        length, stride = old[first]
        while length % n and first + 1 < len(old):
            inner, step = old[first + 1]
            if stride != inner * step:
                return None
            first += 1
            length, stride = length * inner, step
        if length % n:
            return None
        result.append(stride * (length // n))
        old[first] = (length // n, stride)
        first += old[first][0] == 1
    return tuple(result)


@register_device_form(SplitKernel, host_inputs=_after_first)
def _split(kernel: SplitKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    x, lengths, axis = on_device(recorder, operands[0]), host_numbers(operands[2]), kernel.axis
    if sum(lengths) != x.shape[axis] or min(lengths, default=0) < 0:
        raise ValueError(
            format_error(
                f"split: lengths {lengths} do not add up to {x.shape[axis]} in {len(lengths)} parts",
                hint="give lengths from 0 up that add up to the length of the axis",
            )
        )
    parts, offset = [], x.offset
    for n in lengths:
        shape = (*x.shape[:axis], n, *x.shape[axis + 1 :])
        parts.append(x.view(shape, x.strides, offset))
        offset += n * x.strides[axis]
    return parts


@register_device_form(IndexViewKernel, host_inputs=lambda kernel, count: host_positions(kernel.entries))
def _index_view(kernel: IndexViewKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    x = on_device(recorder, operands[0])
    region = resolve(kernel.entries, x, operands, kernel.ndims)
    return [x.view(region.shape, region.strides, x.offset + region.start)]


# ---- Joins: vectors of scalars, arrays full of a value, arrays one after the other

#: Bytes of arguments that any device takes.
_ARGUMENT_BYTES = 1000


@register_device_form(StackKernel, supports=lambda kernel: is_device_dtype(kernel.dtype))
def _stack(kernel: StackKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    if not any(isinstance(x, DeviceOperand) for x in operands):
        return [np.array([np.asarray(x) for x in operands], kernel.dtype)]
    result = recorder.empty(kernel.dtype, (len(operands),))
    join_parts(recorder, result, [_as_vector(on_device(recorder, x)) for x in operands], 0)
    return [result]


def _as_vector(x: DeviceOperand) -> DeviceOperand:
    return x.view((1,), (x.itemsize,))


@register_device_form(
    FullKernel,
    supports=lambda kernel: is_device_dtype(kernel.dtype),
    host_inputs=lambda kernel, count: range(1, count),
)
def _full(kernel: FullKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    value, *lengths = operands
    shape = tuple(host_numbers(n)[0] for n in lengths)
    if min(shape, default=0) < 0:
        raise ValueError(
            format_error(f"alloc: {shape} is no shape: a length is negative", hint="pass lengths from 0 up")
        )
    ends = shape[len(shape) - value.ndim :]
    if any(n != m and not s for n, m, s in zip(value.shape, ends, kernel.broadcastable, strict=True)):
        raise ValueError(
            format_error(
                f"alloc: a value of shape {value.shape} does not fit into the shape {shape}",
                hint="lengths must be equal; only dimensions that are declared broadcastable broadcast",
            )
        )
    result = recorder.empty(kernel.dtype, shape)
    if not isinstance(value, DeviceOperand) and not np.asarray(value).tobytes().strip(b"\0"):
        recorder.fill(result, 0)
    else:
        copy_into(recorder, result, broadcast_to(on_device(recorder, value), shape))
    return [result]


@register_device_form(
    ConcatenateKernel,
    supports=lambda kernel: is_device_dtype(kernel.dtype),
    host_inputs=lambda kernel, count: (0,),
)
def _concatenate(kernel: ConcatenateKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    parts, axis = [on_device(recorder, x) for x in operands[1:]], kernel.axis
    rests = {(*x.shape[:axis], *x.shape[axis + 1 :]) for x in parts}
    if len(rests) > 1:
        raise ValueError(
            format_error(
                f"join: shapes {', '.join(str(x.shape) for x in parts)} do not fit along axis {axis}",
                hint="all lengths but that of the axis must be equal",
            )
        )
    length = sum(x.shape[axis] for x in parts)
    result = recorder.empty(kernel.dtype, (*parts[0].shape[:axis], length, *parts[0].shape[axis + 1 :]))
    join_parts(recorder, result, parts, axis)
    return [result]


def join_parts(recorder: Recorder, result: DeviceOperand, parts: Sequence[DeviceOperand], axis: int) -> None:
    """Copy arrays one after the other along an axis, by as few launches as their arguments fit into."""
    begins = [0, *accumulate(x.shape[axis] for x in parts)]
    filled = [(x, begin) for x, begin in zip(parts, begins, strict=False) if x.size]
    if len(filled) == 1:
        copy_into(recorder, result, filled[0][0])
        return
    each = 8 * (3 + result.ndim)
    most = max((_ARGUMENT_BYTES - 8 * (4 + 2 * result.ndim)) // each, 1)
    for first in range(0, len(filled), most):
        chosen = filled[first : first + most]
        begin, end = chosen[0][1], chosen[-1][1] + chosen[-1][0].shape[axis]
        shape = (*result.shape[:axis], end - begin, *result.shape[axis + 1 :])
        target = result.view(shape, result.strides, result.offset + begin * result.strides[axis])
        _join(recorder, target, [(x, at - begin) for x, at in chosen], axis)


def _join(recorder: Recorder, target: DeviceOperand, parts: Sequence[tuple[DeviceOperand, int]], axis: int) -> None:
    """Launch one copy of parts that begin at some positions along an axis."""
    kind = move_type(target.itemsize)
    # Along the axis the first part stands for all: the others differ in their lengths, not in how dimensions join.
    shape, strides = merged_dimensions(
        target.shape, target.strides, *(x.strides for x, _ in parts), apart=(axis, axis + 1)
    )
    along = len(
        merged_dimensions(target.shape[:axis], *(x.strides[:axis] for x in (target, *(x for x, _ in parts))))[0]
    )
    writer = KernelWriter(f"join_{len(parts)}")
    writer.writes(p=target)
    lengths, into = writer.numbers("n", shape), writer.numbers("s", strides[0])
    for k, ((x, begin), target_strides) in enumerate(zip(parts, strides[1:], strict=True)):
        writer.array(f"q{k}_", x)
        writer.number(f"begin{k}", begin)
        writer.numbers(f"t{k}_", target_strides)
    writer.walk(target.size)
    places = writer.positions(lengths)
    writer.add(f"GLOBAL_MEM {kind} *to = (GLOBAL_MEM {kind} *)(p + p_at + {_dot(places, into)});")
    for k in reversed(range(len(parts))):
        own_places = [f"({j} - begin{k})" if d == along else j for d, j in enumerate(places)]
        at = f"q{k}__at + {_dot(own_places, [f't{k}_{d}' for d in range(len(shape))])}"
        head = f"if (j{along} >= begin{k}) " if k else ""
        tail = " else" if k else ""
        writer.add(f"{head}*to = *(GLOBAL_MEM const {kind} *)(q{k}_ + {at});{tail}")
    writer.end()
    writer.launch(recorder, *spread(recorder, target.size))


def _dot(places: Sequence[str], strides: Sequence[str]) -> str:
    return " + ".join(f"{j} * {s}" for j, s in zip(places, strides, strict=True))


# ---- Diagonals, and matrices with a diagonal


@record
class DiagonalKernel(Kernel):
    """A copy of a diagonal of two dimensions, which is the last dimension of the result.

    Parameters
    ----------
    dtype : str
    offset : int
        0 is the main diagonal, positive above, negative below.
    axis1, axis2 : int
        From 0 up, different.
    """

    dtype: str
    offset: int
    axis1: int
    axis2: int


@record
class DiagonalMatrixKernel(Kernel):
    """Matrices of zeros, on a diagonal of which are the elements of the last dimension.

    Parameters
    ----------
    dtype : str
    offset : int
    axis1, axis2 : int
        The dimensions of the result that are rows and columns, from 0 up, different.
    """

    dtype: str
    offset: int
    axis1: int
    axis2: int


def diagonal_view(x: DeviceOperand, offset: int, axis1: int, axis2: int) -> DeviceOperand:
    """Return a diagonal as a view, with the diagonal as its last dimension."""
    down, right = max(-offset, 0), max(offset, 0)
    length = max(0, min(x.shape[axis1] - down, x.shape[axis2] - right))
    others = [d for d in range(x.ndim) if d not in (axis1, axis2)]
    shape = (*(x.shape[d] for d in others), length)
    strides = (*(x.strides[d] for d in others), x.strides[axis1] + x.strides[axis2])
    begin = x.offset + down * x.strides[axis1] + right * x.strides[axis2] if length else x.offset
    return x.view(shape, strides, begin)


@register_device_form(DiagonalKernel, supports=lambda kernel: is_device_dtype(kernel.dtype))
def _diagonal(kernel: DiagonalKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    x = on_device(recorder, operands[0])
    return [contiguous(recorder, diagonal_view(x, kernel.offset, kernel.axis1, kernel.axis2), copied=True)]


@register_device_form(DiagonalMatrixKernel, supports=lambda kernel: is_device_dtype(kernel.dtype))
def _matrix(kernel: DiagonalMatrixKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    x = on_device(recorder, operands[0])
    side = x.shape[-1] + abs(kernel.offset)
    shape = list(x.shape[:-1])
    for axis in sorted((kernel.axis1, kernel.axis2)):
        shape.insert(axis, side)
    result = recorder.empty(kernel.dtype, shape)
    recorder.fill(result, 0)
    copy_into(recorder, diagonal_view(result, kernel.offset, kernel.axis1, kernel.axis2), x)
    return [result]


# ---- Arrays made in one pass: diagonals of matrices, ranges, unit matrices, cumulative sums


@register_device_form(
    ArrayRoutineKernel,
    supports=lambda kernel: kernel.task in _TASKS and is_device_dtype(kernel.dtype),
    host_inputs=lambda kernel, count: range(count) if kernel.task in ("arange", "eye") else (),
)
def _routine(kernel: ArrayRoutineKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    return _TASKS[kernel.task](kernel, recorder, operands)


def _matrix_diagonal(kernel: ArrayRoutineKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    x, number = on_device(recorder, operands[0]), kernel.number
    down, right = max(-number, 0), max(number, 0)
    length = max(0, min(x.shape[0] - down, x.shape[1] - right))
    offset = x.offset + down * x.strides[0] + right * x.strides[1] if length else x.offset
    return [contiguous(recorder, x.view((length,), (sum(x.strides),), offset), copied=True)]


def _arange(kernel: ArrayRoutineKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    start, stop, step = (host_numbers(x)[0] for x in operands)
    if step == 0:
        raise ValueError(
            format_error(f"arange: from {start} to {stop} in steps of zero there is no end", hint="use another step")
        )
    result = recorder.empty(kernel.dtype, (len(range(start, stop, step)),))
    if result.size:
        writer, memory = KernelWriter("arange"), memory_type(kernel.dtype)
        writer.writes(p=result)
        writer.number("start", start)
        writer.number("step", step)
        writer.walk(result.size)
        writer.add(
            f"((GLOBAL_MEM {memory} *)(p + p_at))[i] = {c_stored(CValue('(start + r * step)', 'int64'), kernel.dtype)};"
        )
        writer.end()
        writer.launch(recorder, *spread(recorder, result.size))
    return [result]


def _eye(kernel: ArrayRoutineKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    rows, columns, number = (host_numbers(x)[0] for x in operands)
    if min(rows, columns) < 0:
        raise ValueError(
            format_error(
                f"negative dimensions are not allowed: eye has {rows} rows and {columns} columns",
                hint="pass lengths from 0 up",
            )
        )
    result = recorder.empty(kernel.dtype, (rows, columns))
    if result.size:
        writer, memory = KernelWriter("eye"), memory_type(kernel.dtype)
        writer.writes(p=result)
        writer.number("columns", columns)
        writer.number("diagonal", number)
        writer.walk(result.size)
        on_it = CValue("((int64_t)(i % columns) == (int64_t)(i / columns) + diagonal)", "bool")
        writer.add(f"((GLOBAL_MEM {memory} *)(p + p_at))[i] = {c_stored(on_it, kernel.dtype)};")
        writer.end()
        writer.launch(recorder, *spread(recorder, result.size))
    return [result]


_TASKS: Mapping[str, Run] = MappingProxyType(
    {"diagonal": _matrix_diagonal, "arange": _arange, "eye": _eye, "cumsum": cumulative, "cumprod": cumulative}
)

__all__ = ["DiagonalKernel", "DiagonalMatrixKernel"]
