"""Kernels that ops bring along: descriptions, launches, and helpers for their text."""

from ._description import Kernel as Kernel
from ._float16 import load_w as load_w, work_dtype as work_dtype, write_w as write_w
from ._launching import GpuKernel as GpuKernel, text_of_program as text_of_program
from ._ops import CGpuKernelBase as CGpuKernelBase, GpuKernelBase as GpuKernelBase
from ._products import gemm as gemm
from ._text import (
    code_version as code_version,
    inline_reduce as inline_reduce,
    inline_reduce_fixed_shared as inline_reduce_fixed_shared,
    inline_reduce_fixed_shared_max as inline_reduce_fixed_shared_max,
    inline_reduce_max as inline_reduce_max,
    inline_reduce_min as inline_reduce_min,
    inline_reduce_prod as inline_reduce_prod,
    inline_reduce_sum as inline_reduce_sum,
    inline_softmax as inline_softmax,
    inline_softmax_fixed_shared as inline_softmax_fixed_shared,
    nvcc_kernel as nvcc_kernel,
)

__all__ = [
    "CGpuKernelBase",
    "GpuKernel",
    "GpuKernelBase",
    "Kernel",
    "code_version",
    "gemm",
    "inline_reduce",
    "inline_reduce_fixed_shared",
    "inline_reduce_fixed_shared_max",
    "inline_reduce_max",
    "inline_reduce_min",
    "inline_reduce_prod",
    "inline_reduce_sum",
    "inline_softmax",
    "inline_softmax_fixed_shared",
    "load_w",
    "nvcc_kernel",
    "text_of_program",
    "work_dtype",
    "write_w",
]
