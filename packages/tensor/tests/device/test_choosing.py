"""Which implementation computes convolutions on devices, as tags and flags choose it."""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import redirect_stderr
from typing import Any
from unittest.mock import patch

import numpy as np

import theano_tensor as T
from theano_gpuarray.codegen import DnnConvolutionKernel
from theano_gpuarray.types import device_kernel
from theano_graph import config
from theano_linker_c import Mode, function, get_mode, shared
from theano_linker_c.kernels import ConvolutionKernel
from theano_tensor.device import dnn
from theano_tensor.device.dnn import _selection
from theano_tensor.nnet.convolution import conv2d, conv3d

from .contexts import NAME
from .test_device_variables import DeviceTestCase

FAST_RUN = get_mode("FAST_RUN")


class ChoosingCase(DeviceTestCase):
    def setUp(self) -> None:
        super().setUp()
        rng = np.random.default_rng(5)
        self.x, self.w = (rng.normal(size=shape) for shape in ((2, 3, 7, 6), (4, 3, 3, 2)))

    def results(self) -> list[Any]:
        """Return a convolution of variables on the device, and its gradients."""
        x, w = shared(self.x, target=NAME), shared(self.w, target=NAME)
        y = conv2d(x, w, input_shape=self.x.shape, filter_shape=self.w.shape)
        return [y, *T.grad((y**2).sum(), [x, w])]

    def ops(self, mode: Mode, outputs: Sequence[Any] | None = None) -> dict[str, Any]:
        """Return the ops of convolutions by the names of their classes; values are those of the host."""
        operand = self.results() if outputs is None else outputs
        f = function([], operand, mode=mode)
        if outputs is None:
            x, w = T.constant(self.x), T.constant(self.w)
            y = conv2d(x, w)
            for item, expected in zip(f(), function([], [y, *T.grad((y**2).sum(), [x, w])])(), strict=True):
                self.assertValues(item, expected)
        nodes = f.maker.fgraph.apply_nodes
        return {type(n.op).__name__: n.op for n in nodes if "Conv" in type(n.op).__name__ or "Corr" in str(type(n.op))}

    def with_library(self) -> Any:
        """Let all contexts seem to have the library."""
        return patch.object(_selection, "has_cudnn", return_value=True)


PRODUCTS = {"GpuCorrMM", "GpuCorrMM_gradInputs", "GpuCorrMM_gradWeights"}
LIBRARY = {"GpuDnnConv", "GpuDnnConvGradI", "GpuDnnConvGradW"}


