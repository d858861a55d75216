"""From Python objects to tensor variables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from theano_graph import Apply, Variable, config, describe, format_error, warn_of_comparison

from .._errors import AsTensorError
from .._protocols._operations import call
from ._dtypes import canonical_dtype, dtype_name, dtype_of_number
from ._type import tensor_type
from ._type_values import refuse_mask
from ._typing import DTypeLike
from ._variable import Tensor, TensorConstant


def as_tensor_variable(x: object, name: str | None = None, ndim: int | None = None) -> Tensor:
    """Return `x` as a tensor variable.

    Parameters
    ----------
    x : tensor variable, Apply, number, array_like, or sequence with variables in it
        Variables are returned as they are, numbers and arrays become constants (copied), sequences with variables
        are stacked.
        An Apply stands for its default output.
    name : str, optional
        Name of a constant that is made.
    ndim : int, optional
        Number of dimensions of the result: missing ones are added on the left, surplus ones are dropped there if
        broadcastable.

    Returns
    -------
    Tensor

    Raises
    ------
    TypeError
        If `x` is of another kind.
    ValueError
        If `ndim` cannot be had.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.as_tensor_variable(3).dtype
    'int8'
    """
    if isinstance(x, Tensor):
        variable = x
    elif isinstance(x, Apply):
        return as_tensor_variable(x.default_output(), name, ndim)
    elif isinstance(x, Variable):
        variable = _other_variable(x)
    elif isinstance(x, (list, tuple)) and _contains_variable(x):
        variable = call("stack", x)
    else:
        variable = constant(x, name=name)
    return variable if ndim is None or variable.type.ndim == ndim else _with_ndim(variable, ndim)


#: Functions that try to turn a variable of another type into a tensor variable; None means "not mine".
CONVERTERS: list[Any] = []


def _other_variable(x: Variable) -> Tensor:
    for converter in CONVERTERS:
        converted = converter(x)
        if isinstance(converted, Tensor):
            return converted
    raise AsTensorError(
        format_error(
            f"a variable of type {x.type.describe()} is not a tensor",
            context=[describe(x)],
            hint="use an op that takes this type, or convert it to a tensor first",
        )
    )


def _contains_variable(values: Iterable[Any]) -> bool:
    stack = [values]
    while stack:
        for value in stack.pop():
            if isinstance(value, Variable):
                return True
            if isinstance(value, (list, tuple)):
                stack.append(value)
    return False


def _with_ndim(x: Tensor, ndim: int) -> Tensor:
    have = x.type.ndim
    if have < ndim:
        return x.dimshuffle(["x"] * (ndim - have) + list(range(have)))
    surplus = have - ndim
    if not all(x.type.broadcastable[:surplus]):
        raise ValueError(
            format_error(
                f"a tensor of {have} dimensions cannot be taken as one of {ndim}",
                context=[describe(x)],
                hint="only leading dimensions of length 1 can be dropped; use reshape or flatten for others",
            )
        )
    return x.dimshuffle(list(range(surplus, have)))


def constant(
    x: object, name: str | None = None, ndim: int | None = None, dtype: DTypeLike | None = None
) -> TensorConstant:
    """Return a constant with the value of `x`.

    Parameters
    ----------
    x : number or array_like
        A Python int takes the smallest integer dtype that holds it. A Python float is float32 where that is exact,
        otherwise float64 (with floatX=float32 always float32). Arrays keep their dtype, and sequences take the one
        that NumPy gives them, or floatX where they hold nothing; they are copied.
    name : str, optional
    ndim : int, optional
        Number of dimensions; missing ones are added on the left.
    dtype : str, optional
        Wanted dtype, in place of these rules.

    Returns
    -------
    TensorConstant
        Its static shape is the shape of `x`, so dimensions of length 1 broadcast.

    Raises
    ------
    TypeError
        If `x` holds no numbers.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.constant(1000).dtype, T.constant(0.5).dtype, T.constant(0.1).dtype
    ('int16', 'float32', 'float64')
    """
    floatx = config.floatX
    if isinstance(x, Variable):
        if isinstance(x, TensorConstant):
            return x
        raise TypeError(
            format_error(f"`{x}` is not a constant", context=[describe(x)], hint="as_tensor_variable accepts variables")
        )
    warn_of_comparison(x)
    array: Any
    if dtype is not None:
        array = np.array(_numeric_array(x), dtype=canonical_dtype(dtype, floatx))
    elif isinstance(x, (bool, int, float, complex)) and not isinstance(x, np.generic):
        array = np.array(x, dtype=dtype_of_number(x, floatx, config.cast_policy))
    else:
        array = np.array(_numeric_array(x))
        if array.size == 0 and not hasattr(x, "dtype"):
            # NumPy's dtype of an empty list says nothing.
            array = array.astype(floatx)
    if ndim is not None and array.ndim < ndim:
        array = array.reshape((1,) * (ndim - array.ndim) + array.shape)
    array.flags.writeable = False
    return TensorConstant(tensor_type(dtype_name(array.dtype), array.shape), array, name=name)


def _numeric_array(x: object) -> Any:
    refuse_mask(x)
    try:
        array = np.asarray(x)
    except (ValueError, TypeError) as error:
        raise AsTensorError(
            format_error(f"{x!r} cannot be made an array: {error}", hint="give all rows the same length")
        ) from error
    if array.dtype.kind not in "biufc":
        raise _no_numbers(x, array)
    return array


def _no_numbers(x: object, array: np.ndarray[Any, Any]) -> AsTensorError:
    """Return the error about something without numbers; NumPy's functions put variables into arrays of objects."""
    text = repr(x)
    held = [v for v in array.flat if isinstance(v, Variable)][:1] if array.dtype == object else []
    what, hint = "holds no numbers", "pass a tensor variable, a number or an array of numbers"
    if held:
        what = "is an array of objects, and one of them is a variable"
        hint = "pass the list itself, or T.stack(list), in place of numpy.array(list)"
    elif array.dtype == object and not array.ndim:
        what = "is an array of an object"
        hint = f"{hint}; of variables, T.zeros_like, T.ones_like and T.fill make tensors, and those of NumPy do not"
    return AsTensorError(
        format_error(
            f"Cannot convert {text if len(text) < 60 else text[:56] + '...'} ({type(x).__name__}) "
            f"to TensorType: it cannot be made a tensor, as it {what}",
            context=[describe(v) for v in held],
            hint=hint,
        )
    )
