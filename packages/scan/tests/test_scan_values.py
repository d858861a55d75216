from __future__ import annotations

import io
import pickle
import unittest
from contextlib import redirect_stderr
from typing import Any

import numpy as np

import theano_tensor as T
from theano_graph import Apply, MissingInputError, Op, clone_replace, config, debugprint
from theano_linker_c import In, Mode, function, shared
from theano_scan import Scan, foldl, foldr, map, reduce, scan, scan_checkpoints, until
from theano_tensor.random import RandomStreams
from theano_testing.tiers import slow

MODES = ("FAST_RUN", "FAST_COMPILE", "DebugMode")


class TestForms(unittest.TestCase):
    """Values of loops against loops in Python."""

    def test_power(self) -> None:
        k, a = T.iscalar("k"), T.dvector("a")
        for mode in MODES:
            result, updates = scan(lambda before, a: before * a, None, T.ones_like(a), a, k)
            power = function([a, k], result[-1], updates=updates, mode=mode)
            np.testing.assert_array_equal(power(np.arange(10.0), 2), np.arange(10.0) ** 2)

    def test_several_sequences_are_cut_to_the_shortest(self) -> None:
        coefficients, x = T.dvector("coefficients"), T.dscalar("x")
        terms, _ = scan(lambda c, p, x: c * x**p, [coefficients, T.arange(1000)], None, x)
        self.assertEqual(function([coefficients, x], terms.sum())([1, 0, 2], 3), 19)

    def test_taps_of_sequences_and_outputs(self) -> None:
        s, start = T.dvector("s"), T.dvector("start")
        result, _ = scan(
            lambda now, before, after, two, one: two + 2 * one + now * before - after,
            {"input": s, "taps": [0, -2, 1]},
            {"initial": start, "taps": [-3, -1]},
        )
        values, history = np.arange(1.0, 8.0) ** 2, [1.0, 0.5, 2.0]
        expected = list(history)
        for t in range(2, len(values) - 1):
            expected.append(expected[-3] + 2 * expected[-1] + values[t] * values[t - 2] - values[t + 1])
        for mode in MODES:
            outcome = function([s, start], result, mode=mode)(values, history)
            np.testing.assert_allclose(outcome, expected[3:])

    def test_backwards(self) -> None:
        s = T.dvector("s")
        sums, _ = scan(lambda x, total: total + x, s, T.zeros(()), go_backwards=True)
        np.testing.assert_array_equal(function([s], sums)([1, 2, 3]), [3, 5, 6])
        some, _ = scan(lambda x: x, s, n_steps=2, go_backwards=True)
        np.testing.assert_array_equal(function([s], some)([1, 2, 3]), [3, 2])
        pairs, _ = scan(lambda a, b: a * 10 + b, {"input": s, "taps": [0, 1]}, go_backwards=True)
        np.testing.assert_array_equal(function([s], pairs)([1, 2, 3]), [23, 12])

    def test_rows_that_do_not_exist(self) -> None:
        w = T.dvector("w")
        none, two = (scan(lambda w: T.tanh(w), None, None, w, n)[0] for n in (0, 2))
        state, _ = scan(lambda h, w: T.tanh(w), None, w, w, 0)
        nothing, _ = map(lambda i: w * 2, T.arange(0))
        for row in (none[-1], two[5], two[-3], state[-1], nothing[0]):
            for mode in ("FAST_RUN", "FAST_COMPILE"):
                with self.subTest(row=row, mode=mode), self.assertRaises(IndexError):
                    function([w], row, mode=mode)(np.ones(3))
        np.testing.assert_array_equal(function([w], two[-2])(np.ones(3)), np.tanh(np.ones(3)))

    def test_until(self) -> None:
        limit = T.dscalar("limit")
        values, _ = scan(lambda p, m: (p * 2, until(p * 2 > m)), None, T.ones(()), limit, 1024)
        for mode in MODES:
            powers = function([limit], values, mode=mode)
            np.testing.assert_array_equal(powers(45), [2, 4, 8, 16, 32, 64])
            np.testing.assert_array_equal(powers(0), [2])
        self.assertEqual(function([limit], values.shape[0])(45), 6)
        self.assertEqual(function([limit], values[-1])(45), 64)

    def test_no_steps(self) -> None:
        s, m = T.dvector("s"), T.dmatrix("m")
        (sums, rows), _ = scan(lambda x, total, m: (total + x, m * x), s, [T.zeros(()), None], m)
        result = function([s, m], [sums, rows])([], np.ones((2, 3)))
        self.assertEqual([v.shape for v in result], [(0,), (0, 2, 3)])
        with self.assertRaises(IndexError):
            function([s], scan(lambda x, total: total + x, s, T.zeros(()))[0][-1])([])

    def test_updates_of_shared_variables(self) -> None:
        count = shared(0, name="count")
        _, updates = scan(lambda: {count: count + 2}, n_steps=5)
        function([], [], updates=updates)()
        self.assertEqual(count.get_value(), 10)
        total = shared(0.0, name="total")
        s = T.dvector("s")
        rows, updates = scan(lambda x: ([x * total], [(total, total + x)]), s)
        np.testing.assert_array_equal(function([s], rows, updates=updates)([1, 2, 3]), [0, 2, 9])
        self.assertEqual(total.get_value(), 6)

    def test_random_numbers_are_drawn_in_each_step(self) -> None:
        streams = RandomStreams(1234)
        fixed = streams.uniform(size=(3,))
        rows, updates = scan(lambda v: (streams.uniform(size=(3,)), v + 0), None, [None, None], fixed, 4)
        draw = function([], rows, updates=updates)
        first, second = draw(), draw()
        self.assertEqual(len(np.unique(np.concatenate([first[0].ravel(), second[0].ravel()]))), 24)
        self.assertEqual(len(np.unique(first[1])), 3)

    def test_what_is_around_the_function_is_used(self) -> None:
        s, w = T.dvector("s"), shared(3.0, name="w")
        outside = T.exp(w)
        rows, _ = scan(lambda x: x * outside + w, s)
        np.testing.assert_allclose(function([s], rows)([1, 2]), np.exp(3.0) * np.array([1, 2]) + 3)
        f = function([s], rows, mode="FAST_COMPILE")
        (node,) = [n for n in f.maker.fgraph.toposort() if isinstance(n.op, Scan)]
        self.assertNotIn("exp", str(debugprint(node.op.fgraph, file="str")))

    def test_several_outputs_and_lists(self) -> None:
        s = T.dvector("s")
        outputs, updates = scan(lambda x: [x, x * 2], s)
        self.assertEqual((len(outputs), dict(updates)), (2, {}))
        self.assertIsInstance(scan(lambda x: x, s, return_list=True)[0], list)

    def test_loops_in_loops(self) -> None:
        m = T.dmatrix("m")
        sums, _ = scan(lambda row: scan(lambda x, total: total + x, row, T.zeros(()))[0], m)
        value = np.arange(12.0).reshape(3, 4)
        np.testing.assert_array_equal(function([m], sums)(value), np.cumsum(value, axis=1))

    def test_views(self) -> None:
        s = T.dvector("s")
        cases: list[tuple[Any, Any]] = [
            (map(lambda x: x**2, s)[0], [1, 4, 9]),
            (map(lambda x: x**2, s, go_backwards=True)[0], [9, 4, 1]),
            (reduce(lambda x, total: total * 2 + x, s, T.zeros(()))[0], 11),
            (foldl(lambda x, total: total * 2 + x, s, T.zeros(()))[0], 11),
            (foldr(lambda x, total: total * 2 + x, s, T.zeros(()))[0], 17),
        ]
        for result, expected in cases:
            np.testing.assert_array_equal(function([s], result)([1, 2, 3]), expected)
        both, _ = reduce(lambda x, a, b: (a + x, b * x), s, [T.zeros(()), T.ones(())])
        self.assertEqual([float(v) for v in function([s], both)([1, 2, 4])], [7, 8])

    def test_dtypes_are_cast_up_only(self) -> None:
        n = T.iscalar("n")
        counted = T.arange(n)
        with self.assertRaisesRegex(TypeError, "cast down"):
            scan(lambda i, total: total + i, counted, T.as_tensor_variable(0))
        start = T.as_tensor_variable(np.asarray(0, counted.dtype))
        sums, _ = scan(lambda i, total: total + i, counted, start)
        np.testing.assert_array_equal(function([n], sums)(5), np.cumsum(np.arange(5)))
        s = T.fvector("s")
        wide, _ = scan(lambda x, total: T.cast(total + x, "float32"), s, T.zeros((), "float64"))
        self.assertEqual(wide.dtype, "float64")

    def test_copies_and_pickles(self) -> None:
        s, w = T.dvector("s"), T.dscalar("w")
        rows, _ = scan(lambda x, total, w: total * w + x, s, T.zeros(()), w)
        f = function([s, w], rows)
        expected = f([1, 2, 3], 2)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(f))([1, 2, 3], 2), expected)
        v = T.dvector("v")
        (other,) = clone_replace([rows], {s: v * 2})
        np.testing.assert_array_equal(function([v, w], other)([0.5, 1, 1.5], 2), expected)

    def test_equal_loops_are_merged(self) -> None:
        s = T.dvector("s")
        first, second = (scan(lambda x, total: total + x, s, T.zeros(()))[0] for _ in range(2))
        f = function([s], first * second)
        self.assertEqual(sum(isinstance(n.op, Scan) for n in f.maker.fgraph.toposort()), 1)

    def test_shape_of_a_loop_needs_no_loop(self) -> None:
        m = T.dmatrix("m")
        rows, _ = scan(lambda row: T.exp(row[1:]), m)
        f = function([m], rows.shape)
        self.assertFalse(any(isinstance(n.op, Scan) for n in f.maker.fgraph.toposort()))
        np.testing.assert_array_equal(f(np.ones((3, 5))), [3, 4])

    def test_memory_flags(self) -> None:
        s = T.dvector("s")
        rows: Any
        for gc in (True, False):
            for prealloc in (True, False):
                with config.change_flags(scan__allow_gc=gc, scan__allow_output_prealloc=prealloc):
                    rows, _ = scan(lambda x, total: (T.tanh(total + x), until(total > 0.5)), s, T.zeros(()), n_steps=4)
                op = rows.owner.inputs[0].owner.op.loop
                self.assertEqual((op.memory.allow_gc, op.memory.preallocate), (gc, prealloc))
                result = function([s], rows)([0.2, 0.7, 0.9, 1.0])
                self.assertEqual(result.shape, (3,))
        rows, _ = scan(lambda x: x, s, allow_gc=True)
        self.assertTrue(rows.owner.op.allow_gc)

    def test_debug_prints_the_step(self) -> None:
        text = io.StringIO()
        with config.change_flags(scan__debug=True), redirect_stderr(text):
            scan(lambda x: T.tanh(x), T.dvector("s"))
        self.assertIn("tanh", text.getvalue())

    def test_a_profile_of_the_step(self) -> None:
        s = T.dvector("s")
        rows, _ = scan(lambda x: T.tanh(x), s, profile="steps")
        f = function([s], rows, mode="FAST_COMPILE")
        f([1.0, 2.0])
        (node,) = [n for n in f.maker.fgraph.toposort() if isinstance(n.op, Scan)]
        self.assertEqual(node.op.compiled().profile.fct_call_time > 0, True)


