"""Statements as C of OpenCL and CUDA alike, with the words of the device layer's prelude."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir import Check, Loop, LoopKind, Statement
from ._writing import StatementWriter

__all__ = ["device_lines"]


def device_lines(body: Sequence[Statement]) -> list[str]:
    """Return the lines of statements.

    Work-groups begin at the word ``GID_0``, of ``GDIM_0``. A loop of a known number of turns is written down once for
    each turn only if its kind says so.
    """
    writer = _Device()
    writer.write(body, 0)
    return writer.lines


class _Device(StatementWriter):
    indent = "  "

    def loop(self, loop: Loop) -> tuple[list[str], str]:
        index, length = loop.index, loop.length
        if loop.kind == LoopKind.GROUPS:
            return [], f"for (int64_t {index} = GID_0; {index} < {length}; {index} += GDIM_0)"
        kind = "int" if length.known else "int64_t"
        before = ["#pragma unroll" + " 1" * (loop.kind != LoopKind.UNROLLED)] if length.known else []
        return before, f"for ({kind} {index} = 0; {index} < {length}; {index}++)"

    def failed(self, check: Check, condition: str) -> str:
        raise AssertionError("kernels of devices tell failures by their status")
