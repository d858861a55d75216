"""Parts of tensors by basic indices: views, and tensors with such a part replaced or incremented."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano_graph import Apply, Op, Variable, compose, describe, pullback, pushforward, shape_rule
from theano_linker_c.scalar import upcast

from .._convert import as_tensor_variable, constant
from .._errors import IndexingError, ShapeError
from .._operators import operation
from .._type import TensorType
from .._variable import TensorVariable
from ..elemwise import cast, dimshuffle, maximum, minimum, switch
from ..reduce import sum as sum_over
from ..shape import ShapeOf, as_length, shape_i
from ._index import Entries, Slice, Symbol, as_python, fill_in, parse_index, static_result


class Subtensor(Op):
    """A part of a tensor, as a view: ``x[entries]``.

    Parameters
    ----------
    entries : tuple of (int, SYMBOL or Slice)
        One for each dimension from the left. Symbols stand for further inputs, integer scalars, in order.
    """

    __props__ = ("entries",)
    view_map = {0: [0]}

    def __init__(self, entries: Entries) -> None:
        self.entries = tuple(entries)

    def make_node(self, x: Any, *numbers: Any) -> Apply:
        """Apply to a tensor and the symbolic numbers of the index; IndexError if a number is out of a known range."""
        variable = as_tensor_variable(x)
        inputs = [as_length(n, "an index") for n in numbers]
        if len(self.entries) > variable.type.ndim:
            raise IndexingError(
                compose(
                    f"too many indices: {len(self.entries)} for {variable.type.ndim} dimensions",
                    where=[describe(variable)],
                )
            )
        try:
            shape = static_result(variable.type.shape, self.entries)
        except IndexError as error:
            raise IndexError(
                compose(str(error), where=[describe(variable)], mend="use an index below the length")
            ) from error
        return Apply(self, [variable, *inputs], [TensorType(variable.type.dtype, shape).make_variable()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        """Take the view; IndexError if a number is out of range."""
        x, *numbers = inputs
        try:
            output_storage[0][0] = np.asarray(x[fill_in(self.entries, numbers)])
        except IndexError as error:
            raise IndexError(compose(f"{error} (shape {x.shape})", where=[describe(node.inputs[0])])) from error

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """The result does not depend differentiably on the index."""
        return [[True]] + [[False]] * (len(node.inputs) - 1)

    def __str__(self) -> str:
        return f"Subtensor{{{_text(self.entries)}}}"


class IncSubtensor(Op):
    """A copy of a tensor in which a part is incremented, or replaced.

    Parameters
    ----------
    entries : tuple of (int, SYMBOL or Slice)
        Which part; see :class:`Subtensor`.
    set_instead_of_inc : bool
        Whether the part is replaced.
    """

    __props__ = ("entries", "set_instead_of_inc")

    def __init__(self, entries: Entries, set_instead_of_inc: bool = False) -> None:
        self.entries = tuple(entries)
        self.set_instead_of_inc = bool(set_instead_of_inc)

    def make_node(self, x: Any, y: Any, *numbers: Any) -> Apply:
        """Apply to a tensor, the new part (broadcast to it) and the symbolic numbers of the index."""
        variable, part = as_tensor_variable(x), as_tensor_variable(y)
        inputs = [as_length(n, "an index") for n in numbers]
        shape = static_result(variable.type.shape, self.entries)
        if upcast(variable.type.dtype, part.type.dtype) != variable.type.dtype:
            raise TypeError(
                compose(
                    f"a part of {part.type.dtype} cannot be put into a tensor of {variable.type.dtype} without loss",
                    where=[describe(variable), describe(part)],
                    mend=f"convert it: T.cast(y, '{variable.type.dtype}')",
                )
            )
        if part.type.ndim > len(shape):
            raise ShapeError(
                compose(
                    f"a part of {part.type.ndim} dimensions does not fit where {len(shape)} are indexed",
                    where=[describe(variable), describe(part)],
                )
            )
        for length, wanted in zip(reversed(part.type.shape), reversed(shape), strict=False):
            if length not in (None, 1) and wanted is not None and length != wanted:
                raise ShapeError(
                    compose(
                        f"a part of shape {part.type.shape} does not fit into {shape}",
                        where=[describe(variable), describe(part)],
                    )
                )
        return Apply(self, [variable, part, *inputs], [variable.type.make_variable()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        """Copy, then change the part; ValueError if the shapes do not fit."""
        x, y, *numbers = inputs
        result = x.copy()
        index = fill_in(self.entries, numbers)
        try:
            if self.set_instead_of_inc:
                result[index] = y
            else:
                result[index] += y
        except ValueError as error:
            raise ValueError(
                compose(
                    f"{error}",
                    where=[describe(v) for v in node.inputs[:2]],
                    mend="give the new part the shape of the indexed part",
                )
            ) from error
        output_storage[0][0] = result

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """The result does not depend differentiably on the index."""
        return [[True], [True]] + [[False]] * (len(node.inputs) - 2)

    def __str__(self) -> str:
        return f"IncSubtensor{{{'Set' if self.set_instead_of_inc else 'Inc'};{_text(self.entries)}}}"


def _text(entries: Entries) -> str:
    return ", ".join(entry.value if isinstance(entry, Symbol) else str(entry) for entry in entries)


@pullback.register(Subtensor)
def _pullback_part(node: Apply, cotangents: list[Variable]) -> list[Variable | None]:
    x, *numbers = node.inputs
    g = as_tensor_variable(cotangents[0])
    zeros = x.zeros_like(dtype=g.type.dtype)
    return [IncSubtensor(node.op.entries)(zeros, g, *numbers), *(None for _ in numbers)]


@pullback.register(IncSubtensor)
def _pullback_increment(node: Apply, cotangents: list[Variable]) -> list[Variable | None]:
    _, y, *numbers = node.inputs
    g = as_tensor_variable(cotangents[0])
    part = Subtensor(node.op.entries)(g, *numbers)
    gx = g
    if node.op.set_instead_of_inc:
        gx = IncSubtensor(node.op.entries, True)(g, constant(0, dtype=g.type.dtype), *numbers)
    return [gx, _sum_to(part, y), *(None for _ in numbers)]


def _sum_to(value: TensorVariable, like: TensorVariable) -> TensorVariable:
    extra = value.type.ndim - like.type.ndim
    if extra:
        value = sum_over(value, axis=list(range(extra)))
    stretched = [i for i, n in enumerate(like.type.shape) if n == 1 and value.type.shape[i] != 1]
    return sum_over(value, axis=stretched, keepdims=True) if stretched else value


@pushforward.register(Subtensor)
def _pushforward_part(node: Apply, tangents: list[Variable | None]) -> list[Variable | None]:
    return [None if tangents[0] is None else node.op(tangents[0], *node.inputs[1:])]


@pushforward.register(IncSubtensor)
def _pushforward_increment(node: Apply, tangents: list[Variable | None]) -> list[Variable | None]:
    (x, y, *numbers), (dx, dy, *_) = node.inputs, tangents
    if dx is None and dy is None:
        return [None]
    base = x.zeros_like() if dx is None else dx
    part = y.zeros_like() if dy is None else dy
    return [node.op(base, part, *numbers)]


@shape_rule.register(IncSubtensor)
def _shape_increment(node: Apply, input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[0]]


@shape_rule.register(Subtensor)
def _shape_part(node: Apply, input_shapes: list[Any]) -> list[Any]:
    x_shape = input_shapes[0]
    index = as_python(node.op.entries, node.inputs[1:])
    static = list(node.outputs[0].type.shape)
    result: list[Any] = []
    for length, entry in zip(x_shape, index, strict=False):
        if isinstance(entry, slice):
            known = static[len(result)]
            result.append(known if known is not None else _slice_length(length, entry))
    result.extend(x_shape[len(index) :])
    return [tuple(result)]


def _slice_length(length: Any, entry: slice) -> Any:
    """Return the number of elements of a slice of a dimension, as Python counts them, symbolically."""
    if entry == slice(None):
        return length
    n = as_tensor_variable(length)
    step = as_tensor_variable(1 if entry.step is None else entry.step)
    forward = entry.step is None or (isinstance(entry.step, int) and entry.step > 0)
    backward = isinstance(entry.step, int) and entry.step < 0

    def clipped(bound: Any, low: Any, high: Any, default: Any) -> TensorVariable:
        if bound is None:
            return as_tensor_variable(default)
        value = as_tensor_variable(bound)
        value = switch(value < 0, value + n, value)
        return minimum(maximum(value, low), high)

    up = maximum((clipped(entry.stop, 0, n, n) - clipped(entry.start, 0, n, 0) + step - 1) // step, 0)
    if forward:
        return cast(up, "int64")
    down = maximum(
        (clipped(entry.start, -1, n - 1, n - 1) - clipped(entry.stop, -1, n - 1, -1) - step - 1) // (-step), 0
    )
    return cast(down if backward else switch(step > 0, up, down), "int64")


@operation("getitem")
def getitem(x: Any, index: Any) -> TensorVariable:
    """Return ``x[index]`` for a basic index: integers, slices, None and Ellipsis; numbers and bounds may be symbolic.

    Raises
    ------
    IndexingError
        If the index is of another kind.
    IndexError
        If a number is out of a known range.
    """
    variable = as_tensor_variable(x)
    parsed = parse_index(variable, index)
    part = variable
    owner = variable.owner
    if (
        owner is not None
        and isinstance(owner.op, ShapeOf)
        and len(parsed.entries) == 1
        and isinstance(parsed.entries[0], int)
    ):
        ndim = owner.inputs[0].type.ndim
        if -ndim <= parsed.entries[0] < ndim:
            part = shape_i(owner.inputs[0], parsed.entries[0] % ndim)
            return part if parsed.new_axes is None else dimshuffle(part, parsed.new_axes)
    if parsed.entries:
        part = Subtensor(parsed.entries)(variable, *parsed.inputs)
    return part if parsed.new_axes is None else dimshuffle(part, parsed.new_axes)


def set_subtensor(x: Any, y: Any, inplace: bool = False, tolerate_inplace_aliasing: bool = False) -> TensorVariable:
    """Return the indexed tensor with the part `x` replaced by `y`.

    Parameters
    ----------
    x : TensorVariable
        The result of indexing: ``r[10:]``.
    y : tensor_like
        Broadcast to the part.
    inplace, tolerate_inplace_aliasing : bool
        Accepted; memory is reused where that is safe.

    Returns
    -------
    TensorVariable
        Of the type of the tensor that was indexed.

    Raises
    ------
    TypeError
        If `x` is not the result of indexing, or `y` would lose precision.

    Examples
    --------
    >>> from theano_tensor import ivector
    >>> r = ivector("r")
    >>> set_subtensor(r[10:], 5).type
    TensorType(int32, vector)
    """
    return inc_subtensor(x, y, set_instead_of_inc=True)


def inc_subtensor(
    x: Any, y: Any, inplace: bool = False, set_instead_of_inc: bool = False, tolerate_inplace_aliasing: bool = False
) -> TensorVariable:
    """Return the indexed tensor with `y` added to the part `x`; see :func:`set_subtensor`."""
    variable = as_tensor_variable(x)
    owner = variable.owner
    part = as_tensor_variable(y)
    if owner is not None and isinstance(owner.op, Subtensor):
        whole, *numbers = owner.inputs
        result: TensorVariable = IncSubtensor(owner.op.entries, set_instead_of_inc)(whole, part, *numbers)
        return result
    raise TypeError(
        compose(
            f"`{variable}` is not the result of indexing, so no part of a tensor can be replaced",
            where=[describe(variable)],
            mend="pass an indexed tensor: set_subtensor(x[0:10], y)",
        )
    )


__all__ = ["IncSubtensor", "Slice", "Subtensor", "getitem", "inc_subtensor", "set_subtensor"]
