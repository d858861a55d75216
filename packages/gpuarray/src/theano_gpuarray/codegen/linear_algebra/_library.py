"""Factors and solutions by cuSOLVER and cuBLAS, where they are.

Matrices of a stack are told by their addresses, all at once, where there are many or they are small; others are
computed one by one.
"""

from __future__ import annotations

from theano_linker_c.scalar import c_type

from .._copies import contiguous
from .._form import DeviceOperand, LibraryCall, Recorder
from .._kernel_writer import KernelWriter, spread
from .._refusals import add_refusals, refusal
from ._blocks import BLOCK, Explain

__all__ = ["check_info", "factor_by_library", "lu_by_library", "one", "solve_by_library", "substitute_by_library"]

#: Rows from which on a call is worth more than kernels on one block.
_LEAST_ROWS = 64
#: Matrices of a stack from which on all are computed at once, and rows up to which they always are.
_MANY, _SMALL = 17, 256


def one(x: DeviceOperand, number: int) -> DeviceOperand:
    """Return a matrix of a stack, a row of a matrix, or an element of a vector with one dimension."""
    shape, strides = (x.shape[1:], x.strides[1:]) if x.ndim > 1 else ((1,), x.strides)
    return x.view(shape, strides, x.offset + number * x.strides[0])


def _addresses(recorder: Recorder, x: DeviceOperand) -> DeviceOperand:
    """Return where the matrices of a stack begin, written by the device."""
    addresses = recorder.empty("uint64", (x.shape[0],))
    writer = KernelWriter("addresses")
    writer.writes(p=addresses)
    writer.reads(x=x)
    writer.number("step", x.strides[0])
    writer.walk(x.shape[0])
    writer.add("*(GLOBAL_MEM uint64_t *)(p + p_at + 8 * (int64_t)i) = (uint64_t)(x + x_at + (int64_t)i * step);")
    writer.end()
    writer.launch(recorder, *spread(recorder, x.shape[0]))
    return addresses


def _is_many(x: DeviceOperand) -> bool:
    """Tell whether operations on all matrices of a stack are worth while."""
    batch, rows = x.shape[:2]
    return batch > 1 and rows > BLOCK and (rows <= _SMALL or batch >= _MANY)


def _at_once(recorder: Recorder, x: DeviceOperand, *calls: LibraryCall) -> bool:
    """Tell whether operations on all matrices of a stack are worth while, and there."""
    return _is_many(x) and all(recorder.workspace(call) is not None for call in calls)


def _workspace(recorder: Recorder, call: LibraryCall, a: DeviceOperand) -> DeviceOperand | None:
    if a.shape[1] < _LEAST_ROWS or a.shape[0] >= _MANY:
        return None
    size = recorder.workspace(call)
    return None if size is None else recorder.empty("uint8", (size,))


def factor_by_library(recorder: Recorder, a: DeviceOperand) -> DeviceOperand | None:
    """Overwrite contiguous matrices by their lower Cholesky factors; the other triangles are left undefined.

    Returns
    -------
    DeviceOperand or None
        An int32 for each matrix that is 0 where there is a factor; None where there is no library.
    """
    batch, n, _ = a.shape
    stacked = LibraryCall("potrf_stack", a.dtype, (n, batch))
    if _at_once(recorder, a, stacked):
        info = recorder.empty("int32", (batch,))
        recorder.call(stacked, [_addresses(recorder, a), info, a])
        return info
    call = LibraryCall("potrf", a.dtype, (n,))
    work = _workspace(recorder, call, a)
    if work is None:
        return None
    info = recorder.empty("int32", (batch,))
    for k in range(batch):
        recorder.call(call, [one(a, k), work, one(info, k)])
    return info


