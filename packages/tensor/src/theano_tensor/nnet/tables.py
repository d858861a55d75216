"""Tables of how classes were taken for each other, and rows with a number in front."""

from __future__ import annotations

from theano_graph import describe, format_error

from .._core._convert import as_tensor_variable
from .._core._dtypes import TensorLike
from .._core._type import Tensor
from .._errors import ShapeError
from ..creation import full
from ..elemwise import cast, dimshuffle, eq
from ..extra_ops import Unique
from ..joining import concatenate
from ..linear import dot
from ..shape import shape_i

__all__ = ["confusion_matrix", "prepend_0_to_each_row", "prepend_1_to_each_row", "prepend_scalar_to_each_row"]


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
