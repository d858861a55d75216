"""The op that the guide to documentation shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano_graph import Apply, Op, Variable, batch_rule
from theano_tensor import as_tensor_variable
from theano_tensor.batching import on_stacks


class DoubleOp(Op):
    """Double each element of a tensor.

    Parameters
    ----------
    x : tensor
        The operand.

    Returns
    -------
    tensor
        Of the same shape and dtype, with all values doubled.

    See Also
    --------
    theano.tensor.mul : ``x * 2`` does the same for any tensor `x`, and is fused with its neighbours.

    Examples
    --------
    >>> from theano.misc import doubleop
    >>> import theano.tensor as T
    >>> doubleop.DoubleOp()(T.constant([1.0, 4.0])).eval()
    array([2., 8.])
    """

    __props__ = ()

    def make_node(self, x: Any) -> Apply:
        """Apply to a tensor."""
        x = as_tensor_variable(x)
        return Apply(self, [x], [x.type()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        """Double with NumPy."""
        output_storage[0][0] = inputs[0] + inputs[0]

    def infer_shape(self, node: Apply, input_shapes: Sequence[Any]) -> Sequence[Any]:
        """The shape of the input."""
        return input_shapes

    def grad(self, inputs: Sequence[Variable], output_grads: Sequence[Any]) -> list[Any]:
        """Twice the cotangent."""
        return [output_grads[0] * 2]

    def R_op(self, inputs: Sequence[Variable], eval_points: Sequence[Any]) -> list[Any]:
        """Twice the tangent."""
        return [None if eval_points[0] is None else eval_points[0] * 2]


batch_rule.register(DoubleOp)(on_stacks)
