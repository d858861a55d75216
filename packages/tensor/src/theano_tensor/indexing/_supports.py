"""Supports of changed tensors: gradients of parts are zero outside of these parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from theano_graph import Apply, Constant
from theano_linker_c import scalar

from .._core._type import Tensor
from ..gradient import Part, Rest, Support, is_zero, moves_elements, support_rule
from ._advanced._change import AdvancedIncSubtensor, read_of
from ._layout import is_mask
from ._nonzero import Nonzero
from ._subtensor import IncSubtensor, Subtensor

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
