"""Nodes as kernels, with any dtypes of lengths, indices and values: C that stands alone converts as it reads."""

from __future__ import annotations

from theano_graph import Apply
from theano_linker_c.kernels import (
    ArrayRoutineKernel,
    ConcatenateKernel,
    FullKernel,
    IndexArray,
    IndexReadKernel,
    IndexWriteKernel,
    Kernel,
    ReshapeKernel,
    SpecifyShapeKernel,
    SplitKernel,
    StackKernel,
    native_kernel,
)
from theano_linker_c.straight import STRAIGHT

from .._core._dtypes import COMPLEX_DTYPES, DISCRETE_DTYPES, FLOAT_DTYPES
from .._core._type import Tensor, TensorType
from ..creation import Alloc, ARange
from ..extra_ops import Cumulative, Recurrence
from ..indexing import AdvancedIncSubtensor, AdvancedSubtensor, IncSubtensor
from ..indexing._rules import index_entries, operand_types
from ..joining import Join, Split
from ..shape import MakeVector, Reshape, SpecifyShape, static_int

__all__: list[str] = []

_straight = native_kernel.for_target(STRAIGHT)


def _has_complex(node: Apply) -> bool:
    return any(v.type.dtype in COMPLEX_DTYPES for v in (*node.inputs, *node.outputs))


@_straight.register(Alloc)
def _filled(node: Apply[Alloc, Tensor]) -> Kernel | None:
    value = node.inputs[0].type
    return FullKernel(value.dtype, value.broadcastable)


@_straight.register(MakeVector)
def _stacked(node: Apply[MakeVector, Tensor]) -> Kernel | None:
    return StackKernel(node.op.dtype)


@_straight.register(Reshape)
def _reshaped(node: Apply[Reshape, Tensor]) -> Kernel | None:
    x = node.inputs[0].type
    return ReshapeKernel(x.dtype, x.ndim, node.op.ndim)


@_straight.register(SpecifyShape)
def _specified(node: Apply[SpecifyShape]) -> Kernel | None:
    x, axes = node.inputs[0].type, list(node.op.axes)
    if not isinstance(x, TensorType) or axes != sorted(axes):
        return None
    return SpecifyShapeKernel(tuple(i in axes for i in range(x.ndim)))


@_straight.register(Join)
def _joined(node: Apply[Join, Tensor]) -> Kernel | None:
    axis, result = static_int(node.inputs[0]), node.outputs[0].type
    return None if axis is None else ConcatenateKernel(result.dtype, result.ndim, axis % result.ndim)


@_straight.register(Split)
def _parts(node: Apply[Split, Tensor]) -> Kernel | None:
    x, axis = node.inputs[0], static_int(node.inputs[1])
    return None if axis is None else SplitKernel(x.type.dtype, x.type.ndim, axis % x.type.ndim)


@_straight.register(AdvancedSubtensor)
def _read(node: Apply[AdvancedSubtensor, Tensor]) -> Kernel | None:
    entries = index_entries(node, 1)
    if not any(isinstance(e, IndexArray) for e in entries):
        return None
    return IndexReadKernel(entries, *operand_types(node))


@_straight.register(IncSubtensor, AdvancedIncSubtensor)
def _write(node: Apply[IncSubtensor | AdvancedIncSubtensor, Tensor]) -> Kernel | None:
    op, entries = node.op, index_entries(node, 2)
    if getattr(op, "ignore_duplicates", False) or _has_complex(node):
        return None
    if isinstance(op, AdvancedIncSubtensor) and not any(isinstance(e, IndexArray) for e in entries):
        return None
    broadcastable = node.inputs[1].type.broadcastable
    return IndexWriteKernel(entries, *operand_types(node), op.set_instead_of_inc, broadcastable)


@_straight.register(ARange)
def _range(node: Apply[ARange, Tensor]) -> Kernel | None:
    dtypes = {v.type.dtype for v in (*node.inputs, *node.outputs)}
    return ArrayRoutineKernel("arange", node.op.dtype) if dtypes <= DISCRETE_DTYPES else None


@_straight.register(Cumulative)
def _cumulative(node: Apply[Cumulative, Tensor]) -> Kernel | None:
    task = "cumsum" if node.op.mode == "add" else "cumprod"
    return None if _has_complex(node) else ArrayRoutineKernel(task, node.outputs[0].type.dtype, node.op.axis)


@_straight.register(Recurrence)
def _recurrence(node: Apply[Recurrence, Tensor]) -> Kernel | None:
    dtype = node.outputs[0].type.dtype
    return ArrayRoutineKernel("recurrence", dtype, node.op.axis) if dtype in FLOAT_DTYPES else None
