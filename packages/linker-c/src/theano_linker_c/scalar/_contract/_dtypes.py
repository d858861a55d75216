"""Element types: their names, their kinds, their C names and the promotion rule."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np

BOOL_DTYPES: frozenset[str] = frozenset({"bool"})
SIGNED_DTYPES: frozenset[str] = frozenset({"int8", "int16", "int32", "int64"})
UNSIGNED_DTYPES: frozenset[str] = frozenset({"uint8", "uint16", "uint32", "uint64"})
FLOAT_DTYPES: frozenset[str] = frozenset({"float16", "float32", "float64"})
COMPLEX_DTYPES: frozenset[str] = frozenset({"complex64", "complex128"})
DISCRETE_DTYPES: frozenset[str] = BOOL_DTYPES | SIGNED_DTYPES | UNSIGNED_DTYPES
CONTINUOUS_DTYPES: frozenset[str] = FLOAT_DTYPES | COMPLEX_DTYPES
ALL_DTYPES: frozenset[str] = DISCRETE_DTYPES | CONTINUOUS_DTYPES

# Types of C temporaries: in memory a bool is one byte and a float16 its 16 bits, as NumPy stores them. A float16 is
# computed with as a float that is rounded after each operation.
C_TYPES: Mapping[str, str] = MappingProxyType(
    {
        "bool": "_Bool",
        "int8": "int8_t",
        "int16": "int16_t",
        "int32": "int32_t",
        "int64": "int64_t",
        "uint8": "uint8_t",
        "uint16": "uint16_t",
        "uint32": "uint32_t",
        "uint64": "uint64_t",
        "float16": "float",
        "float32": "float",
        "float64": "double",
        "complex64": "float _Complex",
        "complex128": "double _Complex",
    }
)

_SMALLEST_FIRST = ("int8", "int16", "int32", "int64", "uint64")


@lru_cache(maxsize=4096)
def upcast(*dtypes: str) -> str:
    """Give the smallest dtype that NumPy's promotion finds for all of `dtypes`.

    Parameters
    ----------
    *dtypes : str
        Names such as ``"int8"`` or ``"float32"``; at least one.

    Returns
    -------
    str
        The common dtype: arrays of these dtypes add up to an array of it.

    Raises
    ------
    TypeError
        If there is no argument, or one that is no element type.

    Examples
    --------
    >>> upcast("int64", "float32")
    'float64'
    """
    if not dtypes:
        raise TypeError("upcast: no dtype given\n  Hint: pass at least one dtype name, such as 'float64'.")
    for dtype in dtypes:
        check_dtype(dtype if isinstance(dtype, str) else np.dtype(dtype).name)
    return np.result_type(*(str(dtype) if isinstance(dtype, np.str_) else dtype for dtype in dtypes)).name


def check_dtype(dtype: str) -> str:
    """Return `dtype` if it names an element type; TypeError otherwise."""
    if dtype not in ALL_DTYPES:
        raise TypeError(f"{dtype!r} is not an element type\n  Hint: use one of {', '.join(sorted(ALL_DTYPES))}.")
    return dtype if type(dtype) is str else str(dtype)


#: Smaller integers are numbers of float32, larger ones need float64.
_FLOATS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("bool", "int8", "int16", "uint8", "uint16"), "float32"),
        **dict.fromkeys(("int32", "int64", "uint32", "uint64"), "float64"),
    }
)


@lru_cache(maxsize=4096)
def upcast_to_float(*dtypes: str) -> str:
    """Give the dtype in which a function such as ``exp`` works: floats stay, discrete types become floats.

    Integers up to 16 bits and truth values count as float32, longer integers as float64.
    """
    return upcast(*(_FLOATS.get(dtype, dtype) for dtype in dtypes))


def is_discrete(dtype: str) -> bool:
    """Say whether `dtype` is bool or an integer type."""
    return dtype in DISCRETE_DTYPES


def is_complex(dtype: str) -> bool:
    """Say whether `dtype` is complex64 or complex128."""
    return dtype in COMPLEX_DTYPES


def part_dtype(dtype: str) -> str:
    """Give the dtype of the real and imaginary parts of numbers of `dtype`; `dtype` itself where it is not complex."""
    return {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)


def dtype_of_number(value: Any) -> str:
    """Give the dtype in which a Python number or NumPy scalar is stored as a constant.

    An int takes the smallest type that holds it, a float is float32 if that is exact, otherwise float64.
    """
    if isinstance(value, (np.generic, np.ndarray)):
        return check_dtype(value.dtype.name)
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        for name in _SMALLEST_FIRST:
            info = np.iinfo(name)
            if info.min <= value <= info.max:
                return name
        raise OverflowError(
            f"the integer {value} does not fit in 64 bits\n  Hint: write it as a float, for instance float({value})."
        )
    if isinstance(value, float):
        with np.errstate(all="ignore"):
            exact = value != value or float(np.float32(value)) == value
        return "float32" if exact else "float64"
    if isinstance(value, complex):
        return "complex128"
    raise TypeError(f"{value!r} of type {type(value).__name__} is not a number\n  Hint: pass a number or a scalar.")
