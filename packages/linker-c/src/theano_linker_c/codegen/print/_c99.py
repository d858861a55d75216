"""Statements as portable C99."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir import Check, Loop, LoopKind, Statement
from ._writing import StatementWriter

__all__ = ["c99_lines", "portable"]

#: Stands before loops whose turns may run at the same time.
_INDEPENDENT = "THEANO_INDEPENDENT"
_SPECIAL_VALUES = {
    '__builtin_nanf("")': "NAN",
    '__builtin_nan("")': "((double)NAN)",
    "__builtin_inff()": "INFINITY",
    "__builtin_inf()": "((double)INFINITY)",
    "__builtin_": "",
}


def portable(text: str) -> str:
    """Return C99 text for text with calls that only gcc and clang know.

    Examples
    --------
    >>> portable("__builtin_fabs(x) < __builtin_inf()")
    'fabs(x) < ((double)INFINITY)'
    """
    if "__builtin_" in text:
        for special, standard in _SPECIAL_VALUES.items():
            text = text.replace(special, standard)
    return text


def c99_lines(body: Sequence[Statement], fail: str, depth: int = 1) -> list[str]:
    """Return the lines of statements.

    Parameters
    ----------
    body : sequence of Statement
        Accumulations have been written out as loops.
    fail : str
        Text of a failed check, with ``{}`` for the status code.
    depth : int
        How far the lines are indented.
    """
    writer = _C99(fail)
    writer.write(body, depth)
    return writer.lines


class _C99(StatementWriter):
    def __init__(self, fail: str) -> None:
        super().__init__()
        self._fail = fail

    def line(self, text: str) -> str:
        return portable(text)

    def loop(self, loop: Loop) -> tuple[list[str], str]:
        index = loop.index
        before = [_INDEPENDENT] if loop.kind == LoopKind.VECTOR else []
        return before, f"for (int64_t {index} = 0; {index} < {loop.length}; {index}++)"

    def failed(self, check: Check, condition: str) -> str:
        failure = self._fail.format(check.code)
        return f"if (!({condition})) {failure}" if condition else failure
