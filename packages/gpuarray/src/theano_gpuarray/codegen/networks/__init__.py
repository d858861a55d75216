"""Layers of neural networks that cuDNN computes in one call."""

from . import _normalization as _normalization, _softmax as _softmax, _transformers as _transformers
from ._kernel import DnnKernel as DnnKernel
from ._recurrent import network_numbers as network_numbers

__all__ = ["DnnKernel", "network_numbers"]
