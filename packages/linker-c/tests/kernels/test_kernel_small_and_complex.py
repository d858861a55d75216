"""Kernels on float16 and on complex numbers against NumPy."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
from scalar.samples import samples

from theano_linker_c import scalar as sc
from theano_linker_c.kernels import ElementwiseKernel, kernel_source
from theano_linker_c.scalar import Composite, ScalarOp, ScalarRecord, ScalarType, records
from theano_testing.tiers import slow

from .kernel_calls import LIBRARY, OPTIONS, Array, call, load, reduction

COMPLEX = ("complex64", "complex128")
UNARY: tuple[ScalarOp, ...] = (
    *(sc.neg, sc.abs, sc.sgn, sc.sqr, sc.reciprocal, sc.sqrt, sc.exp, sc.log, sc.sin, sc.cos, sc.tan, sc.sinh),
    *(
        sc.cosh,
        sc.tanh,
        sc.exp2,
        sc.log2,
        sc.log10,
        sc.arcsinh,
        sc.arctan,
        sc.identity,
        sc.real,
        sc.imag,
        sc.conj,
        sc.angle,
        sc.isnan,
        sc.isinf,
    ),
)
BINARY: tuple[ScalarOp, ...] = (sc.add, sc.sub, sc.mul, sc.true_div, sc.pow, sc.eq, sc.neq, sc.second)


def flat_kernel(op: ScalarOp, dtypes: tuple[str, ...]) -> ElementwiseKernel:
    return ElementwiseKernel(op, dtypes, op.result_dtypes(*dtypes), ((False,),) * len(dtypes), 1)


def run(op: ScalarOp, values: list[Array]) -> Array:
    kernel = flat_kernel(op, tuple(v.dtype.name for v in values))
    result = np.empty(len(values[0]), kernel.output_dtypes[0])
    call(load(kernel).address, len(result), [*values, result])
    return result


def strided(values: Array) -> Array:
    wide = np.zeros((len(values), 3), values.dtype)
    wide[:, 1] = values
    return wide[:, 1]


class TestHalf(unittest.TestCase):
    """A float16 is computed with as a float that is rounded after each operation, as NumPy does."""

    @staticmethod
    def of_float16() -> list[ScalarRecord]:
        return [r for r in records if "float32" in r.dtypes and kernel_source(flat_kernel(r.op, ("float16",) * r.nin))]

    @slow
    def test_every_op(self) -> None:
        result = self.of_float16()
        self.assertGreater(len(result), 70)
        LIBRARY.build([flat_kernel(r.op, ("float16",) * r.nin) for r in result], OPTIONS)
        for record in result:
            values = samples(record, "float16")
            if isinstance(record.op, sc.Cast) and not record.op.dtype.startswith("float"):
                values = [np.array([0.0, 1.0, 100.0], "float16")]
            with np.errstate(all="ignore"):
                expected = record.op.impl(*values)
            for operands in (values, [strided(v) for v in values]):
                with self.subTest(op=str(record.op)):
                    got = run(record.op, operands)
                    if expected.dtype == "float16":
                        np.testing.assert_allclose(got.astype(float), expected.astype(float), rtol=4e-3, atol=1e-6)
                    else:
                        np.testing.assert_array_equal(got, expected)

    def test_all_bit_patterns_survive(self) -> None:
        bits = np.arange(2**16, dtype="uint16").view("float16")
        numbers = bits[~np.isnan(bits)]
        np.testing.assert_array_equal(run(sc.identity, [numbers]).view("uint16"), numbers.view("uint16"))
        np.testing.assert_array_equal(run(sc.cast("float32"), [numbers]), numbers.astype("float32"))
        self.assertTrue(np.isnan(run(sc.identity, [bits[np.isnan(bits)]])).all())

    def test_rounding_is_numpys(self) -> None:
        rng = np.random.default_rng(0)
        steps = np.arange(0x7C00, dtype="uint16").view("float16").astype("float64")
        ties = (steps[:-1] + steps[1:]) / 2
        near = np.concatenate([ties, np.nextafter(ties, 0), np.nextafter(ties, np.inf), rng.normal(0, 1e3, 5000)])
        near = np.concatenate([near, -near, [65519.99, 65520.0, 1e300, np.inf, -np.inf, 1e-8, 2.0**-25, 1e-320]])
        for dtype in ("float32", "float64"):
            with self.subTest(dtype=dtype), np.errstate(all="ignore"):
                x = near.astype(dtype)
                expected = x.astype("float16")
                np.testing.assert_array_equal(run(sc.cast("float16"), [x]).view("uint16"), expected.view("uint16"))

    def test_composite_rounds_each_step(self) -> None:
        x = ScalarType("float16")()
        op = Composite([x], [(x + 2048) - 2048])
        values = np.array([1.0, 0.3, 3.0], "float16")
        np.testing.assert_array_equal(run(op, [values]), op.impl(values))

    def test_sum_in_double(self) -> None:
        kernel = reduction(sc.add, "float16", "float64")
        x = np.full(5000, 0.1, "float16")
        total = np.zeros(1)
        call(load(kernel).address, len(x), [x, total])
        self.assertAlmostEqual(total[0], float(x[0]) * 5000, places=9)

    def test_accumulator_of_16_bits_is_left_to_numpy(self) -> None:
        kernel = reduction(sc.add, "float16", "float16")
        self.assertIsNone(kernel_source(kernel))


class TestComplex(unittest.TestCase):
    def setUp(self) -> None:
        rng = np.random.default_rng(3)
        self.z = rng.normal(size=200) + 1j * rng.normal(size=200)
        self.w = np.concatenate([rng.normal(size=150) + 1j * rng.normal(size=150), rng.integers(-4, 5, 50) + 0j])

    def check(self, op: ScalarOp, values: list[Array]) -> None:
        with np.errstate(all="ignore"):
            expected = np.asarray(op.impl(*values))
        for operands in (values, [strided(v) for v in values]):
            got = run(op, operands)
            self.assertEqual(got.dtype, expected.dtype)
            tolerance = 1e-5 if values[0].dtype in ("complex64", "float32") else 1e-12
            np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance, err_msg=str(op))

    def test_unary(self) -> None:
        LIBRARY.build([flat_kernel(op, (d,)) for op in UNARY for d in COMPLEX], OPTIONS)
        for dtype in COMPLEX:
            for op in UNARY:
                with self.subTest(op=str(op), dtype=dtype):
                    self.check(op, [self.z.astype(dtype)])

    def test_binary(self) -> None:
        LIBRARY.build([flat_kernel(op, (d, d)) for op in BINARY for d in COMPLEX], OPTIONS)
        for dtype in COMPLEX:
            for op in BINARY:
                with self.subTest(op=str(op), dtype=dtype):
                    self.check(op, [self.z.astype(dtype), self.w.astype(dtype)])

    @slow
    def test_mixed_with_real(self) -> None:
        for other in ("int8", "float32", "float64", "bool", "float16"):
            for op in (sc.add, sc.mul, sc.true_div, sc.eq):
                with self.subTest(op=str(op), other=other):
                    real = np.arange(1, 201).astype("int8").astype(other)
                    self.check(op, [self.z, real])
                    self.check(op, [real, self.z.astype("complex64")])

    def test_poles_and_infinities(self) -> None:
        special = np.array([0, -0.0, 1, -1, 1j, -1j, np.inf, complex(0, np.inf), complex(np.nan, 1), 1e200, 1e-200])
        z, w = (a.ravel().copy() for a in np.meshgrid(special, special))
        for op in (sc.true_div, sc.reciprocal, sc.mul, sc.add, sc.eq, sc.isnan, sc.isinf, sc.abs):
            values = [z, w][: 2 if op.nin < 0 else op.nin]
            with np.errstate(all="ignore"):
                expected = op.impl(*values)
            with self.subTest(op=str(op)):
                np.testing.assert_array_equal(run(op, values), expected)

    def test_powers_of_zero(self) -> None:
        exponents = np.array([0, 1, 2, 0.5, 1 + 1j, 1 - 2j, np.inf, -1, -0.5, 1j, -1 + 1j, np.nan])
        for dtype in COMPLEX:
            values = [np.zeros(len(exponents), dtype), exponents.astype(dtype)]
            with self.subTest(dtype=dtype), np.errstate(all="ignore"):
                np.testing.assert_array_equal(run(sc.pow, values), np.power(*values))

    def test_made_of_parts(self) -> None:
        x, y = self.z.real.copy(), self.z.imag.copy()
        for dtype in ("float32", "float64"):
            self.check(sc.make_complex, [x.astype(dtype), y.astype(dtype)])
            self.check(sc.complex_from_polar, [x.astype(dtype), y.astype(dtype)])

    def test_fused(self) -> None:
        x, y = ScalarType("complex128")(), ScalarType("complex128")()
        op = Composite([x, y], [sc.abs(sc.exp(x) * y + (1 + 2j)), sc.conj(x) / y])
        kernel = ElementwiseKernel(op, ("complex128",) * 2, ("float64", "complex128"), ((False,),) * 2, 1)
        first, second = np.empty(200), np.empty(200, "complex128")
        call(load(kernel).address, 200, [self.z, self.w + 9, first, second])
        np.testing.assert_allclose(first, abs(np.exp(self.z) * (self.w + 9) + (1 + 2j)), rtol=1e-12)
        np.testing.assert_allclose(second, np.conj(self.z) / (self.w + 9), rtol=1e-12)

    def test_sum_and_product(self) -> None:
        for op, expected in ((sc.add, self.z.sum()), (sc.mul, self.z.prod())):
            kernel = reduction(op, "complex64", "complex128")
            total = np.full(1, 0 if op is sc.add else 1, "complex128")
            call(load(kernel).address, 200, [self.z.astype("complex64"), total])
            np.testing.assert_allclose(total[0], expected, rtol=1e-5)


class TestSpecialFunctions(unittest.TestCase):
    """Functions of SciPy inside fused loops, through pointers that are set when the code is loaded."""

    def test_fused_with_others(self) -> None:
        x: Any = ScalarType("float64")()
        op = Composite([x], [sc.psi(x) * 2 + sc.exp(-sc.gammainc(x, x)) - sc.gammainc_der(x, x)])
        values = np.linspace(0.1, 9, 300)
        np.testing.assert_allclose(run(op, [values]), op.impl(values), rtol=1e-13)
        text = kernel_source(flat_kernel(op, ("float64",)))
        assert text is not None, "it has a C form"
        self.assertEqual(sorted(text.special), ["gammainc", "gammaln", "psi"])

    def test_derivative_of_gammainc_by_its_parameter(self) -> None:
        a, x = (
            v.ravel().copy() for v in np.meshgrid([0.2, 1.0, 3.5, 40.0, 300.0], [0.0, 0.1, 2.0, 35.0, 250.0, 900.0])
        )
        h = 1e-4 * a
        up, down = sc.gammainc.impl(a + h, x), sc.gammainc.impl(a - h, x)
        for item in (sc.gammainc_der.impl(a, x), run(sc.gammainc_der, [a, x])):
            np.testing.assert_allclose(item, (up - down) / (2 * h), rtol=1e-4, atol=1e-10)

    def test_poly_gamma_of_higher_order(self) -> None:
        x = np.array([0.3, 1.0, 7.5, 40.0, -0.4, -2.7])
        h = 1e-5
        for order in (2, 3, 4):
            op = sc.PolyGamma(order)
            lower = sc.PolyGamma(order - 1)
            slopes = (lower.impl(x + h) - lower.impl(x - h)) / (2 * h)
            for item in (op.impl(x), run(op, [x])):
                np.testing.assert_allclose(item, slopes, rtol=1e-6)

    def test_order_of_poly_gamma_is_checked(self) -> None:
        for order in (0, -1, 21, 1.5, True):
            with self.subTest(order=order), self.assertRaisesRegex(TypeError, "from 1 to 20"):
                sc.PolyGamma(order)  # type: ignore[arg-type]  # wrong on purpose
