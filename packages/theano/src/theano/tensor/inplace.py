"""Elementwise functions that overwrite their first argument."""

from theano_tensor.elemwise.inplace import *
