"""Sparse products of sparse matrices."""

from theano_sparse import (
    TrueDot as TrueDot,
    true_dot as true_dot,
)

__all__ = ["TrueDot", "true_dot"]
