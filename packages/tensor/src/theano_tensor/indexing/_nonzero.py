"""Where a tensor is not zero."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from theano_graph import Apply, Op, Variable, batch_rule, describe, format_error, pullback, pushforward, shape_rule

from .._core._convert import as_tensor_variable
from .._core._dtypes import TensorLike
from .._core._ops import run_in_a_loop
from .._core._type import Tensor, tensor_type
from .._errors import ShapeError
from .._protocols._methods import operation
from ..elemwise import cast, neq
from ..joining import stack
from ..reduce import sum as sum_over
from ..shape import flatten
from ._getitem import getitem


class Nonzero(Op):
    """Numbers of the elements that are not zero: one vector of int64 for each dimension, in row-major order."""

    __props__ = ()

    def make_node(self, x: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a tensor with at least one dimension; ShapeError for a scalar."""
        variable = as_tensor_variable(x)
        if not variable.type.ndim:
            raise ShapeError(
                format_error(
                    "nonzero: a scalar has no elements to number",
                    context=[describe(variable)],
                    hint="use T.shape_padleft(x), or T.neq(x, 0)",
                )
            )
        outputs = [tensor_type("int64", (None,)).make_variable() for _ in variable.type.shape]
        return Apply(self, [variable], outputs)

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Find the elements."""
        for storage, indices in zip(output_storage, np.nonzero(inputs[0]), strict=True):
            storage[0] = np.ascontiguousarray(indices, dtype="int64")

    def connection_pattern(self, node: Apply[Self, Tensor]) -> list[list[bool]]:
        """Numbers do not depend differentiably on the elements."""
        return [[False] * len(node.outputs)]

    def __str__(self) -> str:
        return "Nonzero"


@pullback.register(Nonzero)
def _pullback(node: Apply[Nonzero, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    return [None]


@pushforward.register(Nonzero)
def _pushforward(node: Apply[Nonzero, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    return [None] * len(node.outputs)


@shape_rule.register(Nonzero)
def _shape(node: Apply[Nonzero, Tensor], input_shapes: list[Any]) -> list[Any]:
    count = sum_over(cast(neq(node.inputs[0], 0), "int64"))
    return [(count,)] * len(node.outputs)


@operation("nonzero")
def nonzero(a: TensorLike, return_matrix: bool = False) -> Any:
    """Return the numbers of the elements that are not zero.

    Parameters
    ----------
    a : tensor_like
        With at least one dimension.
    return_matrix : bool
        Return one matrix, with a row for each dimension.

    Returns
    -------
    tuple of Tensor, or Tensor
        Vectors of int64, one for each dimension, for use as an index: ``a[a.nonzero()]``.

    Raises
    ------
    ShapeError
        For a scalar.

    Examples
    --------
    >>> import theano.tensor as T
    >>> len(T.nonzero(T.dmatrix("x")))
    2
    """
    results = tuple(Nonzero()(as_tensor_variable(a), return_list=True))
    return stack(list(results), axis=0) if return_matrix else results


@operation("flatnonzero")
def flatnonzero(a: TensorLike) -> Tensor:
    """Return the numbers of the elements of the flattened tensor that are not zero.

    Parameters
    ----------
    a : tensor_like
        With at least one dimension.

    Returns
    -------
    Tensor
        A vector of int64.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.flatnonzero(T.dmatrix("x")).type
    TensorType(int64, vector)
    """
    variable = as_tensor_variable(a)
    indices: tuple[Tensor, ...] = nonzero(flatten(variable) if variable.type.ndim else variable)
    return indices[0]


@operation("nonzero_values")
def nonzero_values(a: TensorLike) -> Tensor:
    """Return the elements that are not zero, as a vector in row-major order.

    Parameters
    ----------
    a : tensor_like
        With at least one dimension.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nonzero_values(T.dmatrix("x")).type
    TensorType(float64, vector)
    """
    variable = as_tensor_variable(a)
    return getitem(flatten(variable) if variable.type.ndim else variable, flatnonzero(variable))


batch_rule.register(Nonzero)(run_in_a_loop)
