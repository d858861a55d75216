"""Ops of Theano 1.0 around softmax and its losses, as expressions of the functions that compute the same here."""

from __future__ import annotations

from typing import Any

import numpy as np

from theano_graph import describe, format_error
from theano_tensor import (
    CheckAndRaise,
    ShapeError,
    Tensor,
    all as all_over,
    arange,
    as_tensor_variable,
    cast,
    concatenate,
    dimshuffle,
    inc_subtensor,
    shape_padleft,
    sum as sum_over,
    zeros_like,
)
from theano_tensor.creation import full
from theano_tensor.nnet import (
    LogSoftmax,
    Softmax,
    crossentropy_categorical_1hot as loss_of_classes,
    crossentropy_softmax_argmax_1hot_with_bias as losses_of_scores,
    softmax_with_bias as softmax_of_sum,
)
from theano_tensor.shape import shape_i

from .._expression_ops import ExpressionOp, is_float

_NOT_NEGATIVE = CheckAndRaise(ValueError, "y_i value out of bounds: class numbers are not negative")


def _takes(op: ExpressionOp, wanted: str, *checks: tuple[Tensor, bool]) -> None:
    """Raise a ShapeError unless all operands fit."""
    if not all(fits for _, fits in checks):
        raise ShapeError(
            format_error(
                f"{type(op).__name__} takes {wanted}",
                context=[describe(v) for v, _ in checks],
                hint="reshape or cast the operands that do not fit",
            )
        )


def _is_matrix(x: Tensor) -> bool:
    return x.type.ndim == 2 and is_float(x)


def _are_classes(y: Tensor) -> bool:
    return y.type.ndim == 1 and y.type.dtype.lstrip("u").startswith("int")


def _checked(y: Tensor) -> Tensor:
    """Return class numbers, which are looked at when the function runs."""
    checked: Tensor = _NOT_NEGATIVE(y, all_over(y >= 0))
    return y if y.type.dtype.startswith("u") else checked


class SoftmaxWithBias(ExpressionOp):
    """Softmax of the rows of a matrix to each of which a vector has been added.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nnet.SoftmaxWithBias()([[1.0, 2.0]], [1.0, 0.0]).eval()
    array([[0.5, 0.5]])
    """

    nin, nout = 2, 1

    def operands(self, x: Any, b: Any) -> list[Tensor]:
        """Take a matrix and a vector of floats."""
        scores, bias = as_tensor_variable(x), as_tensor_variable(b)
        fits = bias.type.ndim == 1 and is_float(bias)
        _takes(self, "a matrix of floats and a vector of floats", (scores, _is_matrix(scores)), (bias, fits))
        return [scores, bias]

    def expression(self, x: Any, b: Any) -> list[Tensor]:
        """Return the softmax, of the type of `x`."""
        return [cast(softmax_of_sum(x, b), x.type.dtype)]


class SoftmaxGrad(ExpressionOp):
    """The pullback of a softmax with the values `sm`, applied to a cotangent `dy`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nnet.SoftmaxGrad()([[1.0, 0.0]], [[0.5, 0.5]]).eval()
    array([[ 0.25, -0.25]])
    """

    nin, nout = 2, 1

    def operands(self, dy: Any, sm: Any) -> list[Tensor]:
        """Take two matrices of floats; vectors count as matrices of one row."""
        variables = [v if v.type.ndim != 1 else shape_padleft(v) for v in map(as_tensor_variable, (dy, sm))]
        _takes(self, "two matrices of floats", *((v, _is_matrix(v)) for v in variables))
        return variables

    def expression(self, dy: Any, sm: Any) -> list[Tensor]:
        """Return ``(dy - sum(dy * sm)) * sm``."""
        products = dy * sm
        return [cast(products - sum_over(products, axis=1, keepdims=True) * sm, sm.type.dtype)]


