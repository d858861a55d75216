"""Composites: normal form, equality, values, derivatives."""

from __future__ import annotations

import pickle
import unittest
from typing import Any

import numpy as np

from theano_linker_c import scalar as sc
from theano_linker_c.scalar import Composite, ScalarType, ScalarVariable

from .samples import pull, push


def pair(dtype: str = "float64") -> tuple[ScalarVariable, ScalarVariable]:
    return ScalarType(dtype)("x"), ScalarType(dtype)("y")


def sample() -> Composite:
    x, y = pair()
    return Composite([x, y], [sc.tanh(2 * x + 1) * sc.exp(-(x**2)) + sc.sigmoid(y)])


class TestNormalForm(unittest.TestCase):
    def test_equal_by_formula(self) -> None:
        self.assertEqual(sample(), sample())
        self.assertEqual(hash(sample()), hash(sample()))
        x, y = pair()
        self.assertNotEqual(sample(), Composite([x, y], [x + y]))

    def test_dtypes_tell_composites_apart(self) -> None:
        (x, y), (v, w) = pair(), pair("float32")
        self.assertNotEqual(Composite([x, y], [x + y]), Composite([v, w], [v + w]))

    def test_equal_parts_are_computed_once(self) -> None:
        x, y = pair()
        op = Composite([x, y], [sc.exp(x) * y + sc.exp(x)])
        self.assertEqual([step.op for step in op.program.steps], [sc.exp, sc.mul, sc.add])

    def test_composites_inside_are_dissolved(self) -> None:
        x, y = pair()
        op = Composite([x, y], [sc.neg(sample()(y, x))])
        self.assertNotIn("Composite", {type(step.op).__name__ for step in op.program.steps})
        self.assertAlmostEqual(float(op.impl(0.2, 0.3)), -float(sample().impl(0.3, 0.2)))

    def test_cut_inside_a_graph(self) -> None:
        x, y = pair()
        z = x + y
        self.assertEqual(Composite([z, y], [sc.exp(z) * y]).impl(0.0, 3.0), 3.0)

    def test_missing_input(self) -> None:
        x, y = pair()
        with self.assertRaisesRegex(TypeError, r"needs y, which is not among its inputs(.|\n)*Hint"):
            Composite([x], [x + y])

    def test_name_shows_the_formula(self) -> None:
        x, y = pair()
        self.assertEqual(str(Composite([x, y], [x * y + 1.0])), "Composite{((i0 * i1) + Constant{1.0})}")

    def test_name_of_a_shared_chain_stays_short(self) -> None:
        x = ScalarType("float64")()
        y = x
        for _ in range(60):
            y = y * y + 1.0
        self.assertLess(len(str(Composite([x], [y]))), 20000)

    def test_pickle_of_a_long_chain(self) -> None:
        x = ScalarType("float64")()
        y = x
        for _ in range(5000):
            y = sc.sin(y) + 1.0
        op = Composite([x], [y])
        self.assertEqual(pickle.loads(pickle.dumps(op)), op)
        self.assertEqual(len(op.program.steps), 10000)


class TestUse(unittest.TestCase):
    def test_values(self) -> None:
        x, y = np.linspace(-2, 2, 9), np.linspace(3, -3, 9)
        expected = np.tanh(2 * x + 1) * np.exp(-(x**2)) + 1 / (1 + np.exp(-y))
        np.testing.assert_allclose(sample().impl(x, y), expected, rtol=1e-14)

    def test_several_results(self) -> None:
        x, y = pair()
        total, product = Composite([x, y], [x + y, x * y]).impl(2.0, 3.0)
        self.assertEqual((total, product), (5.0, 6.0))

    def test_other_dtypes_follow_the_rules(self) -> None:
        op = sample()
        self.assertEqual(op.result_dtypes("float64", "float64"), ("float64",))
        x, y = pair()
        self.assertEqual(Composite([x, y], [x / y]).result_dtypes("int8", "int8"), ("float64",))

    def test_statement_expression(self) -> None:
        text = sample().c_expression([sc.CValue("p", "float64"), sc.CValue("q", "float64")], "float64")
        self.assertTrue(text.startswith("({ const double a0 = p;") and text.endswith("})"))

    def test_float16_is_rounded_after_each_operation(self) -> None:
        x = ScalarType("float16")()
        statements = Composite([x], [(x + x) * x]).c_statements([sc.CValue("x", "float16")], ["y"])
        self.assertEqual([text.count("theano_half_float32") for text in statements], [1, 1, 0])

    def test_op_with_two_results_is_refused_inside(self) -> None:
        class Two(sc.ScalarOp):
            name, nin, nout = "two", 1, 2

            def result_dtypes(self, *dtypes: str) -> tuple[str, ...]:
                return dtypes * 2

        x = ScalarType("float64")()
        with self.assertRaisesRegex(TypeError, "2 results"):
            Composite([x], [Two()(x)[0]])

    def test_pullback(self) -> None:
        op, (x, y) = sample(), pair()
        node: Any = op.make_node(x, y)
        parts = pull(node, [ScalarType("float64").make_constant(1)])
        gradient = Composite([x, y], parts)
        at = (np.array([0.3, -1.0]), np.array([0.4, 2.0]))
        for i, part in enumerate(gradient.impl(*at)):
            moved = [list(at), list(at)]
            moved[0][i], moved[1][i] = at[i] + 1e-6, at[i] - 1e-6
            np.testing.assert_allclose(part, (op.impl(*moved[0]) - op.impl(*moved[1])) / 2e-6, rtol=1e-7)

    def test_pushforward(self) -> None:
        op, (x, y) = sample(), pair()
        node: Any = op.make_node(x, y)
        one = ScalarType("float64").make_constant(1)
        (tangent,) = push(node, [one, None])
        back = pull(node, [one])[0]
        first, second = Composite([x, y], [tangent, back]).impl(0.3, 0.4)
        self.assertAlmostEqual(float(first), float(second), places=14)
