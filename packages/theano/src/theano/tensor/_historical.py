"""Types, constants and small helpers that programs for Theano 1.0 find in `theano.tensor`."""

from __future__ import annotations

import importlib.util
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
from theano_tensor.io import mpi_send_wait_key, mpi_tag_key
from theano_tensor.random import size_vector

from ..scalar import all_types, complex_types, continuous_types, discrete_types, float_types, int_types, uint_types

# ---- Helpers of `theano.tensor.basic` and `theano.tensor.type` that programs for Theano 1.0 import


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


# ---- Tolerances by which Theano 1.0 compares arrays, by the less precise of their dtypes

float16_atol = 1e-3
float16_rtol = 1e-3
float32_atol = 1e-5
float32_rtol = 1e-5
float64_atol = 1e-8
float64_rtol = 1e-5

_HALF, _SINGLE = frozenset({"float16"}), frozenset({"float32", "complex64"})


def _get_atol_rtol(a: Any, b: Any) -> tuple[float, float]:
    """Return the absolute and the relative tolerance for a comparison of two arrays."""
    dtypes = {str(a.dtype), str(b.dtype)}
    if dtypes & _HALF:
        return float16_atol, float16_rtol
    if dtypes & _SINGLE:
        return float32_atol, float32_rtol
    return float64_atol, float64_rtol


def _allclose(a: Any, b: Any, rtol: float | None = None, atol: float | None = None) -> bool:
    """Tell whether two arrays are equal within tolerances; by default, those of their dtypes."""
    a, b = np.asarray(a), np.asarray(b)
    own_atol, own_rtol = _get_atol_rtol(a, b)
    return bool(np.allclose(a, b, rtol=own_rtol if rtol is None else rtol, atol=own_atol if atol is None else atol))


# ---- Keys that distinguish constants


class TensorConstantSignature(tuple[TensorType, Any]):
    """A type and an array, compared by value; NaN equals NaN.

    Examples
    --------
    >>> import theano.tensor as T
    >>> import numpy as np
    >>> kind = T.TensorType("float64", (False,))
    >>> one, other = (T.TensorConstantSignature((kind, np.array([1.0, np.nan]))) for _ in range(2))
    >>> one == other, hash(one) == hash(other), bool(one.has_nan)
    (True, True, True)
    """

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other) or not isinstance(other, TensorConstantSignature):
            return False
        (kind, data), (other_kind, other_data) = self, other
        return kind == other_kind and data.shape == other_data.shape and bool(kind.values_eq(data, other_data))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        kind, data = self
        return hash((type(self), kind, data.shape, self.sum))

    def theano_hash(self) -> int:
        """Return the hash."""
        return hash(self)

    @property
    def sum(self) -> Any:
        """The sum of the elements that are numbers."""
        return self.no_nan.sum()

    @property
    def no_nan(self) -> Any:
        """The elements, with NaN masked."""
        data = self[1]
        return np.ma.masked_array(data, np.isnan(data)) if self.has_nan else data

    @property
    def has_nan(self) -> bool:
        """Whether there is a NaN."""
        data = self[1]
        return bool(data.dtype.kind in "fc" and np.isnan(data).any())


def equal_slices(s1: slice, s2: slice) -> bool:
    """Tell whether two slices have the same bounds and steps."""
    return (s1.start, s1.stop, s1.step) == (s2.start, s2.stop, s2.step)


# ---- The shape of a draw, as functions of one's own that draw ask for it


def _infer_ndim_bcast(ndim: int | None, shape: Any, *args: Any) -> tuple[int, Any, tuple[bool, ...]]:
    """Return the number of dimensions of a draw, its shape as a vector, and which of its lengths are 1.

    Parameters
    ----------
    ndim : int or None
        Number of dimensions, where `shape` is a vector of unknown length.
    shape : sequence of int and scalars, integer vector, or None
        None stands for the common shape of the parameters.
    *args : tensor_like
        The parameters.
    """
    vector, lengths = size_vector("draw", shape, ndim, [as_tensor_variable(arg) for arg in args])
    return len(lengths), vector, tuple(n == 1 for n in lengths)


# ---- Orders in which messages between processes are sent, as comparisons


def key_to_cmp(key: Callable[[Any], Any]) -> Callable[[Any, Any], int]:
    """Return a comparison, -1, 0 or 1, of the results of a key function.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.key_to_cmp(len)("a", "bcd")
    -1
    """

    def compare(a: Any, b: Any) -> int:
        first, second = key(a), key(b)
        return int(first > second) - int(first < second)

    return compare


mpi_tag_cmp = key_to_cmp(mpi_tag_key)
mpi_send_wait_cmp = key_to_cmp(mpi_send_wait_key)
mpi_cmps = (mpi_send_wait_cmp, mpi_tag_cmp)
#: Whether the library for messages is there.
mpi_enabled = importlib.util.find_spec("mpi4py") is not None
