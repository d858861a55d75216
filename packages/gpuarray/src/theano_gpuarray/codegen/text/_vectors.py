"""Vectors: elements side by side that a work-item loads or stores at once, up to 16 bytes.

The type ``theano_<memory type>_x<width>`` is a structure with the elements as its member ``at``; its alignment is its
size. A text that says the name has the definition before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np

from theano_linker_c.kernels import memory_type

__all__ = ["VECTOR_BYTES", "aligned", "vector_definitions", "vector_type"]

#: Bytes of the widest load of a work-item.
VECTOR_BYTES = 16
_NAME = re.compile(r"\btheano_(float|double|u?int\d+_t)_x(\d+)\b")
_SIZES = {"float": 4, "double": 8}


def vector_type(dtype: str, width: int) -> str:
    """Return the name of the type of some elements of a dtype.

    Examples
    --------
    >>> vector_type("float32", 4)
    'theano_float_x4'
    """
    return f"theano_{memory_type(dtype)}_x{width}"


def vector_definitions(texts: Iterable[str]) -> list[str]:
    """Return the definitions of the vectors that texts name, once each, in a fixed order."""
    found = sorted({(kind, int(width)) for text in texts for kind, width in _NAME.findall(text)})
    lines = []
    for kind, width in found:
        alignment = f"__attribute__((aligned({_size(kind) * width})))"
        lines.append(f"typedef struct {alignment} {{ {kind} at[{width}]; }} theano_{kind}_x{width};")
    return lines


def _size(kind: str) -> int:
    return _SIZES.get(kind) or int(re.sub(r"\D", "", kind)) // 8


def aligned(places: Sequence[tuple[str, str, int]]) -> str:
    """Return the text that tells whether addresses and distances are those of vectors.

    Parameters
    ----------
    places : sequence of (str, str, int)
        A pointer or a number of bytes, the dtype, and the width of the vectors that lie there.
    """
    parts = [f"(size_t){text} % {np.dtype(dtype).itemsize * width}" for text, dtype, width in places]
    return f"({' | '.join(parts)}) == 0" if parts else "true"
