"""Facts about matrices, and rewrites of linear algebra: equations in place of inverses, stable determinants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self, cast

from theano_graph import Apply, Feature, FunctionGraph, Variable, batch_rule, pullback, pushforward, shape_rule
from theano_linker_c import scalar
from theano_linker_c.modes import optdb
from theano_optimize import Context, Fit, GraphRewriter, Phase

from .._core._convert import as_tensor_variable
from .._core._dtypes import TensorLike
from .._core._ops import TensorOp, on_stacks
from .._core._type import Tensor
from ..elemwise import DimShuffle, Elemwise, abs_, log
from ..extra_ops import ExtractDiag, diagonal
from ..linear import Dot
from ..reduce import Sum, prod, sum as sum_over
from ..rewrites._language import (
    RULES,
    kind_of,
    number,
    operands,
    register_rules,
    remade,
    rule,
    sole_client,
    stabilizing,
)
from ..rewrites._length_links import COMPARED, Term, term_of
from ..rewrites.equations import Anything, Equations, applied, built, equations
from ..shape import shape_i
from ._cholesky import Cholesky, cholesky, cholesky_solve
from ._inverse import Cofactors, CofactorsChange, Det, MatrixInverse, SLogDet
from ._operands import as_matrices, transposed
from ._solve import Solve

# ---- Facts about matrices beyond their types: hints of users, kept beside the graph while it is rewritten


class Hint(TensorOp):
    """Its input, of which something is known; rewriting takes the hint out of the graph, and remembers it.

    Parameters
    ----------
    **kwargs
        The facts, such as ``symmetric=True`` or ``psd=True``.

    Examples
    --------
    >>> from theano_tensor import dmatrix
    >>> Hint(symmetric=True)(dmatrix("x")).type
    TensorType(float64, matrix)
    """

    __props__ = ("hints",)

    def __init__(self, **kwargs: Any) -> None:
        self.view_map = {0: [0]}
        self.hints = tuple(sorted(kwargs.items()))

    def make_node(self, x: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a tensor."""
        variable = as_tensor_variable(x)
        return Apply(self, [variable], [variable.type.make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Pass the value on."""
        output_storage[0][0] = inputs[0]


@pullback.register(Hint)
def _pullback(node: Apply[Hint, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    return [cotangents[0]]


@pushforward.register(Hint)
def _pushforward(node: Apply[Hint, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    return [tangents[0]]


batch_rule.register(Hint)(on_stacks)


@shape_rule.register(Hint)
def _shape(node: Apply[Hint, Tensor], input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[0]]


def is_hint_node(node: Apply) -> bool:
    """Tell whether a node gives a hint."""
    return isinstance(node.op, Hint)


def hints(variable: Variable) -> dict[str, Any]:
    """Return the facts about `variable` that the node which makes it gives."""
    node = variable.owner
    return dict(node.op.hints) if node is not None and is_hint_node(node) else {}


def psd(v: TensorLike) -> Tensor:
    """Return `v`, with the hint that it is symmetric and positive semi-definite.

    Equations with it, its inverse and its determinant are then computed by its Cholesky factor, so that functions
    raise LinAlgError where the hint is wrong, or an eigenvalue is 0.

    Examples
    --------
    >>> from theano_tensor import dmatrix
    >>> psd(dmatrix("k")).type
    TensorType(float64, matrix)
    """
    result: Tensor = Hint(psd=True, symmetric=True)(v)
    return result


class HintsFeature(Feature):
    """The hints of the variables of a graph; a replacement inherits them.

    Attributes
    ----------
    hints : dict
        Variable -> facts about it, by name.
    """

    #: Name on the graph -> name of the method here.
    provides: ClassVar[Mapping[str, str]] = {"hints_of": "hints_of"}

    def __init__(self) -> None:
        self.hints: dict[Variable, dict[str, Any]] = {}

    def clone(self) -> HintsFeature:
        """Return a feature for a copy of the graph."""
        return HintsFeature()

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Read the hints that stand in the graph."""
        for node in fgraph.toposort():
            self.on_import(fgraph, node, "on_attach")

    def on_detach(self, fgraph: FunctionGraph) -> None:
        """Forget all hints."""
        self.hints.clear()

    def on_import(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
        """Read the hint of a new node: it holds for the operand of the node, too."""
        if is_hint_node(node):
            for variable in (*node.inputs, *node.outputs):
                self.add_hint(variable, dict(node.op.hints))

    def on_change_input(
        self, fgraph: FunctionGraph, node: Apply | str, i: int, old: Variable, new: Variable, reason: object = None
    ) -> None:
        """Facts about a variable hold for the one that replaces it."""
        hints = self.hints.get(old)
        if hints and new is not old:
            self.add_hint(new, hints)

    def add_hint(self, variable: Variable, known: Mapping[str, Any]) -> None:
        """Remember more about a variable."""
        self.hints.setdefault(variable, {}).update(known)

    def hints_of(self, fgraph: FunctionGraph, variable: Variable) -> dict[str, Any]:
        """Return the facts about a variable; the graph lends this method."""
        return self.hints.get(variable, {})


class HintsOptimizer(GraphRewriter):
    """The graph rewriter that attaches a :class:`HintsFeature` to graphs in which hints stand."""

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        """Attach the feature."""
        if not hasattr(fgraph, "hints_of") and any(is_hint_node(node) for node in fgraph.apply_nodes):
            fgraph.attach_feature(HintsFeature())

    def apply(self, fgraph: FunctionGraph) -> None:
        """Change nothing: the feature is all there is to it."""


def hints_of(fgraph: FunctionGraph, variable: Variable) -> dict[str, Any]:
    """Return the facts about a variable of a graph."""
    lookup = getattr(fgraph, "hints_of", None)
    hints: dict[str, Any] = {} if lookup is None else lookup(variable)
    return hints


# ---- Rewrites of linear algebra: equations in place of inverses, factors that are used again, stable determinants

Found = list[Variable] | None
_FIRST = len(RULES)
#: Levels that simplify.
_RUN = ("fast_run",)
hint, inv = applied("hint", Hint), applied("inv", MatrixInverse)
#: Systems to be solved, with their solvers.
solved, solve, solve_symmetric = (
    applied("solve", Solve),
    applied("solve", Solve()),
    applied("solve_symmetric", Solve("symmetric")),
)


def _as_replacement(node: Apply[Any, Tensor], new: Variable) -> Found:
    return [new] if node.outputs[0].type.is_super(new.type) else None


def _untransposed(variable: Tensor) -> Tensor | None:
    """Return x if the variable is the matrix ``x.T``."""
    node = variable.owner
    if node is None or not isinstance(node.op, DimShuffle) or list(node.op.order) != [1, 0]:
        return None
    return node.inputs[0]


def _is_definite(fgraph: FunctionGraph, variable: Tensor) -> bool:
    """Tell whether a matrix is hinted to be positive definite."""
    return bool(hints_of(fgraph, variable).get("psd"))


def _own_factor_of(fgraph: FunctionGraph, variable: Tensor) -> Tensor | None:
    """Return the lower factor l of a matrix that is computed as ``l @ l.T``."""
    node = variable.owner
    if node is None or not isinstance(node.op, Dot):
        return None
    left, right = node.inputs
    has_transpose = _untransposed(right) is left or _untransposed(left) is right
    return left if has_transpose and _triangle(fgraph, left) == "lower_triangular" else None


def _factor_of(fgraph: FunctionGraph, variable: Tensor) -> Tensor | None:
    """Return a lower factor l with ``l @ l.T`` equal to a matrix that is known to be positive definite."""
    return cholesky(variable) if _is_definite(fgraph, variable) else _own_factor_of(fgraph, variable)


def _any_factor_of(fgraph: FunctionGraph, variable: Tensor) -> Tensor | None:
    """Return a triangular factor, lower or upper: also one that the graph computes anyway, and raises where none is."""
    for client, _ in fgraph.clients(variable) if variable in fgraph.variables else []:
        if isinstance(client, Apply) and isinstance(client.op, Cholesky) and client.op.on_error == "raise":
            there: Tensor = client.outputs[0]
            return there
    return _factor_of(fgraph, variable)


def _triangle(fgraph: FunctionGraph, variable: Tensor) -> str | None:
    """Return which triangle of a matrix holds all that is not zero, where this is known."""
    other = {"lower_triangular": "upper_triangular", "upper_triangular": "lower_triangular"}
    hints = hints_of(fgraph, variable)
    for name in other:
        if hints.get(name):
            return name
    node = variable.owner
    if node is not None and isinstance(node.op, Cholesky):
        return "lower_triangular" if node.op.lower else "upper_triangular"
    untransposed = _untransposed(variable)
    if untransposed is not None and untransposed.owner is not None and isinstance(untransposed.owner.op, Cholesky):
        return "upper_triangular" if untransposed.owner.op.lower else "lower_triangular"
    return None


@equations(Hint, phases=(Phase.CANONICALIZE,), fit=Fit.UNCHECKED)
def remove_hint_nodes(a: Anything) -> Equations:
    """A hint has been noted by the feature of the graph; its node goes."""
    return [hint(a) >> a]


@equations(MatrixInverse, phases=(Phase.CANONICALIZE,), tags=_RUN, fit=Fit.NARROWER)
def transinv_to_invtrans(a: Anything) -> Equations:
    """So that the inverse of a matrix is computed once."""
    return [inv(a.T) >> inv(a).T]


@equations(MatrixInverse, phases=(Phase.CANONICALIZE,), tags=_RUN, fit=Fit.NARROWER)
def inverse_of_inverse(a: Anything) -> Equations:
    """The inverse of the inverse."""
    return [inv(inv(a)) >> a]


@equations(Dot, phases=(Phase.STABILIZE,), tags=_RUN, fit=Fit.NARROWER)
def inv_as_solve(a: Anything, b: Anything) -> Equations:
    """Equations are solved in place of inverses, where nothing else needs the inverse."""
    vectors = [b @ inv(a) >> solve(a.T, b), b @ inv(a).T >> solve(a.T.T, b)]
    matrices = [
        inv(a) @ b >> solve(a, b),
        inv(a).T @ b >> solve(a.T, b),
        b @ inv(a) >> solve(a.T, b.T).T,
        b @ inv(a).T >> solve(a.T.T, b.T).T,
    ]
    forms = [*(equation.when(is_vector) for equation in vectors), *matrices]
    return [equation.when(is_matrix_of_result_dtype).alone() for equation in forms]


def is_vector(b: Tensor) -> bool:
    """The factor `b` is a vector."""
    return b.type.ndim == 1


def is_matrix_of_result_dtype(node: Apply[Any, Tensor], a: Tensor) -> bool:
    """The inverted matrix is one of the dtype of the result."""
    return a.type.ndim == 2 and bool(a.type.dtype == node.outputs[0].type.dtype)


@equations(Solve, phases=(Phase.STABILIZE,), tags=_RUN, fit=Fit.NARROWER)
def tag_solve_triangular(a: Anything, b: Anything) -> Equations:
    """A system with a matrix that is known to be triangular is solved as such."""
    return [(solved(a, b) >> triangular_solve(a, b)).when(is_general, is_triangular)]


def is_general(node: Apply[Any, Tensor]) -> bool:
    """Nothing is said of the matrix, and nothing overwritten."""
    return node.op.A_structure == "general" and not node.op.destroy_map


def is_triangular(fgraph: FunctionGraph, a: Tensor) -> bool:
    """The matrix is known to be triangular."""
    return _triangle(fgraph, a) is not None


@built("triangular_solve")
def triangular_solve(context: Context, a: Tensor, b: Tensor) -> Tensor:
    """Return the solution of a triangular system."""
    structure = cast(str, _triangle(context.fgraph, a))
    return cast(Tensor, Solve(structure, structure == "lower_triangular")(a, b))


@equations(Solve, phases=(Phase.STABILIZE,), tags=_RUN, fit=Fit.NARROWER)
def psd_solve_with_chol(a: Anything, b: Anything) -> Equations:
    """A system with a positive definite matrix is solved by its factor, which serves everything else about it, too."""
    return [(solved(a, b) >> solve_by_factor(factor(a), b)).when(has_factor)]


def has_factor(fgraph: FunctionGraph, node: Apply[Any, Tensor], a: Tensor) -> bool:
    """A factor of the matrix is known, of the dtype of the result."""
    if node.op.A_structure not in ("general", "symmetric") or a.type.ndim != 2 or node.op.destroy_map:
        return False
    factor = as_matrices("cholesky", a) if _is_definite(fgraph, a) else _own_factor_of(fgraph, a)
    return factor is not None and bool(factor.type.dtype == node.outputs[0].type.dtype)


@built("factor")
def factor(context: Context, a: Tensor) -> Tensor:
    """Return the lower factor of a positive definite matrix."""
    return cast(Tensor, _factor_of(context.fgraph, a))


@built("solve_by_factor")
def solve_by_factor(context: Context, lower: Tensor, b: Tensor) -> Tensor:
    """Return the solution of a system whose factor is given."""
    return cholesky_solve(lower, b)


@equations(Solve, phases=(Phase.STABILIZE,), tags=_RUN, fit=Fit.NARROWER)
def symmetric_solve(a: Anything, b: Anything) -> Equations:
    """A system with a matrix that is hinted to be symmetric is solved as such."""
    return [(solved(a, b) >> solve_symmetric(a, b)).when(is_general, is_only_symmetric)]


def is_only_symmetric(fgraph: FunctionGraph, a: Tensor) -> bool:
    """The matrix is hinted to be symmetric, and not to be positive definite."""
    hints = hints_of(fgraph, a)
    return bool(hints.get("symmetric") and not hints.get("psd"))


@rule(Det, phases=(Phase.SPECIALIZE,), tags=_RUN, key="local_det_chol")
def determinant_by_factor(fgraph: FunctionGraph, node: Apply[Det, Tensor]) -> Found:
    """The determinant of a triangular matrix is the product of its diagonal; that of a factor's matrix, its square."""
    x = node.inputs[0]
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
def log_of_determinant(fgraph: FunctionGraph, node: Apply[Elemwise, Tensor]) -> Found:
    """``log(det(x))`` without the determinant, which overflows for large matrices; NaN for a negative one."""
    inner = node.inputs[0].owner
    if inner is not None and isinstance(inner.op, Det):
        x = inner.inputs[0]
        if _triangle(fgraph, x) is None:
            logarithm = _logarithm_of_size(fgraph, x)
            if logarithm is not None:
                return _as_replacement(node, logarithm)
        if x.type.dtype.startswith("complex"):
            return None
        sign, size = SLogDet()(x)
        return _as_replacement(node, size + log(sign))
    within = operands(node.inputs[0], scalar.abs)
    if within is not None and within[0].owner is not None and isinstance(within[0].owner.op, Det):
        x = within[0].owner.inputs[0]
        size = _logarithm_of_size(fgraph, x)
        return _as_replacement(node, SLogDet()(x)[1] if size is None else size)
    return None


@COMPARED.register(Cholesky, Cofactors, CofactorsChange, Det, MatrixInverse, SLogDet)
def _squares(node: Apply[Any, Tensor]) -> list[list[Term]]:
    """Return the lengths that a square matrix compares."""
    return [_sides(node)]


@COMPARED.register(Solve)
def _compared_by_solve(node: Apply[Any, Tensor]) -> list[list[Term]]:
    """Return the lengths of a square matrix, and the number of rows of the right-hand sides."""
    b = node.inputs[1]
    return [[*_sides(node), term_of(b, max(b.type.ndim - 2, 0))]]


def _sides(node: Apply[Any, Tensor]) -> list[Term]:
    ndim = node.inputs[0].type.ndim
    return [term_of(node.inputs[0], axis) for axis in (ndim - 2, ndim - 1)]


#: Ops applied to a matrix only where it has an inverse.
_OF_INVERTIBLE = (MatrixInverse, SLogDet, Solve, Cholesky)
#: So many users of determinants are looked at.
_STEPS = 24
_LOG, _DIVISION, _RECIPROCAL, _POWER = map(type, (scalar.log, scalar.true_div, scalar.reciprocal, scalar.pow))
_FACTORS = frozenset(
    map(type, (scalar.abs, scalar.neg, scalar.mul, scalar.sqr, scalar.sqrt, scalar.second, scalar.pow))
)


@rule(Cofactors, CofactorsChange, reach=4)
def cofactors_of_invertible(fgraph: FunctionGraph, node: Apply[Cofactors | CofactorsChange, Tensor]) -> Found:
    """Cofactors as ``det(x) * inv(x).T`` in graphs that divide by ``det(x)`` or invert x: there, it cancels."""
    if not _is_inverted(fgraph, node.inputs[0]):
        return None
    # The determinant at hand, so that it meets its counterpart.
    expression: Any = node.op.expression
    return _as_replacement(node, expression(*node.inputs, remade(fgraph, Det(), node.inputs[0])))


def _is_inverted(fgraph: FunctionGraph, matrix: Tensor) -> bool:
    """Tell whether a matrix is inverted, or its determinant is a divisor or has its logarithm taken."""
    clients = [client for client, _ in fgraph.clients(matrix)[:_STEPS] if isinstance(client, Apply)]
    if any(isinstance(client.op, _OF_INVERTIBLE) for client in clients):
        return True
    pending = [client.outputs[0] for client in clients if isinstance(client.op, Det)]
    for _ in range(_STEPS):
        if not pending:
            return False
        below = pending.pop()
        for client, position in fgraph.clients(below)[:_STEPS]:
            if not isinstance(client, Apply):
                continue
            kind = kind_of(client.outputs[0])
            if kind in (_LOG, _RECIPROCAL) or (kind is _DIVISION and position == 1):
                return True
            if kind is _POWER and position == 0 and not _is_positive(client.inputs[1]):
                return True
            if kind in _FACTORS or kind is _DIVISION or (kind is None and isinstance(client.op, DimShuffle)):
                pending.append(client.outputs[0])
    return False


def _is_positive(exponent: Tensor) -> bool:
    value = number(exponent)
    return value is not None and not isinstance(value, complex) and value > 0


@rule(Sum, phases=(Phase.CANONICALIZE,), tags=_RUN)
def trace_of_product(fgraph: FunctionGraph, node: Apply[Sum, Tensor]) -> Found:
    """``trace(a @ b) -> sum(a * b.T)``, where nothing else needs the product."""
    inner = node.inputs[0].owner
    if node.outputs[0].type.ndim or inner is None or not isinstance(inner.op, ExtractDiag) or inner.op.offset:
        return None
    product = inner.inputs[0].owner
    if product is None or not isinstance(product.op, Dot) or sole_client(fgraph, inner.inputs[0]) is None:
        return None
    a, b = product.inputs
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
