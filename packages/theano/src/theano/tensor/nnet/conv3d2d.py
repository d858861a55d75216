"""Convolutions of movies, with the time before the channels."""

from theano_tensor.nnet.convolution import conv3d2d as conv3d

__all__ = ["conv3d"]
