from __future__ import annotations

import io
import unittest
from collections.abc import Sequence
from typing import Any

from arithmetic import (
    Add,
    CountingRewriter,
    Identity,
    Neg,
    RealOp,
    Scale,
    add,
    add_zero,
    const,
    div_mod,
    drop_identity,
    evaluate,
    exp,
    fired,
    graph,
    identity,
    log,
    log_of_exp,
    mul,
    mul_one,
    neg,
    neg_of_neg,
    ops_of,
    real,
    sub,
    sub_as_add,
)

from theano_graph import Apply, Feature, FunctionGraph, Op
from theano_optimize import (
    EquilibriumRewriter,
    FunctionGraphRewriter,
    GraphRewriter,
    MergeRewriter,
    NodeRewriter,
    PatternRewriter,
    RemoveOp,
    RewriteProfile,
    RewriterGroup,
    SequenceRewriter,
    SubstituteOp,
    Tracks,
    TransformResult,
    WalkRewriter,
    node_rewriter,
)


class TestNodeRewriter(unittest.TestCase):
    def test_the_decorator_keeps_name_and_text(self) -> None:
        self.assertEqual(drop_identity.name, "drop_identity")
        self.assertEqual(drop_identity.__doc__, "identity(x) is x.")
        self.assertEqual(drop_identity.tracks(), (Identity,))

    def test_a_decorated_function_can_be_called(self) -> None:
        x = real("x")
        fgraph = graph([x], identity(x))
        self.assertEqual(drop_identity(fgraph, fgraph.toposort()[0]), [x])

    def test_only_ops_can_be_tracked(self) -> None:
        with self.assertRaisesRegex(TypeError, "(?s)rewriter bad is to track 'add'.*Hint"):
            node_rewriter(["add"], name="bad")(lambda fgraph, node: None)  # type: ignore[list-item]

    def test_a_rewriter_without_transform_says_so(self) -> None:
        x = real("x")
        fgraph = graph([x], neg(x))
        with self.assertRaisesRegex(TypeError, "(?s)rewriter NodeRewriter has no `transform`.*Hint"):
            NodeRewriter().transform(fgraph, fgraph.toposort()[0])

    def test_a_constructor_need_not_call_that_of_the_base(self) -> None:
        class Own(NodeRewriter):
            def __init__(self) -> None:
                self.calls = 0

            def transform(self, fgraph: FunctionGraph, node: Apply) -> TransformResult:
                self.calls += 1
                return None

        class OwnGraph(GraphRewriter):
            def __init__(self) -> None:
                self.runs = 0

            def apply(self, fgraph: FunctionGraph) -> None:
                self.runs += 1

        x = real("x")
        rule, rewriter = Own(), OwnGraph()
        SequenceRewriter([EquilibriumRewriter([rule]), rewriter]).rewrite(graph([x], neg(x)))
        self.assertEqual((rule.name, rule.calls, rewriter.name, rewriter.runs), ("Own", 1, "OwnGraph", 1))

    def test_a_rewriter_can_be_renamed(self) -> None:
        rule = PatternRewriter((neg, "x"), "x", tags=["kept"])
        rule.name = "new_name"
        self.assertEqual((rule.name, rule.info.tags), ("new_name", ("kept",)))
        merge = MergeRewriter()
        merge.name = "merge1"
        self.assertEqual(merge.rewrite(graph([], const(1))).name, "merge1")


class TestSubstituteOp(unittest.TestCase):
    def test_each_application_is_exchanged(self) -> None:
        x, y = real("x"), real("y")
        fgraph = graph([x, y], add(add(x, y), y))
        self.assertEqual(WalkRewriter(SubstituteOp(add, mul)).rewrite(fgraph).changes, 2)
        self.assertEqual(ops_of(fgraph), ["Mul", "Mul"])

    def test_other_ops_of_the_class_stay(self) -> None:
        x = real("x")
        fgraph = graph([x], Scale(2.0)(Scale(3.0)(x)))
        WalkRewriter(SubstituteOp(Scale(2.0), Scale(5.0))).rewrite(fgraph)
        self.assertEqual(evaluate(fgraph, [1.0]), [15.0])

    def test_scratchpads_are_copied_unless_told_otherwise(self) -> None:
        for transfer in (True, False):
            x = real("x")
            y = neg(x)
            y.tag.mark = 3
            fgraph = graph([x], y)
            WalkRewriter(SubstituteOp(neg, exp, transfer_tags=transfer)).rewrite(fgraph)
            self.assertEqual(getattr(fgraph.outputs[0].tag, "mark", None), 3 if transfer else None)

    def test_needs_ops(self) -> None:
        with self.assertRaisesRegex(TypeError, "'add' is no op"):
            SubstituteOp("add", mul)  # type: ignore[arg-type]


