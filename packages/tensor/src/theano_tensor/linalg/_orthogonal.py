"""Factors with orthonormal columns: QR and singular values; second derivatives of functions of spectra."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from theano_graph import Apply, Variable, ancestors, batch_rule, format_error, pullback, pushforward, shape_rule

from .._core._convert import as_tensor_variable
from .._core._dtypes import TensorLike
from .._core._ops import all_stacked
from .._core._type import Tensor, tensor_type
from ..creation import arange, tril
from ..elemwise import abs_, and_, cast, dimshuffle, eq, le, minimum, or_, switch
from ..extra_ops import diagonal
from ..gradient import DisconnectedType, GradientGate, Lop, derived_pushforward, grad_undefined
from ..joining import concatenate
from ..linear import matmul
from ..shape import shape_i
from ._operands import (
    MatrixOp,
    as_matrices,
    differences,
    gradient_of_triangle,
    linear_error,
    no_complex_gradient,
    over_gaps,
    over_sums,
    places,
    present,
    scaled_columns,
    scaled_rows,
    size_of,
    static_square,
    total_of,
    transposed,
)
from ._solve import solve_upper_triangular

# ---- Second derivatives of functions of eigenvalues or singular values that take these alike
#
# The gradient of such a function by the matrix is ``v @ diag(g) @ v.T``, with the gradient g by the values. What that
# changes by depends on ``(g[j] - g[i]) / (w[j] - w[i])``: for equal values both are zero, and the limit is a second
# derivative by the values. See Lewis and Sendov (2001), "Twice differentiable spectral functions".


class SpectralGate(GradientGate):
    """The first input, ``left @ diag(g) @ right``: the gradient of a function of the values of a matrix.

    The inputs are that, the matrix, the gradient g by its values, the values and the vectors on both sides. Where g is
    computed from the values, derivatives are right for equal ones, too, if the function takes these alike.

    Parameters
    ----------
    triangle : {"L", "U", None}
        The triangle of the symmetric matrix that is read; None for singular values.
    """

    __props__ = ("triangle",)

    def __init__(self, triangle: str | None) -> None:
        self.triangle = triangle

    def make_node(self, *inputs: Any) -> Apply[Self]:
        """Apply the op to a product and what it is made of."""
        parts = [as_tensor_variable(v) for v in inputs]
        return Apply(self, parts, [parts[0].type()])

    def infer_shape(self, node: Apply[Self], shapes: Sequence[Any]) -> Sequence[Any]:
        """Return the shape of the product."""
        return [shapes[0]]

    def curvature(self, node: Apply[Self]) -> tuple[Tensor, Tensor] | None:
        """Return products of second derivatives by the values with 0, 1, 2... and with ones; None without any."""
        _, x, g, values, *_ = node.inputs
        same = [v for v in ancestors([g], [x, values]) if v is values or _is_computed_alike(v, values)]
        if not same:
            return None
        ones = as_tensor_variable(g).zeros_like() + np.ones((), g.type.dtype)
        numbers = ones * cast(arange(shape_i(ones, ones.type.ndim - 1)), g.type.dtype)
        by_numbers, by_ones = (total_of(Lop(g, same, p, disconnected_inputs="ignore")) for p in (numbers, ones))
        assert by_numbers is not None and by_ones is not None, "of one variable at least"
        return by_numbers, by_ones

    def change(self, node: Apply[Self], direction: Tensor, curvature: tuple[Tensor, Tensor]) -> Tensor:
        """Return what the product changes by with the vectors, as the matrix goes in a direction; it is its adjoint."""
        _, _, g, values, left, right = (as_tensor_variable(v) for v in node.inputs)
        half = np.asarray(0.5, g.type.dtype)
        left_t, right_t = transposed(left), transposed(right)
        inner = matmul(matmul(left_t, direction), right_t)
        even = (inner + transposed(inner)) * half * _quotients(g, values, curvature)
        if self.triangle is not None:
            return matmul(matmul(left, even), right)
        odd = (inner - transposed(inner)) * half * _quotients_of_sums(g, values, curvature[1])
        ratios = _ratios(g, values, curvature[1])
        beside = direction - matmul(left, matmul(left_t, direction))
        across = direction - matmul(matmul(direction, right_t), right)
        return (
            matmul(matmul(left, even + odd), right)
            + matmul(scaled_columns(matmul(beside, right_t), ratios), right)
            + matmul(scaled_columns(left, ratios), matmul(left_t, across))
        )


def _is_computed_alike(variable: Variable, values: Variable) -> bool:
    """Tell whether a variable has the values of the same matrix from another node."""
    one, other = variable.owner, values.owner
    if one is None or other is None or type(one.op) is not type(other.op) or one.inputs != other.inputs:
        return False
    return as_tensor_variable(variable).type.ndim == as_tensor_variable(values).type.ndim


def _step(values: Tensor) -> Any:
    return np.asarray(np.finfo(values.type.dtype).eps * 16, values.type.dtype)


def _limited(change: Tensor, gap: Tensor, limit: Tensor, near: Tensor, sizes: Tensor) -> Tensor:
    """Return ``change / gap``, and the limit near 0, where the change is as small as that says."""
    one, two = np.ones((), gap.type.dtype), np.asarray(2, gap.type.dtype)
    use = and_(near, le(abs_(change), two * abs_(limit * gap) + _step(gap) * sizes))
    result: Tensor = switch(use, limit, change / switch(use, one, gap))
    return result


def _quotients(g: Tensor, values: Tensor, curvature: tuple[Tensor, Tensor]) -> Tensor:
    """Return ``(g[j] - g[i]) / (values[j] - values[i])`` off the diagonal."""
    dtype = values.type.dtype
    gaps = differences(values)
    rows, columns = (cast(p, dtype) for p in places(gaps))
    diagonal_ = eq(rows, columns)
    one, zero, half = np.ones((), dtype), np.zeros((), dtype), np.asarray(0.5, dtype)
    # With numbers as the factors, a pair (i, j) has -d, d about its middle: the mean of both second derivatives.
    by_numbers, by_ones = (differences(c) for c in curvature)
    limit = (by_numbers - by_ones * (rows + columns) * half) / switch(diagonal_, one, columns - rows)
    root = np.asarray(np.sqrt(np.finfo(dtype).eps), dtype)
    near = le(abs_(gaps), root * _sums(abs_(values)) + _step(values) * size_of(values))
    # Values on the diagonal differ by 0 from themselves, whatever they are.
    result: Tensor = switch(diagonal_, zero, _limited(differences(g), gaps, limit, or_(near, diagonal_), size_of(g)))
    return result


def _quotients_of_sums(g: Tensor, values: Tensor, by_ones: Tensor) -> Tensor:
    """Return ``(g[j] + g[i]) / (values[j] + values[i])`` off the diagonal."""
    sums = _sums(values)
    near = le(sums, _step(values) * size_of(values))
    half, zero = np.asarray(0.5, values.type.dtype), np.zeros((), values.type.dtype)
    result: Tensor = switch(eq(*places(sums)), zero, _limited(_sums(g), sums, _sums(by_ones) * half, near, size_of(g)))
    return result


def _ratios(g: Tensor, values: Tensor, by_ones: Tensor) -> Tensor:
    """Return ``g / values``."""
    sizes = [dimshuffle(s, list(range(s.type.ndim - 1))) for s in (size_of(values), size_of(g))]
    return _limited(g, values, by_ones, le(values, _step(values) * sizes[0]), sizes[1])


def _sums(values: Tensor) -> Tensor:
    """Return S with ``S[i, j] = values[j] + values[i]``."""
    ndim = values.type.ndim
    front = list(range(ndim - 1))
    return dimshuffle(values, [*front, "x", ndim - 1]) + dimshuffle(values, [*front, ndim - 1, "x"])


@batch_rule.register(SpectralGate)
def _batch(node: Apply[SpectralGate], inputs: list[Any], stacked: Sequence[bool]) -> list[Variable]:
    return [node.op(*all_stacked(inputs, stacked))]


@pullback.register(SpectralGate)
def _pullback(node: Apply[SpectralGate], cotangents: list[Variable]) -> list[Variable | None]:
    none = DisconnectedType()
    curvature = node.op.curvature(node)
    if curvature is None:
        # The gradient comes from outside: what the function is like is not known.
        return [cotangents[0], *(none() for _ in node.inputs[1:])]
    direction = as_tensor_variable(cotangents[0])
    _, _, _, _, left, right = node.inputs
    inner = matmul(matmul(transposed(left), direction), transposed(right))
    by_x, ndim = node.op.change(node, direction, curvature), inner.type.ndim
    if node.op.triangle is not None:
        by_x = gradient_of_triangle(by_x, node.op.triangle == "L")
    return [none(), by_x, diagonal(inner, 0, ndim - 2, ndim - 1), none(), none(), none()]


pushforward.register(SpectralGate)(derived_pushforward)


# ---- Factors with orthonormal columns: QR and singular values

_FINITE = "look for NaN and infinities in the matrix"
_REAL = {"complex64": "float32", "complex128": "float64"}


def _least(rows: int | None, columns: int | None) -> int | None:
    return None if rows is None or columns is None else min(rows, columns)


class _QR(MatrixOp):
    """The common part of both forms of the QR decomposition."""

    __props__ = ("mode",)
    modes: tuple[str, ...] = ()

    def __init__(self, mode: str) -> None:
        if mode not in self.modes:
            raise ValueError(
                format_error(
                    f"{type(self).__name__}: unknown mode={mode!r}", hint=f"use one of {', '.join(self.modes)}"
                )
            )
        self.mode = mode

    def make_node(self, x: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a matrix, or to a stack where the mode is not 'raw'."""
        matrix = as_matrices("qr", x)
        *front, rows, columns = matrix.type.shape
        k = _least(rows, columns)
        shapes = {
            "reduced": [(*front, rows, k), (*front, k, columns)],
            "complete": [(*front, rows, rows), (*front, rows, columns)],
            "r": [(*front, k, columns)],
            "raw": [(*front, columns, rows), (*front, k)],
        }[self.mode]
        return Apply(self, [matrix], [tensor_type(matrix.type.dtype, s).make_variable() for s in shapes])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Decompose with LAPACK."""
        factors = np.linalg.qr(inputs[0], mode=self.mode)  # type: ignore[call-overload]  # checked above
        values = (factors,) if self.mode == "r" else tuple(factors)
        for storage, value, output in zip(output_storage, values, node.outputs, strict=True):
            storage[0] = np.asarray(value, dtype=output.type.dtype)


class QRFull(_QR):
    """QR decomposition with two results: q with orthonormal columns and upper triangular r; or LAPACK's raw form.

    Derivatives: Walter, Lehmann and Lamour (2012), "On evaluating higher-order derivatives of the QR decomposition
    of tall matrices with full column rank in forward and reverse mode"; Roberts and Roberts (2020), "QR and LQ
    decomposition matrix backpropagation algorithms for square, wide, and deep matrices".

    Parameters
    ----------
    mode : {"reduced", "complete", "raw"}
    """

    modes = ("reduced", "complete", "raw")


class QRIncomplete(_QR):
    """QR decomposition of which the upper triangular r is wanted only.

    Parameters
    ----------
    mode : {"r"}
    """

    modes = ("r",)

    def __init__(self, mode: str = "r") -> None:
        super().__init__(mode)


def _qr_gradient(x: Tensor, q: Tensor, r: Tensor, gq: Tensor | None, gr: Tensor | None) -> Tensor:
    """Return the gradient by `x` of a reduced decomposition, of any shape."""
    k = shape_i(r, r.type.ndim - 2)
    gr = r.zeros_like() if gr is None else gr
    square, beyond, by_square, by_beyond = r[..., :k], x[..., k:], gr[..., :k], gr[..., k:]
    # The columns beyond the first k are `q @ r`, too, and q depends on the first ones only.
    by_q = total_of([gq, matmul(beyond, transposed(by_beyond))])
    assert by_q is not None
    inner = matmul(square, transposed(by_square)) - matmul(transposed(by_q), q)
    symmetric = tril(inner) + transposed(tril(inner, -1))
    left = by_q + matmul(q, symmetric)
    by_first = transposed(solve_upper_triangular(square, transposed(left)))
    joined: Tensor = concatenate([by_first, matmul(q, by_beyond)], axis=by_first.type.ndim - 1)
    return joined


@pullback.register(QRFull)
def _pullback_qr(node: Apply[QRFull, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    undefined = no_complex_gradient(node)
    if undefined is not None:
        return undefined
    (x,), (q, r) = node.inputs, node.outputs
    if node.op.mode == "raw" or (node.op.mode == "complete" and not static_square(x)):
        return [grad_undefined(node.op, 0, x, "not all of q is determined by the matrix; use mode='reduced'")]
    gq, gr = map(present, cotangents)
    return [_qr_gradient(as_tensor_variable(x), q, as_tensor_variable(r), gq, gr)]


@pullback.register(QRIncomplete)
def _pullback_r(node: Apply[QRIncomplete, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    undefined = no_complex_gradient(node)
    if undefined is not None:
        return undefined
    x = as_tensor_variable(node.inputs[0])
    q, r = QRFull("reduced")(x)
    return [_qr_gradient(x, q, r, None, as_tensor_variable(cotangents[0]))]


class SVD(MatrixOp):
    """Singular value decomposition ``x == u @ diag(s) @ vt`` of a matrix, or of each one of a stack.

    The results are u, s (descending) and vt, as in NumPy. Derivatives: Giles (2008), section 3.2; Townsend (2016),
    "Differentiating the singular value decomposition". Those of u and vt do not exist for equal singular values.

    Parameters
    ----------
    full_matrices : bool
        Whether u and vt are square, or have min(M, N) columns and rows.
    compute_uv : bool
        False: s is the only result.
    """

    __props__ = ("full_matrices", "compute_uv")

    def __init__(self, full_matrices: bool = True, compute_uv: bool = True) -> None:
        self.full_matrices, self.compute_uv = bool(full_matrices), bool(compute_uv)

    def make_node(self, x: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a matrix or a stack; ShapeError if it is none."""
        matrix = as_matrices("svd", x)
        dtype, (*front, rows, columns) = matrix.type.dtype, matrix.type.shape
        k = _least(rows, columns)
        s = tensor_type(_REAL.get(dtype, dtype), (*front, k))
        if not self.compute_uv:
            return Apply(self, [matrix], [s.make_variable()])
        u = tensor_type(dtype, (*front, rows, rows if self.full_matrices else k))
        vt = tensor_type(dtype, (*front, columns if self.full_matrices else k, columns))
        return Apply(self, [matrix], [t.make_variable() for t in (u, s, vt)])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Decompose with LAPACK; LinAlgError where it does not converge."""
        try:
            factors: Any = np.linalg.svd(inputs[0], self.full_matrices, self.compute_uv)  # type: ignore[call-overload]
        except np.linalg.LinAlgError as error:
            raise linear_error(f"svd: {error}", node, _FINITE) from None
        for storage, value in zip(output_storage, factors if self.compute_uv else (factors,), strict=True):
            storage[0] = value


@pullback.register(SVD)
def _pullback_svd(node: Apply, cotangents: list[Variable]) -> list[Variable | None]:
    undefined = no_complex_gradient(node)
    if undefined is not None:
        return undefined
    op, x = node.op, node.inputs[0]
    gu, gs, gvt = map(present, cotangents) if op.compute_uv else (None, present(cotangents[0]), None)
    if gu is None and gvt is None:
        assert gs is not None
        u, _, vt = SVD(full_matrices=False)(x)
        s = node.outputs[1 if op.compute_uv else 0]
        return [SpectralGate(None)(matmul(scaled_columns(u, gs), vt), x, gs, s, u, vt)]
    if op.full_matrices and not static_square(x):
        return [grad_undefined(op, 0, x, "not all of u and vt is determined by the matrix; use full_matrices=False")]
    u, s, vt = map(as_tensor_variable, node.outputs)
    return [_svd_gradient(u, s, vt, gu, gs, gvt)]


def _svd_gradient(
    u: Tensor,
    s: Tensor,
    vt: Tensor,
    gu: Tensor | None,
    gs: Tensor | None,
    gvt: Tensor | None,
) -> Tensor:
    ut, v = transposed(u), transposed(vt)
    turns: list[Tensor | None] = [None, None]
    terms: list[Tensor | None] = []
    among: list[Tensor | None] = []
    if gu is not None:
        rotated = matmul(ut, gu)
        turns[0] = rotated - transposed(rotated)
        among.append(abs_(rotated))
        terms.append(matmul(scaled_columns(gu - matmul(u, rotated), 1 / s), vt))
    if gs is not None:
        terms.append(matmul(scaled_columns(u, gs), vt))
    if gvt is not None:
        rotated = matmul(gvt, v)
        turns[1] = transposed(rotated) - rotated
        among.append(abs_(rotated))
        terms.append(matmul(u, scaled_rows(1 / s, gvt - matmul(rotated, vt))))
    # Vectors on both sides that turn together, and against each other: of equal values, the former change nothing.
    together = total_of(turns)
    if together is not None:
        against = total_of([turns[0], None if turns[1] is None else -turns[1]])
        sizes = total_of(among)
        assert against is not None and sizes is not None, "one of both changes"
        inner = (over_gaps(together, s, sizes, gs) + over_sums(against, s)) * np.asarray(0.5, s.type.dtype)
        terms.append(matmul(matmul(u, inner), vt))
    total = total_of(terms)
    assert total is not None
    return total


@shape_rule.register(QRFull, QRIncomplete)
def _shape_qr(node: Apply[QRFull | QRIncomplete, Tensor], input_shapes: list[Any]) -> list[Any]:
    *front, rows, columns = input_shapes[0]
    k = minimum(rows, columns)
    return {
        "reduced": [(*front, rows, k), (*front, k, columns)],
        "complete": [(*front, rows, rows), (*front, rows, columns)],
        "r": [(*front, k, columns)],
        "raw": [(*front, columns, rows), (*front, k)],
    }[node.op.mode]


@shape_rule.register(SVD)
def _shape_svd(node: Apply, input_shapes: list[Any]) -> list[Any]:
    *front, rows, columns = input_shapes[0]
    k, full = minimum(rows, columns), node.op.full_matrices
    if not node.op.compute_uv:
        return [(*front, k)]
    return [(*front, rows, rows if full else k), (*front, k), (*front, columns if full else k, columns)]


def qr(a: TensorLike, mode: str = "reduced") -> Any:
    """Return the QR decomposition ``a == q @ r``, where q has orthonormal columns and r is upper triangular.

    Parameters
    ----------
    a : tensor_like, shape (..., M, N)
    mode : {"reduced", "complete", "r", "raw"}
        With K = min(M, N): q, r of shapes (M, K), (K, N); of shapes (M, M), (M, N); r alone, (K, N); or LAPACK's h
        and tau, (N, M), (K,).

    Returns
    -------
    list of Tensor, or Tensor
        The latter with mode "r".

    Raises
    ------
    ValueError
        If the mode is unknown.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.tensor import nlinalg
    >>> q, r = nlinalg.qr(T.dmatrix("a"))
    """
    op: _QR = QRIncomplete(mode) if mode == "r" else QRFull(mode)
    return op(a)


def svd(a: TensorLike, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """Return u, s and vt of the singular value decomposition, or s alone; see :class:`SVD`.

    Parameters
    ----------
    a : tensor_like, shape (..., M, N)
    full_matrices : bool
        Whether u and vt have shapes (M, M) and (N, N), or (M, K) and (K, N) with K = min(M, N).
    compute_uv : bool
        Whether u and vt are wanted.

    Returns
    -------
    tuple of three Tensor, or Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.tensor import nlinalg
    >>> u, s, vt = nlinalg.svd(T.dmatrix("a"), full_matrices=False)
    """
    return SVD(full_matrices, compute_uv)(a)
