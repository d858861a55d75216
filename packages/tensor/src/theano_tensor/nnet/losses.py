"""Losses that compare probabilities with targets, the softmax in two steps, and tables of classes."""

from __future__ import annotations

from typing import Any

from theano_graph import describe, format_error

from .._core._convert import as_tensor_variable
from .._core._dtypes import INTEGER_DTYPES, TensorLike
from .._core._type import Tensor
from .._errors import DTypeError, ShapeError
from ..creation import arange, full
from ..elemwise import cast, dimshuffle, eq, log, log1p, softplus, switch
from ..extra_ops import Unique
from ..joining import concatenate
from ..linear import batched_dot, dot, tensordot
from ..reduce import argmax, max as largest, sum as sum_over
from ..shape import flatten, reshape, shape_i
from ._activations import LogSoftmax, Softmax, softmax, with_bias

# ---- Losses that compare probabilities with targets


def binary_crossentropy(output: TensorLike, target: TensorLike) -> Tensor:
    """Cross-entropy of probabilities with targets between 0 and 1, element by element.

    ``-(target * log(output) + (1 - target) * log(1 - output))``. Where `output` is a sigmoid, compiled functions
    compute it from the argument of the sigmoid, so that it stays finite; :func:`sigmoid_binary_crossentropy` does so
    in every mode.

    Parameters
    ----------
    output, target : tensor_like

    Returns
    -------
    Tensor
        In the shape of `output`; take the mean for a cost.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nnet.binary_crossentropy(*T.dvectors("o", "t")).type
    TensorType(float64, vector)
    """
    o, t = as_tensor_variable(output), as_tensor_variable(target)
    return -(t * log(o) + (1 - t) * log1p(-o))


def sigmoid_binary_crossentropy(output: TensorLike, target: TensorLike) -> Tensor:
    """Cross-entropy of ``sigmoid(output)`` with targets between 0 and 1, element by element.

    Finite for all finite `output`, in every mode.

    Parameters
    ----------
    output, target : tensor_like

    Returns
    -------
    Tensor
        In the shape of `output`; take the mean for a cost.

    Examples
    --------
    >>> import theano.tensor as T
    >>> float(T.nnet.sigmoid_binary_crossentropy(1000.0, 0.0).eval())
    1000.0
    """
    x, t = as_tensor_variable(output), as_tensor_variable(target)
    return t * softplus(-x) + (1 - t) * softplus(x)


def categorical_crossentropy(coding_dist: TensorLike, true_dist: TensorLike) -> Tensor:
    """Cross-entropy between distributions, for each row.

    Where `coding_dist` is a softmax, compiled functions compute it from the scores, so that it stays finite.

    Parameters
    ----------
    coding_dist : tensor_like
        A matrix; each row is a distribution. More dimensions in front are allowed.
    true_dist : tensor_like
        A matrix of distributions, or a vector of integers: the one position of each row that is certain.

    Returns
    -------
    Tensor
        A vector, one value for each row.

    Raises
    ------
    ShapeError
        If the numbers of dimensions do not fit, or class numbers are no integers.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nnet.categorical_crossentropy([[0.5, 0.5], [0.25, 0.75]], [0, 0]).eval()
    array([0.69314718, 1.38629436])
    """
    coded, true = as_tensor_variable(coding_dist), as_tensor_variable(true_dist)
    if true.type.ndim == coded.type.ndim:
        return -sum_over(true * log(coded), axis=coded.type.ndim - 1)
    if true.type.ndim == coded.type.ndim - 1 and true.type.dtype in INTEGER_DTYPES:
        if coded.type.ndim == 2:
            return crossentropy_categorical_1hot(coded, true)
        axis = coded.type.ndim - 1
        hit = eq(dimshuffle(true, [*range(axis), "x"]), arange(shape_i(coded, axis)))
        # log of the other elements must not be seen: it may be infinite.
        return -sum_over(switch(hit, log(switch(hit, coded, 1)), 0), axis=axis)
    raise ShapeError(
        format_error(
            "categorical_crossentropy needs targets as a matrix, or as a vector of integers",
            context=[describe(coded), describe(true)],
            hint="convert class numbers to an integer dtype",
        )
    )


