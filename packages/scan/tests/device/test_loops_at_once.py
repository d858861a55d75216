"""Loops on devices whose steps are one list of launches: values, numbers of launches, failures, what is kept."""

from __future__ import annotations

import unittest
from typing import Any
from unittest import mock

import numpy as np

import theano_tensor as T
from theano_gpuarray.contexts import get_context
from theano_linker_c import function, shared
from theano_scan import scan

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


class TestAllSteps(unittest.TestCase):
    def compare(self, make: Any, *calls: tuple[Any, ...]) -> Any:
        """Check values against those of the host, where no step of the device may be done by itself."""
        host, device = make(None), make(context("opencl"))
        self.assertTrue(loops(device))
        with mock.patch("theano_scan.device._Steps", side_effect=AssertionError("a step by itself")):
            for values in calls:
                for wanted, found in zip(host(*values), device(*values), strict=True):
                    np.testing.assert_allclose(np.asarray(found), wanted, rtol=2e-5, atol=1e-6)
        return device

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
            found, _ = scan(
                lambda row, a, b: T.tanh(T.dot(a, w) + b * row),
                sequences=[x],
                outputs_info=[{"initial": h, "taps": [-3, -1]}],
            )
            return function([x, h], [found, found[-1]])

        self.compare(make, (X, X[:3]), (X[:2], X[:3]))

    def test_rows_before_and_after(self) -> None:
        def make(target: str | None) -> Any:
            w, x, h = on(target, W), T.ftensor3("x"), T.fmatrix("h")
            found, _ = scan(
                lambda a, b, s: T.dot(s, w) * a - b, sequences=[{"input": x, "taps": [-1, 1]}], outputs_info=[h]
            )
            return function([x, h], [found])

        self.compare(make, (X, H))

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
            found, _ = scan(lambda row, s: T.dot(s, w) + row, [x], [h], go_backwards=True)
            return function([x, h], [found, *T.grad(found.sum(), [x, h])])

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

            found, _ = scan(step, outputs_info=[h, h, None], n_steps=4)
            return function([h], found)

        self.compare(make, (H,))

    def test_positions(self) -> None:
        def make(target: str | None) -> Any:
            w, h = on(target, W), T.fvector("h")
            begin = T.lscalar("begin")
            found, _ = scan(lambda i, s: s * w[i] + w[i, 0], [begin + T.arange(3)], [h])
            return function([h, begin], [found])

        self.compare(make, (H[0], 0), (H[0], 1), (H[0], -4))

    def test_positions_that_do_not_advance_evenly(self) -> None:
        def make(target: str | None) -> Any:
            w, h, order = on(target, W), T.fvector("h"), T.lvector("order")
            found, _ = scan(lambda i, s: s * w[i] + 1, [order], [h])
            return function([h, order], found)

        host, device = make(None), make(context("opencl"))
        self.assertEqual(1, len(loops(device)))
        for order in ([0, 2, 1, 3], [-2, -1, 0, 1], [3, 3, 3], [0], [1, 3], [0, 1, 2, 1], [0, 2, 1, 3]):
            given = H[0], np.asarray(order)
            np.testing.assert_allclose(np.asarray(device(*given)), host(*given), rtol=1e-5)

    def test_arrays_without_elements(self) -> None:
        self.compare(tanh_loop, (X[:, :0], H[:0]), (X[:2], H))

    def test_arguments_keep_their_values(self) -> None:
        name = context("opencl")
        h = on(name, H)
        w = on(name, W)
        found, _ = scan(lambda s: T.tanh(T.dot(s, w)), outputs_info=[h], n_steps=6)
        f = function([], found)
        first = np.asarray(f())
        for _ in range(5):
            np.testing.assert_array_equal(np.asarray(f()), first)
        np.testing.assert_array_equal(np.asarray(h.get_value()), H)
        kept = f()
        f()
        np.testing.assert_array_equal(np.asarray(kept), first)


class TestFailures(unittest.TestCase):
    def test_a_position_that_is_out_of_bounds(self) -> None:
        w, h, order = on(context("opencl"), W), T.fvector("h"), T.lmatrix("order")
        found, _ = scan(lambda rows, s: s + w[rows].sum(axis=0), [order], [h])
        f = function([h, order], found)
        good = np.zeros((6, 2), "int64")
        wanted = np.asarray(f(H[0], good))
        bad = good.copy()
        bad[4, 1] = 7
        with self.assertRaises(IndexError) as caught:
            f(H[0], bad)
        self.assertIn("in step 4 of a loop of 6", " ".join(getattr(caught.exception, "__notes__", ())))
        np.testing.assert_array_equal(np.asarray(f(H[0], good)), wanted)

    def test_states_that_change_their_shapes(self) -> None:
        w, h = on(context("opencl"), W), T.fmatrix("h")
        found, _ = scan(lambda s: T.dot(s, w)[1:], outputs_info=[h], n_steps=2)
        f = function([h], found)
        for _ in range(2):
            with self.assertRaisesRegex(ValueError, "state 0 has shape"):
                f(H)


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
        name = context("opencl")
        w, h, order = on(name, W), T.fvector("h"), T.lvector("order")
        found, _ = scan(lambda i, s: s * w[i] + 1, [order], [h])
        f = function([h, order], found)
        with mock.patch("theano_scan._device_steps.record_loop", return_value=None) as recorded:
            for k in range(10):
                f(H[0], np.asarray([0, 3, k % 4]))
        self.assertLess(recorded.call_count, 10)


if __name__ == "__main__":
    unittest.main()
