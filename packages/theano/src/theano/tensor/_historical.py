"""Helpers of `theano.tensor.basic` and `theano.tensor.type` that programs for Theano 1.0 import."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from theano_graph import describe, format_error
from theano_tensor import (
    Alloc,
    Assert,
    NotScalarConstantError,
    Tensor,
    TensorType,
    arange,
    argsort,
    as_tensor_variable,
    eq,
    get_scalar_constant_value,
    inc_subtensor,
    set_subtensor,
    sort,
)

from ..scalar import all_types, complex_types, continuous_types, discrete_types, float_types, int_types, uint_types


def _names(types: tuple[Any, ...]) -> list[str]:
    return [type_.dtype for type_ in types]


int_dtypes = _names(int_types)
uint_dtypes = _names(uint_types)
integer_dtypes = int_dtypes + uint_dtypes
discrete_dtypes = _names(discrete_types)
float_dtypes = _names(float_types)
complex_dtypes = _names(complex_types)
continuous_dtypes = _names(continuous_types)
all_dtypes = _names(all_types)


#: The op itself, with which programs compare those of graphs.
alloc = Alloc()


def get_vector_length(v: Any) -> int:
    """Return the length of a vector where its type tells.

    Parameters
    ----------
    v : vector, or an argument of `as_tensor_variable` for one

    Raises
    ------
    TypeError
        If it is no vector.
    ValueError
        If its length is known at run time only.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.get_vector_length(T.matrix("x").shape)
    2
    """
    vector = as_tensor_variable(v)
    if vector.type.ndim != 1:
        raise TypeError(
            format_error(
                f"get_vector_length: the argument has {vector.type.ndim} dimensions, expected 1",
                context=[describe(vector)],
                hint="pass a vector",
            )
        )
    (length,) = vector.type.shape
    if length is None:
        raise ValueError(
            format_error(
                "get_vector_length: the length is known when the function runs, not before",
                context=[describe(vector)],
                hint="use v.shape[0], or T.specify_shape(v, (n,)) where it is always n",
            )
        )
    return length


def extract_constant(x: Any, elemwise: bool = True, only_process_constants: bool = False) -> Any:
    """Return the number that a variable is known to be, or the variable itself.

    Parameters
    ----------
    x : variable
    elemwise, only_process_constants : bool
        Taken for compatibility: known values are used in any case.

    Examples
    --------
    >>> import theano.tensor as T
    >>> int(T.extract_constant(T.constant(3)))
    3
    """
    try:
        return get_scalar_constant_value(x)
    except NotScalarConstantError:
        return x


def inverse_permutation(perm: Any) -> Tensor:
    """Return the permutation that undoes `perm`; for a matrix, that of each row. Other vectors are an AssertionError.

    Parameters
    ----------
    perm : tensor_like
        A vector or matrix of integers.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> import numpy as np
    >>> T.inverse_permutation(np.array([2, 0, 1])).eval()
    array([1, 2, 0])
    """
    variable = as_tensor_variable(perm)
    inverse = argsort(variable, axis=-1).astype(variable.type.dtype)
    complete = eq(sort(variable, axis=-1), arange(variable.shape[-1])).all()
    result: Tensor = Assert("inverse_permutation: these are not the numbers of places, each once")(inverse, complete)
    return result


def advanced_subtensor(x: Any, *args: Any) -> Tensor:
    """Return ``x[args]``."""
    return as_tensor_variable(x)[args]


def advanced_subtensor1(x: Any, ilist: Any) -> Tensor:
    """Return the rows of `x` that a vector of numbers names."""
    return advanced_subtensor(x, ilist)


def advanced_inc_subtensor(x: Any, y: Any, *args: Any) -> Tensor:
    """Return `x` with `y` added to the part ``x[args]``; repeated elements are added several times."""
    return inc_subtensor(as_tensor_variable(x)[args], y)


def advanced_inc_subtensor1(x: Any, y: Any, ilist: Any) -> Tensor:
    """Return `x` with `y` added to the rows that a vector of numbers names."""
    return advanced_inc_subtensor(x, y, ilist)


def advanced_set_subtensor(x: Any, y: Any, *args: Any) -> Tensor:
    """Return `x` with `y` in place of the part ``x[args]``."""
    return set_subtensor(as_tensor_variable(x)[args], y)


def advanced_set_subtensor1(x: Any, y: Any, ilist: Any) -> Tensor:
    """Return `x` with `y` in place of the rows that a vector of numbers names."""
    return advanced_set_subtensor(x, y, ilist)


def _comparison(doc: str, **options: Any) -> Callable[[Any, Any], bool]:
    def compare(a: Any, b: Any) -> bool:
        a, b = np.asarray(a), np.asarray(b)
        return TensorType(a.dtype.name, shape=a.shape).values_eq_approx(a, b, **options)

    compare.__doc__ = doc
    return compare


values_eq_approx_remove_inf = _comparison(
    "Tell whether two arrays are nearly equal, leaving out elements where `a` is infinite.", allow_remove_inf=True
)
values_eq_approx_remove_nan = _comparison(
    "Tell whether two arrays are nearly equal, leaving out elements where `a` is NaN.", allow_remove_nan=True
)
values_eq_approx_remove_inf_nan = _comparison(
    "Tell whether two arrays are nearly equal, leaving out elements where `a` is infinite or NaN.",
    allow_remove_inf=True,
    allow_remove_nan=True,
)


def values_eq_approx_always_true(a: Any, b: Any) -> bool:
    """Tell that two values are equal enough: for ``tag.values_eq_approx`` of results that differ from call to call."""
    return True
