"""Training steps of two networks, on the host or on a device."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

import theano_tensor as T
from theano_gpuarray.contexts import list_contexts, open_context, reg_context
from theano_linker_c import function, shared
from theano_tensor import device as device, nnet  # device: lifts computations with arrays of devices
from theano_tensor.nnet.convolution import conv2d
from theano_tensor.signal import pool

SIZES = (20, 16, 12, 10)
BATCH, RATE = 32, np.float32(0.1)


@cache
def context(devname: str) -> str:
    """Open a device, and return the name of its context."""
    name = f"tests on {devname}"
    if name not in list_contexts():
        reg_context(name, open_context(devname))
    return name


def perceptron(target: str | None) -> tuple[Any, list[Any]]:
    """Return the training step of a perceptron with softmax, and its parameters."""
    rng = np.random.default_rng(1)
    x, y = T.fmatrix("x"), T.ivector("y")
    parameters: list[Any] = []
    for n, m in pairwise(SIZES):
        parameters += _parameters(rng.normal(size=(n, m)) / np.sqrt(n), m, target)
    h = x
    for k in range(0, len(parameters) - 2, 2):
        h = T.tanh(T.dot(h, parameters[k]) + parameters[k + 1])
    score = T.dot(h, parameters[-2]) + parameters[-1]
    shifted = score - score.max(axis=1, keepdims=True)
    log_p = shifted - T.log(T.exp(shifted).sum(axis=1, keepdims=True))
    cost = -log_p[T.arange(BATCH), y].mean()
    return _step(x, y, cost, parameters), parameters


def convolutional(target: str | None) -> tuple[Any, list[Any]]:
    """Return the training step of a network with two convolutions, and its parameters."""
    rng = np.random.default_rng(1)
    x, y = T.ftensor4("x"), T.ivector("y")
    shapes = (4, 1, 3, 3), (6, 4, 3, 3)
    p: list[Any] = []
    for shape in shapes:
        p += _parameters(rng.normal(size=shape) / 3, shape[0], target)
    p += _parameters(rng.normal(size=(24, 12)) / 5, 12, target)
    p += _parameters(rng.normal(size=(12, 10)) / 4, 10, target)
    h = x
    for k in (0, 2):
        pooled = pool.pool_2d(conv2d(h, p[k]), (2, 2), ignore_border=True)
        h = T.tanh(pooled + p[k + 1].dimshuffle("x", 0, "x", "x"))
    h = T.tanh(T.dot(h.flatten(2), p[4]) + p[5])
    cost = nnet.categorical_crossentropy(nnet.softmax(T.dot(h, p[6]) + p[7]), y).mean()
    return _step(x, y, cost, p), p


def data(shape: Sequence[int]) -> tuple[Any, Any]:
    """Return random inputs and classes."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(BATCH, *shape)).astype("float32"), rng.integers(0, 10, BATCH).astype("int32")


def _parameters(weights: Any, count: int, target: str | None) -> list[Any]:
    values = weights.astype("float32"), np.zeros(count, "float32")
    return [shared(value) if target is None else shared(value, target=target) for value in values]


def _step(x: Any, y: Any, cost: Any, parameters: list[Any]) -> Any:
    gradients = T.grad(cost, parameters)
    return function([x, y], cost, updates=[(p, p - RATE * g) for p, g in zip(parameters, gradients, strict=True)])
