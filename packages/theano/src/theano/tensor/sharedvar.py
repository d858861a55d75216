"""Shared variables that hold arrays."""

from typing import Any

from theano_linker_c import SharedVariable as SharedVariable, shared_constructor as shared_constructor
from theano_tensor import (
    ScalarSharedVariable as ScalarSharedVariable,
    TensorSharedVariable as TensorSharedVariable,
    TensorType as TensorType,
    scalar_constructor as scalar_constructor,
    tensor_constructor as tensor_constructor,
)

from .._names import lazy_names
from ._old_functions import integer_types as integer_types
from .var import _tensor_py_operators as _tensor_py_operators


def load_shared_variable(val: Any) -> TensorSharedVariable:
    """Return a shared variable with this value: pickles of 2011 call this function."""
    variable: TensorSharedVariable = tensor_constructor(val)
    return variable


__getattr__, __dir__ = lazy_names(__name__, __package__, {})
