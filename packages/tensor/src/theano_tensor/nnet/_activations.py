"""Activation functions: element by element, and softmax along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from theano_graph import Apply, Variable, batch_rule, config, describe, format_error, pullback, pushforward, shape_rule
from theano_linker_c import scalar

from .._core._convert import as_tensor_variable
from .._core._dtypes import COMPLEX_DTYPES, DISCRETE_DTYPES, Array, TensorLike
from .._core._ops import TensorOp
from .._core._type import Tensor
from .._errors import DTypeError, ShapeError
from ..creation import Alloc
from ..elemwise import Elemwise, add, cast, clip, exp, expm1, fill, log, switch
from ..indexing import AdvancedIncSubtensor, AdvancedSubtensor, IncSubtensor, Subtensor
from ..reduce import Supremum, sum as sum_over
from ..shape import shape_padaxis, shape_padleft

# ---- Activation functions, element by element

_rectified = Elemwise(scalar.relu)


def relu(x: TensorLike, alpha: TensorLike = 0) -> Tensor:
    """Rectified linear activation: ``x`` above zero, ``alpha * x`` below; the derivative at zero is their mean.

    Parameters
    ----------
    x : tensor_like
        The result for an array of NumPy is an array.
    alpha : number or tensor_like
        Slope below zero, usually from 0 to 1; a shared variable makes it learnable.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nnet.relu(T.dmatrix("x")).type
    TensorType(float64, matrix)
    """
    if isinstance(x, np.ndarray) and not isinstance(alpha, Variable):
        # Of arrays it is arithmetic, and gives an array.
        array: Any = 0.5 * ((1 + alpha) * x + (1 - alpha) * abs(x))  # type: ignore[operator]
        return array  # type: ignore[no-any-return]
    variable = as_tensor_variable(x)
    result: Tensor = _rectified(variable)
    if isinstance(alpha, (int, float)) and alpha == 0:
        return result
    if variable.type.dtype in DISCRETE_DTYPES:
        return switch(variable > 0, variable, variable * alpha)
    below: Tensor = _rectified(-variable)
    slanted: Tensor = result - below * alpha
    return slanted


def elu(x: TensorLike, alpha: TensorLike = 1) -> Tensor:
    """Exponential linear activation: ``x`` above zero, ``alpha * (exp(x) - 1)`` below.

    Parameters
    ----------
    x : tensor_like
    alpha : float or tensor_like
        The limit for large negative elements is ``-alpha``.

    Returns
    -------
    Tensor

    References
    ----------
    Clevert, Unterthiner, Hochreiter: Fast and Accurate Deep Network Learning by Exponential Linear Units, 2015.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nnet.elu([-1.0, 0.0, 2.0]).eval()
    array([-0.63212056,  0.        ,  2.        ])
    """
    variable = as_tensor_variable(x)
    # The exponential sees no positive number, so that the branch that is not taken cannot overflow into the gradient.
    # A minimum would do that, too, but has no slope at NaN.
    above: Tensor = variable > 0
    return switch(above, variable, alpha * expm1(switch(above, variable.zeros_like(), variable)))


def selu(x: TensorLike) -> Tensor:
    """Scaled exponential linear activation.

    Parameters
    ----------
    x : tensor_like

    Returns
    -------
    Tensor

    References
    ----------
    Klambauer, Unterthiner, Mayr, Hochreiter: Self-Normalizing Neural Networks, 2017.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nnet.selu([-1.0, 0.0, 1.0]).eval()
    array([-1.11133074,  0.        ,  1.05070099])
    """
    return 1.0507009873554804934193349852946 * elu(x, 1.6732632423543772848170429916717)


softsign = Elemwise(scalar.softsign)
softsign.__doc__ = "``x / (1 + abs(x))``."


def hard_sigmoid(x: TensorLike) -> Tensor:
    """Piecewise linear approximation of the sigmoid: ``0.2 * x + 0.5`` between 0 and 1, which it reaches exactly.

    Parameters
    ----------
    x : tensor_like

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nnet.hard_sigmoid([-5.0, 0.0, 1.0]).eval()
    array([0. , 0.5, 0.7])
    """
    variable = as_tensor_variable(x)
    slope, shift = (as_tensor_variable(v).astype((variable * 0.5).dtype) for v in (0.2, 0.5))
    return clip(variable * slope + shift, 0.0, 1.0)


ultra_fast_sigmoid = Elemwise(scalar.ultra_fast_sigmoid)
ultra_fast_sigmoid.__doc__ = """Approximate the sigmoid by three pieces: a fraction, a line, and a constant.