class CrossentropySoftmaxArgmax1HotWithBias(ExpressionOp):
    """Loss, probabilities and the best class of each row of scores, of which one class is right.

    Class numbers must not be negative: ValueError when the function runs.

    Parameters
    ----------
    **kwargs
        Ignored.

    Examples
    --------
    >>> import theano.tensor as T
    >>> losses, _, best = T.nnet.CrossentropySoftmaxArgmax1HotWithBias()([[0.0, 1000.0]], [0.0, 0.0], [0])
    >>> losses.eval(), best.eval()
    (array([1000.]), array([1]))
    """

    nin, nout = 3, 3

    def __init__(self, **kwargs: Any) -> None:
        super().__init__()

    def operands(self, x: Any, b: Any, y_idx: Any) -> list[Tensor]:
        """Take a matrix and a vector of floats, and a vector of integers."""
        scores, bias, y = map(as_tensor_variable, (x, b, y_idx))
        _takes(
            self,
            "a matrix of floats, a vector, and a vector of integers",
            (scores, _is_matrix(scores)),
            (bias, bias.type.ndim == 1),
            (y, _are_classes(y)),
        )
        return [scores, bias, y]

    def expression(self, x: Any, b: Any, y_idx: Any) -> list[Tensor]:
        """Return the losses, the softmax, and the positions of the largest scores, of the dtype of `y_idx`."""
        loss, probabilities, best = losses_of_scores(x, b, _checked(y_idx))
        dtype = x.type.dtype
        return [cast(loss, dtype), cast(probabilities, dtype), cast(best, y_idx.type.dtype)]


class CrossentropySoftmax1HotWithBiasDx(ExpressionOp):
    """Gradient of the loss of a softmax by its scores: ``dy * (sm - 1)`` at the right class, ``dy * sm`` elsewhere.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nnet.CrossentropySoftmax1HotWithBiasDx()([1.0], [[0.25, 0.75]], [0]).eval()
    array([[-0.75,  0.75]])
    """

    nin, nout = 3, 1

    def operands(self, dy: Any, sm: Any, y_idx: Any, **kwargs: Any) -> list[Tensor]:
        """Take a number or one for each row, a matrix of floats, and a vector of integers."""
        weights, probabilities, y = map(as_tensor_variable, (dy, sm, y_idx))
        _takes(
            self,
            "a number or vector of floats, a matrix of floats, and a vector of integers",
            (weights, weights.type.ndim < 2 and is_float(weights)),
            (probabilities, _is_matrix(probabilities)),
            (y, _are_classes(y)),
        )
        return [weights, probabilities, y]

    def expression(self, dy: Any, sm: Any, y_idx: Any) -> list[Tensor]:
        """Return the gradient, of the type of `sm`."""
        rows, classes = arange(shape_i(sm, 0)), _checked(y_idx)
        weights = dy if dy.type.ndim == 0 else dimshuffle(dy, [0, "x"])
        # A vector with one number serves all rows.
        less = dy if dy.type.broadcastable in ((), (True,)) else dy[rows]
        gradient = cast(weights * sm, sm.type.dtype)
        return [inc_subtensor(gradient[rows, classes], cast(-less, sm.type.dtype))]


class CrossentropyCategorical1Hot(ExpressionOp):
    """Negative logarithm of the probability of one class for each row.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nnet.CrossentropyCategorical1Hot()([[0.5, 0.5], [0.0, 1.0]], [0, 1]).eval()
    array([ 0.69314718, -0.        ])
    """

    def operands(self, coding_dist: Any, true_one_of_n: Any) -> list[Tensor]:
        """Take a matrix, and a vector of integers; TypeError for others."""
        rows, y = as_tensor_variable(coding_dist), as_tensor_variable(true_one_of_n)
        if rows.type.ndim != 2 or not _are_classes(y):
            raise TypeError(
                format_error(
                    f"{type(self).__name__} takes a matrix, and a vector of integers",
                    context=[describe(rows), describe(y)],
                    hint="reshape or cast the operands that do not fit",
                )
            )
        return [rows, y]

    def expression(self, coding_dist: Any, true_one_of_n: Any) -> list[Tensor]:
        """Return the losses."""
        return [loss_of_classes(coding_dist, true_one_of_n)]


