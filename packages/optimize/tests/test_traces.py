from __future__ import annotations

import io
import unittest

from arithmetic import const, exp, graph, identity, log, log_of_exp, mul, mul_one, neg, neg_of_neg, real

from theano_optimize import (
    EquilibriumRewriter,
    MergeRewriter,
    PatternRewriter,
    RewriterGroup,
    RewriteTrace,
    SequenceRewriter,
    WalkRewriter,
)


class TestRewriteTrace(unittest.TestCase):
    def test_events_tell_rule_place_and_expressions(self) -> None:
        x = real("x")
        y = log(exp(mul(x, const(1))))
        y.name = "y"
        trace = RewriteTrace()
        SequenceRewriter([WalkRewriter(log_of_exp, name="walk"), MergeRewriter()], "all").rewrite(
            graph([x], y), trace=trace
        )
        (event,) = trace.events
        self.assertEqual((event.rewriter, event.path), ("log_of_exp", ("all", "walk")))
        self.assertRegex(event.where, r"`y`: Real made at test_traces\.py:\d+")
        self.assertEqual((event.before, event.after), ("Log(Exp(Mul(x, Constant{1.0})))", "Mul(x, Constant{1.0})"))
        self.assertGreater(event.seconds, 0)
        self.assertIs(event.info, log_of_exp.info)

    def test_the_text_has_all_of_it(self) -> None:
        x = real("x")
        trace = RewriteTrace()
        WalkRewriter(neg_of_neg, name="walk").rewrite(graph([x], neg(neg(x))), trace=trace)
        self.assertRegex(
            str(trace),
            r"^walk/neg_of_neg \(\d+ us\): `Neg\.0`: Real made at .*\n    Neg\(Neg\(x\)\)\n  becomes\n    x$",
        )

    def test_counts_calls_and_times(self) -> None:
        x = real("x")
        trace = RewriteTrace()
        fgraph = graph([x], neg(neg(neg(neg(mul(x, const(1)))))))
        EquilibriumRewriter([neg_of_neg, mul_one]).rewrite(fgraph, trace=trace)
        self.assertEqual(trace.counts(), {"neg_of_neg": 2, "mul_one": 1})
        self.assertGreaterEqual(trace.calls["neg_of_neg"], 2)
        self.assertEqual(set(trace.seconds), {"neg_of_neg", "mul_one"})

    def test_a_stream_gets_events_as_they_happen(self) -> None:
        x = real("x")
        stream = io.StringIO()
        WalkRewriter(neg_of_neg).rewrite(graph([x], neg(neg(x))), trace=RewriteTrace(stream=stream))
        self.assertIn("Neg(Neg(x))", stream.getvalue())

    def test_expressions_are_cut_at_the_depth(self) -> None:
        x = real("x")
        v = x
        for _ in range(10):
            v = exp(v)
        trace = RewriteTrace(depth=2)
        WalkRewriter(PatternRewriter((neg, "x"), "x")).rewrite(graph([x], neg(v)), trace=trace)
        self.assertEqual((trace.events[0].before, trace.events[0].after), ("Neg(Exp(...))", "Exp(Exp(...))"))

    def test_a_merge_is_an_event(self) -> None:
        x = real("x")
        trace = RewriteTrace()
        MergeRewriter().rewrite(graph([x], exp(x), exp(x)), trace=trace)
        self.assertEqual(trace.counts(), {"merge_nodes": 1})

    def test_rules_in_groups_are_named(self) -> None:
        x = real("x")
        trace = RewriteTrace()
        WalkRewriter(RewriterGroup([neg_of_neg], "group")).rewrite(graph([x], neg(neg(x))), trace=trace)
        self.assertEqual(trace.counts(), {"neg_of_neg": 1})

    def test_a_path_ends_with_an_error(self) -> None:
        trace = RewriteTrace()
        with self.assertRaises(KeyError), trace.inside("outer"):
            raise KeyError
        x = real("x")
        WalkRewriter(neg_of_neg, name="walk").rewrite(graph([x], neg(neg(x))), trace=trace)
        self.assertEqual(trace.events[0].path, ("walk",))


class TestRewriteProfile(unittest.TestCase):
    def test_numbers_and_text(self) -> None:
        x = real("x")
        fgraph = graph([x], identity(neg(neg(x))), identity(x))
        profile = SequenceRewriter([EquilibriumRewriter([neg_of_neg], "canon"), MergeRewriter()], "all").rewrite(fgraph)
        self.assertEqual((profile.nodes_before, profile.nodes_after, profile.changes), (4, 1, 2))
        self.assertEqual(profile.total_rules(), {"neg_of_neg": 1, "merge_nodes": 1})
        self.assertGreaterEqual(profile.seconds, max(part.seconds for part in profile.parts))
        text = str(profile)
        self.assertRegex(text, r"^all: \d+\.\d+ ms, 4 -> 1 nodes, 2 changes\n")
        self.assertRegex(text, r"\n  canon: .* 4 -> 2 nodes, 1 changes\n    1 x neg_of_neg")
        self.assertRegex(text, r"\n  merge: .* 2 -> 1 nodes, 1 changes\n    1 x merge_nodes")


if __name__ == "__main__":
    unittest.main()
