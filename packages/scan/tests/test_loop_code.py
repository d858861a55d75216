"""Loops that are one function of C, against the same loops by the machine of their step."""

from __future__ import annotations

import pickle
import signal
import threading
import time
import unittest
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
from hypothesis import given, settings, strategies as st

import theano_tensor as T
from theano_graph import config
from theano_linker_c import function
from theano_linker_c.program import HAS_RUNTIME
from theano_scan import Loop, scan, until
from theano_tensor import TensorType
from theano_tensor.random import RandomStreams
from theano_testing.tiers import examples, slow

#: The same values in memory of other layouts.
LAYOUTS: dict[str, Any] = {
    "reversed": lambda values: values[::-1].copy()[::-1],
    "strided": lambda values: np.repeat(values, 2, axis=0)[::2],
    "fortran": np.asfortranarray,
    "broadcast": lambda values: np.broadcast_to(values[:1], values.shape),
    "unaligned": lambda values: np.frombuffer(b" " + values.tobytes(), offset=1).reshape(values.shape),
}


def outcome(f: Any, *values: Any) -> Any:
    """Return the result of a call, or the kind and the first line of its error."""
    try:
        return f(*values)
    except (ArithmeticError, IndexError, TypeError, ValueError) as error:
        return type(error), str(error).splitlines()[0]


def both(inputs: list[Any], build: Any) -> tuple[Any, Any]:
    """Return the function whose loops are C functions, and the one whose loops the machine of the step runs.

    The flag is read when a loop first runs.
    """
    functions = []
    for when in ("all", "none"):
        f = function(inputs, build(), on_unused_input="ignore")

        def call(*values: Any, f: Any = f, when: str = when) -> Any:
            with config.change_flags(scan__loop_code=when):
                return f(*values)

        call.f = f  # type: ignore[attr-defined]
        functions.append(call)
    return functions[0], functions[1]


def codes_of(f: Any) -> list[Any]:
    """Return the codes of the loops of a function."""
    f = getattr(f, "f", f)
    nodes = f.maker.fgraph.toposort()
    return [node.op._codes for node in nodes if isinstance(node.op, Loop)]


def runs_of(f: Any) -> list[int]:
    return [getattr(codes, "runs", 0) for codes in codes_of(f)]


x, y, v = T.dscalar("x"), T.dscalar("y"), T.dvector("v")
m, rows, stack = T.dmatrix("m"), T.dmatrix("rows"), T.dtensor3("stack")
rng = np.random.default_rng(0)
V, M, ROWS = rng.normal(size=3), rng.normal(size=(3, 3)) * 0.4, rng.normal(size=(7, 3))
STACK = rng.normal(size=(7, 3, 3)) * 0.4


def halves(a: Any) -> Any:
    return a[::-1] * 0.5 + a.sum() * 0.1


def matrices() -> Any:
    def step(a: Any, r: Any, f: Any) -> Any:
        c = T.sqrt(4 + T.dot(r, T.dot(f, r)) ** 2)
        return T.dot(a, T.dot(f, a.T)) + T.outer(r, r) / c, c

    (f, c), _ = scan(step, [stack, rows], [T.constant(np.zeros((3, 3))), None])
    return T.log(c).sum() + (f**2).sum()


def several_states() -> Any:
    def step(r: Any, a: Any, b: Any, v: Any) -> Any:
        return T.tanh(a * r[0] + b.sum()), T.stack([b[1], b[0] * r[2], a]) + v

    (a, b), _ = scan(step, rows, [x, v], v)
    return (a**2).sum() + b[-1].sum()


def with_gradients(build: Any, inputs: list[Any]) -> Any:
    return [build(), *T.grad(build(), inputs)]


def taps() -> Any:
    a, _ = scan(lambda r, p, q: 0.5 * p + T.tanh(q * r).sum(), rows, {"initial": v, "taps": [-3, -1]})
    return (a**2).sum()


def nested() -> Any:
    def step(r: Any, a: Any) -> Any:
        return scan(lambda s, b: T.tanh(b + 0.5 * s), r, a)[0][-1]

    return (scan(step, rows, x)[0] ** 2).sum()


