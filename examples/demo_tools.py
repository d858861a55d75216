"""Shared parts of the gallery's programs: their command line, parameters, an optimizer (Adam), and pictures."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import theano
import theano.tensor as T

try:
    from matplotlib.figure import Figure
except ImportError:
    DRAWS = False
else:
    DRAWS = True

Array = npt.NDArray[Any]


def run(main: Callable[..., object], about: str | None) -> None:
    """Call the main function of a program with the options of its command line."""
    parser = argparse.ArgumentParser(description=(about or "").split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="a small form, which takes some seconds")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw the results (needs matplotlib)")
    options = parser.parse_args()
    if options.picture is not None and not DRAWS:
        parser.error("--picture needs matplotlib; hint: pip install matplotlib")
    main(quick=options.quick, picture=options.picture)


def as_float(values: Any) -> Array:
    """Return an array of the dtype that the flag `floatX` says."""
    return np.asarray(values, dtype=theano.config.floatX)


def parameter(rng: np.random.Generator, name: str, *shape: int, scale: float | None = None) -> Any:
    """Return a shared array of random numbers; by default `scale` is 1 / sqrt(number of inputs of one unit)."""
    size = 1 / np.sqrt(np.prod(shape[1:] if len(shape) == 4 else shape[:-1])) if scale is None else scale
    return theano.shared(as_float(size * rng.normal(size=shape)), name=name)


def zeros(name: str, *shape: int) -> Any:
    """Return a shared array of zeros."""
    return theano.shared(as_float(np.zeros(shape)), name=name)


def adam(cost: Any, params: list[Any], rate: Any = 0.001) -> list[tuple[Any, Any]]:
    """Return the updates of one step of Adam, which keeps means of the gradients and of their squares."""
    step = theano.shared(as_float(0), name="step")
    now = step + 1
    scale = rate * T.sqrt(1 - 0.999**now) / (1 - 0.9**now)
    updates = [(step, now)]
    for param, gradient in zip(params, T.grad(cost, params), strict=True):
        start = np.zeros_like(param.get_value())
        mean, square = (theano.shared(start, broadcastable=param.broadcastable) for _ in range(2))
        new_mean = 0.9 * mean + 0.1 * gradient
        new_square = 0.999 * square + 0.001 * T.sqr(gradient)
        updates += [(mean, new_mean), (square, new_square)]
        updates += [(param, param - scale * new_mean / (T.sqrt(new_square) + 1e-8))]
    return updates


def batches(rng: np.random.Generator, count: int, size: int) -> Iterator[Array]:
    """Yield the numbers of examples in random order, `size` at a time; a remainder is left out."""
    order = rng.permutation(count)
    for start in range(0, count - size + 1, size):
        yield order[start : start + size]


@contextmanager
def drawing(path: Path, *panels: int, size: tuple[float, float] = (9, 4)) -> Iterator[Any]:
    """Give the axes of a new figure, rows times columns of them, and write it to a file at the end."""
    figure = Figure(figsize=size, layout="constrained")
    yield figure.subplots(*panels)
    figure.savefig(path, dpi=110)


def tiles(pictures: Array, columns: int) -> Array:
    """Put pictures of one size side by side into one, with a gap between them."""
    count, height, width = pictures.shape
    rows = -(-count // columns)
    page = np.full((rows * (height + 1) - 1, columns * (width + 1) - 1), np.nan)
    for i, picture in enumerate(pictures):
        top, left = i // columns * (height + 1), i % columns * (width + 1)
        page[top : top + height, left : left + width] = picture
    return page
