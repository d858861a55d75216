from __future__ import annotations

import operator
import unittest
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special
from sparse_values import FORMATS, differences, run, sparse_value

import theano_sparse as S
import theano_tensor as T
from theano_linker_c import function
from theano_tensor import grad
from theano_testing.tiers import slow

POSITIVE = ("structured_log", "sqrt", "log1p")
SMALL = ("arcsin", "arctanh")
UNARY: dict[str, Callable[[Any], Any]] = {
    "structured_sigmoid": scipy.special.expit,
    "structured_exp": np.exp,
    "structured_log": np.log,
    "sin": np.sin,
    "arcsin": np.arcsin,
    "tan": np.tan,
    "arctan": np.arctan,
    "sinh": np.sinh,
    "arcsinh": np.arcsinh,
    "tanh": np.tanh,
    "arctanh": np.arctanh,
    "rad2deg": np.rad2deg,
    "deg2rad": np.deg2rad,
    "rint": np.rint,
    "ceil": np.ceil,
    "floor": np.floor,
    "trunc": np.trunc,
    "sgn": np.sign,
    "log1p": np.log1p,
    "expm1": np.expm1,
    "sqr": np.square,
    "sqrt": np.sqrt,
    "abs_": np.abs,
}
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "structured_pow": np.power,
    "structured_minimum": np.minimum,
    "structured_maximum": np.maximum,
    "structured_add": np.add,
}


class TestStructured(unittest.TestCase):
    def check(self, name: str, format: str, reference: Callable[..., Any], *numbers: float) -> None:
        value = sparse_value(format, (4, 3), kind="unsorted")
        if name in POSITIVE:
            value.data = np.abs(value.data)
        if name in SMALL:
            value.data = value.data / 4
        there = value.toarray() != 0
        x = S.matrix(format, "x")
        result = getattr(S, name)(x, *numbers)
        expected = np.zeros((4, 3))
        expected[there] = reference(value.toarray()[there], *numbers)
        np.testing.assert_allclose(run([x], result, value), expected, err_msg=name)
        self.assertEqual(result.type, x.type)
        cost = T.sqr(S.dense_from_sparse(result)).sum()

        def compute(a: Any) -> Any:
            return (np.where(there, reference(np.where(there, a, 1), *numbers), 0) ** 2).sum()

        gradient = grad(cost, x)
        self.assertEqual(gradient.type, x.type)
        np.testing.assert_allclose(
            run([x], gradient, value), differences(compute, [value], 0, there), atol=1e-5, rtol=1e-4, err_msg=name
        )

    @slow
    def test_of_one(self) -> None:
        for name, reference in UNARY.items():
            for format in FORMATS:
                self.check(name, format, reference)

    def test_with_a_number(self) -> None:
        for name, reference in BINARY.items():
            self.check(name, "csc", reference, 2.0)

    def test_a_vector_is_refused(self) -> None:
        with self.assertRaisesRegex(TypeError, "takes numbers beside it"):
            S.structured_add(S.csr_matrix("x"), T.dvector("v"))

    def test_own_function(self) -> None:
        x = S.csr_matrix("x")
        value = sparse_value("csr", (3, 3))
        cube = S.structured_monoid(lambda v: v**3)
        np.testing.assert_allclose(run([x], cube(x), value), value.toarray() ** 3)


