"""Activations, softmax and losses against NumPy and SciPy: values, gradients, R-ops, shapes, both machines."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

import theano_tensor as tt
import theano_tensor.nnet as N
import theano_tensor.rewrites  # the full pipeline is under test
from theano_tensor.nnet import losses
from theano_testing.tensor import OpRecord, OpTestCase, fetch_seed, op_tests

del OpTestCase  # a base class without a record is no test

RNG = np.random.RandomState(fetch_seed())
MATRIX, CUBE = RNG.randn(3, 4), RNG.randn(2, 3, 4)
SINGLE = MATRIX.astype("float32")
BIAS, CLASSES = RNG.randn(4), np.array([2, 0, 3])
BOTH = ("float32", "float64")
#: Without the positions where pieces meet.
AWAY = np.array([[-7.5, -4.0, -1.0], [0.5, 3.0, 6.5]])
SHARES = special.softmax(RNG.randn(3, 4), axis=1)


def _ultra_fast(x: Any) -> Any:
    """The manual's function, number by number."""
    result = np.empty_like(x)
    for i, value in np.ndenumerate(x):
        size = abs(value) / 2
        if size < 1.7:
            z = 1.5 * size / (1 + size)
        elif size < 3:
            z = 0.935409070603099 + 0.0458812946797165 * (size - 1.7)
        else:
            z = 0.99505475368673
        result[i] = 0.5 * (np.sign(value) * z + 1)
    return result


def _elu(x: Any, alpha: float = 1.0) -> Any:
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0))).astype(x.dtype)


def _picked(x: Any) -> Any:
    return x[np.arange(len(x)), CLASSES[: len(x)]]


def _hot(x: Any, b: Any) -> Any:
    shares = special.softmax(x + b, axis=1)
    return [-_picked(special.log_softmax(x + b, axis=1)), shares, shares.max(1), shares.argmax(1)]


