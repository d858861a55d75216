"""Bodies of loops and branches: what can stand before them, and memory for what they give."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ._arrays import Root
from ._block import Block
from ._lengths import Length

__all__ = ["Body", "RowPlace"]

_NAME = re.compile(r"\b[a-z]+(\d+)(?:_\w+)?\b")
_LENGTH = re.compile(r"\s*const int64_t (n\d+) = ([^\[\]/%{}\"]*);")
_POINTER = re.compile(r"&(n\d+)\b")


class Body:
    """The statements between the braces of a loop or a branch, while they are written.

    Its lines are taken out of the block when they are complete, so that others can be put before them: memory for
    results whose shapes the body tells, and lengths that are the same in each step.
    """

    def __init__(self, block: Block) -> None:
        self.block = block
        self.mark = block.names
        self.time = block.time
        self.roots = len(block.roots)
        self.lines: list[str] = []
        self.indent = ""
        self._outer: list[str] = []

    def begin(self) -> None:
        """Let the lines that follow be those of the body."""
        block = self.block
        self._outer, block.lines = block.lines, self.lines
        block.indent(1)
        self.indent = "    " * block.depth

    def pause(self) -> None:
        """Let the lines that follow be those around the body again."""
        self.lines, self.block.lines = self.block.lines, self._outer
        self.block.indent(-1)

    def take_before(self) -> list[str]:
        """Take out the lines that can stand before the braces, and return them."""
        moved = self._movable()
        before = [line[4:] for i, line in enumerate(self.lines) if i in moved]
        self.lines = [line for i, line in enumerate(self.lines) if i not in moved]
        return before

    def is_outside(self, lengths: Sequence[Length]) -> bool:
        """Tell whether lengths are known before the braces, or can be."""
        names = {name for length in lengths for name in length.names}
        inside = {name for name in names if self._is_inside(name)}
        return not inside or inside <= self._moved_names()

    def _is_inside(self, name: str) -> bool:
        found = _NAME.fullmatch(name)
        return found is not None and int(found[1]) > self.mark

    def _moved_names(self) -> set[str]:
        return {name for i in self._movable() for name in re.findall(r"int64_t (n\d+)\b", self.lines[i])}

    def _movable(self) -> set[int]:
        """Return which lines define lengths that follow from what is known before."""
        lines = self.lines
        declared = {line.strip()[8:-1]: i for i, line in enumerate(lines) if re.fullmatch(r"\s*int64_t n\d+;", line)}
        names: set[str] = set()
        found: set[int] = set()
        for i, line in enumerate(lines):
            match = _LENGTH.fullmatch(line)
            if match is None or not line.startswith(self.indent) or line[len(self.indent)] == " ":
                continue
            given = set(_POINTER.findall(match[2]))
            used = {m[0] for m in _NAME.finditer(match[2])} - given
            rest = _POINTER.sub("", match[2]).replace("&&", "")
            if "&" in rest or "*(" in rest or not given <= set(declared):
                continue
            if all(not self._is_inside(name) or name in names for name in used):
                found |= {i, *(declared[name] for name in given)}
                names |= {match[1], *given}
        return found


class RowPlace:
    """Memory for a value of a body, whose shape the body tells.

    Parameters
    ----------
    body : Body
    dtype : str
    shape : tuple of Length, optional
        Where it is known before.
    """

    def __init__(self, body: Body, dtype: str, shape: tuple[Length, ...] | None = None) -> None:
        self.body, self.dtype, self.shape = body, dtype, shape
        self.pointer = body.block.fresh("p")
        self.root = Root("result", self.pointer, dtype, Length(1))

    def takes(self, dtype: str, shape: tuple[Length, ...]) -> bool:
        """Tell whether a value can be put there: memory is there if its lengths are known before."""
        fits = self.body.is_outside(shape) if self.shape is None else shape == self.shape
        return dtype == self.dtype and fits
