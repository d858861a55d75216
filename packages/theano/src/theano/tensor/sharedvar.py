"""Shared variables that hold arrays."""

from theano_tensor import (
    ScalarSharedVariable as ScalarSharedVariable,
    TensorSharedVariable as TensorSharedVariable,
    scalar_constructor as scalar_constructor,
    tensor_constructor as tensor_constructor,
)
