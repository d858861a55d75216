"""Regions: recordings by shape, replays, order, memory, and failures."""

from __future__ import annotations

import gc
import unittest
from typing import Any

import numpy as np

from theano_gpuarray.codegen import DeviceOperand, KernelText, NoDeviceForm, register_device_form
from theano_gpuarray.contexts import GpuContext
from theano_gpuarray.region import RECORDINGS, AtOnce, Download, Region, Step, StepError, Upload, run_kernel, upload
from theano_graph import config, record
from theano_linker_c.kernels import ElementwiseKernel, IndexInput, IndexSlice, IndexViewKernel, Kernel
from theano_linker_c.scalar import add, exp, mul
from theano_testing.device import null_context, opencl_context
from theano_testing.gpuarray import needs_opencl

X = np.arange(12, dtype="float32").reshape(3, 4)


def elementwise(op: Any, count: int = 2, dtype: str = "float32", ndim: int = 2) -> ElementwiseKernel:
    return ElementwiseKernel(op, (dtype,) * count, (dtype,), ((False,) * ndim,) * count, ndim)


#: Value 0 is an input and transferred to 1; 5 is the result.
CHAIN = [
    Step(Upload(), (0,), (1,)),
    Step(elementwise(add), (1, 1), (2,)),
    Step(elementwise(mul), (2, 1), (3,)),
    Step(elementwise(exp, 1), (2,), (4,)),
    Step(elementwise(add), (4, 3), (5,)),
]


def chain(x: Any) -> Any:
    return np.exp(2 * x) + 2 * x * x


@record
class Positive(Kernel):
    """Refuses negative elements of a vector, when they are seen on the device."""


