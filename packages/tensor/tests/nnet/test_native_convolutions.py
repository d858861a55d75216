"""Convolutions in the runtime against those in Python, for any geometry, layout and size."""

from __future__ import annotations

import threading
import unittest
from typing import Any
from unittest import mock

import numpy as np
from hypothesis import assume, given, settings, strategies as st

import theano_tensor as tt
import theano_tensor.nnet.convolution as C
from theano_linker_c import Mode, function
from theano_linker_c.kernels import ConvolutionKernel
from theano_testing.tensor import fetch_seed
from theano_testing.tiers import examples, slow

RNG = np.random.RandomState(fetch_seed())
NATIVE, PYTHON = Mode("cvm", None), Mode("vm", None)
KINDS = (C.AbstractConv, C.AbstractConv_gradInputs, C.AbstractConv_gradWeights)


def tensor(dtype: str, ndim: int) -> Any:
    return tt.TensorType(dtype, (None,) * ndim)()


def tasks(f: Any) -> list[str]:
    """Return the convolutions that a function leaves to the runtime."""
    kernels = [instruction.kernel for instruction in f.fn.program.instructions]
    return [kernel.task for kernel in kernels if isinstance(kernel, ConvolutionKernel)]


def forms(ndim: int, dtype: str, keywords: dict[str, Any], mode: Mode) -> list[Any]:
    """Return the convolution and its gradients as functions; the gradients take lengths as their last argument."""
    x, w, top, n = (*(tensor(dtype, 2 + ndim) for _ in range(3)), tt.lvector())
    forward, input_grad, weight_grad = (kind(ndim, **keywords) for kind in KINDS)
    lengths = [n[i] for i in range(ndim)]
    return [
        function([x, w], forward(x, w), mode=mode),
        function([w, top, n], input_grad(w, top, lengths), mode=mode),
        function([x, top, n], weight_grad(x, top, lengths), mode=mode),
    ]


def result_shape(images: Any, filters: Any, keywords: dict[str, Any]) -> tuple[int, ...]:
    """Return the shape of the convolution."""
    steps = keywords.get("subsample", (1,) * (len(images) - 2))
    border, dilation = keywords.get("border_mode", "valid"), keywords.get("filter_dilation")
    return C.get_conv_output_shape(images, filters, border, steps, dilation)


def fits(images: Any, filters: Any, keywords: dict[str, Any]) -> bool:
    """Tell whether there is a result."""
    return all(n > 0 for n in result_shape(images, filters, keywords))


def operands(images: Any, filters: Any, keywords: dict[str, Any], dtype: str) -> list[tuple[Any, ...]]:
    """Return arguments of the three functions."""
    shape = result_shape(images, filters, keywords)
    x, w, top = (RNG.randn(*s).astype(dtype) for s in (images, filters, shape))
    return [(x, w), (w, top, np.array(images[2:])), (x, top, np.array(filters[2:]))]


@st.composite
def geometries(draw: Any) -> tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]:
    """Draw shapes of images and filters, and how they slide."""
    ndim = draw(st.integers(1, 3))

    def each(low: int, high: int) -> tuple[int, ...]:
        return tuple(draw(st.lists(st.integers(low, high), min_size=ndim, max_size=ndim)))

    groups = draw(st.integers(1, 3))
    channels, filters = draw(st.integers(1, 4)), draw(st.sampled_from([1, 2, 3, 5, 9, 17]))
    mode: Any = draw(st.sampled_from(["valid", "half", "full", "pairs"]))
    if mode == "pairs":
        mode = tuple(zip(each(0, 4), each(0, 4), strict=True))
    keywords = {
        "border_mode": mode,
        "subsample": each(1, 4),
        "filter_dilation": each(1, 3),
        "filter_flip": draw(st.booleans()),
        "num_groups": groups,
    }
    longest = {1: 40, 2: 19, 3: 6}[ndim]
    images = (draw(st.integers(1, 3)), groups * channels, *each(1, longest))
    widest = draw(st.sampled_from([4, 4, longest]))
    return images, (groups * filters, channels, *each(1, widest)), keywords


