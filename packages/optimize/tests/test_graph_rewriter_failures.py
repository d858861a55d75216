"""Graph rewriters that fail; one rule at one node; where nodes come from."""

from __future__ import annotations

import unittest
import warnings
from typing import Any
from unittest import mock

from arithmetic import TEXT, Exp, exp, graph, log, log_of_exp, neg, neg_of_neg, real

from theano_graph import Apply, FunctionGraph, History, ReplaceValidate, Variable, config
from theano_optimize import (
    AddOriginGuard,
    FunctionGraphRewriter,
    OriginGuard,
    RewriteError,
    RewriteOptions,
    RewriteTrace,
    RewriteWarning,
    SequenceRewriter,
    TransformResult,
    WalkRewriter,
    chosen_nodes,
    copy_origin,
    node_rewriter,
    rewrite_node,
    without_origin,
)


def change_and_fail(fgraph: FunctionGraph) -> None:
    fgraph.replace(fgraph.outputs[0], log(exp(fgraph.inputs[0])))
    fgraph.replace(fgraph.outputs[0], neg(fgraph.inputs[0]))
    raise ZeroDivisionError("no luck")


def sequence() -> SequenceRewriter:
    return SequenceRewriter([FunctionGraphRewriter(change_and_fail), WalkRewriter(neg_of_neg)], "demo")


class TestFailingGraphRewriters(unittest.TestCase):
    def test_the_error_names_them(self) -> None:
        x = real("x")
        with self.assertRaises(ZeroDivisionError) as caught:
            sequence().rewrite(graph([x], exp(x)))
        self.assertEqual(caught.exception.__notes__, ["raised by graph rewriter `change_and_fail` of `demo`"])

    def test_a_warning_and_the_old_graph(self) -> None:
        x = real("x")
        fgraph = graph([x], neg(neg(exp(x))))
        with self.assertLogs("theano.gof.opt", "ERROR") as log:
            profile = sequence().rewrite(fgraph, on_error="warn")
        self.assertEqual(log.records[0].getMessage(), "SeqOptimizer apply change_and_fail")
        self.assertIn("ZeroDivisionError: no luck", log.output[-1])
        self.assertEqual(str(fgraph), "[Exp(x)]")
        self.assertEqual([part.name for part in profile.parts], ["walk(neg_of_neg)"])
        self.assertEqual(fgraph.features, ())
        fgraph.check_integrity()

    def test_silence(self) -> None:
        x = real("x")
        fgraph = graph([x], exp(x))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            sequence().rewrite(fgraph, on_error="ignore")
        self.assertEqual(str(fgraph), "[Exp(x)]")

    def test_the_debugger(self) -> None:
        x = real("x")
        with mock.patch("builtins.breakpoint") as stop, self.assertRaises(ZeroDivisionError):
            sequence().rewrite(graph([x], exp(x)), on_error="pdb")
        stop.assert_called_once_with()

    def test_undoing_leaves_histories_alone(self) -> None:
        x = real("x")
        fgraph: Any = graph([x], exp(x))
        fgraph.attach_feature(history := History())
        with self.assertLogs("theano.gof.opt", "ERROR"):
            sequence().rewrite(fgraph, on_error="warn")
        self.assertEqual(fgraph.features, (history,))
        adds = FunctionGraphRewriter(lambda g: None, requirements=lambda g: g.attach_feature(ReplaceValidate()))
        x = real("x")
        fgraph = graph([x], exp(x))
        SequenceRewriter([adds]).rewrite(fgraph, on_error="warn")
        self.assertTrue(fgraph.consistent())

    def test_handlers_come_first(self) -> None:
        @node_rewriter([Exp])
        def fails(fgraph: FunctionGraph, node: Apply) -> TransformResult:
            raise KeyError("missing")

        seen: list[RewriteError] = []

        def handle(error: RewriteError) -> bool:
            seen.append(error)
            return len(seen) < 2

        x = real("x")
        fgraph = graph([x], exp(exp(x)))
        with self.assertRaises(RewriteError) as caught:
            WalkRewriter(fails).run(fgraph, RewriteOptions(on_failure=handle))
        self.assertIs(caught.exception, seen[1])
        self.assertEqual([error.rule for error in seen], [fails, fails])
        self.assertEqual([error.node for error in seen], fgraph.toposort())


