"""Tracebacks that are printed show the user's frames, not those of the library.

Only the printed text changes: an exception that a program catches has all its frames, and so has a debugger.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

from ._config import config
from ._errors import belongs_to_library

_Hook = Callable[[type[BaseException], BaseException, TracebackType | None], object]


def without_library_frames(traceback: TracebackType | None) -> tuple[TracebackType | None, int]:
    """Return a traceback without the frames of the library, and how many these are.

    Parameters
    ----------
    traceback : traceback or None

    Returns
    -------
    tuple of traceback and int
        The traceback itself and 0 where all frames are the library's.

    Examples
    --------
    >>> without_library_frames(None)
    (None, 0)
    """
    parts: list[TracebackType] = []
    part, count = traceback, 0
    while part is not None:
        parts.append(part)
        part = part.tb_next
    kept = [part for part in parts if not belongs_to_library(part.tb_frame.f_code.co_filename)]
    count = len(parts) - len(kept)
    if not kept or not count:
        return traceback, 0
    shown: TracebackType | None = None
    for part in reversed(kept):
        shown = TracebackType(shown, part.tb_frame, part.tb_lasti, part.tb_lineno)
    return shown, count


@contextlib.contextmanager
def _shortened(error: BaseException) -> Iterator[int]:
    """Leave out the library's frames of an exception and of its causes for a while; yield their number."""
    before: dict[int, tuple[BaseException, TracebackType | None]] = {}
    waiting: list[BaseException | None] = [error]
    hidden = 0
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in before:
            continue
        before[id(one)] = (one, one.__traceback__)
        one.__traceback__, count = without_library_frames(one.__traceback__)
        hidden += count
        waiting += [one.__cause__, one.__context__]
    try:
        yield hidden
    finally:
        for one, traceback in before.values():
            one.__traceback__ = traceback


def _print_shortened(error: BaseException, show: Callable[[TracebackType | None], object]) -> None:
    if config.traceback.frames:
        show(error.__traceback__)
        return
    with _shortened(error) as hidden:
        show(error.__traceback__)
    if hidden:
        frames = "1 frame" if hidden == 1 else f"{hidden} frames"
        print(f"({frames} of the library left out; the flag traceback.frames=True shows all)", file=sys.stderr)


class _ShortHook:
    """A hook of Python for exceptions that end the program; it calls the one before it."""

    def __init__(self, before: _Hook) -> None:
        self.before = before

    def __call__(self, kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        _print_shortened(error, lambda shown: self.before(kind, error, shown))


def _show_in_shell(shell: Any, kind: type[BaseException], error: BaseException, _: Any, tb_offset: Any = None) -> None:
    """Show an exception of a cell; IPython calls it."""
    _print_shortened(error, lambda shown: shell.showtraceback((kind, error, shown), tb_offset=tb_offset))


def shorten_tracebacks() -> None:
    """Let Python and IPython print tracebacks without the library's frames, unless a program has its own way."""
    if not isinstance(sys.excepthook, _ShortHook):
        sys.excepthook = _ShortHook(sys.excepthook)
    ask = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = None if ask is None else ask()
    if shell is not None and not getattr(shell, "custom_exceptions", True):
        shell.set_custom_exc((Exception,), _show_in_shell)
