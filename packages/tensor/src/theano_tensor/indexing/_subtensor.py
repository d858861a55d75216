"""Parts of tensors by basic indices: views, and tensors with such a part replaced or incremented."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from theano_graph import Apply, Op, Variable, describe, format_error, pullback, pushforward, shape_rule
from theano_linker_c.program import overwriting_form

from .._core._convert import as_tensor_variable, constant
from .._core._dtypes import DISCRETE_DTYPES, Array, TensorLike
from .._core._ops import TensorOp, refused
from .._core._type import StaticShape, Tensor, TensorConstant, tensor_type
from .._errors import IndexingError, PartError
from ..elemwise import cast, maximum, minimum, switch
from ..reduce import sum as sum_over
from ..shape import Integers, as_length, integers_in, known_integers
from .entries import Entries, as_entries, as_python, entries_text, fill_in, index_types, static_result

# ---- The common part of ops that change a part of a tensor: which values fit, and the sums of their gradients


def fitting_part(x: Tensor, part: Tensor, shape: StaticShape, *, replaces: bool) -> Tensor:
    """Return a part in the dtype of `x`; refuse one that does not fit where `x` is indexed, into static `shape`.

    Parameters
    ----------
    x, part : Tensor
    shape : tuple of (int or None)
    replaces : bool
        Whether the part is replaced. In a tensor of truth values integers may: numbers other than 0 are
        true, as in products of masks.

    Raises
    ------
    TypeError
        If its numbers are of a kind that `x` cannot have, as fractions in a tensor of integers.
    PartError
        If its shape is known not to fit.
    """
    # As NumPy assigns: digits may be lost, the kind of number may not.
    truth = replaces and x.type.dtype == "bool" and part.type.dtype in DISCRETE_DTYPES
    if not truth and not np.can_cast(part.type.dtype, x.type.dtype, "same_kind"):
        raise TypeError(
            format_error(
                f"a part of {part.type.dtype} cannot be put into a tensor of {x.type.dtype}: it is another kind",
                context=[describe(x), describe(part)],
                hint=f"convert it: T.cast(y, '{x.type.dtype}')",
            )
        )
    if part.type.ndim > len(shape):
        raise PartError(
            format_error(
                f"a part of {part.type.ndim} dimensions does not fit where {len(shape)} are indexed",
                context=[describe(x), describe(part)],
                hint="index more dimensions, or reshape the part",
            )
        )
    for length, length_needed in zip(reversed(part.type.shape), reversed(shape), strict=False):
        if length not in (None, 1) and length_needed is not None and length != length_needed:
            error = PartError(
                format_error(
                    f"a part of shape {part.type.shape} does not fit into {shape}",
                    context=[describe(x), describe(part)],
                    hint="give the new part the shape of the indexed part",
                )
            )
            part = refused(error, part, [n if n == 1 else None for n in part.type.shape], x)
            break
    if isinstance(part, TensorConstant) and part.type.dtype != x.type.dtype:
        return constant(part.data.astype(x.type.dtype), name=part.name)
    return cast(part, x.type.dtype)


def check_values(node: Apply, y: Array, shape: Sequence[int]) -> None:
    """Check the value of a part: only dimensions that are known to have length 1 broadcast.

    Raises
    ------
    ValueError
        If it does not fit into `shape`.
    """
    part = node.inputs[1]
    pattern = part.type.broadcastable
    fits = all(
        have == want or (pattern[len(pattern) - 1 - k] and have == 1)
        for k, (have, want) in enumerate(zip(reversed(y.shape), reversed(shape), strict=False))
    )
    if not fits:
        raise ValueError(
            format_error(
                f"a part of shape {y.shape} does not fit into the indexed part of shape {tuple(shape)}",
                context=[describe(v) for v in node.inputs[:2]],
                hint="give the new part the shape of the indexed part; only a dimension that is declared "
                "broadcastable broadcasts (T.addbroadcast)",
            )
        )


def sum_to(value: Tensor, like: Tensor) -> Tensor:
    """Sum over the dimensions along which `like` was broadcast."""
    extra = value.type.ndim - like.type.ndim
    if extra:
        value = sum_over(value, axis=list(range(extra)))
    broadcasted = [i for i, n in enumerate(like.type.shape) if n == 1 and value.type.shape[i] != 1]
    return sum_over(value, axis=broadcasted, keepdims=True) if broadcasted else value


def out_of_range(error: IndexError, node: Apply, x: Array) -> IndexError:
    """Return an error of NumPy with the tensor that was indexed, and a hint."""
    text = str(error.args[0]) if error.args else str(error)
    if "Hint" in text:
        return error
    return IndexError(
        format_error(
            f"{text} (shape {x.shape})",
            context=[describe(v) for v in node.inputs[:1]],
            hint="use indices from -length up to length - 1, or T.clip them",
        )
    )


def index_pattern(node: Apply, differentiable: int) -> list[list[bool]]:
    """Return the connection pattern of an op whose first inputs are differentiable, the others an index."""
    return [[i < differentiable] for i in range(len(node.inputs))]


# ---- Parts of tensors by basic indices: views, and tensors with such a part replaced or incremented


class Subtensor(TensorOp):
    """A part of a tensor, as a view: ``x[entries]``.

    Parameters
    ----------
    entries : tuple of (int, SYMBOL or Slice)
        One for each dimension from the left. Symbols stand for further inputs, integer scalars, in order. Also taken as
        Theano 1.0 has it, with scalar types for the inputs, and Python's slices.
    """

    __props__ = ("entries",)
    view_map = {0: [0]}

    def __init__(self, entries: Any) -> None:
        self.entries = as_entries(entries)

    @property
    def idx_list(self) -> tuple[Any, ...]:
        """The index as Theano 1.0 has it: the type of a scalar where an input stands, numbers, and Python's slices."""
        return index_types(self.entries)

    def make_node(self, x: TensorLike, *numbers: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a tensor and the symbolic numbers of the index."""
        variable = as_tensor_variable(x)
        inputs = [as_length(n, "an index") for n in numbers]
        variable, shape = indexed(variable, self.entries, inputs)
        return Apply(self, [variable, *inputs], [tensor_type(variable.type.dtype, shape).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Take the view; IndexError if a number is out of range."""
        x, *numbers = inputs
        try:
            output_storage[0][0] = np.asarray(x[fill_in(self.entries, numbers)])
        except IndexError as error:
            raise out_of_range(error, node, x) from error

    def connection_pattern(self, node: Apply[Self, Tensor]) -> list[list[bool]]:
        """The result does not depend differentiably on the index."""
        return index_pattern(node, 1)

    def __str__(self) -> str:
        return f"Subtensor{{{entries_text(self.entries)}}}"


class IncSubtensor(TensorOp):
    """A copy of a tensor in which a part is incremented, or replaced.

    Parameters
    ----------
    entries : tuple of (int, SYMBOL or Slice)
        Which part; see :class:`Subtensor`.
    inplace : bool
        Whether the tensor itself is changed.
    set_instead_of_inc : bool
        Whether the part is replaced.
    destroyhandler_tolerate_aliased : sequence of (int, int), optional
        Pairs of inputs of which the first is overwritten although it shares memory with the second.
    """

    __props__ = ("entries", "inplace", "set_instead_of_inc")

    def __init__(
        self,
        entries: Any,
        inplace: bool = False,
        set_instead_of_inc: bool = False,
        destroyhandler_tolerate_aliased: Sequence[tuple[int, int]] | None = None,
    ) -> None:
        self.entries = as_entries(entries)
        self.inplace = bool(inplace)
        self.set_instead_of_inc = bool(set_instead_of_inc)
        if self.inplace:
            self.destroy_map = {0: [0]}
        self.destroyhandler_tolerate_aliased = list(destroyhandler_tolerate_aliased or ())

    @property
    def idx_list(self) -> list[Any]:
        """The index as Theano 1.0 has it; see :class:`Subtensor`."""
        return list(index_types(self.entries))

    def make_node(self, x: TensorLike, y: TensorLike, *numbers: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a tensor, the new part (broadcast to it) and the symbolic numbers of the index."""
        variable, part = as_tensor_variable(x), as_tensor_variable(y)
        inputs = [as_length(n, "an index") for n in numbers]
        target, shape = indexed(variable, self.entries, inputs)
        part = fitting_part(target, part, shape, replaces=self.set_instead_of_inc)
        return Apply(self, [target, part, *inputs], [variable.type.make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Copy, then change the part; ValueError if the shapes do not fit."""
        x, y, *numbers = inputs
        index = fill_in(self.entries, numbers)
        try:
            shape = x[index].shape
        except IndexError as error:
            raise out_of_range(error, node, x) from error
        check_values(node, y, shape)
        result = x if self.inplace else x.copy()
        if self.set_instead_of_inc:
            result[index] = y
        else:
            result[index] += y
        output_storage[0][0] = result

    def connection_pattern(self, node: Apply[Self, Tensor]) -> list[list[bool]]:
        """The result does not depend differentiably on the index."""
        return index_pattern(node, 2)

    def __str__(self) -> str:
        what = f"{'Inplace' * self.inplace}{'Set' if self.set_instead_of_inc else 'Inc'}"
        return f"IncSubtensor{{{what};{entries_text(self.entries)}}}"


def indexed(x: Tensor, entries: Entries, inputs: Sequence[Variable]) -> tuple[Tensor, StaticShape]:
    """Return `x` and the static shape of the part of it; where a number is out of a known range, what stands for x."""
    if len(entries) > x.type.ndim:
        raise IndexingError(
            format_error(
                f"too many indices for array: {len(entries)} for {x.type.ndim} dimensions",
                context=[describe(x)],
                hint="use at most x.ndim indices",
            )
        )
    try:
        return x, static_result(x.type.shape, entries, inputs)
    except IndexError as error:
        text = format_error(str(error), context=[describe(x)], hint="use an index below the length")
        x = refused(IndexError(text), x, [None] * x.type.ndim, *inputs)
        return x, static_result(x.type.shape, entries, inputs)


@known_integers.register(Subtensor)
def _known_integers(op: Subtensor, node: Apply, depth: int) -> Integers | None:
    integers = integers_in(node.inputs[0], depth) if len(node.inputs) == len(op.entries) == 1 else None
    if integers is None:
        return None
    part = integers[fill_in(op.entries, ())[0]]
    return part if isinstance(part, list) else [part]


@pullback.register(Subtensor)
def _pullback_part(node: Apply[Subtensor, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    x, *numbers = node.inputs
    g = as_tensor_variable(cotangents[0])
    zeros = x.zeros_like(dtype=g.type.dtype)
    return [IncSubtensor(node.op.entries)(zeros, g, *numbers), *(None for _ in numbers)]


@pullback.register(IncSubtensor)
def _pullback_increment(node: Apply[IncSubtensor, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    _, y, *numbers = node.inputs
    g = as_tensor_variable(cotangents[0])
    part = Subtensor(node.op.entries)(g, *numbers)
    gx = g
    if node.op.set_instead_of_inc:
        gx = IncSubtensor(node.op.entries, set_instead_of_inc=True)(g, constant(0, dtype=g.type.dtype), *numbers)
    return [gx, sum_to(part, y), *(None for _ in numbers)]


@pushforward.register(Subtensor)
def _pushforward_part(node: Apply[Subtensor, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    return [None if tangents[0] is None else node.op(tangents[0], *node.inputs[1:])]


@pushforward.register(IncSubtensor)
def _pushforward_increment(node: Apply[IncSubtensor, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    (x, y, *numbers), (dx, dy, *_) = node.inputs, tangents
    if dx is None and dy is None:
        return [None]
    base = x.zeros_like() if dx is None else dx
    part = y.zeros_like() if dy is None else dy
    plain = IncSubtensor(node.op.entries, set_instead_of_inc=node.op.set_instead_of_inc)
    return [plain(base, part, *numbers)]


@overwriting_form.register(IncSubtensor)
def _overwriting(op: Op, given: int) -> Op | None:
    if type(op) is not IncSubtensor or given:
        return None
    return IncSubtensor(op.entries, True, op.set_instead_of_inc)


@shape_rule.register(IncSubtensor)
def _shape_increment(node: Apply[IncSubtensor, Tensor], input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[0]]


@shape_rule.register(Subtensor)
def _shape_part(node: Apply[Subtensor, Tensor], input_shapes: list[Any]) -> list[Any]:
    x_shape = input_shapes[0]
    index = as_python(node.op.entries, node.inputs[1:])
    static = list(node.outputs[0].type.shape)
    result: list[Any] = []
    for length, entry in zip(x_shape, index, strict=False):
        if isinstance(entry, slice):
            known = static[len(result)]
            result.append(known if known is not None else slice_length(length, entry))
    result.extend(x_shape[len(index) :])
    return [tuple(result)]


def slice_length(length: Any, entry: slice) -> Any:
    """Return the number of elements of a slice of a dimension, as Python counts them, symbolically."""
    if entry == slice(None):
        return length
    n = cast(as_tensor_variable(length), "int64")
    step = cast(as_tensor_variable(1 if entry.step is None else entry.step), "int64")
    forward = entry.step is None or (isinstance(entry.step, int) and entry.step > 0)
    backward = isinstance(entry.step, int) and entry.step < 0

    def clipped(bound: TensorLike | None, low: TensorLike, high: TensorLike, default: TensorLike) -> Tensor:
        if bound is None:
            return as_tensor_variable(default)
        value = cast(as_tensor_variable(bound), "int64")
        value = switch(value < 0, value + n, value)
        return minimum(maximum(value, low), high)

    up = maximum((clipped(entry.stop, 0, n, n) - clipped(entry.start, 0, n, 0) + step - 1) // step, 0)
    if forward:
        return cast(up, "int64")
    down = maximum(
        (clipped(entry.start, -1, n - 1, n - 1) - clipped(entry.stop, -1, n - 1, -1) - step - 1) // (-step), 0
    )
    return cast(down if backward else switch(step > 0, up, down), "int64")
