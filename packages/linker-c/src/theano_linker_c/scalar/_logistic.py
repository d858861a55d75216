"""The logistic function and its integral."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._lazy import scipy_special
from ._contract._cvalue import CValue, c_cast, c_helper
from ._contract._derivative import differentiable
from ._contract._op import FloatFunction, UnaryScalarOp, arraywise, dtype_name, quiet
from ._contract._record import REALS, ScalarRecord


class Sigmoid(FloatFunction, UnaryScalarOp):
    """``1 / (1 + exp(-x))``, with full relative accuracy in both tails."""

    name = "sigmoid"
    complex_ok = False
    cost = 15

    @arraywise
    @quiet
    def impl(self, *values: Any) -> Any:
        """Take the exponential of a non-positive number only."""
        x = np.asarray(values[0], dtype=self.result_dtypes(dtype_name(values[0]))[0])
        decay = np.exp(-np.abs(x))
        return np.asarray(np.where(x >= 0, np.ones_like(decay), decay) / (1 + decay), dtype=x.dtype)[()]

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Call the helper."""
        return c_helper("sigmoid", result, c_cast(args[0], result))


class Softplus(FloatFunction, UnaryScalarOp):
    """``log(1 + exp(x))``, written ``max(x, 0) + log1p(exp(-|x|))`` so that it neither overflows nor cancels."""

    name = "softplus"
    complex_ok = False
    cost = 25

    @arraywise
    @quiet
    def impl(self, *values: Any) -> Any:
        """Follow the stable formula."""
        x = np.asarray(values[0], dtype=self.result_dtypes(dtype_name(values[0]))[0])
        return np.asarray(np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))), dtype=x.dtype)[()]

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Call the helper."""
        return c_helper("softplus", result, c_cast(args[0], result))


sigmoid = Sigmoid()
softplus = Softplus()


@differentiable(Sigmoid)
def _sigmoid(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    return [seed * output * (1 - output)]


@differentiable(Softplus)
def _softplus(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    return [seed * sigmoid(inputs[0])]


def _reference(name: str) -> Any:
    def function(x: Any) -> Any:
        return getattr(scipy_special(), name)(np.asarray(x, dtype=np.result_type(x, np.float32)))

    return function


RECORDS = (
    ScalarRecord(sigmoid, _reference("expit"), REALS, ulp=6.0),
    ScalarRecord(softplus, lambda x: np.logaddexp(np.zeros((), x.dtype), x), REALS, ulp=6.0),
)
