"""Native forms of indexing."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from theano_graph import Apply, Variable
from theano_linker_c.kernels import (
    IndexArray,
    IndexEntry,
    IndexInput,
    IndexReadKernel,
    IndexSlice,
    IndexViewKernel,
    IndexWriteKernel,
    Kernel,
    native_kernel,
)

from .._core._type import Tensor
from ._advanced._change import AdvancedIncSubtensor
from ._advanced._read import AdvancedSubtensor
from ._layout import broadcast_pattern, is_mask
from ._subtensor import IncSubtensor, Subtensor
from .entries import as_python

#: Dtypes whose elements the runtime copies, and dtypes that it adds.
_COPIED = frozenset(
    ["bool", "float16", "float32", "float64", "complex64", "complex128"]
    + [f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)]
)
_ADDED = _COPIED - {"float16"}


def index_entries(node: Apply, first: int) -> tuple[IndexEntry, ...]:
    """Return the index of a node whose inputs from `first` on are the values of its symbols."""
    position = first

    def bound(value: Any) -> Any:
        nonlocal position
        if not isinstance(value, Variable):
            return value
        position += 1
        return IndexInput(position - 1)

    kinds: list[IndexEntry] = []
    for item in as_python(node.op.entries, node.inputs[first:]):
        if isinstance(item, slice):
            start, stop = bound(item.start), bound(item.stop)
            kinds.append(IndexSlice(start, stop, bound(item.step)))
        elif isinstance(item, Variable) and (is_mask(item) or broadcast_pattern(item)):
            kinds.append(IndexArray(position, is_mask(item), broadcast_pattern(item)))
            position += 1
        else:
            kinds.append(bound(item))
    return tuple(kinds)


def operand_types(node: Apply) -> tuple[tuple[str, ...], tuple[int, ...]]:
    return tuple(v.type.dtype for v in node.inputs), tuple(v.type.ndim for v in node.inputs)


def _has_broadcasting_masks(node: Apply, first: int) -> bool:
    """Tell whether a mask stands beside other index arrays, and broadcasts if it selects one element."""
    arrays = [v for v in node.inputs[first:] if v.type.ndim or is_mask(v)]
    return len(arrays) > 1 and any(map(is_mask, arrays))


@native_kernel.register(Subtensor)
def _view(node: Apply[Subtensor, Tensor]) -> Kernel | None:
    dtypes, ndims = operand_types(node)
    return IndexViewKernel(index_entries(node, 1), dtypes, ndims) if dtypes[0] in _COPIED else None


@native_kernel.register(AdvancedSubtensor)
def _read(node: Apply[AdvancedSubtensor, Tensor]) -> Kernel | None:
    dtypes, ndims = operand_types(node)
    entries = index_entries(node, 1)
    if dtypes[0] not in _COPIED or not any(isinstance(e, IndexArray) for e in entries):
        return None
    if _has_broadcasting_masks(node, 1):
        return None
    return IndexReadKernel(entries, dtypes, ndims)


def write_kernel(node: Apply[IncSubtensor | AdvancedIncSubtensor, Tensor], dtypes_added: Set[str]) -> Kernel | None:
    """Return a change of a part as a kernel; elements that are incremented are of one of those dtypes."""
    op, (dtypes, ndims) = node.op, operand_types(node)
    entries = index_entries(node, 2)
    known = _COPIED if op.set_instead_of_inc else dtypes_added
    if dtypes[0] not in known or dtypes[1] != dtypes[0] or getattr(op, "ignore_duplicates", False):
        return None
    if isinstance(op, AdvancedIncSubtensor) and (
        not any(isinstance(e, IndexArray) for e in entries) or _has_broadcasting_masks(node, 2)
    ):
        return None
    return IndexWriteKernel(entries, dtypes, ndims, op.set_instead_of_inc, node.inputs[1].type.broadcastable)


@native_kernel.register(IncSubtensor, AdvancedIncSubtensor)
def _write(node: Apply[IncSubtensor | AdvancedIncSubtensor, Tensor]) -> Kernel | None:
    return write_kernel(node, _ADDED)
