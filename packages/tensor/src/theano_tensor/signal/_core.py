"""Pooling of arrays over windows of their last axes; shapes and arguments of pooling."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from theano_graph import Variable, format_error

from .._core._dtypes import Array
from ..elemwise import maximum, minimum
from ..shape import as_lengths

# ---- Pooling of arrays over windows of their last axes, one axis after the other


class Axis(NamedTuple):
    """How windows lie along one axis.

    Parameters
    ----------
    length : int
        Of the array.
    window, step, pad : int
    windows : int
        How many there are.
    """

    length: int
    window: int
    step: int
    pad: int
    windows: int

    @property
    def span(self) -> int:
        """Length from the first element of the first window to the last element of the last one."""
        return (self.windows - 1) * self.step + self.window

    def elements(self, counts_padding: bool) -> Any:
        """Return how many elements each window has, with or without those of the padding."""
        starts = np.arange(self.windows) * self.step - self.pad
        ends = starts + self.window
        if counts_padding:
            return np.minimum(ends, self.length + self.pad) - starts
        return np.minimum(ends, self.length) - np.maximum(starts, 0)


def count_of(
    length: Any,
    window: Any,
    step: Any,
    pad: Any,
    ignore_border: bool,
    bounds: tuple[Callable[..., Any], Callable[..., Any]] = (min, max),
) -> Any:
    """Return the number of windows along an axis; for numbers and for symbolic lengths.

    Parameters
    ----------
    bounds : pair of callable
        The smaller, and the larger of two lengths.
    """
    smaller, larger = bounds
    room = length + 2 * pad - window
    if ignore_border:
        return larger(room // step + 1, 0)
    # As many as cover everything, yet none that begins behind the last element.
    return smaller((room + window - 1) // step, larger(-((-room) // step), 0)) + 1


def axes_of(
    lengths: Sequence[int], windows: Sequence[int], steps: Sequence[int], pads: Sequence[int], ignore_border: bool
) -> list[Axis]:
    """Return how windows lie along each axis; their part behind the padding is nothing, and not walked through."""
    return [
        Axis(n, max(min(w, n + 2 * p), 1), s, p, count_of(n, w, s, p, ignore_border))
        for n, w, s, p in zip(lengths, windows, steps, pads, strict=True)
    ]


def _along(ndim: int, dim: int, part: slice) -> tuple[slice, ...]:
    return (*(slice(None),) * dim, part, *(slice(None),) * (ndim - dim - 1))


def _spanned(x: Array, dim: int, axis: Axis, fill: object) -> Any:
    """Return an array with exactly the elements that windows along an axis see; those outside are `fill`."""
    inside = min(axis.length, axis.span - axis.pad)
    if axis.pad == 0 and inside == axis.span:
        return x[_along(x.ndim, dim, slice(0, inside))]
    shape = (*x.shape[:dim], axis.span, *x.shape[dim + 1 :])
    result = np.full(shape, fill, x.dtype)
    result[_along(x.ndim, dim, slice(axis.pad, axis.pad + inside))] = x[_along(x.ndim, dim, slice(0, inside))]
    return result


def _steps(axis: Axis, offset: int) -> slice:
    """Return where the elements with some offset in their windows are."""
    return slice(offset, offset + (axis.windows - 1) * axis.step + 1, axis.step)


def _reduce_windows(x: Array, axes: Sequence[Axis], fill: object, combine: Callable[..., Any]) -> Any:
    first = x.ndim - len(axes)
    for dim, axis in enumerate(axes, first):
        if not axis.windows:
            return np.zeros((*x.shape[:first], *(a.windows for a in axes)), x.dtype)
        seen = _spanned(x, dim, axis, fill)
        result = seen[_along(x.ndim, dim, _steps(axis, 0))].copy()
        for offset in range(1, axis.window):
            combine(result, seen[_along(x.ndim, dim, _steps(axis, offset))], out=result)
        x = result
    return x


def lowest(dtype: np.dtype[Any]) -> Any:
    """Return a value that is not larger than any number of a dtype."""
    if dtype.kind == "b":
        return False
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def largest(x: Array, axes: Sequence[Axis]) -> Any:
    """Return the largest element of each window; padding does not count."""
    return _reduce_windows(x, axes, lowest(x.dtype), np.maximum)


def total(x: Array, axes: Sequence[Axis]) -> Any:
    """Return the sum of each window."""
    return _reduce_windows(x, axes, 0, np.add)


def elements(axes: Sequence[Axis], counts_padding: bool) -> Any:
    """Return the number of elements of each window."""
    result = np.ones((), "int64")
    for axis in axes:
        result = np.multiply.outer(result, axis.elements(counts_padding))
    return result


def sum_pool_grad(g: Array, axes: Sequence[Axis]) -> Any:
    """Return the gradient of `total`: each element gets the gradients of its windows added up."""
    first = g.ndim - len(axes)
    for dim, axis in reversed(list(enumerate(axes, first))):
        shape = (*g.shape[:dim], max(axis.span, axis.pad + axis.length), *g.shape[dim + 1 :])
        result = np.zeros(shape, g.dtype)
        for offset in range(axis.window) if axis.windows else ():
            result[_along(g.ndim, dim, _steps(axis, offset))] += g
        g = result[_along(g.ndim, dim, slice(axis.pad, axis.pad + axis.length))]
    return np.ascontiguousarray(g)


def first_hits(x: Array, y: Array, axes: Sequence[Axis]) -> Iterator[tuple[tuple[slice, ...], Any]]:
    """Yield for each offset in windows where its elements are, and which of them are the first largest ones.

    Indices refer to `x` with all that windows see: see `surrounded`.
    """
    first = x.ndim - len(axes)
    seen = surrounded(x, axes, lowest(x.dtype))
    # Elements may be as low as the value of the padding, which gets nothing.
    inside = surrounded(np.ones(x.shape[first:], bool), axes, False)
    left = np.ones(y.shape, bool)
    for offsets in np.ndindex(*(axis.window for axis in axes)):
        index = (*(slice(None),) * first, *(_steps(a, o) for a, o in zip(axes, offsets, strict=True)))
        hits = seen[index] == y
        hits &= left
        hits &= inside[index[first:]]
        left ^= hits
        yield index, hits


def surrounded(x: Array, axes: Sequence[Axis], fill: object) -> Any:
    """Return an array with exactly the elements that windows see."""
    for dim, axis in enumerate(axes, x.ndim - len(axes)):
        x = _spanned(x, dim, axis, fill)
    return x


def max_pool_grad(x: Array, y: Array, g: Array, axes: Sequence[Axis]) -> Any:
    """Return the gradient of `largest`: each window's is added to its first largest element."""
    result = np.zeros(x.shape, g.dtype)
    if not y.size:
        return result
    first = x.ndim - len(axes)
    shape = (*x.shape[:first], *(axis.span for axis in axes))
    seen = np.zeros(shape, g.dtype)
    apart, nothing = all(axis.window <= axis.step for axis in axes), np.zeros((), g.dtype)
    # A product is much faster than a choice, but makes NaN of infinities.
    finite = np.isfinite(g).all()
    for index, hits in first_hits(x, y, axes):
        cotangent = g * hits if finite else np.where(hits, g, nothing)
        if apart:
            seen[index] = cotangent
        else:
            seen[index] += cotangent
    all_dims = (slice(None),) * first
    inside = [min(a.length, a.span - a.pad) for a in axes]
    result[(*all_dims, *(slice(0, n) for n in inside))] = seen[
        (*all_dims, *(slice(a.pad, a.pad + n) for a, n in zip(axes, inside, strict=True)))
    ]
    return result


def max_pool_grad_grad(x: Array, y: Array, t: Array, axes: Sequence[Axis]) -> Any:
    """Return for each window the element of `t` where that of `x` is the first largest one."""
    result = np.zeros(y.shape, t.dtype)
    if y.size:
        seen = surrounded(t, axes, 0)
        for index, hits in first_hits(x, y, axes):
            np.copyto(result, seen[index], where=hits)
    return result


# ---- Shapes of the results of pooling, and arguments by their former names


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
