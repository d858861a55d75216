"""Ops that only devices have kernels of: sorting, and half precision."""

from __future__ import annotations

from typing import Any

import numpy as np

import theano_tensor as T
from theano_gpuarray.types import DeviceOp, TransferOp
from theano_linker_c import function, shared
from theano_tensor.nnet.convolution import conv2d
from theano_tensor.shape import ShapeI
from theano_tensor.signal.pool import pool_2d

from .contexts import NAME
from .test_device_variables import DeviceTestCase


class TestKernels(DeviceTestCase):
    def check(self, make: Any, *values: Any, tolerance: float = 0.0) -> None:
        """Compare an expression of shared variables on the device with that of arguments on the host."""
        theirs, mine = [shared(v, target=NAME) for v in values], [T.constant(v) for v in values]
        f = function([], make(*theirs))
        allowed = (DeviceOp, TransferOp, ShapeI)
        self.assertEqual([n.op for n in f.maker.fgraph.toposort() if not isinstance(n.op, allowed)], [])
        self.assertValues(f(), function([], make(*mine))(), rtol=tolerance or 1e-5, atol=tolerance)


class TestSorting(TestKernels):
    def setUp(self) -> None:
        super().setUp()
        self.x = np.random.default_rng(0).integers(0, 9, (4, 7)).astype("float32")

    def test_sort(self) -> None:
        self.check(lambda x: T.sort(x, axis=0), self.x)
        self.check(lambda x: T.sort(x.T[::-1]), self.x)

    def test_argsort(self) -> None:
        self.check(lambda x: T.argsort(x, kind="stable"), self.x)

    def test_top_k(self) -> None:
        self.check(lambda x: T.topk(x, 3), self.x)
        self.check(lambda x: T.topk(x, -2, axis=0), self.x)


class TestHalfPrecision(TestKernels):
    def values(self, *shapes: tuple[int, ...]) -> list[Any]:
        rng = np.random.default_rng(0)
        return [rng.normal(size=shape).astype("float16") for shape in shapes]

    def test_products(self) -> None:
        self.check(T.dot, *self.values((3, 4), (4, 5)), tolerance=1e-2)
        self.check(T.dot, *self.values((3, 4), (4,)), tolerance=1e-2)
        self.check(T.batched_dot, *self.values((2, 3, 4), (2, 4, 5)), tolerance=1e-2)

    def test_increments(self) -> None:
        self.check(lambda x, y: T.inc_subtensor(x[1:], y), *self.values((3, 4), (2, 4)), tolerance=1e-2)
        rows = np.array([2, 0, 2])
        self.check(lambda x, y: T.inc_subtensor(x[T.constant(rows)], y), *self.values((3, 4), (3, 4)), tolerance=1e-2)

    def test_windows(self) -> None:
        self.check(lambda x, w: conv2d(x, w), *self.values((2, 3, 6, 6), (4, 3, 3, 3)), tolerance=5e-2)
        self.check(lambda x: pool_2d(x, (2, 2), ignore_border=True), *self.values((2, 3, 6, 6)))
