"""The stack with the pure wheels of linker-c and gpuarray, as other systems have it: without the C runtimes."""

from __future__ import annotations

import importlib.util
import unittest
from importlib.metadata import distribution
from typing import Any

import numpy as np

import theano
import theano.tensor as T


class TestPureWheel(unittest.TestCase):
    def test_the_wheels_fit_all_systems(self) -> None:
        for name in ("theano-linker-c", "theano-gpuarray"):
            about = distribution(name).read_text("WHEEL") or ""
            self.assertIn("Root-Is-Purelib: true", about)
            self.assertIn("Tag: py3-none-any", about)
        self.assertIsNone(importlib.util.find_spec("theano_linker_c._runtime"))
        self.assertIsNone(importlib.util.find_spec("theano_gpuarray._device"))

    def test_training(self) -> None:
        rng = np.random.default_rng(3)
        data = rng.normal(size=(100, 3))
        x, y = T.dmatrix("x"), T.dvector("y")
        w = theano.shared(np.zeros(3), name="w")
        cost = ((T.dot(x, w) - y) ** 2).mean()
        train = theano.function([x, y], cost, updates=[(w, w - 0.1 * T.grad(cost, w))])
        for _ in range(200):
            train(data, data @ [1.0, -2.0, 0.5])
        np.testing.assert_allclose(w.get_value(), [1.0, -2.0, 0.5], atol=1e-4)

    def test_loop(self) -> None:
        n, start = T.iscalar("n"), T.dscalar("start")
        powers, _ = theano.scan(lambda value: value * 2, outputs_info=start, n_steps=n)
        result: Any = theano.function([n, start], powers)(4, 1.5)
        np.testing.assert_array_equal(result, [3.0, 6.0, 12.0, 24.0])

    def test_modes(self) -> None:
        x = T.dvector("x")
        values = np.linspace(-1.0, 1.0, 7)
        for mode in ("FAST_RUN", "FAST_COMPILE", "DebugMode"):
            with self.subTest(mode):
                np.testing.assert_allclose(
                    theano.function([x], T.exp(x).sum() * T.tanh(x), mode=mode)(values),
                    np.exp(values).sum() * np.tanh(values),
                )