class TestOneRuleAtOneNode(unittest.TestCase):
    def test_it_changes_that_node_only(self) -> None:
        x = real("x")
        fgraph = graph([x], log(exp(x)), neg(log(exp(x))))
        trace = RewriteTrace()
        options = RewriteOptions(trace=trace)
        self.assertTrue(rewrite_node(log_of_exp, fgraph, fgraph.outputs[0].owner, options))
        self.assertEqual(str(fgraph), "[x, Neg(Log(Exp(x)))]")
        self.assertFalse(rewrite_node(log_of_exp, fgraph, fgraph.outputs[1].owner))
        self.assertEqual(trace.counts(), {"log_of_exp": 1})

    def test_failures(self) -> None:
        wrong = node_rewriter([Exp], name="wrong")(lambda fgraph, node: [TEXT("t")])
        x = real("x")
        fgraph = graph([x], exp(x))
        with self.assertRaisesRegex(RewriteError, "wants to replace a variable of type Real by one of type Text"):
            rewrite_node(wrong, fgraph, fgraph.outputs[0].owner)
        with self.assertLogs("theano.gof.opt", "ERROR"):
            self.assertFalse(rewrite_node(wrong, fgraph, fgraph.outputs[0].owner, RewriteOptions("warn")))
        self.assertEqual(str(fgraph), "[Exp(x)]")


def without_a_trace(variable: Variable) -> Variable:
    """Return a new node that does not say where it was made."""
    result: Variable = neg(variable)
    result.origin = None
    assert result.owner is not None
    result.owner.origin = None
    return result


class TestOrigins(unittest.TestCase):
    def setUp(self) -> None:
        self.x = real("x")
        self.fgraph = graph([self.x], exp(self.x))

    def replace(self) -> None:
        self.fgraph.replace(self.fgraph.outputs[0], without_a_trace(self.x), reason="careless")

    def test_copying(self) -> None:
        unknown, old, new = without_a_trace(self.x), exp(self.x), without_a_trace(self.x)
        copy_origin([unknown, old], [new])
        assert new.owner is not None
        self.assertIsNotNone(old.origin)
        self.assertIs(new.origin, old.origin)
        self.assertIs(new.owner.origin, old.origin)
        nameless = without_a_trace(self.x)
        copy_origin(without_a_trace(self.x), nameless)
        self.assertIsNone(nameless.origin)

    def test_finding(self) -> None:
        fgraph = graph([self.x], log(without_a_trace(self.x)))
        self.assertEqual([str(node.op) for node in without_origin(fgraph)], ["Neg"])
        self.assertEqual(without_origin(fgraph, "last"), [])
        self.assertEqual(without_origin(fgraph, Exp), [])
        self.assertEqual(len(without_origin(fgraph, [neg, Exp])), 1)
        self.assertEqual(len(chosen_nodes(fgraph, "all")), 2)
        with self.assertRaisesRegex(ValueError, "'first' names no nodes"):
            without_origin(fgraph, "first")  # type: ignore[arg-type]

    def test_the_guard_raises(self) -> None:
        self.fgraph.attach_feature(OriginGuard())
        with self.assertRaisesRegex(RewriteError, "`careless` made Neg without saying where it comes from"):
            self.replace()

    def test_the_guard_warns_and_marks(self) -> None:
        AddOriginGuard("warn").rewrite(self.fgraph)
        AddOriginGuard("warn").rewrite(self.fgraph)
        self.assertEqual(len(self.fgraph.features), 1)
        with self.assertWarnsRegex(RewriteWarning, "without saying where it comes from"):
            self.replace()
        self.assertEqual(self.fgraph.outputs[0].origin.filename, "<rewrite careless>")
        self.assertEqual(without_origin(self.fgraph), [])

    def test_the_guard_logs_and_marks(self) -> None:
        AddOriginGuard("log").rewrite(self.fgraph)
        with self.assertLogs("theano_optimize", "INFO"):
            self.replace()
        self.assertEqual(without_origin(self.fgraph), [])

    def test_rules_keep_origins(self) -> None:
        self.fgraph.attach_feature(OriginGuard())
        rule = node_rewriter([Exp], name="rule")(lambda fgraph, node: [log(neg(node.inputs[0]))])
        WalkRewriter(rule).rewrite(self.fgraph)
        self.assertEqual(str(self.fgraph), "[Log(Neg(x))]")

    def test_the_flag(self) -> None:
        self.assertEqual(config.check_stack_trace, "off")


if __name__ == "__main__":
    unittest.main()
