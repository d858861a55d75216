"""Matrix products of each pair in two stacks of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from theano_graph import Apply, Variable, batch_rule, describe, format_error, pullback, pushforward, shape_rule
from theano_linker_c.kernels import Kernel, MatrixProductKernel, native_kernel
from theano_linker_c.scalar import upcast

from .._core._convert import as_tensor_variable
from .._core._dtypes import TensorLike
from .._core._ops import TensorOp
from .._core._type import Tensor, tensor_type
from .._errors import ShapeError
from .._protocols._methods import call, operation
from ..elemwise import conj, dimshuffle
from ._dot import fitting


class BatchedDot(TensorOp):
    """Product of each pair of matrices: of shapes (b, m, k) and (b, k, n), the result has shape (b, m, n)."""

    __props__ = ()

    def make_node(self, x: TensorLike, y: TensorLike) -> Apply[Self, Tensor]:
        """Apply to two stacks; ShapeError if they have other dimensions, or lengths are known and differ."""
        a, b = as_tensor_variable(x), as_tensor_variable(y)
        if a.type.ndim != 3 or b.type.ndim != 3:
            raise ShapeError(
                format_error(
                    "BatchedDot takes two stacks of matrices (3 dimensions)",
                    context=[describe(a), describe(b)],
                    hint="use T.batched_dot, T.matmul or T.tensordot",
                )
            )
        b = fitting("batched_dot", a, fitting("batched_dot", a, b, 0, 0), 2, 1)
        stack = a.type.shape[0] if a.type.shape[0] is not None else b.type.shape[0]
        shape = (stack, a.type.shape[1], b.type.shape[2])
        return Apply(self, [a, b], [tensor_type(upcast(a.type.dtype, b.type.dtype), shape).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Multiply with NumPy; ValueError if lengths differ."""
        x, y = inputs
        if x.shape[0] != y.shape[0] or x.shape[2] != y.shape[1]:
            raise ValueError(
                format_error(
                    f"batched_dot: shapes {x.shape} and {y.shape} do not fit",
                    context=[describe(v) for v in node.inputs],
                    hint="the first dimensions must be equal, and the last of x and the second of y",
                )
            )
        output_storage[0][0] = np.asarray(np.matmul(x, y), dtype=node.outputs[0].type.dtype)


@native_kernel.register(BatchedDot)
def _native(node: Apply[BatchedDot, Tensor]) -> Kernel | None:
    """BLAS for each pair, where both operands have the dtype of the result and BLAS has that dtype."""
    dtypes = {v.type.dtype for v in (*node.inputs, *node.outputs)}
    return MatrixProductKernel("batched", dtypes.pop()) if dtypes in ({"float32"}, {"float64"}) else None


def _transposed(x: TensorLike) -> Tensor:
    return dimshuffle(x, (0, 2, 1))


@pullback.register(BatchedDot)
def _pullback(node: Apply[BatchedDot, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    (x, y), g = map(conj, node.inputs), cotangents[0]
    return [stack_product(g, _transposed(y)), stack_product(_transposed(x), g)]


@pushforward.register(BatchedDot)
def _pushforward(node: Apply[BatchedDot, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    (x, y), (dx, dy) = node.inputs, tangents
    terms = [stack_product(dx, y)] if dx is not None else []
    terms += [stack_product(x, dy)] if dy is not None else []
    return [None if not terms else terms[0] if len(terms) == 1 else terms[0] + terms[1]]


@batch_rule.register(BatchedDot)
def _batch(node: Apply[BatchedDot, Tensor], inputs: list[Any], stacked: Sequence[bool]) -> list[Variable]:
    """Products of all pairs; where a factor is the same for all entries, those with one matrix are one product."""
    x, y = inputs
    if all(stacked):
        n, pairs, rows, inner = call("lengths", x)
        columns = call("lengths", y)[3]
        # Joined lengths could agree where the lengths themselves do not.
        y = call("specify_shape", y, (n, pairs, None, None))
        flat = stack_product(
            call("reshape", x, [n * pairs, rows, inner]),
            call("reshape", y, [n * pairs, call("lengths", y)[2], columns]),
        )
        return [call("reshape", flat, [n, pairs, rows, columns])]
    if stacked[0]:
        n, pairs, rows, inner = call("lengths", x)
        tall = call("reshape", dimshuffle(x, (1, 0, 2, 3)), [pairs, n * rows, inner])
        product = call("reshape", stack_product(tall, y), [pairs, n, rows, call("lengths", y)[2]])
        return [dimshuffle(product, (1, 0, 2, 3))]
    n, pairs, inner, columns = call("lengths", y)
    wide = call("reshape", dimshuffle(y, (1, 2, 0, 3)), [pairs, inner, n * columns])
    product = call("reshape", stack_product(x, wide), [pairs, call("lengths", x)[1], n, columns])
    return [dimshuffle(product, (2, 0, 1, 3))]


@shape_rule.register(BatchedDot)
def _shape(node: Apply[BatchedDot, Tensor], input_shapes: list[Any]) -> list[Any]:
    x, y = input_shapes
    return [(x[0], x[1], y[2])]


def stack_product(x: TensorLike, y: TensorLike) -> Tensor:
    """Return the :class:`BatchedDot` of two stacks of matrices."""
    result: Tensor = BatchedDot()(x, y)
    return result


@operation("batched_dot")
def batched_dot(a: TensorLike, b: TensorLike) -> Tensor:
    """Product of each pair of matrices (or vectors) along the first dimension of `a` and `b`.

    Parameters
    ----------
    a, b : tensor_like
        The first dimension is the batch.

    Returns
    -------
    Tensor
        ``result[i] == dot(a[i], b[i])``.

    Raises
    ------
    ShapeError
        For tensors without dimensions, or lengths that are known and differ.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.batched_dot(T.dtensor3("a"), T.dtensor3("b")).ndim
    3
    """
    x, y = as_tensor_variable(a), as_tensor_variable(b)
    if not (x.type.ndim and y.type.ndim):
        raise ShapeError(
            format_error(
                "batched_dot takes tensors with dimensions", context=[describe(x), describe(y)], hint="use a product"
            )
        )
    if max(x.type.ndim, y.type.ndim) > 3 and min(x.type.ndim, y.type.ndim) > 1:
        axes = [[x.type.ndim - 1], [max(1, y.type.ndim - 2)]]
        product: Tensor = call("batched_tensordot", x, y, axes)
        return product
    y = fitting("batched_dot", x, y, 0, 0)
    if x.type.ndim == 1:
        return dimshuffle(x, [0] + ["x"] * (y.type.ndim - 1)) * y
    if y.type.ndim == 1:
        return x * dimshuffle(y, [0] + ["x"] * (x.type.ndim - 1))
    left = x if x.type.ndim == 3 else dimshuffle(x, (0, "x", 1))
    right = y if y.type.ndim == 3 else dimshuffle(y, (0, 1, "x"))
    keep = [0] + [1] * (x.type.ndim == 3) + [2] * (y.type.ndim == 3)
    return dimshuffle(stack_product(left, right), keep)
