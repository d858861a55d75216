"""The former interface of convolutions; new programs use `theano.tensor.nnet.conv2d`."""

from theano_tensor.nnet.convolution import ConvOp as ConvOp, former_conv2d as conv2d

from ..._lazy import lazy_names
from ._scipy_signal import imported_scipy_signal as imported_scipy_signal

__all__ = ["ConvOp", "conv2d"]

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
