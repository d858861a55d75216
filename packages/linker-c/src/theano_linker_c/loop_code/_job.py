"""Loops that are compiled in the background."""

from __future__ import annotations

import os
from array import array
from collections.abc import Sequence

from theano_graph import record

from .._function import Function
from ..compiler import CompilerOptions, MappedCode
from ..export._loading import CodeLibrary
from ..kernels import type_number
from ..program import LoopSpec
from ..runtime._tiers import pool
from ..straight import function_program
from ._text import ENTRY, ArrayForm, LoopText, write_loop

__all__ = ["LoopCode", "LoopJob", "encoded_forms", "loop_library"]

#: Beside that of exported functions, whose callers wait while it compiles.
loop_library = CodeLibrary()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=loop_library.renew_lock)
#: Longer text is compiled with less effort: the compiler's time grows faster than the text.
_LONG = 250_000
#: Nobody waits for the compiler that long.
_LONGEST = 4_000_000


@record
class LoopCode:
    """The function of a loop, and which arrays it takes.

    Attributes
    ----------
    address : int
    forms : bytes
        Forms of the operands and results, as the machine takes them.
    code : MappedCode
        Has to stay as long as the address is used.
    """

    address: int
    forms: bytes
    code: MappedCode


class LoopJob:
    """The code of one loop for certain shapes, which a thread makes.

    Parameters
    ----------
    fn : Function
        The step.
    loop_spec : LoopSpec
    operands : sequence of ArrayForm
    sums : sequence of (tuple of int) or None

    Attributes
    ----------
    found : LoopCode or None
        None also where there can be none.
    is_over : bool
    error : Exception or None
        Why there is no code.
    """

    def __init__(
        self,
        fn: Function,
        loop_spec: LoopSpec,
        operands: Sequence[ArrayForm],
        sums: Sequence[tuple[int, ...] | None],
    ) -> None:
        self.fn, self.loop_spec, self.operands, self.sums = fn, loop_spec, operands, sums
        self.options = CompilerOptions.from_config()
        self.found: LoopCode | None = None
        self.error: Exception | None = None
        self.is_over = False

    def begin(self) -> None:
        """Let a thread do it."""
        pool.begin(self)

    def renew(self) -> None:
        """Give up, in a process that was made of this one: the thread stayed behind."""
        self.is_over = True

    def run(self) -> None:
        """Write and compile the code."""
        try:
            self.found = self._made()
        except Exception as error:  # noqa: BLE001  (the machine runs the loop in any case)
            self.error = error
        self.is_over = True

    def _made(self) -> LoopCode | None:
        text = write_loop(function_program(self.fn), self.loop_spec, self.operands, self.sums)
        if len(text.text) > _LONGEST:
            return None
        code = loop_library.load(text.text, self.options, quick=len(text.text) > _LONG)
        return LoopCode(code.address(ENTRY), encoded_forms(text), code)


def encoded_forms(text: LoopText) -> bytes:
    """Return the forms of operands and results as the machine takes them."""
    numbers = array("q", (len(text.operands), len(text.results)))
    for form in (*text.operands, *text.results):
        numbers.extend((form.moves, type_number(form.dtype), len(form.shape), *form.shape))
    return numbers.tobytes()
