"""Loops as programs for Theano 1.0 write and inspect them."""

from __future__ import annotations

import pickle
import unittest
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano.scan_module import scan_opt, scan_utils
from theano.scan_module.scan_op import Scan

#: Tests look into the graphs of loops, so that any attribute may be asked for.
scan: Any = theano.scan


def compiled_loops(f: theano.compile.Function) -> list[Any]:
    """Return the ops of the loops of a compiled graph."""
    return [node.op for node in f.maker.fgraph.toposort() if isinstance(node.op, Scan)]


class TestSteps(unittest.TestCase):
    """The arguments of a step, and the values that it may use."""

    def test_rows_of_jacobians_and_hessians(self) -> None:
        x = T.dvector("x")
        y = T.exp(x).sum() * x**2
        rows, updates = scan(lambda i, y, x: T.grad(y[i], x), sequences=T.arange(y.shape[0]), non_sequences=[y, x])
        value = np.array([0.1, 0.2, 0.3])
        f = theano.function([x], [rows, theano.gradient.jacobian(y, x)], updates=updates)
        np.testing.assert_allclose(*f(value))
        slope = T.grad((y**2).sum(), x)
        curves, _ = scan(lambda i, g, x: T.grad(g[i], x), sequences=T.arange(slope.shape[0]), non_sequences=[slope, x])
        f = theano.function([x], [curves, theano.gradient.hessian((y**2).sum(), x)])
        np.testing.assert_allclose(*f(value))

    def test_strict_steps_use_what_was_made_of_their_constants(self) -> None:
        rng = np.random.default_rng(0)
        parts = [theano.shared(rng.normal(size=(3, 2))) for _ in range(2)]
        joined = T.concatenate(parts, axis=1)
        x = T.dmatrix("x")
        rows, _ = scan(
            lambda v, h, *_: T.tanh(T.dot(v, joined) + h), x, T.zeros(4), parts, strict=True, go_backwards=True
        )
        value = rng.normal(size=(2, 3))
        full = np.concatenate([p.get_value() for p in parts], axis=1)
        first = np.tanh(value[1] @ full)
        np.testing.assert_allclose(theano.function([x], rows)(value), [first, np.tanh(value[0] @ full + first)])

    def test_given_variables_that_no_step_uses_are_inputs(self) -> None:
        x, unused = T.dvector("x"), T.dmatrix("unused")
        rows, _ = scan(lambda v, _: v * 2, x, None, unused)
        f = theano.function([x, unused], rows)
        self.assertEqual(f([1, 2], np.ones((1, 1))).tolist(), [2, 4])

    def test_inner_variables_have_test_values(self) -> None:
        x, w = T.dvector("x"), theano.shared(np.ones(3), name="w")
        x.tag.test_value = np.array([2.0, 3.0])
        seen: list[Any] = []

        def step(v: Any, total: Any, w: Any) -> Any:
            seen.extend(u.tag.test_value for u in (v, total))
            return total + v * w

        with theano.configparser.change_flags(compute_test_value="raise"):
            rows, _ = scan(step, x, T.zeros(3), w)
            slope = T.grad(rows.sum(), x)
            self.assertEqual(rows.tag.test_value.tolist(), [[2.0] * 3, [5.0] * 3])
            self.assertEqual(slope.tag.test_value.tolist(), [6.0, 3.0])
        self.assertEqual(float(seen[0]), 2.0)
        self.assertEqual(seen[1].tolist(), [0.0] * 3)

    def test_one_variable_as_output_and_as_state(self) -> None:
        def cost(x: Any) -> Any:
            def step(v: Any, h: Any) -> list[Any]:
                new = T.tanh(v + h)
                return [new, new]

            states, outputs = scan(step, x, [T.zeros(()), None])[0]
            return states.sum() + (outputs**2).sum()

        theano.gradient.verify_grad(cost, [np.array([0.1, -0.2, 0.3])], rng=np.random.RandomState(0))

    def test_one_step_is_no_loop(self) -> None:
        x, total = T.dvector("x"), theano.shared(0.0)
        rows, updates = scan(lambda v, h: (v + h, {total: total + v}), x, T.ones(()), n_steps=1)
        f = theano.function([x], rows, updates=updates)
        self.assertEqual((f([2, 9]).tolist(), float(total.get_value()), compiled_loops(f)), ([3], 2.0, []))
        last, _ = scan(lambda v: v * 2, x, n_steps=1, go_backwards=True)
        self.assertEqual(theano.function([x], last)([2, 9]).tolist(), [18])


