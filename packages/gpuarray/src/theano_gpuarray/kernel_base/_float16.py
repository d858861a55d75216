"""Words for kernels on numbers of limited precision, which are computed with as float32."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

__all__ = ["load_w", "work_dtype", "write_w"]


def work_dtype(dtype: DTypeLike) -> str:
    """Return the dtype to compute in with values of a dtype.

    Examples
    --------
    >>> from theano_gpuarray.kernel_base import work_dtype
    >>> work_dtype("float16"), work_dtype("float64")
    ('float32', 'float64')
    """
    name = np.dtype(dtype).name
    return "float32" if name == "float16" else name


def load_w(dtype: DTypeLike) -> str:
    """Return the name of the function around each read of a kernel; empty where none is needed.

    Examples
    --------
    >>> from theano_gpuarray.kernel_base import load_w
    >>> f"{load_w('float16')}(x[i])", f"{load_w('float32')}(x[i])"
    ('ga_half2float(x[i])', '(x[i])')
    """
    return "ga_half2float" if np.dtype(dtype).name == "float16" else ""


def write_w(dtype: DTypeLike) -> str:
    """Return the name of the function around each write of a kernel; empty where none is needed.

    Examples
    --------
    >>> from theano_gpuarray.kernel_base import write_w
    >>> f"y[i] = {write_w('float16')}(z)"
    'y[i] = ga_float2half(z)'
    """
    return "ga_float2half" if np.dtype(dtype).name == "float16" else ""
