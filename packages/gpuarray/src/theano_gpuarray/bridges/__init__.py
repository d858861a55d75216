"""Arrays that other libraries of devices know."""

from ._cuda import from_cuda_array as from_cuda_array
from ._pycuda import (
    attach_pycuda as attach_pycuda,
    default_pycuda as default_pycuda,
    to_pycuda as to_pycuda,
)
from ._pygpu import from_pygpu as from_pygpu, to_pygpu as to_pygpu

__all__ = ["attach_pycuda", "default_pycuda", "from_cuda_array", "from_pygpu", "to_pycuda", "to_pygpu"]
