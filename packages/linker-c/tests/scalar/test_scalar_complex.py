"""Derivatives of functions of complex numbers, against differences in both directions of the plane."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

from theano_linker_c import scalar as sc
from theano_linker_c.scalar import Composite, ScalarOp, ScalarType

from .samples import pull, push

ANALYTIC: tuple[ScalarOp, ...] = (
    *(sc.neg, sc.sqr, sc.sqrt, sc.reciprocal, sc.exp, sc.log, sc.sin, sc.cos, sc.tan, sc.sinh, sc.cosh, sc.tanh),
    *(sc.arcsinh, sc.identity, sc.exp2, sc.log2, sc.log1p, sc.expm1),
)
OTHERS: tuple[ScalarOp, ...] = (sc.abs, sc.sgn, sc.real, sc.imag, sc.conj, sc.angle)
STEP = 1e-6


class TestComplexDerivatives(unittest.TestCase):
    def setUp(self) -> None:
        rng = np.random.default_rng(7)
        self.z = rng.uniform(0.3, 1.2, 20) + 1j * rng.uniform(-0.8, 0.8, 20)
        self.w = rng.uniform(0.3, 1.2, 20) + 1j * rng.uniform(-0.8, 0.8, 20)
        self.seed = rng.normal(size=20) + 1j * rng.normal(size=20)

    def check(self, op: ScalarOp, values: list[Any]) -> None:
        """Compare both rules with differences; the pairing of gradients is the real part of ``conj(g) * change``."""
        node: Any = op.make_node(*(ScalarType(v.dtype.name)() for v in values))
        out = node.outputs[0]
        seed = out.type()
        operand = self.seed if out.dtype.startswith("complex") else self.seed.real
        parts = pull(node, [seed])
        for i, part in enumerate(parts):
            for direction in (1.0, 1j) if values[i].dtype.kind == "c" else (1.0,):
                up, down = list(values), list(values)
                up[i], down[i] = values[i] + STEP * direction, values[i] - STEP * direction
                change = (op.impl(*up) - op.impl(*down)) / (2 * STEP)
                with self.subTest(op=str(op), input=i, direction=direction):
                    back = Composite([*node.inputs, seed], [part]).impl(*values, operand)
                    self.assertEqual(back.dtype, values[i].dtype)
                    expected = np.real(np.conj(operand) * change)
                    np.testing.assert_allclose(np.real(np.conj(back) * direction), expected, rtol=1e-5, atol=1e-7)
                    tangents: list[Any] = [None] * len(values)
                    tangents[i] = node.inputs[i].type.make_constant(direction)
                    (forward,) = push(node, tangents)
                    moved = Composite(node.inputs, [sc.second(node.inputs[0], forward)]).impl(*values)
                    np.testing.assert_allclose(moved, change, rtol=1e-5, atol=1e-7)

    def test_analytic(self) -> None:
        for op in ANALYTIC:
            self.check(op, [self.z])

    def test_not_analytic(self) -> None:
        for op in OTHERS:
            self.check(op, [self.z])

    def test_two_inputs(self) -> None:
        for op in (sc.add, sc.sub, sc.mul, sc.true_div, sc.pow, sc.mul_without_zeros):
            self.check(op, [self.z, self.w])

    def test_mixed_with_real(self) -> None:
        for op in (sc.add, sc.sub, sc.mul, sc.true_div, sc.pow):
            self.check(op, [self.z.real.copy(), self.w])
            self.check(op, [self.z, self.w.real.copy()])

    def test_made_of_parts(self) -> None:
        for op in (sc.make_complex, sc.complex_from_polar):
            self.check(op, [self.z.real.copy(), self.z.imag.copy()])

    def test_cast_to_complex(self) -> None:
        self.check(sc.cast("complex128"), [self.z.real.copy()])

    def test_slope_of_comparison_is_zero(self) -> None:
        node: Any = sc.eq.make_node(ScalarType("complex64")(), ScalarType("complex64")())
        parts = pull(node, [ScalarType("float64")()])
        self.assertEqual(Composite(node.inputs, parts).impl(np.complex64(1j), np.complex64(2)), (0, 0))

    def test_integer_beside_complex_gets_a_real_gradient(self) -> None:
        node: Any = sc.mul.make_node(ScalarType("int32")(), ScalarType("complex128")())
        self.assertEqual([p.dtype for p in pull(node, [node.outputs[0].type()])], ["float64", "complex128"])

    def test_sign_of_complex_numbers(self) -> None:
        z = np.array([3 + 4j, 0, -2j])
        np.testing.assert_allclose(sc.sgn.impl(z), [0.6 + 0.8j, 0, -1j])


class TestUndefined(unittest.TestCase):
    def test_orders_of_bessel_functions(self) -> None:
        for op in (sc.jv, sc.iv):
            node: Any = op.make_node(ScalarType("float64")(), ScalarType("float64")())
            parts = pull(node, [node.outputs[0].type()])
            self.assertEqual([sc.is_undefined(p) for p in parts], [True, False])
            (forward,) = push(node, [ScalarType("float64")(), None])
            self.assertTrue(sc.is_undefined(forward))

    def test_inside_a_composite(self) -> None:
        v, x = ScalarType("float64")(), ScalarType("float64")()
        node: Any = Composite([v, x], [sc.jv(v, x) * 2 + v]).make_node(v, x)
        parts = pull(node, [node.outputs[0].type()])
        self.assertEqual([sc.is_undefined(p) for p in parts], [True, False])

    def test_it_has_no_value(self) -> None:
        marker = sc.undefined("why not")
        with self.assertRaisesRegex(TypeError, "why not"):
            marker.type.filter(1.0)
        self.assertEqual(marker.type, sc.undefined("why not").type)
        self.assertNotEqual(marker.type, sc.undefined("another").type)
