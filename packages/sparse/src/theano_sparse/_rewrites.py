"""Rewrites of graphs with sparse matrices, and rewrites that put in ops in C."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, cast as typed

import numpy as np

from theano_graph import Apply, Constant, FunctionGraph, Op, Variable
from theano_linker_c import SharedVariable, scalar
from theano_linker_c.modes import optdb
from theano_optimize import (
    EquilibriumDatabase,
    InplaceRewriter,
    NodeRewriter,
    Phase,
    WalkRewriter,
    final_constant_folding,
    node_rewriter,
)
from theano_tensor import (
    AdvancedSubtensor1,
    CheckAndRaise,
    Elemwise,
    ShapeI,
    as_tensor_variable,
    constant,
    eq,
    inc_subtensor,
    mul,
    shape_i,
    stack,
)

from ._compressed import (
    NATIVE_DTYPES,
    ChangeCompression,
    CompressedDot,
    CompressedSum,
    CompressedToDense,
    CompressedUsmm,
    GatherByIndex,
    UsmmRows,
    compressed_usmm,
)
from ._core._conversion import Cast, DenseFromSparse, Remove0, SparseFromDense, SumDuplicates, ToFormat, stores_once
from ._core._op import is_sparse
from ._core._structure import (
    CSM,
    CooIndices,
    CSMProperties,
    TrustedCSM,
    covers,
    csm_data,
    csm_properties,
    major_of,
    with_data,
)
from ._operations._arithmetic import AddSD, Neg
from ._operations._products import Dot, StructuredDot, Usmm, usmm
from ._operations._shape import Transpose
from ._operations._structured import SpSum

# ---- Rewrites of ops in SciPy

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
        result = node_rewriter(list(tracks), phase=phase)(function)
        for database in databases:
            database.register(result.name, result, *tags, aliases=names)
        return result

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
    full: Any = inner.inputs[3]
    shape = full if node.outputs[3].type.is_super(full.type) else stack([full[0], full[1]])
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
        value = _scaled_product(fgraph, node.inputs[position])
        others: list[Any] = [*node.inputs[:position], *node.inputs[position + 1 :]]
        if value is None or not others:
            continue
        addend = others[0] if len(others) == 1 else op(*others)
        if addend.type.ndim != 2 or any(n == 1 for n in addend.type.shape):
            continue
        alpha, x, y = value
        result: Any = usmm(-alpha if subtracts else alpha, x, y, addend)
        if node.outputs[0].type.is_super(result.type):
            return [result]
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
        result = _scaled_product(fgraph, node.inputs[0])
        return result and (-result[0], *result[1:])
    if node.op.scalar_op != scalar.mul:
        return None
    for position, product in enumerate(node.inputs):
        factors: list[Any] = [*node.inputs[:position], *node.inputs[position + 1 :]]
        if all(n == 1 for factor in factors for n in factor.type.shape):
            result = _scaled_product(fgraph, product)
            return result and (mul(result[0], *factors), *result[1:])
    return None


# ---- Rewrites that replace ops in SciPy by ops in C

#: After the phases that know the ops of this package, before loops are fused.
_POSITION = 2.6
database = EquilibriumDatabase("sparse_native")
_rule = partial(rule, databases=(database,), phase=Phase.SPECIALIZE)


def _native(*variables: Any) -> bool:
    """Tell whether the C code knows the dtypes of all variables."""
    return all(variable.type.dtype in NATIVE_DTYPES for variable in variables)


def _components(x: Any) -> tuple[Any, Any, Any, Any]:
    """Return the arrays of a sparse matrix, and the length of its minor axis."""
    data, indices, indptr, shape = csm_properties(x)
    return data, indices, indptr, shape[0 if x.type.format == "csc" else 1]


def _fitting(node: Apply, replacement: Any) -> Found:
    return [replacement] if node.outputs[0].type.is_super(replacement.type) else None


@_rule(StructuredDot, names=("sparse_dot",))
def local_structured_dot(fgraph: FunctionGraph, node: Apply) -> Found:
    """Structured products of a sparse and a dense matrix run in C."""
    x, y = node.inputs
    if is_sparse(y) or not _native(node.outputs[0]):
        return None
    kind: Any = x.type
    return _fitting(node, CompressedDot(kind.format)(*_components(x), y))


@_rule(Dot)
def local_sparse_dot_compressed(fgraph: FunctionGraph, node: Apply) -> Found:
    """Products of a sparse and a dense matrix run in C."""
    x, y = node.inputs
    if (is_sparse(x) and is_sparse(y)) or not _native(node.outputs[0]):
        return None
    if is_sparse(x):
        kind: Any = x.type
        return _fitting(node, CompressedDot(kind.format)(*_components(x), y))
    sparse: Any = y
    transposed = sparse.T
    product: Any = CompressedDot(transposed.type.format)(*_components(transposed), as_tensor_variable(x).T)
    return _fitting(node, product.T)


@_rule(Usmm, names=("local_usmm_csx",))
def local_usmm_compressed(fgraph: FunctionGraph, node: Apply) -> Found:
    """``alpha * dot(x, y) + z`` of a sparse and a dense matrix runs in C."""
    alpha, x, y, z = node.inputs
    if (is_sparse(x) and is_sparse(y)) or not _native(node.outputs[0]):
        return None
    if is_sparse(x):
        kind: Any = x.type
        return _fitting(node, compressed_usmm(kind.format)(alpha, *_components(x), y, z))
    sparse: Any = y
    transposed, first, addend = sparse.T, as_tensor_variable(x).T, as_tensor_variable(z).T
    result: Any = compressed_usmm(transposed.type.format)(alpha, *_components(transposed), first, addend)
    return _fitting(node, result.T)


@_rule(CompressedUsmm)
def local_usmm_rows(fgraph: FunctionGraph, node: Apply) -> Found:
    """A new value of a shared variable that is the old one and a product: only rows that the product has change."""
    *_, y, z = node.inputs
    clients = fgraph.clients(node.outputs[0])
    if not isinstance(z, SharedVariable) or [client for client, _ in clients] != ["output"]:
        return None
    addend = as_tensor_variable(z)
    rows, block = UsmmRows(node.op.format)(*node.inputs[:5], y, addend.shape[0], addend.shape[1])
    return _fitting(node, inc_subtensor(addend[rows], block))


@_rule(SpSum)
def local_sp_sum_compressed(fgraph: FunctionGraph, node: Apply) -> Found:
    """Sums of sparse matrices run in C."""
    (x,) = node.inputs
    kind: Any = x.type
    if not _native(x):
        return None
    if node.op.axis is None:
        return _fitting(node, csm_data(x).sum(dtype=kind.dtype))
    return _fitting(node, CompressedSum(by_major=(node.op.axis == 1) == (kind.format == "csr"))(*_components(x)))


@_rule(AddSD, names=("local_addsd_ccode",))
def local_add_s_d_compressed(fgraph: FunctionGraph, node: Apply) -> Found:
    """The sum of a sparse and a dense matrix runs in C."""
    x, y = node.inputs
    kind: Any = x.type
    return _fitting(node, CompressedToDense(kind.format)(*_components(x), y)) if _native(node.outputs[0]) else None


@_rule(DenseFromSparse)
def local_dense_from_sparse_compressed(fgraph: FunctionGraph, node: Apply) -> Found:
    """A sparse matrix becomes dense in C."""
    (x,) = node.inputs
    kind: Any = x.type
    return _fitting(node, CompressedToDense(kind.format)(*_components(x))) if _native(x) else None


@_rule(ToFormat)
def local_to_format_compressed(fgraph: FunctionGraph, node: Apply) -> Found:
    """A sparse matrix changes its format in C."""
    (x,) = node.inputs
    kind: Any = node.outputs[0].type
    if not _native(x) or x.type == kind:
        return None
    return [TrustedCSM(kind.format)(*ChangeCompression()(*_components(x)), csm_properties(x)[3])]


@_rule(AdvancedSubtensor1)
def local_gather_by_index(fgraph: FunctionGraph, node: Apply) -> Found:
    """``v[rows]`` and ``v[columns]`` of a sparse matrix's positions are gathered without a vector of major indices."""
    vector, positions = node.inputs[:2]
    source = positions.owner
    if source is None or not isinstance(source.op, CooIndices) or not _native(vector):
        return None
    if as_tensor_variable(vector).type.ndim != 1:
        return None
    by_major = (source.op.format == "csr") == (positions.index == 0)
    return _fitting(node, GatherByIndex(by_major)(vector, *source.inputs))


