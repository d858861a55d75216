"""Convolutions of any geometry: values against loops, gradients by the identity of transposes, shapes."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
from hypothesis import assume, given, settings, strategies as st

import theano_tensor.nnet.convolution as C
from theano_testing.tensor import assert_allclose, fetch_seed
from theano_testing.tiers import examples, slow

from .convolution_cases import convolved

RNG = np.random.RandomState(fetch_seed())


@st.composite
def geometries(draw: Any) -> tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]:
    """Draw shapes of images and filters, and how they slide."""
    ndim = draw(st.integers(1, 3))

    def each(low: int, high: int) -> tuple[int, ...]:
        return tuple(draw(st.lists(st.integers(low, high), min_size=ndim, max_size=ndim)))

    groups, channels, filters = draw(st.tuples(*(st.integers(1, 2),) * 3))
    border = draw(st.sampled_from(["valid", "half", "full", "widths", "pairs"]))
    mode: Any = border
    if border == "widths":
        mode = each(0, 3)
    elif border == "pairs":
        mode = tuple(zip(each(0, 3), each(0, 3), strict=True))
    keywords = {
        "border_mode": mode,
        "subsample": each(1, 3),
        "filter_dilation": each(1, 2),
        "filter_flip": draw(st.booleans()),
        "num_groups": groups,
    }
    images = (draw(st.integers(1, 3)), groups * channels, *each(1, 6))
    return images, (groups * filters, channels, *each(1, 3)), keywords


class TestAnyGeometry(unittest.TestCase):
    @slow
    @given(geometries())
    @settings(deadline=None, max_examples=examples(150))
    def test_values_and_transposes(self, case: Any) -> None:
        images, filters, keywords = case
        ndim = len(images) - 2
        shape = C.get_conv_output_shape(
            images, filters, keywords["border_mode"], keywords["subsample"], keywords["filter_dilation"]
        )
        assume(min(shape) > 0)
        x, w, top = RNG.randn(*images), RNG.randn(*filters), RNG.randn(*shape)
        op = C.AbstractConv(ndim, **keywords)
        result = op.computed(x, w)
        assert_allclose(result, convolved(x, w, **keywords))
        inner = (result * top).sum()
        by_x = C.AbstractConv_gradInputs(ndim, **keywords)(w, top, images[2:]).eval()
        by_w = C.AbstractConv_gradWeights(ndim, **keywords)(x, top, filters[2:]).eval()
        self.assertEqual((by_x.shape, by_w.shape), (images, filters))
        assert_allclose((by_x * x).sum(), inner, rtol=1e-9, atol=1e-9)
        assert_allclose((by_w * w).sum(), inner, rtol=1e-9, atol=1e-9)
