"""The op classes of `theano.sparse` of Theano 1.0: values and gradients."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
import scipy.sparse

import theano
import theano.sparse as S
import theano.tensor as T
from theano.sparse import opt
from theano.sparse.basic import _is_dense_variable, _is_sparse_variable
from theano.sparse.utils import hash_from_sparse

DENSE = np.array([[1.0, 0, 2, 0], [0, 0, 3, 4], [5, 0, 0, 6]])


def given(format: str) -> Any:
    return scipy.sparse.csr_matrix(DENSE).asformat(format)


class TestOps(unittest.TestCase):
    def test_products_and_sums_with_vectors(self) -> None:
        v = np.arange(1.0, 5)
        for format in ("csc", "csr"):
            x, y = S.matrix(format, "x"), T.dvector("y")
            for op, wanted, by_y in (
                (S.mul_s_v, DENSE * v, DENSE.sum(axis=0)),
                (S.structured_add_s_v, DENSE + v * (DENSE != 0), (DENSE != 0).sum(axis=0)),
            ):
                made = op(x, y)
                found, slope = theano.function([x, y], [made, T.grad(made.toarray().sum(), y)])(given(format), v)
                np.testing.assert_allclose(found.toarray(), wanted)
                np.testing.assert_allclose(slope, by_y)

    def test_scaled_lines(self) -> None:
        x, s = S.csc_matrix("x"), T.dvector("s")
        by_columns = theano.function([x, s], S.ColScaleCSC()(x, s))(given("csc"), np.arange(4.0))
        by_rows = theano.function([x, s], S.RowScaleCSC()(x, s))(given("csc"), np.arange(3.0))
        np.testing.assert_allclose(by_columns.toarray(), DENSE * np.arange(4))
        np.testing.assert_allclose(by_rows.toarray(), DENSE * np.arange(3)[:, None])

    def test_sampled_product(self) -> None:
        a, b, p = T.dmatrix("a"), T.dmatrix("b"), S.csr_matrix("p")
        made = S.SamplingDot()(a, b, p)
        values = np.arange(6.0).reshape(3, 2), np.arange(8.0).reshape(4, 2), given("csr")
        found, slope = theano.function([a, b, p], [made, T.grad(S.sp_sum(made), a)])(*values)
        np.testing.assert_allclose(found.toarray(), DENSE * (values[0] @ values[1].T))
        np.testing.assert_allclose(slope, DENSE @ values[1])

    def test_gradient_of_a_structured_product(self) -> None:
        b, g = np.arange(8.0).reshape(4, 2), np.arange(6.0).reshape(3, 2)
        for format in ("csc", "csr"):
            x = S.matrix(format, "x")
            found = theano.function([x], S.basic.structured_dot_grad(x, b, g))(given(format))
            np.testing.assert_allclose(found.toarray(), (g @ b.T) * (DENSE != 0))

    def test_stacks_and_sums(self) -> None:
        x, y = S.csr_matrix("x"), S.csr_matrix("y")
        ops = S.HStack("csr", "float64")(x, y), S.VStack("csr", "float64")(x, y), S.add_s_s_data(x, y)
        beside, below, total = theano.function([x, y], ops)(given("csr"), given("csr"))
        np.testing.assert_allclose(beside.toarray(), np.hstack([DENSE, DENSE]))
        np.testing.assert_allclose(below.toarray(), np.vstack([DENSE, DENSE]))
        np.testing.assert_allclose(total.toarray(), 2 * DENSE)

    def test_comparisons(self) -> None:
        x, m = S.csr_matrix("x"), T.dmatrix("m")
        f = theano.function([x, m], [S.LessThanSD()(x, m), S.EqualSS()(x, x)])
        less, same = f(given("csr"), np.full((3, 4), 2.5))
        np.testing.assert_array_equal(less, DENSE < 2.5)
        np.testing.assert_array_equal(same.toarray(), np.ones((3, 4)))

    def test_rows_and_elements_by_lists(self) -> None:
        x = S.csr_matrix("x")
        rows, elements = x[[2, 0]], x[[0, 1], [2, 3]]
        slopes = [T.grad((elements**2).sum(), x), T.grad(S.sp_sum(x[[1, 1]]), x)]
        found = theano.function([x], [rows, elements, *slopes])(given("csr"))
        np.testing.assert_allclose(found[0].toarray(), DENSE[[2, 0]])
        np.testing.assert_allclose(found[1], [2, 4])
        np.testing.assert_allclose(found[2].toarray()[[0, 1], [2, 3]], [4, 8])
        np.testing.assert_allclose(found[3].toarray()[1], np.full(4, 2.0))

    def test_ops_on_arrays(self) -> None:
        x, b = given("csc"), np.arange(8.0).reshape(4, 2)
        product = opt.sd_csc(x.data, x.indices, x.indptr, np.int32(3), b)
        np.testing.assert_allclose(theano.function([], product)(), DENSE @ b)
        v, m = S.csc_matrix("v"), T.dmatrix("m")
        total = theano.function([v, m], opt.AddSD_ccode("csc")(v, m))(x, np.ones((3, 4)))
        np.testing.assert_allclose(total, DENSE + 1)


class TestNames(unittest.TestCase):
    def test_questions(self) -> None:
        self.assertTrue(S.enable_sparse)
        self.assertTrue(_is_sparse_variable(S.csr_matrix()))
        self.assertTrue(_is_dense_variable(T.matrix()))
        with self.assertRaises(NotImplementedError):
            _is_sparse_variable(given("csr"))

    def test_digests_differ(self) -> None:
        matrices = [
            given("csr"),
            given("csc"),
            given("csr") * 2,
            given("csr").astype("float32"),
            given("csr").T.tocsr(),
        ]
        self.assertEqual(len({hash_from_sparse(m) for m in matrices}), len(matrices))
        self.assertEqual(hash_from_sparse(given("csr")), hash_from_sparse(given("csr")))

    def test_shapes_are_worked_out_without_the_matrix(self) -> None:
        m = T.dmatrix("m")
        f = theano.function([m], S.transpose(S.csr_from_dense(m)).shape)
        self.assertEqual(f(DENSE).tolist(), [4, 3])
        self.assertFalse([n for n in f.maker.fgraph.apply_nodes if isinstance(n.op, S.SparseFromDense)])

    def test_a_vector_may_be_multiplied(self) -> None:
        x, v = S.csr_matrix("x"), T.dvector("v")
        np.testing.assert_allclose(theano.function([x, v], S.dot(x, v))(given("csr"), np.ones(4)), DENSE.sum(axis=1))
        m = T.dmatrix("m")
        found = theano.function([x, m], S.structured_dot(m, x))(given("csr"), np.ones((2, 3)))
        np.testing.assert_allclose(found, np.ones((2, 3)) @ DENSE)
