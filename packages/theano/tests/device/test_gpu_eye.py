"""The two programs `GpuEye` of the manual, as they are written there: C code that launches a kernel."""

from __future__ import annotations

import importlib
import sys
import unittest
from functools import cache
from typing import Any
from unittest import mock

import numpy as np

import theano
from theano import tensor
from theano.gpuarray import pygpu
from theano.gpuarray.type import reg_context
from theano_gpuarray.contexts import DeviceUnavailable, open_context
from theano_testing.tiers import slow

NAME = "programs of C code"
#: The manual's programs import the library by its own name.
PYGPU = {"pygpu": pygpu, "pygpu.gpuarray": pygpu.gpuarray}


@cache
def computes() -> bool:
    """Register a context, and tell whether it computes."""
    try:
        context = open_context("opencl")
    except DeviceUnavailable:
        context = open_context("null0")
    reg_context(NAME, context)
    return context.kind != "null"


def program(name: str) -> Any:
    """Import one of the programs."""
    package = __name__.rpartition(".")[0]
    return importlib.import_module(f"{package}.gpu_eye.{name}" if package else f"gpu_eye.{name}")


class TestEye(unittest.TestCase):
    def setUp(self) -> None:
        computes()
        patch = mock.patch.dict(sys.modules, PYGPU)
        patch.start()
        self.addCleanup(patch.stop)

    def equal(self, result: Any, expected: Any) -> None:
        self.assertEqual((result.shape, result.dtype), (expected.shape, expected.dtype))
        if computes():
            np.testing.assert_array_equal(np.asarray(result), expected)

    @slow
    def test_kernel_in_python(self) -> None:
        eye = program("eye_kernel_base").GpuEye
        n, m, k = tensor.lscalars("n", "m", "k")
        for dtype in ("float64", "float32", "int8"):
            f = theano.function([n, m, k], eye(dtype, NAME)(n, m, k))
            for sizes in ((4, 6, 1), (6, 4, -2), (3, 3, 0), (2, 3, 5), (300, 2, -1)):
                with self.subTest(dtype=dtype, sizes=sizes):
                    self.equal(f(*sizes), np.eye(*sizes, dtype=dtype))

    @slow
    def test_kernel_in_a_file(self) -> None:
        eye = program("eye_c_op").GpuEye
        n, m = tensor.iscalars("n", "m")
        for dtype in ("float64", "float32", "int8"):
            f = theano.function([n, m], eye(dtype, NAME)(n, m))
            for sizes in ((4, 6), (6, 4), (1, 1)):
                with self.subTest(dtype=dtype, sizes=sizes):
                    self.equal(f(*sizes), np.eye(*sizes, dtype=dtype))

    def test_two_in_one_function(self) -> None:
        """Each has its own kernels, and the second transfer is that of the host."""
        eye = program("eye_kernel_base").GpuEye
        n = tensor.lscalar("n")
        both = [eye(dtype, NAME)(n, n + 1, 0) for dtype in ("float64", "float32")]
        for mode in ("FAST_RUN", "FAST_COMPILE"):
            f = theano.function([n], [*both, both[0].transfer("cpu") * 2], mode=mode)
            for item, dtype in zip(f(3), ("float64", "float32"), strict=False):
                self.equal(item, np.eye(3, 4, dtype=dtype))
            if computes():
                np.testing.assert_array_equal(f(3)[2], 2 * np.eye(3, 4))


if __name__ == "__main__":
    unittest.main()
