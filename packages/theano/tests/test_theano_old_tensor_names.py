"""Ops, functions and identities of Theano 1.0's tensor basics."""

from __future__ import annotations

import pickle
import unittest
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano.tensor.type_other import MakeSlice, NoneConst, NoneTypeT, make_slice, slicetype
from theano.tests import unittest_tools

ROWS = np.array([[1.0, 5.0, 2.0], [7.0, 3.0, 7.5]])


class TestMaxAndArgmax(unittest.TestCase):
    """Largest elements and their places are one op."""

    def test_values(self) -> None:
        x = T.dmatrix("x")
        for axis in (None, 0, 1, -1, (0, 1), NoneConst.clone()):
            results = theano.function([x], T.max_and_argmax(x, axis=axis))(ROWS)
            expected = axis if isinstance(axis, int) else None
            np.testing.assert_array_equal(results[0], ROWS.max(axis=expected))
            np.testing.assert_array_equal(results[1], ROWS.argmax(axis=expected))

    def test_kept_dimensions(self) -> None:
        largest, position = T.max_and_argmax(T.dmatrix(), axis=0, keepdims=True)
        self.assertEqual((largest.broadcastable, position.broadcastable), ((True, False),) * 2)

    def test_graphs_show_it_where_both_are_used(self) -> None:
        x = T.dvector("x")
        pair = T.max_and_argmax(x)
        kinds = [
            [isinstance(node.op, T.MaxAndArgmax) for node in theano.function([x], expected).maker.fgraph.toposort()]
            for expected in (pair, pair[:1], pair[1:])
        ]
        self.assertEqual([any(item) for item in kinds], [True, False, False])

    def test_derivatives(self) -> None:
        unittest_tools.verify_grad(lambda x: T.MaxAndArgmax([1])(x)[0], [ROWS], rng=np.random.RandomState(1))
        x, v = T.dmatrix("x"), T.dmatrix("v")
        along = theano.function([x, v], T.Rop(T.MaxAndArgmax([1])(x)[0], x, v))(ROWS, ROWS * 10)
        np.testing.assert_array_equal(along, [50.0, 75.0])


class TestOldOps(unittest.TestCase):
    """Each computes its old values, and has its old gradient."""

    def test_tri(self) -> None:
        n, m, k = T.iscalars("nmk")
        f = theano.function([n, m, k], T.Tri("int32")(n, m, k))
        np.testing.assert_array_equal(f(3, 4, 1), np.tri(3, 4, 1, dtype="int32"))
        self.assertEqual(theano.function([n, m, k], T.Tri()(n, m, k).shape[1])(3, 4, 1), 4)

    def test_mean(self) -> None:
        x = T.dmatrix("x")
        np.testing.assert_allclose(T.Mean(axis=1)(x).eval({x: ROWS}), ROWS.mean(axis=1))
        i = T.lvector("i")
        self.assertEqual(float(T.Mean()(i).eval({i: [1, 2]})), 1.5)
        unittest_tools.verify_grad(T.Mean(axis=0), [ROWS], rng=np.random.RandomState(1))

    def test_default(self) -> None:
        x, y = T.dvector("x"), T.dvector("y")
        np.testing.assert_array_equal(T.default(x, y).eval({x: [1.0], y: [2.0]}), [1.0])
        with self.assertRaises(TypeError):
            T.default(x, T.dscalar())

    def test_permuted_rows(self) -> None:
        order = np.array([[2, 0, 1], [1, 2, 0]])
        x, p = T.dmatrix("x"), T.lmatrix("p")
        there = theano.function([x, p], T.permute_row_elements(x, p))(ROWS, order)
        np.testing.assert_array_equal(there, np.take_along_axis(ROWS, order, 1))
        back = theano.function([x, p], T.permute_row_elements(x, p, inverse=True))(there, order)
        np.testing.assert_array_equal(back, ROWS)
        unittest_tools.verify_grad(lambda v: T.permute_row_elements(v, order), [ROWS], rng=np.random.RandomState(1))

    def test_tile(self) -> None:
        unittest_tools.verify_grad(lambda v: T.Tile(2)(v, [2, 1]), [ROWS], rng=np.random.RandomState(1))
        np.testing.assert_array_equal(T.Tile(3)(ROWS, [2, 1, 2]).eval(), np.tile(ROWS, [2, 1, 2]))

    def test_slices(self) -> None:
        i = T.iscalar("i")
        f = theano.function([i], [make_slice(0, i), make_slice(slice(i, None))])
        self.assertEqual(f(3), [slice(0, 3, None), slice(3, None, None)])
        same = theano.function([i], [make_slice(0, i), make_slice(0, i)])
        self.assertEqual(sum(isinstance(node.op, MakeSlice) for node in same.maker.fgraph.apply_nodes), 1)
        self.assertEqual(slicetype.make_constant(slice(1, 2)).signature()[1:], (1, 2, None))

    def test_none(self) -> None:
        other = theano.gof.Constant(NoneTypeT(), None, name="NoneConst")
        self.assertTrue(NoneConst.equals(NoneConst.clone()))
        self.assertTrue(NoneConst.equals(other) or other.equals(NoneConst))
        self.assertTrue(NoneConst.equals(pickle.loads(pickle.dumps(NoneConst))))


