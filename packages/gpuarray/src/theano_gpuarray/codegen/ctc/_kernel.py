"""What is computed: the loss of connectionist temporal classification."""

from __future__ import annotations

from theano_graph import record
from theano_linker_c.kernels import Kernel

__all__ = ["AlignmentsKernel"]


@record
class AlignmentsKernel(Kernel):
    """The loss of each example of a batch; inputs are scores (time, batch, symbols), labels and numbers of time steps.

    Parameters
    ----------
    dtype : str
        Of scores and results.
    gradient : bool
        Whether the gradient by the scores is a second result.
    """

    dtype: str
    gradient: bool