def crossentropy_categorical_1hot(coding_dist: TensorLike, true_one_of_n: TensorLike) -> Tensor:
    """Negative logarithm of the probability of one class for each row: ``-log(coding_dist[i, true_one_of_n[i]])``.

    Parameters
    ----------
    coding_dist : tensor_like
        A matrix of probabilities.
    true_one_of_n : tensor_like of int
        A vector with the number of a column for each row. A number out of range is an IndexError at run time.

    Raises
    ------
    ShapeError, DTypeError
        If they are something else.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nnet.crossentropy_categorical_1hot([[0.5, 0.5], [0.0, 1.0]], [0, 1]).eval()
    array([ 0.69314718, -0.        ])
    """
    return -log(_of_classes("crossentropy_categorical_1hot", coding_dist, true_one_of_n))


def _of_classes(name: str, rows: TensorLike, classes: TensorLike) -> Tensor:
    """Return the element of each row of a matrix that a vector of integers names."""
    values, y = as_tensor_variable(rows), as_tensor_variable(classes)
    if values.type.ndim != 2 or y.type.ndim != 1:
        raise ShapeError(
            format_error(
                f"{name} takes a matrix, and a vector of class numbers",
                context=[describe(values), describe(y)],
                hint="reshape them, or use categorical_crossentropy for targets that are distributions",
            )
        )
    if y.type.dtype not in INTEGER_DTYPES:
        raise DTypeError(
            format_error(
                f"{name}: class numbers are integers, not {y.type.dtype}",
                context=[describe(y)],
                hint="convert them: T.cast(y, 'int64')",
            )
        )
    result: Tensor = values[arange(shape_i(values, 0)), y]
    return result


def crossentropy_softmax_argmax_1hot_with_bias(x: TensorLike, b: TensorLike, y_idx: TensorLike) -> list[Tensor]:
    """Loss, probabilities and the best class of each row of scores, of which one class is right.

    Stable in every mode, with its gradient: the loss is computed from the scores.

    Parameters
    ----------
    x : tensor_like
        A matrix of scores, a row for each example.
    b : tensor_like
        A vector that is added to each row.
    y_idx : tensor_like of int
        A vector with the number of the right class of each example.

    Returns
    -------
    list of Tensor
        ``-log(softmax(x + b)[i, y_idx[i]])``, the softmax, and the number of the largest element of each row.

    Raises
    ------
    ShapeError, DTypeError
        If they are something else.

    Examples
    --------
    >>> import theano.tensor as T
    >>> losses, _, best = T.nnet.crossentropy_softmax_argmax_1hot_with_bias([[0.0, 1000.0]], [0.0, 0.0], [0])
    >>> losses.eval(), best.eval()
    (array([1000.]), array([1]))
    """
    name = "crossentropy_softmax_argmax_1hot_with_bias"
    return _of_scores(name, with_bias(name, x, b), y_idx)


def _of_scores(name: str, scores: Tensor, y_idx: TensorLike) -> list[Tensor]:
    loss = -_of_classes(name, LogSoftmax()(scores), y_idx)
    return [loss, Softmax()(scores), argmax(scores, axis=1)]


def crossentropy_softmax_1hot_with_bias(x: TensorLike, b: TensorLike, y_idx: TensorLike) -> list[Tensor]:
    """Return the first two results of :func:`crossentropy_softmax_argmax_1hot_with_bias`: loss and softmax."""
    name = "crossentropy_softmax_1hot_with_bias"
    return _of_scores(name, with_bias(name, x, b), y_idx)[:2]


def crossentropy_softmax_1hot(x: TensorLike, y_idx: TensorLike) -> list[Tensor]:
    """Return loss and softmax of rows of scores; see :func:`crossentropy_softmax_argmax_1hot_with_bias`.

    Parameters
    ----------
    x : tensor_like
        A matrix of scores, or a vector for one row.
    y_idx : tensor_like
        The number of the true class of each row.

    Returns
    -------
    tuple of two Tensor
        The loss of each row, and the softmax.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nnet.crossentropy_softmax_1hot([[0.0, 0.0]], [1])[0].eval()
    array([0.69314718])
    """
    return _of_scores("crossentropy_softmax_1hot", as_tensor_variable(x), y_idx)[:2]


def crossentropy_softmax_max_and_argmax_1hot_with_bias(x: TensorLike, b: TensorLike, y_idx: TensorLike) -> list[Tensor]:
    """Loss, softmax, the largest probability of each row and its position.

    Parameters and errors are those of :func:`crossentropy_softmax_argmax_1hot_with_bias`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> results = T.nnet.crossentropy_softmax_max_and_argmax_1hot_with_bias([[0.0, 0.0]], [0.0, 0.0], [1])
    >>> [r.eval().tolist() for r in results]
    [[0.6931471805599453], [[0.5, 0.5]], [0.5], [0]]
    """
    name = "crossentropy_softmax_max_and_argmax_1hot_with_bias"
    return _with_largest(name, with_bias(name, x, b), y_idx)


