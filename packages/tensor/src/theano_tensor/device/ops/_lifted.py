"""Ops that devices compute as expressions of others, and choices between arrays on devices."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from theano_gpuarray.types import host_from_gpu, is_host_array
from theano_graph import Variable

from ..._core._convert import as_tensor_variable
from ..._core._ops import CheckAndRaise
from ..._core._type import Tensor
from ...control import IfElse
from ...elemwise import maximum, mod, switch
from ...extra_ops import FillDiagonal, FillDiagonalOffset
from ...extra_ops._diagonal import diagonal_mask
from ...indexing import inc_subtensor
from ...joining import join
from ...linear import batched_dot
from ...nnet.blocksparse import SparseBlockGemv, SparseBlockOuter
from ...on_devices import device_expression, lifters
from ...shape import Roll, shape_i, static_int
from .._convert import as_gpuarray_variable

__all__ = ["blocks_outer", "blocks_product"]

Inputs = Sequence[Any]


@device_expression.register(Roll)
def _roll(op: Roll, inputs: Inputs) -> Tensor | None:
    x, shift, where = inputs
    axis = static_int(where)
    if axis is None:
        return None
    n = shape_i(x, axis)
    begin = n - mod(shift, maximum(n, 1))
    before = (slice(None),) * axis
    return join(axis, x[(*before, slice(begin, None))], x[(*before, slice(None, begin))])


@device_expression.register(FillDiagonal)
def _fill(op: FillDiagonal, inputs: Inputs) -> Tensor:
    x, value = inputs
    return switch(diagonal_mask(x, 0), value, x)


@device_expression.register(FillDiagonalOffset)
def _fill_offset(op: FillDiagonalOffset, inputs: Inputs) -> Tensor:
    x, value, offset = inputs
    return switch(diagonal_mask(x, offset), value, x)


def blocks_product(o: Any, W: Any, h: Any, first: Any, second: Any) -> Tensor:
    """Return the result of :class:`~theano_tensor.nnet.blocksparse.SparseBlockGemv`, as one batch of products."""
    target, matrices, vectors, rows, columns = map(as_tensor_variable, (o, W, h, first, second))
    chosen = matrices[rows.dimshuffle(0, 1, "x"), columns.dimshuffle(0, "x", 1)].dimshuffle(0, 1, 3, 2, 4)
    batch, n_first, width, n_second, height = (shape_i(chosen, d) for d in range(5))
    long = chosen.reshape((batch, n_first * width, n_second * height))
    products = batched_dot(vectors.reshape((batch, 1, n_first * width)), long)
    return target + products.reshape((batch, n_second, height))


def blocks_outer(o: Any, x: Any, y: Any, first: Any, second: Any, alpha: Any) -> Tensor:
    """Return the result of :class:`~theano_tensor.nnet.blocksparse.SparseBlockOuter`, as one addition at indices."""
    target, left, right, rows, columns = map(as_tensor_variable, (o, x, y, first, second))
    products = alpha * left.dimshuffle(0, 1, "x", 2, "x") * right.dimshuffle(0, "x", 1, "x", 2)
    return inc_subtensor(target[rows.dimshuffle(0, 1, "x"), columns.dimshuffle(0, "x", 1)], products)


@device_expression.register(SparseBlockGemv)
def _gemv(op: SparseBlockGemv, inputs: Inputs) -> Tensor:
    return blocks_product(*inputs)


@device_expression.register(SparseBlockOuter)
def _outer(op: SparseBlockOuter, inputs: Inputs) -> Tensor:
    return blocks_outer(*inputs)


@lifters.register(CheckAndRaise)
def _check(op: CheckAndRaise, name: Hashable, inputs: Inputs, outputs: Sequence[Variable]) -> list[Variable] | None:
    """Let an array on the device pass where conditions of the host hold."""
    value, *conditions = inputs
    if not _is_array(value) or not _was_on_device(value):
        return None
    return list(op.make_node(as_gpuarray_variable(value, name), *conditions).outputs)


@lifters.register(IfElse)
def _choice(op: IfElse, name: Hashable, inputs: Inputs, outputs: Sequence[Variable]) -> list[Variable] | None:
    """Choose between arrays on the device, where a branch has one; numbers of the host stay there."""
    condition, *branches = inputs
    if not any(map(_was_on_device, branches)):
        return None
    pairs = list(zip(branches[: op.n_outs], branches[op.n_outs :], strict=True))
    moved = [
        tuple(as_gpuarray_variable(v, name) for v in pair) if all(map(_is_array, pair)) else pair for pair in pairs
    ]
    choice = IfElse(op.n_outs, op.as_view, gpu=True, name=op.name)
    results: list[Variable] = choice.make_node(condition, *(a for a, _ in moved), *(b for _, b in moved)).outputs
    return results


def _was_on_device(variable: Variable) -> bool:
    return variable.owner is not None and variable.owner.op == host_from_gpu


def _is_array(variable: Variable) -> bool:
    return is_host_array(variable) and getattr(variable.type, "ndim", 0) > 0
