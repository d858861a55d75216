"""Principal components and k-means of handwritten digits: linear algebra, and a loop that runs until nothing changes.

Run ``python examples/pca_kmeans.py [--quick] [--picture digits.png]``. The picture shows the digits along the first two
components, and the means of the clusters, which look like digits.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from demo_tools import Array, as_float, drawing, run, tiles
from sklearn.datasets import load_digits

import theano
import theano.tensor as T
from theano.tensor import nlinalg

CLUSTERS = 10


def components(x: Any, count: int) -> tuple[Any, Any]:
    """Return the mean of rows and the directions in which they vary most, one a row."""
    mean = x.mean(axis=0)
    _, _, directions = nlinalg.svd(x - mean, full_matrices=False)
    return mean, directions[:count]


def step_of_k_means(x: Any, centres: Any) -> tuple[Any, Any, Any]:
    """Return the new centres, the cluster of each row, and the mean square distance to the centres before."""
    distances = T.sqr(x).sum(axis=1, keepdims=True) + T.sqr(centres).sum(axis=1) - 2 * T.dot(x, centres.T)
    nearest = T.argmin(distances, axis=1)
    members = T.eq(nearest.dimshuffle("x", 0), T.arange(centres.shape[0]).dimshuffle(0, "x")).astype(x.dtype)
    counts = members.sum(axis=1, keepdims=True)
    # A cluster that has lost all its members stays where it was.
    moved = T.switch(counts > 0, T.dot(members, x) / T.maximum(counts, 1), centres)
    return moved, nearest, distances.min(axis=1).mean()


class Clusters(NamedTuple):
    """The centres, the cluster of each row, and the mean square distance."""

    centres: Array
    nearest: Array
    spread: float


def k_means(rows: Array, count: int, rng: np.random.Generator, starts: int) -> Clusters:
    """Return the best clusters of several starts; each start goes on until no row changes its cluster."""
    x, centres = theano.shared(rows, name="x"), theano.shared(rows[:count], name="centres")
    moved, nearest, spread = step_of_k_means(x, centres)
    step = theano.function([], [nearest, spread], updates=[(centres, moved)])
    assignments = []
    for _ in range(starts):
        centres.set_value(rows[rng.choice(len(rows), count, replace=False)])
        before = None
        while True:
            clusters, value = step()
            if before is not None and (clusters == before).all():
                break
            before = clusters
        assignments.append(Clusters(centres.get_value(), clusters, float(value)))
    return min(assignments, key=lambda clusters: clusters.spread)


class Found(NamedTuple):
    """Results of the program.

    The share of variance that two and twenty components hold, the distance from the centres, and the share of digits
    that are in a cluster where most are the same.
    """

    held: tuple[float, float]
    spread: float
    purity: float


def main(quick: bool = False, picture: Path | None = None) -> Found:
    rng = np.random.default_rng(3)
    bunch = load_digits()
    images, answers = as_float(bunch.data / 16), bunch.target
    x = T.matrix("x")
    mean, directions = components(x, 20)
    centred = x - mean
    scores = T.dot(centred, directions.T)
    shares = T.sqr(scores).sum(axis=0) / T.sqr(centred).sum()
    analyse = theano.function([x], [scores, shares, mean, directions])
    values, held, average, axes = analyse(images)

    clusters = k_means(values, CLUSTERS, rng, 3 if quick else 20)
    table = np.array([np.bincount(answers[clusters.nearest == k], minlength=10) for k in range(CLUSTERS)])
    purity = float(table.max(axis=1).sum() / len(answers))
    summary = Found((float(held[:2].sum()), float(held.sum())), clusters.spread, purity)
    print(f"2 components hold {summary.held[0]:.1%} of the variance, 20 hold {summary.held[1]:.1%}; pure {purity:.1%}")
    if picture is not None:
        draw(picture, values, answers, (average + clusters.centres @ axes).reshape(-1, 8, 8))
    return summary


def draw(path: Path, values: Array, answers: Array, centres: Array) -> None:
    with drawing(path, 1, 2) as (left, right):
        points = left.scatter(values[:, 0], values[:, 1], c=answers, cmap="tab10", s=6)
        left.legend(*points.legend_elements(), fontsize=7, ncols=2)
        left.set_title("the first two components")
        right.imshow(tiles(centres, 5), cmap="gray_r")
        right.set_axis_off()
        right.set_title("centres of ten clusters")


if __name__ == "__main__":
    run(main, __doc__)
