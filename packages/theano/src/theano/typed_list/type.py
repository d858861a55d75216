"""The type of lists."""

from theano_tensor.typed_list import TypedListType as TypedListType

__all__ = ["TypedListType"]
