"""Transfers, arrays that are made on devices, and bases of ops with kernels of their own."""

from __future__ import annotations

# Names of names.toml, written by tools/generate_names.py.
# fmt: off
# isort: off
from theano_gpuarray import get_include as gpuarray_helper_inc_dir
from theano_gpuarray.kernel_base import (
    CGpuKernelBase as CGpuKernelBase, GpuKernelBase as GpuKernelBase, Kernel as Kernel,
)
from theano_gpuarray.types import (
    GpuFromHost as GpuFromHost, GpuToGpu as GpuToGpu, HostFromGpu as HostFromGpu, gpu_from_host as gpu_from_host,
    gpu_to_gpu as gpu_to_gpu, host_from_gpu as host_from_gpu, infer_context_name as infer_context_name,
)
from theano_tensor.device import (
    GpuAlloc as GpuAlloc, GpuAllocEmpty as GpuAllocEmpty, GpuContiguous as GpuContiguous, GpuEye as GpuEye,
    GpuJoin as GpuJoin, GpuReshape as GpuReshape, GpuSplit as GpuSplit, as_gpuarray_variable as as_gpuarray_variable,
    gpu_contiguous as gpu_contiguous, gpu_join as gpu_join,
)
from ._makers import GpuTri as GpuTri, empty_like as empty_like
from .type import (
    GpuArrayConstant as GpuArrayConstant, GpuArrayType as GpuArrayType, GpuArrayVariable as GpuArrayVariable,
    get_context as get_context, gpu_context_type as gpu_context_type,
    gpuarray_shared_constructor as gpuarray_shared_constructor,
)
# isort: on
# fmt: on
# End of the names of names.toml.
