from __future__ import annotations

import pickle
import unittest
from typing import Any

import numpy as np
import scipy.sparse
from sparse_values import FORMATS, run, sparse_value

import theano_tensor as T
from theano_graph import debugprint
from theano_linker_c import function, shared
from theano_sparse import (
    CSC,
    CSR,
    SparseType,
    all_dtypes,
    as_sparse_or_tensor_variable,
    as_sparse_variable,
    csc_matrix,
    csm_data,
    csm_properties,
    csm_shape,
    csr_matrix,
    dense_from_sparse,
    matrix,
    sp_ones_like,
    sp_zeros_like,
    structured_add,
    with_data,
)


class TestSparseType(unittest.TestCase):
    def test_all_dtypes(self) -> None:
        for dtype in sorted(all_dtypes):
            for format in FORMATS:
                x = matrix(format, "x", dtype)
                value = sparse_value(format, (3, 4), dtype)
                np.testing.assert_array_equal(run([x], structured_add(x, x.sum() * 0), value), value.toarray())
                self.assertEqual((x.dtype, x.format, x.ndim), (dtype, format, 2))

    def test_both_orders_of_arguments(self) -> None:
        self.assertEqual(SparseType("csr", "float32"), SparseType("float32", "csr"))
        self.assertNotEqual(SparseType("csr", "float32"), SparseType("csc", "float32"))
        self.assertEqual(hash(SparseType("csr", "int8")), hash(SparseType("csr", "int8")))

    def test_wrong_types(self) -> None:
        with self.assertRaisesRegex(ValueError, "no format 'coo'"):
            SparseType("coo", "float32")
        with self.assertRaisesRegex(TypeError, "float16"):
            SparseType("csr", "float16")
        with self.assertRaisesRegex(TypeError, "do not broadcast"):
            SparseType("csr", "float32", broadcastable=(True, False))

    def test_values_are_converted_without_loss_only(self) -> None:
        kind = SparseType("csr", "float32")
        value = sparse_value("csc", (2, 3), "float32")
        self.assertEqual(kind.filter(value).format, "csr")
        self.assertEqual(kind.filter(scipy.sparse.csr_array(value)).toarray().tolist(), value.toarray().tolist())
        for wrong, words in (
            (np.zeros((1, 2, 2), "float32"), "sparse matrix is wanted"),
            (value.astype("float64"), "without loss"),
        ):
            with self.assertRaisesRegex(TypeError, words):
                kind.filter(wrong)
        with self.assertRaisesRegex(TypeError, "a csr matrix of float32 is wanted"):
            kind.filter(value, strict=True)
        self.assertEqual(kind.filter(np.eye(2, dtype="float32")).nnz, 2)
        with self.assertRaisesRegex(TypeError, "sparse matrix is wanted"):
            kind.filter(np.eye(2, dtype="float32"), strict=True)
        self.assertEqual(kind.filter(value.astype("float64"), allow_downcast=True).dtype, "float32")

    def test_equality_of_values(self) -> None:
        kind = SparseType("csr", "float64")
        value = sparse_value("csr", (4, 5))
        stored = value.copy()
        stored[0, 0] = 0
        stored.data[stored.data == 0] = 0
        self.assertTrue(kind.values_eq(value, value.copy()))
        self.assertTrue(kind.values_eq_approx(value, value * (1 + 1e-12)))
        self.assertFalse(kind.values_eq_approx(value, value * 1.01))
        self.assertFalse(kind.values_eq(value, value.T.asformat("csr")))
        unsorted = sparse_value("csr", (4, 5), kind="unsorted")
        self.assertTrue(kind.values_eq_approx(value, unsorted))

    def test_constants_are_merged_by_value(self) -> None:
        first, second = (as_sparse_variable(sparse_value("csr", (3, 3), kind=k)) for k in ("plain", "unsorted"))
        self.assertEqual(first.signature(), second.signature())
        self.assertTrue(first.equals(second))
        self.assertFalse(first.equals(as_sparse_variable(sparse_value("csr", (3, 3), seed=1))))

    def test_as_sparse_variable(self) -> None:
        x = csr_matrix("x")
        self.assertIs(as_sparse_variable(x), x)
        self.assertEqual(as_sparse_or_tensor_variable(np.eye(2)).type, T.as_tensor_variable(np.eye(2)).type)
        for wrong in (T.dmatrix("m"), np.eye(2), 3):
            with self.assertRaisesRegex(TypeError, "sparse"):
                as_sparse_variable(wrong)

    def test_shared(self) -> None:
        value = sparse_value("csc", (3, 4))
        s = shared(value, name="s")
        f = function([], s.sum(), updates=[(s, structured_add(s, 1))])
        self.assertAlmostEqual(float(f()), value.sum())
        np.testing.assert_allclose(s.get_value().data, value.data + 1)
        self.assertEqual(shared(value, format="csr").type.format, "csr")

    def test_printing_and_pickling(self) -> None:
        x = csc_matrix("x")
        self.assertIn("CSM{csc}", str(debugprint(structured_add(x, 2), file="str")))
        again = pickle.loads(pickle.dumps(structured_add(x, 2)))
        self.assertEqual(again.type, x.type)
        f = pickle.loads(pickle.dumps(function([x], x.T)))
        value = sparse_value("csc", (2, 3))
        np.testing.assert_array_equal(f(value).toarray(), value.toarray().T)

    def test_what_a_symbol_refuses(self) -> None:
        x: Any = csr_matrix("x")
        for act in (len, iter, bool):
            with self.assertRaises(TypeError):
                act(x)


