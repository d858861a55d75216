from __future__ import annotations

import unittest

from arithmetic import add, const, exp, graph, log, mul, neg, neg_of_neg, ops_of, real, sub, total

from theano_graph import Apply, FunctionGraph
from theano_optimize import (
    EquilibriumRewriter,
    FunctionGraphRewriter,
    PatternRewriter,
    RewriteCycleError,
    RewriteError,
    RewriteProfile,
    TransformResult,
    WalkRewriter,
    node_rewriter,
)

to_sub = PatternRewriter((add, "x", (neg, "y")), (sub, "x", "y"), name="add_of_neg_is_sub")
to_add = PatternRewriter((sub, "x", "y"), (add, "x", (neg, "y")), name="sub_is_add_of_neg")


class TestRulesThatUndoEachOther(unittest.TestCase):
    def test_both_are_named(self) -> None:
        x, y = real("x"), real("y")
        fgraph = graph([x, y], exp(sub(x, y)))
        with self.assertRaises(RewriteCycleError) as caught:
            EquilibriumRewriter([to_sub, to_add], "canonicalize").rewrite(fgraph)
        error = caught.exception
        self.assertEqual(set(error.rewriters), {"add_of_neg_is_sub", "sub_is_add_of_neg"})
        self.assertRegex(
            str(error),
            r"(?s)rewriting in canonicalize does not end: `.*` and `.*` come back to the same expression.*"
            r"Sub \[id A\].*Hint: exclude one of `",
        )
        self.assertIsInstance(error, RewriteError)
        self.assertEqual(fgraph.features, ())
        fgraph.check_integrity()

    def test_it_takes_few_steps(self) -> None:
        count = 0

        @node_rewriter([sub], name="count")
        def counted(fgraph: FunctionGraph, node: Apply) -> TransformResult:
            nonlocal count
            count += 1
            return [add(node.inputs[0], neg(node.inputs[1]))]

        x, y = real("x"), real("y")
        with self.assertRaises(RewriteCycleError):
            EquilibriumRewriter([counted, to_sub]).rewrite(graph([x, y], sub(x, y)))
        self.assertLess(count, 10)

    def test_a_rule_may_undo_itself(self) -> None:
        swap = node_rewriter([add], name="swap")(lambda fgraph, node: [add(*reversed(node.inputs))])
        x, y = real("x"), real("y")
        with self.assertRaises(RewriteCycleError) as caught:
            EquilibriumRewriter([swap]).rewrite(graph([x, y], add(x, y)))
        self.assertEqual(caught.exception.rewriters, ("swap",))

    def test_a_warning_policy_does_not_hide_it(self) -> None:
        x, y = real("x"), real("y")
        with self.assertRaises(RewriteCycleError):
            EquilibriumRewriter([to_sub, to_add]).rewrite(graph([x, y], sub(x, y)), on_error="warn")

    def test_new_nodes_in_a_walk(self) -> None:
        x, y = real("x"), real("y")
        with self.assertRaises(RewriteCycleError):
            WalkRewriter([to_sub, to_add], visit_new=True).rewrite(graph([x, y], sub(x, y)))

    def test_nodes_made_anew_each_time(self) -> None:
        """Neither rule ever sees the same variables again; the expressions are the same all the same."""
        count = 0

        @node_rewriter([neg], name="inwards")
        def inwards(fgraph: FunctionGraph, node: Apply) -> TransformResult:
            nonlocal count
            count += 1
            inner = node.inputs[0].owner
            return [add(*map(neg, inner.inputs))] if inner is not None and inner.op == add else None

        outwards = PatternRewriter((add, (neg, "x"), (neg, "y")), (neg, (add, "x", "y")), name="outwards")
        x, y = real("x"), real("y")
        with self.assertRaisesRegex(RewriteCycleError, "come back to the same expression") as caught:
            EquilibriumRewriter([inwards, outwards]).rewrite(graph([x, y], exp(neg(add(x, y)))))
        self.assertEqual(set(caught.exception.rewriters), {"inwards", "outwards"})
        self.assertLess(count, 30)

    def test_a_ring_of_three(self) -> None:
        rules = [
            PatternRewriter((neg, "x"), (mul, -1, "x"), name="one"),
            PatternRewriter((mul, -1, "x"), (sub, 0, "x"), name="two"),
            PatternRewriter((sub, 0, "x"), (neg, "x"), name="three"),
        ]
        x = real("x")
        with self.assertRaisesRegex(RewriteCycleError, "come back to the same expression") as caught:
            EquilibriumRewriter(rules).rewrite(graph([x], exp(neg(x))))
        self.assertEqual(set(caught.exception.rewriters), {"one", "two", "three"})

    def test_a_ring_in_a_large_graph_takes_few_steps(self) -> None:
        x, y = real("x"), real("y")
        v = x
        for _ in range(300):
            v = exp(log(v))
        profile_of = EquilibriumRewriter([to_sub, to_add])
        with self.assertRaises(RewriteCycleError) as caught:
            profile_of.rewrite(graph([x, y], sub(v, y)))
        self.assertEqual(set(caught.exception.rewriters), {"add_of_neg_is_sub", "sub_is_add_of_neg"})


