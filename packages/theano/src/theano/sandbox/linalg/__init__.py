"""Hints about matrices, and linear algebra that has moved to `theano.tensor`."""

from theano.tensor.nlinalg import (
    alloc_diag as alloc_diag,
    det as det,
    diag as diag,
    eig as eig,
    eigh as eigh,
    extract_diag as extract_diag,
    matrix_inverse as matrix_inverse,
    trace as trace,
)
from theano.tensor.slinalg import cholesky as cholesky, eigvalsh as eigvalsh, solve as solve

from .ops import psd as psd, spectral_radius_bound as spectral_radius_bound

__all__ = [
    "alloc_diag",
    "cholesky",
    "det",
    "diag",
    "eig",
    "eigh",
    "eigvalsh",
    "extract_diag",
    "matrix_inverse",
    "psd",
    "solve",
    "spectral_radius_bound",
    "trace",
]
