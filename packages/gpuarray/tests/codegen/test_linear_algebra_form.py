"""Device forms of Cholesky factors, linear equations and inverses."""

from __future__ import annotations

import unittest
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from theano_gpuarray.codegen import NoDeviceForm
from theano_gpuarray.codegen.linear_algebra import (
    CholeskyGradKernel,
    CholeskyKernel,
    DeterminantKernel,
    EigenKernel,
    InverseKernel,
    OrthogonalKernel,
    SingularValuesKernel,
    SolveKernel,
)
from theano_linker_c.kernels import Kernel
from theano_testing.gpuarray import needs_opencl
from theano_testing.tiers import each_value, slow

from .form_support import Recorder, on_card

TOLERANCES = {"float32": 2e-3, "float64": 1e-9}
SHAPES: Sequence[tuple[int, ...]] = ((1, 1), (5, 5), (33, 33), (70, 70), (3, 4, 4), (2, 2, 3, 3), (0, 0), (0, 2, 2))
#: Each shape of float64; the text for float32 differs by its numbers alone.
CASES = (*(("float64", shape) for shape in SHAPES), ("float32", (70, 70)), ("float32", (3, 4, 4)))


def invertible(*shape: int, dtype: str = "float64") -> Any:
    x = np.random.default_rng(3).normal(size=shape)
    return (x + 2 * shape[-1] ** 0.5 * np.eye(shape[-1])).astype(dtype)


def definite(*shape: int, dtype: str = "float64") -> Any:
    x = invertible(*shape)
    return (x @ np.swapaxes(x, -1, -2) + np.eye(shape[-1])).astype(dtype)


def as_it_is(x: Any) -> Any:
    return x


def transposed(x: Any) -> Any:
    return np.swapaxes(x, -1, -2)


class LinearAlgebraCase(unittest.TestCase):
    def check(
        self, kernel: Kernel, values: Sequence[Any], expected: Any, cards: Sequence[bool] = (False, True)
    ) -> None:
        for card in cards:
            with self.subTest(kernel=kernel, shape=values[0].shape, card=card):
                (result,) = Recorder(card=card).run(kernel, [on_card(v) for v in values])
                dtype = values[0].dtype.name
                self.assertEqual((result.dtype.name, result.shape), (dtype, expected.shape))
                np.testing.assert_allclose(result, expected, rtol=TOLERANCES[dtype], atol=TOLERANCES[dtype])

    def refused(self, kernel: Kernel, values: Sequence[Any], text: str) -> None:
        with self.assertRaisesRegex(np.linalg.LinAlgError, text):
            Recorder().run(kernel, values)


@needs_opencl
class TestCholesky(LinearAlgebraCase):
    @slow
    def test_factors(self) -> None:
        for (dtype, shape), lower, card in each_value(CASES, (True, False), (False, True)):
            x = definite(*shape, dtype=dtype)
            expected = np.linalg.cholesky(x.astype("float64")) if x.size else x
            beyond = np.triu(np.full(shape[-2:], np.nan), 1)  # it is not read
            turn = as_it_is if lower else transposed
            operand = turn(np.tril(x) + beyond).astype(dtype)
            self.check(CholeskyKernel(dtype, lower, False), [operand], turn(expected), [card])

    def test_what_is_not_definite(self) -> None:
        x = definite(2, 40, 40)
        x[1, 35, 35] = -1
        self.refused(CholeskyKernel("float64", True, False), [x], "cholesky: Matrix is not positive definite")
        self.refused(CholeskyKernel("float64", True, False), [np.full((2, 2), np.nan)], "not positive definite")
        for lower in (True, False):
            factor = np.linalg.cholesky(x[0])
            expected = np.stack([factor if lower else factor.T, np.full((40, 40), np.nan)])
            self.check(CholeskyKernel("float64", lower, True), [x], expected)

    @slow
    def test_gradients(self) -> None:
        for shape in ((1, 1), (5, 5), (70, 70), (2, 3, 3), (0, 0)):
            x, g = definite(*shape), np.random.default_rng(5).normal(size=shape)
            factor, d = np.linalg.cholesky(x) if x.size else x, np.random.default_rng(6).normal(size=shape)
            d = d + np.swapaxes(d, -1, -2)
            # The change of the factor for a change d of the matrix, and by it the change of sum(g * factor).
            inner = np.linalg.solve(factor, np.swapaxes(np.linalg.solve(factor, d), -1, -2)) if x.size else x
            change = factor @ (np.tril(inner, -1) + np.eye(shape[-1]) * inner / 2)
            for lower, card in each_value((True, False), (False, True)):
                turn = as_it_is if lower else transposed
                kernel = CholeskyGradKernel("float64", lower)
                operands = [on_card(np.ascontiguousarray(turn(v))) for v in (x, factor, g)]
                (result,) = Recorder(card=card).run(kernel, operands)
                slope = turn(result)
                np.testing.assert_array_equal(slope, np.tril(slope))
                np.testing.assert_allclose((slope * d).sum(), (np.tril(g) * change).sum(), rtol=1e-9)

    def test_gradients_of_other_shapes(self) -> None:
        kernel = CholeskyGradKernel("float64", True)
        with self.assertRaisesRegex(ValueError, "do not fit"):
            Recorder().run(kernel, [np.eye(3), np.eye(3), np.eye(2)])

    def test_what_is_not_square(self) -> None:
        kernel = CholeskyKernel("float64", True, False)
        self.refused(kernel, [np.ones((2, 3))], "cholesky: the matrix is 2 by 3, not square")


