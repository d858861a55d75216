"""Triangular factors: Cholesky's, and those of elimination with exchanges of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from theano_graph import Apply, Variable, batch_rule, format_error, pullback, pushforward, shape_rule

from .._core._convert import as_tensor_variable
from .._core._dtypes import INTEGER_DTYPES, Array, TensorLike
from .._core._ops import on_stacks
from .._core._type import Tensor, tensor_type
from .._errors import DTypeError
from .._lazy import scipy_linalg
from ..creation import arange, tril, triu
from ..elemwise import cast, dimshuffle, eq, isnan, switch
from ..gradient import grad_undefined
from ..linear import matmul
from ..reduce import any as any_of
from ..shape import shape_i
from ._operands import (
    MatrixOp,
    adjoint,
    as_matrices,
    check_square,
    half_triangle,
    linear_error,
    mirrored,
    must_be_real,
    no_complex_gradient,
    present,
    pulled_through,
    transposed,
    unit_like,
    values_or_nan,
)
from ._solve import solve_lower_triangular, solve_upper_triangular

# ---- Cholesky factors of positive definite matrices

_NOT_DEFINITE = "add a small multiple of the identity to it, or use Cholesky(on_error='nan')"


class Cholesky(MatrixOp):
    """Triangular factor of a positive definite matrix, or of each one of a stack.

    Only the triangle that the factor fills is read. The gradient lies in that triangle, too: Murray (2016),
    "Differentiation of the Cholesky decomposition", arXiv:1602.07527; the symbolic form of its equations 8 to 10 gives
    the derivatives of the gradient.

    Parameters
    ----------
    lower : bool
        Whether L with ``L @ L.T == x`` is wanted, or U with ``U.T @ U == x``.
    on_error : {"raise", "nan"}
        The reaction to a matrix that is not positive definite: LinAlgError, or a factor full of NaN.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.tensor import slinalg
    >>> slinalg.cholesky(T.constant([[4.0, 2.0], [2.0, 10.0]])).eval()
    array([[2., 0.],
           [1., 3.]])
    """

    __props__ = ("lower", "on_error")

    def __init__(self, lower: bool = True, on_error: str = "raise") -> None:
        if on_error not in ("raise", "nan"):
            raise ValueError(format_error(f"Cholesky: unknown on_error={on_error!r}", hint="use 'raise' or 'nan'"))
        self.lower, self.on_error = bool(lower), on_error

    def make_node(self, x: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a matrix or a stack; ShapeError if it is none, or known not to be square."""
        matrix = as_matrices("cholesky", x, square=True)
        return Apply(self, [matrix], [matrix.type.make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Factor with LAPACK."""
        (x,) = inputs
        check_square("cholesky", node, x)
        try:
            output_storage[0][0] = self._factor(x)
        except np.linalg.LinAlgError:
            if self.on_error == "raise":
                raise linear_error("cholesky: Matrix is not positive definite", node, _NOT_DEFINITE) from None
            output_storage[0][0] = values_or_nan(self._factor, x)

    def _factor(self, x: Array) -> Any:
        """Return the factor; NumPy reads the lower triangle and knows the lower factor only."""
        if self.lower:
            return np.linalg.cholesky(x)
        return np.ascontiguousarray(np.swapaxes(np.linalg.cholesky(np.swapaxes(x, -1, -2)), -1, -2))


def cholesky_gradient(factor: TensorLike, g: TensorLike, lower: bool = True) -> Tensor:
    """Return the gradient by the triangle that was read, given the factor and the gradient by it."""
    if not lower:
        return transposed(cholesky_gradient(transposed(factor), transposed(g)))
    upper = transposed(factor)
    inner = half_triangle(matmul(upper, g))
    # inv(L).T @ inner @ inv(L), by two solutions.
    left = solve_upper_triangular(upper, inner)
    both = transposed(solve_upper_triangular(upper, transposed(left)))
    return half_triangle(both + transposed(both))


@pullback.register(Cholesky)
def _pullback_cholesky(node: Apply[Cholesky, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    undefined = no_complex_gradient(node)
    if undefined is not None:
        return undefined
    factor = as_tensor_variable(node.outputs[0])
    slope: Tensor = CholeskyGrad(node.op.lower)(node.inputs[0], factor, cotangents[0])
    if node.op.on_error == "nan":
        # Where there is no factor there is no gradient, not even by the half that is not read.
        slope = switch(any_of(isnan(factor), axis=(-2, -1), keepdims=True), np.asarray(np.nan, slope.type.dtype), slope)
    return [slope]


@pushforward.register(Cholesky)
def _pushforward_cholesky(node: Apply[Cholesky, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    if tangents[0] is None:
        return [None]
    undefined = no_complex_gradient(node)
    if undefined is not None:
        return undefined
    lower = node.op.lower
    d, factor = mirrored(tangents[0], lower), as_tensor_variable(node.outputs[0])
    low = factor if lower else transposed(factor)
    inner = solve_lower_triangular(low, transposed(solve_lower_triangular(low, d)))
    change = matmul(low, half_triangle(inner))
    return [change if lower else transposed(change)]


class CholeskyGrad(MatrixOp):
    """Gradient by a positive definite matrix, given the matrix, its factor, and the gradient by the factor.

    Computed by the algorithm of Smith (1995), "Differentiation of the Cholesky algorithm", Journal of Computational
    and Graphical Statistics 4(2), column by column; natively by its form in blocks of Murray (2016), section 4.

    Parameters
    ----------
    lower : bool
        Which factor it is.
    """

    __props__ = ("lower",)

    def __init__(self, lower: bool = True) -> None:
        self.lower = bool(lower)

    def make_node(self, x: TensorLike, l: TensorLike, dz: TensorLike) -> Apply[Self, Tensor]:  # noqa: E741  # the documented name
        """Apply to matrix, factor, and gradient by the factor; ShapeError if one of them is no matrix."""
        parts = [must_be_real("CholeskyGrad", as_matrices("CholeskyGrad", v, square=True)) for v in (x, l, dz)]
        return Apply(self, parts, [parts[0].type.make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Go through the columns from the last to the first."""
        _, factor, g = (v if self.lower else np.swapaxes(v, -1, -2) for v in inputs)
        result = np.tril(g).astype(node.outputs[0].type.dtype)
        _smith(result, factor)
        output_storage[0][0] = result if self.lower else np.ascontiguousarray(np.swapaxes(result, -1, -2))

    def expression(self, x: TensorLike, factor: TensorLike, g: TensorLike) -> Tensor:
        """Return the same as an expression, of which derivatives are known."""
        return cholesky_gradient(factor, g, self.lower)


def _smith(f: Any, factor: Any) -> None:
    """Turn the gradients by lower factors into those by the matrices, in place."""
    for k in range(f.shape[-1] - 1, -1, -1):
        below = slice(k + 1, None)
        column, pivot = f[..., below, k], factor[..., k, k]
        # What column k contributed to the columns behind it.
        part = np.tril(f[..., below, below])
        column -= ((part + np.swapaxes(part, -1, -2)) @ factor[..., below, k, None])[..., 0]
        column /= pivot[..., None]
        f[..., k, k] -= (factor[..., below, k] * column).sum(-1)
        f[..., k, k] /= 2.0 * pivot


@pullback.register(CholeskyGrad)
def _pullback_grad(node: Apply[CholeskyGrad, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    return pulled_through(node.op.expression(*node.inputs), node.inputs, cotangents[0])


@shape_rule.register(Cholesky, CholeskyGrad)
def _shape_cholesky(node: Apply[Cholesky | CholeskyGrad, Tensor], input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[0]]


cholesky = Cholesky()


def cholesky_solve(factor: TensorLike, b: TensorLike, lower: bool = True) -> Tensor:
    """Return the solution x of ``a @ x == b``, given the Cholesky factor of a.

    Parameters
    ----------
    factor : tensor_like, shape (..., M, M)
    b : tensor_like, shape (M,) or (..., M, N)
    lower : bool
        Which factor it is.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.slinalg.cholesky_solve(T.stack([[2.0, 0.0], [0.0, 1.0]]), [4.0, 1.0]).eval()
    array([1., 1.])
    """
    low = as_tensor_variable(factor) if lower else adjoint(factor)
    return solve_upper_triangular(adjoint(low), solve_lower_triangular(low, b))


# ---- Factors of elimination with exchanges of rows


class LUFactor(MatrixOp):
    """The factors of elimination in one matrix, and the row that each row was exchanged with.

    Derivatives: with ``A[rows] = L @ U``, a change of A changes L and U by the parts below and above of
    ``inv(L) @ dA[rows] @ inv(U)``.

    Parameters
    ----------
    on_error : {"keep", "nan"}
        What becomes of a singular matrix: its factors with a zero on the diagonal, or factors full of NaN.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.tensor import slinalg
    >>> [part.eval().tolist() for part in slinalg.lu_factor(T.constant([[1.0, 2.0], [2.0, 2.0]]))]
    [[[2.0, 2.0], [0.5, 1.0]], [1, 1]]
    """

    __props__ = ("on_error",)

    def __init__(self, on_error: str = "keep") -> None:
        if on_error not in ("keep", "nan"):
            raise ValueError(format_error(f"LUFactor: unknown on_error={on_error!r}", hint="use 'keep' or 'nan'"))
        self.on_error = on_error

    def make_node(self, x: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a matrix or a stack; ShapeError if it is none, or known not to be square."""
        matrix = as_matrices("lu_factor", x, square=True)
        pivots = tensor_type("int32", matrix.type.shape[:-1])
        return Apply(self, [matrix], [matrix.type.make_variable(), pivots.make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Factor with LAPACK."""
        (x,) = inputs
        check_square("lu_factor", node, x)
        factors, pivots = np.empty(x.shape, x.dtype), np.empty(x.shape[:-1], "int32")
        if x.size:
            (getrf,) = scipy_linalg().get_lapack_funcs(("getrf",), (x,))
            for place in np.ndindex(x.shape[:-2]):
                factors[place], pivots[place], info = getrf(x[place])
                if info and self.on_error == "nan":
                    factors[place] = np.nan
        output_storage[0][0], output_storage[1][0] = factors, pivots


@pullback.register(LUFactor)
def _pullback(node: Apply[LUFactor, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    factors, pivots = map(as_tensor_variable, node.outputs)
    g = present(cotangents[0])
    if g is None:
        return [None]
    lower, upper = _lower(factors), triu(factors)
    inner = tril(matmul(adjoint(lower), tril(g, -1)), -1) + triu(matmul(triu(g), adjoint(upper)))
    left = solve_upper_triangular(adjoint(lower), inner)
    both = adjoint(solve_upper_triangular(upper, adjoint(left)))
    exchanges = _exchanges(PivotsToPermutation()(pivots), g.type.dtype)
    return [matmul(transposed(exchanges), both)]


class PivotsToPermutation(MatrixOp):
    """The order of rows after the exchanges of a factorization, made one by one, or the order that undoes them.

    Parameters
    ----------
    inverse : bool
        Whether the order that undoes the exchanges is wanted.
    """

    __props__ = ("inverse",)

    def __init__(self, inverse: bool = False) -> None:
        self.inverse = bool(inverse)

    def make_node(self, pivots: TensorLike) -> Apply[Self, Tensor]:
        """Apply to the rows that rows were exchanged with; DTypeError if these are no integers."""
        rows = as_tensor_variable(pivots)
        if rows.type.dtype not in INTEGER_DTYPES:
            raise DTypeError(f"pivots are integers, not {rows.type.dtype}")
        return Apply(self, [rows], [tensor_type("int64", rows.type.shape).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Exchange one by one."""
        (pivots,) = inputs
        result = np.empty(pivots.shape, "int64")
        for place in np.ndindex(pivots.shape[:-1]):
            order = list(range(pivots.shape[-1]))
            for row, other in enumerate(pivots[place].tolist()):
                order[row], order[other] = order[other], order[row]
            result[place] = np.argsort(order) if self.inverse else order
        output_storage[0][0] = result


@pullback.register(PivotsToPermutation)
def _no_pullback(node: Apply[PivotsToPermutation, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    return [grad_undefined(node.op, 0, node.inputs[0], "an order of rows is no number")]


batch_rule.register(PivotsToPermutation)(on_stacks)


@shape_rule.register(LUFactor)
def _shape_lu(node: Apply[LUFactor, Tensor], input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[0], input_shapes[0][:-1]]


@shape_rule.register(PivotsToPermutation)
def _same_shape(node: Apply[PivotsToPermutation, Tensor], input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[0]]


def _lower(factors: Tensor) -> Tensor:
    return tril(factors, -1) + unit_like(factors)


def _exchanges(order: Tensor, dtype: str) -> Tensor:
    """Return the matrices that bring rows into an order."""
    ndim = order.type.ndim
    columns = arange(shape_i(order, ndim - 1))
    return cast(eq(dimshuffle(order, [*range(ndim), "x"]), dimshuffle(columns, ["x"] * ndim + [0])), dtype)


def lu_factor(x: TensorLike) -> list[Tensor]:
    """Return the factors of elimination in one matrix, and the row that each row was exchanged with.

    Parameters
    ----------
    x : tensor_like, shape (..., M, M)

    Returns
    -------
    factors : Tensor, shape (..., M, M)
        Above and on the diagonal the upper factor, below it the lower one, whose diagonal is 1.
    pivots : Tensor of int32, shape (..., M)

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.slinalg.lu_factor(T.constant([[4.0, 2.0], [2.0, 3.0]]))[0].eval().tolist()
    [[4.0, 2.0], [0.5, 2.0]]
    """
    return list(LUFactor()(x, return_list=True))


def lu(x: TensorLike, permute_l: bool = False, p_indices: bool = False) -> list[Tensor]:
    """Return P, L and U with ``x == P @ L @ U``: an order of rows, a lower and an upper triangular matrix.

    Parameters
    ----------
    x : tensor_like, shape (..., M, M)
    permute_l : bool
        Whether ``P @ L`` and U are wanted.
    p_indices : bool
        Whether P is wanted as the indices p with ``x == L[p] @ U``.

    Returns
    -------
    list of Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> [part.eval().tolist() for part in T.slinalg.lu(T.constant([[1.0, 2.0], [2.0, 2.0]]), p_indices=True)]
    [[1, 0], [[1.0, 0.0], [0.5, 1.0]], [[2.0, 2.0], [0.0, 1.0]]]
    """
    factors, pivots = lu_factor(x)
    lower, upper = _lower(factors), triu(factors)
    if p_indices and not permute_l:
        return [PivotsToPermutation(inverse=True)(pivots), lower, upper]
    real = factors.type.dtype.replace("complex64", "float32").replace("complex128", "float64")
    exchanges = transposed(_exchanges(PivotsToPermutation()(pivots), real))
    if permute_l:
        return [matmul(cast(exchanges, factors.type.dtype), lower), upper]
    return [exchanges, lower, upper]


def lu_solve(factors: TensorLike, pivots: TensorLike, b: TensorLike, trans: int = 0) -> Tensor:
    """Return the solution x of ``a @ x == b``, given what `lu_factor` makes of a.

    Parameters
    ----------
    factors : tensor_like, shape (M, M)
    pivots : tensor_like, shape (M,)
    b : tensor_like, shape (M,) or (M, N)
    trans : {0, 1, 2}
        Whether the matrix is a, its transpose, or its adjoint.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.slinalg.lu_solve(*T.slinalg.lu_factor(T.constant([[1.0, 2.0], [2.0, 2.0]])), [3.0, 4.0]).eval()
    array([1., 1.])
    """
    packed, right = as_tensor_variable(factors), as_tensor_variable(b)
    lower, upper = _lower(packed), triu(packed)
    if not trans:
        rows: Tensor = PivotsToPermutation()(pivots)
        return solve_upper_triangular(upper, solve_lower_triangular(lower, right[rows]))
    turned = transposed if trans == 1 else adjoint
    order: Tensor = PivotsToPermutation(inverse=True)(pivots)
    return solve_upper_triangular(turned(lower), solve_lower_triangular(turned(upper), right))[order]
