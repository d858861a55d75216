"""Factors and solutions by cuSOLVER, where it is: matrices of a stack one by one."""

from __future__ import annotations

from theano_linker_c.scalar import c_type

from .._form import DeviceOperand, LibraryCall, Recorder
from .._kernel_writer import KernelWriter, spread
from .._refusals import add_refusals, refusal
from ._blocks import Explain

__all__ = ["check_info", "factor_by_library", "solve_by_library"]

#: Rows from which on a call is worth more than kernels on one block, and matrices of a stack up to which it is.
_LEAST_ROWS, _MOST_MATRICES = 64, 16


def _workspace(recorder: Recorder, call: LibraryCall, a: DeviceOperand) -> DeviceOperand | None:
    if a.shape[1] < _LEAST_ROWS or a.shape[0] > _MOST_MATRICES:
        return None
    size = recorder.workspace(call)
    return None if size is None else recorder.empty("uint8", (size,))


def _one(x: DeviceOperand, number: int) -> DeviceOperand:
    """Return a matrix of a stack, a row of a matrix, or an element of a vector with one dimension."""
    shape, strides = (x.shape[1:], x.strides[1:]) if x.ndim > 1 else ((1,), x.strides)
    return x.view(shape, strides, x.offset + number * x.strides[0])


def factor_by_library(recorder: Recorder, a: DeviceOperand) -> DeviceOperand | None:
    """Overwrite contiguous matrices by their lower Cholesky factors; the other triangles are left undefined.

    Returns
    -------
    DeviceOperand or None
        An int32 for each matrix that is 0 where there is a factor; None where there is no library.
    """
    call = LibraryCall("potrf", a.dtype, (a.shape[1],))
    work = _workspace(recorder, call, a)
    if work is None:
        return None
    info = recorder.empty("int32", (a.shape[0],))
    for k in range(a.shape[0]):
        recorder.call(call, [_one(a, k), work, _one(info, k)])
    return info


def solve_by_library(recorder: Recorder, a: DeviceOperand, sides: DeviceOperand, explain: Explain) -> bool:
    """Overwrite right-hand sides, which are rows, by solutions, and matrices by factors; all are contiguous.

    Parameters
    ----------
    recorder : Recorder
    a, sides : DeviceOperand
        Of shapes (batch, n, n) and (batch, columns, n).
    explain : callable
        Makes the exception for a singular matrix.

    Returns
    -------
    bool
        False where there is no library, and nothing is overwritten.
    """
    n = a.shape[1]
    factor, solve = LibraryCall("getrf", a.dtype, (n,)), LibraryCall("getrs", a.dtype, (n, sides.shape[1]))
    work = _workspace(recorder, factor, a)
    if work is None or recorder.workspace(solve) is None:
        return False
    pivots, info = recorder.empty("int32", (a.shape[0], n)), recorder.empty("int32", (a.shape[0],))
    unused = recorder.empty("int32", (1,))
    for k in range(a.shape[0]):
        recorder.call(factor, [_one(a, k), work, _one(pivots, k), _one(info, k)])
        recorder.call(solve, [_one(a, k), _one(pivots, k), _one(sides, k), unused])
    check_info(recorder, info, explain)
    return True


def check_info(recorder: Recorder, info: DeviceOperand, explain: Explain) -> None:
    """Refuse a call where the library has said that something is wrong with a matrix."""
    writer = KernelWriter("check_info")
    writer.array("x", info)
    add_refusals(recorder, writer, explain)
    writer.walk(info.size)
    kind = c_type(info.dtype)
    writer.add(f"const {kind} found = ((GLOBAL_MEM const {kind} *)(x + x_at))[i];")
    writer.add(f"if (found != 0) {{ {refusal('i', 'found', '0')} }}")
    writer.end()
    writer.launch(recorder, *spread(recorder, info.size))