class _Overwriting(Op):
    """Adds 1 to an array where it lies."""

    __props__ = ()

    def __init__(self) -> None:
        self.destroy_map = {0: [0]}

    def make_node(self, x: Any) -> Apply:
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any, params: object = None) -> None:
        inputs[0][...] += 1
        output_storage[0][0] = inputs[0]


class TestOverwritten(unittest.TestCase):
    """Loops beside an op that overwrites their initial values."""

    def test_copied_before(self) -> None:
        """A loop reads the copy in its buffer, where the original is overwritten before it can run."""
        x = T.dmatrix("x")
        changed = _Overwriting()(x)
        result, _ = scan(
            lambda old, last, total, c: [last - old + c, total + last],
            outputs_info=[{"initial": x, "taps": [-3, -1]}, changed[0]],
            non_sequences=[changed[1]],
            n_steps=4,
        )
        value = np.arange(9.0).reshape(3, 3)
        rows, total = list(value), value[0] + 1
        for _ in range(4):
            total = total + rows[-1]
            rows.append(rows[-1] - rows[-3] + value[1] + 1)
        for mode in (None, Mode("py", None), "FAST_COMPILE"):
            f = function([In(x, mutable=True)], result, mode=mode, accept_inplace=True)
            states, totals = f(value.copy())
            np.testing.assert_array_equal(states, rows[3:])
            np.testing.assert_array_equal(totals[-1], total)


