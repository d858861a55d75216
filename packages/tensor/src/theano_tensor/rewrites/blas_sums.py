"""Sums of products as BLAS computes them: ``beta Z + alpha A B``, wherever scalars and signs stand.

A sum is taken apart into terms: a number, symbolic scalars, and an array. Products of matrices (or of a matrix and a
vector) that nothing else uses are then added to the rest, one call of BLAS each. The rest is added up by elementwise
operations, unless it is one array with a constant factor: that becomes beta. Symbolic factors of the rest stay
elementwise, so that infinities and NaN in it are kept where such a factor is zero.

Adding to the rest pays where the sum itself is needed. Where elementwise operations or a reduction go on with it,
they add the rest for nothing, and the product stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from time import perf_counter
from typing import Any

import numpy as np

from theano_graph import Apply, FunctionGraph, origin_from, record
from theano_linker_c import scalar
from theano_optimize import GraphRewriter, Phase, RewriteInfo, RewriteProfile

from .._core._convert import constant
from .._core._type import Tensor
from ..elemwise import DimShuffle, Elemwise, dimshuffle
from ..linear import Dot, Dot22, dot22_scalar, gemm_no_inplace, gemv_no_inplace
from ..reduce import Reduce
from ._language import call, can_replace, cast_to, maker, number, operands, scalar_constant, sole_client

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
