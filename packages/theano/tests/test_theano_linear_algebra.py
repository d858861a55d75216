"""Linear algebra and transforms at their documented places, with the documented uses."""

from __future__ import annotations

import importlib
from unittest import TestCase

import numpy as np

import theano
import theano.tensor as T
from theano.sandbox.linalg import ops
from theano.tensor import fft, nlinalg, slinalg


class TestLinearAlgebra(TestCase):
    def test_sandbox_names_are_those_of_the_library(self) -> None:
        package = importlib.import_module("theano.sandbox.linalg")
        for name in package.__all__:
            home = next(m for m in (ops, nlinalg, slinalg) if hasattr(m, name))
            self.assertIs(getattr(package, name), getattr(home, name))

    def test_documented_instances(self) -> None:
        self.assertEqual(slinalg.solve_symmetric, slinalg.Solve("symmetric", False, False, False))
        self.assertEqual(slinalg.cholesky, slinalg.Cholesky(lower=True, on_error="raise"))
        self.assertEqual(nlinalg.matrix_inverse, nlinalg.MatrixInverse())
        self.assertEqual(nlinalg.Eigh(), nlinalg.Eigh(UPLO="L"))

    def test_diagonals(self) -> None:
        v = T.dvector("v")
        matrix = theano.function([v], nlinalg.alloc_diag(v))([1.0, 2.0])
        np.testing.assert_array_equal(matrix, np.diag([1.0, 2.0]))
        np.testing.assert_array_equal(theano.function([v], nlinalg.extract_diag(nlinalg.diag(v)))([3.0, 4.0]), [3, 4])

    def test_transform_of_a_box(self) -> None:
        x = T.matrix("x", dtype="float64")
        transform = theano.function([x], fft.rfft(x, norm="ortho"))
        box = np.zeros((1, 1024))
        box[:, 502:522] = 1
        out = transform(box)
        self.assertEqual(out.shape, (1, 513, 2))
        np.testing.assert_allclose(out[0, :, 0] + 1j * out[0, :, 1], np.fft.rfft(box[0], norm="ortho"), atol=1e-12)

    def test_inverse_becomes_a_solution(self) -> None:
        a, b = T.dmatrix("a"), T.dvector("b")
        call = theano.function([a, b], T.dot(nlinalg.matrix_inverse(a), b))
        self.assertEqual([type(node.op) for node in call.maker.fgraph.toposort()], [slinalg.Solve])
        np.testing.assert_allclose(call([[2.0, 0.0], [0.0, 4.0]], [2.0, 2.0]), [1.0, 0.5])
