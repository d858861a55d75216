"""Parts of a graph that the gradient computes again."""

from __future__ import annotations

import pickle
import tracemalloc
import unittest
from typing import Any

import numpy as np

import theano_tensor as T
import theano_tensor.rewrites  # the full pipeline is under test
from theano_linker_c import Mode, function, shared
from theano_tensor.builders import Checkpoint, checkpoint
from theano_testing.tensor import verify_grad
from theano_testing.tiers import slow

PARTS, STEPS, LENGTH = 6, 6, 200_000


def chain(x: Any, cut: bool) -> Any:
    h = x
    for _ in range(PARTS):
        start = h
        for _ in range(STEPS):
            h = T.tanh(h[::-1]) * 1.1
        if cut:
            h = checkpoint(h, [start])
    return h


def peak(f: Any, value: Any) -> int:
    """Return the most bytes of arrays that a call needs."""
    tracemalloc.start()
    try:
        f(value)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


class TestCheckpoints(unittest.TestCase):
    @slow
    def test_gradients_are_the_same_with_half_of_the_memory(self) -> None:
        x = T.dvector("x")
        plain, cut = (function([x], T.grad(chain(x, cut).sum(), x)) for cut in (False, True))
        value = np.linspace(-1, 1, LENGTH)
        np.testing.assert_allclose(cut(value), plain(value), rtol=1e-12)
        plain.free()
        cut.free()
        arrays = [peak(f, value) / value.nbytes for f in (plain, cut)]
        self.assertGreater(arrays[0], PARTS * STEPS)
        self.assertLess(arrays[1], 0.5 * arrays[0])

    def test_values_and_derivatives_of_both_orders(self) -> None:
        def f(x: Any) -> Any:
            return checkpoint(T.exp(x) * x.sum())

        value = np.random.RandomState(0).randn(4)
        verify_grad(f, [value], rng=np.random.RandomState(1))
        x, v = T.dvectors("x", "v")
        outputs = [T.hessian(f(x).sum(), x), T.Rop(f(x), x, v)]
        plain = [T.hessian((T.exp(x) * x.sum()).sum(), x), T.Rop(T.exp(x) * x.sum(), x, v)]
        result = function([x, v], [*outputs, *plain])(value, value + 1)
        for one, other in zip(result[:2], result[2:], strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)

    @slow
    def test_each_machine(self) -> None:
        x = T.dvector("x")
        value = np.array([0.5, -1.0, 2.0])
        for mode in (Mode("cvm", "fast_run"), Mode("vm", "fast_run"), Mode("py", None), Mode("cvm", "fast_compile")):
            f = function([x], T.grad(chain(x, True).sum(), x), mode=mode)
            g = function([x], T.grad(chain(x, False).sum(), x), mode=mode)
            np.testing.assert_allclose(f(value), g(value), rtol=1e-12)

    def test_the_gradient_needs_inputs_and_outputs_only(self) -> None:
        x = T.dvector("x")
        f: Any = function([x], T.grad(chain(x, True).sum(), x))
        ops = [node.op for node in f.maker.fgraph.toposort()]
        self.assertEqual(sum(isinstance(op, Checkpoint) for op in ops), 2 * PARTS - 1)

    def test_shared_variables_constants_and_other_inputs(self) -> None:
        x, y = T.dvectors("x", "y")
        w = shared(np.array([1.0, 2.0]), name="w")
        a, b = checkpoint([T.exp(x * 2) * w * y, w + y], [x * 1, w, T.constant(1.0)])
        f = function([x, y], [a, b, *T.grad((a * b).sum(), [x, y, w])])
        c, d = T.exp(x * 2) * w * y, w + y
        g = function([x, y], [c, d, *T.grad((c * d).sum(), [x, y, w])])
        values = np.array([0.1, 0.2]), np.array([3.0, 4.0])
        for one, other in zip(f(*values), g(*values), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)
        w.set_value(np.array([5.0, 6.0]))
        np.testing.assert_allclose(f(*values)[4], g(*values)[4], rtol=1e-12)

    def test_results_of_one_call_survive_the_next(self) -> None:
        x = T.dvector("x")
        f = function([x], checkpoint(T.exp(x) + 1))
        first = f(np.zeros(3))
        f(np.ones(3))
        np.testing.assert_array_equal(first, [2.0, 2.0, 2.0])

    def test_pickles(self) -> None:
        x = T.dvector("x")
        f = pickle.loads(pickle.dumps(function([x], T.grad(chain(x, True).sum(), x))))
        self.assertEqual(f(np.zeros(3)).shape, (3,))

    def test_something_else_than_variables(self) -> None:
        x = T.dvector("x")
        for outputs, inputs in ((3, [x]), ([x, None], [x]), (x, ["x"])):
            with self.subTest(outputs=outputs), self.assertRaisesRegex(TypeError, "is no variable"):
                checkpoint(outputs, inputs)  # type: ignore[arg-type]
