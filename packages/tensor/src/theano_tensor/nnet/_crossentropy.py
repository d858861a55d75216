"""Losses that compare probabilities with targets."""

from __future__ import annotations

from typing import Any

from theano_graph import compose, describe

from .._convert import as_tensor_variable
from .._dtypes import INTEGER_DTYPES
from .._errors import ShapeError
from .._variable import TensorVariable
from ..creation import arange
from ..elemwise import abs_, cast, dimshuffle, eq, log, log1p, softplus, switch
from ..reduce import sum as sum_over
from ..shape import shape_i


def binary_crossentropy(output: Any, target: Any) -> TensorVariable:
    """Cross-entropy of probabilities with targets between 0 and 1, element by element.

    ``-(target * log(output) + (1 - target) * log(1 - output))``. Where `output` is a sigmoid, compiled functions
    compute it from the
    argument of the sigmoid, so that it stays finite; :func:`sigmoid_binary_crossentropy` does so in every mode.

    Parameters
    ----------
    output, target : tensor_like

    Examples
    --------
    >>> from theano_tensor import dvectors
    >>> binary_crossentropy(*dvectors("o", "t")).type
    TensorType(float64, vector)
    """
    o, t = as_tensor_variable(output), as_tensor_variable(target)
    return -(t * log(o) + (1 - t) * log1p(-o))


def sigmoid_binary_crossentropy(output: Any, target: Any) -> TensorVariable:
    """Cross-entropy of ``sigmoid(output)`` with targets between 0 and 1, element by element.

    Finite for all finite `output`, in every mode.
    """
    x, t = as_tensor_variable(output), as_tensor_variable(target)
    return softplus(-abs_(x)) + x * (cast(x > 0, x.type.dtype) - t)


def categorical_crossentropy(coding_dist: Any, true_dist: Any) -> TensorVariable:
    """Cross-entropy between distributions, for each row.

    Parameters
    ----------
    coding_dist : tensor_like
        A matrix; each row is a distribution.
    true_dist : tensor_like
        A matrix of distributions, or a vector of integers: the one position of each row that is certain.

    Returns
    -------
    TensorVariable
        A vector, one value for each row.

    Raises
    ------
    ShapeError
        If the numbers of dimensions do not fit.
    """
    coded, true = as_tensor_variable(coding_dist), as_tensor_variable(true_dist)
    if true.type.ndim == coded.type.ndim:
        return -sum_over(true * log(coded), axis=coded.type.ndim - 1)
    if true.type.ndim == coded.type.ndim - 1 and true.type.dtype in INTEGER_DTYPES:
        axis = coded.type.ndim - 1
        hit = eq(dimshuffle(true, [*range(axis), "x"]), arange(shape_i(coded, axis)))
        # log of the other elements must not be seen: it may be infinite.
        return -sum_over(switch(hit, log(switch(hit, coded, 1)), 0), axis=axis)
    raise ShapeError(
        compose(
            "categorical_crossentropy needs targets as a matrix, or as a vector of integers",
            where=[describe(coded), describe(true)],
            mend="convert class numbers to an integer dtype",
        )
    )
