"""Powers and the square root."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._contract._cvalue import CValue, c_builtin, c_call, c_cast, c_helper
from ._contract._derivative import differentiable, one_like
from ._contract._dtypes import is_complex, is_discrete, upcast
from ._contract._op import BinaryScalarOp, FloatFunction, UnaryScalarOp, arraywise, dtype_name, quiet
from ._contract._record import REALS, ScalarRecord
from ._contract._type import OperatorSet


class Pow(BinaryScalarOp):
    """First input to the power of the second.

    Differs from NumPy: an integer to a negative integer power is no error. It gives the whole part of the result:
    1 for base 1, 1 or -1 for base -1, and 0 otherwise.
    """

    name = "pow"
    cost = 25

    def result_dtypes(self, *dtypes: str) -> tuple[str, ...]:
        """The common dtype; int8 for two truth values."""
        common = upcast(*dtypes)
        return ("int8" if common == "bool" else common,)

    @arraywise
    @quiet
    def impl(self, *values: Any) -> Any:
        """Call NumPy's power, which refuses negative exponents of integers, on operands that it accepts."""
        base, exponent = values
        dtype = self.result_dtypes(dtype_name(base), dtype_name(exponent))[0]
        if not is_discrete(dtype) or dtype.startswith("u"):
            return np.power(base, exponent, dtype=dtype)
        base, exponent = np.asarray(base, dtype=dtype), np.asarray(exponent, dtype=dtype)
        power = np.power(base, np.maximum(exponent, 0), dtype=dtype)
        inverse = np.where(np.abs(base) == 1, np.power(base, np.abs(exponent % 2), dtype=dtype), 0)
        return np.where(exponent < 0, inverse, power).astype(dtype)[()]

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Multiply for the exponents 1, 2 and -1 where they are constant; call pow otherwise."""
        base, exponent = (c_cast(arg, result) for arg in args)
        if is_discrete(result):
            return c_helper("int_pow", result, base, exponent)
        if is_complex(result):
            return c_helper("power", result, base, exponent)
        special = {1.0: base, 2.0: f"{base} * {base}", -1.0: f"1 / {base}"}
        constant = args[1].constant
        if constant is not None and float(constant) in special:
            return special[float(constant)]
        return c_call("pow", result, base, exponent)


class Sqrt(FloatFunction, UnaryScalarOp):
    """Square root; NaN below zero."""

    name = "sqrt"
    ufunc = np.sqrt
    cost = 5

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Use the machine's instruction."""
        return c_builtin("sqrt", result, c_cast(args[0], result))


pow_ = Pow()
sqrt = Sqrt()


@differentiable(Pow)
def _pow(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    x, y = inputs
    # x**(y-1) is infinite where x and y are both zero, and log(x) where x is zero: another base, whose derivatives are
    # finite, stands there for them. Elsewhere the formulas hold, so that they can be differentiated.
    switch, eq, lt, log = (OperatorSet.table[name] for name in ("switch", "eq", "lt", "log"))
    one, zero = one_like(x), eq(x, 0)
    # 1 / x is infinite for the smallest numbers, too.
    vanishing = zero if is_discrete(x.dtype) else lt(abs(x), 1 / float(np.finfo(x.dtype).max))
    lower = y * 1.0 - 1.0 if is_discrete(y.dtype) else y - 1
    slope = y * switch(eq(y, 0), switch(vanishing, one, x), x) ** lower
    growth = switch(zero, 0, log(switch(zero, one, x)) * output)
    return [seed * slope, seed * growth]


@differentiable(Sqrt)
def _sqrt(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    return [seed * 0.5 / output]


def _reference_pow(x: Any, y: Any) -> Any:
    if x.dtype.kind not in "iub" or y.dtype.kind not in "ib":
        return np.power(x, y)
    dtype = np.power(x[:0], y[:0]).dtype
    exact = [_whole_power(int(base), int(exponent)) for base, exponent in zip(x, y, strict=True)]
    bits = 8 * dtype.itemsize
    return np.array([value % 2**bits for value in exact], dtype=f"uint{bits}").astype(dtype)


def _whole_power(base: int, exponent: int) -> int:
    if exponent >= 0:
        # Modulo the widest integer: the exponents are as large as their dtype allows.
        return pow(base, exponent, 2**64)
    return int(base**-exponent) if base in (1, -1) else 0


RECORDS = (
    ScalarRecord(pow_, _reference_pow, REALS, low=0.01, high=5.0),
    ScalarRecord(sqrt, np.sqrt, REALS, low=0.01, high=50.0),
)
