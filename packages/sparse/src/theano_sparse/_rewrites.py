"""Rewrites of graphs with sparse matrices. Those that put in ops in C are in `_native._rewrites`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast as typed

import numpy as np

from theano_graph import Apply, Constant, FunctionGraph, Op, Variable
from theano_linker_c import scalar
from theano_linker_c.modes import optdb
from theano_optimize import NodeRewriter, Phase, node_rewriter
from theano_tensor import CheckAndRaise, Elemwise, ShapeI, constant, eq, mul, shape_i, stack

from ._core._build import is_sparse
from ._core._conversion import Cast, DenseFromSparse, SparseFromDense
from ._core._duplicates import SumDuplicates, stores_once
from ._core._structure import CSM, CSMProperties, covers, csm_properties, major_of
from ._operations._arithmetic import Neg
from ._operations._products import Dot, StructuredDot, usmm
from ._operations._shape import Transpose

#: Where the manual's table has products with sparse matrices: o3 and o4.
RUN_TAGS = ("fast_run", "o3", "o4", "unsafe")
_ALWAYS = (*RUN_TAGS, "o2", "fast_compile")
Found = list[Variable] | None
Transform = Callable[[FunctionGraph, Apply], Found]


def rule(
    *tracks: Op | type[Op],
    databases: Sequence[Any],
    phase: Phase,
    tags: tuple[str, ...] = RUN_TAGS,
    names: tuple[str, ...] = (),
) -> Callable[[Transform], NodeRewriter]:
    """Return a decorator that makes a rule of a function and registers it with databases."""

    def decorate(function: Transform) -> NodeRewriter:
        made = node_rewriter(list(tracks), phase=phase)(function)
        for database in databases:
            database.register(made.name, made, *tags, aliases=names)
        return made

    return decorate


_DATABASES: Any = optdb
_CANONICALIZE, _SPECIALIZE = (_DATABASES[phase.tag] for phase in (Phase.CANONICALIZE, Phase.SPECIALIZE))


@rule(CSMProperties, databases=(_CANONICALIZE, _SPECIALIZE), phase=Phase.CANONICALIZE, tags=_ALWAYS)
def local_csm_properties_csm(fgraph: FunctionGraph, node: Apply[CSMProperties]) -> Found:
    """``csm_properties(CSM(data, indices, indptr, shape)) -> data, indices, indptr, shape``, also of a transpose."""
    inner = node.inputs[0].owner
    if inner is not None and isinstance(inner.op, Transpose):
        data, indices, indptr, shape = csm_properties(inner.inputs[0])
        return [data, indices, indptr, shape[::-1]]
    if inner is None or not isinstance(inner.op, CSM) or inner.op.kmap is not None:
        return None
    whole: Any = inner.inputs[3]
    shape = whole if node.outputs[3].type.is_super(whole.type) else stack([whole[0], whole[1]])
    arrays = [*inner.inputs[:2], _fitting_indptr(inner), shape]
    fits = all(old.type.is_super(new.type) for old, new in zip(node.outputs, arrays, strict=True))
    return arrays if fits else None


_FITS = CheckAndRaise(ValueError, "the arrays do not make a sparse matrix: indptr does not fit the shape")


def _fitting_indptr(node: Apply[CSM]) -> Any:
    """Return the third array of a matrix, checked against the shape if it is not that of another matrix."""
    _, indices, indptr, shape = typed(Any, node.inputs)
    if indptr.owner is not None and (indptr.owner.op == _FITS or isinstance(indptr.owner.op, CSMProperties)):
        return indptr
    n_major = shape[0 if node.op.format == "csr" else 1]
    lengths = eq(shape_i(shape, 0), 2), eq(shape_i(indptr, 0), n_major + 1)
    return _FITS(indptr, *lengths, eq(indptr[0], 0), eq(indptr[-1], shape_i(indices, 0)))


@rule(CSMProperties, databases=(_CANONICALIZE, _SPECIALIZE), phase=Phase.CANONICALIZE)
def local_shape_of_sparse(fgraph: FunctionGraph, node: Apply[CSMProperties]) -> Found:
    """The shape of a sparse matrix of which nothing else is asked is made of its two lengths."""
    if any(fgraph.n_clients(output) for output in node.outputs[:3]) or not fgraph.n_clients(node.outputs[3]):
        return None
    (x,) = node.inputs
    return [*node.outputs[:3], stack([ShapeI(0)(x), ShapeI(1)(x)])]


@rule(SumDuplicates, databases=(_CANONICALIZE, _SPECIALIZE), phase=Phase.CANONICALIZE, tags=_ALWAYS)
def local_sum_duplicates(fgraph: FunctionGraph, node: Apply[SumDuplicates]) -> Found:
    """Nothing adds up in a matrix that is made of a dense one, or whose positions are known and different."""
    (x,) = node.inputs
    inner = x.owner
    if stores_once(x) or (inner is not None and isinstance(inner.op, SparseFromDense)):
        return [x]
    if inner is not None and isinstance(inner.op, (Neg, Cast)) and node.outputs[0].type.dtype[0] in "fc":
        return [inner.op(SumDuplicates()(inner.inputs[0]))]  # the loops of functions on both sides meet
    if inner is None or not isinstance(inner.op, CSM) or inner.op.kmap is not None:
        return None
    indices, indptr = inner.inputs[1:3]
    if (
        not isinstance(indices, Constant)
        or not isinstance(indptr, Constant)
        or not covers(indptr.data, len(indices.data))
    ):
        return None
    major = major_of(indptr.data, len(indices.data)).astype("int64")
    positions = major * (int(indices.data.max(initial=0)) + 1) + indices.data
    return [x] if len(np.unique(positions)) == len(positions) else None


@rule(DenseFromSparse, SparseFromDense, databases=(_CANONICALIZE,), phase=Phase.CANONICALIZE, tags=_ALWAYS)
def local_dense_from_sparse_sparse_from_dense(
    fgraph: FunctionGraph, node: Apply[DenseFromSparse | SparseFromDense]
) -> Found:
    """A matrix made sparse and dense again, or dense and sparse again, is itself."""
    inner = node.inputs[0].owner
    there_and_back = {DenseFromSparse: SparseFromDense, SparseFromDense: DenseFromSparse}
    if inner is None or not isinstance(inner.op, there_and_back[type(node.op)]):
        return None
    source = inner.inputs[0]
    return [source] if node.outputs[0].type.is_super(source.type) else None


@rule(Elemwise, databases=(_SPECIALIZE,), phase=Phase.SPECIALIZE)
def local_usmm(fgraph: FunctionGraph, node: Apply[Elemwise]) -> Found:
    """``z - alpha * dot(x, y)`` and ``z + alpha * dot(x, y)`` of one sparse matrix become one op."""
    op: Any = node.op
    if op.scalar_op not in (scalar.add, scalar.sub):
        return None
    subtracts = op.scalar_op == scalar.sub
    for position in range(int(subtracts), len(node.inputs)):
        found = _scaled_product(fgraph, node.inputs[position])
        rest: list[Any] = [*node.inputs[:position], *node.inputs[position + 1 :]]
        if found is None or not rest:
            continue
        addend = rest[0] if len(rest) == 1 else op(*rest)
        if addend.type.ndim != 2 or any(n == 1 for n in addend.type.shape):
            continue
        alpha, x, y = found
        made: Any = usmm(-alpha if subtracts else alpha, x, y, addend)
        if node.outputs[0].type.is_super(made.type):
            return [made]
    return None


def _scaled_product(fgraph: FunctionGraph, variable: Any) -> tuple[Any, Any, Any] | None:
    """Return alpha, x and y of ``alpha * dot(x, y)``, if nothing else needs it and alpha is one number."""
    node = variable.owner
    if node is None or fgraph.n_clients(variable) != 1:
        return None
    if isinstance(node.op, (Dot, StructuredDot)) and not is_sparse(variable):
        return constant(1, dtype=variable.type.dtype), *node.inputs
    if not isinstance(node.op, Elemwise):
        return None
    if node.op.scalar_op == scalar.neg:
        found = _scaled_product(fgraph, node.inputs[0])
        return found and (-found[0], *found[1:])
    if node.op.scalar_op != scalar.mul:
        return None
    for position, product in enumerate(node.inputs):
        factors: list[Any] = [*node.inputs[:position], *node.inputs[position + 1 :]]
        if all(n == 1 for factor in factors for n in factor.type.shape):
            found = _scaled_product(fgraph, product)
            return found and (mul(found[0], *factors), *found[1:])
    return None
