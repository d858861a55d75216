"""Sums over all alignments of labels with time steps, in logarithms, for a batch at once.

Graves, Fernandez, Gomez, Schmidhuber: Connectionist Temporal Classification, 2006, section 4.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

BLANK = 0


class Alignments:
    """A batch of sequences and labels, ready for sums over alignments.

    A label stands between blanks, so there are ``2 * n + 1`` states for n labels.

    Parameters
    ----------
    logarithms : array (time, batch, symbols)
        Logarithms of probabilities.
    labels : array (batch, any)
        The labels of each example; negative ones do not count.
    lengths : array (batch,)
        Numbers of time steps.
    """

    def __init__(self, logarithms: Any, labels: Any, lengths: Any) -> None:
        self.logarithms, self.lengths = logarithms, lengths
        rows = [row[row >= 0] for row in labels]
        self.counts = np.array([len(row) for row in rows], dtype="int64")
        self.states = np.full((len(rows), 2 * max(self.counts, default=0) + 1), BLANK, dtype="int64")
        for states, row in zip(self.states, rows, strict=True):
            states[1 : 2 * len(row) : 2] = row
        before = np.roll(self.states, 2, axis=1)
        # From a label to the next one without a blank in between, unless they are the same.
        self.skips = (self.states != BLANK) & (self.states != before)
        self.skips[:, :2] = False
        self.inside = np.arange(self.states.shape[1]) <= 2 * self.counts[:, None]

    def emissions(self, t: int) -> Any:
        """Return the logarithm of the probability of each state's symbol at a time."""
        return np.take_along_axis(self.logarithms[t], self.states, axis=1)

    def forward(self) -> tuple[Any, Any]:
        """Return the sums over beginnings of alignments, for each time and state, and over whole alignments."""
        steps, batch, _ = self.logarithms.shape
        sums = np.full((steps, *self.states.shape), -np.inf, self.logarithms.dtype)
        for t in range(steps):
            if t == 0:
                reached = np.full(self.states.shape, -np.inf)
                reached[:, :2] = 0
            else:
                reached = _merged(sums[t - 1], self.skips)
            sums[t] = np.where(self.inside & (t < self.lengths)[:, None], reached + self.emissions(t), -np.inf)
        rows, last = np.arange(batch), 2 * self.counts
        ends = sums[self.lengths - 1, rows] if steps else np.full(self.states.shape, -np.inf)
        by_label = np.where(self.counts > 0, ends[rows, np.maximum(last - 1, 0)], -np.inf)
        both = np.logaddexp(ends[rows, last], by_label)
        return sums, np.where(self.lengths > 0, both, np.where(self.counts == 0, 0.0, -np.inf))

    def occupied(self, sums: Any, whole: Any) -> Any:
        """Return the expected number of times that each symbol is emitted, for each time and example."""
        steps, batch, symbols = self.logarithms.shape
        result = np.zeros((steps, batch, symbols), self.logarithms.dtype)
        rows, possible = np.arange(batch)[:, None], np.isfinite(whole)[:, None]
        probabilities = np.full(self.states.shape, -np.inf)
        for t in reversed(range(steps)):
            if t + 1 < steps:
                later = probabilities + self.emissions(t + 1)
                probabilities = _merged(later[:, ::-1], np.roll(self.skips, -2, axis=1)[:, ::-1])[:, ::-1]
            probabilities = np.where((t == self.lengths - 1)[:, None], self._ends(), probabilities)
            shares = np.exp(sums[t] + probabilities - np.where(possible, whole[:, None], 0))
            np.add.at(result[t], (rows, self.states), np.where(possible, shares, 0))
        return result

    def _ends(self) -> Any:
        """Return zeros for states in which an alignment may end, minus infinity for others."""
        position, last = np.arange(self.states.shape[1]), 2 * self.counts[:, None]
        return np.where((position == last) | (position == last - 1), 0.0, -np.inf)


def _merged(sums: Any, skips: Any) -> Any:
    """Return the sums over the states from which each one may be reached: itself, the one before, the last but one."""
    result = sums.copy()
    result[:, 1:] = np.logaddexp(result[:, 1:], sums[:, :-1])
    result[:, 2:] = np.where(skips[:, 2:], np.logaddexp(result[:, 2:], sums[:, :-2]), result[:, 2:])
    return result
