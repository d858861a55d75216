from __future__ import annotations

import unittest
from typing import Any

import numpy as np

import theano_tensor as tt
from theano_graph import Apply, Op
from theano_linker_c import Mode, function
from theano_tensor.gradient import (
    DisconnectedInputError,
    DisconnectedType,
    EvaluationPoint,
    GradUndefinedError,
    Lop,
    NullTypeGradError,
    Rop,
    consider_constant,
    disconnected_grad,
    format_as,
    grad,
    grad_clip,
    grad_scale,
    grad_sources_inputs,
    subgraph_grad,
    undefined_grad,
    zero_grad,
)
from theano_testing.tensor import assert_allclose

MODE = "FAST_COMPILE"
RNG = np.random.RandomState(5)


def run(inputs: list[Any], outputs: Any, *values: Any) -> Any:
    compiled: Any = function(inputs, outputs, mode=MODE, on_unused_input="ignore")
    return compiled(*values)


class TestProductsWithJacobians(unittest.TestCase):
    def test_linear_map_as_in_the_manual(self) -> None:
        w, v, x = tt.dmatrix("W"), tt.dmatrix("V"), tt.dvector("x")
        y = tt.dot(x, w)
        weights, direction, point = np.ones((2, 2)), np.full((2, 2), 2.0), np.array([0.0, 1.0])
        assert_allclose(run([w, v, x], Rop(y, w, v), weights, direction, point), [2.0, 2.0])
        u = tt.dvector("u")
        left = run([u, x, w], Lop(y, w, u), [2.0, 2.0], point, weights)
        assert_allclose(left, [[0.0, 0.0], [2.0, 2.0]])

    def test_a_source_that_the_product_does_not_depend_on_may_be_an_input(self) -> None:
        w, v, x, t = tt.dmatrix("W"), tt.dmatrix("V"), tt.dvector("x"), tt.dvector("t")
        for mode in ("FAST_COMPILE", "FAST_RUN"):
            f: Any = function([w, v, x], Rop(tt.dot(x, w), w, v), mode=mode)
            assert_allclose(f(np.ones((2, 3)), np.full((2, 3), 2.0), [0.5, 1.0]), [3.0, 3.0, 3.0])
            g: Any = function([w, v, x, t], Rop([tt.dot(x, w), x * 3], [w, x], [v, t]), mode=mode)
            moved, tripled = g(np.ones((2, 3)), np.full((2, 3), 2.0), [0.5, 1.0], [1.0, -2.0])
            assert_allclose(moved, [2.0, 2.0, 2.0])
            assert_allclose(tripled, [3.0, -6.0])

    def test_right_product_is_the_transpose_of_the_left_one(self) -> None:
        x, u, v = tt.dvector("x"), tt.dvector("u"), tt.dvector("v")
        y = tt.exp(x) * x.sum() / (1 + x**2)
        point, a, b = RNG.rand(4), RNG.rand(4), RNG.rand(4)
        left = run([x, u, v], (Lop(y, x, u) * v).sum(), point, a, b)
        right = run([x, u, v], (Rop(y, x, v) * u).sum(), point, a, b)
        assert_allclose(left, right)

    def test_rop_against_finite_differences(self) -> None:
        x, v = tt.dmatrix("x"), tt.dmatrix("v")
        expressions = {
            "reductions": tt.max(x, axis=1) + x.sum(axis=0)[:2] if x.ndim == 1 else x.sum(axis=0),
            "product": tt.dot(x, x.T).sum(axis=1),
            "elementwise": tt.tanh(x * x).sum(axis=1),
            "views": (x.T * 2).T.mean(axis=0),
        }
        point, direction, step = RNG.rand(3, 4), RNG.rand(3, 4), 1e-6
        for name, y in expressions.items():
            with self.subTest(name):
                product = run([x, v], Rop(y, x, v), point, direction)
                above, below = (run([x], y, point + s * step * direction) for s in (1, -1))
                assert_allclose(product, (above - below) / (2 * step), rtol=1e-6)

    def test_lists_and_tuples(self) -> None:
        x, v = tt.dscalar("x"), tt.dscalar("v")
        self.assertIsInstance(Rop([x**2], x, v), list)
        self.assertIsInstance(Rop((x**2, x), [x], [v]), tuple)
        self.assertIsInstance(Lop(x**2, [x], v), list)

    def test_disconnected_outputs(self) -> None:
        x, y, v = tt.dscalar("x"), tt.dscalar("y"), tt.dscalar("v")
        with self.assertRaisesRegex(DisconnectedInputError, "`y`"):
            Rop(x**2, y, v)
        self.assertIsNone(Rop(x**2, y, v, disconnected_outputs="ignore", return_disconnected="None"))
        kind = Rop(x**2, y, v, disconnected_outputs="ignore", return_disconnected="Disconnected")
        self.assertEqual(kind.type, DisconnectedType())
        zero = Rop(x**2, y, v, disconnected_outputs="ignore")
        self.assertEqual(float(run([x, y, v], zero, 1.0, 2.0, 3.0)), 0.0)

    def test_linear_in_the_source(self) -> None:
        x = tt.dvector("x")
        slope = grad(tt.dot(x, tt.constant([2.0, 3.0])), x)
        np.testing.assert_array_equal(function([x], Rop(slope, x, x))([5.0, 7.0]), [0.0, 0.0])

    def test_r_op_without_an_answer(self) -> None:
        class Unanswered(Op):
            __props__ = ()

            def make_node(self, x: Any) -> Apply:
                return Apply(self, [x], [x.type()])

            def grad(self, inputs: list[Any], grads: list[Any]) -> list[Any]:
                return [grads[0]]

            def R_op(self, inputs: list[Any], eval_points: list[Any]) -> list[Any]:
                return [None]

        x, v = tt.dvector("x"), tt.dvector("v")
        for broken in (Unanswered()(x), Unanswered()(x)[:1], Unanswered()(x).sum() * 2):
            with self.assertRaises(DisconnectedInputError):
                Rop(broken, x, v)
        self.assertIsNone(Rop(Unanswered()(x), x, v, disconnected_outputs="ignore", return_disconnected="None"))

    def test_wrong_evaluation_points(self) -> None:
        x = tt.dvector("x")
        with self.assertRaisesRegex(ValueError, "2 evaluation points for 1"):
            Rop(x, x, [x, x])
        with self.assertRaisesRegex(ValueError, "0 dimensions, not 1"):
            Lop(x * 2, x, tt.dscalar("u"))


