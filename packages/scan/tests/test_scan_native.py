"""Loops whose steps the C machine does by itself, against the same loops with Python between the steps."""

from __future__ import annotations

import signal
import threading
import time
import unittest
from typing import Any

import numpy as np
from hypothesis import given, settings, strategies as st

import theano_tensor as T
from theano_graph import Apply, Op, config
from theano_linker_c import function, shared
from theano_linker_c.program import HAS_RUNTIME
from theano_scan import Loop, Scan, scan, until
from theano_tensor import TensorType
from theano_tensor.random import RandomStreams
from theano_testing.tiers import examples, slow

DTYPES = ("float32", "float64", "int32", "int64", "bool", "complex64", "complex128")
LAYOUTS = ("plain", "reversed", "strided", "fortran", "broadcast", "unaligned", "read-only")


def laid_out(values: Any, layout: str) -> Any:
    """Return equal values in memory of another layout."""
    if layout == "reversed":
        return values[::-1].copy()[::-1]
    if layout == "strided":
        wide = np.empty((2 * len(values), *values.shape[1:]), values.dtype)
        wide[::2] = values
        return wide[::2]
    if layout == "fortran":
        return np.asfortranarray(values)
    if layout == "broadcast":
        return np.broadcast_to(values[:1], values.shape)
    if layout == "unaligned":
        raw = np.zeros(values.nbytes + 1, "uint8")
        result = raw[1:].view(values.dtype).reshape(values.shape)
        result[...] = values
        return result
    result = values.copy()
    result.flags.writeable = layout != "read-only"
    return result


def both(inputs: list[Any], build: Any, **options: Any) -> tuple[Any, Any]:
    """Return the function whose loops are native, and the one with Python between the steps."""
    results = []
    for preallocate in (True, False):
        with config.change_flags(scan__allow_output_prealloc=preallocate):
            outputs, updates = build()
        results.append(function(inputs, outputs, updates=updates, on_unused_input="ignore", **options))
    return results[0], results[1]


def outcome(f: Any, *values: Any) -> Any:
    """Return the result of a call, or the kind and the first line of its error."""
    try:
        return f(*values)
    except (ArithmeticError, IndexError, TypeError, ValueError) as error:
        return type(error), str(error).splitlines()[0]


@st.composite
def loops(draw: Any) -> dict[str, Any]:
    """Draw a loop and its values."""
    dtype = draw(st.sampled_from(DTYPES))
    shape = tuple(draw(st.lists(st.integers(0, 3), max_size=2)))
    return {
        "dtype": dtype,
        "shape": shape,
        "steps": draw(st.integers(0, 6)),
        "taps": draw(st.sampled_from([[-1], [-2], [-1, -2], [-3, -1]])),
        "backwards": draw(st.booleans()),
        "limit": draw(st.one_of(st.none(), st.integers(1, 4))),
        "last": draw(st.booleans()),
        "layout": draw(st.sampled_from(LAYOUTS)),
        "seed": draw(st.integers(0, 1000)),
    }


def values_of(drawn: dict[str, Any], shape: tuple[int, ...], seed: int) -> Any:
    rng = np.random.default_rng(drawn["seed"] + seed)
    values = rng.integers(-3, 4, shape)
    if drawn["dtype"].startswith("complex"):
        return (values + 1j * rng.integers(-3, 4, shape)).astype(drawn["dtype"])
    return values.astype(drawn["dtype"])


class TestElementwiseSteps(unittest.TestCase):
    def test_code_for_all_steps_is_made_and_used(self) -> None:
        x, a, b = T.dvectors("x", "a", "b")
        rows = T.dmatrix("rows")
        values = [np.linspace(0, 1, 10), np.linspace(0.5, 0.9, 10), np.linspace(0.1, 0.2, 10)]
        sequence = np.linspace(-1, 1, 70).reshape(7, 10)

        def last() -> Any:
            states, updates = scan(lambda x, a, b: x * a + b, outputs_info=x, non_sequences=[a, b], n_steps=7)
            return states[-1], updates

        def backwards() -> Any:
            return scan(lambda r, x, a: x * a + r, rows, x, a, go_backwards=True)

        for inputs, build, given_values in (
            ([x, a, b], last, values),
            ([rows, x, a], backwards, [sequence, *values[:2]]),
        ):
            native, plain = both(inputs, build)
            np.testing.assert_array_equal(native(*given_values), plain(*given_values))
            (loop,) = (node.op for node in native.maker.fgraph.apply_nodes if isinstance(node.op, Loop))
            program: Any = loop.compiled().machine.program
            self.assertEqual(list(program.loops) == [loop.plan.loop_spec()], HAS_RUNTIME)


