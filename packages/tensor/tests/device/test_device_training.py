"""Whole training steps on devices: one region, few launches, the values of the host."""

from __future__ import annotations

import gc
import unittest
from collections import Counter
from typing import Any

import numpy as np

import theano_tensor as T
from theano_gpuarray.contexts import get_context
from theano_linker_c import function, shared
from theano_linker_c.program import Cluster
from theano_testing.gpuarray import needs_opencl, tested_device
from theano_testing.tiers import slow

from .training_steps import BATCH, context, convolutional, data, perceptron

IMAGE = (1, 14, 14)


def clusters(f: Any) -> list[Any]:
    """Return the ops of the instructions that run several nodes."""
    return [x.node.op for x in f.fn.program.instructions if isinstance(x.node.op, Cluster)]


def asked(name: str) -> Counter[str]:
    """Return how often the null driver was asked for each kind of work since the last time."""
    return Counter(entry[0] for entry in get_context(name).native.recorded())


@needs_opencl
class TestValues(unittest.TestCase):
    def check(self, make: Any, shape: Any) -> None:
        """Check that losses and parameters of 20 steps are those of the host."""
        (host, mine), (device, theirs) = make(None), make(context(tested_device()))
        values = data(shape)
        for _ in range(20):
            np.testing.assert_allclose(device(*values), host(*values), rtol=2e-4, atol=1e-5)
        for a, b in zip(mine, theirs, strict=True):
            np.testing.assert_allclose(np.asarray(b.get_value()), a.get_value(), rtol=1e-2, atol=1e-3)

    def test_perceptron(self) -> None:
        self.check(perceptron, (20,))

    @slow
    def test_convolutional_network(self) -> None:
        self.check(convolutional, IMAGE)


class TestLaunches(unittest.TestCase):
    def check(self, make: Any, shape: Any, most: int) -> None:
        """Check how many launches a step has, and that it is one region."""
        name = context("null0")
        step, _ = make(name)
        self.assertEqual(1, len(clusters(step)))
        values = data(shape)
        for _ in range(3):
            asked(name)
            step(*values)
            result = asked(name)
            work = result["launch"] + result["copy"] + result["fill"] + result["product"]
            self.assertLessEqual(work, most)
        self.assertEqual(1, len(clusters(step)[0].run.region.recordings))

    def test_perceptron(self) -> None:
        self.check(perceptron, (20,), 16)

    def test_convolutional_network(self) -> None:
        self.check(convolutional, IMAGE, 28)


@needs_opencl
class TestCalls(unittest.TestCase):
    def test_a_call_that_is_refused_changes_nothing(self) -> None:
        step, parameters = perceptron(context(tested_device()))
        x, y = data((20,))
        step(x, y)
        before = [np.asarray(p.get_value()) for p in parameters]
        wrong = y.copy()
        wrong[3] = 10
        with self.assertRaisesRegex(IndexError, "index 10 is out of bounds for axis 1 with size 10") as caught:
            step(x, wrong)
        self.assertIn("training_steps.py", str(caught.exception))
        with self.assertRaisesRegex(ValueError, "Shape mismatch|mis-match"):
            step(x[:, :5], y)
        for p, value in zip(parameters, before, strict=True):
            np.testing.assert_array_equal(np.asarray(p.get_value()), value)
        step(x, y)
        self.assertFalse(np.array_equal(np.asarray(parameters[0].get_value()), before[0]))

    def test_minibatches_of_a_shared_variable(self) -> None:
        name = context(tested_device())
        values = np.random.default_rng(0).normal(size=(64, 5)).astype("float32")
        rows, weights, i = shared(values, target=name), shared(values[:5].T.copy(), target=name), T.lscalar("i")
        part = rows[i * 8 : (i + 1) * 8]
        f = function([i], T.tanh(T.dot(part, weights)).sum())
        for k in range(8):
            expected = np.tanh(values[8 * k : 8 * k + 8] @ values[:5].T).sum()
            np.testing.assert_allclose(f(k), expected, rtol=1e-4)
        (cluster,) = clusters(f)
        self.assertEqual(1, len(cluster.run.region.recordings))

    def test_batches_of_other_lengths(self) -> None:
        name = context(tested_device())
        w = shared(np.ones((3, 2), "float32"), target=name)
        x = T.fmatrix("x")
        f = function([x], T.dot(x, w).sum(axis=0))
        for n in (1, 4, 0, 4, 7):
            np.testing.assert_allclose(np.asarray(f(np.ones((n, 3), "float32"))), [3 * n, 3 * n])

    @slow
    def test_functions_that_are_dropped_leave_no_memory(self) -> None:
        name = context("null0")
        gc.collect()
        before = get_context(name).statistics()["in_use"]
        for n in range(50):
            w = shared(np.ones((3, 2 + n % 5), "float32"), target=name)
            x = T.fmatrix("x")
            f = function([x], T.tanh(T.dot(x, w)), updates=[(w, w * 2)])
            f(np.ones((4, 3), "float32"))
            del w, f, x
        gc.collect()
        self.assertEqual(before, get_context(name).statistics()["in_use"])

    def test_batch_size(self) -> None:
        self.assertEqual(BATCH, data(IMAGE)[0].shape[0])


if __name__ == "__main__":
    unittest.main()