class TestArithmetic(unittest.TestCase):
    def test_operators(self) -> None:
        for format in FORMATS:
            x, y, m = S.matrix(format, "x"), S.matrix(format, "y"), T.dmatrix("m")
            a, b = sparse_value(format, (3, 4)), sparse_value(format, (3, 4), seed=1, kind="zeros")
            dense = np.random.default_rng(2).normal(size=(3, 4))
            for act in (operator.add, operator.sub, operator.mul):
                np.testing.assert_allclose(run([x, y], act(x, y), a, b), act(a.toarray(), b.toarray()))
                np.testing.assert_allclose(run([x, m], act(x, m), a, dense), act(a.toarray(), dense))
                np.testing.assert_allclose(run([x, m], act(m, x), a, dense), act(dense, a.toarray()))
            np.testing.assert_allclose(run([x], -x, a), -a.toarray())
            self.assertTrue(S.is_sparse(x + y) and S.is_sparse(x * m) and not S.is_sparse(x + m))

    def test_two_formats(self) -> None:
        """The result has the format of the first operand, as Theano 1.0 had it."""
        for first, second in (("csr", "csc"), ("csc", "csr")):
            x, y = S.matrix(first, "x"), S.matrix(second, "y")
            a, b = sparse_value(first, (3, 4)), sparse_value(second, (3, 4), seed=1)
            p, q = a.toarray(), b.toarray()
            for act, expected in (
                (operator.add, [np.ones_like(p), np.ones_like(p)]),
                (operator.sub, [np.ones_like(p), -np.ones_like(p)]),
                (operator.mul, [q, p]),
            ):
                result = act(x, y)
                self.assertEqual(result.type, S.SparseType(first, "float64"))
                np.testing.assert_allclose(run([x, y], result, a, b), act(p, q))
                weights = np.arange(1.0, 13.0).reshape(3, 4)
                gradients = grad((S.DenseFromSparse(sparse_grad=False)(result) * weights).sum(), [x, y])
                for gradient, symbol, slope in zip(gradients, (x, y), expected, strict=True):
                    self.assertEqual(gradient.type, symbol.type)
                    np.testing.assert_allclose(run([x, y], gradient, a, b), slope * weights)

    def test_scales(self) -> None:
        a = sparse_value("csr", (3, 4))
        x, v = S.csr_matrix("x"), T.dvector("v")
        columns, rows = np.arange(4.0), np.arange(3.0)
        np.testing.assert_allclose(run([x], x * 3, a), a.toarray() * 3)
        np.testing.assert_allclose(run([x, v], x * v, a, columns), a.toarray() * columns)
        np.testing.assert_allclose(run([x, v], S.col_scale(x, v), a, columns), a.toarray() * columns)
        np.testing.assert_allclose(run([x, v], S.row_scale(x, v), a, rows), a.toarray() * rows[:, None])
        for scale in (S.col_scale, S.row_scale):
            with self.assertRaisesRegex(ValueError, "5 factors"):
                run([x, v], scale(x, v), a, np.arange(5.0))
            with self.assertRaisesRegex(TypeError, "pass a vector"):
                scale(x, T.dmatrix())

    def test_gradients(self) -> None:
        a, b = sparse_value("csc", (3, 4)), sparse_value("csc", (3, 4), seed=1)
        dense, weights = (np.random.default_rng(s).normal(size=(3, 4)) for s in (2, 3))
        x, y, m, v = S.csc_matrix("x"), S.csc_matrix("y"), T.dmatrix("m"), T.dvector("v")
        columns = np.arange(1.0, 5.0)
        full = S.DenseFromSparse(sparse_grad=False)
        stored = a.toarray() != 0
        cases: list[tuple[Any, list[Any], list[Any], Any, list[Any]]] = [
            (full(x * y), [x, y], [a, b], lambda p, q: p * q, [None, None]),
            (full(x + y), [x, y], [a, b], lambda p, q: p + q, [None, None]),
            (full(x - y), [x, y], [a, b], lambda p, q: p - q, [None, None]),
            (full(x * m), [x, m], [a, dense], lambda p, q: p * q, [None, None]),
            (x + m, [x, m], [a, dense], lambda p, q: p + q, [stored, None]),
            (full(S.col_scale(x, v)), [x, v], [a, columns], lambda p, q: p * q, [stored, None]),
        ]
        for result, symbols, values, reference, positions in cases:
            cost = (T.sqr(result) * weights).sum()
            for which, symbol in enumerate(symbols):

                def compute(*arrays: Any, reference: Any = reference) -> Any:
                    return (reference(*arrays) ** 2 * weights).sum()

                gradient = grad(cost, symbol)
                self.assertEqual(gradient.type.ndim, symbol.type.ndim)
                np.testing.assert_allclose(
                    run(symbols, gradient, *values),
                    differences(compute, values, which, positions[which]),
                    atol=1e-6,
                    err_msg=f"{result.owner} by input {which}",
                )

    def test_comparisons(self) -> None:
        a, b = sparse_value("csr", (3, 4)), sparse_value("csr", (3, 4), seed=1)
        x, y, m = S.csr_matrix("x"), S.csr_matrix("y"), T.dmatrix("m")
        relations = ("eq", "neq", "lt", "le", "gt", "ge")
        references = (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)
        for name, reference in zip(relations, references, strict=True):
            compare = getattr(S, name)
            both = compare(x, y)
            self.assertEqual(both.type, S.SparseType("csr", "uint8"))
            np.testing.assert_array_equal(run([x, y], both, a, b), reference(a.toarray(), b.toarray()))
            np.testing.assert_array_equal(
                run([x, m], compare(x, m), a, b.toarray()), reference(a.toarray(), b.toarray())
            )
        np.testing.assert_array_equal(run([x, y], x <= y, a, b), a.toarray() <= b.toarray())

    def test_wrong_operands(self) -> None:
        x, y, m = S.csr_matrix("x"), S.csc_matrix("y"), T.dmatrix("m")
        for act in (S.add, S.sub, S.mul, S.eq):
            with self.assertRaisesRegex(TypeError, "one of the two must be sparse"):
                act(m, m)
        with self.assertRaisesRegex(TypeError, "one format"):
            S.lt(x, y)
        for other, value in ((m, np.zeros((2, 4))), (S.csr_matrix("z"), sparse_value("csr", (2, 4)))):
            for act in (S.add, S.mul, S.eq):
                with self.assertRaisesRegex(ValueError, "differ"):
                    run([x, other], act(x, other), sparse_value("csr", (3, 4)), value)


