"""Differences from Theano 1.0 in loops, row by row."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano.scan_module.scan_op import Scan


def loops(f: theano.compile.Function) -> list[theano.Apply]:
    """Return the loops of a compiled graph."""
    return [node for node in f.maker.fgraph.toposort() if isinstance(node.op, Scan)]


class TestLoopsCompiledLater(unittest.TestCase):
    difference = "loops-compiled-later"

    def test_results_agree_up_to_the_last_digits(self) -> None:
        x, w = T.dvector("x"), T.dmatrix("w")
        values = np.random.RandomState(0).normal(size=50), np.random.RandomState(1).normal(size=(3, 3)) / 3
        results = []
        for kind in ("none", "all"):
            states, _ = theano.scan(lambda v, s, w: T.tanh(T.dot(s, w) + v), x, T.zeros((3,)), w)
            gradient = T.grad((states**2).sum(), w)
            with theano.config.change_flags(scan__loop_code=kind):
                results.append(theano.function([x, w], [states, gradient])(*values))
        for plain, compiled in zip(*results, strict=True):
            np.testing.assert_allclose(compiled, plain, rtol=1e-12, atol=1e-14)


class TestFunctionsCompiledLater(unittest.TestCase):
    difference = "functions-compiled-later"

    def test_results_agree_up_to_the_last_digits(self) -> None:
        x = T.dvector("x")
        outputs = [T.tanh(x).sum(), T.outer(x, T.exp(x))]
        with theano.config.change_flags(vm__function_code="all"):
            f = theano.function([x], outputs)
        plain, compiled = (f(np.linspace(0, 1, 7)) for _ in range(2))
        for one, other in zip(plain, compiled, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)


class TestLoweredLoops(unittest.TestCase):
    difference = "scan-lowered"

    def test_compiled_loops_have_states_in_place_of_buffers(self) -> None:
        x = T.dvector("x")
        sums: Any
        sums, _ = theano.scan(lambda v, s: T.tanh(v + s), x, T.constant(0.5, dtype="float64"))
        built = sums.owner.inputs[0].owner
        self.assertEqual(built.op.outer_sitsot(built)[0].ndim, 1)
        (node,) = loops(theano.function([x], sums))
        self.assertEqual((node.op.outer_sitsot(node)[0].ndim, dict(node.op.destroy_map)), (0, {}))

    def test_loops_with_nothing_in_common_stay_apart(self) -> None:
        x, y = T.dvectors("x", "y")
        both = [
            theano.scan(lambda v, s: T.tanh(v + s), z, T.constant(k, dtype="float64"), n_steps=4)[0]
            for z, k in ((x, 0.5), (y, 0.25))
        ]
        f = theano.function([x, y], both)
        self.assertEqual(len(loops(f)), 2)
        same = [
            theano.scan(lambda v, s: T.tanh(v + s), x, T.constant(k, dtype="float64"), n_steps=4)[0]
            for k in (0.5, 0.25)
        ]
        self.assertEqual(len(loops(theano.function([x], same))), 1)

    def test_loops_that_are_only_products_are_one_product(self) -> None:
        a, b = T.dmatrices("a", "b")
        products, _ = theano.scan(lambda row, m: T.dot(row**2, m), a, None, b)
        f = theano.function([a, b], products)
        self.assertEqual(loops(f), [])
        values = np.arange(6.0).reshape(2, 3), np.ones((3, 2))
        np.testing.assert_allclose(f(*values), values[0] ** 2 @ values[1])


class TestClosedOver(unittest.TestCase):
    difference = "scan-closed-over"

    def test_variables_that_only_updates_use_are_found(self) -> None:
        total, step = theano.shared(0.0), T.dscalar("step")
        _, updates = theano.scan(lambda: (T.zeros(()), {total: total + step}), n_steps=20)
        theano.function([step], [], updates=updates)(2.0)
        self.assertEqual(total.get_value(), 40)


class TestBroadcastStates(unittest.TestCase):
    difference = "scan-broadcast-states"

    def test_gradients_of_states_that_broadcast(self) -> None:
        x = T.dtensor3("x")
        sums, _ = theano.scan(lambda v, s: v + s, x, {"initial": T.constant(np.zeros((1, 3)))})
        f = theano.function([x], [sums, T.grad(sums.sum(), x)])
        value = np.arange(6.0).reshape(2, 1, 3)
        result, slope = f(value)
        np.testing.assert_array_equal(result, value.cumsum(0))
        np.testing.assert_array_equal(slope, np.broadcast_to([[[2.0]], [[1.0]]], (2, 1, 3)))
        with self.assertRaises(AssertionError):
            f(np.ones((2, 2, 3)))


class TestOneStep(unittest.TestCase):
    difference = "scan-one-step-print"

    def test_the_result_of_one_step_has_one_row(self) -> None:
        x = T.ivector("x")
        sums, _ = theano.scan(lambda v, s: v + s, {"input": x, "taps": [2]}, 0, n_steps=1)
        result = theano.function([x], sums)(np.arange(20, dtype="int32"))
        self.assertEqual((result.shape, int(result[0])), ((1,), 2))


class TestShapeMessages(unittest.TestCase):
    difference = "scan-shape-messages"

    def test_state_that_changes_its_shape(self) -> None:
        a = T.dmatrix()
        states, _ = theano.scan(lambda s, m: T.dot(s, m), outputs_info=T.ones_like(a.T), non_sequences=a, n_steps=3)
        with self.assertRaisesRegex(ValueError, r"state 0 has shape \(3, 3\) in step 0, not \(3, 5\)"):
            theano.function([a], states)(np.ones((5, 3)))
