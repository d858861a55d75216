"""Inverses of the incomplete gamma and beta functions; derivatives are those of inverse functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._lazy import scipy_special
from .._contract._derivative import differentiable, real_operands, undefined
from .._contract._op import BinaryScalarOp
from .._contract._record import REALS, ScalarRecord
from .._exponential import exp, log, log1p
from ._base import SpecialFunction
from ._gamma import gammaln
from ._incomplete import betaln, gammainc_der


class GammaIncInv(SpecialFunction, BinaryScalarOp):
    """The x of which `gammainc` with the first argument is the second."""

    name = "gammaincinv"


class GammaIncCInv(SpecialFunction, BinaryScalarOp):
    """The x of which `gammaincc` with the first argument is the second."""

    name = "gammainccinv"


class BetaIncInv(SpecialFunction):
    """The x of which `betainc` with the first two arguments is the third."""

    name = "betaincinv"
    nin = 3


gammaincinv = GammaIncInv()
gammainccinv = GammaIncCInv()
betaincinv = BetaIncInv()


def _inverse_density(a: Any, x: Any) -> Any:
    """Give the derivative of x by P(a, x) (DLMF 8.8.13)."""
    return exp(x + gammaln(a) - (a - 1) * log(x))


@differentiable(GammaIncInv)
def _gammaincinv(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    a, _ = real_operands(inputs, output)
    slope = seed * _inverse_density(a, output)
    return [-(slope * gammainc_der(a, output)), slope]


@differentiable(GammaIncCInv)
def _gammainccinv(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    a, _ = real_operands(inputs, output)
    slope = seed * _inverse_density(a, output)
    return [-(slope * gammainc_der(a, output)), -slope]


@differentiable(BetaIncInv)
def _betaincinv(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    # DLMF 8.17.1
    a, b, _ = real_operands(inputs, output)
    reason = "the parameters a and b of betaincinv, for which there is no closed form"
    slope = exp(betaln(a, b) - (a - 1) * log(output) - (b - 1) * log1p(-output))
    return [undefined(reason), undefined(reason), seed * slope]


def _reference(name: str) -> Any:
    def function(*values: Any) -> Any:
        dtype = np.result_type(*values, np.float32)
        return getattr(scipy_special(), name)(*(np.asarray(x, dtype="float64") for x in values)).astype(dtype)

    return function


RECORDS = (
    *(ScalarRecord(op, _reference(op.name), REALS, low=0.2, high=0.9) for op in (gammaincinv, gammainccinv)),
    ScalarRecord(betaincinv, _reference("betaincinv"), REALS, low=0.2, high=0.9, parameters=2),
)
