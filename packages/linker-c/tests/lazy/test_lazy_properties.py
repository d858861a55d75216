"""Random graphs with choices: all linkers agree with eager evaluation, and run needed operations only, once."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
from hypothesis import given, settings, strategies as st
from small_arrays import Python, add, compiled, mul, number, vector

from theano_testing.tiers import examples, slow

from .lazy_ops import Choose, ChooseByThunk

V = np.array([1.0, 2.0, -1.0])


def negated(v: Any) -> Any:
    """Return the negative of an array, in its place."""
    np.negative(v, out=v)
    return v


def turned(v: Any) -> Any:
    """Return a view of an array."""
    return v[::-1]


#: Kind of step: name, number of operands.
STEPS = {"add": 2, "mul": 2, "choose": 3, "ask": 3, "negate": 1, "turn": 1, "count": 1}
PLANS = st.lists(
    st.tuples(st.sampled_from(sorted(STEPS)), st.lists(st.integers(0, 30), min_size=3, max_size=3)), max_size=14
)


class Graph:
    """A random graph, its eager values, and how often its counting ops ran."""

    def __init__(self, plan: Any, conditions: Any) -> None:
        self.runs: list[int] = []
        self.inputs = [number("c"), number("d"), vector("x")]
        self.nodes: list[Any] = [self.inputs[2]]
        self.values: list[Any] = [V]
        self.needed: list[set[int]] = [set()]
        self.donated = {0}  # x, or a view of it for any choice: a node that overwrites it would be told to
        for name, choice in plan:
            operands = [k % len(self.nodes) for k in choice[: STEPS[name]]]
            getattr(self, name)(choice[0] % 2, conditions, operands)

    def _push(self, node: Any, value: Any, needed: set[int]) -> None:
        self.nodes.append(node)
        self.values.append(value)
        self.needed.append(needed)

    def _all(self, operands: list[int]) -> set[int]:
        return set().union(*(self.needed[k] for k in operands))

    def add(self, _: int, _2: Any, k: list[int]) -> None:
        self._push(add(*(self.nodes[i] for i in k)), self.values[k[0]] + self.values[k[1]], self._all(k))

    def mul(self, _: int, _2: Any, k: list[int]) -> None:
        self._push(mul(*(self.nodes[i] for i in k)), self.values[k[0]] * self.values[k[1]], self._all(k))

    def choose(self, which: int, conditions: Any, k: list[int], kind: Any = Choose) -> None:
        taken = k[1] if conditions[which] else k[2]
        node = kind()(self.inputs[which], self.nodes[k[1]], self.nodes[k[2]])
        self._push(node, self.values[taken], self.needed[taken])

    def ask(self, which: int, conditions: Any, k: list[int]) -> None:
        self.choose(which, conditions, k, ChooseByThunk)

    def turn(self, _: int, _2: Any, k: list[int]) -> None:
        if k[0] in self.donated:
            self.donated.add(len(self.nodes))
        self._push(Python(turned, views=(0,))(self.nodes[k[0]]), self.values[k[0]][::-1], self._all(k))

    def negate(self, _: int, _2: Any, k: list[int]) -> None:
        operand = Python(np.copy)(self.nodes[k[0]]) if k[0] in self.donated else self.nodes[k[0]]
        self._push(Python(negated, destroys=(0,))(operand), -self.values[k[0]], self._all(k))

    def count(self, _: int, _2: Any, k: list[int]) -> None:
        number = len(self.nodes)

        def counted(v: Any) -> Any:
            self.runs.append(number)
            return v + 1

        self._push(Python(counted)(self.nodes[k[0]]), self.values[k[0]] + 1, self._all(k) | {number})


class TestRandomGraphs(unittest.TestCase):
    @slow
    @settings(deadline=None, max_examples=examples(150))
    @given(PLANS, st.tuples(st.booleans(), st.booleans()), st.lists(st.integers(0, 30), min_size=1, max_size=3))
    def test_linkers_agree(self, plan: Any, conditions: Any, chosen: list[int]) -> None:
        with np.errstate(all="ignore"):
            graph = Graph(plan, conditions)
        expected = [k % len(graph.nodes) for k in chosen]
        outputs = [graph.nodes[k] for k in expected]
        overwrites = any(name == "negate" for name, _ in plan)
        for linker in ("cvm", "vm", "cvm_nogc", "c|py", "py"):
            f = compiled(graph.inputs, outputs, linker, accept_inplace=True, on_unused_input="ignore")
            value = V.copy()
            for _ in range(2):
                graph.runs.clear()
                results = f(*map(float, conditions), value)
                for k, result in zip(expected, results, strict=True):
                    np.testing.assert_array_equal(result, graph.values[k])
                self.assertEqual(value.tolist(), V.tolist())
                self.assertEqual(len(graph.runs), len(set(graph.runs)), "once")
                if linker in ("cvm", "vm", "cvm_nogc") and not overwrites:
                    needed = set().union(*(graph.needed[k] for k in expected))
                    self.assertEqual(set(graph.runs), needed)
