"""The common part of special functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._lazy import scipy_special
from .._contract._cspecial import declare_special
from .._contract._cvalue import CValue, c_special
from .._contract._op import FloatFunction, ScalarTypeError, arraywise, dtype_name, quiet


def checked_order(name: str, order: Any) -> int:
    """Return the order of a derivative; ScalarTypeError if it is no whole number from 1 to 20."""
    if isinstance(order, bool) or not isinstance(order, int) or not 1 <= order <= 20:
        raise ScalarTypeError(f"the order of {name} is a whole number from 1 to 20, not {order!r}")
    return order


class SpecialFunction(FloatFunction):
    """A function that SciPy's code computes in double precision, for all dtypes of the result.

    Both machines call the same code. The C library has some of these functions too, but differs from SciPy at poles
    and infinities, and by many units in the last place for large arguments.
    """

    complex_ok = False
    cost = 100

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.name and cls.nin > 0:
            declare_special(cls.name, cls.nin)

    @arraywise
    @quiet
    def impl(self, *values: Any) -> Any:
        """Call SciPy's function on doubles."""
        dtype = self.result_dtypes(*map(dtype_name, values))[0]
        doubles = [np.asarray(value).astype("float64", copy=False) for value in values]
        return np.asarray(self.compute(*doubles), dtype=dtype)[()]

    def compute(self, *values: Any) -> Any:
        """Give the values for arrays of doubles."""
        return getattr(scipy_special(), type(self).name)(*values)

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Call SciPy's function through a pointer."""
        return c_special(type(self).name, result, *args)
