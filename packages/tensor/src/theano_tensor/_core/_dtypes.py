"""Questions about dtypes, and the dtype that a Python number takes in an expression."""

from __future__ import annotations

import struct
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

import numpy as np

from theano_graph import format_error

from .._errors import DTypeError
from ._typing import DTypeLike

ALL_DTYPES: tuple[str, ...] = (
    "bool",
    *("int8", "int16", "int32", "int64"),
    *("uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64"),
    *("complex64", "complex128"),
)
_KNOWN = frozenset(ALL_DTYPES)
INTEGER_DTYPES = frozenset(d for d in ALL_DTYPES if "int" in d)
DISCRETE_DTYPES = INTEGER_DTYPES | {"bool"}
FLOAT_DTYPES = frozenset(d for d in ALL_DTYPES if d.startswith("float"))
COMPLEX_DTYPES = frozenset(d for d in ALL_DTYPES if d.startswith("complex"))

_SMALLEST_FIRST = ("int8", "int16", "int32", "int64", "uint64")


def canonical_dtype(dtype: DTypeLike, floatx: str) -> str:
    """Return the name of `dtype` (a name, ``"floatX"``, a NumPy dtype or scalar type).

    Raises
    ------
    DTypeError
        If no tensor can have it.
    """
    if isinstance(dtype, str):
        if dtype in _KNOWN:
            # NumPy takes a text of its own kind for an array of texts.
            return dtype if type(dtype) is str else str(dtype)
        if dtype == "floatX":
            return floatx
    name: str
    try:
        name = np.dtype(dtype).name
    except TypeError:
        name = str(dtype)
    if name not in ALL_DTYPES:
        raise DTypeError(
            format_error(f"{dtype!r} is not a dtype of tensors", hint=f"use one of {', '.join(ALL_DTYPES)}")
        )
    return name


@lru_cache(maxsize=256)
def dtype_name(dtype: np.dtype[Any]) -> str:
    """Return the name of a NumPy dtype; NumPy takes microseconds to make it."""
    return dtype.name


_RANGES = {name: (int(np.iinfo(name).min), int(np.iinfo(name).max)) for name in (*_SMALLEST_FIRST, "uint64")}
_FLOAT32 = struct.Struct("f")


class Autocaster:
    """Which dtype a Python number takes as a constant: the first of `dtypes` that holds it exactly, else the last.

    Parameters
    ----------
    *dtypes : str
        In the order in which they are tried.

    Attributes
    ----------
    dtypes : tuple of str
        May be set, to change the rule for the whole process; see :class:`autocast_float_as` for a while.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.Autocaster("float32", "float64").dtype_of(0.5), T.Autocaster("float32", "float64").dtype_of(0.1)
    ('float32', 'float64')
    """

    def __init__(self, *dtypes: str) -> None:
        self.dtypes = dtypes

    def dtype_of(self, value: Any) -> str:
        """Return the dtype for a number."""
        with np.errstate(all="ignore"):
            for dtype in self.dtypes:
                if _holds(dtype, value):
                    return dtype
        return self.dtypes[-1]

    def __call__(self, value: Any) -> Any:
        """Return a number as an array without dimensions."""
        return np.asarray(value, dtype=self.dtype_of(value))


def _holds(dtype: str, value: Any) -> bool:
    if dtype in INTEGER_DTYPES:
        info = np.iinfo(dtype)
        return bool(info.min <= value <= info.max)
    return bool(value != value or float(np.dtype(dtype).type(value)) == value)


#: The rule for Python ints.
autocast_int = Autocaster(*_SMALLEST_FIRST)
#: The rule for Python floats. If its dtypes contain floatX, and that is not float64, floats take floatX.
autocast_float = Autocaster("float32", "float64")


class autocast_float_as(AbstractContextManager[None]):
    """Lets Python floats take the given dtypes, inside a ``with`` block.

    Parameters
    ----------
    *dtypes : str
        Tried in this order; the last is taken where none holds the number exactly.

    Examples
    --------
    >>> import theano.tensor as T
    >>> with T.autocast_float_as("float32"):
    ...     (T.fvector() + 1.1).dtype
    'float32'
    """

    def __init__(self, *dtypes: str) -> None:
        self.dtypes = tuple(canonical_dtype(dtype, "float64") for dtype in dtypes)
        if not dtypes or set(self.dtypes) - FLOAT_DTYPES:
            raise DTypeError(
                format_error(
                    f"floats cannot be held as {dtypes!r}", hint="use autocast_float_as('float32') or 'float64'"
                )
            )
        self._before: list[tuple[str, ...]] = []

    def __enter__(self) -> None:
        self._before.append(autocast_float.dtypes)
        autocast_float.dtypes = self.dtypes

    def __exit__(self, *error: object) -> None:
        autocast_float.dtypes = self._before.pop()


def dtype_of_number(value: Any, floatx: str, policy: str) -> str:
    """Return the dtype that the Python number `value` takes as a constant.

    With policy ``"custom"``, ints take the smallest dtype that holds them, floats float32 where that is exact (always
    if `floatx` is float32) and float64 otherwise, as `autocast_int` and `autocast_float` say. With
    ``"numpy+floatX"``, ints are int64 and floats are `floatx`.
    """
    if isinstance(value, (bool, np.bool_)):
        return "bool"
    if isinstance(value, int):
        if not -(2**63) <= value < 2**64:
            raise OverflowError(
                format_error(
                    f"the integer {value} does not fit in 64 bits", hint=f"write it as a float: float({value})"
                )
            )
        if policy == "custom":
            return autocast_int.dtype_of(value)
        return "int64" if value < 2**63 else "uint64"
    if isinstance(value, float):
        if policy != "custom" or (floatx != "float64" and floatx in autocast_float.dtypes):
            return floatx
        return autocast_float.dtype_of(value)
    return "complex128"
