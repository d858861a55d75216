"""Ops of softmax and cross-entropy, and their local optimizers."""

from __future__ import annotations

from typing import Any

import numpy as np

from theano_graph import Apply, FunctionGraph, Variable, describe, format_error
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
    log,
    shape_padleft,
    sum as sum_over,
    true_div,
    zeros_like,
)
from theano_tensor.creation import Alloc, full
from theano_tensor.elemwise import DimShuffle, Elemwise, add
from theano_tensor.nnet import (
    LogSoftmax,
    Softmax,
    crossentropy_categorical_1hot as loss_of_classes,
    crossentropy_softmax_argmax_1hot_with_bias as losses_of_scores,
    softmax_with_bias as softmax_of_sum,
)
from theano_tensor.reduce import ArgMax, Sum
from theano_tensor.shape import shape_i

from ...gof.opt import copy_stack_trace, local_optimizer, optimizer
from .._expression_ops import ExpressionOp, is_float

# ---- Ops of Theano 1.0 around softmax and its losses, as expressions of the functions that compute the same here

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


# ---- Rewrites between the ops of Theano 1.0 around softmax, for programs that apply them themselves
#
# No mode includes them: compiled functions have expressions in the place of these ops, and other rewrites know those.


def _made_by(variable: Variable, *kinds: type) -> Apply | None:
    """Return the node that makes a variable if its op is of one of some classes."""
    node = variable.owner
    return node if node is not None and isinstance(node.op, kinds) else None


def _traced(node: Apply, *results: Any) -> list[Any]:
    for old, new in zip(node.outputs, results, strict=True):
        copy_stack_trace(old, new)
    return list(results)


@local_optimizer([Softmax])
def local_softmax_with_bias(node: Apply) -> Any:
    """``softmax(x + b)``, where a vector is added to each row, as one op."""
    total = _made_by(node.inputs[0], Elemwise)
    if total is None or total.op != add:
        return False
    rows = [v for v in total.inputs if v.type.broadcastable == (True, False) and _made_by(v, DimShuffle)]
    others = [v for v in total.inputs if v not in rows]
    vectors = [v.owner.inputs[0] for v in rows if v.owner.op.new_order == ("x", 0)]
    if not others or not vectors or len(vectors) < len(rows) or any(v.type.ndim != 2 for v in others):
        return False
    matrix, bias = (v[0] if len(v) == 1 else add(*v) for v in (others, vectors))
    if matrix.type.dtype != node.outputs[0].type.dtype or any(matrix.type.broadcastable):
        return False
    return _traced(node, softmax_with_bias(matrix, bias))


@local_optimizer([Elemwise])
def local_logsoftmax(node: Apply) -> Any:
    """``log(softmax(x))`` as one op."""
    inside = _made_by(node.inputs[0], Softmax) if node.op == log else None
    return False if inside is None else _traced(node, logsoftmax_op(inside.inputs[0]))


@local_optimizer([SoftmaxGrad])
def local_logsoftmax_grad(node: Apply) -> Any:
    """Write the gradient of ``log(softmax(x))`` as ``dy - sum(dy) * softmax(x)``, which divides by nothing."""
    dy, sm = node.inputs
    quotient = _made_by(dy, Elemwise)
    if quotient is None or quotient.op != true_div or quotient.inputs[1] is not sm or _made_by(sm, Softmax) is None:
        return False
    g = quotient.inputs[0]
    return _traced(node, g - sum_over(g, axis=1, keepdims=True) * sm)


@local_optimizer([ArgMax])
def local_argmax_pushdown(node: Apply) -> Any:
    """The position of the largest element of a softmax is that of the largest score."""
    inside = _made_by(node.inputs[0], Softmax, SoftmaxWithBias)
    if inside is None or tuple(node.op.axis or ()) != (1,):
        return False
    scores = inside.inputs[0] if isinstance(inside.op, Softmax) else inside.inputs[0] + inside.inputs[1]
    return _traced(node, node.op(scores))


