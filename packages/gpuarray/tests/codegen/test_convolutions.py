"""Device forms of convolutions and their gradients, against sums that are written out."""

from __future__ import annotations

import itertools
import unittest
from typing import Any

import numpy as np

from theano_linker_c.kernels import ConvolutionKernel
from theano_testing.gpuarray import needs_opencl
from theano_testing.tiers import slow

from .form_support import Recorder, on_card

TOLERANCES = {"float16": 3e-2, "float32": 1e-4, "float64": 1e-10}


class Sliding:
    """How filters of a kernel slide over images, with one sum for each tap."""

    def __init__(self, kernel: ConvolutionKernel, image: tuple[int, ...], taps: tuple[int, ...]) -> None:
        self.kernel, self.image, self.taps = kernel, image, taps
        spans = [(k - 1) * d for k, d in zip(taps, kernel.dilations, strict=True)]
        named = {
            "valid": [(0, 0)] * len(taps),
            "half": [((s + 1) // 2,) * 2 for s in spans],
            "full": [(s, s) for s in spans],
        }
        self.border: Any = named[kernel.border] if isinstance(kernel.border, str) else kernel.border
        self.output = tuple(
            (n + sum(b) - s - 1) // step + 1
            for n, b, s, step in zip(image, self.border, spans, kernel.strides, strict=True)
        )

    def pairs(self) -> Any:
        """Yield for each tap its place in the filters and where it meets the padded images."""
        for tap in itertools.product(*map(range, self.taps)):
            position = tuple(k - 1 - t for k, t in zip(self.taps, tap, strict=True)) if self.kernel.flip else tap
            starts = [t * d for t, d in zip(tap, self.kernel.dilations, strict=True)]
            seen = tuple(
                slice(b, b + (n - 1) * s + 1, s)
                for b, n, s in zip(starts, self.output, self.kernel.strides, strict=True)
            )
            yield position, seen

    def padded(self, x: Any) -> Any:
        return np.pad(x, ((0, 0), (0, 0), *self.border))

    def grouped(self, x: Any, axis: int) -> list[Any]:
        return np.split(x, self.kernel.groups, axis)

    def forward(self, x: Any, w: Any) -> Any:
        parts = []
        for image, filters in zip(self.grouped(self.padded(x), 1), self.grouped(w, 0), strict=True):
            total: Any = 0
            for position, seen in self.pairs():
                total = total + np.einsum("nc...,fc->nf...", image[:, :, *seen], filters[:, :, *position])
            parts.append(total)
        return np.concatenate(parts, 1)

    def input_grad(self, w: Any, top: Any, channels: int) -> Any:
        result = self.padded(np.zeros((top.shape[0], channels, *self.image)))
        for part, g, filters in zip(self.grouped(result, 1), self.grouped(top, 1), self.grouped(w, 0), strict=True):
            for position, seen in self.pairs():
                part[:, :, *seen] += np.einsum("nf...,fc->nc...", g, filters[:, :, *position])
        inside = tuple(slice(before, before + n) for (before, _), n in zip(self.border, self.image, strict=True))
        return result[:, :, *inside]

    def weight_grad(self, x: Any, top: Any) -> Any:
        parts = []
        for image, g in zip(self.grouped(self.padded(x), 1), self.grouped(top, 1), strict=True):
            part = np.zeros((g.shape[1], image.shape[1], *self.taps))
            for position, seen in self.pairs():
                flat = image[:, :, *seen].reshape(*image.shape[:2], int(np.prod(self.output)))
                part[:, :, *position] = np.einsum("nfz,ncz->fc", g.reshape(*g.shape[:2], flat.shape[2]), flat)
            parts.append(part)
        return np.concatenate(parts, 0)


class ConvolutionCase(unittest.TestCase):
    card = False

    def compare(self, result: Any, expected: Any, dtype: str) -> None:
        scale = max(1.0, float(np.abs(expected).max(initial=0)))
        np.testing.assert_allclose(result, expected, rtol=TOLERANCES[dtype], atol=TOLERANCES[dtype] * scale)
        self.assertEqual((result.dtype, result.shape), (np.dtype(dtype), expected.shape))

    def check(self, *options: Any, dtype: str = "float32", image: tuple[int, ...] = (), images: int = 2) -> None:
        """Compare all three tasks with strides, dilations, border, flip and groups as given."""
        rng, axes, groups = np.random.default_rng(0), len(options[0]), options[4]
        image, taps = image or (9, 8, 7)[:axes], (3, 2, 2)[:axes]
        x = rng.normal(size=(images, 3 * groups, *image)).astype(dtype)
        w = rng.normal(size=(4 * groups, 3, *taps)).astype(dtype)
        kernels = [ConvolutionKernel(task, dtype, *options) for task in ("forward", "input_grad", "weight_grad")]
        sliding, recorder = Sliding(kernels[0], image, taps), Recorder(card=self.card)
        wide = x.astype("float64"), w.astype("float64")
        expected = sliding.forward(*wide)
        top = rng.normal(size=expected.shape).astype(dtype)
        (result,) = recorder.run(kernels[0], [on_card(x), w])
        self.compare(result, expected, dtype)
        (result,) = recorder.run(kernels[1], [w, on_card(top), np.array(image)])
        self.compare(result, sliding.input_grad(wide[1], top.astype("float64"), x.shape[1]), dtype)
        (result,) = recorder.run(kernels[2], [x, on_card(top), np.array(taps)])
        self.compare(result, sliding.weight_grad(wide[0], top.astype("float64")), dtype)
        self.assertLessEqual(recorder.launches, 6)


@needs_opencl
class TestConvolutions(ConvolutionCase):
    def test_two_axes(self) -> None:
        self.check((1, 1), (1, 1), "valid", True, 1)
        self.check((2, 3), (2, 1), "half", False, 2)

    def test_one_axis(self) -> None:
        self.check((2,), (2,), "full", True, 1)

    def test_three_axes(self) -> None:
        self.check((1, 2, 1), (1, 1, 2), ((1, 0), (2, 1), (0, 3)), True, 1, dtype="float64")

    def test_many_positions(self) -> None:
        self.check((1, 1), (1, 1), "full", True, 1, image=(40, 40), images=8)

    def test_half_precision(self) -> None:
        self.check((1, 1), (1, 1), "valid", True, 1, dtype="float16")

    def test_no_images(self) -> None:
        self.check((1, 1), (1, 1), "valid", True, 1, images=0)


@needs_opencl
class TestConvolutionsOfCards(ConvolutionCase):
    card = True

    @slow
    def test_two_axes(self) -> None:
        self.check((2, 3), (2, 1), "half", False, 2)
        self.check((1, 1), (1, 1), "full", True, 1, image=(40, 40), images=8)


@needs_opencl
class TestRefusals(unittest.TestCase):
    def refuse(self, task: Any, values: list[Any], text: str, groups: int = 1) -> None:
        kernel = ConvolutionKernel(task, "float32", (1, 1), (1, 1), "valid", True, groups)
        with self.assertRaisesRegex(ValueError, text):
            Recorder().run(kernel, values)

    def test_shapes_that_do_not_fit(self) -> None:
        x, w = np.zeros((2, 3, 5, 5), "float32"), np.zeros((4, 3, 2, 2), "float32")
        self.refuse("forward", [x, w[:, :2]], "AbstractConv2d: images and filters differ in input channels\n")
        self.refuse("forward", [x, w], "differ in input channels, times 2 groups", groups=2)
        self.refuse("forward", [np.zeros((2, 9, 5, 5), "float32"), w], "4 filters cannot be divided into 3 groups", 3)
        self.refuse("forward", [x[:, :, :1], w], "the filters do not fit into the images")
        text = r"AbstractConv2d_gradInputs: the result of the convolution has the shape \(2, 4, 4, 4\)"
        self.refuse("input_grad", [w, np.zeros((2, 4, 3, 4), "float32"), np.array([5, 5])], text)
        text = r"AbstractConv2d_gradWeights: the result of the convolution has the shape \(2, 4, 4, 4\)"
        self.refuse("weight_grad", [x, np.zeros((2, 4, 3, 4), "float32"), np.array([2, 2])], text)