class TestBadInput(unittest.TestCase):
    def test_arguments(self) -> None:
        s, m = T.dvector("s"), T.dmatrix("m")
        zero = T.zeros(())
        cases: list[tuple[type[Exception], str, Any]] = [
            (ValueError, "how many steps", lambda: scan(lambda: 1)),
            (ValueError, "n_steps is -1", lambda: scan(lambda: 1, n_steps=-1)),
            (TypeError, "no integer", lambda: scan(lambda: 1, n_steps=1.5)),
            (TypeError, "one number", lambda: scan(lambda: 1, n_steps=T.lvector())),
            (TypeError, "no dimension to go along", lambda: scan(lambda x: x, T.dscalar())),
            (ValueError, "unknown entries", lambda: scan(lambda x: x, {"inputs": s})),
            (TypeError, "has no input", lambda: scan(lambda x: x, {"taps": [0]})),
            (ValueError, "negative taps", lambda: scan(lambda x, a: x, s, {"initial": zero, "taps": [1]})),
            (ValueError, "no initial value", lambda: scan(lambda x, a: x, s, {"taps": [-1]})),
            (TypeError, "2 earlier steps", lambda: scan(lambda x, a: x, s, {"initial": zero, "taps": [-2]})),
            (ValueError, "returns 1 outputs", lambda: scan(lambda x, a: x, s, [zero, None])),
            (TypeError, "dimensions", lambda: scan(lambda x, a: x, m, zero)),
            (ValueError, "last thing", lambda: scan(lambda x: (until(x > 1), x), s)),
            (TypeError, "truth value", lambda: until(m)),
            (TypeError, "shared variables", lambda: scan(lambda x: {s: x}, s)),
        ]
        for error, words, act in cases:
            with self.assertRaisesRegex(error, words):
                act()

    def test_values(self) -> None:
        s, n, m = T.dvector("s"), T.lscalar("n"), T.dmatrix("m")
        f = function([s, n], scan(lambda x: x, s, n_steps=n)[0])
        with self.assertRaisesRegex(ValueError, "too few for 4 steps"):
            f([1, 2, 3], 4)
        with self.assertRaisesRegex(ValueError, "number of steps is -1"):
            f([1, 2, 3], -1)
        growing, _ = scan(lambda x, v: T.concatenate([v, v]), s, s[:1])
        with self.assertRaisesRegex(ValueError, r"state 0 has shape \(2,\) in step 0, not \(1,\)"):
            function([s], growing)([1.0])
        ragged, _ = scan(lambda k, m: m[: T.cast(k, "int64")], s, None, m)
        with self.assertRaisesRegex(ValueError, "output 0 has shape"):
            function([s, m], ragged)([1, 2], np.ones((3, 3)))

    def test_strict(self) -> None:
        s, w = T.dvector("s"), shared(2.0, name="w")
        with self.assertRaisesRegex(MissingInputError, "An input of the graph, used to compute"):
            scan(lambda x: x * w, s, strict=True)
        rows, _ = scan(lambda x, w: x * w, s, None, w, strict=True)
        np.testing.assert_array_equal(function([s], rows)([1, 2]), [2, 4])


