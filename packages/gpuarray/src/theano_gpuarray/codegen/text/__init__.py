"""The text of kernels: the prelude, atomic operations, and how a body becomes a function."""

from ._helpers import (
    Signature as Signature,
    memory_type as memory_type,
    store as store,
    with_helpers as with_helpers,
)
from ._joined import joined_arrays as joined_arrays, joined_text as joined_text
from ._prelude import compile_options as compile_options, prelude as prelude
from ._vectors import VECTOR_BYTES as VECTOR_BYTES, aligned as aligned, vector_type as vector_type

__all__ = [
    "Signature",
    "VECTOR_BYTES",
    "aligned",
    "compile_options",
    "joined_arrays",
    "joined_text",
    "memory_type",
    "prelude",
    "store",
    "vector_type",
    "with_helpers",
]
