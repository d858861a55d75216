"""Functions that are one function of C, against the instructions of their machine."""

from __future__ import annotations

import gc
import pickle
import threading
import time
import unittest
import weakref
from typing import Any

import numpy as np

import theano_tensor as T
from theano_graph import config
from theano_linker_c import function, shared
from theano_linker_c.program import HAS_RUNTIME
from theano_scan import scan


def at_once(inputs: list[Any], outputs: Any, **options: Any) -> Any:
    """Return a function that is compiled as one function of C after its first call with new shapes."""
    with config.change_flags(vm__function_code="all"):
        return function(inputs, outputs, **options)


@unittest.skipUnless(HAS_RUNTIME, "needs the machine in C")
class TestFunctionCode(unittest.TestCase):
    def check(self, inputs: list[Any], outputs: Any, *values: Any) -> Any:
        with config.change_flags(vm__function_code="none"):
            expected = function(inputs, outputs)(*values)
        f = at_once(inputs, outputs)
        for _ in range(3):
            for a, b in zip(f(*values), expected, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-12)
                self.assertEqual((type(a), a.dtype, a.shape), (type(b), b.dtype, b.shape))
        self.assertEqual(f.machine.code_calls, 2)
        return f

    def test_values_are_those_of_the_machine(self) -> None:
        x, a = T.dvector("x"), T.dmatrix("a")
        cost = T.tanh(T.dot(a, x)).sum() + (x**2).sum()
        f = self.check([x, a], [cost, *T.grad(cost, [x, a]), a[1, ::-1]], np.arange(3.0), np.eye(3) / 2)
        # Operands in another order, and numbers of another kind, are copied or converted first.
        plain = f(np.arange(3.0), np.eye(3) / 2)
        for a_value in (np.asfortranarray(np.eye(3) / 2), np.eye(3)[::-1][::-1] / 2):
            for one, other in zip(f(np.arange(3.0), a_value), plain, strict=True):
                np.testing.assert_array_equal(one, other)

    def test_loops_inside(self) -> None:
        v = T.dvector("v")
        rows, _ = scan(lambda s, v: T.tanh(s * v) + 0.5, outputs_info=T.ones_like(v), non_sequences=v, n_steps=20)
        self.check([v], [rows[-1], T.grad(rows.sum(), v)], np.array([0.2, -0.4, 0.6]))

    def test_other_shapes(self) -> None:
        x = T.dvector("x")
        f = at_once([x], [T.exp(x).sum(), x[1:] - x[:-1]])
        for _ in range(2):
            for n in range(2, 9):
                values = np.linspace(0, 1, n)
                total, steps = f(values)
                np.testing.assert_allclose(total, np.exp(values).sum())
                np.testing.assert_allclose(steps, np.diff(values))
        self.assertGreater(f.machine.code_calls, 0)

    def test_errors_name_their_node(self) -> None:
        x, i = T.dvector("x"), T.lscalar("i")
        f = at_once([x, i], [x[i] * 2, T.exp(x)])
        for _ in range(3):
            f(np.arange(3.0), 1)
        self.assertGreater(f.machine.code_calls, 0)
        with self.assertRaisesRegex(IndexError, "(?s)test_function_code"):
            f(np.arange(3.0), 7)
        self.assertEqual(float(f(np.arange(3.0), 2)[0]), 4.0)

    def test_results_are_arrays_of_their_own(self) -> None:
        x, w = T.dvector("x"), shared(np.arange(3.0), name="w")
        f = at_once([x], [x + w, x * w])
        results = [f(np.full(3, float(k))) for k in range(5)]
        for k, (total, product) in enumerate(results):
            np.testing.assert_array_equal(total, k + np.arange(3.0))
            np.testing.assert_array_equal(product, k * np.arange(3.0))
        w.set_value(np.ones(3))
        np.testing.assert_array_equal(f(np.zeros(3))[0], np.ones(3))
        w.set_value(np.ones(1))
        np.testing.assert_array_equal(f(np.zeros(1))[0], np.ones(1))

    def test_what_is_left_to_the_machine(self) -> None:
        x, w = T.dvector("x"), shared(0.0)
        counted = at_once([x], T.exp(x).sum(), updates=[(w, w + 1)])
        by_value = at_once([x], x[x > 0])
        same = T.exp(x)
        twice = at_once([x], [same, same])
        for _ in range(4):
            counted([1.0, 2.0])
            np.testing.assert_array_equal(by_value([1.0, -2.0]), [1.0])
            np.testing.assert_array_equal(*twice([1.0, 2.0]))
        self.assertEqual(float(w.get_value()), 4.0)
        self.assertEqual(counted.machine.code_calls + by_value.machine.code_calls, 0)

    def test_busy_functions_get_their_code_behind_the_calls(self) -> None:
        x = T.dvector("x")
        total = x
        for k in range(60):
            total = T.dot(total, T.ones((4, 4))) * 0.25 + T.outer(total, total)[k % 4]
        f: Any = function([x], [total, total.sum()])
        machine: Any = f.machine
        expected = f(np.linspace(0, 0.1, 4))[0]
        last = time.monotonic() + 60
        while machine.code_calls == 0 and time.monotonic() < last:
            f(np.linspace(0, 0.1, 4))
        self.assertGreater(machine.code_calls, 0)
        np.testing.assert_allclose(f(np.linspace(0, 0.1, 4))[0], expected, rtol=1e-12)

    def test_copies_threads_and_the_end(self) -> None:
        x = T.dvector("x")
        f = at_once([x], [T.exp(x) + 1, T.exp(x).sum()])
        for _ in range(2):
            f([1.0, 2.0])
        g = pickle.loads(pickle.dumps(f))
        np.testing.assert_allclose(f([1.0, 2.0])[0], g([1.0, 2.0])[0], rtol=1e-14)
        wrong: list[float] = []

        def call(k: int, called: Any = f) -> None:
            results = [float(called([float(k), 0.0])[1]) for _ in range(300)]
            wrong.extend(value for value in results if abs(value - np.exp(k) - 1) > 1e-9)

        threads = [threading.Thread(target=call, args=(k,)) for k in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])
        reference = weakref.ref(f)
        del f, call, threads
        gc.collect()
        self.assertIsNone(reference())
