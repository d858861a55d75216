"""The common part of the rules in this folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from theano_linker_c.straight import Block, CArray, Length

__all__ = ["loops", "offset"]


@contextmanager
def loops(block: Block, lengths: Sequence[Length]) -> Iterator[list[str]]:
    """Write a loop for each length, one inside the other; gives their indices."""
    indices = [block.fresh("i") for _ in lengths]
    with ExitStack() as stack:
        for index, length in zip(indices, lengths, strict=True):
            stack.enter_context(block.loop(index, length))
        yield indices


def offset(x: CArray, indices: Sequence[str]) -> str:
    """Return the offset of an element, by its index along each axis."""
    terms = [f"{i} * {s.atom}" for i, s in zip(indices, x.strides, strict=True) if i != "0" and str(s) != "0"]
    return " + ".join(terms) or "0"
