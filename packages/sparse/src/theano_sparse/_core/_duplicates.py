"""Elements that a sparse matrix stores several times at one position: the matrix has their sum there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

from theano_graph import Apply, Variable, pullback, pushforward

from ._build import as_sparse_variable
from ._op import SparseOp
from ._structure import CSM, CSMProperties, elements_where_stored, with_data
from ._typing import Operand


class SumDuplicates(SparseOp):
    """The matrix with one stored element for each position; the matrix itself where it has one. Regular gradient."""

    like: ClassVar[int | None] = 0
    view_map: Mapping[int, Sequence[int]] = {0: [0]}

    def make_node(self, x: Operand) -> Apply[Self]:
        """Apply to a sparse matrix."""
        matrix = as_sparse_variable(x)
        return Apply(self, [matrix], [matrix.type.make_variable()])

    def compute(self, node: Apply[Self], *values: Any) -> Any:
        """Add up what is stored at one position."""
        (x,) = values
        return summed(x)


def summed(x: Any) -> Any:
    """Return a matrix of SciPy with one stored element for each position, `x` itself where it is one."""
    if x.has_canonical_format:
        return x
    found = x.copy()
    found.sum_duplicates()
    # The order of what is stored is kept where nothing adds up.
    return x if found.nnz == x.nnz else found


@pullback.register(SumDuplicates)
def _pullback_sum(node: Apply[SumDuplicates], cotangents: list[Variable]) -> list[Variable | None]:
    return [cotangents[0]]


@pushforward.register(SumDuplicates)
def _pushforward_sum(node: Apply[SumDuplicates], tangents: list[Variable | None]) -> list[Variable | None]:
    return [tangents[0]]


def without_duplicates(x: Operand) -> Any:
    """Return a sparse matrix with one stored element for each position.

    What works on stored elements one by one, and is not linear, needs that; and so do gradients.
    """
    matrix = as_sparse_variable(x)
    return matrix if stores_once(matrix) else SumDuplicates()(matrix)


def stores_once(x: Any) -> bool:
    """Tell whether a variable is known to have no duplicates: its positions are those of such a matrix."""
    node = x.owner
    if node is None:
        return getattr(x, "data", None) is not None and bool(x.data.has_canonical_format)
    if isinstance(node.op, CSM) and node.op.kmap is None:
        indices, indptr = (v.owner for v in node.inputs[1:3])
        if indices is None or indices is not indptr or not isinstance(indices.op, CSMProperties):
            return False
        node = indices.inputs[0].owner
        return node is not None and isinstance(node.op, SumDuplicates)
    return isinstance(node.op, SumDuplicates)


def slopes_where_stored(g: Any, x: Any) -> Any:
    """Return the matrix of the elements of `g`, sparse or dense, wherever `x` stores something."""
    matrix = without_duplicates(x)
    return with_data(matrix, elements_where_stored(g, matrix))
