"""How variables come to the default device."""

from __future__ import annotations

from typing import Any

from theano_graph import Variable
from theano_tensor.device import as_gpuarray_variable


def as_cuda_ndarray_variable(x: Any) -> Variable:
    """Return a variable, or an array, as a variable on the default device.

    Parameters
    ----------
    x : Variable or array_like
    """
    variable: Variable = as_gpuarray_variable(x, None)
    return variable
