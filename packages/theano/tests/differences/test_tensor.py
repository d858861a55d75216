"""Tensors: what differs from Theano 1.0 on purpose."""

from __future__ import annotations

import unittest

import numpy as np

import theano
import theano.tensor as T


class TestComparisonsHaveNoTruthValue(unittest.TestCase):
    difference = "bool-comparisons"

    def test_operators_and_functions(self) -> None:
        x = T.dvector("x")
        for compared in (x > 1, T.gt(x, 1), x <= 1):
            self.assertEqual(compared.dtype, "bool")
            with self.assertRaisesRegex(TypeError, "no truth value"):
                bool(compared)


class TestKnownLengthsOfOne(unittest.TestCase):
    difference = "known-length-one"

    def test_they_broadcast(self) -> None:
        m = T.dmatrix("m")
        found = [T.arange(1), T.as_tensor_variable([m[0, 0]]), T.specify_shape(m[0], [1]), m[[0], [0]]]
        self.assertEqual([v.type.broadcastable for v in found], [(True,)] * 4)
        self.assertEqual(T.eye(1).type.broadcastable, (True, True))
        self.assertEqual(T.unbroadcast(T.arange(1), 0).type, T.lvector)

    def test_reshape(self) -> None:
        self.assertEqual(T.dvector().reshape((1, 3)).type, T.drow)


class TestShapesThatCannotFit(unittest.TestCase):
    difference = "early-shape-errors"

    def test_refused_when_built(self) -> None:
        with self.assertRaisesRegex(ValueError, "do not fit"):
            T.constant([1.0, 2.0, 3.0]).reshape((2, 2))


class TestStandInsAreChecked(unittest.TestCase):
    difference = "found-lengths-checked"

    def test_givens(self) -> None:
        pair, v = T.stack([T.dscalar(), T.dscalar()]), T.dvector("v")
        f = theano.function([v], pair.sum(), givens={pair: v})
        self.assertEqual(float(f([1.0, 2.0])), 3.0)
        with self.assertRaises((ValueError, AssertionError)):
            f([1.0, 2.0, 3.0])


class TestNumpyFunctions(unittest.TestCase):
    difference = "numpy-functions"

    def test_built_where_they_raised(self) -> None:
        x, y = T.dvectors("xy")
        for found in (np.sum(x), np.maximum(x, y), np.dot(x, y), np.concatenate([x, y]), np.stack([x, y])):
            self.assertIsInstance(found, T.TensorVariable)


class TestComplexNumbersHaveNoOrder(unittest.TestCase):
    difference = "complex-order"

    def test_refused(self) -> None:
        z = T.zvector("z")
        for compare in (T.maximum, T.minimum, T.lt):
            with self.assertRaises(TypeError):
                compare(z, z)


class TestSpecialFunctionsOfSmallIntegers(unittest.TestCase):
    difference = "newer-scipy"

    def test_computed_in_float32(self) -> None:
        found = T.gamma(np.array([2, 6, 1], dtype="uint8"))
        self.assertEqual(found.dtype, "float32")
        np.testing.assert_allclose(found.eval(), [1.0, 120.0, 1.0], rtol=1e-6)
