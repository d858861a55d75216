"""The type of sparse matrices."""

from theano_sparse import (
    SparseType as SparseType,
)

__all__ = ["SparseType"]
