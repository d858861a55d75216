"""Correlations of images as products of matrices."""

from ..._lazy import lazy_names
from ._corr import (
    BaseCorrMM as BaseCorrMM,
    CorrMM as CorrMM,
    CorrMM_gradInputs as CorrMM_gradInputs,
    CorrMM_gradWeights as CorrMM_gradWeights,
)

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
