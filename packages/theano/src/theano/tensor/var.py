"""Variables and constants that hold arrays."""

from theano_tensor import (
    TensorConstant as TensorConstant,
    TensorOperators as TensorOperators,
    TensorVariable as TensorVariable,
)

_tensor_py_operators = TensorOperators  # the documented name of the class
