"""Convolutions and their gradients against loops: values, derivatives of any order, shapes, both machines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import theano_tensor as tt
import theano_tensor.nnet.convolution as C
import theano_tensor.rewrites  # the full pipeline is under test
from theano_testing.tensor import OpRecord, OpTestCase, fetch_seed, op_tests

from .convolution_cases import CASES, convolved

del OpTestCase  # a base class without a record is no test

RNG = np.random.RandomState(fetch_seed())


def _by_finite_sums(x: Any, w: Any, top: Any, keywords: dict[str, Any]) -> tuple[Any, Any]:
    """The gradients by images and filters: a convolution is linear in each, so unit vectors tell them."""
    by_x, by_w = np.zeros_like(x), np.zeros_like(w)
    calls: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
        (by_x, lambda unit: convolved(unit, w, **keywords)),
        (by_w, lambda unit: convolved(x, unit, **keywords)),
    )
    for target, call in calls:
        for i in np.ndindex(*target.shape):
            unit = np.zeros_like(target)
            unit[i] = 1
            target[i] = (call(unit) * top).sum()
    return by_x, by_w


#: Sums of many terms of both signs: libraries add them in different orders.
CANCELLED = 2000.0


def _records(name: str, images: tuple[int, ...], filters: tuple[int, ...], keywords: dict[str, Any]) -> list[OpRecord]:
    conv = C.conv2d if len(images) == 4 else C.conv3d
    x, w = RNG.randn(*images), RNG.randn(*filters)
    top = RNG.randn(*convolved(x, w, **keywords).shape)
    ndim = len(images) - 2
    by_inputs = C.conv2d_grad_wrt_inputs if ndim == 2 else C.conv3d_grad_wrt_inputs
    by_weights = C.conv2d_grad_wrt_weights if ndim == 2 else C.conv3d_grad_wrt_weights
    by_x, by_w = _by_finite_sums(x, w, top, keywords)
    return [
        OpRecord(
            f"convolution_{name}",
            lambda x, w: conv(x, w, **keywords),
            lambda x, w: convolved(x, w, **keywords),
            [[x, w], [x.astype("float32"), w.astype("float32")], [x[:0], w]],
            [[x, w]],
        ),
        OpRecord(
            f"gradient_by_images_{name}",
            lambda w, top: by_inputs(top, w, images, **keywords),
            lambda w, top: by_x.astype(top.dtype),
            [[w, top], [w.astype("float32"), top.astype("float32")]],
            [[w, top]],
            ulp=CANCELLED,
        ),
        OpRecord(
            f"gradient_by_filters_{name}",
            lambda x, top: by_weights(x, top, filters, **keywords),
            lambda x, top: by_w.astype(top.dtype),
            [[x, top], [x.astype("float32"), top.astype("float32")]],
            [[x, top]],
            ulp=CANCELLED,
        ),
    ]


def _second(x: Any, w: Any) -> Any:
    """A gradient of a gradient."""
    by_x = tt.grad((C.conv2d(x, w, border_mode="half", subsample=(2, 1)) ** 2).sum(), x)
    return tt.grad((by_x**2).sum(), w)


def _second_by_numbers(x: Any, w: Any) -> Any:
    result, step = np.zeros_like(w), 1e-5
    for i in np.ndindex(*w.shape):
        sides = []
        for sign in (1, -1):
            moved = w.copy()
            moved[i] += sign * step
            keywords: dict[str, Any] = {"border_mode": "half", "subsample": (2, 1)}
            top = 2 * convolved(x, moved, **keywords)
            sides.append((_by_finite_sums(x, moved, top, keywords)[0] ** 2).sum())
        result[i] = (sides[0] - sides[1]) / (2 * step)
    return result


SMALL = RNG.randn(1, 1, 3, 3), RNG.randn(2, 1, 2, 2)
RECORDS = [
    *(record for case in CASES for record in _records(*case)),
    OpRecord("second_derivative_of_a_convolution", _second, _second_by_numbers, [SMALL], [SMALL], ulp=1e9),
    OpRecord(
        "convolution_by_former_arguments",
        lambda x, w: C.former_conv2d(x, w, border_mode="full", subsample=(2, 1), unroll_kern=2),
        lambda x, w: convolved(x, w, "full", (2, 1)),
        [[*SMALL], [v.astype("float32") for v in SMALL]],
        [[*SMALL]],
    ),
    OpRecord(
        "convolution_of_float16",
        C.conv2d,
        lambda x, w: convolved(x.astype("float32"), w.astype("float32")).astype("float16"),
        [[SMALL[0].astype("float16"), SMALL[1].astype("float16")]],
        ulp=2,
    ),
    OpRecord(
        "convolution_of_integers",
        C.conv2d,
        convolved,
        [[np.arange(16).reshape(1, 1, 4, 4), np.arange(8).reshape(2, 1, 2, 2)]],
    ),
]

for _record in RECORDS:
    _class = op_tests(_record)
    assert _class.__name__ not in globals(), f"two records are called {_record.name}"
    globals()[_class.__name__] = _class
del _class
