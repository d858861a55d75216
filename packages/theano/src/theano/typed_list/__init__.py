"""Lists of values of one type."""

from theano_tensor.typed_list import TypedListType as TypedListType

from .._names import lazy_names
from . import basic as basic
from .basic import *

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
