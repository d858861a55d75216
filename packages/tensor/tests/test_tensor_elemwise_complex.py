"""Complex numbers and float16 in expressions: values in both machines, gradients, reductions."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any

import numpy as np
from tensor_cases import run

import theano_tensor as tt
import theano_tensor.rewrites  # the full pipeline is under test
from theano_linker_c import function

RNG = np.random.default_rng(11)
Z = RNG.normal(size=(3, 4)) + 1j * RNG.normal(size=(3, 4))


def close(a: Any, b: Any, rtol: float = 1e-10) -> None:
    np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)


class TestValues(unittest.TestCase):
    def test_expression(self) -> None:
        for dtype, tolerance in (("complex64", 1e-5), ("complex128", 1e-12)):
            z = tt.tensor(dtype, shape=(None, None))
            value = Z.astype(dtype)
            result = run([z], tt.exp(z * z) / (z + 2) - tt.conj(z) ** 2, value)
            self.assertEqual(result.dtype, dtype)
            close(result, np.exp(value * value) / (value + 2) - np.conj(value) ** 2, tolerance)

    def test_parts(self) -> None:
        z = tt.zmatrix("z")
        parts = run([z], [z.real, z.imag, abs(z), tt.angle(z), tt.sgn(z)], Z)
        for item, expected in zip(parts, [Z.real, Z.imag, abs(Z), np.angle(Z), Z / abs(Z)], strict=True):
            close(item, expected)

    def test_made_of_parts(self) -> None:
        for dtype, outcome in (("float16", "complex64"), ("float32", "complex64"), ("float64", "complex128")):
            x, y = tt.tensor(dtype, shape=(None,)), tt.tensor(dtype, shape=(None,))
            self.assertEqual(tt.complex(x, y).dtype, outcome)
        x, y = tt.dvector("x"), tt.dvector("y")
        result = run([x, y], [tt.complex(x, y), tt.complex_from_polar(x, y)], Z.real[0], Z.imag[0])
        close(result[0], Z[0])
        close(result[1], Z.real[0] * np.exp(1j * Z.imag[0]))

    def test_whole_powers_are_exact(self) -> None:
        z = tt.zvector("z")
        self.assertEqual(run([z], z**3, np.array([1 + 2j, 0j])).tolist(), [(1 + 2j) ** 3, 0j])

    def test_reductions(self) -> None:
        z = tt.zmatrix("z")
        outputs = [
            z.sum(axis=0),
            z.prod(axis=1),
            z.mean(),
            z.var(),
            z.std(axis=0),
            z.norm(2),
            tt.var(z, corrected=True),
        ]
        expected = [Z.sum(0), Z.prod(1), Z.mean(), Z.var(), Z.std(0), np.sqrt((abs(Z) ** 2).sum()), Z.var()]
        for item, value in zip(run([z], outputs, Z), expected, strict=True):
            close(item, value)

    def test_dtype_of_the_mean(self) -> None:
        self.assertEqual(tt.mean(tt.cvector("z")).dtype, "complex64")
        self.assertEqual(tt.var(tt.cvector("z")).dtype, "float32")

    def test_no_order(self) -> None:
        z = tt.zvector("z")
        attempts: list[Callable[..., Any]] = [
            tt.max,
            tt.min,
            tt.argmax,
            tt.argmin,
            tt.ceil,
            tt.sigmoid,
        ]
        for attempt in attempts:
            with self.subTest(attempt=str(attempt)), self.assertRaisesRegex(TypeError, "complex"):
                attempt(z)

    def test_close(self) -> None:
        z = tt.zvector("z")
        self.assertTrue(run([z], tt.allclose(z, z + 1e-9), Z[0]))
        self.assertFalse(run([z], tt.allclose(z, z + 1e-3j), Z[0]))


class TestGradient(unittest.TestCase):
    """The gradient by ``a + ib`` is the gradient by a plus i times that by b."""

    def check(self, cost: Callable[..., Any], value: Any) -> None:
        z = tt.zmatrix("z")
        output = cost(z)
        result = run([z], tt.grad(output, z), value)
        compiled: Any = function([z], output, mode="FAST_COMPILE")
        step = 1e-6
        for index in np.ndindex(*value.shape):
            parts = []
            for direction in (1.0, 1j):
                change = np.zeros_like(value)
                change[index] = step * direction
                parts.append((compiled(value + change) - compiled(value - change)) / (2 * step))
            close(result[index], parts[0] + 1j * parts[1], 1e-6)

    def test_of_real_costs(self) -> None:
        costs: list[Callable[..., Any]] = [
            lambda z: (abs(z) ** 2).sum(),
            lambda z: tt.exp(z * (1 + 2j)).real.sum(),
            lambda z: (tt.angle(z) * z.imag).sum(),
            lambda z: abs(z.sum(axis=0) * tt.conj(z)).sum(),
            lambda z: abs(z.prod(axis=1)).sum(),
            lambda z: tt.sqrt(z.var()),
            lambda z: abs(tt.complex(z.real, -2 * z.imag) / (z + 3)).sum(),
        ]
        for number, cost in enumerate(costs):
            with self.subTest(cost=number):
                self.check(cost, Z)

    def test_real_input_gets_a_real_gradient(self) -> None:
        x = tt.dvector("x")
        gradient = tt.grad(abs(x * (3 + 4j)).sum(), x)
        self.assertEqual(gradient.dtype, "float64")
        close(run([x], gradient, np.array([2.0, -1.0])), [5.0, -5.0])

    def test_right_operator(self) -> None:
        z, t = tt.zvector("z"), tt.zvector("t")
        close(run([z, t], tt.Rop(tt.exp(z) * z, z, t), Z[0], Z[1]), np.exp(Z[0]) * (1 + Z[0]) * Z[1])


class TestHalf(unittest.TestCase):
    def test_expression_is_rounded_after_each_step(self) -> None:
        x = tt.tensor("float16", shape=(None,))
        value = np.linspace(-3, 3, 41).astype("float16")
        result = run([x], tt.exp(x) * x - tt.tanh(x) / 3, value)
        self.assertEqual(result.dtype, "float16")
        np.testing.assert_allclose(result, np.exp(value) * value - np.tanh(value) / np.float16(3), rtol=4e-3, atol=4e-3)

    def test_reductions(self) -> None:
        x = tt.tensor("float16", shape=(None, None))
        value = RNG.normal(size=(40, 50)).astype("float16")
        wide = value.astype("float64")
        outputs = [
            x.sum(axis=0),
            x.max(axis=1),
            x.min(),
            x.argmax(axis=0),
            x.mean(),
            x.prod(axis=1),
            (x * x).max(axis=0),
        ]
        expected = [
            wide.sum(0),
            wide.max(1),
            wide.min(),
            wide.argmax(0),
            wide.mean(),
            wide.prod(1),
            (value * value).max(0),
        ]
        for item, value_of in zip(run([x], outputs, value), expected, strict=True):
            np.testing.assert_allclose(item.astype("float64"), value_of.astype("float64"), rtol=2e-3, atol=1e-3)

    def test_sum_does_not_stick(self) -> None:
        x = tt.tensor("float16", shape=(None,))
        self.assertEqual(run([x], x.sum(), np.ones(5000, "float16")), 5000)

    def test_gradient(self) -> None:
        x = tt.tensor("float16", shape=(None,))
        gradient = tt.grad(tt.sqr(x).sum(), x)
        self.assertEqual(gradient.dtype, "float16")
        np.testing.assert_array_equal(run([x], gradient, np.array([1.0, 2.0], "float16")), [2.0, 4.0])
