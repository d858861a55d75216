"""Loops on devices whose steps are one list of launches: values, numbers of launches, failures, kept results."""

from __future__ import annotations

import unittest
from typing import Any
from unittest import mock

import numpy as np

import theano_tensor as T
from theano_gpuarray.contexts import get_context
from theano_linker_c import function, shared
from theano_scan import scan, until
from theano_testing.gpuarray import needs_opencl, tested_device
from theano_testing.tiers import slow

from .test_device_loops import context, loops

RNG = np.random.default_rng(2)
X = RNG.normal(size=(9, 3, 4)).astype("float32")
W = (RNG.normal(size=(4, 4)) / 2).astype("float32")
H = RNG.normal(size=(3, 4)).astype("float32")


def on(target: str | None, value: Any) -> Any:
    return shared(value) if target is None else shared(value, target=target)


def tanh_loop(target: str | None) -> Any:
    w, x, h = on(target, W), T.ftensor3("x"), T.fmatrix("h")
    states, _ = scan(lambda row, s: T.tanh(T.dot(s, w) + row), sequences=[x], outputs_info=[h])
    return function([x, h], [states, states[-1]])


class _Comparison(unittest.TestCase):
    def compare(self, make: Any, *calls: tuple[Any, ...]) -> Any:
        """Check values against those of the host, where no step of the device may be done by itself."""
        host, device = make(None), make(context(tested_device()))
        self.assertTrue(loops(device))
        with mock.patch("theano_scan.device._Steps", side_effect=AssertionError("a step by itself")):
            for values in calls:
                for expected, item in zip(host(*values), device(*values), strict=True):
                    np.testing.assert_allclose(np.asarray(item), expected, rtol=2e-5, atol=1e-6)
        return device


@needs_opencl
class TestAllSteps(_Comparison):
    def test_numbers_of_steps(self) -> None:
        self.compare(tanh_loop, *((X[:n], H) for n in (1, 2, 3, 9, 3, 4, 5)))

    def test_arrays_that_are_not_contiguous(self) -> None:
        wide = RNG.normal(size=(9, 3, 8)).astype("float32")
        self.compare(tanh_loop, (wide[:, :, ::2], H), (X[::-2], H.T.copy().T), (X, np.asfortranarray(H)))

    def test_many_steps(self) -> None:
        many = np.random.default_rng(0).normal(size=(6000, 3, 4)).astype("float32")
        self.compare(tanh_loop, (many, H), (many[:5999], H))

    def test_several_taps(self) -> None:
        def make(target: str | None) -> Any:
            w, x, h = on(target, W), T.ftensor3("x"), T.ftensor3("h")
            result, _ = scan(
                lambda row, a, b: T.tanh(T.dot(a, w) + b * row),
                sequences=[x],
                outputs_info=[{"initial": h, "taps": [-3, -1]}],
            )
            return function([x, h], [result, result[-1]])

        self.compare(make, (X, X[:3]), (X[:2], X[:3]))

    def test_rows_before_and_after(self) -> None:
        def make(target: str | None) -> Any:
            w, x, h = on(target, W), T.ftensor3("x"), T.fmatrix("h")
            result, _ = scan(
                lambda a, b, s: T.dot(s, w) * a - b, sequences=[{"input": x, "taps": [-1, 1]}], outputs_info=[h]
            )
            return function([x, h], [result])

        self.compare(make, (X, H))

    @slow
    def test_sums_and_gradients(self) -> None:
        def make(target: str | None) -> Any:
            w, b = on(target, W), on(target, W[0])
            x, h = T.ftensor3("x"), T.fmatrix("h")
            states, _ = scan(lambda row, s, w, b: T.tanh(T.dot(s, w) + row * b), [x], [h], non_sequences=[w, b])
            cost = (states**2).sum() + states[-1].sum()
            return function([x, h], T.grad(cost, [w, b, x, h]))

        self.compare(make, (X, H), (X[:1], H), (X[:4], H))

    def test_backwards(self) -> None:
        def make(target: str | None) -> Any:
            w, x, h = on(target, W), T.ftensor3("x"), T.fmatrix("h")
            result, _ = scan(lambda row, s: T.dot(s, w) + row, [x], [h], go_backwards=True)
            return function([x, h], [result, *T.grad(result.sum(), [x, h])])

        self.compare(make, (X, H), (X[:1], H))

    def test_results_that_are_states_or_views(self) -> None:
        def make(target: str | None) -> Any:
            w, h = on(target, W), T.fmatrix("h")
            (a, b, c), _ = scan(lambda a, b: (T.dot(b, w), a, b.T), outputs_info=[h, h * 2, None], n_steps=5)
            return function([h], [a, b, c, a[-1], b[-1]])

        self.compare(make, (H,))

    def test_two_states_of_one_value(self) -> None:
        def make(target: str | None) -> Any:
            w, h = on(target, W), T.fmatrix("h")

            def step(a: Any, b: Any) -> Any:
                new = T.tanh(T.dot(a, w) - b)
                return new, new, new * 2

            result, _ = scan(step, outputs_info=[h, h, None], n_steps=4)
            return function([h], result)

        self.compare(make, (H,))

    def test_positions(self) -> None:
        def make(target: str | None) -> Any:
            w, h = on(target, W), T.fvector("h")
            begin = T.lscalar("begin")
            result, _ = scan(lambda i, s: s * w[i] + w[i, 0], [begin + T.arange(3)], [h])
            return function([h, begin], [result])

        self.compare(make, (H[0], 0), (H[0], 1), (H[0], -4))

    def test_positions_that_do_not_advance_evenly(self) -> None:
        def make(target: str | None) -> Any:
            w, h, order = on(target, W), T.fvector("h"), T.lvector("order")
            result, _ = scan(lambda i, s: s * w[i] + 1, [order], [h])
            return function([h, order], result)

        host, device = make(None), make(context(tested_device()))
        self.assertEqual(1, len(loops(device)))
        for order in ([0, 2, 1, 3], [-2, -1, 0, 1], [3, 3, 3], [0], [1, 3], [0, 1, 2, 1], [0, 2, 1, 3]):
            operands = H[0], np.asarray(order)
            np.testing.assert_allclose(np.asarray(device(*operands)), host(*operands), rtol=1e-5)

    def test_arrays_without_elements(self) -> None:
        self.compare(tanh_loop, (X[:, :0], H[:0]), (X[:2], H))

    def test_arguments_keep_their_values(self) -> None:
        name = context(tested_device())
        h = on(name, H)
        w = on(name, W)
        result, _ = scan(lambda s: T.tanh(T.dot(s, w)), outputs_info=[h], n_steps=6)
        f = function([], result)
        first = np.asarray(f())
        for _ in range(5):
            np.testing.assert_array_equal(np.asarray(f()), first)
        np.testing.assert_array_equal(np.asarray(h.get_value()), H)
        saved = f()
        f()
        np.testing.assert_array_equal(np.asarray(saved), first)


