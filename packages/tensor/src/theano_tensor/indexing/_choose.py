"""Elements chosen from several tensors by number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from theano_graph import Apply, Variable, batch_rule, describe, format_error, pullback, pushforward, shape_rule
from theano_linker_c.scalar import upcast

from .._core._convert import as_tensor_variable
from .._core._dtypes import INTEGER_DTYPES, TensorLike
from .._core._ops import CheckAndRaise, TensorOp, run_in_a_loop
from .._core._type import Tensor, tensor_type
from .._errors import DTypeError, ShapeError
from .._protocols._methods import operation
from ..creation import arange
from ..elemwise import (
    and_,
    broadcast_static,
    cast,
    check_broadcast,
    clip,
    dimshuffle,
    eq,
    ge,
    lt,
    mod,
    refused_broadcast,
    switch,
)
from ..reduce import all as all_of
from ..shape import shape_i
from ._getitem import check_mode, getitem
from ._subtensor import sum_to


class Choose(TensorOp):
    """Elements of the choices, by number: ``result[i] = choices[a[i]][i]``, all broadcast against each other.

    Inputs are the numbers and the choices, with one number of dimensions.

    Parameters
    ----------
    mode : {"raise", "wrap", "clip"}
        The treatment of numbers out of range.
    """

    __props__ = ("mode",)

    def __init__(self, mode: str = "raise") -> None:
        check_mode("choose", mode)
        self.mode = mode

    def make_node(self, a: TensorLike, *choices: TensorLike) -> Apply[Self, Tensor]:
        """Apply to numbers and choices."""
        index, options = _numbers(a), [as_tensor_variable(c) for c in choices]
        if not options:
            raise ShapeError(format_error("choose: there is nothing to choose from", hint="give at least one choice"))
        dtype = upcast(*(c.type.dtype for c in options))
        ndim = max(v.type.ndim for v in (index, *options))
        inputs = [_padded(v, ndim) for v in (index, *(cast(c, dtype) for c in options))]
        try:
            shape = broadcast_static("choose", inputs, [index, *options])
        except ShapeError as error:
            return refused_broadcast(error, inputs, [dtype])
        return Apply(self, inputs, [tensor_type(dtype, shape).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Choose; ValueError for a number out of range or shapes that do not fit."""
        index, *choices = inputs
        shape = check_broadcast([v.shape for v in inputs], [v.type.broadcastable for v in node.inputs])
        count = len(choices)
        outside = (index < 0) | (index >= count)
        if self.mode == "raise" and outside.any():
            raise ValueError(
                format_error(
                    f"choose: number {index[outside].flat[0]} is out of range for {count} choices",
                    context=[describe(node.inputs[0])],
                    hint='use numbers from 0 up, or mode="wrap" or mode="clip"',
                )
            )
        index_in_range = np.mod(index, count) if self.mode == "wrap" else np.clip(index, 0, count - 1)
        result = np.empty(shape, dtype=node.outputs[0].type.dtype)
        index_in_range = np.broadcast_to(index_in_range, shape)
        for k, choice in enumerate(choices):
            np.copyto(result, choice, where=index_in_range == k)
        output_storage[0][0] = result

    def connection_pattern(self, node: Apply[Self, Tensor]) -> list[list[bool]]:
        """The result does not depend differentiably on the numbers."""
        return [[i > 0] for i in range(len(node.inputs))]

    def __str__(self) -> str:
        return f"Choose{{{self.mode}}}"


def _numbers(a: TensorLike) -> Tensor:
    """Return the numbers as a tensor; DTypeError if they are no integers."""
    index = as_tensor_variable(a)
    if index.type.dtype not in INTEGER_DTYPES and index.type.dtype != "bool":
        raise DTypeError(
            format_error(
                f"choose: the numbers must be integers, not {index.type.dtype}",
                context=[describe(index)],
                hint="convert them: T.cast(a, 'int64')",
            )
        )
    return index


def _padded(x: Tensor, ndim: int) -> Tensor:
    return dimshuffle(x, ["x"] * (ndim - x.type.ndim) + list(range(x.type.ndim))) if x.type.ndim < ndim else x


