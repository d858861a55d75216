from __future__ import annotations

import json
import unittest
from typing import Any

from arithmetic import const, exp, graph, identity, log, log_of_exp, mul, mul_one, neg, neg_of_neg, real

from theano_graph import Apply, Bookkeeper, FunctionGraph, ReplaceValidate
from theano_optimize import (
    ChangeTracker,
    EquilibriumRewriter,
    FunctionGraphRewriter,
    GraphRewriter,
    MergeRewriter,
    RewriteProfile,
    RewriteTrace,
    SequenceRewriter,
    TransformResult,
    WalkRewriter,
    node_rewriter,
    profile_report,
)


class Slow(Bookkeeper):
    """A feature whose callbacks and checks take time."""

    def on_import(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
        sum(range(20_000))

    def validate(self, fgraph: FunctionGraph) -> None:
        sum(range(20_000))


@node_rewriter([log])
def twice(fgraph: FunctionGraph, node: Apply) -> TransformResult:
    """Replace log(x) by x, clumsily."""
    return [neg(neg(node.inputs[0]))]


def pipeline() -> SequenceRewriter:
    rules = EquilibriumRewriter([neg_of_neg, log_of_exp, mul_one], "canonicalize", cleanup=[MergeRewriter()])
    return SequenceRewriter([MergeRewriter(), rules, WalkRewriter(log_of_exp, name="once")], "OPT_DEMO")


def expression() -> FunctionGraph:
    x = real("x")
    fgraph: FunctionGraph = graph([x], identity(neg(neg(mul(x, const(1))))), identity(x), exp(x))
    return fgraph


class TestDetails(unittest.TestCase):
    def test_nothing_is_measured_unless_asked(self) -> None:
        profile = pipeline().rewrite(expression())
        self.assertIsNone(profile.details)
        self.assertTrue(all(part.details is None for part in profile.parts))

    def test_rules_rounds_and_sizes(self) -> None:
        profile = pipeline().rewrite(expression(), details=True)
        part = next(part for part in profile.parts if part.name == "canonicalize")
        details = part.details
        assert details is not None
        self.assertEqual(set(details.seconds), {"neg_of_neg", "mul_one"})
        self.assertEqual(details.created, {"neg_of_neg": 0, "mul_one": 0})
        self.assertGreater(details.toposort_seconds, 0)
        self.assertEqual([entry.nodes for entry in details.rounds], [6, 2])
        first, second = details.rounds
        self.assertEqual(first.rules, {"neg_of_neg": 1, "mul_one": 1, "merge_nodes": 1})
        self.assertEqual(second.rules, {})
        self.assertGreater(first.clean_seconds, 0)
        self.assertGreaterEqual(first.seconds, first.clean_seconds)

    def test_new_nodes_are_counted(self) -> None:
        x = real("x")
        profile = WalkRewriter(twice).rewrite(graph([x], log(x)), details=True)
        assert profile.details is not None
        self.assertEqual(profile.details.created, {"twice": 2})
        self.assertEqual(profile.details.most_nodes, 2)

    def test_callbacks_and_checks(self) -> None:
        def through_validation(fgraph: Any) -> None:
            fgraph.replace_validate(fgraph.outputs[0], neg(fgraph.inputs[0]))

        x = real("x")
        fgraph = graph([x], exp(x))
        fgraph.attach_feature(ReplaceValidate())
        feature = Slow()
        fgraph.attach_feature(feature)
        profile = FunctionGraphRewriter(through_validation).rewrite(fgraph, details=True)
        assert profile.details is not None
        self.assertGreater(profile.details.callback_seconds, 1e-5)
        self.assertGreater(profile.details.validate_seconds, 1e-5)
        # Afterwards the feature is as it was, and still told.
        self.assertNotIn("on_import", vars(feature))
        self.assertEqual(str(fgraph), "[Neg(x)]")

    def test_features_that_come_later_count_for_the_whole(self) -> None:
        attach = FunctionGraphRewriter(lambda fgraph: fgraph.attach_feature(Slow()), "attach")
        x = real("x")
        profile = SequenceRewriter([attach, WalkRewriter(twice)]).rewrite(graph([x], log(x)), details=True)
        assert profile.details is not None
        self.assertGreater(profile.details.callback_seconds, 1e-5)

    def test_the_kind_and_the_place_of_parts(self) -> None:
        profile = pipeline().rewrite(expression())
        self.assertEqual(profile.kind, "SequenceRewriter")
        kinds = [(part.index, part.kind) for part in profile.parts]
        self.assertEqual(kinds, [(0, "MergeRewriter"), (1, "EquilibriumRewriter"), (2, "WalkRewriter")])


class TestReport(unittest.TestCase):
    def test_the_documented_lines(self) -> None:
        lines = profile_report(pipeline().rewrite(expression(), details=True)).split("\n")
        self.assertEqual(lines[:2], ["Optimizer Profile", "-----------------"])
        for number, pattern in enumerate(
            (
                r"SeqOptimizer  OPT_DEMO  time \d+\.\d{3}s for 6/2 nodes before/after optimization",
                r"  \d+\.\d{3}s for fgraph\.validate\(\)",
                r"  \d+\.\d{3}s for callback",
                r"time      - \(name, class, index\) - validate time",
            ),
            start=2,
        ):
            self.assertRegex(lines[number], f"^{pattern}$")
        text = "\n".join(lines)
        for pattern in (
            r"^\d+\.\d{6}s - \('canonicalize', 'EquilibriumOptimizer', 1\) - \d+\.\d{3}s$",
            r"^  EquilibriumOptimizer      canonicalize$",
            r"^    time \d+\.\d{3}s for 2 passes$",
            r"^    nb nodes \(start, end, max\) 6 2 6$",
            r"^    time io_toposort \d+\.\d{3}s$",
            r"^    time in local optimizers \d+\.\d{3}s$",
            r"^    time in global optimizers \d+\.\d{3}s$",
            r"^      0 - \d\.\d{3}s 3 \(\d\.\d{3}s in global opts, \d\.\d{3}s io_toposort\) - 6 nodes - \('\w+', 1\)",
            r"^    times - times applied - nb node created - name:$",
            r"^    \d\.\d{3}s - 1 - 0 - neg_of_neg$",
            r"^  TopoOptimizer$",
            r"^    nb_node \(start, end, changed\) \(2, 2, 0\)$",
            r"^    init io_toposort \d",
            r"^    loop time \d",
            r"^    callback_time \d",
        ):
            self.assertRegex(text, f"(?m){pattern}")

    def test_parts_by_time_and_rules_without_effect(self) -> None:
        x = real("x")
        slow = FunctionGraphRewriter(lambda fgraph: sum(range(200_000)), "slow")
        seq = SequenceRewriter([WalkRewriter(log_of_exp, name="quick"), slow], "both")
        text = profile_report(seq.rewrite(graph([x], log(x)), details=True))
        self.assertLess(text.index("'slow'"), text.index("'quick'"))
        eq = EquilibriumRewriter([log_of_exp], "unused")
        text = profile_report(eq.rewrite(graph([x], neg(log(x))), details=True))
        self.assertIn("in 1 optimization that where not used (display only those with a runtime > 0)", text)
        self.assertRegex(text, r"\n    \d\.\d{3}s - log_of_exp$")

    def test_numbers_of_a_kind_of_its_own(self) -> None:
        profile = RewriteProfile("fusion", kind="FusionOptimizer", numbers={"nb_iter": 3, "nb_replacement": 10})
        self.assertEqual(
            profile_report(profile).split("\n")[2:], ["FusionOptimizer", "  nb_iter 3", "  nb_replacement 10"]
        )


class TestAsData(unittest.TestCase):
    def test_a_trace_goes_through_json(self) -> None:
        x = real("x")
        trace = RewriteTrace()
        WalkRewriter(neg_of_neg, name="walk").rewrite(graph([x], neg(neg(x))), trace=trace)
        (event,) = json.loads(json.dumps(trace.as_dicts()))
        self.assertEqual(
            (event["name"], event["path"], event["before"], event["after"]),
            ("neg_of_neg", ["walk"], "Neg(Neg(x))", "x"),
        )
        self.assertEqual((event["exactness"], event["phase"], event["guard"]), ("exact", None, None))
        self.assertGreater(event["seconds"], 0)

    def test_a_profile_goes_through_json(self) -> None:
        data = json.loads(json.dumps(pipeline().rewrite(expression()).as_dict()))
        self.assertEqual((data["name"], data["nodes_before"], data["nodes_after"]), ("OPT_DEMO", 6, 2))
        self.assertEqual([part["kind"] for part in data["parts"]][1], "EquilibriumRewriter")


class TestChanges(unittest.TestCase):
    def test_rewriters_without_a_profile_are_counted(self) -> None:
        class Plain(GraphRewriter):
            def apply(self, fgraph: FunctionGraph) -> None:
                fgraph.replace(fgraph.outputs[0], fgraph.inputs[0])

        x = real("x")
        fgraph = graph([x], exp(x))
        self.assertEqual(Plain().rewrite(fgraph).changes, 1)
        self.assertEqual(fgraph.features, ())

    def test_clean_up_by_such_a_rewriter_is_followed_up(self) -> None:
        def drop_exp(fgraph: FunctionGraph) -> None:
            for node in fgraph.toposort():
                if node.op == exp:
                    fgraph.replace(node.outputs[0], node.inputs[0])

        x = real("x")
        fgraph = graph([x], neg(exp(neg(x))))
        EquilibriumRewriter([neg_of_neg], cleanup=[FunctionGraphRewriter(drop_exp)]).rewrite(fgraph)
        self.assertEqual(fgraph.outputs, [x])

    def test_the_tracker(self) -> None:
        x = real("x")
        fgraph = graph([x], exp(x))
        with ChangeTracker().attached(fgraph) as tracker:
            fgraph.replace(fgraph.outputs[0], neg(neg(x)))
        self.assertEqual((tracker.changes, tracker.imported), (1, 2))
        self.assertEqual(fgraph.features, ())


if __name__ == "__main__":
    unittest.main()
