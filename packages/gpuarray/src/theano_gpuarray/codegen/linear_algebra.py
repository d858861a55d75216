"""Factors of matrices, solutions of linear equations, eigenvalues and singular values on devices."""

from __future__ import annotations

from collections.abc import Sequence

from theano_graph import format_error
from theano_linker_c.scalar import c_type

from ._cusolver import check_info, factor_by_library, lu_by_library, solve_by_library, substitute_by_library
from ._form import DeviceOperand, Operand, Recorder, register_device_form
from ._kernel_writer import KernelWriter, copy_into, on_device
from ._matrix_blocks import (
    BLOCK,
    FLOATS,
    CholeskyGradKernel,
    CholeskyKernel,
    DeterminantKernel,
    EigenKernel,
    Explain,
    InverseKernel,
    OrthogonalKernel,
    SingularValuesKernel,
    SolveKernel,
    add_matrices,
    as_stack,
    block,
    check_diagonal,
    check_square,
    copy_matrices,
    copy_triangle,
    element,
    exchange_rows,
    explained,
    factor_block,
    factor_panel,
    group_size,
    half_sum,
    halve_triangle,
    mirror,
    set_unit,
    solve_block,
    stack,
    swapped,
    transposed,
)
from .products import add_product

# ---- Cholesky factors, solutions and inverses, block by block: most of the work is products of matrices

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
    """Overwrite matrices by U and the stored part of L, and the matrices beside them by their eliminated form.

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


# ---- Determinants from the factors L and U, without overflow on the way


@register_device_form(DeterminantKernel, supports=lambda kernel: kernel.dtype in FLOATS)
def _determinant(kernel: DeterminantKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    x = on_device(recorder, operands[0])
    check_square("slogdet" if kernel.logarithm else "det", x)
    *front, n, _ = x.shape
    results = [recorder.empty(x.dtype, tuple(front)) for _ in range(1 + kernel.logarithm)]
    batch = results[0].size
    if not batch:
        return results
    a = recorder.empty(x.dtype, (batch, n, n))
    copy_matrices(recorder, a, x)
    factors = lu_by_library(recorder, a)
    if factors is None:
        _multiply(recorder, a, factor_rows(recorder, a, None), None, results)
    else:
        _multiply(recorder, a, *factors, results)
    return results


def _multiply(
    recorder: Recorder,
    a: DeviceOperand,
    pivots: DeviceOperand,
    info: DeviceOperand | None,
    results: Sequence[DeviceOperand],
) -> None:
    """Multiply the diagonals of U, with a sign for each exchange of rows.

    Factors are kept between 0.5 and 1, and powers of 2 are added up beside them; so are signs, since NaN counts as
    positive there, and 0 makes the whole 0, as in NumPy. A library counts rows from 1, and says where a matrix is
    singular.
    """
    kind, local = c_type(a.dtype), group_size(recorder)
    # Splits off the power of 2; OpenCL has one name for both precisions.
    end = "" if kind == "double" or recorder.properties.driver == "opencl" else "f"
    writer = KernelWriter("determinant")
    add_matrices(writer, "a", a)
    writer.reads(p=pivots)
    writer.number("n", a.shape[1])
    for k, result in enumerate(results):
        writer.array(f"z{k}", result, written=True)
    itself, suffix = f"k % {BLOCK}", "" if kind == "double" else "f"
    singular = ""
    if info is not None:
        writer.reads(info=info)
        itself = "k + 1"
        singular = "if (((GLOBAL_MEM const int32_t *)(info + info_at))[b] != 0) signs[0] = 0;"
    targets = [f"((GLOBAL_MEM {kind} *)(z{k} + z{k}_at))[b]" for k in range(len(results))]
    writer.local(kind, "parts", local)
    for name in ("powers", "signs"):
        writer.local("int32_t", name, local)
    writer.add(
        f"const int64_t b = GID_0; {kind} part = 1; int32_t power = 0, sign = 1; int more;",
        f"for (int32_t k = LID_0; k < n; k += {local}) {{",
        f"const {kind} pivot = {element(kind, 'a', 'k', 'k')};",
        f"part *= fabs{suffix}(pivot);",
        "if (pivot == 0) sign = 0;",
        f"if ((((GLOBAL_MEM const int32_t *)(p + p_at))[b * n + k] != {itself}) != (pivot < 0)) sign = -sign;",
        f"more = 0; part = frexp{end}(part, &more); power += more;",
        "}",
        "parts[LID_0] = part; powers[LID_0] = power; signs[LID_0] = sign;",
        "local_barrier();",
        f"for (int span = {local // 2}; span > 0; span /= 2) {{",
        "if (LID_0 < span) {",
        f"more = 0; parts[LID_0] = frexp{end}(parts[LID_0] * parts[LID_0 + span], &more);",
        "powers[LID_0] += powers[LID_0 + span] + more; signs[LID_0] *= signs[LID_0 + span];",
        "}",
        "local_barrier();",
        "}",
        "if (LID_0 == 0) {",
        f"{singular} const {kind} total = signs[0] == 0 ? 0 : parts[0];",
        *_results(kind, end, targets),
        "}",
    )
    writer.launch(recorder, (a.shape[0],), (local,))


def _results(kind: str, end: str, targets: Sequence[str]) -> list[str]:
    """Return the statements that store ``signs[0] * total * 2 ** powers[0]``, or its sign and logarithm."""
    if len(targets) == 1:
        return [f"{targets[0]} = ldexp{end}(signs[0] * total, powers[0]);"]
    suffix = "" if kind == "double" else "f"
    size = f"log{suffix}(total) + powers[0] * ({kind})0.69314718055994530942"
    return [f"{targets[0]} = signs[0];", f"{targets[1]} = {size};"]


__all__ = [
    "CholeskyGradKernel",
    "CholeskyKernel",
    "DeterminantKernel",
    "EigenKernel",
    "InverseKernel",
    "OrthogonalKernel",
    "SingularValuesKernel",
    "SolveKernel",
]