@register_device_form(Positive)
def _positive(kernel: Positive, recorder: Any, operands: Any) -> list[Any]:
    (x,) = operands
    number = recorder.failure(lambda at, value, length: ValueError(f"element {at} of {length} is {value}"))
    body = (
        "KERNEL void positive(GLOBAL_MEM const int *x, int64_t offset, int64_t n, int number, "
        "GLOBAL_MEM int64_t *s) {\n"
        "  const int64_t i = (int64_t)GID_0 * LDIM_0 + LID_0;\n"
        "  if (i < n && x[offset + i] < 0 && theano_atomic_cas_int64(s, 0, number) == 0) {\n"
        "    s[1] = i; s[2] = x[offset + i]; s[3] = n;\n  }\n}\n"
    )
    text = KernelText("positive", body, "PqqiP")
    recorder.launch(text, [x, x.offset // 4, x.size, number, recorder.status()], [1], [64])
    return [x]


@needs_opencl
class TestReplays(unittest.TestCase):
    def setUp(self) -> None:
        self.context: GpuContext = opencl_context()

    def test_values(self) -> None:
        region = Region(self.context, [*CHAIN, Step(Download(), (5,), (6,))], [0], [6, 5])
        for scale in (1, 2, 3):
            result, there = region([X / scale])
            np.testing.assert_allclose(result, chain(X / scale), rtol=1e-6)
            np.testing.assert_allclose(np.asarray(there), chain(X / scale), rtol=1e-6)
        self.assertEqual(1, len(region.recordings))

    def test_results_of_calls_are_apart(self) -> None:
        region = Region(self.context, CHAIN, [0], [5])
        first, second = region([X])[0], region([X / 2])[0]
        np.testing.assert_allclose(np.asarray(first), chain(X), rtol=1e-6)
        np.testing.assert_allclose(np.asarray(second), chain(X / 2), rtol=1e-6)

    def test_flags_change(self) -> None:
        region = Region(self.context, CHAIN, [0], [5])
        for flags, count in (({}, 1), ({"gpuarray.tf32": True}, 2), ({}, 2), ({"gpuarray.tf32": True}, 2)):
            with config.change_flags(flags):
                region([X])
            self.assertEqual(count, len(region.recordings))

    def test_shapes_change(self) -> None:
        region = Region(self.context, CHAIN, [0], [5])
        for shape in ((3, 4), (5, 2), (0, 3), (1, 1), (3, 4)):
            x = np.full(shape, 0.5, "float32")
            np.testing.assert_allclose(np.asarray(region([x])[0]), chain(x), rtol=1e-6)
        self.assertEqual(4, len(region.recordings))

    def test_strides_of_arrays_on_the_device(self) -> None:
        region = Region(self.context, CHAIN[1:], [1], [5])
        x = upload(self.context, X / 12)
        for view, expected in ((x, X / 12), (x[::-1, 1:3], X[::-1, 1:3] / 12), (x.T, X.T / 12)):
            np.testing.assert_allclose(np.asarray(region([view])[0]), chain(expected), rtol=1e-6)
        self.assertEqual(3, len(region.recordings))

    def test_what_is_strided_on_the_host(self) -> None:
        region = Region(self.context, CHAIN, [0], [5])
        np.testing.assert_allclose(np.asarray(region([X[::-1, ::2] / 9])[0]), chain(X[::-1, ::2] / 9), rtol=1e-6)

    def test_constants(self) -> None:
        steps = [Step(elementwise(add), (0, 1), (2,)), Step(elementwise(add), (2, 3), (4,))]
        region = Region(self.context, steps, [0], [4], {1: X, 3: upload(self.context, X)})
        for _ in range(2):
            np.testing.assert_array_equal(np.asarray(region([upload(self.context, X)])[0]), 3 * X)

    def test_views_of_constants(self) -> None:
        number = Step(IndexViewKernel((IndexInput(1),), ("float32", "int64"), (2, 0)), (0, 1), (3,))
        steps = [number, Step(elementwise(mul, ndim=1), (3, 2), (4,))]
        for constant in (X, upload(self.context, X)):
            region = Region(self.context, steps, [1, 2], [4], {0: constant})
            row = upload(self.context, X[0])
            for i in (0, 2, 1, 0):
                np.testing.assert_array_equal(np.asarray(region([np.array(i), row])[0]), X[i] * X[0])
            self.assertEqual(1, len(region.recordings))

    def test_a_result_that_is_an_argument(self) -> None:
        x = upload(self.context, X)
        region = Region(self.context, [Step(Download(), (0,), (1,))], [0], [0, 1])
        same, there = region([x])
        self.assertIs(x.buffer, same.buffer)
        np.testing.assert_array_equal(there, X)

    def test_a_minibatch_needs_no_new_recording(self) -> None:
        entries = (IndexSlice(IndexInput(1), IndexInput(2), None),)
        rows = IndexViewKernel(entries, ("float32", "int64", "int64"), (2, 0, 0))
        steps = [
            Step(rows, (0, 1, 2), (3,)),
            Step(elementwise(add), (3, 3), (4,)),
            Step(elementwise(mul), (4, 3), (5,)),
        ]
        data = np.random.default_rng(0).normal(size=(64, 4)).astype("float32")
        region = Region(self.context, steps, [0, 1, 2], [5])
        x = upload(self.context, data)
        for start in range(0, 60, 4):
            part = data[start : start + 4]
            result = region([x, np.asarray(start), np.asarray(start + 4)])[0]
            np.testing.assert_allclose(np.asarray(result), 2 * part * part, rtol=1e-6)
        self.assertEqual(1, len(region.recordings))
        np.testing.assert_allclose(
            np.asarray(region([x, np.asarray(62), np.asarray(70)])[0]), 2 * data[62:] ** 2, rtol=1e-6
        )

    def test_a_view_among_the_results_follows_the_offset(self) -> None:
        rows = IndexViewKernel((IndexSlice(IndexInput(1), None, None),), ("float32", "int64"), (2, 0))
        region = Region(self.context, [Step(rows, (0, 1), (2,)), Step(Download(), (2,), (3,))], [0, 1], [2, 3])
        x = upload(self.context, X)
        for start in (0, 1, 2):
            for item in region([x, np.asarray(start)]):
                np.testing.assert_array_equal(np.asarray(item), X[start:])

    def test_recordings_are_bounded(self) -> None:
        region = Region(null_context(), CHAIN, [0], [5])
        for n in range(RECORDINGS + 20):
            region([np.zeros((1, n + 1), "float32")])
        self.assertEqual(RECORDINGS, len(region.recordings))


class TestWhatTheDriverIsAsked(unittest.TestCase):
    def setUp(self) -> None:
        self.context = null_context()

    def names(self) -> list[str]:
        return [entry[0] for entry in self.context.native.recorded()]

    def test_order_and_counts(self) -> None:
        region = Region(self.context, [*CHAIN, Step(Download(), (5,), (6,))], [0], [6])
        for _ in range(2):
            region([X])
            self.assertEqual(["write", *["launch"] * 4, "read"], self.names())

    def test_nothing_is_launched_for_shapes_that_do_not_fit(self) -> None:
        steps = [Step(elementwise(exp, 1), (0,), (2,)), Step(elementwise(add), (2, 1), (3,))]
        region = Region(self.context, steps, [0, 1], [3])
        x, y = upload(self.context, X), upload(self.context, X[:2])
        self.names()
        with self.assertRaises(StepError) as caught:
            region([x, y])
        self.assertEqual(1, caught.exception.step)
        self.assertRegex(str(caught.exception.error), "mis-match")
        self.assertEqual([(3, 4), (2, 4)], [operand.shape for operand in caught.exception.operands])
        self.assertEqual([], self.names())

    def test_memory_goes_back(self) -> None:
        for n in range(200):
            region = Region(self.context, CHAIN, [0], [5], {9: X})
            result = region([np.zeros((2, 1 + n % 7), "float32")])
            self.assertLess(0, self.context.statistics()["in_use"])
            del region, result
        gc.collect()
        outcome = self.context.statistics()
        self.assertEqual((0, 0), (outcome["in_use"], outcome["buffers"]))

    def test_temporary_arrays_share_memory(self) -> None:
        # Two arrays of 1024 bytes take turns; steps that may overwrite their operand work where the result lies.
        for op, operands, arena in ((mul, 2, 2048), (exp, 1, 0)):
            steps = [Step(elementwise(op, operands), (k,) * operands, (k + 1,)) for k in range(40)]
            region = Region(self.context, steps, [0], [40])
            region([upload(self.context, np.zeros((16, 16), "float32"))])
            self.assertEqual(arena, region.recordings[0].arena)


@needs_opencl
class TestFailures(unittest.TestCase):
    def test_a_wrong_value(self) -> None:
        context = opencl_context()
        region = Region(
            context, [Step(Positive(), (0,), (1,)), Step(elementwise(add, 2, "int32", 1), (1, 1), (2,))], [0], [2]
        )
        good = upload(context, np.array([1, 2, 3], "int32"))
        self.assertEqual([2, 4, 6], np.asarray(region([good])[0]).tolist())
        with self.assertRaises(StepError) as caught:
            region([upload(context, np.array([1, -7, 3], "int32"))])
        self.assertEqual(0, caught.exception.step)
        self.assertEqual("element 1 of 3 is -7", str(caught.exception.error))
        self.assertEqual([2, 4, 6], np.asarray(region([good])[0]).tolist())

    def test_at_once(self) -> None:
        context = opencl_context()
        with self.assertRaisesRegex(ValueError, "element 2 of 3 is -1"):
            run_kernel(Positive(), context, [np.array([1, 2, -1], "int32")])

    def test_kernels_without_a_form(self) -> None:
        with self.assertRaisesRegex(NoDeviceForm, "Kernel has no device form"):
            run_kernel(Kernel(), null_context(), [])

    def test_a_kept_recorder_reads_nothing(self) -> None:
        recorder = AtOnce(opencl_context())
        x = recorder.constant(X)
        np.testing.assert_array_equal(recorder.read(x), X)
        self.assertFalse(recorder.may_overwrite(x))


@needs_opencl
class TestAtOnce(unittest.TestCase):
    def test_operations(self) -> None:
        recorder = AtOnce(opencl_context(), offset=64)
        x = recorder.constant(X)
        z = recorder.empty("float32", X.shape)
        self.assertEqual(64, z.offset)
        recorder.copy(z, x)
        np.testing.assert_array_equal(np.asarray(recorder.value(z)), X)
        recorder.fill(z)
        np.testing.assert_array_equal(np.asarray(recorder.value(z)), 0 * X)
        row = DeviceOperand(x.slot, "float32", (4,), (4,), x.offset + 16)
        np.testing.assert_array_equal(recorder.read(row), X[1])


if __name__ == "__main__":
    unittest.main()
