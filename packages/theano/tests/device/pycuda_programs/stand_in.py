"""A stand-in for PyCUDA: kernels are compiled for the host, and run there on copies of their arrays.

The text of a kernel is C++ but for the words of CUDA, which are macros and variables here; blocks and threads are
loops, so kernels that wait for each other's threads do not work.
"""

from __future__ import annotations

import ctypes
import itertools
import re
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

WORDS = """
struct Three { int x, y, z; };
static Three blockIdx, blockDim, gridDim, threadIdx;
#define __global__ extern "C"
#define __device__ static
"""
#: The Python function of each kernel: it runs it for all blocks and threads.
LOOP = """
extern "C" void run_{name}(const int *n, {declared}) {{
    gridDim = {{n[0], n[1], 1}};
    blockDim = {{n[2], n[3], n[4]}};
    for (blockIdx.x = 0; blockIdx.x < n[0]; blockIdx.x++) for (blockIdx.y = 0; blockIdx.y < n[1]; blockIdx.y++)
    for (threadIdx.x = 0; threadIdx.x < n[2]; threadIdx.x++) for (threadIdx.y = 0; threadIdx.y < n[3]; threadIdx.y++)
    for (threadIdx.z = 0; threadIdx.z < n[4]; threadIdx.z++)
        {name}({given});
}}
"""
_KERNEL = re.compile(r"__global__\s+void\s+(\w+)\s*\(([^)]*)\)")


class In:
    """An array that is copied to the device first."""

    def __init__(self, array: Any) -> None:
        self.array = array


class Out(In):
    """An array that is copied from the device afterwards."""


class Function:
    """A kernel."""

    def __init__(self, function: Any) -> None:
        self._function = function

    def __call__(self, *args: Any, block: tuple[int, ...], grid: tuple[int, ...] = (1, 1)) -> None:
        copies: list[tuple[Any, Any]] = []
        operands: list[Any] = []
        for arg in args:
            if isinstance(arg, np.generic):
                operands.append(ctypes.c_int(int(arg)) if arg.dtype.kind == "i" else ctypes.c_float(float(arg)))
                continue
            source = arg.array if isinstance(arg, In) else arg
            if not isinstance(arg, In):
                assert arg.flags["C_CONTIGUOUS"], "kernels of PyCUDA get pointers alone"
            copy = np.ascontiguousarray(np.asarray(source))
            copies.append((source, copy))
            operands.append(ctypes.c_void_p(copy.ctypes.data))
        sizes = (ctypes.c_int * 5)(*grid, *block)
        self._function(sizes, *operands)
        for source, copy in copies:
            source[...] = copy


class SourceModule:
    """Kernels that are compiled of a text."""

    def __init__(self, text: str) -> None:
        loops = ""
        for name, parameters in _KERNEL.findall(text):
            names = [re.findall(r"\w+", parameter)[-1] for parameter in parameters.split(",")]
            loops += LOOP.format(name=name, declared=parameters, given=", ".join(names))
        with TemporaryDirectory() as folder:
            source, library = Path(folder) / "kernels.cpp", Path(folder) / "kernels.so"
            source.write_text(WORDS + text + loops, encoding="utf-8")
            subprocess.run(["g++", "-O1", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
            self._library = ctypes.CDLL(str(library))

    def get_function(self, name: str) -> Function:
        """Return a kernel."""
        return Function(getattr(self._library, f"run_{name}"))


class _Module(ModuleType):
    def __init__(self, name: str, **members: Any) -> None:
        super().__init__(name)
        self.__dict__.update(members)


class GPUArray:
    """An array of PyCUDA, made of memory that somebody else has."""

    def __init__(self, shape: Any, dtype: Any, base: Any = None, gpudata: Any = None) -> None:
        self.shape, self.dtype, self.base, self.gpudata = shape, dtype, base, gpudata


_numbers = itertools.count()


def modules() -> dict[str, ModuleType]:
    """Return the modules by their names; contexts are numbered."""
    driver = _Module(
        "pycuda.driver", In=In, Out=Out, init=lambda: None, Context=SimpleNamespace(attach=lambda: next(_numbers))
    )
    compiler = _Module("pycuda.compiler", SourceModule=SourceModule)
    arrays = _Module("pycuda.gpuarray", GPUArray=GPUArray)
    autoinit = _Module("pycuda.autoinit")
    full = _Module("pycuda", driver=driver, compiler=compiler, gpuarray=arrays, autoinit=autoinit)
    full.__path__ = []
    return {module.__name__: module for module in (full, driver, compiler, arrays, autoinit)}
