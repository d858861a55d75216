"""Lengths as symbolic integers, and facts about them while the expression is built."""

from __future__ import annotations

import numpy as np

from theano_graph import Constant, Variable, describe, format_error

from .._core._convert import as_tensor_variable, constant
from .._core._dtypes import INTEGER_DTYPES, TensorLike
from .._core._type import Tensor
from .._errors import DTypeError


def as_length(value: TensorLike, what: str = "a length") -> Tensor:
    """Return `value` as an integer scalar of dtype int64 (constants) or of its own integer dtype.

    Raises
    ------
    DTypeError
        If it is no integer scalar.
    """
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return constant(np.asarray(int(value), dtype="int64"))
    if value is None or isinstance(value, (str, float)):
        raise DTypeError(
            format_error(
                f"{value!r} is no {what.split()[-1]}: it must be an integer", hint="pass an int or an integer scalar"
            )
        )
    variable = as_tensor_variable(value)
    if variable.type.dtype not in INTEGER_DTYPES or any(length != 1 for length in variable.type.shape):
        raise DTypeError(
            format_error(
                f"{what} must be an integer scalar",
                context=[describe(variable)],
                hint="convert it: T.cast(n, 'int64'), or index it: v[0]",
            )
        )
    if variable.type.ndim:
        variable = variable.dimshuffle([])
    return variable


def static_int(variable: Variable) -> int | None:
    """Return the value of an integer scalar where it is a constant, else None."""
    if isinstance(variable, Constant) and variable.data.size == 1 and variable.data.dtype.kind in "iub":
        return int(variable.data.flat[0])
    return None
