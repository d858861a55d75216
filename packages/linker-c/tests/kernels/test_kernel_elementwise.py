"""Compiled elementwise kernels against the ops' NumPy forms, for all ops, dtypes and strides."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
from scalar.samples import largest_error, samples

from theano_linker_c import scalar as sc
from theano_linker_c.kernels import ElementwiseKernel, build, is_expensive, kernel_source
from theano_linker_c.scalar import (
    BinaryScalarOp,
    Composite,
    ScalarOp,
    ScalarRecord,
    ScalarType,
    program_of,
    records,
    transfer_type,
)
from theano_testing.tiers import slow

from .kernel_calls import LIBRARY, OPTIONS, Array, call, empty_like_layout, layouts, load


def flat_kernel(op: ScalarOp, dtypes: tuple[str, ...], scalars: tuple[bool, ...] | None = None) -> ElementwiseKernel:
    broadcast = tuple((flag,) for flag in scalars or (False,) * len(dtypes))
    return ElementwiseKernel(op, dtypes, op.result_dtypes(*dtypes), broadcast, 1)


def sample(dtype: str = "float64") -> Composite:
    x, y = ScalarType(dtype)(), ScalarType(dtype)()
    return Composite([x, y], [sc.tanh(2 * x + 1) * sc.exp(-(x**2)) + sc.sigmoid(y)])


def fits(record: ScalarRecord, values: list[Array]) -> Array:
    """Leave out undefined behaviour of C: a float that does not fit the integer it is cast to."""
    if not isinstance(record.op, sc.Cast) or record.op.dtype.startswith(("float", "bool")):
        return np.ones(len(values[0]), bool)
    if not values[0].dtype.name.startswith("float"):
        return np.ones(len(values[0]), bool)
    info = np.iinfo(record.op.dtype)
    with np.errstate(invalid="ignore"):
        return np.asarray((values[0] > max(info.min, -1e9) - 1.0) & (values[0] < min(info.max, 1e9)))


class TestEveryOp(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        # All of them with one run of the compiler; the tests find them loaded.
        LIBRARY.build([flat_kernel(r.op, (d,) * r.nin) for r in records for d in r.dtypes], OPTIONS)

    @slow
    def test_agrees_with_numpy_form(self) -> None:
        for record in records:
            for dtype in record.dtypes:
                values = samples(record, dtype)
                saved = fits(record, values)
                values = [value[saved] for value in values]
                expected = record.op.impl(*values)
                for name in ("contiguous", "strided"):
                    with self.subTest(op=str(record.op), dtype=dtype, strides=name):
                        result = self.run_kernel(record, dtype, values, name)
                        self.assertLessEqual(largest_error(result, expected), record.ulp)

    def run_kernel(self, record: ScalarRecord, dtype: str, values: list[Array], name: str) -> Array:
        kernel = flat_kernel(record.op, (dtype,) * record.nin)
        result = empty_like_layout(name, len(values[0]), kernel.output_dtypes[0])
        inputs = [dict(layouts(value))[name] for value in values]
        call(load(kernel).address, len(values[0]), [*inputs, result])
        return result


class TestDtypesMeet(unittest.TestCase):
    PAIRS = (("int8", "float32"), ("int64", "float32"), ("uint8", "int8"), ("uint64", "int64"), ("bool", "float64"))

    def test_binary_ops(self) -> None:
        ops: list[Any] = [sc.add, sc.mul, sc.true_div, sc.maximum, sc.lt, sc.eq, sc.int_div, sc.mod]
        LIBRARY.build([flat_kernel(op, pair) for op in ops for pair in self.PAIRS], OPTIONS)
        for op in ops:
            for pair in self.PAIRS:
                record = ScalarRecord(op, op.impl, count=2)
                a, b = samples(record, pair[0])[0], samples(record, pair[1])[1]
                length = min(len(a), len(b))
                kernel = flat_kernel(op, pair)
                result = np.empty(length, kernel.output_dtypes[0])
                call(load(kernel).address, length, [a[:length].copy(), b[:length].copy(), result])
                with self.subTest(op=str(op), dtypes=pair):
                    self.assertLessEqual(largest_error(result, op.impl(a[:length], b[:length])), 4)

    def test_comparison_of_signed_with_unsigned_is_exact(self) -> None:
        a, b = np.array([-1, 2**53 + 1, 5]), np.array([2**64 - 1, 2**53, 5], np.uint64)
        kernel = flat_kernel(sc.gt, ("int64", "uint64"))
        result = np.empty(3, bool)
        call(load(kernel).address, 3, [a, b, result])
        self.assertEqual(result.tolist(), [False, True, False])


class TestLengths(unittest.TestCase):
    """Vectorised loops take whole vectors; the same loops compute the remainder, at every length."""

    LENGTHS = (0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 100, 255, 256, 257, 511, 515, 1000)

    def test_a_value_depends_on_the_operands_alone(self) -> None:
        for dtype in ("float32", "float64"):
            x = np.linspace(-2, 2, 1000).astype(dtype)
            y = x[::-1].copy()
            address = load(flat_kernel(sample(dtype), (dtype, dtype))).address
            full = np.empty(1000, dtype)
            call(address, 1000, [x, y, full])
            for n in self.LENGTHS:
                for name, z in layouts(np.full(n + 2, 9.0, dtype)):
                    call(address, n, [x[:n], y[:n], z[: n + 1]])
                    with self.subTest(dtype=dtype, n=n, strides=name):
                        np.testing.assert_array_equal(z[:n], full[:n])
                        np.testing.assert_array_equal(z[n:], 9.0)

    def test_over_the_memory_of_an_input(self) -> None:
        address = load(flat_kernel(sample(), ("float64", "float64"))).address
        x, y = np.linspace(-2, 2, 1000), np.linspace(1, 3, 1000)
        expected = sample().impl(x, y)
        for n in self.LENGTHS:
            for name, z in layouts(x[:n]):
                call(address, n, [z, y[:n], z])
                with self.subTest(n=n, strides=name):
                    np.testing.assert_allclose(z, expected[:n], rtol=1e-13)

    def test_one_value_for_all_beside_contiguous_operands(self) -> None:
        address = load(flat_kernel(sample(), ("float64", "float64"))).address
        x = np.linspace(-2, 2, 1000)
        for n in self.LENGTHS:
            one = np.broadcast_to(np.array(0.5), n)
            for inputs in ([x[:n], one], [one, x[:n]]):
                z = np.empty(n)
                call(address, n, [*inputs, z])
                with self.subTest(n=n):
                    np.testing.assert_allclose(z, sample().impl(*inputs), rtol=1e-13)

    def test_elements_of_different_sizes(self) -> None:
        x = ScalarType("float64")()
        for element in (sc.exp(x) > 2.0, x > 0.5, sc.cast("float32")(sc.exp(x)), sc.cast("int16")(x * 100)):
            op = Composite([x], [element])
            kernel = flat_kernel(op, ("float64",))
            values = np.linspace(-1, 1, 700)
            for n in self.LENGTHS[:-1]:
                result = np.empty(n, kernel.output_dtypes[0])
                call(load(kernel).address, n, [values[:n], result])
                with self.subTest(op=str(op), n=n):
                    np.testing.assert_allclose(result, op.impl(values[:n]), rtol=1e-6)


class TestStrides(unittest.TestCase):
    def setUp(self) -> None:
        rng = np.random.default_rng(3)
        self.x, self.y = rng.normal(size=(2, 1000))
        self.expected = sample().impl(self.x, self.y)

    def test_all_stride_kinds(self) -> None:
        address = load(flat_kernel(sample(), ("float64", "float64"))).address
        for name_x, x in layouts(self.x):
            for name_y, y in layouts(self.y):
                for name_z in ("contiguous", "strided", "reversed"):
                    z = empty_like_layout(name_z, 1000, "float64")
                    call(address, 1000, [x, y, z])
                    with self.subTest(x=name_x, y=name_y, z=name_z):
                        np.testing.assert_allclose(z, self.expected, rtol=1e-12)

    def test_value_does_not_depend_on_strides(self) -> None:
        address = load(flat_kernel(sample(), ("float64", "float64"))).address
        plain, other = np.empty(1000), empty_like_layout("strided", 1000, "float64")
        call(address, 1000, [self.x, self.y, plain])
        call(address, 1000, [dict(layouts(self.x))["strided"], self.y, other])
        # Up to the last partial vector, which each block has at its own place.
        np.testing.assert_allclose(plain, other, rtol=1e-13)

    def test_stride_zero_that_was_not_announced(self) -> None:
        for op, dtypes in ((sample(), ("float64", "float64")), (sc.add, ("float64", "float64"))):
            z = np.empty(1000)
            call(load(flat_kernel(op, dtypes)).address, 1000, [self.x, np.broadcast_to(self.y[3], (1000,)), z])
            np.testing.assert_allclose(z, op.impl(self.x, self.y[3]), rtol=1e-12)

    def test_scalar_operand(self) -> None:
        kernel = flat_kernel(sample(), ("float64", "float64"), (False, True))
        for name, x in layouts(self.x):
            z = np.empty(1000)
            call(load(kernel).address, 1000, [x, np.array(0.7), z])
            with self.subTest(x=name):
                np.testing.assert_allclose(z, sample().impl(self.x, 0.7), rtol=1e-12)

    def test_column_operand(self) -> None:
        broadcast = ((False, False), (False, True))
        for op in (sample(), sc.add):
            kernel = ElementwiseKernel(op, ("float64", "float64"), ("float64",), broadcast, 2)
            z = np.empty(1000)
            call(load(kernel).address, 1000, [self.x, self.y[:1].reshape(()), z])
            np.testing.assert_allclose(z, op.impl(self.x, self.y[0]), rtol=1e-12)

    def test_all_operands_scalar(self) -> None:
        kernel = ElementwiseKernel(sample(), ("float64", "float64"), ("float64",), ((), ()), 0)
        z = np.empty(())
        call(load(kernel).address, 1, [np.array(0.3), np.array(0.4), z])
        np.testing.assert_allclose(z, sample().impl(0.3, 0.4), rtol=1e-13)

    def test_no_elements(self) -> None:
        z = np.full(2, 7.0)
        call(load(flat_kernel(sample(), ("float64", "float64"))).address, 0, [self.x, self.y, z])
        self.assertEqual(z.tolist(), [7.0, 7.0])

    def test_every_short_length(self) -> None:
        address = load(flat_kernel(sample(), ("float64", "float64"))).address
        for length in range(1, 40):
            z = np.full(length + 1, 7.0)
            call(address, length, [self.x, self.y, z])
            np.testing.assert_allclose(z[:-1], self.expected[:length], rtol=1e-12)
            self.assertEqual(z[-1], 7.0)

    def test_result_in_place_of_an_input(self) -> None:
        for op in (sample(), sc.sub):
            for name, x in layouts(self.x):
                call(load(flat_kernel(op, ("float64", "float64"))).address, 1000, [x, self.y, x])
                with self.subTest(op=str(op), strides=name):
                    np.testing.assert_allclose(x, op.impl(self.x, self.y), rtol=1e-12)

    def test_two_results_over_two_inputs(self) -> None:
        v, w = ScalarType("float64")(), ScalarType("float64")()
        kernel = flat_kernel(Composite([v, w], [sc.exp(w), v]), ("float64", "float64"))
        x, y = self.x.copy(), self.y.copy()
        call(load(kernel).address, 1000, [x, y, x, y])
        np.testing.assert_allclose(x, np.exp(self.y), rtol=1e-13)
        np.testing.assert_array_equal(y, self.x)


class Polar(BinaryScalarOp):
    """An op of a user with two results."""

    nout = 2

    def c_code(self, node: Any, name: str, inputs: Any, outputs: Any, sub: Any) -> str:
        (x, y), (r, theta) = inputs, outputs
        return f"{r} = sqrt({x} * {x} + {y} * {y}); {theta} = atan2({y}, {x});"


class TestSeveralResults(unittest.TestCase):
    def test_code_of_a_user(self) -> None:
        op = Polar(transfer_type(0, 1))
        x, y = np.linspace(-1, 1, 40), np.linspace(2, 3, 40).astype("float32")
        for inputs in ([x, y], [x[::-2], y[::2].copy()]):
            r, theta = np.empty(len(inputs[0])), np.empty(len(inputs[0]), "float32")
            call(load(flat_kernel(op, ("float64", "float32"))).address, len(r), [*inputs, r, theta])
            np.testing.assert_allclose(r, np.hypot(*inputs), rtol=1e-6)
            np.testing.assert_allclose(theta, np.arctan2(inputs[1], inputs[0]), rtol=1e-6)


class TestDescriptions(unittest.TestCase):
    def test_no_native_form(self) -> None:
        kernels = [flat_kernel(sc.log1p, ("complex64",)), flat_kernel(sc.expm1, ("complex128",))]
        self.assertEqual(LIBRARY.build(kernels, OPTIONS), [None, None])

    def test_op_without_c_form(self) -> None:
        class Mystery(ScalarOp):
            name = "mystery"

            def result_dtypes(self, *dtypes: str) -> tuple[str, ...]:
                return dtypes

        self.assertIsNone(kernel_source(flat_kernel(Mystery(), ("float64",))))

    def test_pattern_must_fit(self) -> None:
        with self.assertRaisesRegex(TypeError, r"broadcast pattern(.|\n)*Hint"):
            ElementwiseKernel(sc.add, ("float64", "float64"), ("float64",), ((False,),), 1)

    def test_cost(self) -> None:
        self.assertLess(flat_kernel(sc.add, ("float64", "float64")).cost, flat_kernel(sc.exp, ("float64",)).cost)
        self.assertTrue(is_expensive(sample()))
        self.assertFalse(is_expensive(sc.add))
        self.assertEqual(flat_kernel(sample(), ("float64", "float64")).cost, sample().cost)

    def test_text_is_free_of_python(self) -> None:
        source = kernel_source(flat_kernel(sample(), ("float64", "float64")))
        assert source is not None
        self.assertNotIn("Py", source.render("kernel"))

    def test_constant_square_is_a_product(self) -> None:
        x = ScalarType("float64")()
        statements, _ = program_of(Composite([x], [x**2]), ["float64"]).emit([sc.CValue("x", "float64")], "t")
        self.assertEqual(statements, ["const double t0 = x * x;"])

    def test_build_by_configuration(self) -> None:
        self.assertEqual(build([]), [])
