"""The type of lists."""

from theano_tensor.typed_list import TypedListType as TypedListType

from .._lazy import lazy_names

__all__ = ["TypedListType"]

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
