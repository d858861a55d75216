"""Layers of neural networks that cuDNN computes in one call."""

from . import _normalization as _normalization, _softmax as _softmax
from ._kernel import DnnKernel as DnnKernel

__all__ = ["DnnKernel"]
