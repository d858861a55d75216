"""Batches of convolutions: the entries join the images, the channels of images, or the filters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano_graph import Apply, Variable, batch_rule

from ..._core._ops import all_stacked, batch_length
from ..._core._type import Tensor
from ...elemwise import dimshuffle
from ...shape import lengths_of, reshape
from ._ops import AbstractConv, AbstractConv_gradInputs, AbstractConv_gradWeights, BaseAbstractConv

IMAGES, FILTERS = "images", "filters"

#: Kind of op -> its two operands, and its result. Images are also cotangents of results of convolutions.
_KINDS = {
    AbstractConv: (IMAGES, FILTERS, IMAGES),
    AbstractConv_gradInputs: (FILTERS, IMAGES, IMAGES),
    AbstractConv_gradWeights: (IMAGES, IMAGES, FILTERS),
}


@batch_rule.register(BaseAbstractConv)
def _batch(node: Apply[BaseAbstractConv, Tensor], inputs: list[Any], stacked: Sequence[bool]) -> list[Variable] | None:
    """Where filters are the same for all entries, the entries join the images; where images are, the filters.

    Otherwise entries become groups of channels, if the type of an input tells how many there are.
    """
    if any(stacked[2:]):
        return None
    kind = next(kind for kind in _KINDS if isinstance(node.op, kind))
    roles = _KINDS[kind]
    op: Any = node.op.sibling(kind)
    op.imshp = op.kshp = None
    operands, shape = inputs[:2], inputs[2:]
    n = batch_length(inputs, stacked)
    if roles[2] == IMAGES and not stacked[roles.index(FILTERS)]:
        k = roles.index(IMAGES)
        count = lengths_of(operands[k])[1]
        operands[k] = _joined(operands[k], FILTERS)  # both have the entries in the first dimension
        return [_parted(op(*operands, *shape), n, count, FILTERS)]
    if op.unshared:
        return None
    if kind is AbstractConv_gradInputs or stacked[0] or op.num_groups > 1:
        return _as_groups(op, roles, all_stacked(operands, stacked[:2]), shape, n)
    count = lengths_of(operands[1])[1 if roles[1] == FILTERS else 2]
    return [_parted(op(operands[0], _joined(operands[1], roles[1]), *shape), n, count, roles[2])]


def _as_groups(
    op: Any, roles: tuple[str, str, str], stacks: Sequence[Tensor], shape: Sequence[Any], n: Any
) -> list[Variable] | None:
    if not isinstance(n, int) or n < 1:
        return None
    op.num_groups *= n
    result = op(*(_joined(stack, role) for stack, role in zip(stacks, roles, strict=False)), *shape)
    count = lengths_of(result)[0 if roles[2] == FILTERS else 1] // n
    return [_parted(result, n, count, roles[2])]


def _joined(stack: Tensor, role: str) -> Tensor:
    """Return images with the channels of all entries, or the filters of all of them."""
    if role == FILTERS:
        n, count, *lengths = lengths_of(stack)
        return reshape(stack, [n * count, *lengths])
    n, rows, channels, *lengths = lengths_of(stack)
    return reshape(dimshuffle(stack, (1, 0, *range(2, stack.type.ndim))), [rows, n * channels, *lengths])


def _parted(result: Tensor, n: Any, count: Any, role: str) -> Tensor:
    """Return the result for each entry, with `count` channels or filters; the inverse of `_joined`."""
    first, _, *lengths = lengths_of(result)
    if role == FILTERS:
        return reshape(result, [n, count, *lengths_of(result)[1:]])
    parts = reshape(result, [first, n, count, *lengths])
    return dimshuffle(parts, (1, 0, *range(2, parts.type.ndim)))
