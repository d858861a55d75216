"""Jumps of states as an operation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from theano_graph import Apply, batch_rule, describe, format_error, shape_rule

from ..._core._convert import as_tensor_variable
from ..._core._dtypes import INTEGER_DTYPES, TensorLike
from ..._core._ops import DiscreteOp, run_in_a_loop
from ..._core._type import Tensor, tensor_type
from ..._errors import ShapeError
from ._recurrence import mat_vec_mod


class DotModulo(DiscreteOp):
    """Two products of a matrix and a vector, each modulo its number, as one vector: ``A s mod m``, ``A2 s2 mod m2``.

    Products of numbers below 2**31 do not overflow.

    Examples
    --------
    >>> from theano.sandbox import rng_mrg
    >>> rng_mrg.DotModulo()([[2, 1]], [5, 6], 7, [[1, 1]], [3, 4], 5).eval()
    array([2, 2], dtype=int32)
    """

    __props__ = ()

    def make_node(
        self, A: TensorLike, s: TensorLike, m: TensorLike, A2: TensorLike, s2: TensorLike, m2: TensorLike
    ) -> Apply[Self, Tensor]:
        """Apply to matrix, vector and modulus of either product; all hold integers.

        Raises
        ------
        ShapeError
            If an operand has other dimensions, or is not of an integer dtype.
        """
        inputs = [as_tensor_variable(v) for v in (A, s, m, A2, s2, m2)]
        for variable, ndim in zip(inputs, (2, 1, 0, 2, 1, 0), strict=True):
            if variable.type.ndim != ndim or variable.type.dtype not in INTEGER_DTYPES:
                raise ShapeError(
                    format_error(
                        "DotModulo takes a matrix, a vector and a number twice, all of integers",
                        context=[describe(variable)],
                        hint="cast it to int64, or index it",
                    )
                )
        lengths = [inputs[i].type.shape[0] for i in (0, 3)]
        total = None if None in lengths else sum(n for n in lengths if n is not None)
        return Apply(self, inputs, [tensor_type("int32", (total,)).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Compute with NumPy."""
        first, s, m, second, s2, m2 = inputs
        halves = mat_vec_mod(first, s, int(m)), mat_vec_mod(second, s2, int(m2))
        output_storage[0][0] = np.concatenate(halves)


@shape_rule.register(DotModulo)
def _shape(node: Apply[DotModulo, Tensor], input_shapes: list[Any]) -> list[Any]:
    return [(input_shapes[0][0] + input_shapes[3][0],)]


batch_rule.register(DotModulo)(run_in_a_loop)