class TestKinds(unittest.TestCase):
    """Facts that the op of a loop tells about itself."""

    def setUp(self) -> None:
        self.s, self.x0, self.w = T.dvector("s"), T.dvector("x0"), T.dscalar("w")
        self.stream = T.shared_randomstreams.RandomStreams(3)
        count = theano.shared(0, name="count")

        def step(v: Any, two: Any, one: Any, h: Any, w: Any) -> Any:
            return [two + one * w, h + v, v * w + self.stream.uniform()], {count: count + 1}

        starts = [{"initial": self.x0, "taps": [-2, -1]}, T.zeros(()), None]
        self.outputs, self.updates = scan(step, self.s, starts, self.w)
        self.node = self.outputs[0].owner.inputs[0].owner

    def test_counts_and_groups(self) -> None:
        op, node = self.node.op, self.node
        self.assertIsInstance(op, Scan)
        numbers = (op.n_seqs, op.n_mit_mot, op.n_mit_sot, op.n_sit_sot, op.n_nit_sot, op.n_shared_outs)
        self.assertEqual(numbers, (1, 0, 1, 2, 1, 1))
        self.assertEqual(op.tap_array, [[-2, -1], [-1], [-1]])
        self.assertEqual((len(op.inputs), len(op.outputs), len(node.inputs)), (7, 5, 8))
        self.assertEqual(op.info["n_mit_sot"], 1)
        self.assertEqual(op.outer_non_seqs(node), [self.w])
        self.assertEqual(op.inner_non_seqs(op.inputs)[0].name, "w_copy")
        self.assertEqual(op.outer_nitsot_outs(node), [self.outputs[2]])
        self.assertIn(op.outer_shared_outs(node)[0], list(self.updates.values()))
        self.assertEqual(len(op.inner_mitsot(op.inputs)), 2)
        self.assertEqual(str(op), "for{cpu,scan_fn}")
        self.assertEqual(len(op.fn.maker.fgraph.outputs), 5)

    def test_results_are_what_follows_the_first_rows(self) -> None:
        for out, first in zip(self.outputs[:2], (2, 1), strict=True):
            self.assertIsInstance(out.owner.op, T.Subtensor)
            self.assertIs(out.owner.inputs[0].owner, self.node)
            self.assertEqual(out.owner.op.entries[0].start, first)
        full = theano.function([self.s, self.x0, self.w], self.node.outputs[:2], on_unused_input="ignore")
        mitsot, sitsot = full([1, 2, 3], [4, 5], 1)
        self.assertEqual((mitsot.tolist(), sitsot.tolist()), ([4, 5, 9, 14, 23], [0, 1, 3, 6]))

    def test_gradients_of_whole_buffers(self) -> None:
        def cost(s: Any, x0: Any) -> Any:
            rows, _ = scan(lambda v, a, b: T.tanh(a + b * v), s, {"initial": x0, "taps": [-2, -1]})
            return (rows.owner.inputs[0] ** 2).sum() + rows[-1]

        rng = np.random.RandomState(0)
        theano.gradient.verify_grad(cost, [rng.normal(size=3), rng.normal(size=2)], rng=rng)

    def test_every_mode_gives_the_same(self) -> None:
        results = []
        for mode in (None, "FAST_COMPILE", "DebugMode", theano.Mode("py", None)):
            f = theano.function(
                [self.s, self.x0, self.w],
                [*self.outputs[:2], self.node.outputs[0]],
                mode=mode,
                on_unused_input="ignore",
            )
            results.append(f([1.0, 2.0], [3.0, 4.0], 0.5))
        for other in results[1:]:
            for a, b in zip(results[0], other, strict=True):
                np.testing.assert_allclose(a, b)

    def test_ops_are_compared_and_pickled(self) -> None:
        op = self.node.op
        again = Scan(op.inputs, op.outputs, op.info)
        self.assertEqual((again, hash(again)), (op, hash(op)))
        self.assertEqual(pickle.loads(pickle.dumps(op)), op)
        other = Scan(op.inputs, op.outputs, {**op.info, "truncate_gradient": 2})
        self.assertNotEqual(other, op)


