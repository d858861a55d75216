"""Windows that slide over images, on devices: convolutions and pooling."""

from . import _convolution as _convolution, _pooling as _pooling
from ._library import ChosenOnce as ChosenOnce, DnnConvolutionKernel as DnnConvolutionKernel
from ._library_pooling import DnnPoolingKernel as DnnPoolingKernel

__all__ = ["ChosenOnce", "DnnConvolutionKernel", "DnnPoolingKernel"]
