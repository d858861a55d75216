"""Products of matrices, and their sums, through BLAS: which op computes them, and in which form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from time import perf_counter
from typing import Any

import numpy as np

from theano_graph import Apply, FunctionGraph, Op, Variable, origin_from, record
from theano_linker_c import scalar
from theano_optimize import (
    Fit,
    GraphRewriter,
    InplaceRewriter,
    NodeRewriter,
    Phase,
    RewriteInfo,
    RewriteProfile,
    SequenceDatabase,
    WalkRewriter,
    node_rewriter,
)

from .._core._convert import constant
from .._core._dtypes import COMPLEX_DTYPES
from .._core._ops import assert_op
from .._core._type import Tensor
from ..creation import Eye, alloc
from ..elemwise import DimShuffle, Elemwise, cast, dimshuffle
from ..linear import (
    Dot,
    Dot22,
    Gemm,
    Gemv,
    Ger,
    dot22,
    dot22_scalar,
    gemm_no_inplace,
    gemv_no_inplace,
    ger,
    matrix_product,
    view_roots,
)
from ..reduce import Reduce
from ..shape import shape_i, static_int
from ._language import (
    call,
    can_replace,
    cast_to,
    is_broadcast,
    lift,
    maker,
    number,
    operands,
    rule,
    scalar_constant,
    sole_client,
)
from .allocs import is_filled_with_zeros
from .equations import Anything, Equations, equations

# ---- Sums of products as BLAS computes them: ``beta Z + alpha A B``, wherever scalars and signs stand
#
# A sum is taken apart into terms: a number, symbolic scalars, and an array. Products of matrices (or of a matrix and a
# vector) that nothing else uses are then added to the rest, one call of BLAS each. The rest is added up by elementwise
# operations, unless it is one array with a constant factor: that becomes beta. Symbolic factors of the rest stay
# elementwise, so that infinities and NaN in it are kept where such a factor is zero.
#
# Adding to the rest pays where the sum itself is needed. Where elementwise operations or a reduction go on with it,
# they add the rest for nothing, and the product stays as it is.

#: No sum with more terms is taken apart: the work for one node stays bounded.
MAX_TERMS = 48
#: The products that BLAS computes.
DTYPES = ("float32", "float64")


@record(frozen=False)
class Term:
    """``coefficient * prod(scalars) * array``."""

    array: Tensor
    coefficient: float = 1.0
    scalars: tuple[Tensor, ...] = ()

    def factor(self) -> Tensor:
        """Return the factor of the array, as a 0-d tensor of its dtype."""
        dtype = self.array.type.dtype
        factors = [cast_to(without_dimensions(v), dtype) for v in self.scalars]
        if not factors or self.coefficient not in (1.0, -1.0):
            factors.insert(0, constant(np.asarray(self.coefficient, dtype=dtype)))
        result = factors[0]
        for v in factors[1:]:
            result = call(scalar.mul, result, v)
        return call(scalar.neg, result) if self.scalars and self.coefficient == -1.0 else result


@record(frozen=False)
class Sum:
    """The terms of a sum, and the nodes that it was made by."""

    terms: list[Term] = field(default_factory=list)
    nodes: set[Apply] = field(default_factory=set)
    complete: bool = True


def without_dimensions(v: Tensor) -> Tensor:
    """Return a tensor that holds one number without its dimensions."""
    if v.type.ndim == 0:
        return v
    value = number(v)
    if value is not None:
        return constant(np.asarray(value, dtype=v.type.dtype))
    node = v.owner
    if node is not None and isinstance(node.op, DimShuffle) and node.inputs[0].type.ndim == 0:
        return node.inputs[0]
    return dimshuffle(v, ())


def _same_kind(v: Tensor, root: Tensor) -> bool:
    return bool(v.type.dtype == root.type.dtype and v.type.broadcastable == root.type.broadcastable)


def _split(term: Term, root: Tensor) -> list[Term] | None:
    """Return the terms that a term is the sum of, one if it is a multiple; None if it is neither."""
    v = term.array
    parts = operands(v, scalar.add)
    if parts is not None:
        return [Term(x, term.coefficient, term.scalars) for x in parts]
    parts = operands(v, scalar.sub)
    if parts is not None:
        return [Term(parts[0], term.coefficient, term.scalars), Term(parts[1], -term.coefficient, term.scalars)]
    parts = operands(v, scalar.neg)
    if parts is not None:
        return [Term(parts[0], -term.coefficient, term.scalars)]
    parts = operands(v, scalar.mul)
    if parts is not None:
        return _multiple(term, parts, root)
    parts = operands(v, scalar.true_div)
    if parts is not None:
        value = number(parts[1])
        coefficient = term.coefficient / value if isinstance(value, (int, float)) and value else 0.0
        if _is_normal(coefficient, root):
            return [Term(parts[0], coefficient, term.scalars)]
    return None


def _multiple(term: Term, factors: Sequence[Tensor], root: Tensor) -> list[Term] | None:
    arrays = [x for x in factors if _same_kind(x, root) and not all(x.type.broadcastable)]
    others = [x for x in factors if all(x.type.broadcastable)]
    if len(arrays) != 1 or len(others) != len(factors) - 1:
        return None
    coefficient, scalars = term.coefficient, list(term.scalars)
    for x in others:
        value = number(x)
        if isinstance(value, (int, float)) and _is_normal(coefficient * value, root):
            coefficient *= value
        else:
            scalars.append(x)
    return [Term(arrays[0], coefficient, tuple(scalars))]


def _is_normal(value: float, root: Tensor) -> bool:
    limits = np.finfo(root.type.dtype)
    return float(limits.tiny) <= abs(value) <= float(limits.max)


def terms_of(fgraph: FunctionGraph, root: Tensor) -> Sum:
    """Return the terms of the sum that makes `root`; terms with other users are not taken apart."""
    terms = Sum()
    stack = [Term(root)]
    while stack:
        term = stack.pop()
        v = term.array
        may_enter = v is root or (_same_kind(v, root) and sole_client(fgraph, v) is not None)
        parts = _split(term, root) if may_enter else None
        if parts is None:
            terms.terms.append(term)
            continue
        terms.nodes.add(maker(v))
        stack.extend(reversed(parts))
        if len(stack) + len(terms.terms) > MAX_TERMS:
            terms.complete = False
            break
    return terms


def _product_of(fgraph: FunctionGraph, term: Term, root: Tensor) -> Apply[Any, Tensor] | None:
    """Return the node of a product that BLAS can add to something and that nothing else uses."""
    v = term.array
    node = v.owner
    if node is None or not _same_kind(v, root) or sole_client(fgraph, v) is None:
        return None
    if isinstance(node.op, Dot22):
        return node
    is_vector = isinstance(node.op, Dot) and v.type.ndim == 1
    return node if is_vector and all(x.type.dtype == v.type.dtype for x in node.inputs) else None


def _gathered(terms: Sequence[Term]) -> list[Term]:
    """Return terms with the constant multiples of one array put together."""
    plain: dict[Tensor, Term] = {}
    result = []
    for term in terms:
        if term.scalars:
            result.append(term)
        elif term.array in plain:
            plain[term.array].coefficient += term.coefficient
        else:
            plain[term.array] = Term(term.array, term.coefficient)
            result.append(plain[term.array])
    return result


def _add_up(terms: Sequence[Term]) -> Tensor:
    """Return the sum of terms by elementwise operations."""
    total: Tensor | None = None
    for term in terms:
        part, minus = term.array, False
        if not term.scalars and term.coefficient == -1.0:
            minus = True
        elif term.scalars or term.coefficient != 1.0:
            factor = dimshuffle(term.factor(), ["x"] * part.type.ndim) if term.scalars else None
            if factor is None:
                factor = scalar_constant(term.coefficient, part.type.dtype, part.type.ndim)
            part = call(scalar.mul, factor, part)
        if total is None:
            total = call(scalar.neg, part) if minus else part
        else:
            total = call(scalar.sub if minus else scalar.add, total, part)
    assert total is not None
    return total


def _one(dtype: str) -> Tensor:
    return constant(np.ones((), dtype=dtype))


def _accumulated(z: Tensor, term: Term, beta: Tensor) -> Tensor:
    """Return ``beta z + term`` for a term that is a product."""
    a, b = maker(term.array).inputs
    if term.array.type.ndim == 2:
        return gemm_no_inplace(z, term.factor(), a, b, beta)
    if a.type.ndim == 1:
        a, b = transposed(b), a
    return gemv_no_inplace(z, term.factor(), a, b, beta)


def transposed(matrix: Tensor) -> Tensor:
    """Return the transpose; of a transpose, its operand."""
    node = matrix.owner
    if node is not None and isinstance(node.op, DimShuffle) and list(node.op.order) == [1, 0]:
        return node.inputs[0]
    return dimshuffle(matrix, (1, 0))


def _multiplied(term: Term) -> Tensor:
    """Return a term that is a product, alone."""
    if term.coefficient == 1.0 and not term.scalars:
        return term.array
    if term.array.type.ndim == 2:
        a, b = maker(term.array).inputs
        return dot22_scalar(a, b, term.factor())
    return _add_up([term])


def is_read_elementwise(fgraph: FunctionGraph, variable: Tensor) -> bool:
    """Tell whether elementwise operations or reductions go on with a variable."""
    return any(
        isinstance(client, Apply) and isinstance(client.op, (Elemwise, Reduce))
        for client, _ in fgraph.clients(variable)
    )


class GemmOptimizer(GraphRewriter):
    """Compute sums of products by ``Gemm`` and ``Gemv``, and multiples of products by ``Dot22Scalar``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.blas.GemmOptimizer().name
    'gemm_optimizer'
    """

    def __init__(self) -> None:
        super().__init__(info=RewriteInfo("gemm_optimizer", Phase.BLAS, ("fast_run", "gemm")))

    def apply(self, fgraph: FunctionGraph) -> RewriteProfile:
        """Change the graph: one walk from the outputs, each node being part of one sum at most."""
        profile = RewriteProfile(self.name)
        begin = perf_counter()
        order = fgraph.toposort() if self._has_products(fgraph) else []
        sorted_at = perf_counter()
        done: set[Apply] = set()
        seconds = {"time_canonicalize": 0.0, "time_factor_can": 0.0}
        for node in reversed(order):
            if node in done or not self._is_root(node):
                continue
            start = perf_counter()
            terms = terms_of(fgraph, node.outputs[0])
            split = perf_counter()
            done |= terms.nodes
            if terms.complete and self._rewrite(fgraph, node, terms):
                profile.count(self.name)
            seconds["time_canonicalize"] += split - start
            seconds["time_factor_can"] += perf_counter() - split
        profile.numbers.update(
            nb_iter=1 if order else 0,
            nb_replacement=profile.changes,
            nb_replacement_didn_t_remove=0,
            nb_inconsistency_make=0,
            nb_inconsistency_replace=0,
            **seconds,
            time_factor_list=0.0,
            time_toposort=sorted_at - begin,
        )
        return profile

    def _has_products(self, fgraph: FunctionGraph) -> bool:
        return any(isinstance(node.op, (Dot, Dot22)) for node in fgraph.apply_nodes)

    def _is_root(self, node: Apply[Any, Tensor]) -> bool:
        if not isinstance(node.op, Elemwise) or len(node.outputs) != 1:
            return False
        type_ = node.outputs[0].type
        return type_.dtype in DTYPES and type_.ndim in (1, 2) and not all(type_.broadcastable)

    def _rewrite(self, fgraph: FunctionGraph, node: Apply[Any, Tensor], found: Sum) -> bool:
        root = node.outputs[0]
        products = [term for term in found.terms if _product_of(fgraph, term, root) is not None]
        goes_on = is_read_elementwise(fgraph, root)
        if not products or (goes_on and len(products) == 1):
            return False
        with origin_from(node):
            others = _gathered(
                [
                    Term(cast_to(term.array, root.type.dtype), term.coefficient, term.scalars)
                    for term in found.terms
                    if not any(term is product for product in products)
                ]
            )
            new = self._compute(root, products, others, goes_on)
        if new is None or not can_replace(root, new):
            return False
        fgraph.replace(root, new, reason=self.name)
        return True

    def _compute(self, root: Tensor, products: list[Term], rest: list[Term], goes_on: bool) -> Tensor | None:
        dtype = root.type.dtype
        beta = _one(dtype)
        same_kind = [term for term in rest if _same_kind(term.array, root)]
        separate = goes_on or (bool(rest) and not same_kind)
        if separate or not rest:
            if len(products) == 1 and (rest or _multiplied(products[0]) is products[0].array or root.type.ndim == 1):
                return None
            total, products = _multiplied(products[0]), products[1:]
        elif len(rest) == 1 and not rest[0].scalars and _is_normal(rest[0].coefficient, root):
            total, beta = rest[0].array, constant(np.asarray(rest[0].coefficient, dtype=dtype))
        else:
            total = _add_up(rest)
        for term in products:
            total, beta = _accumulated(total, term, beta), _one(dtype)
        return _add_up([*rest, Term(total)]) if separate and rest else total


# ---- Products of matrices through BLAS: which op computes them, and where in-place forms may be used
#
# All rules of this module are steps of one database, ``BlasOpt``, whose parts modes include and exclude by name.

Found = list[Variable] | None
_TAGS = ("fast_run", "o3", "o4", "unsafe")


def _inputs(node: Apply[Any, Tensor]) -> list[Tensor]:
    return node.inputs


def _fitting(node: Apply[Any, Tensor], new: Tensor) -> Found:
    return [new] if can_replace(node.outputs[0], new) else None


@node_rewriter([Dot], name="local_dot_to_dot22", phase=Phase.BLAS, tags=("fast_run", "dot22"))
def dot_to_dot22(fgraph: FunctionGraph, node: Apply[Dot, Tensor]) -> Found:
    """``Dot`` of two matrices of one dtype that BLAS has becomes ``Dot22``."""
    x, y = _inputs(node)
    if (
        x.type.ndim != 2
        or y.type.ndim != 2
        or x.type.dtype != y.type.dtype
        or x.type.dtype not in (*DTYPES, *COMPLEX_DTYPES)
    ):
        return None
    return _fitting(node, dot22(x, y))


@node_rewriter([lift(scalar.mul)], name="local_dot22_to_dot22scalar", phase=Phase.BLAS)
def dot22_to_dot22scalar(fgraph: FunctionGraph, node: Apply[Elemwise, Tensor]) -> Found:
    """``a * Dot22(x, y)`` becomes ``Dot22Scalar(x, y, a)``, unless elementwise operations go on with it."""
    factors = _inputs(node)
    products = [v for v in factors if v.owner is not None and isinstance(v.owner.op, Dot22)]
    numbers = [v for v in factors if is_broadcast(v)]
    if len(products) != 1 or len(numbers) != len(factors) - 1 or products[0].type.dtype != node.outputs[0].type.dtype:
        return None
    if sole_client(fgraph, products[0]) is None or is_read_elementwise(fgraph, node.outputs[0]):
        return None
    alpha: Tensor | None = None
    for v in numbers:
        factor = cast_to(without_dimensions(v), products[0].type.dtype)
        alpha = factor if alpha is None else call(scalar.mul, alpha, factor)
    x, y = maker(products[0]).inputs
    return _fitting(node, dot22_scalar(x, y, alpha))


def _has_length_one(v: Tensor, axis: int) -> bool:
    return bool(v.type.shape[axis] == 1)


def _without(v: Tensor, axis: int) -> Tensor:
    """Return a matrix without an axis of length 1; of a vector that got one, the vector."""
    node = v.owner
    axis_kept = 1 - axis
    if node is not None and isinstance(node.op, DimShuffle) and node.inputs[0].type.ndim == 1:
        order = list(node.op.order)
        if order[axis] == "x" and order[axis_kept] == 0:
            return node.inputs[0]
    return dimshuffle(v, (axis_kept,))


@node_rewriter([Gemm], name="local_gemm_to_ger", phase=Phase.BLAS)
def gemm_to_ger(fgraph: FunctionGraph, node: Apply[Gemm, Tensor]) -> Found:
    """``z + a x y`` for a column x and a row y: an update of rank 1."""
    z, a, x, y, b = _inputs(node)
    if number(b) != 1 or not (_has_length_one(x, 1) and _has_length_one(y, 0)):
        return None
    return _fitting(node, ger(z, a, _without(x, 1), _without(y, 0)))


@node_rewriter([Gemm], name="local_gemm_to_gemv", phase=Phase.BLAS)
def gemm_to_gemv(fgraph: FunctionGraph, node: Apply[Gemm, Tensor]) -> Found:
    """``b z + a x y`` where the result is one column, or one row."""
    z, a, x, y, b = _inputs(node)
    if _has_length_one(y, 1) and _has_length_one(z, 1):
        column = gemv_no_inplace(_without(z, 1), a, x, _without(y, 1), b)
        return _fitting(node, dimshuffle(column, (0, "x")))
    if _has_length_one(x, 0) and _has_length_one(z, 0):
        row = gemv_no_inplace(_without(z, 0), a, transposed(y), _without(x, 0), b)
        return _fitting(node, dimshuffle(row, ("x", 0)))
    return None


@node_rewriter([Dot22], name="local_dot22_to_ger_or_gemv", phase=Phase.BLAS)
def dot22_with_vectors(fgraph: FunctionGraph, node: Apply[Dot22, Tensor]) -> Found:
    """A column times a row is elementwise; a product that is one column or one row is that of a vector."""
    x, y = _inputs(node)
    if _has_length_one(x, 1) and _has_length_one(y, 0):
        return _fitting(node, call(scalar.mul, x, y))
    if _has_length_one(y, 1):
        return _fitting(node, dimshuffle(matrix_product(x, _without(y, 1)), (0, "x")))
    if _has_length_one(x, 0):
        return _fitting(node, dimshuffle(matrix_product(_without(x, 0), y), ("x", 0)))
    return None


def _inplace_forms(node: Apply[Any, Tensor]) -> Iterator[Op]:
    """Yield the form of a node that uses the memory of the product's addend."""
    z, _, *factors = node.inputs[:4]
    roots = view_roots(z)
    # The addend may be a factor as well, which must not change meanwhile.
    aliased = any(root in roots for factor in factors for root in view_roots(factor))
    if not node.op.inplace and not aliased:
        yield node.op.in_place()