class TestCheckpoints(unittest.TestCase):
    @slow
    def test_values(self) -> None:
        s, w = T.dvector("s"), T.dscalar("w")
        for length, every in ((12, 4), (13, 4), (3, 10), (1, 1)):
            full, _ = scan(lambda x, total, w: T.tanh(total * w + x), s, T.zeros(()), w)
            some, _ = scan_checkpoints(lambda x, total, w: T.tanh(total * w + x), s, T.zeros(()), w, save_every_N=every)
            value = np.random.default_rng(0).normal(size=length)
            a, b = function([s, w], [full, some])(value, 0.7)
            places = [min(i + every, length) - 1 for i in range(0, length, every)]
            np.testing.assert_allclose(b, a[places])
            gradients = [T.grad(v[-1], [s, w]) for v in (full, some)]
            result = function([s, w], [*gradients[0], *gradients[1]])(value, 0.7)
            for k in (0, 1):
                np.testing.assert_allclose(result[k], result[k + 2])

    def test_without_padding(self) -> None:
        s = T.dvector("s")
        some, _ = scan_checkpoints(lambda x, total: total + x, s, T.zeros(()), save_every_N=3, padding=False)
        f = function([s], some)
        np.testing.assert_array_equal(f(np.arange(6.0)), [3, 15])
        with self.assertRaises(ValueError):
            f(np.arange(7.0))

    def test_what_is_refused(self) -> None:
        s = T.dvector("s")
        with self.assertRaisesRegex(RuntimeError, "no taps"):
            scan_checkpoints(lambda a, b: a, {"input": s, "taps": [0, 1]}, None)
        with self.assertRaisesRegex(ValueError, "save_every_N is 0"):
            scan_checkpoints(lambda a: a, s, None, save_every_N=0)