class TestTags(ChoosingCase):
    def test_products_where_there_is_no_library(self) -> None:
        self.assertEqual(set(self.ops(FAST_RUN)), PRODUCTS)
        self.assertEqual(set(self.ops(FAST_RUN.excluding("conv_dnn"))), PRODUCTS)

    def test_the_library_where_there_is_one(self) -> None:
        with self.with_library():
            self.assertEqual(set(self.ops(FAST_RUN)), LIBRARY)
            self.assertEqual(set(self.ops(FAST_RUN.excluding("conv_gemm"))), LIBRARY)
            for tag in ("conv_dnn", "cudnn"):
                self.assertEqual(set(self.ops(FAST_RUN.excluding(tag))), PRODUCTS)

    def test_products_alone(self) -> None:
        with self.with_library():
            self.assertEqual(set(self.ops(FAST_RUN.including("conv_gemm"))), PRODUCTS)

    def test_none_is_left(self) -> None:
        for mode in (FAST_RUN.excluding("conv_gemm"), FAST_RUN.excluding("conv_gemm", "conv_dnn")):
            with self.assertRaises(dnn.NoConvolution) as caught:
                self.ops(mode)
            text = str(caught.exception)
            self.assertIn("no implementation of `GpuAbstractConv2d", text)
            self.assertIn("test_choosing.py:", text)
            self.assertIn("Hint: take one of the two out of optimizer_excluding", text)

    def test_the_library_is_required(self) -> None:
        with self.assertRaises(dnn.CudnnMissing) as caught:
            self.ops(FAST_RUN.including("cudnn"))
        self.assertIn("cuDNN cannot be used in the context tests", str(caught.exception))
        self.assertIn("cuDNN is for CUDA", str(caught.exception))
        with patch.object(_selection, "cudnn_problem", return_value=None), self.with_library():
            self.assertEqual(set(self.ops(FAST_RUN.including("cudnn"))), LIBRARY)

    def test_ops_that_programs_apply_stay(self) -> None:
        x, w = shared(self.x, target=NAME), shared(self.w, target=NAME)
        with self.with_library():
            self.assertEqual(set(self.ops(FAST_RUN, [T.device.GpuCorrMM()(x, w)])), {"GpuCorrMM"})
        self.assertEqual(set(self.ops(FAST_RUN.excluding("conv_dnn"), [dnn.dnn_conv(x, w)])), {"GpuDnnConv"})

    def test_volumes(self) -> None:
        x, w = shared(np.ones((1, 2, 4, 4, 3)), target=NAME), shared(np.ones((2, 2, 2, 2, 2)), target=NAME)
        y = conv3d(x, w)
        outputs = [y, *T.grad(y.sum(), [x, w])]
        expected = {name.replace("CorrMM", "Corr3dMM") for name in PRODUCTS}
        self.assertEqual(set(self.ops(FAST_RUN, outputs)), expected)
        with self.with_library(), config.change_flags(dnn__conv__algo_fwd="large"):
            result = self.ops(FAST_RUN, outputs)
            self.assertEqual(set(result), LIBRARY)
            self.assertEqual(result["GpuDnnConv"].algo, "large", "a flag is no error, though volumes have no such")


class TestAlgorithms(ChoosingCase):
    def algorithms(self, mode: Mode = FAST_RUN) -> list[str]:
        with self.with_library():
            result = self.ops(mode)
        return [result[name].algo for name in ("GpuDnnConv", "GpuDnnConvGradI", "GpuDnnConvGradW")]

    def test_flags(self) -> None:
        self.assertEqual(self.algorithms(), ["small", "none", "none"])
        with config.change_flags(
            dnn__conv__algo_fwd="time_once",
            dnn__conv__algo_bwd_data="winograd",
            dnn__conv__algo_bwd_filter="fft_tiling",
        ):
            self.assertEqual(self.algorithms(), ["time_once", "winograd", "fft_tiling"])

    def test_memory_that_may_be_used(self) -> None:
        guess = "guess_on_shape_change"
        self.assertEqual(self.algorithms(FAST_RUN.excluding("low_memory")), [guess] * 3)
        with config.change_flags(dnn__conv__algo_bwd_data="fft"):
            self.assertEqual(self.algorithms(FAST_RUN.excluding("low_memory")), [guess, "fft", guess])

    def test_kernels(self) -> None:
        x, w = shared(self.x, target=NAME), shared(self.w, target=NAME)
        for algo, once in (("fft", False), ("guess_once", True), ("time_on_shape_change", False)):
            node = dnn.dnn_conv(x, w, algo=algo).owner
            kernel = device_kernel(node)
            assert isinstance(kernel, DnnConvolutionKernel)
            self.assertIsInstance(kernel.convolution, ConvolutionKernel)
            self.assertEqual((kernel.algorithm, kernel.chosen is not None), (algo, once))

    def test_names_that_are_wrong(self) -> None:
        for flag, wrong in (("algo_fwd", "deterministic"), ("algo_bwd_data", "small"), ("algo_bwd_filter", "large"),
                            ("precision", "float8")):  # fmt: skip
            with self.subTest(flag), self.assertRaisesRegex(ValueError, wrong):
                setattr(config.dnn.conv, flag, wrong)
        volume, filters = shared(np.ones((1, 1, 3, 3, 3)), target=NAME), shared(np.ones((1, 1, 2, 2, 2)), target=NAME)
        with self.assertRaisesRegex(ValueError, "GpuDnnConv of volumes: unknown algo 'fft'\n.*'fft_tiling'"):
            dnn.dnn_conv3d(volume, filters, algo="fft")
        with self.assertRaisesRegex(ValueError, "GpuDnnConvGradW of volumes: unknown algo 'deterministic'"):
            dnn.dnn_gradweight3d(volume, volume, (1, 1, 1, 1, 1), algo="deterministic")
        dnn.dnn_conv3d(volume, filters, algo="fft_tiling")


