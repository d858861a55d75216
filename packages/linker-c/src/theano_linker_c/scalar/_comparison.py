"""Comparisons and tests, which give bool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._contract._cvalue import CValue, c_builtin
from ._contract._derivative import differentiable, without_derivative
from ._contract._dtypes import is_complex, is_discrete, part_dtype
from ._contract._op import Comparison, FixedLogicalComparison, arraywise, dtype_name
from ._contract._record import REALS, ScalarRecord


class LT(Comparison):
    """Whether the first is below the second."""

    name = "lt"
    ufunc = np.less
    symbol = "<"
    complex_ok = True


class LE(Comparison):
    """Whether the first is not above the second."""

    name = "le"
    ufunc = np.less_equal
    symbol = "<="
    complex_ok = True


class GT(Comparison):
    """Whether the first is above the second."""

    name = "gt"
    ufunc = np.greater
    symbol = ">"
    complex_ok = True


class GE(Comparison):
    """Whether the first is not below the second."""

    name = "ge"
    ufunc = np.greater_equal
    symbol = ">="
    complex_ok = True


class EQ(Comparison):
    """Whether the two are equal; NaN equals nothing."""

    name = "eq"
    ufunc = np.equal
    symbol = "=="
    orders = False
    commutative = True


class NEQ(Comparison):
    """Whether the two differ."""

    name = "neq"
    ufunc = np.not_equal
    symbol = "!="
    orders = False
    commutative = True


class IsNan(FixedLogicalComparison):
    """Whether the number is NaN; never for bool and integers."""

    name = "isnan"

    @arraywise
    def impl(self, *values: Any) -> Any:
        """Ask NumPy."""
        return np.isnan(values[0])

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Only NaN differs from itself."""
        return "0" if is_discrete(args[0].dtype) else f"{args[0].text} != {args[0].text}"


class IsInf(FixedLogicalComparison):
    """Whether the number is infinite; never for bool and integers."""

    name = "isinf"

    @arraywise
    def impl(self, *values: Any) -> Any:
        """Ask NumPy."""
        value = values[0]
        return np.zeros(np.shape(value), "bool")[()] if is_discrete(dtype_name(value)) else np.isinf(value)

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Compare the absolute value with infinity."""
        (x,) = args
        if is_discrete(x.dtype):
            return "0"
        if is_complex(x.dtype):
            parts = (CValue(f"(__{part}__ {x.text})", part_dtype(x.dtype)) for part in ("real", "imag"))
            return " | ".join(f"({self.c_expression([part], result)})" for part in parts)
        return f"{c_builtin('fabs', x.dtype, x.text)} == {c_builtin('inf', x.dtype)}"


class InRange(Comparison):
    """Whether the first number lies between the second and the third.

    Parameters
    ----------
    openlow, openhi : bool
        Whether an end of the range is no part of it.
    """

    __props__ = ("openlow", "openhi")
    nin = 3

    def __init__(self, openlow: bool, openhi: bool) -> None:
        super().__init__(name=f"InRange{'(' if openlow else '['}{')' if openhi else ']'}")
        self.openlow = openlow
        self.openhi = openhi

    @arraywise
    def impl(self, *values: Any) -> Any:
        """Compare in NumPy."""
        x, low, high = values
        above = np.greater(x, low) if self.openlow else np.greater_equal(x, low)
        return above & (np.less(x, high) if self.openhi else np.less_equal(x, high))

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Compare with both ends."""
        x, low, high = args
        above = (gt if self.openlow else ge).c_expression([x, low], result)
        below = (lt if self.openhi else le).c_expression([x, high], result)
        return f"({above}) & ({below})"


lt = LT()
le = LE()
gt = GT()
ge = GE()
eq = EQ()
neq = NEQ()
isnan = IsNan()
isinf = IsInf()
inopenrange = InRange(True, True)
inclosedrange = InRange(False, False)


@differentiable(LT, LE, GT, GE, EQ, NEQ, InRange)
def _comparison(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    # A step: the derivative is 0 wherever there is one.
    return [seed for _ in inputs]


without_derivative(IsNan, IsInf)

RECORDS = (
    ScalarRecord(lt, np.less, REALS, smooth=False),
    ScalarRecord(le, np.less_equal, REALS, smooth=False),
    ScalarRecord(gt, np.greater, REALS, smooth=False),
    ScalarRecord(ge, np.greater_equal, REALS, smooth=False),
    ScalarRecord(eq, np.equal, REALS, smooth=False),
    ScalarRecord(neq, np.not_equal, REALS, smooth=False),
    ScalarRecord(isnan, np.isnan, REALS, smooth=False),
    ScalarRecord(isinf, np.isinf, REALS, smooth=False),
)
