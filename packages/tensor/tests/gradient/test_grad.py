from __future__ import annotations

import unittest
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

import theano_tensor as tt
from theano_graph import Apply, Op, applys_between, as_string, pprint, pullback
from theano_linker_c import DeepCopyOp, ViewOp, function
from theano_tensor.elemwise import Elemwise
from theano_tensor.gradient import (
    DisconnectedInputError,
    DisconnectedType,
    GradNotImplementedError,
    GradUndefinedError,
    NullType,
    NullTypeGradError,
    PullbackError,
    Rop,
    grad,
    grad_not_implemented,
    grad_undefined,
)
from theano_testing.tensor import assert_allclose, verify_grad
from theano_testing.tiers import slow

MODE = "FAST_COMPILE"


def value(output: Any, givens: dict[Any, Any]) -> Any:
    """Compute one variable."""
    compiled: Any = function(list(givens), output, mode=MODE, on_unused_input="ignore")
    return compiled(*givens.values())


class TestResults(unittest.TestCase):
    def test_pattern_of_the_variable(self) -> None:
        x = tt.dmatrix()
        self.assertEqual(grad((tt.specify_shape(x, (1, 3)) ** 2).sum(), x).broadcastable, x.broadcastable)

    def test_power_prints_as_documented(self) -> None:
        x = tt.dscalar("x")
        (text,) = as_string([x], [grad(x**2, x)])
        self.assertIn("second", text)
        self.assertEqual(float(value(grad(x**2, x), {x: 4.0})), 8.0)

    def test_results_mirror_the_form_of_wrt(self) -> None:
        x, y = tt.dscalar("x"), tt.dscalar("y")
        cost = x * y
        self.assertIsInstance(grad(cost, [x, y]), list)
        self.assertIsInstance(grad(cost, (x, y)), tuple)
        self.assertNotIsInstance(grad(cost, x), (list, tuple))
        self.assertEqual(grad(cost, []), [])

    def test_names(self) -> None:
        x = tt.dscalar("x")
        cost = x**3
        cost.name = "cost"
        self.assertEqual(grad(cost, x).name, "(dcost/dx)")
        self.assertIsNone(grad(cost, x, add_names=False).name)
        unnamed = x**3
        self.assertIsNone(grad(unnamed, x).name)

    def test_variable_used_several_times(self) -> None:
        x = tt.dvector("x")
        verify_grad(lambda v: v * v + tt.exp(v) * v, [np.array([0.3, -1.0, 2.0])], mode=MODE)
        self.assertEqual(grad((x * x).sum(), x).type.ndim, 1)

    def test_intermediate_variable(self) -> None:
        x = tt.dscalar("x")
        middle = x * 3
        self.assertEqual(float(value(grad(middle**2, middle), {x: 2.0})), 12.0)

    def test_cost_itself(self) -> None:
        x = tt.dscalar("x")
        self.assertEqual(float(value(grad(x, x), {x: 5.0})), 1.0)

    def test_broadcast_operands_are_summed_over(self) -> None:
        rng = np.random.RandomState(3)
        verify_grad(lambda a, b: a * b + b, [rng.rand(3, 4), rng.rand(1, 4)], mode=MODE)
        verify_grad(lambda a, b: a / b, [rng.rand(3, 4), rng.rand(4) + 0.5], mode=MODE)

    def test_float32_stays_float32(self) -> None:
        x = tt.fvector("x")
        self.assertEqual(grad(tt.exp(x).sum(), x).type.dtype, "float32")

    def test_origin_is_that_of_the_differentiated_line(self) -> None:
        x = tt.dscalar("x")
        y = tt.exp(x)
        assert y.origin is not None
        line = y.origin.lineno
        gradient = grad(y * 2, x)
        assert gradient.owner is not None and gradient.owner.origin is not None
        self.assertEqual(gradient.owner.origin.lineno, line)

    @slow
    def test_deep_chain(self) -> None:
        x = tt.dscalar("x")
        y = x
        for _ in range(10_000):
            y = tt.sin(y)
        gradient = grad(y, x)
        self.assertLess(len(applys_between([x], [gradient])), 50_000)