class TestMeasuring(ChoosingCase):
    def measured(self, times: dict[str, float], **flags: Any) -> tuple[dict[str, Any], str]:
        """Return the ops that are chosen for implementations of some times, and the message."""

        def seconds(op: Any, node: Any, values: Any) -> float:
            return times[getattr(op, "algo", "gemm")]

        message = io.StringIO()
        with (
            self.with_library(),
            patch.object(_selection, "_seconds", seconds),
            config.change_flags(**flags),
            redirect_stderr(message),
        ):
            return self.ops(FAST_RUN.including("conv_meta")), message.getvalue()

    def test_the_fastest_is_chosen(self) -> None:
        slow = {"small": 3.0, "none": 3.0, "time_on_shape_change": 2.0, "gemm": 1.0}
        result, messages = self.measured(slow)
        self.assertEqual((set(result), messages), (PRODUCTS, ""))
        result, messages = self.measured({**slow, "small": 0.5, "gemm": 2.5}, metaopt__verbose=2)
        self.assertEqual({name: result[name].algo for name in LIBRARY}, {
            "GpuDnnConv": "small", "GpuDnnConvGradI": "time_on_shape_change",
            "GpuDnnConvGradW": "time_on_shape_change"})  # fmt: skip
        self.assertIn("conv_meta: 500000 us by conv_dnn as the flag says for ", messages)
        self.assertIn("conv_meta: 2500000 us by conv_gemm for ", messages)

    def test_some_are_left_out(self) -> None:
        times = {"small": 1.0, "none": 1.0, "time_on_shape_change": 1.0, "gemm": 2.0}
        for tag in ("conv_dnn", "cudnn", "other:conv_dnn"):
            self.assertEqual(set(self.measured(times, metaopt__optimizer_excluding=tag)[0]), PRODUCTS)
        self.assertEqual(set(self.measured(times, metaopt__optimizer_excluding="conv_gemm")[0]), LIBRARY)

    def test_times_are_taken_on_the_device(self) -> None:
        message = io.StringIO()
        with config.change_flags(metaopt__verbose=2), redirect_stderr(message):
            self.assertEqual(set(self.ops(FAST_RUN.including("conv_meta"))), PRODUCTS)
        self.assertEqual(message.getvalue().count(" us by conv_gemm for "), 3)

    def test_shapes_that_are_not_known(self) -> None:
        x, w = T.tensor4(dtype="float64"), shared(self.w, target=NAME)
        message = io.StringIO()
        with config.change_flags(metaopt__verbose=1), redirect_stderr(message):
            f = function([x], conv2d(x, w), mode=FAST_RUN.including("conv_meta"))
        self.assertIn("are not known, and nothing was measured", message.getvalue())
        self.assertIn("GpuCorrMM", {type(n.op).__name__ for n in f.maker.fgraph.apply_nodes})

    def test_shapes_of_test_values(self) -> None:
        x, w = T.tensor4(dtype="float64"), shared(self.w, target=NAME)
        x.tag.test_value = self.x
        message = io.StringIO()
        with config.change_flags(metaopt__verbose=2), redirect_stderr(message):
            function([x], conv2d(x, w), mode=FAST_RUN.including("conv_meta"))
        self.assertIn(" us by conv_gemm for ", message.getvalue())
