"""Checks that run on devices: kernels, functions, tests of records."""

from __future__ import annotations

import subprocess
import sys
import unittest
from unittest import mock

import numpy as np

import theano_tensor as T
import theano_tensor.device  # its rewrites move graphs
from theano_gpuarray.codegen import NoDeviceForm
from theano_gpuarray.types import DeviceOp
from theano_linker_c import function
from theano_linker_c.kernels import ElementwiseKernel, Kernel
from theano_linker_c.scalar import add
from theano_testing.device import DEVICE_VARIABLE, null_context, on_device, placed_on
from theano_testing.gpuarray import needs_opencl
from theano_testing.tensor import OpRecord, op_tests
from theano_testing.tiers import slow

X = np.arange(12.0).reshape(3, 4)


@needs_opencl
class TestKernels(unittest.TestCase):
    def test_arrays_of_any_strides(self) -> None:
        kernel = ElementwiseKernel(add, ("float64",) * 2, ("float64",), ((False, False),) * 2, 2)
        for view in (X, X[::-1], X[:, ::2], X.T, X[:0]):
            for offset in (0, 256):
                (result,) = on_device(kernel, [view, view], offset=offset)
                np.testing.assert_array_equal(result, 2 * view)

    def test_kernels_without_a_form(self) -> None:
        with self.assertRaises(NoDeviceForm):
            on_device(Kernel(), [], null_context())


@needs_opencl
class TestFunctions(unittest.TestCase):
    def test_arguments_are_placed(self) -> None:
        x = T.dmatrix("x")
        for devname, count in (("opencl", 1), (None, 0)):
            with placed_on(devname, [x]):
                f = function([x], T.exp(x) + 1)
            nodes = [node for node in f.maker.fgraph.toposort() if isinstance(node.op, DeviceOp)]
            self.assertEqual(count, len(nodes))
            np.testing.assert_allclose(f(X), np.exp(X) + 1, rtol=1e-12)
        self.assertFalse(hasattr(x.tag, "target"))


@needs_opencl
class TestRecords(unittest.TestCase):
    def _device_tests_of(self, device: str) -> list[str]:
        with mock.patch.dict("os.environ", {DEVICE_VARIABLE: device}):
            outcome = op_tests(OpRecord("twice", lambda x: x + x, lambda x: 2 * x, [[X]]))
            result = unittest.TestResult()
            unittest.defaultTestLoader.loadTestsFromTestCase(outcome).run(result)
        self.assertEqual(([], []), (result.errors, result.failures))
        return [name for name in dir(outcome) if name.startswith("test_device")]

    def test_where_the_environment_names_a_device(self) -> None:
        self.assertEqual([], self._device_tests_of(""))
        self.assertEqual(["test_device_agrees_with_reference"], self._device_tests_of("opencl"))

    @slow
    def test_devices_are_used_in_a_process_that_asked_for_none(self) -> None:
        program = (
            "import sys; from theano_testing.tensor import OpRecord, check_on_device\n"
            "assert 'theano_tensor.device' not in sys.modules\n"
            "check_on_device(OpRecord('twice', lambda x: x + x, lambda x: 2 * x, [[[1.5]]]), 'opencl')\n"
            "assert 'theano_tensor.device' in sys.modules"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        self.assertEqual((0, ""), (done.returncode, done.stderr))

    def test_a_device_that_is_wrong(self) -> None:
        with mock.patch.dict("os.environ", {DEVICE_VARIABLE: "opencl"}):
            outcome = op_tests(OpRecord("wrong", lambda x: x + x, lambda x: 3 * x, [[X]]))
            result = unittest.TestResult()
            unittest.TestSuite([outcome("test_device_agrees_with_reference")]).run(result)
        self.assertEqual(1, len(result.failures))
        self.assertIn("wrong on the device", result.failures[0][1])


if __name__ == "__main__":
    unittest.main()
