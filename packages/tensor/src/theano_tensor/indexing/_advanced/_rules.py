"""Gradients, tangents and shapes of advanced indexing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from theano_graph import Apply, Constant, Variable, pullback, pushforward, shape_rule

from ..._core._convert import as_tensor_variable, constant
from ..._core._type import Tensor
from ...creation import Alloc, arange
from ...elemwise import cast, eq, switch, zeros_like
from ...reduce import sum as sum_over
from ...shape import shape_i, size
from .._layout import Layout, array_ndim, array_shape, is_mask, layout
from .._parts import sum_to
from .._subtensor import slice_length
from ._change import AdvancedIncSubtensor, AdvancedIncSubtensor1, change_of, read_of
from ._read import AdvancedSubtensor, AdvancedSubtensor1

SparseGradient = Callable[[Variable, Variable, Variable], Variable]
_SPARSE: list[SparseGradient] = []


def register_sparse_gradient(function: SparseGradient) -> SparseGradient:
    """Say how the gradient of ``x[ilist]`` becomes a sparse matrix; the last registration counts.

    Parameters
    ----------
    function : callable
        ``(x, rows, ilist) -> sparse variable`` of the shape of `x`, with `rows` added at `ilist`.

    Returns
    -------
    callable
        `function`, so that this is a decorator.
    """
    _SPARSE.append(function)
    return function


@pullback.register(AdvancedSubtensor)
def _pullback_part(node: Apply[AdvancedSubtensor, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    x, *index = node.inputs
    op, g = node.op, as_tensor_variable(cotangents[0])
    nothing: list[Variable | None] = [None] * len(index)
    if isinstance(op, AdvancedSubtensor1) and op.sparse_grad and _SPARSE:
        return [_SPARSE[-1](x, g, index[0]), *nothing]
    return [change_of(op)(zeros_like(x, dtype=g.type.dtype), g, *index), *nothing]


@pullback.register(AdvancedIncSubtensor)
def _pullback_change(node: Apply[AdvancedIncSubtensor, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    _, y, *index = node.inputs
    op, g = node.op, as_tensor_variable(cotangents[0])
    part = read_of(op)(g, *index)
    gx = g
    if op.set_instead_of_inc:
        gx = change_of(read_of(op), True)(g, constant(0, dtype=g.type.dtype), *index)
    if (op.set_instead_of_inc or op.ignore_duplicates) and not _without_duplicates(op, index):
        part = part * cast(_last_writers(node, part), g.type.dtype)
    return [gx, sum_to(part, as_tensor_variable(y)), *(None for _ in index)]


def _without_duplicates(op: AdvancedIncSubtensor, index: Sequence[Variable]) -> bool:
    """Tell whether it is known that no element is indexed twice: one mask, or one constant array."""
    arrays = [v for v in index if getattr(v.type, "ndim", 0)]
    if len(arrays) != 1:
        return False
    (array,) = arrays
    if is_mask(array):
        return True
    if not isinstance(array, Constant):
        return False
    return bool(np.unique(array.data).size == array.data.size and (array.data >= 0).all())


def _last_writers(node: Apply, part: Tensor) -> Tensor:
    """Return which elements of the part are still there after all of it has been written.

    Each element writes its own number; whoever finds it again was last.
    """
    x, _, *index = node.inputs
    op = node.op
    if isinstance(op, AdvancedIncSubtensor1):
        numbers = arange(shape_i(part, 0))
        stamps = AdvancedIncSubtensor1(set_instead_of_inc=True)(
            Alloc()(constant(np.int64(-1)), shape_i(x, 0)), numbers, *index
        )
        won = eq(AdvancedSubtensor1()(stamps, *index), numbers)
        return won.dimshuffle([0, *["x"] * (part.type.ndim - 1)])
    numbers = arange(size(part)).reshape(part.shape, ndim=part.type.ndim)
    stamps = change_of(read_of(op), True)(zeros_like(x, dtype="int64"), numbers, *index)
    return eq(read_of(op)(stamps, *index), numbers)


@pushforward.register(AdvancedSubtensor)
def _pushforward_part(node: Apply[AdvancedSubtensor, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    return [None if tangents[0] is None else node.op(tangents[0], *node.inputs[1:])]


@pushforward.register(AdvancedIncSubtensor)
def _pushforward_change(
    node: Apply[AdvancedIncSubtensor, Tensor], tangents: list[Variable | None]
) -> list[Variable | None]:
    (x, y, *index), (dx, dy, *_) = node.inputs, tangents
    if dx is None and dy is None:
        return [None]
    base = zeros_like(x) if dx is None else dx
    part = zeros_like(y) if dy is None else dy
    plain = change_of(read_of(op := node.op), op.set_instead_of_inc, op.ignore_duplicates)
    return [plain(base, part, *index)]


@shape_rule.register(AdvancedIncSubtensor)
def _shape_change(node: Apply[AdvancedIncSubtensor, Tensor], input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[0]]


@shape_rule.register(AdvancedSubtensor)
def _shape_part(node: Apply[AdvancedSubtensor, Tensor], input_shapes: list[Any]) -> list[Any]:
    static = node.outputs[0].type.shape
    plan = layout(node.op.entries, node.inputs[1:], node.inputs[0].type.ndim)
    lengths = [
        *(_plain_length(part, input_shapes[0]) for part in plan.before),
        *(_array_length(plan, d) for d in range(plan.ndim)),
        *(_plain_length(part, input_shapes[0]) for part in plan.after),
    ]
    return [
        tuple(
            static_length if static_length is not None else make()
            for static_length, make in zip(static, lengths, strict=True)
        )
    ]


def _plain_length(part: Any, x_shape: Sequence[Any]) -> Callable[[], Any]:
    return lambda: 1 if part is None else slice_length(x_shape[part[0]], part[1])


def _array_length(found: Layout, position: int) -> Callable[[], Any]:
    """Return the length of a dimension of the index arrays as a function: that of one which does not broadcast."""

    def length() -> Any:
        total: Any = None
        for _, item in found.arrays:
            at = position - found.ndim + array_ndim(item)
            if at < 0 or array_shape(item)[at] == 1:
                continue
            if not is_mask(item):
                return shape_i(item, at)
            count = sum_over(cast(item, "int64"))
            total = count if total is None else switch(eq(total, 1), count, total)
        return 1 if total is None else total

    return length
