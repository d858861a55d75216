"""The few things that differentiation asks of a variable that holds numbers.

They are asked through the variable's own methods, so that each array type (dense, sparse, on a device) can be
differentiated.
"""

from __future__ import annotations

from typing import Any, Protocol, cast

from theano_graph import Variable, config

from ..._core._type import TensorType
from ..._core._variable import Tensor
from ...shape import addbroadcast, unbroadcast
from ._supports import sum_inside


class Numbers(Protocol):
    """The interface of variables that hold numbers for differentiation."""

    @property
    def real(self) -> Variable: ...

    def zeros_like(self, dtype: str) -> Variable: ...

    def ones_like(self, dtype: str) -> Variable: ...

    def astype(self, dtype: str) -> Variable: ...


def dtype_of(variable: Variable) -> str | None:
    """Return the dtype of a variable's type, or None where the type has none."""
    return getattr(variable.type, "dtype", None)


def is_discrete(variable: Variable) -> bool:
    """Tell whether a variable holds integers or booleans."""
    dtype = dtype_of(variable)
    return dtype is not None and dtype.startswith(("int", "uint", "bool"))


def is_continuous(variable: Variable) -> bool:
    """Tell whether a variable holds real or complex floating-point numbers."""
    dtype = dtype_of(variable)
    return dtype is not None and dtype.startswith(("float", "complex"))


def is_complex(variable: Variable) -> bool:
    """Tell whether a variable holds complex numbers."""
    dtype = dtype_of(variable)
    return dtype is not None and dtype.startswith("complex")


def real_part(variable: Variable) -> Variable:
    """Return the real part of complex numbers."""
    return _methods(variable).real


def cotangent_dtype(variable: Variable) -> str:
    """Return the dtype of the gradient with respect to `variable`: its own, or floatX where that is discrete."""
    dtype = dtype_of(variable)
    return dtype if dtype is not None and is_continuous(variable) else str(config.floatX)


def zeros_for(variable: Variable) -> Variable:
    """Return a zero gradient for `variable`: its shape, its dtype or floatX."""
    return _methods(variable).zeros_like(dtype=cotangent_dtype(variable))


def ones_for(variable: Variable) -> Variable:
    """Return the gradient of `variable` with respect to itself."""
    return _methods(variable).ones_like(dtype=cotangent_dtype(variable))


def cast_to(variable: Variable, dtype: str) -> Variable:
    """Return `variable` converted to `dtype`, or itself."""
    return variable if dtype_of(variable) == dtype else _methods(variable).astype(dtype)


def total(terms: list[Variable]) -> Variable:
    """Return the sum of one or more cotangents of one variable, in order."""
    result: Any = terms[0]
    for term in terms[1:]:
        if isinstance(result, Tensor) and isinstance(term, Tensor):
            result = sum_inside(result, term)
        else:
            result = result + term
    reduced: Variable = result
    return reduced


def static_shape(variable: Variable) -> tuple[int | None, ...] | None:
    """Return the static shape of a variable's type, or None where the type has none."""
    return getattr(variable.type, "shape", None)


def shaped_as(variable: Variable, gradient: Variable) -> Variable:
    """Return a gradient such that it broadcasts where `variable` does: a rule may know the lengths of others only."""
    if not isinstance(variable.type, TensorType) or not isinstance(gradient.type, TensorType):
        return gradient
    kinds = enumerate(zip(variable.type.broadcastable, gradient.type.broadcastable, strict=True))
    axes = [axis for axis, (wanted, known) in kinds if wanted and not known]
    return addbroadcast(gradient, *axes) if axes else gradient


def of_same_pattern(variable: Variable, gradient: Variable) -> Variable:
    """Return a gradient that broadcasts only where `variable` does, so that it can be added to that as an update."""
    if not isinstance(variable.type, TensorType) or not isinstance(gradient.type, TensorType):
        return gradient
    kinds = enumerate(zip(variable.type.broadcastable, gradient.type.broadcastable, strict=True))
    axes = [axis for axis, (wanted, known) in kinds if known and not wanted]
    return unbroadcast(gradient, *axes) if axes else gradient


def _methods(variable: Variable) -> Numbers:
    if not hasattr(variable, "zeros_like"):
        raise TypeError(
            f"`{variable}` of type {variable.type.describe()} cannot be differentiated: it holds no numbers"
        )
    return cast(Numbers, variable)
