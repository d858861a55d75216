"""Jacobians and Hessians against finite differences, analytic values and each other."""

from __future__ import annotations

import pickle
import unittest
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import theano_tensor as tt
import theano_tensor.rewrites  # the full pipeline is under test
from theano_graph import FunctionGraph, config, debugprint
from theano_linker_c import Mode, function, shared
from theano_tensor.gradient import (
    DisconnectedInputError,
    MapRows,
    NullTypeGradError,
    Rop,
    disconnected_grad,
    grad,
    hessian,
    jacobian,
    map_rows,
    undefined_grad,
)
from theano_testing.tensor import assert_allclose, fetch_seed

RNG = np.random.RandomState(fetch_seed())
MODES = [Mode(linker, optimizer) for linker in ("cvm", "py") for optimizer in ("fast_run", "fast_compile")]


def central(f: Callable[[Any], Any], x: Any, step: float = 1e-6) -> Any:
    """Return the derivatives of an array by the elements of a vector, these along the last axis."""
    directions = step * np.eye(len(x))
    return np.stack([(f(x + d) - f(x - d)) / (2 * step) for d in directions], axis=-1)


class TestJacobian(unittest.TestCase):
    def setUp(self) -> None:
        self.x = tt.dvector("x")
        self.A = shared(RNG.randn(3, 4), "A")
        self.y = tt.tanh(tt.dot(self.A, self.x)) * self.x[1]
        self.value = RNG.randn(4)

    def test_squares_as_in_the_manual(self) -> None:
        f = function([self.x], jacobian(self.x**2, self.x))
        np.testing.assert_array_equal(f([4.0, 4.0]), [[8.0, 0.0], [0.0, 8.0]])

    def test_finite_differences_in_every_mode(self) -> None:
        expected = central(function([self.x], self.y), self.value)
        for mode in MODES:
            assert_allclose(function([self.x], jacobian(self.y, self.x), mode=mode)(self.value), expected, rtol=1e-6)

    def test_form_of_wrt_is_mirrored(self) -> None:
        single = jacobian(self.y, self.x)
        self.assertEqual(single.type.ndim, 2)
        self.assertIs(type(jacobian(self.y, [self.x])), list)
        by_shared, by_x = jacobian(self.y, (self.A, self.x))
        first, second = function([self.x], [by_shared, by_x])(self.value)
        self.assertEqual((first.shape, second.shape), ((3, 3, 4), (3, 4)))
        inner = 1 - np.tanh(self.A.get_value() @ self.value) ** 2
        assert_allclose(first, np.einsum("i,ij,k->ijk", inner, np.eye(3), self.value) * self.value[1], rtol=1e-10)

    def test_scalar_expression_gives_the_gradient(self) -> None:
        cost = (self.x**3).sum()
        np.testing.assert_array_equal(function([self.x], jacobian(cost, self.x))([1.0, 2.0]), [3.0, 12.0])

    def test_no_rows(self) -> None:
        value = function([self.x], jacobian(self.x * 2, self.x))(np.zeros(0))
        self.assertEqual(value.shape, (0, 0))

    def test_shape_alone_runs_no_loop(self) -> None:
        f = function([self.x], jacobian(self.y, self.x).shape)
        self.assertFalse([node for node in f.maker.fgraph.toposort() if isinstance(node.op, MapRows)])
        np.testing.assert_array_equal(f(self.value), [3, 4])

    def test_static_shapes(self) -> None:
        v = tt.TensorType("float32", (3,))("v")
        result = jacobian(tt.exp(v), v)
        self.assertEqual((result.type.dtype, result.type.shape), ("float32", (3, 3)))

    def test_integer_input(self) -> None:
        n = tt.lvector("n")
        result = jacobian(n / 2.0, n)
        self.assertEqual(result.type.dtype, "float64")
        np.testing.assert_array_equal(function([n], result)([3, 4]), np.eye(2) / 2)

    def test_selected_elements(self) -> None:
        index = tt.lvector("index")
        f = function([self.x, index], jacobian(self.x[index] ** 2, self.x))
        np.testing.assert_array_equal(f([1.0, 2.0, 3.0], [2, 2, 0]), [[0, 0, 6], [0, 0, 6], [2, 0, 0]])

    def test_disconnected(self) -> None:
        other = tt.dmatrix("other")
        with self.assertRaisesRegex(DisconnectedInputError, r"other.*is not used"):
            jacobian(self.y, other)
        with self.assertRaises(DisconnectedInputError):
            jacobian(disconnected_grad(self.x) * 2, self.x)
        result = jacobian(self.y, [self.x, other], disconnected_inputs="ignore")[1]
        value = function([self.x, other], result)(self.value, np.zeros((2, 5)))
        np.testing.assert_array_equal(value, np.zeros((3, 2, 5)))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            jacobian(self.y, other, disconnected_inputs="warn")
        self.assertEqual(len(caught), 1)

    def test_consider_constant(self) -> None:
        part = self.x**2
        f = function([self.x], jacobian(part * self.x, self.x, consider_constant=[part]))
        np.testing.assert_array_equal(f([2.0, 3.0]), [[4.0, 0.0], [0.0, 9.0]])

    def test_wrong_arguments(self) -> None:
        with self.assertRaisesRegex(TypeError, r"2 dimensions(?s:.*)flatten"):
            jacobian(tt.dmatrix("M"), self.x)
        with self.assertRaisesRegex(TypeError, "no tensor"):
            jacobian(3.0, self.x)
        with self.assertRaisesRegex(TypeError, "no variable"):
            jacobian(self.y, ["x"])
        with self.assertRaisesRegex(ValueError, "disconnected_inputs"):
            jacobian(self.y, self.x, disconnected_inputs="perhaps")  # type: ignore[arg-type]  # wrong on purpose
        with self.assertRaises(NullTypeGradError):
            jacobian(undefined_grad(self.x) * 2, self.x)

    def test_rows_that_are_all_the_same(self) -> None:
        f = function([self.x], jacobian(tt.zeros_like(self.x) + self.x.sum(), self.x))
        np.testing.assert_array_equal(f([1.0, 2.0]), np.ones((2, 2)))


