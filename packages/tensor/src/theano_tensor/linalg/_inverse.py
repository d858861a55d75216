"""Inverses, determinants, and the derivatives of determinants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from theano_graph import Apply, Variable, pullback, pushforward, shape_rule

from .._core._convert import as_tensor_variable
from .._core._dtypes import TensorLike
from .._core._type import Tensor, tensor_type
from ..elemwise import cast, conj, dimshuffle
from ..extra_ops import diagonal
from ..linear import matmul
from ..reduce import sum as sum_over
from ._operands import (
    MatrixOp,
    adjoint,
    as_matrices,
    check_square,
    linear_error,
    no_complex_gradient,
    present,
    pulled_through,
    total_of,
    transposed,
    unit_like,
)

# ---- Inverses and determinants

_SINGULAR = "add a small multiple of the identity, or use nlinalg.pinv"


class MatrixInverse(MatrixOp):
    """Inverse of a square matrix, or of each one of a stack.

    Where it is multiplied by something, rewriting puts a solution of linear equations in its place.
    Derivatives: Giles (2008), "An extended collection of matrix derivative results", section 2.2.2.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.tensor import nlinalg
    >>> nlinalg.matrix_inverse(T.constant([[2.0, 0.0], [0.0, 4.0]])).eval()
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """

    __props__ = ()

    def make_node(self, x: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a matrix or a stack; ShapeError if it is none, or known not to be square."""
        matrix = as_matrices("matrix_inverse", x, square=True)
        return Apply(self, [matrix], [matrix.type.make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Invert with LAPACK; LinAlgError for a singular matrix, or one that is not square."""
        check_square("matrix_inverse", node, inputs[0])
        try:
            output_storage[0][0] = np.linalg.inv(inputs[0])
        except np.linalg.LinAlgError:
            raise linear_error("matrix_inverse: Singular matrix", node, _SINGULAR) from None

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """Return the directional derivatives of the outputs for directions of `inputs` (None: no change)."""
        return list(pushforward.lookup(self)(self.make_node(*inputs), list(eval_points)))


@pullback.register(MatrixInverse)
def _pullback_inverse(node: Apply[MatrixInverse, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    inverse = adjoint(node.outputs[0])
    return [-matmul(matmul(inverse, cotangents[0]), inverse)]


@pushforward.register(MatrixInverse)
def _pushforward_inverse(node: Apply[MatrixInverse, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    (inverse,) = node.outputs
    return [None if tangents[0] is None else -matmul(matmul(inverse, tangents[0]), inverse)]


class MatrixPinv(MatrixOp):
    """Moore-Penrose pseudo-inverse of a matrix of any shape, or of each one of a stack.

    Derivatives: Golub and Pereyra (1973), "The differentiation of pseudo-inverses and nonlinear least squares
    problems", for matrices whose rank does not change.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.tensor import nlinalg
    >>> nlinalg.pinv(T.constant([[2.0], [0.0]])).eval()
    array([[0.5, 0. ]])
    """

    __props__ = ()

    def make_node(self, x: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a matrix or a stack; ShapeError if it is none."""
        matrix = as_matrices("pinv", x)
        shape = matrix.type.shape
        return Apply(
            self, [matrix], [tensor_type(matrix.type.dtype, (*shape[:-2], shape[-1], shape[-2])).make_variable()]
        )

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Use NumPy, which goes by singular values; LinAlgError for numbers that are not finite."""
        try:
            output_storage[0][0] = np.linalg.pinv(inputs[0]).astype(node.outputs[0].type.dtype, copy=False)
        except np.linalg.LinAlgError as error:
            raise linear_error(f"pinv: {error}", node, "look for NaN and infinities in the matrix") from None


@pullback.register(MatrixPinv)
def _pullback_pinv(node: Apply[MatrixPinv, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    undefined = no_complex_gradient(node)
    if undefined is not None:
        return undefined
    (x,), (p,), v = node.inputs, node.outputs, as_tensor_variable(cotangents[0])
    pt = transposed(p)
    outside = v - matmul(matmul(v, x), p)
    beyond = v - matmul(p, matmul(x, v))
    first = matmul(matmul(p, transposed(v)), p)
    second = matmul(matmul(p, pt), outside)
    third = matmul(beyond, matmul(pt, p))
    return [transposed(second + third - first)]


@pushforward.register(MatrixPinv)
def _pushforward_pinv(node: Apply[MatrixPinv, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    if tangents[0] is None:
        return [None]
    (x,), (p,), d = node.inputs, node.outputs, as_tensor_variable(tangents[0])
    ph, dh = adjoint(p), adjoint(d)
    outside = unit_like(x, -2) - matmul(x, p)
    beyond = unit_like(x, -1) - matmul(p, x)
    second = matmul(matmul(p, ph), matmul(dh, outside))
    third = matmul(matmul(beyond, dh), matmul(ph, p))
    return [second + third - matmul(matmul(p, d), p)]


class Det(MatrixOp):
    """Determinant of a square matrix, or of each one of a stack.

    The gradient is the matrix of cofactors (Jacobi's formula), which singular matrices have, too.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.tensor import nlinalg
    >>> nlinalg.det(T.constant([[2.0, 0.0], [0.0, 4.0]])).eval()
    array(8.)
    """

    __props__ = ()

    def make_node(self, x: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a matrix or a stack; ShapeError if it is none, or known not to be square."""
        matrix = as_matrices("det", x, square=True)
        return Apply(self, [matrix], [tensor_type(matrix.type.dtype, matrix.type.shape[:-2]).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Use NumPy; 0 for a singular matrix, LinAlgError for one that is not square."""
        check_square("det", node, inputs[0])
        output_storage[0][0] = np.asarray(np.linalg.det(inputs[0]), dtype=node.outputs[0].type.dtype)


def on_matrices(x: TensorLike) -> Tensor:
    """Return one number for each matrix, so that it broadcasts over the matrix."""
    variable = as_tensor_variable(x)
    return dimshuffle(variable, [*range(variable.type.ndim), "x", "x"])


def _trace_of_product(x: TensorLike, y: TensorLike) -> Tensor:
    """Return ``trace(x @ y)`` of each pair without the product."""
    return sum_over(as_tensor_variable(x) * transposed(y), axis=(-2, -1))


class SLogDet(MatrixOp):
    """Sign of the determinant and logarithm of its size, without overflow; of each matrix of a stack.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.tensor import nlinalg
    >>> [float(v.eval()) for v in nlinalg.slogdet(T.constant([[0.0, 1.0], [1.0, 0.0]]))]
    [-1.0, 0.0]
    """

    __props__ = ()

    def make_node(self, x: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a matrix or a stack; ShapeError if it is none, or known not to be square."""
        matrix = as_matrices("slogdet", x, square=True)
        real = {"complex64": "float32", "complex128": "float64"}.get(matrix.type.dtype, matrix.type.dtype)
        types = [tensor_type(dtype, matrix.type.shape[:-2]) for dtype in (matrix.type.dtype, real)]
        return Apply(self, [matrix], [t.make_variable() for t in types])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Use NumPy; 0 and -inf for a singular matrix, LinAlgError for one that is not square."""
        check_square("slogdet", node, inputs[0])
        for storage, value, output in zip(output_storage, np.linalg.slogdet(inputs[0]), node.outputs, strict=True):
            storage[0] = np.asarray(value, dtype=output.type.dtype)


@pullback.register(SLogDet)
def _pullback_slogdet(node: Apply[SLogDet, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    undefined = no_complex_gradient(node)
    if undefined is not None:
        return undefined
    g = present(cotangents[1])
    if g is None:
        return [as_tensor_variable(node.inputs[0]).zeros_like()]  # the sign is a step function
    return [on_matrices(g) * transposed(matrix_inverse(node.inputs[0]))]


@pushforward.register(SLogDet)
def _pushforward_slogdet(node: Apply[SLogDet, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    if tangents[0] is None:
        return [None, None]
    change = _trace_of_product(matrix_inverse(node.inputs[0]), tangents[0])
    return [as_tensor_variable(node.outputs[0]).zeros_like(), change]


@shape_rule.register(MatrixInverse)
def _shape_inverse(node: Apply[MatrixInverse, Tensor], input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[0]]


@shape_rule.register(MatrixPinv)
def _shape_pinv(node: Apply[MatrixPinv, Tensor], input_shapes: list[Any]) -> list[Any]:
    *front, rows, columns = input_shapes[0]
    return [(*front, columns, rows)]


@shape_rule.register(Det, SLogDet)
def _shape_det(node: Apply[Det | SLogDet, Tensor], input_shapes: list[Any]) -> list[Any]:
    return [tuple(input_shapes[0][:-2]) for _ in node.outputs]


matrix_inverse = MatrixInverse()
pinv = MatrixPinv()
det = Det()


def slogdet(x: TensorLike) -> tuple[Tensor, Tensor]:
    """Return sign and logarithm of the size of the determinant; see :class:`SLogDet`.

    Parameters
    ----------
    x : tensor_like
        A square matrix.

    Returns
    -------
    tuple of two Tensor

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> [float(a) for a in theano.function([], T.nlinalg.slogdet([[2.0, 0.0], [0.0, -0.5]]))()]
    [-1.0, 0.0]
    """
    sign, logarithm = SLogDet()(x)
    return sign, logarithm


def trace(X: TensorLike) -> Tensor:
    """Return the sum of the main diagonal of a matrix, or of each matrix of a stack.

    Parameters
    ----------
    X : tensor_like
        At least two dimensions.

    Raises
    ------
    ShapeError
        If `X` has less than two dimensions.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nlinalg.trace([[1.0, 2.0], [3.0, 4.0]]).eval()
    array(5.)
    """
    matrix = as_tensor_variable(X) if as_tensor_variable(X).type.ndim >= 2 else as_matrices("trace", X)
    return sum_over(diagonal(matrix, 0, -2 % matrix.type.ndim, -1 % matrix.type.ndim), axis=-1)


# ---- Cofactors: the derivatives of determinants, which singular matrices have, too
#
# With singular values ``x == u @ diag(s) @ vt``, the cofactors are ``det(u) * det(vt) * conj(u) @ diag(p) @ conj(vt)``,
# where each p is the product of the other singular values; no division is in that.


class Cofactors(MatrixOp):
    """The cofactors of a square matrix times a number, or of each one of a stack: ``g * det(x) * inv(x).T``.

    The number is an input, so that it meets the determinant where an invertible matrix has this form.
    """

    __props__ = ()

    def make_node(self, x: TensorLike, g: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a matrix or a stack, and as many numbers; ShapeError if it is none, or known not to be square."""
        matrix = as_matrices("cofactors", x, square=True)
        factor = cast(as_tensor_variable(g), matrix.type.dtype)
        return Apply(self, [matrix, factor], [matrix.type.make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Use inverses, and singular values for matrices that hardly have them."""
        x, g = inputs
        check_square("cofactors", node, x)
        scale, inverse, poor = _inverses(x, 0.9)
        with np.errstate(all="ignore"):
            result = (g * scale)[..., None, None] * np.swapaxes(inverse, -1, -2)
        if poor.any():
            sign, u, s, vt = _singular_values(node, x[poor])
            factor = np.broadcast_to(g, poor.shape)[poor][:, None, None]
            result[poor] = factor * sign * ((u * _products_of_others(s)[..., None, :]) @ vt).conj()
        output_storage[0][0] = result.astype(node.outputs[0].type.dtype, copy=False)

    def expression(self, x: TensorLike, g: TensorLike, value: Tensor | None = None) -> Tensor:
        """Return the same for an invertible matrix, of which the determinant may be known."""
        scale = as_tensor_variable(g) * (det(x) if value is None else value)
        return on_matrices(scale) * transposed(matrix_inverse(x))


class CofactorsChange(MatrixOp):
    """The change of the cofactors of a square matrix, times a number, along a direction.

    This is the second derivative of the determinant.
    """

    __props__ = ()

    def make_node(self, x: TensorLike, g: TensorLike, direction: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a matrix or a stack, as many numbers and directions; ShapeError if they are none, or not square."""
        matrix, along = (as_matrices("cofactors", v, square=True) for v in (x, direction))
        parts = [matrix, *(cast(as_tensor_variable(v), matrix.type.dtype) for v in (g, along))]
        return Apply(self, parts, [matrix.type.make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Use inverses where they have most digits, singular values elsewhere.

        With these, the change by entries off the diagonal is the product of all but two.
        """
        x, g, direction = inputs
        check_square("cofactors", node, x)
        scale, inverse, poor = _inverses(x, 0.25)
        back, along = np.swapaxes(inverse, -1, -2), np.broadcast_to(direction, x.shape)
        with np.errstate(all="ignore"):
            inner = (along * back).sum((-2, -1))[..., None, None] * back - back @ np.swapaxes(along, -1, -2) @ back
            result = (g * scale)[..., None, None] * inner
        if poor.any():
            sign, u, s, vt = _singular_values(node, x[poor])
            same = np.eye(s.shape[-1], dtype=bool)
            turned = np.swapaxes(u, -1, -2).conj() @ along[poor] @ np.swapaxes(vt, -1, -2).conj()
            pairs = np.where(same, 0, _products_of_others(np.where(same, 1, s[..., None, :])))
            on_diagonal = pairs @ np.diagonal(turned, axis1=-2, axis2=-1)[..., None]
            inner = np.where(same, on_diagonal, -pairs * np.swapaxes(turned, -1, -2))
            factor = np.broadcast_to(g, poor.shape)[poor][:, None, None]
            result[poor] = factor * sign * (u.conj() @ inner @ vt.conj())
        output_storage[0][0] = result.astype(node.outputs[0].type.dtype, copy=False)

    def expression(self, x: TensorLike, g: TensorLike, direction: TensorLike, value: Tensor | None = None) -> Tensor:
        """Return the same for an invertible matrix, of which the determinant may be known."""
        back, scale = transposed(matrix_inverse(x)), as_tensor_variable(g) * (det(x) if value is None else value)
        across = matmul(matmul(back, transposed(direction)), back)
        along = sum_over(as_tensor_variable(direction) * back, axis=(-2, -1))
        return on_matrices(scale * along) * back - on_matrices(scale) * across


def _inverses(x: Any, share: float) -> tuple[Any, Any, Any]:
    """Return determinants and inverses, and which matrices may have cost the latter this share of the digits.

    Determinants and inverses come from the same factors, so that the errors of small pivots cancel in their product.
    Numbers that are not finite are no reason to look further: so are the results.
    """
    with np.errstate(all="ignore"):
        value = np.asarray(np.linalg.det(x))
        is_regular = np.isfinite(value) & (np.abs(value) >= np.finfo(x.dtype).tiny)
        one = np.eye(x.shape[-1], dtype=x.dtype)
        inverse = np.linalg.inv(x if is_regular.all() else np.where(is_regular[..., None, None], x, one))
        good = np.asarray(is_regular & (_size(x) * _size(inverse) < np.finfo(x.dtype).eps ** -share))
        if good.all():
            return value, inverse, ~good
        is_finite = np.isfinite(x).all((-2, -1))
    return np.where(is_finite, value, np.nan), inverse, np.asarray(is_finite & ~good)


def _size(x: Any) -> Any:
    """Return the Frobenius norm of each matrix."""
    real = np.abs(x) if x.dtype.kind == "c" else x
    return np.sqrt(np.einsum("...ij,...ij->...", real, real))


def _singular_values(node: Apply, x: Any) -> tuple[Any, Any, Any, Any]:
    """Return ``det(u) * det(vt)``, which broadcasts over matrices, and u, s, vt."""
    try:
        u, s, vt = np.linalg.svd(x)
    except np.linalg.LinAlgError as error:
        raise linear_error(f"cofactors: {error}", node, "look for NaN and infinities in the matrix") from None
    return (np.linalg.det(u) * np.linalg.det(vt))[..., None, None], u, s, vt


def _products_of_others(x: Any) -> Any:
    """Return for each number of the last axis the product of the others."""
    one = np.ones_like(x[..., :1])
    before = np.cumprod(np.concatenate([one, x[..., :-1]], axis=-1), axis=-1)
    after = np.cumprod(np.concatenate([one, x[..., :0:-1]], axis=-1), axis=-1)[..., ::-1]
    return before[..., : x.shape[-1]] * after[..., : x.shape[-1]]


cofactors, cofactors_change = Cofactors(), CofactorsChange()


def _of_one(x: Tensor) -> Tensor:
    """Return the cofactors alone."""
    result: Tensor = cofactors(x, np.ones((1,) * (x.type.ndim - 2), x.type.dtype))
    return result


@pullback.register(Det)
def _pullback_det(node: Apply[Det, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    return [conj(cofactors(node.inputs[0], conj(as_tensor_variable(cotangents[0]))))]


@pushforward.register(Det)
def _pushforward_det(node: Apply[Det, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    d = tangents[0]
    return [None if d is None else sum_over(_of_one(node.inputs[0]) * d, axis=(-2, -1))]


@pullback.register(Cofactors)
def _pullback_cofactors(node: Apply[Cofactors, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    (x, factor), g = node.inputs, as_tensor_variable(cotangents[0])
    by_x = conj(cofactors_change(x, factor, conj(g)))
    return [by_x, sum_over(conj(_of_one(x)) * g, axis=(-2, -1))]


@pushforward.register(Cofactors)
def _pushforward_cofactors(node: Apply[Cofactors, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    (x, g), (by_x, by_g) = node.inputs, tangents
    return [
        total_of([None if by_x is None else cofactors_change(x, g, by_x), None if by_g is None else cofactors(x, by_g)])
    ]


@pullback.register(CofactorsChange)
def _pullback_change(node: Apply[CofactorsChange, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    (x, factor, direction), g = node.inputs, as_tensor_variable(cotangents[0])
    by_x = pulled_through(node.op.expression(*node.inputs), node.inputs, g)[0]
    back = conj(cofactors_change(x, factor, conj(g)))
    one = cofactors_change(x, np.ones((1,) * factor.type.ndim, x.type.dtype), direction)
    return [by_x, sum_over(conj(one) * g, axis=(-2, -1)), back]


@shape_rule.register(Cofactors, CofactorsChange)
def _shape_cofactors(node: Apply[Cofactors | CofactorsChange, Tensor], input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[0]]
