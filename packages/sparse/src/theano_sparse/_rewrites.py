"""Rewrites of graphs with sparse matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from theano_graph import Apply, FunctionGraph, Op, Variable
from theano_linker_c import scalar
from theano_linker_c.modes import optdb
from theano_optimize import NodeRewriter, Phase, node_rewriter
from theano_tensor import Elemwise

from ._build import is_sparse
from ._conversion import DenseFromSparse, SparseFromDense
from ._native import NATIVE_DTYPES, StructuredDotLines
from ._products import Dot, StructuredDot, usmm
from ._structure import CSM, CSMProperties, csm_properties
from ._type import SparseType

#: Where the manual's table has products with sparse matrices: o3 and o4.
_RUN_TAGS = ("fast_run", "o3", "o4", "unsafe")
_ALWAYS = (*_RUN_TAGS, "o2", "fast_compile")
Found = list[Variable] | None
Transform = Callable[[FunctionGraph, Apply], Found]


def _rule(
    *tracks: Op | type[Op], phases: Sequence[Phase], tags: tuple[str, ...] = _RUN_TAGS, names: tuple[str, ...] = ()
) -> Callable[[Transform], NodeRewriter]:
    """Return a decorator that makes a rule of a function and registers it with the databases of its phases."""

    def decorate(function: Transform) -> NodeRewriter:
        made = node_rewriter(list(tracks), phase=phases[0])(function)
        databases: Any = optdb
        for phase in phases:
            databases[phase.tag].register(made.name, made, *tags, aliases=names)
        return made

    return decorate


@_rule(CSMProperties, phases=(Phase.CANONICALIZE, Phase.SPECIALIZE), tags=_ALWAYS)
def local_csm_properties_csm(fgraph: FunctionGraph, node: Apply) -> Found:
    """``csm_properties(CSM(data, indices, indptr, shape)) -> data, indices, indptr, shape``."""
    inner = node.inputs[0].owner
    if inner is None or not isinstance(inner.op, CSM) or inner.op.kmap is not None:
        return None
    fits = all(old.type.is_super(new.type) for old, new in zip(node.outputs, inner.inputs, strict=True))
    return list(inner.inputs) if fits else None


@_rule(DenseFromSparse, SparseFromDense, phases=(Phase.CANONICALIZE,), tags=_ALWAYS)
def local_dense_from_sparse_sparse_from_dense(fgraph: FunctionGraph, node: Apply) -> Found:
    """A matrix made sparse and dense again, or dense and sparse again, is itself."""
    inner = node.inputs[0].owner
    there_and_back = {DenseFromSparse: SparseFromDense, SparseFromDense: DenseFromSparse}
    if inner is None or not isinstance(inner.op, there_and_back[type(node.op)]):
        return None
    source = inner.inputs[0]
    return [source] if node.outputs[0].type.is_super(source.type) else None


@_rule(StructuredDot, phases=(Phase.SPECIALIZE,), names=("sparse_dot",))
def local_structured_dot(fgraph: FunctionGraph, node: Apply) -> Found:
    """Products of a sparse and a dense matrix run in C, in place of SciPy."""
    x, y = node.inputs
    kind: Any = x.type
    if is_sparse(y) or kind.dtype not in NATIVE_DTYPES or getattr(y.type, "dtype", None) != kind.dtype:
        return None
    return [_native_product(x, y)]


def _native_product(x: Variable, y: Variable) -> Variable:
    kind: Any = x.type
    data, indices, indptr, shape = csm_properties(x)
    product: Variable = StructuredDotLines(kind.format)(
        data, indices, indptr, shape[0 if kind.format == "csc" else 1], y
    )
    return product


@_rule(Elemwise, phases=(Phase.SPECIALIZE,))
def local_usmm(fgraph: FunctionGraph, node: Apply) -> Found:
    """``z - alpha * dot(x, y)`` and ``z + alpha * dot(x, y)`` of one sparse matrix become one op."""
    op: Any = node.op
    if op.scalar_op not in (scalar.add, scalar.sub) or len(node.inputs) != 2:
        return None
    places = ((0, 1), (1, 0)) if op.scalar_op == scalar.add else ((0, 1),)
    for z, other in places:
        found = _scaled_product(fgraph, node.inputs[other])
        if found is None:
            continue
        alpha, x, y = found
        addend: Any = node.inputs[z]
        if addend.type.ndim != 2 or any(n == 1 for n in addend.type.shape):
            continue
        made: Any = usmm(alpha if op.scalar_op == scalar.add else -alpha, x, y, addend)
        if node.outputs[0].type.is_super(made.type):
            return [made]
    return None


def _scaled_product(fgraph: FunctionGraph, variable: Any) -> tuple[Any, Any, Any] | None:
    """Return alpha, x and y of ``alpha * dot(x, y)``, if nothing else needs it and alpha is one number."""
    node = variable.owner
    if node is None or fgraph.n_clients(variable) != 1 or not isinstance(node.op, Elemwise):
        return None
    if node.op.scalar_op != scalar.mul or len(node.inputs) != 2:
        return None
    for alpha, product in (node.inputs, node.inputs[::-1]):
        inner = product.owner
        if inner is None or not isinstance(inner.op, Dot) or fgraph.n_clients(product) != 1:
            continue
        if any(isinstance(v.type, SparseType) for v in inner.inputs) and all(n == 1 for n in alpha.type.shape):
            return alpha, *inner.inputs
    return None
