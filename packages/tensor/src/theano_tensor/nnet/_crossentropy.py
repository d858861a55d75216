"""Losses that compare probabilities with targets."""

from __future__ import annotations

from theano_graph import describe, format_error

from .._core._convert import as_tensor_variable
from .._core._dtypes import INTEGER_DTYPES, TensorLike
from .._core._type import Tensor
from .._errors import DTypeError, ShapeError
from ..creation import arange
from ..elemwise import dimshuffle, eq, log, log1p, softplus, switch
from ..reduce import argmax, max as largest, sum as sum_over
from ..shape import shape_i
from ._softmax import LogSoftmax, Softmax, with_bias


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
