from __future__ import annotations

import itertools
import unittest
from typing import Any

import numpy as np
from sparse_values import FORMATS, sparse_value

import theano_sparse as S
import theano_tensor as T
from theano_linker_c import function, shared
from theano_linker_c.modes import get_mode
from theano_tensor import grad

MODES: tuple[Any, ...] = ("FAST_RUN", get_mode("FAST_RUN").clone(linker="py"))


def ops(f: Any, kind: type) -> list[Any]:
    """Return the ops of one kind in the graph of a function."""
    return [node.op for node in f.maker.fgraph.apply_nodes if isinstance(node.op, kind)]


class TestForms(unittest.TestCase):
    def setUp(self) -> None:
        rng = np.random.default_rng(0)
        self.m, self.z = rng.normal(size=(4, 10)), rng.normal(size=(3, 10))

    def test_which_sums_become_one_op(self) -> None:
        for format in FORMATS:
            x, m, z, w = S.matrix(format, "x"), T.dmatrix("m"), T.dmatrix("z"), T.dmatrix("w")
            c = T.dscalar("c")
            value = sparse_value(format, (3, 4))
            p = value @ self.m
            for product in (S.dot(x, m), S.structured_dot(x, m)):
                cases: list[tuple[Any, Any]] = [
                    (z + product, self.z + p),
                    (z - product, self.z - p),
                    (z - c * product, self.z - 1.5 * p),
                    (z - 0.5 * c * product, self.z - 0.75 * p),
                    (z + (-product) * c, self.z - 1.5 * p),
                    (z + w + c * product, self.z * 3 + 1.5 * p),
                ]
                for result, expected in cases:
                    for mode in MODES:
                        f = function([x, m, z, w, c], result, mode=mode, on_unused_input="ignore")
                        self.assertEqual(len(ops(f, S.CompressedUsmm)), 1, result)
                        np.testing.assert_allclose(f(value, self.m, self.z, self.z * 2, 1.5), expected)

    def test_what_stays_as_it_is(self) -> None:
        x, m, z, row = S.csr_matrix("x"), T.dmatrix("m"), T.dmatrix("z"), T.dvector("row")
        product = S.dot(x, m)
        for outputs in ([product + row], [product + z, product], [z * product], [product - z]):
            f = function([x, m, z, row], outputs, mode="FAST_RUN", on_unused_input="ignore")
            self.assertEqual(ops(f, S.CompressedUsmm), [])

    def test_dense_times_sparse(self) -> None:
        x, m, z = S.csr_matrix("x"), T.dmatrix("m"), T.dmatrix("z")
        value = sparse_value("csr", (4, 3))
        f = function([x, m, z], z - 2.0 * S.dot(m, x), mode="FAST_RUN")
        self.assertEqual(len(ops(f, S.CompressedUsmm)), 1)
        np.testing.assert_allclose(f(value, self.m.T, self.m.T[:, :3]), self.m.T[:, :3] - 2 * (self.m.T @ value))

    def test_memory(self) -> None:
        for format, mode in itertools.product(FORMATS, MODES):
            x, m, z = S.matrix(format, "x"), T.dmatrix("m"), T.dmatrix("z")
            value = sparse_value(format, (3, 4))
            plain = function([x, m, z], z - S.dot(x, m), mode=mode)
            self.assertFalse(ops(plain, S.CompressedUsmm)[0].inplace)
            before = self.z.copy()
            np.testing.assert_allclose(plain(value, self.m, self.z), self.z - value @ self.m)
            np.testing.assert_array_equal(self.z, before)
            temporary = function([x, m, z], T.tanh(z) - S.dot(x, m), mode=mode)
            self.assertTrue(ops(temporary, S.CompressedUsmm)[0].inplace)
            for operands in (self.z, np.asfortranarray(self.z), np.repeat(self.z, 2, 1)[:, ::2]):
                np.testing.assert_allclose(temporary(value, self.m, operands), np.tanh(operands) - value @ self.m)
            used = T.tanh(z)
            both = function([x, m, z], [used - S.dot(x, m), used], mode=mode)
            result = both(value, self.m, self.z)
            np.testing.assert_allclose(result[0], np.tanh(self.z) - value @ self.m)
            np.testing.assert_allclose(result[1], np.tanh(self.z))
        self.assertIsInstance(S.UsmmCscDense(inplace=True), S.CompressedUsmm)
        self.assertEqual(S.UsmmCscDense(inplace=True).destroy_map, {0: [6]})

    def test_z_that_is_transposed_or_broadcast(self) -> None:
        x, m, z, row = S.csc_matrix("x"), T.dmatrix("m"), T.dmatrix("z"), T.dvector("row")
        value = sparse_value("csc", (3, 4))
        broadcasted = T.alloc(row, 3, 10)
        for addend, expected in ((T.exp(z).T, np.exp(self.z)), (broadcasted, np.tile(self.z[0], (3, 1)))):
            f = function([x, m, z, row], addend - S.dot(x, m), mode="FAST_RUN", on_unused_input="ignore")
            np.testing.assert_allclose(f(value, self.m, self.z.T, self.z[0]), expected - value @ self.m)

    def test_add_s_d(self) -> None:
        for format, mode in itertools.product(FORMATS, MODES):
            x, z = S.matrix(format, "x"), T.dmatrix("z")
            value, dense = sparse_value(format, (3, 10), kind="unsorted"), self.z.copy()
            plain = function([x, z], x + z, mode=mode)
            self.assertFalse(ops(plain, S.CompressedToDense)[0].inplace)
            np.testing.assert_allclose(plain(value, self.z), self.z + value.toarray())
            np.testing.assert_array_equal(self.z, dense)
            temporary = function([x, z], x + T.exp(z), mode=mode)
            self.assertTrue(ops(temporary, S.CompressedToDense)[0].inplace)
            np.testing.assert_allclose(temporary(value, self.z), np.exp(self.z) + value.toarray())
            with self.assertRaisesRegex(ValueError, "differ"):
                temporary(value, self.z[:2])


