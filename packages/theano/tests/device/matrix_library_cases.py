"""Linear algebra of functions by cuSOLVER: run by `test_cuda_libraries` in a process of its own, on a stand-in."""

from __future__ import annotations

import ctypes
import os
import unittest
from collections.abc import Callable
from typing import Any

import numpy as np

import theano
import theano.gpuarray
import theano.tensor as T
from theano.tensor import nlinalg
from theano_gpuarray.contexts import open_context, reg_context
from theano_graph import Variable

assert theano.gpuarray  # its import makes functions use devices
NAME = "stand_in"
FAKE = os.environ["THEANO_TEST_FAKE"]
fake = ctypes.CDLL(FAKE)
fake.fake_log.restype = ctypes.c_char_p
reg_context(NAME, open_context("cuda0"))


def between_vectors(x: Any) -> Any:
    u, _, vt = nlinalg.svd(x, full_matrices=False)
    return u @ vt


def projected(x: Any) -> Any:
    q, r = nlinalg.qr(x)
    return q @ r[:, :2]


class TestFunctions(unittest.TestCase):
    def setUp(self) -> None:
        x = np.random.default_rng(1).normal(size=(4, 4))
        self.x = x + x.T + np.diag([1.0, 3.0, 6.0, 10.0])

    def check(self, make: Callable[[Any], Any], *routines: str) -> None:
        """Compare values and gradients with those of the host; the library has computed both."""

        def gradient(x: Any) -> Any:
            return T.grad((make(x) ** 2).sum(), x)

        makers: tuple[Callable[[Any], Any], ...] = (make, gradient)
        x = theano.shared(self.x)
        for changed, expected in zip(makers, theano.function([], [m(x) for m in makers])(), strict=True):
            fake.fake_reset()
            operand: Variable = theano.shared(self.x, target=NAME)
            compiled = theano.function([], changed(operand).transfer(NAME))
            for _ in range(4):
                np.testing.assert_allclose(np.asarray(compiled()), expected, atol=1e-8)
            log = fake.fake_log().decode().split()
            self.assertTrue(any(f"cusolverDnD{name}" in log for name in routines), routines)

    def test_singular_values(self) -> None:
        self.check(lambda x: nlinalg.svd(x, compute_uv=False), "gesvd")
        self.check(between_vectors, "gesvd")

    def test_orthogonal_factors(self) -> None:
        self.check(projected, "geqrf")

    def test_eigenvalues(self) -> None:
        self.check(lambda x: nlinalg.eigh(x)[0], "syevd")
        self.check(lambda x: nlinalg.eigh(x)[1] ** 2, "syevd")


if __name__ == "__main__":
    unittest.main()
