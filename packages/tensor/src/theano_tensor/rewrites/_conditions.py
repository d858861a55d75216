"""Conditions under which equations about tensors hold; the parameters are the names of wildcards."""

from __future__ import annotations

from typing import Any

from theano_graph import Apply, FunctionGraph, Variable

from .._core._type import Tensor
from ._language import FLOATS, is_float


def gives_floats(fgraph: FunctionGraph, node: Apply[Any, Tensor]) -> bool:
    """The result is real and floating-point."""
    return getattr(node.outputs[0].type, "dtype", None) in FLOATS


def has_sign(a: Tensor) -> bool:
    """The tensor `a` holds no truth values."""
    return bool(a.type.dtype != "bool")


def is_no_float(a: Variable) -> bool:
    """The tensor `a` holds no floating-point numbers."""
    return not is_float(a)


def is_as_precise(node: Apply[Any, Tensor], x: Tensor) -> bool:
    """The tensor `x` has the dtype of the result."""
    return bool(x.type.dtype == node.outputs[0].type.dtype)


def gives_truth(node: Apply[Any, Tensor]) -> bool:
    """The result holds truth values."""
    return bool(node.outputs[0].type.dtype == "bool")


def is_true(k: Any) -> bool:
    """The number `k` is not 0."""
    return bool(k)


def is_false(k: Any) -> bool:
    """The number `k` is 0."""
    return not k


def is_not_positive(k: Any) -> bool:
    """The number `k` is 0 or negative."""
    return isinstance(k, (int, float)) and k <= 0


def is_negative(k: Any) -> bool:
    """The number `k` is negative."""
    return isinstance(k, (int, float)) and k < 0


def is_no_positive_integer(k: Any) -> bool:
    """The number `k` is an integer, and 0 or negative."""
    return isinstance(k, int) and k <= 0
