"""Arguments of cuDNN: run by `test_cudnn` in a process of its own, which opens stand-ins for the libraries of CUDA."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theano_gpuarray._runtime import DeviceError, LaunchList
from theano_gpuarray.arrays import asarray
from theano_gpuarray.codegen import ChosenOnce, DnnConvolutionKernel
from theano_gpuarray.contexts import GpuContext, cudnn_problem, cudnn_version, has_cudnn
from theano_gpuarray.dnn_flags import BACKWARD_DATA, BACKWARD_FILTER, FORWARD
from theano_gpuarray.region import LoopInput, LoopOutput, LoopPlan, Region, Step, record_loop, run_kernel
from theano_gpuarray.region._recording import INPUT
from theano_graph import config
from theano_linker_c.kernels import ConvolutionKernel, ConvolutionTask

from . import cudnn_support
from .cudnn_support import calls, driver, fake

#: The library's numbers of the algorithms, from its headers.
NUMBERS = {
    "forward": {"none": 0, "small": 1, "large": 2, "fft": 4, "fft_tiling": 5, "winograd": 6, "winograd_non_fused": 7},
    "input_grad": {"none": 0, "deterministic": 1, "fft": 2, "fft_tiling": 3, "winograd": 4, "winograd_non_fused": 5},
    "weight_grad": {"none": 0, "deterministic": 1, "fft": 2, "small": 3, "winograd_non_fused": 5, "fft_tiling": 6},
}
NAMES = {"forward": FORWARD, "input_grad": BACKWARD_DATA, "weight_grad": BACKWARD_FILTER}
CALLS = {"forward": "Forward", "input_grad": "BackwardData", "weight_grad": "BackwardFilter"}
TASKS: tuple[ConvolutionTask, ...] = ("forward", "input_grad", "weight_grad")


def sliding(x: NDArray[Any], w: NDArray[Any], kernel: ConvolutionKernel, zeros: tuple[int, ...]) -> NDArray[Any]:
    """Return a convolution, tap by tap."""
    spans = [(k - 1) * d for k, d in zip(w.shape[2:], kernel.dilations, strict=True)]
    x = np.pad(x, [(0, 0), (0, 0), *((n, n) for n in zeros)])
    lengths = [(n - s - 1) // t + 1 for n, s, t in zip(x.shape[2:], spans, kernel.strides, strict=True)]
    groups = np.split(x, kernel.groups, axis=1)
    parts = []
    for part, filters in zip(groups, np.split(w, kernel.groups), strict=True):
        total = np.zeros((x.shape[0], len(filters), *lengths))
        for tap in np.ndindex(w.shape[2:]):
            begins = [
                (k - 1 - t if kernel.flip else t) * d
                for t, k, d in zip(tap, w.shape[2:], kernel.dilations, strict=True)
            ]
            where: tuple[Any, ...] = tuple(
                slice(b, b + (n - 1) * s + 1, s) for b, n, s in zip(begins, lengths, kernel.strides, strict=True)
            )
            of_tap: tuple[Any, ...] = (..., *tap)
            total += np.einsum("nc...,fc->nf...", part[(slice(None), slice(None), *where)], filters[of_tap])
        parts.append(total)
    return np.concatenate(parts, axis=1)


class Case(cudnn_support.Case):
    def kernel(self, task: ConvolutionTask, dtype: str = "float64", **more: Any) -> ConvolutionKernel:
        options: dict[str, Any] = {"strides": (1, 1), "dilations": (1, 1), "border": "valid", **more}
        return ConvolutionKernel(task, dtype, **options)

    def values(self, task: str, dtype: str = "float64", size: int = 5) -> list[Any]:
        x, w, top = (
            self.rng.normal(size=shape).astype(dtype)
            for shape in ((2, 3, size, size), (4, 3, 2, 2), (2, 4, size - 1, size - 1))
        )
        return {
            "forward": [x, w],
            "input_grad": [w, top, np.array([size, size])],
            "weight_grad": [x, top, np.array([2, 2])],
        }[task]

    def last(self) -> tuple[int, int, int, int]:
        """Return algorithm, workspace, precision and math of the last convolution."""
        algorithm, workspace, precision, math = fake.fake_convolution()[:4]
        return algorithm, workspace, precision, math

    def run_named(self, task: ConvolutionTask, name: str, dtype: str = "float64", **more: Any) -> tuple[int, ...]:
        run_kernel(DnnConvolutionKernel(self.kernel(task, dtype, **more), name), self.context, self.values(task, dtype))
        return self.last()


class TestValues(Case):
    """Convolutions and their gradients, which are right where every linear map is the transpose of another."""

    def check(self, x: NDArray[Any], w: NDArray[Any], kernel: dict[str, Any], zeros: tuple[int, ...]) -> None:
        outcome = {task: DnnConvolutionKernel(self.kernel(task, **kernel), "none") for task in TASKS}
        expected = sliding(x, w, outcome["forward"].convolution, zeros)
        result = np.asarray(run_kernel(outcome["forward"], self.context, [x, w])[0])
        np.testing.assert_allclose(result, expected, atol=1e-12)
        top = self.rng.normal(size=expected.shape)
        by_x = np.asarray(run_kernel(outcome["input_grad"], self.context, [w, top, np.array(x.shape[2:])])[0])
        by_w = np.asarray(run_kernel(outcome["weight_grad"], self.context, [x, top, np.array(w.shape[2:])])[0])
        for result, operands in ((by_x, x), (by_w, w)):
            self.assertEqual(result.shape, operands.shape)
            self.assertAlmostEqual((result * operands).sum(), (expected * top).sum())
        self.assertEqual(sum(calls(f"cudnnConvolution{name}") for name in CALLS.values()), 3)

    def test_images(self) -> None:
        x, w = self.rng.normal(size=(2, 4, 7, 6)), self.rng.normal(size=(6, 2, 3, 2))
        self.check(x, w, {"strides": (2, 1), "border": "full", "flip": True, "groups": 2}, (2, 1))

    def test_volumes(self) -> None:
        x, w = self.rng.normal(size=(2, 1, 5, 6, 4)), self.rng.normal(size=(3, 1, 2, 3, 2))
        border = ((1, 1), (0, 0), (2, 2))
        self.check(x, w, {"strides": (1, 2, 1), "dilations": (2, 1, 1), "border": border}, (1, 0, 2))

    def test_one_axis(self) -> None:
        x, w = self.rng.normal(size=(2, 3, 9)), self.rng.normal(size=(4, 3, 3))
        self.check(x, w, {"strides": (2,), "dilations": (1,), "border": "half"}, (1,))

    def test_lists_are_captured(self) -> None:
        kernel = DnnConvolutionKernel(self.kernel("forward"), "fft")
        region = Region(self.context, [Step(kernel, (0, 1), (2,)), Step(kernel, (2, 3), (4,))], [0, 1, 3], [4])
        first, second = self.rng.normal(size=(4, 3, 2, 2)), self.rng.normal(size=(2, 4, 2, 2))
        w, v = (asarray(value, context=self.context) for value in (first, second))
        for _ in range(5):
            value = self.rng.normal(size=(2, 3, 5, 5))
            (result,) = region([asarray(value, context=self.context), w, v])
            inner = sliding(value, first, kernel.convolution, (0, 0))
            np.testing.assert_allclose(
                np.asarray(result), sliding(inner, second, kernel.convolution, (0, 0)), atol=1e-12
            )

    def test_what_the_library_has_not_is_left_to_kernels(self) -> None:
        for more in ({"border": ((1, 0), (0, 1))}, {"border": "valid", "strides": (1, 1)}):
            fake.fake_reset()
            values = self.values("forward")
            values[0] = values[0] if more["border"] != "valid" else values[0][:0]
            kernel = DnnConvolutionKernel(self.kernel("forward", **more), "none")
            (result,) = run_kernel(kernel, self.context, values)
            self.assertEqual(calls("cudnnConvolutionForward"), 0)
            padded = values[0] if more["border"] == "valid" else np.pad(values[0], ((0, 0), (0, 0), (1, 0), (0, 1)))
            expected = sliding(padded, values[1], self.kernel("forward"), (0, 0))
            np.testing.assert_allclose(np.asarray(result), expected, atol=1e-12)


class TestAlgorithms(Case):
    def test_each_name(self) -> None:
        for task in TASKS:
            for name, number in NUMBERS[task].items():
                with self.subTest(task, name=name):
                    self.assertEqual(self.run_named(task, name), (number, number * 1024, 1, 3))
            self.assertEqual(set(NAMES[task]) - set(NUMBERS[task]), {
                "guess_once", "guess_on_shape_change", "time_once", "time_on_shape_change"})  # fmt: skip

    def test_guesses_and_trials(self) -> None:
        for task in TASKS:
            for kind, call in (
                ("guess", f"cudnnGetConvolution{CALLS[task]}Algorithm_v7"),
                ("time", f"cudnnFindConvolution{CALLS[task]}Algorithm"),
            ):
                fake.fake_reset()
                # The fastest ones do not work, or need more memory than there is.
                self.assertEqual(self.run_named(task, f"{kind}_on_shape_change")[0], 5)
                self.assertEqual(calls(call), 1)

    def test_deterministic_ones(self) -> None:
        with config.change_flags(deterministic="more"):
            self.assertEqual(self.run_named("forward", "guess_on_shape_change")[0], 1)
            self.assertEqual(self.run_named("forward", "time_on_shape_change")[0], 2)
            for task, name, number in (
                ("input_grad", "none", 1), ("weight_grad", "none", 1), ("weight_grad", "small", 1),
                ("input_grad", "fft", 2), ("forward", "none", 0),
            ):  # fmt: skip
                with self.subTest(task, name=name):
                    self.assertEqual(self.run_named(task, name)[0], number)  # type: ignore[arg-type]  # a literal

    def test_chosen_once_or_for_each_shape(self) -> None:
        for name, expected in (("guess_once", 1), ("guess_on_shape_change", 2)):
            fake.fake_reset()
            context = GpuContext(driver.open(0), "cuda0")
            kernel = DnnConvolutionKernel(self.kernel("forward"), name, ChosenOnce() if expected == 1 else None)
            for size in (5, 6, 5, 6):
                run_kernel(kernel, context, self.values("forward", size=size))
                self.assertEqual(self.last()[0], 5)
            self.assertEqual(calls("cudnnGetConvolutionForwardAlgorithm_v7"), expected)

    def test_algorithms_that_do_not_work_are_replaced(self) -> None:
        self.assertEqual(self.run_named("forward", "fft")[0], 4)
        kernel = DnnConvolutionKernel(self.kernel("forward", strides=(2, 2)), "fft")
        run_kernel(kernel, self.context, self.values("forward"))
        self.assertEqual(self.last()[0], 0)

    def test_precision(self) -> None:
        for tf32, expected in ((False, 3), (True, 0)):
            with config.change_flags(gpuarray__tf32=tf32):
                self.assertEqual(self.run_named("forward", "none", "float32"), (0, 0, 0, expected))
                self.assertEqual(self.run_named("forward", "none", "float64"), (0, 0, 1, 3))
                self.assertEqual(self.run_named("forward", "none", "float16"), (0, 0, 0, 1))


class TestFailures(Case):
    def refused(self, call: str, action: Callable[[], object], status: int = 5000) -> str:
        fake.fake_fail(call.encode(), status, 0)
        with self.assertRaises(DeviceError) as caught:
            action()
        fake.fake_reset()
        return str(caught.exception)

    def test_each_call_may_fail(self) -> None:
        for call, text in (
            ("cudnnSetStream", "describing a convolution to cuDNN"),
            ("cudnnCreateTensorDescriptor", "describing"),
            ("cudnnSetTensorNdDescriptor", "describing"),
            ("cudnnCreateFilterDescriptor", "describing"),
            ("cudnnSetFilterNdDescriptor", "describing"),
            ("cudnnCreateConvolutionDescriptor", "describing"),
            ("cudnnSetConvolutionNdDescriptor", "describing"),
            ("cudnnSetConvolutionGroupCount", "describing"),
            ("cudnnSetConvolutionMathType", "describing"),
            ("cudnnGetConvolutionForwardAlgorithm_v7", "choosing an algorithm of cuDNN"),
            ("cudnnGetConvolutionForwardWorkspaceSize", "asking cuDNN for a workspace"),
            ("cudnnConvolutionForward", "a convolution by cuDNN"),
        ):
            with self.subTest(call):
                message = self.refused(call, lambda: self.run_named("forward", "guess_on_shape_change"))
                self.assertIn(
                    f"{text} failed: CUDNN_STATUS_OF_THE_TEST (5000)" if text != "describing" else text, message
                )
                self.context = GpuContext(driver.open(0), "cuda0")

    def test_a_library_that_does_not_start_leaves_convolutions_to_kernels(self) -> None:
        fake.fake_fail(b"cudnnCreate", 1001, 0)
        for _ in range(2):
            self.run_named("forward", "none")
        self.assertEqual((calls("cudnnCreate"), calls("cudnnConvolutionForward")), (1, 0))

    def test_the_library_is_closed_with_its_context(self) -> None:
        context = GpuContext(driver.open(1), "cuda1")
        run_kernel(DnnConvolutionKernel(self.kernel("forward"), "none"), context, self.values("forward"))
        del context
        self.assertEqual(calls("cudnnDestroy"), 1)

    def test_descriptions_that_cannot_be(self) -> None:
        plan, convolve = self.context.native.plan_convolution, self.context.native.convolve
        good = ("forward", "float32", "float32", (1, 1, 3, 3), (1, 1, 2, 2), (1, 1, 2, 2), (0, 0), (1, 1), (1, 1), 1, 1)
        self.assertEqual(plan(good, "fixed", 1, False, 4096), (1, 1024))
        self.assertIsNone(plan(good, "fixed", 1, False, 1000), "the workspace is too large")
        self.assertIsNone(plan(good, "fixed", 3, False, 4096), "there is no such algorithm")
        for at, wrong, error in (
            (0, "backward", ValueError), (1, "int8", ValueError), (3, (1, 1, 3), ValueError),
            (3, (1, 1, 3, 2**31), OverflowError), (4, (1, 1, 0, 1), OverflowError), (6, (-1, 0), OverflowError),
            (7, (0, 1), OverflowError), (8, (1,), ValueError), (9, 0, ValueError), (3, [1, 1, 3, 3], TypeError),
        ):  # fmt: skip
            with self.subTest(at=at, wrong=wrong), self.assertRaises(error):
                plan((*good[:at], wrong, *good[at + 1 :]), "fixed", 0, False, 0)
        with self.assertRaisesRegex(ValueError, 'not "best"'):
            plan(good, "best", 0, False, 0)
        small, x = self.context.allocate(16), self.context.allocate(64)
        for places, text in (
            (((small, 0), (x, 0), (x, 0), (x, 0), 0), "too small"),
            (((x, 0), (x, 52), (x, 0), (x, 0), 0), "too small"),
            (((x, 0), (x, -4), (x, 0), (x, 0), 0), "not negative"),
            (((x, 0), (x, 0), (x, 0), (x, 0), 65), "too small"),
            (((x, 0), (x, 0), (x, 0), (x, 0), -1), "less than no bytes"),
        ):
            with self.subTest(text), self.assertRaisesRegex(ValueError, text):
                convolve(good, 0, *places)
        with self.assertRaisesRegex(ValueError, "no buffer 3"):
            LaunchList(self.context.native, [("convolution", good, 0, (0, 0), (1, 0), (3, 0), (0, 0), 0)], 3)

    def test_convolutions_are_repeated(self) -> None:
        """Of images one after the other, as the steps of a loop have them."""
        task = self.kernel("forward")
        lengths = (1, 3, 5, 5), (4, 3, 2, 2), (1, 4, 4, 4)
        description = ("forward", "float64", "float64", *lengths, (0, 0), (1, 1), (1, 1), 1, task.flip)
        x, w = self.rng.normal(size=(6, *lengths[0])), self.rng.normal(size=lengths[1])
        image, top = 75 * 8, 64 * 8
        for count in (6, 5000):
            step = ("convolution", description, 0, ((0,), 0), ((1,), 0), ((2,), 0), ((2,), 0), 0)
            moves = ((0, image, 0), (2, top, 0)) if count == 6 else ((0, 0, image),)
            chain = LaunchList(self.context.native, [("repeat", count, (step,), (moves,))], 3)
            buffers = [self.context.allocate(n) for n in (6 * image, w.nbytes, 6 * top)]
            buffers[0].write(0, x)
            buffers[1].write(0, w)
            for _ in range(4):
                chain.run(buffers)
            result = np.zeros((6, *lengths[2]))
            buffers[2].read(0, result)
            expected = [sliding(one, w, task, (0, 0)) for one in x]
            if count == 6:
                np.testing.assert_allclose(result, expected)
            else:
                np.testing.assert_allclose(result[0], expected[1])
            short = [buffers[0], buffers[1], self.context.allocate(top - 1)]
            with self.assertRaisesRegex(ValueError, "too small"):
                chain.run(short)

    def test_steps_of_a_loop(self) -> None:
        """A loop of convolutions is one list of launches."""
        kernel = DnnConvolutionKernel(self.kernel("forward"), "fft")
        region = Region(self.context, [Step(kernel, (0, 1), (2,))], [0, 1], [2])
        x, w = self.rng.normal(size=(7, 2, 3, 5, 5)), self.rng.normal(size=(4, 3, 2, 2))
        values = [asarray(value, context=self.context) for value in (x, w)]
        plan = LoopPlan((LoopInput("row", 0), LoopInput("same", 1)), (LoopOutput(0, True, False, -1),), False)
        entry = record_loop(region, plan, len(x), values, {})
        assert entry is not None, "the steps differ in offsets alone"
        launches, sources, outputs, *_ = entry
        buffers = [values[what].buffer if kind == INPUT else self.context.allocate(what) for kind, what in sources]
        for _ in range(4):
            launches.run(buffers)
        result = np.zeros(outputs[0][3])
        buffers[outputs[0][0]].read(outputs[0][5], result)
        np.testing.assert_allclose(result, [sliding(one, w, kernel.convolution, (0, 0)) for one in x])
        self.assertEqual(1, calls("cuGraphInstantiateWithFlags"))


class TestPresence(Case):
    def test_the_version(self) -> None:
        self.assertEqual(driver.version("cudnn"), (90100, None))
        self.assertEqual(driver.version("cublas"), (0, None))
        self.assertEqual(cudnn_version(self.context), 90100)
        self.assertIsNone(cudnn_problem(self.context))

    def test_the_flag_turns_it_off(self) -> None:
        with config.change_flags(dnn__enabled="False"):
            self.assertFalse(has_cudnn(self.context))
            self.assertEqual(cudnn_problem(self.context), "the flag dnn.enabled is False")
            with self.assertRaisesRegex(RuntimeError, "cuDNN cannot be used: the flag dnn.enabled is False"):
                cudnn_version(self.context)
            self.run_named("forward", "none")
        self.assertEqual(calls("cudnnConvolutionForward"), 0)


if __name__ == "__main__":
    unittest.main()
