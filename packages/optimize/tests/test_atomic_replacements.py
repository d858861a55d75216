"""A rule that replaces several variables replaces all of them or none."""

from __future__ import annotations

import unittest
from typing import Any

from arithmetic import add, div_mod, exp, graph, mul, neg, ops_of, real

from theano_graph import Apply, FunctionGraph, History
from theano_optimize import EquilibriumRewriter, RewriteError, TransformResult, WalkRewriter, node_rewriter


@node_rewriter([type(div_mod)], name="half_wrong")
def half_wrong(fgraph: FunctionGraph, node: Apply) -> TransformResult:
    """Offer a good replacement for the first output and one with an unknown input for the second."""
    return [neg(node.inputs[0]), neg(real("free"))]


@node_rewriter([type(add)], name="mapping")
def mapping(fgraph: FunctionGraph, node: Apply) -> TransformResult:
    """The same for two variables of which one is made by another node."""
    return {node.inputs[0]: exp(exp(node.inputs[1])), node.outputs[0]: mul(real("free"), node.inputs[0])}


class TestAllOrNone(unittest.TestCase):
    def setUp(self) -> None:
        x, y = real("x"), real("y")
        quotient, remainder = div_mod(x, y)
        self.fgraph: Any = graph([x, y], add(neg(quotient), exp(remainder)))
        self.text = str(self.fgraph)

    def test_the_graph_is_as_before(self) -> None:
        for rule in (half_wrong, mapping):
            for engine in (WalkRewriter(rule), EquilibriumRewriter([rule])):
                with self.subTest(engine=engine):
                    with self.assertRaisesRegex(RewriteError, f"`{rule.name}`.*MissingInputError"):
                        engine.rewrite(self.fgraph)
                    self.assertEqual(str(self.fgraph), self.text)
                    self.fgraph.check_integrity()
                    self.assertEqual(self.fgraph.features, ())
                    with self.assertLogs("theano.gof.opt", "ERROR"):
                        engine.rewrite(self.fgraph, on_error="warn")
                    self.assertEqual(str(self.fgraph), self.text)

    def test_a_history_of_the_user_is_used(self) -> None:
        self.fgraph.attach_feature(History())
        with self.assertRaises(RewriteError):
            WalkRewriter(half_wrong).rewrite(self.fgraph)
        self.assertEqual(str(self.fgraph), self.text)
        self.assertEqual(len(self.fgraph.features), 1)

    def test_good_ones_are_made(self) -> None:
        rule = node_rewriter([type(div_mod)], name="good")(lambda fgraph, node: [neg(v) for v in node.inputs])
        WalkRewriter(rule).rewrite(self.fgraph)
        self.assertEqual(ops_of(self.fgraph), ["Neg", "Exp", "Neg", "Neg", "Add"])
        self.assertEqual(self.fgraph.features, ())


if __name__ == "__main__":
    unittest.main()