@needs_opencl
class TestLoopsThatValuesEnd(_Comparison):
    def test_where_they_end(self) -> None:
        def make(target: str | None) -> Any:
            w, x, h, most = on(target, np.eye(4, dtype="float32")), T.ftensor3("x"), T.fmatrix("h"), T.fscalar("most")
            (a, b), _ = scan(lambda row, s: ((T.dot(s, w) + abs(row), s.sum()), until(s.sum() > most)), [x], [h, None])
            return function([x, h, most], [a, b, a[-1], b[-1]])

        many = np.random.default_rng(3).normal(size=(200, 3, 4)).astype("float32")
        device = self.compare(make, *((many, H, np.float32(most)) for most in (-100, 0, 10, 30, 50, 100, 700, 1e6)))
        for most in (-100.0, 40.0):
            first = np.asarray(device(many, H, np.float32(most))[0])
            for n in range(1, 12):
                self.assertEqual(min(n, len(first)), len(device(many[:n], H, np.float32(most))[0]))

    def test_the_last_state_alone(self) -> None:
        def make(target: str | None) -> Any:
            w, h, n = on(target, W), T.fmatrix("h"), T.lscalar("n")
            result, _ = scan(lambda s: (s * 2 + w[0], until(s.max() > 50)), outputs_info=[h], n_steps=n)
            return function([h, n], [result[-1], result.shape[0]])

        self.compare(make, *((H, n) for n in (1, 2, 4, 5, 7, 100)))

    @slow
    def test_gradients(self) -> None:
        def make(target: str | None) -> Any:
            w, h = on(target, W), T.fmatrix("h")
            result, _ = scan(lambda s: (T.dot(s, w) * 3, until((s**2).sum() > 1000)), outputs_info=[h], n_steps=50)
            return function([h], [result[-1], T.grad(result[-1].sum(), w), T.grad(result.sum(), h)])

        host, device = make(None), make(context(tested_device()))
        self.assertEqual(2, len(loops(device)))
        for expected, item in zip(host(H), device(H), strict=True):
            np.testing.assert_allclose(np.asarray(item), expected, rtol=1e-4)

    def test_what_fails_beyond_the_end_is_not_seen(self) -> None:
        w, h, order = on(context(tested_device()), W), T.fvector("h"), T.lmatrix("order")
        result, _ = scan(lambda rows, s: (s + abs(w[rows]).sum(axis=0), until(s.sum() > 3)), [order], [h])
        f = function([h, order], result)
        order_given = np.zeros((12, 2), "int64")
        expected = np.asarray(f(np.zeros(4, "float32"), order_given))
        self.assertLess(len(expected), 11)
        order_given[11] = 99
        for end in range(len(expected), 12):
            order_given[end:] = 99
            np.testing.assert_array_equal(np.asarray(f(np.zeros(4, "float32"), order_given)), expected)
        order_given[len(expected) - 1] = 99
        with self.assertRaises(IndexError) as caught:
            f(np.zeros(4, "float32"), order_given)
        self.assertIn(f"in step {len(expected) - 1}", " ".join(getattr(caught.exception, "__notes__", ())))

    def test_conditions_of_the_host(self) -> None:
        def make(target: str | None) -> Any:
            w, h, last = on(target, W), T.fmatrix("h"), T.lscalar("last")
            result, _ = scan(lambda i, s: (T.dot(s, w), until(T.eq(i, last))), [T.arange(10)], [h])
            return function([h, last], [result])

        host, device = make(None), make(context(tested_device()))
        for last in (0, 3, 9, 12):
            np.testing.assert_allclose(np.asarray(device(H, last)[0]), host(H, last)[0], rtol=1e-5, atol=1e-6)

    def test_no_steps(self) -> None:
        def make(target: str | None) -> Any:
            w, x, h = on(target, W), T.ftensor3("x"), T.fmatrix("h")
            result, _ = scan(lambda row, s: (T.dot(s, w) + row, until(s.sum() > 9)), [x], [h])
            return function([x, h], [result])

        self.compare(make, (X[:0], H), (X, H))

    def test_how_often_it_is_looked_at_the_condition(self) -> None:
        name = context("null0")
        native = get_context(name).native
        w, h = on(name, W), on(name, H)
        result, _ = scan(lambda s: (T.dot(s, w), until(s.sum() > 9)), outputs_info=[h], n_steps=1000)
        f = function([], result[-1])
        f()
        before = native.statistics()["reads"]
        f()
        self.assertLess(native.statistics()["reads"] - before, 40)