class TestNativeLoops(unittest.TestCase):
    """The native form gives the same bits."""

    @slow
    @settings(deadline=None, max_examples=examples(60))
    @given(loops())
    def test_same_values(self, drawn: dict[str, Any]) -> None:
        kind, shape = drawn["dtype"], drawn["shape"]
        free = (None,) * len(shape)
        depth = -min(drawn["taps"])
        s, fixed = TensorType(kind, (None, *free))("s"), TensorType(kind, free)("fixed")
        one, start = TensorType(kind, free)("one"), TensorType(kind, (None, *free))("start")
        starts = {"initial": start, "taps": drawn["taps"]} if drawn["taps"] != [-1] else one
        limit = drawn["limit"]

        def step(row: Any, t: Any, *others: Any) -> Any:
            *earlier, other, fixed = others
            mixed = T.cast(row * fixed + sum(earlier[1:], earlier[0]), kind)
            # A plain hand-over, a value of the row alone, a view, and a value of its own.
            outputs = [mixed, T.cast(other * row, kind), row, mixed[..., ::-1] if shape else mixed, fixed]
            return outputs if limit is None else (outputs, until(t + 1 >= limit))

        def build() -> tuple[Any, Any]:
            outputs, updates = scan(
                step,
                [s, T.arange(100)],
                [starts, one, None, None, None],
                fixed,
                n_steps=drawn["steps"],
                go_backwards=False,
            )
            backwards, _ = scan(lambda row, before: T.cast(row + before, kind), s, one, go_backwards=drawn["backwards"])
            results = [*outputs, backwards]
            return ([v[-1] for v in results] if drawn["last"] else results), updates

        native, python = both([s, fixed, one, start], build)
        given_values = [
            laid_out(values_of(drawn, (max(drawn["steps"], 1), *shape), 0), drawn["layout"]),
            values_of(drawn, shape, 1),
            values_of(drawn, shape, 2),
            values_of(drawn, (depth, *shape), 3),
        ]
        for _ in range(2):
            a, b = outcome(native, *given_values), outcome(python, *given_values)
            if not isinstance(a, list) or not isinstance(b, list):
                self.assertEqual(a, b)
                continue
            for x, y in zip(a, b, strict=True):
                self.assertEqual((x.dtype, x.shape, x.tobytes()), (y.dtype, y.shape, y.tobytes()))

    @slow
    @settings(deadline=None, max_examples=examples(15))
    @given(st.integers(0, 5), st.booleans(), st.booleans(), st.sampled_from(["float32", "float64"]))
    def test_same_gradients(self, steps: int, backwards: bool, last: bool, kind: str) -> None:
        x, h = TensorType(kind, (None, None, None))("x"), TensorType(kind, (None, None))("h")
        w, b = TensorType(kind, (None, None))("w"), TensorType(kind, (None,))("b")

        def build() -> tuple[Any, Any]:
            states, updates = scan(lambda x, h, w, b: T.tanh(x + T.dot(h, w) + b), x, h, [w, b], go_backwards=backwards)
            cost = (states[-1] ** 2).sum() if last else (states**2).sum()
            return [cost, *T.grad(cost, [x, h, w, b])], updates

        native, python = both([x, h, w, b], build)
        rng = np.random.default_rng(steps)
        values = [rng.normal(size=n).astype(kind) for n in ((steps, 3, 4), (3, 4), (4, 4), (4,))]
        result, expected = outcome(native, *values), outcome(python, *values)
        if isinstance(result, tuple):
            self.assertEqual(result, expected)
            return
        for a, c in zip(result, expected, strict=True):
            np.testing.assert_allclose(a, c, rtol=1e-5 if kind == "float32" else 1e-12)

    def test_is_used(self) -> None:
        s = T.dvector("s")
        f = function([s], scan(lambda x, total: T.tanh(total + x), s, T.zeros(()))[0])
        (node,) = [n for n in f.maker.fgraph.toposort() if isinstance(n.op, Scan)]
        self.assertEqual(hasattr(node.op.compiled().fn, "run_loop"), HAS_RUNTIME)
        stored = f(np.ones(5))
        np.testing.assert_array_equal(f(np.ones(5)), stored)
        self.assertFalse(np.shares_memory(stored, f(np.ones(5))))

    def test_results_stay_when_the_function_is_called_again(self) -> None:
        s, start = T.dmatrix("s"), T.dvector("start")
        (states, last), _ = scan(lambda x, a, b: (a + x, b * x), s, [start, start])
        f = function([s, start], [states, last[-1]])
        values = np.arange(6.0).reshape(3, 2) + 1
        first = f(values, np.ones(2))
        copies = [v.copy() for v in first]
        for _ in range(3):
            f(values * 2, np.zeros(2))
        for a, b in zip(first, copies, strict=True):
            np.testing.assert_array_equal(a, b)

    def test_memory_of_results_can_be_let_go(self) -> None:
        s = T.dmatrix("s")
        f = function([s], scan(lambda x, v: T.tanh(x + v), s, T.zeros((50,)))[0].sum())
        (node,) = [n for n in f.maker.fgraph.toposort() if isinstance(n.op, Scan)]
        expected = f(np.ones((100, 50)))
        if HAS_RUNTIME:
            self.assertGreaterEqual(node.op.compiled().fn.buffered_bytes, 8 * 100 * 50)
        f.free()
        self.assertEqual(getattr(node.op.compiled().fn, "buffered_bytes", 0), 0)
        self.assertEqual(f(np.ones((100, 50))), expected)

    def test_arguments_are_left_alone(self) -> None:
        m, start = T.dmatrix("m"), T.dvector("start")
        states, _ = scan(lambda x, v: T.set_subtensor(v[0], x[0]), m, start)
        f = function([m, start], [states[-1], states])
        given_m, given_start = np.arange(6.0).reshape(3, 2), np.zeros(2)
        last, every = f(given_m, given_start)
        np.testing.assert_array_equal(given_start, [0, 0])
        np.testing.assert_array_equal(given_m, np.arange(6.0).reshape(3, 2))
        np.testing.assert_array_equal(every, [[0, 0], [2, 0], [4, 0]])
        np.testing.assert_array_equal(last, [4, 0])

    def test_states_that_change_places(self) -> None:
        a, b, n = T.dvector("a"), T.dvector("b"), T.iscalar("n")
        (left, right), _ = scan(lambda x, y: (y + 1, x * 2), None, [a, b], n_steps=n)
        f = function([a, b, n], [left[-1], right[-1]])
        x, y = np.ones(3), np.full(3, 2.0)
        result = f(x, y, 7)
        for _ in range(7):
            x, y = y + 1, x * 2
        np.testing.assert_array_equal(result, [x, y])


