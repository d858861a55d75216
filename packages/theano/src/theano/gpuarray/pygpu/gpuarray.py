"""Arrays, contexts and kernels."""

from __future__ import annotations

# Names of names.toml, written by tools/generate_names.py.
# fmt: off
# isort: off
from theano_gpuarray.arrays import (
    GpuArray as GpuArray, SIZE as SIZE, SSIZE as SSIZE, array as array, asarray as asarray,
    ascontiguousarray as ascontiguousarray, dtype_to_ctype as dtype_to_ctype, dtype_to_typecode as dtype_to_typecode,
    empty as empty, may_share_memory as may_share_memory, zeros as zeros,
)
from theano_gpuarray.contexts import GpuContext as GpuContext, open_context as open_context
from theano_gpuarray.kernel_base import GpuKernel as GpuKernel
# isort: on
# fmt: on
# End of the names of names.toml.

#: Opens a device: ``init("cuda0")`` returns a context.
init = open_context
