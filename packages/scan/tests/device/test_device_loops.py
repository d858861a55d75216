"""Loops on devices: the values of the host, states that stay there, and loops that stay on the host."""

from __future__ import annotations

import pickle
import unittest
from functools import cache
from typing import Any

import numpy as np

import theano_tensor as T
from theano_gpuarray.contexts import get_context, list_contexts, open_context, reg_context
from theano_linker_c import function, shared
from theano_scan import scan, until
from theano_scan.device import GpuLoop
from theano_testing.gpuarray import needs_opencl, tested_device
from theano_testing.tiers import slow

RNG = np.random.default_rng(0)
X = RNG.normal(size=(6, 3, 5)).astype("float32")
H = np.zeros((3, 4), "float32")


@cache
def context(devname: str) -> str:
    name = f"loops on {devname}"
    if name not in list_contexts():
        reg_context(name, open_context(devname))
    return name


def loops(f: Any) -> list[Any]:
    return [node.op for node in f.maker.fgraph.toposort() if isinstance(node.op, GpuLoop)]


def weights(target: str | None) -> list[Any]:
    rng = np.random.default_rng(1)
    values = [rng.normal(size=shape).astype("float32") / 3 for shape in ((4, 4), (5, 4), (4,))]
    return [shared(value) if target is None else shared(value, target=target) for value in values]


def network(target: str | None) -> tuple[Any, list[Any]]:
    """Return the training step of a recurrent network, and its parameters."""
    w, u, b = parameters = weights(target)
    x, h0 = T.ftensor3("x"), T.fmatrix("h0")
    states, _ = scan(lambda row, h: T.tanh(T.dot(row, u) + T.dot(h, w) + b), sequences=[x], outputs_info=[h0])
    cost = (states[-1] ** 2).sum() + states.mean()
    updates = [(p, p - np.float32(0.05) * g) for p, g in zip(parameters, T.grad(cost, parameters), strict=True)]
    return function([x, h0], cost, updates=updates), parameters


@needs_opencl
class TestLoops(unittest.TestCase):
    def compare(self, make: Any, *values: Any, count: int = 1) -> Any:
        """Check that the function of `make(target)` gives the same on the host and on a device, and has loops there."""
        host, device = make(None), make(context(tested_device()))
        self.assertEqual(count, len(loops(device)))
        for expected, item in zip(host(*values), device(*values), strict=True):
            np.testing.assert_allclose(np.asarray(item), expected, rtol=1e-5, atol=1e-6)
        return device

    @slow
    def test_training(self) -> None:
        (host, mine), (device, theirs) = network(None), network(context(tested_device()))
        self.assertEqual(2, len(loops(device)))
        for n in (6, 6, 1, 3, 6):
            np.testing.assert_allclose(device(X[:n], H), host(X[:n], H), rtol=1e-5)
        for a, b in zip(mine, theirs, strict=True):
            np.testing.assert_allclose(np.asarray(b.get_value()), a.get_value(), rtol=1e-4, atol=1e-6)

    def test_no_steps(self) -> None:
        def make(target: str | None) -> Any:
            w, *_ = weights(target)
            x = T.ftensor3("x")
            states, _ = scan(lambda row, h: T.tanh(row + T.dot(h, w)), sequences=[x], outputs_info=[T.constant(H)])
            return function([x], [states])

        for n in (0, 2):
            self.compare(make, np.ones((n, 3, 4), "float32"))

    def test_positions_stay_on_the_host(self) -> None:
        def make(target: str | None) -> Any:
            w, *_ = weights(target)
            result, _ = scan(lambda i, h: h + w[i] * 2, sequences=[T.arange(4)], outputs_info=[w[0]])
            return function([], [result, result.sum()])

        self.compare(make)

    def test_several_results(self) -> None:
        def make(target: str | None) -> Any:
            w, _, b = weights(target)
            x = T.fmatrix("x")
            (states, scores), _ = scan(
                lambda row, h: (T.dot(h, w) + row, (h * b).sum()), sequences=[x], outputs_info=[b, None]
            )
            backwards, _ = scan(lambda row, h: h * w[0] + row, sequences=[x], outputs_info=[b], go_backwards=True)
            return function([x], [states[-1], scores, backwards])

        self.compare(make, X[0, :3, :4].copy())

    def test_loops_that_values_end(self) -> None:
        def make(target: str | None) -> Any:
            w, *_ = weights(target)
            result, _ = scan(lambda h: (h * 2, until(h.sum() > 100)), outputs_info=[abs(w[0]) + 1], n_steps=20)
            return function([], [result, result[-1]])

        self.compare(make)

    def test_a_sequence_that_is_too_short(self) -> None:
        w, *_ = weights(context(tested_device()))
        x, n = T.fmatrix("x"), T.lscalar("n")
        result, _ = scan(lambda row, h: T.dot(h, w) + row, sequences=[x], outputs_info=[w[0]], n_steps=n)
        f = function([x, n], result)
        self.assertEqual(1, len(loops(f)))
        with self.assertRaisesRegex(ValueError, "sequence 0 has 2 elements, too few for 5 steps"):
            f(np.ones((2, 4), "float32"), 5)

    def test_a_step_that_fails(self) -> None:
        w, *_ = weights(context(tested_device()))
        x = T.fmatrix("x")
        result, _ = scan(lambda row, h: T.tanh(T.dot(h, w) + row), sequences=[x], outputs_info=[w[0]])
        f = function([x], result)
        with self.assertRaises(ValueError) as caught:
            f(np.ones((2, 3), "float32"))
        self.assertIn("in step 0 of a loop of 2", " ".join(getattr(caught.exception, "__notes__", ())))
        self.assertEqual((2, 4), f(np.ones((2, 4), "float32")).shape)

    def test_states_stay_on_the_device(self) -> None:
        name = context("null0")
        native = get_context(name).native
        w, *_ = weights(name)
        x = T.ftensor3("x")
        result, _ = scan(lambda row, h: T.tanh(T.dot(h, w) + row), sequences=[x], outputs_info=[T.constant(H)])
        f = function([x], result[-1].sum())
        values = np.ones((5, 3, 4), "float32")
        f(values)
        native.recorded()
        f(values)
        asked = [entry[0] for entry in native.recorded()]
        self.assertEqual(1, asked.count("read"))
        self.assertLessEqual(asked.count("write"), 1)

    def test_pickles(self) -> None:
        w, *_ = weights(context(tested_device()))
        x = T.fmatrix("x")
        result, _ = scan(lambda row, h: T.tanh(T.dot(h, w) + row), sequences=[x], outputs_info=[w[0]])
        f = function([x], result)
        values = np.ones((2, 4), "float32")
        expected = np.asarray(f(values))
        np.testing.assert_allclose(np.asarray(pickle.loads(pickle.dumps(f))(values)), expected, rtol=1e-6)


if __name__ == "__main__":
    unittest.main()
