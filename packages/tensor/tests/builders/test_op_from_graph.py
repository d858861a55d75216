"""Ops made of graphs: values, derivatives, overrides, shapes, copies and wrong input."""

from __future__ import annotations

import copy
import pickle
import unittest
from typing import Any

import numpy as np

import theano_tensor as T
from theano_graph import Apply, MissingRuleError, debugprint, pullback, pushforward, shape_rule
from theano_linker_c import Mode, function, shared
from theano_tensor.builders import OpFromGraph
from theano_tensor.gradient import DisconnectedInputError, DisconnectedType, NullType, NullTypeGradError
from theano_testing.tensor import verify_grad

MODES = (Mode("cvm", "fast_run"), Mode("vm", "fast_run"), Mode("py", None), Mode("cvm", "fast_compile"))


def times_two(inputs: list[Any], gradients: list[Any]) -> Any:
    return gradients[0] * inputs[2] * 2


def all_twice(inputs: list[Any], gradients: list[Any]) -> list[Any]:
    return [gradients[0] * 2 for _ in inputs]


def with_outputs(inputs: list[Any], outputs: list[Any], gradients: list[Any]) -> list[Any]:
    return [gradients[0] * outputs[0] for _ in inputs]


def tangents(inputs: list[Any], points: list[Any]) -> list[Any]:
    return [points[0] * 10 + points[1] * 100]


class OpFromGraphCase(unittest.TestCase):
    def setUp(self) -> None:
        self.x, self.y, self.z = T.dscalars("x", "y", "z")
        self.graph = self.x + self.y * self.z

    def op(self, **options: Any) -> Any:
        return OpFromGraph([self.x, self.y, self.z], [self.graph], **options)

    def gradients(self, op: Any, at: tuple[float, ...] = (2.0, 3.0, 4.0)) -> list[float]:
        result = T.grad(op(self.x, self.y, self.z), [self.x, self.y, self.z])
        return [float(v) for v in function([self.x, self.y, self.z], result, on_unused_input="ignore")(*at)]


class TestValues(OpFromGraphCase):
    def test_used_twice_in_each_mode(self) -> None:
        for inline in (False, True):
            op = self.op(inline=inline)
            for mode in MODES:
                with self.subTest(inline=inline, mode=str(mode)):
                    x, y, z = self.x, self.y, self.z
                    f = function([x, y, z], op(x, y, z) + op(z, y, x), mode=mode)
                    self.assertEqual(f(1.0, 2.0, 3.0), 12.0)

    def test_shared_variables_come_along(self) -> None:
        s = shared(np.ones((2, 2)))
        op: Any = OpFromGraph([self.x, self.y], [self.x * s + self.y])
        f = function([self.x, self.y], op(self.x, self.y))
        np.testing.assert_array_equal(f(2.0, 1.0), np.full((2, 2), 3.0))
        s.set_value(np.full((2, 2), 5.0))
        np.testing.assert_array_equal(f(2.0, 1.0), np.full((2, 2), 11.0))
        (gradient,) = T.grad(op(self.x, self.y).sum(), [s])
        np.testing.assert_array_equal(function([self.x, self.y], gradient)(7.0, 0.0), np.full((2, 2), 7.0))

    def test_several_outputs_nested_and_unused_inputs(self) -> None:
        inner = self.op(name="inner")
        outer: Any = OpFromGraph([self.x, self.y, self.z], [inner(self.x, self.y, self.y), self.x * 2], name="outer")
        both = outer(self.x, self.y, self.z)
        f = function([self.x, self.y, self.z], both)
        self.assertEqual([float(v) for v in f(1.0, 2.0, 3.0)], [5.0, 2.0])
        self.assertIn("inner", str(debugprint(f, file="str")))
        result = T.grad(both[0] + both[1], [self.x, self.y, self.z], disconnected_inputs="ignore")
        values = function([self.x, self.y, self.z], result, on_unused_input="ignore")(1.0, 2.0, 3.0)
        self.assertEqual([float(v) for v in values], [3.0, 4.0, 0.0])

    def test_an_output_that_is_an_input_is_no_alias(self) -> None:
        v = T.dvector("v")
        op: Any = OpFromGraph([v], [v, v[1:]])
        operand = np.arange(3.0)
        for result in function([v], op(v))(operand):
            self.assertFalse(np.shares_memory(result, operand))

    def test_inlined_ops_leave_nothing_behind(self) -> None:
        op = self.op(inline=True)
        f = function([self.x, self.y, self.z], op(self.x, self.y, self.z))
        self.assertFalse(any(isinstance(n.op, OpFromGraph) for n in f.maker.fgraph.apply_nodes))
        g = function([self.x, self.y, self.z], self.op()(self.x, self.y, self.z))
        self.assertTrue(any(isinstance(n.op, OpFromGraph) for n in g.maker.fgraph.apply_nodes))

    def test_equal_applications_are_computed_once(self) -> None:
        op = self.op()
        both = op(self.x, self.y, self.z) * op(self.x, self.y, self.z)
        f = function([self.x, self.y, self.z], both)
        self.assertEqual(sum(isinstance(n.op, OpFromGraph) for n in f.maker.fgraph.apply_nodes), 1)

    def test_copies_and_pickles(self) -> None:
        op = self.op(name="kept")
        f = function([self.x, self.y, self.z], op(self.x, self.y, self.z))
        for other in (copy.deepcopy(f), pickle.loads(pickle.dumps(f))):
            self.assertEqual(other(1.0, 2.0, 3.0), 7.0)
        again = pickle.loads(pickle.dumps(op))
        self.assertEqual(again(self.x, self.y, self.z).eval({self.x: 1.0, self.y: 2.0, self.z: 3.0}), 7.0)

    def test_shapes_without_values(self) -> None:
        m, v = T.dmatrix("m"), T.dvector("v")
        op: Any = OpFromGraph([m, v], [T.dot(m, v), m.T])
        product, transposed = op(m, v)
        f = function([m, v], [product.shape, transposed.shape[0]], on_unused_input="ignore")
        self.assertFalse(any(isinstance(n.op, OpFromGraph) for n in f.maker.fgraph.apply_nodes))
        shape, length = f(np.zeros((3, 5)), np.zeros(5))
        self.assertEqual((list(shape), int(length)), ([3], 5))

    def test_errors_inside_name_both_places(self) -> None:
        m, v = T.dmatrix("m"), T.dvector("v")
        op: Any = OpFromGraph([m, v], [T.dot(m, v)], name="product")
        for mode in MODES:
            with self.subTest(mode=str(mode)), self.assertRaisesRegex(ValueError, r"(?s)mismatch.*in `product`"):
                function([m, v], op(m, v), mode=mode)(np.zeros((3, 5)), np.zeros(4))


