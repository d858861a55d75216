"""Products of vectors and matrices."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any, Self

import numpy as np

from theano_graph import Apply, Variable, batch_rule, describe, format_error, pullback, pushforward, shape_rule
from theano_linker_c.kernels import Kernel, MatrixProductKernel, native_kernel
from theano_linker_c.scalar import upcast

from .._core._convert import as_tensor_variable
from .._core._dtypes import TensorLike
from .._core._ops import TensorOp, refused
from .._core._type import Tensor, tensor_type
from .._errors import RankError, ShapeError
from .._protocols._methods import call
from ..elemwise import conj, dimshuffle
from ..shape import patternbroadcast

#: Dtypes whose products run natively.
BLAS_DTYPES = frozenset({"float32", "float64"})


class Dot(TensorOp):
    """Product of two vectors or matrices: the last dimension of the first is summed with the first of the second.

    Gives a scalar, a vector or a matrix. No dimension broadcasts. Complex numbers are not conjugated.
    """

    __props__ = ()

    def make_node(self, x: TensorLike, y: TensorLike) -> Apply[Self, Tensor]:
        """Apply to tensors of one or two dimensions.

        Raises
        ------
        RankError
            If another number of dimensions is given.
        """
        a, b = as_tensor_variable(x), as_tensor_variable(y)
        for v in (a, b):
            if v.type.ndim not in (1, 2):
                raise RankError(
                    format_error(
                        f"Dot takes vectors and matrices, not {v.type.ndim} dimensions",
                        context=[describe(a), describe(b)],
                        hint="use T.dot or T.tensordot, which take any number",
                    )
                )
        b = fitting("dot", a, b, a.type.ndim - 1, 0)
        shape = a.type.shape[:-1] + b.type.shape[1:]
        return Apply(self, [a, b], [tensor_type(upcast(a.type.dtype, b.type.dtype), shape).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Multiply with NumPy; ValueError if the inner lengths differ."""
        x, y = inputs
        if x.shape[-1] != y.shape[0]:
            raise ValueError(
                format_error(
                    f"Shape mismatch: x has {x.shape[-1]} {'cols' if x.ndim == 2 else 'elements'} (shape {x.shape})"
                    f" but y has {y.shape[0]} {'rows' if y.ndim == 2 else 'elements'} (shape {y.shape})",
                    context=[describe(v) for v in node.inputs],
                    hint="the last dimension of x and the first of y must have the same length; transpose one of them",
                )
            )
        output_storage[0][0] = np.asarray(np.dot(x, y), dtype=node.outputs[0].type.dtype)

    def __str__(self) -> str:
        return "dot"


def fitting(name: str, a: Tensor, b: Tensor, axis_a: int, axis_b: int) -> Tensor:
    """Return `b`, or a node that raises if the lengths of two axes that are summed are known to differ."""
    n, m = a.type.shape[axis_a], b.type.shape[axis_b]
    if n is None or m is None or n == m:
        return b
    error = ShapeError(
        format_error(
            f"{name}: inner lengths differ: {n} (axis {axis_a} of `{a}`) and {m} (axis {axis_b} of `{b}`)",
            context=[describe(a), describe(b)],
            hint=f"give both the same length, or transpose one of them: `{b}.T`",
        )
    )
    return refused(error, b, [n if i == axis_b else length for i, length in enumerate(b.type.shape)], a)


@pullback.register(Dot)
def _pullback(node: Apply[Dot, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    x, y = map(conj, node.inputs)
    g = as_tensor_variable(cotangents[0])
    match x.type.ndim, y.type.ndim:
        case 1, 1:
            gradients = [g * y, g * x]
        case 1, 2:
            gradients = [matrix_product(g, y.T), outer(x, g)]
        case 2, 1:
            gradients = [outer(g, y), matrix_product(x.T, g)]
        case _:
            gradients = [matrix_product(g, y.T), matrix_product(x.T, g)]
    # The length of the inner dimension may be known of one factor only.
    return [patternbroadcast(slope, v.type.broadcastable) for slope, v in zip(gradients, node.inputs, strict=True)]


@pushforward.register(Dot)
def _pushforward(node: Apply[Dot, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    (x, y), (dx, dy) = node.inputs, tangents
    terms = [matrix_product(dx, y)] if dx is not None else []
    terms += [matrix_product(x, dy)] if dy is not None else []
    return [None if not terms else terms[0] if len(terms) == 1 else terms[0] + terms[1]]


@batch_rule.register(Dot)
def _batch(node: Apply[Dot, Tensor], inputs: list[Any], stacked: Sequence[bool]) -> list[Variable]:
    """One large product where a factor is the same for all entries, else a product of stacks."""
    x, y = inputs
    left, right = (v.type.ndim for v in node.inputs)
    if all(stacked):
        return [call("batched_dot", x, y)]
    if stacked[0]:
        return [call("matmul", x, y)]
    if right == 1:
        return [matrix_product(y, x if left == 1 else x.T)]
    if left == 1:
        return [call("matmul", dimshuffle(y, (0, 2, 1)), x)]
    n, rows, columns = call("lengths", y)
    wide = call("reshape", dimshuffle(y, (1, 0, 2)), [rows, n * columns])
    product = call("reshape", matrix_product(x, wide), [call("lengths", x)[0], n, columns])
    return [dimshuffle(product, (1, 0, 2))]


@shape_rule.register(Dot)
def _shape(node: Apply[Dot, Tensor], input_shapes: list[Any]) -> list[Any]:
    x, y = input_shapes
    return [tuple(x[:-1]) + tuple(y[1:])]


def product_kernel(node: Apply[Dot, Tensor], dtypes_taken: Set[str]) -> Kernel | None:
    """Return a product as a kernel where both operands have the dtype of the result, which is one of those."""
    x, y = (v.type for v in node.inputs)
    dtype = node.outputs[0].type.dtype
    if x.dtype != dtype or y.dtype != dtype or dtype not in dtypes_taken:
        return None
    match x.ndim, y.ndim:
        case 1, 1:
            return MatrixProductKernel("dot", dtype)
        case 2, 1:
            return MatrixProductKernel("gemv", dtype)
        case 1, 2:
            return MatrixProductKernel("vecmat", dtype)
        case _:
            return MatrixProductKernel("gemm", dtype)


@native_kernel.register(Dot)
def _native(node: Apply[Dot, Tensor]) -> Kernel | None:
    """BLAS, where it has the dtype."""
    return product_kernel(node, BLAS_DTYPES)


def matrix_product(x: TensorLike, y: TensorLike) -> Tensor:
    """Return the :class:`Dot` of two vectors or matrices."""
    result: Tensor = Dot()(x, y)
    return result


def outer(x: TensorLike, y: TensorLike) -> Tensor:
    """Outer product of two vectors (tensors with more dimensions are flattened).

    Parameters
    ----------
    x, y : tensor_like

    Returns
    -------
    Tensor
        A matrix.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.outer(*T.dvectors("x", "y")).ndim
    2
    """
    a, b = as_tensor_variable(x), as_tensor_variable(y)
    a, b = (v if v.type.ndim == 1 else v.flatten() for v in (a, b))
    return matrix_product(dimshuffle(a, (0, "x")), dimshuffle(b, ("x", 0)))
