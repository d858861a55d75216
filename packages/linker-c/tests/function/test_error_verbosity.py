"""Texts of errors of running functions, by the flag `exception_verbosity`."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

from theano_graph import ConfigError, config
from theano_linker_c import Mode, function

from .function_support import add, matrix, mul, pointwise, shared, vector


def text_of(call: Any, *args: Any) -> str:
    """Return the text of the error that a call raises, its notes included."""
    try:
        call(*args)
    except Exception as error:  # noqa: BLE001  (any error is looked at)
        return "\n".join([str(error), *getattr(error, "__notes__", [])])
    raise AssertionError("no error")


class TestVerbosity(unittest.TestCase):
    def failing(self, mode: Any) -> Any:
        x, y = vector("x"), vector("y")
        w = shared(np.zeros(1000), "w")
        return function([x, y], add(add(x, x), mul(y, w)), mode=mode)

    def test_both_machines_tell_the_same(self) -> None:
        texts: list[list[str]] = []
        for linker in ("cvm", "py"):
            f = self.failing(Mode(linker=linker, optimizer=None))
            low = text_of(f, np.ones(2), np.ones(3))
            self.assertNotIn("Debugprint", low)
            with config.change_flags(exception_verbosity="high"):
                high = text_of(f, np.ones(2), np.ones(3))
            for part in (
                "Debugprint of the apply node:",
                "|y [id",
                "<",
                "`w` (shared): float64 of shape (1000,), 8000 bytes",
            ):
                self.assertIn(part, high)
            lines = high.splitlines()
            self.assertGreater(len(lines), len(low.splitlines()))
            texts.append(lines)
        self.assertEqual(texts[0], texts[1])

    def test_node_position_short_values_and_flags(self) -> None:
        for linker in ("cvm", "py"):
            f = self.failing(Mode(linker=linker, optimizer=None))
            text = text_of(f, np.ones(2), np.array([4.0, 5.0, 6.5]))
            index = f.fn.position_of_error
            count = len(f.maker.fgraph.apply_nodes)
            node = f.maker.fgraph.toposort()[index]
            self.assertIn(f"Apply node that caused the error: {node}", text)
            self.assertIn(f"Toposort index: {index}, of {count} nodes", text)
            self.assertIn("values [4.0, 5.0, 6.5]", text)
            self.assertNotIn("0.0, 0.0", text)  # long arrays are not shown
            self.assertIn("HINT: the flag exception_verbosity=high", text)
            with config.change_flags(exception_verbosity="high", optimizer="fast_compile"):
                self.assertNotIn("HINT", text_of(f, np.ones(2), np.ones(3)))

    def test_the_lines_that_made_the_node(self) -> None:
        for linker in ("cvm", "py"):
            text = text_of(self.failing(Mode(linker=linker, optimizer=None)), np.ones(2), np.ones(3))
            trace = text[text.index("Backtrace when the node is created:") :].splitlines()
            private = next(i for i, line in enumerate(trace) if line.endswith("in failing"))
            self.assertRegex(trace[private], r'^    File ".*test_error_verbosity.py", line \d+, in failing$')
            self.assertIn("add(add(x, x), mul(y, w))", trace[private + 1])
            self.assertLessEqual(sum(line.startswith("    File") for line in trace), 4)

    def test_errors_of_python_code(self) -> None:
        x = matrix("x")
        f = function([x], pointwise("fail_if_negative")(x))
        with config.change_flags(exception_verbosity="high"):
            text = text_of(f, -np.ones((2, 2)))
        self.assertIn("`x` (operand): float64 of shape (2, 2), 32 bytes", text)

    def test_long_graphs_are_cut(self) -> None:
        x, y = vector("x"), vector("y")
        out = add(x, y)
        for i in range(300):
            out = add(mul(out, shared(np.ones(1), f"w{i}")), y)
        f = function([x, y], out, mode=Mode(linker="py", optimizer=None))
        with config.change_flags(exception_verbosity="high"):
            text = text_of(f, np.ones(2), np.ones(3))
        self.assertIn("more", text)
        self.assertLess(len(text.splitlines()), 120)

    def test_values_of_the_flag(self) -> None:
        with self.assertRaisesRegex(ConfigError, "'low', 'high'"):
            config.exception_verbosity = "medium"
