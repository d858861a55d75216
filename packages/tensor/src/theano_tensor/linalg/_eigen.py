"""Eigenvalues and eigenvectors.

Derivatives: Giles (2008), "An extended collection of matrix derivative results", section 3.1; for equal eigenvalues
those of the eigenvectors do not exist, and are not finite, but functions that do not depend on how they are split have
gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from theano_graph import Apply, Variable, format_error, pullback, pushforward, shape_rule
from theano_linker_c.scalar import upcast

from .._core._convert import as_tensor_variable
from .._core._dtypes import COMPLEX_DTYPES, TensorLike
from .._core._type import Tensor, tensor_type
from ..elemwise import cast, conj, real
from ..extra_ops import diagonal
from ..gradient import grad_undefined
from ..linear import matmul
from ._cholesky import cholesky
from ._inverse import matrix_inverse
from ._operands import (
    MatrixOp,
    adjoint,
    as_matrices,
    check_square,
    gradient_of_triangle,
    linear_error,
    mirrored,
    mirrored_values,
    must_be_real,
    no_complex_gradient,
    over_gaps,
    present,
    pulled_through,
    scaled_columns,
    total_of,
    transposed,
)
from ._orthogonal import SpectralGate

_FINITE = "look for NaN and infinities in the matrix"
_COMPLEX = {"float32": "complex64", "float64": "complex128"}
_REAL = {complex_: real_ for real_, complex_ in _COMPLEX.items()}


class Eig(MatrixOp):
    """Eigenvalues and right eigenvectors of a square matrix, or of each one of a stack; both complex.

    The eigenvectors are the columns of the second result, in the order of the eigenvalues.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.tensor import nlinalg
    >>> nlinalg.eig(T.constant([[0.0, 1.0], [-1.0, 0.0]]))[0].type.shape
    (2,)
    """

    __props__ = ()

    def make_node(self, x: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a matrix or a stack; ShapeError if it is none, or known not to be square."""
        matrix = as_matrices("eig", x, square=True)
        dtype = _COMPLEX.get(matrix.type.dtype, matrix.type.dtype)
        shape = matrix.type.shape
        return Apply(self, [matrix], [tensor_type(dtype, s).make_variable() for s in (shape[:-1], shape)])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Use LAPACK; LinAlgError for a matrix that is not square or not finite."""
        check_square("eig", node, inputs[0])
        try:
            results = np.linalg.eig(inputs[0])
        except np.linalg.LinAlgError as error:
            raise linear_error(f"eig: {error}", node, _FINITE) from None
        for storage, value, output in zip(output_storage, results, node.outputs, strict=True):
            storage[0] = np.asarray(value, dtype=output.type.dtype)


@pullback.register(Eig)
def _pullback_eig(node: Apply[Eig, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    x, vectors, (by_values, by_vectors) = node.inputs[0], node.outputs[1], map(present, cotangents)
    if by_vectors is not None:
        why = "the length and the angle of complex eigenvectors are not holomorphic; use eigh"
        return [grad_undefined(node.op, 0, x, why)]
    assert by_values is not None
    change = matmul(adjoint(matrix_inverse(vectors)), adjoint(scaled_columns(vectors, conj(by_values))))
    return [change if as_tensor_variable(x).type.dtype in COMPLEX_DTYPES else real(change)]


@pushforward.register(Eig)
def _pushforward_eig(node: Apply[Eig, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    if tangents[0] is None:
        return [None, None]
    values, vectors = node.outputs
    change = cast(as_tensor_variable(tangents[0]), as_tensor_variable(values).type.dtype)
    inner = matmul(matrix_inverse(vectors), matmul(change, vectors))
    why = "the length and the angle of complex eigenvectors are not holomorphic; use eigh"
    ndim = inner.type.ndim
    return [diagonal(inner, 0, ndim - 2, ndim - 1), grad_undefined(node.op, 0, node.inputs[0], why)]


class Eigh(MatrixOp):
    """Eigenvalues, ascending, and eigenvectors of a symmetric or Hermitian matrix, or of each one of a stack.

    Parameters
    ----------
    UPLO : {"L", "U"}
        The triangle that is read; the gradient lies in it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.tensor import nlinalg
    >>> nlinalg.eigh(T.constant([[2.0, 0.0], [0.0, 1.0]]))[0].eval()
    array([1., 2.])
    """

    __props__ = ("UPLO",)

    def __init__(self, UPLO: str = "L") -> None:
        if UPLO not in ("L", "U"):
            raise ValueError(format_error(f"Eigh: unknown UPLO={UPLO!r}", hint="use 'L' or 'U'"))
        self.UPLO = UPLO

    def make_node(self, x: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a matrix or a stack; ShapeError if it is none, or known not to be square."""
        matrix = as_matrices("eigh", x, square=True)
        dtype, shape = matrix.type.dtype, matrix.type.shape
        values = tensor_type(_REAL.get(dtype, dtype), shape[:-1])
        return Apply(self, [matrix], [values.make_variable(), tensor_type(dtype, shape).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Use LAPACK; LinAlgError for a matrix that is not square, or where it does not converge."""
        check_square("eigh", node, inputs[0])
        try:
            values, vectors = np.linalg.eigh(inputs[0], UPLO="L" if self.UPLO == "L" else "U")
        except np.linalg.LinAlgError as error:
            raise linear_error(f"eigh: {error}", node, _FINITE) from None
        output_storage[0][0], output_storage[1][0] = values, vectors


@pullback.register(Eigh)
def _pullback_eigh(node: Apply[Eigh, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    undefined = no_complex_gradient(node)
    if undefined is not None:
        return undefined
    gradients = [present(g) for g in cotangents]
    terms = [
        as_tensor_variable(v).zeros_like() if g is None else g for v, g in zip(node.outputs, gradients, strict=True)
    ]
    if gradients[1] is None:
        values, vectors = node.outputs
        return [_by_values(node.inputs[0], values, vectors, terms[0], node.op.UPLO)]
    return [EighGrad(node.op.UPLO)(node.inputs[0], *node.outputs, *terms)]


def _by_values(x: Variable, values: Tensor, vectors: Tensor, g: Variable, triangle: str) -> Tensor:
    """Return the gradient by a symmetric matrix of a function of its eigenvalues, given the one by these.

    It needs no differences of eigenvalues, so equal ones do no harm; its own gradient does.
    """
    back = transposed(vectors)
    product: Tensor = SpectralGate(triangle)(matmul(scaled_columns(vectors, g), back), x, g, values, vectors, back)
    return gradient_of_triangle(product, triangle == "L")


@pushforward.register(Eigh)
def _pushforward_eigh(node: Apply[Eigh, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    if tangents[0] is None:
        return [None, None]
    if no_complex_gradient(node) is not None:
        null = grad_undefined(node.op, 0, node.inputs[0], "it is not holomorphic")
        return [null, null]
    values, vectors = node.outputs
    inner = matmul(transposed(vectors), matmul(mirrored(tangents[0], node.op.UPLO == "L"), vectors))
    ndim = inner.type.ndim
    return [diagonal(inner, 0, ndim - 2, ndim - 1), matmul(vectors, over_gaps(inner, values, inner))]


class EighGrad(MatrixOp):
    """Gradient by a symmetric matrix, given it, its eigenvalues and eigenvectors, and the gradients by these.

    Parameters
    ----------
    UPLO : {"L", "U"}
        The triangle that is read and that the gradient lies in.
    """

    __props__ = ("UPLO",)

    def __init__(self, UPLO: str = "L") -> None:
        self.UPLO = Eigh(UPLO).UPLO

    def make_node(
        self, x: TensorLike, w: TensorLike, v: TensorLike, gw: TensorLike, gv: TensorLike
    ) -> Apply[Self, Tensor]:
        """Apply to real tensors: matrix, eigenvalues, eigenvectors, and gradients by both."""
        operands = (x, w, v, gw, gv)
        least = (2, 1, 2, 1, 2)
        parts = [
            must_be_real("EighGrad", as_matrices("EighGrad", p, least=n)) for p, n in zip(operands, least, strict=True)
        ]
        return Apply(self, parts, [parts[0].type.make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Sum over pairs of eigenvalues, as one product of matrices."""
        _, w, v, gw, gv = inputs
        same = np.eye(w.shape[-1], dtype=bool)
        gaps, changes = (a[..., None, :] - a[..., :, None] for a in (w, gw))
        v_t, step = np.swapaxes(v, -1, -2), np.finfo(w.dtype).eps * 16
        with np.errstate(divide="ignore", invalid="ignore"):
            turn = v_t @ gv
            size = np.abs(turn).sum((-1, -2))[..., None, None]
            turn = (turn - np.swapaxes(turn, -1, -2)) / 2
            # As `over_gaps` has it: a function that does not depend on how equal values are split has a gradient.
            equal = np.abs(gaps) <= step * np.abs(w).sum(-1)[..., None, None]
            free = np.abs(turn) <= step * size
            free &= np.abs(changes) <= step * np.abs(gw).sum(-1)[..., None, None]
            without = same | (equal & free)
            inner = np.where(without, 0, turn / np.where(without, 1, np.where(equal, 0, gaps)))
            full = v @ np.where(same, gw[..., None, :], inner) @ v_t
        full = full + np.swapaxes(full, -1, -2)
        full = (np.tril if self.UPLO == "L" else np.triu)(np.where(same, full / 2, full))
        output_storage[0][0] = full.astype(node.outputs[0].type.dtype, copy=False)

    def expression(self, x: TensorLike, w: TensorLike, v: TensorLike, gw: TensorLike, gv: TensorLike) -> Tensor:
        """Return the same as an expression, of which derivatives are known."""
        v_t = transposed(v)
        turn = matmul(v_t, gv)
        inner = over_gaps((turn - transposed(turn)) * np.asarray(0.5, turn.type.dtype), w, turn, gw)
        full = matmul(matmul(v, inner), v_t) + matmul(scaled_columns(v, gw), v_t)
        return gradient_of_triangle(full, self.UPLO == "L")


class Eigvalsh(MatrixOp):
    """Eigenvalues w, ascending, of ``a @ v == w * b @ v`` for symmetric a and positive definite b.

    Parameters
    ----------
    lower : bool
        Whether the lower triangles are read.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.tensor import slinalg
    >>> slinalg.eigvalsh(T.constant([[2.0, 0.0], [0.0, 1.0]]), None).eval()
    array([1., 2.])
    """

    __props__ = ("lower",)

    def __init__(self, lower: bool = True) -> None:
        self.lower = bool(lower)

    def make_node(self, a: TensorLike, b: Any = None) -> Apply[Self, Tensor]:
        """Apply to one or two matrices (None: b is the identity); ShapeError if they are none."""
        parts = [as_matrices("eigvalsh", v, square=True) for v in (a, b) if not _is_none(v)]
        dtype = upcast(*(p.type.dtype for p in parts))
        parts = [must_be_real("eigvalsh", cast(p, dtype)) for p in parts]
        return Apply(self, parts, [tensor_type(dtype, parts[0].type.shape[:-1]).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Use LAPACK; LinAlgError where b is not positive definite."""
        check_square("eigvalsh", node, inputs[0])
        values = _symmetric_system(node, inputs, self.lower)[0]
        output_storage[0][0] = values.astype(node.outputs[0].type.dtype, copy=False)


class EigvalshGrad(MatrixOp):
    """Gradients by both matrices of :class:`Eigvalsh` (or the one), given these and the gradient by the eigenvalues.

    Parameters
    ----------
    lower : bool
        Which triangles are read, and get the gradients.
    """

    __props__ = ("lower",)

    def __init__(self, lower: bool = True) -> None:
        self.lower = bool(lower)

    def make_node(self, a: TensorLike, b: Any, gw: TensorLike | None = None) -> Apply[Self, Tensor]:
        """Apply to one or two real matrices (b may be None, or left out) and a vector."""
        if gw is None:  # to the inputs of a node of one matrix
            b, gw = None, b
        parts = [as_matrices("EigvalshGrad", v, square=True) for v in (a, b) if not _is_none(v)]
        parts.append(as_matrices("EigvalshGrad", gw, least=1))
        parts = [must_be_real("EigvalshGrad", p) for p in parts]
        return Apply(self, parts, [p.type.make_variable() for p in parts[:-1]])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Sum outer products of the eigenvectors, which satisfy ``v.T @ b @ v == 1``."""
        *matrices, gw = inputs
        w, v = _symmetric_system(node, matrices, self.lower)
        part = np.tril if self.lower else np.triu
        halved = 1 - np.eye(w.shape[-1]) / 2
        for storage, matrix, factors in zip(output_storage, matrices, (gw, -gw * w), strict=False):
            full = (v * factors[..., None, :]) @ np.swapaxes(v, -1, -2)
            storage[0] = part((full + np.swapaxes(full, -1, -2)) * halved).astype(matrix.dtype, copy=False)


def _is_none(value: Any) -> bool:
    return value is None or getattr(value, "data", value) is None


def _symmetric_system(node: Apply, matrices: Sequence[Any], lower: bool) -> tuple[Any, Any]:
    """Return eigenvalues w and eigenvectors v with ``a @ v == w * b @ v`` and ``v.T @ b @ v == 1``."""
    a, *others = (mirrored_values(m, lower) for m in matrices)
    try:
        if not others:
            w, v = np.linalg.eigh(a)
            return w, v
        factor = np.linalg.cholesky(others[0])
        half = np.linalg.solve(factor, a)
        w, v = np.linalg.eigh(np.linalg.solve(factor, np.swapaxes(half, -1, -2)))
        return w, np.linalg.solve(np.swapaxes(factor, -1, -2), v)
    except np.linalg.LinAlgError as error:
        raise linear_error(f"eigvalsh: {error}", node, "the second matrix must be positive definite") from None


@pullback.register(Eigvalsh)
def _pullback_eigvalsh(node: Apply[Eigvalsh, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    if len(node.inputs) == 2:
        return list(EigvalshGrad(node.op.lower)(*node.inputs, cotangents[0]))
    triangle = "L" if node.op.lower else "U"
    _, vectors = Eigh(triangle)(node.inputs[0])
    return [_by_values(node.inputs[0], node.outputs[0], vectors, cotangents[0], triangle)]


def _eigenvalues_by_eigh(node: Apply) -> tuple[Tensor, Tensor]:
    """Return eigenvalues and normalised eigenvectors of a system of symmetric matrices as an expression."""
    lower = node.op.lower
    a = mirrored(node.inputs[0], lower)
    if len(node.inputs) == 1 + isinstance(node.op, EigvalshGrad):
        w, v = Eigh()(a)
        return w, v
    # With b = l @ l.T, the eigenvalues are those of inv(l) @ a @ inv(l).T.
    low = cholesky(mirrored(node.inputs[1], lower))
    inverse = matrix_inverse(low)
    w, v = Eigh()(matmul(matmul(inverse, a), transposed(inverse)))
    return w, matmul(transposed(inverse), v)


@pullback.register(EigvalshGrad)
def _pullback_eigvalsh_grad(node: Apply[EigvalshGrad, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    w, v = _eigenvalues_by_eigh(node)
    gw, v_t = node.inputs[-1], transposed(v)
    factors = (gw, -(gw * w))
    results: list[Tensor | None] = []
    for g, f in zip(cotangents, factors, strict=False):
        cotangent = present(g)
        product = matmul(scaled_columns(v, f), v_t)
        results.append(None if cotangent is None else (gradient_of_triangle(product, node.op.lower) * cotangent).sum())
    total = total_of(results)
    assert total is not None
    return pulled_through(total, node.inputs, as_tensor_variable(np.ones((), total.type.dtype)))


@shape_rule.register(Eig, Eigh)
def _shape_eig(node: Apply[Eig | Eigh, Tensor], input_shapes: list[Any]) -> list[Any]:
    return [tuple(input_shapes[0][:-1]), input_shapes[0]]


@shape_rule.register(EighGrad)
def _shape_eigh_grad(node: Apply[EighGrad, Tensor], input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[0]]


@shape_rule.register(Eigvalsh)
def _shape_eigvalsh(node: Apply[Eigvalsh, Tensor], input_shapes: list[Any]) -> list[Any]:
    return [tuple(input_shapes[0][:-1])]


@shape_rule.register(EigvalshGrad)
def _shape_eigvalsh_grad(node: Apply[EigvalshGrad, Tensor], input_shapes: list[Any]) -> list[Any]:
    return list(input_shapes[:-1])


@pullback.register(EighGrad)
def _pullback_eigh_grad(node: Apply[EighGrad, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    return pulled_through(node.op.expression(*node.inputs), node.inputs, cotangents[0])


eig = Eig()


def eigh(a: TensorLike, UPLO: str = "L") -> tuple[Tensor, Tensor]:
    """Return eigenvalues and eigenvectors of a symmetric or Hermitian matrix; see :class:`Eigh`.

    Parameters
    ----------
    a : tensor_like
        A symmetric or Hermitian matrix.
    UPLO : {"L", "U"}
        The triangle that is read.

    Returns
    -------
    tuple of two Tensor
        Eigenvalues in ascending order, and eigenvectors as columns.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nlinalg.eigh([[2.0, 0.0], [0.0, 1.0]])[0].eval()
    array([1., 2.])
    """
    values, vectors = Eigh(UPLO)(a)
    return values, vectors


def eigvalsh(a: TensorLike, b: TensorLike | None = None, lower: bool = True) -> Tensor:
    """Return the eigenvalues of a symmetric matrix, or of a pair; see :class:`Eigvalsh`.

    Parameters
    ----------
    a : tensor_like
        A symmetric matrix.
    b : tensor_like, optional
        A positive definite matrix, for the pair of `a` and `b`.
    lower : bool
        Whether the lower triangle is read.

    Returns
    -------
    Tensor
        In ascending order.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.slinalg.eigvalsh(T.diag([3.0, 1.0]), None).eval()
    array([1., 3.])
    """
    result: Tensor = Eigvalsh(lower)(a, b)
    return result
