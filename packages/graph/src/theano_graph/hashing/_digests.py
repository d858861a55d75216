"""Hashes of bytes and of arrays."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

#: Bytes of arrays that are compared by their elements before they are hashed.
_SMALL = 4096


def hex_digest(parts: Iterable[bytes]) -> str:
    """Return a hash of some bytes as 40 hexadecimal digits; the borders between parts count."""
    state = blake2b(digest_size=20)
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.hexdigest()


def is_array(value: Any) -> bool:
    """Tell whether a value is an array of numbers of NumPy's own class."""
    kind = type(value)
    return (kind.__module__, kind.__name__) == ("numpy", "ndarray") and value.dtype.kind in "biufc"


def is_by_columns(value: Any) -> bool:
    """Tell whether the first index of an array runs fastest in memory, and not the last one."""
    return bool(value.flags.f_contiguous and not value.flags.c_contiguous)


def brief_of_array(value: Any) -> Any:
    """Return what is equal for small arrays of equal content, faster than their hash; None for others."""
    if value.nbytes > _SMALL:
        return None
    return value.dtype.str, value.shape, value.ndim > 1 and is_by_columns(value), value.tobytes()


def digest_of_array(value: Any) -> bytes:
    """Return a hash of an array that :func:`is_array` takes: of its dtype, shape and elements."""
    by_columns = is_by_columns(value)
    found = blake2b(f"array {value.dtype.str} {value.shape} {by_columns} ".encode(), digest_size=20)
    rows = value.T if by_columns else value
    if not rows.flags.c_contiguous:
        rows = rows.copy()
    found.update(rows.reshape(-1).view("uint8").data)
    return found.digest()
