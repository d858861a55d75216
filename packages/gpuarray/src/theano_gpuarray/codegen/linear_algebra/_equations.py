"""Cholesky factors, solutions of equations and inverses, block by block: most of the work is products of matrices."""

from __future__ import annotations

from collections.abc import Sequence

from theano_graph import format_error

from .._copies import copy_into, on_device
from .._form import DeviceOperand, Operand, Recorder, register_device_form
from ..products import add_product
from ._blocks import (
    BLOCK,
    Explain,
    block,
    check_diagonal,
    copy_triangle,
    exchange_rows,
    factor_block,
    factor_panel,
    half_sum,
    halve_triangle,
    mirror,
    set_unit,
    solve_block,
    swapped,
)
from ._kernel import CholeskyGradKernel, CholeskyKernel, InverseKernel, SolveKernel
from ._library import check_info, factor_by_library, solve_by_library, substitute_by_library
from ._stacks import FLOATS, as_stack, check_square, copy_matrices, explained, stack, transposed

__all__ = ["factor_rows"]

_NOT_DEFINITE = "add a small multiple of the identity to it, or use Cholesky(on_error='nan')"
_SINGULAR = {
    "matrix_inverse": "add a small multiple of the identity, or use nlinalg.pinv",
    "solve": "the equations have no unique solution; use nlinalg.lstsq",
}


def _singular(name: str) -> Explain:
    return explained(f"{name}: Singular matrix", _SINGULAR[name])


