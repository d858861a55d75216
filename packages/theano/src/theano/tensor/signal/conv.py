"""Convolution of images with single filters."""

from theano_tensor.signal.conv import conv2d as conv2d

from ..._lazy import lazy_names

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
