from __future__ import annotations

import itertools
import unittest
from typing import Any

import numpy as np
from sparse_values import FORMATS, array, differences, run, sparse_value

import theano_sparse as S
import theano_tensor as T
from theano_linker_c import function
from theano_linker_c.modes import get_mode
from theano_sparse import CompressedDot
from theano_tensor import grad

WHOLE = S.DenseFromSparse(sparse_grad=False)
MODES = ("FAST_RUN", "FAST_COMPILE")


def operand(kind: str, shape: tuple[int, int], seed: int, dtype: str = "float64") -> tuple[Any, Any]:
    """Return a symbol and a value: kind is a format or "dense"."""
    if kind == "dense":
        return T.matrix(f"m{seed}", dtype), np.random.default_rng(seed).normal(size=shape).astype(dtype)
    return S.matrix(kind, f"x{seed}", dtype), sparse_value(kind, shape, dtype, seed)


class TestProducts(unittest.TestCase):
    def check(self, product: Any, first: str, second: str, structured: bool) -> None:
        (x, a), (y, b) = operand(first, (3, 4), 1), operand(second, (4, 5), 2)
        result = product(x, y)
        for mode in MODES:
            np.testing.assert_allclose(run([x, y], result, a, b, mode=mode), array(a) @ array(b))
        weights = np.random.default_rng(3).normal(size=(3, 5))
        cost = (T.sqr(WHOLE(result) if S.is_sparse(result) else result) * weights).sum()

        def compute(p: Any, q: Any) -> Any:
            return ((p @ q) ** 2 * weights).sum()

        for which, (symbol, value) in enumerate(((x, a), (y, b))):
            positions = array(value) != 0 if structured and which == 0 else None
            np.testing.assert_allclose(
                run([x, y], grad(cost, symbol), a, b),
                differences(compute, [a, b], which, positions),
                atol=1e-5,
                err_msg=f"{product.__name__} {first} {second} {which}",
            )

    def test_dot(self) -> None:
        kinds = (*FORMATS, "dense")
        for first, second in itertools.product(kinds, kinds):
            if (first, second) != ("dense", "dense"):
                self.check(S.dot, first, second, False)

    def test_structured_dot(self) -> None:
        for first, second in itertools.product(FORMATS, (*FORMATS, "dense")):
            self.check(S.structured_dot, first, second, True)

    def test_true_dot(self) -> None:
        for first, second in itertools.product(FORMATS, (*FORMATS, "dense")):
            self.check(S.true_dot, first, second, False)
        x, m = S.csr_matrix("x"), T.dmatrix("m")
        for preserves in (True, False):
            cost = WHOLE(S.true_dot(x, m, grad_preserves_dense=preserves)).sum()
            self.assertEqual(S.is_sparse(grad(cost, m)), not preserves)

    def test_types_of_results_and_gradients(self) -> None:
        x, y, m = S.csr_matrix("x"), S.csr_matrix("y"), T.dmatrix("m")
        self.assertFalse(S.is_sparse(S.dot(x, y)))
        self.assertFalse(S.is_sparse(grad(S.dot(x, m).sum(), x)))
        self.assertFalse(S.is_sparse(S.structured_dot(x, m)))
        self.assertTrue(S.is_sparse(S.structured_dot(x, y)))
        self.assertTrue(S.is_sparse(grad(S.structured_dot(x, m).sum(), x)))
        self.assertTrue(S.is_sparse(S.true_dot(x, m)))
        for product in (x @ m, m @ x, x.dot(m), T.dot(x, m), T.dot(m, x)):
            self.assertEqual(product.type.ndim, 2)
            self.assertFalse(S.is_sparse(product))

    def test_products_with_vectors(self) -> None:
        x, v, u = S.csr_matrix("x"), T.dvector("v"), T.dvector("u")
        matrix, right, left = sparse_value("csr", (3, 4)), np.arange(4.0), np.arange(3.0)
        for product in (T.dot, S.dot, S.structured_dot):
            np.testing.assert_allclose(run([x, v], product(x, v), matrix, right), array(matrix) @ right)
            np.testing.assert_allclose(run([u, x], product(u, x), left, matrix), left @ array(matrix))
            by_vector = grad(product(u, x).sum(), u)
            np.testing.assert_allclose(run([u, x], by_vector, left, matrix), array(matrix).sum(1))
            self.assertEqual(S.is_sparse(grad(product(x, v).sum(), x)), product is not S.dot)
        np.testing.assert_allclose(run([u, x], u.dot(x), left, matrix), left @ array(matrix))

    def test_sampling_dot(self) -> None:
        u, v, p = T.dmatrix("u"), T.dmatrix("v"), S.csr_matrix("p")
        rng = np.random.default_rng(0)
        values = [rng.normal(size=(3, 4)), rng.normal(size=(5, 4)), sparse_value("csr", (3, 5))]
        result = S.sampling_dot(u, v, p)

        def compute(a: Any, b: Any, c: Any) -> Any:
            return ((c * (a @ b.T)) ** 2).sum()

        np.testing.assert_allclose(run([u, v, p], result, *values), array(values[2]) * (values[0] @ values[1].T))
        for which, symbol in enumerate((u, v, p)):
            positions = array(values[2]) != 0 if which == 2 else None
            np.testing.assert_allclose(
                run([u, v, p], grad(T.sqr(result.toarray()).sum(), symbol), *values),
                differences(compute, values, which, positions),
                atol=1e-5,
            )

    def test_wrong_operands(self) -> None:
        x, m = S.csr_matrix("x"), T.dmatrix("m")
        for product in (S.dot, S.structured_dot, S.true_dot):
            with self.assertRaisesRegex(TypeError, "sparse"):
                product(m, m)
            with self.assertRaisesRegex(TypeError, "matrices"):
                product(x, T.dvector() if product is S.true_dot else T.dtensor3())
            for mode in MODES:
                with self.assertRaisesRegex(ValueError, "columns"):
                    run([x, m], product(x, m), sparse_value("csr", (3, 4)), np.ones((3, 2)), mode=mode)
        with self.assertRaisesRegex(TypeError, "first operand must be sparse"):
            S.StructuredDot()(m, x)


