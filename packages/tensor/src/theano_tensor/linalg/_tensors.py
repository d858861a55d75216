"""Inverses and equations of tensors whose dimensions are split in two groups, and least squares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from theano_graph import Apply, Variable, batch_rule, describe, format_error, pullback, shape_rule
from theano_linker_c.scalar import upcast

from .._core._convert import as_tensor_variable
from .._core._dtypes import TensorLike
from .._core._ops import batch_of_expression, run_in_a_loop
from .._core._type import Tensor, tensor_type
from .._errors import ShapeError
from ..elemwise import and_, cast, dimshuffle, eq, gt, minimum, switch
from ..gradient import grad_undefined
from ..linear import matmul
from ..shape import flatten, lengths_of, reshape
from ._equations._inverse import matrix_inverse, pinv
from ._equations._solve import solve
from ._factors._orthogonal import SVD
from ._matrices._operands import MatrixOp, as_matrices, linear_error, present, pulled_through, total_of


class TensorInv(MatrixOp):
    """Inverse of a tensor with respect to ``tensordot(a, b, ind)``; see :func:`tensorinv`.

    Parameters
    ----------
    ind : int
        How many of the first dimensions make up the rows.
    """

    __props__ = ("ind",)

    def __init__(self, ind: int = 2) -> None:
        if int(ind) <= 0:
            raise ValueError(format_error(f"tensorinv: ind must be positive, not {ind}"))
        self.ind = int(ind)

    def make_node(self, a: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a tensor with more than `ind` dimensions."""
        x = as_matrices("tensorinv", a, least=1)
        if x.type.ndim <= self.ind:
            raise ShapeError(
                format_error(f"tensorinv: ind={self.ind} leaves no dimensions for columns", context=[describe(x)])
            )
        shape = x.type.shape
        return Apply(self, [x], [tensor_type(x.type.dtype, shape[self.ind :] + shape[: self.ind]).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Use NumPy; LinAlgError for a tensor that is singular or not square."""
        try:
            output_storage[0][0] = np.linalg.tensorinv(inputs[0], ind=self.ind)
        except np.linalg.LinAlgError as error:
            raise linear_error(f"tensorinv: {error}", node, "rows and columns must be as many") from None

    def expression(self, a: Tensor) -> Tensor:
        """Return the same as the inverse of a matrix, of which derivatives are known."""
        lengths = lengths_of(a)
        rows, columns = _flat_lengths(lengths, self.ind)
        inverse = matrix_inverse(reshape(a, [rows, columns]))
        return reshape(inverse, [*lengths[self.ind :], *lengths[: self.ind]])


def _flat_lengths(lengths: Sequence[Any], ind: int) -> tuple[Any, Any]:
    rows, columns = lengths[0], lengths[ind]
    for n in lengths[1:ind]:
        rows = rows * n
    for n in lengths[ind + 1 :]:
        columns = columns * n
    return rows, columns


class TensorSolve(MatrixOp):
    """Solution of ``tensordot(a, x, x.ndim) == b``; see :func:`tensorsolve`.

    Parameters
    ----------
    axes : sequence of int, optional
        Dimensions of a that are moved to the end first.
    """

    __props__ = ("axes",)

    def __init__(self, axes: Sequence[int] | None = None) -> None:
        self.axes = None if axes is None else tuple(int(axis) for axis in axes)

    def make_node(self, a: TensorLike, b: TensorLike) -> Apply[Self, Tensor]:
        """Apply to two tensors, the first with more dimensions."""
        x, y = as_matrices("tensorsolve", a, least=1), as_matrices("tensorsolve", b, least=0)
        if x.type.ndim <= y.type.ndim:
            raise ShapeError(
                format_error("tensorsolve: a needs more dimensions than b", context=[describe(x), describe(y)])
            )
        dtype = upcast(x.type.dtype, y.type.dtype)
        x, y = cast(x, dtype), cast(y, dtype)
        order = self.order(x.type.ndim)
        shape = tuple(x.type.shape[i] for i in order[y.type.ndim :])
        return Apply(self, [x, y], [tensor_type(dtype, shape).make_variable()])

    def order(self, ndim: int) -> list[int]:
        """Return the dimensions of a in the order in which the equation takes them."""
        last = [] if self.axes is None else [axis % ndim for axis in self.axes]
        return [axis for axis in range(ndim) if axis not in last] + last

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Use NumPy; LinAlgError for a tensor that is singular or not square."""
        a, b = inputs
        try:
            output_storage[0][0] = np.asarray(np.linalg.tensorsolve(a, b, axes=self.axes))
        except np.linalg.LinAlgError as error:
            raise linear_error(f"tensorsolve: {error}", node, "as many unknowns as equations are needed") from None

    def expression(self, a: Tensor, b: Tensor) -> Tensor:
        """Return the same as a system with one matrix, of which derivatives are known."""
        moved = dimshuffle(a, self.order(a.type.ndim))
        lengths = lengths_of(moved)[b.type.ndim :]
        unknowns = lengths[0]
        for n in lengths[1:]:
            unknowns = unknowns * n
        return reshape(solve(reshape(moved, [unknowns, unknowns]), flatten(b)), lengths)


@batch_rule.register(TensorInv, TensorSolve)
def _batch(node: Apply[Any, Tensor], inputs: list[Any], stacked: Sequence[bool]) -> Sequence[Any]:
    return batch_of_expression(node, inputs, stacked, [node.op.expression(*node.inputs)])


class Lstsq(MatrixOp):
    """Least squares: solution, residuals, rank and singular values; see :func:`lstsq`."""

    __props__ = ()

    def make_node(self, a: TensorLike, b: TensorLike, rcond: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a matrix, a vector or matrix, and a number."""
        x, y = as_matrices("lstsq", a), as_matrices("lstsq", b, least=1)
        if x.type.ndim != 2 or y.type.ndim > 2:
            raise ShapeError(
                format_error("lstsq takes a matrix, and a vector or a matrix", context=[describe(x), describe(y)])
            )
        dtype = upcast(x.type.dtype, y.type.dtype)
        x, y = cast(x, dtype), cast(y, dtype)
        real = {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
        types = [
            tensor_type(dtype, (x.type.shape[1], *y.type.shape[1:])),
            tensor_type(real, (None,)),
            tensor_type("int64", ()),
            tensor_type(real, (None,)),
        ]
        return Apply(self, [x, y, as_tensor_variable(rcond)], [t.make_variable() for t in types])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Use NumPy; LinAlgError where it does not converge."""
        a, b, rcond = inputs
        if a.ndim != 2 or b.ndim > 2 or rcond.ndim:
            raise linear_error(
                f"lstsq: operands of {a.ndim}, {b.ndim} and {rcond.ndim} dimensions",
                node,
                "pass a matrix, a vector or a matrix, and a number",
            )
        try:
            results = np.linalg.lstsq(a, b, rcond=float(rcond))
        except np.linalg.LinAlgError as error:
            raise linear_error(f"lstsq: {error}", node, "both need the same number of rows") from None
        for storage, value, output in zip(output_storage, results, node.outputs, strict=True):
            storage[0] = np.asarray(value, dtype=output.type.dtype)

    def connection_pattern(self, node: Apply[Self, Tensor]) -> list[list[bool]]:
        """The rank is a step function; the number is a threshold."""
        return [[True, True, False, True], [True, True, False, False], [False] * 4]


batch_rule.register(Lstsq)(run_in_a_loop)


@pullback.register(TensorInv, TensorSolve)
def _pullback(node: Apply[TensorInv | TensorSolve, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    expression = node.op.expression(*map(as_tensor_variable, node.inputs))
    return pulled_through(expression, node.inputs, cotangents[0])


@pullback.register(Lstsq)
def _pullback_lstsq(node: Apply[Lstsq, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    """The solution is ``pinv(a) @ b``, as long as the rank of a stays the same."""
    a, b = (as_tensor_variable(v) for v in node.inputs[:2])
    gx, residuals, gs = present(cotangents[0]), present(cotangents[1]), present(cotangents[3])
    if residuals is not None:
        why = "they are empty for some matrices; write them as ((dot(a, x) - b) ** 2).sum(0)"
        return [grad_undefined(node.op, i, v, why) for i, v in enumerate((a, b))] + [None]
    by_a: list[Any] = [None, None]
    if gx is not None:
        by_a = list(pulled_through(matmul(pinv(a), b), [a, b], gx))
    if gs is not None:
        s = SVD(full_matrices=False, compute_uv=False)(a)
        by_a[0] = total_of([by_a[0], pulled_through(s, [a], gs)[0]])  # type: ignore[list-item]  # tensors
    return [*by_a, None]


@shape_rule.register(TensorInv)
def _shape_inv(node: Apply[TensorInv, Tensor], input_shapes: list[Any]) -> list[Any]:
    (shape,), ind = input_shapes, node.op.ind
    return [tuple(shape[ind:]) + tuple(shape[:ind])]


@shape_rule.register(TensorSolve)
def _shape_solve(node: Apply[TensorSolve, Tensor], input_shapes: list[Any]) -> list[Any]:
    a, b = input_shapes
    return [tuple(a[i] for i in node.op.order(len(a))[len(b) :])]


@shape_rule.register(Lstsq)
def _shape_lstsq(node: Apply[Lstsq, Tensor], input_shapes: list[Any]) -> list[Any]:
    (rows, columns), b, _ = input_shapes
    # There are residuals only of equations that are too many, and determine the solution.
    complete = and_(eq(node.outputs[2], columns), gt(rows, columns))
    residuals = switch(complete, b[1] if len(b) == 2 else np.int64(1), np.int64(0))
    return [(columns, *b[1:]), (residuals,), (), (cast(minimum(rows, columns), "int64"),)]


def tensorinv(a: TensorLike, ind: int = 2) -> Tensor:
    """Return the inverse of a tensor with respect to ``tensordot(a, b, ind)``.

    Parameters
    ----------
    a : tensor_like
        The product of its first `ind` lengths must be that of the others.
    ind : int
        Positive.

    Returns
    -------
    Tensor
        Of shape ``a.shape[ind:] + a.shape[:ind]``.

    Raises
    ------
    numpy.linalg.LinAlgError
        When it runs, for a tensor that is singular or not square in this sense.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nlinalg.tensorinv(T.eye(6).reshape((6, 2, 3)), ind=1).shape.eval()
    array([2, 3, 6])
    """
    result: Tensor = TensorInv(ind)(a)
    return result


def tensorsolve(a: TensorLike, b: TensorLike, axes: Sequence[int] | None = None) -> Tensor:
    """Return the solution x of ``tensordot(a, x, x.ndim) == b``.

    Parameters
    ----------
    a : tensor_like, shape ``b.shape + Q``
        The product of the lengths in Q must be that of the shape of `b`.
    b : tensor_like
    axes : sequence of int, optional
        Dimensions of `a` that are moved to the end first.

    Returns
    -------
    Tensor
        Of shape Q.

    Raises
    ------
    numpy.linalg.LinAlgError
        When it runs, for a tensor that is singular or not square in this sense.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nlinalg.tensorsolve(T.eye(6).reshape((2, 3, 6)), T.ones((2, 3))).eval()
    array([1., 1., 1., 1., 1., 1.])
    """
    result: Tensor = TensorSolve(axes)(a, b)
    return result


def lstsq(a: TensorLike, b: TensorLike, rcond: TensorLike = -1.0) -> list[Tensor]:
    """Return the least-squares solution of ``a @ x == b``, residuals, rank and singular values of `a`.

    Parameters
    ----------
    a : tensor_like, shape (M, N)
    b : tensor_like, shape (M,) or (M, K)
    rcond : float
        Singular values smaller than this times the largest count as zero; -1: those within rounding errors.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.tensor import nlinalg
    >>> nlinalg.lstsq(T.constant([[1.0], [1.0]]), T.constant([1.0, 3.0]))[0].eval()
    array([2.])
    """
    results: list[Tensor] = Lstsq()(a, b, rcond)
    return results
