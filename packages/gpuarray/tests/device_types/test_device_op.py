"""Ops that run on a device for an op of the host."""

from __future__ import annotations

import pickle
import unittest

import numpy as np

from theano_gpuarray.arrays import GpuArray
from theano_gpuarray.codegen import NoDeviceForm
from theano_gpuarray.types import (
    DEVICE,
    DeviceOp,
    GpuArrayType,
    GpuFromHost,
    device_kernel,
    has_device_form,
    host_from_gpu,
    host_inputs_of,
)
from theano_linker_c import function
from theano_linker_c.kernels import ElementwiseKernel, native_kernel
from theano_linker_c.profiling import device_kind

from .host import Host, Sum, named_context, opencl


class TestDeviceOp(unittest.TestCase):
    def setUp(self) -> None:
        self.context = opencl() or named_context("types0")
        self.name = "types_opencl" if opencl() else "types0"
        self.kind = GpuArrayType("float32", (None,), self.name)
        self.x, self.y = self.kind("x"), self.kind("y")

    def test_node(self) -> None:
        op = DeviceOp(Sum())
        node = op.make_node(self.x, self.y)
        self.assertEqual(node.inputs, [self.x, self.y])
        self.assertEqual(node.outputs[0].type, self.kind)
        self.assertEqual(str(node), "GpuSum(x, y)")
        self.assertEqual(op, DeviceOp(Sum()))
        self.assertEqual(pickle.loads(pickle.dumps(op)), op)

    def test_kernel(self) -> None:
        node = DeviceOp(Sum()).make_node(self.x, self.y)
        self.assertIsInstance(device_kernel(node), ElementwiseKernel)
        self.assertEqual(native_kernel.describe(node, DEVICE), device_kernel(node))
        self.assertIsNone(native_kernel.describe(node, "another target"))
        self.assertTrue(has_device_form(device_kernel(node)))
        self.assertEqual(list(host_inputs_of(device_kernel(node), 2)), [])
        self.assertEqual(device_kind.lookup(node.op)(node), "gpu")

    def test_operands_of_the_host_are_transferred(self) -> None:
        node = DeviceOp(Sum()).make_node(self.x, Host("float32", (None,)).make_variable("h"))
        self.assertEqual(node.inputs[1].owner.op, GpuFromHost(self.name))

    def test_the_op_of_the_host_refuses(self) -> None:
        with self.assertRaisesRegex(TypeError, "different dtypes"):
            DeviceOp(Sum())(self.x, GpuArrayType("float64", (None,), self.name)("d"))

    def test_without_a_kernel(self) -> None:
        small = GpuArrayType("int8", (None,), self.name)
        with self.assertRaisesRegex(NoDeviceForm, "devices cannot compute `.*Sum"):
            DeviceOp(Sum())(small("a"), small("b"))

    def test_values_in_each_mode(self) -> None:
        """A region, a node by itself through the machine in C, and Python code give the same."""
        z = DeviceOp(Sum())(self.x, self.y)
        a, b = np.arange(5, dtype="float32"), np.full(5, 3, "float32")
        for mode in ("FAST_RUN", "FAST_COMPILE", "NanGuardMode" if opencl() else "FAST_RUN"):
            with self.subTest(mode):
                result = function([self.x, self.y], [z, host_from_gpu(z)], mode=mode)(a, b)
                self.assertIsInstance(result[0], GpuArray)
                self.assertEqual((result[1].shape, result[1].dtype), ((5,), np.dtype("float32")))
                if opencl():
                    np.testing.assert_array_equal(np.asarray(result[0]), a + b)
                    np.testing.assert_array_equal(result[1], a + b)

    def test_shapes_that_do_not_fit_name_the_node(self) -> None:
        f = function([self.x, self.y], DeviceOp(Sum())(self.x, self.y))
        with self.assertRaises(ValueError) as caught:
            f(np.zeros(2, "float32"), np.zeros(3, "float32"))
        self.assertIn(
            "test_device_op.py", "\n".join(getattr(caught.exception, "__notes__", [])) + str(caught.exception)
        )


if __name__ == "__main__":
    unittest.main()
