"""Copies of elements on a device, between layouts and dtypes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from theano_linker_c.kernels import memory_type
from theano_linker_c.scalar import CValue, c_loaded

from ..codegen import KernelText
from ..codegen.text import Signature, store
from ..contexts import GpuContext
from ._geometry import is_c_contiguous

if TYPE_CHECKING:
    from .._device import Buffer

__all__ = ["Strided", "copy_elements"]

_LOCAL, _GROUPS = 256, 4096
#: Numbers of elements below this are divided in 32 bits, which takes a fraction of the time.
_NARROW = 2**31
#: Bytes of an element -> an integer type of that size, and how many of them.
_WORDS = {1: ("uint8", 1), 2: ("uint16", 1), 4: ("uint32", 1), 8: ("uint64", 1), 16: ("uint64", 2)}


class Strided(Protocol):
    """Where the elements of an array lie."""

    @property
    def buffer(self) -> Buffer:
        """The memory."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Kind of elements."""

    @property
    def strides(self) -> tuple[int, ...]:
        """In bytes."""

    @property
    def offset(self) -> int:
        """Bytes to the first element."""


def copy_elements(context: GpuContext, shape: Sequence[int], target: Strided, source: Strided) -> None:
    """Copy elements within one context; the arrays do not overlap, and no dtype is complex unless both are the same.

    Parameters
    ----------
    context : GpuContext
    shape : sequence of int
        Of both arrays; strides of 0 repeat elements of the source.
    target, source : Strided
    """
    count = int(np.prod(shape, dtype=np.int64))
    if not count:
        return
    size = target.dtype.itemsize
    same = target.dtype == source.dtype
    if same and is_c_contiguous(shape, target.strides, size) and is_c_contiguous(shape, source.strides, size):
        target.buffer.copy(target.offset, source.buffer, source.offset, count * size)
        return
    lengths, to, of = _merged(shape, target.strides, source.strides)
    word, times = _WORDS[size] if same else ("", 1)
    if times > 1:
        lengths, to, of = [*lengths, times], [*to, size // times], [*of, size // times]
        count *= times
    kernel = context.kernel(_text(len(lengths), word or target.dtype.name, word or source.dtype.name, count < _NARROW))
    local = min(_LOCAL, kernel.max_local)
    groups = min(-(-count // local), _GROUPS)
    arguments: list[Any] = [target.buffer, target.offset, source.buffer, source.offset, count, *lengths, *to, *of]
    context.launch(kernel, [groups], [local], arguments)


def _merged(
    shape: Sequence[int], target: Sequence[int], source: Sequence[int]
) -> tuple[list[int], list[int], list[int]]:
    """Join dimensions that can be walked as one, in both arrays; at least one is left."""
    lengths, to, of = [1], [0], [0]
    for n, a, b in zip(shape, target, source, strict=True):
        if n == 1:
            continue
        if lengths[-1] == 1:
            lengths[-1], to[-1], of[-1] = n, a, b
        elif to[-1] == a * n and of[-1] == b * n:
            lengths[-1], to[-1], of[-1] = lengths[-1] * n, a, b
        else:
            lengths, to, of = [*lengths, n], [*to, a], [*of, b]
    return lengths, to, of


@cache
def _text(ndim: int, target: str, source: str, narrow: bool) -> KernelText:
    """Return the kernel that copies arrays of so many dimensions; `narrow` says whether 32 bits count the elements."""
    kind = "uint32_t" if narrow else "uint64_t"
    signature = Signature()
    signature.array("z", written=True)
    signature.array("x")
    signature.number("q", "count")
    for stem in ("n", "zs", "xs"):
        signature.number("q", *(f"{stem}{d}" for d in range(ndim)))
    steps = []
    for d in reversed(range(1, ndim)):
        steps += [f"  const int64_t i{d} = rest % ({kind})n{d};", f"  rest /= ({kind})n{d};"]
    steps.append("  const int64_t i0 = rest;")
    offset, value = (" + ".join(f"i{d} * {stem}{d}" for d in range(ndim)) for stem in ("zs", "xs"))
    element = c_loaded(f"*(GLOBAL_MEM const {memory_type(source)} *)(x + {value})", source)
    body = [
        f"for ({kind} i = ({kind})GID_0 * LDIM_0 + LID_0; i < ({kind})count; i += ({kind})GDIM_0 * LDIM_0) {{",
        f"  {kind} rest = i;",
        *steps,
        f"  {store(f'*(GLOBAL_MEM {memory_type(target)} *)(z + {offset})', CValue(f'({element})', source), target)}",
        "}",
    ]
    return signature.text("copy", body)
