"""Messages while a function takes long to build."""

from __future__ import annotations

import io
import os
import sys
import threading
import time
import unittest
from unittest import mock

from theano_graph import FunctionGraph, config
from theano_linker_c import Mode, function, generic, view_op
from theano_linker_c._function import _api
from theano_linker_c._function._api import Build
from theano_optimize import GraphRewriter


class Terminal(io.StringIO):
    """A stream that a person reads."""

    def isatty(self) -> bool:
        return True


class Slow(GraphRewriter):
    """Does nothing, for a while."""

    def apply(self, fgraph: FunctionGraph) -> None:
        time.sleep(0.5)


class TestProgress(unittest.TestCase):
    def built(self, stream: io.StringIO, *, slow: bool = True) -> str:
        """Build a function within a world that is ten times as fast; return the output."""
        x = generic("x")
        mode = Mode("py", Slow() if slow else None)
        with (
            mock.patch.object(sys, "stderr", stream),
            mock.patch.object(_api, "PATIENCE", 0.1),
            mock.patch.object(_api, "BETWEEN", 0.02),
        ):
            function([x], view_op(x), mode=mode, name="train")
        return stream.getvalue()

    def test_terminal(self) -> None:
        text = self.built(Terminal())
        self.assertIn("\rtheano: building function `train`, 0 s: rewriting 1 node ", text)
        self.assertTrue(text.endswith(" \r"))
        self.assertEqual({len(line) for line in text.split("\r") if line}, {78})

    def test_quick_builds_say_nothing(self) -> None:
        self.assertEqual(self.built(Terminal(), slow=False), "")

    def test_files_get_nothing(self) -> None:
        self.assertEqual(self.built(io.StringIO()), "")

    def test_flag(self) -> None:
        with config.change_flags(progress=False):
            self.assertEqual(self.built(Terminal()), "")

    def test_cells_of_notebooks(self) -> None:
        stream = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})()
        self.assertIn("building function `train`", self.built(stream))

    def test_terminals_that_go_away(self) -> None:
        class Gone(Terminal):
            def write(self, text: str) -> int:
                raise OSError("gone")

        self.assertEqual(self.built(Gone()), "")

    def test_builds_inside_of_builds(self) -> None:
        with mock.patch.object(sys, "stderr", Terminal()), Build("outer") as outer, Build("inner"):
            self.assertIs(_api._watched.build, outer)
        self.assertIsNone(_api._watched.build)

    def test_streams_that_only_write(self) -> None:
        class Log:
            def write(self, text: str) -> None:
                raise AssertionError("nobody reads it")

        class Closing(Terminal):
            def isatty(self) -> bool:
                raise ValueError("closed")

        for stream in (Log(), Closing(), None):
            with self.subTest(stream=type(stream)), mock.patch.object(sys, "stderr", stream), Build("train"):
                self.assertIsNone(_api._watched.build)

    def test_no_threads(self) -> None:
        for _ in range(100):
            if _api._watched.thread is None:
                break
            time.sleep(0.05)
        refused = mock.patch.object(threading.Thread, "start", side_effect=RuntimeError("can't start new thread"))
        with refused, mock.patch.object(sys, "stderr", Terminal()), Build("train"):
            self.assertIsNone(_api._watched.build)

    def test_names_of_several_lines_on_narrow_terminals(self) -> None:
        with mock.patch.dict(os.environ, COLUMNS="31"):
            x, stream = generic("x"), Terminal()
            with (
                mock.patch.object(sys, "stderr", stream),
                mock.patch.object(_api, "PATIENCE", 0.1),
                mock.patch.object(_api, "BETWEEN", 0.02),
            ):
                function([x], view_op(x), mode=Mode("py", Slow()), name="a\nb")
        self.assertIn("\rtheano: building function `a b", stream.getvalue())
        self.assertNotIn("\n", stream.getvalue())
        self.assertEqual({len(line) for line in stream.getvalue().split("\r") if line}, {30})

    @unittest.skipUnless(hasattr(os, "openpty"), "no terminals here")
    def test_the_width_is_that_of_the_terminal_though_standard_output_is_none(self) -> None:
        theirs, ours = os.openpty()
        with open(theirs, "rb"), open(ours, "w") as stream, mock.patch.dict(os.environ):
            os.environ.pop("COLUMNS", None)
            with mock.patch.object(os, "get_terminal_size", side_effect={ours: os.terminal_size((40, 20))}.__getitem__):
                self.assertEqual(_api._columns(stream), 40)
        with mock.patch.dict(os.environ, COLUMNS="31"):
            self.assertEqual(_api._columns(Terminal()), 31)
        for columns in (0, 1):
            self.assertEqual(_api._fitted("building", columns - 1), "")

    def test_names_of_wide_and_of_combining_characters(self) -> None:
        self.assertEqual(_api._fitted("\u8a13\u7df4 f", 8), "\u8a13\u7df4 f  ")
        self.assertEqual(_api._fitted("\u8a13\u7df4", 3), "\u8a13 ")
        self.assertEqual(_api._fitted("e\u0301t\u0301e", 3), "e\u0301t\u0301e")

    def test_the_thread_ends(self) -> None:
        self.built(Terminal())
        for _ in range(100):
            if _api._watched.thread is None:
                break
            time.sleep(0.05)
        self.assertIsNone(_api._watched.thread)