class TestFunctions(unittest.TestCase):
    """Small functions have the values that they had."""

    def test_smallest_and_largest(self) -> None:
        a, b, c = np.array([1.0, 5.0]), np.array([2.0, 4.0]), np.array([0.0, 9.0])
        np.testing.assert_array_equal(T.smallest(a, b).eval(), [1.0, 4.0])
        np.testing.assert_array_equal(T.largest(a, b, c).eval(), [2.0, 9.0])

    def test_conversions(self) -> None:
        x = T.dvector("x")
        for dtype in ("int8", "int32", "float32", "complex64"):
            self.assertEqual(getattr(T.basic, f"_convert_to_{dtype}")(x).eval({x: [1.5]}).dtype, np.dtype(dtype))

    def test_covariance(self) -> None:
        x = T.dmatrix("x")
        np.testing.assert_allclose(T.cov(x).eval({x: ROWS}), np.cov(ROWS))
        np.testing.assert_allclose(T.cov(x, rowvar=False, ddof=0).eval({x: ROWS}), np.cov(ROWS, rowvar=False, ddof=0))

    def test_ceil_intdiv(self) -> None:
        a, b = T.ivectors("ab")
        np.testing.assert_array_equal(T.ceil_intdiv(a, b).eval({a: [7, 6], b: [2, 2]}), [4, 3])

    def test_identities(self) -> None:
        self.assertIs(theano.theano, theano)
        self.assertIs(T.theano, theano)
        self.assertIs(vars(T).get("scal", T.__getattr__("scal")), theano.scalar)
        self.assertIs(T._shared, T.sharedvar.tensor_constructor)
        self.assertEqual(theano._asarray([1], "int8").dtype, np.dtype("int8"))
        self.assertIn(T.bscalar, T.int_types)

    def test_a_star_import_brings_what_it_did(self) -> None:
        result: dict[str, object] = {}
        exec("from theano.tensor import *", result)
        self.assertLessEqual(
            {"np", "theano", "compile", "basic", "gof", "NoneConst", "MaxAndArgmax", "Tri"}, set(result)
        )

    def test_values_that_are_not_finite_can_be_refused(self) -> None:
        T.TensorType.filter_checks_isfinite = True
        try:
            with self.assertRaises(ValueError):
                T.dvector.filter(np.array([np.inf]))
        finally:
            T.TensorType.filter_checks_isfinite = False
        self.assertEqual(T.dvector.filter(np.array([np.inf])), np.inf)

    def test_no_tensor_of_an_object(self) -> None:
        for thing in (object(), "text", theano.gof.generic()):
            with self.assertRaises(T.AsTensorError):
                T.as_tensor_variable(thing)

    def test_negative_lengths_are_refused_when_they_are_used(self) -> None:
        x = T.dvector("x")
        for lengths in ((-2, 3), (-1, -1)):
            shaped = x.reshape(lengths)
            self.assertEqual(shaped.type, T.dmatrix)
            with self.assertRaises(ValueError):
                theano.function([x], shaped)(np.arange(6.0))

    def test_alloc_diag_of_linear_algebra_takes_vectors_only(self) -> None:
        alloc_diag: Any = theano.tensor.nlinalg.alloc_diag
        x = T.dvector("x")
        self.assertIs(type(alloc_diag(x).owner.op), theano.tensor.nlinalg.AllocDiag)
        np.testing.assert_array_equal(alloc_diag(x).eval({x: [1.0, 2.0]}), np.diag([1.0, 2.0]))
        with self.assertRaisesRegex(TypeError, "a vector is wanted"):
            alloc_diag(T.dmatrix())


class TestInversePermutation(unittest.TestCase):
    def test_what_is_no_permutation_is_refused(self) -> None:
        p, rows = T.lvector("p"), T.lmatrix("rows")
        f, g = (theano.function([x], T.inverse_permutation(x)) for x in (p, rows))
        np.testing.assert_array_equal(f([2, 0, 1]), [1, 2, 0])
        np.testing.assert_array_equal(g([[2, 0, 1], [0, 1, 2]]), [[1, 2, 0], [0, 1, 2]])
        for numbers in ([0, 0, 1], [1, 2, 3], [2**63 - 1, 0, 1], [-1, 0, 1]):
            with self.subTest(numbers=numbers), self.assertRaisesRegex(AssertionError, "places"):
                f(numbers)
            with self.subTest(numbers=[numbers]), self.assertRaisesRegex(AssertionError, "places"):
                g([numbers])