class TestDerivatives(OpFromGraphCase):
    def test_outputs_that_are_made_of_each_other(self) -> None:
        a = T.dvector("a")
        inner = T.exp(a)
        for outputs in ([a, T.sin(a)], [inner, T.sin(inner)], [T.sin(inner), inner, inner]):
            for inline in (False, True):
                with self.subTest(outputs=str(outputs), inline=inline):
                    op = OpFromGraph([a], outputs, inline=inline)
                    verify_grad(lambda x, op=op: T.cos(sum(op(x))), [np.array([1.0, 0.3])])

    def test_gradients_of_the_graph(self) -> None:
        m, v = T.dmatrix("m"), T.dvector("v")
        rng = np.random.default_rng(0)
        for inline in (False, True):
            op: Any = OpFromGraph([m, v], [T.tanh(T.dot(m, v)), (v**3).sum()], inline=inline)
            verify_grad(lambda a, b, op=op: op(a, b)[0] * op(a, b)[1], [rng.random((3, 4)), rng.random(4)], rng=rng)

    def test_second_derivatives(self) -> None:
        op: Any = OpFromGraph([self.x], [self.x**3])
        first = T.grad(op(self.x), self.x)
        second = T.grad(first, self.x)
        self.assertAlmostEqual(float(function([self.x], second)(2.0)), 12.0)

    def test_r_op(self) -> None:
        v, t = T.dvector("v"), T.dvector("t")
        op: Any = OpFromGraph([v, self.x], [T.exp(v) * self.x])
        outcome = T.Rop(op(v, self.x), v, t)
        result = function([v, self.x, t], outcome)(np.array([0.0, 1.0]), 3.0, np.array([1.0, 2.0]))
        np.testing.assert_allclose(result, [3.0, 6.0 * np.e])
        both = T.Rop(op(v, self.x), [v, self.x], [t, self.y])
        result = function([v, self.x, t, self.y], both)(np.array([0.0, 1.0]), 3.0, np.array([1.0, 2.0]), 1.0)
        np.testing.assert_allclose(result, [4.0, 7.0 * np.e])

    def test_disconnected_inputs(self) -> None:
        op: Any = OpFromGraph([self.x, self.y], [self.x * 2, self.y * 3])
        first, _ = op(self.x, self.y)
        self.assertEqual(first.owner.op.connection_pattern(first.owner), [[True, False], [False, True]])
        with self.assertRaises(DisconnectedInputError):
            T.grad(first, self.y)

    def test_integers_have_the_gradients_of_the_graph(self) -> None:
        i = T.iscalar("i")
        op: Any = OpFromGraph([self.x, i], [self.x * i])
        plain = T.grad(self.x * i, [self.x, i])
        through = T.grad(op(self.x, i), [self.x, i])
        f = function([self.x, i], [*plain, *through], on_unused_input="ignore")
        a, b, c, d = (float(v) for v in f(2.0, 3))
        self.assertEqual((a, b), (c, d))