class TestRemoveOp(unittest.TestCase):
    def test_outputs_become_inputs(self) -> None:
        x = real("x")
        fgraph = graph([x], neg(identity(identity(x))))
        WalkRewriter(RemoveOp(identity)).rewrite(fgraph)
        self.assertEqual(str(fgraph), "[Neg(x)]")

    def test_several_outputs_pair_with_several_inputs(self) -> None:
        x, y = real("x"), real("y")
        quotient, remainder = div_mod(x, y)
        fgraph = graph([x, y], sub(remainder, quotient))
        WalkRewriter(RemoveOp(div_mod)).rewrite(fgraph)
        self.assertEqual(str(fgraph), "[Sub(y, x)]")


class TestRewriterGroup(unittest.TestCase):
    def test_the_first_match_wins_and_is_named(self) -> None:
        to_exp = PatternRewriter((neg, "x"), (exp, "x"), name="to_exp")
        to_log = PatternRewriter((neg, "x"), (log, "x"), name="to_log")
        declines = PatternRewriter((neg, "x"), lambda x: None, name="declines")
        x = real("x")
        fgraph = graph([x], neg(x))
        profile = WalkRewriter(RewriterGroup([declines, to_log, to_exp], "group")).rewrite(fgraph)
        self.assertEqual((ops_of(fgraph), fired(profile)), (["Log"], {"to_log": 1}))

    def test_tracks_what_its_rules_track(self) -> None:
        self.assertEqual(RewriterGroup([neg_of_neg, drop_identity]).tracks(), (neg, Identity))

    def test_one_rule_for_everything_makes_a_group_for_everything(self) -> None:
        everywhere = node_rewriter(None)(lambda fgraph, node: None)
        self.assertIsNone(RewriterGroup([neg_of_neg, everywhere]).tracks())

    def test_an_unchanged_answer_is_passed_over(self) -> None:
        same = node_rewriter([neg], name="same")(lambda fgraph, node: list(node.outputs))
        x = real("x")
        fgraph = graph([x], neg(neg(x)))
        self.assertEqual(fired(WalkRewriter(RewriterGroup([same, neg_of_neg])).rewrite(fgraph)), {"neg_of_neg": 1})

    def test_an_error_tells_rule_and_group(self) -> None:
        def fails(fgraph: FunctionGraph, node: Apply) -> TransformResult:
            raise KeyError("gone")

        group = RewriterGroup([node_rewriter([neg])(fails)], "my_group")
        x = real("x")
        fgraph = graph([x], neg(x))
        with self.assertRaises(KeyError) as caught:
            group.transform(fgraph, fgraph.toposort()[0])
        self.assertEqual(caught.exception.__notes__, ["raised by rule `fails` of group `my_group`"])


class TestWalkRewriter(unittest.TestCase):
    def test_orders(self) -> None:
        seen: list[str] = []

        @node_rewriter(None)
        def look(fgraph: FunctionGraph, node: Apply) -> TransformResult:
            seen.append(str(node.op))
            return None

        x = real("x")
        fgraph = graph([x], log(exp(neg(x))))
        WalkRewriter(look).rewrite(fgraph)
        WalkRewriter(look, order="out_to_in").rewrite(fgraph)
        self.assertEqual(seen, ["Neg", "Exp", "Log", "Log", "Exp", "Neg"])

    def test_nodes_that_went_are_not_visited(self) -> None:
        counted = CountingRewriter(neg_of_neg)
        x = real("x")
        fgraph = graph([x], neg(neg(neg(neg(x)))))
        profile = WalkRewriter(counted, order="out_to_in").rewrite(fgraph)
        self.assertEqual((ops_of(fgraph), counted.calls, profile.visits), ([], 2, 2))

    def test_new_nodes_are_left_alone_by_default(self) -> None:
        x, y = real("x"), real("y")
        fgraph = graph([x, y], sub(identity(x), y))
        WalkRewriter([sub_as_add, PatternRewriter((neg, "x"), (exp, "x"))]).rewrite(fgraph)
        self.assertEqual(ops_of(fgraph), ["Neg", "Identity", "Add"])

    def test_new_nodes_are_visited_on_request(self) -> None:
        for order in ("in_to_out", "out_to_in"):
            x, y = real("x"), real("y")
            fgraph = graph([x, y], sub(x, y))
            rules = [sub_as_add, PatternRewriter((neg, "x"), (exp, "x"))]
            WalkRewriter(rules, order, visit_new=True).rewrite(fgraph)
            self.assertEqual(ops_of(fgraph), ["Exp", "Add"])
            self.assertEqual(fgraph.features, ())

    def test_an_unknown_order(self) -> None:
        with self.assertRaisesRegex(ValueError, "order of a walk is 'sideways'"):
            WalkRewriter(neg_of_neg, order="sideways")  # type: ignore[arg-type]

    def test_needs_node_rewriters(self) -> None:
        with self.assertRaisesRegex(TypeError, "a walk needs node rewriters"):
            WalkRewriter([MergeRewriter()])  # type: ignore[list-item]


