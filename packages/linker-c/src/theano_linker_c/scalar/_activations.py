"""Activation functions of neural networks: the logistic function with its integral, and those made of pieces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._lazy import scipy_special
from ._arithmetic import abs_, sgn
from ._comparison import ge, lt, switch
from ._derivative import REALS, ScalarRecord, differentiable
from ._dtypes import CValue, c_builtin, c_cast, c_helper, c_literal
from ._op import FloatFunction, UnaryScalarOp, arraywise, dtype_name, quiet

# ---- The logistic function and its integral


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


# ---- Activation functions of neural networks that are made of pieces

#: Where the pieces of the fast sigmoid meet, as halves of arguments; its line (height, slope), and its largest value.
_CURVED, _FLAT = 1.7, 3.0
_LINE = (0.935409070603099, 0.0458812946797165)
_TOP = 0.99505475368673


class Relu(FloatFunction, UnaryScalarOp):
    """The larger of a number and zero, with the derivative 1/2 at zero; NaN for NaN."""

    name = "relu"
    complex_ok = False
    cost = 2

    @arraywise
    @quiet
    def impl(self, *values: Any) -> Any:
        """Take NumPy's maximum."""
        dtype = self.result_dtypes(dtype_name(values[0]))[0]
        return np.maximum(np.asarray(values[0], dtype=dtype), np.zeros((), dtype=dtype))

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Call the helper of the maximum."""
        return c_helper("maximum", result, c_cast(args[0], result), c_literal(0, result))


class Softsign(FloatFunction, UnaryScalarOp):
    """``x / (1 + |x|)``."""

    name = "softsign"
    complex_ok = False
    cost = 5

    @arraywise
    @quiet
    def impl(self, *values: Any) -> Any:
        """Divide."""
        x = np.asarray(values[0], dtype=self.result_dtypes(dtype_name(values[0]))[0])
        return np.asarray(x / (1 + np.abs(x)), dtype=x.dtype)[()]

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Divide."""
        x = c_cast(args[0], result)
        return f"{x} / (1 + {c_builtin('fabs', result, x)})"


class UltraFastSigmoid(FloatFunction, UnaryScalarOp):
    """An approximation of the logistic function by a fraction, a line, and a constant for large arguments."""

    name = "ultra_fast_sigmoid"
    complex_ok = False
    cost = 8

    @arraywise
    @quiet
    def impl(self, *values: Any) -> Any:
        """Choose among the pieces."""
        x = np.asarray(values[0], dtype=self.result_dtypes(dtype_name(values[0]))[0])
        # Near 0 the result is the rest of 1 after a subtraction: digits of a float16 would not do.
        size = np.abs(x if x.dtype != "float16" else x.astype("float32")) * 0.5
        line = _LINE[0] + _LINE[1] * (size - _CURVED)
        distance = np.where(size < _CURVED, 1.5 * size / (1 + size), np.where(size >= _FLAT, _TOP, line))
        return np.asarray(0.5 * (1 + np.where(x < 0, -distance, distance)), dtype=x.dtype)[()]

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Call the helper."""
        return c_helper("ultra_fast_sigmoid", result, c_cast(args[0], result))


relu = Relu()
softsign = Softsign()
ultra_fast_sigmoid = UltraFastSigmoid()


@differentiable(Relu)
def _relu(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    return [seed * (0.5 + 0.5 * sgn(inputs[0]))]


@differentiable(Softsign)
def _softsign(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    denominator = 1 + abs_(inputs[0])
    return [seed / denominator / denominator]


@differentiable(UltraFastSigmoid)
def _ultra_fast_sigmoid(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    size = abs_(inputs[0]) * 0.5
    denominator = 1 + size
    slope = switch(
        lt(size, _CURVED), 0.375 / (denominator * denominator), switch(ge(size, _FLAT), 0.0, 0.25 * _LINE[1])
    )
    return [seed * slope]


def _pieces(x: Any) -> Any:
    size = np.abs(np.asarray(x, dtype=np.result_type(x, np.float32))) / 2
    line = _LINE[0] + _LINE[1] * (size - _CURVED)
    half = np.select([size < _CURVED, size < _FLAT], [1.5 * size / (1 + size), line], _TOP) / 2
    return np.where(np.isnan(size), size, 0.5 + np.copysign(half, x))


RECORDS = (
    ScalarRecord(sigmoid, _reference("expit"), REALS, ulp=6.0),
    ScalarRecord(softplus, lambda x: np.logaddexp(np.zeros((), x.dtype), x), REALS, ulp=6.0),
    ScalarRecord(
        relu, lambda x: np.maximum(np.asarray(x, dtype=np.result_type(x, np.float32)), 0), REALS, smooth=False
    ),
    ScalarRecord(softsign, lambda x: x / (1 + np.abs(np.asarray(x, dtype=np.result_type(x, np.float32)))), REALS),
    ScalarRecord(ultra_fast_sigmoid, _pieces, REALS, ulp=6.0, smooth=False),
)
