"""Compiled functions as C functions in memory: for ctypes, SciPy, and threads."""

from __future__ import annotations

import ctypes
import math
import os
import subprocess
import sys
import tempfile
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from scipy import LowLevelCallable
from scipy.integrate import nquad, quad

import theano
import theano.tensor as T
from theano_linker_c.export import code_library, parse_signature
from theano_testing.tiers import slow

_PROGRAM = """
import theano, theano.tensor as T
from theano_linker_c.export import code_library
x = T.dscalar("x")
f = theano.function([x], T.exp(-x**2) * 3)
print(f.c_pointer()(0.5), f.c_pointer()(0.5), code_library.compiler_runs)
"""


def _pointer_to(array: np.ndarray) -> ctypes._Pointer[ctypes.c_double]:
    return array.ctypes.data_as(ctypes.POINTER(ctypes.c_double))


def _results(pointer: Any, value: np.ndarray) -> set[float]:
    """Return the different results of many calls."""
    return {pointer(_pointer_to(value)) for _ in range(200)}


class TestNumbers(unittest.TestCase):
    """Functions of numbers."""

    def setUp(self) -> None:
        self.x, self.y = T.dscalar("x"), T.dscalar("y")

    def test_values(self) -> None:
        """The values of the function, to the last bit."""
        f = theano.function([self.x], T.exp(-(self.x**2)) * T.sin(self.x))
        pointer: Any = f.c_pointer("double(double)")
        for x in (-1.5, 0.0, 0.3, np.inf, np.nan):
            np.testing.assert_equal(pointer(x), float(f(x)))
        self.assertEqual(ctypes.cast(pointer, ctypes.c_void_p).value, pointer.address)
        again = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(pointer.address)
        self.assertEqual(again(0.3), pointer(0.3))

    def test_signature_of_types(self) -> None:
        """Without a signature, types of inputs and outputs give one."""
        i, b = T.iscalar("i"), T.TensorType("bool", ())("b")
        v = T.TensorType("float32", (4,))("v")
        f = theano.function([self.x, i, b, v], T.switch(b, self.x + i, v.sum()))
        self.assertEqual(f.c_pointer().signature, "double(double, int32_t, bool, const float *)")
        values = np.arange(4, dtype="float32")
        where = values.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
        self.assertEqual(f.c_pointer()(2.5, -1, True, where), 1.5)
        self.assertEqual(f.c_pointer()(2.5, -1, False, where), 6.0)

    def test_conversions(self) -> None:
        """Numbers are converted where no part of them is lost by kind."""
        f = theano.function([self.x], self.x / 3)
        self.assertEqual(f.c_pointer("float(int)")(2), np.float32(2 / 3))
        i = T.lscalar("i")
        with self.assertRaisesRegex(ValueError, "another kind of number"):
            theano.function([i], i + 1).c_pointer("int64_t(double)")
        with self.assertRaisesRegex(ValueError, "another kind of number"):
            f.c_pointer("int(double)")

    def test_ranges(self) -> None:
        """Integers are not cut off, neither on their way in nor out."""
        i, k = T.lscalar("i"), T.iscalar("k")
        for variable, text in (
            (i, "int(int)"),
            (i, "int64_t(uint64_t)"),
            (k, "int64_t(int64_t)"),
        ):
            with self.subTest(text), self.assertRaisesRegex(ValueError, "another range"):
                theano.function([variable], variable * 2).c_pointer(text)
        self.assertEqual(theano.function([i], i * 2).c_pointer("int64_t(int)")(2**30), 2**31)

    def test_wrong_signatures(self) -> None:
        """Arguments that do not fit are refused, with the signature that does."""
        f = theano.function([self.x, self.y], self.x * self.y)
        for text in ("double(double)", "void(double, double)", "double(double, double, double)", "double(double *)"):
            with self.assertRaisesRegex(ValueError, r"does not fit[^|]*double\(double, double\)"):
                f.c_pointer(text)
        wrong: Any
        for wrong in (
            "double",
            "double(complex)",
            "double *(double)",
            "double(struct x)",
            "double(double **)",
            "(int)",
            3,
        ):
            with self.assertRaisesRegex(ValueError, "signature"):
                f.c_pointer(wrong)

    def test_names_in_signatures(self) -> None:
        """Arguments may have names, and types of several words."""
        parsed = parse_signature("void ( unsigned long n, const double*x, double *  y, void *data );")
        self.assertEqual(str(parsed), "void(unsigned long, const double *, double *, void *)")
        self.assertEqual(str(parse_signature("int(void)")), "int(void)")

    def test_half(self) -> None:
        """C has no name for half precision."""
        x = T.TensorType("float16", ())("x")
        with self.assertRaisesRegex(TypeError, "dtype that C has no type for"):
            theano.function([x], x * 2).c_pointer()