class TestEquilibriumRewriter(unittest.TestCase):
    def test_rules_feed_each_other(self) -> None:
        x = real("x")
        fgraph = graph([x], neg(add(log(exp(neg(x))), const(0))))
        profile = EquilibriumRewriter([neg_of_neg, log_of_exp, add_zero]).rewrite(fgraph)
        self.assertEqual(fgraph.outputs, [x])
        self.assertEqual(fired(profile), {"add_zero": 1, "log_of_exp": 1, "neg_of_neg": 1})

    def test_a_change_below_reopens_the_clients_within_reach(self) -> None:
        # The rule for Log sees that both factors are one variable only after the node below the Mul has changed.
        square = PatternRewriter((log, (mul, "x", "x")), (mul, 2, (log, "x")), name="log_of_square")
        x = real("x")
        fgraph = graph([x], log(mul(x, neg(neg(x)))))
        EquilibriumRewriter([square, neg_of_neg]).rewrite(fgraph)
        self.assertEqual(ops_of(fgraph), ["Log", "Mul"])

    def test_losing_a_client_reopens_the_remaining_one(self) -> None:
        # log(exp(x)) is blocked while exp(x) has a second client, which goes away later.
        x, y = real("x"), real("y")
        e = exp(x)
        drop = PatternRewriter((sub, "x", "x"), 0, name="sub_self")
        fgraph = graph([x, y], log(e), sub(neg(e), neg(neg(neg(e)))))
        EquilibriumRewriter([log_of_exp, neg_of_neg, drop], cleanup=[MergeRewriter()]).rewrite(fgraph)
        self.assertEqual(ops_of(fgraph), [])
        fgraph.check_integrity()

    def test_priority_is_the_order_of_registration(self) -> None:
        to_exp = PatternRewriter((neg, "x"), (exp, "x"), name="to_exp")
        to_log = PatternRewriter((Neg, "x"), (log, "x"), name="to_log")
        for rules, result in (([to_exp, to_log], "Exp"), ([to_log, to_exp], "Log")):
            x = real("x")
            fgraph = graph([x], neg(x))
            EquilibriumRewriter(rules).rewrite(fgraph)
            self.assertEqual(ops_of(fgraph), [result])

    def test_runs_are_deterministic(self) -> None:
        def run() -> tuple[str, dict[str, int]]:
            x, y = real("x"), real("y")
            v: Any = x
            for i in range(40):
                v = sub(add(neg(neg(v)), const(i % 2)), mul(y, const(i % 3)))
            fgraph = graph([x, y], v)
            rules = [add_zero, mul_one, neg_of_neg, sub_as_add, drop_identity]
            profile = EquilibriumRewriter(rules, cleanup=[MergeRewriter()]).rewrite(fgraph)
            return str(fgraph), profile.total_rules()

        first = run()
        self.assertEqual([run() for _ in range(3)], [first] * 3)

    def test_rules_of_bases_and_instances_are_asked(self) -> None:
        class SpecialAdd(Add):
            pass

        special: Op = SpecialAdd()
        asked: list[str] = []

        def asks(name: str, tracks: Sequence[Op | type[Op]] | None) -> NodeRewriter:
            @node_rewriter(tracks, name=name)
            def look(fgraph: FunctionGraph, node: Apply) -> TransformResult:
                asked.append(name)
                return None

            return look

        x = real("x")
        rules = [
            asks("base", [RealOp]),
            asks("other", [Neg]),
            asks("instance", [special]),
            asks("class", [Add]),
            asks("all", None),
            asks("plain_add", [add]),
        ]
        EquilibriumRewriter(rules).rewrite(graph([x], special(x, x)))
        self.assertEqual(asked, ["base", "instance", "class", "all"])

    def test_a_rule_that_tracks_nothing_is_never_asked(self) -> None:
        counted = CountingRewriter(node_rewriter([])(lambda fgraph, node: None))
        x = real("x")
        EquilibriumRewriter([counted]).rewrite(graph([x], neg(x)))
        self.assertEqual(counted.calls, 0)

    def test_a_mapping_replaces_any_variables(self) -> None:
        @node_rewriter([exp])
        def bypass_clients(fgraph: FunctionGraph, node: Apply) -> TransformResult:
            return {c.outputs[0]: node.inputs[0] for c, _ in fgraph.clients(node.outputs[0]) if isinstance(c, Apply)}

        x = real("x")
        fgraph = graph([x], neg(log(exp(x))))
        EquilibriumRewriter([bypass_clients]).rewrite(fgraph)
        self.assertEqual(ops_of(fgraph), ["Neg"])

    def test_none_stands_for_an_unused_output(self) -> None:
        @node_rewriter([type(div_mod)])
        def quotient_only(fgraph: FunctionGraph, node: Apply) -> TransformResult:
            if fgraph.has_clients(node.outputs[1]):
                return None
            return [mul(node.inputs[0], node.inputs[1]), None]

        x, y = real("x"), real("y")
        for outputs, expected in ((div_mod(x, y)[:1], ["Mul"]), (div_mod(x, y), ["DivMod"])):
            fgraph = graph([x, y], *outputs)
            EquilibriumRewriter([quotient_only]).rewrite(fgraph)
            self.assertEqual(ops_of(fgraph), expected)

    def test_false_and_the_same_variables_are_no_change(self) -> None:
        says_false = node_rewriter([neg], name="says_false")(lambda fgraph, node: False)
        same = node_rewriter([neg], name="same")(lambda fgraph, node: node.outputs)
        same_map = node_rewriter([neg], name="same_map")(lambda fgraph, node: {node.outputs[0]: node.outputs[0]})
        x = real("x")
        self.assertEqual(EquilibriumRewriter([says_false, same, same_map]).rewrite(graph([x], neg(x))).changes, 0)

    def test_cleanup_and_final_run_in_turn_with_the_rules(self) -> None:
        log_lines: list[str] = []

        def noted(name: str) -> GraphRewriter:
            return FunctionGraphRewriter(lambda fgraph: log_lines.append(name), name)

        x = real("x")
        fgraph = graph([x], add(neg(neg(x)), identity(x)), add(x, x))
        rewriter = EquilibriumRewriter(
            [neg_of_neg, drop_identity], cleanup=[MergeRewriter(), noted("clean")], final=[noted("final")]
        )
        profile = rewriter.rewrite(fgraph)
        self.assertEqual(ops_of(fgraph), ["Add"])
        # The merge changed something, so there was a second round; final runs once the clean-up is quiet.
        self.assertEqual(log_lines, ["clean", "clean", "final"])
        self.assertEqual(fired(profile), {"drop_identity": 1, "merge_nodes": 1, "neg_of_neg": 1})

    def test_the_feature_is_removed_afterwards(self) -> None:
        x = real("x")
        fgraph = graph([x], neg(neg(x)))
        EquilibriumRewriter([neg_of_neg]).rewrite(fgraph)
        self.assertEqual(fgraph.features, ())

    def test_requirements_of_rules_are_attached(self) -> None:
        class Wanted(Feature):
            pass

        class Needy(NodeRewriter):
            def tracks(self) -> Tracks:
                return (neg,)

            def add_requirements(self, fgraph: FunctionGraph) -> None:
                fgraph.attach_feature(Wanted())

            def transform(self, fgraph: FunctionGraph, node: Apply) -> TransformResult:
                assert any(isinstance(f, Wanted) for f in fgraph.features), "the requirement was not attached"
                return None

        for rewriter in (
            EquilibriumRewriter([Needy()]),
            WalkRewriter(RewriterGroup([Needy()])),
            SequenceRewriter([WalkRewriter(Needy())]),
        ):
            x = real("x")
            fgraph = graph([x], neg(x))
            rewriter.rewrite(fgraph)
            self.assertEqual(len(fgraph.features), 1)

    def test_wrong_kinds_of_rewriters(self) -> None:
        with self.assertRaisesRegex(TypeError, "equilibrium EquilibriumRewriter needs node rewriters"):
            EquilibriumRewriter([MergeRewriter()])  # type: ignore[list-item]
        with self.assertRaisesRegex(TypeError, "(?s)clean-up of equilibrium .*WalkRewriter"):
            EquilibriumRewriter([], cleanup=[neg_of_neg])  # type: ignore[list-item]