def ends_early() -> Any:
    a, _ = scan(lambda r, p: (p + r.sum() ** 2, until(p > 3)), rows, x)
    return [a, a[-1]]


def ends_early_backwards() -> Any:
    (a, b), _ = scan(lambda r, p: ([p + r.sum() ** 2, r[::-1]], until(p > 3)), rows, [x, None], go_backwards=True)
    return [a, b]


def kinds() -> Any:
    flags, _ = scan(lambda r, f: T.or_(f, T.lt(r.sum(), -1)), rows, T.constant(np.bool_(False)))
    short, _ = scan(lambda r, p: T.cast(r.max() + p, "float32"), rows, T.constant(np.float32(1)))
    counts, _ = scan(lambda r, k: k * 3 + T.argmax(r), rows, T.constant(np.int64(2**61)))
    few, _ = scan(lambda r, k: T.cast(k * 5 + 1, "int8"), rows, T.constant(np.int8(100)))
    return [flags, short, counts, few]


LOOPS: dict[str, Any] = {
    "matrices": (matrices, [stack, rows], [STACK, ROWS]),
    "states": (several_states, [rows, x, v], [ROWS, 0.3, V]),
    "taps": (taps, [rows, v], [ROWS, V]),
    "nested": (nested, [rows, x], [ROWS, 0.2]),
}
OTHERS: dict[str, Any] = {
    "until": (ends_early, [rows, x], [ROWS, 0.2]),
    "until, backwards": (ends_early_backwards, [rows, x], [ROWS, 0.2]),
    "kinds": (kinds, [rows], [ROWS]),
}


