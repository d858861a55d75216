"""Arrays that are made in one pass: cumulative sums, diagonals, ranges, unit matrices."""

from __future__ import annotations

import numpy as np

from theano_graph import record

from .._perform import perform_runner
from ._description._kernel import Encoded, Kernel, LoadedKernel, Site, type_number

__all__ = ["TASKS", "ArrayRoutineKernel"]

#: The array routines; the numbers are those of the runtime.
TASKS = ("cumsum", "cumprod", "diagonal", "arange", "eye", "recurrence")


@record
class ArrayRoutineKernel(Kernel):
    """An array that is made in one pass; cases beyond the runtime are left to the op's `perform`.

    Parameters
    ----------
    task : {"cumsum", "cumprod", "diagonal", "arange", "eye", "recurrence"}
        Cumulative ones take and give float32, float64, int64 or uint64; a recurrence ``y[i] = x[i] + a[i] * y[i - 1]``
        takes two arrays of one shape, of float32 or float64; a diagonal is one of a matrix; ranges are of
        int64, from, up to and in steps of whole numbers; a unit matrix takes its lengths and the diagonal.
    dtype : str
        Of the result.
    number : int
        The axis, or which diagonal: 0 is the main one, positive above it.
    """

    task: str
    dtype: str
    number: int = 0

    def encode(self, site: Site, code: LoadedKernel | None) -> Encoded | None:
        """Return the payload."""
        one = np.ones((), self.dtype).tobytes()
        task, fallback = TASKS.index(self.task), perform_runner(site.node)
        return "routine", (task, type_number(self.dtype), self.number, one, fallback)
