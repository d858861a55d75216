"""Native forms, batches and supports of parts."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any

import numpy as np

from theano_graph import Apply, Constant, Variable, batch_rule
from theano_linker_c import scalar
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

from .._core._convert import as_tensor_variable, constant
from .._core._ops import batch_length, fronted, padded, stack_of
from .._core._type import Tensor
from ..creation import alloc, arange
from ..elemwise import dimshuffle
from ..gradient import Part, Rest, Support, is_zero, moves_elements, support_rule
from ._advanced import (
    AdvancedBooleanIncSubtensor,
    AdvancedBooleanSubtensor,
    AdvancedIncSubtensor,
    AdvancedSubtensor,
    read_of,
)
from ._getitem import Nonzero, getitem, inc_subtensor
from ._parse import broadcast_pattern, is_mask, layout
from ._subtensor import IncSubtensor, Subtensor
from .entries import Entries, Slice, Symbol, as_python

# ---- Native forms of indexing

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


# ---- Batches of parts: the entries of a batch become one more array of the index, or one more dimension

_ALL = Slice(None, None, None)


def _entry_numbers(inputs: Sequence[Any], stacked: Sequence[bool], x_stacked: bool) -> Tensor:
    """Return the numbers of the entries of a batch; zeros where the tensor is the same for all."""
    length = batch_length(inputs, stacked)
    return arange(length) if x_stacked else alloc(constant(np.int64(0)), length)


def _bounds_differ(node: Apply, stacked: Sequence[bool], first: int) -> bool:
    """Tell whether a bound of a slice is stacked, so that parts lie at other places or have other lengths."""
    flags = iter(stacked[first:])
    for entry in node.op.entries:
        parts = (entry.start, entry.stop, entry.step) if isinstance(entry, Slice) else (entry,)
        bounds = [next(flags) for part in parts if part is Symbol.SYMBOL]
        if isinstance(entry, Slice) and any(bounds):
            return True
    return False


@batch_rule.register(Subtensor)
def _batch_part(node: Apply[Subtensor, Tensor], inputs: list[Any], stacked: Sequence[bool]) -> list[Variable] | None:
    x, *numbers = inputs
    entries: Entries = node.op.entries
    if not any(stacked[1:]):
        return [Subtensor((_ALL, *entries))(x, *numbers)]
    if _bounds_differ(node, stacked, 1):
        return None
    index = (_entry_numbers(inputs, stacked, stacked[0]), *as_python(entries, numbers))
    return [getitem(fronted(x, stacked[0]), index)]


@batch_rule.register(IncSubtensor)
def _batch_increment(
    node: Apply[IncSubtensor, Tensor], inputs: list[Any], stacked: Sequence[bool]
) -> list[Variable] | None:
    op = node.op
    x, y, *numbers = inputs
    if _bounds_differ(node, stacked, 2):
        return None
    base = x if stacked[0] else stack_of(x, batch_length(inputs, stacked))
    slices = [entry for entry in op.entries if isinstance(entry, Slice)]
    part = padded(y, stacked[1], len(slices) + node.inputs[0].type.ndim - len(op.entries))
    if not any(stacked[2:]):
        plain = IncSubtensor((_ALL, *op.entries), set_instead_of_inc=op.set_instead_of_inc)
        return [plain(base, part, *numbers)]
    index = (_entry_numbers(inputs, stacked, True), *as_python(op.entries, numbers))
    return [inc_subtensor(getitem(base, index), part, set_instead_of_inc=op.set_instead_of_inc)]


class _Index:
    """An advanced index for a batch.

    Attributes
    ----------
    entries, inputs
        The index of the tensor with the dimension of the batch in front.
    order : list of int
        For each dimension of the part of all entries, the dimension of the result of the index.
    """

    def __init__(self, node: Apply, index: Sequence[Any], stacked: Sequence[bool], numbers: Tensor) -> None:
        entries: Entries = node.op.entries
        arrays_of_index = node.inputs[len(node.inputs) - len(index) :]
        parts = layout(entries, arrays_of_index, node.inputs[0].type.ndim)
        plain = [isinstance(entry, Slice) or entry is Symbol.NEWAXIS for entry in entries]
        numbered = [i for i, is_plain in enumerate(plain) if not is_plain]
        apart = numbered != list(range(numbered[0], numbered[-1] + 1))
        before, arrays, after = len(parts.before), parts.ndim, len(parts.after)
        self.ndim = before + arrays + after
        if not any(stacked):
            self.entries: Entries = (_ALL, *entries)
            self.inputs = list(index)
            # Dimensions of arrays that are no neighbours come first, before that of the batch.
            self.order = [arrays, *range(arrays), *range(arrays + 1, self.ndim + 1)] if apart else None
            return
        self.entries = (Symbol.SYMBOL, *entries)
        self.inputs = [dimshuffle(numbers, (0, *["x"] * arrays))]
        self.inputs += [padded(v, flag, arrays) for v, flag in zip(index, stacked, strict=True)]
        # The number of the entry is an array too: all arrays come first, unless they stand right behind it.
        middle = [*range(1 + arrays, 1 + arrays + before), *range(1, 1 + arrays)]
        self.order = [0, *middle, *range(1 + arrays + before, self.ndim + 1)] if before else None

    def ordered(self, part: Tensor) -> Tensor:
        """Return the result of the index with the dimension of the batch in front, then those of the part."""
        return part if self.order is None else dimshuffle(part, self.order)

    def as_indexed(self, part: Tensor) -> Tensor:
        """Return a part with its dimensions as the index has them; the inverse of `ordered`."""
        if self.order is None:
            return part
        return dimshuffle(part, [self.order.index(k) for k in range(self.ndim + 1)])


def _masks_differ(index: Sequence[Any], stacked: Sequence[bool]) -> bool:
    return any(flag and is_mask(v) for v, flag in zip(index, stacked, strict=True))


@batch_rule.register(AdvancedSubtensor)
def _batch_advanced(
    node: Apply[AdvancedSubtensor, Tensor], inputs: list[Any], stacked: Sequence[bool]
) -> list[Variable] | None:
    """Masks and bounds of slices may select other numbers of elements for other entries: these are read in a loop."""
    x, *numbers = inputs
    if _masks_differ(numbers, stacked[1:]) or _bounds_differ(node, stacked, 1):
        return None
    entry_numbers = _entry_numbers(inputs, stacked, stacked[0])
    index = _Index(node, numbers, stacked[1:], entry_numbers)
    kind = AdvancedBooleanSubtensor if any(map(is_mask, numbers)) else AdvancedSubtensor
    part: Tensor = kind(index.entries)(fronted(x, stacked[0]), *index.inputs)
    return [index.ordered(part)]


@batch_rule.register(AdvancedIncSubtensor)
def _batch_change(
    node: Apply[AdvancedIncSubtensor, Tensor], inputs: list[Any], stacked: Sequence[bool]
) -> list[Variable] | None:
    op = node.op
    x, y, *numbers = inputs
    if _masks_differ(numbers, stacked[2:]) or _bounds_differ(node, stacked, 2):
        return None
    base = x if stacked[0] else stack_of(x, batch_length(inputs, stacked))
    index = _Index(node, numbers, stacked[2:], _entry_numbers(inputs, stacked, True))
    part = as_tensor_variable(y)
    core = part.type.ndim - stacked[1]
    order: list[int | str] = [0] if stacked[1] else ["x"]
    order += ["x"] * (index.ndim - core) + [*range(stacked[1], part.type.ndim)]
    masks = any(map(is_mask, numbers))
    kind = AdvancedBooleanIncSubtensor if masks else AdvancedIncSubtensor
    change = kind(False, op.set_instead_of_inc, op.ignore_duplicates, index.entries)
    return [change(base, index.as_indexed(dimshuffle(part, order)), *index.inputs)]


# ---- Supports of changed tensors: gradients of parts are zero outside of these parts

moves_elements(Subtensor)


@support_rule.register(IncSubtensor, AdvancedIncSubtensor)
def _changed(node: Apply[Any, Tensor]) -> tuple[Support, Tensor] | None:
    op, (base, value, *index) = node.op, node.inputs
    if getattr(op, "inplace", False) or getattr(op, "ignore_duplicates", False):
        return None
    if op.set_instead_of_inc:

        def emptied(tensor: Tensor) -> Tensor:
            result: Tensor = op(tensor, value.astype(tensor.type.dtype), *index)
            return result

        return (Rest((op, *index), emptied), base) if is_zero(value) else None
    reader: Any = Subtensor(op.entries) if isinstance(op, IncSubtensor) else read_of(op)

    def placed(tensor: Tensor) -> Tensor:
        result: Tensor = op(base.astype(tensor.type.dtype), tensor, *index)
        return result

    def part(tensor: Tensor) -> Tensor:
        result: Tensor = reader(tensor, *index)
        return result

    is_part = _is_filled_with_zero(base) and value.type.dtype == base.type.dtype
    if not is_part or value.type.broadcastable != part(base).type.broadcastable:
        return None
    may_repeat = isinstance(op, AdvancedIncSubtensor) and not all(map(_is_of_different_places, index))
    return Part((op, base.type, *index), placed, part, may_repeat), value


def _is_of_different_places(index: Any) -> bool:
    """Tell whether an index is known to name no place twice: a mask, the places of one, or different numbers."""
    if is_mask(index) or (index.owner is not None and isinstance(index.owner.op, Nonzero)):
        return True
    if not isinstance(index, Constant):
        return False
    numbers = np.ravel(index.data).tolist()
    # A negative number may name the place of another one.
    return len(set(numbers)) == len(numbers) and (min(numbers, default=0) >= 0 or max(numbers, default=0) < 0)


def _is_filled_with_zero(variable: Tensor) -> bool:
    node = variable.owner
    is_fill = node is not None and getattr(node.op, "scalar_op", None) == scalar.second
    return is_zero(variable) or (node is not None and is_fill and is_zero(node.inputs[1]))
