"""Convolution of images with single filters."""

from theano_tensor.signal.conv import conv2d as conv2d
