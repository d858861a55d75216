"""Products of matrices through BLAS: which op computes them, and where in-place forms may be used.

All rules of this module are steps of one database, ``BlasOpt``, whose parts modes include and exclude by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from theano_graph import Apply, FunctionGraph, Op, Variable
from theano_linker_c import scalar
from theano_optimize import (
    GraphRewriter,
    InplaceRewriter,
    NodeRewriter,
    Phase,
    SequenceDatabase,
    WalkRewriter,
    node_rewriter,
)

from .._core._dtypes import COMPLEX_DTYPES
from .._core._type import Tensor
from ..elemwise import DimShuffle, Elemwise, dimshuffle
from ..linear import (
    Dot,
    Dot22,
    Gemm,
    Gemv,
    Ger,
    dot22,
    dot22_scalar,
    gemv_no_inplace,
    ger,
    matrix_product,
    view_roots,
)
from ._language import call, can_replace, cast_to, is_broadcast, lift, maker, number, sole_client
from .blas_sums import DTYPES, GemmOptimizer, is_read_elementwise, transposed, without_dimensions

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