class TestAgainstPython(unittest.TestCase):
    def check(self, images: Any, filters: Any, keywords: dict[str, Any], dtype: str = "float64") -> None:
        operand = operands(images, filters, keywords, dtype)
        tolerance = 1e-4 if dtype == "float32" else 1e-11
        native, python = (forms(len(images) - 2, dtype, keywords, mode) for mode in (NATIVE, PYTHON))
        for task, f, g, values in zip(("forward", "input_grad", "weight_grad"), native, python, operand, strict=True):
            self.assertEqual((tasks(f), tasks(g)), ([task], []))
            with mock.patch.object(f.fn.program.instructions[-1].node.op, "perform", side_effect=AssertionError):
                result = f(*values)
            expected = g(*values)
            self.assertEqual((result.dtype, result.shape), (expected.dtype, expected.shape))
            np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance * (1 + abs(expected).max()))

    @slow
    @given(geometries(), st.sampled_from(["float32", "float64"]))
    @settings(deadline=None, max_examples=examples(120))
    def test_any_geometry(self, case: Any, dtype: str) -> None:
        images, filters, keywords = case
        assume(fits(images, filters, keywords))
        self.check(images, filters, keywords, dtype)

    def test_many_taps_filters_and_images(self) -> None:
        for images, filters, keywords in (
            ((2, 70, 9, 11), (37, 70, 3, 3), {"border_mode": "half"}),
            ((3, 8, 5, 5), (130, 8, 1, 1), {}),
            ((1, 3, 40, 50), (6, 3, 5, 5), {"subsample": (2, 3)}),
            ((70, 1, 12, 12), (20, 1, 5, 5), {}),
            ((2, 12, 30, 30), (12, 1, 3, 3), {"num_groups": 12, "border_mode": 1}),
        ):
            for dtype in ("float32", "float64"):
                with self.subTest(images=images, dtype=dtype):
                    self.check(images, filters, keywords, dtype)

    def test_filters_about_as_large_as_images(self) -> None:
        """Gradients by images add windows here, unless the filters have few taps or many steps."""
        for images, filters, keywords in (
            ((9, 1, 5, 40), (3, 1, 2, 40), {}),  # as wide
            ((9, 2, 40, 5), (4, 2, 40, 2), {"filter_flip": False}),  # as tall
            ((11, 4, 12, 12), (6, 2, 12, 12), {"num_groups": 2}),  # one position, in several images
            ((2, 6, 12, 13), (9, 2, 10, 11), {"num_groups": 3, "subsample": (2, 1)}),
            ((3, 2, 12, 25), (4, 2, 5, 12), {"filter_dilation": (2, 2)}),
            ((2, 3, 9, 20), (5, 3, 9, 20), {"border_mode": ((2, 1), (7, 0))}),
            ((2, 1, 6, 17), (17, 1, 4, 9), {"border_mode": "half", "filter_dilation": (1, 3), "subsample": (1, 2)}),
            ((3, 2, 8, 9), (5, 2, 9, 12), {"border_mode": "full"}),
            ((5, 2, 50), (3, 2, 47), {}),
            ((2, 2, 5, 6, 14), (3, 2, 4, 5, 14), {"filter_flip": False, "border_mode": (1, 0, 0)}),
        ):
            for dtype in ("float32", "float64"):
                with self.subTest(images=images, filters=filters, dtype=dtype):
                    self.check(images, filters, keywords, dtype)

    def test_small_images_after_each_other(self) -> None:
        for count in range(1, 25):
            self.check((count, 1, 1, 1), (1, 1, 1, 1), {}, "float32")
            self.check((count, 1, 1, 3), (3, 1, 1, 2), {}, "float32")

    def test_steps_beyond_filters(self) -> None:
        self.check((2, 3, 11, 12), (4, 3, 2, 1), {"subsample": (5, 3), "border_mode": 1})
        self.check((2, 3, 3, 4), (4, 3, 2, 2), {"subsample": (7, 9)})
        self.check((1, 2, 9, 9), (3, 2, 2, 2), {"subsample": (2, 4), "filter_dilation": (2, 2)})

    def test_layouts(self) -> None:
        x, w = RNG.randn(3, 4, 9, 8), RNG.randn(5, 4, 3, 3)
        f, g = (forms(2, "float64", {}, mode)[0] for mode in (NATIVE, PYTHON))
        for images in (x[::-1, :, ::2], x.transpose(2, 1, 0, 3)[:4, :, :3], np.asfortranarray(x), x[:, :, 1:, 2:]):
            for filters in (w, w[::-1, :, ::-1], np.asfortranarray(w)):
                np.testing.assert_allclose(f(images, filters), g(images, filters), atol=1e-12)

    def test_elements_that_are_no_numbers(self) -> None:
        x, w = RNG.randn(2, 2, 6, 6), RNG.randn(3, 2, 3, 3)
        x[0, 1, 2, 3], x[1, 0, 0, 0] = np.nan, np.inf
        for keywords in ({}, {"border_mode": "half", "subsample": (2, 1)}):
            for f, g, values in zip(
                forms(2, "float64", keywords, NATIVE),
                forms(2, "float64", keywords, PYTHON),
                operands(x.shape, w.shape, keywords, "float64"),
                strict=True,
            ):
                operand = tuple(x if v.shape == x.shape else v for v in values)
                np.testing.assert_allclose(f(*operand), g(*operand), atol=1e-12)

    def test_results_do_not_depend_on_calls_before(self) -> None:
        for f, values in zip(
            forms(2, "float32", {}, NATIVE), operands((9, 3, 20, 20), (8, 3, 4, 4), {}, "float32"), strict=True
        ):
            first, again = f(*values), f(*values)
            self.assertIsNot(first, again)
            np.testing.assert_array_equal(first, again)
            saved = first.copy()
            f(*(v if v.ndim == 1 else 2 * v for v in values))
            np.testing.assert_array_equal(first, saved)

    def test_several_threads(self) -> None:
        f = forms(2, "float32", {"border_mode": "half"}, NATIVE)[2]
        values = operands((40, 8, 16, 16), (24, 8, 3, 3), {"border_mode": "half"}, "float32")[2]
        expected, outcome = f(*values), [None] * 4

        def call(i: int) -> None:
            for _ in range(5):
                outcome[i] = f(*values)

        threads = [threading.Thread(target=call, args=(i,)) for i in range(len(outcome))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for result in outcome:
            np.testing.assert_array_equal(result, expected)


class TestWithoutNativeForm(unittest.TestCase):
    def test_what_stays_in_python(self) -> None:
        cases: tuple[tuple[Any, Any], ...] = (
            (C.conv2d(tensor("float16", 4), tensor("float16", 4)), (1, 1, 3, 3)),
            (C.conv2d(tensor("int64", 4), tensor("int64", 4)), (1, 1, 3, 3)),
            (C.AbstractConv(4)(tensor("float64", 6), tensor("float64", 6)), (1, 1, 2, 2, 2, 2)),
            (C.conv2d(tensor("float64", 4), tensor("float64", 4), subsample=(1 << 21, 1)), (1, 1, 3, 3)),
        )
        for output, shape in cases:
            f: Any = function(list(output.owner.inputs), output, mode=NATIVE)
            self.assertEqual(tasks(f), [])
            one = np.ones(shape, output.type.dtype)
            self.assertEqual(f(one, one).ravel()[0], one.size)
        x, w = tensor("float64", 4), tensor("float64", 6)
        f = function([x, w], C.conv2d(x, w, unshared=True), mode=NATIVE)
        self.assertEqual(tasks(f), [])
        self.assertEqual(f(np.ones((1, 1, 2, 2)), np.ones((1, 1, 1, 1, 2, 2))).tolist(), [[[[4.0]]]])

    def test_nothing_to_do(self) -> None:
        f = forms(2, "float64", {}, NATIVE)
        self.assertEqual(f[0](np.ones((0, 2, 4, 4)), np.ones((3, 2, 2, 2))).shape, (0, 3, 3, 3))
        self.assertEqual(f[0](np.ones((2, 0, 4, 4)), np.ones((3, 0, 2, 2))).tolist(), np.zeros((2, 3, 3, 3)).tolist())
        weight_grad = f[2](np.ones((0, 2, 4, 4)), np.ones((0, 3, 3, 3)), [2, 2])
        self.assertEqual(weight_grad.tolist(), np.zeros((3, 2, 2, 2)).tolist())

    def test_the_same_errors(self) -> None:
        x, w = np.ones((2, 4, 5, 5)), np.ones((6, 4, 3, 3))
        cases: tuple[tuple[int, dict[str, Any], tuple[Any, ...]], ...] = (
            (0, {}, (x, w[:, :3])),
            (0, {"num_groups": 4}, (x, w[:, :1])),
            (0, {}, (x[:, :, :2], w)),
            (0, {"filter_dilation": (3, 1)}, (x, w)),
            (0, {}, (x, w[:, :, :0])),
            (1, {}, (w, np.ones((2, 6, 3, 3)), [6, 5])),
            (1, {}, (w, np.ones((2, 5, 3, 3)), [5, 5])),
            (1, {}, (w, np.ones((2, 6, 3, 3)), [-1, 5])),
            (1, {"subsample": (2, 2)}, (w, np.ones((2, 6, 3, 3)), [5, 5])),
            (2, {}, (x, np.ones((2, 6, 3, 3)), [2, 3])),
            (2, {}, (x, np.ones((1, 6, 3, 3)), [3, 3])),
            (2, {}, (x, np.ones((2, 6, 3, 3)), [1 << 60, 1 << 60])),
        )
        for number, keywords, values in cases:
            texts = []
            for mode in (NATIVE, PYTHON):
                with self.subTest(number=number, mode=str(mode)), self.assertRaises(ValueError) as caught:
                    forms(2, "float64", keywords, mode)[number](*values)
                texts.append(str(caught.exception).split("Inputs")[0].splitlines()[0])
            self.assertEqual(*texts)