def lu_by_library(recorder: Recorder, a: DeviceOperand) -> tuple[DeviceOperand, DeviceOperand] | None:
    """Overwrite contiguous matrices by factors L and U of their transposes.

    Returns
    -------
    tuple of DeviceOperand, or None
        For each row the one that it was exchanged with, counted from 1, and an int32 for each matrix that is 0 where it
        is not singular; None where there is no library.
    """
    batch, n, _ = a.shape
    stacked, factor = LibraryCall("getrf_stack", a.dtype, (n, batch)), LibraryCall("getrf", a.dtype, (n,))
    at_once = _at_once(recorder, a, stacked)
    work = None if at_once else _workspace(recorder, factor, a)
    if work is None and not at_once:
        return None
    pivots, info = recorder.empty("int32", (batch, n)), recorder.empty("int32", (batch,))
    if work is None:
        recorder.call(stacked, [_addresses(recorder, a), pivots, info, a])
        return pivots, info
    for k in range(batch):
        recorder.call(factor, [one(a, k), work, one(pivots, k), one(info, k)])
    return pivots, info


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
    (batch, columns, n), dtype = sides.shape, a.dtype
    solve, solves = LibraryCall("getrs", dtype, (n, columns)), LibraryCall("getrs_stack", dtype, (n, columns, batch))
    at_once = _at_once(recorder, a, LibraryCall("getrf_stack", dtype, (n, batch)), solves)
    if not at_once and recorder.workspace(solve) is None:
        return False
    factors = lu_by_library(recorder, a)
    if factors is None:
        return False
    pivots, info = factors
    if at_once:
        recorder.call(solves, [_addresses(recorder, a), pivots, _addresses(recorder, sides), a, sides])
    else:
        unused = recorder.empty("int32", (1,))
        for k in range(batch):
            recorder.call(solve, [one(a, k), one(pivots, k), one(sides, k), unused])
    check_info(recorder, info, explain)
    return True


def _layout(x: DeviceOperand) -> tuple[int, bool] | None:
    """Return the leading dimension of matrices, and whether they are in the order of Fortran; None for other ones."""
    (_, rows, columns), (_, down, across), size = x.shape, x.strides, x.itemsize
    if x.offset % size or any(step % size for step in x.strides):
        return None
    if across == size and down >= columns * size:
        return down // size, False
    return (across // size, True) if down == size and across >= rows * size else None


def substitute_by_library(recorder: Recorder, a: DeviceOperand, x: DeviceOperand, *, lower: bool) -> bool:
    """Overwrite `x` by the solutions of equations with triangular matrices.

    Parameters
    ----------
    recorder : Recorder
    a, x : DeviceOperand
        Of shapes (batch, n, n) and (batch, n, columns).
    lower : bool
        Which triangle of `a` is read.

    Returns
    -------
    bool
        False where there is no library for it, and nothing is overwritten.
    """
    batch, n, columns = x.shape
    of_x, of_a = _layout(x), _layout(a)
    stacked = _is_many(x)
    if not x.size or of_x is None or not (stacked or (n >= _LEAST_ROWS and batch < _MANY)):
        return False
    if of_a is None:
        a = contiguous(recorder, a, copied=True)
        of_a = n, False
    (leading_a, fortran_a), (leading_x, fortran_x) = of_a, of_x
    # A matrix in the order of C is its transpose for the library; so are unknowns, which stand left of it then.
    numbers = (
        int(fortran_x),
        int(lower == fortran_a),
        int(fortran_a != fortran_x),
        n,
        columns,
        leading_a,
        leading_x,
    )
    call = LibraryCall("trsm_stack" if stacked else "trsm", a.dtype, (*numbers, batch) if stacked else numbers)
    if recorder.workspace(call) is None:
        return False
    if stacked:
        recorder.call(call, [_addresses(recorder, a), _addresses(recorder, x), a, x])
        return True
    for k in range(batch):
        recorder.call(call, [one(a, k), one(x, k)])
    return True


def check_info(recorder: Recorder, info: DeviceOperand, explain: Explain) -> None:
    """Refuse a call where the library has said that something is wrong with a matrix."""
    writer = KernelWriter("check_info")
    writer.reads(x=info)
    add_refusals(recorder, writer, explain)
    writer.walk(info.size)
    kind = c_type(info.dtype)
    writer.add(f"const {kind} found = ((GLOBAL_MEM const {kind} *)(x + x_at))[i];")
    writer.add(f"if (found != 0) {{ {refusal('i', 'found', '0')} }}")
    writer.end()
    writer.launch(recorder, *spread(recorder, info.size))
