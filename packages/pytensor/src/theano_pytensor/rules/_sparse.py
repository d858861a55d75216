"""Sparse matrices."""

from __future__ import annotations

from typing import Any

from theano import sparse

from .._translation import Site, rule


@rule("sparse.CSMProperties")
def _properties(site: Site) -> Any:
    return list(sparse.csm_properties(site.inputs[0]))


@rule("sparse.CSM")
def _matrix(site: Site) -> Any:
    return (sparse.CSC if site.op.format == "csc" else sparse.CSR)(*site.inputs)


@rule("sparse.DenseFromSparse")
def _dense(site: Site) -> Any:
    return sparse.dense_from_sparse(site.inputs[0])


@rule("sparse.SparseFromDense")
def _compressed(site: Site) -> Any:
    return (sparse.csc_from_dense if site.op.format == "csc" else sparse.csr_from_dense)(site.inputs[0])


@rule("sparse.Transpose")
def _transpose(site: Site) -> Any:
    return sparse.transpose(site.inputs[0])


@rule("sparse.Cast")
def _cast(site: Site) -> Any:
    return sparse.cast(site.inputs[0], site.op.out_type)


def _joined(site: Site) -> dict[str, Any]:
    return {"format": site.op.format, "dtype": site.op.dtype}


@rule("sparse.HStack")
def _beside(site: Site) -> Any:
    return sparse.hstack(site.inputs, **_joined(site))


@rule("sparse.VStack")
def _below(site: Site) -> Any:
    return sparse.vstack(site.inputs, **_joined(site))


@rule("sparse.AddSS", "sparse.AddSD")
def _add(site: Site) -> Any:
    return sparse.add(*site.inputs)


@rule("sparse.SparseSparseMultiply", "sparse.SparseDenseMultiply", "sparse.SparseDenseVectorMultiply")
def _multiply(site: Site) -> Any:
    return sparse.mul(*site.inputs)


@rule("sparse.StructuredDot")
def _structured_dot(site: Site) -> Any:
    return sparse.structured_dot(*site.inputs)


@rule("sparse.Dot")
def _dot(site: Site) -> Any:
    return sparse.dot(*site.inputs)


@rule("sparse.TrueDot")
def _true_dot(site: Site) -> Any:
    return sparse.true_dot(*site.inputs)


@rule("sparse.SamplingDot")
def _sampling_dot(site: Site) -> Any:
    return sparse.sampling_dot(*site.inputs)


@rule("sparse.SpSum")
def _sum(site: Site) -> Any:
    return sparse.sp_sum(site.inputs[0], axis=site.op.axis)


@rule("sparse.Diag")
def _diagonal(site: Site) -> Any:
    return sparse.diag(site.inputs[0])


@rule("sparse.EnsureSortedIndices")
def _sorted(site: Site) -> Any:
    return sparse.ensure_sorted_indices(site.inputs[0])


@rule("sparse.Remove0")
def _clean(site: Site) -> Any:
    return sparse.remove0(site.inputs[0])


@rule("sparse.ColScaleCSC")
def _scale_columns(site: Site) -> Any:
    return sparse.col_scale(*site.inputs)


@rule("sparse.RowScaleCSC")
def _scale_rows(site: Site) -> Any:
    return sparse.row_scale(*site.inputs)


@rule("sparse.GetItemList")
def _rows(site: Site) -> Any:
    return sparse.get_item_list(*site.inputs)


@rule("sparse.GetItemListGrad")
def _rows_gradient(site: Site) -> Any:
    return sparse.get_item_list_grad(*site.inputs)


@rule("sparse.GetItem2Lists")
def _elements(site: Site) -> Any:
    return sparse.get_item_2lists(*site.inputs)


@rule("sparse.GetItem2ListsGrad")
def _elements_gradient(site: Site) -> Any:
    return sparse.get_item_2lists_grad(*site.inputs)


@rule("sparse.GetItem2d")
def _block(site: Site) -> Any:
    """A block, whose bounds come one by one: None, too, are constants."""
    x, *bounds = site.inputs
    known = [None if getattr(bound, "data", bound) is None else bound for bound in bounds]
    return x[tuple(slice(*known[k : k + 3]) for k in range(0, len(known), 3))]


@rule("sparse.GetItemScalar")
def _element(site: Site) -> Any:
    return sparse.get_item_scalar(*site.inputs)


@rule("sparse.StructuredDotGradCSC")
def _structured_gradient_of_columns(site: Site) -> Any:
    return sparse.sdg_csc(*site.inputs)


@rule("sparse.StructuredDotGradCSR")
def _structured_gradient_of_rows(site: Site) -> Any:
    return sparse.sdg_csr(*site.inputs)
