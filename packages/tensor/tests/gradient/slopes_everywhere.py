"""First and second derivatives of elementwise functions over the whole range of numbers, against many digits.

`nox -s attack` runs this: it takes a quarter of an hour.
"""

from __future__ import annotations

import unittest
from collections.abc import Iterator
from typing import Any

import theano_tensor as T
from theano_linker_c import function
from theano_tensor.gradient import grad

from . import slope_table as table

MODES = ("FAST_RUN", "FAST_COMPILE")


def derivatives(slope: Any, arguments: list[Any]) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Yield how often is differentiated by each argument, and the expression."""
    places = [i for i in range(len(arguments)) if slope.by in (None, i)]
    for i in places:
        first = grad(slope.of(*arguments).sum(), arguments[i], disconnected_inputs="ignore")
        orders = [int(k == i) for k in range(len(arguments))]
        yield tuple(orders), first
        for j in places:
            yield (
                tuple(n + (k == j) for k, n in enumerate(orders)),
                grad(first.sum(), arguments[j], disconnected_inputs="ignore"),
            )


class TestSlopesEverywhere(unittest.TestCase):
    def check(self, name: str, slope: Any, columns: Any, dtype: str) -> None:
        arguments = [T.TensorType(dtype, (None,))(letter) for letter in "xy"[: len(columns)]]
        wanted = list(derivatives(slope, arguments))
        for mode in MODES:
            results = function(arguments, [v for _, v in wanted], mode=mode)(*columns)
            for (orders, _), found in zip(wanted, results, strict=True):
                for k, at in enumerate(zip(*(c.tolist() for c in columns), strict=True)):
                    exact = table.exact(slope.like, at, orders)
                    if exact is not None and table.wrong(slope, found[k], exact, dtype, at):
                        with self.subTest(name=name, dtype=dtype, mode=mode, orders=orders, at=at):
                            self.fail(f"{found[k]!r} for {exact}")

    def test_functions_of_one_number(self) -> None:
        for name, slope in table.UNARY.items():
            for dtype in table.NEAR:
                self.check(name, slope, [table.numbers(slope, dtype)], dtype)

    def test_functions_of_two_numbers(self) -> None:
        for name, slope in table.BINARY.items():
            for dtype in table.NEAR:
                self.check(name, slope, list(table.pairs(slope, dtype)), dtype)


if __name__ == "__main__":
    unittest.main()