Values lie between 0.00247262315663 and 0.997527376843, and differ from the sigmoid by less than 0.025; there are
jumps of less than 0.005 where the pieces meet. Rewrites that keep logarithms of a sigmoid finite do not know this
form; the rewrite ``local_ultra_fast_sigmoid`` puts it in place of sigmoids after these have run.

Parameters
----------
x : tensor_like

Examples
--------
>>> ultra_fast_sigmoid([0.0, 100.0]).eval()
array([0.5       , 0.99752738])
"""


# ---- Which part of a cotangent is divided by the variable that it belongs to: the mark of logarithms


def share_divided(g: Tensor, p: Tensor) -> tuple[list[Tensor], Tensor | None]:
    """Write a cotangent as ``h1 / p + h2 / p + ... + rest``.

    Parameters
    ----------
    g : Tensor
        A cotangent of `p`.
    p : Tensor

    Returns
    -------
    list of Tensor, and Tensor or None
        h1, h2, ... in the shape of `p`, and the rest; None where nothing is left.
    """
    divided: list[Tensor] = []
    others: list[Tensor] = []
    pending = [g]
    while pending:
        term = pending.pop()
        node = term.owner
        if node is not None and _applies(node, scalar.add):
            pending.extend(as_tensor_variable(v) for v in reversed(node.inputs))
            continue
        h = _dividend(term, p)
        if h is None:
            others.append(term)
        else:
            divided.append(h if h.type.broadcastable == p.type.broadcastable else fill(p, h))
    if not divided:
        return [], g
    return divided, None if not others else others[0] if len(others) == 1 else add(*others)


def _applies(node: Apply, op: scalar.ScalarOp) -> bool:
    return type(node.op) is Elemwise and node.op.scalar_op == op


def _dividend(term: Tensor, p: Tensor) -> Tensor | None:
    """Return h if a variable is ``h / p``, also if it is zero but for a part where it is ``h / p[index]``."""
    node = term.owner
    if node is None:
        return None
    if _applies(node, scalar.true_div):
        return as_tensor_variable(node.inputs[0]) if node.inputs[1] is p else None
    if not isinstance(node.op, (IncSubtensor, AdvancedIncSubtensor)) or node.op.set_instead_of_inc:
        return None
    base, part, *index = node.inputs
    quotient = part.owner
    if not _is_zero(base) or quotient is None or not _applies(quotient, scalar.true_div):
        return None
    read = quotient.inputs[1].owner
    if read is None or not isinstance(read.op, (Subtensor, AdvancedSubtensor)):
        return None
    same = len(read.inputs) == 1 + len(index) and all(a is b for a, b in zip(read.inputs, [p, *index], strict=True))
    if not same or read.op.entries != node.op.entries:
        return None
    changed: Tensor = node.op(base, quotient.inputs[0], *index)
    return changed


def _is_zero(variable: Variable) -> bool:
    """Tell whether a variable is made as zeros."""
    node = variable.owner
    value: Any = variable
    if node is not None and isinstance(node.op, Alloc):
        value = node.inputs[0]
    elif node is not None and _applies(node, scalar.second):
        value = node.inputs[1]
    data = getattr(value, "data", None)
    while data is None and getattr(value, "owner", None) is not None and len(value.owner.inputs) == 1:
        # A number with more dimensions.
        value = value.owner.inputs[0]
        data = getattr(value, "data", None)
    return isinstance(data, np.ndarray) and not data.any()


# ---- Softmax and its logarithm
#
# Both are ops, so that their derivatives stay short. Rewriting writes them out as exponentials and sums before anything
# else looks at the graph, and these run in fused loops.


class AlongAxis(TensorOp):
    """Base of ops on the lines of a tensor along one axis, whose results have its shape.

    Parameters
    ----------
    axis : int, optional
        From the last one backwards if it is negative. Without it lines are rows, and a vector counts as a matrix of
        one row.
    """

    __props__: ClassVar[tuple[str, ...]] = ("axis",)

    def __init__(self, axis: int | None = None) -> None:
        self.axis = -1 if axis is None else int(axis)
        self._takes_rows = axis is None

    def make_node(self, x: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a tensor; integers become floats.

        Raises
        ------
        ShapeError
            If there is no such axis.
        DTypeError
            For complex numbers, which have no order.
        """
        variable = as_tensor_variable(x)
        if self._takes_rows and variable.type.ndim == 1:
            variable = shape_padleft(variable)
        name = str(self)
        if not -variable.type.ndim <= self.axis < variable.type.ndim:
            raise ShapeError(
                format_error(
                    f"{name}: there is no axis {self.axis}",
                    context=[describe(variable)],
                    hint=f"use an axis of {variable.type.ndim} dimensions",
                )
            )
        if variable.type.dtype in COMPLEX_DTYPES:
            raise DTypeError(
                format_error(
                    f"{name}: complex numbers are no scores",
                    context=[describe(variable)],
                    hint="take the real part: x.real",
                )
            )
        if variable.type.dtype in DISCRETE_DTYPES:
            variable = cast(variable, config.floatX)
        return Apply(self, [variable], [variable.type.make_variable()])

    def written_out(self, x: Tensor) -> Tensor:
        """Return the op as an expression of elementwise ops and reductions."""
        raise TypeError(f"{type(self).__name__} does not say how it is written out")

    def __str__(self) -> str:
        return type(self).__name__ if self.axis == -1 else f"{type(self).__name__}{{axis={self.axis}}}"


