"""Calling compiled kernels through ctypes, and arrays of all kinds of strides to call them on."""

from __future__ import annotations

import ctypes
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from theano_linker_c.compiler import CompilerOptions
from theano_linker_c.kernels import (
    ArgmaxKernel,
    ElementwiseKernel,
    KernelLibrary,
    LoadedKernel,
    Reduction,
    ReductionKernel,
)
from theano_linker_c.scalar import ScalarOp, identity

Array = np.ndarray[Any, Any]

#: One directory and one library for all tests of the process: a kernel compiled by one test serves the others.
_folder = tempfile.TemporaryDirectory(prefix="kernel-tests-")
#: Arguments from outside are kept, so that kernels can be tested under sanitizers.
OPTIONS = CompilerOptions(command="gcc", directory=_folder.name, extra=CompilerOptions.from_config().extra)
LIBRARY = KernelLibrary()


def load(kernel: ElementwiseKernel | ReductionKernel | ArgmaxKernel) -> LoadedKernel:
    (loaded,) = LIBRARY.build([kernel], OPTIONS)
    assert loaded is not None, "the kernel has a C form and there is a compiler"
    return loaded


def reduction(
    combine: ScalarOp,
    dtype: str,
    acc: str,
    element: ScalarOp = identity,
    broadcast: Sequence[Sequence[bool]] = ((False,),),
    axes: Sequence[int] = (0,),
) -> ReductionKernel:
    """Describe one reduction of elements that are computed from inputs of `dtype`."""
    rows = tuple(map(tuple, broadcast))
    reductions = (Reduction(combine, acc, acc, None),)
    return ReductionKernel(element, (dtype,) * len(rows), (), reductions, rows, len(rows[0]), tuple(axes))


def call(address: int, length: int, arrays: Sequence[Array]) -> None:
    """Call a kernel on `arrays` of one dimension; a 0-d array is passed with stride 0."""
    count = len(arrays)
    data = (ctypes.c_void_p * count)(*(a.ctypes.data for a in arrays))
    strides = (ctypes.c_int64 * count)(*(a.strides[0] if a.ndim else 0 for a in arrays))
    function = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(address)
    function(length, ctypes.addressof(data), ctypes.addressof(strides))


def call_rows(address: int, arrays: Sequence[Array], accumulator: Array) -> None:
    """Reduce the rows of matrices into `accumulator`, by the function of a reduction that takes all of them."""
    operands = [*arrays, accumulator]
    count, (rows, length) = len(operands), arrays[0].shape
    data = (ctypes.c_void_p * count)(*(a.ctypes.data for a in operands))
    strides = (ctypes.c_int64 * count)(*(a.strides[-1] for a in operands))
    steps = (ctypes.c_int64 * count)(*(a.strides[0] if a.ndim > 1 else 0 for a in operands))
    numbers, pointers = ctypes.c_int64, ctypes.c_void_p
    function = ctypes.CFUNCTYPE(None, numbers, pointers, pointers, numbers, pointers)(address)
    function(length, ctypes.addressof(data), ctypes.addressof(strides), rows, ctypes.addressof(steps))


def layouts(values: Array) -> Iterator[tuple[str, Array]]:
    """Give `values` (1-d) in memory of each kind of stride."""
    yield "contiguous", values.copy()
    wide = np.zeros((len(values), 3), values.dtype)
    wide[:, 1] = values
    yield "strided", wide[:, 1]
    yield "reversed", values[::-1].copy()[::-1]


def matrices(values: Array) -> Iterator[tuple[str, Array]]:
    """Give `values` (2-d) in memory of each order."""
    yield "C order", values.copy()
    yield "Fortran order", np.asfortranarray(values)
    wide = np.zeros((2 * len(values), 2 * values.shape[1]), values.dtype)
    wide[::2, 1::2] = values
    yield "every other", wide[::2, 1::2]
    yield "rows reversed", values[::-1].copy()[::-1]


def empty_like_layout(name: str, length: int, dtype: str) -> Array:
    """Make memory for a result with the stride kind `name`."""
    return dict(layouts(np.zeros(length, dtype)))[name]
