"""The strips under the normal curve from which NumPy's `Generator` draws: 256 of one area, the lowest with the tail."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

__all__ = ["ziggurat"]

_STRIPS = 256
_UNIT = 2.0**52
#: PCG64 multiplies by this before it adds the increment, modulo 2**128.
_MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645
_MODULUS = 1 << 128


@cache
def ziggurat() -> tuple[Any, Any, Any]:
    """Return the tables of a draw.

    The widths are read off draws: NumPy keeps them rounded in a way of its own, which shows in the last digits of all
    numbers. Their consequences only decide which numbers are taken.

    Returns
    -------
    widths : ndarray of float64
        Of each strip, in units of 2**-52: a number of 52 bits times it is a place in the strip.
    inside : ndarray of uint64
        The numbers of 52 bits below which places in the strip are under the curve.
    heights : ndarray of float64
        The curve where the strip ends.
    """
    generator = np.random.Generator(np.random.PCG64(0))
    # A word says the strip in its lowest 8 bits, then a sign, then the place: the first one.
    widths = np.array([_first_normal(generator, 1 << 9 | strip) for strip in range(_STRIPS)])
    inner = np.array([widths[-1], 0.0, *widths[1:-1]])
    heights = np.exp(-0.5 * (widths * _UNIT) ** 2)
    heights[0] = 1
    return widths, (inner / widths * _UNIT).astype("uint64"), heights


def _first_normal(generator: np.random.Generator, word: int) -> float:
    """Return the normal number that is drawn when the next 64 bits are `word`."""
    state: Any = generator.bit_generator.state
    # The draw is the exclusive or of the halves of the next state, turned by its highest 6 bits.
    before = (word - state["state"]["inc"]) * pow(_MULTIPLIER, -1, _MODULUS) % _MODULUS
    state["state"]["state"] = before
    generator.bit_generator.state = state
    return float(generator.standard_normal())
