"""The shape of a draw, as functions of one's own that draw ask for it."""

from __future__ import annotations

from typing import Any

from theano_tensor import as_tensor_variable
from theano_tensor.random import size_vector


def _infer_ndim_bcast(ndim: int | None, shape: Any, *args: Any) -> tuple[int, Any, tuple[bool, ...]]:
    """Return the number of dimensions of a draw, its shape as a vector, and which of its lengths are 1.

    Parameters
    ----------
    ndim : int or None
        Number of dimensions, where `shape` is a vector of unknown length.
    shape : sequence of int and scalars, integer vector, or None
        None stands for the common shape of the parameters.
    *args : tensor_like
        The parameters.
    """
    vector, lengths = size_vector("draw", shape, ndim, [as_tensor_variable(arg) for arg in args])
    return len(lengths), vector, tuple(n == 1 for n in lengths)
