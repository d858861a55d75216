"""Shared variables that hold arrays."""

from theano_linker_c import SharedVariable as SharedVariable, shared_constructor as shared_constructor
from theano_tensor import (
    ScalarSharedVariable as ScalarSharedVariable,
    TensorSharedVariable as TensorSharedVariable,
    scalar_constructor as scalar_constructor,
    tensor_constructor as tensor_constructor,
)
