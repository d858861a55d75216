"""Properties of rewriting on random expressions with shared parts."""

from __future__ import annotations

import math
import unittest
from typing import Any

from arithmetic import (
    add,
    add_zero,
    const,
    drop_identity,
    evaluate,
    identity,
    mul,
    mul_one,
    neg,
    neg_of_neg,
    real,
    sub,
    sub_as_add,
    sub_self,
    total,
)
from hypothesis import given, settings, strategies as st

from theano_graph import FunctionGraph, Variable
from theano_optimize import (
    EquilibriumRewriter,
    GraphRewriter,
    MergeRewriter,
    PatternRewriter,
    SequenceRewriter,
    WalkRewriter,
    constant_folding,
)
from theano_testing.tiers import examples

Steps = list[tuple[int, int, int]]
OPS = (add, mul, sub, neg, identity, total)
INPUTS = 3

steps = st.lists(
    st.tuples(st.integers(0, len(OPS) + 1), st.integers(0, 1000), st.integers(0, 1000)), min_size=1, max_size=40
)
values = st.tuples(*[st.integers(-4, 4).map(float)] * INPUTS)

distribute = PatternRewriter((mul, 2, (add, "x", "y")), (add, (mul, 2, "x"), (mul, 2, "y")), name="distribute")
# Merging makes nodes shared; rules that spare shared nodes see other graphs after it.
neg_of_neg_everywhere = PatternRewriter((neg, (neg, "x")), "x", name="everywhere", allow_multiple_clients=True)
RULES = [neg_of_neg, add_zero, mul_one, sub_self, drop_identity, constant_folding, distribute]


def build(steps: Steps) -> FunctionGraph:
    """Return a graph whose nodes use earlier ones; its outputs are the last two values."""
    inputs = [real(f"x{i}") for i in range(INPUTS)]
    result: list[Variable] = list(inputs)
    for kind, left, right in steps:
        a, b = result[left % len(result)], result[right % len(result)]
        if kind >= len(OPS):
            result.append(const(left % 3))
        elif OPS[kind] in (neg, identity):
            result.append(OPS[kind](a))
        elif OPS[kind] is mul:
            # One constant factor keeps the values small enough to be exact.
            result.append(mul(a, const(right % 3 - 1)))
        else:
            result.append(OPS[kind](a, b))
    return FunctionGraph(inputs, result[-2:])


def engines() -> dict[str, GraphRewriter]:
    """Return rewriters of each kind."""
    return {
        "merge": MergeRewriter(),
        "walk": WalkRewriter(RULES),
        "walk back": WalkRewriter(RULES, order="out_to_in", visit_new=True),
        "equilibrium": EquilibriumRewriter([*RULES, sub_as_add], cleanup=[MergeRewriter()]),
        "sequence": SequenceRewriter([MergeRewriter(), EquilibriumRewriter(RULES), MergeRewriter()]),
    }


class TestRandomExpressions(unittest.TestCase):
    @settings(max_examples=examples(120), deadline=None)
    @given(steps, values)
    def test_values_stay(self, steps: Steps, values: tuple[float, ...]) -> None:
        expected = evaluate(build(steps), values)
        if not all(abs(v) < 2**50 for v in expected):
            return
        for name, engine in engines().items():
            fgraph = build(steps)
            engine.rewrite(fgraph)
            fgraph.check_integrity()
            for got, reference in zip(evaluate(fgraph, values), expected, strict=True):
                self.assertTrue(math.isclose(got, reference, rel_tol=1e-9), f"{name}: {got} for {reference}")

    @settings(max_examples=examples(60), deadline=None)
    @given(steps)
    def test_equilibrium_is_a_fixed_point(self, steps: Steps) -> None:
        fgraph = build(steps)
        rewriter = EquilibriumRewriter(RULES, cleanup=[MergeRewriter()])
        rewriter.rewrite(fgraph)
        self.assertEqual(rewriter.rewrite(fgraph).changes, 0)
        # A plain walk that asks every rule about every node finds nothing that the work list has missed.
        self.assertEqual(WalkRewriter(RULES).rewrite(fgraph).changes, 0)

    @settings(max_examples=examples(60), deadline=None)
    @given(steps)
    def test_merging_leaves_no_two_equal_nodes(self, steps: Steps) -> None:
        fgraph = build(steps)
        MergeRewriter().rewrite(fgraph)
        keys: list[Any] = [(node.op, tuple(node.inputs)) for node in fgraph.apply_nodes]
        self.assertEqual(len(set(keys)), len(keys))

    @settings(max_examples=examples(40), deadline=None)
    @given(steps)
    def test_merging_step_by_step_is_merging_at_once(self, steps: Steps) -> None:
        at_once, step_by_step = build(steps), build(steps)
        MergeRewriter().rewrite(step_by_step)
        for fgraph in (at_once, step_by_step):
            EquilibriumRewriter([neg_of_neg_everywhere, drop_identity, sub_as_add]).rewrite(fgraph)
            MergeRewriter().rewrite(fgraph)
        self.assertEqual(len(at_once.apply_nodes), len(step_by_step.apply_nodes))

    @settings(max_examples=examples(40), deadline=None)
    @given(steps)
    def test_the_result_is_the_same_each_time(self, steps: Steps) -> None:
        texts = set()
        for _ in range(2):
            fgraph = build(steps)
            engines()["equilibrium"].rewrite(fgraph)
            texts.add(str(fgraph))
        self.assertEqual(len(texts), 1)


if __name__ == "__main__":
    unittest.main()
