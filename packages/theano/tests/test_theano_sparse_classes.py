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
from theano.tests.unittest_tools import verify_grad

DENSE = np.array([[1.0, 0, 2, 0], [0, 0, 3, 4], [5, 0, 0, 6]])


def given(format: str) -> Any:
    return scipy.sparse.csr_matrix(DENSE).asformat(format)


class TestOps(unittest.TestCase):
    def test_products_and_sums_with_vectors(self) -> None:
        v = np.arange(1.0, 5)
        for format in ("csc", "csr"):
            x, y = S.matrix(format, "x"), T.dvector("y")
            for op, expected, by_y in (
                (S.mul_s_v, DENSE * v, DENSE.sum(axis=0)),
                (S.structured_add_s_v, DENSE + v * (DENSE != 0), (DENSE != 0).sum(axis=0)),
            ):
                outcome = op(x, y)
                result, slope = theano.function([x, y], [outcome, T.grad(outcome.toarray().sum(), y)])(given(format), v)
                np.testing.assert_allclose(result.toarray(), expected)
                np.testing.assert_allclose(slope, by_y)

    def test_arrays_that_make_no_matrix_are_refused(self) -> None:
        v, i, p, m = T.dvector(), T.ivector(), T.ivector(), T.dmatrix()
        results = [
            opt.sd_csc(v, i, p, T.constant(2), m),
            opt.sd_csr(v, i, p, m),
            opt.mul_s_d_csc(v, i, p, m),
            opt.mul_s_d_csr(v, i, p, m),
        ]
        for result in results:
            f = theano.function([v, i, p, m], result)
            f([1.0, 1.0], [0, 1], [0, 1, 2], np.ones((2, 2)))
            for positions, bounds in (
                ([0, 2**31 - 1], [0, 1, 2]),
                ([0, -1], [0, 1, 2]),
                ([0, 1], [0, 1, 2**30]),
                ([0, 1], [0, 3, 2]),
                ([0], [0, 1, 2]),
            ):
                with self.assertRaisesRegex(ValueError, "do not make a matrix"):
                    f([1.0, 1.0], positions, bounds, np.ones((2, 2)))

    def test_scaled_lines(self) -> None:
        x, s = S.csc_matrix("x"), T.dvector("s")
        by_columns = theano.function([x, s], S.ColScaleCSC()(x, s))(given("csc"), np.arange(4.0))
        by_rows = theano.function([x, s], S.RowScaleCSC()(x, s))(given("csc"), np.arange(3.0))
        np.testing.assert_allclose(by_columns.toarray(), DENSE * np.arange(4))
        np.testing.assert_allclose(by_rows.toarray(), DENSE * np.arange(3)[:, None])

    def test_sampled_product(self) -> None:
        a, b, p = T.dmatrix("a"), T.dmatrix("b"), S.csr_matrix("p")
        outcome = S.SamplingDot()(a, b, p)
        values = np.arange(6.0).reshape(3, 2), np.arange(8.0).reshape(4, 2), given("csr")
        result, slope = theano.function([a, b, p], [outcome, T.grad(S.sp_sum(outcome), a)])(*values)
        np.testing.assert_allclose(result.toarray(), DENSE * (values[0] @ values[1].T))
        np.testing.assert_allclose(slope, DENSE @ values[1])

    def test_gradient_of_a_structured_product(self) -> None:
        b, g = np.arange(8.0).reshape(4, 2), np.arange(6.0).reshape(3, 2)
        for format in ("csc", "csr"):
            x = S.matrix(format, "x")
            result = theano.function([x], S.basic.structured_dot_grad(x, b, g))(given(format))
            np.testing.assert_allclose(result.toarray(), (g @ b.T) * (DENSE != 0))

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
        result = theano.function([x], [rows, elements, *slopes])(given("csr"))
        np.testing.assert_allclose(result[0].toarray(), DENSE[[2, 0]])
        np.testing.assert_allclose(result[1], [2, 4])
        np.testing.assert_allclose(result[2].toarray()[[0, 1], [2, 3]], [4, 8])
        np.testing.assert_allclose(result[3].toarray()[1], np.full(4, 2.0))

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
        result = theano.function([x, m], S.structured_dot(m, x))(given("csr"), np.ones((2, 3)))
        np.testing.assert_allclose(result, np.ones((2, 3)) @ DENSE)


