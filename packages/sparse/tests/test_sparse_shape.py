from __future__ import annotations

import unittest
from typing import Any

import numpy as np
from sparse_values import FORMATS, differences, run, sparse_value

import theano_sparse as S
import theano_tensor as T
from theano_linker_c import function
from theano_tensor import grad

WHOLE = S.DenseFromSparse(sparse_grad=False)


class TestTranspose(unittest.TestCase):
    def test_values_type_and_gradient(self) -> None:
        value = sparse_value("csc", (3, 4))
        x = S.csc_matrix("x")
        for transposed in (x.T, x.transpose(), S.transpose(x)):
            self.assertEqual(transposed.type.format, "csr")
            np.testing.assert_array_equal(run([x], transposed, value), value.toarray().T)
        gradient = grad(T.sqr(WHOLE(x.T)).sum(), x)
        self.assertEqual(gradient.type, x.type)
        np.testing.assert_allclose(run([x], gradient, value), 2 * value.toarray())


class TestParts(unittest.TestCase):
    def test_values(self) -> None:
        for format in FORMATS:
            value = sparse_value(format, (5, 6))
            dense = value.toarray()
            x, i, j = S.matrix(format, "x"), T.lscalar("i"), T.lscalar("j")
            cases: list[tuple[Any, Any]] = [
                (x[1:3, 2:5], dense[1:3, 2:5]),
                (x[:, 1:], dense[:, 1:]),
                (x[2:], dense[2:]),
                (x[::2, ::-1], dense[::2, ::-1]),
                (x[-1:, :-2], dense[-1:, :-2]),
                (x[4:2, :], dense[4:2, :]),
                (x[1, 2], dense[1, 2]),
                (x[-1, -2], dense[-1, -2]),
            ]
            for part, expected in cases:
                np.testing.assert_array_equal(run([x], part, value), expected)
            np.testing.assert_array_equal(run([x, i, j], x[i, j], value, 2, 3), dense[2, 3])
            np.testing.assert_array_equal(run([x, i, j], x[i:, :j], value, 2, 3), dense[2:, :3])

    def test_what_is_refused(self) -> None:
        x = S.csr_matrix("x")
        for index in ((0, slice(None)), (slice(1, 2), 0), 0):
            with self.assertRaisesRegex(NotImplementedError, "sparse vector"):
                x[index]
        with self.assertRaisesRegex(TypeError, "integers"):
            x[1.5, 0]
        with self.assertRaisesRegex(IndexError, "3 indices"):
            x[0, 1, 2]
        with self.assertRaisesRegex(IndexError, "row 7 is out of range for 5"):
            run([x], x[7, 0], sparse_value("csr", (5, 6)))
        i, rows = T.lvector("i"), S.as_sparse_variable(sparse_value("csr", (1, 6)))
        for change in (S.get_item_list_grad(x, i, rows), S.get_item_2lists_grad(x, i, i, T.as_tensor_variable([1.0]))):
            for number in (5, -6):
                with self.assertRaisesRegex(IndexError, f"{number} is out of range for 5"):
                    run([x, i], change, sparse_value("csr", (5, 6)), np.array([number]))

    def test_gradients(self) -> None:
        for format in FORMATS:
            value = sparse_value(format, (5, 6))
            x, i = S.matrix(format, "x"), T.as_tensor_variable(np.int64(2)) * 1
            parts: list[tuple[Any, Any]] = [
                (x[1:3, 2:5], np.s_[1:3, 2:5]),
                (x[::2, ::-1], np.s_[::2, ::-1]),
                (x[-2:, :-2], np.s_[-2:, :-2]),
                (x[4:2, :], np.s_[4:2, :]),
                (x[i:, : i + 1], np.s_[2:, :3]),
            ]
            for part, index in parts:
                expected = np.zeros((5, 6))
                expected[index] = 2 * value.toarray()[index]
                for cost in (T.sqr(WHOLE(part)).sum(), S.sp_sum(S.sqr(part), sparse_grad=True)):
                    gradient = grad(cost, x)
                    np.testing.assert_allclose(run([x], gradient, value), expected)
                    again = grad(T.sqr(WHOLE(gradient) if S.is_sparse(gradient) else gradient).sum(), x)
                    np.testing.assert_allclose(run([x], again, value), 4 * expected)
            for element, position in ((x[1, 2], (1, 2)), (x[-1, i], (4, 2))):
                expected = np.zeros((5, 6))
                expected[position] = 2 * value.toarray()[position]
                np.testing.assert_allclose(run([x], grad(T.sqr(element), x), value), expected)

    def test_a_part_that_does_not_fit(self) -> None:
        x = S.csr_matrix("x")
        scattered = S.ScatterPart(((True, True, False), (False, False, False)))(x, T.as_tensor_variable([5, 6]), 1, 3)
        value = sparse_value("csr", (2, 6))
        np.testing.assert_array_equal(run([x], scattered, value)[1:3], value.toarray())
        with self.assertRaisesRegex(ValueError, "a part of 2 x 6 has the shape"):
            run([x], scattered, sparse_value("csr", (3, 6)))


