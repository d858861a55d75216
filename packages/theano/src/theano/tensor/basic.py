"""Basic functions on tensors."""

from theano_tensor import choose as choose