class TestRulesThatFeedThemselves(unittest.TestCase):
    def test_growth_around_the_same_expression(self) -> None:
        wrap = node_rewriter([neg], name="wrap")(lambda fgraph, node: [exp(neg(node.inputs[0]))])
        x = real("x")
        fgraph = graph([x], neg(x))
        with self.assertRaises(RewriteCycleError) as caught:
            EquilibriumRewriter([wrap]).rewrite(fgraph)
        self.assertEqual(caught.exception.rewriters, ("wrap",))
        self.assertLess(len(fgraph.apply_nodes), 10)

    def test_growth_that_doubles(self) -> None:
        double = node_rewriter([neg], name="double")(
            lambda fgraph, node: [add(neg(exp(node.inputs[0])), neg(log(node.inputs[0])))]
        )
        x = real("x")
        fgraph = graph([x], neg(x))
        with self.assertRaisesRegex(RewriteCycleError, "`double` fired 102 times, more than 101"):
            EquilibriumRewriter([double], max_use_ratio=1).rewrite(fgraph)
        fgraph.check_integrity()

    def test_a_growing_ring_in_a_walk(self) -> None:
        grow = node_rewriter([neg], name="grow")(lambda fgraph, node: [neg(exp(node.inputs[0]))])
        x = real("x")
        with self.assertRaisesRegex(RewriteCycleError, "`grow` fired"):
            WalkRewriter([grow], visit_new=True, max_use_ratio=1).rewrite(graph([x], neg(x)))

    def test_growth(self) -> None:
        grow = node_rewriter([neg], name="grow")(lambda fgraph, node: [neg(exp(node.inputs[0]))])
        x = real("x")
        fgraph = graph([x], neg(x))
        with self.assertRaisesRegex(RewriteCycleError, "`grow` fired 102 times, more than 101"):
            EquilibriumRewriter([grow], max_use_ratio=1).rewrite(fgraph)
        fgraph.check_integrity()

    def test_two_rules_that_grow_together(self) -> None:
        one = node_rewriter([neg], name="one")(lambda fgraph, node: [exp(log(node.inputs[0]))])
        two = node_rewriter([exp], name="two")(lambda fgraph, node: [neg(log(node.inputs[0]))])
        x = real("x")
        with self.assertRaises(RewriteCycleError) as caught:
            EquilibriumRewriter([one, two], max_use_ratio=1).rewrite(graph([x], neg(x)))
        self.assertEqual(set(caught.exception.rewriters), {"one", "two"})

    def test_a_clean_up_that_works_against_the_rules(self) -> None:
        def put_back(fgraph: FunctionGraph) -> RewriteProfile:
            fgraph.change_input("output", 0, neg(neg(fgraph.outputs[0])))
            profile = RewriteProfile("put_back")
            profile.count("put_back")
            return profile

        x = real("x")
        fgraph = graph([x], exp(x))
        rewriter = EquilibriumRewriter([neg_of_neg], "canon", cleanup=[FunctionGraphRewriter(put_back, "put_back")])
        with self.assertRaises(RewriteCycleError) as caught:
            rewriter.rewrite(fgraph)
        self.assertEqual(set(caught.exception.rewriters), {"put_back", "neg_of_neg"})


class TestWhatIsNoCycle(unittest.TestCase):
    def test_many_equal_nodes_that_are_not_merged(self) -> None:
        to_exp = PatternRewriter((neg, "x"), (exp, "x"), name="to_exp")
        x = real("x")
        fgraph = graph([x], total(*(neg(x) for _ in range(50))))
        EquilibriumRewriter([to_exp]).rewrite(fgraph)
        self.assertEqual(ops_of(fgraph).count("Exp"), 50)

    def test_equal_nodes_that_one_rule_makes(self) -> None:
        spread = node_rewriter([log], name="spread")(
            lambda fgraph, node: [total(*(neg(node.inputs[0]) for _ in range(20)))]
        )
        to_exp = PatternRewriter((neg, "x"), (exp, "x"), name="to_exp")
        x = real("x")
        fgraph = graph([x], log(x))
        EquilibriumRewriter([spread, to_exp]).rewrite(fgraph)
        self.assertEqual(ops_of(fgraph).count("Exp"), 20)

    def test_a_long_line_of_rewrites(self) -> None:
        @node_rewriter([total], name="flatten")
        def flatten(fgraph: FunctionGraph, node: Apply) -> TransformResult:
            first = node.inputs[0].owner
            if first is None or first.op != total:
                return None
            return [total(*first.inputs[-2:], *node.inputs[1:][:1])]

        x = real("x")
        v = total(x, x)
        for _ in range(500):
            v = total(v, x)
        fgraph = graph([x], v)
        EquilibriumRewriter([flatten]).rewrite(fgraph)
        self.assertEqual(ops_of(fgraph), ["Sum"])

    def test_powers_that_double(self) -> None:
        double = PatternRewriter((mul, 2, (neg, "x")), (neg, (mul, 2, "x")), name="double")
        x = real("x")
        v = x
        for _ in range(60):
            v = mul(const(2), neg(v))
        fgraph = graph([x], v)
        EquilibriumRewriter([double, neg_of_neg], max_use_ratio=16).rewrite(fgraph)
        self.assertEqual(ops_of(fgraph), ["Mul"] * 60)


if __name__ == "__main__":
    unittest.main()
