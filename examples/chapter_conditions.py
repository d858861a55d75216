"""Conditions: `switch` computes both sides and chooses element by element, `ifelse` computes the side that is needed.

Run ``python examples/chapter_conditions.py``; every statement about the results is checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano.ifelse import ifelse


class Counted(theano.Op):
    """The mean of a matrix, which counts how often it is computed."""

    __props__ = ("name",)

    def __init__(self, name: str, calls: list[str]) -> None:
        self.name = name
        self.calls = calls

    def make_node(self, *inputs: Any) -> theano.Apply:
        return theano.Apply(self, [T.as_tensor_variable(x) for x in inputs], [T.dscalar()])

    def perform(
        self, node: theano.Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        self.calls.append(self.name)
        output_storage[0][0] = np.asarray(inputs[0].mean())


def laziness() -> list[str]:
    """Count evaluations."""
    a, b = T.dscalars("a", "b")
    x, y = T.dmatrices("x", "y")
    calls: list[str] = []
    left, right = Counted("left", calls)(x), Counted("right", calls)(y)
    ones, twos = np.ones((20, 10)), np.full((20, 10), 2.0)
    for linker in ("cvm", "vm"):
        calls.clear()
        both = theano.function([a, b, x, y], T.switch(T.lt(a, b), left, right), mode=theano.Mode(linker))
        assert both(0.0, 1.0, ones, twos) == 1.0
        assert sorted(calls) == ["left", "right"]
        calls.clear()
        lazy = theano.function([a, b, x, y], ifelse(T.lt(a, b), left, right), mode=theano.Mode(linker))
        assert lazy(0.0, 1.0, ones, twos) == 1.0
        assert lazy(1.0, 0.0, ones, twos) == 2.0
        assert calls == ["left", "right"]
    return calls


def several_results() -> None:
    """One condition may choose several results at once."""
    flag, x = T.iscalar("flag"), T.dvector("x")
    low, high = ifelse(flag, [x.min(), x * 0], [x.max(), x])
    f = theano.function([flag, x], [low, high])
    assert [value.tolist() for value in f(1, [3.0, 1.0])] == [1.0, [0.0, 0.0]]
    assert [value.tolist() for value in f(0, [3.0, 1.0])] == [3.0, [3.0, 1.0]]


def gradients() -> None:
    """The gradient flows through the side that was taken."""
    x = T.dscalar("x")
    cost = ifelse(T.gt(x, 0), x**2, -3 * x)
    slope = theano.function([x], T.grad(cost, x))
    assert slope(5.0) == 10.0
    assert slope(-5.0) == -3.0
    v = T.dvector("v")
    rectified = T.switch(v > 0, v, 0.0)
    ramp = theano.function([v], T.grad(rectified.sum(), v))
    np.testing.assert_array_equal(ramp([-1.0, 2.0]), [0.0, 1.0])


def main() -> None:
    calls = laziness()
    several_results()
    gradients()
    print(f"conditions: {len(calls)} of 4 branches were computed")


if __name__ == "__main__":
    main()
