"""Loops whose steps are captured and replayed give what they give one instruction at a time."""

from __future__ import annotations

import unittest
from collections.abc import Sequence
from typing import Any

import numpy as np

import theano_tensor as tt
from theano_linker_c import Mode, capture_after, function
from theano_scan import scan, until

NATIVE = Mode("cvm", "fast_run")


class CapturedLoops(unittest.TestCase):
    def test_states_and_gradients(self) -> None:
        x, w = tt.dvector("x"), tt.dmatrix("w")
        states, _ = scan(lambda h, w: tt.tanh(h.dot(w) + h.max()), outputs_info=x, non_sequences=w, n_steps=7)
        cost = (states**2).sum()
        self._check([x, w], [cost, *tt.grad(cost, [x, w])], [(3, (3, 3)), (3, (3, 3)), (3, (3, 3)), (2, (2, 2))])

    def test_sequences_and_taps(self) -> None:
        x, h = tt.dmatrix("x"), tt.dmatrix("h")
        states, _ = scan(
            lambda row, a, b: tt.exp(-((a - row.sum()) ** 2)) + b[::-1],
            sequences=x,
            outputs_info={"initial": h, "taps": [-1, -2]},
        )
        self._check([x, h], [states, *tt.grad(states.sum(), [x, h])], [((9, 3), (2, 3))] * 3 + [((4, 2), (2, 2))] * 2)

    def test_a_loop_that_ends_early(self) -> None:
        x = tt.dvector("x")
        states, _ = scan(lambda h: (h * 2 + h.mean(), until(h.sum() > 100)), outputs_info=x, n_steps=50)
        self._check([x], [states], [(3,)] * 4)

    def _check(self, inputs: list[Any], outputs: list[Any], shapes: Sequence[tuple[Any, ...]]) -> None:
        rng = np.random.default_rng(0)
        compiled, plain = (function(inputs, outputs, mode=NATIVE) for _ in range(2))
        for row in shapes:
            values = [rng.uniform(0.1, 1, size=shape) for shape in row]
            with capture_after(1):
                found = compiled(*values)
            with capture_after(None):
                wanted = plain(*values)
            for a, b in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(a, b)


if __name__ == "__main__":
    unittest.main()
