"""Helpers: digests of arrays, and the shapes of all variables of a graph."""

from theano_tensor.utils import (
    hash_from_ndarray as hash_from_ndarray,
    shape_of_variables as shape_of_variables,
)

from .._lazy import lazy_names
from ..gof.utils import hash_from_code as hash_from_code

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
