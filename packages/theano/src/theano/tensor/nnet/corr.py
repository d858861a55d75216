"""Correlations of images as products of matrices."""

from ._corr import (
    BaseCorrMM as BaseCorrMM,
    CorrMM as CorrMM,
    CorrMM_gradInputs as CorrMM_gradInputs,
    CorrMM_gradWeights as CorrMM_gradWeights,
)
