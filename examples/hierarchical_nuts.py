"""A hierarchical model with a No-U-Turn sampler: the effect of coaching in eight schools, by gradients of the density.

Run ``python examples/hierarchical_nuts.py [--quick] [--picture schools.png]``. Each school measured an effect with a
known error (Rubin, 1981); the schools are alike to a degree that is learned too. The sampler is that of Hoffman and
Gelman (2014), with slices, and a step size that adapts itself; the density and its gradient are one compiled function.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from demo_tools import Array, drawing, run

import theano
import theano.tensor as T

EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
SCHOOLS = len(EFFECTS)


def log_density(z: Any) -> Any:
    """Return the log density of a vector: the mean, the log of the spread, and how far each school is from the mean.

    The distances are in units of the spread. Without this the density has a narrow funnel near spread 0, and steps
    would have to be tiny there.
    """
    mean, log_spread, distances = z[0], z[1], z[2:]
    spread = T.exp(log_spread)
    effects = mean + spread * distances
    prior = -0.5 * T.sqr(mean / 5) - T.log(1 + T.sqr(spread / 5)) + log_spread - 0.5 * T.sqr(distances).sum()
    return prior - 0.5 * T.sqr((EFFECTS - effects) / ERRORS).sum()


class Tree(NamedTuple):
    """A part of a path: its two ends with momenta and gradients, a point drawn from it, and how it went."""

    #: Point, momentum and gradient at the end that going backwards has reached.
    left: tuple[Array, Array, Array]
    #: The same at the end that going forwards has reached.
    right: tuple[Array, Array, Array]
    #: A point drawn from those in the slice, all with the same probability.
    drawn: Array
    #: How many points lie in the slice.
    points: int
    #: Whether the path may be made longer: it neither turns back nor has lost its energy.
    going_on: bool
    #: The sum of the probabilities with which the points would be accepted.
    accepted: float
    #: How many points `accepted` sums over.
    looked_at: int


class Nuts:
    """Draws from a density by simulated motion that ends where it would turn back.

    Parameters
    ----------
    value_and_slope : callable
        Takes a point; returns the log density and its gradient.
    """

    def __init__(self, value_and_slope: Callable[[Array], tuple[Any, Array]], rng: np.random.Generator) -> None:
        self.value_and_slope, self.rng = value_and_slope, rng
        self.step = 0.1

    def build(self, end: tuple[Array, Array, Array], slice_: float, way: int, depth: int, start: float) -> Tree:
        """Return a path of ``2 ** depth`` steps from an end."""
        if depth == 0:
            x, momentum, slope = end
            momentum = momentum + 0.5 * way * self.step * slope
            x = x + way * self.step * momentum
            value, slope = self.value_and_slope(x)
            momentum = momentum + 0.5 * way * self.step * slope
            energy = float(value) - 0.5 * float(momentum @ momentum)
            new = (x, momentum, slope)
            accepted = float(np.exp(min(0.0, energy - start)))
            return Tree(new, new, x, int(slice_ <= energy), slice_ < energy + 1000, accepted, 1)
        first = self.build(end, slice_, way, depth - 1, start)
        if not first.going_on:
            return first
        second = self.build(first.right if way == 1 else first.left, slice_, way, depth - 1, start)
        return self.joined(first, second, way, self.rng.random() * (first.points + second.points) < second.points)

    def joined(self, first: Tree, second: Tree, way: int, takes_second: bool) -> Tree:
        """Return two paths as one, which goes on unless its ends come nearer to each other."""
        left, right = (first.left, second.right) if way == 1 else (second.left, first.right)
        span = right[0] - left[0]
        ahead = bool(span @ left[1] >= 0 and span @ right[1] >= 0)
        return Tree(
            left,
            right,
            second.drawn if takes_second else first.drawn,
            first.points + second.points,
            second.going_on and ahead,
            first.accepted + second.accepted,
            first.looked_at + second.looked_at,
        )

    def draw(self, x: Array) -> tuple[Array, float]:
        """Return the next point after `x`, and how often steps on the way would have been accepted."""
        value, slope = self.value_and_slope(x)
        momentum = self.rng.normal(size=x.shape)
        start = float(value) - 0.5 * float(momentum @ momentum)
        slice_ = start + float(np.log(self.rng.random()))
        end = (x, momentum, slope)
        tree, accepted, looked_at = Tree(end, end, x, 1, True, 0.0, 0), 0.0, 0
        for depth in range(9):
            way = 1 if self.rng.random() < 0.5 else -1
            new = self.build(tree.right if way == 1 else tree.left, slice_, way, depth, start)
            accepted, looked_at = accepted + new.accepted, looked_at + new.looked_at
            takes = new.going_on and self.rng.random() * tree.points < new.points
            tree = self.joined(tree, new, way, takes)
            if not tree.going_on:
                break
        return tree.drawn, accepted / looked_at

    def sample(self, x: Array, warmup: int, draws: int, requested: float = 0.85) -> Array:
        """Return draws; while warming up, the step is tuned until `requested` of the steps are accepted."""
        goal, error, mean = np.log(10 * self.step), 0.0, 0.0
        matches = []
        for i in range(1, warmup + draws + 1):
            x, accepted = self.draw(x)
            if i <= warmup:
                error += (requested - accepted - error) / (i + 10)
                log_step = goal - np.sqrt(i) / 0.05 * error
                mean += i**-0.75 * (log_step - mean)
                self.step = float(np.exp(log_step if i < warmup else mean))
            else:
                matches.append(x)
        return np.array(matches)


class Found(NamedTuple):
    """Results: means and deviations of mean, spread, and the effect in the first school."""

    mean: tuple[float, float]
    spread: tuple[float, float]
    first: tuple[float, float]


def main(quick: bool = False, picture: Path | None = None) -> Found:
    z = T.dvector("z")
    value = log_density(z)
    value_and_slope = theano.function([z], [value, T.grad(value, z)], name="density")
    value_and_slope.trust_input = True
    rng = np.random.default_rng(8)
    sampler = Nuts(value_and_slope, rng)
    draws = sampler.sample(np.zeros(2 + SCHOOLS), 400 if quick else 1000, 1500 if quick else 8000)
    mean, spread = draws[:, 0], np.exp(draws[:, 1])
    effects = mean[:, None] + spread[:, None] * draws[:, 2:]
    summary = Found(*((float(v.mean()), float(v.std())) for v in (mean, spread, effects[:, 0])))
    for name, (centre, deviation) in zip(summary._fields, summary, strict=True):
        print(f"{name:6} {centre:5.2f} ± {deviation:.2f}")
    if picture is not None:
        draw(picture, effects, mean, spread)
    return summary


def draw(path: Path, effects: Array, mean: Array, spread: Array) -> None:
    with drawing(path, 1, 2) as (left, right):
        places = np.arange(SCHOOLS)
        left.errorbar(places - 0.1, EFFECTS, ERRORS, fmt="o", label="measured")
        left.errorbar(places + 0.1, effects.mean(axis=0), effects.std(axis=0), fmt="s", label="learned together")
        left.set_xticks(places, "ABCDEFGH")
        left.set_title("effect of coaching in eight schools")
        left.legend()
        right.plot(mean, np.log(spread), ".", markersize=2, alpha=0.5)
        right.set_xlabel("mean effect")
        right.set_ylabel("log of the spread between schools")


if __name__ == "__main__":
    run(main, __doc__)