@needs_opencl
class TestSolve(LinearAlgebraCase):
    @slow
    def test_general(self) -> None:
        for dtype, shape in CASES:
            x = invertible(*shape, dtype=dtype)
            b = np.random.default_rng(4).normal(size=(*shape[:-1], 7)).astype(dtype)
            expected = np.linalg.solve(x.astype("float64"), b.astype("float64")) if x.size else b
            self.check(SolveKernel(dtype, "general", False), [x, b], expected)
            if len(shape) == 2:
                self.check(SolveKernel(dtype, "general", False), [x, b[:, 0]], expected[:, 0])

    def test_rows_are_exchanged(self) -> None:
        x = np.roll(np.eye(70), 33, axis=0) + np.triu(np.ones((70, 70)) * 0.01)
        b = np.arange(70.0)
        self.check(SolveKernel("float64", "general", False), [x, b], np.linalg.solve(x, b))

    def test_triangles(self) -> None:
        structures: tuple[Literal["lower_triangular", "upper_triangular"], ...] = (
            "lower_triangular",
            "upper_triangular",
        )
        for shape in SHAPES:
            x, b = invertible(*shape), np.random.default_rng(4).normal(size=(*shape[:-1], 3))
            for structure, part in zip(structures, (np.tril, np.triu), strict=True):
                expected = np.linalg.solve(part(x), b) if x.size else b
                self.check(SolveKernel("float64", structure, False), [x, b], expected)

    def test_symmetric(self) -> None:
        for shape in SHAPES:
            x = definite(*shape)
            x = x - 3 * np.eye(shape[-1])  # not definite
            b = np.random.default_rng(4).normal(size=(*shape[:-1], 3))
            expected = np.linalg.solve(x, b) if x.size else b
            for lower, part in ((True, np.tril), (False, np.triu)):
                self.check(SolveKernel("float64", "symmetric", lower), [part(x), b], expected)

    def test_singular(self) -> None:
        x = invertible(40, 40)
        x[:, 35] = 0
        self.refused(SolveKernel("float64", "general", False), [x, np.ones(40)], "solve: Singular matrix")
        x = np.tril(invertible(40, 40))
        x[35, 35] = 0
        self.refused(SolveKernel("float64", "lower_triangular", False), [x, np.ones(40)], "solve: Singular matrix")

    def test_shapes_that_do_not_fit(self) -> None:
        kernel = SolveKernel("float64", "general", False)
        self.refused(kernel, [np.ones((2, 3)), np.ones(2)], "solve: the matrix is 2 by 3, not square")
        for x, b in ((np.eye(3), np.ones(2)), (np.ones((2, 3, 3)), np.ones((4, 3, 1)))):
            with self.assertRaisesRegex(ValueError, "do not fit"):
                Recorder().run(kernel, [x, b])


