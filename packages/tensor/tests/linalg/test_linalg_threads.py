"""Threads of LAPACK and of stacks: the library has its threads back afterwards, after errors too."""

from __future__ import annotations

import ctypes
import os
import threading
import unittest
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
from scipy.linalg import cython_lapack

import theano_tensor as T
from theano_linker_c import Mode, function
from theano_tensor import linalg
from theano_tensor.gradient import grad
from theano_tensor.linalg import cholesky, solve_lower_triangular


def count_of_threads() -> Callable[[], int]:
    """Return a function that counts the threads of the library of LAPACK; always 1 for libraries that do not tell."""
    library = ctypes.CDLL(cython_lapack.__file__)
    for prefix in ("scipy_openblas_", "openblas_"):
        result: Callable[[], int] | None = getattr(library, f"{prefix}get_num_threads", None)
        if result is not None:
            return result
    return lambda: 1


class TestThreads(unittest.TestCase):
    def setUp(self) -> None:
        x, y = T.dmatrix("x"), T.dvector("y")
        factor = cholesky(x)
        self.f: Any = function([x, y], [factor, solve_lower_triangular(factor, y)])
        rng = np.random.RandomState(0)
        self.values = {}
        for n in (3, 60, 600):
            a = rng.randn(n, n)
            self.values[n] = (a @ a.T + n * np.eye(n), rng.randn(n))
        self.count = count_of_threads()

    def check(self, n: int) -> None:
        x, y = self.values[n]
        factor, solution = self.f(x, y)
        np.testing.assert_allclose(factor @ factor.T, x, rtol=1e-9, atol=1e-9 * n)
        np.testing.assert_allclose(factor @ solution, y, rtol=1e-7, atol=1e-9)

    def test_the_library_has_its_threads_back(self) -> None:
        before = self.count()
        for n in self.values:
            self.check(n)
            self.assertEqual(self.count(), before)
        with self.assertRaises(np.linalg.LinAlgError):
            self.f(-self.values[60][0], self.values[60][1])
        self.assertEqual(self.count(), before)

    def test_several_threads_at_once(self) -> None:
        before, errors = self.count(), list[BaseException]()

        def work(n: int) -> None:
            try:
                for _ in range(20):
                    self.check(n)
            except BaseException as error:  # noqa: BLE001  # told by the main thread
                errors.append(error)

        threads = [threading.Thread(target=work, args=(n,)) for n in (3, 60, 60, 60)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])
        self.assertEqual(self.count(), before)

    def test_children(self) -> None:
        self.check(60)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                self.check(60)
                status = 0
            finally:
                os._exit(status)
        self.assertEqual(os.waitpid(child, 0)[1], 0)


