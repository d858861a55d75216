"""Device forms of matrix products, with factors, sums, and the steps that may follow."""

from __future__ import annotations

import unittest
from collections.abc import Sequence
from typing import Any

import numpy as np

from theano_gpuarray.codegen import NoDeviceForm, device_form
from theano_gpuarray.codegen.products import ProductEpilogueKernel
from theano_linker_c.kernels import MatrixProductKernel
from theano_linker_c.scalar import Composite, ScalarType, add, mul, tanh
from theano_testing.gpuarray import needs_opencl
from theano_testing.tiers import each_value, slow

from .form_support import Card, Recorder, on_card

TOLERANCES = {"float16": 2e-2, "float32": 1e-4, "float64": 1e-11}
NUMPY: dict[str, Any] = {"batched": np.matmul, "ger": np.outer}


def rounded(shape: tuple[int, ...], dtype: str) -> Any:
    return np.random.default_rng(len(shape)).normal(size=shape).astype(dtype)


class ProductCase(unittest.TestCase):
    card = False

    def check(
        self,
        kind: Any,
        shapes: tuple[tuple[int, ...], tuple[int, ...]],
        dtype: str = "float32",
        factors: tuple[float, ...] = (),
        layout: Any = np.asarray,
    ) -> int:
        """Compare with NumPy; factors are alpha, or alpha and beta. Return the number of launches."""
        a, b = (rounded(shape, dtype) for shape in shapes)
        expected = NUMPY.get(kind, np.dot)(a.astype("float64"), b.astype("float64"))
        values = [layout(a), layout(b)]
        scalars = [np.asarray(f, dtype) for f in factors]
        if len(factors) == 1:
            expected, values = factors[0] * expected, [*values, *scalars]
        elif factors:
            z = rounded(expected.shape, dtype)
            expected, values = factors[0] * expected + factors[1] * z, [layout(z), scalars[0], *values, scalars[1]]
            values = values[:4] if factors[1] == 1 else values
        recorder = Recorder(card=self.card)
        (result,) = recorder.run(MatrixProductKernel(kind, dtype), values)
        self.assertEqual((result.dtype, result.shape), (np.dtype(dtype), np.shape(expected)))
        scale = max(float(np.abs(expected).max(initial=1)), 1.0)
        np.testing.assert_allclose(result, expected, rtol=TOLERANCES[dtype], atol=TOLERANCES[dtype] * scale)
        return recorder.launches


@needs_opencl
class TestProducts(ProductCase):
    """On a CPU: tiles are multiplied as vectors."""

    def test_dtypes(self) -> None:
        for dtype in TOLERANCES:
            with self.subTest(dtype):
                self.assertEqual(self.check("gemm", ((70, 33), (33, 90)), dtype), 1)

    def test_layouts_are_not_copied(self) -> None:
        for layout in (on_card, lambda x: Recorder().upload(np.ascontiguousarray(x.T)).transpose()):
            self.assertEqual(self.check("gemm", ((70, 33), (33, 90)), layout=layout), 1)

    def test_factors(self) -> None:
        for factors in ((2.5,), (2.5, 1), (2.5, 0.5)):
            for dtype in ("float32", "float64"):
                with self.subTest(factors=factors, dtype=dtype):
                    self.check("gemm", ((20, 33), (33, 9)), dtype, factors, on_card)

    def test_what_is_multiplied_by_zero_is_not_read(self) -> None:
        z, a = np.full((2, 2), np.nan, "float32"), np.ones((2, 2), "float32")
        values = [z, np.float32(1), a, a, np.float32(0)]
        (result,) = Recorder(card=self.card).run(MatrixProductKernel("gemm", "float32"), values)
        np.testing.assert_array_equal(result, a @ a)

    def test_infinities_times_zero(self) -> None:
        a = np.array([[np.inf, 1]], "float32")
        values = [a, np.zeros((2, 2), "float32"), np.float32(1)]
        (result,) = Recorder(card=self.card).run(MatrixProductKernel("gemm", "float32"), values)
        np.testing.assert_array_equal(result, [[np.nan, np.nan]])

    def test_long_and_thin(self) -> None:
        self.assertEqual(self.check("gemm", ((5, 9000), (9000, 4)), "float32", (2.5, 0.5), on_card), 2)

    def test_empty(self) -> None:
        self.check("gemm", ((20, 0), (0, 9)), "float32", (2.5, 0.5))
        self.check("gemm", ((0, 3), (3, 9)))
        self.check("dot", ((0,), (0,)))

    @slow
    def test_vectors(self) -> None:
        self.check("dot", ((3,), (3,)))
        self.assertEqual(self.check("dot", ((100000,), (100000,)), "float64", (), on_card), 2)
        cases = (
            ("gemv", ((300, 20), (20,)), "float32", np.asarray),
            ("gemv", ((300, 2000), (2000,)), "float32", on_card),
            ("gemv", ((1, 2000), (2000,)), "float32", np.asarray),
            ("vecmat", ((300,), (300, 20)), "float32", np.asarray),
            ("vecmat", ((2000,), (2000, 300)), "float64", on_card),
            ("ger", ((30,), (50,)), "float32", on_card),
            ("ger", ((1,), (7,)), "float32", np.asarray),
        )
        for (kind, shapes, dtype, layout), factors in each_value(cases, ((), (0.5, 2.0))):
            self.check(kind, shapes, dtype, factors, layout)

    def test_stacks(self) -> None:
        self.check("batched", ((4, 20, 33), (4, 33, 9)), "float32", (), on_card)
        self.check("batched", ((4, 1, 33), (4, 33, 9)))
        self.check("batched", ((0, 2, 3), (0, 3, 4)))

    def test_in_place(self) -> None:
        recorder = Recorder(card=self.card, overwrites=True)
        z, a = recorder.upload(np.ones((3, 3))), np.arange(9.0).reshape(3, 3)
        recorder.run(MatrixProductKernel("gemm", "float64"), [z, np.float64(2), a, a, np.float64(3)])
        np.testing.assert_allclose(np.asarray(z), 2 * a @ a + 3)

    def test_what_follows(self) -> None:
        x, y, w = (ScalarType("float32").make_variable() for _ in range(3))
        op = Composite([x, y, w], [mul(tanh(add(x, y)), w)])
        a, b, bias, more = (rounded(s, "float32") for s in ((40, 30), (30, 50), (1, 50), (40, 50)))
        product = MatrixProductKernel("gemm", "float32")
        patterns = ((True, False), (False, False))
        kernel = ProductEpilogueKernel(product, 2, op, ("float32",) * 3, patterns, "float32")
        recorder = Recorder(card=self.card)
        (result,) = recorder.run(kernel, [a, b, bias, on_card(more)])
        np.testing.assert_allclose(result, np.tanh(a @ b + bias) * more, rtol=1e-4, atol=1e-4)
        self.assertEqual(recorder.launches, 1)
        with self.assertRaisesRegex(
            ValueError, r"an array of shape \(2, 50\) does not fit a product of shape \(40, 50\)"
        ):
            recorder.run(kernel, [a, b, more[:2], more])


