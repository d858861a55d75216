"""Operations on matrices: their kernels, matrices as stacks, and work on blocks of them beside products."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Literal, TypeAlias

import numpy as np

from theano_graph import format_error, record
from theano_linker_c.kernels import Kernel
from theano_linker_c.scalar import c_type

from ._form import DeviceOperand, Recorder
from ._kernel_writer import KernelWriter, add_refusals, copy_into, refusal, spread

# ---- Kernels of operations on matrices, or on each one of a stack


@record
class CholeskyKernel(Kernel):
    """The triangular factor of a positive definite matrix.

    Parameters
    ----------
    dtype : {"float32", "float64"}
    lower : bool
        Which factor it is; the triangle that it fills is read.
    nan : bool
        Whether there is a factor full of NaN for a matrix that is not positive definite, rather than an error.
    """

    dtype: str
    lower: bool
    nan: bool


@record
class CholeskyGradKernel(Kernel):
    """The gradient by a matrix; inputs are the matrix, its factor, and the gradient by the factor.

    Parameters
    ----------
    dtype : {"float32", "float64"}
    lower : bool
        Which factor it is; the gradient lies in that triangle.
    """

    dtype: str
    lower: bool


@record
class SolveKernel(Kernel):
    """The solution of linear equations; inputs are a matrix and a vector or matrix, or stacks of matrices.

    Parameters
    ----------
    dtype : {"float32", "float64"}
    structure : {"general", "symmetric", "lower_triangular", "upper_triangular"}
    lower : bool
        Which triangle of a symmetric matrix is read.
    """

    dtype: str
    structure: Literal["general", "symmetric", "lower_triangular", "upper_triangular"]
    lower: bool


@record
class InverseKernel(Kernel):
    """The inverse of a matrix.

    Parameters
    ----------
    dtype : {"float32", "float64"}
    """

    dtype: str


@record
class DeterminantKernel(Kernel):
    """The determinant of a matrix; or its sign, and the logarithm of its size.

    Parameters
    ----------
    dtype : {"float32", "float64"}
    logarithm : bool
        Whether there are both results.
    """

    dtype: str
    logarithm: bool


@record
class OrthogonalKernel(Kernel):
    """An orthogonal and a triangular factor of a matrix of any shape.

    Parameters
    ----------
    dtype : {"float32", "float64"}
    mode : {"reduced", "complete", "r", "raw"}
        Which results there are, as in NumPy.
    """

    dtype: str
    mode: Literal["reduced", "complete", "r", "raw"]


@record
class EigenKernel(Kernel):
    """The eigenvalues of a symmetric matrix, ascending, and its eigenvectors.

    Parameters
    ----------
    dtype : {"float32", "float64"}
    lower : bool
        Which triangle is read.
    """

    dtype: str
    lower: bool


@record
class SingularValuesKernel(Kernel):
    """The singular values of a matrix of any shape, descending, between its singular vectors.

    Parameters
    ----------
    dtype : {"float32", "float64"}
    vectors : bool
        Whether there are vectors; otherwise values are the only result.
    full : bool
        Whether matrices of vectors are square.
    """

    dtype: str
    vectors: bool
    full: bool


# ---- Blocks of matrices in stacks (batch, rows, columns): the work beside products of matrices

#: Rows and columns of a block.
BLOCK = 32
_LOCAL = 256
Explain: TypeAlias = Callable[[int, int, int], Exception]


def block(x: DeviceOperand, rows: tuple[int, int], columns: tuple[int, int]) -> DeviceOperand:
    """Return the part of each matrix between some rows and columns."""
    offset = x.offset + rows[0] * x.strides[1] + columns[0] * x.strides[2]
    return x.view((x.shape[0], rows[1] - rows[0], columns[1] - columns[0]), x.strides, offset)


def swapped(x: DeviceOperand) -> DeviceOperand:
    """Return a view of the transposed matrices."""
    return x.view((x.shape[0], x.shape[2], x.shape[1]), (x.strides[0], x.strides[2], x.strides[1]))


def element(kind: str, name: str, row: str, column: str) -> str:
    address = f"{name} + {name}_at + b * {name}s0 + (int64_t)({row}) * {name}s1 + (int64_t)({column}) * {name}s2"
    return f"(*(GLOBAL_MEM {kind} *)({address}))"


def add_matrices(writer: KernelWriter, name: str, operand: DeviceOperand, *, written: bool = False) -> None:
    writer.array(name, operand, written=written)
    writer.numbers(f"{name}s", operand.strides)


def group_size(recorder: Recorder) -> int:
    """Return the work-items of a group that works on one block."""
    local = 1
    while not recorder.properties.cpu and 2 * local <= min(_LOCAL, recorder.properties.max_local):
        local *= 2
    return local


def factor_block(recorder: Recorder, a: DeviceOperand, failed: DeviceOperand | None, explain: Explain) -> None:
    """Overwrite a block of `BLOCK` rows at most by its lower Cholesky factor; the other triangle stays as it is.

    Where a matrix is not positive definite, `failed` is set for it, or the call is refused where that is None.
    """
    kind, n, local = c_type(a.dtype), a.shape[1], group_size(recorder)
    end = "" if kind == "double" else "f"
    writer = KernelWriter("cholesky_block")
    add_matrices(writer, "a", a, written=True)
    writer.number("n", n)
    if failed is None:
        add_refusals(recorder, writer, explain)
        report = refusal("b", "k", "n")
    else:
        writer.writes(failed=failed)
        report = "((GLOBAL_MEM int32_t *)(failed + failed_at))[b] = 1;"
    writer.local(kind, "tile", BLOCK * (BLOCK + 1))
    writer.add(
        "const int64_t b = GID_0;",
        f"for (int p = LID_0; p < n * n; p += {local})",
        f"tile[p / n * {BLOCK + 1} + p % n] = {element(kind, 'a', 'p / n', 'p % n')};",
        "local_barrier();",
        "for (int k = 0; k < n; k++) {",
        f"const {kind} pivot = tile[k * {BLOCK + 1} + k];",
        # Not a number is no positive number, either.
        f"if (!(pivot > 0) && LID_0 == 0) {{ {report} }}",
        f"const {kind} root = sqrt{end}(pivot);",
        "local_barrier();",
        f"for (int i = k + LID_0; i < n; i += {local})",
        f"tile[i * {BLOCK + 1} + k] = i == k ? root : tile[i * {BLOCK + 1} + k] / root;",
        "local_barrier();",
        "const int rest = n - k - 1;",
        f"for (int p = LID_0; p < rest * rest; p += {local}) {{",
        "const int i = k + 1 + p / rest, j = k + 1 + p % rest;",
        f"if (j <= i) tile[i * {BLOCK + 1} + j] -= tile[i * {BLOCK + 1} + k] * tile[j * {BLOCK + 1} + k];",
        "}",
        "local_barrier();",
        "}",
        f"for (int p = LID_0; p < n * n; p += {local})",
        f"if (p % n <= p / n) {element(kind, 'a', 'p / n', 'p % n')} = tile[p / n * {BLOCK + 1} + p % n];",
    )
    writer.launch(recorder, (a.shape[0],), (local,))


def solve_block(
    recorder: Recorder,
    a: DeviceOperand,
    x: DeviceOperand,
    *,
    lower: bool,
    unit: bool = False,
    explain: Explain | None = None,
) -> None:
    """Overwrite each column of `x` by the solution of equations with a triangular block of `BLOCK` rows at most.

    With `explain`, a zero on the diagonal is refused; with `unit` the diagonal is not read.
    """
    batch, n, columns = x.shape
    if not x.size:
        return
    kind = c_type(a.dtype)
    writer = KernelWriter("solve_block")
    add_matrices(writer, "a", a)
    add_matrices(writer, "x", x, written=True)
    writer.number("n", n)
    writer.number("columns", columns)
    if explain is not None:
        add_refusals(recorder, writer, explain)
    writer.walk(batch * columns)
    writer.add(
        f"const int64_t b = i / columns, c = i % columns; {kind} y[{BLOCK}];",
        "for (int p = 0; p < n; p++) {",
        f"const int k = {'p' if lower else 'n - 1 - p'};",
        f"{kind} sum = {element(kind, 'x', 'k', 'c')};",
        f"for (int q = {'0' if lower else 'k + 1'}; q < {'k' if lower else 'n'}; q++)",
        f"sum -= {element(kind, 'a', 'k', 'q')} * y[q];",
    )
    if not unit:
        writer.add(f"const {kind} pivot = {element(kind, 'a', 'k', 'k')};")
        if explain is not None:
            writer.add(f"if (pivot == 0) {{ {refusal('b', 'k', 'n')} }}")
        writer.add("sum /= pivot;")
    writer.add("y[k] = sum;", "}", f"for (int k = 0; k < n; k++) {element(kind, 'x', 'k', 'c')} = y[k];")
    writer.end()
    writer.launch(recorder, *spread(recorder, batch * columns))


def factor_panel(recorder: Recorder, a: DeviceOperand, pivots: DeviceOperand, explain: Explain | None) -> None:
    """Overwrite the columns of a panel by their factors L and U, with exchanges of rows, whose numbers are `pivots`.

    The pivot is the largest element of a column, the first one of several, or one that is NaN. With `explain`, a column
    of zeros is refused; otherwise it stays as it is.
    """
    kind, local = c_type(a.dtype), group_size(recorder)
    writer = KernelWriter("lu_panel")
    add_matrices(writer, "a", a, written=True)
    writer.writes(p=pivots)
    writer.local(kind, "best", local)
    writer.local("int32_t", "where", local)
    for name, value in (("rows", a.shape[1]), ("columns", a.shape[2]), ("ps", pivots.strides[0])):
        writer.number(name, value)
    refused = ""
    if explain is not None:
        add_refusals(recorder, writer, explain)
        refused = f"if (best[0] == 0) {{ {refusal('b', 'k', 'columns')} }}"
    writer.add(
        "const int64_t b = GID_0;",
        "for (int k = 0; k < columns; k++) {",
        f"{kind} most = -1; int32_t at = k;",
        f"for (int32_t i = k + LID_0; i < rows; i += {local}) {{",
        f"{kind} size = {element(kind, 'a', 'i', 'k')};",
        f"size = size != size ? __builtin_inf{'f' if kind == 'float' else ''}() : size < 0 ? -size : size;",
        "if (size > most) { most = size; at = i; }",
        "}",
        "best[LID_0] = most; where[LID_0] = at;",
        "local_barrier();",
        f"for (int span = {local // 2}; span > 0; span /= 2) {{",
        "if (LID_0 < span) {",
        f"const {kind} other = best[LID_0 + span]; const int32_t place = where[LID_0 + span];",
        "if (other > best[LID_0] || (other == best[LID_0] && place < where[LID_0]))",
        "{ best[LID_0] = other; where[LID_0] = place; }",
        "}",
        "local_barrier();",
        "}",
        "const int32_t chosen = where[0];",
        "if (LID_0 == 0) {",
        "((GLOBAL_MEM int32_t *)(p + p_at + b * ps))[k] = chosen;",
        refused,
        "}",
        f"for (int j = LID_0; chosen != k && j < columns; j += {local}) {{",
        f"const {kind} held = {element(kind, 'a', 'k', 'j')};",
        f"{element(kind, 'a', 'k', 'j')} = {element(kind, 'a', 'chosen', 'j')};",
        f"{element(kind, 'a', 'chosen', 'j')} = held;",
        "}",
        "theano_barrier();",
        f"const {kind} pivot = {element(kind, 'a', 'k', 'k')};",
        f"for (int32_t i = k + 1 + LID_0; pivot != 0 && i < rows; i += {local}) {{",
        f"const {kind} factor = {element(kind, 'a', 'i', 'k')} / pivot;",
        f"{element(kind, 'a', 'i', 'k')} = factor;",
        "for (int j = k + 1; j < columns; j++)",
        f"{element(kind, 'a', 'i', 'j')} -= factor * {element(kind, 'a', 'k', 'j')};",
        "}",
        "theano_barrier();",
        "}",
    )
    writer.launch(recorder, (a.shape[0],), (local,))


def exchange_rows(recorder: Recorder, x: DeviceOperand, pivots: DeviceOperand) -> None:
    """Exchange rows as `factor_panel` did, in other columns."""
    batch, _, columns = x.shape
    if not x.size:
        return
    kind = c_type(x.dtype)
    writer = KernelWriter("exchange_rows")
    add_matrices(writer, "x", x, written=True)
    writer.reads(p=pivots)
    for name, value in (("columns", columns), ("n", pivots.shape[1]), ("ps", pivots.strides[0])):
        writer.number(name, value)
    writer.walk(batch * columns)
    writer.add(
        "const int64_t b = i / columns, c = i % columns;",
        "for (int k = 0; k < n; k++) {",
        "const int32_t chosen = ((GLOBAL_MEM const int32_t *)(p + p_at + b * ps))[k];",
        "if (chosen == k) continue;",
        f"const {kind} held = {element(kind, 'x', 'k', 'c')};",
        f"{element(kind, 'x', 'k', 'c')} = {element(kind, 'x', 'chosen', 'c')};",
        f"{element(kind, 'x', 'chosen', 'c')} = held;",
        "}",
    )
    writer.end()
    writer.launch(recorder, *spread(recorder, batch * columns))


def check_diagonal(recorder: Recorder, a: DeviceOperand, explain: Explain) -> None:
    """Refuse matrices with a zero on their diagonal."""
    if not a.size:
        return
    writer = KernelWriter("check_diagonal")
    add_matrices(writer, "a", a)
    writer.number("n", a.shape[1])
    add_refusals(recorder, writer, explain)
    writer.walk(a.shape[0] * a.shape[1])
    writer.add("const int64_t k = i % n, b = i / n;")
    writer.add(f"if ({element(c_type(a.dtype), 'a', 'k', 'k')} == 0) {{ {refusal('b', 'k', 'n')} }}")
    writer.end()
    writer.launch(recorder, *spread(recorder, a.shape[0] * a.shape[1]))


def _of_elements(recorder: Recorder, name: str, arrays: dict[str, DeviceOperand], *lines: str) -> None:
    """Launch statements for each element (``j``, ``k``) of each matrix ``b`` of the first of some arrays."""
    first = next(iter(arrays.values()))
    if not first.size:
        return
    writer = KernelWriter(name)
    for each, operand in arrays.items():
        declare = partial(add_matrices, writer) if operand.ndim == 3 else writer.array
        declare(each, operand, written=operand is first)
    writer.number("rows", first.shape[1])
    writer.number("columns", first.shape[2])
    writer.walk(first.size)
    writer.add("const int64_t k = r % columns, j = r / columns % rows, b = r / columns / rows;", *lines)
    writer.end()
    writer.launch(recorder, *spread(recorder, first.size))


def mirror(recorder: Recorder, a: DeviceOperand, lower: bool) -> None:
    """Overwrite one triangle by the other."""
    kind = c_type(a.dtype)
    condition = "k > j" if lower else "k < j"
    line = f"if ({condition}) {element(kind, 'a', 'j', 'k')} = {element(kind, 'a', 'k', 'j')};"
    _of_elements(recorder, "mirror", {"a": a}, line)


def set_unit(recorder: Recorder, a: DeviceOperand) -> None:
    """Overwrite matrices by the identity."""
    kind = c_type(a.dtype)
    _of_elements(recorder, "set_unit", {"a": a}, f"{element(kind, 'a', 'j', 'k')} = j == k;")


def copy_triangle(recorder: Recorder, target: DeviceOperand, a: DeviceOperand, failed: DeviceOperand | None) -> None:
    """Copy the lower triangle, with zeros beyond it; NaN everywhere where the matrix has `failed`."""
    kind = c_type(a.dtype)
    value = f"k > j ? 0 : {element(kind, 'a', 'j', 'k')}"
    arrays = {"z": target, "a": a}
    if failed is not None:
        arrays["failed"] = failed
        value = f"((GLOBAL_MEM const int32_t *)(failed + failed_at))[b] ? NAN : {value}"
    _of_elements(recorder, "copy_triangle", arrays, f"{element(kind, 'z', 'j', 'k')} = {value};")


def halve_triangle(recorder: Recorder, a: DeviceOperand) -> None:
    """Overwrite the upper triangle by zeros, and the diagonal by half of it."""
    offset = element(c_type(a.dtype), "a", "j", "k")
    line = f"{offset} = k > j ? 0 : k == j ? {offset} / 2 : {offset};"
    _of_elements(recorder, "halve_triangle", {"a": a}, line)


def half_sum(recorder: Recorder, target: DeviceOperand, a: DeviceOperand) -> None:
    """Set the lower triangle to the sum of matrices and their transposes, of which the diagonal is halved."""
    kind = c_type(a.dtype)
    one, other = element(kind, "a", "j", "k"), element(kind, "a", "k", "j")
    line = f"{element(kind, 'z', 'j', 'k')} = k > j ? 0 : k == j ? {one} : {one} + {other};"
    _of_elements(recorder, "half_sum", {"z": target, "a": a}, line)


# ---- Matrices as stacks with one leading dimension, and refusals of them

#: Dtypes of matrices.
FLOATS = ("float32", "float64")
_NOT_SQUARE = "use nlinalg.pinv or nlinalg.lstsq for matrices that are not square"


def stack(x: DeviceOperand) -> DeviceOperand:
    """Return contiguous matrices as a stack with one leading dimension."""
    shape = (math.prod(x.shape[:-2]), *x.shape[-2:])
    rows = x.itemsize * x.shape[-1]
    return x.view(shape, (rows * x.shape[-2], rows, x.itemsize))


def as_stack(recorder: Recorder, x: DeviceOperand) -> DeviceOperand:
    """Return matrices as a stack; those of more than one leading dimension are copied where they have gaps."""
    if x.ndim <= 3:
        return x if x.ndim == 3 else x.view((1, *x.shape), (0, *x.strides))
    if x.contiguous:
        return stack(x)
    copied = recorder.empty(x.dtype, x.shape)
    copy_into(recorder, copied, x)
    return stack(copied)


def transposed(x: DeviceOperand) -> DeviceOperand:
    """Return a view with each matrix transposed."""
    order = (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2)
    return x.view([x.shape[d] for d in order], [x.strides[d] for d in order])


def copy_matrices(recorder: Recorder, target: DeviceOperand, source: DeviceOperand) -> None:
    """Copy matrices of any layout into a stack."""
    lead = source.shape[:-2]
    steps, step = [0] * len(lead), target.strides[0]
    for d in reversed(range(len(lead))):
        steps[d] = step
        step *= lead[d]
    copy_into(recorder, target.view(source.shape, (*steps, *target.strides[1:])), source)


def check_square(name: str, x: DeviceOperand) -> None:
    """Raise LinAlgError if matrices are not square."""
    rows, columns = x.shape[-2:]
    if rows != columns:
        what = f"{name}: the matrix is {rows} by {columns}, not square"
        raise np.linalg.LinAlgError(format_error(what, hint=_NOT_SQUARE))


def explained(what: str, hint: str) -> Explain:
    """Return a function that makes a LinAlgError of a kernel's finding."""

    def explain(index: int, value: int, length: int) -> Exception:
        return np.linalg.LinAlgError(format_error(what, hint=hint))

    return explain


__all__ = [
    "CholeskyGradKernel",
    "CholeskyKernel",
    "DeterminantKernel",
    "EigenKernel",
    "InverseKernel",
    "OrthogonalKernel",
    "SingularValuesKernel",
    "SolveKernel",
    "BLOCK",
    "Explain",
    "add_matrices",
    "block",
    "check_diagonal",
    "copy_triangle",
    "element",
    "exchange_rows",
    "factor_block",
    "factor_panel",
    "group_size",
    "half_sum",
    "halve_triangle",
    "mirror",
    "set_unit",
    "solve_block",
    "swapped",
    "FLOATS",
    "as_stack",
    "check_square",
    "copy_matrices",
    "explained",
    "stack",
    "transposed",
]
