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

__all__ = [
    "Parameter",
    "Signature",
    "atomic_definitions",
    "compile_options",
    "declare",
    "kernel_text",
    "load",
    "memory_type",
    "prelude",
    "store",
    "with_helpers",
]
