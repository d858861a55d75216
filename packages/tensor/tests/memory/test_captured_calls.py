"""Functions whose kernel calls are captured and repeated give the results of one instruction at a time."""

from __future__ import annotations

import gc
import pickle
import threading
import unittest
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import theano_tensor as tt
from theano_linker_c import In, Mode, Out, capture_after, function, shared

NATIVE = Mode("cvm", "fast_run")
rng = np.random.default_rng(7)


def runs(compiled: Any) -> list[tuple[int, int]]:
    """Return the runs of instructions that a function replays."""
    result: list[tuple[int, int]] = compiled.machine.captured()
    return result


class Case(unittest.TestCase):
    def setUp(self) -> None:
        block = capture_after(0)
        block.__enter__()
        self.addCleanup(block.__exit__, None, None, None)

    def compiled(self, inputs: Any, outputs: Any, **options: Any) -> Any:
        return function(inputs, outputs, mode=NATIVE, **options)

    def assert_same(self, result: Any, expected: Any) -> None:
        for a, b in zip(result, expected, strict=True):
            self.assertEqual((np.asarray(a).dtype, np.shape(a)), (np.asarray(b).dtype, np.shape(b)))
            np.testing.assert_array_equal(a, b)

    def check(self, inputs: Any, outputs: Any, arguments: Sequence[Any], **options: Any) -> Any:
        """Compare calls that are captured and replayed with calls that are carried out one instruction at a time."""
        compiled = self.compiled(inputs, outputs, **options)
        plain = self.compiled(inputs, outputs, **options)
        held = []
        for call in arguments:
            before = [np.array(a) for a in call]
            item = compiled(*call)
            with capture_after(None):
                expected = plain(*call)
            self.assert_same(item, expected)
            self.assert_same(call, before)
            held.append((item, expected))
        for item, expected in held:
            self.assert_same(item, expected)
        return compiled


class Values(Case):
    def test_chain_with_its_gradient(self) -> None:
        x, w = tt.dvectors("x", "w")
        h = x
        for _ in range(6):
            h = tt.tanh(h * w + h.sum() * 0.01)
        outputs = [h.sum(), *tt.grad(h.sum(), [x, w])]
        compiled = self.check([x, w], outputs, [rng.normal(size=(2, 8)) for _ in range(6)])
        ((begin, end),) = runs(compiled)
        self.assertEqual((begin, end), (0, len(compiled.machine.program.instructions)))

    def test_products_of_every_kind(self) -> None:
        a, b = tt.dmatrices("a", "b")
        v, s = tt.dvector("v"), tt.dscalar("s")
        outputs = [a.dot(b), a.dot(v), v.dot(b), s * a.dot(b) + b, tt.outer(v, v) * s + a, v.dot(v)]
        values = [
            [rng.normal(size=(4, 4)), rng.normal(size=(4, 4)).T, rng.normal(size=8)[::2], s]
            for s in (2.0, 3.0, 0.0, 1.0)
        ]
        self.check([a, b, v, s], outputs, values * 2)

    def test_reductions_and_positions(self) -> None:
        x = tt.fmatrix("x")
        outputs = [x.sum(0), x.max(1), x.argmax(0), x.argmin(), x.mean(), x.prod(1), (x > 0).all(0), x.cumsum(0)]
        values = [[rng.normal(size=(5, 7)).astype("float32")] for _ in range(4)]
        self.check([x], outputs, [*values, [np.asfortranarray(values[0][0])], *values])

    def test_parts_joins_and_shapes(self) -> None:
        x = tt.dmatrix("x")
        joined = tt.concatenate([x[1:], x[:1] * 2, tt.zeros_like(x)], axis=0)
        y = tt.set_subtensor(joined[::2, 1], joined[::2, 0] + x.shape[0])
        outputs = [y, y.T.reshape((-1,)), tt.inc_subtensor(y[[0, 0, 1]], 1.0), tt.stack([x.sum(), x.max()])]
        self.check([x], outputs, [[rng.normal(size=n)] for n in [(3, 4)] * 3 + [(2, 2)] * 3 + [(3, 4)] * 2])

    def test_nan_infinity_and_zero_lengths(self) -> None:
        x = tt.dvector("x")
        outputs = [tt.exp(x).sum(), tt.log(x) * 2, x[:0].sum(), x / x.sum()]
        arrays = [np.array(v) for v in ([1.0, np.nan, -np.inf], [0.0, -0.0, np.inf], [1e308, 1e308, -1.0])]
        self.check([x], outputs, [[a] for a in arrays] + [[np.empty(0)]] * 3 + [[arrays[0]]])


