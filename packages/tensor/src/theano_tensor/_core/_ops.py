"""Ops with one result that is a tensor: the types of calls for type checkers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from theano_graph import Op, Variable

if TYPE_CHECKING:
    from ._variable import Tensor

    class TensorOp(Op):
        """An op that gives one tensor when it is called. When programs run, this is :class:`Op` itself."""

        def __call__(self, *inputs: Any, **kwargs: Any) -> Tensor: ...

else:
    TensorOp = Op


def is_same(one: Variable, other: Variable) -> bool:
    """Tell whether two variables are one, or one op has been applied to the same variables for both."""
    if one is other:
        return True
    node, twin = one.owner, other.owner
    if node is None or twin is None or one.type != other.type or len(node.inputs) != len(twin.inputs):
        return False
    if any(v is not w for v, w in zip(node.inputs, twin.inputs, strict=True)):
        return False
    return node.op == twin.op and node.outputs.index(one) == twin.outputs.index(other)
