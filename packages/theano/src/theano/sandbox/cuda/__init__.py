"""The names of the first back-end for GPUs that programs of old use, for arrays of the default device.

>>> from theano.sandbox import cuda
>>> cuda.CudaNdarray.__mro__[1].__name__
'GpuArray'
"""

from __future__ import annotations

from . import basic_ops as basic_ops
from ._arrays import (
    CudaNdarray as CudaNdarray,
    GpuOp as GpuOp,
    cuda_available as cuda_available,
    cuda_enabled as cuda_enabled,
)

__all__ = ["CudaNdarray", "GpuOp", "basic_ops", "cuda_available", "cuda_enabled"]
