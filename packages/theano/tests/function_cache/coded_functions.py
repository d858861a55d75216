"""Functions with C code of ops, with test values and with graphs that may overwrite operands, cached on disk."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano import config
from theano.sandbox.rng_mrg import MRG_RandomStreams
from theano.tensor.shared_randomstreams import RandomStreams

from .cached_functions import CachedTestCase, Scaled

_OPS = """
import theano
import theano.tensor as T
from theano.gof import Apply


class Shifted(theano.Op):
    __props__ = ("by",)

    def __init__(self, by):
        self.by = by

    def make_node(self, x):
        return Apply(self, [T.as_tensor_variable(x)], [T.dvector()])

    def perform(self, node, inputs, output_storage, params=None):
        output_storage[0][0] = inputs[0] + self.by

    def c_code(self, node, name, inputs, outputs, sub):
        (x,), (y,), by, fail = inputs, outputs, float(self.by), sub["fail"]
        return f\"\"\"
        Py_XDECREF({y});
        {y} = (PyArrayObject *)PyArray_NewCopy({x}, NPY_CORDER);
        if ({y} == NULL) {{ {fail} }}
        for (npy_intp i = 0; i < PyArray_SIZE({y}); i++)
            ((double *)PyArray_DATA({y}))[i] += FACTOR * {by};
        \"\"\"

    def c_code_cache_version(self):
        return VERSION

    def c_support_code(self):
        with open(TEXT) as file:
            return file.read()
"""
_PROGRAM = """
import json

import theano
import theano.tensor as T
from own_ops import Shifted

x = T.dvector("x")
f = theano.function([x], [Shifted(3.0)(x) * 2.0, T.exp(x).sum()])
print(json.dumps([bool(f.maker.profile.parts), f([0.0, 1.0])[0].tolist(), f([0.0, 1.0])[0].tolist()]))
"""


class CodeTests(CachedTestCase):
    def test_random_streams(self) -> None:
        def draws() -> Any:
            streams = MRG_RandomStreams(7)
            return streams.uniform((3,)) + self.x, streams.normal((3,)).sum()

        (first, built), (second, result) = self.build([self.x], draws()), self.build([self.x], draws())
        self.assertEqual((first, second), (True, False))
        for _ in range(3):
            for one, other in zip(built(np.zeros(3)), result(np.zeros(3)), strict=True):
                np.testing.assert_array_equal(one, other)

    def test_dropout(self) -> None:
        w = theano.shared(np.ones((3, 2)), "w")

        def step() -> tuple[Any, Any]:
            mask = RandomStreams(3).binomial((3,), p=0.5, dtype="float64")
            cost = T.tanh(T.dot(self.x * mask, w)).sum()
            return cost, [(w, w - T.grad(cost, w))]

        results = []
        for _ in range(2):
            w.set_value(np.ones((3, 2)))
            cost, updates = step()
            rewritten, f = self.build([self.x], cost, updates=updates)
            results.append([rewritten, *(float(f(np.ones(3))) for _ in range(4))])
        self.assertEqual([r[0] for r in results], [True, False])
        self.assertEqual(results[0][1:], results[1][1:])


class OtherProcessTests(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.text = self.folder / "text.c"
        self.text.write_text("#define FACTOR 1.0\n")
        self.write_ops(_OPS)

    def write_ops(self, text: str, version: object = (1,)) -> None:
        text = text.replace("VERSION", repr(version)).replace("TEXT", repr(str(self.text)))
        (self.folder / "own_ops.py").write_text(text)

    def run_program(self) -> tuple[bool, list[float], list[float]]:
        """Return whether the function was rewritten, and the results of two calls."""
        flags = f"base_compiledir={self.folder}/theano,function_cache=True,gcc.cxxflags=-O0"
        environment = {**os.environ, "PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1"}
        environment["THEANO_FLAGS"] = ",".join(filter(None, [os.environ.get("THEANO_FLAGS"), flags]))
        command = [sys.executable, "-c", _PROGRAM]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr)
        result: tuple[bool, list[float], list[float]] = tuple(json.loads(done.stdout))
        return result

    def check(self, rewritten: bool, *results: float) -> None:
        self.assertEqual(self.run_program(), (rewritten, [*results], [*results]))

    def test_the_code_is_asked_for_again(self) -> None:
        self.check(True, 6.0, 8.0)
        self.check(False, 6.0, 8.0)

    def test_another_text_of_the_class_is_another_function(self) -> None:
        self.check(True, 6.0, 8.0)
        self.write_ops(_OPS.replace("FACTOR * {by}", "FACTOR * {by} + 0.5"))
        self.check(True, 7.0, 9.0)

    def test_code_from_a_file_is_that_of_now(self) -> None:
        self.check(True, 6.0, 8.0)
        self.text.write_text("#define FACTOR 2.0\n")
        self.check(False, 12.0, 14.0)

    def test_code_without_a_version(self) -> None:
        self.write_ops(_OPS, ())
        self.check(True, 6.0, 8.0)
        self.check(False, 6.0, 8.0)


class FlagTests(CachedTestCase):
    def test_test_values(self) -> None:
        with config.change_flags(compute_test_value="raise"):
            self.x.tag.test_value = np.arange(3.0)
            built, result = self.twice([self.x], T.exp(self.x).sum() + T.tanh(self.x))
        np.testing.assert_array_equal(built([0.0, 1.0]), result([0.0, 1.0]))
        # Scratchpads count: a graph without a test value is another one.
        del self.x.tag.test_value
        self.check_missed([self.x], T.exp(self.x).sum() + T.tanh(self.x))

    def test_accept_inplace(self) -> None:
        built, result = self.twice([self.x], T.exp(self.x) * 2, accept_inplace=True)
        np.testing.assert_array_equal(built([0.0, 1.0]), result([0.0, 1.0]))
        overwriting = T.inc_subtensor(T.exp(self.x)[:1], 5.0, inplace=True)
        for _ in range(2):
            f = self.check_missed([self.x], overwriting, accept_inplace=True)
            np.testing.assert_array_equal(f([0.0, 0.0]), [6.0, 1.0])
        with self.assertRaises(TypeError):
            theano.function([self.x], overwriting)

    def test_ops_of_the_user_with_test_values(self) -> None:
        with config.change_flags(compute_test_value="warn"):
            self.x.tag.test_value = np.arange(3.0)
            built, result = self.twice([self.x], Scaled(4.0)(self.x) + 1)
        np.testing.assert_array_equal(built([1.0]), result([1.0]))


if __name__ == "__main__":
    unittest.main()