@slow
@needs_opencl
class TestProductsOfCards(TestProducts):
    """The same with the texts for graphics cards: tiles in local memory."""

    card = True


class TestLibraries(unittest.TestCase):
    """Which products a library is asked for."""

    def asked(self, kind: Any, shapes: Sequence[tuple[int, ...]], library: bool = True) -> tuple[Card, Any]:
        card = Card(library=library)
        (result,) = card.run(MatrixProductKernel(kind, "float32"), [card.empty("float32", s) for s in shapes])
        return card, result

    def test_products_of_matrices(self) -> None:
        for kind, shapes in (("gemm", [(3, 4), (4, 5)]), ("batched", [(2, 3, 4), (2, 4, 5)])):
            card, result = self.asked(kind, shapes)
            ((z, a, b, alpha, beta),) = card.products
            self.assertEqual((z, a.shape, b.shape, alpha, beta), (result, *shapes, 1.0, 0.0))
            self.assertEqual(card.launches, [])

    def test_a_sum_is_put_into_a_copy(self) -> None:
        card, result = self.asked("gemm", [(3, 5), (), (3, 4), (4, 5), ()])
        ((z, _, _, alpha, beta),) = card.products
        self.assertEqual((z, alpha.shape, beta.shape), (result, (), ()))
        self.assertNotEqual(z.slot, 1)

    def test_without_a_library(self) -> None:
        card, _ = self.asked("gemm", [(3, 4), (4, 5)], library=False)
        self.assertEqual(len(card.launches), 1)

    def test_vectors_are_multiplied_here(self) -> None:
        for kind, shapes in (("dot", [(4,), (4,)]), ("gemv", [(3, 4), (4,)]), ("ger", [(3,), (4,)])):
            card, _ = self.asked(kind, shapes)
            self.assertEqual((card.products, len(card.launches)), ([], 1))


@needs_opencl
class TestRefusals(unittest.TestCase):
    def refuse(self, kind: Any, values: list[Any], text: str) -> None:
        with self.assertRaisesRegex(ValueError, text):
            Recorder().run(MatrixProductKernel(kind, "float32"), values)

    def test_lengths_that_differ(self) -> None:
        one = np.float32(1)

        def zeros(*shape: int) -> Any:
            return np.zeros(shape, "float32")

        text = r"Shape mismatch: x has 3 cols \(and 2 rows\) but y has 4 rows \(and 5 cols\)"
        self.refuse("gemm", [zeros(2, 3), zeros(4, 5)], text)
        text = r"Shape mismatch: A has 3 cols \(shape \(2, 3\)\) but x has 4 elements"
        self.refuse("gemv", [zeros(2), one, zeros(2, 3), zeros(4), one], text)
        text = r"Shape mismatch: x has 2 elements \(shape \(2,\)\) but y has 3 elements \(shape \(3,\)\)"
        self.refuse("dot", [zeros(2), zeros(3)], text)
        text = r"Gemm: a product of shape \(2, 4\) cannot be added to an array of shape \(2, 2\)"
        self.refuse("gemm", [zeros(2, 2), one, zeros(2, 3), zeros(3, 4)], text)
        text = r"batched_dot: shapes \(2, 2, 3\) and \(3, 3, 4\) do not fit"
        self.refuse("batched", [zeros(2, 2, 3), zeros(3, 3, 4)], text)

    def test_complex_numbers(self) -> None:
        kernel = MatrixProductKernel("gemm", "complex64")
        form = device_form.get(kernel)
        self.assertTrue(form is not None and not form.supports(kernel))
        with self.assertRaisesRegex(NoDeviceForm, "MatrixProductKernel has no device form"):
            Recorder().run(kernel, [])
