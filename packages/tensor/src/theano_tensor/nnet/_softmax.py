"""Softmax and its logarithm."""

from __future__ import annotations

from typing import Any

from theano_graph import compose, describe

from .._convert import as_tensor_variable
from .._errors import ShapeError
from .._variable import TensorVariable
from ..elemwise import exp
from ..reduce import logsumexp, max as largest, sum as sum_over
from ..shape import shape_padleft


def _as_rows(name: str, x: Any, axis: int | None) -> tuple[TensorVariable, int]:
    variable = as_tensor_variable(x)
    if axis is not None:
        return variable, axis
    if variable.type.ndim not in (1, 2):
        raise ShapeError(
            compose(
                f"{name} takes a vector or a matrix, not {variable.type.ndim} dimensions",
                where=[describe(variable)],
                mend="say along which axis: axis=-1",
            )
        )
    return (variable if variable.type.ndim == 2 else shape_padleft(variable)), 1


def softmax(x: Any, axis: int | None = None) -> TensorVariable:
    """Exponentials divided by their sum, for each row.

    The largest element of a row is taken out before, so nothing overflows.

    Parameters
    ----------
    x : tensor_like
        A matrix; a vector counts as a matrix of one row.
    axis : int, optional
        Axis along which the results sum to 1, for tensors of any number of dimensions.

    Returns
    -------
    TensorVariable
        Of the shape of `x`; a matrix of one row for a vector without `axis`.

    Raises
    ------
    ShapeError
        For other numbers of dimensions without `axis`.

    Examples
    --------
    >>> from theano_tensor import dmatrix
    >>> softmax(dmatrix("x")).type
    TensorType(float64, matrix)
    """
    rows, along = _as_rows("softmax", x, axis)
    exponentials = exp(rows - largest(rows, axis=along, keepdims=True))
    return exponentials / sum_over(exponentials, axis=along, keepdims=True)


def logsoftmax(x: Any, axis: int | None = None) -> TensorVariable:
    """Logarithm of :func:`softmax`, right also where a result is too small for its exponential."""
    rows, along = _as_rows("logsoftmax", x, axis)
    return rows - logsumexp(rows, axis=along, keepdims=True)