class TestOverrides(OpFromGraphCase):
    def test_each_kind(self) -> None:
        w = T.dscalar("w")
        as_op = OpFromGraph([self.x, self.y, self.z, w], [w * 5, w * 6, w * 7])
        one = OpFromGraph([self.x, self.y, self.z, w], [w * 9])
        cases: list[tuple[dict[str, Any], list[float]]] = [
            ({}, [1.0, 4.0, 3.0]),
            ({"grad_overrides": ["default", times_two, "default"]}, [1.0, 8.0, 3.0]),
            ({"grad_overrides": all_twice}, [2.0, 2.0, 2.0]),
            ({"lop_overrides": with_outputs}, [14.0, 14.0, 14.0]),
            ({"grad_overrides": as_op}, [5.0, 6.0, 7.0]),
            ({"grad_overrides": [one, "default", one]}, [9.0, 4.0, 9.0]),
        ]
        for options, expected in cases:
            for inline in (False, True):
                with self.subTest(options=options, inline=inline):
                    self.assertEqual(self.gradients(self.op(inline=inline, **options)), expected)

    def test_each_form_that_gets_outputs(self) -> None:
        """As for `grad_overrides`, with the outputs between inputs and gradients: e = 14, so 14 w and the like."""
        e, w = T.dscalars("e", "w")
        operands = [self.x, self.y, self.z, e, w]
        as_op, one = OpFromGraph(operands, [w * e, w * 6, w * self.x]), OpFromGraph(operands, [w * e * 2])
        cases: list[tuple[Any, list[float]]] = [
            (as_op, [14.0, 6.0, 2.0]),
            ([one, "default", lambda i, o, g: g[0] * o[0] * i[1]], [28.0, 4.0, 42.0]),
            ([lambda i, o, g: [g[0]], one, "default"], [1.0, 28.0, 3.0]),
            ("default", [1.0, 4.0, 3.0]),
        ]
        for overrides, expected in cases:
            for inline in (False, True):
                with self.subTest(overrides=overrides, inline=inline):
                    self.assertEqual(self.gradients(self.op(inline=inline, lop_overrides=overrides)), expected)

    def test_special_variables_in_each_place(self) -> None:
        cut, unknown = DisconnectedType()(), NullType("not known")()
        for name in ("grad_overrides", "lop_overrides"):
            for overrides in (cut, [cut, cut, "default"]):
                op = self.op(**{name: overrides})
                out = op(self.x, self.y, self.z)
                result = T.grad(out, [self.x, self.y], disconnected_inputs="ignore")
                f = function([self.x, self.y, self.z], result, on_unused_input="ignore")
                self.assertEqual([float(v) for v in f(2.0, 3.0, 4.0)], [0.0, 0.0])
            for overrides in (unknown, ["default", unknown, "default"]):
                out = self.op(**{name: overrides})(self.x, self.y, self.z)
                with self.assertRaisesRegex(NullTypeGradError, "not known"):
                    T.grad(out, self.y)

    def test_second_derivatives_of_overrides(self) -> None:
        op = self.op(grad_overrides=["default", lambda i, g: g[0] * i[1] ** 2, "default"])
        first = T.grad(op(self.x, self.y, self.z), self.y)
        f = function([self.x, self.y, self.z], T.grad(first, self.y), on_unused_input="ignore")
        self.assertEqual(float(f(2.0, 3.0, 4.0)), 6.0)

    def test_shared_variables_given_to_the_node(self) -> None:
        s = shared(4.0)
        out = self.op()(self.x, self.y, s)
        f = function([self.x, self.y], [out, T.grad(out, s)])
        self.assertEqual([float(v) for v in f(2.0, 3.0)], [14.0, 3.0])
        s.set_value(5.0)
        self.assertEqual(float(f(2.0, 3.0)[0]), 17.0)

    def test_no_gradient_and_no_connection(self) -> None:
        cut = DisconnectedType()()
        op = self.op(grad_overrides=[cut, "default", NullType("it is not known")()])
        out = op(self.x, self.y, self.z)
        self.assertEqual(float(function([self.x, self.y, self.z], T.grad(out, self.y))(1.0, 2.0, 3.0)), 3.0)
        with self.assertRaises(DisconnectedInputError):
            T.grad(out, self.x)
        with self.assertRaisesRegex(NullTypeGradError, "not known"):
            T.grad(out, self.z)
        everywhere = self.op(lop_overrides=NullType("nowhere")())
        with self.assertRaisesRegex(NullTypeGradError, "nowhere"):
            T.grad(everywhere(self.x, self.y, self.z), self.x)

    def test_callables_are_called_once(self) -> None:
        calls = []

        def count(inputs: list[Any], gradients: list[Any]) -> list[Any]:
            calls.append(1)
            return [gradients[0]] * 3

        op = self.op(grad_overrides=count)
        self.assertEqual(calls, [])
        self.gradients(op)
        self.gradients(op)
        self.assertEqual(calls, [1])

    def test_r_op(self) -> None:
        u, v, w = T.dscalars("u", "v", "w")
        as_op = OpFromGraph([self.x, self.y, self.z, u, v, w], [u * self.z + v * 100 + w])
        for options, expected in (
            ({"rop_overrides": tangents}, 210.0),
            ({"rop_overrides": as_op}, 204.0),
            ({"rop_overrides": [as_op]}, 204.0),
            ({"rop_overrides": "default"}, 9.0),
            ({"rop_overrides": ["default"]}, 9.0),
            ({"rop_overrides": DisconnectedType()()}, 0.0),
            ({"rop_overrides": [lambda i, p: p[0] * 7]}, 7.0),
            ({"rop_overrides": [DisconnectedType()()]}, 0.0),
        ):
            op = self.op(**options)
            result = T.Rop(op(self.x, self.y, self.z), [self.x, self.y], [u, v], disconnected_outputs="ignore")
            f = function([self.x, self.y, self.z, u, v], result, on_unused_input="ignore")
            with self.subTest(options=options):
                self.assertEqual(float(f(2.0, 3.0, 4.0, 1.0, 2.0)), expected)
        unknown = self.op(rop_overrides=NullType("not known")())(self.x, self.y, self.z)
        with self.assertRaisesRegex(NullTypeGradError, "not known"):
            function([self.x, self.y, self.z, u], T.Rop(unknown, self.x, u), on_unused_input="ignore")


