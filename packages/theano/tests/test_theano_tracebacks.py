"""Tracebacks that Python prints."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar
from unittest import mock

import theano
import theano.tensor as T
from theano_graph import shorten_tracebacks, without_library_frames

PROGRAM = """
import sys, traceback
import theano, theano.tensor as T

def build(x):
    return T.dot(x, T.dtensor3("t").sum(axis=7))

try:
    build(T.dvector("x"))
except Exception as error:
    print(len(traceback.extract_tb(error.__traceback__)))
build(T.dvector("x"))
"""


def run(flags: str = "") -> tuple[int, str]:
    """Return how many frames the program catches, and the text that Python prints when the program fails."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.py"
        path.write_text(PROGRAM)
        flags_of_run = ",".join(filter(None, (os.environ.get("THEANO_FLAGS"), flags)))
        environment = {**os.environ, "THEANO_FLAGS": flags_of_run}
        done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, env=environment, check=False)
    return int(done.stdout), done.stderr


class TestPrinted(unittest.TestCase):
    short: ClassVar[tuple[int, str]]

    @classmethod
    def setUpClass(cls) -> None:
        cls.short = run()

    def test_frames_of_the_library_are_left_out(self) -> None:
        caught, text = self.short
        self.assertEqual(text.count("  File "), 2, text)
        self.assertEqual(text.count("train.py"), text.count("  File ") + text.count("made at"), text)
        # The first line is that of the failing call, which the program that catches the error does not have.
        self.assertIn(f"({caught - 2} frames of the library left out; the flag traceback.frames=True shows all)", text)
        self.assertIn("Hint: ", text)

    def test_a_flag_shows_all(self) -> None:
        caught, text = run("traceback.frames=True")
        self.assertEqual(text.count("  File "), caught)
        self.assertNotIn("left out", text)


class TestParts(unittest.TestCase):
    def test_the_error_keeps_its_frames(self) -> None:
        try:
            T.dvector("x").sum(axis=7)
        except ValueError as error:
            complete = error.__traceback__
            short, count = without_library_frames(complete)
            self.assertIs(error.__traceback__, complete)
        assert complete is not None and short is not None
        self.assertGreater(count, 0)
        self.assertIs(short.tb_frame, complete.tb_frame)
        self.assertIsNone(short.tb_next)

    def test_a_traceback_of_the_library_alone_stays(self) -> None:
        try:
            T.dvector("x").sum(axis=7)
        except ValueError as error:
            assert error.__traceback__ is not None
            inner = error.__traceback__.tb_next
        self.assertEqual(without_library_frames(inner), (inner, 0))

    def test_shells(self) -> None:
        calls: list[Any] = []
        shell = SimpleNamespace(
            custom_exceptions=(),
            set_custom_exc=lambda kinds, handler: calls.append((kinds, handler)),
            showtraceback=lambda error, tb_offset: calls.append(error[2].tb_next),
        )
        with mock.patch.dict(sys.modules, {"IPython": SimpleNamespace(get_ipython=lambda: shell)}):
            shorten_tracebacks()
        ((kinds, handler),) = calls
        self.assertEqual(kinds, (Exception,))
        try:
            T.dvector("x").sum(axis=7)
        except ValueError as error:
            with mock.patch("sys.stderr"):
                handler(shell, type(error), error, error.__traceback__, tb_offset=1)
        self.assertEqual(calls[1:], [None])

    def test_another_hook_is_called(self) -> None:
        seen: list[int] = []
        with mock.patch("sys.excepthook", lambda kind, error, traceback: seen.append(1)):
            shorten_tracebacks()
            with mock.patch("sys.stderr"):
                sys.excepthook(ValueError, ValueError("no"), None)
        self.assertEqual(seen, [1])
        self.assertFalse(theano.config.traceback.frames)
