"""Functions and values of `theano.tensor.basic` in Theano 1.0 that the layer has no name for."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from theano_graph import Variable, describe, format_error
from theano_linker_c import scalar as scal
from theano_tensor import (
    DimShuffle,
    Dot,
    Elemwise,
    EmptyConstantError,
    Join,
    NotScalarConstantError,
    Tensor,
    TensorType,
    as_tensor_variable,
    concatenate,
    constant,
    get_scalar_constant_value,
    int_div,
    max as max_over,
    min as min_over,
    neq,
    stack,
    switch,
    true_div,
)

from ..scalar import EQ, GE, GT, LE, LT, NEQ, Add, Cast, IntDiv, Maximum, Minimum, Mod, Mul, Sub, Switch, TrueDiv
from ._historical import alloc, discrete_dtypes, integer_dtypes

#: Constants that a program registered, by content; nothing is kept here unless a program does it.
constant_cache: dict[Any, Any] = {}
#: Whether ``np.diagonal`` gives a view.
numpy_diagonal_return_view = True
#: Python's integers.
integer_types = (int,)

_dot = Dot()
join_ = Join()
conj = Elemwise(scal.conj)
complex_from_polar = Elemwise(scal.complex_from_polar)
isnan_ = Elemwise(scal.isnan)
isinf_ = Elemwise(scal.isinf)


def isnan(a: Any) -> Tensor:
    """Return whether each element is NaN; for integers a tensor of False, for none of them can be.

    Parameters
    ----------
    a : tensor_like

    Returns
    -------
    Tensor
        Of dtype bool.

    Examples
    --------
    >>> import theano.tensor as T
    >>> import numpy as np
    >>> T.isnan(np.array([1.0, float("nan")])).eval()
    array([False,  True])
    """
    return _where_floats_can_be(isnan_, a)


def isinf(a: Any) -> Tensor:
    """Return whether each element is infinite; for integers a tensor of False, for none of them can be.

    Parameters
    ----------
    a : tensor_like

    Returns
    -------
    Tensor
        Of dtype bool.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.isinf([1.0, float("inf")]).eval()
    array([False,  True])
    """
    return _where_floats_can_be(isinf_, a)


def _where_floats_can_be(op: Elemwise, a: Any) -> Tensor:
    variable = as_tensor_variable(a)
    is_discrete = variable.type.dtype in discrete_dtypes
    lengths = (variable.shape[i] for i in range(variable.type.ndim))
    result: Tensor = alloc(np.asarray(False), *lengths) if is_discrete else op(variable)
    return result


get_scalar_constant_value_elemwises = (
    *(Cast, Switch, NEQ, EQ, LT, GT, LE, GE, Sub, Add, Mod, Mul, IntDiv, TrueDiv, Minimum, Maximum),
)


def _types(dtypes: Sequence[str], ndim: int) -> tuple[TensorType, ...]:
    return tuple(TensorType(dtype, (False,) * ndim) for dtype in dtypes)


_INTS, _FLOATS, _COMPLEX = ("int8", "int16", "int32", "int64"), ("float32", "float64"), ("complex64", "complex128")
int_types = int_scalar_types = _types(_INTS, 0)
float_types = float_scalar_types = _types(_FLOATS, 0)
complex_types = complex_scalar_types = _types(_COMPLEX, 0)
int_vector_types, float_vector_types, complex_vector_types = (_types(names, 1) for names in (_INTS, _FLOATS, _COMPLEX))
int_matrix_types, float_matrix_types, complex_matrix_types = (_types(names, 2) for names in (_INTS, _FLOATS, _COMPLEX))


def _conversion(dtype: str) -> Elemwise:
    return Elemwise(scal.cast(dtype))


_convert_to_bool = _conversion("bool")
_convert_to_int8 = _conversion("int8")
_convert_to_int16 = _conversion("int16")
_convert_to_int32 = _conversion("int32")
_convert_to_int64 = _conversion("int64")
_convert_to_uint8 = _conversion("uint8")
_convert_to_uint16 = _conversion("uint16")
_convert_to_uint32 = _conversion("uint32")
_convert_to_uint64 = _conversion("uint64")
_convert_to_float16 = _conversion("float16")
_convert_to_float32 = _conversion("float32")
_convert_to_float64 = _conversion("float64")
_convert_to_complex64 = _conversion("complex64")
_convert_to_complex128 = _conversion("complex128")
_cast_mapping = {
    "bool": _convert_to_bool,
    "int8": _convert_to_int8,
    "int16": _convert_to_int16,
    "int32": _convert_to_int32,
    "int64": _convert_to_int64,
    "uint8": _convert_to_uint8,
    "uint16": _convert_to_uint16,
    "uint32": _convert_to_uint32,
    "uint64": _convert_to_uint64,
    "float16": _convert_to_float16,
    "float32": _convert_to_float32,
    "float64": _convert_to_float64,
    "complex64": _convert_to_complex64,
    "complex128": _convert_to_complex128,
}


def smallest(*args: Any) -> Tensor:
    """Return the smallest of the arguments, element by element.

    Examples
    --------
    >>> import theano.tensor as T
    >>> import numpy as np
    >>> T.smallest(np.array([1.0, 5.0]), np.array([2.0, 4.0])).eval()
    array([1., 4.])
    """
    if len(args) == 2:
        a, b = map(as_tensor_variable, args)
        return switch(a < b, a, b)
    return min_over(stack(args), axis=0)


def largest(*args: Any) -> Tensor:
    """Return the largest of the arguments, element by element.

    Examples
    --------
    >>> import theano.tensor as T
    >>> import numpy as np
    >>> T.largest(np.array([1.0, 5.0]), np.array([2.0, 4.0])).eval()
    array([2., 5.])
    """
    if len(args) == 2:
        a, b = map(as_tensor_variable, args)
        return switch(a > b, a, b)
    return max_over(stack(args), axis=0)


def ceil_intdiv(a: Any, b: Any) -> Any:
    """Return ``ceil(a / b)`` in integers.

    Parameters
    ----------
    a, b : tensor_like
        Integers.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> int(T.ceil_intdiv(T.as_tensor_variable(7), T.as_tensor_variable(2)).eval())
    4
    """
    quotient = int_div(a, b)
    return quotient + neq(as_tensor_variable(a) % b, 0).astype(quotient.dtype)


def div_proxy(x: Any, y: Any) -> Tensor:
    """Return `int_div` of integers, `true_div` of anything else."""
    are_integers = all(as_tensor_variable(v).dtype in discrete_dtypes for v in (x, y))
    return int_div(x, y) if are_integers else true_div(x, y)


def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: None = None,
    aweights: None = None,
) -> Tensor:
    """Return the covariance matrix of the rows of `m`, or of its columns.

    Parameters
    ----------
    m : matrix
        Each row is a variable, each column an observation.
    y : matrix, optional
        More variables.
    rowvar : bool
        Whether rows are variables; otherwise columns are.
    bias : bool
        Divide by the number of observations, not by one less.
    ddof : int, optional
        The difference of the number of observations and the divisor, in place of `bias`.
    fweights, aweights : None
        Weights are not supported, as in Theano 1.0.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> import numpy as np
    >>> T.cov(np.array([[0.0, 2.0], [2.0, 0.0]])).eval()
    array([[ 2., -2.],
           [-2.,  2.]])
    """
    for name, weights in (("fweights", fweights), ("aweights", aweights)):
        if weights is not None:
            raise NotImplementedError(
                format_error(f"cov: {name} are not supported", hint="scale the observations yourself")
            )
    rows = [as_tensor_variable(v) for v in (m, y) if v is not None]
    if not rowvar:
        rows = [v.T for v in rows]
    joined = rows[0] if len(rows) == 1 else concatenate(rows, axis=0)
    divisor = joined.shape[1] - ((0 if bias else 1) if ddof is None else ddof)
    centred = joined - joined.mean(axis=1, keepdims=True)
    return (centred.dot(centred.T) * (constant(1) / divisor)).squeeze()


def is_flat(var: Any, ndim: int | None = None, outdim: int | None = None) -> bool:
    """Tell whether a variable has `ndim` dimensions, one by default.

    `outdim` is the former name of `ndim`.
    """
    if outdim is not None:
        if ndim is not None:
            raise ValueError(format_error("is_flat: ndim and outdim are the same", hint="pass ndim alone"))
        warnings.warn("is_flat: outdim is now called ndim", stacklevel=2)
    n_dims = next((n for n in (ndim, outdim) if n is not None), 1)
    return bool(var.ndim == n_dims)


def check_and_normalize_axes(x: Any, axis: Any) -> list[int]:
    """Return axes as a list of integers from 0 up; an empty one for None.

    Raises
    ------
    TypeError
        If an axis is no constant integer.
    ValueError
        If it is out of range.
    """
    variable = as_tensor_variable(x)
    axis_value = getattr(axis, "data", axis) if isinstance(axis, Variable) else axis
    if isinstance(axis_value, (Variable, str, float)):
        raise TypeError(format_error(f"{axis_value!r} is no axis", hint="pass an integer, or several"))
    numbers = [] if axis_value is None else [int(n) for n in np.atleast_1d(np.asarray(axis_value))]
    ndim = variable.type.ndim
    for number in numbers:
        if not -ndim <= number < ndim:
            raise ValueError(
                format_error(f"axis {number} is out of range", context=[describe(variable)], hint="pass another")
            )
    return [number % ndim for number in numbers]


def makeKeepDims(x: Any, y: Any, axis: Any) -> Tensor:
    """Return `y`, the result of a reduction of `x` over `axis`, with lengths of 1 for the reduced dimensions."""
    ndim = as_tensor_variable(x).type.ndim
    gone = check_and_normalize_axes(x, axis) if axis is not None else list(range(ndim))
    remaining = iter(range(ndim))
    return as_tensor_variable(y).dimshuffle(["x" if i in gone else next(remaining) for i in range(ndim)])


def alloc_validate_shape(shape: Sequence[Any]) -> tuple[list[Tensor], list[bool]]:
    """Return lengths as variables, and for each whether it is known to be 1.

    Raises
    ------
    TypeError
        If a length is no integer.
    """
    lengths = [as_tensor_variable(length) for length in shape]
    known = []
    for i, length in enumerate(lengths):
        if length.type.dtype not in integer_dtypes or length.type.ndim:
            raise TypeError(
                format_error(
                    f"length {i} is {length.type}", context=[describe(length)], hint="lengths are single integers"
                )
            )
        try:
            known.append(bool(get_scalar_constant_value(length) == 1))
        except NotScalarConstantError:
            known.append(False)
    return lengths, known


def numpy_scalar(data: Any) -> Any:
    """Return an array that holds one number.

    Raises
    ------
    EmptyConstantError
        If it holds none.
    NotScalarConstantError
        If it holds several, or no numbers.
    """
    if data.ndim and not data.size:
        raise EmptyConstantError(format_error("the array is empty", hint="pass one number"))
    if data.size != 1 or data.dtype.kind not in "biufc":
        raise NotScalarConstantError(format_error(f"{data!r} is not one number", hint="pass an array with one element"))
    return data


def check_equal_numpy(x: Any, y: Any) -> bool:
    """Tell whether two values are equal; arrays are if dtype, shape and, up to 1e-10, elements are."""
    if isinstance(x, np.ndarray) and isinstance(y, np.ndarray):
        return bool(x.dtype == y.dtype and x.shape == y.shape and np.all(abs(x - y) < 1e-10))
    if isinstance(x, np.random.RandomState) and isinstance(y, np.random.RandomState):
        pairs = zip(x.get_state(legacy=True), y.get_state(legacy=True), strict=True)
        return all(bool(np.all(a == b)) for a, b in pairs)
    return bool(x == y)


def constructor(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return `f` as it is: the decorator marked functions that make variables, for lists of ops."""
    return f


