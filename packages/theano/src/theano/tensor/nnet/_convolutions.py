"""Convolutions, with the rewrites that give them the ops of Theano 1.0 in compiled functions."""

from theano_tensor.nnet.convolution import (
    conv2d as conv2d,
    conv2d_grad_wrt_inputs as conv2d_grad_wrt_inputs,
    conv2d_transpose as conv2d_transpose,
    conv3d as conv3d,
    separable_conv2d as separable_conv2d,
    separable_conv3d as separable_conv3d,
)

from . import _conv_rewrites as _conv_rewrites
