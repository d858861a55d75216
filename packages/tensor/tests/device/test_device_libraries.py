"""Fourier transforms, linear algebra and losses of sequences in functions: where they run, values, errors."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np

import theano_tensor as T
from theano_gpuarray.codegen import NoDeviceForm
from theano_gpuarray.types import DeviceOp, GpuFromHost, host_from_gpu
from theano_linker_c import function, shared
from theano_tensor.fourier import InverseRealFourier, RealFourier, irfft, rfft
from theano_tensor.linalg import (
    SVD,
    Cholesky,
    CholeskyGrad,
    Det,
    Eigh,
    MatrixInverse,
    QRFull,
    QRIncomplete,
    SLogDet,
    Solve,
    cholesky,
    det,
    eigh,
    matrix_inverse,
    qr,
    slogdet,
    solve,
    svd,
)
from theano_tensor.nnet.ctc import ConnectionistTemporalClassification, ctc
from theano_testing.gpuarray import needs_opencl
from theano_testing.tiers import slow

from .contexts import NAME, computes
from .test_device_variables import DeviceTestCase


class LibraryTestCase(DeviceTestCase):
    def check(self, make: Callable[[Any], Any], value: Any, *expected: type[Any], **options: Any) -> None:
        """Compare an expression of a device variable with that of a host variable; some ops run on the device."""
        for changed in (make, lambda x: T.grad((make(x) ** 2).sum(), x)):
            on_host = shared(value)
            operand = shared(value, target=NAME)
            compiled = function([], changed(operand).transfer(NAME))
            ops = [node.op for node in compiled.maker.fgraph.apply_nodes]
            self.assertValues(compiled(), function([], changed(on_host))(), **options)
            arrays = [
                node
                for node in compiled.maker.fgraph.apply_nodes
                if isinstance(node.op, GpuFromHost) and node.inputs[0].type.ndim > 0
            ]
            self.assertEqual(arrays, [], "nothing that is computed on the host goes to the device")
            results = {type(op.host_op) for op in ops if isinstance(op, DeviceOp)}
            self.assertTrue(results & set(expected), (results, expected))


def there_and_back(x: Any, norm: str | None) -> Any:
    return irfft(rfft(x, norm), norm, is_odd=bool(x.get_value().shape[-1] % 2))


@needs_opencl
class TestTransforms(LibraryTestCase):
    @slow
    def test_values_and_gradients(self) -> None:
        for shape, norm in (((2, 6), None), ((2, 3, 5), "ortho"), ((1, 2, 3, 4), "no_norm")):
            x = np.random.default_rng(1).normal(size=shape).astype("float32")
            self.check(partial(rfft, norm=norm), x, RealFourier, InverseRealFourier, atol=1e-4)
            self.check(partial(there_and_back, norm=norm), x, RealFourier, InverseRealFourier, atol=1e-3)
        pairs = np.random.default_rng(1).normal(size=(2, 3, 4, 2)).astype("float32")
        self.check(irfft, pairs, RealFourier, InverseRealFourier, atol=1e-4)

    def test_lengths_that_do_not_fit(self) -> None:
        compiled = function([], rfft(shared(np.zeros((2, 0), "float32"), target=NAME)))
        with self.assertRaisesRegex(ValueError, "rfft: there is nothing to transform"):
            compiled()


def solve_with(x: Any, structure: str) -> Any:
    return Solve(structure)(x, x.T)


class TestEquations(LibraryTestCase):
    def setUp(self) -> None:
        super().setUp()
        x = np.random.default_rng(1).normal(size=(5, 5))
        self.x = x + 5 * np.eye(5)
        self.definite = x @ x.T + np.eye(5)

    @slow
    def test_values_and_gradients(self) -> None:
        self.check(matrix_inverse, self.x, MatrixInverse, atol=1e-12)
        self.check(lambda v: solve(v, v[0]), self.x, Solve, atol=1e-12)
        self.check(lambda v: solve(v, v), np.stack([self.x, self.x.T]), Solve, atol=1e-12)
        for structure in ("symmetric", "lower_triangular", "upper_triangular"):
            self.check(partial(solve_with, structure=structure), self.x, Solve, atol=1e-12)
        for lower in (True, False):
            self.check(Cholesky(lower), self.definite, Cholesky, CholeskyGrad, atol=1e-12)
        self.check(Cholesky(on_error="nan"), self.definite, Cholesky, CholeskyGrad, atol=1e-12)

    def test_matrices_without_a_factor(self) -> None:
        operand = shared(np.stack([self.definite, -self.definite]), target=NAME)
        if computes():
            result = np.asarray(function([], Cholesky(on_error="nan")(operand))())
            np.testing.assert_allclose(result[0], np.linalg.cholesky(self.definite))
            self.assertTrue(np.isnan(result[1]).all())
            with self.assertRaisesRegex(np.linalg.LinAlgError, "not positive definite") as caught:
                function([], cholesky(operand))()
            self.assertIn("test_device_libraries.py", str(caught.exception))

    def test_updates_are_not_stored_where_a_matrix_is_singular(self) -> None:
        operands, other = shared(np.ones((3, 3)), target=NAME), shared(np.zeros(3), target=NAME)
        compiled = function([], matrix_inverse(operands), updates=[(other, other + 1)])
        if computes():
            for _ in range(3):
                with self.assertRaisesRegex(np.linalg.LinAlgError, "Singular matrix"):
                    compiled()
            self.assertValues(other.get_value(), np.zeros(3))


class TestDeterminants(LibraryTestCase):
    @slow
    def test_values_and_gradients(self) -> None:
        for shape in ((5, 5), (2, 4, 4), (40, 40)):
            x = np.random.default_rng(1).normal(size=shape) / shape[-1] ** 0.5 + np.eye(shape[-1])
            self.check(det, x, Det, atol=1e-9)
            self.check(lambda v: slogdet(v)[1], x, SLogDet, atol=1e-9)
            self.check(lambda v: T.log(abs(det(v))), x, SLogDet, Det, atol=1e-9)

    def test_singular_ones(self) -> None:
        x = np.stack([np.ones((3, 3)), np.diag([1.0, -2.0, 3.0])])
        operand = shared(x, target=NAME)
        if computes():
            result = function([], [det(operand), *slogdet(operand)])()
            for value, expected in zip(result, (np.linalg.det(x), *np.linalg.slogdet(x)), strict=True):
                np.testing.assert_allclose(np.asarray(value), expected)


DECOMPOSITIONS: tuple[tuple[Callable[[Any], Any], type[Any]], ...] = (
    (lambda x: svd(x, full_matrices=False)[0] @ svd(x, full_matrices=False)[2], SVD),
    (lambda x: svd(x, compute_uv=False), SVD),
    (lambda x: qr(x)[0] @ qr(x)[1][:, :2], QRFull),
    (lambda x: qr(x, "r"), QRIncomplete),
    (lambda x: eigh(x)[0], Eigh),
    (lambda x: eigh(x)[1] @ eigh(x)[1][0], Eigh),
)


class TestDecompositions(LibraryTestCase):
    def setUp(self) -> None:
        super().setUp()
        x = np.random.default_rng(1).normal(size=(4, 4))
        self.x = x + x.T + np.diag([1.0, 3.0, 6.0, 10.0])

    @slow
    def test_they_stay_on_the_host_without_a_library(self) -> None:
        operand = shared(self.x, target=NAME)
        for make, op in DECOMPOSITIONS:
            for changed in (make, lambda x, make=make: T.grad((make(x) ** 2).sum(), x)):
                compiled = function([], changed(operand))
                nodes = compiled.maker.fgraph.apply_nodes
                self.assertTrue(any(isinstance(node.op, (op, QRFull)) for node in nodes))
                self.assertValues(compiled(), function([], changed(shared(self.x)))(), atol=1e-9)

    def test_they_and_their_gradients_are_on_the_device_with_one(self) -> None:
        operand = shared(self.x, target=NAME)
        with (
            patch("theano_tensor.device._lift.has_library", return_value=True),
            patch("theano_gpuarray.types.has_library", return_value=True),
        ):
            for make, op in DECOMPOSITIONS:
                for changed in (make, lambda x, make=make: T.grad((make(x) ** 2).sum(), x)):
                    fgraph = function([], changed(operand).transfer(NAME)).maker.fgraph
                    results = [node.op.host_op for node in fgraph.apply_nodes if isinstance(node.op, DeviceOp)]
                    self.assertTrue(any(isinstance(host, (op, QRFull)) for host in results), results)
                    moved = [node for node in fgraph.apply_nodes if node.op == host_from_gpu]
                    self.assertEqual(moved, [], "nothing is computed on the host")

    def test_ops_of_a_device_say_what_they_need(self) -> None:
        operand = shared(self.x, target=NAME)
        with self.assertRaisesRegex(NoDeviceForm, "has no library that computes `SVD"):
            DeviceOp(SVD())(operand)


class TestLosses(LibraryTestCase):
    def test_values_and_gradients(self) -> None:
        labels, lengths = np.array([[1, 2], [3, -1]], "int32"), np.array([6, 4], "int32")
        for dtype in ("float32", "float64"):
            x = np.random.default_rng(2).normal(size=(6, 2, 4)).astype(dtype)
            self.check(lambda v: ctc(v, labels, lengths), x, ConnectionistTemporalClassification, rtol=1e-4, atol=1e-6)

    def test_wrong_labels(self) -> None:
        labels, lengths = np.array([[1, 4]], "int32"), np.array([3], "int32")
        compiled = function([], ctc(shared(np.zeros((3, 1, 4)), target=NAME), labels, lengths))
        if computes():
            with self.assertRaisesRegex(ValueError, "labels must be smaller than 4, the number of symbols"):
                compiled()