@register_device_form(CholeskyKernel, supports=lambda kernel: kernel.dtype in FLOATS)
def _cholesky(kernel: CholeskyKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    x = on_device(recorder, operands[0])
    check_square("cholesky", x)
    result, work = recorder.empty(x.dtype, x.shape), recorder.empty(x.dtype, x.shape)
    if not x.size:
        return [result]
    # The upper factor is the transposed lower one of the transposed matrix.
    copy_into(recorder, work, x if kernel.lower else transposed(x))
    a, target = stack(work), stack(result)
    explain = explained("cholesky: Matrix is not positive definite", _NOT_DEFINITE)
    failed = factor_by_library(recorder, a)
    if failed is None:
        failed = _factor(recorder, a, kernel.nan, explain)
    elif not kernel.nan:
        check_info(recorder, failed, explain)
    copy_triangle(recorder, target if kernel.lower else swapped(target), a, failed if kernel.nan else None)
    return [result]


def _factor(recorder: Recorder, a: DeviceOperand, nan: bool, explain: Explain) -> DeviceOperand | None:
    """Overwrite matrices by their lower factors; return which ones have none if that is no error."""
    failed, n = recorder.empty("int32", (a.shape[0],)) if nan else None, a.shape[1]
    if failed is not None:
        recorder.fill(failed, 0)
    for begin in range(0, n, BLOCK):
        end = min(begin + BLOCK, n)
        corner, below = block(a, (begin, end), (begin, end)), block(a, (end, n), (begin, end))
        factor_block(recorder, corner, failed, explain)
        solve_block(recorder, corner, swapped(below), lower=True)
        add_product(recorder, block(a, (end, n), (end, n)), below, swapped(below), -1.0)
    return failed


@register_device_form(CholeskyGradKernel, supports=lambda kernel: kernel.dtype in FLOATS)
def _cholesky_gradient(
    kernel: CholeskyGradKernel, recorder: Recorder, operands: Sequence[Operand]
) -> Sequence[Operand]:
    """Compute equations 8 to 10 of Murray (2016), "Differentiation of the Cholesky decomposition"."""
    _, factor, g = (on_device(recorder, x) for x in operands)
    check_square("CholeskyGrad", factor)
    if g.shape != factor.shape:
        raise ValueError(
            format_error(
                f"CholeskyGrad: shapes {factor.shape} and {g.shape} do not fit", hint="give both the same shape"
            )
        )
    result, part = recorder.empty(g.dtype, g.shape), recorder.empty(g.dtype, g.shape)
    if not g.size:
        return [result]
    low = as_stack(recorder, factor if kernel.lower else transposed(factor))
    cotangent = as_stack(recorder, g if kernel.lower else transposed(g))
    inner, target, lower = recorder.empty(g.dtype, low.shape), stack(result), stack(part)
    copy_triangle(recorder, lower, cotangent, None)
    recorder.fill(inner, 0)
    add_product(recorder, inner, swapped(low), lower, 1.0)
    halve_triangle(recorder, inner)
    _substitute(recorder, swapped(low), inner, lower=False)
    _substitute(recorder, swapped(low), swapped(inner), lower=False)
    half_sum(recorder, target if kernel.lower else swapped(target), inner)
    return [result]


@register_device_form(SolveKernel, supports=lambda kernel: kernel.dtype in FLOATS)
def _solve(kernel: SolveKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    a, b = (on_device(recorder, x) for x in operands)
    check_square("solve", a)
    if a.shape[-1] != b.shape[max(b.ndim - 2, 0)] or (b.ndim > 2 and a.shape[:-2] != b.shape[:-2]):
        raise ValueError(
            format_error(
                f"solve: shapes {a.shape} and {b.shape} do not fit",
                hint="the right-hand side needs as many rows as the matrix",
            )
        )
    result = recorder.empty(b.dtype, b.shape)
    if not b.size:
        return [result]
    columns = b if b.ndim > 1 else b.view((b.shape[0], 1), (b.strides[0], 0))
    target = stack(result if b.ndim > 1 else result.view(columns.shape, (result.strides[0], result.itemsize)))
    if kernel.structure in ("lower_triangular", "upper_triangular"):
        copy_into(recorder, result, b)
        lower = kernel.structure == "lower_triangular"
        _substitute(recorder, as_stack(recorder, a), target, lower=lower, explain=_singular("solve"))
        return [result]
    triangle = kernel.lower if kernel.structure == "symmetric" else None
    _solve_general(recorder, (a, columns), target, triangle, _singular("solve"))
    return [result]


def _solve_general(
    recorder: Recorder,
    operands: tuple[DeviceOperand, DeviceOperand | None],
    target: DeviceOperand,
    lower: bool | None,
    explain: Explain,
) -> None:
    """Solve equations, for the identity where there are no right-hand sides.

    Of symmetric matrices one triangle is read, the lower one or the other.
    """
    (a, b), (batch, n, count) = operands, target.shape
    matrices, sides = recorder.empty(a.dtype, (batch, n, n)), recorder.empty(a.dtype, (batch, count, n))
    copy_matrices(recorder, matrices, a)
    if lower is not None:
        mirror(recorder, matrices, lower)
    if b is None:
        set_unit(recorder, sides)
    else:
        copy_matrices(recorder, swapped(sides), b)
    if solve_by_library(recorder, matrices, sides, explain):
        copy_into(recorder, target, swapped(sides))
        return
    extended = recorder.empty(a.dtype, (batch, n, n + count))
    copy_into(recorder, block(extended, (0, n), (0, n)), matrices)
    copy_into(recorder, block(extended, (0, n), (n, n + count)), swapped(sides))
    copy_into(recorder, target, _eliminate(recorder, extended, explain))


@register_device_form(InverseKernel, supports=lambda kernel: kernel.dtype in FLOATS)
def _inverse(kernel: InverseKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    x = on_device(recorder, operands[0])
    check_square("matrix_inverse", x)
    result = recorder.empty(x.dtype, x.shape)
    if not x.size:
        return [result]
    _solve_general(recorder, (x, None), stack(result), None, _singular("matrix_inverse"))
    return [result]


def _substitute(
    recorder: Recorder, a: DeviceOperand, x: DeviceOperand, *, lower: bool, explain: Explain | None = None
) -> None:
    """Overwrite `x` by the solution of equations with triangular matrices."""
    if substitute_by_library(recorder, a, x, lower=lower):
        if explain is not None:
            check_diagonal(recorder, a, explain)
        return
    n, columns = a.shape[1], (0, x.shape[2])
    starts = range(0, n, BLOCK)
    for begin in starts if lower else reversed(starts):
        end = min(begin + BLOCK, n)
        rows, others = (begin, end), (end, n) if lower else (0, begin)
        solution = block(x, rows, columns)
        solve_block(recorder, block(a, rows, rows), solution, lower=lower, explain=explain)
        add_product(recorder, block(x, others, columns), block(a, others, rows), solution, -1.0)


def factor_rows(recorder: Recorder, matrix: DeviceOperand, explain: Explain | None) -> DeviceOperand:
    """Overwrite matrices by U and what is left of L, and what stands beside them by what elimination makes of it.

    Returns
    -------
    DeviceOperand
        For each row the one that it was exchanged with, counted from the begin of its block.
    """
    batch, n, width = matrix.shape
    pivots = recorder.empty("int32", (batch, n))
    for begin in range(0, n, BLOCK):
        end = min(begin + BLOCK, n)
        chosen = pivots.view((batch, end - begin), pivots.strides, pivots.offset + begin * pivots.itemsize)
        factor_panel(recorder, block(matrix, (begin, n), (begin, end)), chosen, explain)
        exchange_rows(recorder, block(matrix, (begin, n), (end, width)), chosen)
        corner, beside = block(matrix, (begin, end), (begin, end)), block(matrix, (begin, end), (end, width))
        solve_block(recorder, corner, beside, lower=True, unit=True)
        below = block(matrix, (end, n), (begin, end))
        add_product(recorder, block(matrix, (end, n), (end, width)), below, beside, -1.0)
    return pivots


def _eliminate(recorder: Recorder, matrix: DeviceOperand, explain: Explain) -> DeviceOperand:
    """Solve equations by elimination; the matrices and their right sides stand side by side and are overwritten."""
    _, n, width = matrix.shape
    factor_rows(recorder, matrix, explain)
    right = block(matrix, (0, n), (n, width))
    _substitute(recorder, block(matrix, (0, n), (0, n)), right, lower=False)
    return right
