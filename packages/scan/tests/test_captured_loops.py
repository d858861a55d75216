"""Loops whose steps are captured and replayed give the values of one instruction at a time."""

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

    def test_rows_in_fortran_order(self) -> None:
        x, s = tt.dtensor3("x"), tt.dscalar("s")
        steps = {
            "a copy is written into": lambda y: tt.set_subtensor(y[0], 7.0),
            "the result itself": lambda y: y,
            "a copy alone": lambda y: tt.inc_subtensor(y[:, 1], y[:, 0]).copy(),
            "a sum": lambda y: y + tt.set_subtensor(tt.exp(-y)[0], 3.0),
        }
        for name, step in steps.items():
            for second in (lambda s, z: s * 0.5 + z[1, 0] * 1e-3, lambda s, z: s * 0.5):

                def whole(x: Any, s: Any, step: Any = step, second: Any = second) -> Any:
                    z = step(tt.exp(x.T * s))
                    return second(s, z), z

                results, _ = scan(whole, sequences=x, outputs_info=[s, None])
                # In a first call of one step, rows have no places in an array of all steps.
                shapes = [((n, 2, 3), ()) for n in (1, 1, 5, 5, 6, 8, 8)]
                with self.subTest(name):
                    self._check([x, s], results, shapes)

    def _check(self, inputs: list[Any], outputs: list[Any], shapes: Sequence[tuple[Any, ...]]) -> None:
        rng = np.random.default_rng(0)
        compiled, plain = (function(inputs, outputs, mode=NATIVE) for _ in range(2))
        for row in shapes:
            values = [rng.uniform(0.1, 1, size=shape) for shape in row]
            with capture_after(1):
                result = compiled(*values)
            with capture_after(None):
                expected = plain(*values)
            for a, b in zip(result, expected, strict=True):
                np.testing.assert_array_equal(a, b)


if __name__ == "__main__":
    unittest.main()
