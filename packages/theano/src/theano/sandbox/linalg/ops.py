"""Hints about matrices, and the bound of their eigenvalues."""

from theano_tensor.linalg import (
    Hint as Hint,
    HintsFeature as HintsFeature,
    HintsOptimizer as HintsOptimizer,
    hints as hints,
    is_hint_node as is_hint_node,
    psd as psd,
    spectral_radius_bound as spectral_radius_bound,
)

__all__ = [
    "Hint",
    "HintsFeature",
    "HintsOptimizer",
    "hints",
    "is_hint_node",
    "psd",
    "spectral_radius_bound",
]
