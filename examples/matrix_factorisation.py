"""Matrix factorisation: the missing entries of a table are filled in from the others, as for ratings nobody gave.

Run ``python examples/matrix_factorisation.py [--quick] [--picture digits.png]``. The table holds handwritten digits,
one a row; half of their pixels, chosen at random, are hidden. The picture shows the known pixels, and the table filled
in.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from demo_tools import Array, adam, as_float, drawing, parameter, run, tiles
from sklearn.datasets import load_digits

import theano
import theano.tensor as T


class Factors:
    """``rows x columns`` numbers as a product of two thin matrices, with a learned offset for each row and each column.

    Parameters
    ----------
    table : array of shape (rows, columns)
    known : array of the same shape
        1 where the number in the table is known, else 0.
    rank : int
        How many columns and rows the thin matrices have.
    penalty : float
        How much squares of their numbers cost.
    """

    def __init__(self, rng: np.random.Generator, table: Array, known: Array, rank: int, penalty: float) -> None:
        rows, columns = table.shape
        self.left = parameter(rng, "left", rows, rank, scale=0.1)
        self.right = parameter(rng, "right", rank, columns, scale=0.1)
        seen = known.sum()
        self.of_row = theano.shared(as_float(np.zeros((rows, 1))), name="of_row", broadcastable=(False, True))
        self.means = as_float((table * known).sum(axis=0) / np.maximum(known.sum(axis=0), 1))
        self.of_column = theano.shared(self.means, name="of_column")
        self.params = [self.left, self.right, self.of_row, self.of_column]
        self.filled = T.dot(self.left, self.right) + self.of_row + self.of_column
        error = (known * T.sqr(self.filled - table)).sum() / seen
        self.cost = error + penalty * (T.sqr(self.left).sum() + T.sqr(self.right).sum()) / seen


class Found(NamedTuple):
    """Results: the root mean square error of hidden pixels, filled in by means and by factors."""

    by_means: float
    by_factors: float
    costs: list[float]


def root_mean_square(error: Array, hidden: Array) -> float:
    return float(np.sqrt((error**2)[hidden].mean()))


def main(quick: bool = False, picture: Path | None = None) -> Found:
    rng = np.random.default_rng(6)
    table = as_float(load_digits().data[: 600 if quick else None] / 16)
    hidden = rng.random(table.shape) < 0.5
    observed = as_float(~hidden)
    model = Factors(rng, table * observed, observed, rank=20, penalty=1.5)
    rate = T.scalar("rate")
    step = theano.function([rate], model.cost, updates=adam(model.cost, model.params, rate))
    steps = 300 if quick else 1200
    costs = [float(step(as_float(0.05 * (1 - i / steps)))) for i in range(steps)]
    filled = theano.function([], model.filled)()
    summary = Found(root_mean_square(table - model.means, hidden), root_mean_square(table - filled, hidden), costs)
    print(f"error of hidden pixels: {summary.by_means:.3f} by means, {summary.by_factors:.3f} by factors")
    if picture is not None:
        draw(picture, table, hidden, filled)
    return summary


def draw(path: Path, table: Array, hidden: Array, filled: Array) -> None:
    shown: list[tuple[str, Any]] = [
        ("half of the pixels", np.where(hidden, np.nan, table)),
        ("filled in", np.where(hidden, filled, table)),
        ("as they were", table),
    ]
    with drawing(path, 1, 3, size=(10, 3.6)) as panels:
        for axes, (title, rows) in zip(panels, shown, strict=True):
            axes.imshow(tiles(rows[:30].reshape(-1, 8, 8), 6), cmap="gray_r", vmin=0, vmax=1)
            axes.set_axis_off()
            axes.set_title(title)


if __name__ == "__main__":
    run(main, __doc__)
