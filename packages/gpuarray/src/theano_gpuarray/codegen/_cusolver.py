"""Linear algebra by cuSOLVER and cuBLAS, where they are: factors, solutions, eigenvalues and singular values.

The library gets the addresses of a stack's matrices, all at once, where there are many or they are small; others are
computed one by one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from theano_graph import format_error
from theano_linker_c.scalar import c_type

from ._form import DeviceOperand, LibraryCall, NoDeviceForm, Operand, Recorder, register_device_form
from ._kernel_writer import KernelWriter, add_refusals, contiguous, copy_into, on_device, refusal, spread
from ._matrix_blocks import (
    BLOCK,
    FLOATS,
    EigenKernel,
    Explain,
    OrthogonalKernel,
    SingularValuesKernel,
    block,
    check_square,
    copy_matrices,
    copy_triangle,
    explained,
    set_unit,
    stack,
    swapped,
    transposed,
)

# ---- Factors and solutions

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


# ---- Orthogonal factors, eigenvalues and singular values; devices without cuSOLVER leave them to the host


_FINITE = "look for NaN and infinities in the matrix"
_FACTORS: Explain = explained("svd: SVD did not converge", _FINITE)
_VALUES: Explain = explained("eigh: Eigenvalues did not converge", _FINITE)
#: Rows and columns up to which the library takes all matrices of a stack at once.
_SMALL_SIDE = 32


def _required_workspace(recorder: Recorder, call: LibraryCall) -> DeviceOperand:
    size = recorder.workspace(call)
    if size is None:
        raise NoDeviceForm(
            format_error(
                f"{call.name} of cuSOLVER does not take {call.dtype} matrices with {call.numbers[:2]} rows and columns",
                hint="compute this on the host: transfer the matrix with transfer('cpu'), or set tag.target = 'cpu'",
            )
        )
    return recorder.empty("uint8", (size,))


@register_device_form(
    SingularValuesKernel,
    supports=lambda kernel: kernel.dtype in FLOATS,
    library=lambda kernel: LibraryCall("gesvd", kernel.dtype, (1, 1, 2)),
)
def _singular_values(
    kernel: SingularValuesKernel, recorder: Recorder, operands: Sequence[Operand]
) -> Sequence[Operand]:
    x = on_device(recorder, operands[0])
    *front, rows, columns = x.shape
    least, most, batch = min(rows, columns), max(rows, columns), math.prod(front)
    values = recorder.empty(x.dtype, (*front, least))
    results = [values]
    if kernel.vectors:
        u = recorder.empty(x.dtype, (*front, rows, rows if kernel.full else least))
        vt = recorder.empty(x.dtype, (*front, columns if kernel.full else least, columns))
        results = [u, values, vt]
    if not x.size:
        for vectors in results[::2] if kernel.vectors else ():
            set_unit(recorder, stack(vectors))
        return results
    work, info = recorder.empty(x.dtype, (batch, least, most)), recorder.empty("int32", (batch,))
    copy_matrices(recorder, work, x if rows <= columns else transposed(x))
    lines = values.view((batch, least), (least * values.itemsize, values.itemsize))
    at_once = batch > 1 and most <= _SMALL_SIDE
    left, right = (_values_at_once if at_once else _values_one_by_one)(kernel, recorder, work, lines, info)
    check_info(recorder, info, _FACTORS)
    if kernel.vectors:
        # Of matrices with more rows than columns the library has seen the transpose of the others' form.
        wide = rows <= columns
        first, second = (right, left) if wide else (left, right)
        copy_into(recorder, stack(u), _part(first if wide else swapped(first), stack(u)))
        copy_into(recorder, stack(vt), _part(second if wide else swapped(second), stack(vt)))
    return results


def _part(x: DeviceOperand, like: DeviceOperand) -> DeviceOperand:
    """Return the first rows and columns of matrices."""
    return block(x, (0, like.shape[1]), (0, like.shape[2]))


def _values_one_by_one(
    kernel: SingularValuesKernel, recorder: Recorder, a: DeviceOperand, values: DeviceOperand, info: DeviceOperand
) -> tuple[DeviceOperand, DeviceOperand]:
    """Compute singular values by QR iterations; return the vectors on the long side as rows, then the others."""
    batch, least, most = a.shape
    call = LibraryCall("gesvd", a.dtype, (most, least, 0 if not kernel.vectors else 2 if kernel.full else 1))
    work = _required_workspace(recorder, call)
    long, short = values, values  # any address, where there are no vectors
    if kernel.vectors:
        long = recorder.empty(a.dtype, (batch, most if kernel.full else least, most))
        short = recorder.empty(a.dtype, (batch, least, least))
    for k in range(batch):
        places = [one(v, k) for v in (a, values, long, short)]
        recorder.call(call, [*places, work, one(info, k)])
    return long, short


def _values_at_once(
    kernel: SingularValuesKernel, recorder: Recorder, a: DeviceOperand, values: DeviceOperand, info: DeviceOperand
) -> tuple[DeviceOperand, DeviceOperand]:
    """Compute singular values of many small matrices by Jacobi's method; return the results of `_one_by_one`."""
    batch, least, most = a.shape
    call = LibraryCall("gesvdj", a.dtype, (most, least, int(kernel.vectors), batch))
    work = _required_workspace(recorder, call)
    long, short = values, values
    if kernel.vectors:
        long, short = (recorder.empty(a.dtype, (batch, n, n)) for n in (most, least))
    recorder.call(call, [a, values, long, short, work, info])
    return long, swapped(short) if kernel.vectors else short


