"""Products of matrices with nothing in them, and of which the transposed is wanted."""

from __future__ import annotations

from theano_graph import Apply, FunctionGraph, Variable
from theano_linker_c import scalar
from theano_optimize import Fit

from .._core._ops import assert_op
from .._core._type import Tensor
from ..creation import Eye, alloc
from ..elemwise import DimShuffle, cast, dimshuffle
from ..linear import Dot
from ..shape import shape_i, static_int
from ._equations import Anything, Equations, equations
from ._language import call, can_replace, operands, scalar_constant
from ._registry import rule
from .allocs import is_filled_with_zeros

Found = list[Variable] | None
#: Not in FAST_COMPILE: the other factor would no longer be looked at.
ONLY_RUN = ("fast_run",)


@rule(Dot, tags=ONLY_RUN, key="local_0_dot_x")
def product_with_zeros(fgraph: FunctionGraph, node: Apply[Dot, Tensor]) -> Found:
    """``dot(zeros, x) -> zeros``, for any x; lengths that do not fit are still noticed."""
    if not any(is_filled_with_zeros(v) for v in node.inputs):
        return None
    a, b = node.inputs
    lengths = [shape_i(a, axis) for axis in range(a.type.ndim - 1)]
    if b.type.ndim > 1:
        lengths += [shape_i(b, axis) for axis in range(b.type.ndim) if axis != b.type.ndim - 2]
    zero = scalar_constant(0, node.outputs[0].type.dtype, 0)
    last, first = a.type.ndim - 1, max(b.type.ndim - 2, 0)
    if a.type.shape[last] is None or a.type.shape[last] != b.type.shape[first]:
        zero = assert_op(zero, call(scalar.eq, shape_i(a, last), shape_i(b, first)))
    new = alloc(zero, *lengths) if lengths else zero
    return [new] if can_replace(node.outputs[0], new) else None


@rule(Dot, tags=ONLY_RUN, key="local_dot_of_diagonal")
def product_with_diagonal(fgraph: FunctionGraph, node: Apply[Dot, Tensor]) -> Found:
    """``dot(eye * v, x) -> v[:, None] * x``, and the same on the other side: the rows of Jacobians begin so."""
    a, b = node.inputs
    if not are_matrices(a, b):
        return None
    for diagonal, other, order in ((a, b, (False, True)), (b, a, (True, False))):
        factors = _factors_of_diagonal(diagonal)
        if factors is not None:
            wide = [v if v.type.broadcastable in (order, (True, True)) else dimshuffle(v, (1, 0)) for v in factors]
            # In the dtype of the result, for the unit matrix may have been the widest factor.
            same = cast(other, node.outputs[0].type.dtype)
            product = call(scalar.mul, *wide, same) if wide else same
            return [product] if can_replace(node.outputs[0], product) else None
    return None


def _factors_of_diagonal(x: Tensor) -> list[Tensor] | None:
    """Return rows, columns and numbers by which a unit matrix is multiplied; None if `x` is no such product."""
    factors = operands(x, scalar.mul) or [x]
    units = [v for v in factors if _is_unit_matrix(v)]
    others = [v for v in factors if v not in units]
    return others if len(units) == 1 and all(any(v.type.broadcastable) for v in others) else None


def _is_unit_matrix(x: Tensor) -> bool:
    if x.owner is None or not isinstance(x.owner.op, Eye):
        return False
    rows, columns, offset = x.owner.inputs
    length = static_int(rows)
    is_square = rows is columns or (length is not None and length == static_int(columns))
    return is_square and static_int(offset) == 0


@equations(DimShuffle, key="local_lift_transpose_through_dot", fit=Fit.EXACT)
def transposed_product(a: Anything, b: Anything) -> Equations:
    """BLAS takes transposed factors as they are."""
    return [((a @ b).T >> b.T @ a.T).when(are_matrices).alone()]


def are_matrices(a: Tensor, b: Tensor) -> bool:
    """The factors are matrices."""
    return a.type.ndim == 2 and b.type.ndim == 2