class TestDiagonals(unittest.TestCase):
    def test_diag(self) -> None:
        for shape in ((3, 3), (2, 4), (4, 2)):
            value = sparse_value("csr", shape, seed=3)
            x = S.csr_matrix("x")
            np.testing.assert_array_equal(run([x], S.diag(x), value), np.diag(value.toarray()))
            np.testing.assert_array_equal(run([x], S.diag(x).shape, value), [min(shape)])
            expected = np.zeros(shape)
            np.fill_diagonal(expected, 2 * np.diag(value.toarray()))
            np.testing.assert_allclose(run([x], grad(T.sqr(S.diag(x)).sum(), x), value), expected)

    def test_square_diagonal(self) -> None:
        v = T.dvector("v")
        value = np.array([1.0, 0.0, -2.0])
        result = S.square_diagonal(v)
        self.assertEqual(result.type.format, "csc")
        np.testing.assert_array_equal(run([v], result, value), np.diag(value))
        np.testing.assert_allclose(run([v], grad(T.sqr(WHOLE(result)).sum(), v), value), 2 * value)
        with self.assertRaisesRegex(TypeError, "vector"):
            S.square_diagonal(T.dmatrix())


class TestStacks(unittest.TestCase):
    def test_values_and_gradients(self) -> None:
        values = [sparse_value("csr", (2, 3)), sparse_value("csc", (2, 3), seed=1)]
        x, y = S.csr_matrix("x"), S.csc_matrix("y")
        for stack, reference in ((S.hstack, np.hstack), (S.vstack, np.vstack)):
            result = stack([x, y])
            self.assertEqual(result.type.format, "csc")
            self.assertEqual(stack([x, y], "csr", "float32").type, S.SparseType("csr", "float32"))
            np.testing.assert_array_equal(run([x, y], result, *values), reference([v.toarray() for v in values]))
            for symbol, value in ((x, values[0]), (y, values[1])):
                gradient = grad(T.sqr(WHOLE(result)).sum(), symbol)
                self.assertEqual(gradient.type, symbol.type)
                np.testing.assert_allclose(run([x, y], gradient, *values), 2 * value.toarray())

    def test_second_derivatives(self) -> None:
        x, y = S.csr_matrix("x"), S.csr_matrix("y")
        values = [sparse_value("csr", (2, 3)), sparse_value("csr", (2, 3), seed=1)]
        for stack in (S.hstack, S.vstack):
            first = grad((WHOLE(stack([x, y])) ** 3).sum(), x)
            second = grad(S.sp_sum(first), x)
            np.testing.assert_allclose(run([x, y], second, *values), 6 * values[0].toarray())

    def test_wrong_blocks(self) -> None:
        x, y = S.csr_matrix("x"), S.csr_matrix("y")
        with self.assertRaisesRegex(ValueError, "nothing to stack"):
            S.hstack([])
        with self.assertRaisesRegex(ValueError, "rows"):
            run([x, y], S.hstack([x, y]), sparse_value("csr", (2, 3)), sparse_value("csr", (3, 3)))