class TestWrongInput(OpFromGraphCase):
    def test_each_refusal_says_what_to_do(self) -> None:
        s = shared(1.0)
        x, y = self.x, self.y
        cases: list[tuple[type[Exception], str, Any]] = [
            (TypeError, "no list of variables", lambda: OpFromGraph(x, [x])),
            (TypeError, "no list of variables", lambda: OpFromGraph([x], [1.0])),  # type: ignore[list-item]
            (TypeError, "takes no updates", lambda: OpFromGraph([x], [x * 2], updates={})),
            (TypeError, "takes no givens", lambda: OpFromGraph([x], [x * 2], givens={})),
            (TypeError, "constant or a shared", lambda: OpFromGraph([x, s], [x * s])),
            (ValueError, "given twice", lambda: OpFromGraph([x, x], [x * 2])),
            (TypeError, "not among the inputs", lambda: OpFromGraph([x], [x * y])),
            (TypeError, "both lop_over", lambda: self.op(lop_overrides=all_twice, grad_overrides=all_twice)),
            (TypeError, "cannot be 'other'", lambda: self.op(lop_overrides="other")),
            (TypeError, "cannot be x", lambda: self.op(grad_overrides=x)),
            (ValueError, "2 items instead of 3", lambda: self.op(grad_overrides=["default"] * 2)),
            (ValueError, "3 items instead of 1", lambda: self.op(rop_overrides=["default"] * 3)),
            (TypeError, "takes 3 inputs, not 2", lambda: self.op()(x, y)),
            (TypeError, "input 1 has to be of type", lambda: self.op()(x, T.dvector(), y)),
        ]
        for kind, text, call in cases:
            with self.subTest(text=text), self.assertRaisesRegex(kind, text):
                call()

    def test_overrides_that_return_something_else(self) -> None:
        for override in (lambda i, g: g[0], lambda i, g: [1.0, 2.0, 3.0], lambda i, g: [g[0]] * 2):
            op = self.op(grad_overrides=override)
            with self.assertRaisesRegex(ValueError, "override for the gradient"):
                T.grad(op(self.x, self.y, self.z), self.x)

    def test_unknown_arguments_of_the_function_inside(self) -> None:
        op = self.op(colour="red")
        with self.assertRaises(TypeError):
            function([self.x, self.y, self.z], op(self.x, self.y, self.z))(1.0, 2.0, 3.0)


class TestStructure(OpFromGraphCase):
    def test_attributes(self) -> None:
        op = self.op(name="named")
        self.assertEqual((op.inputs, op.outputs), ([self.x, self.y, self.z], [self.graph]))
        self.assertEqual(str(op), "named")
        self.assertEqual(str(self.op()), "OpFromGraph{inline=False}")
        node = op(self.x, 1.0, 2).owner
        self.assertIsInstance(node, Apply)
        self.assertEqual(node.inputs[1].type, self.y.type)

    def test_rules_are_there(self) -> None:
        for table in (pullback, pushforward, shape_rule):
            try:
                self.assertIsNotNone(table.lookup(self.op()))
            except MissingRuleError as error:
                self.fail(str(error))
