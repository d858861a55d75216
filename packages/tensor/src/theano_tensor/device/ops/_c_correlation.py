"""C code of correlations and their gradients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from theano_graph import format_error

__all__ = ["correlation_code"]

_DIRECTIONS = ("forward", "backprop weights", "backprop inputs")
_AXES = ("height", "width", "depth")


def correlation_code(
    op: Any,
    names: Sequence[str],
    direction: str,
    sub: Mapping[str, str],
    lengths: Sequence[str | None],
) -> str:
    """Return C code that computes one of images, filters and results from the two others, as the op says.

    Parameters
    ----------
    op : Op
        With `border_mode`, `subsample`, `filter_dilation` and `num_groups`.
    names : sequence of str
        The variables in C: images, filters and results.
    direction : {"forward", "backprop weights", "backprop inputs"}
        The result.
    sub : mapping
        With "fail".
    lengths : sequence of str or None
        For a gradient, the variables in C that have the lengths of its axes, arrays of one integer; None where these
        follow from the others.

    Raises
    ------
    ValueError
        If there is no such direction, or a length is missing that does not follow from the others.
    TypeError
        If each position has filters of its own.
    """
    if direction not in _DIRECTIONS:
        raise ValueError(
            format_error(f"{op}: there is no direction {direction!r}", hint=f"use {', '.join(_DIRECTIONS)}")
        )
    if op.unshared:
        raise TypeError(
            format_error(f"{op}: filters for each position have no code for devices", hint="compute it on the host")
        )
    number = _DIRECTIONS.index(direction)
    _check_lengths(op, direction, lengths)
    count = len(op.subsample)
    bottom, weights, top = names
    out = (top, weights, bottom)[number]
    like = weights if number == 2 else bottom
    axes = "".join(_axis_code(op, number, axis, names, lengths[axis], sub["fail"]) for axis in range(count))
    outer = (
        (f"PyGpuArray_DIM({bottom}, 0)", f"PyGpuArray_DIM({weights}, 0)"),
        (f"PyGpuArray_DIM({top}, 1)", f"PyGpuArray_DIM({bottom}, 1) / {op.num_groups}"),
        (f"PyGpuArray_DIM({top}, 0)", f"PyGpuArray_DIM({weights}, 1) * {op.num_groups}"),
    )[number]
    steps = [*op.subsample, *op.filter_dilation, op.num_groups]
    settled = "".join(f"    theano_numbers[{2 * count + i}] = {step};\n" for i, step in enumerate(steps))
    return f"""
{{
    size_t theano_numbers[{4 * count + 1}] = {{0}}, theano_dims[{count + 2}] = {{{", ".join(outer)}}};
{settled}{axes}
    if (theano_prep_output(&{out}, {count + 2}, theano_dims, {like}->ga.typecode, GA_C_ORDER, {like}->context))
        {sub["fail"]}
    if (theano_correlate({number}, {bottom}, {weights}, {top}, {count}, theano_numbers) < 0)
        {sub["fail"]}
}}
"""


def _check_lengths(op: Any, direction: str, lengths: Sequence[str | None]) -> None:
    if direction == "forward":
        return
    for axis, length in enumerate(lengths):
        half = op.border_mode == "half" and direction == "backprop weights"
        if length is None and (op.subsample[axis] != 1 or half):
            raise ValueError(
                format_error(
                    f"{op}: the {_AXES[axis]} does not follow from those of the operands",
                    hint=f"pass the variable that has it as `{_AXES[axis]}`",
                )
            )


def _axis_code(op: Any, number: int, axis: int, names: Sequence[str], length: str | None, fail: str) -> str:
    """Return C code that finds the zeros around an axis, and the length of the result along it."""
    count = len(op.subsample)
    bottom, weights, top = (f"(ssize_t)PyGpuArray_DIM({name}, {axis + 2})" for name in names)
    step, dilation = op.subsample[axis], op.filter_dilation[axis]
    mode = op.border_mode
    number_text = "-1" if length is None or number == 0 else f"PyArray_PyIntAsIntp((PyObject *){length})"
    sides: tuple[str, ...] = ("0", "0")
    if mode == "half":
        sides = ("filter / 2", "filter / 2")
    elif mode == "full":
        sides = ("filter - 1", "filter - 1")
    elif not isinstance(mode, str):
        sides = tuple(str(side) for side in mode[axis])
    # How long a filter is, from its first element to its last one, where its length is not given.
    if number != 1:
        filter_length = f"({weights} - 1) * {dilation} + 1"
    elif mode == "full":
        filter_length = f"length < 0 ? {top} - {bottom} + 1 : (length - 1) * {dilation} + 1"
    else:
        zeros = "0" if isinstance(mode, str) else " + ".join(sides)
        filter_length = f"length < 0 ? {bottom} + {zeros} - {top} + 1 : (length - 1) * {dilation} + 1"
    results = (
        f"({bottom} + before + after - filter) / {step} + 1",
        f"(filter - 1) / {dilation} + 1",
        f"length < 0 ? {top} + filter - 1 - before - after : length",
    )
    return f"""    {{
        ssize_t length = {number_text};
        if (length == -1 && PyErr_Occurred())
            {fail}
        ssize_t filter = {filter_length};
        ssize_t before = {sides[0]}, after = {sides[1]}, result = {results[number]};
        if (result < 0 || filter < 0) {{
            PyErr_SetString(PyExc_ValueError, "{type(op).__name__}: the lengths of axis {axis} do not fit");
            {fail}
        }}
        theano_numbers[{axis}] = (size_t)before;
        theano_numbers[{count + axis}] = (size_t)after;
        theano_dims[{axis + 2}] = (size_t)result;
    }}
"""
