"""Vectors: elements side by side that a work-item loads or stores at once, up to 16 bytes.

The type ``theano_<memory type>_x<width>`` is a structure with the elements as its member ``at``; its alignment is its
size. A text that says the name has the definition before it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache

import numpy as np

from theano_linker_c.kernels import memory_type

__all__ = ["VECTOR_BYTES", "aligned", "vector_definitions", "vector_type"]

#: Bytes of the widest load of a work-item.
VECTOR_BYTES = 16
_DTYPES = (*(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)), "float32", "float64")


def vector_type(dtype: str, width: int) -> str:
    """Return the name of the type of some elements of a dtype.

    Examples
    --------
    >>> vector_type("float32", 4)
    'theano_float_x4'
    """
    return f"theano_{memory_type(dtype)}_x{width}"


@cache
def _definitions() -> dict[str, str]:
    """Return the definition of each type, by its name."""
    definitions = {}
    for dtype in _DTYPES:
        size, width = np.dtype(dtype).itemsize, 2
        while size * width <= VECTOR_BYTES:
            name, alignment = vector_type(dtype, width), f"__attribute__((aligned({size * width})))"
            definitions[name] = f"typedef struct {alignment} {{ {memory_type(dtype)} at[{width}]; }} {name};"
            width *= 2
    return definitions


def vector_definitions(names: Collection[str]) -> list[str]:
    """Return the definitions of the vectors among some names, in a fixed order."""
    return [text for name, text in _definitions().items() if name in names]


def aligned(places: Sequence[tuple[str, str, int]]) -> str:
    """Return the text that tells whether addresses and distances are those of vectors.

    Parameters
    ----------
    places : sequence of (str, str, int)
        A pointer or a number of bytes, the dtype, and the width of the vectors that lie there.
    """
    parts = [f"(size_t){text} % {np.dtype(dtype).itemsize * width}" for text, dtype, width in places]
    return f"({' | '.join(parts)}) == 0" if parts else "true"
