"""The broadcasting rule, on static shapes and on the shapes of values.

A dimension broadcasts only if its static length is 1. A dimension of unknown length that turns out to be 1 does not:
lengths that are known only at run time must be equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano_graph import Apply, Variable, describe, format_error
from theano_linker_c.kernels import broadcast_lengths

from .._core._ops import refused_node
from .._core._type import StaticShape, Tensor, tensor_type
from .._errors import ShapeError


def broadcast_static(name: object, inputs: Sequence[Tensor], shown: Sequence[Variable] | None = None) -> StaticShape:
    """Return the static shape of an elementwise result of inputs with one number of dimensions.

    Parameters
    ----------
    name : str or object
        Name of the operation, or an object with it as its text, for errors.
    inputs : sequence of Tensor
    shown : sequence of Variable, optional
        The user's own variables, for errors.

    Raises
    ------
    ShapeError
        If two known lengths differ and neither is 1.
    """
    if not inputs:
        return ()
    result: list[int | None] = []
    for axis, lengths in enumerate(zip(*(x.type.shape for x in inputs), strict=True)):
        longer = {length for length in lengths if length is not None and length != 1}
        if len(longer) > 1:
            raise ShapeError(_conflict(name, inputs if shown is None else shown, inputs, axis))
        result.append(longer.pop() if longer else (None if None in lengths else 1))
    return tuple(result)


def refused_broadcast(error: ShapeError, inputs: Sequence[Tensor], dtypes: Sequence[str]) -> Apply[Any, Tensor]:
    """Return a node that raises `error` when it runs, in the place of an elementwise one."""
    shape = tuple(1 if set(lengths) == {1} else None for lengths in zip(*(x.type.shape for x in inputs), strict=True))
    return refused_node(error, inputs, [tensor_type(dtype, shape) for dtype in dtypes])


def _conflict(name: object, shown: Sequence[Variable], inputs: Sequence[Tensor], axis: int) -> str:
    lengths = [x.type.shape[axis] for x in inputs]
    parts = [f"{length} (`{x}`)" for x, length in zip(shown, lengths, strict=True) if length not in (None, 1)]
    return format_error(
        f"{name}: the lengths of dimension {axis} differ: {' and '.join(parts)}",
        context=[describe(x) for x in shown],
        hint="give both the same length, or transpose, index or reshape one; only a length of 1 broadcasts",
    )


def check_broadcast(shapes: Sequence[Sequence[int]], broadcast: Sequence[Sequence[bool]]) -> tuple[int, ...]:
    """Return the shape of an elementwise result of values.

    Parameters
    ----------
    shapes : sequence of shapes
        One for each input, all of one length.
    broadcast : sequence of patterns
        For each input and dimension, whether the dimension broadcasts (its static length is 1).

    Raises
    ------
    ValueError
        If two lengths that do not broadcast differ, or one that does is not 1.
    """
    return broadcast_lengths(shapes, broadcast, len(shapes[0]) if shapes else 0)
