"""The type of tensors."""

from theano_tensor import (
    TensorType as TensorType,
)
