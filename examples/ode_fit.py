"""Fitting a differential equation: hares and lynxes in Canada, by gradients through the steps of the solver.

Run ``python examples/ode_fit.py [--quick] [--picture hares.png]``. The numbers are the furs (in thousands) that the
Hudson's Bay Company took from 1900 to 1920; the equations of Lotka and Volterra are solved by Runge and Kutta's method
in a loop, whose gradient tells how each parameter bends the curves.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from demo_tools import Array, adam, drawing, run

import theano
import theano.tensor as T

HARES = [
    *(30.0, 47.2, 70.2, 77.4, 36.3, 20.6, 18.1, 21.4, 22.0, 25.4, 27.1),
    *(40.3, 57.0, 76.6, 52.3, 19.5, 11.2, 7.6, 14.6, 16.2, 24.7),
]
LYNXES = [
    *(4.0, 6.1, 9.8, 35.2, 59.4, 41.7, 19.0, 13.0, 8.3, 9.1, 7.4),
    *(8.0, 12.3, 19.5, 45.7, 51.1, 29.7, 15.8, 9.7, 10.1, 8.6),
]
FURS = np.array([HARES, LYNXES]).T
STEPS_A_YEAR = 20


def change(animals: Any, rates: Any) -> Any:
    """Return how the numbers of animals change in a year: hares are born and eaten, lynxes eat and starve."""
    hares, lynxes = animals[0], animals[1]
    return T.stack([(rates[0] - rates[1] * lynxes) * hares, (rates[2] * hares - rates[3]) * lynxes])


def solve(start: Any, rates: Any, years: Any) -> Any:
    """Return the numbers of animals at the beginning of each year, the first included."""
    h = 1 / STEPS_A_YEAR

    def step(animals: Any, rates: Any) -> Any:
        a = change(animals, rates)
        b = change(animals + h / 2 * a, rates)
        c = change(animals + h / 2 * b, rates)
        d = change(animals + h * c, rates)
        return animals + h / 6 * (a + 2 * b + 2 * c + d)

    path, _ = theano.scan(step, outputs_info=start, non_sequences=rates, n_steps=years * STEPS_A_YEAR)
    return T.concatenate([start.dimshuffle("x", 0), path[STEPS_A_YEAR - 1 :: STEPS_A_YEAR]])


class Found(NamedTuple):
    """Results: birth, hunting, feeding and starving; the error of logs; the years of a cycle."""

    rates: tuple[float, float, float, float]
    error: float
    period: float


def main(quick: bool = False, picture: Path | None = None) -> Found:
    # Logarithms of all six parameters are learned: rates and numbers are positive.
    logs = theano.shared(np.log([0.5, 0.02, 0.02, 0.8, *FURS[0]]), name="logs")
    rates, start = T.exp(logs[:4]), T.exp(logs[4:])
    path = solve(start, rates, len(FURS) - 1)
    error = T.sqrt(T.sqr(T.log(path) - np.log(FURS)).mean())
    rate = T.dscalar("rate")
    step = theano.function([rate], error, updates=adam(error, [logs], rate))
    steps = 200 if quick else 1500
    for i in range(steps):
        last = float(step(0.03 * (1 - i / steps)))
    estimates = theano.function([], rates)()
    # Small circles around the balance take 2 pi / sqrt(birth * starving) years.
    period = float(2 * np.pi / np.sqrt(estimates[0] * estimates[3]))
    birth, hunting, feeding, starving = (float(rate) for rate in estimates)
    print(f"birth {birth:.3f}, hunting {hunting:.4f}, feeding {feeding:.4f}, starving {starving:.3f}")
    print(f"error of logarithms {last:.3f}; a cycle takes about {period:.1f} years")
    if picture is not None:
        years = T.lscalar("years")
        draw(picture, theano.function([years], solve(start, rates, years))(40))
    return Found((birth, hunting, feeding, starving), last, period)


def draw(path: Path, animals: Array) -> None:
    with drawing(path) as axes:
        for k, (name, colour) in enumerate((("hares", "tab:blue"), ("lynxes", "tab:red"))):
            axes.plot(1900 + np.arange(len(FURS)), FURS[:, k], "o", color=colour)
            axes.plot(1900 + np.arange(len(animals)), animals[:, k], color=colour, label=name)
        axes.axvline(1920, color="0.7")
        axes.set_ylabel("furs, thousands")
        axes.legend()


if __name__ == "__main__":
    run(main, __doc__)
