"""Requests of programs of Theano 1.0 to the functions of ``theano.tensor.basic`` beyond their values."""

import unittest
from collections.abc import Callable
from typing import Any

import numpy as np

import theano
import theano.scalar
import theano.tensor as T
from theano.tensor.opt import Assert


class TestErrors(unittest.TestCase):
    def test_axes_that_are_not_there_are_index_errors(self) -> None:
        x = T.constant(np.zeros((2, 3)))
        calls: list[Callable[[], Any]] = [
            lambda: T.swapaxes([2, 1], 0, 1),
            lambda: T.join(-3, x, x),
            lambda: T.stack([x, x], 4),
            lambda: T.shape_padaxis(x, -4),
        ]
        for call in calls:
            with self.assertRaises(IndexError) as caught:
                call()
            self.assertIsInstance(caught.exception, ValueError)

    def test_numbers_of_dimensions_that_do_not_fit_are_type_errors(self) -> None:
        self.assertRaises(TypeError, T.join, 0, T.vector(), T.matrix())
        self.assertRaises(TypeError, T.join, 0, 1, 2)

    def test_a_negative_length_of_a_part_is_refused_when_it_runs(self) -> None:
        f = theano.function([], T.split(T.constant(np.zeros((4, 6))), [5, -1], 2, 0))
        self.assertRaises(ValueError, f)


class TestKnownNumbers(unittest.TestCase):
    def test_computed_constants_are_known(self) -> None:
        two = T.constant(2)
        cases = [(two + 3, 5), (two * T.constant(4.0) - 1, 7), (Assert()(two, two > 1), 2), (-two / 4, -0.5)]
        cases += [(T.constant(np.arange(6).reshape(2, 3))[1, -1], 5)]
        for variable, number in cases:
            self.assertEqual(T.get_scalar_constant_value(variable), number)
        for variable in (two + T.lscalar(), Assert()(two, two < 1), Assert()(two, T.lscalar() > 1), T.constant([1, 2])):
            self.assertRaises(T.NotScalarConstantError, T.get_scalar_constant_value, variable)

    def test_without_elements(self) -> None:
        with self.assertRaises(T.basic.EmptyConstantError):
            T.get_scalar_constant_value(np.array([]))

    def test_a_scalar_becomes_a_tensor(self) -> None:
        variable: Any = T.as_tensor_variable(theano.scalar.constant(56))
        self.assertIs(variable.owner.op, T.tensor_from_scalar)
        self.assertEqual(variable.eval(), 56)


class TestOps(unittest.TestCase):
    def test_diagonals_in_any_two_dimensions(self) -> None:
        x = T.dtensor3("x")
        value = np.arange(6.0).reshape(1, 2, 3)
        for offset, first, second in [(0, 0, 1), (1, 1, 2), (-2, 0, 2), (0, 3, 1)]:
            outcome = T.AllocDiag(offset, first, second)(x)
            f = theano.function([x], [outcome, outcome.shape, T.grad((outcome**2).sum(), x)])
            result, shape, gradient = f(value)
            low, high = sorted((first, second))
            np.testing.assert_array_equal(np.diagonal(result, offset, low, high), value)
            self.assertEqual(result.sum(), value.sum())
            self.assertEqual(result.shape, tuple(shape))
            np.testing.assert_array_equal(gradient, 2 * value)

    def test_the_whole_shape_is_specified(self) -> None:
        x = T.dmatrix("x")
        f = theano.function([x], T.SpecifyShape()(x, [2, 3]))
        self.assertEqual(f(np.zeros((2, 3))).shape, (2, 3))
        self.assertRaises(AssertionError, f, np.zeros((3, 2)))

    def test_one_range_op_for_a_dtype(self) -> None:
        n = T.lscalar("n")
        ranges: list[Any] = [T.arange(n), T.arange(n, 8, dtype="int64"), T.arange(n, 8, 2.0)]
        full, same, other = (result.owner.op for result in ranges)
        self.assertIs(full, same)
        self.assertIsNot(full, other)

    def test_the_pattern_of_a_scalar_changes_nothing(self) -> None:
        x = T.dmatrix("x")
        self.assertIs(T.patternbroadcast(x, T.scalar().broadcastable), x)


class TestCopies(unittest.TestCase):
    def test_a_copy_overwrites_what_its_original_may(self) -> None:
        x = T.dvector("x")
        f = theano.function([x], T.inplace.exp_inplace(x), accept_inplace=True)
        for function in (f, f.copy()):
            value = np.ones(2)
            function(value)
            np.testing.assert_allclose(value, np.exp(np.ones(2)))


class TestNames(unittest.TestCase):
    def test_tensor_is_the_class_of_types(self) -> None:
        self.assertIs(T.Tensor, T.TensorType)
        self.assertEqual(T.Tensor(dtype="int8", broadcastable=[False])().dtype, "int8")