@_rule(Neg, Cast)
def local_neg_cast_data(fgraph: FunctionGraph, node: Apply) -> Found:
    """Signs and dtypes change in the stored elements alone, where they join other loops."""
    (x,) = node.inputs
    kind: Any = node.outputs[0].type
    data = csm_data(x)
    if data.type.dtype.startswith("complex") and not kind.dtype.startswith("complex"):
        return None
    result = with_data(x, -data if isinstance(node.op, Neg) else data.astype(kind.dtype))
    return _fitting(node, result)


@_rule(CSM)
def local_csm_trusted(fgraph: FunctionGraph, node: Apply) -> Found:
    """The positions of a sparse matrix need not be looked at again."""
    if type(node.op) is not CSM or node.op.kmap is not None:
        return None
    owners = {part.owner for part in node.inputs[1:]}
    source = owners.pop()
    if owners or source is None or not isinstance(source.op, CSMProperties):
        return None
    kind: Any = source.inputs[0].type
    in_order = all(part.index == k for k, part in enumerate(node.inputs[1:], 1))
    if not in_order or kind.format != node.op.format:
        return None
    return [TrustedCSM(node.op.format)(*node.inputs)]


database.register(local_csm_properties_csm.name, local_csm_properties_csm, *RUN_TAGS)
database.register("constant_folding", final_constant_folding, *RUN_TAGS)