class TestArrays(unittest.TestCase):
    """Functions of arrays, and several results."""

    def setUp(self) -> None:
        self.m, self.v = T.dmatrix("m"), T.dvector("v")
        self.shapes = {self.m: (2, 3), "v": (3,)}
        self.values = np.arange(6.0).reshape(2, 3), np.array([1.0, -2.0, 0.5])

    def test_results(self) -> None:
        """Results are put where pointers lead to; one number may be returned."""
        f = theano.function([self.m, self.v], [(self.m**2).sum(), self.m.dot(self.v)])
        m, v = self.values
        product, total = np.zeros(2), np.zeros(1)
        operands = _pointer_to(m), _pointer_to(v)
        pointer = f.c_pointer("double(const double *, const double *, double *)", shapes=self.shapes)
        self.assertEqual(pointer(*operands, _pointer_to(product)), (m**2).sum())
        np.testing.assert_allclose(product, m.dot(v))
        product[:] = 0
        f.c_pointer(shapes=self.shapes)(*operands, _pointer_to(total), _pointer_to(product))
        np.testing.assert_allclose([*total, *product], [(m**2).sum(), *m.dot(v)])

    def test_status(self) -> None:
        """With pointers for all results, an integer is the number of an error."""
        i = T.lscalar("i")
        f = theano.function([self.v, i], self.v[i])
        pointer = f.c_pointer("int(const double *, int64_t, double *)", shapes={self.v: (3,)})
        out = np.zeros(1)
        self.assertEqual(pointer(_pointer_to(self.values[1]), -1, _pointer_to(out)), 0)
        self.assertEqual(out[0], 0.5)
        self.assertNotEqual(pointer(_pointer_to(self.values[1]), 3, _pointer_to(out)), 0)
        self.assertTrue(math.isnan(out[0]))
        self.assertRegex(pointer.message() or "", r"test_export_pointers\.py:\d+\): an index is out of bounds")
        self.assertIsNone(pointer.message())

    def test_errors(self) -> None:
        """A call that fails gives NaN, or 0 for integers."""
        i = T.lscalar("i")
        for dtype, wrong in (("float64", math.isnan), ("int64", lambda value: value == 0)):
            v = T.vector("v", dtype)
            pointer = theano.function([v, i], v[i] + 1).c_pointer(shapes={v: (3,)})
            values = np.ones(3, dtype)
            where = values.ctypes.data_as(pointer.argtypes[0])  # type: ignore[attr-defined]
            self.assertEqual(pointer(where, 2), 2)
            self.assertTrue(wrong(pointer(where, 7)))
            self.assertIn("out of bounds", pointer.message() or "")

    def test_unknown_lengths(self) -> None:
        """Lengths that nothing tells are asked for."""
        f = theano.function([self.v], T.exp(self.v))
        with self.assertRaisesRegex(TypeError, "lengths of some inputs are not known"):
            f.c_pointer()
        with self.assertRaisesRegex(TypeError, "lengths of some results depend on values"):
            theano.function([self.v], self.v[self.v > 0]).c_pointer(shapes={self.v: (3,)})
        with self.assertRaisesRegex(ValueError, "is not passed as const float"):
            f.c_pointer("void(const float *, double *)", shapes={self.v: (3,)})
        with self.assertRaisesRegex(ValueError, "is a result, but its pointer is const"):
            f.c_pointer("void(const double *, const double *)", shapes={self.v: (3,)})

    def test_memory_at_run_time(self) -> None:
        """Intermediate results may have any length."""
        f = theano.function([self.v], T.exp(self.v[self.v > 0]).sum())
        pointer = f.c_pointer(shapes={self.v: (3,)})
        self.assertAlmostEqual(pointer(_pointer_to(self.values[1])), np.exp([1, 0.5]).sum())


class TestShared(unittest.TestCase):
    """Shared variables."""

    def test_constants(self) -> None:
        """They keep the values that they had."""
        x, w = T.dscalar("x"), theano.shared(np.arange(3.0), "w")
        f = theano.function([x], (w * x).sum())
        before = f.c_pointer()
        w.set_value(np.ones(4))
        self.assertEqual((before(2.0), f.c_pointer()(2.0)), (6.0, 8.0))

    def test_updates(self) -> None:
        """Functions that update some are refused; copies that update none are not."""
        x, n = T.dscalar("x"), theano.shared(1.0, "n")
        f = theano.function([x], x * n, updates=[(n, n + 1)])
        with self.assertRaisesRegex(TypeError, "updates shared variables"):
            f.c_pointer()
        self.assertEqual(f.copy(delete_updates=True).c_pointer("double(double)")(3.0), 3.0)


