"""Elementwise functions that overwrite their first argument."""

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
from ._old_functions import transpose_inplace as transpose_inplace

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
