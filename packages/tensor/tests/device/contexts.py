"""A context for the tests of this folder: on OpenCL, or on the device that only counts where there is none."""

from __future__ import annotations

from functools import cache

import theano_tensor.device
from theano_gpuarray.contexts import DeviceUnavailable, GpuContext, open_context, reg_context
from theano_testing.gpuarray import tested_device

#: The name under which the context is registered. It is not the default one, so that other tests stay on the host.
NAME = "tests"
OTHER = "tests_other"

assert theano_tensor.device  # its import makes functions use devices


@cache
def context() -> GpuContext:
    """Return the context, registered as NAME; and register another one as OTHER."""
    reg_context(OTHER, fresh_context())
    result = fresh_context()
    reg_context(NAME, result)
    return result


def fresh_context() -> GpuContext:
    """Return a new context, which has no name."""
    try:
        return open_context(tested_device())
    except DeviceUnavailable:
        return open_context("null0")


def computes() -> bool:
    """Tell whether values on the device can be compared."""
    return context().kind != "null"
