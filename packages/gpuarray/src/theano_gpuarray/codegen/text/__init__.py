"""The text of kernels: the prelude, atomic operations, and how a body becomes a function."""

from .._kernel_text import DeviceKernel as DeviceKernel, LocalArray as LocalArray, Parameter as Parameter
from ._atomics import atomic_definitions as atomic_definitions
from ._helpers import (
    Signature as Signature,
    build_text as build_text,
    memory_type as memory_type,
    store as store,
    with_helpers as with_helpers,
)
from ._joined import joined_arrays as joined_arrays, joined_text as joined_text
from ._prelude import compile_options as compile_options, prelude as prelude
from ._vectors import VECTOR_BYTES as VECTOR_BYTES, aligned as aligned, vector_type as vector_type

__all__ = [
    "DeviceKernel",
    "LocalArray",
    "Parameter",
    "Signature",
    "VECTOR_BYTES",
    "aligned",
    "atomic_definitions",
    "build_text",
    "compile_options",
    "joined_arrays",
    "joined_text",
    "memory_type",
    "prelude",
    "store",
    "vector_type",
    "with_helpers",
]
