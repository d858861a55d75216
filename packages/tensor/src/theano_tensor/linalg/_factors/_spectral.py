"""Second derivatives of functions of eigenvalues or singular values that take these alike.

The gradient of such a function by the matrix is ``v @ diag(g) @ v.T``, with the gradient g by the values. What that
changes by depends on ``(g[j] - g[i]) / (w[j] - w[i])``: for equal values both are zero, and the limit is a second
derivative by the values. See Lewis and Sendov (2001), "Twice differentiable spectral functions".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from theano_graph import Apply, Variable, ancestors, batch_rule, pullback, pushforward

from ..._core._convert import as_tensor_variable
from ..._core._ops import all_stacked
from ..._core._type import Tensor
from ...creation import arange
from ...elemwise import abs_, and_, cast, dimshuffle, eq, le, or_, switch
from ...extra_ops import diagonal
from ...gradient import DisconnectedType, GradientGate, Lop, derived_pushforward
from ...linear import matmul
from ...shape import shape_i
from .._matrices._operands import (
    differences,
    gradient_of_triangle,
    places,
    scaled_columns,
    size_of,
    total_of,
    transposed,
)


class SpectralGate(GradientGate):
    """The first input, ``left @ diag(g) @ right``: the gradient of a function of the values of a matrix.

    The inputs are that, the matrix, the gradient g by its values, the values and the vectors on both sides. Where g is
    computed from the values, derivatives are right for equal ones, too, if the function takes these alike.

    Parameters
    ----------
    triangle : {"L", "U", None}
        The triangle of the symmetric matrix that is read; None for singular values.
    """

    __props__ = ("triangle",)

    def __init__(self, triangle: str | None) -> None:
        self.triangle = triangle

    def make_node(self, *inputs: Any) -> Apply[Self]:
        """Apply the op to a product and what it is made of."""
        parts = [as_tensor_variable(v) for v in inputs]
        return Apply(self, parts, [parts[0].type()])

    def infer_shape(self, node: Apply[Self], shapes: Sequence[Any]) -> Sequence[Any]:
        """Return the shape of the product."""
        return [shapes[0]]

    def curvature(self, node: Apply[Self]) -> tuple[Tensor, Tensor] | None:
        """Return products of second derivatives by the values with 0, 1, 2... and with ones; None without any."""
        _, x, g, values, *_ = node.inputs
        same = [v for v in ancestors([g], [x, values]) if v is values or _is_computed_alike(v, values)]
        if not same:
            return None
        ones = as_tensor_variable(g).zeros_like() + np.ones((), g.type.dtype)
        numbers = ones * cast(arange(shape_i(ones, ones.type.ndim - 1)), g.type.dtype)
        by_numbers, by_ones = (total_of(Lop(g, same, p, disconnected_inputs="ignore")) for p in (numbers, ones))
        assert by_numbers is not None and by_ones is not None, "of one variable at least"
        return by_numbers, by_ones

    def change(self, node: Apply[Self], direction: Tensor, curvature: tuple[Tensor, Tensor]) -> Tensor:
        """Return what the product changes by with the vectors, as the matrix goes in a direction; it is its adjoint."""
        _, _, g, values, left, right = (as_tensor_variable(v) for v in node.inputs)
        half = np.asarray(0.5, g.type.dtype)
        left_t, right_t = transposed(left), transposed(right)
        inner = matmul(matmul(left_t, direction), right_t)
        even = (inner + transposed(inner)) * half * _quotients(g, values, curvature)
        if self.triangle is not None:
            return matmul(matmul(left, even), right)
        odd = (inner - transposed(inner)) * half * _quotients_of_sums(g, values, curvature[1])
        ratios = _ratios(g, values, curvature[1])
        beside = direction - matmul(left, matmul(left_t, direction))
        across = direction - matmul(matmul(direction, right_t), right)
        return (
            matmul(matmul(left, even + odd), right)
            + matmul(scaled_columns(matmul(beside, right_t), ratios), right)
            + matmul(scaled_columns(left, ratios), matmul(left_t, across))
        )


def _is_computed_alike(variable: Variable, values: Variable) -> bool:
    """Tell whether a variable has the values of the same matrix from another node."""
    one, other = variable.owner, values.owner
    if one is None or other is None or type(one.op) is not type(other.op) or one.inputs != other.inputs:
        return False
    return as_tensor_variable(variable).type.ndim == as_tensor_variable(values).type.ndim


def _step(values: Tensor) -> Any:
    return np.asarray(np.finfo(values.type.dtype).eps * 16, values.type.dtype)


def _limited(change: Tensor, gap: Tensor, limit: Tensor, near: Tensor, sizes: Tensor) -> Tensor:
    """Return ``change / gap``, and the limit near 0, where the change is as small as that says."""
    one, two = np.ones((), gap.type.dtype), np.asarray(2, gap.type.dtype)
    use = and_(near, le(abs_(change), two * abs_(limit * gap) + _step(gap) * sizes))
    result: Tensor = switch(use, limit, change / switch(use, one, gap))
    return result


def _quotients(g: Tensor, values: Tensor, curvature: tuple[Tensor, Tensor]) -> Tensor:
    """Return ``(g[j] - g[i]) / (values[j] - values[i])`` off the diagonal."""
    dtype = values.type.dtype
    gaps = differences(values)
    rows, columns = (cast(p, dtype) for p in places(gaps))
    diagonal_ = eq(rows, columns)
    one, zero, half = np.ones((), dtype), np.zeros((), dtype), np.asarray(0.5, dtype)
    # With numbers as the factors, a pair (i, j) has -d, d about its middle: the mean of both second derivatives.
    by_numbers, by_ones = (differences(c) for c in curvature)
    limit = (by_numbers - by_ones * (rows + columns) * half) / switch(diagonal_, one, columns - rows)
    root = np.asarray(np.sqrt(np.finfo(dtype).eps), dtype)
    near = le(abs_(gaps), root * _sums(abs_(values)) + _step(values) * size_of(values))
    # Values on the diagonal differ by 0 from themselves, whatever they are.
    result: Tensor = switch(diagonal_, zero, _limited(differences(g), gaps, limit, or_(near, diagonal_), size_of(g)))
    return result


def _quotients_of_sums(g: Tensor, values: Tensor, by_ones: Tensor) -> Tensor:
    """Return ``(g[j] + g[i]) / (values[j] + values[i])`` off the diagonal."""
    sums = _sums(values)
    near = le(sums, _step(values) * size_of(values))
    half, zero = np.asarray(0.5, values.type.dtype), np.zeros((), values.type.dtype)
    result: Tensor = switch(eq(*places(sums)), zero, _limited(_sums(g), sums, _sums(by_ones) * half, near, size_of(g)))
    return result


def _ratios(g: Tensor, values: Tensor, by_ones: Tensor) -> Tensor:
    """Return ``g / values``."""
    sizes = [dimshuffle(s, list(range(s.type.ndim - 1))) for s in (size_of(values), size_of(g))]
    return _limited(g, values, by_ones, le(values, _step(values) * sizes[0]), sizes[1])


def _sums(values: Tensor) -> Tensor:
    """Return S with ``S[i, j] = values[j] + values[i]``."""
    ndim = values.type.ndim
    front = list(range(ndim - 1))
    return dimshuffle(values, [*front, "x", ndim - 1]) + dimshuffle(values, [*front, ndim - 1, "x"])


@batch_rule.register(SpectralGate)
def _batch(node: Apply[SpectralGate], inputs: list[Any], stacked: Sequence[bool]) -> list[Variable]:
    return [node.op(*all_stacked(inputs, stacked))]


@pullback.register(SpectralGate)
def _pullback(node: Apply[SpectralGate], cotangents: list[Variable]) -> list[Variable | None]:
    none = DisconnectedType()
    curvature = node.op.curvature(node)
    if curvature is None:
        # The gradient comes from outside: what the function is like is not known.
        return [cotangents[0], *(none() for _ in node.inputs[1:])]
    direction = as_tensor_variable(cotangents[0])
    _, _, _, _, left, right = node.inputs
    inner = matmul(matmul(transposed(left), direction), transposed(right))
    by_x, ndim = node.op.change(node, direction, curvature), inner.type.ndim
    if node.op.triangle is not None:
        by_x = gradient_of_triangle(by_x, node.op.triangle == "L")
    return [none(), by_x, diagonal(inner, 0, ndim - 2, ndim - 1), none(), none(), none()]


pushforward.register(SpectralGate)(derived_pushforward)
