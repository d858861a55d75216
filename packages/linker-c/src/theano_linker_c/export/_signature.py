"""Signatures of C functions, as text and as types of ctypes."""

from __future__ import annotations

import ctypes
import re
from typing import Any

import numpy as np

from theano_graph import format_error, record

__all__ = ["CType", "Signature", "name_of_dtype", "parse_signature"]

#: Types of numbers by their names in C.
_NUMBERS: dict[str, Any] = {
    "double": ctypes.c_double,
    "float": ctypes.c_float,
    "bool": ctypes.c_bool,
    "_Bool": ctypes.c_bool,
    "signed char": ctypes.c_byte,
    "unsigned char": ctypes.c_ubyte,
    "short": ctypes.c_short,
    "unsigned short": ctypes.c_ushort,
    "int": ctypes.c_int,
    "unsigned": ctypes.c_uint,
    "unsigned int": ctypes.c_uint,
    "long": ctypes.c_long,
    "unsigned long": ctypes.c_ulong,
    "long long": ctypes.c_longlong,
    "unsigned long long": ctypes.c_ulonglong,
    "size_t": ctypes.c_size_t,
    **{f"{sign}int{bits}_t": getattr(ctypes, f"c_{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)},
}
_SHAPE = re.compile(r"\s*([^()]*?)\s*\(([^()]*)\)\s*;?\s*", re.ASCII)
_QUALIFIER = re.compile(r"\b(?:const|restrict|volatile)\b")


@record
class CType:
    """Type of a result or an argument.

    Attributes
    ----------
    name : str
        Of a number, or ``void``.
    pointer : bool
        Whether it is a pointer to that.
    const : bool
        Whether the data behind the pointer is only read.
    """

    name: str
    pointer: bool = False
    const: bool = False

    def __str__(self) -> str:
        return f"{'const ' if self.const else ''}{self.name}{' *' if self.pointer else ''}"

    @property
    def dtype(self) -> str:
        """The dtype of the numbers; empty for ``void``."""
        return "" if self.name == "void" else np.dtype(_NUMBERS[self.name]).name

    @property
    def as_ctypes(self) -> Any:
        """The type in ctypes; None for no result."""
        if self.name == "void":
            return ctypes.c_void_p if self.pointer else None
        number = _NUMBERS[self.name]
        return ctypes.POINTER(number) if self.pointer else number


@record
class Signature:
    """Types of the result and the arguments of a C function.

    Attributes
    ----------
    result : CType
    arguments : tuple of CType
    """

    result: CType
    arguments: tuple[CType, ...]

    def __str__(self) -> str:
        return f"{self.result}({', '.join(map(str, self.arguments)) or 'void'})"


def name_of_dtype(dtype: str) -> str | None:
    """Return the name that C has for numbers of a dtype; None if it has none.

    Examples
    --------
    >>> name_of_dtype("float64"), name_of_dtype("int64"), name_of_dtype("float16")
    ('double', 'int64_t', None)
    """
    names = {"float64": "double", "float32": "float", "bool": "bool"}
    return names.get(dtype) or (f"{dtype}_t" if f"{dtype}_t" in _NUMBERS else None)


def parse_signature(text: str) -> Signature:
    """Read the signature of a C function; arguments may have names.

    Raises
    ------
    ValueError
        If it is no signature, or has types other than numbers and pointers to them.

    Examples
    --------
    >>> str(parse_signature("double(int n, double *xx, void* data)"))
    'double(int, double *, void *)'
    """
    match = _SHAPE.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ValueError(
            format_error(
                f"signature: {text!r} is no signature of a C function",
                hint="write it as 'double(double, const double *)'",
            )
        )
    parts = [part.strip() for part in match.group(2).split(",")]
    parts = [] if parts in ([""], ["void"]) else parts
    result = _type(match.group(1), text, named=False)
    if result.pointer:
        raise ValueError(format_error(f"signature: {text!r} returns a pointer", hint="let arguments point to results"))
    arguments = tuple(_type(part, text) for part in parts)
    if any(argument == CType("void") for argument in arguments):
        raise ValueError(format_error(f"signature: {text!r} has an argument of type void", hint="leave it out"))
    return Signature(result, arguments)


def _type(part: str, text: str, named: bool = True) -> CType:
    const = re.search(r"\bconst\b[^*]*(?:\*|$)", part) is not None
    plain = " ".join(_QUALIFIER.sub(" ", part).replace("*", " * ").split())
    kind, stars, name = plain.partition(" *")
    words = kind.split()
    if not stars and named and kind not in _NUMBERS and len(words) > 1:
        kind, name = " ".join(words[:-1]), words[-1]
    right = kind in _NUMBERS or kind == "void"
    if not right or (name.strip() and not (named and re.fullmatch(r"\s*[A-Za-z_]\w*", name, re.ASCII))):
        raise ValueError(
            format_error(
                f"signature: {text!r} has the type {part!r}, which is no number and no pointer to one",
                hint=f"use {', '.join(list(_NUMBERS)[:2])}, int, int64_t and the like, and pointers to them",
            )
        )
    return CType(kind, bool(stars), const and bool(stars))
