"""Rewrites that put ops in C, on the arrays of sparse matrices, in the place of those that run in SciPy."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from theano_graph import Apply, FunctionGraph, Op
from theano_linker_c import SharedVariable
from theano_linker_c.modes import optdb
from theano_optimize import (
    EquilibriumDatabase,
    InplaceRewriter,
    Phase,
    WalkRewriter,
    final_constant_folding,
    node_rewriter,
)
from theano_tensor import AdvancedSubtensor1, as_tensor_variable, inc_subtensor

from .._core._build import is_sparse
from .._core._compressed import NATIVE_DTYPES
from .._core._conversion import Cast, DenseFromSparse, Remove0, ToFormat
from .._core._structure import CSM, CooIndices, CSMProperties, TrustedCSM, csm_data, csm_properties, with_data
from .._operations._arithmetic import AddSD, Neg
from .._operations._products import Dot, StructuredDot, Usmm
from .._operations._sums import SpSum
from .._rewrites import RUN_TAGS, Found, local_csm_properties_csm, rule
from ._forms import ChangeCompression, CompressedSum, CompressedToDense, GatherByIndex
from ._products import CompressedDot, CompressedUsmm, UsmmRows, compressed_usmm

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


def _fitting(node: Apply, made: Any) -> Found:
    return [made] if node.outputs[0].type.is_super(made.type) else None


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
    made: Any = compressed_usmm(transposed.type.format)(alpha, *_components(transposed), first, addend)
    return _fitting(node, made.T)


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
    """``v[rows]`` and ``v[columns]`` of what a sparse matrix stores are gathered without a vector of major indices."""
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
    made = with_data(x, -data if isinstance(node.op, Neg) else data.astype(kind.dtype))
    return _fitting(node, made)


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
    made = {part.owner for part in node.inputs[1:3]}
    source = made.pop()
    if node.op.owns or made or source is None or not isinstance(source.op, ChangeCompression):
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
