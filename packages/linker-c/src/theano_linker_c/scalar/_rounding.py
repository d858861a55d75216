"""Rounding to whole numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._contract._cvalue import CValue
from ._contract._derivative import differentiable, zero_like
from ._contract._dtypes import is_discrete, upcast_to_float
from ._contract._op import Rounding, WholePart, arraywise, dtype_name, quiet
from ._contract._preferences import same_out_float_only
from ._contract._record import REALS, ScalarRecord


class Floor(WholePart):
    """Largest whole number that is not above x; of integers a float."""

    name = "floor"
    ufunc = np.floor
    c_function = "floor"


class Ceil(WholePart):
    """Smallest whole number that is not below x; of integers a float."""

    name = "ceil"
    ufunc = np.ceil
    c_function = "ceil"


class Trunc(WholePart):
    """Whole part of x; of integers a float."""

    name = "trunc"
    ufunc = np.trunc
    c_function = "trunc"


class RoundHalfToEven(Rounding):
    """Nearest whole number, the even one of two equally near; integers stay as they are."""

    name = "round_half_to_even"
    output_types_preference = staticmethod(same_out_float_only)
    ufunc = np.rint
    c_function = "rint"


class RoundHalfAwayFromZero(Rounding):
    """Nearest whole number, the one further from zero of two equally near; integers stay as they are."""

    name = "round_half_away_from_zero"
    output_types_preference = staticmethod(same_out_float_only)
    c_function = "round"

    @arraywise
    @quiet
    def impl(self, *values: Any) -> Any:
        """Round the absolute value: its fraction is exact, so 0.5 is recognised reliably."""
        x = np.asarray(values[0])
        if is_discrete(dtype_name(x)):
            return x.copy()[()]
        quotient = np.trunc(x)
        return np.where(np.abs(x - quotient) >= 0.5, quotient + np.sign(x), quotient).astype(x.dtype)[()]

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Call round."""
        return super().c_expression(args, result)


floor = Floor()
ceil = Ceil()
trunc = Trunc()
round_half_to_even = RoundHalfToEven()
round_half_away_from_zero = RoundHalfAwayFromZero()


@differentiable(Floor, Ceil, Trunc, RoundHalfToEven, RoundHalfAwayFromZero)
def _rounding(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    return [zero_like(inputs[0])]


def _away(x: Any) -> Any:
    if x.dtype.kind in "iub":
        return x
    wide = np.abs(x.astype(np.longdouble)) + 0.5  # in its own dtype, the largest number below 0.5 would give 1
    return np.copysign(np.floor(wide), x).astype(x.dtype)


def _whole(function: Any) -> Any:
    return lambda x: x if x.dtype.kind in "iub" else function(x)


def _whole_as_float(function: Any) -> Any:
    return lambda x: function(x.astype(upcast_to_float(x.dtype.name)))


RECORDS = (
    ScalarRecord(floor, _whole_as_float(np.floor), REALS, smooth=False),
    ScalarRecord(ceil, _whole_as_float(np.ceil), REALS, smooth=False),
    ScalarRecord(trunc, _whole_as_float(np.trunc), REALS, smooth=False),
    ScalarRecord(round_half_to_even, _whole(np.rint), REALS, smooth=False),
    ScalarRecord(round_half_away_from_zero, _away, REALS, smooth=False),
)
