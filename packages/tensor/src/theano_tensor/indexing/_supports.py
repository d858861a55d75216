"""Outside of what a changed tensor is zero: gradients of parts are such tensors."""

from __future__ import annotations

from typing import Any

from theano_graph import Apply
from theano_linker_c import scalar

from .._core._variable import Tensor
from ..gradient import Part, Rest, Support, is_zero, moves_elements, support_rule
from ._advanced._change import AdvancedIncSubtensor, read_of
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
    return Part((op, base.type, *index), placed, part), value


def _is_filled_with_zero(variable: Tensor) -> bool:
    node = variable.owner
    is_fill = node is not None and getattr(node.op, "scalar_op", None) == scalar.second
    return is_zero(variable) or (node is not None and is_fill and is_zero(node.inputs[1]))