@unittest.skipUnless(HAS_RUNTIME, "only the machine in C runs such code")
class TestValues(unittest.TestCase):
    def check(self, native: Any, machine: Any, values: list[Any], used: bool = True) -> None:
        """Compare twice: memory of the first call serves the second one."""
        before = runs_of(native)
        first = None
        for _ in range(2):
            result, expected = outcome(native, *values), outcome(machine, *values)
            if isinstance(expected, tuple):
                self.assertEqual(result, expected)
                return
            for a, b in _pairs(result, expected):
                self.assertEqual((a.dtype, a.shape), (b.dtype, b.shape))
                np.testing.assert_allclose(a, b, rtol=1e-5 if a.dtype == np.float32 else 1e-11)
            if first is not None:
                for a, b in _pairs(first, result):
                    np.testing.assert_array_equal(a, b)
            first = result
        if used:
            after = runs_of(native)
            errors = [str(error) for codes in codes_of(native) for error in getattr(codes, "errors", ())]
            self.assertTrue(all(a > b for a, b in zip(after, before, strict=True)), (after, errors))

    def test_a_loop_and_its_gradient(self) -> None:
        build, inputs, values = LOOPS["states"]
        native, machine = both(inputs, partial(with_gradients, build, inputs))
        self.check(native, machine, values)
        # Other numbers of steps share the code; no step is done without it.
        for n in (3, 1, 0):
            self.check(native, machine, [values[0][:n], *values[1:]], used=n > 0)
        self.assertEqual(sum(codes.jobs for codes in codes_of(native)), len(codes_of(native)))

    @slow
    def test_all_loops_and_their_gradients(self) -> None:
        for name, (build, inputs, values) in LOOPS.items():
            with self.subTest(name):
                native, machine = both(inputs, partial(with_gradients, build, inputs))
                self.check(native, machine, values)

    @slow
    def test_ends_and_dtypes(self) -> None:
        for name, (build, inputs, values) in OTHERS.items():
            with self.subTest(name):
                native, machine = both(inputs, build)
                self.check(native, machine, values, used=name != "kinds")
                self.check(native, machine, [values[0][:0], *values[1:]], used=False)

    def test_layouts(self) -> None:
        native, machine = both([stack, m], lambda: scan(lambda a, f, m: T.dot(a, f) + m, stack, m, m)[0])
        for layout, laid_out in LAYOUTS.items():
            with self.subTest(layout):
                given_values = [laid_out(STACK), laid_out(M)]
                before = [value.copy() for value in given_values]
                self.check(native, machine, given_values)
                for value, old in zip(given_values, before, strict=True):
                    np.testing.assert_array_equal(value, old)

    @slow
    def test_shapes_that_change_from_call_to_call(self) -> None:
        native, machine = both([rows, v], lambda: scan(lambda r, f: T.tanh(f + r.sum()), rows, v)[0])
        for size in (2, 3, 0, 2, 5, 6, 7):
            values = [np.ones((4, size)), np.arange(float(size))]
            self.check(native, machine, values, used=size in (2, 3, 0))

    @slow
    @settings(deadline=None, max_examples=examples(12))
    @given(st.integers(0, 1000), st.integers(0, 5), st.booleans(), st.sampled_from(["float32", "float64"]))
    def test_random_steps(self, seed: int, steps: int, backwards: bool, kind: str) -> None:
        draw = np.random.default_rng(seed)
        s, h = TensorType(kind, (None, None))("s"), TensorType(kind, (None,))("h")
        fixed = TensorType(kind, (None, None))("fixed")

        rules: list[Any] = [
            lambda p, q, w: T.tanh(p * q),
            lambda p, q, w: T.dot(w, p) * 0.3 - q,
            lambda p, q, w: p[::-1] + q.mean(),
            lambda p, q, w: T.switch(T.gt(p, q), p, 0.5 * q),
            lambda p, q, w: T.concatenate([p[1:], q[:1]]),
            lambda p, q, w: T.outer(p, q).max(axis=1) * 0.5,
            lambda p, q, w: T.set_subtensor(p[0], q.sum() * 0.1),
            lambda p, q, w: T.exp(p - p.max()) / T.exp(p - p.max()).sum() + q,
        ]

        def step(row: Any, a: Any, b: Any, fixed: Any) -> Any:
            pool = [row, a, b]
            choices = np.random.default_rng(seed)
            for _ in range(6):
                p, q = (pool[i] for i in choices.integers(0, len(pool), 2))
                pool.append(rules[choices.integers(0, len(rules))](p, q, fixed))
            return [T.cast(T.tanh(pool[-1]), kind), T.cast(T.tanh(pool[-2]), kind), T.cast(pool[-3].sum(), kind)]

        def build() -> Any:
            (a, b, c), _ = scan(step, s, [h, h, None], fixed, go_backwards=backwards)
            cost = (a**2).sum() + b[-1].sum() + c.sum() if steps else (a**2).sum() + c.sum()
            return [cost, *T.grad(cost, [s, h, fixed], disconnected_inputs="ignore")]

        native, machine = both([s, h, fixed], build)
        self.check(native, machine, [draw.normal(size=n).astype(kind) for n in ((steps, 3), 3, (3, 3))], used=False)


def _pairs(a: Any, b: Any) -> Any:
    return zip(a, b, strict=True) if isinstance(a, list) else [(a, b)]


