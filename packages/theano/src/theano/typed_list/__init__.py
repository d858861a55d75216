"""Lists of values of one type."""

from .._lazy import lazy_names
from . import basic as basic, type as type
from .basic import *
from .type import TypedListType as TypedListType

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