class TestDirect(unittest.TestCase):
    def test_documented_inputs(self) -> None:
        value = sparse_value("csc", (3, 4), "float32")
        x, m, z = S.csc_matrix("x", "float32"), T.fmatrix("m"), T.dmatrix("z")
        data, indices, indptr, shape = S.csm_properties(x)
        result = S.UsmmCscDense()(2.0, data, indices, indptr, shape[0], m, z)
        self.assertEqual(result.type.dtype, "float64")
        dense, addend = np.ones((4, 2), "float32"), np.arange(6.0).reshape(3, 2)
        np.testing.assert_allclose(function([x, m, z], result)(value, dense, addend), addend + 2 * (value @ dense))

    def test_wrong_inputs(self) -> None:
        x, m, z = S.csc_matrix("x", "float64"), T.dmatrix("m"), T.dmatrix("z")
        data, indices, indptr, shape = S.csm_properties(x)
        with self.assertRaisesRegex(TypeError, "`alpha` is a number"):
            S.UsmmCscDense()(T.dvector(), data, indices, indptr, shape[0], m, z)
        with self.assertRaisesRegex(TypeError, "`z` is a matrix"):
            S.UsmmCscDense()(1.0, data, indices, indptr, shape[0], m, T.dvector())
        with self.assertRaisesRegex(TypeError, "cannot take the memory of `z`"):
            S.UsmmCscDense(inplace=True)(1.0, data, indices, indptr, shape[0], m, T.fmatrix("z"))
        for mode in MODES:
            f = function([x, m, z], z - S.dot(x, m), mode=mode)
            with self.assertRaisesRegex(ValueError, "is added to"):
                f(sparse_value("csc", (3, 4)), np.ones((4, 2)), np.ones((2, 2)))
            with self.assertRaisesRegex(ValueError, "columns"):
                f(sparse_value("csc", (3, 4)), np.ones((3, 2)), np.ones((3, 2)))


class TestSharedValues(unittest.TestCase):
    """New values of shared variables: only the rows that a product has are read and written."""

    def step(self, x: Any, w: Any, mode: Any) -> Any:
        target = T.dmatrix("target")
        error = S.structured_dot(x, w) - target
        gradient = grad(T.sqr(error).sum() / 2, w)
        return function([x, target], error, updates=[(w, w - 0.1 * gradient)], mode=mode)

    def test_training(self) -> None:
        for format, mode, columns in itertools.product(FORMATS, MODES, (1, 2, 10)):
            rng = np.random.default_rng(0)
            start, target = rng.normal(size=(9, columns)), rng.normal(size=(4, columns))
            w = shared(start, name="w")
            x = S.matrix(format, "x")
            f = self.step(x, w, mode)
            self.assertEqual(len(ops(f, S.UsmmRows)), 1)
            expected = start.copy()
            for seed in range(3):
                value = sparse_value(format, (4, 9), seed=seed, kind=("plain", "zeros", "unsorted")[seed])
                error = value @ expected - target
                np.testing.assert_allclose(f(value, target), error)
                expected -= 0.1 * (value.T @ error)
                np.testing.assert_allclose(w.get_value(), expected)

    def test_a_failed_call_changes_nothing(self) -> None:
        start = np.ones((9, 2))
        w = shared(start, name="w")
        x, m = S.csr_matrix("x"), T.dmatrix("m")
        for mode in MODES:
            f = function([x, m], [], updates=[(w, w + 2.0 * S.dot(x, m))], mode=mode)
            self.assertEqual(len(ops(f, S.UsmmRows)), 1)
            for shape, columns in (((8, 4), 2), ((10, 4), 2), ((9, 4), 1), ((9, 4), 3)):
                with self.assertRaisesRegex(ValueError, "is added to"):
                    f(sparse_value("csr", shape), np.ones((4, columns)))
                np.testing.assert_array_equal(w.get_value(), start)
            with self.assertRaisesRegex(ValueError, "columns"):
                f(sparse_value("csr", (9, 4)), np.ones((5, 2)))

    def test_borrowed_values_stay(self) -> None:
        w = shared(np.zeros((9, 2)), name="w")
        seen = w.get_value(borrow=True)
        x, m = S.csr_matrix("x"), T.dmatrix("m")
        f = function([x, m], [], updates=[(w, w + S.dot(x, m))], mode="FAST_RUN")
        value = sparse_value("csr", (9, 4))
        f(value, np.ones((4, 2)))
        np.testing.assert_array_equal(seen, 0)
        np.testing.assert_allclose(w.get_value(), value @ np.ones((4, 2)))
