"""Fourier transforms along axes."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from theano_graph import record

from .._perform import perform_runner
from ._description._kernel import Encoded, Kernel, LoadedKernel, Site, type_number

__all__ = ["FourierKernel", "FourierTask"]

#: Positions are the numbers of the runtime.
FourierTask: TypeAlias = Literal["complex", "real", "half"]


@record
class FourierKernel(Kernel):
    """A Fourier transform without a factor; the op's `perform` computes or refuses operands that the runtime leaves.

    The tasks:

    - "complex": complex numbers along axes, in either direction.
    - "real": real numbers, along all dimensions but the first; of the last one the first half of the results is kept,
      as pairs of real and imaginary part in a new last dimension of length 2.
    - "half": the inverse of "real"; the second input is the length of the last dimension, a number of int64.

    Parameters
    ----------
    task : {"complex", "real", "half"}
    dtype : {"float32", "float64"}
        Of the real parts.
    axes : tuple of int
        Of "complex", at most 8, from 0 up.
    inverse : bool
        Of "complex": whether the sign of the exponent is plus.
    """

    task: FourierTask
    dtype: str
    axes: tuple[int, ...] = ()
    inverse: bool = False

    def encode(self, site: Site, code: LoadedKernel | None) -> Encoded | None:
        """Return the payload."""
        number = get_args(FourierTask).index(self.task)
        return "fourier", (number, type_number(self.dtype), self.inverse, self.axes, perform_runner(site.node))
