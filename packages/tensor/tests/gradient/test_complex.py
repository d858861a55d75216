"""Gradients of real costs with respect to complex variables: ``d cost / d real + 1j * d cost / d imag``."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any

import numpy as np

import theano_tensor as tt
import theano_tensor.rewrites  # the full pipeline is under test
from theano_linker_c import function
from theano_tensor.gradient import Rop, grad, hessian, jacobian
from theano_testing.tensor import assert_allclose, fetch_seed
from theano_testing.tiers import slow

RNG = np.random.RandomState(fetch_seed())
FACTOR = 1.3 - 0.4j

#: Name -> expression of two complex matrices.
EXPRESSIONS: dict[str, Callable[[Any, Any], Any]] = {
    "real": lambda z, w: tt.real(z * w),
    "imag": lambda z, w: tt.imag(z * z * w),
    "abs": lambda z, w: abs(z * w),
    "angle": lambda z, w: tt.angle(z),
    "conj": lambda z, w: tt.conj(z) * w,
    "square of the absolute value": lambda z, w: z * z.conj(),
    "made of parts": lambda z, w: tt.complex(z.real**2, z.imag),
    "made of polar parts": lambda z, w: tt.complex_from_polar(abs(z), tt.angle(z) * 2),
    "mixed with real numbers": lambda z, w: abs(z) * w + z.real * 1j,
    "analytic": lambda z, w: tt.exp(z) * tt.tanh(w * z) + tt.log(z) / tt.sqrt(z),
    "power": lambda z, w: z**w + z**3,
    "chosen": lambda z, w: tt.switch(tt.gt(z.real, 0), z * w, z.conj()),
    "dot": lambda z, w: tt.dot(z, w) + tt.dot(w, z) + tt.dot(z, z),
    "dot with real numbers": lambda z, w: tt.dot(z.real, w) + tt.dot(abs(w), z),
    "vectors": lambda z, w: tt.dot(z[0], w[1]) * tt.outer(z[1], w[0]) + tt.dot(z, w[0]) + tt.dot(w[1], z),
    "tensordot": lambda z, w: tt.tensordot(z, w, [[0, 1], [1, 0]]),
    "batched dot": lambda z, w: tt.batched_dot(z, w),
    "stack of matrices": lambda z, w: tt.batched_dot(z.dimshuffle("x", 0, 1), w.dimshuffle("x", 0, 1)),
    "sum and mean": lambda z, w: z.sum(0) * tt.mean(z * w),
    "prod": lambda z, w: tt.prod(z, axis=0) * tt.prod(w * z),
    "cumulative": lambda z, w: tt.cumprod(z, axis=1) + tt.cumsum(z * w, axis=0),
    "fold without zeros": lambda z, w: tt.ProdWithoutZeros(0)(z) * w,
    "indices": lambda z, w: z[[0, 1, 0]] * 2j + tt.inc_subtensor(z[0], w[0] * z[1])[[1, 0, 0]],
    "written": lambda z, w: tt.set_subtensor(z[0], w[0] * z[1]),
    "joined": lambda z, w: abs(tt.concatenate([z, w])),
    "moved": lambda z, w: z.T.reshape((4,)) * 1j + tt.flatten(w),
}


class TestComplex(unittest.TestCase):
    def setUp(self) -> None:
        self.z, self.w, self.v = tt.zmatrix("z"), tt.zmatrix("w"), tt.zmatrix("v")
        self.values = [RNG.randn(2, 2) + 1j * RNG.randn(2, 2) for _ in range(3)]

    def cost(self, name: str) -> Any:
        return tt.real(EXPRESSIONS[name](self.z, self.w) * FACTOR).sum()

    def by_differences(self, cost: Any) -> Any:
        f: Any = function([self.z, self.w], cost, on_unused_input="ignore")
        z, w, _ = self.values
        result = np.zeros_like(z)
        for k in np.ndindex(2, 2):
            for direction in (1.0, 1j):
                step = np.zeros_like(z)
                step[k] = 1e-6 * direction
                result[k] += direction * (f(z + step, w) - f(z - step, w)) / 2e-6
        return result

    @slow
    def test_gradient_and_right_product(self) -> None:
        for name in EXPRESSIONS:
            with self.subTest(name):
                cost = self.cost(name)
                expected = self.by_differences(cost)
                gradient = grad(cost, self.z)
                self.assertEqual(gradient.type.dtype, "complex128")
                product = Rop(cost, self.z, self.v)
                both: Any = function([self.z, self.w, self.v], [gradient, product], on_unused_input="ignore")
                result, along = both(*self.values)
                assert_allclose(result, expected, rtol=1e-6, atol=1e-7)
                assert_allclose(along, (expected.conj() * self.values[2]).real.sum(), rtol=1e-6, atol=1e-7)

    def test_real_variables_have_real_gradients(self) -> None:
        x = tt.dmatrix("x")
        for cost in (abs(x * self.z).sum(), abs(tt.dot(x, self.z)).sum(), tt.imag(tt.exp(1j * x)).sum()):
            gradient = grad(cost, x)
            self.assertEqual(gradient.type.dtype, "float64")
            f: Any = function([x, self.z], cost, on_unused_input="ignore")
            point, other = np.array([[0.3, -1.2], [0.7, 2.0]]), self.values[0]
            expected = np.zeros((2, 2))
            for k in np.ndindex(2, 2):
                step = np.zeros((2, 2))
                step[k] = 1e-6
                expected[k] = (f(point + step, other) - f(point - step, other)) / 2e-6
            result = function([x, self.z], gradient, on_unused_input="ignore")(point, other)
            assert_allclose(result, expected, rtol=1e-6, atol=1e-7)

    def test_derivative_by_a_complex_step(self) -> None:
        # For analytic functions of real numbers, the imaginary part of f(x + ih) / h is the derivative to rounding.
        x = tt.dvector("x")
        y = tt.exp(x) * tt.sin(x) / (1 + x**2)
        point = np.array([0.3, 1.1, -2.0])
        z = point + 1e-30j
        expected = (np.exp(z) * np.sin(z) / (1 + z**2)).imag / 1e-30
        assert_allclose(function([x], grad(y.sum(), x))(point), expected, rtol=1e-13)

    def test_jacobian_and_hessian(self) -> None:
        z = tt.zvector("z")
        value = np.array([1.0 + 2j, -0.5j])
        rows = function([z], jacobian(abs(z) ** 2, z))(value)
        assert_allclose(rows, np.diag(2 * value))
        x = tt.dvector("x")
        curvature = function([x], hessian((abs(tt.exp(1j * x) + x) ** 2).sum(), x))([0.0, 1.0])
        # |exp(ix) + x|**2 == 1 + 2 x cos(x) + x**2
        point = np.array([0.0, 1.0])
        assert_allclose(curvature, np.diag(2 - 4 * np.sin(point) - 2 * point * np.cos(point)), atol=1e-12)

    def test_complex_cost(self) -> None:
        with self.assertRaisesRegex(TypeError, r"real number, but `c` is complex(?s:.*)real\(cost\)"):
            grad(tt.zscalar("c"), self.z)
