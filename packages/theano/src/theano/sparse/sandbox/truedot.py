"""Sparse products of sparse matrices."""

from theano_sparse import (
    TrueDot as TrueDot,
    true_dot as true_dot,
)

from ..._lazy import lazy_names

__getattr__, __dir__ = lazy_names(__name__, __package__, {})

__all__ = ["TrueDot", "true_dot"]
