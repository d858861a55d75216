"""Hints about matrices, and the bound of their eigenvalues."""

from theano_tensor.linalg import (
    Hint as Hint,
    HintsFeature as HintsFeature,
    HintsOptimizer as HintsOptimizer,
    det as det,
    hints as hints,
    is_hint_node as is_hint_node,
    matrix_inverse as matrix_inverse,
    psd as psd,
    spectral_radius_bound as spectral_radius_bound,
    trace as trace,
)

__all__ = [
    "Hint",
    "HintsFeature",
    "HintsOptimizer",
    "det",
    "hints",
    "is_hint_node",
    "matrix_inverse",
    "psd",
    "spectral_radius_bound",
    "trace",
]