class TestStacks(unittest.TestCase):
    """Stacks that are large enough for threads to share them, in any layout."""

    def check(self, name: str, expected: Any, *values: Any) -> None:
        variables = [T.TensorType(v.dtype, (None,) * v.ndim)() for v in values]
        outputs = getattr(linalg, name)(*variables)
        several = isinstance(outputs, (list, tuple))
        f: Any = function(variables, outputs if several else [outputs])
        tolerance = 1e-9 if values[0].dtype == "float64" else 1e-2
        turned = [v.swapaxes(-1, -2).copy().swapaxes(-1, -2) for v in values]
        for arrays, step in ((values, 1), (turned, 1), ([v[::-1] for v in values], -1)):
            for result, value in zip(f(*arrays), expected if several else [expected], strict=True):
                # Another version of LAPACK may turn vectors around.
                sizes = np.abs if name in ("eigh", "svd", "qr") else np.asarray
                np.testing.assert_allclose(sizes(result), sizes(value[::step]), rtol=tolerance, atol=tolerance)

    def test_values(self) -> None:
        rng = np.random.default_rng(0)
        for dtype in ("float64", "float32"):
            for shape in ((700, 8, 8), (3, 40, 12, 12), (2, 150, 150)):
                x = rng.normal(size=shape).astype(dtype) + np.eye(shape[-1], dtype=dtype) * shape[-1]
                definite = x @ x.swapaxes(-1, -2) / shape[-1]
                y = rng.normal(size=(*shape[:-1], 3)).astype(dtype)
                with self.subTest(dtype=dtype, shape=shape):
                    self.check("cholesky", np.linalg.cholesky(definite), definite)
                    self.check("matrix_inverse", np.linalg.inv(x), x)
                    self.check("solve", np.linalg.solve(x, y), x, y)
                    self.check("slogdet", np.linalg.slogdet(x), x)
                    self.check("qr", np.linalg.qr(y), y)
                if shape[-1] < 20:
                    self.check("det", np.linalg.det(x / shape[-1]), x / shape[-1])
                    self.check("svd", np.linalg.svd(y), y)
                    self.check("eigh", np.linalg.eigh(definite), definite)

    def test_gradients_of_eigenvalues(self) -> None:
        rng, modes = np.random.default_rng(1), (None, Mode(linker="py", optimizer=None))
        for shape in ((500, 8, 8), (3, 2, 20, 20), (30, 1, 1)):
            x, g = (T.TensorType("float64", (None,) * len(shape))() for _ in "xg")
            values = rng.normal(size=shape), rng.normal(size=shape)
            values[0][1] = np.eye(shape[-1]) * 2
            for part in ("L", "U"):
                w, v = linalg.Eigh(part)(x)
                # Of equal eigenvalues the gradient exists where the function does not tell their vectors apart.
                slope = linalg.EighGrad(part)(x, w, v, w * w, v * (w * g[..., 0])[..., None, :] * (g > 0))
                result, expected = (function([x, g], slope, mode=mode)(*values) for mode in modes)
                finite = np.isfinite(expected)
                np.testing.assert_array_equal(np.isfinite(result), finite)
                np.testing.assert_allclose(result[finite], expected[finite], rtol=1e-6, atol=1e-9)

    def test_matrices_without_a_form(self) -> None:
        rng = np.random.default_rng(2)
        a = rng.normal(size=(3, 2, 4, 4))
        definite, x, y = a @ a.swapaxes(-1, -2) + np.eye(4), T.dtensor4(), T.dtensor4()
        few = definite.copy()
        few[1, 1, 0, 0] = few[2, 0, 0, 0] = -1
        factors = function([x], linalg.Cholesky(on_error="nan")(x), mode=Mode(linker="py"))(few)
        np.testing.assert_array_equal(np.isnan(factors).all((-2, -1)), [[False, False], [False, True], [True, False]])
        np.testing.assert_allclose(factors[0], np.linalg.cholesky(definite[0]))
        w = linalg.Eigvalsh()(x, y)
        values, slope = function([x, y], [w, grad(w.sum(), x)])(a, definite)
        np.testing.assert_allclose(values[2, 1], scipy.linalg.eigh(a[2, 1], definite[2, 1], eigvals_only=True))
        # The sum of the eigenvalues is the trace of the product with an inverse.
        inverse = np.linalg.inv(definite)
        np.testing.assert_allclose(slope, np.tril(inverse * (2 - np.eye(4))), rtol=1e-6)
        e = linalg.expm(x)
        powers, slope = function([x, y], [e, grad((e * y).sum(), x)])(a * 9, definite)
        for k in ((0, 0), (2, 1)):
            np.testing.assert_allclose(powers[k], scipy.linalg.expm(9 * a[k]), rtol=1e-8)
            change = scipy.linalg.expm_frechet(9 * a[k].T, definite[k], compute_expm=False)
            np.testing.assert_allclose(slope[k], change, rtol=1e-8)
        z, b = T.ztensor4(), T.ztensor4()
        for part, triangle in (("lower", np.tril), ("upper", np.triu)):
            solution = function([z, b], linalg.Solve(f"{part}_triangular")(z, b))(definite + 1j * a, a + 0j)
            np.testing.assert_allclose(triangle(definite + 1j * a) @ solution, a, atol=1e-9)

    def test_one_that_fails(self) -> None:
        x, stack = T.dtensor3(), np.stack([np.eye(8)] * 2000)
        f: Any = function([x], cholesky(x))
        np.testing.assert_array_equal(f(stack), stack)
        stack[1234] *= -1
        with self.assertRaises(np.linalg.LinAlgError):
            f(stack)

    def test_lengths(self) -> None:
        x, y = T.dtensor3(), T.dtensor3()
        f: Any = function([x, y], linalg.solve(x, y))
        eyes, ones = np.stack([np.eye(3)] * 4), np.ones((4, 3, 2))
        np.testing.assert_array_equal(f(eyes[:0], ones[:0]), ones[:0])
        for a, b in ((eyes, ones[:3]), (eyes[:, :2], ones), (eyes, ones[:, :2])):
            with self.assertRaises(ValueError):
                f(a, b)
