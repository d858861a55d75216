"""Checks that run on devices: kernels, tests of records, graphs of the fuzzer."""

from __future__ import annotations

import unittest
from unittest import mock

import numpy as np

import theano_tensor as T
from theano_gpuarray.codegen import NoDeviceForm
from theano_gpuarray.types import DeviceOp
from theano_linker_c import function
from theano_linker_c.kernels import ElementwiseKernel, Kernel
from theano_linker_c.scalar import add
from theano_testing.device import DEVICE_VARIABLE, null_context, on_device, placed_on
from theano_testing.fuzz import Failure, as_source
from theano_testing.fuzz._comparison._batch import compare_batch
from theano_testing.fuzz._comparison._judge import Tally
from theano_testing.fuzz._comparison._modes import on_device as configuration_of
from theano_testing.fuzz._generate import generate
from theano_testing.fuzz._operations._grammar import Grammar
from theano_testing.fuzz._workers import Task, configurations_of
from theano_testing.gpuarray import needs_opencl
from theano_testing.tensor import OpRecord, op_tests

X = np.arange(12.0).reshape(3, 4)


@needs_opencl
class TestKernels(unittest.TestCase):
    def test_arrays_of_any_strides(self) -> None:
        kernel = ElementwiseKernel(add, ("float64",) * 2, ("float64",), ((False, False),) * 2, 2)
        for view in (X, X[::-1], X[:, ::2], X.T, X[:0]):
            for offset in (0, 256):
                (found,) = on_device(kernel, [view, view], offset=offset)
                np.testing.assert_array_equal(found, 2 * view)

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
            made = op_tests(OpRecord("twice", lambda x: x + x, lambda x: 2 * x, [[X]]))
            result = unittest.TestResult()
            unittest.defaultTestLoader.loadTestsFromTestCase(made).run(result)
        self.assertEqual(([], []), (result.errors, result.failures))
        return [name for name in dir(made) if name.startswith("test_device")]

    def test_where_the_environment_names_a_device(self) -> None:
        self.assertEqual([], self._device_tests_of(""))
        self.assertEqual(["test_device_agrees_with_reference"], self._device_tests_of("opencl"))

    def test_a_device_that_is_wrong(self) -> None:
        with mock.patch.dict("os.environ", {DEVICE_VARIABLE: "opencl"}):
            made = op_tests(OpRecord("wrong", lambda x: x + x, lambda x: 3 * x, [[X]]))
            result = unittest.TestResult()
            unittest.TestSuite([made("test_device_agrees_with_reference")]).run(result)
        self.assertEqual(1, len(result.failures))
        self.assertIn("wrong on the device", result.failures[0][1])


@needs_opencl
class TestFuzzer(unittest.TestCase):
    def test_graphs_on_a_device(self) -> None:
        programs = [generate(seed, Grammar().operations) for seed in (5, 8)]
        tally = Tally()
        self.assertEqual([], compare_batch(programs, [configuration_of("opencl")], tally, reference=False))
        self.assertEqual(2, tally.counts["graphs, FAST_RUN on opencl"])

    def test_the_source_of_a_finding_runs_on_the_device(self) -> None:
        program = generate(8, Grammar().operations)
        failure = Failure(program, configuration_of("opencl"), "values", "an example")
        source = as_source(failure)
        self.assertIn("with placed_on('opencl', [", source)
        exec(source, {})

    def test_tasks_of_a_device_compare_nothing_else(self) -> None:
        task = Task(0, 4, variant=2, captured=True, device="opencl0:0")
        (configuration,) = configurations_of(task)
        self.assertEqual("opencl0:0", configuration.device)
        self.assertFalse(task.has_reference)
        self.assertTrue(Task(0, 4).has_reference)


if __name__ == "__main__":
    unittest.main()