@needs_opencl
class TestFailures(unittest.TestCase):
    def test_a_position_that_is_out_of_bounds(self) -> None:
        w, h, order = on(context(tested_device()), W), T.fvector("h"), T.lmatrix("order")
        result, _ = scan(lambda rows, s: s + w[rows].sum(axis=0), [order], [h])
        f = function([h, order], result)
        good = np.zeros((6, 2), "int64")
        expected = np.asarray(f(H[0], good))
        bad = good.copy()
        bad[4, 1] = 7
        with self.assertRaises(IndexError) as caught:
            f(H[0], bad)
        self.assertIn("in step 4 of a loop of 6", " ".join(getattr(caught.exception, "__notes__", ())))
        np.testing.assert_array_equal(np.asarray(f(H[0], good)), expected)

    def test_states_that_change_their_shapes(self) -> None:
        w, h = on(context(tested_device()), W), T.fmatrix("h")
        result, _ = scan(lambda s: T.dot(s, w)[1:], outputs_info=[h], n_steps=2)
        f = function([h], result)
        for _ in range(2):
            with self.assertRaisesRegex(ValueError, "state 0 has shape"):
                f(H)


@needs_opencl
class TestHostTime(unittest.TestCase):
    def test_one_list_for_all_steps(self) -> None:
        name = context("null0")
        native = get_context(name).native
        w, h = on(name, W), on(name, H)
        x = on(name, X)
        states, _ = scan(lambda row, s, w: T.tanh(T.dot(s, w) + row), [x], [h], non_sequences=[w])
        f = function([], T.grad((states**2).sum(), w))
        f()
        before = native.statistics()
        with mock.patch("theano_scan.device._Steps", side_effect=AssertionError("a step by itself")):
            f()
        after = native.statistics()
        self.assertGreaterEqual(after["launches"] - before["launches"], 2 * len(X))
        self.assertLessEqual(after["copies"] - before["copies"], 2)

    def test_steps_that_differ_are_not_recorded_again_and_again(self) -> None:
        name = context(tested_device())
        w, h, order = on(name, W), T.fvector("h"), T.lvector("order")
        result, _ = scan(lambda i, s: s * w[i] + 1, [order], [h])
        f = function([h, order], result)
        with mock.patch("theano_scan.device.record_loop", return_value=None) as recorded:
            for k in range(10):
                f(H[0], np.asarray([0, 3, k % 4]))
        self.assertLess(recorded.call_count, 10)


if __name__ == "__main__":
    unittest.main()