class TestNamesAndOrigins(unittest.TestCase):
    def test_a_name_passes_to_a_nameless_replacement(self) -> None:
        x, y = real("x"), real("y")
        z = sub(x, y)
        z.name = "difference"
        fgraph = graph([x, y], z)
        WalkRewriter(sub_as_add).rewrite(fgraph)
        self.assertEqual(fgraph.outputs[0].name, "difference")

    def test_a_name_that_is_there_stays(self) -> None:
        x = real("x")
        z = identity(neg(x))
        z.name = "outer"
        z.owner.inputs[0].name = "inner"
        fgraph = graph([x], z)
        WalkRewriter(drop_identity).rewrite(fgraph)
        self.assertEqual(fgraph.outputs[0].name, "inner")

    def test_new_nodes_have_the_origin_of_what_they_replace(self) -> None:
        x, y = real("x"), real("y")
        z = sub(x, y)
        origin = z.owner.origin
        for rewriter in (WalkRewriter(sub_as_add), EquilibriumRewriter([sub_as_add])):
            fgraph = FunctionGraph([x, y], [z])
            rewriter.rewrite(fgraph)
            self.assertEqual({node.origin for node in fgraph.apply_nodes}, {origin})
        self.assertTrue(str(origin).startswith("test_engines.py:"))


