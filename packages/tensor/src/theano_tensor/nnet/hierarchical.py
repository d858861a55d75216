"""The softmax over many outputs in two steps: the class of an output, and the output in its class."""

from __future__ import annotations

from typing import Any

from theano_graph import describe, format_error

from .._core._convert import as_tensor_variable
from .._core._dtypes import INTEGER_DTYPES, TensorLike
from .._core._type import Tensor
from .._errors import DTypeError, ShapeError
from ..creation import arange
from ..elemwise import dimshuffle
from ..linear import batched_dot, dot, tensordot
from ..shape import flatten, reshape
from ._softmax import softmax

__all__ = ["h_softmax"]

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