class Memory(Case):
    def test_layouts_of_arguments(self) -> None:
        x, y = tt.dmatrices("x", "y")
        base = rng.normal(size=(6, 6))
        frozen = base.copy()
        frozen.flags.writeable = False
        swapped = base.astype(">f8")
        layouts = [base, base.T, base[::-1], base[:, ::-1], frozen, np.broadcast_to(base[:1], (6, 6)), swapped, base]
        pairs = [[a, b] for a in layouts for b in (base, base.T)]
        self.check([x, y], [(x * y).sum(0), x + y, tt.set_subtensor(x[0], y[1])], pairs * 2)

    def test_arguments_that_share_memory(self) -> None:
        x, y = tt.dvectors("x", "y")
        a = rng.normal(size=9)
        calls = [[a[:8], a[1:]], [a[1:], a[:8]], [a[:8], a[:8]], [a[:8], a[:8].copy()]]
        self.check([x, y], [x + y, tt.set_subtensor(x[2:4], y[:2]).cumsum(), x * y.sum()], calls * 2)

    def test_arguments_that_may_be_overwritten(self) -> None:
        x = tt.dvector("x")
        outputs = [Out((x + 1) * 2, borrow=True), Out(x[::-1] + x, borrow=True)]
        compiled = self.compiled([In(x, mutable=True)], outputs)
        for _ in range(5):
            a = rng.normal(size=10)
            self.assert_same(compiled(a.copy()), [(a + 1) * 2, a[::-1] + a])

    def test_shared_variables_and_updates(self) -> None:
        w, n = shared(np.ones(4), name="w"), shared(np.int64(0), name="n")
        x = tt.dvector("x")
        updates = [(w, w * 0.5 + x.sum()), (n, n + 1)]
        compiled = function([x], [w.sum() + n, w * x], updates=updates, mode=NATIVE)
        state, count = np.ones(4), 0
        for _ in range(6):
            a = rng.normal(size=4)
            result = compiled(a)
            np.testing.assert_allclose(result[0], state.sum() + count, rtol=1e-14)
            np.testing.assert_allclose(result[1], state * a, rtol=1e-14)
            state, count = state * 0.5 + a.sum(), count + 1
        np.testing.assert_allclose(w.get_value(), state, rtol=1e-14)
        self.assertEqual(n.get_value(), 6)

    def test_what_is_kept_goes_with_the_function(self) -> None:
        x = tt.dvector("x")
        compiled = self.check([x], [tt.exp(x).sum(), (x * 2)[1:]], [[rng.normal(size=4)] for _ in range(3)])
        self.assertTrue(runs(compiled))
        compiled.free()
        self.assertEqual(runs(compiled), [])
        self.assert_same(compiled(np.zeros(3)), [np.float64(3.0), np.zeros(2)])
        del compiled
        gc.collect()

    def test_copies_and_pickles_capture_for_themselves(self) -> None:
        x = tt.dvector("x")
        compiled = self.check([x], [x.sum() * x], [[rng.normal(size=4)] for _ in range(3)])
        for other in (compiled.copy(), pickle.loads(pickle.dumps(compiled))):
            self.assertEqual(runs(other), [])
            for a in rng.normal(size=(3, 4)):
                self.assert_same(other(a), [a.sum() * a])
            self.assertTrue(runs(other))


