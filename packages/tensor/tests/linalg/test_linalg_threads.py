"""Small matrices are factored in one thread; the library has its threads back afterwards, whatever happened."""

from __future__ import annotations

import ctypes
import os
import threading
import unittest
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import cython_lapack

import theano_tensor as T
from theano_linker_c import function
from theano_tensor.linalg import cholesky, solve_lower_triangular


def count_of_threads() -> Callable[[], int]:
    """Return what tells how many threads the library of LAPACK uses; always 1 for libraries that do not tell."""
    library = ctypes.CDLL(cython_lapack.__file__)
    for prefix in ("scipy_openblas_", "openblas_"):
        found: Callable[[], int] | None = getattr(library, f"{prefix}get_num_threads", None)
        if found is not None:
            return found
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
