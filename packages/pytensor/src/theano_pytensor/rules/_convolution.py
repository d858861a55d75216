"""Convolutions of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

import theano.tensor as T
from theano.tensor.nnet import conv2d

from .._table import NoRule, Site, rule


@rule("tensor.Convolve1d")
def _convolve(site: Site) -> Any:
    """Convolve as images of one row; "valid" is a part of "full"."""
    a, b, is_full = site.inputs
    dtype = site.outputs[0].type.dtype
    if np.dtype(dtype).kind != "f":
        raise NoRule("a convolution of integers or complex numbers")
    image, kernel = (T.cast(x, dtype).dimshuffle("x", "x", "x", 0) for x in (a, b))
    full = conv2d(image, kernel, border_mode="full")[0, 0, 0]
    lengths = T.stack([a.shape[0], b.shape[0]])
    whole = T.neq(is_full, 0)
    start = T.switch(whole, 0, T.min(lengths) - 1)
    return full[start : T.switch(whole, T.sum(lengths) - 1, T.max(lengths))]
