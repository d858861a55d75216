"""Names and numbers of dtypes in kernels."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from theano_graph import format_error

__all__ = ["SIZE", "SSIZE", "device_dtype", "dtype_of_typecode", "dtype_to_ctype", "dtype_to_typecode"]

#: Kinds of parameters of kernels: unsigned and signed lengths.
SIZE = 24
SSIZE = 25

#: dtype -> its C type in kernels, without the prefix, and its number.
_TYPES = {
    "bool": ("bool", 0),
    "int8": ("byte", 1),
    "uint8": ("ubyte", 2),
    "int16": ("short", 3),
    "uint16": ("ushort", 4),
    "int32": ("int", 5),
    "uint32": ("uint", 6),
    "int64": ("long", 7),
    "uint64": ("ulong", 8),
    "float32": ("float", 11),
    "float64": ("double", 12),
    "complex64": ("cfloat", 14),
    "complex128": ("cdouble", 15),
    "float16": ("half", 23),
}


def device_dtype(dtype: DTypeLike) -> np.dtype[np.generic]:
    """Return a dtype that arrays of devices can have.

    Raises
    ------
    TypeError
        If it is another one: text, objects, records, another byte order.
    """
    device_type = np.dtype(dtype)
    if device_type.name not in _TYPES or not device_type.isnative:
        raise TypeError(
            format_error(f"there are no arrays of {device_type!r} on devices", hint=f"use one of {', '.join(_TYPES)}")
        )
    return np.dtype(device_type.name)


def dtype_to_ctype(dtype: DTypeLike) -> str:
    """Return the C type of a dtype in kernels.

    Examples
    --------
    >>> from theano_gpuarray.arrays import dtype_to_ctype
    >>> dtype_to_ctype("float32")
    'ga_float'
    """
    return "ga_" + _TYPES[device_dtype(dtype).name][0]


def dtype_to_typecode(dtype: DTypeLike) -> int:
    """Return the number of a dtype.

    Examples
    --------
    >>> from theano_gpuarray.arrays import dtype_to_typecode
    >>> dtype_to_typecode("float16")
    23
    """
    return _TYPES[device_dtype(dtype).name][1]


_OF_NUMBER = {number: np.dtype(name) for name, (_, number) in _TYPES.items()}


def dtype_of_typecode(number: int) -> np.dtype[np.generic]:
    """Return the dtype of a number.

    Raises
    ------
    TypeError
        If there is none.

    Examples
    --------
    >>> from theano_gpuarray.arrays import dtype_of_typecode
    >>> dtype_of_typecode(11)
    dtype('float32')
    """
    if number not in _OF_NUMBER:
        raise TypeError(
            format_error(f"there is no dtype with the number {number}", hint=f"use one of {sorted(_OF_NUMBER)}")
        )
    return _OF_NUMBER[number]
