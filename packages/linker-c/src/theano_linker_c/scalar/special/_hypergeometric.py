"""The hypergeometric function of Gauss, and the function of Owen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._lazy import scipy_special
from .._contract._derivative import differentiable, real_operands, undefined
from .._contract._op import BinaryScalarOp
from .._contract._record import REALS, ScalarRecord
from .._exponential import exp
from ._base import SpecialFunction
from ._error_functions import erf


class OwensT(SpecialFunction, BinaryScalarOp):
    """Owen's function T of h and a: the integral of ``exp(-h**2 * (1 + t**2) / 2) / (1 + t**2) / (2 * pi)`` to a."""

    name = "owens_t"


class Hyp2F1(SpecialFunction):
    """Hypergeometric function of Gauss, of a, b, c and z."""

    name = "hyp2f1"
    nin = 4


owens_t = OwensT()
hyp2f1 = Hyp2F1()


@differentiable(OwensT)
def _owens_t(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    h, a = real_operands(inputs, output)
    square = h * h * -0.5
    by_h = exp(square) * erf(a * h * math.sqrt(0.5)) * (-0.5 / math.sqrt(2 * math.pi))
    ratio = a * a + 1.0
    return [seed * by_h, seed * exp(square * ratio) / ratio * (0.5 / math.pi)]


@differentiable(Hyp2F1)
def _hyp2f1(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    # DLMF 15.5.1
    a, b, c, z = real_operands(inputs, output)
    reason = undefined("the parameters a, b and c of hyp2f1, for which there is no closed form")
    slope = a * b / c * hyp2f1(a + 1.0, b + 1.0, c + 1.0, z)
    return [reason, reason, reason, seed * slope]


def _reference(name: str) -> Any:
    def function(*values: Any) -> Any:
        dtype = np.result_type(*values, np.float32)
        return getattr(scipy_special(), name)(*(np.asarray(x, dtype="float64") for x in values)).astype(dtype)

    return function


RECORDS = (
    ScalarRecord(owens_t, _reference("owens_t"), REALS),
    ScalarRecord(hyp2f1, _reference("hyp2f1"), REALS, low=0.1, high=0.8, parameters=3),
)