def _shifted(x: Array, axis: int) -> Any:
    return x - np.max(x, axis=axis, keepdims=True, initial=-np.inf)


class Softmax(AlongAxis):
    """Exponentials divided by their sum along an axis, the largest element taken out before.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nnet.Softmax()(T.constant([[0.0, 0.0]])).eval()
    array([[0.5, 0.5]])
    """

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Compute with NumPy."""
        with np.errstate(all="ignore"):
            exponentials = np.exp(_shifted(inputs[0], self.axis))
            result = exponentials / np.sum(exponentials, axis=self.axis, keepdims=True, dtype=exponentials.dtype)
        output_storage[0][0] = np.asarray(result, dtype=node.outputs[0].type.dtype)

    def written_out(self, x: Tensor) -> Tensor:
        """Return exponentials divided by their sum."""
        exponentials = exp(x - _largest(x, self.axis))
        return exponentials / sum_over(exponentials, axis=self.axis, keepdims=True)


class LogSoftmax(AlongAxis):
    """Logarithm of :class:`Softmax`, right also where a softmax vanishes.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nnet.LogSoftmax()(T.constant([[0.0, -1000.0]])).eval()
    array([[    0., -1000.]])
    """

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Compute with NumPy."""
        with np.errstate(all="ignore"):
            shifted = _shifted(inputs[0], self.axis)
            result = shifted - np.log(np.sum(np.exp(shifted), axis=self.axis, keepdims=True, dtype=shifted.dtype))
        output_storage[0][0] = np.asarray(result, dtype=node.outputs[0].type.dtype)

    def written_out(self, x: Tensor) -> Tensor:
        """Return the scores less the largest, less the logarithm of the sum of exponentials of these."""
        shift, total = log_of_sum(x, self.axis)
        return (x - shift) - total


def _largest(x: Tensor, axis: int) -> Tensor:
    """Return the largest elements along an axis, of length 1 then; minus infinity where there are none."""
    position = axis % x.type.ndim
    return shape_padaxis(Supremum((position,))(x), position)