@local_optimizer([SoftmaxGrad])
def local_softmax_grad_to_crossentropy_with_softmax_grad(node: Apply) -> Any:  # the name of Theano 1.0
    """The gradient of a loss of one class by the scores as one op."""
    dy, sm = node.inputs
    inside = _made_by(dy, CrossentropyCategorical1HotGrad)
    if inside is None or inside.inputs[1] is not sm:
        return False
    return _traced(node, crossentropy_softmax_1hot_with_bias_dx(inside.inputs[0], sm, inside.inputs[2]))


@local_optimizer([CrossentropySoftmax1HotWithBiasDx])
def local_useless_crossentropy_softmax_1hot_with_bias_dx_alloc(node: Apply) -> Any:  # the name of Theano 1.0
    """One cotangent for all rows need not be repeated."""
    dy, sm, y = node.inputs
    inside = _made_by(dy, Alloc)
    if inside is None or inside.inputs[0].type.ndim:
        return False
    return _traced(node, crossentropy_softmax_1hot_with_bias_dx(inside.inputs[0], sm, y))


@local_optimizer([SoftmaxWithBias])
def graph_merge_softmax_with_crossentropy_softmax(node: Apply) -> Any:
    """A softmax that a loss of the same scores computes as well is taken from there."""
    x, b = node.inputs
    for client, _ in x.clients:
        if isinstance(client, Apply) and isinstance(client.op, CrossentropySoftmaxArgmax1HotWithBias):
            if client.inputs[0] is x and client.inputs[1] is b:
                return _traced(node, client.outputs[1])
    return False


def _join_losses(fgraph: FunctionGraph, kinds: tuple[type, ...]) -> None:
    """Put one op in the place of a softmax and the loss of one class of it."""
    for node in fgraph.toposort():
        if not isinstance(node.op, CrossentropyCategorical1Hot):
            continue
        inside = _made_by(node.inputs[0], *kinds)
        if inside is None:
            continue
        x, *bias = inside.inputs
        joined = crossentropy_softmax_argmax_1hot_with_bias(x, *(bias or [x[0].zeros_like()]), node.inputs[1])
        pairs = zip((node.outputs[0], inside.outputs[0]), joined[:2], strict=True)
        fgraph.replace_all(list(pairs), reason="loss_of_softmax")


@optimizer
def crossentropy_to_crossentropy_with_softmax_with_bias(fgraph: FunctionGraph) -> None:
    """Put one op in the place of a softmax of scores with a bias and the loss of one class."""
    _join_losses(fgraph, (SoftmaxWithBias,))


@optimizer
def crossentropy_to_crossentropy_with_softmax(fgraph: FunctionGraph) -> None:
    """Put one op in the place of a softmax, with or without a bias, and the loss of one class."""
    _join_losses(fgraph, (SoftmaxWithBias, Softmax))


def softmax_simplifier(numerators: list[Any], denominators: list[Any]) -> tuple[list[Any], list[Any]]:
    """Find exponentials divided by their sums over rows, for a canonizer of products; the lists are changed.

    Parameters
    ----------
    numerators, denominators : list of Tensor

    Returns
    -------
    numerators, denominators : list of Tensor
        With a softmax in place of its formula.
    """
    for numerator in list(numerators):
        exponential = _made_by(numerator, Elemwise)
        if exponential is None or exponential.op.scalar_op.name != "exp" or numerator.type.ndim != 2:
            continue
        for denominator in denominators:
            column = _made_by(denominator, DimShuffle)
            total = None if column is None or column.op.new_order != (0, "x") else _made_by(column.inputs[0], Sum)
            if total is not None and total.op.axis == (1,) and total.inputs[0] is numerator:
                numerators.remove(numerator)
                denominators.remove(denominator)
                numerators.append(softmax_op(exponential.inputs[0]))
                break
    return numerators, denominators
