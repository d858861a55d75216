"""Differences from Theano 1.0 on purpose in tensors."""

from __future__ import annotations

import unittest
from typing import Any, cast

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


class TestComparisonsAsOperands(unittest.TestCase):
    difference = "comparisons-as-operands"

    def test_warning_and_result(self) -> None:
        x, y = T.dvectors("xy")
        with self.assertWarnsRegex(UserWarning, "T.eq"):
            chosen = T.switch(x == y, 1.0, 2.0)
        self.assertEqual(float(chosen.eval()), 2.0)


class TestKnownLengthsOfOne(unittest.TestCase):
    difference = "known-length-one"

    def test_they_broadcast(self) -> None:
        m = T.dmatrix("m")
        results = [T.arange(1), T.as_tensor_variable([m[0, 0]]), T.specify_shape(m[0], [1]), m[[0], [0]]]
        self.assertEqual([v.type.broadcastable for v in results], [(True,)] * 4)
        self.assertEqual(T.eye(1).type.broadcastable, (True, True))
        self.assertEqual(T.unbroadcast(T.arange(1), 0).type, T.lvector)

    def test_reshape(self) -> None:
        self.assertEqual(T.dvector().reshape((1, 3)).type, T.drow)


class TestShapesThatCannotFit(unittest.TestCase):
    difference = "early-shape-errors"

    def test_refused_when_compiled(self) -> None:
        result = T.constant([1.0, 2.0, 3.0]).reshape((2, 2))
        with self.assertRaisesRegex(ValueError, "do not fit"):
            theano.function([], result)


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
        for item in (np.sum(x), np.maximum(x, y), np.dot(x, y), np.concatenate([x, y]), np.stack([x, y])):
            self.assertIsInstance(item, T.TensorVariable)


class TestSpecialFunctionsOfSmallIntegers(unittest.TestCase):
    difference = "newer-scipy"

    def test_computed_in_float32(self) -> None:
        result = T.gamma(np.array([2, 6, 1], dtype="uint8"))
        self.assertEqual(result.dtype, "float32")
        np.testing.assert_allclose(result.eval(), [1.0, 120.0, 1.0], rtol=1e-6)


class TestNoneIsNoArgument(unittest.TestCase):
    difference = "none-arguments"

    def test_it_is_refused_where_it_comes_in(self) -> None:
        x, y = T.dscalars("xy")
        f = theano.function([x, y], T.default(x, y))
        self.assertEqual(f(1, 2), 1)
        with self.assertRaisesRegex(TypeError, "None is no value"):
            f(None, 2)


class TestTruthValuesAreNumbers(unittest.TestCase):
    difference = "bool-constants"

    def test_a_python_bool_is_a_constant(self) -> None:
        self.assertEqual(T.as_tensor_variable(True).dtype, "bool")


class TestUnalignedArrays(unittest.TestCase):
    difference = "unaligned-arrays"

    def test_they_are_computed(self) -> None:
        value = np.ones(3, dtype="b1,f8")["f1"]
        self.assertFalse(value.flags.aligned)
        x = T.dvector("x")
        np.testing.assert_array_equal(theano.function([x], 2 * x)(value), [2.0, 2.0, 2.0])


class TestChoicesThatBroadcast(unittest.TestCase):
    difference = "choices-counted"

    def test_what_stretches_is_declared(self) -> None:
        which, (a, b) = T.lvector("which"), T.dvectors("a", "b")
        f = theano.function([which, a, b], T.choose(which, [a, b]))
        np.testing.assert_array_equal(f([0, 1], [1.0, 2.0], [3.0, 4.0]), [1.0, 4.0])
        with self.assertRaises(ValueError):
            f([0, 1], [1.0], [3.0, 4.0])
        broadcasted = theano.function([which, a, b], T.choose(which, [T.addbroadcast(a, 0), b]))
        np.testing.assert_array_equal(broadcasted([0, 1], [1.0], [3.0, 4.0]), [1.0, 4.0])


class TestSpecifiedLengths(unittest.TestCase):
    difference = "specified-lengths"

    def test_each_is_an_input(self) -> None:
        result: Any = T.specify_shape(T.dmatrix("x"), (2, 3))
        self.assertEqual(len(result.owner.inputs), 3)


class TestLengthsOfRanges(unittest.TestCase):
    difference = "lengths-of-ranges"

    def test_not_negative(self) -> None:
        stop = T.iscalar("stop")
        f = theano.function([stop], T.arange(stop).shape)
        self.assertEqual([int(f(n)[0]) for n in (-3, 0, 4)], [0, 0, 4])


class TestSmallestIndex(unittest.TestCase):
    difference = "argmin-op"

    def test_op(self) -> None:
        x = T.TensorType("uint8", (False,))("x")
        f = theano.function([x], T.argmin(x))
        self.assertEqual(int(f(np.array([3, 0, 2], dtype="uint8"))), 1)
        self.assertFalse(any(isinstance(node.op, T.Argmax) for node in f.maker.fgraph.apply_nodes))


class TestPartsOfVectors(unittest.TestCase):
    difference = "parts-of-vectors"

    def test_no_vector_is_made(self) -> None:
        x, y = T.lscalar("x"), T.dscalar("y")
        a, b, c = T.as_tensor_variable((x, y, 9.0))
        f = theano.function([x, y], [b, c, a])
        self.assertEqual([float(v) for v in f(4, 5)], [5.0, 9.0, 4.0])
        self.assertFalse(any(isinstance(node.op, T.opt.MakeVector) for node in f.maker.fgraph.apply_nodes))


class TestFilledConstants(unittest.TestCase):
    difference = "filled-constants"

    def test_gradient_of_a_part(self) -> None:
        v, w = T.dvector("v"), theano.shared(np.arange(3.0))
        cost = T.dot(v.reshape((2, 3))[:2], w).sum()
        f = theano.function([v], theano.grad(cost, v))
        np.testing.assert_array_equal(f(np.ones(6)), [0.0, 1.0, 2.0, 0.0, 1.0, 2.0])
        self.assertFalse(any(isinstance(node.op, T.Alloc) for node in f.maker.fgraph.apply_nodes))


class TestAxesOfSorting(unittest.TestCase):
    difference = "axes-of-sorting"

    def test_known_when_built(self) -> None:
        x, axis = T.dmatrix("x"), cast("Any", T.iscalar("axis"))
        with self.assertRaisesRegex(TypeError, "no axis"):
            T.sort(x, axis)
        value = np.array([[3.0, 1.0], [2.0, 4.0]])
        f = theano.function([x], [T.sort(x, axis=0), T.sort(x, axis=None)])
        for item, expected in zip(f(value), (np.sort(value, axis=0), np.sort(value, axis=None)), strict=True):
            np.testing.assert_array_equal(item, expected)


class TestErrorFunctionOfComplexNumbers(unittest.TestCase):
    difference = "erf-of-complex"

    def test_refused(self) -> None:
        with self.assertRaisesRegex(TypeError, "complex numbers are not supported"):
            T.erf(T.zvector())


class TestRoundingOfHalves(unittest.TestCase):
    difference = "rounding-of-halves"

    def test_each_way(self) -> None:
        x = T.dvector("x")
        results = [T.round(x), x.round(), T.round(x, "half_to_even"), round(x)]
        for item, expected in zip(theano.function([x], results)([0.5, 2.5, -1.5]), "aaee", strict=True):
            np.testing.assert_array_equal(item, [1, 3, -2] if expected == "a" else [0, 2, -2])
