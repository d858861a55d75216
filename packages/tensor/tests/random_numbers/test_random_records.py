"""Records of the ops that turn states and uniform numbers into draws: both machines, layouts, shapes, pickles."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

from theano_tensor import TensorType
from theano_tensor.random import RandomFunction
from theano_tensor.random.mrg import (
    A1,
    A2,
    M1,
    M2,
    ChoiceFromUniform,
    DotModulo,
    MRGUniform,
    MultinomialFromUniform,
    substreams,
)
from theano_testing.gaps import record_absence
from theano_testing.tensor import OpRecord, op_tests

STATES = substreams([1, 2, 3, 4, 5, 6], 4)
P = np.array([[0.25, 0.25, 0.5], [0.0, 1.0, 0.0], [0.5, 0.5, 0.0]])
U = np.array([0.1, 0.5, 0.6, 0.7, 0.2, 0.4])


def _moved(matrix: Any, half: list[int], modulus: int) -> list[int]:
    return [sum(a * x for a, x in zip(line, half, strict=True)) % modulus for line in matrix]


def _draw(states: Any) -> list[Any]:
    """Draw six numbers by matrix products in whole numbers: two from each of the first streams, one from the others."""
    after, numbers = [], {}
    for i, row in enumerate(states.tolist()):
        halves = row[:3], row[3:]
        for at in range(i, 6, len(states)):
            halves = _moved(A1, halves[0], M1), _moved(A2, halves[1], M2)
            numbers[at] = (halves[0][0] - halves[1][0]) % M1 or M1
        after.append([*halves[0], *halves[1]])
    return [np.array(after, "int32"), np.array([numbers[at] for at in range(6)]) / 2.0**31]


def _count(p: Any, u: Any) -> Any:
    counts = np.zeros(p.shape, "int64")
    for row_numbers in u.reshape(-1, len(p)):
        for i, number in enumerate(row_numbers):
            counts[i, np.searchsorted(np.cumsum(p[i]), number, side="right")] += 1
    return counts


def _choose(p: Any, u: Any) -> Any:
    left, result = p.copy(), np.zeros((len(p), 2), "int64")
    for c, row_numbers in enumerate(u.reshape(2, -1)):
        for i, number in enumerate(row_numbers):
            sums = np.cumsum(left[i])
            free = next(j for j in range(p.shape[1]) if j not in result[i, :c])
            result[i, c] = np.searchsorted(sums, number * sums[-1], side="right") if sums[-1] > 0 else free
            left[i, result[i, c]] = 0
    return result


RECORDS = (
    OpRecord("MrgUniform", lambda s: MRGUniform(TensorType("float64", (None,)))(s, [6]), _draw, [(STATES,)]),
    OpRecord("MultinomialFromUniform", lambda p, u: MultinomialFromUniform("int64")(p, u, 2), _count, [(P, U)]),
    OpRecord("ChoiceFromUniform", lambda p, u: ChoiceFromUniform("int64")(p, u, 2), _choose, [(P, U)]),
    OpRecord(
        "DotModulo",
        lambda a, s, b, t: DotModulo()(a, s, M1, b, t, 5),
        lambda a, s, b, t: np.concatenate([a @ s % M1, b @ t % 5]).astype("int32"),
        [(np.array(A1), np.array([1, 2, 3]), np.array([[1, 2], [3, 4]]), np.array([4, 3]))],
    ),
)
globals().update({test.__name__: test for test in (op_tests(record) for record in RECORDS)})
record_absence.declare_absent(RandomFunction, "its values depend on a state; test_random_draws compares with NumPy's")


class TestReferences(unittest.TestCase):
    def test_the_references_draw_what_they_should(self) -> None:
        self.assertEqual(_count(P, U).sum(axis=1).tolist(), [2, 2, 2])
        self.assertTrue(all(len(set(row)) == 2 for row in _choose(P, U).tolist()))