@needs_opencl
class TestInverse(LinearAlgebraCase):
    @slow
    def test_inverses(self) -> None:
        for dtype, shape in CASES:
            x = invertible(*shape, dtype=dtype)
            expected = np.linalg.inv(x.astype("float64")) if x.size else x
            self.check(InverseKernel(dtype), [x], expected)

    def test_singular(self) -> None:
        self.refused(InverseKernel("float64"), [np.ones((3, 3))], "matrix_inverse: Singular matrix")
        self.refused(InverseKernel("float64"), [np.ones((3, 2))], "matrix_inverse: the matrix is 3 by 2, not square")


@needs_opencl
class TestDeterminants(LinearAlgebraCase):
    def check_both(self, x: Any) -> None:
        sign, size = np.linalg.slogdet(x.astype("float64"))
        for card in (False, True):
            with self.subTest(shape=x.shape, dtype=x.dtype, card=card):
                result = Recorder(card=card).run(DeterminantKernel(x.dtype.name, True), [on_card(x)])
                self.assertEqual([v.dtype for v in result], [x.dtype] * 2)
                np.testing.assert_array_equal(result[0], sign)
                np.testing.assert_allclose(result[1], size, rtol=1e-3, atol=TOLERANCES[x.dtype.name])
                (value,) = Recorder(card=card).run(DeterminantKernel(x.dtype.name, False), [on_card(x)])
                np.testing.assert_allclose(value, sign * np.exp(size), rtol=1e-2 if x.dtype == "float32" else 1e-9)

    @slow
    def test_values(self) -> None:
        for dtype, shape in CASES:
            self.check_both(invertible(*shape, dtype=dtype) / max(shape[-1], 1) ** 0.5)
        for dtype in TOLERANCES:
            self.check_both(np.roll(np.eye(70, dtype=dtype), 33, axis=0))

    def test_singular_ones(self) -> None:
        for column in (0, 33, 39):
            x = np.tril(invertible(40, 40))
            x[column:, column] = 0
            sign, size = Recorder().run(DeterminantKernel("float64", True), [x])
            self.assertEqual((float(sign), float(size)), (0.0, -np.inf))

    @slow
    def test_no_overflow_on_the_way(self) -> None:
        scales = np.array([1e30] * 35 + [1e-30] * 35, "float32")
        (result,) = Recorder(card=True).run(DeterminantKernel("float32", False), [np.diag(scales)])
        np.testing.assert_allclose(result, 1, rtol=1e-4)

    def test_nan_and_infinities(self) -> None:
        for value in (np.nan, np.inf, -np.inf):
            x = np.diag([2.0, value, 3.0])
            (result,) = Recorder().run(DeterminantKernel("float64", False), [x])
            np.testing.assert_array_equal(result, 6 * value)
            sign, size = Recorder().run(DeterminantKernel("float64", True), [x])
            np.testing.assert_array_equal((sign, size), (-1 if value < 0 else 1, abs(value)))

    def test_a_pivot_of_zero_beside_others(self) -> None:
        for value in (np.inf, -np.inf):
            x = np.diag([2.0, value, 0.0])
            for card in (False, True):
                (result,) = Recorder(card=card).run(DeterminantKernel("float64", False), [x])
                self.assertEqual(result, 0)
                sign, size = Recorder(card=card).run(DeterminantKernel("float64", True), [x])
                self.assertEqual((float(sign), float(size)), (0.0, -np.inf))

    def test_what_is_not_square(self) -> None:
        self.refused(DeterminantKernel("float64", False), [np.ones((3, 2))], "det: the matrix is 3 by 2, not square")
        self.refused(DeterminantKernel("float64", True), [np.ones((3, 2))], "slogdet: the matrix is 3 by 2, not sq")


@needs_opencl
class TestWithoutALibrary(unittest.TestCase):
    def test_others_say_what_is_to_be_done(self) -> None:
        kernels = (
            EigenKernel("float64", True),
            OrthogonalKernel("float64", "r"),
            SingularValuesKernel("float64", True, True),
        )
        for kernel in kernels:
            with self.assertRaisesRegex(NoDeviceForm, "compute this on the host"):
                Recorder().run(kernel, [np.eye(3)])
