"""Layers of neural networks that cuDNN computes in one call."""

from . import _normalization as _normalization, _softmax as _softmax, _transformers as _transformers
from ._kernel import DnnKernel as DnnKernel
from ..windows._library import ChosenOnce as ChosenOnce, DnnConvolutionKernel as DnnConvolutionKernel
from ..windows._library_pooling import DnnPoolingKernel as DnnPoolingKernel
from ._recurrent import network_numbers as network_numbers

__all__ = ["ChosenOnce", "DnnConvolutionKernel", "DnnKernel", "DnnPoolingKernel", "network_numbers"]