def _walk(*rules: NodeRewriter) -> WalkRewriter:
    return WalkRewriter(rules, name=rules[0].name)


def blas_database() -> SequenceDatabase:
    """Return the steps from ``Dot`` to the ops that BLAS computes, in their order."""
    database = SequenceDatabase("BlasOpt")
    steps: list[tuple[str, GraphRewriter, tuple[str, ...]]] = [
        ("local_dot_to_dot22", _walk(dot_to_dot22), ("dot22", "use_c_blas")),
        ("gemm_optimizer", GemmOptimizer(), ("gemm",)),
        ("local_dot22_to_dot22scalar", _walk(dot22_to_dot22scalar), ()),
        ("local_gemm_to_ger", _walk(gemm_to_ger), ("use_scipy_ger",)),
        ("local_gemm_to_gemv", _walk(gemm_to_gemv), ()),
        ("local_dot22_to_ger_or_gemv", _walk(dot22_with_vectors), ()),
    ]
    for position, (name, rewriter, aliases) in enumerate(steps):
        database.register(name, rewriter, *_TAGS, position=position, aliases=aliases)
    return database


#: The steps, which programs add their own to.
blas_optdb = blas_database()


def register_blas(database: SequenceDatabase) -> None:
    """Register the rules of this module with the database of all rewrites."""
    database.register("BlasOpt", blas_optdb, *_TAGS, position=Phase.BLAS)
    inplace = InplaceRewriter(_inplace_forms, [Gemm, Gemv, Ger], name="InplaceBlasOpt")
    aliases = ("local_inplace_gemm", "local_inplace_gemv", "local_inplace_ger")
    database.register("InplaceBlasOpt", inplace, "fast_run", "inplace", position=70.0, aliases=aliases)


# ---- Products of matrices with nothing in them, and of which the transposed is wanted

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
