"""Shared parts of the tests of BLAS rewrites: matrices, variables for them, and looks at compiled functions."""

from __future__ import annotations

import functools
import unittest
from collections.abc import Callable
from typing import Any

import numpy as np

import theano_tensor as tt
from theano_linker_c import Function
from theano_tensor.linear import Dot, Dot22, Dot22Scalar, Gemm, Gemv, Ger

RNG = np.random.default_rng(5)
A, B, Z = RNG.normal(size=(4, 5)), RNG.normal(size=(5, 3)), RNG.normal(size=(4, 3))
C, D = RNG.normal(size=(4, 2)), RNG.normal(size=(2, 3))
V, U, S = RNG.normal(size=3), RNG.normal(size=5), 1.7
VALUES: dict[str, Any] = {"a": A, "b": B, "z": Z, "c": C, "d": D, "v": V, "u": U, "s": S}


def each(*cases: tuple[Any, ...]) -> Callable[[Callable[..., None]], Callable[[unittest.TestCase], None]]:
    """Return a decorator that calls a test with the arguments of each case, as a sub-test."""

    def decorate(test: Callable[..., None]) -> Callable[[unittest.TestCase], None]:
        @functools.wraps(test)
        def run(self: unittest.TestCase) -> None:
            for case in cases:
                with self.subTest(case=str(case[0])):
                    test(self, *case)

        del run.__wrapped__  # a runner would ask for its arguments
        return run

    return decorate


def variables(dtype: str) -> dict[str, Any]:
    """Return a variable for each of `VALUES`, with nothing static but dtype and number of dimensions."""
    return {name: tt.tensor(dtype, shape=(None,) * np.ndim(value), name=name) for name, value in VALUES.items()}


def of_blas(f: Function) -> list[type]:
    """Return the classes of the products in a function, in their order."""
    kinds = (Dot, Dot22, Dot22Scalar, Gemm, Gemv, Ger)
    return [type(node.op) for node in f.maker.fgraph.toposort() if isinstance(node.op, kinds)]
