"""Elementwise functions that overwrite their first argument."""

from typing import Any

from theano_tensor import DimShuffle, Tensor, as_tensor_variable
from theano_tensor.elemwise.inplace import *
from theano_tensor.elemwise.inplace import (
    abs_inplace as abs__inplace,  # noqa: F401 - these three had an underscore more
    and_inplace as and__inplace,  # noqa: F401
    or_inplace as or__inplace,  # noqa: F401
)

from .. import printing as printing
from .._lazy import lazy_names
from ..printing import pprint as pprint
from . import elemwise as elemwise


def transpose_inplace(x: Any, **kwargs: Any) -> Tensor:
    """Return a view of `x` with its dimensions in the opposite order."""
    variable = as_tensor_variable(x)
    ndim = variable.type.ndim
    result: Tensor = DimShuffle(variable.type.broadcastable, list(range(ndim))[::-1])(variable)
    return result


__getattr__, __dir__ = lazy_names(__name__, __package__, {})
