"""Sums of sparse matrices."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from theano_graph import Apply, Variable, format_error, pullback, pushforward, shape_rule
from theano_tensor import alloc, as_tensor_variable

from .._core._build import as_sparse_variable
from .._core._conversion import SparseFromDense
from .._core._duplicates import without_duplicates
from .._core._op import SparseOp, dense
from .._core._structure import csm_data, csm_shape, stored_positions, with_data
from .._core._type import _Operators
from .._core._typing import Operand


def sp_sum(x: Operand, axis: int | None = None, sparse_grad: bool = False) -> Any:
    """Return the sum of a sparse matrix along an axis, dense.

    Parameters
    ----------
    x : sparse matrix
    axis : {None, 0, 1}
        None: over all elements.
    sparse_grad : bool
        Whether the gradient is structured; regular by default. It is sparse in the format of `x` either way.

    Returns
    -------
    Tensor
        A number, or a vector.

    Raises
    ------
    ValueError
        For another axis.
    """
    return SpSum(axis, sparse_grad)(x)


class SpSum(SparseOp):
    """The sum of a sparse matrix along an axis, dense; see :func:`sp_sum`.

    Parameters
    ----------
    axis : {None, 0, 1}
    sparse_grad : bool
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("axis", "sparse_grad")

    def __init__(self, axis: int | None = None, sparse_grad: bool = True) -> None:
        if axis not in (None, 0, 1):
            raise ValueError(format_error(f"sp_sum: a matrix has no axis {axis!r}", hint="pass None, 0 or 1"))
        self.axis = axis
        self.sparse_grad = bool(sparse_grad)

    def make_node(self, x: Operand) -> Apply[Self]:
        """Apply to a sparse matrix."""
        matrix = as_sparse_variable(x)
        return Apply(self, [matrix], [dense(matrix.type.dtype, 0 if self.axis is None else 1)])

    def compute(self, node: Apply[Self], *values: Any) -> Any:
        """Add up."""
        total = values[0].sum(self.axis)
        return total if self.axis is None else np.asarray(total).ravel()


@pullback.register(SpSum)
def _pullback_sum(node: Apply[SpSum], cotangents: list[Variable]) -> list[Variable | None]:
    (x,), g = node.inputs, as_tensor_variable(cotangents[0])
    op, matrix = node.op, as_sparse_variable(x)
    if op.sparse_grad:
        matrix = without_duplicates(matrix)
        rows, columns = stored_positions(matrix)
        spread = csm_data(matrix).zeros_like() + g if op.axis is None else g[columns if op.axis == 0 else rows]
        return [with_data(matrix, spread)]
    lengths = csm_shape(matrix)
    value = g if op.axis is None else g.dimshuffle("x", 0) if op.axis == 0 else g.dimshuffle(0, "x")
    return [SparseFromDense(matrix.type.format)(alloc(value, lengths[0], lengths[1]))]


@pushforward.register(SpSum)
def _pushforward_sum(node: Apply[SpSum], tangents: list[Variable | None]) -> list[Variable | None]:
    result: Variable | None = None if tangents[0] is None else node.op(tangents[0])
    return [result]


@shape_rule.register(SpSum)
def _shape_sum(node: Apply[SpSum], input_shapes: list[Any]) -> list[Any]:
    lengths = csm_shape(node.inputs[0])
    return [() if node.op.axis is None else (lengths[1 - node.op.axis],)]


_Operators.table |= {"sum": sp_sum}
