"""Arguments of cuSOLVER and cuBLAS for matrices: run by `test_others` as `others_cases` is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from theano_gpuarray import _runtime
from theano_gpuarray._runtime import DeviceError, LaunchList
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

from .others_cases import Bridge, Case, calls, driver, fake

TOLERANCES = {"float32": 2e-4, "float64": 1e-10}
Structure = Literal["lower_triangular", "upper_triangular"]


class MatrixCase(Case):
    def definite(self, *shape: int, dtype: str = "float64") -> Any:
        x = self.rng.normal(size=shape)
        return (x @ np.swapaxes(x, -1, -2) + shape[-1] * np.eye(shape[-1])).astype(dtype)

    def results(self, kernel: Kernel, values: Sequence[Any]) -> list[Any]:
        """Return all results of a kernel, nearly the same on both kinds of devices."""
        first, second = (Bridge(self.context, card=card).run(kernel, values) for card in (False, True))
        for one, other in zip(first, second, strict=True):
            np.testing.assert_allclose(one, other, rtol=TOLERANCES[one.dtype.name])
        return first


@needs_opencl
class TestEquations(MatrixCase):
    def test_cholesky(self) -> None:
        for dtype, name in (("float32", "cusolverDnSpotrf"), ("float64", "cusolverDnDpotrf")):
            for lower in (True, False):
                x = self.definite(2, 270, 270, dtype=dtype)
                fake.fake_reset()
                result = self.run_form(CholeskyKernel(dtype, lower, False), [x])
                expected = np.linalg.cholesky(x)
                np.testing.assert_allclose(result, expected if lower else np.swapaxes(expected, 1, 2), atol=1e-3)
                self.assertEqual(calls(name), 4)

    def test_what_is_not_definite(self) -> None:
        x = self.definite(2, 70, 70)
        x[1, 60, 60] = -1
        for operands in (x, x[1]):
            with self.assertRaisesRegex(np.linalg.LinAlgError, "cholesky: Matrix is not positive definite"):
                self.run_form(CholeskyKernel("float64", True, False), [operands])
        with self.assertRaisesRegex(np.linalg.LinAlgError, "cholesky: Matrix is not positive definite"):
            self.run_form(CholeskyKernel("float64", True, False), [x])
        result = self.run_form(CholeskyKernel("float64", True, True), [x])
        np.testing.assert_allclose(result[0], np.linalg.cholesky(x[0]))
        self.assertTrue(np.isnan(result[1]).all())

    def test_equations(self) -> None:
        for dtype, letter, tolerance in (("float32", "S", 1e-2), ("float64", "D", 1e-9)):
            x = (self.rng.normal(size=(70, 70)) + 5 * np.eye(70)).astype(dtype)
            for b in (self.rng.normal(size=70), self.rng.normal(size=(70, 3))):
                fake.fake_reset()
                result = self.run_form(SolveKernel(dtype, "general", False), [x, b.astype(dtype)])
                np.testing.assert_allclose(result, np.linalg.solve(x, b), atol=tolerance)
                self.assertEqual([calls(f"cusolverDn{letter}{name}") for name in ("getrf", "getrs")], [2, 2])

    def test_symmetric_matrices_stacks_and_inverses(self) -> None:
        x = self.definite(3, 260, 260) - 300 * np.eye(260)
        b = self.rng.normal(size=(3, 260, 2))
        result = self.run_form(SolveKernel("float64", "symmetric", False), [np.triu(x), b])
        np.testing.assert_allclose(result, np.linalg.solve(x, b), atol=1e-9)
        result = self.run_form(InverseKernel("float64"), [x])
        np.testing.assert_allclose(result, np.linalg.inv(x), atol=1e-9)
        self.assertEqual(calls("cusolverDnDgetrf"), 12)

    def test_singular(self) -> None:
        x = self.definite(70, 70)
        x[:, 65] = 0
        for kernel, values, name in (
            (SolveKernel("float64", "general", False), [x, np.ones(70)], "solve"),
            (InverseKernel("float64"), [x], "matrix_inverse"),
        ):
            with self.assertRaisesRegex(np.linalg.LinAlgError, f"{name}: Singular matrix"):
                self.run_form(kernel, values)

    def test_small_ones_are_left_to_kernels(self) -> None:
        for shape in ((40, 40), (20, 32, 32)):
            x = self.definite(*shape)
            np.testing.assert_allclose(self.run_form(InverseKernel("float64"), [x]), np.linalg.inv(x), atol=1e-9)
        self.assertEqual((calls("cusolverDnDgetrf"), calls("cublasDgetrfBatched")), (0, 0))

    def test_each_call_may_fail(self) -> None:
        x = self.definite(70, 70)
        for name, kernel in (
            ("cusolverDnCreate", InverseKernel("float64")),
            ("cusolverDnDgetrf_bufferSize", InverseKernel("float64")),
            ("cusolverDnDpotrf_bufferSize", CholeskyKernel("float64", True, False)),
        ):
            with self.subTest(name):
                self.context = driver.open(0)
                fake.fake_fail(name.encode(), 5, 0)
                result = Bridge(self.context).run(kernel, [x])[0]
                expected = np.linalg.inv(x) if isinstance(kernel, InverseKernel) else np.linalg.cholesky(x)
                np.testing.assert_allclose(result, expected, atol=1e-9)
        for name, kernel, text in (
            ("cusolverDnSetStream", InverseKernel("float64"), "getrf of cuSOLVER failed with status 5"),
            ("cusolverDnDgetrf", InverseKernel("float64"), "getrf of cuSOLVER failed with status 5"),
            ("cusolverDnDgetrs", InverseKernel("float64"), "getrs of cuSOLVER failed with status 5"),
            ("cusolverDnDpotrf", CholeskyKernel("float64", True, False), "potrf of cuSOLVER failed with status 5"),
        ):
            fake.fake_fail(name.encode(), 5, 0)
            with self.subTest(name), self.assertRaisesRegex(DeviceError, text):
                Bridge(self.context).run(kernel, [x])

    def test_many_at_once(self) -> None:
        for dtype, letter in (("float32", "S"), ("float64", "D")):
            x, b = self.definite(3, 40, 40, dtype=dtype), self.rng.normal(size=(3, 40, 2)).astype(dtype)
            fake.fake_reset()
            tolerance = TOLERANCES[dtype]
            result = self.run_form(CholeskyKernel(dtype, True, False), [x])
            np.testing.assert_allclose(result, np.linalg.cholesky(x), rtol=tolerance, atol=tolerance)
            result = self.run_form(SolveKernel(dtype, "general", False), [x, b])
            np.testing.assert_allclose(result, np.linalg.solve(x, b), rtol=tolerance, atol=tolerance)
            (result,) = self.results(DeterminantKernel(dtype, False), [x / 40])
            np.testing.assert_allclose(result, np.linalg.det(x / 40), rtol=10 * tolerance)
            names = f"cusolverDn{letter}potrfBatched", f"cublas{letter}getrfBatched", f"cublas{letter}getrsBatched"
            self.assertEqual([calls(name) for name in names], [2, 4, 2])

    def test_singular_ones_among_many(self) -> None:
        x = self.definite(3, 40, 40)
        x[1, :, 30] = 0
        with self.assertRaisesRegex(np.linalg.LinAlgError, "matrix_inverse: Singular matrix"):
            self.run_form(InverseKernel("float64"), [x])
        sign, size = self.results(DeterminantKernel("float64", True), [x])
        np.testing.assert_array_equal((sign[1], size[1]), (0, -np.inf))

    def test_lists_with_addresses_are_captured(self) -> None:
        n = 4
        steps = [("call", "getrf_stack", "float64", (n, 2), (0, 0, 16), (1, 0, 32), (2, 0, 8), (3, 0, 256))] * 3
        chain = LaunchList(self.context, steps, 4)
        buffers = [self.context.allocate(size) for size in (16, 32, 8, 256)]
        for _ in range(4):
            buffers[0].write(0, np.array([buffers[3].address, buffers[3].address + 128], np.uint64))
            buffers[3].write(0, np.stack([np.eye(n)] * 2))
            chain.run(buffers)
        info = np.ones(2, np.int32)
        buffers[2].read(0, info)
        np.testing.assert_array_equal(info, 0)
        self.assertGreater(calls("cuGraphLaunch"), 0)


@needs_opencl
class TestTriangles(MatrixCase):
    structures: tuple[tuple[Structure, Callable[[Any], Any]], ...] = (
        ("lower_triangular", np.tril),
        ("upper_triangular", np.triu),
    )

    def test_equations(self) -> None:
        for dtype, letter in (("float32", "S"), ("float64", "D")):
            for shape, name in (((70, 70), "trsm_v2"), ((2, 40, 40), "trsmBatched")):
                x, b = self.definite(*shape, dtype=dtype), self.rng.normal(size=(*shape[:-1], 5)).astype(dtype)
                for structure, part in self.structures:
                    fake.fake_reset()
                    result = self.run_form(SolveKernel(dtype, structure, False), [x, b])
                    np.testing.assert_allclose(result, np.linalg.solve(part(x), b), atol=TOLERANCES[dtype])
                    self.assertEqual(calls(f"cublas{letter}{name}"), 2)

    def test_each_layout(self) -> None:
        x = self.definite(64, 64)
        for structure, part in self.structures:
            for order in ("C", "F"):
                for b in (self.rng.normal(size=64), self.rng.normal(size=(64, 3))):
                    bridge = Bridge(self.context)
                    kernel = SolveKernel("float64", structure, False)
                    operands = [bridge.placed(np.asarray(x, order=order)), bridge.placed(b)]
                    (result,) = bridge.results(kernel, operands)
                    np.testing.assert_allclose(result, np.linalg.solve(part(x), b), atol=1e-12)
        self.assertEqual(calls("cublasDtrsm_v2"), 8)

    def test_zeros_on_the_diagonal(self) -> None:
        for shape in ((70, 70), (2, 40, 40)):
            x = self.definite(*shape)
            x[..., 33, 33] = 0
            with self.assertRaisesRegex(np.linalg.LinAlgError, "solve: Singular matrix"):
                self.run_form(SolveKernel("float64", "lower_triangular", False), [x, np.ones(shape)])

    def test_gradients_of_factors(self) -> None:
        for shape in ((64, 64), (2, 40, 40)):
            x, g = self.definite(*shape), self.rng.normal(size=shape)
            factor = np.linalg.cholesky(x)
            for lower in (True, False):
                kernel, operands = CholeskyGradKernel("float64", lower), [x, factor, g]
                operands = operands if lower else [np.swapaxes(v, -1, -2) for v in operands]
                result = self.run_form(kernel, operands)
                expected = self.without_libraries(kernel, operands)
                np.testing.assert_allclose(result, expected, atol=1e-10)
        self.assertEqual((calls("cublasDtrsm_v2"), calls("cublasDtrsmBatched")), (8, 8))

    def without_libraries(self, kernel: Kernel, values: Sequence[Any]) -> Any:
        bare = _runtime.open_driver("null", {}).open(0)
        return Bridge(bare).run(kernel, values)[0]

    def test_each_call_may_fail(self) -> None:
        x = self.definite(70, 70)
        kernel = SolveKernel("float64", "lower_triangular", False)
        for name in ("cublasSetStream_v2", "cublasSetWorkspace_v2", "cublasDtrsm_v2"):
            fake.fake_fail(name.encode(), 13, 0)
            with self.subTest(name), self.assertRaisesRegex(DeviceError, "trsm of cuBLAS failed with status 13"):
                Bridge(self.context).run(kernel, [x, x])
        self.context = driver.open(0)
        fake.fake_fail(b"cublasCreate_v2", 1, 0)
        result = Bridge(self.context).run(kernel, [x, x])[0]
        np.testing.assert_allclose(result, np.linalg.solve(np.tril(x), x), atol=1e-12)


@needs_opencl
class TestDeterminants(MatrixCase):
    def test_values(self) -> None:
        for dtype, tolerance in TOLERANCES.items():
            for shape in ((70, 70), (2, 300, 300), (40, 40), (2, 3, 5, 5), (3, 20, 20)):
                x = (self.rng.normal(size=shape) * 1.6 / shape[-1] ** 0.5).astype(dtype)
                expected = np.linalg.slogdet(x.astype("float64"))
                sign, size = self.results(DeterminantKernel(dtype, True), [x])
                np.testing.assert_array_equal(sign, expected[0])
                np.testing.assert_allclose(size, expected[1], rtol=20 * tolerance, atol=20 * tolerance)
                (result,) = self.results(DeterminantKernel(dtype, False), [x])
                np.testing.assert_allclose(result, np.linalg.det(x.astype("float64")), rtol=50 * tolerance)
        self.assertEqual((calls("cusolverDnDgetrf"), calls("cusolverDnSgetrf")), (12, 12))


@needs_opencl
class TestOrthogonalFactors(MatrixCase):
    shapes = ((5, 5), (7, 3), (3, 7), (2, 6, 4), (2, 2, 3, 5), (1, 1))
    empty = ((0, 3), (3, 0), (0, 2, 2), (2, 0, 3))

    def test_factors(self) -> None:
        for dtype, tolerance in TOLERANCES.items():
            for shape in (*self.shapes, *self.empty):
                x = self.rng.normal(size=shape).astype(dtype)
                for mode in ("reduced", "complete"):
                    q, r = self.results(OrthogonalKernel(dtype, mode), [x])
                    expected = np.linalg.qr(x, mode)
                    for item, like in zip((q, r), expected, strict=True):
                        self.assertEqual((item.shape, item.dtype), (like.shape, like.dtype))
                    np.testing.assert_allclose(q @ r, x, atol=tolerance)
                    unit = np.broadcast_to(np.eye(q.shape[-1]), (*shape[:-2], *(q.shape[-1],) * 2))
                    np.testing.assert_allclose(np.swapaxes(q, -1, -2) @ q, unit, atol=tolerance)
                    np.testing.assert_array_equal(r, np.triu(r))
                (alone,) = self.results(OrthogonalKernel(dtype, "r"), [x])
                np.testing.assert_array_equal(alone, self.results(OrthogonalKernel(dtype, "reduced"), [x])[1])

    def test_as_lapack_has_them(self) -> None:
        for shape in self.shapes:
            x = self.rng.normal(size=shape)
            if len(shape) > 2:
                x = x.reshape(-1, *shape[-2:])[0]
            for item, expected in zip(
                self.results(OrthogonalKernel("float64", "raw"), [x]), np.linalg.qr(x, "raw"), strict=True
            ):
                np.testing.assert_allclose(item, expected, atol=1e-12)

    def test_each_call_may_fail(self) -> None:
        x = self.rng.normal(size=(4, 3))
        for name in ("geqrf", "orgqr"):
            fake.fake_fail(f"cusolverDnD{name}".encode(), 6, 0)
            with self.assertRaisesRegex(DeviceError, f"{name} of cuSOLVER failed with status 6"):
                Bridge(self.context).run(OrthogonalKernel("float64", "reduced"), [x])
            fake.fake_fail(f"cusolverDnD{name}_bufferSize".encode(), 6, 0)
            with self.assertRaisesRegex(NoDeviceForm, f"{name} of cuSOLVER does not take float64 matrices with"):
                Bridge(self.context).run(OrthogonalKernel("float64", "reduced"), [x])


@needs_opencl
class TestEigenvalues(MatrixCase):
    def test_values_and_vectors(self) -> None:
        for dtype, tolerance in TOLERANCES.items():
            for shape in ((5, 5), (1, 1), (40, 40), (3, 6, 6), (2, 2, 3, 3), (2, 33, 33), (0, 0), (0, 2, 2)):
                x = self.rng.normal(size=shape).astype(dtype)
                for lower, part in ((True, np.tril), (False, np.triu)):
                    half = part(x, -1 if lower else 1)
                    full = part(x) + np.swapaxes(half, -1, -2)
                    values, vectors = self.results(EigenKernel(dtype, lower), [x])
                    np.testing.assert_allclose(values, np.linalg.eigvalsh(full), atol=50 * tolerance)
                    result = vectors * values[..., None, :] @ np.swapaxes(vectors, -1, -2)
                    np.testing.assert_allclose(result, full, atol=50 * tolerance)
        self.assertEqual((calls("cusolverDnDsyevd"), calls("cusolverDnSsyevd")), (20, 20))
        self.assertEqual((calls("cusolverDnSsyevjBatched"), calls("cusolverDnCreateSyevjInfo")), (8, 1))

    def test_settings_are_let_go(self) -> None:
        before = fake.fake_settings()
        self.results(EigenKernel("float64", True), [np.stack([np.eye(2)] * 2)])
        self.results(SingularValuesKernel("float64", True, True), [np.stack([np.eye(2)] * 2)])
        self.assertEqual(fake.fake_settings(), before + 2)
        self.context = driver.open(1)
        self.assertEqual(fake.fake_settings(), before)

    def test_what_is_refused(self) -> None:
        for values in (np.full((3, 3), np.nan), np.full((2, 3, 3), np.nan)):
            with self.assertRaisesRegex(np.linalg.LinAlgError, "eigh: Eigenvalues did not converge"):
                self.run_form(EigenKernel("float64", True), [values])
        with self.assertRaisesRegex(np.linalg.LinAlgError, "eigh: the matrix is 2 by 3, not square"):
            self.run_form(EigenKernel("float64", True), [np.ones((2, 3))])


@needs_opencl
class TestSingularValues(MatrixCase):
    shapes = ((5, 5), (7, 3), (3, 7), (1, 1), (40, 35), (3, 6, 4), (3, 4, 6), (2, 2, 3, 3), (2, 40, 3))
    empty = ((0, 3), (3, 0), (0, 2, 3), (2, 0, 3))

    def test_values_and_vectors(self) -> None:
        for dtype, tolerance in TOLERANCES.items():
            for shape in (*self.shapes, *self.empty):
                x = self.rng.normal(size=shape).astype(dtype)
                expected = np.linalg.svd(x, compute_uv=False)
                (alone,) = self.results(SingularValuesKernel(dtype, False, True), [x])
                np.testing.assert_allclose(alone, expected, atol=20 * tolerance)
                for full in (True, False):
                    u, s, vt = self.results(SingularValuesKernel(dtype, True, full), [x])
                    for item, like in zip((u, s, vt), np.linalg.svd(x, full), strict=True):
                        self.assertEqual((item.shape, item.dtype), (like.shape, like.dtype))
                    k = s.shape[-1]
                    np.testing.assert_allclose(s, expected, atol=20 * tolerance)
                    np.testing.assert_allclose(u[..., :k] * s[..., None, :] @ vt[..., :k, :], x, atol=20 * tolerance)
                    for v in (np.swapaxes(u, -1, -2), vt):
                        unit = np.broadcast_to(np.eye(v.shape[-2]), (*shape[:-2], *(v.shape[-2],) * 2))
                        np.testing.assert_allclose(v @ np.swapaxes(v, -1, -2), unit, atol=20 * tolerance)
        self.assertGreater(calls("cusolverDnDgesvdjBatched"), 0)
        self.assertGreater(calls("cusolverDnDgesvd"), 0)

    def test_what_does_not_converge(self) -> None:
        for values in (np.full((3, 3), np.nan), np.full((2, 3, 3), np.nan)):
            with self.assertRaisesRegex(np.linalg.LinAlgError, "svd: SVD did not converge"):
                self.run_form(SingularValuesKernel("float64", True, True), [values])

    def test_lists_with_them_are_not_captured(self) -> None:
        numbers = (3, 2, 2)
        size = self.context.workspace("gesvd", "float64", numbers)
        assert size is not None, "the stand-in has singular values"
        places = ((0, 0, 48), (1, 0, 16), (2, 0, 72), (3, 0, 32), (4, 0, size), (5, 0, 4))
        steps = [("fill", 1, 0, 16, 0), ("fill", 2, 0, 72, 0), ("call", "gesvd", "float64", numbers, *places)]
        chain = LaunchList(self.context, steps, 6)
        buffers = [self.context.allocate(n) for n in (48, 16, 72, 32, size, 4)]
        x = self.rng.normal(size=(2, 3))
        for _ in range(5):
            buffers[0].write(0, x)
            chain.run(buffers)
            result = np.zeros(2)
            buffers[1].read(0, result)
            np.testing.assert_allclose(result, np.linalg.svd(x, compute_uv=False))
        self.assertEqual((calls("cuGraphLaunch"), calls("cuStreamBeginCapture_v2")), (0, 0))


class TestWhereThereIsNone(Case):
    def test_other_lengths(self) -> None:
        for name, numbers in (
            ("gesvd", (2, 3, 1)),
            ("gesvdj", (33, 3, 1, 2)),
            ("syevd", (0, 1)),
            ("orgqr", (3, 0, 1)),
            ("trsm", (1, 1, 0, 2**31, 1, 1, 1)),
        ):
            self.assertIsNone(self.context.workspace(name, "float64", numbers))
        self.assertIsNone(self.context.workspace("trsm", "float16", (1, 1, 0, 3, 1, 3, 3)))
        memory = self.context.allocate(64)
        with self.assertRaisesRegex(DeviceError, "cuBLAS has no trsm"):
            self.context.call("trsm", "float16", (1, 1, 0, 3, 1, 3, 3), *((memory, 0, 64),) * 2)

    def test_settings_may_fail(self) -> None:
        for name, call, numbers in (("Syevj", "syevj", (3, 1, 2)), ("Gesvdj", "gesvdj", (3, 3, 1, 2))):
            fake.fake_fail(f"cusolverDnCreate{name}Info".encode(), 2, 0)
            context = driver.open(0)
            self.assertIsNone(context.workspace(call, "float64", numbers))
            self.assertIsNotNone(context.workspace(call, "float64", numbers))

    def test_wrong_arguments_of_a_stack(self) -> None:
        memory = self.context.allocate(64)
        with self.assertRaisesRegex(DeviceError, "there is no operation getrf_stack with 2 numbers and 2 arrays"):
            self.context.call("getrf_stack", "float64", (2, 2), *((memory, 0, 64),) * 2)
