"""What libraries written for Theano do with its objects besides calling them: notes on them, classes of their own."""

from __future__ import annotations

import importlib
import pickle
import unittest
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano import gof
from theano.sandbox import rng_mrg


class TestNotes(unittest.TestCase):
    def test_functions_take_attributes(self) -> None:
        x = T.dscalar("x")
        f: Any = theano.function([x], x * 2)
        f.source = "x * 2"
        f.calls = 3
        self.assertEqual((f.source, f.calls, float(f(4.0))), ("x * 2", 3, 8.0))
        self.assertFalse(hasattr(f.copy(), "source"))
        self.assertEqual(float(pickle.loads(pickle.dumps(f))(4.0)), 8.0)

    def test_functions_are_named_afterwards(self) -> None:
        x = T.dscalar("x")
        f = theano.function([x], x + 1)
        f.name = "successor"
        self.assertEqual(f.name, "successor")
        self.assertEqual(theano.function([x], x + 1, name="next").name, "next")


class OwnLinker(gof.PerformLinker):
    """Has an attribute of its own."""

    def __init__(self, allow_gc: bool | None = None) -> None:
        super().__init__(allow_gc)
        self.label: Any = "mine"


class TestLinkers(unittest.TestCase):
    def test_classes_of_programs_have_attributes(self) -> None:
        linker = OwnLinker()
        linker.label = "changed"
        x = T.dvector("x")
        f = theano.function([x], x.sum(), mode=theano.Mode(linker, "fast_run"))
        self.assertEqual(float(f(np.arange(4.0))), 6.0)
        self.assertEqual(pickle.loads(pickle.dumps(linker)).label, "changed")
        self.assertEqual(linker.clone(allow_gc=False).label, "changed")

    def test_what_a_linker_is_stays(self) -> None:
        with self.assertRaisesRegex(AttributeError, "allow_gc"):
            OwnLinker().allow_gc = False  # type: ignore[misc]


class TestFlags(unittest.TestCase):
    def test_blocks_that_share_one_object(self) -> None:
        # A model that is entered twice keeps the second change only, and leaves that twice.
        before = theano.config.compute_test_value
        outer = theano.config.change_flags(compute_test_value="off")
        outer.__enter__()
        inner = theano.config.change_flags(compute_test_value="off")
        inner.__enter__()
        for _ in range(2):
            inner.__exit__(None, None, None)
        outer.__exit__(None, None, None)
        self.assertEqual(theano.config.compute_test_value, before)


class TestTypes(unittest.TestCase):
    def test_text_in_the_place_of_a_type(self) -> None:
        variable = theano.Variable("stand-in")  # type: ignore[arg-type]
        self.assertEqual(variable.type, "stand-in")
        self.assertEqual({variable: 1}[variable], 1)


class TestNextVersion(unittest.TestCase):
    """Names of Theano 1.1 that libraries for it import."""

    def test_loops(self) -> None:
        for name in ("basic", "checkpoints", "op", "opt", "utils", "views"):
            with self.subTest(module=name):
                old = "scan" if name == "basic" else f"scan_{name}"
                found = importlib.import_module(f"theano.scan.{name}")
                self.assertIs(found, importlib.import_module(f"theano.scan_module.{old}"))
        self.assertIs(importlib.import_module("theano.scan").until, theano.scan_module.until)
        # The function keeps its name.
        values, _ = theano.scan(lambda a: a * 2, sequences=T.arange(3))
        self.assertEqual(values.eval().tolist(), [0, 2, 4])

    def test_other_names(self) -> None:
        self.assertIs(theano.assert_op.Assert, T.opt.Assert)
        self.assertIs(rng_mrg.MRG_RandomStream, rng_mrg.MRG_RandomStreams)


if __name__ == "__main__":
    unittest.main()
