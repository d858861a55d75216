"""Results of ``==`` between variables that become operands give a warning, and no others."""

from __future__ import annotations

import unittest
import warnings
from collections.abc import Callable
from functools import partial
from operator import eq
from typing import Any

import theano_tensor as T
from theano_graph import ComparisonWarning
from theano_linker_c import scalar

x, y, z = T.dvector("x"), T.dvector("y"), T.dvector("z")


def _equal(a: Any, b: Any) -> Any:
    return a == b


def _mean(values: Any) -> Any:
    return T.mean(values)


def _assigned(a: Any, b: Any) -> Any:
    right = a == b
    return T.mean(right)


def _both(a: Any, b: Any) -> Any:
    right = wrong = not (a == b)  # noqa: SIM201
    del wrong
    return T.switch(right, x, y)


def _overwritten(a: Any, b: Any) -> Any:
    right = a == b
    del right
    right = True
    return T.switch(right, x, y)


def _conditional(a: Any, b: Any) -> Any:
    return T.switch(True, 1.0, 2.0) if a == b else T.switch(False, 1.0, 2.0)


def _flag(a: Any, b: Any) -> Any:
    return _pick(x, a == b, True)


def _pick(a: Any, last: bool, condition: Any) -> Any:
    return T.switch(a, 1.0, 2.0) if last else T.switch(T.gt(a, 0), 1.0, 2.0)


def _warnings_of(build: Callable[[], Any]) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        build()
    return [w for w in caught if w.category is ComparisonWarning]


class TestOperands(unittest.TestCase):
    def test_results_that_are_used_give_a_warning(self) -> None:
        a, b = scalar.ScalarType("float64")("a"), scalar.ScalarType("float64")("b")
        builds: dict[str, Callable[[], Any]] = {
            "argument": lambda: T.switch(x == y, 1.0, 2.0),
            "argument over lines": lambda: T.switch(
                x == y,
                1.0,
                2.0,
            ),
            "left": lambda: (x == y) * x,
            "right": lambda: x * (x == y),
            "different": lambda: T.mean(T.argmax(x) != y),
            "with a number": lambda: T.mean(x == 0),
            "number before": lambda: T.mean(0 == x),  # noqa: SIM300
            "arithmetic": lambda: x * (1 - (x == y)),
            "negated": lambda: T.switch(not x == y, x, y),  # noqa: SIM201
            "joined": lambda: T.switch((x == y) & (x == z), x, y),
            "and": lambda: T.switch(x == y and x == z, x, y),
            "list": lambda: T.stack([x == y, x == z]),
            "keyword": lambda: T.dot(x, b=x == y),
            "returned": lambda: T.mean(_equal(x, y)),
            "passed": lambda: _mean(x == y),
            "both": lambda: _mean(_equal(x, y)),
            "assigned": lambda: _assigned(x, y),
            "assigned twice": lambda: _both(x, y),
            "walrus": lambda: T.mean(right := x == y) + right,
            "scalars": lambda: (a == b) * a,
            "update": lambda: T.as_tensor_variable(x == y),
        }
        for name, build in builds.items():
            with self.subTest(name):
                self.assertTrue(_warnings_of(build))

    def test_other_bools_are_not(self) -> None:
        three = 3
        builds: dict[str, Callable[[], Any]] = {
            "numbers": lambda: T.switch(three == 3, x, y),
            "identity": lambda: T.switch(x is y, x, y),
            "decided": lambda: _conditional(x, y),
            "condition": lambda: T.switch(True, x if x == y else y, y),
            "bool": lambda: T.switch(bool(x == y), x, y),
            "overwritten": lambda: _overwritten(x, y),
            "flag": lambda: _flag(x, y),
            "member": lambda: T.switch(x in [y, z], x, y),
            "index": lambda: x[[y, z, x].index(x)],
            "key": lambda: x * {x: 1, y: 2}[y],
            "elements": lambda: T.switch(T.eq(x, y), 1.0, 2.0),
        }
        for name, build in builds.items():
            with self.subTest(name):
                self.assertEqual(_warnings_of(build), [])

    def test_a_line_with_variables_and_with_numbers(self) -> None:
        for compared, count in ((3, 0), (x, 1), (y, 1)):
            self.assertEqual(len(_warnings_of(partial(_assigned, compared, 3))), count)

    def test_text(self) -> None:
        def build() -> Any:
            right = x == y
            return T.mean(right)

        (warning,) = _warnings_of(build)
        first = build.__code__.co_firstlineno
        self.assertEqual((warning.filename, warning.lineno), (__file__, first + 2))
        self.assertRegex(str(warning.message), rf"objects.*\n.*compared at test_comparison_operands.py:{first + 1}\n")
        self.assertIn("write T.eq(x, y) for `x == y`", str(warning.message))

    def test_once_a_line(self) -> None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            for _ in range(3):
                (x == y) * x
        self.assertEqual(len(caught), 1)


class TestIdentity(unittest.TestCase):
    def test_results_are_bools(self) -> None:
        for compared in (x == x, x == y, x != y, x == 1, 1 == x, eq(x, y), x.__eq__(y)):  # noqa: SIM300
            self.assertIsInstance(compared, bool)
        self.assertEqual((x == x, x == y, x != y), (True, False, True))

    def test_others_may_compare(self) -> None:
        class Any_:
            def __eq__(self, other: object) -> bool:
                return True

            __hash__ = None  # type: ignore[assignment]  # it is compared only

        self.assertTrue(x == Any_())
        self.assertFalse(x != Any_())

    def test_containers(self) -> None:
        self.assertEqual([z, y, x].index(x), 2)
        self.assertNotIn(x, [y, z])
        self.assertEqual({x: 1, y: 2}[y], 2)
        self.assertEqual((x, y), (x, y))
        self.assertEqual(len({x, y, x}), 2)
