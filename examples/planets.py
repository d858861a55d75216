"""A simulation with scan: planets around the sun, and a flight to Mars whose speed is found by gradients through it.

Run ``python examples/planets.py [--quick] [--picture planets.png]``. Lengths are in astronomical units, times in years,
and masses in suns; the orbits begin with the planets' real distances and speeds at their points nearest to the sun.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from demo_tools import Array, drawing, run

import theano
import theano.tensor as T

#: Mass, mean distance, eccentricity, and the measured length of the year in days.
PLANETS = {
    "Mercury": (1.660e-7, 0.387099, 0.205636, 87.969),
    "Venus": (2.448e-6, 0.723336, 0.006777, 224.701),
    "Earth": (3.003e-6, 1.000003, 0.016711, 365.256),
    "Mars": (3.227e-7, 1.523710, 0.093394, 686.980),
}
GRAVITY = 4 * np.pi**2
YEAR = 365.256


def pulls(places: Any, masses: Any) -> Any:
    """Return how all bodies accelerate each other."""
    between = places.dimshuffle("x", 0, 1) - places.dimshuffle(0, "x", 1)
    # A body does not pull itself: its distance to itself counts as one, where the difference is zero.
    squares = T.sqr(between).sum(axis=2) + T.eye(places.shape[0])
    return GRAVITY * (between * (masses / squares**1.5).dimshuffle(0, 1, "x")).sum(axis=1)


def fly(places: Any, speeds: Any, masses: Any, step: float, steps: Any) -> tuple[Any, Any]:
    """Return places and speeds after each step of the leapfrog method, which keeps the energy over long times."""

    def leap(places: Any, speeds: Any, masses: Any) -> tuple[Any, Any]:
        speeds = speeds + step / 2 * pulls(places, masses)
        places = places + step * speeds
        return places, speeds + step / 2 * pulls(places, masses)

    (all_places, all_speeds), _ = theano.scan(
        leap, outputs_info=[places, speeds], non_sequences=masses, n_steps=steps, name="leapfrog"
    )
    return all_places, all_speeds


def energy(places: Any, speeds: Any, masses: Any) -> Any:
    """Return the energy of all bodies."""
    between = places.dimshuffle("x", 0, 1) - places.dimshuffle(0, "x", 1)
    distances = T.sqrt(T.sqr(between).sum(axis=2) + T.eye(places.shape[0]))
    pairs = T.outer(masses, masses) * (1 - T.eye(places.shape[0])) / distances
    return 0.5 * (masses * T.sqr(speeds).sum(axis=1)).sum() - 0.5 * GRAVITY * pairs.sum()


def solar_system() -> tuple[Array, Array, Array]:
    """Return places, speeds and masses of the sun and the planets, each at its nearest point, at right angles to it."""
    masses, mean, eccentricity, _ = np.array([(1.0, 0.0, 0.0, 0.0), *PLANETS.values()]).T
    nearest = mean * (1 - eccentricity)
    speed = np.zeros_like(mean)
    speed[1:] = np.sqrt(GRAVITY * (1 + masses[1:]) * (2 / nearest[1:] - 1 / mean[1:]))
    nothing = np.zeros_like(mean)
    return np.stack([nearest, nothing], axis=1), np.stack([nothing, speed], axis=1), masses


def days_of_years(path: Array, step: float) -> dict[str, float]:
    """Return how many days each planet takes once around the sun: when it comes back across the axis."""
    days = {}
    for k, name in enumerate(PLANETS, 1):
        y = path[:, k, 1] - path[:, 0, 1]
        (up,) = np.nonzero((y[:-1] < 0) & (y[1:] >= 0))
        crossings = [0.0, *((i + 1 + y[i] / (y[i] - y[i + 1])) * step for i in up)]
        days[name] = (crossings[-1] - crossings[0]) / (len(crossings) - 1) * YEAR
    return days


def speed_to_mars(step: float) -> float:
    """Return the speed at which a ship has to leave the Earth's orbit to come as far as that of Mars."""
    speed = theano.shared(2 * np.pi, name="speed")
    start = T.stack([T.zeros(2), T.constant([1.0, 0.0])])
    speeds = T.stack([T.zeros(2), T.stack([T.zeros(()), speed])])
    path, _ = fly(start, speeds, T.constant([1.0, 0.0]), step, int(0.8 / step))
    furthest = T.sqrt(T.sqr(path[:, 1]).sum(axis=1)).max()
    off = furthest - PLANETS["Mars"][1]
    # Newton's method: the slope of the distance by the speed comes through all steps of the loop.
    improve = theano.function([], off, updates=[(speed, speed - off / T.grad(off, speed))])
    for _ in range(12):
        improve()
    return float(speed.get_value())


class Found(NamedTuple):
    """Results: days of the planets' years, the energy lost, and the speed to Mars."""

    days: dict[str, float]
    lost: float
    speed: float


def main(quick: bool = False, picture: Path | None = None) -> Found:
    step = 1 / 2000 if quick else 1 / 10000
    places, speeds, masses = (theano.shared(v, name=n) for v, n in zip(solar_system(), "xvm", strict=True))
    path, path_speeds = fly(places, speeds, masses, step, int(2 / step))
    before, after = energy(places, speeds, masses), energy(path[-1], path_speeds[-1], masses)
    simulate = theano.function([], [path, (after - before) / before])
    found_path, lost = simulate()
    days = days_of_years(found_path, step)
    for name, (_, _, _, measured) in PLANETS.items():
        print(f"{name:8} {days[name]:8.3f} days, measured {measured:8.3f}")
    speed = speed_to_mars(1 / 500)
    print(f"energy lost {float(lost):.1e}; to Mars with {speed * 149597870.7 / (YEAR * 86400):.2f} km/s")
    if picture is not None:
        draw(picture, found_path)
    return Found(days, float(lost), speed)


def draw(path: Path, bodies: Array) -> None:
    with drawing(path, size=(5.5, 5.5)) as axes:
        axes.plot(0, 0, "o", color="orange", markersize=10)
        for k, name in enumerate(PLANETS, 1):
            axes.plot(*bodies[::20, k].T, linewidth=1, label=name)
        axes.set_aspect("equal")
        axes.legend(loc="upper right")
        axes.set_title("two years, in astronomical units")


if __name__ == "__main__":
    run(main, __doc__)