@register_device_form(
    EigenKernel,
    supports=lambda kernel: kernel.dtype in FLOATS,
    library=lambda kernel: LibraryCall("syevd", kernel.dtype, (1, 1)),
)
def _eigenvalues(kernel: EigenKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    x = on_device(recorder, operands[0])
    check_square("eigh", x)
    *front, n, _ = x.shape
    batch = math.prod(front)
    values, vectors = recorder.empty(x.dtype, (*front, n)), recorder.empty(x.dtype, x.shape)
    if not x.size:
        return [values, vectors]
    a, info = recorder.empty(x.dtype, (batch, n, n)), recorder.empty("int32", (batch,))
    copy_matrices(recorder, a, x)
    lines = values.view((batch, n), (n * values.itemsize, values.itemsize))
    # The lower triangle is the library's upper one, and vectors, columns there, are rows here.
    if batch > 1 and n <= _SMALL_SIDE:
        call = LibraryCall("syevj", x.dtype, (n, int(kernel.lower), batch))
        recorder.call(call, [a, values, _required_workspace(recorder, call), info])
    else:
        call = LibraryCall("syevd", x.dtype, (n, int(kernel.lower)))
        work = _required_workspace(recorder, call)
        for k in range(batch):
            recorder.call(call, [one(a, k), one(lines, k), work, one(info, k)])
    check_info(recorder, info, _VALUES)
    copy_into(recorder, stack(vectors), swapped(a))
    return [values, vectors]


@register_device_form(
    OrthogonalKernel,
    supports=lambda kernel: kernel.dtype in FLOATS,
    library=lambda kernel: LibraryCall("orgqr", kernel.dtype, (1, 1, 1)),
)
def _orthogonal(kernel: OrthogonalKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    x = on_device(recorder, operands[0])
    *front, rows, columns = x.shape
    batch, least = math.prod(front), min(rows, columns)
    # The library sees matrices in the order of Fortran: each one is copied as the rows of its transpose.
    h, tau = recorder.empty(x.dtype, (*front, columns, rows)), recorder.empty(x.dtype, (*front, least))
    lines = tau.view((batch, least), (least * tau.itemsize, tau.itemsize))
    a, info = stack(h), recorder.empty("int32", (1,))
    if x.size:
        copy_matrices(recorder, a, transposed(x))
        call = LibraryCall("geqrf", x.dtype, (rows, columns))
        work = _required_workspace(recorder, call)
        for k in range(batch):
            recorder.call(call, [one(a, k), one(lines, k), work, info])
    if kernel.mode == "raw":
        return [h, tau]
    width = rows if kernel.mode == "complete" else least
    r = recorder.empty(x.dtype, (*front, width, columns))
    copy_triangle(recorder, swapped(stack(r)), block(a, (0, columns), (0, width)), None)
    return [r] if kernel.mode == "r" else [_multiplied(recorder, a, lines, (*front, rows, width)), r]


def _multiplied(recorder: Recorder, a: DeviceOperand, lines: DeviceOperand, shape: tuple[int, ...]) -> DeviceOperand:
    """Return the first columns of the products of reflections."""
    q = recorder.empty(a.dtype, shape)
    (*_, rows, width), (batch, least) = shape, lines.shape
    if not q.size:
        return q
    if not least:
        set_unit(recorder, stack(q))
        return q
    turned = recorder.empty(a.dtype, (batch, width, rows))
    copy_into(recorder, block(turned, (0, least), (0, rows)), block(a, (0, least), (0, rows)))
    call, info = LibraryCall("orgqr", a.dtype, (rows, width, least)), recorder.empty("int32", (1,))
    work = _required_workspace(recorder, call)
    for k in range(batch):
        recorder.call(call, [one(turned, k), one(lines, k), work, info])
    copy_into(recorder, stack(q), swapped(turned))
    return q


__all__ = ["check_info", "factor_by_library", "lu_by_library", "one", "solve_by_library", "substitute_by_library"]
