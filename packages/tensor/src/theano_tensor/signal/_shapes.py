"""Shapes of the results of pooling, and arguments by their former names."""

from __future__ import annotations

import warnings
from typing import Any

from theano_graph import Variable, format_error

from ..elemwise import maximum, minimum
from ..shape import as_lengths
from ._core import count_of


def renamed(name: str, new: str, value: Any, former: Any, level: int = 4) -> Any:
    """Return an argument that may have been given by a former name."""
    if former is None:
        return value
    if value is not None:
        raise ValueError(format_error(f"pooling: {name} is the former name of {new}", hint=f"give {new} only"))
    warnings.warn(f"pooling: {name} is called {new} now", DeprecationWarning, stacklevel=level)
    return former


def shape_of_pooled(
    imgshape: Any,
    ws: Any,
    ignore_border: bool,
    stride: Any,
    pad: Any,
    ndim: int,
    former: tuple[Any, Any, Any],
) -> list[Any]:
    """Return the shape of a pooling result over the last axes, for numbers and scalars; see `Pool.out_shape`."""
    ds, st, padding = former
    ws, stride = renamed("ds", "ws", ws, ds), renamed("st", "stride", stride, st)
    pad = renamed("padding", "pad", None if pad == (0,) * ndim else pad, padding)
    if ws is None:
        raise ValueError(format_error("pooling: the windows have no size", hint=f"give ws, {ndim} integers"))
    shape = as_lengths(imgshape) if isinstance(imgshape, Variable) else list(imgshape)
    if len(shape) < ndim:
        raise TypeError(
            format_error(f"pooling over {ndim} axes of the shape {imgshape!r}", hint="give a length for each axis")
        )
    layout = (ws, ws if stride is None else stride, (0,) * ndim if pad is None else pad)
    counts = []
    for n, *how in zip(shape[-ndim:], *([v[i] for i in range(ndim)] for v in layout), strict=True):
        window, step, border = how
        symbolic = any(isinstance(v, Variable) for v in (n, *how))
        bounds: Any = (minimum, maximum) if symbolic else (min, max)
        counts.append(count_of(n, window, step, border, ignore_border, bounds))
    return [*shape[:-ndim], *counts]
