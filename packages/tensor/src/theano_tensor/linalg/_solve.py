"""Solutions of systems of linear equations, also of those with three diagonals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from theano_graph import Apply, Variable, batch_rule, describe, format_error, pullback, pushforward, shape_rule
from theano_linker_c.scalar import upcast

from .._core._convert import as_tensor_variable
from .._core._dtypes import Array, TensorLike
from .._core._ops import all_stacked, refused
from .._core._type import Tensor, tensor_type
from .._errors import ShapeError
from .._lazy import scipy_linalg
from ..creation import alloc, tril, triu
from ..elemwise import broadcast_static, cast, conj, dimshuffle
from ..gradient import grad_undefined
from ..linear import matmul, outer
from ..reduce import sum as sum_over
from ..shape import lengths_of, reshape, shape_i
from ._operands import (
    MatrixOp,
    adjoint,
    as_matrices,
    check_square,
    gradient_of_triangle,
    linear_error,
    mirrored,
    mirrored_values,
    substituted,
    total_of,
    transposed,
    values_or_nan,
)

# ---- Solutions of systems of linear equations

_STRUCTURES = ("general", "symmetric", "lower_triangular", "upper_triangular")
_TRANSPOSED = {"lower_triangular": "upper_triangular", "upper_triangular": "lower_triangular"}
_SINGULAR = "the equations have no unique solution; use nlinalg.lstsq"


class Solve(MatrixOp):
    """Solution x of ``A @ x == b``, where b is a vector, a matrix, or a stack of matrices as A is.

    Derivatives: Giles (2008), "An extended collection of matrix derivative results for forward and reverse mode
    automatic differentiation", section 2.3.1. Where a part of A only is read, its gradient lies in that part.

    Parameters
    ----------
    A_structure : {"general", "symmetric", "lower_triangular", "upper_triangular"}
        The structure of A. The other triangle of a triangular matrix is not read.
    lower : bool
        Which triangle of a symmetric matrix is read.
    overwrite_A, overwrite_b : bool
        Whether A or b may be overwritten. Functions then refuse to run on values that others can see.
    on_error : {"raise", "nan"}
        The reaction to a singular matrix: LinAlgError, or a solution full of NaN.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.tensor import slinalg
    >>> slinalg.Solve()(T.constant([[2.0, 0.0], [0.0, 4.0]]), T.constant([2.0, 2.0])).eval()
    array([1. , 0.5])
    """

    __props__ = ("A_structure", "lower", "on_error", "overwrite_A", "overwrite_b")

    def __init__(
        self,
        A_structure: str = "general",
        lower: bool = False,
        overwrite_A: bool = False,
        overwrite_b: bool = False,
        on_error: str = "raise",
    ) -> None:
        if A_structure not in _STRUCTURES:
            raise ValueError(
                format_error(f"Solve: unknown A_structure={A_structure!r}", hint=f"use one of {', '.join(_STRUCTURES)}")
            )
        if on_error not in ("raise", "nan"):
            raise ValueError(format_error(f"Solve: unknown on_error={on_error!r}", hint="use 'raise' or 'nan'"))
        self.A_structure, self.lower, self.on_error = A_structure, bool(lower), on_error
        self.overwrite_A, self.overwrite_b = bool(overwrite_A), bool(overwrite_b)
        overwritten = [i for i, flag in enumerate((self.overwrite_A, self.overwrite_b)) if flag]
        self.destroy_map = {0: overwritten} if overwritten else {}

    def make_node(self, A: TensorLike, b: TensorLike) -> Apply[Self, Tensor]:
        """Apply to matrix and right-hand side.

        Raises
        ------
        ShapeError
            If the numbers of dimensions do not fit.
        """
        matrix, right = as_matrices("solve", A, square=True), as_matrices("solve", b, least=1)
        if right.type.ndim != matrix.type.ndim and not (matrix.type.ndim == 2 and right.type.ndim == 1):
            raise ShapeError(
                format_error(
                    "solve: a matrix takes a vector or a matrix, a stack of matrices a stack of matrices",
                    context=[describe(matrix), describe(right)],
                    hint="use slinalg.solve, which brings stacks together",
                )
            )
        dtype = upcast(matrix.type.dtype, right.type.dtype)
        matrix, right = cast(matrix, dtype), cast(right, dtype)
        rows, right_rows = matrix.type.shape[-2], right.type.shape[max(right.type.ndim - 2, 0)]
        if rows is not None and right_rows is not None and rows != right_rows:
            error = ShapeError(
                format_error(
                    f"solve: the matrix has {rows} rows, the right-hand side {right_rows}",
                    context=[describe(matrix), describe(right)],
                )
            )
            axis = max(right.type.ndim - 2, 0)
            fitting = [rows if i == axis else n for i, n in enumerate(right.type.shape)]
            right = refused(error, right, fitting, matrix)
        return Apply(self, [matrix, right], [tensor_type(dtype, right.type.shape).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Solve with LAPACK; LinAlgError for a singular matrix or one that is not square, ValueError for lengths."""
        a, b = inputs
        check_square("solve", node, a)
        if a.shape[-1] != b.shape[max(b.ndim - 2, 0)] or (b.ndim > 2 and a.shape[:-2] != b.shape[:-2]):
            raise ValueError(
                format_error(
                    f"solve: shapes {a.shape} and {b.shape} do not fit",
                    context=[describe(v) for v in node.inputs],
                    hint="the right-hand side needs as many rows as the matrix",
                )
            )
        try:
            output_storage[0][0] = self._solution(a, b)
        except np.linalg.LinAlgError:
            if self.on_error == "raise":
                raise linear_error("solve: Singular matrix", node, _SINGULAR) from None
            output_storage[0][0] = self._solution_or_nan(a, b)

    def _solution_or_nan(self, a: Array, b: Array) -> Any:
        return values_or_nan(self._solution, a, b)

    def _solution(self, a: Array, b: Array) -> Any:
        if self.A_structure == "general":
            return np.linalg.solve(a, b)
        if not b.size:
            return np.zeros_like(b)
        if a.ndim == 2:
            return self._one_solution(a, b)
        if self.A_structure == "symmetric":
            return np.linalg.solve(mirrored_values(a, self.lower), b)
        return substituted(a, b, self.A_structure == "lower_triangular")

    def _one_solution(self, a: Array, b: Array) -> Any:
        linalg = scipy_linalg()
        if self.A_structure != "symmetric":
            lower = self.A_structure == "lower_triangular"
            return linalg.solve_triangular(a, b, lower=lower, overwrite_b=self.overwrite_b, check_finite=False)
        solver = linalg.get_lapack_funcs("sysv", (a, b))
        _, _, x, info = solver(a, b, lower=self.lower, overwrite_a=self.overwrite_A, overwrite_b=self.overwrite_b)
        if info > 0:
            raise np.linalg.LinAlgError
        return x.reshape(b.shape)


