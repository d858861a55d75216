"""Compressed sparse matrices, given by the arrays that they consist of: products, sums and other forms."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from theano_graph import record

from ._description._kernel import Encoded, Kernel, LoadedKernel, Site, overwrites, type_number

__all__ = ["CompressedKernel", "CompressedTask"]

#: Positions are the numbers of the runtime.
CompressedTask: TypeAlias = Literal[
    "dot",
    "usmm",
    "usmm_rows",
    "change_compression",
    "to_dense",
    "sum",
    "gather",
    "sampled",
    "major_indices",
]


@record
class CompressedKernel(Kernel):
    """A task on a csr or csc matrix, whose inputs are ``data, indices, indptr`` and the length of its minor axis.

    Indices are int32 and lengths int64; the arrays are looked at before anything is read through them. The tasks:

    - "dot": the product with a dense matrix, which is the fifth input.
    - "usmm": ``alpha * dot(x, y) + z``; the inputs are alpha, the matrix, y and z.
    - "usmm_rows": the numbers of the rows of ``alpha * dot(x, y)`` in which x stores something, and these rows; alpha,
      the matrix, y, and the lengths of the addend.
    - "change_compression": the arrays of the matrix in the other format.
    - "to_dense": the dense matrix, added to the fifth input where there is one.
    - "sum": sums along the minor axis, or along the major one.
    - "gather": elements of a vector by the major, or the minor, index of each stored element; vector, indices, indptr.
    - "sampled": elements of the product of two dense matrices at some rows and columns, int32 or int64.
    - "major_indices": rows and columns of the stored elements; indices and indptr.

    Parameters
    ----------
    task : str
    dtype : {"float32", "float64"}
        Of all elements.
    flag : bool
        Whether rows are the major axis (csr); of sums and gathering, whether it is about the major axis.
    """

    task: CompressedTask
    dtype: str
    flag: bool = False

    def encode(self, site: Site, code: LoadedKernel | None) -> Encoded | None:
        """Return the payload."""
        number = get_args(CompressedTask).index(self.task)
        return "sparse", (number, type_number(self.dtype), self.flag, overwrites(site, len(site.inputs) - 1))
