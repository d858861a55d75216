from __future__ import annotations

import unittest

import numpy as np

from theano_graph import config
from theano_sparse import all_dtypes
from theano_testing.sparse import sparse_random_inputs


class TestSparseRandomInputs(unittest.TestCase):
    def test_formats_dtypes_and_shapes(self) -> None:
        for format in ("csc", "csr"):
            for dtype in sorted(all_dtypes):
                variables, values = sparse_random_inputs(format, (4, 5), n=2, out_dtype=dtype)
                self.assertEqual((len(variables), len(values)), (2, 2))
                for variable, value in zip(variables, values, strict=True):
                    self.assertEqual((variable.format, variable.dtype), (format, dtype))
                    self.assertEqual((value.format, value.dtype, value.shape), (format, dtype, (4, 5)))
        self.assertEqual(sparse_random_inputs("csr", (2, 2))[0][0].dtype, config.floatX)

    def test_share_of_what_is_stored(self) -> None:
        np.random.seed(1)  # noqa: NPY002  # the generator that the function documents
        for p in (0.0, 0.25, 1.0):
            stored = sparse_random_inputs("csc", (100, 100), p=p)[1][0].nnz
            self.assertAlmostEqual(stored / 1e4, p, delta=0.02)

    def test_bounds(self) -> None:
        for gap, dtype, low, high in (
            (None, "float64", 0, 1),
            (None, "int32", 0, 49),
            ((3,), "int8", 0, 2),
            ((-2, 4), "int16", -2, 3),
            ((2.0, 2.5), "float32", 2, 2.5),
            ((0.5,), "float64", 0, 0.5),
        ):
            value = sparse_random_inputs("csr", (50, 50), out_dtype=dtype, gap=gap, p=1)[1][0].toarray()
            self.assertTrue((value >= low).all() and (value <= high).all(), gap)
            self.assertGreater(value.max() - value.min(), (high - low) / 2)

    def test_stored_zeros_and_positions_out_of_order(self) -> None:
        for format in ("csc", "csr"):
            (plain,) = sparse_random_inputs(format, (6, 6), gap=(1, 2), p=0.7)[1]
            self.assertTrue(plain.has_sorted_indices and (plain.data != 0).all())
            (zeros,) = sparse_random_inputs(format, (6, 6), gap=(1, 2), p=0.7, explicit_zero=True)[1]
            self.assertEqual((zeros.data == 0).sum(), 1)
            (turned,) = sparse_random_inputs(format, (6, 6), p=0.7, unsorted_indices=True)[1]
            self.assertFalse(turned.copy().has_sorted_indices)
            first = turned.indices[: turned.indptr[1]]
            self.assertEqual(first.tolist(), sorted(first, reverse=True))

    def test_draws_until_something_can_be_changed(self) -> None:
        for _ in range(50):
            (value,) = sparse_random_inputs("csr", (2, 2), p=0.3, unsorted_indices=True, gap=(1, 2))[1]
            self.assertFalse(value.copy().has_sorted_indices)
            (value,) = sparse_random_inputs("csr", (1, 2), p=0.1, explicit_zero=True, gap=(1, 2))[1]
            self.assertEqual((value.data == 0).sum(), 1)

    def test_wrong_arguments(self) -> None:
        with self.assertRaisesRegex(ValueError, "no format 'coo'"):
            sparse_random_inputs("coo", (2, 2))
        with self.assertRaisesRegex(TypeError, "float16"):
            sparse_random_inputs("csr", (2, 2), out_dtype="float16")
        with self.assertRaisesRegex(ValueError, "a chance from 0 to 1"):
            sparse_random_inputs("csr", (2, 2), p=1.5)
        with self.assertRaisesRegex(ValueError, "below 0"):
            sparse_random_inputs("csr", (2, 2), out_dtype="uint8", gap=(-1, 3))
        with self.assertRaisesRegex(ValueError, "3 numbers"):
            sparse_random_inputs("csr", (2, 2), gap=(1, 2, 3))
        with self.assertRaisesRegex(ValueError, "could be zero"):
            sparse_random_inputs("csr", (2, 2), p=0, explicit_zero=True)
        with self.assertRaisesRegex(ValueError, "out of order"):
            sparse_random_inputs("csr", (2, 2), p=0, unsorted_indices=True)