def log_of_sum(x: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """Return the largest elements along an axis, of length 1 then, and the logarithm of the sum of ``exp(x - those)``.

    Their sum is the logarithm of the sum of exponentials. A difference with it loses no digits by large scores if
    the largest comes first. The exponentials are those of the softmax; infinite scores make NaN as there.
    """
    shift = _largest(x, axis)
    return shift, log(sum_over(exp(x - shift), axis=axis, keepdims=True))


@batch_rule.register(AlongAxis)
def _batch(node: Apply[AlongAxis, Tensor], inputs: list[Any], stacked: Sequence[bool]) -> list[Variable]:
    axis = node.op.axis
    return [type(node.op)(axis + (axis >= 0))(inputs[0])]


@shape_rule.register(AlongAxis)
def _shape(node: Apply[AlongAxis, Tensor], input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[0]]


def _softmax_gradient(p: Tensor, g: Tensor, axis: int) -> Tensor:
    """Return the derivative of a softmax with the values p along a direction; the derivative is symmetric."""
    return p * (g - sum_over(p * g, axis=axis, keepdims=True))


@pullback.register(Softmax)
def _pullback_softmax(node: Apply[Softmax, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    p, g = as_tensor_variable(node.outputs[0]), as_tensor_variable(cotangents[0])
    axis = node.op.axis
    # Logarithms of p leave cotangents h / p; there p must not be divided by, for it may have vanished.
    divided, others = share_divided(g, p)
    terms = [h - p * sum_over(h, axis=axis, keepdims=True) for h in divided]
    if others is not None:
        terms.append(_softmax_gradient(p, others, axis))
    return [terms[0] if len(terms) == 1 else add(*terms)]


@pushforward.register(Softmax)
def _pushforward_softmax(node: Apply[Softmax, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    if tangents[0] is None:
        return [None]
    p, t = as_tensor_variable(node.outputs[0]), as_tensor_variable(tangents[0])
    return [_softmax_gradient(p, t, node.op.axis)]


@pullback.register(LogSoftmax)
def _pullback_log(node: Apply[LogSoftmax, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    axis, g = node.op.axis, as_tensor_variable(cotangents[0])
    return [g - Softmax(axis)(node.inputs[0]) * sum_over(g, axis=axis, keepdims=True)]


@pushforward.register(LogSoftmax)
def _pushforward_log(node: Apply[LogSoftmax, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    if tangents[0] is None:
        return [None]
    axis, t = node.op.axis, as_tensor_variable(tangents[0])
    return [t - sum_over(Softmax(axis)(node.inputs[0]) * t, axis=axis, keepdims=True)]


def _as_rows(name: str, x: TensorLike, axis: int | None) -> tuple[Tensor, int]:
    variable = as_tensor_variable(x)
    if axis is not None:
        return variable, axis
    if variable.type.ndim not in (1, 2):
        raise ShapeError(
            format_error(
                f"{name} takes a vector or a matrix, not {variable.type.ndim} dimensions",
                context=[describe(variable)],
                hint="say along which axis: axis=-1",
            )
        )
    return (variable if variable.type.ndim == 2 else shape_padleft(variable)), -1


def softmax(x: TensorLike, axis: int | None = None) -> Tensor:
    """Exponentials divided by their sum, for each row.

    The largest element of a row is taken out before, so nothing overflows. The gradient is right also behind a
    logarithm of results that have vanished.

    Parameters
    ----------
    x : tensor_like
        A matrix; a vector counts as a matrix of one row.
    axis : int, optional
        Axis along which the results sum to 1, for tensors of any number of dimensions.

    Returns
    -------
    Tensor
        Of the shape of `x`; a matrix of one row for a vector without `axis`.

    Raises
    ------
    ShapeError
        For other numbers of dimensions without `axis`.
    DTypeError
        For complex numbers.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nnet.softmax(T.dmatrix("x")).type
    TensorType(float64, matrix)
    """
    rows, along = _as_rows("softmax", x, axis)
    result: Tensor = Softmax(along)(rows)
    return result


def logsoftmax(x: TensorLike, axis: int | None = None) -> Tensor:
    """Logarithm of :func:`softmax`, right also where a result is too small for its exponential.

    Parameters, results and errors are those of :func:`softmax`.

    Parameters
    ----------
    x : tensor_like
        Logits.
    axis : int, optional
        As in :func:`softmax`.

    Returns
    -------
    Tensor
        In the shape of `x`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nnet.logsoftmax([0.0, -1000.0]).eval()
    array([[    0., -1000.]])
    """
    rows, along = _as_rows("logsoftmax", x, axis)
    result: Tensor = LogSoftmax(along)(rows)
    return result


def softmax_with_bias(x: TensorLike, b: TensorLike) -> Tensor:
    """Softmax of the rows of a matrix to each of which a vector has been added.

    Parameters
    ----------
    x : tensor_like
        A matrix.
    b : tensor_like
        A vector.

    Raises
    ------
    ShapeError
        If they are something else.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nnet.softmax_with_bias([[1.0, 2.0]], [1.0, 0.0]).eval()
    array([[0.5, 0.5]])
    """
    return softmax(with_bias("softmax_with_bias", x, b))


def with_bias(name: str, x: TensorLike, b: TensorLike) -> Tensor:
    """Return the sum of a matrix and a vector for each row; ShapeError for other numbers of dimensions."""
    scores, bias = as_tensor_variable(x), as_tensor_variable(b)
    if scores.type.ndim != 2 or bias.type.ndim != 1:
        raise ShapeError(
            format_error(
                f"{name} takes a matrix of scores and a vector of biases",
                context=[describe(scores), describe(bias)],
                hint="reshape them",
            )
        )
    return scores + bias
