"""Completions and types that editors show for names and flags without running a program."""

from __future__ import annotations

import ast
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jedi

import theano
from theano_graph import BoolFlag, FloatFlag, IntFlag
from theano_testing.tiers import slow

FOLDER = Path(theano.__file__).parent


def completions(line: str) -> set[str]:
    """Return Jedi's completions at the end of a line of a program."""
    script = jedi.Script(f"import theano\nimport theano.tensor as T\n{line}")
    return {item.name for item in script.complete()}


class TestFlags(unittest.TestCase):
    """The stub of `theano.config` agrees with the declarations of flags (tools/generate_flags.py writes it)."""

    def listed(self, classes: dict[str, ast.ClassDef], name: str, prefix: str = "") -> Iterator[tuple[str, str]]:
        for item in classes[name].body:
            if isinstance(item, ast.AnnAssign):
                flag, kind = ast.unparse(item.target), ast.unparse(item.annotation)
                if kind in classes:
                    yield from self.listed(classes, kind, f"{prefix}{flag}.")
                else:
                    yield prefix + flag, kind

    def test_stub(self) -> None:
        tree = ast.parse((FOLDER / "_flags.pyi").read_text())
        classes = {item.name: item for item in tree.body if isinstance(item, ast.ClassDef)}
        expected = {}
        for name in theano.config.flag_names():
            if not name.split(".")[0].startswith(("test", "my_", "example")):  # those of other tests in this process
                kind: Any = theano.config.flag(name).kind
                kinds = {BoolFlag: "bool", IntFlag: "int", FloatFlag: "float"}
                named = getattr(kind, "value_type", "str")
                expected[name] = next((word for cls, word in kinds.items() if isinstance(kind, cls)), named)
        self.assertEqual(dict(self.listed(classes, "Flags")), expected)


class TestCompletion(unittest.TestCase):
    @slow
    def test_flags(self) -> None:
        self.assertLessEqual({"floatX", "optimizer", "gcc", "change_flags"}, completions("theano.config."))
        self.assertIn("cxxflags", completions("theano.config.gcc."))

    def test_names(self) -> None:
        self.assertLessEqual({"function", "shared", "grad", "tensor"}, completions("theano."))
        self.assertLessEqual({"exp", "dmatrix", "dot"}, completions("T."))

    @slow
    def test_methods_of_results(self) -> None:
        self.assertLessEqual({"sum", "dimshuffle", "dtype"}, completions("T.exp(T.dvector())."))
        self.assertLessEqual({"get_value", "set_value", "sum"}, completions("theano.shared(0.0)."))
        self.assertLessEqual({"maker", "profile"}, completions("theano.function([], 1)."))
