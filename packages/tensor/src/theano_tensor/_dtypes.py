"""Questions about dtypes, and the dtype that a Python number takes in an expression."""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Any

import numpy as np

from theano_graph import compose

from ._errors import DTypeError

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


def canonical_dtype(dtype: Any, floatx: str) -> str:
    """Return the name of `dtype` (a name, ``"floatX"``, a NumPy dtype or scalar type).

    Raises
    ------
    DTypeError
        If no tensor can have it.
    """
    if isinstance(dtype, str):
        if dtype in _KNOWN:
            return dtype
        if dtype == "floatX":
            return floatx
    name: str
    try:
        name = np.dtype(dtype).name
    except TypeError:
        name = str(dtype)
    if name not in ALL_DTYPES:
        raise DTypeError(compose(f"{dtype!r} is not a dtype of tensors", mend=f"use one of {', '.join(ALL_DTYPES)}"))
    return name


@lru_cache(maxsize=256)
def dtype_name(dtype: np.dtype[Any]) -> str:
    """Return the name of a NumPy dtype; NumPy takes microseconds to make it."""
    return dtype.name


_RANGES = {name: (int(np.iinfo(name).min), int(np.iinfo(name).max)) for name in (*_SMALLEST_FIRST, "uint64")}
_FLOAT32 = struct.Struct("f")


def dtype_of_number(value: Any, floatx: str, policy: str) -> str:
    """Return the dtype that the Python number `value` takes as a constant.

    With policy ``"custom"``, ints take the smallest dtype that holds them, floats float32 where that is exact (always
    if `floatx` is float32) and float64 otherwise. With ``"numpy+floatX"``, ints are int64 and floats are `floatx`.
    """
    if isinstance(value, (bool, np.bool_)):
        return "bool"
    if isinstance(value, int):
        names = _SMALLEST_FIRST if policy == "custom" else ("int64", "uint64")
        for name in names:
            low, high = _RANGES[name]
            if low <= value <= high:
                return name
        raise OverflowError(
            compose(f"the integer {value} does not fit in 64 bits", mend=f"write it as a float: float({value})")
        )
    if isinstance(value, float):
        if floatx == "float32" or policy != "custom":
            return floatx
        try:
            (rounded,) = _FLOAT32.unpack(_FLOAT32.pack(value))
        except OverflowError:
            return "float64"
        return "float32" if rounded == value or value != value else "float64"
    return "complex128"
