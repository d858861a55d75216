"""The matrix exponential."""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial
from typing import Any, Self

import numpy as np

from theano_graph import Apply, Variable, pullback, pushforward, shape_rule

from .._core._convert import as_tensor_variable
from .._core._dtypes import TensorLike
from .._core._type import Tensor
from ..joining import concatenate
from ..shape import shape_i
from ._matrices._lazy import scipy_linalg
from ._matrices._operands import MatrixOp, adjoint, as_matrices, check_square, pulled_through


class Expm(MatrixOp):
    """Exponential of a square matrix, or of each one of a stack.

    The derivative is that of Frechet: Al-Mohy and Higham (2009), "Computing the Frechet derivative of the matrix
    exponential, with an application to condition number estimation".

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.tensor import slinalg
    >>> slinalg.expm(T.constant([[0.0, 1.0], [0.0, 0.0]])).eval()
    array([[1., 1.],
           [0., 1.]])
    """

    __props__ = ()

    def make_node(self, A: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a matrix or a stack; ShapeError if it is none, or known not to be square."""
        matrix = as_matrices("expm", A, square=True)
        return Apply(self, [matrix], [matrix.type.make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Use SciPy: scaling, squaring and a rational approximation; LinAlgError for a matrix that is not square."""
        check_square("expm", node, inputs[0])
        output_storage[0][0] = scipy_linalg().expm(inputs[0]) if inputs[0].ndim == 2 else _of_stack(inputs[0])


class ExpmGrad(MatrixOp):
    """Gradient by a matrix of its exponential: the Frechet derivative at the transposed, conjugated matrix."""

    __props__ = ()

    def make_node(self, A: TensorLike, gw: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a matrix, and the gradient by its exponential."""
        matrix, g = (as_matrices("ExpmGrad", v, square=True) for v in (A, gw))
        return Apply(self, [matrix, g], [matrix.type.make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Use SciPy."""
        x, g = inputs
        check_square("expm", node, x)
        a_h, n = np.ascontiguousarray(np.swapaxes(x, -1, -2).conj()), x.shape[-1]
        if x.ndim == 2:
            result = scipy_linalg().expm_frechet(a_h, g, compute_expm=False, check_finite=False)
        else:
            whole = np.concatenate([np.concatenate([a_h, g], -1), np.concatenate([np.zeros_like(a_h), a_h], -1)], -2)
            result = _of_stack(whole)[..., :n, n:]
        output_storage[0][0] = np.ascontiguousarray(result, dtype=x.dtype)

    def expression(self, A: Tensor, gw: Tensor) -> Tensor:
        """Return the same as a block of the exponential of a matrix twice as large, of which derivatives are known."""
        a_h, n = adjoint(A), shape_i(A, -1 % A.type.ndim)
        upper = concatenate([a_h, gw], axis=A.type.ndim - 1)
        lower = concatenate([a_h.zeros_like(), a_h], axis=A.type.ndim - 1)
        exponential: Tensor = expm(concatenate([upper, lower], axis=A.type.ndim - 2))
        return exponential[..., :n, n:]


# The coefficients of the rational approximation of degree 13, and the norm up to which it is exact.
_COEFFICIENTS = tuple(factorial(26 - k) // (factorial(k) * factorial(13 - k)) for k in range(14))
_GREATEST_NORM = 5.371920351148152


def _of_stack(x: Any) -> Any:
    """Return the exponentials of all matrices of a stack; each is scaled and squared as its norm asks for."""
    a = x.astype(np.result_type(x.dtype, np.float64), copy=False)
    with np.errstate(all="ignore"):
        norm = np.abs(a).sum(-2).max(-1, initial=0)
        turns = np.where(np.isfinite(norm), np.ceil(np.log2(norm / _GREATEST_NORM)), 0).clip(0).astype(int)
        a = a * np.exp2(-turns)[..., None, None]
        powers = [np.broadcast_to(np.eye(a.shape[-1]), a.shape), a @ a]
        powers += [powers[1] @ powers[1], powers[1] @ powers[1] @ powers[1]]
        odd, even = (
            powers[3] @ _sum(powers[1:], _COEFFICIENTS[8 + k :: 2]) + _sum(powers, _COEFFICIENTS[k:8:2]) for k in (1, 0)
        )
        odd = a @ odd
        result = np.linalg.solve(even - odd, even + odd)
        for k in range(turns.max(initial=0)):
            result = np.where((turns > k)[..., None, None], result @ result, result)
    return result.astype(x.dtype, copy=False)


def _sum(powers: Sequence[Any], factors: Sequence[int]) -> Any:
    return sum(float(f) / _COEFFICIENTS[0] * p for f, p in zip(factors, powers, strict=True))


@pullback.register(Expm)
def _pullback(node: Apply[Expm, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    return [ExpmGrad()(node.inputs[0], cotangents[0])]


@pushforward.register(Expm)
def _pushforward(node: Apply[Expm, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    return [None if tangents[0] is None else ExpmGrad()(adjoint(node.inputs[0]), tangents[0])]


@pullback.register(ExpmGrad)
def _pullback_grad(node: Apply[ExpmGrad, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    expression = node.op.expression(*map(as_tensor_variable, node.inputs))
    return pulled_through(expression, node.inputs, cotangents[0])


@shape_rule.register(Expm, ExpmGrad)
def _shape(node: Apply[Expm | ExpmGrad, Tensor], input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[0]]


expm = Expm()
