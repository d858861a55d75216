"""Correlations of volumes as products of matrices."""

from ..._lazy import lazy_names
from ._corr import (
    BaseCorr3dMM as BaseCorr3dMM,
    Corr3dMM as Corr3dMM,
    Corr3dMM_gradInputs as Corr3dMM_gradInputs,
    Corr3dMM_gradWeights as Corr3dMM_gradWeights,
)

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