class TestProperties(unittest.TestCase):
    def test_round_trip_and_transpose(self) -> None:
        value = scipy.sparse.csc_matrix(np.asarray([[0, 1, 1], [0, 0, 0], [1, 0, 0]]))
        x = csc_matrix("x", "int64")
        np.testing.assert_array_equal(run([x], CSC(*csm_properties(x)), value), value.toarray())
        np.testing.assert_array_equal(run([x], CSR(*csm_properties(x)), value), value.toarray().T)

    def test_parts(self) -> None:
        for format in FORMATS:
            value = sparse_value(format, (3, 5))
            x = matrix(format, "x")
            for part, expected in zip(
                csm_properties(x), (value.data, value.indices, value.indptr, value.shape), strict=True
            ):
                np.testing.assert_array_equal(run([x], part, value), expected)
            np.testing.assert_array_equal(run([x], x.shape, value), (3, 5))
            self.assertEqual(csm_shape(x).type.dtype, "int64")

    def test_positions_that_int32_does_not_hold(self) -> None:
        x = csr_matrix("x")
        f = function([x], csm_properties(x)[1])
        for column, fits in ((2**31 - 1, True), (2**31, False)):
            positions = np.asarray([0, column]), np.asarray([0, 2])
            value = scipy.sparse.csr_matrix((np.ones(2), *positions), shape=(1, 2**32))
            if fits:
                np.testing.assert_array_equal(f(value), positions[0])
            else:
                with self.assertRaisesRegex(ValueError, "positions beyond 2147483647"):
                    f(value)

    def test_ones_and_zeros(self) -> None:
        value = sparse_value("csr", (3, 5), "float32")
        x = csr_matrix("x", "float32")
        np.testing.assert_array_equal(run([x], sp_ones_like(x), value), value.toarray() != 0)
        zeros = function([x], sp_zeros_like(x))(value)
        self.assertEqual((zeros.nnz, zeros.shape, zeros.dtype), (0, (3, 5), "float32"))

    def test_the_inputs_of_a_function_stay_as_they_are(self) -> None:
        value = sparse_value("csr", (3, 5))
        before = value.copy()
        x = csr_matrix("x")
        f = function([x], with_data(x, csm_data(x) * 2 + 1))
        f(value)
        f(value)
        np.testing.assert_array_equal(value.toarray(), before.toarray())

    def test_wrong_arrays(self) -> None:
        data, indices, indptr = T.dvector("data"), T.ivector("indices"), T.ivector("indptr")
        shape = T.lvector("shape")
        f = function([data, indices, indptr, shape], CSR(data, indices, indptr, shape))
        fine = ([1.0, 2.0], np.asarray([0, 2], "int32"), np.asarray([0, 1, 2], "int32"), [2, 3])
        self.assertEqual(f(*fine).shape, (2, 3))
        wrong: list[tuple[int, Any, str]] = [
            (0, [1.0], "1 elements have 2 positions"),
            (1, np.asarray([0, 3], "int32"), "positions must be from 0 to 2"),
            (1, np.asarray([-1, 0], "int32"), "positions must be from 0 to 2"),
            (2, np.asarray([0, 2], "int32"), "2 major slices need 3 entries in indptr"),
            (2, np.asarray([0, 3, 2], "int32"), "must grow"),
            (3, [2, 3, 4], "a shape has 2 lengths"),
        ]
        for position, value, words in wrong:
            operands: list[Any] = list(fine)
            operands[position] = value
            with self.assertRaisesRegex(ValueError, words):
                f(*operands)
        # Where the matrix itself is left out, the shape is still compared.
        for mode in ("FAST_RUN", "FAST_COMPILE"):
            f = function(
                [data, indices, indptr, shape], dense_from_sparse(CSR(data, indices, indptr, shape)), mode=mode
            )
            np.testing.assert_array_equal(f(*fine), [[1, 0, 0], [0, 0, 2]])
            for position, value, _ in (*wrong, (2, np.asarray([1, 1, 2], "int32"), ""), (3, [5, 3], "")):
                arrays = list(fine)
                arrays[position] = value
                with self.subTest(mode=mode, value=value), self.assertRaises(ValueError):
                    f(*arrays)
        with self.assertRaisesRegex(TypeError, "vector of integers"):
            CSR(data, data, indptr, shape)
        with self.assertRaisesRegex(TypeError, "`data` is a vector"):
            CSR(T.dmatrix(), indices, indptr, shape)