class Remembering(Op):
    """Keeps all arrays that it sees, and makes trouble when it is asked to."""

    __props__ = ()

    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.copies: list[Any] = []
        self.on: Any = None

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, list(inputs), [inputs[0].type()])

    def perform(self, node: Any, inputs: Any, output_storage: Any, params: Any = None) -> None:
        self.seen.append(inputs[0])
        self.copies.append(inputs[0].copy())
        if self.on is not None:
            self.on(len(self.seen))
        output_storage[0][0] = inputs[0] + 1


class TestForeignCode(unittest.TestCase):
    def test_what_an_op_keeps_does_not_change(self) -> None:
        s, op = T.dmatrix("s"), Remembering()
        (a, b), _ = scan(lambda x, v: (op(v) + 0 * x, op(x)), s, [T.zeros((2,)), None])
        values = np.arange(8.0).reshape(4, 2)
        first, second = function([s], [a, b])(values)
        np.testing.assert_array_equal(first, np.arange(1.0, 5)[:, None] * np.ones(2))
        np.testing.assert_array_equal(second, values + 1)
        self.assertEqual(len(op.seen), 8)
        np.testing.assert_array_equal(op.seen, op.copies)

    def test_an_error_names_the_step_and_the_node(self) -> None:
        s, op = T.dvector("s"), Remembering()

        def trouble(calls: int) -> None:
            if calls == 3:
                raise ValueError("three is too many")

        op.on = trouble
        for f in both([s], lambda: scan(lambda x, v: op(x) + v, s, T.zeros(()))):
            op.seen.clear()
            with self.assertRaisesRegex(ValueError, "three is too many") as caught:
                f(np.ones(5))
            self.assertIn("step 2 of a loop of 5", "".join(caught.exception.__notes__))
            self.assertIn("Remembering", str(caught.exception))
            self.assertIn(__file__, str(caught.exception))
            op.seen.clear()
            op.on = None
            np.testing.assert_array_equal(f(np.ones(5)), np.arange(2.0, 11, 2))
            op.on = trouble

    def test_interrupts_end_a_loop(self) -> None:
        x, n = T.dscalar("x"), T.lscalar("n")
        f = function([x, n], scan(lambda v: v * 0.5 + 1, None, x, n_steps=n)[0][-1])
        f(0.0, 10)
        before = signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            with self.assertRaises(KeyboardInterrupt):
                f(0.0, 10**11)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        self.assertAlmostEqual(float(f(0.0, 100)), 2.0)

    def test_other_threads_run_meanwhile(self) -> None:
        x, n = T.dscalar("x"), T.lscalar("n")
        f = function([x, n], scan(lambda v: v * 0.5 + 1, None, x, n_steps=n)[0][-1])
        f(0.0, 10)
        started, ran = threading.Event(), threading.Event()

        def end_the_loop() -> None:
            started.wait()
            for _ in range(3):  # each time the loop has to let go again
                time.sleep(0.01)
            ran.set()
            signal.raise_signal(signal.SIGALRM)

        def stop(*_: object) -> None:
            raise KeyboardInterrupt

        thread = threading.Thread(target=end_the_loop)
        before = signal.signal(signal.SIGALRM, stop)
        try:
            thread.start()
            signal.setitimer(signal.ITIMER_REAL, 60)  # a loop that lets nobody in ends all the same
            with self.assertRaises(KeyboardInterrupt):
                started.set()
                f(0.0, 10**11)
            self.assertTrue(ran.is_set())
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
            thread.join()

    def test_threads_share_a_loop(self) -> None:
        s = T.dmatrix("s")
        f = function([s], scan(lambda x, v: T.tanh(T.dot(v, T.ones((40, 40))) + x), s, T.zeros((40,)))[0])
        values = [np.random.default_rng(k).normal(size=(60, 40)) for k in range(4)]
        expected = [f(v) for v in values]
        wrong: list[int] = []

        def work(k: int) -> None:
            wrong.extend(k for _ in range(20) if not np.array_equal(f(values[k]), expected[k]))

        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_random_and_shared_states(self) -> None:
        def build(seed: int) -> Any:
            streams = RandomStreams(seed)
            count = shared(1.0)
            rows, updates = scan(
                lambda v: (streams.normal(size=(3,)) + v, {count: count * 2}), None, T.zeros(3), n_steps=4
            )
            return rows, updates, count

        results = []
        for preallocate in (True, False):
            with config.change_flags(scan__allow_output_prealloc=preallocate):
                rows, updates, count = build(7)
            f = function([], rows, updates=updates)
            results.append([f(), f(), count.get_value()])
        for a, b in zip(*results, strict=True):
            np.testing.assert_array_equal(a, b)
        self.assertEqual(float(results[0][2]), 256.0)

    def test_shapes_that_change_are_refused(self) -> None:
        s, v = T.dvector("s"), T.dvector("v")
        cases = [
            lambda: scan(lambda x, v: T.concatenate([v, v]), s, v),
            lambda: scan(lambda x, v: v[: T.cast(x, "int64")], s, None, v),
        ]
        for case in cases:
            native, python = both([s, v], case)
            a, b = (outcome(f, np.array([1.0, 2.0]), np.ones(2)) for f in (native, python))
            self.assertEqual(a, b)
            self.assertIs(a[0], ValueError)

    def test_sizes_may_change_between_calls(self) -> None:
        s, m = T.dvector("s"), T.dvector("m")
        native, python = both([s, m], lambda: scan(lambda x, m: m * x, s, None, m))
        for steps, size in ((3, 2), (3, 4), (3, 0), (5, 4), (0, 2), (3, 2)):
            values = np.arange(1.0, steps + 1), np.arange(float(size))
            np.testing.assert_array_equal(native(*values), python(*values))