class TestConversion(unittest.TestCase):
    def test_to_and_fro(self) -> None:
        for format, back in (("csc", S.csc_from_dense), ("csr", S.csr_from_dense)):
            value = sparse_value(format, (3, 4), "float32")
            x = S.matrix(format, "x", "float32")
            for dense in (S.dense_from_sparse(x), x.toarray()):
                np.testing.assert_array_equal(run([x], dense, value), value.toarray())
                self.assertEqual(back(dense).type, x.type)
                np.testing.assert_array_equal(run([x], back(dense), value), value.toarray())

    def test_casts(self) -> None:
        x = S.csr_matrix("x", "float64")
        value = sparse_value("csr", (3, 4))
        names = {"bcast": "int8", "wcast": "int16", "icast": "int32", "lcast": "int64"}
        names |= {"fcast": "float32", "dcast": "float64", "ccast": "complex64", "zcast": "complex128"}
        for name, dtype in names.items():
            result = getattr(S, name)(x)
            self.assertEqual(result.type.dtype, dtype)
            np.testing.assert_array_equal(run([x], result, value), value.toarray().astype(dtype))
        gradient = grad(T.sqr(S.fcast(x).toarray()).sum(), x)
        self.assertEqual(gradient.type, x.type)
        np.testing.assert_allclose(run([x], gradient, value), 2 * value.toarray(), rtol=1e-6)
        with self.assertRaisesRegex(TypeError, "not supported"):
            S.cast(x, "float16")

    def test_order_and_zeros(self) -> None:
        x = S.csc_matrix("x")
        value = sparse_value("csc", (5, 4), kind="unsorted")
        value.data[::2] = 0
        for result in (S.clean(x), S.ensure_sorted_indices(S.remove0(x))):
            outcome = function([x], result)(value)
            self.assertTrue(outcome.has_sorted_indices)
            self.assertEqual(np.count_nonzero(outcome.data), outcome.nnz)
            np.testing.assert_array_equal(outcome.toarray(), value.toarray())
        self.assertEqual((value.data == 0).sum(), (len(value.data) + 1) // 2)
        for op in (S.EnsureSortedIndices(inplace=True), S.Remove0(inplace=True)):
            outcome = function([x], op(x * 1), accept_inplace=True)(value)
            np.testing.assert_array_equal(outcome.toarray(), value.toarray())
        gradient = grad(S.DenseFromSparse(False)(S.clean(x)).sum(), x)
        np.testing.assert_array_equal(run([x], gradient, value), np.ones((5, 4)))
