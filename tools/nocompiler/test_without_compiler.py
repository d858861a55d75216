"""The stack as it is where neither at installation nor later a C compiler is found."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import unittest
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano_gpuarray.contexts import DeviceUnavailable, open_context

TWO_FUNCTIONS = """
import numpy as np, theano, theano.tensor as T
x = T.dvector("x")
for expression in (T.exp(x) + 1, T.tanh(x * x).sum()):
    theano.function([x], expression)(np.ones(3))
"""


class Twice(theano.Op):
    """An op in Python and in C."""

    __props__ = ()

    def make_node(self, *inputs: Any) -> theano.Apply:
        return theano.Apply(self, list(inputs), [inputs[0].type()])

    def perform(self, node: theano.Apply, inputs: Any, output_storage: Any, params: Any = None) -> None:
        output_storage[0][0] = 2 * inputs[0]

    def c_code(self, node: theano.Apply, name: str, inputs: Any, outputs: Any, sub: Any) -> str:
        return f"{outputs[0]} = NULL; {sub['fail']}"


class TestWithoutCompiler(unittest.TestCase):
    def test_there_is_no_compiler_and_no_runtime(self) -> None:
        self.assertIsNone(shutil.which("gcc") or shutil.which("cc") or shutil.which("clang"))
        self.assertIsNone(importlib.util.find_spec("theano_linker_c._runtime"))
        self.assertIsNone(importlib.util.find_spec("theano_gpuarray._device"))

    def test_a_device_says_what_is_missing(self) -> None:
        for name in ("null", "opencl", "cuda"):
            with self.assertRaisesRegex(DeviceUnavailable, "(?s)was not built.*Hint: install a C compiler"):
                open_context(name)

    def test_one_warning_for_all_functions(self) -> None:
        done = subprocess.run([sys.executable, "-c", TWO_FUNCTIONS], check=True, capture_output=True, text=True)
        warnings = [line for line in done.stderr.splitlines() if "Warning" in line]
        self.assertEqual(len(warnings), 1, done.stderr)
        self.assertIn("compiler", done.stderr)

    def test_import_is_silent(self) -> None:
        done = subprocess.run([sys.executable, "-c", "import theano"], check=True, capture_output=True, text=True)
        self.assertEqual("", done.stdout + done.stderr)

    def test_logistic_regression_step(self) -> None:
        rng = np.random.default_rng(3)
        data, target, weights = rng.normal(size=(20, 5)), rng.integers(0, 2, 20).astype(float), rng.normal(size=5)
        x, y = T.dmatrix("x"), T.dvector("y")
        w = theano.shared(weights.copy(), name="w")
        p = 1 / (1 + T.exp(-T.dot(x, w)))
        cost = (-y * T.log(p) - (1 - y) * T.log(1 - p)).mean() + 0.01 * (w**2).sum()
        train = theano.function([x, y], cost, updates=[(w, w - 0.1 * T.grad(cost, w))])
        probability = 1 / (1 + np.exp(-data @ weights))
        likelihood = np.where(target == 1, np.log(probability), np.log(1 - probability))
        np.testing.assert_allclose(train(data, target), -likelihood.mean() + 0.01 * (weights**2).sum(), rtol=1e-12)
        gradient = data.T @ (probability - target) / 20 + 0.02 * weights
        np.testing.assert_allclose(w.get_value(), weights - 0.1 * gradient, rtol=1e-12)

    def test_ops_with_c_code(self) -> None:
        x = T.dvector("x")
        twice = Twice()
        np.testing.assert_array_equal(theano.function([x], twice(x))([1.0, 2.0]), [2.0, 4.0])
        del Twice.perform
        with self.assertRaisesRegex(RuntimeError, "(?s)has C code only, and there is no C compiler.*Hint: install gcc"):
            theano.function([x], twice(x))


if __name__ == "__main__":
    unittest.main()
