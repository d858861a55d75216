"""PyCUDA: kernels of its users on our arrays.

A `GpuArray` is itself an argument of a PyCUDA kernel, by ``__cuda_array_interface__``; `from_cuda_array` is the way
back.
"""

from __future__ import annotations

import atexit
from typing import Any

from theano_graph import format_error

from .._errors import ContextError
from ..arrays import GpuArray
from ..contexts import GpuContext, get_context, list_contexts
from ._installed import library

__all__ = ["attach_pycuda", "default_pycuda", "to_pycuda"]


def attach_pycuda(context: GpuContext | None = None) -> Any:
    """Let PyCUDA work in one of our contexts.

    Parameters
    ----------
    context : GpuContext, optional
        A CUDA context; the default one if None.

    Returns
    -------
    pycuda.driver.Context
        The context of PyCUDA, which is detached at the end of the program.

    Raises
    ------
    ImportError
        If PyCUDA is not installed.
    ContextError
        If the context is none of CUDA.
    """
    where = _cuda(get_context(None) if context is None else context)
    driver = library("pycuda.driver")
    driver.init()
    where.native.push()
    attached = driver.Context.attach()
    atexit.register(attached.detach)
    return attached


def default_pycuda() -> Any:
    """Return the context of PyCUDA for the default context; None where that is none of CUDA, or there is no PyCUDA."""
    if None not in list_contexts() or get_context(None).kind != "cuda":
        return None
    try:
        return attach_pycuda()
    except ImportError:
        return None


def to_pycuda(x: GpuArray) -> Any:
    """Return an array of PyCUDA with the memory of one of ours.

    Parameters
    ----------
    x : GpuArray
        In a CUDA context.

    Returns
    -------
    pycuda.gpuarray.GPUArray
        A view; it keeps `x` alive.

    Raises
    ------
    ImportError
        If PyCUDA is not installed.
    ContextError
        If the context of `x` is none of CUDA.
    """
    _cuda(x.context)
    array_class = library("pycuda.gpuarray").GPUArray
    return array_class(x.shape, x.dtype, base=x, gpudata=x.gpudata + x.offset, strides=x.strides)


def _cuda(context: GpuContext) -> GpuContext:
    if context.kind != "cuda":
        raise ContextError(
            format_error(f"PyCUDA does not work on {context.devname}", hint="use a context of CUDA: device=cuda0")
        )
    return context