@pullback.register(Choose)
def _pullback(node: Apply[Choose, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    index, *choices = node.inputs
    g = as_tensor_variable(cotangents[0])
    number = as_tensor_variable(index)
    if node.op.mode == "wrap":
        number = mod(cast(number, "int64"), len(choices))
    elif node.op.mode == "clip":
        number = clip(cast(number, "int64"), 0, len(choices) - 1)
    terms = [switch(eq(number, k), g, 0) for k in range(len(choices))]
    return [None, *(sum_to(cast(t, g.type.dtype), as_tensor_variable(c)) for t, c in zip(terms, choices, strict=True))]


@pushforward.register(Choose)
def _pushforward(node: Apply[Choose, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    index, *choices = node.inputs
    if all(t is None for t in tangents[1:]):
        return [None]
    parts = [as_tensor_variable(c).zeros_like() if t is None else t for c, t in zip(choices, tangents[1:], strict=True)]
    return [node.op(index, *parts)]


@shape_rule.register(Choose)
def _shape(node: Apply[Choose, Tensor], input_shapes: list[Any]) -> list[Any]:
    static = node.outputs[0].type.shape
    result: list[Any] = []
    for axis, length in enumerate(static):
        open_ = [s[axis] for v, s in zip(node.inputs, input_shapes, strict=True) if v.type.shape[axis] != 1]
        result.append(length if length is not None else open_[0])
    return [tuple(result)]


@operation("choose")
def choose(a: TensorLike, choices: TensorLike, out: None = None, mode: str = "raise") -> Tensor:
    """Return elements of `choices`, each from the one whose number stands in `a`.

    Parameters
    ----------
    a : tensor_like of int
        Numbers from 0 up to one less than the number of choices.
    choices : sequence of tensor_like, or tensor_like
        Broadcast with `a` and each other. Of a tensor the first dimension is taken as the sequence.
    out : None
        There are no assignments in expressions, so this must be None.
    mode : {"raise", "wrap", "clip"}
        Numbers out of range are an error; are taken modulo the number of choices; are replaced by the nearest.

    Returns
    -------
    Tensor
        Of the common shape and the common dtype of the choices.

    Raises
    ------
    ShapeError
        If shapes are known not to fit, or the choices are a scalar.
    ValueError
        If `out` is given; when it runs, for a number out of range or shapes that do not fit.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.choose([0, 1], [[10, 20], [30, 40]]).type.shape
    (2,)
    """
    if out is not None:
        raise ValueError(format_error("choose: an expression cannot be written into `out`", hint="leave it out"))
    if not isinstance(choices, (list, tuple)):
        choices_variable = as_tensor_variable(choices)
        if not choices_variable.type.ndim:
            raise ShapeError(
                format_error(
                    "choose: a scalar has no choices",
                    context=[describe(choices_variable)],
                    hint="pass a list of tensors",
                )
            )
        count = choices_variable.type.shape[0]
        if count is None:
            return _chosen_of(_numbers(a), choices_variable, mode)
        choices = [choices_variable[k] for k in range(count)]
    result: Tensor = Choose(mode)(a, *choices)
    return result


def _chosen_of(numbers: Tensor, choices: Tensor, mode: str) -> Tensor:
    """Return elements of as many choices as there are when it runs: those at the numbers and their own places."""
    check_mode("choose", mode)
    ndim = max(numbers.type.ndim, choices.type.ndim - 1)
    index = cast(_padded(numbers, ndim), "int64")
    added = ["x"] * (ndim + 1 - choices.type.ndim)
    aligned = dimshuffle(choices, [0, *added, *range(1, choices.type.ndim)])
    count = shape_i(aligned, 0)
    if mode == "wrap":
        index = mod(index, count)
    elif mode == "clip":
        index = clip(index, 0, count - 1)
    else:
        fits = all_of(and_(ge(index, 0), lt(index, count)))
        index = CheckAndRaise(ValueError, "choose: a number is out of range for the choices")(index, fits)
    places: list[Any] = []
    for axis in range(ndim):
        if aligned.type.shape[axis + 1] == 1:
            places.append(0)
        else:
            along = ["x"] * axis + [0] + ["x"] * (ndim - axis - 1)
            places.append(dimshuffle(arange(shape_i(aligned, axis + 1)), along))
    return getitem(aligned, (index, *places))


batch_rule.register(Choose)(run_in_a_loop)