class TestSequencesAndOwnRewriters(unittest.TestCase):
    def test_the_global_rewriter_of_the_manual(self) -> None:
        class Simplify(GraphRewriter):
            def apply(self, fgraph: FunctionGraph) -> RewriteProfile | None:
                for node in fgraph.toposort():
                    if node.op == neg and node.inputs[0].owner and node.inputs[0].owner.op == neg:
                        fgraph.replace(node.outputs[0], node.inputs[0].owner.inputs[0])
                return None

        x = real("x")
        fgraph = graph([x], exp(neg(neg(x))))
        profile = SequenceRewriter([Simplify(), MergeRewriter()], "both").rewrite(fgraph)
        self.assertEqual(str(fgraph), "[Exp(x)]")
        self.assertEqual((profile.nodes_before, profile.nodes_after), (3, 1))
        self.assertEqual([part.name for part in profile.parts], ["Simplify", "merge"])

    def test_parts_run_in_order(self) -> None:
        order: list[int] = []
        parts = [FunctionGraphRewriter(lambda fgraph, i=i: order.append(i), f"part{i}") for i in (2, 0, 1)]  # type: ignore[misc]
        x = real("x")
        SequenceRewriter(parts).rewrite(graph([x], x))
        self.assertEqual(order, [2, 0, 1])

    def test_requirements_of_a_function(self) -> None:
        feature = Feature()
        rewriter = FunctionGraphRewriter(
            lambda fgraph: None, "f", requirements=lambda fgraph: fgraph.attach_feature(feature)
        )
        x = real("x")
        fgraph = graph([x], x)
        rewriter.rewrite(fgraph)
        self.assertEqual(fgraph.features, (feature,))

    def test_a_rewriter_without_apply_says_so(self) -> None:
        x = real("x")
        with self.assertRaisesRegex(TypeError, "(?s)graph rewriter GraphRewriter has no `apply`.*Hint"):
            GraphRewriter().rewrite(graph([x], x))

    def test_a_sequence_refuses_node_rewriters(self) -> None:
        with self.assertRaisesRegex(TypeError, "(?s)needs graph rewriters.*Hint: wrap"):
            SequenceRewriter([neg_of_neg])  # type: ignore[list-item]

    def test_apply_without_requirements(self) -> None:
        x = real("x")
        fgraph = graph([x], neg(neg(x)))
        EquilibriumRewriter([neg_of_neg]).apply(fgraph)
        self.assertEqual(fgraph.outputs, [x])

    def test_summary(self) -> None:
        text = io.StringIO()
        fast = PatternRewriter((neg, "x"), "x", name="rough", exactness="fast")
        SequenceRewriter(
            [EquilibriumRewriter([neg_of_neg, RewriterGroup([fast], "some")], "canon", cleanup=[MergeRewriter()])],
            "all",
        ).print_summary(text)
        self.assertEqual(
            text.getvalue().splitlines(),
            [
                "all",
                "  canon (until nothing changes)",
                "    neg_of_neg",
                "    some (first match)",
                "      rough (fast)",
                "    cleanup: merge",
            ],
        )


if __name__ == "__main__":
    unittest.main()