class TestSize(unittest.TestCase):
    """The graph of a gradient is a few times as large as the differentiated graph, however much that shares."""

    def nodes(self, y: Any, x: Any) -> int:
        return len(applys_between([x], [y]))

    def test_shared_steps(self) -> None:
        sizes = []
        for length in (100, 200):
            x = tt.dvector("x")
            y = x
            for _ in range(length):
                y = tt.tanh(y * y + x)  # 2 ** length paths
            cost = y.sum()
            sizes.append([self.nodes(v, x) for v in (grad(cost, x), Rop(y, x, x), grad(grad(cost, x).sum(), x))])
        for short, long in zip(*sizes, strict=True):
            self.assertLess(long, 2.1 * short)

    def test_many_uses_of_one_variable(self) -> None:
        x = tt.dvector("x")
        cost = sum((tt.exp(x * k) for k in range(1, 1001)), x).sum()
        self.assertLess(self.nodes(grad(cost, x), x), 12 * 1000)

    @slow
    def test_higher_orders_of_a_long_chain(self) -> None:
        x = tt.dvector("x")
        y = x
        for _ in range(3000):
            y = tt.sin(y)
        gradient = grad(y.sum(), x)
        self.assertLess(self.nodes(Rop(gradient, x, x), x), 40 * 3000)
        self.assertLess(self.nodes(grad(gradient.sum(), x), x), 40 * 3000)


class TestIntegers(unittest.TestCase):
    def test_integer_input_of_a_continuous_function(self) -> None:
        n = tt.iscalar("n")
        gradient = grad(0.5 * tt.cast(n, "float64"), n)
        self.assertTrue(gradient.type.dtype.startswith("float"))
        self.assertEqual(float(value(gradient, {n: 3})), 0.5)

    def test_integer_output_is_a_step_function(self) -> None:
        x = tt.dscalar("x")
        cost = 0.5 * tt.cast(tt.cast(x, "int64"), "float64")
        self.assertEqual(float(value(grad(cost, x), {x: 3.7})), 0.0)

    def test_integer_cost_gives_zero(self) -> None:
        n = tt.iscalar("n")
        gradient = grad(n * n, n)
        self.assertTrue(gradient.type.dtype.startswith("float"))
        self.assertEqual(float(value(gradient, {n: 3})), 0.0)


class TestDisconnected(unittest.TestCase):
    def test_error_names_the_variable_its_line_and_what_the_cost_depends_on(self) -> None:
        x, y = tt.dscalar("x"), tt.dscalar("y")
        with self.assertRaisesRegex(
            DisconnectedInputError, r"(?s)`y` is not used.*test_grad\.py:\d+.*`x`.*Hint"
        ) as caught:
            grad(x**2, y)
        self.assertIsInstance(caught.exception, ValueError)

    def test_error_shows_where_the_path_breaks(self) -> None:
        x = tt.dvector("x")
        cost = tt.cast(tt.exp(x).shape[0], "float64") * 2.0
        with self.assertRaisesRegex(DisconnectedInputError, r"(?s)path from the cost.*breaks here.*Hint"):
            grad(cost, x)

    def test_zero_none_and_disconnected(self) -> None:
        x, y = tt.dscalar("x"), tt.dvector("y")
        zero = grad(x**2, y, disconnected_inputs="ignore")
        assert_allclose(value(zero, {y: np.ones(3)}), np.zeros(3))
        self.assertIsNone(grad(x**2, y, disconnected_inputs="ignore", return_disconnected="None"))
        kind = grad(x**2, y, disconnected_inputs="ignore", return_disconnected="Disconnected")
        self.assertEqual(kind.type, DisconnectedType())

    def test_warning(self) -> None:
        x, y = tt.dscalar("x"), tt.dscalar("y")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            grad(x**2, y, disconnected_inputs="warn")
        self.assertEqual(len(caught), 1)
        self.assertIn("`y`", str(caught[0].message))

    def test_consider_constant(self) -> None:
        x = tt.dscalar("x")
        held = tt.exp(x)
        gradient = grad(held * x, x, consider_constant=[held])
        self.assertAlmostEqual(float(value(gradient, {x: 1.5})), float(np.exp(1.5)))
        with self.assertRaisesRegex(DisconnectedInputError, "consider_constant"):
            grad(held * 2, x, consider_constant=[held])

    def test_disconnected_type_has_no_values(self) -> None:
        with self.assertRaisesRegex(TypeError, "no value"):
            DisconnectedType().filter(1.0)
        self.assertFalse(DisconnectedType().is_valid_value(0))