def crossentropy_softmax_max_and_argmax_1hot(x: TensorLike, y_idx: TensorLike) -> list[Tensor]:
    """Do as :func:`crossentropy_softmax_max_and_argmax_1hot_with_bias` does, without a bias."""
    return _with_largest("crossentropy_softmax_max_and_argmax_1hot", as_tensor_variable(x), y_idx)


def _with_largest(name: str, scores: Tensor, y_idx: TensorLike) -> list[Tensor]:
    loss, probabilities, best = _of_scores(name, scores, y_idx)
    return [loss, probabilities, largest(probabilities, axis=1), best]


# ---- The softmax over many outputs in two steps: the class of an output, and the output in its class

#: Numbers of dimensions of the parameters.
_NDIM = {"W1": 2, "b1": 1, "W2": 3, "b2": 2}


def h_softmax(
    x: TensorLike,
    batch_size: Any,
    n_outputs: Any,
    n_classes: Any,
    n_outputs_per_class: Any,
    W1: TensorLike,
    b1: TensorLike,
    W2: TensorLike,
    b2: TensorLike,
    target: TensorLike | None = None,
) -> Tensor:
    """Softmax over many outputs in two levels.

    Outputs are numbered class by class. With `target` the cost of an example is proportional to ``n_classes +
    n_outputs_per_class``, not to the number of outputs.

    Parameters
    ----------
    x : tensor_like
        Features, of shape (batch_size, number of features).
    batch_size, n_outputs, n_classes, n_outputs_per_class : int or integer scalar
        ``n_classes * n_outputs_per_class`` must not be smaller than `n_outputs`; outputs beyond that are left out.
    W1, b1 : tensor_like
        Weights (features, n_classes) and biases (n_classes,) of the classes.
    W2, b2 : tensor_like
        Weights (n_classes, features, n_outputs_per_class) and biases (n_classes, n_outputs_per_class) of the outputs.
    target : tensor_like of int, optional
        Numbers of the outputs that are wanted, of shape (batch_size,) or (batch_size, 1); all of them by default.

    Returns
    -------
    Tensor
        Probabilities, of shape (batch_size, n_outputs); a vector with `target`.

    Raises
    ------
    ShapeError
        If a parameter has a wrong number of dimensions, or there are too few classes for the outputs.
    DTypeError
        If targets are no integers.

    References
    ----------
    J. Goodman: Classes for Fast Maximum Entropy Training, 2001.

    Examples
    --------
    >>> import theano.tensor as T
    >>> import numpy as np
    >>> W1, b1, W2, b2 = np.zeros((3, 2)), np.zeros(2), np.zeros((2, 3, 2)), np.zeros((2, 2))
    >>> T.nnet.h_softmax(np.ones((1, 3)), 1, 4, 2, 2, W1, b1, W2, b2).eval()
    array([[0.25, 0.25, 0.25, 0.25]])
    """
    features, *weights = (as_tensor_variable(v) for v in (x, W1, b1, W2, b2))
    for (name, ndim), value in zip((("x", 2), *_NDIM.items()), (features, *weights), strict=True):
        if value.type.ndim != ndim:
            raise ShapeError(
                format_error(
                    f"h_softmax: {name} has {value.type.ndim} dimensions, expected {ndim}",
                    context=[describe(value)],
                    hint="reshape it",
                )
            )
    sizes = (n_outputs, n_classes, n_outputs_per_class)
    if all(isinstance(n, int) for n in sizes) and n_classes * n_outputs_per_class < n_outputs:
        raise ShapeError(
            format_error(
                f"h_softmax: {n_classes} classes of {n_outputs_per_class} outputs are too few for {n_outputs} outputs",
                context=[describe(features)],
                hint="use more classes, or more outputs in each",
            )
        )
    w1, c1, w2, c2 = weights
    classes = softmax(dot(features, w1) + c1)
    if target is not None:
        return _of_targets(features, classes, w2, c2, target, batch_size, n_outputs_per_class)
    inside = softmax(tensordot(features, w2, [[1], [1]]) + c2, axis=-1)
    joint = dimshuffle(classes, [0, 1, "x"]) * inside
    result: Tensor = reshape(joint, (batch_size, n_classes * n_outputs_per_class))[:, :n_outputs]
    return result


