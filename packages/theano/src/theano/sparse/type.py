"""The type of sparse matrices."""

from theano_sparse import SparseType as SparseType

from ._names import _is_sparse as _is_sparse, imported_scipy as imported_scipy

__all__ = ["SparseType"]
