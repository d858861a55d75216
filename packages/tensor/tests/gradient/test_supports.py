"""Derivatives through masks and indices: elements that are not chosen give 0, to all orders."""

from __future__ import annotations

import os
import unittest
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

import theano_tensor as T
from theano_graph import applys_between
from theano_linker_c import function, scalar
from theano_tensor.gradient import grad
from theano_testing.tiers import slow

Function = Callable[[Any], Any]

#: Functions that have no number, or no slope, at 0 and left of it.
FUNCTIONS: dict[str, Function] = {
    "log": T.log,
    "root": T.sqrt,
    "quotient": lambda x: 1 / x,
    "x log x": lambda x: x * T.log(x),
    "x root x": lambda x: T.sqrt(x) * x,
    "sin x / x": lambda x: T.sin(x) / x,
    "expm1 x / x": lambda x: T.expm1(x) / x,
    "power": lambda x: x**-1.5,
    "log log": lambda x: T.log(T.log(x + 1)),
    "root twice": lambda x: T.exp(T.sqrt(x)) * T.sqrt(x),
    "below a sigmoid": lambda x: T.log(T.sigmoid(T.log(x))),
    "normalised": lambda x: T.exp(-0.5 * ((x - 1) / T.sqrt(x)) ** 2) / T.sqrt(x),
    "moved": lambda x: (T.log(x[::-1]) * x[::-1])[::-1],
    "reshaped": lambda x: T.log(x).reshape((-1, 1)).flatten() * x,
    "power of x": lambda x: x**x,
}
#: Masks and indices that choose the first and the third of four numbers.
MASKS: dict[str, Callable[[Function, Any], Any]] = {
    "switch": lambda f, x: T.switch(x > 0, f(x), 0),
    "turned switch": lambda f, x: T.switch(x <= 0, 0, f(x)),
    "two switches": lambda f, x: T.switch(x > 0, T.switch(x > 5, f(x) * 2, f(x)), 0),
    "by equality": lambda f, x: T.switch(T.eq(x, 0) | T.lt(x, 0), 0, f(x)),
    "sum of switches": lambda f, x: T.switch(x > 0, f(x), 0) * 0.5 + T.switch(x > 0, 0.5 * f(x), 0),
    "several conditions": lambda f, x: T.switch(x > 2, f(y := T.sqrt(x) ** 2), T.switch(x > 0, f(y), 0)),
    "elements": lambda f, x: T.stack([f(x)[0], f(x)[2]]),
    "slice": lambda f, x: f(x)[::2],
    "list": lambda f, x: f(x)[[0, 2]],
    "mask": lambda f, x: f(x)[(x > 0).nonzero()],
    "emptied": lambda f, x: T.set_subtensor(f(x)[1::2], 0),
    "column": lambda f, x: T.switch((x > 0).dimshuffle(0, "x"), f(x).dimshuffle(0, "x"), 0),
    "row of a column": lambda f, x: T.switch(x > 0, f(x), 0).dimshuffle("x", 0) * T.ones((2, 1)) / 2,
}
LONG = os.environ.get("THEANO_ATTACK") == "long"
AT, NEAR = np.array([1.0, 0.0, 2.5, -1.0]), np.array([1.0, 0.5, 2.5, 0.5])


def derivatives(f: Function, x: Any) -> list[Any]:
    """Return the first and second derivative."""
    first = grad(f(x).sum(), x)
    return [first, grad((first * np.arange(1.0, 5.0)).sum(), x)]


def wrong_ones(functions: Iterable[str], masks: Iterable[str], modes: tuple[str, ...]) -> list[Any]:
    """Return which derivatives are not 0 where nothing is chosen, and those of the function elsewhere."""
    wrong = []
    for name in functions:
        x = T.dvector("x")
        expected = function([x], derivatives(FUNCTIONS[name], x), mode=modes[0])(NEAR)
        for mask in masks:
            results = derivatives(partial(MASKS[mask], FUNCTIONS[name]), x)
            for mode in modes:
                together = function([x], results, mode=mode, on_unused_input="ignore")(AT)
                alone = [function([x], result, mode=mode)(AT) for result in results]
                for order in (0, 1):
                    right = expected[order] * (AT > 0)
                    for kind, values in (("together", together), ("alone", alone)):
                        if not np.allclose(values[order], right, rtol=1e-9, atol=1e-12):
                            wrong.append((name, mask, mode, order + 1, kind, values[order], right))
    return wrong


class TestSupports(unittest.TestCase):
    def test_some(self) -> None:
        wrong = wrong_ones(["root twice"], ["switch", "several conditions", "elements"], ("FAST_COMPILE",))
        self.assertEqual(wrong, [])

    @slow
    def test_more(self) -> None:
        functions = FUNCTIONS if LONG else ["x root x", "normalised", "moved"]
        modes = ("FAST_COMPILE", "FAST_RUN") if LONG else ("FAST_COMPILE",)
        self.assertEqual(wrong_ones(functions, MASKS, modes), [])

    def test_repeated_elements_of_long_indices(self) -> None:
        """Work on the few elements of a vector is not repeated for each time that it is read."""
        x, i = T.dvector("x"), T.lvector("i")
        read = (T.exp(x) * 2)[i]
        f = function([x, i], grad((read**2).sum(), x))
        value, index = np.array([0.5, 1.0]), np.array([0, 1, 1, 0, 1])
        counts = np.bincount(index)
        np.testing.assert_allclose(f(value, index), counts * 8 * np.exp(2 * value))
        sizes = [node.op for node in f.maker.fgraph.apply_nodes if "exp" in str(node.op).lower()]
        self.assertEqual(len(sizes), 1, sizes)

    def test_gradients_keep_their_sizes(self) -> None:
        """One choice is that of the function; the other stands where the cotangent leaves it."""
        x = T.dvector("x")
        y = x
        for _ in range(8):
            y = T.tanh(y) * 2
        gradient: Any = grad(T.switch(x > 0, y, 0).sum(), x)
        choices = [n for n in applys_between([x], [gradient]) if getattr(n.op, "scalar_op", None) == scalar.switch]
        self.assertEqual(len(choices), 2)

    def test_parts_with_operands_that_broadcast(self) -> None:
        x, row, number = T.dmatrix("x"), T.dvector("row"), T.dscalar("number")
        part = (T.sqrt(x) * number)[1]
        f = function([x, row, number], grad((part * row).sum(), [x, row, number]))
        by_x, by_row, by_number = f([[0.0, 1.0], [4.0, 1.0]], [1.0, 3.0], 2.0)
        np.testing.assert_allclose(by_x, [[0.0, 0.0], [0.5, 3.0]])
        np.testing.assert_allclose(by_row, [4, 2])
        np.testing.assert_allclose(by_number, 5)
        g = function([x, row], grad((T.sqrt(x) * row)[[1, 1]].sum(), [x, row]))
        by_x, by_row = g([[1.0, 1.0], [4.0, 1.0]], [1.0, 3.0])
        np.testing.assert_allclose(by_x, [[0.0, 0.0], [0.5, 3.0]])
        np.testing.assert_allclose(by_row, [4, 2])


if __name__ == "__main__":
    unittest.main()