class Guards(Case):
    def test_lengths_that_arguments_give(self) -> None:
        x, n = tt.dvector("x"), tt.lscalar("n")
        outputs = [tt.zeros((n,)) + x[0], tt.repeat(x[:1], n), tt.ones((n, 2)).reshape((2, n)), x[: n - 1]]
        self.check([x, n], outputs, [[rng.normal(size=5), n] for n in [3, 3, 3, 4, 3, 1, *range(1, 40), 2, 2, 2]])

    def test_bounds_of_slices(self) -> None:
        x, i, j = tt.dmatrix("x"), tt.lscalar("i"), tt.lscalar("j")
        outputs = [x[i:j].sum(), x[i] * 2, x[::-1][j:i] + 1, tt.inc_subtensor(x[i, j:], 5.0), tt.exp(x).sum()]
        bounds = [(0, 2), (0, 2), (1, 3), (2, 2), (-1, 4), *((k % 5, k % 3) for k in range(30)), (0, 2), (0, 2)]
        self.check([x, i, j], outputs, [[rng.normal(size=(5, 4)), i, j] for i, j in bounds])

    def test_a_guard_that_fails_again_and_again_parts_the_run(self) -> None:
        x, i = tt.dvector("x"), tt.lscalar("i")
        compiled = self.compiled([x, i], [tt.exp(x[i : i + 2] * x.sum()).sum()])
        x_value = rng.normal(size=30)
        for k in range(28):
            np.testing.assert_allclose(
                compiled(x_value, k), [np.exp(x_value[k : k + 2] * x_value.sum()).sum()], rtol=1e-13
            )
        count = len(compiled.machine.program.instructions)
        self.assertTrue(runs(compiled))
        self.assertNotIn((0, count), runs(compiled))

    def test_index_arrays(self) -> None:
        x, k = tt.dmatrix("x"), tt.lvector("k")
        outputs = [x[k].sum(0), x[k, k[::-1]], tt.inc_subtensor(x[k], 1.0), tt.set_subtensor(x[:, k], 2.0)]
        arrays = [rng.integers(-4, 4, 6) for _ in range(5)]
        compiled = self.check([x, k], outputs, [[rng.normal(size=(4, 4)), a] for a in arrays])
        self.assertTrue(runs(compiled))
        with self.assertRaisesRegex(IndexError, "out of bounds|out of range|index"):
            compiled(np.ones((4, 4)), np.array([0, 1, 2, 3, 4, 0]))
        with self.assertRaises(IndexError):
            compiled(np.ones((4, 4)), np.array([0, 1, 2, 3, -5, 0]))
        self.assert_same(compiled(np.ones((4, 4)), arrays[0])[:1], [np.full(4, 6.0)])

    def test_errors_are_those_of_single_instructions(self) -> None:
        x, y = tt.dvectors("x", "y")
        compiled = self.compiled([x, y], [tt.exp(x).sum() * (x + y)])
        for _ in range(3):
            self.assert_same(compiled(np.zeros(3), np.ones(3)), [np.full(3, 3.0)])
        with self.assertRaisesRegex(ValueError, "(?s)3.*4|4.*3"):
            compiled(np.zeros(3), np.ones(4))
        self.assert_same(compiled(np.zeros(3), np.ones(3)), [np.full(3, 3.0)])

    def test_an_error_while_calls_are_captured(self) -> None:
        x, k = tt.dvector("x"), tt.lvector("k")
        compiled = self.compiled([x, k], [tt.exp(x)[k].sum()])
        with self.assertRaises(IndexError):
            compiled(np.zeros(2), np.array([5]))
        for _ in range(3):
            self.assert_same(compiled(np.zeros(2), np.array([1])), [np.float64(1.0)])