class TestSum(unittest.TestCase):
    def test_values_and_gradients(self) -> None:
        for format in FORMATS:
            value = sparse_value(format, (3, 4))
            x = S.matrix(format, "x")
            for axis in (None, 0, 1):
                for structured in (False, True):
                    result = S.sp_sum(x, axis, structured)
                    np.testing.assert_allclose(run([x], result, value), value.toarray().sum(axis))
                    np.testing.assert_array_equal(run([x], result.shape, value), np.shape(value.toarray().sum(axis)))

                    def compute(a: Any, axis: Any = axis) -> Any:
                        return (a.sum(axis) ** 2).sum()

                    gradient = grad(T.sqr(result).sum(), x)
                    self.assertEqual(gradient.type, x.type)
                    positions = value.toarray() != 0 if structured else None
                    np.testing.assert_allclose(
                        run([x], gradient, value), differences(compute, [value], 0, positions), atol=1e-6
                    )
        with self.assertRaisesRegex(ValueError, "no axis 2"):
            S.sp_sum(x, 2)


class TestRowsFromList(unittest.TestCase):
    def test_values_and_sparse_gradients(self) -> None:
        table, rows, ilist = T.dmatrix("table"), T.dmatrix("rows"), T.lvector("ilist")
        values = (np.zeros((5, 2)), np.arange(6.0).reshape(3, 2), [4, 1, -1])
        expected = np.zeros((5, 2))
        np.add.at(expected, values[2], values[1])
        result = S.construct_sparse_from_list(table, rows, ilist)
        np.testing.assert_array_equal(run([table, rows, ilist], result, *values), expected)
        gradient = grad(T.sqr(T.sparse_grad(table[ilist])).sum(), table)
        self.assertEqual(gradient.type, S.SparseType("csc", "float64"))
        start = np.random.default_rng(0).normal(size=(5, 2))
        expected = np.zeros((5, 2))
        np.add.at(expected, values[2], 2 * start[values[2]])
        np.testing.assert_allclose(run([table, ilist], gradient, start, values[2]), expected)


class TestRandom(unittest.TestCase):
    def test_draws(self) -> None:
        np.random.seed(3)  # noqa: NPY002  # the draws come from the global generator
        x, n, p = S.csr_matrix("x"), T.lscalar("n"), T.dscalar("p")
        means = sparse_value("csr", (200, 100))
        means.data = np.abs(means.data)
        drawn = function([x], [S.poisson(x), S.poisson(x)])(means)
        self.assertAlmostEqual(drawn[0].sum() / means.sum(), 1, delta=0.05)
        self.assertNotEqual((drawn[0] != drawn[1]).nnz, 0)
        for make, format, dtype in (
            (S.csc_fbinomial, "csc", "float32"),
            (S.csc_dbinomial, "csc", "float64"),
            (S.csr_fbinomial, "csr", "float32"),
            (S.csr_dbinomial, "csr", "float64"),
        ):
            result = make(n, p, T.as_tensor_variable([300, 200]))
            self.assertEqual(result.type, S.SparseType(format, dtype))
            self.assertAlmostEqual(function([n, p], result)(10, 0.1).mean(), 1.0, delta=0.05)
        chances = means.multiply(1 / means.sum(1)).tocsr()
        for trials in (T.lscalar("t"), T.lvector("t")):
            operand: Any = 50 if trials.ndim == 0 else np.full(200, 50)
            counts = function([trials, x], S.multinomial(trials, x))(operand, chances)
            np.testing.assert_array_equal(np.asarray(counts.sum(1)).ravel(), np.full(200, 50))
        with self.assertRaisesRegex(TypeError, "csr"):
            S.multinomial(n, S.csc_matrix())
        with self.assertRaisesRegex(TypeError, "two numbers"):
            S.csr_dbinomial(T.dvector(), p, T.as_tensor_variable([300, 200]))