class CrossentropyCategorical1HotGrad(ExpressionOp):
    """Gradient of :class:`CrossentropyCategorical1Hot`: ``-g_y / p`` at the right class of each row, zero elsewhere.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nnet.CrossentropyCategorical1HotGrad()([1.0], [[0.25, 0.75]], [0]).eval()
    array([[-4.,  0.]])
    """

    def operands(self, g_y: Any, coding_dist: Any, true_one_of_n: Any) -> list[Tensor]:
        """Take a cotangent, a matrix and a vector of integers."""
        return [as_tensor_variable(v) for v in (g_y, coding_dist, true_one_of_n)]

    def expression(self, g_y: Any, coding_dist: Any, true_one_of_n: Any) -> list[Tensor]:
        """Return the gradient, of the type of `coding_dist`."""
        index = arange(shape_i(coding_dist, 0)), true_one_of_n
        shares = cast(-g_y / coding_dist[index], coding_dist.type.dtype)
        return [inc_subtensor(zeros_like(coding_dist)[index], shares)]


class Prepend_scalar_to_each_row(ExpressionOp):
    """A matrix with a number in front of each row.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nnet.Prepend_scalar_to_each_row()(1.0, [[2.0], [3.0]]).eval()
    array([[1., 2.],
           [1., 3.]])
    """

    def operands(self, val: Any, mat: Any) -> list[Tensor]:
        """Take a number and a matrix; TypeError for others."""
        number, matrix = as_tensor_variable(val), as_tensor_variable(mat)
        if matrix.type.ndim != 2 or number.type.ndim:
            raise TypeError(
                format_error(
                    f"{type(self).__name__} takes a number and a matrix",
                    context=[describe(number), describe(matrix)],
                    hint="reshape them",
                )
            )
        return [number, matrix]

    def expression(self, val: Any, mat: Any) -> list[Tensor]:
        """Return the matrix."""
        column = full((shape_i(mat, 0), 1), val, dtype=mat.type.dtype)
        return [concatenate([column, mat], axis=1)]


class Prepend_scalar_constant_to_each_row(ExpressionOp):
    """A matrix with a certain number in front of each row.

    Parameters
    ----------
    val : number

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nnet.Prepend_scalar_constant_to_each_row(1.0)([[2.0], [3.0]]).eval()
    array([[1., 2.],
           [1., 3.]])
    """

    __props__ = ("val",)

    def __init__(self, val: Any = 0) -> None:
        self.val = np.asarray(getattr(val, "data", val)).item()

    def __str__(self) -> str:
        return f"{type(self).__name__}{{{self.val}}}"

    def operands(self, mat: Any) -> list[Tensor]:
        """Take a matrix; TypeError for others."""
        return Prepend_scalar_to_each_row().operands(self.val, mat)[1:]

    def expression(self, mat: Any) -> list[Tensor]:
        """Return the matrix."""
        return Prepend_scalar_to_each_row().expression(as_tensor_variable(self.val), mat)


softmax_op = Softmax()
logsoftmax_op = LogSoftmax()
softmax_grad = SoftmaxGrad()
softmax_with_bias = SoftmaxWithBias()
crossentropy_softmax_argmax_1hot_with_bias = CrossentropySoftmaxArgmax1HotWithBias()
crossentropy_softmax_1hot_with_bias_dx = CrossentropySoftmax1HotWithBiasDx()
crossentropy_categorical_1hot = CrossentropyCategorical1Hot()
crossentropy_categorical_1hot_grad = CrossentropyCategorical1HotGrad()
prepend_scalar_to_each_row = Prepend_scalar_to_each_row()
prepend_0_to_each_row = Prepend_scalar_constant_to_each_row(0.0)
prepend_1_to_each_row = Prepend_scalar_constant_to_each_row(1.0)


def softmax_graph(c: Any) -> Tensor:
    """Return a softmax of the rows of a matrix, written as exponentials divided by their sums.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nnet.softmax_graph([[0.0, 0.0]]).eval()
    array([[0.5, 0.5]])
    """
    return softmax_op.written_out(as_tensor_variable(c))
