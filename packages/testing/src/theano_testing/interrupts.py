"""Interrupts of this thread, as by Ctrl-C, at chosen lines of code."""

from __future__ import annotations

import ast
import os
import sys
import traceback
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Any, Self

#: More lines than any code has.
NEVER = sys.maxsize


@cache
def quiet_lines(path: str) -> frozenset[int]:
    """Return the lines of a source at which no signal comes: it comes when calls begin and end, and within them.

    Between a block and its `finally`, its `except`, or the end of its `with`, there is no such moment.

    Parameters
    ----------
    path : str
    """
    matches: set[int] = set()
    for node in ast.walk(ast.parse(Path(path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.With):
            matches.update(range(node.lineno, node.body[0].lineno))
        elif isinstance(node, ast.Try):
            matches.add(node.lineno)
            matches.update(last.lineno for last in node.finalbody[:1])
            for handler in node.handlers:
                matches.update(range(handler.lineno, handler.body[0].lineno + 1))
    return frozenset(matches)


class Interrupter:
    """Raises KeyboardInterrupt at one line of this thread, while it is entered as a context.

    Parameters
    ----------
    sources : sequence of str
        Packages whose code is interrupted.
    calls : int
        How many calls of functions of these packages begin before lines are counted, those of later calls.
    lines : int, optional
        How many lines pass then; without it nothing is interrupted.

    Attributes
    ----------
    calls, lines : int
        How many calls and lines there have been.
    place : list of str
        The innermost entries of the stack where the interrupt came; empty where it did not.

    Examples
    --------
    >>> import theano_graph
    >>> try:
    ...     with Interrupter(["theano_graph"], lines=5) as interrupter:
    ...         theano_graph.generic("x")
    ... except KeyboardInterrupt:
    ...     print(len(interrupter.place))
    4
    """

    def __init__(self, sources: Sequence[str], calls: int = 0, lines: int = NEVER) -> None:
        self.calls = self.lines = 0
        self.place: list[str] = []
        self._first_call, self._last_line = calls, lines
        self._sources = [os.path.join("", name, "") for name in sources]
        self._is_source: dict[CodeType, bool] = {}

    def __enter__(self) -> Self:
        sys.settrace(self._call)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        sys.settrace(None)

    def _call(self, frame: FrameType, event: str, argument: object) -> Any:
        code = frame.f_code
        known = self._is_source.get(code)
        if known is None:
            known = self._is_source[code] = any(source in code.co_filename for source in self._sources)
        if not known:
            return None
        self.calls += 1
        return self._line if self.calls > self._first_call else None

    def _line(self, frame: FrameType, event: str, argument: object) -> Any:
        if self.place:
            return None
        if event == "line" and frame.f_lineno not in quiet_lines(frame.f_code.co_filename):
            self.lines += 1
            if self.lines > self._last_line:
                sys.settrace(None)
                self.place = traceback.format_stack(frame)[-4:]
                raise KeyboardInterrupt
        return self._line
