"""Rewrites of linear algebra: equations in place of inverses, factors that are used again, stable determinants."""

from __future__ import annotations

from typing import cast

from theano_graph import Apply, FunctionGraph, Variable
from theano_linker_c import scalar
from theano_linker_c.modes import optdb
from theano_optimize import Phase

from .._core._variable import Tensor
from ..elemwise import DimShuffle, abs_, log
from ..extra_ops import ExtractDiag, diagonal
from ..linear import Dot
from ..reduce import Sum, prod, sum as sum_over
from ..rewrites._language import operands, sole_client
from ..rewrites._registry import RULES, register_rules, rule, stabilizing
from ..shape import shape_i
from ._cholesky import Cholesky, cholesky, cholesky_solve
from ._hints import Hint, HintsOptimizer, hints_of
from ._inverse import Det, MatrixInverse, SLogDet, matrix_inverse
from ._matrices import transposed
from ._solve import Solve

Found = list[Variable] | None
_FIRST = len(RULES)
#: Levels that simplify.
_RUN = ("fast_run",)


def _as_replacement(node: Apply, new: Variable) -> Found:
    return [new] if node.outputs[0].type.is_super(new.type) else None


def _untransposed(variable: Variable) -> Tensor | None:
    """Return x if the variable is the matrix ``x.T``."""
    node = variable.owner
    if node is None or not isinstance(node.op, DimShuffle) or list(node.op.order) != [1, 0]:
        return None
    return cast(Tensor, node.inputs[0])


def _inverted(fgraph: FunctionGraph, variable: Variable) -> Tensor | None:
    """Return a if the variable is the inverse of the matrix a, and nothing else needs this inverse."""
    node = variable.owner
    if node is None or not isinstance(node.op, MatrixInverse) or sole_client(fgraph, variable) is None:
        return None
    a = cast(Tensor, node.inputs[0])
    return a if a.type.ndim == 2 else None


def _factor_of(fgraph: FunctionGraph, variable: Variable) -> Tensor | None:
    """Return a lower factor l with ``l @ l.T`` equal to a matrix that is known to be positive definite."""
    if hints_of(fgraph, variable).get("psd"):
        return cast(Tensor, cholesky(variable))
    node = variable.owner
    if node is None or not isinstance(node.op, Dot):
        return None
    left, right = node.inputs
    # A product of a triangular factor with its own transpose.
    own = _untransposed(right) is left or _untransposed(left) is right
    if own and _triangle(fgraph, left) == "lower_triangular":
        return cast(Tensor, left)
    return None


def _any_factor_of(fgraph: FunctionGraph, variable: Variable) -> Tensor | None:
    """Return a triangular factor, lower or upper: also one that the graph computes anyway, and raises where none is."""
    for client, _ in fgraph.clients(variable) if variable in fgraph.variables else []:
        if isinstance(client, Apply) and isinstance(client.op, Cholesky) and client.op.on_error == "raise":
            return cast(Tensor, client.outputs[0])
    return _factor_of(fgraph, variable)


def _triangle(fgraph: FunctionGraph, variable: Variable) -> str | None:
    """Return which triangle of a matrix holds all that is not zero, where this is known."""
    other = {"lower_triangular": "upper_triangular", "upper_triangular": "lower_triangular"}
    known = hints_of(fgraph, variable)
    for name in other:
        if known.get(name):
            return name
    node = variable.owner
    if node is not None and isinstance(node.op, Cholesky):
        return "lower_triangular" if node.op.lower else "upper_triangular"
    untransposed = _untransposed(variable)
    if untransposed is not None and untransposed.owner is not None and isinstance(untransposed.owner.op, Cholesky):
        return "upper_triangular" if untransposed.owner.op.lower else "lower_triangular"
    return None


@rule(Hint, phases=(Phase.CANONICALIZE,))
def remove_hint_nodes(fgraph: FunctionGraph, node: Apply) -> Found:
    """A hint has been noted by the feature of the graph; its node goes."""
    return [node.inputs[0]]


@rule(MatrixInverse, phases=(Phase.CANONICALIZE,), tags=_RUN)
def transinv_to_invtrans(fgraph: FunctionGraph, node: Apply) -> Found:
    """``inv(x.T) -> inv(x).T``, so that the inverse of x is computed once."""
    untransposed = _untransposed(node.inputs[0])
    return None if untransposed is None else _as_replacement(node, transposed(matrix_inverse(untransposed)))


@rule(MatrixInverse, phases=(Phase.CANONICALIZE,), tags=_RUN)
def inverse_of_inverse(fgraph: FunctionGraph, node: Apply) -> Found:
    """``inv(inv(x)) -> x``."""
    inner = node.inputs[0].owner
    if inner is None or not isinstance(inner.op, MatrixInverse):
        return None
    return _as_replacement(node, inner.inputs[0])


@rule(Dot, phases=(Phase.STABILIZE,), tags=_RUN)
def inv_as_solve(fgraph: FunctionGraph, node: Apply) -> Found:
    """``inv(a) @ b -> solve(a, b)`` and ``b @ inv(a) -> solve(a.T, b.T).T``."""
    left, right = cast("list[Tensor]", node.inputs)
    for variable, other, first in ((left, right, True), (right, left, False)):
        untransposed = _untransposed(variable)
        a = _inverted(fgraph, variable if untransposed is None else untransposed)
        if a is None or (untransposed is not None and sole_client(fgraph, variable) is None):
            continue
        if a.type.dtype != node.outputs[0].type.dtype:
            continue
        matrix = a if untransposed is None else transposed(a)
        if first:
            return _as_replacement(node, Solve()(matrix, other))
        if other.type.ndim == 1:
            return _as_replacement(node, Solve()(transposed(matrix), other))
        return _as_replacement(node, transposed(Solve()(transposed(matrix), transposed(other))))
    return None


