"""Contexts for tests of the runtime: on the null driver always, on OpenCL where one is found."""

from __future__ import annotations

import os
import unittest
from collections.abc import Callable, Mapping, Sequence
from functools import cache, wraps
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from theano_gpuarray._libraries import find_library
from theano_gpuarray._runtime import Buffer, Context, DeviceError, Driver, Kernel, open_driver
from theano_testing.gpuarray import tested_device

#: Macros that give the words of OpenCL in kernels of the tests to CUDA, too.
HEAD = """
#ifdef __CUDACC__
#define __kernel extern "C" __global__
#define __global
#define LOCAL_PARAMETER(type, name)
#define LOCAL_MEMORY(type, name) extern __shared__ type name[];
#define get_local_id(d) (d == 0 ? threadIdx.x : d == 1 ? threadIdx.y : threadIdx.z)
#define get_local_size(d) (d == 0 ? blockDim.x : d == 1 ? blockDim.y : blockDim.z)
#define get_group_id(d) (d == 0 ? blockIdx.x : d == 1 ? blockIdx.y : blockIdx.z)
#define get_num_groups(d) (d == 0 ? gridDim.x : d == 1 ? gridDim.y : gridDim.z)
#define get_global_id(d) (get_group_id(d) * get_local_size(d) + get_local_id(d))
#define get_global_size(d) (get_num_groups(d) * get_local_size(d))
#define barrier(kind) __syncthreads()
#define atomic_add(place, value) atomicAdd(place, value)
typedef unsigned uint;
#else
#define LOCAL_PARAMETER(type, name) , __local type *name
#define LOCAL_MEMORY(type, name)
#endif
"""
#: Kernels of the tests; the null driver looks for their names alone.
TEXT = (
    HEAD
    + """
__kernel void add(long n, __global const float *x, __global const float *y, __global float *z) {
    for (long i = get_global_id(0); i < n; i += get_global_size(0)) z[i] = x[i] + y[i];
}
__kernel void scale(int n, uint shift, float a, __global float *x) {
    for (int i = get_global_id(0); i < n; i += get_global_size(0)) x[i] = a * x[i] + shift;
}
__kernel void count(__global int *x) { atomic_add(x, 1); }
__kernel void place(__global int *x) {
    x[get_group_id(0) + get_num_groups(0) * (get_group_id(1) + get_num_groups(1) * get_group_id(2))] =
        get_local_size(0) + 100 * get_local_size(1) + 10000 * get_local_size(2);
}
__kernel void reverse(__global int *x LOCAL_PARAMETER(int, kept)) {
    LOCAL_MEMORY(int, kept)
    int i = get_local_id(0), n = get_local_size(0);
    kept[i] = x[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    x[i] = kept[n - 1 - i];
}
__kernel void slow(long n, __global float *x) {
    float sum = 0;
    for (long i = 0; i < n; i++) sum += sin((float)i);
    x[get_global_id(0)] = sum;
}
"""
)
PARAMETERS = {"add": "qPPP", "scale": "iIfP", "count": "P", "place": "P", "reverse": "P", "slow": "qP"}


@cache
def opencl() -> Driver | None:
    """Open OpenCL, or the driver of the tests' settings; where there is none, say so, or fail if it is required."""
    if tested_device().startswith("cuda"):
        return open_driver("cuda", {role: find_library(role).path for role in ("cuda", "nvrtc", "cublas")})
    reason = "it has no device"
    try:
        result = open_driver("opencl", {"opencl": "libOpenCL.so.1"})
        if result.count() > 0:
            return result
    except DeviceError as error:
        reason = str(error)
    if os.environ.get("THEANO_REQUIRE_OPENCL", "0") not in {"", "0"}:
        raise AssertionError(f"THEANO_REQUIRE_OPENCL is set, and no OpenCL can be used: {reason}")
    print(f"the runtime is tested without OpenCL: {reason}", flush=True)
    return None


def null(index: int = 0, **options: Any) -> Context:
    """Open a context on the null driver."""
    return open_driver("null", {}).open(index, **options)


Decorator: TypeAlias = Callable[[Callable[[Any, Context], None]], Callable[[Any], None]]


def _each(drivers: Callable[[], Sequence[Driver]], options: Mapping[str, Any]) -> Decorator:
    def decorate(method: Callable[[Any, Context], None]) -> Callable[[Any], None]:
        @wraps(method)
        def run(test: unittest.TestCase) -> None:
            for driver in drivers():
                with test.subTest(driver.name):
                    method(test, driver.open(0, **options))

        return run

    return decorate


def _devices() -> Sequence[Driver]:
    result = opencl()
    return () if result is None else (result,)


def each_context(**options: Any) -> Decorator:
    """Run a test with a new context of each driver that can be used."""
    return _each(lambda: (open_driver("null", {}), *_devices()), options)


def each_device(**options: Any) -> Decorator:
    """Run a test with a new context of each driver whose launches compute something."""
    return _each(_devices, options)


def kernel(context: Context, name: str) -> Kernel:
    """Compile and load a kernel of the tests."""
    return context.load(context.compile(TEXT)).kernel(name, PARAMETERS[name])


def upload(context: Context, value: NDArray[Any], *, blocking: bool = True) -> Buffer:
    """Return a buffer with the elements of an array."""
    buffer = context.allocate(value.nbytes)
    buffer.write(0, value, blocking=blocking)
    return buffer


def download(buffer: Buffer, dtype: str, count: int = -1) -> NDArray[Any]:
    """Return the first elements of a buffer."""
    size = buffer.nbytes // np.dtype(dtype).itemsize if count < 0 else count
    value = np.empty(size, dtype)
    buffer.read(0, value)
    return value


def add(context: Context, arguments: Sequence[Buffer], count: int) -> None:
    """Launch the sum of two vectors."""
    context.launch(kernel(context, "add"), (4,), (32,), (count, *arguments))