def _of_targets(
    x: Tensor,
    classes: Tensor,
    w2: Tensor,
    b2: Tensor,
    target: TensorLike,
    batch_size: Any,
    per_class: Any,
) -> Tensor:
    targets = flatten(as_tensor_variable(target))
    if targets.type.dtype not in INTEGER_DTYPES:
        raise DTypeError(
            format_error(
                f"h_softmax: targets are numbers of outputs, not {targets.type.dtype}",
                context=[describe(as_tensor_variable(target))],
                hint="convert them: T.cast(target, 'int64')",
            )
        )
    group, rows = targets // per_class, arange(batch_size)
    scores = batched_dot(dimshuffle(x, [0, "x", 1]), w2[group])[:, 0, :] + b2[group]
    result: Tensor = classes[rows, group] * softmax(scores)[rows, targets % per_class]
    return result


# ---- Tables of how classes were taken for each other, and rows with a number in front


def confusion_matrix(actual: TensorLike, pred: TensorLike) -> list[Tensor]:
    """Count how often each class was predicted as each other one.

    Parameters
    ----------
    actual, pred : tensor_like
        Vectors of equal length: the classes of examples, and the predicted ones.

    Returns
    -------
    list of Tensor
        A matrix of int64, element (i, j) for examples of class i that were predicted as class j; and the classes,
        ascending, in the order of its rows and columns.

    Raises
    ------
    ShapeError
        If they are no vectors.

    Examples
    --------
    >>> import theano.tensor as T
    >>> table, classes = T.nnet.confusion_matrix([2, 0, 2, 2, 0, 1], [0, 0, 2, 2, 0, 2])
    >>> table.eval()
    array([[2, 0, 0],
           [0, 0, 1],
           [1, 0, 2]])
    """
    operands = [as_tensor_variable(v) for v in (actual, pred)]
    if any(v.type.ndim != 1 for v in operands):
        raise ShapeError(
            format_error(
                "confusion_matrix takes two vectors of classes",
                context=[describe(v) for v in operands],
                hint="flatten them",
            )
        )
    classes = Unique()(concatenate(operands))
    hits = [cast(eq(dimshuffle(v, [0, "x"]), classes), "int64") for v in operands]
    return [dot(hits[0].T, hits[1]), classes]


def prepend_scalar_to_each_row(val: TensorLike, m: TensorLike) -> Tensor:
    """Return a matrix with a number in front of each row.

    Parameters
    ----------
    val : number or tensor_like
        Without dimensions.
    m : tensor_like
        A matrix.

    Raises
    ------
    ShapeError
        If they are something else.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nnet.prepend_scalar_to_each_row(1.0, [[2.0], [3.0]]).eval()
    array([[1., 2.],
           [1., 3.]])
    """
    number, matrix = as_tensor_variable(val), as_tensor_variable(m)
    if number.type.ndim or matrix.type.ndim != 2:
        raise ShapeError(
            format_error(
                "prepend_scalar_to_each_row takes a number and a matrix",
                context=[describe(number), describe(matrix)],
                hint="reshape them",
            )
        )
    column = full((shape_i(matrix, 0), 1), number, dtype=matrix.type.dtype)
    result: Tensor = concatenate([column, matrix], axis=1)
    return result


def prepend_1_to_each_row(m: TensorLike) -> Tensor:
    """Return a matrix with a 1 in front of each row: the input of a layer whose weights include biases."""
    return prepend_scalar_to_each_row(1, m)


def prepend_0_to_each_row(m: TensorLike) -> Tensor:
    """Return a matrix with a 0 in front of each row."""
    return prepend_scalar_to_each_row(0, m)


__all__ = [
    "binary_crossentropy",
    "categorical_crossentropy",
    "confusion_matrix",
    "crossentropy_categorical_1hot",
    "crossentropy_softmax_1hot",
    "crossentropy_softmax_1hot_with_bias",
    "crossentropy_softmax_argmax_1hot_with_bias",
    "crossentropy_softmax_max_and_argmax_1hot",
    "crossentropy_softmax_max_and_argmax_1hot_with_bias",
    "h_softmax",
    "prepend_0_to_each_row",
    "prepend_1_to_each_row",
    "prepend_scalar_to_each_row",
    "sigmoid_binary_crossentropy",
]
