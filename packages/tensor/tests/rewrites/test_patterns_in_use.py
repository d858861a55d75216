"""Stable forms are found also where parts of the pattern are wanted themselves, so that merging must not hide them."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

import theano_tensor as T
from theano_linker_c import Mode, function
from theano_tensor.gradient import grad
from theano_testing.tensor import assert_allclose
from theano_testing.tiers import slow

MODES = ("fast_run", "fast_compile", "o2", "o3", "o4", "unsafe", "stabilize")
Z = np.array([-1000.0, -30.0, 0.0, 1.0, 30.0, 1000.0])
Outputs = tuple[list[Any], list[Any]]


def softplus(z: Any) -> Any:
    return np.logaddexp(0, z)


def sigmoid_and_logarithms(x: Any) -> Outputs:
    p = T.sigmoid(x)
    return [p, T.log(p), T.log(1 - p)], [special.expit(Z), -softplus(-Z), -softplus(Z)]


def written_out(x: Any) -> Outputs:
    p = 1 / (1 + T.exp(-x))
    slope = special.expit(Z) * special.expit(-Z)
    return [p, T.log(p), T.log(1 - p), p * (1 - p)], [special.expit(Z), -softplus(-Z), -softplus(Z), slope]


def exponential(x: Any) -> Outputs:
    e = T.exp(x)
    return [e, T.log(1 + e), e / (1 + e), T.log(e)], [np.exp(Z), softplus(Z), special.expit(Z), Z]


def sum_of_exponentials(x: Any) -> Outputs:
    e = T.exp(x)
    s = e.sum()
    return [T.log(s), e / s], [special.logsumexp(Z), special.softmax(Z)]


def entropy(x: Any) -> Outputs:
    p = T.nnet.softmax(x.dimshuffle("x", 0))
    logarithms = special.log_softmax(Z)
    shares = special.softmax(Z)
    outputs = [p, T.log(p), T.log(p)[0, 1], -(p * T.log(p)).sum()]
    return outputs, [shares[None], logarithms[None], logarithms[1], special.entr(shares).sum()]


def one_plus_exponential(x: Any) -> Outputs:
    a = 1 + T.exp(x)
    return [T.log(a), T.log(a) * 2, 1 / a, a], [softplus(Z), 2 * softplus(Z), special.expit(-Z), 1 + np.exp(Z)]


def one_plus_little(x: Any) -> Outputs:
    y = 1 + T.sqr(x) * 1e-20
    return [T.log(y), y], [np.log1p(Z * Z * 1e-20), 1 + Z * Z * 1e-20]


def gradients(x: Any) -> Outputs:
    p = T.sigmoid(x)
    cost = -(0.25 * T.log(p) + 0.75 * T.log(1 - p))
    value, s = 0.25 * softplus(-Z) + 0.75 * softplus(Z), special.expit(Z)
    outputs = [p, cost, grad(cost.sum(), x), grad((p * p).sum(), x)]
    return outputs, [s, value, s - 0.25, 2 * s * s * special.expit(-Z)]


PROGRAMS: tuple[Callable[[Any], Outputs], ...] = (
    sigmoid_and_logarithms,
    written_out,
    exponential,
    sum_of_exponentials,
    entropy,
    one_plus_exponential,
    one_plus_little,
    gradients,
)


class TestPatternsInUse(unittest.TestCase):
    @slow
    def test_in_every_mode(self) -> None:
        for build in PROGRAMS:
            for optimizer in MODES:
                x = T.dvector("x")
                with np.errstate(all="ignore"):
                    outputs, expected = build(x)
                    f: Any = function([x], outputs, mode=Mode("cvm", optimizer))
                    for k, (got, value) in enumerate(zip(f(Z), expected, strict=True)):
                        with self.subTest(program=build.__name__, optimizer=optimizer, output=k):
                            assert_allclose(got, value, rtol=1e-9, atol=1e-12)