class TestGates(unittest.TestCase):
    def test_values_pass_unchanged(self) -> None:
        x = tt.dvector("x")
        gated = [disconnected_grad(x), zero_grad(x), undefined_grad(x), grad_clip(x, -1, 1), grad_scale(x, 3)]
        for value in run([x], [y * 2 for y in gated], [1.0, -2.0]):
            assert_allclose(value, [2.0, -4.0])

    def test_disconnected_grad(self) -> None:
        x = tt.dscalar("x")
        self.assertEqual(float(run([x], grad(disconnected_grad(x) * x, x), 3.0)), 3.0)
        with self.assertRaises(DisconnectedInputError):
            grad(disconnected_grad(x) * 2, x)

    def test_zero_grad_stays_connected(self) -> None:
        x = tt.dscalar("x")
        self.assertEqual(float(run([x], grad(zero_grad(x) * 2, x), 3.0)), 0.0)

    def test_undefined_grad(self) -> None:
        x = tt.dscalar("x")
        with self.assertRaisesRegex(GradUndefinedError, "undefined_grad"):
            grad(undefined_grad(x) * 2, x)

    def test_grad_clip_as_in_the_manual(self) -> None:
        x = tt.dscalar("x")
        clipped, plain = grad(grad_clip(x, -1, 1) ** 2, x), grad(x**2, x)
        self.assertEqual([float(g) for g in run([x], [clipped, plain], 2.0)], [1.0, 4.0])
        with self.assertRaisesRegex(ValueError, "above the upper"):
            grad_clip(x, 1, -1)

    def test_grad_scale_as_in_the_manual(self) -> None:
        x = tt.fscalar("x")
        fx = tt.sin(x)
        gradient, inverse = grad(fx, x), grad(grad_scale(fx, -1.0), x)
        values = run([x], [gradient, inverse], np.float32(2.0))
        assert_allclose(values[0], np.float32(np.cos(2.0)))
        assert_allclose(values[1], np.float32(-np.cos(2.0)))
        self.assertEqual(inverse.type.dtype, "float32")

    def test_consider_constant_is_deprecated(self) -> None:
        x = tt.dscalar("x")
        with self.assertWarnsRegex(DeprecationWarning, "zero_grad"):
            self.assertEqual(float(run([x], grad(consider_constant(x) * 2, x), 3.0)), 0.0)

    def test_gates_take_variables_only(self) -> None:
        with self.assertRaisesRegex(TypeError, "one variable"):
            zero_grad(3.0)  # type: ignore[type-var]  # that is the point