@rule(Solve, phases=(Phase.STABILIZE,), tags=_RUN)
def tag_solve_triangular(fgraph: FunctionGraph, node: Apply) -> Found:
    """A system with a matrix that is known to be triangular is solved as such."""
    a, b = cast("list[Tensor]", node.inputs)
    structure = _triangle(fgraph, a)
    if structure is None or node.op.A_structure != "general" or node.op.destroy_map:
        return None
    return _as_replacement(node, Solve(structure, structure == "lower_triangular")(a, b))


@rule(Solve, phases=(Phase.STABILIZE,), tags=_RUN)
def psd_solve_with_chol(fgraph: FunctionGraph, node: Apply) -> Found:
    """A system with a positive definite matrix is solved by its factor, which serves everything else about it, too."""
    a, b = cast("list[Tensor]", node.inputs)
    if node.op.A_structure not in ("general", "symmetric") or a.type.ndim != 2 or node.op.destroy_map:
        return None
    factor = _factor_of(fgraph, a)
    if factor is None or factor.type.dtype != node.outputs[0].type.dtype:
        return None
    return _as_replacement(node, cholesky_solve(factor, b))


@rule(Solve, phases=(Phase.STABILIZE,), tags=_RUN)
def symmetric_solve(fgraph: FunctionGraph, node: Apply) -> Found:
    """A system with a matrix that is hinted to be symmetric is solved as such."""
    a, b = cast("list[Tensor]", node.inputs)
    known = hints_of(fgraph, a)
    if node.op.A_structure != "general" or node.op.destroy_map or not known.get("symmetric") or known.get("psd"):
        return None
    return _as_replacement(node, Solve("symmetric")(a, b))


@rule(Det, phases=(Phase.SPECIALIZE,), tags=_RUN, key="local_det_chol")
def determinant_by_factor(fgraph: FunctionGraph, node: Apply) -> Found:
    """The determinant of a triangular matrix is the product of its diagonal; that of a factor's matrix, its square."""
    x = cast(Tensor, node.inputs[0])
    ndim = x.type.ndim
    if _triangle(fgraph, x) is not None:
        return _as_replacement(node, prod(diagonal(x, 0, ndim - 2, ndim - 1), axis=-1))
    factor = _any_factor_of(fgraph, x)
    if factor is None:
        return None
    return _as_replacement(node, prod(diagonal(factor, 0, ndim - 2, ndim - 1), axis=-1) ** 2)


def _logarithm_of_size(fgraph: FunctionGraph, x: Tensor) -> Tensor | None:
    """Return ``log(abs(det(x)))`` where a triangular factor of x is known."""
    ndim = x.type.ndim
    if _triangle(fgraph, x) is not None:
        return sum_over(log(abs_(diagonal(x, 0, ndim - 2, ndim - 1))), axis=-1)
    factor = _any_factor_of(fgraph, x)
    return None if factor is None else 2 * sum_over(log(diagonal(factor, 0, ndim - 2, ndim - 1)), axis=-1)


@stabilizing(scalar.log)
def log_of_determinant(fgraph: FunctionGraph, node: Apply) -> Found:
    """``log(det(x))`` without the determinant, which overflows for large matrices; NaN for a negative one."""
    inner = node.inputs[0].owner
    if inner is not None and isinstance(inner.op, Det):
        x = cast(Tensor, inner.inputs[0])
        if _triangle(fgraph, x) is None:
            known = _logarithm_of_size(fgraph, x)
            if known is not None:
                return _as_replacement(node, known)
        if x.type.dtype.startswith("complex"):
            return None
        sign, size = SLogDet()(x)
        return _as_replacement(node, size + log(sign))
    within = operands(node.inputs[0], scalar.abs)
    if within is not None and within[0].owner is not None and isinstance(within[0].owner.op, Det):
        x = cast(Tensor, within[0].owner.inputs[0])
        size = _logarithm_of_size(fgraph, x)
        return _as_replacement(node, SLogDet()(x)[1] if size is None else size)
    return None


@rule(Sum, phases=(Phase.CANONICALIZE,), tags=_RUN)
def trace_of_product(fgraph: FunctionGraph, node: Apply) -> Found:
    """``trace(a @ b) -> sum(a * b.T)``, where nothing else needs the product."""
    inner = node.inputs[0].owner
    if node.outputs[0].type.ndim or inner is None or not isinstance(inner.op, ExtractDiag) or inner.op.offset:
        return None
    product = inner.inputs[0].owner
    if product is None or not isinstance(product.op, Dot) or sole_client(fgraph, inner.inputs[0]) is None:
        return None
    a, b = cast("list[Tensor]", product.inputs)
    if a.type.ndim != 2 or b.type.ndim != 2 or sole_client(fgraph, node.inputs[0]) is None:
        return None
    rows, columns = a.type.shape[0], b.type.shape[1]
    if a.type.dtype != b.type.dtype:
        return None
    b_t = transposed(b)
    if rows is None or rows != columns:
        # The diagonal of a product that is not square ends with its shorter side.
        a, b_t = a[: shape_i(b, 1)], b_t[: shape_i(a, 0)]
    return _as_replacement(node, Sum(None, node.op.dtype, node.op.acc_dtype)(a * b_t))


register_rules(optdb, _FIRST)
optdb.register("hints", HintsOptimizer(), "fast_run", "fast_compile", "o2", "o3", "o4", "unsafe", position=0.5)