class TestTestValues(unittest.TestCase):
    def test_values_go_along(self) -> None:
        with config.change_flags(compute_test_value="raise"):
            x = tt.dvector("x")
            x.tag.test_value = np.array([1.0, 2.0])
            result = hessian((x**3).sum(), x)
            np.testing.assert_array_equal(result.tag.test_value, [[6.0, 0.0], [0.0, 12.0]])
            third = jacobian(result.flatten(), x)
            np.testing.assert_array_equal(third.tag.test_value[:, 1], [0.0, 0.0, 0.0, 6.0])
            product = Rop(result, x, x)
            np.testing.assert_array_equal(product.tag.test_value, [[6.0, 0.0], [0.0, 12.0]])


class TestHessian(unittest.TestCase):
    def setUp(self) -> None:
        self.x, self.v = tt.dvector("x"), tt.dvector("v")
        A = RNG.randn(3, 4)
        self.cost = (tt.tanh(tt.dot(A, self.x)) ** 2).sum() * self.x[0]
        self.value, self.direction = RNG.randn(4), RNG.randn(4)

    def test_squares_as_in_the_manual(self) -> None:
        f = function([self.x], hessian((self.x**2).sum(), self.x))
        np.testing.assert_array_equal(f([4.0, 4.0]), [[2.0, 0.0], [0.0, 2.0]])

    def test_finite_differences(self) -> None:
        result = function([self.x], hessian(self.cost, self.x))(self.value)
        expected = central(function([self.x], grad(self.cost, self.x)), self.value)
        assert_allclose(result, expected, rtol=1e-5, atol=1e-8)
        assert_allclose(result, result.T, rtol=1e-10)

    def test_times_a_vector_in_both_ways(self) -> None:
        gradient = grad(self.cost, self.x)
        expected = function([self.x], hessian(self.cost, self.x))(self.value) @ self.direction
        for product in (grad((gradient * self.v).sum(), self.x), Rop(gradient, self.x, self.v)):
            assert_allclose(function([self.x, self.v], product)(self.value, self.direction), expected, rtol=1e-9)

    def test_list_of_vectors(self) -> None:
        y = tt.dvector("y")
        cost = (self.x**2).sum() * (y**3).sum()
        result = hessian(cost, [self.x, y])
        self.assertIs(type(result), list)
        by_x, by_y = function([self.x, y], result)([1.0, 2.0], [1.0, 3.0])
        np.testing.assert_array_equal(by_x, 56 * np.eye(2))
        np.testing.assert_array_equal(by_y, np.diag([30.0, 90.0]))

    def test_linear_cost_has_no_curvature(self) -> None:
        f = function([self.x], hessian((3 * self.x).sum(), self.x))
        np.testing.assert_array_equal(f([1.0, 2.0]), np.zeros((2, 2)))

    def test_disconnected(self) -> None:
        with self.assertRaises(DisconnectedInputError):
            hessian(self.cost, self.v)
        f = function([self.v], hessian(self.cost, self.v, disconnected_inputs="ignore"))
        np.testing.assert_array_equal(f([1.0, 2.0]), np.zeros((2, 2)))

    def test_wrong_arguments(self) -> None:
        with self.assertRaisesRegex(TypeError, r"vectors, but `M` has 2"):
            hessian(self.cost, tt.dmatrix("M"))
        with self.assertRaisesRegex(TypeError, "scalar"):
            hessian(self.x, self.x)