class TestIntegrals(unittest.TestCase):
    """SciPy's integrals of the C functions."""

    def test_quad(self) -> None:
        """One variable, with and without data of the caller."""
        x = T.dscalar("x")
        f = theano.function([x], T.exp(-(x**2)) * T.cos(3 * x))
        expected = quad(f, 0, 5)
        for signature in ("double(double)", "double(double, void *)"):
            self.assertEqual(quad(LowLevelCallable(f.c_pointer(signature)), 0, 5), expected)

    def test_nquad(self) -> None:
        """Several variables: numbers, vectors of known and of any length."""
        x, y, v = T.dscalar("x"), T.dscalar("y"), T.dvector("v")
        ranges = [[0, 1], [0, 2]]
        numbers = theano.function([x, y], x * T.exp(-x * y))
        vector = theano.function([v], v[0] * T.exp(-v.prod()))
        expected = nquad(numbers, ranges)[0]
        for f, shapes in ((numbers, None), (vector, {v: (2,)}), (vector, None)):
            for signature in ("double(int, double *)", "double(int, double *, void *)"):
                pointer = f.c_pointer(signature, shapes=shapes)
                self.assertAlmostEqual(nquad(LowLevelCallable(pointer), ranges)[0], expected, 12)

    def test_wrong_count(self) -> None:
        """Another number of variables than the function has is an error of the call."""
        x, y = T.dscalar("x"), T.dscalar("y")
        pointer = theano.function([x, y], x * y).c_pointer("double(int, double *)")
        values = (ctypes.c_double * 3)(2, 3, 4)
        self.assertEqual(pointer(2, values), 6.0)
        self.assertTrue(math.isnan(pointer(3, values)))
        self.assertIn("number of elements", pointer.message() or "")

    def test_own_meaning(self) -> None:
        """A function of an integer and an array gets just these."""
        i, v = T.iscalar("i"), T.dvector("v")
        pointer = theano.function([i, v], v[i]).c_pointer("double(int, double *)", shapes={v: (3,)})
        self.assertEqual(pointer(2, (ctypes.c_double * 3)(2, 3, 4)), 4.0)


class TestThreads(unittest.TestCase):
    """Calls at the same time."""

    def test_temporary_arrays(self) -> None:
        """Threads do not share temporary arrays, small or large."""
        v = T.dvector("v")
        for length in (50, 20_000):
            outer = T.tanh(v) - T.tanh(v[::-1])
            f = theano.function([v], T.cumsum(outer).dot(v))
            pointer = f.c_pointer(shapes={v: (length,)})
            values = [np.random.default_rng(k).normal(size=length) for k in range(4)]
            expected = [pointer(_pointer_to(value)) for value in values]
            np.testing.assert_allclose(expected, [f(value) for value in values])
            with ThreadPoolExecutor(4) as pool:
                tasks = [pool.submit(_results, pointer, value) for value in values]
                results = [task.result() for task in tasks]
            self.assertEqual(results, [{value} for value in expected])

    def test_messages(self) -> None:
        """Each thread has messages of its own."""
        i, v = T.lscalar("i"), T.dvector("v")
        pointer = theano.function([v, i], v[i]).c_pointer(shapes={v: (2,)})
        pointer((ctypes.c_double * 2)(), 5)
        result: list[str | None] = []
        thread = threading.Thread(target=lambda: result.append(pointer.message()))
        thread.start()
        thread.join()
        self.assertEqual(result, [None])
        self.assertIsNotNone(pointer.message())


class TestCache(unittest.TestCase):
    """Code is compiled once."""

    def test_in_process(self) -> None:
        """Equal functions share their code."""
        x = T.dscalar("x")
        first = theano.function([x], T.exp(x) * 7.25).c_pointer()
        runs = code_library.compiler_runs
        second = theano.function([x], T.exp(x) * 7.25).c_pointer()
        self.assertEqual((code_library.compiler_runs, second.address), (runs, first.address))

    @slow
    def test_next_process(self) -> None:
        """The next process finds it on disk."""
        with tempfile.TemporaryDirectory() as folder:
            flags = f"{os.environ.get('THEANO_FLAGS', '')},base_compiledir={folder}".strip(",")
            environment = {**os.environ, "THEANO_FLAGS": flags}
            lines = [
                subprocess.run(
                    [sys.executable, "-c", _PROGRAM], env=environment, check=True, capture_output=True, text=True
                ).stdout.split()
                for _ in range(2)
            ]
        self.assertEqual([line[2] for line in lines], ["1", "0"])
        self.assertEqual(lines[0][:2], lines[1][:2])

    def test_lifetime(self) -> None:
        """Code stays loaded as long as the function object."""
        x = T.dscalar("x")
        saved = LowLevelCallable(theano.function([x], x * 11.5).c_pointer("double(double)"))
        self.assertAlmostEqual(quad(saved, 0, 1)[0], 5.75)
