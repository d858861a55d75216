"""Differences from Theano 1.0 on purpose in rewritten graphs; one class for each row of the page."""

from __future__ import annotations

import unittest
from typing import Any, ClassVar

import numpy as np

import theano
import theano.tensor as T
from theano.ifelse import ifelse
from theano.tensor.elemwise import Elemwise


def ops_of(function: Any) -> list[Any]:
    return [node.op for node in function.maker.fgraph.toposort()]


class TestIndexErrorsKept(unittest.TestCase):
    difference: ClassVar[str] = "index-errors-kept"

    def test_increment_by_zeros_looks_at_its_index(self) -> None:
        x, i = T.matrix(), T.iscalar()
        f = theano.function([x, i], T.inc_subtensor(x[i], T.zeros_like(x[0])))
        with self.assertRaises(IndexError):
            f(np.ones((2, 2), theano.config.floatX), 5)

    def test_part_just_written_looks_at_its_index(self) -> None:
        x, v, i = T.matrix(), T.vector(), T.iscalar()
        f = theano.function([x, v, i], T.set_subtensor(x[i], v)[i])
        with self.assertRaises((IndexError, ValueError)):
            f(np.ones((2, 2), theano.config.floatX), np.ones(2, theano.config.floatX), 5)


class TestNanComparisons(unittest.TestCase):
    difference: ClassVar[str] = "nan-comparisons"

    def test_nan_differs_from_itself(self) -> None:
        x = T.vector()
        f = theano.function([x], [T.eq(x, x), T.neq(x, x)])
        equal, different = f(np.array([1, np.nan], theano.config.floatX))
        self.assertEqual((equal.tolist(), different.tolist()), ([True, False], [False, True]))


