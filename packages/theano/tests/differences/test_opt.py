"""What rewriting makes of graphs, where it differs on purpose from Theano 1.0; one class for each row of the page."""

from __future__ import annotations

import unittest
from typing import Any, ClassVar

import numpy as np

import theano
import theano.tensor as T
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
        found = theano.function([x], x // 1)(np.array([2.5, -2.5], theano.config.floatX))
        np.testing.assert_array_equal(found, [2, -3])


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
        kept = ops_of(theano.function([x, n], x[n::2][-3:n]))
        self.assertEqual([sum(isinstance(op, T.Subtensor) for op in ops) for ops in (joined, kept)], [1, 2])


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
        found = theano.function([x], [T.log(T.erfc(x)), T.erf(x) - 1, abs(x * -2)])(value)
        self.assertTrue(all(np.isfinite(part).all() for part in found))
        np.testing.assert_allclose(found[2], 2 * abs(value))
