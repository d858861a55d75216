"""Orthogonal factors, eigenvalues and singular values by cuSOLVER; devices without it leave them to the host."""

from __future__ import annotations

import math
from collections.abc import Sequence

from theano_graph import format_error

from .._copies import copy_into, on_device
from .._form import DeviceOperand, LibraryCall, NoDeviceForm, Operand, Recorder, register_device_form
from ._blocks import Explain, block, copy_triangle, set_unit, swapped
from ._kernel import EigenKernel, OrthogonalKernel, SingularValuesKernel
from ._library import check_info, one
from ._stacks import FLOATS, check_square, copy_matrices, explained, stack, transposed

__all__: list[str] = []

_FINITE = "look for NaN and infinities in the matrix"
_FACTORS: Explain = explained("svd: SVD did not converge", _FINITE)
_VALUES: Explain = explained("eigh: Eigenvalues did not converge", _FINITE)
#: Rows and columns up to which the library takes all matrices of a stack at once.
_SMALL = 32


def _workspace(recorder: Recorder, call: LibraryCall) -> DeviceOperand:
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
    at_once = batch > 1 and most <= _SMALL
    left, right = (_at_once if at_once else _one_by_one)(kernel, recorder, work, lines, info)
    check_info(recorder, info, _FACTORS)
    if kernel.vectors:
        # Of matrices with more rows than columns the library has seen the transpose of what it sees of others.
        wide = rows <= columns
        first, second = (right, left) if wide else (left, right)
        copy_into(recorder, stack(u), _part(first if wide else swapped(first), stack(u)))
        copy_into(recorder, stack(vt), _part(second if wide else swapped(second), stack(vt)))
    return results


def _part(x: DeviceOperand, like: DeviceOperand) -> DeviceOperand:
    """Return the first rows and columns of matrices."""
    return block(x, (0, like.shape[1]), (0, like.shape[2]))


def _one_by_one(
    kernel: SingularValuesKernel, recorder: Recorder, a: DeviceOperand, values: DeviceOperand, info: DeviceOperand
) -> tuple[DeviceOperand, DeviceOperand]:
    """Compute singular values by QR iterations; return the vectors on the long side as rows, then the others."""
    batch, least, most = a.shape
    call = LibraryCall("gesvd", a.dtype, (most, least, 0 if not kernel.vectors else 2 if kernel.full else 1))
    work = _workspace(recorder, call)
    long, short = values, values  # any address, where there are no vectors
    if kernel.vectors:
        long = recorder.empty(a.dtype, (batch, most if kernel.full else least, most))
        short = recorder.empty(a.dtype, (batch, least, least))
    for k in range(batch):
        places = [one(v, k) for v in (a, values, long, short)]
        recorder.call(call, [*places, work, one(info, k)])
    return long, short


def _at_once(
    kernel: SingularValuesKernel, recorder: Recorder, a: DeviceOperand, values: DeviceOperand, info: DeviceOperand
) -> tuple[DeviceOperand, DeviceOperand]:
    """Compute singular values of many small matrices by Jacobi's method; return what `_one_by_one` does."""
    batch, least, most = a.shape
    call = LibraryCall("gesvdj", a.dtype, (most, least, int(kernel.vectors), batch))
    work = _workspace(recorder, call)
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
    # The lower triangle is the upper one of what the library sees, and vectors, columns there, are rows here.
    if batch > 1 and n <= _SMALL:
        call = LibraryCall("syevj", x.dtype, (n, int(kernel.lower), batch))
        recorder.call(call, [a, values, _workspace(recorder, call), info])
    else:
        call = LibraryCall("syevd", x.dtype, (n, int(kernel.lower)))
        work = _workspace(recorder, call)
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
        work = _workspace(recorder, call)
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
    work = _workspace(recorder, call)
    for k in range(batch):
        recorder.call(call, [one(turned, k), one(lines, k), work, info])
    copy_into(recorder, stack(q), swapped(turned))
    return q
