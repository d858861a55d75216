"""Bodies of loops and branches: invariant statements before them, and memory for their results."""

from __future__ import annotations

from collections.abc import Sequence

from ..codegen.ir import Statement
from ..codegen.passes import hoisted
from ._arrays import Root
from ._block import Block
from ._lengths import Length

__all__ = ["Body", "RowPlace"]


class Body:
    """The statements between the braces of a loop or a branch, while they are written.

    They are kept apart from those around them until they are complete, so that others can be put before them: memory
    for results whose shapes the body tells, and lengths that are the same in each step.
    """

    def __init__(self, block: Block) -> None:
        self.block = block
        self.mark = block.names
        self.time = block.time
        self.roots = len(block.roots)
        self.statements: list[Statement] = []
        self._outer: list[Statement] = []
        self._parted: tuple[int, tuple[list[Statement], list[Statement], set[str]]] | None = None

    def begin(self) -> None:
        """Let the statements that follow be those of the body."""
        self._outer, self.block.statements = self.block.statements, self.statements

    def pause(self) -> None:
        """Let the statements that follow be those around the body again."""
        self.statements, self.block.statements = self.block.statements, self._outer

    def take_before(self) -> list[Statement]:
        """Take out the statements that can stand before the braces, and return them."""
        before, self.statements, _ = self._parts()
        self._parted = None
        return before

    def is_outside(self, lengths: Sequence[Length]) -> bool:
        """Tell whether lengths are known before the braces, or can be."""
        names = [name for length in lengths for name in length.names if not self._is_fixed(name)]
        return not names or self._parts()[2].issuperset(names)

    def _is_fixed(self, name: str) -> bool:
        return self.block.is_fixed(name, self.mark)

    def _parts(self) -> tuple[list[Statement], list[Statement], set[str]]:
        """Return the statements that can stand before the braces, the others, and the variables of the first."""
        count = len(self.statements)
        if self._parted is None or self._parted[0] != count:
            self._parted = count, hoisted(self.statements, self._is_fixed)
        return self._parted[1]


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
