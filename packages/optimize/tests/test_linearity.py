"""The work of rewriting grows with the number of nodes, counted in calls and not in seconds."""

from __future__ import annotations

import unittest
from collections.abc import Sequence
from typing import Any

from arithmetic import (
    CountingRewriter,
    Scale,
    add,
    add_zero,
    const,
    exp,
    graph,
    identity,
    log_of_exp,
    mul,
    mul_one,
    neg,
    neg_of_neg,
    overwrite,
    real,
    sub,
    total,
)

from theano_graph import Apply, FunctionGraph, Variable
from theano_optimize import (
    EquilibriumRewriter,
    MergeRewriter,
    NodeRewriter,
    PatternRewriter,
    RewriteProfile,
    TransformResult,
    node_rewriter,
)
from theano_optimize._rules._node_rewriter import RewriterIndex
from theano_testing.tiers import slow


def chain(length: int) -> FunctionGraph:
    """Return a chain in which most nodes can be simplified away."""
    x = real("x")
    v = x
    for i in range(length // 5):
        v = add(mul(neg(neg(v)), const(1)), const(i % 2))
    return graph([x], v)


def tree(leaves: int) -> FunctionGraph:
    """Return a balanced tree over variables that are written in a roundabout way."""
    xs = [real(f"x{i}") for i in range(4)]
    level: list[Any] = [neg(neg(xs[i % 4])) for i in range(leaves)]
    while len(level) > 1:
        level = [add(a, mul(b, const(1))) for a, b in zip(level[::2], level[1::2], strict=True)]
    return graph(xs, level[0])


def simplified(fgraph: FunctionGraph, *more: NodeRewriter) -> tuple[int, RewriteProfile]:
    """Rewrite a graph; return how many times a rule was asked."""
    rules = [CountingRewriter(rule) for rule in (neg_of_neg, log_of_exp, add_zero, mul_one, *more)]
    profile = EquilibriumRewriter(rules, cleanup=[MergeRewriter()]).rewrite(fgraph)
    return sum(rule.calls for rule in rules), profile


class TestCallsPerNode(unittest.TestCase):
    def check(self, build: Any, sizes: Sequence[int], most: float) -> None:
        for size in sizes:
            fgraph = build(size)
            nodes = len(fgraph.apply_nodes)
            calls, profile = simplified(fgraph)
            with self.subTest(size=size):
                self.assertLess(calls, most * nodes)
                self.assertLess(profile.visits, most * nodes)

    def test_chains(self) -> None:
        self.check(chain, (100, 1000, 10000), 4)

    @slow
    def test_trees(self) -> None:
        self.check(tree, (64, 512, 4096), 4)

    def test_a_variable_with_many_clients(self) -> None:
        def fan(size: int) -> FunctionGraph:
            x = real("x")
            hub = exp(x)
            return graph([x], total(*(neg(neg(mul(hub, const(i)))) for i in range(size // 3))))

        self.check(fan, (300, 3000, 12000), 4)

    def test_nodes_without_rules_cost_nothing_but_a_look(self) -> None:
        counted = CountingRewriter(neg_of_neg)
        x = real("x")
        v = x
        for _ in range(1000):
            v = exp(v)
        profile = EquilibriumRewriter([counted]).rewrite(graph([x], v))
        self.assertEqual((counted.calls, profile.visits), (0, 1000))

    def test_a_graph_in_equilibrium_is_looked_at_once(self) -> None:
        x = real("x")
        v = x
        for _ in range(500):
            v = sub(v, x)
        profile = EquilibriumRewriter([neg_of_neg, add_zero]).rewrite(graph([x], v))
        self.assertEqual(profile.visits, 500)

    def test_a_second_run_changes_nothing(self) -> None:
        fgraph = chain(1000)
        simplified(fgraph)
        calls, profile = simplified(fgraph)
        self.assertEqual(profile.changes, 0)
        self.assertLess(calls, 4 * len(fgraph.apply_nodes) + 1)


class TestIndex(unittest.TestCase):
    def test_rules_by_op_and_distance(self) -> None:
        near = node_rewriter([exp], name="near", reach=0)(lambda fgraph, node: None)
        far = node_rewriter([type(exp)], name="far", reach=2)(lambda fgraph, node: None)
        index = RewriterIndex([near, far])
        self.assertEqual([index.for_op(exp, distance) for distance in (-1, 0)], [(near, far)] * 2)
        self.assertEqual([index.for_op(exp, distance) for distance in (1, 2, 3)], [(far,), (far,), ()])
        self.assertEqual(index.for_op(neg), ())

    def test_any_for(self) -> None:
        index = RewriterIndex([node_rewriter([exp])(lambda fgraph, node: None)])
        x = real("x")
        self.assertTrue(index.any_for(graph([x], exp(neg(x))).apply_nodes))
        self.assertFalse(index.any_for(graph([x], neg(neg(x))).apply_nodes))

    def test_any_for_asks_about_each_op_once(self) -> None:
        asked: list[Any] = []

        class Asked(RewriterIndex):
            def for_op(self, op: Any, distance: int = 0) -> Any:
                asked.append(op)
                return super().for_op(op, distance)

        x = v = real("x")
        for _ in range(100):
            v = neg(add(v, x))
        self.assertFalse(Asked([node_rewriter([exp])(lambda fgraph, node: None)]).any_for(graph([x], v).apply_nodes))
        self.assertEqual(asked, [add, neg])

    def test_a_phase_that_no_node_concerns_lets_its_clean_up_work(self) -> None:
        x = real("x")
        fgraph = graph([x], add(neg(x), neg(x)))
        rule = node_rewriter([exp])(lambda fgraph, node: None)
        profile = EquilibriumRewriter([rule], cleanup=[MergeRewriter()]).rewrite(fgraph)
        # Three nodes that are there, and the sum again, whose terms have become one.
        self.assertEqual((profile.visits, profile.nodes_after), (4, 2))


class TestReach(unittest.TestCase):
    def test_only_rules_that_look_that_far_are_asked_again(self) -> None:
        near = CountingRewriter(node_rewriter([exp], name="near", reach=0)(lambda fgraph, node: None))
        far = CountingRewriter(node_rewriter([exp], name="far", reach=3)(lambda fgraph, node: None))
        x = real("x")
        v: Any = identity(neg(neg(x)))
        for _ in range(10):
            v = exp(v)
        late = node_rewriter([exp], name="late", reach=0)(lambda fgraph, node: None)
        fgraph = graph([x], v)
        EquilibriumRewriter([near, far, late, PatternRewriter((neg, (neg, "x")), "x")]).rewrite(fgraph)
        # The change below happens before the chain is reached, so that each rule sees each node once.
        self.assertEqual((near.calls, far.calls), (10, 10))

    def test_a_late_change_reopens_as_many_levels_as_a_rule_sees(self) -> None:
        far = CountingRewriter(node_rewriter([exp], name="far", reach=3)(lambda fgraph, node: None))
        near = CountingRewriter(node_rewriter([exp], name="near", reach=0)(lambda fgraph, node: None))

        @node_rewriter([Scale])
        def wait_for_the_end(fgraph: FunctionGraph, node: Apply) -> TransformResult:
            return [neg(neg(node.inputs[0]))]

        x = real("x")
        v: Any = Scale(2.0)(x)
        for _ in range(10):
            v = exp(v)
        # The new Neg nodes are simplified after the whole chain has been seen.
        EquilibriumRewriter([near, far, wait_for_the_end, neg_of_neg]).rewrite(graph([x], v))
        self.assertEqual((near.calls, far.calls), (11, 14))


class TestManyRules(unittest.TestCase):
    def test_rules_for_other_ops_are_not_asked(self) -> None:
        others = [
            CountingRewriter(node_rewriter([Scale(float(i))], name=f"r{i}")(lambda fgraph, node: None))
            for i in range(80)
        ]
        x = real("x")
        v = x
        for i in range(60):
            v = Scale(float(i % 10))(v)
        EquilibriumRewriter(others).rewrite(graph([x], v))
        self.assertEqual([rule.calls for rule in others], [6] * 10 + [0] * 70)


class CountingGraph(FunctionGraph):
    """A graph that counts the clients that it lists."""

    listed = 0

    def clients(self, variable: Variable) -> Any:
        """Return the clients, counted."""
        result = super().clients(variable)
        self.listed += len(result)
        return result


class TestMergingBesideOverwriting(unittest.TestCase):
    def listed(self, twins: int) -> int:
        x = real("x")
        total_of_twins = total(*(exp(neg(x)) for _ in range(twins)))
        fgraph = CountingGraph([x], [total_of_twins, overwrite(exp(exp(x)))], clone=False)
        MergeRewriter().rewrite(fgraph)
        self.assertEqual(len(fgraph.apply_nodes), 6)
        return fgraph.listed

    def test_clients_are_not_listed_again_and_again(self) -> None:
        self.assertLessEqual(self.listed(400), 4 * self.listed(100) + 100)


class TestDeepGraphs(unittest.TestCase):
    @slow
    def test_depth_is_not_limited_by_the_stack(self) -> None:
        fgraph = chain(100_000)
        _, profile = simplified(fgraph)
        self.assertEqual(profile.nodes_before, 80_000)
        self.assertEqual(len(fgraph.apply_nodes), 10_000)


if __name__ == "__main__":
    unittest.main()