def _scal_elemwise_with_nfunc(nfunc: str | None, nin: int | None, nout: int | None) -> Callable[..., Elemwise]:
    """Return a decorator that makes an elementwise function of the scalar op that a function is named after.

    A name that ends with ``_inplace`` is that of the function that overwrites.

    Parameters
    ----------
    nfunc : str, optional
        The function of NumPy that computes the same.
    nin, nout : int, optional
        Its numbers of inputs and outputs.
    """

    def decorate(symbol: Callable[..., Any]) -> Elemwise:
        name, inplace = symbol.__name__.removesuffix("_inplace"), symbol.__name__.endswith("_inplace")
        scalar_op: Any = getattr(scal, name)
        if inplace:
            scalar_op = scalar_op.__class__(scal.transfer_type(0))
        spec = None if nfunc is None else (nfunc, nin, nout)
        function = Elemwise(scalar_op, {0: 0} if inplace else None, symbol.__name__ if inplace else None, spec)
        function.__doc__ = symbol.__doc__
        return function

    return decorate


_scal_elemwise = _scal_elemwise_with_nfunc(None, None, None)


def transpose_inplace(x: Any, **kwargs: Any) -> Tensor:
    """Return a view of `x` with its dimensions in the opposite order."""
    variable = as_tensor_variable(x)
    ndim = variable.type.ndim
    result: Tensor = DimShuffle(variable.type.broadcastable, list(range(ndim))[::-1])(variable)
    return result