@unittest.skipUnless(HAS_RUNTIME, "only the machine in C runs such code")
class TestCalls(unittest.TestCase):
    def test_errors_are_those_of_the_machine(self) -> None:
        k = T.lvector("k")
        native, machine = both([k, v], lambda: scan(lambda i, a, v: a + v[i] * v.sum(), k, T.zeros(()), v)[0])
        good, bad = np.array([0, 2, 1]), np.array([0, 2, 3, 1])
        np.testing.assert_allclose(native(good, V), machine(good, V))
        texts = []
        for f in (native, machine):
            with self.assertRaises(IndexError) as caught:
                f(bad, V)
            texts.append((str(caught.exception), caught.exception.__notes__))
        self.assertEqual(*texts)
        self.assertIn("step 2 of a loop of 4", "".join(texts[0][1]))
        self.assertIn(__file__, texts[0][0])
        np.testing.assert_allclose(native(good, V), machine(good, V))
        self.assertEqual(runs_of(native), [2])

    def test_what_has_no_form_is_left_to_the_machine(self) -> None:
        streams = RandomStreams(3)
        big = T.dmatrix("big")
        cases: list[Any] = [
            ([v], lambda: scan(lambda v: v + streams.normal(size=(3,)).sum(), None, v, n_steps=4)[0], [V]),
            ([big], lambda: scan(lambda b: T.dot(b, b) * 0.1, None, big, n_steps=3)[0], [np.eye(50)]),
        ]
        for inputs, build, values in cases:
            f = function(inputs, build(), no_default_updates=True)
            with config.change_flags(scan__loop_code="all"):
                f(*values)
            self.assertEqual(runs_of(f), [0])

    @config.change_flags(scan__loop_code="busy")
    def test_busy_loops_get_their_code_behind_the_calls(self) -> None:
        n = T.lscalar("n")
        f = function([v, n], scan(halves, None, v, n_steps=n)[0].sum())
        with mock.patch("theano_linker_c.loop_code._BUSY_SECONDS", 0.0005):
            first = f(V, 2000)
            end = time.monotonic() + 60
            while not runs_of(f)[0] and time.monotonic() < end:
                np.testing.assert_array_equal(f(V, 2000), first)
        self.assertGreater(runs_of(f)[0], 0)
        # Neither copies nor pickles have it.
        again = pickle.loads(pickle.dumps(f))
        np.testing.assert_array_equal(again(V, 2000), first)
        self.assertEqual(runs_of(again), [0])

    def test_copies_in_threads_share_the_code(self) -> None:
        n = T.lscalar("n")
        f = function([v, n], scan(halves, None, v, n_steps=n)[0].sum())
        expected = f(V, 500)
        failures: list[Exception] = []

        def call(g: Any) -> None:
            try:
                for _ in range(60):
                    np.testing.assert_allclose(np.asarray(g(V, 500)).item(), expected, rtol=1e-12)
            except Exception as error:  # noqa: BLE001  (an error of any kind is reported)
                failures.append(error)

        with mock.patch("theano_linker_c.loop_code._BUSY_SECONDS", 0.0):
            threads = [threading.Thread(target=call, args=(f.copy(),)) for _ in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(failures, [])

    def test_profiled_functions_run_the_same_code(self) -> None:
        f = function([v], scan(halves, None, v, n_steps=5)[0], profile=True)
        with config.change_flags(scan__loop_code="all"):
            f(V)
        self.assertEqual(runs_of(f), [1])
        (kind,) = {group.kind for group in f.profile.classes() if group.key is Loop}
        self.assertEqual(kind, "C")

    @config.change_flags(scan__loop_code="busy")
    def test_few_steps_are_not_worth_the_compiler(self) -> None:
        f = function([rows, x, v], several_states())
        f(ROWS, 0.3, V)
        self.assertEqual(sum(codes.jobs for codes in codes_of(f)), 0)

    def long_loop(self) -> Any:
        n = T.lscalar("n")
        native, _ = both([v, n], lambda: scan(halves, None, v, n_steps=n)[0][-1])
        native(V, 10)
        self.assertEqual(runs_of(native), [1])
        return native

    def test_interrupts_and_other_threads(self) -> None:
        native = self.long_loop()
        ran = threading.Event()

        def end_the_loop() -> None:
            for _ in range(3):
                time.sleep(0.01)
            ran.set()
            signal.raise_signal(signal.SIGALRM)

        def stop(*_: object) -> None:
            raise KeyboardInterrupt

        thread = threading.Thread(target=end_the_loop)
        before = signal.signal(signal.SIGALRM, stop)
        try:
            signal.setitimer(signal.ITIMER_REAL, 60)  # a loop that lets nobody in ends all the same
            with self.assertRaises(KeyboardInterrupt):
                thread.start()
                native(V, 10**11)
            self.assertTrue(ran.is_set())
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
            thread.join()
        self.assertTrue(np.isfinite(native(V, 10)).all())

    def test_threads_share_a_loop(self) -> None:
        native, _ = both([rows, v], lambda: scan(lambda r, a: T.tanh(a + r.sum()), rows, v)[0])
        values = [np.random.default_rng(k).normal(size=(3000, 4)) for k in range(4)]
        expected = [native(value, np.zeros(4)) for value in values]
        wrong: list[int] = []

        def work(k: int) -> None:
            wrong.extend(k for _ in range(50) if not np.array_equal(native(values[k], np.zeros(4)), expected[k]))

        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])