class TestFloorDivisionByOne(unittest.TestCase):
    difference: ClassVar[str] = "floor-division-by-one"

    def test_fractions_are_cut_off(self) -> None:
        x = T.vector()
        result = theano.function([x], x // 1)(np.array([2.5, -2.5], theano.config.floatX))
        np.testing.assert_array_equal(result, [2, -3])


class TestWiderFusion(unittest.TestCase):
    difference: ClassVar[str] = "wider-fusion"

    def test_numbers_become_part_of_a_kernel(self) -> None:
        x = T.vector()
        (op,) = ops_of(theano.function([x], (x + 1) * 2 - T.tanh(x)))
        self.assertIsInstance(op, Elemwise)
        self.assertIn("Constant{2.0}", str(op))

    def test_several_results_of_one_loop(self) -> None:
        x, y = T.vectors("xy")
        (op,) = ops_of(theano.function([x, y], [T.exp(x + y), (x + y) * 2]))
        self.assertEqual(op.scalar_op.nout, 2)

    def test_composites_are_dissolved(self) -> None:
        x = theano.scalar.float64()
        inner = theano.scalar.Composite([x], [x + 1])
        outer = theano.scalar.Composite([x], [inner(x) * 2, inner(x)])
        self.assertFalse(any(isinstance(node.op, theano.scalar.Composite) for node in outer.fgraph.apply_nodes))


class TestOneSlice(unittest.TestCase):
    difference: ClassVar[str] = "slices-of-slices"

    def test_slices_are_joined_where_that_holds_for_all_lengths(self) -> None:
        x, n = T.vector(), T.iscalar()
        joined = ops_of(theano.function([x], x[2:][3:]))
        saved = ops_of(theano.function([x, n], x[n::2][-3:n]))
        self.assertEqual([sum(isinstance(op, T.Subtensor) for op in ops) for ops in (joined, saved)], [1, 2])


class TestChecksInLoops(unittest.TestCase):
    difference: ClassVar[str] = "checks-in-loops"

    def test_lengths_are_checked_without_assertions(self) -> None:
        x, y = T.vector(), T.matrix()
        f = theano.function([x, y], T.alloc(x, *y.shape) + y)
        self.assertFalse(any(isinstance(op, T.opt.Assert) for op in ops_of(f)))
        with self.assertRaises(ValueError):
            f(np.ones(2, theano.config.floatX), np.ones((2, 3), theano.config.floatX))


class TestNormalForms(unittest.TestCase):
    difference: ClassVar[str] = "normal-forms"

    def test_signs_are_no_products(self) -> None:
        x = T.vector()
        f = theano.function([x], 1 + T.erf(x), mode=theano.Mode().excluding("fusion"))
        self.assertEqual([type(op.scalar_op).__name__ for op in ops_of(f)], ["Neg", "Erfc"])

    def test_values_are_those_of_the_formula(self) -> None:
        x = T.vector()
        value = np.array([-30, -1, 0, 2, 30], theano.config.floatX)
        result = theano.function([x], [T.log(T.erfc(x)), T.erf(x) - 1, abs(x * -2)])(value)
        self.assertTrue(all(np.isfinite(part).all() for part in result))
        np.testing.assert_allclose(result[2], 2 * abs(value))


class TestFloatProductsInOrder(unittest.TestCase):
    difference: ClassVar[str] = "float-products-in-order"

    def test_product_that_overflows_in_another_order(self) -> None:
        x, c = T.dvector(), T.dscalar()
        f = theano.function([x, c], (c * x).prod())
        self.assertEqual(float(f(np.full(3, 1e-200), 1e200)), 1.0)


class TestLengthsChecked(unittest.TestCase):
    difference: ClassVar[str] = "lengths-checked"

    def test_value_of_another_shape(self) -> None:
        x = theano.shared(np.ones((3, 7)))
        with self.assertRaises(ValueError):
            theano.function([], T.alloc(x, 6, 7))()

    def test_sum_of_which_only_the_shape_is_used(self) -> None:
        x, b = T.dmatrix(), T.dvector()
        for out in (T.grad((x + b).sum(), b), (x + b).shape):
            f = theano.function([x, b], out)
            f(np.ones((3, 2)), np.ones(2))
            with self.assertRaises(ValueError):
                f(np.ones((3, 2)), np.ones(1))

    def test_no_work_is_done_for_a_comparison(self) -> None:
        x, y = T.dvectors("x", "y")
        only_a_value_tells = T.zeros_like(T.extra_ops.Unique()(x) + y).sum()
        chosen = ifelse(T.gt(x[0], 0), (x + y) - y, x)
        for out, expected in ((only_a_value_tells, 0.0), (chosen, [1.0, 2.0])):
            f = theano.function([x, y], out, mode="FAST_RUN", on_unused_input="ignore")
            np.testing.assert_array_equal(f([1.0, 2.0], np.ones(3)), expected)

    def test_one_part_of_another_length(self) -> None:
        x, lengths = T.dmatrix(), T.ivector()
        f = theano.function([x, lengths], T.split(x, lengths, n_splits=1))
        np.testing.assert_array_equal(np.asarray(f(np.ones((4, 2)), [4])).reshape(4, 2), np.ones((4, 2)))
        with self.assertRaises(AssertionError):
            f(np.ones((4, 2)), [3])


class TestInverseFunctions(unittest.TestCase):
    difference: ClassVar[str] = "inverse-functions"

    def test_sign_is_lost(self) -> None:
        x = T.dscalar()
        self.assertAlmostEqual(float(theano.function([x], T.arccosh(T.cosh(x)))(-2.0)), 2.0)


class TestReciprocalRootEnds(unittest.TestCase):
    difference: ClassVar[str] = "reciprocal-root-ends"

    def test_powers_of_the_ends(self) -> None:
        x = T.dvector()
        result = theano.function([x], x**-0.5)(np.array([-0.0, 0.0, -np.inf, np.inf, 4.0]))
        np.testing.assert_array_equal(result, [np.inf, np.inf, 0.0, 0.0, 0.5])


class TestKnownLengths(unittest.TestCase):
    difference: ClassVar[str] = "known-lengths"

    def test_broadcastable_dimension(self) -> None:
        self.assertEqual(T.get_scalar_constant_value(T.row().shape[0]), 1)
        x = T.row()
        f = theano.function([x], x.shape[0])
        self.assertEqual(int(f(np.ones((1, 2), theano.config.floatX))), 1)


class TestPartsOfAnotherKind(unittest.TestCase):
    difference: ClassVar[str] = "parts-of-another-kind"

    def test_fractions_into_integers(self) -> None:
        with self.assertRaises(TypeError):
            T.set_subtensor(T.bmatrix()[0], T.dvector())


class TestViewsOfParts(unittest.TestCase):
    difference: ClassVar[str] = "views-of-parts"

    def test_results_share_nothing_with_the_argument(self) -> None:
        x = T.dvector()
        value = np.ones(4)
        first, _ = theano.function([x], T.split(x, [2, 2], n_splits=2))(value)
        self.assertFalse(np.shares_memory(first, value))
