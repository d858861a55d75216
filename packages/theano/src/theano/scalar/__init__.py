"""Scalars: the types and ops that elementwise tensor ops are made of."""

from .._names import lazy_names
from . import basic as basic
from .basic import *

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