RECORDS = (
    OpRecord("ultra_fast_sigmoid", N.ultra_fast_sigmoid, _ultra_fast, [[AWAY], [AWAY.astype("float32")]], [[AWAY]]),
    OpRecord(
        "hard_sigmoid",
        N.hard_sigmoid,
        lambda x: np.clip(0.2 * x + 0.5, 0, 1).astype(x.dtype),
        [[AWAY], [AWAY.astype("float32")]],
        [[AWAY]],
    ),
    OpRecord("softsign", N.softsign, lambda x: x / (1 + abs(x)), [[AWAY], [AWAY.astype("float32")]], [[AWAY]]),
    OpRecord("relu", N.relu, lambda x: np.maximum(x, 0), [[AWAY], [AWAY.astype("float32")]], [[AWAY]]),
    OpRecord(
        "leaky_relu",
        N.relu,
        lambda x, a: np.where(x > 0, x, a * x),
        [[AWAY, np.array([0.1, 0.2, 1.5])]],
        [[AWAY, np.array([0.1, 0.2, 1.5])]],
    ),
    OpRecord("elu", N.elu, _elu, [[AWAY], [AWAY.astype("float32")]], [[AWAY]]),
    OpRecord(
        "selu",
        N.selu,
        lambda x: (1.0507009873554805 * _elu(x, 1.6732632423543772)).astype(x.dtype),
        [[AWAY]],
        [[AWAY]],
    ),
    OpRecord(
        "softmax", N.softmax, lambda x: special.softmax(x, axis=1), [[MATRIX], [SINGLE], [MATRIX[:, :1]]], [[MATRIX]]
    ),
    OpRecord(
        "softmax_along_axes",
        lambda x: [N.softmax(x, axis=k) for k in (0, 1, -1)],
        lambda x: [special.softmax(x, axis=k) for k in (0, 1, -1)],
        [[CUBE], [CUBE.astype("float32")]],
        [[CUBE]],
    ),
    OpRecord("softmax_of_nothing", N.softmax, lambda x: x, [[MATRIX[:0]], [MATRIX[:, :0]]]),
    OpRecord(
        "softmax_of_a_vector",
        N.softmax,
        lambda x: special.softmax(x)[None],
        [[BIAS], [BIAS.astype("float32")]],
        [[BIAS]],
    ),
    OpRecord(
        "logsoftmax",
        lambda x: [N.logsoftmax(x), N.logsoftmax(x, axis=0)],
        lambda x: [special.log_softmax(x, axis=1), special.log_softmax(x, axis=0)],
        [[MATRIX], [SINGLE]],
        [[MATRIX]],
    ),
    OpRecord(
        "softmax_with_bias",
        N.softmax_with_bias,
        lambda x, b: special.softmax(x + b, axis=1),
        [[MATRIX, BIAS]],
        [[MATRIX, BIAS]],
    ),
    OpRecord(
        "binary_crossentropy",
        N.binary_crossentropy,
        lambda o, t: np.asarray(-(t * np.log(o) + (1 - t) * np.log1p(-o)), o.dtype),
        domain=[(0.05, 0.95), (0.0, 1.0)],
        dtypes=BOTH,
    ),
    OpRecord(
        "sigmoid_binary_crossentropy",
        N.sigmoid_binary_crossentropy,
        lambda x, t: np.asarray(np.maximum(x, 0) - x * t + np.log1p(np.exp(-abs(x))), x.dtype),
        domain=[(0.1, 9.0), (0.0, 1.0)],
        dtypes=BOTH,
    ),
    OpRecord(
        "categorical_crossentropy",
        N.categorical_crossentropy,
        lambda p, t: -(t * np.log(p)).sum(1),
        [[SHARES, SHARES[::-1].copy()], [SHARES.astype("float32"), SHARES[::-1].astype("float32")]],
        [[SHARES, SHARES[::-1].copy()]],
    ),
    OpRecord(
        "categorical_crossentropy_of_classes",
        lambda p: N.categorical_crossentropy(p, CLASSES),
        lambda p: -np.log(_picked(p)),
        [[SHARES], [SHARES.astype("float32")]],
        [[SHARES]],
    ),
    OpRecord(
        "categorical_crossentropy_of_stacks",
        lambda p: N.categorical_crossentropy(p, CLASSES[None]),
        lambda p: -np.log(p[0, np.arange(3), CLASSES])[None],
        [[SHARES[None]]],
        [[SHARES[None]]],
    ),
    OpRecord(
        "losses_with_bias",
        lambda x, b: [
            *N.crossentropy_softmax_argmax_1hot_with_bias(x, b, CLASSES),
            *N.crossentropy_softmax_1hot_with_bias(x, b, CLASSES),
            *N.crossentropy_softmax_max_and_argmax_1hot_with_bias(x, b, CLASSES),
        ],
        lambda x, b: [*(_hot(x, b)[i] for i in (0, 1, 3, 0, 1)), *_hot(x, b)],
        [[MATRIX, BIAS], [SINGLE, BIAS.astype("float32")]],
    ),
    OpRecord(
        "losses",
        lambda x: [
            *N.crossentropy_softmax_1hot(x, CLASSES),
            *N.crossentropy_softmax_max_and_argmax_1hot(x, CLASSES),
        ],
        lambda x: [*_hot(x, 0.0)[:2], *_hot(x, 0.0)],
        [[MATRIX]],
    ),
    OpRecord(
        "loss_and_softmax",
        lambda x, b: N.crossentropy_softmax_argmax_1hot_with_bias(x, b, CLASSES)[:2],
        lambda x, b: _hot(x, b)[:2],
        [[MATRIX, BIAS]],
        [[MATRIX, BIAS]],
    ),
    OpRecord(
        "rows_with_a_number_in_front",
        lambda m, v: [
            losses.prepend_scalar_to_each_row(v, m),
            losses.prepend_1_to_each_row(m),
            losses.prepend_0_to_each_row(m),
        ],
        lambda m, v: [np.concatenate([np.full((len(m), 1), n, m.dtype), m], 1) for n in (v, 1, 0)],
        [[MATRIX, np.array(2.5)], [SINGLE, np.array(2.5, "float32")]],
        [[MATRIX, np.array(2.5)]],
    ),
    OpRecord(
        "gradient_of_softmax",
        lambda x: tt.grad((N.softmax(x) ** 2).sum(), x),
        lambda x: 2 * (s := special.softmax(x, axis=1)) * (s - (s * s).sum(1, keepdims=True)),
        [[MATRIX], [SINGLE]],
        [[MATRIX]],
    ),
)

for _record in RECORDS:
    _class = op_tests(_record)
    assert _class.__name__ not in globals(), f"two records are called {_record.name}"
    globals()[_class.__name__] = _class
del _class
