"""The programs of the chapters about loops, with the documented names."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano.scalar.sharedvar import shared as shared_number
from theano.scan_module import until
from theano.scan_module.scan_op import Scan
from theano.scan_module.scan_utils import scan_args
from theano.tensor.shared_randomstreams import RandomStreams

#: Tests look into the graphs of loops, so that any attribute may be asked for.
scan: Any = theano.scan


class TestTutorial(unittest.TestCase):
    def test_tanh_of_rows(self) -> None:
        x, w, b = T.matrix("X"), T.matrix("W"), T.vector("b_sym")
        results, _ = scan(lambda v: T.tanh(T.dot(v, w) + b), sequences=x)
        f = theano.function(inputs=[x, w, b], outputs=results)
        bias = np.array([1.0, 2.0])
        np.testing.assert_allclose(f(np.eye(2), np.ones((2, 2)), bias), np.tanh(np.ones((2, 2)) + bias))

    def test_states_and_two_sequences(self) -> None:
        x, w, y, u = T.vector("X"), T.matrix("W"), T.matrix("Y"), T.matrix("U")
        p, v = T.matrix("P"), T.matrix("V")
        results, _ = scan(
            lambda y, p, before: T.tanh(T.dot(before, w) + T.dot(y, u) + T.dot(p, v)),
            sequences=[y, p[::-1]],
            outputs_info=[x],
        )
        f = theano.function([x, w, y, u, p, v], results)
        rng = np.random.default_rng(0)
        values = [rng.normal(size=s) for s in ((2,), (2, 2), (5, 2), (2, 2), (5, 2), (2, 2))]
        state, rows = values[0], []
        for t in range(5):
            state = np.tanh(state @ values[1] + values[2][t] @ values[3] + values[4][4 - t] @ values[5])
            rows.append(state)
        np.testing.assert_allclose(f(*values), rows)

    def test_norms_and_trace(self) -> None:
        x = T.matrix("X")
        value = np.diag(np.arange(1.0, 6.0), 1)
        for axis, rows in ((1, [x]), (0, [x.T])):
            norms, _ = scan(lambda r: T.sqrt((r**2).sum()), sequences=rows)
            np.testing.assert_allclose(theano.function([x], norms)(value), np.sqrt((value**2).sum(axis)))
        floor = T.zeros(())
        steps, _ = scan(
            lambda i, j, total: T.cast(x[i, j] + total, "float64"),
            sequences=[T.arange(x.shape[0]), T.arange(x.shape[1])],
            outputs_info=floor,
        )
        np.testing.assert_allclose(theano.function([x], steps[-1])(value + np.eye(6)), 6)

    def test_two_earlier_steps(self) -> None:
        x, w, u = T.matrix("X"), T.matrix("W"), T.matrix("U")
        n = T.iscalar("n_sym")
        results, _ = scan(
            lambda two, one: T.dot(two, u) + T.dot(one, w),
            n_steps=n,
            outputs_info=[{"initial": x, "taps": [-2, -1]}],
        )
        f = theano.function([x, w, u, n], results)
        rng = np.random.default_rng(1)
        start, a, b = (rng.normal(size=s) for s in ((2, 2), (2, 2), (2, 2)))
        rows = list(start)
        for _ in range(10):
            rows.append(rows[-2] @ b + rows[-1] @ a)
        np.testing.assert_allclose(f(start, a, b, 10), rows[2:])

    def test_jacobian_by_rows(self) -> None:
        v, a = T.vector(), T.matrix()
        y = T.tanh(T.dot(v, a))
        rows, _ = scan(lambda i: T.grad(y[i], v), sequences=[T.arange(y.shape[0])])
        rng = np.random.default_rng(2)
        x, m = rng.normal(size=5), rng.normal(size=(5, 5))
        expected = ((1 - np.tanh(x @ m) ** 2) * m).T
        np.testing.assert_allclose(theano.function([v, a], rows, allow_input_downcast=True)(x, m), expected)

    def test_accumulating_in_shared_variables(self) -> None:
        k = theano.shared(0)
        n = T.iscalar("n_sym")
        _, updates = scan(lambda: {k: (k + 1)}, n_steps=n)
        accumulator = theano.function([n], [], updates=updates, allow_input_downcast=True)
        accumulator(5)
        self.assertEqual(k.get_value(), 5)

    def test_random_masks(self) -> None:
        x, w, b = T.matrix("X"), T.matrix("W"), T.vector("b_sym")
        streams = T.shared_randomstreams.RandomStreams(1234)
        mask = streams.binomial(n=1, p=0.5, size=b.shape)
        results, updates = scan(lambda v: T.tanh(T.dot(v, w) + b) * mask, sequences=x)
        f = theano.function([x, w, b], results, updates=updates, allow_input_downcast=True)
        result = f(np.eye(10, 2), np.ones((2, 2)), np.array([1.0, 2.0]))
        expected = np.tanh(np.eye(10, 2) @ np.ones((2, 2)) + [1, 2])
        self.assertTrue(np.all((result == 0) | np.isclose(result, expected)))
        self.assertGreater(len(np.unique((result == 0).astype(int), axis=0)), 1)

    def test_views_and_until(self) -> None:
        x = T.vector("x")
        self.assertEqual(theano.function([x], theano.reduce(lambda a, s: a + s, x, T.zeros(()))[0])([1, 2]), 3)
        self.assertEqual(theano.function([x], theano.map(lambda a: a + 1, x)[0])([1, 2]).tolist(), [2, 3])
        folds = [fold(lambda a, s: 2 * s + a, x, T.zeros(()))[0] for fold in (theano.foldl, theano.foldr)]
        self.assertEqual([float(v) for v in theano.function([x], folds)([1, 2])], [4, 5])
        values, _ = scan(lambda p: (p * 2, until(p * 2 > 45)), outputs_info=T.constant(1.0), n_steps=1024)
        self.assertEqual(theano.function([], values)().tolist(), [2, 4, 8, 16, 32, 64])


class TestHelpers(unittest.TestCase):
    def test_mappings(self) -> None:
        s, w = T.vector("s"), T.scalar("w")
        (states, _), _ = scan(lambda x, h, w: (h * w + x, x * w), s, [T.zeros(()), None], w)
        node = states.owner.inputs[0].owner
        self.assertIsInstance(node.op, Scan)
        mappings = node.op.var_mappings
        self.assertEqual(len(mappings), 12)
        self.assertEqual(mappings["outer_inp_from_outer_out"], {0: 2, 1: 3})
        self.assertEqual(mappings["inner_inp_from_outer_inp"], {0: [], 1: [0], 2: [1], 3: [], 4: [2]})
        self.assertEqual(mappings["inner_inp_from_inner_out"], {0: [1], 1: []})
        self.assertEqual(mappings["outer_out_from_inner_inp"], {0: -1, 1: 0, 2: -1})
        self.assertEqual(mappings["inner_out_from_outer_out"], {0: [0], 1: [1]})
        pattern = [[False] * 2, [True] * 2, [True, False], [False] * 2, [True] * 2]
        self.assertEqual(node.op.connection_pattern(node), pattern)
        self.assertEqual(node.op.inner_connection_pattern(), [[True, True], [True, False], [True, True]])
        self.assertEqual(node.op.inner_nitsot_outs(node.op.outputs), [node.op.outputs[1]])
        self.assertEqual(node.op.mitmot_out_taps(), [])
        parsed = scan_args(node.inputs, node.outputs, node.op.inputs, node.op.outputs, node.op.info)
        self.assertEqual((parsed.n_steps, parsed.outer_in_non_seqs), (node.inputs[0], [node.inputs[4]]))
        self.assertEqual((len(parsed.inner_out_nit_sot), parsed.cond), (1, []))
        again = Scan(parsed.inner_inputs, parsed.inner_outputs, parsed.info)
        self.assertEqual(again, node.op)


class TestHandMadeLoops(unittest.TestCase):
    """Programs that go through a matrix with updates, and through `fn`, to compare that with `scan`."""

    def test_a_shared_number_is_an_index(self) -> None:
        rows = theano.shared(np.ones((6, 2)))
        number = shared_number(1)
        self.assertEqual((number - 1).type, theano.scalar.int64)
        step = T.inc_subtensor(rows[number], 2 * rows[number - 1], tolerate_inplace_aliasing=True)
        f = theano.function([], [], updates=[(number, number + 1), (rows, step)])
        f._check_for_aliased_inputs = False
        f.fn()
        f.fn(n_calls=3)
        f()
        np.testing.assert_array_equal(rows.get_value(), np.repeat([[1.0], [3.0], [7.0], [15.0], [31.0], [63.0]], 2, 1))
        self.assertEqual(number.get_value(), 6)

    def test_an_input_called_as_the_number_of_calls(self) -> None:
        n = T.lscalar("n_calls")
        self.assertEqual(theano.function([n], n * 2)(n_calls=4), 8)

    def test_generators_are_found_and_put_back(self) -> None:
        x = T.dscalar("x")
        f = theano.function([x], x + RandomStreams(3).uniform())
        first = []
        for _ in range(2):
            for item in f.maker.expanded_inputs:
                if item.value and isinstance(item.value.data, np.random.RandomState):
                    item.value.data = np.random.RandomState(123)
            first.append(float(f(0.0)))
        self.assertEqual(first[0], first[1])

    def test_storage_of_a_step_is_empty_before_and_after_calls(self) -> None:
        x = T.dscalar("x")
        powers, _ = scan(lambda p: p * 2, outputs_info=x, n_steps=5)
        f = theano.function([x], powers)
        (loop,) = [node.op for node in f.maker.fgraph.toposort() if isinstance(node.op, Scan)]
        for _ in range(2):
            self.assertTrue(all(cell.value is None for cell in [*loop.fn.input_storage, *loop.fn.output_storage]))
            np.testing.assert_array_equal(f(1.0), [2, 4, 8, 16, 32])
