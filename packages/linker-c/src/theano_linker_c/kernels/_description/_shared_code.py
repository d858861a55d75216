"""The runtime's compiled code for all kernels: copies between strided memory and blocks, and loops over blocks.

A kernel calls it through pointers of its own, which whoever loads it has to set.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

try:
    import theano_linker_c._runtime as _runtime
except ImportError:  # it was not built, so nothing runs kernels
    SHARED_CODE: Mapping[str, int] = MappingProxyType({})
else:
    SHARED_CODE = MappingProxyType(_runtime.SHARED_CODE)

#: How an operand is described to shared code: the bytes of an element, these flags, and ``FIXED << i`` if it is the
#: same for all elements in the kernel's loop i. Same numbers as in c/elementwise/blocks.h.
READ, WRITTEN, FIXED = 32, 64, 128

_DECLARATIONS: Mapping[str, str] = MappingProxyType(
    {
        "theano_pack": "void (*theano_pack)(char *, const char *, int64_t stride, int64_t n, int64_t size);",
        "theano_run": """typedef struct {
  int32_t count, loops;
  int64_t lanes;
  const int32_t *kinds;
  void (*vector[2])(int64_t n, char *const *data);
} theano_loop_nest;
void (*theano_run)(int64_t n, char *const *data, const int64_t *strides, const theano_loop_nest *nest);""",
        "theano_reduce": """typedef struct {
  int32_t count, loops, reductions, whole;
  int64_t lanes, block;
  const int32_t *kinds;
  void (*vector[2])(int64_t n, char *const *data, int64_t skip);
} theano_reduction;
void (*theano_reduce)(int64_t n, char *const *data, const int64_t *strides, const theano_reduction *reduction);""",
    }
)


def shared_names(texts: Sequence[str]) -> tuple[str, ...]:
    """Give the names of shared code that `texts` call."""
    return tuple(name for name in _DECLARATIONS if any(name + "(" in text for text in texts))


def shared_declarations(names: Sequence[str]) -> list[str]:
    """Give the C text that declares the pointers to shared code of these names."""
    return [_DECLARATIONS[name] for name in names]


def set_shared_code(address_of: Callable[[str], int], names: Sequence[str]) -> None:
    """Set the pointers through which loaded code calls shared code; `address_of` gives where they lie."""
    for name in names:
        ctypes.c_void_p.from_address(address_of(name)).value = SHARED_CODE[name]