def _inplace_forms(node: Apply) -> Iterator[Op]:
    """Yield the form that takes the memory of the dense matrix that is added to, or of the matrix without zeros."""
    op: Any = node.op
    if isinstance(op, CompressedUsmm) and not op.inplace:
        yield compressed_usmm(op.format, inplace=True)
    if isinstance(op, CompressedToDense) and not op.inplace and len(node.inputs) > 4:
        yield CompressedToDense(op.format, inplace=True)
    if isinstance(op, Remove0) and not op.inplace:
        yield Remove0(inplace=True)


@node_rewriter([TrustedCSM])
def local_csm_owned(fgraph: FunctionGraph, node: Apply[TrustedCSM]) -> Found:
    """A sparse matrix consists of new arrays themselves, if nothing else uses them."""
    results = {part.owner for part in node.inputs[1:3]}
    source = results.pop()
    if node.op.owns or results or source is None or not isinstance(source.op, ChangeCompression):
        return None
    if any(fgraph.n_clients(part) != 1 for part in node.inputs[1:3]):
        return None
    return [TrustedCSM(node.op.format, owns=True)(*node.inputs)]


_inplace = InplaceRewriter(_inplace_forms, [CompressedUsmm, CompressedToDense, Remove0], name="InplaceSparseOpt")
_databases: Any = optdb
_databases.register("sparse_native", database, *RUN_TAGS, position=_POSITION)
_databases.register(
    "InplaceSparseOpt",
    _inplace,
    "fast_run",
    "inplace",
    position=70.0,
    aliases=("local_usmm_csc_dense_inplace", "local_inplace_addsd_ccode", "local_inplace_remove0"),
)
_owned = WalkRewriter([local_csm_owned], name="local_csm_owned")
_databases.register("local_csm_owned", _owned, "fast_run", "inplace", position=71.0)
