"""Indexing, products and reductions that differ from Theano 1.0 on purpose."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

import theano
import theano.sandbox.linalg
import theano.tensor as T
from theano.tensor.blas import Dot22, Dot22Scalar, Gemm, Gemv
from theano.tensor.blas_c import CGemv
from theano.tensor.subtensor import get_idx_list


class TestIndexConstants(unittest.TestCase):
    difference = "index-constants"

    def test_constants_stand_in_the_op(self) -> None:
        x, i = T.dmatrix("x"), T.lscalar("i")
        node: Any = x[0, 1:i].owner
        self.assertEqual(len(node.inputs), 2)
        first, part = get_idx_list(node.inputs, node.op.idx_list)
        self.assertEqual((first, part.start, part.stop), (0, 1, node.inputs[1]))


class TestUnnamedDimensions(unittest.TestCase):
    difference = "unnamed-dimensions"

    def test_dimensions_that_do_not_broadcast_stay(self) -> None:
        self.assertEqual(T.dmatrix()[:, None].type.broadcastable, (False, True, False))
        self.assertEqual(T.tensor3().dimshuffle(0, 1, 2, "x")[None].type.ndim, 5)
        with self.assertWarnsRegex(UserWarning, "drops the broadcastable dimensions"):
            part = T.col()[:, None]
        self.assertEqual(part.type, T.col().type)


class TestPartLengths(unittest.TestCase):
    difference = "part-lengths"

    def test_only_declared_dimensions_broadcast(self) -> None:
        x, y = T.dvector("x"), T.dvector("y")
        f = theano.function([x, y], T.set_subtensor(x[:2], y))
        with self.assertRaises(ValueError):
            f(np.zeros(3), np.ones(1))
        g = theano.function([x, y], T.set_subtensor(x[:2], T.addbroadcast(y, 0)))
        np.testing.assert_array_equal(g(np.zeros(3), np.ones(1)), [1, 1, 0])


class TestBlasOpClasses(unittest.TestCase):
    difference = "blas-op-classes"

    def test_graphs_show_the_general_class(self) -> None:
        x, y, v = T.dmatrix("x"), T.dvector("y"), T.dvector("v")
        f = theano.function([x, y, v], T.exp(y) + T.dot(x, v), mode="FAST_RUN")
        self.assertEqual([type(n.op) for n in f.maker.fgraph.toposort() if isinstance(n.op, Gemv)], [Gemv])
        self.assertIsInstance(CGemv(inplace=False), Gemv)


class TestInplaceUpdates(unittest.TestCase):
    difference = "inplace-updates"

    def test_old_values_stay_until_the_call_has_succeeded(self) -> None:
        s, x, y = theano.shared(np.zeros(3)), T.dvector("x"), T.dvector("y")
        f = theano.function([x, y], x + y, updates=[(s, s + 1)], mode="FAST_RUN")
        self.assertFalse(f.maker.fgraph.outputs[1].owner.op.destroy_map)
        with self.assertRaises(ValueError):
            f(np.zeros(2), np.zeros(3))
        np.testing.assert_array_equal(s.get_value(), np.zeros(3))


class TestProdWithoutZeros(unittest.TestCase):
    difference = "prod-without-zeros"

    def test_there_is_a_gradient(self) -> None:
        x = T.dvector("x")
        total = T.elemwise.ProdWithoutZeros()(x)
        np.testing.assert_allclose(T.grad(total, x).eval({x: [2.0, 0.0, 3.0]})[[0, 2]], [3, 2])


class TestIndexGraphs(unittest.TestCase):
    difference = "index-graphs"

    def test_one_op_reads_what_is_asked_for(self) -> None:
        node: Any = T.dtensor3()[..., [0, 2]].owner
        self.assertIsInstance(node.op, T.AdvancedSubtensor)


class TestProductsWithVectors(unittest.TestCase):
    difference = "products-with-vectors"

    def test_only_what_adds_is_gemv(self) -> None:
        x, v, y = T.dmatrix("x"), T.dvector("v"), T.dvector("y")
        f = theano.function([x, v], T.dot(x, v), mode="FAST_RUN")
        self.assertEqual([type(node.op) for node in f.maker.fgraph.toposort()], [T.Dot])
        g = theano.function([x, v, y], y + T.dot(x, v), mode="FAST_RUN")
        self.assertEqual([type(node.op) for node in g.maker.fgraph.toposort()], [Gemv])


class TestComplexReductions(unittest.TestCase):
    difference = "complex-reductions"

    def test_imaginary_parts_are_not_dropped(self) -> None:
        with self.assertRaises(TypeError):
            T.sum(T.zvector(), dtype="float64")
        with self.assertRaises(TypeError):
            T.elemwise.ProdWithoutZeros(dtype="bool")(T.zvector())


class TestNanEquality(unittest.TestCase):
    difference = "nan-equality"

    def test_numbers_beside_nan_count(self) -> None:
        values_eq = T.dvector.values_eq
        self.assertTrue(values_eq(np.array([np.nan, 1.0]), np.array([np.nan, 1.0])))
        self.assertTrue(values_eq(np.array([np.nan, 1.0]), np.array([np.nan, 1.0 + 1e-12])))
        self.assertFalse(values_eq(np.array([np.nan, 1.0]), np.array([np.nan, 2.0])))


class TestNormsOfTensors(unittest.TestCase):
    difference = "norms-of-tensors"

    def test_more_than_two_dimensions(self) -> None:
        x = np.arange(24.0).reshape(2, 3, 4)
        np.testing.assert_allclose(T.nlinalg.norm(x, None).eval(), np.linalg.norm(x))


class TestUnravelOrder(unittest.TestCase):
    difference = "unravel-order"

    def test_fortran_order(self) -> None:
        results = [int(position.eval()) for position in T.extra_ops.unravel_index(5, (3, 4), order="F")]
        self.assertEqual(results, [int(place) for place in np.unravel_index(5, (3, 4), order="F")])


class TestUniqueInverse(unittest.TestCase):
    difference = "unique-inverse"

    def test_the_inverse_is_a_vector(self) -> None:
        x = T.dmatrix("x")
        inverse = T.extra_ops.Unique(False, True, False)(x)[1]
        np.testing.assert_array_equal(inverse.eval({x: np.array([[1.0, 2.0], [2.0, 3.0]])}), [0, 1, 1, 2])


class TestRepeatCounts(unittest.TestCase):
    difference = "repeat-counts"

    def test_large_types_are_taken(self) -> None:
        x, times = T.dvector("x"), T.vector("times", dtype="uint64")
        result = T.repeat(x, times).eval({x: np.array([1.0, 2.0]), times: np.array([2, 1], dtype="uint64")})
        np.testing.assert_array_equal(result, [1, 1, 2])


class TestInversesOfTransposes(unittest.TestCase):
    difference = "inverses-of-transposes"

    def test_one_inverse(self) -> None:
        x = T.dmatrix("x")
        inverse = theano.sandbox.linalg.matrix_inverse
        f = theano.function([x], [inverse(x), inverse(x.T)])
        self.assertEqual(sum(isinstance(n.op, T.nlinalg.MatrixInverse) for n in f.maker.fgraph.toposort()), 1)
        value = np.array([[1.0, 2.0], [0.0, 4.0]])
        np.testing.assert_allclose(f(value)[1], np.linalg.inv(value).T)


class TestBetaTimesNan(unittest.TestCase):
    difference = "beta-times-nan"

    def test_zero_times_nan(self) -> None:
        m, x, y, a = T.dmatrix("m"), T.dvector("x"), T.dvector("y"), T.dscalar("a")
        f = theano.function([m, x, y, a], a * y + T.dot(m, x), mode="FAST_RUN")
        self.assertTrue(np.isnan(f(np.ones((3, 1)), np.ones(1), np.full(3, np.nan), 0)).all())


class TestOuterInLoops(unittest.TestCase):
    difference = "outer-in-loops"

    def test_a_column_times_a_row(self) -> None:
        x, y = T.dvector("x"), T.dvector("y")
        f = theano.function([x, y], T.outer(x, y), mode="FAST_RUN")
        self.assertIsInstance(f.maker.fgraph.outputs[0].owner.op, T.Elemwise)
        np.testing.assert_array_equal(f([1, 2], [3, 4]), [[3, 4], [6, 8]])


class TestSumsOfProducts(unittest.TestCase):
    difference = "sums-of-products"

    def test_the_rest_is_one_loop(self) -> None:
        z, r, s, b = T.dmatrix("z"), T.dmatrix("r"), T.dmatrix("s"), T.dscalar("b")
        f = theano.function([z, r, s, b], z * (z + b * T.dot(r, s).T), mode="FAST_RUN")
        kinds = {type(node.op) for node in f.maker.fgraph.toposort()}
        self.assertIn(Dot22, kinds)
        self.assertNotIn(Gemm, kinds)
        f = theano.function([z, r, s, b], b * z * T.dot(r, s), mode="FAST_RUN")
        self.assertEqual({type(node.op) for node in f.maker.fgraph.toposort()} & {Dot22, Dot22Scalar}, {Dot22})


if __name__ == "__main__":
    unittest.main()
