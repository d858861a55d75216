"""First and second derivatives of elementwise functions over the whole range of numbers, against many digits.

`nox -s attack` runs this: it takes a quarter of an hour. Each function is a test, so that
`python -m nose2 -s tests gradient.slopes_everywhere.TestSlopesEverywhere.test_of_two_numbers_hypot` is a part.
"""

from __future__ import annotations

import unittest
from collections.abc import Callable, Iterator
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
        expected = list(derivatives(slope, arguments))
        places = list(zip(*(c.tolist() for c in columns), strict=True))
        results = [function(arguments, [v for _, v in expected], mode=mode)(*columns) for mode in MODES]
        for n, (orders, _) in enumerate(expected):
            for k, at in enumerate(places):
                exact = table.exact(slope, at, orders)
                for mode, values in zip(MODES, results, strict=True):
                    if exact is not None and table.wrong(slope, values[n][k], exact, dtype, at):
                        with self.subTest(name=name, dtype=dtype, mode=mode, orders=orders, at=at):
                            self.fail(f"{values[n][k]!r} for {exact}")


def _add(title: str, name: str, slope: table.Slope, points: Callable[[table.Slope, str], list[Any]]) -> None:
    def test(self: TestSlopesEverywhere) -> None:
        for dtype in table.NEAR:
            self.check(name, slope, points(slope, dtype), dtype)

    test.__name__ = f"test_of_{title}_{''.join(c if c.isalnum() else '_' for c in name)}"
    setattr(TestSlopesEverywhere, test.__name__, test)


for _name, _slope in table.UNARY.items():
    _add("one_number", _name, _slope, lambda slope, dtype: [table.numbers(slope, dtype)])
for _name, _slope in table.BINARY.items():
    _add("two_numbers", _name, _slope, lambda slope, dtype: list(table.pairs(slope, dtype)))


if __name__ == "__main__":
    unittest.main()
