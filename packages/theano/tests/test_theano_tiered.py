"""Functions that start in tiers: the same results before and after the kernels are there, of programs of all kinds."""

from __future__ import annotations

import shutil
import stat
import tempfile
import unittest
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano.ifelse import ifelse
from theano.tensor.shared_randomstreams import RandomStreams
from theano_testing.tiers import slow

A = np.linspace(0.1, 2.0, 12).reshape(3, 4)
B = np.linspace(-1.0, 1.5, 12).reshape(4, 3)
V = np.linspace(-2.0, 2.0, 4)


def _cases() -> dict[str, Callable[[], tuple[Sequence[Any], Any, Sequence[Any]]]]:
    def elementwise() -> Any:
        x, v = T.dmatrix(), T.dvector()
        return [x, v], [T.exp(x) * v + T.tanh(x) / (1 + x**2), T.switch(x > v, x, -v), T.cast(x * 10, "int8")], [A, V]

    def reductions() -> Any:
        x = T.dmatrix()
        return [x], [x.sum(axis=0), T.sqr(x).mean(), x.max(axis=1), x.argmax(axis=0), T.prod(x), x.std()], [A]

    def products() -> Any:
        x, y = T.dmatrices("x", "y")
        return [x, y], [T.dot(x, y), T.dot(x, y).sum() * T.dot(y, x), T.nlinalg.det(T.dot(x, y) + T.eye(3))], [A, B]

    def indexing() -> Any:
        x, v = T.dmatrix(), T.dvector()
        changed = T.inc_subtensor(x[1:, ::2], 3.0)
        return [x, v], [changed * 2, x[:, [2, 0]] + 1, x[x > 1].sum(), T.set_subtensor(v[-1], 0.0)], [A, V]

    def gradients() -> Any:
        x, y = T.dmatrices("x", "y")
        cost = T.nnet.sigmoid(T.dot(x, y)).sum() + T.sqr(T.nnet.softmax(x)).sum()
        return [x, y], [cost, *T.grad(cost, [x, y])], [A, B]

    def loops() -> Any:
        v, n = T.dvector(), T.iscalar()
        powers, _ = theano.scan(
            lambda s, w: T.tanh(s * w + 0.5), outputs_info=T.ones_like(v), non_sequences=v, n_steps=n
        )
        sums, _ = theano.scan(lambda e, s: s + T.exp(e) * 2, sequences=v, outputs_info=np.float64(0))
        return [v, n], [powers, T.grad(powers[-1].sum(), v), sums[-1]], [V, 7]

    def graphs_inside() -> Any:
        x, y = T.dmatrices("x", "y")
        op = theano.OpFromGraph([x, y], [T.exp(x) * y + T.sqrt(abs(y))])
        return [x, y], [op(x, y.T), ifelse(x.sum() > 0, op(x * 2, y.T), x / 3.0)], [A, B]

    result = (elementwise, reductions, products, indexing, gradients, loops, graphs_inside)
    return {case.__name__: case for case in result}


