"""Contexts and kernels, for C code of ops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..codegen import KernelText
from ..contexts import GpuContext, get_context, open_context
from ..kernel_base import text_of_program

if TYPE_CHECKING:
    from .._device import Kernel

__all__ = ["compile_kernel", "default_context", "open_device"]


def compile_kernel(context: GpuContext, source: str, name: str, letters: str) -> Kernel:
    """Return a kernel of a text that may include ``cluda.h``; it is compiled once for each context.

    Parameters
    ----------
    context : GpuContext
    source, name : str
    letters : str
        One for each parameter, see :class:`~theano_gpuarray.codegen.KernelText`.
    """
    return context.kernel(KernelText(name, text_of_program(source, name), letters))


def default_context() -> GpuContext:
    """Return the context of the flag ``device``."""
    return get_context(None)


def open_device(name: str) -> GpuContext:
    """Open a device, as "cuda0"."""
    return open_context(name)
