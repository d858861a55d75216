"""`Function.map` with the instructions of programs: the same values as single calls, for each instruction."""

from __future__ import annotations

import unittest
from collections.abc import Sequence
from typing import Any

import numpy as np

import theano
import theano.tensor as T

SHAPES = ((3, 4), (3, 4), (5, 2), (1, 1), (3, 4), (0, 4), (40, 30), (3, 4))


class TestMapOfPrograms(unittest.TestCase):
    def check(self, inputs: Sequence[Any], outputs: Sequence[Any], elements: Sequence[tuple[Any, ...]]) -> Any:
        """Compare single calls with calls from threads, in small and larger batches."""
        f = theano.function(list(inputs), list(outputs))
        expected = [f(*element) for element in elements]
        for ahead in (2, 100):
            results = list(f.map(elements, 2, ahead=ahead))
            self.assertEqual(len(results), len(expected))
            for k, (some, others) in enumerate(zip(expected, results, strict=True)):
                for a, b in zip(some, others, strict=True):
                    np.testing.assert_array_equal(a, b, err_msg=f"element {k}")
                    self.assertEqual((np.asarray(a).dtype, np.shape(a)), (np.asarray(b).dtype, np.shape(b)))
        return f

    def matrices(self, dtype: str = "float64", rounds: int = 4) -> list[tuple[Any, ...]]:
        rng = np.random.default_rng(0)
        return [(rng.normal(size=shape).astype(dtype),) for shape in SHAPES * rounds]

    def test_elementwise_reductions_and_products(self) -> None:
        for dtype in ("float64", "float32"):
            x = T.matrix("x", dtype=dtype)
            products = [T.dot(x, x.T), T.dot(x.T, x.sum(axis=1)), T.dot(x[:, 0], x[:, 0])]
            sums = [x.sum(), x.sum(axis=0), x.mean(axis=1), (x**2).sum(axis=1, keepdims=True), T.exp(x) * 2 + x]
            f = self.check([x], [*sums, *products], self.matrices(dtype))
            machine: Any = f.machine
        self.assertTrue(machine.nogil)

    def test_views_and_parts(self) -> None:
        x = T.dmatrix("x")
        parts = [x.T, x[::-1], x[1:, ::2], x.T[1:].sum(axis=0), x.reshape((-1,)), x.T.reshape((x.size,)), x.flatten()]
        joined = [T.concatenate([x, 2 * x], axis=1), T.zeros_like(x)]
        filled = [T.alloc(3.5, x.shape[0], 2), T.alloc(x.sum(axis=0), 2, x.shape[1]), x.dimshuffle(0, "x", 1) + 1]
        f = self.check([x], [*parts, *joined, *filled, T.stack([x.sum(), x.mean()])], self.matrices())
        machine: Any = f.machine
        self.assertTrue(machine.nogil)

    def test_indices(self) -> None:
        x, i, v = T.dmatrix("x"), T.lvector("i"), T.dvector("v")
        rng = np.random.default_rng(1)
        elements = []
        for k in range(60):
            rows, count = 3 + k % 4, (2, 5, 5000)[k % 3]
            index = rng.integers(-rows, rows, count)
            elements.append((rng.normal(size=(rows, 6)), index, rng.normal(size=6)))
        read = [x[i], x[i, 2], x[i[0]], x[:, v.shape[0] - 1], x[x[:, 0] > 0]]
        written = [T.inc_subtensor(x[i], v), T.set_subtensor(x[1:, 2], 7.0), T.inc_subtensor(T.zeros_like(x)[i], v)]
        self.check([x, i, v], [*read, *written], elements)

    def test_an_index_out_of_range_is_named(self) -> None:
        x, i = T.dvector("x"), T.lscalar("i")
        f = theano.function([x, i], x[i] * 2)
        with self.assertRaises(IndexError) as raised:
            list(f.map([(np.ones(3), k % 4) for k in range(20)], 2))
        self.assertIn("element 3 of", raised.exception.__notes__[-1])

    def test_what_is_not_native_alone(self) -> None:
        x, n = T.dmatrix("x"), T.iscalar("n")
        powers, _ = theano.scan(lambda previous: previous * 2, outputs_info=T.ones_like(x), n_steps=n)
        elements = [(np.eye(3) * (2 + k % 3), 1 + k % 4) for k in range(20)]
        self.check([x, n], [T.nlinalg.det(x), powers[-1], T.sort(x, axis=0)], elements)
        chosen = theano.ifelse.ifelse(T.gt(n, 2), x.sum(), x.prod())
        self.check([x, n], [chosen], elements)

    def test_results_that_are_arguments_or_shared_values(self) -> None:
        x = T.dvector("x")
        w = theano.shared(np.arange(3.0), name="w", borrow=True)
        operands = [np.arange(3.0) + k for k in range(10)]
        f = theano.function([x], [x, theano.Out(w, borrow=True), x + w])
        machine: Any = f.machine
        self.assertTrue(machine.nogil)
        for value, item in zip(operands, f.map(operands, 2), strict=True):
            np.testing.assert_array_equal(item[0], value)
            np.testing.assert_array_equal(item[1], [0.0, 1.0, 2.0])
            np.testing.assert_array_equal(item[2], value + np.arange(3.0))
        np.testing.assert_array_equal(w.get_value(), [0.0, 1.0, 2.0])

    def test_values_change_meanwhile(self) -> None:
        x = T.dscalar("x")
        w = theano.shared(np.zeros(200), name="w")
        f = theano.function([x], (w + x * 0).min() - (w + x * 0).max())
        step = theano.function([], [], updates=[(w, T.inc_subtensor(w[:], 1.0))])
        for k, spread in enumerate(f.map([float(k) for k in range(600)], 2)):
            if k % 3 == 0:
                step()
            self.assertEqual(float(spread), 0.0)
        self.assertEqual(float(w.get_value()[5]), 200.0)

    def test_arguments_that_may_be_overwritten(self) -> None:
        x = T.dvector("x")
        f = theano.function([theano.In(x, mutable=True)], x * 2 + 1)
        results = list(f.map([np.full(4, float(k)) for k in range(50)], 2))
        np.testing.assert_array_equal(results, np.repeat(2 * np.arange(50.0) + 1, 4).reshape(50, 4))

    def test_the_same_array_in_all_elements(self) -> None:
        x, k = T.dvector("x"), T.dscalar("k")
        big = np.linspace(0, 1, 500)
        f = theano.function([x, k], (T.exp(x) * k).sum())
        results = [float(v) for v in f.map(((big, float(n)) for n in range(500)), 3)]
        np.testing.assert_allclose(results, np.exp(big).sum() * np.arange(500.0), rtol=1e-12)

    def test_profiled_functions_count_all_calls(self) -> None:
        x = T.dscalar("x")
        f = theano.function([x], x + 1, profile=True)
        self.assertEqual(len(list(f.map([1.0] * 30, 2))), 30)
        self.assertEqual(f.profile.fct_callcount, 30)