class TestWrongArguments(unittest.TestCase):
    def test_vector_cost(self) -> None:
        x = tt.dmatrix("x")
        with self.assertRaisesRegex(TypeError, r"(?s)scalar.*2 dimension.*shape \(\?, \?\).*sum\(\)"):
            grad(x * 2, x)

    def test_cost_that_is_no_variable(self) -> None:
        with self.assertRaisesRegex(TypeError, "3.5"):
            grad(3.5, tt.dscalar("x"))  # type: ignore[call-overload]  # that is the point

    def test_wrt_that_is_no_variable(self) -> None:
        x = tt.dscalar("x")
        with self.assertRaisesRegex(TypeError, "'x'"):
            grad(x**2, "x")
        with self.assertRaisesRegex(TypeError, "1.0"):
            grad(x**2, [x, 1.0])

    def test_neither_cost_nor_known_gradients(self) -> None:
        with self.assertRaisesRegex(ValueError, "known_grads"):
            grad(None, tt.dscalar("x"))

    def test_unknown_options(self) -> None:
        x = tt.dscalar("x")
        for option in ("disconnected_inputs", "return_disconnected", "null_gradients"):
            with self.assertRaisesRegex(ValueError, option):
                grad(x**2, x, **{option: "sometimes"})  # type: ignore[call-overload]  # that is the point


class TestKnownGradients(unittest.TestCase):
    def test_without_cost(self) -> None:
        x, g = tt.dvector("x"), tt.dvector("g")
        y = x**2
        gradient = grad(None, x, known_grads={y: g})
        assert_allclose(value(gradient, {x: np.array([1.0, 2.0]), g: np.array([3.0, 5.0])}), [6.0, 20.0])

    def test_known_gradient_is_taken_as_it_is(self) -> None:
        x = tt.dscalar("x")
        y = x * 2
        gradient = grad(y**2, x, known_grads={y: tt.constant(10.0)})
        self.assertEqual(float(value(gradient, {x: 7.0})), 20.0)

    def test_wrong_dimensions(self) -> None:
        x = tt.dvector("x")
        with self.assertRaisesRegex(TypeError, "1 dimensions a gradient with 2"):
            grad(None, x, known_grads={x * 2: tt.dmatrix("g")})

    def test_number_stands_for_an_array_of_it(self) -> None:
        x, g = tt.dvector("x"), tt.dscalar("g")
        gradient = grad(None, x, known_grads={x * 2: g})
        assert_allclose(value(gradient, {x: np.array([1.0, 2.0]), g: 3.0}), [6.0, 6.0])

    def test_names_of_the_users_variables_stay(self) -> None:
        x, g = tt.dscalar("x"), tt.dscalar()
        y = x * 1
        y.name = "y"
        grad(None, y, known_grads={y: g})
        self.assertIsNone(g.name)


class Square(Op):
    """A user's op with ``grad``; the tests set its result."""

    answer: Any = None

    def make_node(self, *inputs: Any) -> Apply:
        x = tt.as_tensor_variable(inputs[0])
        return Apply(self, [x], [x.type()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        output_storage[0][0] = np.asarray(inputs[0] ** 2)

    def grad(self, inputs: list[Any], output_gradients: list[Any]) -> Any:
        if self.answer is not None:
            return self.answer(inputs, output_gradients)
        return [output_gradients[0] * 2 * inputs[0]]


class WithOutputs(Square):
    """A user's op with ``L_op``, which is preferred."""

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> Any:
        return [output_gradients[0] * 2 * outputs[0] / inputs[0]]


class Half(Op):
    """A user's op that does not depend on its second input."""

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, list(inputs), [inputs[0].type()])

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True], [False]]

    def grad(self, inputs: list[Any], output_gradients: list[Any]) -> Any:
        return [output_gradients[0] / 2, DisconnectedType()()]


class Opaque(Op):
    """A user's op without a gradient."""

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, list(inputs), [inputs[0].type()])


