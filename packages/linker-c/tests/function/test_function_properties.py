"""Random graphs: outputs never share memory with other values, and values are those of NumPy."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
from hypothesis import given, settings, strategies as st

from theano_linker_c import FAST_COMPILE, FAST_RUN, Mode, function
from theano_testing.tiers import examples

from .function_support import add, add_one_in_place, constant, matrix, mul, shared, transpose

OPS: tuple[tuple[Any, Any], ...] = (
    (add, lambda a: a + a),
    (transpose, lambda a: a.T),
    (lambda v: mul(v, v), lambda a: a * a),
    (add_one_in_place, lambda a: a + 1),
)

MODES = (FAST_RUN, FAST_COMPILE, Mode("cvm", None), Mode("py", None), Mode("cvm_nogc", "merge"))

steps = st.lists(st.tuples(st.integers(0, len(OPS) - 1), st.integers(0, 30)), max_size=8)
choices = st.lists(st.integers(0, 30), max_size=4)


class Expression:
    """Variables and the values that they should have, grown step by step from an input, a constant and two shared."""

    def __init__(self, recipe: list[tuple[int, int]]) -> None:
        self.given = np.array([[1.0, 2.0], [3.0, 4.0]])
        self.x = matrix("x")
        self.constant = constant([[0.5, 0.25], [2.0, 0.0]])
        self.s, self.t = shared(np.ones((2, 2)), name="s"), shared(np.full((2, 2), 2.0), name="t")
        self.variables: list[Any] = [self.x, self.constant, self.s, self.t]
        self.values: list[Any] = [self.given, self.constant.data, self.s.get_value(), self.t.get_value()]
        for which, source in recipe:
            build, compute = OPS[which]
            source %= len(self.variables)
            operand = self.variables[source]
            self.variables.append(build(operand, operand) if build is add else build(operand))
            self.values.append(compute(self.values[source]))

    def at(self, index: int) -> tuple[Any, Any]:
        """Return a variable and its value."""
        index %= len(self.variables)
        return self.variables[index], self.values[index]


class TestRandomGraphs(unittest.TestCase):
    @settings(max_examples=examples(150), deadline=None)
    @given(steps, choices, st.integers(0, 30), st.none() | st.integers(0, 30), st.sampled_from(MODES))
    def test_values_and_memory(
        self, recipe: list[tuple[int, int]], expected: list[int], new_s: int, new_t: int | None, mode: Mode
    ) -> None:
        expression = Expression(recipe)
        pairs = [expression.at(i) for i in expected]
        updates = {expression.s: expression.at(new_s)}
        if new_t is not None:
            updates[expression.t] = expression.at(new_t)
        fn = function(
            [expression.x],
            [variable for variable, _ in pairs],
            updates={s: variable for s, (variable, _) in updates.items()},
            mode=mode,
            accept_inplace=True,
            on_unused_input="ignore",
        )
        argument = expression.given.copy()
        results = fn(argument)
        for result, (_, value) in zip(results, pairs, strict=True):
            np.testing.assert_array_equal(result, value)
        for target, (_, value) in updates.items():
            np.testing.assert_array_equal(target.get_value(), value)
        if not any(OPS[which][0] is add_one_in_place for which, _ in recipe):
            np.testing.assert_array_equal(argument, expression.given)
        storage = [s.get_value(borrow=True) for s in (expression.s, expression.t)]
        blocks = [*results, *storage, argument, expression.constant.data]
        for i, one in enumerate(blocks):
            for other in blocks[:i]:
                self.assertFalse(np.shares_memory(one, other))
        before = [result.copy() for result in results]
        fn(expression.given * 2)
        for result, value in zip(results, before, strict=True):
            np.testing.assert_array_equal(result, value)
