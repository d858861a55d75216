"""Factors of elimination with exchanges of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from theano_graph import Apply, Variable, batch_rule, format_error, pullback, shape_rule

from ..._core._convert import as_tensor_variable
from ..._core._dtypes import INTEGER_DTYPES, TensorLike
from ..._core._ops import on_stacks
from ..._core._type import Tensor, tensor_type
from ..._errors import DTypeError
from ...creation import arange, tril, triu
from ...elemwise import cast, dimshuffle, eq
from ...gradient import grad_undefined
from ...linear import matmul
from ...shape import shape_i
from .._equations._solve import solve_lower_triangular, solve_upper_triangular
from .._matrices._lazy import scipy_linalg
from .._matrices._operands import MatrixOp, adjoint, as_matrices, check_square, present, transposed, unit_like


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
def _shape(node: Apply[LUFactor, Tensor], input_shapes: list[Any]) -> list[Any]:
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
