"""Rewrites of lists."""

from theano_tensor.typed_list import (
    Append as Append,
    Extend as Extend,
    Insert as Insert,
    Remove as Remove,
    Reverse as Reverse,
)

from .._lazy import lazy_names
from ._list_rewrites import typed_list_inplace_opt as typed_list_inplace_opt

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
