"""Equations whose matrix has three diagonals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from theano_graph import Apply, Variable, pullback, shape_rule
from theano_linker_c.scalar import upcast

from ..._core._convert import as_tensor_variable
from ..._core._dtypes import TensorLike
from ..._core._type import Tensor, tensor_type
from ...elemwise import cast, conj, dimshuffle
from ...gradient import grad_undefined
from ...reduce import sum as sum_over
from .._matrices._lazy import scipy_linalg
from .._matrices._operands import MatrixOp, as_matrices

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
def _pullback(node: Apply[SolveTridiagonal, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
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
def _shape(node: Apply[Any, Tensor], input_shapes: list[Any]) -> list[Any]:
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