def _part_that_is_read(op: Solve, x: Tensor, *, gradient: bool) -> Tensor:
    """Return the part of a gradient by A (or of a change of A) that matters."""
    match op.A_structure:
        case "lower_triangular":
            return tril(x)
        case "upper_triangular":
            return triu(x)
        case "symmetric":
            return gradient_of_triangle(x, op.lower) if gradient else mirrored(x, op.lower)
        case _:
            return x


@pullback.register(Solve)
def _pullback_solve(node: Apply[Solve, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    op, (a, _), (x,) = node.op, node.inputs, node.outputs
    adjoint_solve = Solve(
        _TRANSPOSED.get(op.A_structure, op.A_structure),
        op.lower if op.A_structure == "symmetric" else False,
        on_error=op.on_error,
    )
    if op.A_structure == "symmetric":
        by_b: Tensor = adjoint_solve(conj(a), cotangents[0])
    else:
        by_b = adjoint_solve(adjoint(a), cotangents[0])
    by_a = outer(by_b, conj(x)) if by_b.type.ndim == 1 else matmul(by_b, adjoint(x))
    return [-_part_that_is_read(op, by_a, gradient=True), by_b]


@pushforward.register(Solve)
def _pushforward(node: Apply[Solve, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    op, (a, _), (x,), (da, db) = node.op, node.inputs, node.outputs, tangents
    if da is None and db is None:
        return [None]
    by_a = None if da is None else -matmul(_part_that_is_read(op, as_tensor_variable(da), gradient=False), x)
    change = total_of([by_a, None if db is None else as_tensor_variable(db)])
    return [Solve(op.A_structure, op.lower, on_error=op.on_error)(a, change)]


@batch_rule.register(Solve)
def _batch(node: Apply[Solve, Tensor], inputs: list[Any], stacked: Sequence[bool]) -> list[Variable]:
    """One matrix takes the right-hand sides of all entries at once, as columns."""
    op = node.op
    plain = Solve(op.A_structure, op.lower)
    matrix, right = inputs
    is_vector = node.inputs[1].type.ndim == 1
    if stacked[0] or node.inputs[0].type.ndim > 2:
        matrix, right = all_stacked(inputs, stacked)
        if not is_vector:
            return [plain(matrix, right)]
        ndim = right.type.ndim
        return [dimshuffle(plain(matrix, dimshuffle(right, (*range(ndim), "x"))), range(ndim))]
    if is_vector:
        return [transposed(plain(matrix, transposed(right)))]
    n, rows, columns = lengths_of(right)
    wide = reshape(dimshuffle(right, (1, 0, 2)), [rows, n * columns])
    return [dimshuffle(reshape(plain(matrix, wide), [rows, n, columns]), (1, 0, 2))]


@shape_rule.register(Solve)
def _shape_of_solution(node: Apply[Solve, Tensor], input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[1]]


def _same_stacks(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Bring two stacks of matrices to the same dimensions before the last two."""
    ndim = max(a.type.ndim, b.type.ndim)
    both = [dimshuffle(v, ["x"] * (ndim - v.type.ndim) + list(range(v.type.ndim))) for v in (a, b)]
    fronts = [v.type.clone(shape=v.type.shape[:-2]).make_variable() for v in both]
    try:
        broadcast_static("solve", fronts, [a, b])
    except ShapeError as error:
        both[1] = refused(error, both[1], [*[None] * (ndim - 2), *both[1].type.shape[-2:]], both[0])
    full = []
    for v, other in (both, both[::-1]):
        broadcasted = [v.type.shape[i] == 1 and other.type.shape[i] != 1 for i in range(ndim - 2)]
        if any(broadcasted):
            lengths = [shape_i(other if s else v, i) for i, s in enumerate(broadcasted)]
            v = alloc(v, *lengths, shape_i(v, ndim - 2), shape_i(v, ndim - 1))
        full.append(v)
    return full[0], full[1]


def _solved(op: Solve, a: TensorLike, b: TensorLike) -> Tensor:
    matrix, right = as_matrices("solve", a, square=True), as_matrices("solve", b, least=1)
    if matrix.type.ndim == 2 and right.type.ndim <= 2:
        plain: Tensor = op(matrix, right)
        return plain
    if right.type.ndim == 1:
        columns = dimshuffle(right, [*["x"] * (matrix.type.ndim - 2), 0, "x"])
        solutions: Tensor = op(*_same_stacks(matrix, columns))
        return dimshuffle(solutions, list(range(matrix.type.ndim - 1)))
    result: Tensor = op(*_same_stacks(matrix, right))
    return result


def solve(a: TensorLike, b: TensorLike) -> Tensor:
    """Return the solution x of ``a @ x == b``.

    Parameters
    ----------
    a : tensor_like, shape (..., M, M)
    b : tensor_like, shape (M,) or (..., M, N)
        The dimensions of stacks broadcast where they are declared to have length 1.

    Returns
    -------
    Tensor
        Of the shape of `b`.

    Raises
    ------
    ShapeError
        If shapes are known and do not fit.
    numpy.linalg.LinAlgError
        When it runs, for a singular matrix.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.tensor import slinalg
    >>> slinalg.solve(T.constant([[2.0, 0.0], [0.0, 4.0]]), T.constant([2.0, 2.0])).eval()
    array([1. , 0.5])
    """
    return _solved(Solve(), a, b)


def solve_lower_triangular(a: TensorLike, b: TensorLike) -> Tensor:
    """Return :func:`solve` for a lower triangular `a`; elements above its diagonal are not read.

    Parameters
    ----------
    a : tensor_like
        A lower triangular matrix.
    b : tensor_like
        A vector or matrix.

    Returns
    -------
    Tensor
        In the shape of `b`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.slinalg.solve_lower_triangular([[2.0, 0.0], [1.0, 1.0]], [2.0, 3.0]).eval()
    array([1., 2.])
    """
    return _solved(Solve("lower_triangular", lower=True), a, b)


def solve_upper_triangular(a: TensorLike, b: TensorLike) -> Tensor:
    """Return :func:`solve` for an upper triangular `a`; elements below its diagonal are not read.

    Parameters
    ----------
    a : tensor_like
        An upper triangular matrix.
    b : tensor_like
        A vector or matrix.

    Returns
    -------
    Tensor
        In the shape of `b`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.slinalg.solve_upper_triangular([[2.0, 1.0], [0.0, 1.0]], [3.0, 1.0]).eval()
    array([1., 1.])
    """
    return _solved(Solve("upper_triangular", lower=False), a, b)


solve_symmetric = Solve("symmetric")


# ---- Equations whose matrix has three diagonals

_USE_SOLVE = "factors of three diagonals have no derivative here; use slinalg.solve_tridiagonal"


def _same_dtype(*values: TensorLike) -> list[Tensor]:
    parts = [as_matrices("tridiagonal", x, least=1) for x in values]
    dtype = upcast(*(part.type.dtype for part in parts))
    return [cast(part, dtype) for part in parts]


class SolveTridiagonal(MatrixOp):
    """The solution x of ``a @ x == b`` where a has three diagonals: the one below, the middle one, the one above.

    Parameters
    ----------
    b_ndim : {1, 2}
        Whether b is a vector or a matrix; more dimensions are those of stacks, of the diagonals too.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.tensor import slinalg
    >>> slinalg.solve_tridiagonal([1.0], [2.0, 2.0], [1.0], [3.0, 3.0]).eval()
    array([1., 1.])
    """

    __props__ = ("b_ndim",)

    def __init__(self, b_ndim: int = 1) -> None:
        self.b_ndim = b_ndim

    def make_node(self, lower: TensorLike, middle: TensorLike, upper: TensorLike, b: TensorLike) -> Apply[Self, Tensor]:
        """Apply to the diagonals and the right-hand side; NaN is what a singular matrix gives."""
        parts = _same_dtype(lower, middle, upper, b)
        return Apply(self, parts, [parts[3].type.make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Solve with LAPACK."""
        lower, middle, upper, b = inputs
        result = np.empty(b.shape, b.dtype)
        if b.size:
            (gtsv,) = scipy_linalg().get_lapack_funcs(("gtsv",), (b,))
            for place in np.ndindex(middle.shape[:-1]):
                *_, x, info = gtsv(lower[place], middle[place], upper[place], b[place])
                result[place] = x.reshape(b[place].shape) if not info else np.nan
        output_storage[0][0] = result


@pullback.register(SolveTridiagonal)
def _pullback_tridiagonal(node: Apply[SolveTridiagonal, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    lower, middle, upper, _ = map(as_tensor_variable, node.inputs)
    x = as_tensor_variable(node.outputs[0])
    by_b: Tensor = node.op(conj(upper), conj(middle), conj(lower), cotangents[0])
    s, x = (_as_columns(v, node.op.b_ndim) for v in (by_b, conj(x)))
    below, middle, above = (
        -sum_over(a * b, axis=-1) for a, b in ((s[..., 1:, :], x[..., :-1, :]), (s, x), (s[..., :-1, :], x[..., 1:, :]))
    )
    return [below, middle, above, by_b]


def _as_columns(x: Tensor, b_ndim: int) -> Tensor:
    return x if b_ndim == 2 else dimshuffle(x, [*range(x.type.ndim), "x"])


class TridiagonalFactor(MatrixOp):
    """The factors of matrices with three diagonals, as LAPACK's gttrf has them: four diagonals, and exchanged rows."""

    __props__ = ()

    def make_node(self, lower: TensorLike, middle: TensorLike, upper: TensorLike) -> Apply[Self, Tensor]:
        """Apply to the diagonal below, the middle one, and the one above."""
        parts = _same_dtype(lower, middle, upper)
        *front, n = parts[1].type.shape
        second = tensor_type(parts[1].type.dtype, (*front, None if n is None else max(n - 2, 0)))
        kinds = [*(part.type for part in parts), second, tensor_type("int32", (*front, n))]
        return Apply(self, parts, [kind.make_variable() for kind in kinds])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Factor with LAPACK."""
        lower, middle, upper = inputs
        n, front = middle.shape[-1], middle.shape[:-1]
        lengths = [n - 1, n, n - 1, max(n - 2, 0), n]
        results = [np.empty((*front, k), v.type.dtype) for k, v in zip(lengths, node.outputs, strict=True)]
        (gttrf,) = scipy_linalg().get_lapack_funcs(("gttrf",), (middle,))
        for place in np.ndindex(front):
            for result, part in zip(results, gttrf(lower[place], middle[place], upper[place]), strict=False):
                result[place] = part
        for cell, result in zip(output_storage, results, strict=True):
            cell[0] = result


class SolveTridiagonalFactor(MatrixOp):
    """The solution of equations, given the factors of a matrix with three diagonals, by LAPACK's gttrs.

    Parameters
    ----------
    b_ndim : {1, 2}
        Whether the right-hand side is a vector or a matrix.
    transposed : bool
        Whether the matrix is the transposed one.
    """

    __props__ = ("b_ndim", "transposed")

    def __init__(self, b_ndim: int = 1, transposed: bool = False) -> None:
        self.b_ndim, self.transposed = b_ndim, bool(transposed)

    def make_node(
        self,
        lower: TensorLike,
        middle: TensorLike,
        upper: TensorLike,
        second: TensorLike,
        pivots: TensorLike,
        b: TensorLike,
    ) -> Apply[Self, Tensor]:
        """Apply to what `TridiagonalFactor` gives, and the right-hand side."""
        *diagonals, right = _same_dtype(lower, middle, upper, second, b)
        rows = as_tensor_variable(pivots)
        return Apply(self, [*diagonals, rows, right], [right.type.make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Solve with LAPACK."""
        *factors, b = inputs
        result = np.empty(b.shape, b.dtype)
        if b.size:
            (gttrs,) = scipy_linalg().get_lapack_funcs(("gttrs",), (b,))
            trans = "T" if self.transposed else "N"
            for place in np.ndindex(factors[1].shape[:-1]):
                x, _ = gttrs(*(part[place] for part in factors), b[place], trans=trans)
                result[place] = x.reshape(b[place].shape)
        output_storage[0][0] = result


@pullback.register(SolveTridiagonalFactor)
def _pullback_of_solution(
    node: Apply[SolveTridiagonalFactor, Tensor], cotangents: list[Variable]
) -> list[Variable | None]:
    turned = SolveTridiagonalFactor(node.op.b_ndim, not node.op.transposed)
    factors: list[Variable | None] = [grad_undefined(node.op, i, x, _USE_SOLVE) for i, x in enumerate(node.inputs[:5])]
    by_b: Tensor = turned(*map(conj, node.inputs[:4]), node.inputs[4], cotangents[0])
    return [*factors, by_b]


@pullback.register(TridiagonalFactor)
def _no_pullback(node: Apply[TridiagonalFactor, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    return [grad_undefined(node.op, i, x, _USE_SOLVE) for i, x in enumerate(node.inputs)]


@shape_rule.register(SolveTridiagonal, SolveTridiagonalFactor)
def _shape_tridiagonal(node: Apply[Any, Tensor], input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[-1]]


@shape_rule.register(TridiagonalFactor)
def _shapes(node: Apply[TridiagonalFactor, Tensor], input_shapes: list[Any]) -> list[Any]:
    lower, middle, upper = input_shapes
    return [lower, middle, upper, (*middle[:-1], middle[-1] - 2), middle]


def solve_tridiagonal(lower: TensorLike, middle: TensorLike, upper: TensorLike, b: TensorLike) -> Tensor:
    """Return the solution x of ``a @ x == b``, where a has three diagonals.

    Parameters
    ----------
    lower, upper : tensor_like, shape (..., M - 1)
        The diagonals below and above.
    middle : tensor_like, shape (..., M)
    b : tensor_like, shape (..., M) or (..., M, N)

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.slinalg.solve_tridiagonal([1.0, 1.0], [4.0, 4.0, 4.0], [1.0, 1.0], [5.0, 6.0, 5.0]).eval()
    array([1., 1., 1.])
    """
    diagonal, right = as_tensor_variable(middle), as_tensor_variable(b)
    result: Tensor = SolveTridiagonal(1 + right.type.ndim - diagonal.type.ndim)(lower, diagonal, upper, right)
    return result
