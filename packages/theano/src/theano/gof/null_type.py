"""The type of a gradient that has no value."""

from theano_tensor.gradient import NullType as NullType

null_type = NullType()
