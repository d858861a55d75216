"""The contexts that tests of arrays use."""

from __future__ import annotations

from functools import cache

from theano_gpuarray.contexts import GpuContext, get_context, list_contexts, open_context, reg_context


@cache
def opencl() -> GpuContext:
    """Return a context of OpenCL, which is registered as "arrays"."""
    if "arrays" not in list_contexts():
        reg_context("arrays", open_context("opencl0:0"))
    return get_context("arrays")


@cache
def other() -> GpuContext:
    """Return a second context on the same device."""
    return open_context("opencl0:0")


@cache
def null() -> GpuContext:
    """Return a context of the null driver."""
    return open_context("null0")
