"""Helpers of `theano.scalar.basic` that programs for Theano 1.0 import."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from theano_graph import FunctionGraph, config, format_error
from theano_linker_c.scalar import (
    Composite,
    ScalarConstant,
    ScalarType,
    as_scalar,
    cast as _cast,
    int_div,
    is_complex,
    is_discrete,
    mod,
    part_dtype,
    true_div,
    upcast,
)
from theano_tensor import autocast_float, autocast_float_as as autocast_float_as, autocast_int, constant as _constant

_Type = ScalarType


class IntegerDivisionError(Exception):
    """Two integers were divided with ``/`` where the flag ``int_division`` forbids it."""


class NumpyAutocaster:
    """Which dtype a Python number takes as a constant, as an array without dimensions.

    Parameters
    ----------
    dtypes : sequence of str
        The first that holds a number exactly is taken, else the last.
    """

    def __init__(self, dtypes: Any) -> None:
        self.dtypes = tuple(dtypes)

    def __call__(self, x: Any) -> Any:
        own = getattr(x, "dtype", None)
        if own is not None and str(own) in self.dtypes:
            return np.asarray(x)
        if isinstance(x, float) and config.floatX != "float64" and config.floatX in self.dtypes:
            return np.asarray(x, config.floatX)
        dtypes = [d for d in self.dtypes if d != "float16" or config.floatX == "float16"]
        with np.errstate(all="ignore"):
            candidates = [np.asarray(x).astype(dtype) for dtype in dtypes]
        return next((c for c in candidates if np.all(c == x)), candidates[-1])


def convert(x: Any, dtype: str | None = None) -> Any:
    """Return a number, or a sequence of numbers, as an array: of `dtype`, or of the dtype that a constant takes.

    Examples
    --------
    >>> import theano
    >>> theano.scalar.convert(3).dtype.name, theano.scalar.convert(3, "float32").dtype.name
    ('int8', 'float32')
    """
    if dtype is not None:
        return np.asarray(x).astype(config.floatX if dtype == "floatX" else dtype)
    return np.asarray(_constant(x).data)


def constant(x: Any, name: str | None = None, dtype: str | None = None) -> ScalarConstant:
    """Return a scalar constant; its dtype is `dtype`, or the smallest that holds the number.

    Examples
    --------
    >>> import theano
    >>> theano.scalar.constant(2).dtype, theano.scalar.constant(2, dtype="float32").dtype
    ('int8', 'float32')
    """
    value = convert(x, dtype)
    return ScalarType(value.dtype.name).make_constant(value[()], name=name)


def cast(x: Any, dtype: str) -> Any:
    """Return a scalar converted to `dtype`.

    Examples
    --------
    >>> import theano
    >>> theano.scalar.cast(theano.scalar.ScalarType("int8")(), "float32").dtype
    'float32'
    """
    scalar = as_scalar(x)
    target_dtype = config.floatX if dtype == "floatX" else dtype
    return scalar if scalar.dtype == target_dtype else _cast(target_dtype)(scalar)


def as_common_dtype(*vars: Any) -> Iterator[Any]:
    """Yield variables, all converted to the dtype that holds each of them."""
    dtype = upcast(*(v.dtype for v in vars))
    return (v.astype(dtype) for v in vars)


def int_or_true_div(x_discrete: bool, y_discrete: bool) -> Any:
    """Return the op that ``/`` is for integers or other numbers: for two integers, by the flag ``int_division``.

    Raises
    ------
    IntegerDivisionError
        For two integers if ``int_division`` is 'raise'.
    """
    if not (x_discrete and y_discrete) or config.int_division == "floatX":
        return true_div
    if config.int_division == "raise":
        raise IntegerDivisionError(
            format_error("two integers are divided with /", hint="use // for a whole quotient, or cast one to a float")
        )
    return int_div


def div_proxy(x: Any, y: Any) -> Any:
    """Return ``x / y`` for scalars, with the op that `int_or_true_div` gives."""
    x, y = as_scalar(x), as_scalar(y)
    return int_or_true_div(is_discrete(x.dtype), is_discrete(y.dtype))(x, y)


def mod_check(x: Any, y: Any) -> Any:
    """Return ``x % y`` for scalars; `ComplexError` for complex numbers, which have no remainder."""
    return mod(as_scalar(x), as_scalar(y))


def _multi(*types: ScalarType) -> Any:
    """Return a function of names that makes variables: one for one name, else a list; a list of them for more types."""

    def maker(type_: ScalarType) -> Callable[[Any], Any]:
        def make(names: Any) -> Any:
            return type_(names) if len(names) == 1 else [type_(name) for name in names]

        return make

    variables = [maker(type_) for type_ in types]
    return variables[0] if len(variables) == 1 else variables


ints = _multi(_Type("int64"))
floats = _multi(_Type("float64"))
complexs = _multi(_Type("complex128"))
complexs64 = _multi(_Type("complex64"))
complexs128 = _multi(_Type("complex128"))


def int_out(*types: ScalarType) -> tuple[ScalarType, ...]:
    """Prefer int64."""
    return (_Type("int64"),)


def float_out(*types: ScalarType) -> tuple[ScalarType, ...]:
    """Prefer float64."""
    return (_Type("float64"),)


def _refuse_complex(types: tuple[ScalarType, ...]) -> None:
    if any(is_complex(t.dtype) for t in types):
        raise TypeError(format_error("complex numbers are not supported", hint="take the real part first"))


def int_out_nocomplex(*types: ScalarType) -> tuple[ScalarType, ...]:
    """Prefer int64; TypeError for complex numbers."""
    _refuse_complex(types)
    return int_out(*types)


def float_out_nocomplex(*types: ScalarType) -> tuple[ScalarType, ...]:
    """Prefer float64; TypeError for complex numbers."""
    _refuse_complex(types)
    return float_out(*types)


def real_out(type: ScalarType) -> tuple[ScalarType, ...]:
    """Prefer the type of the parts of complex numbers; others stay."""
    return (_Type(part_dtype(type.dtype)),)


def round_half_away_from_zero_(a: Any) -> Any:
    """Round a number to the nearest whole one, of two equally near to that further from zero.

    Examples
    --------
    >>> import theano
    >>> theano.scalar.round_half_away_from_zero_(-2.5)
    -3.0
    """
    return float(np.floor(a + 0.5) if a > 0 else np.ceil(a - 0.5))


round_half_away_from_zero_vec64 = np.vectorize(round_half_away_from_zero_, doc="Round an array.", otypes=["float64"])
round_half_away_from_zero_vec32 = np.vectorize(round_half_away_from_zero_, doc="Round an array.", otypes=["float32"])


def round_half_away_from_zero_vec(a: Any) -> Any:
    """Round an array to whole numbers, of two equally near to the one further from zero."""
    single = getattr(a, "dtype", None) == np.float32
    return (round_half_away_from_zero_vec32 if single else round_half_away_from_zero_vec64)(a)


class Compositef32:
    """Changes scalar graphs so that they compute in float32 instead of float16."""

    def apply(self, fgraph: FunctionGraph) -> tuple[list[Any], list[Any]]:
        """Return inputs and outputs of a graph equal to `fgraph`, without float16."""
        composite = Composite(fgraph.inputs, fgraph.outputs).clone_float32()
        return composite.inputs, composite.outputs


#: SciPy is always there.
imported_scipy_special = True
composite_f32 = Compositef32()
_autocasters = autocast_float, autocast_int
convert_to_bool = _cast("bool")
convert_to_int8 = _cast("int8")
convert_to_int16 = _cast("int16")
convert_to_int32 = _cast("int32")
convert_to_int64 = _cast("int64")
convert_to_uint8 = _cast("uint8")
convert_to_uint16 = _cast("uint16")
convert_to_uint32 = _cast("uint32")
convert_to_uint64 = _cast("uint64")
convert_to_float16 = _cast("float16")
convert_to_float32 = _cast("float32")
convert_to_float64 = _cast("float64")
convert_to_complex64 = _cast("complex64")
convert_to_complex128 = _cast("complex128")