class TestHigherOrders(unittest.TestCase):
    def setUp(self) -> None:
        self.x, self.v = tt.dvector("x"), tt.dvector("v")
        A = RNG.randn(3, 3)
        self.H = hessian((tt.sin(tt.dot(A, self.x)) * self.x).sum(), self.x)
        self.value = RNG.randn(3)
        self.wanted = central(function([self.x], self.H), self.value)

    def test_third_derivatives(self) -> None:
        third = jacobian(self.H.flatten(), self.x)
        assert_allclose(function([self.x], third)(self.value).reshape(3, 3, 3), self.wanted, rtol=1e-6, atol=1e-8)

    def test_rop_through_a_hessian(self) -> None:
        product = Rop(self.H, self.x, self.v)
        result = function([self.x, self.v], product)(self.value, [1.0, 2.0, 3.0])
        assert_allclose(result, self.wanted @ [1.0, 2.0, 3.0], rtol=1e-6, atol=1e-8)

    def test_gradient_through_a_hessian(self) -> None:
        cost = (self.H**2).sum()
        expected = central(function([self.x], cost), self.value)
        for mode in MODES[:2]:
            result = function([self.x], grad(cost, self.x), mode=mode)(self.value)
            assert_allclose(result, expected, rtol=1e-5)

    def test_rop_of_a_gradient_through_a_hessian(self) -> None:
        gradient = grad((self.H**2).sum(), self.x)
        product = function([self.x, self.v], Rop(gradient, self.x, self.v))(self.value, [1.0, 0.0, 2.0])
        expected = central(function([self.x], gradient), self.value) @ [1.0, 0.0, 2.0]
        assert_allclose(product, expected, rtol=1e-5, atol=1e-6)


class TestLoop(unittest.TestCase):
    """The loop itself, with sequences and sums."""

    def setUp(self) -> None:
        self.X, self.c = tt.dmatrix("X"), tt.dvector("c")
        i, row = tt.lscalar("i"), tt.dvector("row")
        self.outputs: list[Any] = map_rows(
            self.X.shape[0], i, {row: self.X}, [row * self.c * i, tt.exp(row) + self.c], ["stack", "sum"], [row, self.c]
        )
        self.values = RNG.randn(3, 4), RNG.randn(4)

    def test_values(self) -> None:
        X, c = self.values
        for mode in MODES:
            stacked, summed = function([self.X, self.c], self.outputs, mode=mode)(X, c)
            assert_allclose(stacked, X * c * np.arange(3)[:, None])
            assert_allclose(summed, (np.exp(X) + c).sum(0))

    def test_both_gradients(self) -> None:
        X, c = self.values
        cost = (self.outputs[0] ** 2).sum() + (self.outputs[1] ** 3).sum()
        by_X, by_c = function([self.X, self.c], grad(cost, [self.X, self.c]))(X, c)
        steps = np.arange(3)[:, None] ** 2
        summed = 3 * (np.exp(X) + c).sum(0) ** 2
        assert_allclose(by_X, 2 * X * c**2 * steps + summed * np.exp(X), rtol=1e-10)
        assert_allclose(by_c, (2 * X**2 * c * steps).sum(0) + 3 * summed, rtol=1e-10)
        V, w = tt.dmatrix("V"), tt.dvector("w")
        product = function([self.X, self.c, V, w], Rop(cost, [self.X, self.c], [V, w]))(X, c, X + 1, c + 1)
        assert_allclose(product, (by_X * (X + 1)).sum() + (by_c * (c + 1)).sum(), rtol=1e-10)

    def test_no_rows(self) -> None:
        stacked, summed = function([self.X, self.c], self.outputs)(np.zeros((0, 4)), np.ones(4))
        self.assertEqual(stacked.shape, (0, 4))
        np.testing.assert_array_equal(summed, np.zeros(4))

    def test_equality_and_pickles(self) -> None:
        op = self.outputs[0].owner.op
        copy = pickle.loads(pickle.dumps(op))
        self.assertEqual(copy, op)
        self.assertEqual(hash(copy), hash(op))
        rows: Any = jacobian(self.c**2, self.c)
        again: Any = jacobian(self.c**2, self.c)
        twice = rows.owner.op
        self.assertNotEqual(op, twice)
        self.assertEqual(twice, again.owner.op)
        f = pickle.loads(pickle.dumps(function([self.X, self.c], self.outputs)))
        assert_allclose(f(*self.values)[1], (np.exp(self.values[0]) + self.values[1]).sum(0))

    def test_equal_loops_are_merged(self) -> None:
        f = function([self.c], [jacobian(self.c**2, self.c), jacobian(self.c**2, self.c) + 1])
        self.assertEqual(sum(isinstance(node.op, MapRows) for node in f.maker.fgraph.toposort()), 1)

    def test_inner_graph_is_printed(self) -> None:
        text = str(debugprint(jacobian(tt.tanh(self.c), self.c), file="str"))
        self.assertIn("MapRows{stack} [id A]", text)
        self.assertIn("Inner graphs:", text)
        self.assertIsInstance(self.outputs[0].owner.op.fgraph, FunctionGraph)

    def test_wrong_inputs(self) -> None:
        op = self.outputs[0].owner.op
        with self.assertRaisesRegex(TypeError, "takes 3 inputs, got 1"):
            op(3)
        with self.assertRaisesRegex(TypeError, "no integer"):
            op(2.5, self.X, self.c)
        f = function([self.X, self.c], op(5, self.X, self.c))
        with self.assertRaisesRegex(ValueError, "sequence 0 has 3 rows, not 5"):
            f(*self.values)
