"""Rounding to whole numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._cvalue import CValue
from ._derivative import differentiable, zero_like
from ._dtypes import is_discrete
from ._op import Rounding, dtype_name, quiet
from ._record import REALS, ScalarRecord


class Floor(Rounding):
    """Largest whole number that is not above x; integers stay as they are."""

    name = "floor"
    ufunc = np.floor
    c_function = "floor"


class Ceil(Rounding):
    """Smallest whole number that is not below x; integers stay as they are."""

    name = "ceil"
    ufunc = np.ceil
    c_function = "ceil"


class Trunc(Rounding):
    """Whole part of x; integers stay as they are."""

    name = "trunc"
    ufunc = np.trunc
    c_function = "trunc"


class RoundHalfToEven(Rounding):
    """Nearest whole number, the even one of two equally near; integers stay as they are."""

    name = "round_half_to_even"
    ufunc = np.rint
    c_function = "rint"


class RoundHalfAwayFromZero(Rounding):
    """Nearest whole number, the one further from zero of two equally near; integers stay as they are."""

    name = "round_half_away_from_zero"
    c_function = "round"

    @quiet
    def impl(self, *values: Any) -> Any:
        """Round the absolute value: its fraction is exact, so 0.5 is recognised reliably."""
        x = np.asarray(values[0])
        if is_discrete(dtype_name(x)):
            return x.copy()[()]
        whole = np.trunc(x)
        return np.where(np.abs(x - whole) >= 0.5, whole + np.sign(x), whole).astype(x.dtype)[()]

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
    return x if x.dtype.kind in "iub" else np.copysign(np.floor(np.abs(x) + np.asarray(0.5, x.dtype)), x)


def _whole(function: Any) -> Any:
    return lambda x: x if x.dtype.kind in "iub" else function(x)


RECORDS = (
    ScalarRecord(floor, _whole(np.floor), REALS, smooth=False),
    ScalarRecord(ceil, _whole(np.ceil), REALS, smooth=False),
    ScalarRecord(trunc, _whole(np.trunc), REALS, smooth=False),
    ScalarRecord(round_half_to_even, _whole(np.rint), REALS, smooth=False),
    ScalarRecord(round_half_away_from_zero, _away, REALS, smooth=False),
)