class TestUserOps(unittest.TestCase):
    def test_grad_and_l_op(self) -> None:
        verify_grad(Square(), [np.array([1.0, 2.0])], mode=MODE)
        verify_grad(WithOutputs(), [np.array([1.0, 2.0])], mode=MODE)

    def test_connection_pattern(self) -> None:
        x, y = tt.dscalar("x"), tt.dscalar("y")
        with self.assertRaisesRegex(DisconnectedInputError, "breaks here: the result of .*Half"):
            grad(Half()(x, y), y)
        self.assertEqual(grad(Half()(x, y), x).type.dtype, "float64")

    def test_op_without_gradient(self) -> None:
        x = tt.dscalar("x")
        with self.assertRaisesRegex(NullTypeGradError, r"(?s)Opaque.*no gradient rule") as caught:
            grad(Opaque()(x), x)
        self.assertIsInstance(caught.exception, NotImplementedError)
        self.assertIsInstance(grad(Opaque()(x), x, null_gradients="return").type, NullType)

    def test_op_without_gradient_off_the_path(self) -> None:
        x, y = tt.dscalar("x"), tt.dscalar("y")
        self.assertEqual(float(value(grad(Opaque()(y) + x * 2, x), {x: 1.0, y: 1.0})), 2.0)

    def test_wrong_answers_name_the_op(self) -> None:
        x = tt.dvector("x")
        answers = {
            "not a list": lambda i, g: g[0],
            "2 gradients for 1 inputs": lambda i, g: [g[0], g[0]],
            "no variable": lambda i, g: [1.0],
            "2 dimensions for input 0 with 1": lambda i, g: [g[0].dimshuffle(0, "x")],
        }
        for text, answer in answers.items():
            op = Square()
            op.answer = answer
            with self.subTest(text), self.assertRaisesRegex(PullbackError, f"(?s)Square.*{text}.*Hint"):
                grad(op(x).sum(), x)

    def test_integer_constant_is_converted(self) -> None:
        x = tt.fscalar("x")
        op = Square()
        op.answer = lambda i, g: [tt.constant(0)]
        self.assertEqual(grad(op(x), x).type.dtype, "float32")

    def test_undefined_and_missing_gradients(self) -> None:
        x = tt.dscalar("x")
        op = Square()
        op.answer = lambda i, g: [grad_undefined(op, 0, i[0], "it jumps")]
        with self.assertRaisesRegex(NullTypeGradError, "it jumps"):
            grad(op(x) * 2, x)
        op.answer = lambda i, g: [grad_not_implemented(op, 0, i[0], "too hard")]
        with self.assertRaisesRegex(GradNotImplementedError, "too hard"):
            grad(op(x) * 2, x)

    def test_variable_of_null_type_does_not_compile(self) -> None:
        x = tt.dscalar("x")
        null = grad(Opaque()(x), x, null_gradients="return")
        disconnected = DisconnectedType()()
        undefined = grad_undefined(Opaque(), 0, x, "there is none")
        for output, error, text in (
            (null, GradNotImplementedError, "no gradient rule"),
            (undefined, GradUndefinedError, "there is none"),
            (disconnected, TypeError, "disconnected gradient has no value"),
        ):
            with self.assertRaisesRegex(error, text):
                function([x], output, mode=MODE)