class TestNames(unittest.TestCase):
    """Helpers and rewriters by their names of Theano 1.0."""

    def test_replacing_variables_inside_loops(self) -> None:
        x, outer = T.dvector("x"), T.dscalar("outer")
        y = T.dscalar("y")

        def step(v: Any, total: Any) -> Any:
            result = v * y + total
            result.tag.replacement = outer * (total - v)
            return result

        rows, _ = scan(step, x, T.zeros(()))
        (changed,) = scan_utils.map_variables(lambda v: getattr(v.tag, "replacement", v), [rows * 2])
        f = theano.function([x, y, outer], changed)
        self.assertEqual(f([1, 2], 5.0, 3.0).tolist(), [-6, -30])

    def test_loops_without_some_outputs(self) -> None:
        x = T.dvector("x")
        (a, b), _ = scan(lambda v, h: [h + v, v * 2], x, [T.zeros(()), None])
        node = a.owner.inputs[0].owner
        self.assertEqual(scan_utils.scan_can_remove_outs(node.op, [0, 1]), ([], [0, 1]))
        inputs, outputs, info, outer, places = scan_utils.compress_outs(node.op, [0], node.inputs)
        self.assertEqual((len(inputs), len(outputs), info["n_sit_sot"], places), (1, 1, 0, {1: 0}))
        again = Scan(inputs, outputs, info)(*outer)
        self.assertEqual(theano.function([x], again)([1, 2]).tolist(), theano.function([x], b)([1, 2]).tolist())

    def test_small_helpers(self) -> None:
        x, n = T.dmatrix("x"), T.lscalar("n")
        more = theano.function([x, n], scan_utils.expand_empty(x, n))(np.ones((2, 3)), 4)
        self.assertEqual((more.shape, more[:2].tolist()), ((6, 3), np.ones((2, 3)).tolist()))
        self.assertTrue(scan_utils.equal_computations([T.exp(x)], [T.exp(x)]))
        self.assertEqual([scan_utils.isNaN_or_Inf_or_None(v) for v in (None, np.nan, 3, n)], [True, True, False, False])
        self.assertEqual(scan_utils.safe_new(x, "_copy").name, "x_copy")
        self.assertEqual(scan_utils.get_updates_and_outputs([x, n]), (None, [x, n], {}))
        with self.assertRaises(ValueError):
            scan_utils.get_updates_and_outputs([x, 3])
        ((rows, _),) = scan_utils.infer_shape([T.exp(x)], [x], [(n, n + 1)])
        self.assertEqual(rows.eval({n: 3}), 3)

    def test_what_depends_on_invalid_variables_has_no_stand_in(self) -> None:
        a, b, c = T.dscalars("a", "b", "c")
        checks = scan_utils.Validator(valid=[a], invalid=[b], valid_equivalent={c: a})
        self.assertEqual(checks.check(a), (a, True))
        self.assertIsNone(checks.check(a + b))
        result = checks.check(c * 2)
        assert result is not None
        self.assertEqual((float(result[0].eval({a: 3.0})), result[1]), (6.0, False))

    def test_rewriters_by_name(self) -> None:
        x, w = T.dvector("x"), T.dscalar("w")
        rows, _ = scan(lambda v, h, w: T.tanh(v * T.exp(v) + h * w), x, T.zeros(()), w)
        for name, keeps in (("PushOutSeqScan", False), ("ScanSaveMem", True), ("PushOutNonSeqScan", True)):
            graph = theano.gof.FunctionGraph([x, w], [rows[-1]])
            getattr(scan_opt, name)().optimize(graph)
            (op,) = [node.op for node in graph.toposort() if isinstance(node.op, Scan)]
            exponentials = [n for n in op.fgraph.toposort() if "exp" in str(n.op)]
            self.assertEqual(bool(exponentials), keeps, name)
        twice = [scan(lambda v, h: T.tanh(v + h), x, T.constant(k, dtype="float64"))[0] for k in (0.0, 1.0)]
        graph = theano.gof.FunctionGraph([x], twice)
        nodes = [v.owner.inputs[0].owner for v in twice[:1]]
        merge = scan_opt.ScanMerge()
        apart = scan(lambda v, h: T.tanh(v + h), rows, T.zeros(()), n_steps=4)[0].owner.inputs[0].owner
        fixed = [scan(lambda v: T.tanh(v), x, n_steps=4)[0].owner for _ in range(2)]
        self.assertTrue(merge.belongs_to_set(fixed[0], [fixed[1]]))
        self.assertFalse(merge.belongs_to_set(apart, nodes))
        merge.optimize(graph)
        self.assertEqual(sum(isinstance(node.op, Scan) for node in graph.toposort()), 1)