class TestGraphs(unittest.TestCase):
    """The parts of graphs with sparse variables, as in Theano 1.0."""

    def ops(self, inputs: list[Any], outputs: Any, mode: Any = None) -> list[str]:
        f: Any = theano.function(inputs, outputs, mode=mode)
        return [str(node.op) for node in f.maker.fgraph.toposort()]

    def test_lengths(self) -> None:
        x = S.csr_matrix("x")
        self.assertEqual(self.ops([x], x.shape), ["Shape_i{1}", "Shape_i{0}", "MakeVector{dtype='int64'}"])
        self.assertEqual(self.ops([x], x.shape[1]), ["Shape_i{1}"])
        self.assertEqual(theano.function([x], x.shape)(given("csr")).tolist(), [3, 4])

    def test_arrays_of_a_matrix_that_is_made_of_them(self) -> None:
        arrays = [T.dvector(), T.ivector(), T.ivector(), T.ivector()]
        for outcome in (S.CSC, S.CSR):
            result = self.ops(arrays, S.csm_properties(outcome(*arrays)))
            self.assertFalse([op for op in result if "CSM" in op])

    def test_products_on_the_data(self) -> None:
        y = T.dmatrix("y")
        mode = theano.compile.mode.get_default_mode().including("local_mul_s_d")
        for format, name in (("csc", "MulSDCSC"), ("csr", "MulSDCSR")):
            x = S.matrix(format, "x")
            f = theano.function([x, y], S.mul_s_d(x, y), mode=mode)
            self.assertIn(name, [str(node.op) for node in f.maker.fgraph.toposort()])
            np.testing.assert_array_equal(f(given(format), 2 * DENSE).toarray(), 2 * DENSE * DENSE)

    def test_zeros_are_removed_from_what_may_be_overwritten(self) -> None:
        x = S.csr_matrix("x")
        f = theano.function([theano.In(x, borrow=True, mutable=True)], S.Remove0()(x))
        self.assertTrue(f.maker.fgraph.toposort()[0].op.inplace)
        value = scipy.sparse.csr_matrix((np.array([1.0, 0.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
        self.assertEqual(f(value).nnz, 1)
        g = theano.function([x], S.Remove0()(x))
        self.assertFalse(g.maker.fgraph.toposort()[0].op.inplace)

    def test_shapes_of_draws_need_no_draw(self) -> None:
        p, size = S.csr_matrix("p"), T.lvector("size")
        for inputs, outcome in (
            ([p], S.sandbox.sp2.Poisson()(p)),
            ([p], S.sandbox.sp2.Multinomial()(3, p)),
            ([size], S.sandbox.sp2.Binomial("csr", "float64")(5, 0.25, size)),
        ):
            result = self.ops(inputs, outcome.shape)
            self.assertFalse([op for op in result if op in ("Poisson", "Multinomial", "Binomial")], result)

    def test_specified_shapes(self) -> None:
        shared = S.shared(given("csr"))
        full = T.specify_shape(shared, (3, 4))
        self.assertEqual(theano.function([], full.shape)().tolist(), [3, 4])
        self.assertEqual(self.ops([], full.shape), ["DeepCopyOp"])
        part: Any = T.specify_shape(shared, (T.as_tensor_variable(3), shared.shape[1]))
        np.testing.assert_array_equal(theano.function([], part)().toarray(), DENSE)
        shared.set_value(scipy.sparse.csr_matrix(np.eye(2)))
        with self.assertRaises(AssertionError):
            theano.function([], part)()

    def test_dot_is_structured(self) -> None:
        x, y, z = S.csr_matrix("x"), S.csc_matrix("y"), T.dmatrix("z")
        self.assertEqual(theano.dot(x, y).type, x.type)
        self.assertEqual(theano.dot(x, T.dcol()).broadcastable, (False, True))
        for outcome, expected in ((theano.dot(x, z), DENSE @ DENSE.T), (theano.dot(z.T, x.T), DENSE @ DENSE.T)):
            value = theano.function([x, z], outcome, on_unused_input="ignore")(given("csr"), DENSE.T)
            np.testing.assert_array_equal(value, expected)
        slope = T.grad(theano.dot(x, z).sum(), x)
        result = theano.function([x, z], slope)(given("csr"), DENSE.T)
        np.testing.assert_array_equal(result.toarray(), DENSE.sum(axis=0) * (DENSE != 0))


class TestValues(unittest.TestCase):
    def test_arrays_become_sparse(self) -> None:
        x = S.csr_matrix("x")
        f = theano.function([x], x * 2)
        for value in (DENSE, DENSE.tolist(), DENSE[0]):
            result = f(value)
            np.testing.assert_array_equal(result.toarray(), np.atleast_2d(2 * np.asarray(value)))
            self.assertEqual(result.nnz, np.count_nonzero(value))
        shared = theano.shared(given("csc"))
        shared.set_value(2 * DENSE)
        self.assertEqual(shared.get_value().format, "csc")
        np.testing.assert_array_equal(shared.get_value().toarray(), 2 * DENSE)
        for wrong in (np.zeros((1, 2, 2)), 3.0, "x", DENSE.astype("complex128")):
            with self.assertRaises(TypeError):
                shared.set_value(wrong)

    def test_gradients_by_tables_are_compared(self) -> None:
        rows = theano.shared(np.array([1, 0, 1, 2]))
        verify_grad(lambda m: theano.sparse_grad(m[rows]), [DENSE], rng=np.random.RandomState(1))


class TestWrongPointers(unittest.TestCase):
    """Arrays that no matrix has, whose differences wrap around so that they seem to grow."""

    def test_differences_that_wrap_around(self) -> None:
        indptr = np.array([0, 2**31 - 1, -2, 2], "int32")
        data, indices = np.ones(2), np.zeros(2, "int32")
        b = np.ones((3, 3))
        values, rows, starts = T.dvector(), T.ivector(), T.ivector()
        for outputs in (
            [S.CSC(values, rows, starts, np.array([3, 3]))],
            [opt.mul_s_d_csc(values, rows, starts, b)],
            [opt.mul_s_d_csr(values, rows, starts, b)],
        ):
            f = theano.function([values, rows, starts], outputs, mode="FAST_COMPILE")
            with self.subTest(outputs=outputs), self.assertRaisesRegex(ValueError, "indptr"):
                f(data, indices, indptr)
