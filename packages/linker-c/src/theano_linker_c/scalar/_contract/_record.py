"""Facts about an op for its tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from theano_graph import record

from ._op import ScalarOp

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float32", "float64")
REALS = ("bool", *INTEGERS, *FLOATS)
NUMBERS = (*INTEGERS, *FLOATS)
DISCRETE = ("bool", *INTEGERS)


@record
class ScalarRecord:
    """How to test one op: reference, dtypes, domain and accuracy.

    Parameters
    ----------
    op : ScalarOp
    reference : callable
        An independent NumPy (or SciPy) form of the op.
    dtypes : tuple of str
        Input dtypes for which the op has a C form.
    low, high : float
        Range of random float inputs; special values (nan, inf, zeros) are always tried too.
    ulp : float
        Largest error of the C form, in units in the last place.
    smooth : bool
        Whether the derivative is checked numerically on the open interval.
    count : int
        Number of inputs for variadic ops.
    parameters : int
        How many inputs, from the first, are parameters by which there is no derivative.
    """

    op: ScalarOp
    reference: Callable[..., Any]
    dtypes: tuple[str, ...] = REALS
    low: float = -5.0
    high: float = 5.0
    ulp: float = 4.0
    smooth: bool = True
    count: int | None = None
    parameters: int = 0

    @property
    def nin(self) -> int:
        """Number of inputs to try the op with."""
        return self.count if self.count is not None else self.op.nin
