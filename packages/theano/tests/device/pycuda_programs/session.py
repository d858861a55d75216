"""Runs the programs of the manual with PyCUDA on the stand-in, in a process of its own: a default device is opened."""

# ruff: noqa: E402  (the modules of PyCUDA have to be there first)

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy

sys.path.insert(0, str(Path(__file__).parent))
sys.modules.update(import_module("stand_in").modules())

import theano
from theano.gpuarray import use
from theano.gpuarray.type import get_context
from theano.sandbox.cuda import CudaNdarray, GpuOp
from theano_gpuarray.contexts import DeviceUnavailable

theano.config.print_active_device = False
try:
    use("opencl", force=True)
except DeviceUnavailable:
    use("null0")

multiply, double_op = import_module("multiply"), import_module("double_op")

pycuda: Any = import_module("pycuda")

assert multiply.dest.shape == (400,)
PyCUDADoubleOp: Any = double_op.PyCUDADoubleOp
x = theano.tensor.fmatrix()
f = theano.function([x], PyCUDADoubleOp()(x))
xv = numpy.ones((4, 5), dtype="float32")
if get_context(None).kind != "null":
    assert numpy.allclose(f(xv), xv * 2)
    assert numpy.allclose(f(xv.T), xv.T * 2)
print(numpy.asarray(f(xv)).shape)

gpuarray_cuda_context = get_context(None)
with gpuarray_cuda_context:
    pycuda_context = pycuda.driver.Context.attach()
pygpu_array = CudaNdarray.zeros((3, 4))[1:]
assert pygpu_array.flags["IS_C_CONTIGUOUS"]
pycuda_array = pycuda.gpuarray.GPUArray(
    pygpu_array.shape, pygpu_array.dtype, base=pygpu_array, gpudata=(pygpu_array.gpudata + pygpu_array.offset)
)
assert pycuda_array.gpudata == pygpu_array.gpudata + 16
assert issubclass(GpuOp, theano.Op)