class TestNativeProduct(unittest.TestCase):
    def native(self, f: Any) -> bool:
        return any(isinstance(node.op, CompressedDot) for node in f.maker.fgraph.apply_nodes)

    def test_rewrite_fires_and_is_excluded_by_name(self) -> None:
        x, m = S.csr_matrix("x"), T.dmatrix("m")
        product = S.structured_dot(x, m)
        self.assertTrue(self.native(function([x, m], product, mode="FAST_RUN")))
        for name in ("local_structured_dot", "sparse_dot"):
            self.assertFalse(self.native(function([x, m], product, mode=get_mode("FAST_RUN").excluding(name))))
        self.assertFalse(self.native(function([x, m], product, mode="FAST_COMPILE")))

    def test_values(self) -> None:
        for format, dtype, columns in itertools.product(FORMATS, ("float32", "float64"), (0, 1, 7, 40)):
            x, m = S.matrix(format, "x", dtype), T.matrix("m", dtype)
            f = function([x, m], S.structured_dot(x, m), mode="FAST_RUN")
            for kind in ("plain", "zeros", "unsorted"):
                a = sparse_value(format, (6, 9), dtype, kind=kind)
                b = np.random.default_rng(1).normal(size=(9, columns)).astype(dtype)
                expected = a.toarray().astype("float64") @ b
                for dense in (b, np.asfortranarray(b), np.repeat(b, 2, axis=1)[:, ::2], b[::-1][::-1]):
                    np.testing.assert_allclose(f(a, dense), expected, rtol=2e-5, atol=1e-5)
                self.assertEqual(f(a, b).dtype, dtype)

    def test_python_does_the_same(self) -> None:
        a, b = sparse_value("csc", (6, 9)), np.random.default_rng(1).normal(size=(9, 4))
        x, m = S.csc_matrix("x"), T.dmatrix("m")
        f = function([x, m], S.structured_dot(x, m), mode=get_mode("FAST_RUN").clone(linker="py"))
        self.assertTrue(self.native(f))
        np.testing.assert_allclose(f(a, b), a @ b)
        with self.assertRaisesRegex(ValueError, "columns of the sparse matrix meet"):
            f(a, b[:5])

    def test_arrays_that_make_no_matrix(self) -> None:
        data, indices, indptr, m = T.dvector("data"), T.ivector("indices"), T.ivector("indptr"), T.dmatrix("m")
        x = S.CSR(data, indices, indptr, T.as_tensor_variable([2, 3]))
        f = function([data, indices, indptr, m], S.structured_dot(x, m), mode="FAST_RUN")
        self.assertTrue(self.native(f))
        fine = ([1.0, 2.0], np.asarray([0, 2], "int32"), np.asarray([0, 1, 2], "int32"), np.ones((3, 2)))
        np.testing.assert_array_equal(f(*fine), [[1, 1], [2, 2]])
        for position, value in ((1, [0, 3]), (1, [-1, 0]), (2, [0, 1, 3]), (2, [-5, 1, 2]), (1, [0, 1, 2])):
            operands: list[Any] = list(fine)
            operands[position] = np.asarray(value, "int32")
            with self.assertRaisesRegex(ValueError, "sparse matrix"):
                f(*operands)


