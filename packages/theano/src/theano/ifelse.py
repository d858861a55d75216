"""Choices of which only one branch is computed."""

from theano_tensor.control import IfElse as IfElse, ifelse as ifelse

__all__ = ["IfElse", "ifelse"]
