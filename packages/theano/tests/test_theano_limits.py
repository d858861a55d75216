"""Limits that programs may touch: names of dtypes that NumPy made, lengths that no integer holds, wide expressions."""

from __future__ import annotations

import time
import unittest
from typing import Any

import numpy as np

import theano
from theano import sparse, tensor as T
from theano_testing.tiers import slow

DTYPE = np.str_("float32")


class TestTextsOfNumpy(unittest.TestCase):
    def test_types(self) -> None:
        kind = T.TensorType(DTYPE, (False,))
        self.assertIs(type(kind.dtype), str)
        self.assertEqual(kind, T.TensorType("float32", (False,)))
        for other in (
            theano.scalar.Scalar(DTYPE),
            sparse.SparseType(np.str_("csr"), DTYPE),
            T.matrix(dtype=DTYPE).type,
        ):
            self.assertEqual(str(other.dtype), "float32")
        self.assertEqual(theano.scalar.upcast(DTYPE, "int8"), "float32")

    def test_operations(self) -> None:
        x = T.dvector("x")
        outcome = {
            "cast": T.cast(x, DTYPE) * 2,
            "astype": x.astype(DTYPE) + 1,
            "zeros": T.zeros((2,), dtype=DTYPE) + 1,
            "sum": T.sum(x.astype("float32"), dtype=DTYPE),
            "mean": T.mean(x, dtype=DTYPE),
            "prod": T.prod(x.astype("float32"), dtype=DTYPE, acc_dtype=np.str_("float64")),
            "eye": T.eye(2, dtype=DTYPE) * 2,
        }
        for name, y in outcome.items():
            for mode in (np.str_("FAST_RUN"), "FAST_COMPILE"):
                with self.subTest(name=name, mode=mode):
                    result = theano.function([x], y, mode=mode, on_unused_input="ignore")(np.ones(2))
                    self.assertEqual(result.dtype, np.float32)


class TestLengths(unittest.TestCase):
    def test_more_elements_than_can_be_counted(self) -> None:
        x, y = T.drow("x"), T.dcol("y")
        long = np.broadcast_to(np.ones(1), (1 << 33,))
        for z in ((x + y).sum(), (x + y).max(axis=0), T.stack([(x * y).sum(), (x * y).max()])):
            f = theano.function([x, y], z, mode="FAST_RUN")
            with self.subTest(z=str(z)), self.assertRaises((ValueError, MemoryError)):
                f(long[None], long[:, None])
            np.testing.assert_array_equal(
                f(np.ones((1, 2)), np.ones((3, 1))),
                theano.function([x, y], z, mode="FAST_COMPILE")(np.ones((1, 2)), np.ones((3, 1))),
            )


class TestWideExpressions(unittest.TestCase):
    def check(self, make: Any, count: int, expected: Any) -> None:
        xs = [T.dvector() for _ in range(count)]
        begin = time.process_time()
        f = theano.function(xs, make(xs), mode="FAST_RUN")
        # One term takes some 0.2 ms; quadratic growth would take minutes.
        self.assertLess(time.process_time() - begin, 20)
        np.testing.assert_allclose(f(*[np.ones(2)] * count), expected)

    @slow
    def test_sums_and_products(self) -> None:
        self.check(lambda xs: T.add(*xs), 4000, 4000.0)
        self.check(lambda xs: T.mul(*xs), 4000, 1.0)

    @slow
    def test_stacks_and_joins(self) -> None:
        self.check(T.stack, 3000, np.ones((3000, 2)))
        self.check(T.concatenate, 3000, np.ones(6000))