class TestTiers(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="tiers-")
        self.addCleanup(folder.cleanup)
        self.gate = Path(folder.name, "gate")
        self.addCleanup(self.gate.touch)
        real = shutil.which("gcc")
        assert real is not None, "the tests of compiled code need gcc"
        script = Path(folder.name, "held")
        script.write_text(f'#!/bin/sh\nuntil [ -e "{self.gate}" ]; do sleep 0.01; done\nexec {real} "$@"\n')
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        # The linker knows nothing of a compiler with these arguments, even with a full cache.
        flags = {"cxx": str(script), "gcc.cxxflags": f"-DTIERS_{uuid.uuid4().hex}", "mode": "FAST_RUN"}
        change = theano.config.change_flags(**flags)
        change.__enter__()
        self.addCleanup(change.__exit__, None, None, None)
        self.mode = theano.compile.get_mode("FAST_RUN").including("tiered")

    def assert_same(self, result: Any, expected: Any) -> None:
        for a, b in zip(result, expected, strict=True):
            self.assertEqual((a.dtype, a.shape), (b.dtype, b.shape))
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)

    @slow
    def test_results_of_both_machines(self) -> None:
        for name, case in _cases().items():
            with self.subTest(name):
                inputs, outputs, values = case()
                tiered = theano.function(inputs, outputs, mode=self.mode)
                self.assertFalse(tiered.ready())
                before = [np.array(v) for v in tiered(*values)]
                self.assertFalse(tiered.ready())
                self.gate.touch()
                self.assertTrue(tiered.ready(wait=True))
                self.assert_same(tiered(*values), before)
                native = theano.function(inputs, outputs, mode="FAST_RUN")
                self.assert_same(tiered(*values), native(*values))
                self.assertEqual(
                    [x.native for x in tiered.machine.program.instructions],
                    [x.native for x in native.machine.program.instructions],
                )
                self.gate.unlink()

    def test_graphs_inside_become_native(self) -> None:
        v = T.dvector()
        sums, _ = theano.scan(lambda e, s: s + T.exp(e) * 2, sequences=v, outputs_info=np.float64(0))
        f = theano.function([v], sums, mode=self.mode)
        (op,) = [node.op for node in f.maker.fgraph.apply_nodes if hasattr(node.op, "compiled")]
        self.assertFalse(op.compiled().ready())
        f(V)
        self.gate.touch()
        self.assertTrue(f.ready(wait=True))
        self.assertTrue(op.compiled().ready())
        self.assertTrue(all(x.native for x in op.compiled().machine.program.instructions))

    def test_random_streams_go_on(self) -> None:
        def draws(mode: Any) -> Any:
            stream = RandomStreams(seed=41)
            values = [stream.normal((3,)), stream.uniform((2,)), stream.random_integers((4,), 1, 6)]
            return theano.function([], [v * 2 for v in values], mode=mode)

        tiered = draws(self.mode)
        self.assertFalse(tiered.ready())
        results = [tiered() for _ in range(3)]
        self.gate.touch()
        self.assertTrue(tiered.ready(wait=True))
        results += [tiered() for _ in range(3)]
        native = draws("FAST_RUN")
        for values in results:
            self.assert_same(values, native())

    def test_training_goes_on(self) -> None:
        def trained(mode: Any) -> Any:
            x, y = T.dmatrix("x"), T.dvector("y")
            w, b = theano.shared(np.zeros(4), "w"), theano.shared(0.0, "b")
            cost = T.sqr(T.tanh(T.dot(x, w) + b) - y).mean()
            steps = [(p, p - 0.1 * g) for p, g in zip([w, b], T.grad(cost, [w, b]), strict=True)]
            return theano.function([x, y], cost, updates=steps, mode=mode), w, b

        (tiered, w, b), goal = trained(self.mode), np.array([0.5, -0.5, 0.1])
        costs = [tiered(A, goal) for _ in range(4)]
        self.gate.touch()
        self.assertTrue(tiered.ready(wait=True))
        costs += [tiered(A, goal) for _ in range(4)]
        native, v, c = trained("FAST_RUN")
        self.assert_same(costs, [native(A, goal) for _ in range(8)])
        self.assert_same([w.get_value(), b.get_value()], [v.get_value(), c.get_value()])

    def test_c_pointer_waits_for_its_own_code(self) -> None:
        x = T.dscalar("x")
        f = theano.function([x], T.exp(-(x**2)), mode=self.mode)
        self.assertFalse(f.ready())
        self.gate.touch()
        self.assertAlmostEqual(f.c_pointer("double(double)")(0.5), np.exp(-0.25))

    def test_printing_before_it_is_ready(self) -> None:
        x = T.dmatrix("x")
        f = theano.function([x], T.exp(x) + x, mode=self.mode)
        self.assertIn("exp", str(theano.printing.debugprint(f, file="str")).lower())
        self.assertIn("of 1 nodes", repr(f))


if __name__ == "__main__":
    unittest.main()
