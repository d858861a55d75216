"""A line on the terminal, or in a notebook, while a function takes long to build."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from contextlib import suppress
from types import TracebackType
from typing import Any, TextIO
from unicodedata import combining, east_asian_width

from theano_graph import BoolFlag, add_flag, config

add_flag(
    "progress",
    "Whether a function that takes longer than a second to build shows its progress on a terminal, or in a notebook.",
    BoolFlag(True),
)

#: Seconds after which a build is talked of, and between two looks at it.
PATIENCE, BETWEEN = 1.0, 0.2
_WIDTH, _USUAL = 78, 80


class Build:
    """The build of one function, as a context; a build inside of another one belongs to that.

    Parameters
    ----------
    name : str or None
        The name of the function.

    Attributes
    ----------
    phase : str
        The present phase.
    """

    __slots__ = ("begin", "name", "phase", "shown", "stream")

    def __init__(self, name: str | None) -> None:
        self.name = name
        self.phase = "collecting the graph"
        #: The line that stands there now.
        self.shown = ""
        self.stream: TextIO | None = None

    def __enter__(self) -> Build:
        if config.progress and _is_read(sys.stderr):
            self.stream, self.begin = sys.stderr, time.monotonic()
            _watched.watch(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if _watched.build is self:
            _watched.leave(self)

    def line(self, seconds: float) -> str:
        """Return the text that is shown after some time."""
        what = f"function `{self.name}`" if self.name else "a function"
        return f"theano: building {what}, {seconds:.0f} s: {self.phase}"


def _is_read(stream: Any) -> bool:
    """Tell whether a person reads a stream: it is a terminal, or the output of a notebook's cell.

    Programs put objects of all kinds there, which may know nothing but `write`.
    """
    if stream is None or getattr(stream, "closed", False):
        return False
    if type(stream).__module__.startswith("ipykernel."):
        return True
    try:
        return bool(stream.isatty())
    except (AttributeError, OSError, TypeError, ValueError):
        return False


class _Watched:
    """The build that is going on, and the thread that looks at it, which ends soon after the last one."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin anew, as in a process that another one has made of itself: threads stay behind."""
        self.build: Build | None = None
        self.lock = threading.Lock()
        self.thread: threading.Thread | None = None

    def watch(self, build: Build) -> None:
        """Look at a build, unless another one goes on or no thread can be started."""
        with self.lock:
            if self.build is not None:
                return
            if self.thread is None or not self.thread.is_alive():
                thread = threading.Thread(target=self.look, name="theano-progress", daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # no threads here, or no more of them
                    return
                self.thread = thread
            self.build = build

    def leave(self, build: Build) -> None:
        """Look at a build no more, if it is the one that is looked at."""
        with self.lock:
            if self.build is build:
                self.build = None
                if build.shown:
                    _write(build, "\r" + " " * _width_of(build.shown) + "\r")

    def look(self) -> None:
        """Show the phase until there is no build: the thread's work."""
        while True:
            time.sleep(BETWEEN)
            with self.lock:
                build = self.build
                if build is None:
                    self.thread = None
                    return
                seconds = time.monotonic() - build.begin
                width = min(_WIDTH, _columns(build.stream) - 1)
                line = _fitted("".join(c if c.isprintable() else " " for c in build.line(seconds)), width)
                if seconds >= PATIENCE and line != build.shown:
                    build.shown = line
                    _write(build, "\r" + line)


def _columns(stream: Any) -> int:
    """Return the width of the terminal that a stream goes to; standard output may be a file."""
    if "COLUMNS" not in os.environ:
        with suppress(AttributeError, OSError, TypeError, ValueError):
            return os.get_terminal_size(stream.fileno()).columns or _USUAL
    return shutil.get_terminal_size((_USUAL, 24)).columns


def _width_of(text: str) -> int:
    """Return how many columns a terminal needs for a text."""
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def _fitted(text: str, width: int) -> str:
    """Return as much of a text as there is room for, with blanks up to the width."""
    while text and _width_of(text) > width:
        text = text[:-1]
    return text + " " * (width - _width_of(text))


def _write(build: Build, text: str) -> None:
    stream = build.stream
    if stream is None:
        return
    try:
        stream.write(text)
        stream.flush()
    except (OSError, ValueError):
        build.stream = None  # nobody reads any more


_watched = _Watched()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_watched.reset)
