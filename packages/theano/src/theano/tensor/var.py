"""Variables and constants that hold arrays."""

# Names of names.toml, written by tools/generate_names.py.
# fmt: off
# isort: off
from theano_graph import Constant as Constant, Variable as Variable
from theano_tensor import (
    AsTensorError as AsTensorError, TensorConstant as TensorConstant, TensorOperators as TensorOperators,
    TensorType as TensorType, TensorVariable as TensorVariable,
)
from theano_tensor.utils import hash_from_ndarray as hash_from_ndarray
from ..gof.utils import hashtype as hashtype
from ._historical import TensorConstantSignature as TensorConstantSignature, equal_slices as equal_slices
from ._old_functions import integer_types as integer_types
# isort: on
# fmt: on
# End of the names of names.toml.


from .._names import lazy_names

_tensor_py_operators = TensorOperators  # the documented name of the class

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
