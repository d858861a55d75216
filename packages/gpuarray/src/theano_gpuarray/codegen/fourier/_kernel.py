"""What is computed: transforms of real numbers over all dimensions but the first, without a factor."""

from __future__ import annotations

from theano_graph import record
from theano_linker_c.kernels import Kernel

__all__ = ["InverseRealFourierKernel", "RealFourierKernel"]


@record
class RealFourierKernel(Kernel):
    """The transform of real numbers; of its last dimension the half is kept that determines the other.

    Parameters
    ----------
    dtype : {"float32", "float64"}
        Of operand and result, which has pairs of a real and an imaginary part in one dimension more.
    """

    dtype: str


@record
class InverseRealFourierKernel(Kernel):
    """The inverse of `RealFourierKernel`; the second input, on the host, is the length of the last dimension.

    Parameters
    ----------
    dtype : {"float32", "float64"}
    """

    dtype: str
