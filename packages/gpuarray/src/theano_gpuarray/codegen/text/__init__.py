"""The text of kernels: the prelude, atomic operations, and how a body becomes a function."""

from ._atomics import atomic_definitions as atomic_definitions
from ._helpers import (
    Parameter as Parameter,
    Signature as Signature,
    declare as declare,
    kernel_text as kernel_text,
    load as load,
    memory_type as memory_type,
    store as store,
    with_helpers as with_helpers,
)
from ._prelude import compile_options as compile_options, prelude as prelude
from ._vectors import VECTOR_BYTES as VECTOR_BYTES, aligned as aligned, vector_type as vector_type

__all__ = [
    "Parameter",
    "Signature",
    "VECTOR_BYTES",
    "aligned",
    "atomic_definitions",
    "compile_options",
    "declare",
    "kernel_text",
    "load",
    "memory_type",
    "prelude",
    "store",
    "vector_type",
    "with_helpers",
]