class TestParts(unittest.TestCase):
    def test_layer_by_layer_as_in_the_manual(self) -> None:
        x, t = tt.dvector("x"), tt.dvector("t")
        w1, w2 = tt.dmatrix("w1"), tt.dmatrix("w2")
        a1 = tt.tanh(tt.dot(x, w1))
        a2 = tt.tanh(tt.dot(a1, w2))
        cost2 = tt.sqr(a2 - t).sum() + tt.sqr(w2.sum())
        cost1 = tt.sqr(w1.sum())
        results: list[Any] = []
        following: Any = None
        for wrt, end, cost in (([w2], [a1], cost2), ([w1], [x], cost1)):
            gradients, next_gradients = subgraph_grad(wrt=wrt, end=end, start=following, cost=cost)
            following = dict(zip(end, next_gradients, strict=True))
            results.extend(gradients)
        values = [RNG.rand(3), RNG.rand(2), RNG.rand(3, 4), RNG.rand(4, 2)]
        got = run([x, t, w1, w2], results, *values)
        expected = run([x, t, w1, w2], grad(cost1 + cost2, [w2, w1]), *values)
        for a, b in zip(got, expected, strict=True):
            assert_allclose(a, b)

    def test_details_and_errors(self) -> None:
        x = tt.dscalar("x")
        self.assertEqual(len(subgraph_grad([x], [x], cost=x**2, details=True)), 4)
        with self.assertRaisesRegex(ValueError, "cost or a start"):
            subgraph_grad([x], [x])

    def test_format_as(self) -> None:
        self.assertEqual(format_as(True, False, 1), [1])
        self.assertEqual(format_as(False, True, [1, 2]), (1, 2))
        self.assertEqual(format_as(False, False, [1]), [1])
        with self.assertRaises(ValueError):
            format_as(True, True, 1)


class TestSeveralResults(unittest.TestCase):
    """Results of which one depends on another."""

    def setUp(self) -> None:
        self.x, self.u, self.v = tt.dvector("x"), tt.dvector("u"), tt.dvector("v")
        self.y = tt.exp(self.x)
        self.z = self.y**2 * self.x
        self.values = [np.array([0.5, -1.0]), np.array([2.0, 3.0]), np.array([-1.0, 0.25])]
        x, u, v = self.values
        self.wanted = u * np.exp(x) + v * (2 * x + 1) * np.exp(2 * x)

    def test_left_product_counts_each_path(self) -> None:
        for f, points in (([self.y, self.z], [self.u, self.v]), ([self.z, self.y], [self.v, self.u])):
            product = Lop(f, self.x, points)
            result = function([self.x, self.u, self.v], product)(*self.values)
            np.testing.assert_allclose(result, self.wanted, rtol=1e-12)

    def test_one_result_twice(self) -> None:
        product = Lop([self.y, self.y], self.x, [self.u, self.v])
        x, u, v = self.values
        np.testing.assert_allclose(function([self.x, self.u, self.v], product)(x, u, v), (u + v) * np.exp(x))

    def test_rule_whose_parts_depend_on_each_other(self) -> None:
        class Scaled(Op):
            """x * y; the gradient of y is computed from that of x."""

            __props__ = ()

            def make_node(self, *inputs: Any) -> Apply:
                x, y = map(tt.as_tensor_variable, inputs)
                return Apply(self, [x, y], [x.type()])

            def grad(self, inputs: list[Any], output_gradients: list[Any]) -> list[Any]:
                x, y = inputs
                by_x = output_gradients[0] * y
                return [by_x, by_x / y * x]

        result = Scaled()(self.x, self.x + 1)
        tangent = Rop(result, self.x, self.u)
        x, u = self.values[0] + 0.25, self.values[1]
        np.testing.assert_allclose(function([self.x, self.u], tangent)(x, u), u * (2 * x + 1), rtol=1e-12)

    def test_sources(self) -> None:
        result = grad_sources_inputs([(self.y, self.u), (self.z, self.v)])
        value = function([self.x, self.u, self.v], result[self.x])(*self.values)
        np.testing.assert_allclose(value, self.wanted, rtol=1e-12)
        self.assertIs(result[self.z], self.v)
        stopped = grad_sources_inputs([(self.z, self.v)], [self.y])
        self.assertIn(self.y, stopped)
        part = function([self.x, self.v], stopped[self.x])(self.values[0], self.values[2])
        np.testing.assert_allclose(part, self.values[2] * np.exp(2 * self.values[0]), rtol=1e-12)
        with self.assertRaisesRegex(TypeError, "dimensions"):
            grad_sources_inputs([(self.z, tt.dtensor3())])

    def test_gradient_that_cannot_be_computed_stops_a_right_product(self) -> None:
        with self.assertRaises(NullTypeGradError):
            Rop(tt.exp(undefined_grad(self.x) * 2), self.x, self.u)

    def test_shape_of_the_point(self) -> None:
        product = Rop(self.y, self.x, self.u)
        with self.assertRaisesRegex(ValueError, r"`u` has shape \(3,\), its variable \(2,\)"):
            function([self.x, self.u], product, mode=Mode("py", None))([1.0, 2.0], [1.0, 2.0, 3.0])
        for wrong in ([self.x], [self.x, 2.0]):
            with self.assertRaisesRegex(TypeError, "takes two variables"):
                EvaluationPoint()(*wrong)

    def test_unknown_options(self) -> None:
        with self.assertRaisesRegex(ValueError, "disconnected_outputs"):
            Rop(self.y, self.x, self.u, disconnected_outputs="perhaps")  # type: ignore[arg-type]  # wrong on purpose
        with self.assertRaisesRegex(ValueError, "return_disconnected"):
            Rop(self.y, self.x, self.u, return_disconnected="one")  # type: ignore[arg-type]  # wrong on purpose
