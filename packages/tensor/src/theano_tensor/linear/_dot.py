"""Products of vectors and matrices, of stacks of matrices, and of tensors along any axes."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any, Self

import numpy as np

from theano_graph import Apply, Variable, batch_rule, describe, format_error, pullback, pushforward, shape_rule
from theano_linker_c.kernels import Kernel, MatrixProductKernel, native_kernel
from theano_linker_c.scalar import upcast

from .._core._convert import as_tensor_variable
from .._core._dtypes import AxisLike, TensorLike
from .._core._ops import TensorOp, refused
from .._core._type import Tensor, tensor_type
from .._errors import RankError, ShapeError
from .._protocols._methods import call, operation
from ..elemwise import conj, dimshuffle, mul
from ..shape import lengths_of, patternbroadcast, reshape, specify_shape

# ---- Products of vectors and matrices

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
def _pullback_dot(node: Apply[Dot, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
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
def _pushforward_dot(node: Apply[Dot, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    (x, y), (dx, dy) = node.inputs, tangents
    terms = [matrix_product(dx, y)] if dx is not None else []
    terms += [matrix_product(x, dy)] if dy is not None else []
    return [None if not terms else terms[0] if len(terms) == 1 else terms[0] + terms[1]]


@batch_rule.register(Dot)
def _batch_dot(node: Apply[Dot, Tensor], inputs: list[Any], stacked: Sequence[bool]) -> list[Variable]:
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
def _shape_dot(node: Apply[Dot, Tensor], input_shapes: list[Any]) -> list[Any]:
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
def _native_dot(node: Apply[Dot, Tensor]) -> Kernel | None:
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


# ---- Matrix products of each pair in two stacks of matrices


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
def _native_batched(node: Apply[BatchedDot, Tensor]) -> Kernel | None:
    """BLAS for each pair, where both operands have the dtype of the result and BLAS has that dtype."""
    dtypes = {v.type.dtype for v in (*node.inputs, *node.outputs)}
    return MatrixProductKernel("batched", dtypes.pop()) if dtypes in ({"float32"}, {"float64"}) else None


def _transposed(x: TensorLike) -> Tensor:
    return dimshuffle(x, (0, 2, 1))


@pullback.register(BatchedDot)
def _pullback_batched(node: Apply[BatchedDot, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    (x, y), g = map(conj, node.inputs), cotangents[0]
    return [stack_product(g, _transposed(y)), stack_product(_transposed(x), g)]


@pushforward.register(BatchedDot)
def _pushforward_batched(node: Apply[BatchedDot, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    (x, y), (dx, dy) = node.inputs, tangents
    terms = [stack_product(dx, y)] if dx is not None else []
    terms += [stack_product(x, dy)] if dy is not None else []
    return [None if not terms else terms[0] if len(terms) == 1 else terms[0] + terms[1]]


@batch_rule.register(BatchedDot)
def _batch_batched(node: Apply[BatchedDot, Tensor], inputs: list[Any], stacked: Sequence[bool]) -> list[Variable]:
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
def _shape_batched(node: Apply[BatchedDot, Tensor], input_shapes: list[Any]) -> list[Any]:
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


# ---- Products of tensors of any number of dimensions, through matrix products


@operation("dot")
def dot(a: TensorLike, b: TensorLike) -> Tensor:
    """Dot product, with the rules of ``numpy.dot``.

    Inner product of vectors, matrix product, and for more dimensions the sum over the last axis of `a` and the
    second-to-last of `b`. With a scalar it multiplies.

    Parameters
    ----------
    a, b : tensor_like
        Of shapes (..., k) and (..., k, n), or (k,).

    Returns
    -------
    Tensor

    Raises
    ------
    ShapeError
        If the inner lengths are known and differ.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.dot(T.dmatrix("x"), T.dvector("w")).type
    TensorType(float64, vector)
    """
    for operand, name, other in ((a, "__dot__", b), (b, "__rdot__", a)):
        if getattr(operand, "__array_ufunc__", name) is None and hasattr(operand, name):
            # A type of matrices with products of its own, such as sparse ones.
            result: Tensor = getattr(operand, name)(other)
            return result
    x, y = as_tensor_variable(a), as_tensor_variable(b)
    if x.type.ndim == 0 or y.type.ndim == 0:
        return mul(x, y)
    if x.type.ndim > 2 or y.type.ndim > 2:
        return tensordot(x, y, [[x.type.ndim - 1], [max(y.type.ndim - 2, 0)]])
    return matrix_product(x, y)


def _pairs(a: Tensor, b: Tensor, axes: AxisLike) -> tuple[list[int], list[int]]:
    if isinstance(axes, np.ndarray | np.integer):
        axes = axes.tolist()
    if isinstance(axes, int):
        if not 0 <= axes <= min(a.type.ndim, b.type.ndim):
            raise ShapeError(
                format_error(
                    f"tensordot: {axes} axes cannot be summed",
                    context=[describe(a), describe(b)],
                    hint="use at most the smaller ndim",
                )
            )
        return list(range(a.type.ndim - axes, a.type.ndim)), list(range(axes))
    if not isinstance(axes, Sequence) or len(axes) != 2:
        raise ShapeError(format_error(f"tensordot: axes must be a number or two lists of axes, not {axes!r}"))
    left, right = ([int(entry)] if isinstance(entry, int | np.integer) else [int(n) for n in entry] for entry in axes)
    if len(left) != len(right):
        raise ShapeError(
            format_error(f"tensordot: {len(left)} axes of the first cannot be summed with {len(right)} of the second")
        )
    for v, chosen in ((a, left), (b, right)):
        for axis in chosen:
            if not -v.type.ndim <= axis < v.type.ndim:
                raise ShapeError(format_error(f"tensordot: axis {axis} is out of range", context=[describe(v)]))
    return [axis % a.type.ndim for axis in left], [axis % b.type.ndim for axis in right]


def _product(lengths: Sequence[Any]) -> Any:
    total: Any = 1
    for n in lengths:
        total = total * n
    return total


def _checked_lengths(name: str, x: Tensor, y: Tensor, left: Sequence[int], right: Sequence[int]) -> Tensor:
    """Return `y` with a check of the lengths that are summed: joined lengths could agree where these do not."""
    if len(set(left)) != len(left) or len(set(right)) != len(right):
        raise ShapeError(format_error(f"{name}: an axis is given twice", context=[describe(x), describe(y)]))
    for i, j in zip(left, right, strict=True):
        y = fitting(name, x, y, i, j)
    unknown = {j: i for i, j in zip(left, right, strict=True) if None in (x.type.shape[i], y.type.shape[j])}
    if len(left) < 2 or not unknown:
        return y
    sizes = lengths_of(x)
    return specify_shape(y, [sizes[unknown[j]] if j in unknown else None for j in range(y.type.ndim)])


def tensordot(a: TensorLike, b: TensorLike, axes: AxisLike = 2) -> Tensor:
    """Sum of products over chosen axes.

    Parameters
    ----------
    a, b : tensor_like
    axes : int, or pair of sequences of int
        How many of the last axes of `a` are summed with as many first axes of `b`; or which axes of each.

    Returns
    -------
    Tensor
        Its dimensions are those of `a` that are left, then those of `b`.

    Raises
    ------
    ShapeError
        If the axes do not exist, or lengths are known and differ.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.tensordot(T.dtensor3("a"), T.dmatrix("b"), axes=[[1], [0]]).ndim
    3
    """
    x, y = as_tensor_variable(a), as_tensor_variable(b)
    left, right = _pairs(x, y, axes)
    y = _checked_lengths("tensordot", x, y, left, right)
    keep_x = [i for i in range(x.type.ndim) if i not in left]
    keep_y = [i for i in range(y.type.ndim) if i not in right]
    sizes_x, sizes_y = lengths_of(x), lengths_of(y)
    rows, columns = [sizes_x[i] for i in keep_x], [sizes_y[i] for i in keep_y]
    matrix_x = reshape(dimshuffle(x, keep_x + left), [_product(rows), _product([sizes_x[i] for i in left])])
    matrix_y = reshape(dimshuffle(y, right + keep_y), [_product([sizes_y[i] for i in right]), _product(columns)])
    return reshape(matrix_product(matrix_x, matrix_y), [*rows, *columns])


@operation("batched_tensordot")
def batched_tensordot(x: TensorLike, y: TensorLike, axes: AxisLike = 2) -> Tensor:
    """:func:`tensordot` of each pair along the first dimension of `x` and `y`.

    Parameters
    ----------
    x, y : tensor_like
    axes : int, or pair of sequences of int
        How many of the last axes of `x` are summed with as many axes of `y` after the first; or which axes of each,
        counted with the first, which cannot be among them.

    Returns
    -------
    Tensor
        Its dimensions are the first, those of `x` that are left, then those of `y`.

    Raises
    ------
    ShapeError
        If the axes do not exist, or lengths are known and differ.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.batched_tensordot(T.ones((5, 2, 3)), T.ones((5, 3)), [[2], [1]]).shape.eval()
    array([5, 2])
    """
    a, b = as_tensor_variable(x), as_tensor_variable(y)
    if not a.type.ndim or not b.type.ndim:
        raise ShapeError(format_error("batched_tensordot: scalars have no batch", context=[describe(a), describe(b)]))
    if isinstance(axes, int):
        if not 0 <= axes < min(a.type.ndim, b.type.ndim):
            raise ShapeError(
                format_error(f"batched_tensordot: {axes} axes cannot be summed", context=[describe(a), describe(b)])
            )
        axes = [list(range(a.type.ndim - axes, a.type.ndim)), list(range(1, axes + 1))]
    left, right = _pairs(a, b, axes)
    if 0 in left or 0 in right:
        raise ShapeError(
            format_error(
                "batched_tensordot: the batch cannot be summed", context=[describe(a), describe(b)], hint="T.tensordot"
            )
        )
    b = _checked_lengths("batched_tensordot", a, fitting("batched_tensordot", a, b, 0, 0), left, right)
    keep_a = [i for i in range(1, a.type.ndim) if i not in left]
    keep_b = [i for i in range(1, b.type.ndim) if i not in right]
    sizes_a, sizes_b = lengths_of(a), lengths_of(b)
    rows, columns = [sizes_a[i] for i in keep_a], [sizes_b[i] for i in keep_b]
    summed = _product([sizes_a[i] for i in left])
    stack_a = reshape(dimshuffle(a, [0, *keep_a, *left]), [sizes_a[0], _product(rows), summed])
    stack_b = reshape(dimshuffle(b, [0, *right, *keep_b]), [sizes_b[0], summed, _product(columns)])
    return reshape(stack_product(stack_a, stack_b), [sizes_a[0], *rows, *columns])
