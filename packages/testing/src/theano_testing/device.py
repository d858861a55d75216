"""Runs kernels on devices, on arrays of NumPy: for tests of device forms."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theano_gpuarray.arrays import GpuArray
from theano_gpuarray.contexts import GpuContext, list_contexts, open_context, reg_context
from theano_gpuarray.region import form_of, run_kernel, upload
from theano_graph import Variable
from theano_linker_c.kernels import Kernel

from .gpuarray import tested_device

__all__ = ["DEVICE_VARIABLE", "card_context", "null_context", "on_device", "opencl_context", "placed_on"]

#: The variable of the environment that names the device on which tests of ops run, too.
DEVICE_VARIABLE = "THEANO_TEST_DEVICE"
#: Bytes that stand free before each array, so that forms which forget an offset are found.
OFFSET = 256


@cache
def opencl_context(devname: str | None = None) -> GpuContext:
    """Return a context on a device of OpenCL, or on the device of the tests' settings, the same each time.

    Raises
    ------
    DeviceUnavailable
        If there is no OpenCL here, or no such device.
    """
    return open_context(devname or tested_device())


@cache
def card_context(devname: str | None = None) -> GpuContext:
    """Return a context on such a device that says it is a graphics card, the same each time.

    So kernels for cards, with their work-groups and barriers, run on a processor.
    """
    context = open_context(devname or tested_device())
    context.properties = replace(context.properties, cpu=False, warp=32)
    return context


def null_context() -> GpuContext:
    """Return a new context of the driver that runs nothing, and lists its requests."""
    return open_context("null0")


@contextmanager
def placed_on(devname: str | None, variables: Sequence[Variable]) -> Iterator[None]:
    """Let functions that are compiled inside of the block move some of their inputs to a device.

    Parameters
    ----------
    devname : str or None
        As "opencl0:0"; None moves nothing.
    variables : sequence of Variable
        Arguments and shared variables of the host.
    """
    if devname is None:
        yield
        return
    name = f"tests on {devname}"
    if name not in list_contexts():
        reg_context(name, open_context(devname))
    for variable in variables:
        variable.tag.target = name
    try:
        yield
    finally:
        for variable in variables:
            del variable.tag.target


def on_device(
    kernel: Kernel, values: Sequence[Any], context: GpuContext | None = None, *, offset: int = OFFSET
) -> list[NDArray[Any]]:
    """Run a kernel on a device and return its results as arrays of NumPy.

    Parameters
    ----------
    kernel : Kernel
    values : sequence of array_like
        The operands. Their strides are kept: a transposed or reversed view is one on the device, too.
    context : GpuContext, optional
        By default that of :func:`opencl_context`.
    offset : int
        Bytes that stand free before each array.

    Raises
    ------
    NoDeviceForm
        If the kernel has no device form.

    Examples
    --------
    >>> from theano_linker_c.kernels import TransposeKernel
    >>> on_device(TransposeKernel((1, 0), ()), [np.ones((2, 3))])[0].shape  # doctest: +SKIP
    (3, 2)
    """
    context = opencl_context() if context is None else context
    given = [_with_its_strides(context, np.asarray(value), offset) for value in values]
    stays = _host_positions(kernel, len(given))
    operands = [np.asarray(value) if i in stays else given[i] for i, value in enumerate(values)]
    return [np.asarray(result) for result in run_kernel(kernel, context, operands, offset=offset)]


def _host_positions(kernel: Kernel, count: int) -> set[int]:
    return set(form_of(kernel).host_inputs(kernel, count))


def _with_its_strides(context: GpuContext, array: NDArray[Any], offset: int) -> GpuArray:
    """Transfer an array with the bytes between its elements."""
    if array.flags.c_contiguous or not array.size:
        return upload(context, array, offset=offset)
    reach = [(n - 1) * step for n, step in zip(array.shape, array.strides, strict=True)]
    low, high = sum(r for r in reach if r < 0), sum(r for r in reach if r > 0) + array.itemsize
    begin = array.__array_interface__["data"][0] + low
    block = np.frombuffer((ctypes.c_char * (high - low)).from_address(begin), np.uint8).copy()
    full = upload(context, block, offset=offset)
    return GpuArray(full.buffer, array.dtype, array.shape, array.strides, offset - low, context)