class Runs(Case):
    def test_long_kernels_part_a_run(self) -> None:
        x, w = tt.dvector("x"), tt.dmatrix("w")
        outputs = [tt.tanh(x * x.sum()).sum(), tt.exp(w).sum(0) + x.sum(), (x - x.mean()).max()]
        big = rng.normal(size=(400, 300))
        compiled = self.check([x, w], outputs, [[rng.normal(size=5), big] for _ in range(4)])
        self.assertTrue(runs(compiled))

    def test_memory_of_captures_is_bounded(self) -> None:
        x = tt.dvector("x")
        h = x
        for k in range(40):
            h = tt.tanh(h * h.sum() + k)
        compiled = self.check([x], [h, h.max()], [[rng.normal(size=9000)] for _ in range(6)])
        self.assertGreater(len(runs(compiled)), 0)

    def test_shapes_that_change_are_captured_anew(self) -> None:
        x = tt.dvector("x")
        sizes = [3] * 3 + [5] * 40 + [3, 5, 3, 5] + [7] * 40
        compiled = self.check([x], [tt.exp(x).sum() * x], [[rng.normal(size=n)] for n in sizes])
        self.assertTrue(runs(compiled))

    def test_profiled_calls_are_not_replayed(self) -> None:
        x = tt.dvector("x")
        compiled = function([x], tt.exp(x).sum() * x, mode=NATIVE, profile=True)
        for a in rng.normal(size=(4, 3)):
            np.testing.assert_allclose(compiled(a), np.exp(a).sum() * a, rtol=1e-14)
        self.assertEqual(runs(compiled), [])
        self.assertEqual(compiled.profile.fct_callcount, 4)

    def test_none_captures_nothing(self) -> None:
        x = tt.dvector("x")
        compiled = self.compiled([x], [tt.exp(x).sum() * x])
        with capture_after(None):
            for _ in range(5):
                compiled(np.zeros(3))
            self.assertEqual(runs(compiled), [])
        with capture_after(2):
            for expected in (0, 0, 1):
                compiled(np.zeros(3))
                self.assertEqual(len(runs(compiled)), expected)

    def test_a_negative_number_of_calls_is_refused(self) -> None:
        with self.assertRaisesRegex(ValueError, "from 0 on, or None, was expected, not -1"), capture_after(-1):
            self.fail("the block runs")


class Threads(Case):
    def test_machines_of_threads_capture_as_much(self) -> None:
        x = tt.dvector("x")
        y = tt.inc_subtensor(tt.zeros_like(x)[1:], tt.exp(x[1:]))
        compiled = self.compiled([x], [tt.inc_subtensor(y[:2], 1.0) * x.sum()])
        twin = compiled.machine.again()
        for value in rng.normal(size=(4, 5)):
            expected = compiled(value)
            ((result,), error) = twin.run_batch([(value,)])
            self.assertIsNone(error)
            self.assert_same(result, expected)
        self.assertEqual(twin.captured(), runs(compiled))
        self.assertEqual(runs(compiled), [(0, len(compiled.machine.program.instructions))])

    def _together(self, *bodies: Callable[[], None]) -> None:
        errors: list[BaseException] = []

        def guarded(body: Callable[[], None]) -> None:
            try:
                body()
            except BaseException as error:  # noqa: BLE001  # shown by the main thread
                errors.append(error)

        threads = [threading.Thread(target=guarded, args=(body,)) for body in bodies]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])

    def test_calls_at_the_same_time_and_memory_that_goes(self) -> None:
        x = tt.dvector("x")
        h = x
        for _ in range(10):
            h = tt.tanh(h * h.sum())
        compiled = self.compiled([x], [h])
        values = rng.normal(size=(4, 4000))
        with capture_after(None):
            expected = [compiled(v)[0] for v in values]

        def call(k: int) -> Callable[[], None]:
            def body() -> None:
                for _ in range(60):
                    np.testing.assert_array_equal(compiled(values[k])[0], expected[k])

            return body

        def free() -> None:
            for _ in range(200):
                compiled.free()

        self._together(call(0), call(1), call(2), free)
        self._together(call(3))
        self.assertTrue(runs(compiled))


if __name__ == "__main__":
    unittest.main()