class TestOverriding(unittest.TestCase):
    """Subclasses whose own methods say something else than the rules of their base."""

    def setUp(self) -> None:
        self.x, self.v = tt.dvector("x"), tt.dvector("v")

    def value(self, y: Any) -> Any:
        f: Any = function([self.x, self.v], y, mode="FAST_COMPILE", on_unused_input="ignore")
        return f([1.0, 2.0], [3.0, 4.0])

    def test_view_with_another_gradient(self) -> None:
        class Reversed(ViewOp):
            def grad(self, args: list[Any], g_outs: list[Any]) -> list[Any]:
                return [-g_outs[0]]

        np.testing.assert_array_equal(self.value(grad((Reversed()(self.x) ** 2).sum(), self.x)), [-2.0, -4.0])
        np.testing.assert_array_equal(self.value(grad((ViewOp()(self.x) ** 2).sum(), self.x)), [2.0, 4.0])

    def test_both_forms_of_the_method_override_a_rule(self) -> None:
        class ByGrad(tt.Sum):
            def grad(self, inputs: list[Any], output_gradients: list[Any]) -> list[Any]:
                return [inputs[0] * 0 + 7.0]

        class ByLOp(tt.Sum):
            def L_op(self, inp: Any, out: Any, grads: Any) -> list[Any]:
                return [inp[0] * 0 + 8.0]

        for op, expected in ((ByGrad(), 7.0), (ByLOp(), 8.0), (type("Same", (tt.Sum,), {})(), 1.0)):
            np.testing.assert_array_equal(self.value(grad(op(self.x), self.x)), [expected] * 2)

    def test_r_op_and_shape(self) -> None:
        class Marked(ViewOp):
            def R_op(self, inputs: list[Any], eval_points: list[Any]) -> list[Any]:
                return [eval_points[0] * 10]

            def infer_shape(self, node: Apply, shapes: list[Any]) -> list[Any]:
                return [(tt.as_tensor_variable(5),)]

        y = Marked()(self.x)
        np.testing.assert_array_equal(self.value(Rop(y, self.x, self.v)), [30.0, 40.0])
        f: Any = function([self.x], y.shape)
        np.testing.assert_array_equal(f([1.0, 2.0]), [5])

    def test_copies_and_views_pass_everything_on(self) -> None:
        for op in (ViewOp(), DeepCopyOp()):
            np.testing.assert_array_equal(self.value(Rop(op(self.x) ** 2, self.x, self.v)), [6.0, 16.0])
            np.testing.assert_array_equal(self.value(op(self.x).shape), [2])


class TestPowers(unittest.TestCase):
    def test_documented_form(self) -> None:
        x = tt.dscalar("x")
        text = pprint(grad(x**2, x))
        self.assertEqual(
            text,
            "((fill((x ** TensorConstant{2}), TensorConstant{1.0}) * TensorConstant{2}) * "
            "(x ** (TensorConstant{2} - TensorConstant{1})))",
        )

    def test_constant_exponents(self) -> None:
        for exponent in (2, -1, 0, 0.5, 3.0, np.array([1.0, 2.0, 0.0]), np.float32(2)):
            point = np.array([0.5, 1.5, 2.0])
            verify_grad(lambda v, e=exponent: v**e, [point], n_tests=1, mode=MODE)
        x = tt.dvector("x")
        result = value(grad((x**0).sum() + (x**1).sum(), x), {x: np.array([0.0, 2.0])})
        np.testing.assert_array_equal(result, [1.0, 1.0])

    def test_gradient_by_the_constant_itself(self) -> None:
        exponent, x = tt.constant(2.5), tt.dvector("x")
        result = value(grad((x**exponent).sum(), exponent), {x: np.array([2.0, 0.0, 3.0])})
        assert_allclose(result, np.log(2.0) * 2**2.5 + np.log(3.0) * 3**2.5)

    def test_two_precisions(self) -> None:
        x, W = tt.fvector("x"), tt.dmatrix("W")
        gx, gW = grad(tt.dot(x, W).sum(), [x, W])
        self.assertEqual((gx.type.dtype, gW.type.dtype), ("float32", "float64"))
        result = value(gx, {x: np.ones(2, dtype="float32"), W: np.array([[1.0, 2.0], [3.0, 4.0]])})
        np.testing.assert_array_equal(result, [3.0, 7.0])

    def test_constants_that_are_no_numbers_stay(self) -> None:
        x = tt.dvector("x")
        for factor in (np.nan, np.inf):
            result = value(grad((x * factor).sum(), x), {x: np.zeros(2)})
            np.testing.assert_array_equal(result, [factor, factor])
            self.assertTrue(np.isnan(value(grad((x * factor * 0).sum(), x), {x: np.zeros(2)})).all())


class TestEveryOp(unittest.TestCase):
    def test_elementwise_ops_have_a_gradient_on_tensors(self) -> None:
        node = tt.exp(tt.dvector("x")).owner
        assert node is not None
        self.assertIsInstance(node.op, Elemwise)
        self.assertIsNotNone(pullback.get(node.op))

    def test_gradient_text(self) -> None:
        x, y = tt.dscalar("x"), tt.dscalar("y")
        (text,) = as_string([x, y], [grad(x * y, x)])
        self.assertRegex(text, r"mul.*\(.*second.*y\)")