class TestUsmm(unittest.TestCase):
    def test_rewrite(self) -> None:
        x, m, z = S.csr_matrix("x"), T.dmatrix("m"), T.dmatrix("z")
        a, b, c = sparse_value("csr", (3, 4)), np.ones((4, 2)), np.arange(6.0).reshape(3, 2)
        for result, expected in (
            (z - 0.5 * S.dot(x, m), c - 0.5 * (a @ b)),
            (z + S.dot(x, m) * 3, c + 3 * (a @ b)),
            (2.0 * S.dot(x, m) + z, c + 2 * (a @ b)),
        ):
            f = function([x, m, z], result, mode="FAST_RUN")
            self.assertTrue(any(isinstance(node.op, S.CompressedUsmm) for node in f.maker.fgraph.apply_nodes))
            slow = function([x, m, z], result, mode=get_mode("FAST_RUN").excluding("local_usmm_compressed"))
            self.assertTrue(any(isinstance(node.op, S.Usmm) for node in slow.maker.fgraph.apply_nodes))
            np.testing.assert_allclose(slow(a, b, c), expected)
            np.testing.assert_allclose(f(a, b, c), expected)
            np.testing.assert_allclose(run([x, m, z], result, a, b, c, mode="FAST_COMPILE"), expected)

    def test_shapes_that_do_not_fit(self) -> None:
        x, m, z = S.csr_matrix("x"), T.dmatrix("m"), T.dmatrix("z")
        with self.assertRaisesRegex(ValueError, "is added to"):
            run([x, m, z], S.usmm(2.0, x, m, z), sparse_value("csr", (3, 4)), np.ones((4, 2)), np.ones((3, 3)))


class TestRewrites(unittest.TestCase):
    def test_parts_of_what_was_put_together(self) -> None:
        x = S.csr_matrix("x")
        f = function([x], S.csm_data(S.structured_exp(S.structured_add(x, 1))), mode="FAST_RUN")
        self.assertFalse(any(isinstance(node.op, S.CSM) for node in f.maker.fgraph.apply_nodes))
        value = sparse_value("csr", (3, 4))
        np.testing.assert_allclose(f(value), np.exp(value.data + 1))

    def test_to_and_fro(self) -> None:
        m = T.dmatrix("m")
        f = function([m], S.csr_from_dense(m).toarray() + 1, mode="FAST_RUN")
        self.assertFalse(any(isinstance(node.op, S.SparseFromDense) for node in f.maker.fgraph.apply_nodes))
