from __future__ import annotations

import unittest
import warnings
from collections.abc import Callable
from typing import Any
from unittest import mock

from arithmetic import POSITIVE, REAL, TEXT, Identity, add, div_mod, exp, graph, identity, log, neg, ops_of, real

from theano_graph import Apply, ConfigError, Feature, FunctionGraph, InconsistencyError, TheanoError, config
from theano_optimize import (
    EquilibriumRewriter,
    FunctionNodeRewriter,
    GraphRewriter,
    RewriteError,
    TransformResult,
    WalkRewriter,
    node_rewriter,
)


def rule_returning(result: Callable[[Apply], Any], name: str = "bad_rule") -> FunctionNodeRewriter:
    """Return a rule on Exp with a given answer."""

    def answer(fgraph: FunctionGraph, node: Apply) -> TransformResult:
        return result(node)  # type: ignore[no-any-return]  # the test is about wrong answers

    return node_rewriter([exp], name=name)(answer)


def raises(node: Apply) -> Any:
    raise KeyError("missing")


WRONG: dict[str, tuple[Callable[[Apply], Any], str]] = {
    "raises": (raises, r"rewrite `bad_rule`: raised KeyError: 'missing'"),
    "too many": (lambda node: [node.inputs[0]] * 2, "returned 2 variables for a node with 1 outputs"),
    "too few": (lambda node: [], "returned 0 variables for a node with 1 outputs"),
    "a variable": (lambda node: node.inputs[0], "returned Variable"),
    "a number": (lambda node: 3, "returned int"),
    "true": (lambda node: True, "returned bool"),
    "numbers": (lambda node: [3], "returned 3, which is no variable"),
    "none for a used output": (lambda node: [None], "returned None for output 0, which is used"),
    "another type": (lambda node: [TEXT("t")], "wants to replace a variable of type Real by one of type Text"),
    "a stranger": (lambda node: {real("q"): node.inputs[0]}, "wants to replace q, which is not in the graph"),
    "no variable as key": (lambda node: {"q": node.inputs[0]}, "wants to replace 'q', which is not in the graph"),
    "itself inside": (lambda node: [neg(node.outputs[0])], "itself computed from `Exp.0`"),
    "itself deep inside": (
        lambda node: [add(neg(log(node.outputs[0])), node.inputs[0])],
        "itself computed from `Exp.0`",
    ),
    "the same again": (lambda node: [exp(node.inputs[0])], "replaces `Exp.0` by itself: Exp on the same inputs"),
    "an unknown input": (lambda node: [real("free")], r"its replacement was refused: MissingInputError: .*`free`"),
}


class TestWrongAnswers(unittest.TestCase):
    def engines(self, rule: FunctionNodeRewriter) -> list[GraphRewriter]:
        return [WalkRewriter(rule), EquilibriumRewriter([rule])]

    def test_they_raise_and_leave_the_graph(self) -> None:
        for name, (result, message) in WRONG.items():
            for engine in self.engines(rule_returning(result)):
                with self.subTest(answer=name, engine=type(engine).__name__):
                    x = real("x")
                    fgraph = graph([x], neg(exp(x)))
                    with self.assertRaisesRegex(RewriteError, message) as caught:
                        engine.rewrite(fgraph)
                    self.assertEqual(caught.exception.rewriter, "bad_rule")
                    self.assertEqual(str(fgraph), "[Neg(Exp(x))]")
                    self.assertEqual(fgraph.features, ())
                    fgraph.check_integrity()

    def test_they_warn_on_request_and_the_rest_goes_on(self) -> None:
        to_log = node_rewriter([exp], name="to_log")(lambda fgraph, node: [log(node.inputs[0])])
        for name, (result, message) in WRONG.items():
            with self.subTest(answer=name):
                x = real("x")
                fgraph = graph([x], neg(exp(x)))
                with self.assertLogs("theano.gof.opt", "ERROR") as logged:
                    EquilibriumRewriter([rule_returning(result), to_log]).rewrite(fgraph, on_error="warn")
                self.assertEqual(logged.records[0].getMessage(), "Optimization failure due to: bad_rule")
                self.assertRegex("\n".join(logged.output), message)
                self.assertEqual(ops_of(fgraph), ["Log", "Neg"])
                fgraph.check_integrity()

    def test_they_can_be_ignored(self) -> None:
        x = real("x")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            profile = WalkRewriter(rule_returning(raises)).rewrite(graph([x], exp(x)), on_error="ignore")
        self.assertEqual(profile.changes, 0)

    def test_the_debugger_can_be_entered(self) -> None:
        x = real("x")
        with mock.patch("builtins.breakpoint") as stop, self.assertRaises(RewriteError):
            WalkRewriter(rule_returning(raises)).rewrite(graph([x], exp(x)), on_error="pdb")
        stop.assert_called_once_with()

    def test_an_unknown_policy(self) -> None:
        x = real("x")
        with self.assertRaisesRegex(ValueError, "(?s)on_error is 'shrug'.*Hint: pass one of raise, warn, ignore, pdb"):
            WalkRewriter(rule_returning(raises)).rewrite(graph([x], exp(x)), on_error="shrug")  # type: ignore[arg-type]

    def test_the_text_has_three_parts(self) -> None:
        x = real("x")
        with self.assertRaises(RewriteError) as caught:
            WalkRewriter(rule_returning(raises)).rewrite(graph([x], exp(neg(x))))
        lines = str(caught.exception).splitlines()
        self.assertEqual(lines[0], "rewrite `bad_rule`: raised KeyError: 'missing'")
        self.assertRegex(lines[1], r"`Exp\.0`: Real made at test_rewrite_errors\.py:\d+")
        self.assertRegex("\n".join(lines), r"(?s)Exp \[id A\] <Real>.*Neg \[id B\] <Real>.*x \[id C\] <Real>")
        self.assertRegex(lines[-1], "Hint: repair `bad_rule`, or exclude it; the graph is as it was")
        self.assertIsInstance(caught.exception.__cause__, KeyError)
        self.assertIsInstance(caught.exception, TheanoError)

    def test_the_expression_is_shown_to_a_limited_depth(self) -> None:
        x = real("x")
        v = x
        for _ in range(1000):
            v = neg(v)
        with self.assertRaises(RewriteError) as caught:
            WalkRewriter(rule_returning(raises)).rewrite(graph([x], exp(v)))
        self.assertLess(len(str(caught.exception).splitlines()), 12)

    def test_a_replacement_one_level_below_an_old_node(self) -> None:
        # The answer is an old node that uses the variable to be replaced.
        rule = node_rewriter([exp], name="bad_rule")(
            lambda fgraph, node: [fgraph.clients(node.outputs[0])[0][0].outputs[0]]  # type: ignore[union-attr]
        )
        x = real("x")
        fgraph = graph([x], neg(exp(x)))
        with self.assertRaisesRegex(RewriteError, "itself computed from"):
            WalkRewriter(rule).rewrite(fgraph)
        fgraph.check_integrity()

    def test_a_rewrite_error_of_the_rule_is_passed_on(self) -> None:
        def complains(node: Apply) -> Any:
            raise RewriteError("my own words", rewriter="inner")

        x = real("x")
        with self.assertRaisesRegex(RewriteError, "^my own words$"):
            WalkRewriter(rule_returning(complains)).rewrite(graph([x], exp(x)))

    def test_a_replacement_may_use_another_replaced_variable(self) -> None:
        @node_rewriter([div_mod])
        def by_hand(fgraph: FunctionGraph, node: Apply) -> TransformResult:
            quotient, remainder = node.outputs
            return {remainder: add(node.inputs[0], neg(quotient)), quotient: node.inputs[0]}

        x, y = real("x"), real("y")
        fgraph = graph([x, y], *div_mod(x, y))
        WalkRewriter(by_hand).rewrite(fgraph)
        self.assertEqual(str(fgraph), "[x, Add(x, Neg(x))]")
        fgraph.check_integrity()

    def test_one_output_of_several(self) -> None:
        bad = node_rewriter([div_mod], name="bad_rule")(lambda fgraph, node: [node.inputs[0], TEXT("t")])
        x, y = real("x"), real("y")
        fgraph = graph([x, y], *div_mod(x, y))
        with self.assertRaisesRegex(RewriteError, "of type Real by one of type Text"):
            WalkRewriter(bad).rewrite(fgraph)
        # The first output had a good replacement, but nothing was replaced.
        self.assertEqual(ops_of(fgraph), ["DivMod"])


class TestTypes(unittest.TestCase):
    def test_a_less_precise_type_is_refused(self) -> None:
        class Sharp(Identity):
            def make_node(self, *inputs: Any) -> Apply:
                return Apply(self, list(inputs), [POSITIVE()])

        x = real("x")
        drop = node_rewriter([Sharp], name="drop")(lambda fgraph, node: [node.inputs[0]])
        with self.assertRaisesRegex(
            RewriteError, "`drop` wants to replace a variable of type Positive by one of type Real"
        ):
            WalkRewriter(drop).rewrite(graph([x], Sharp()(x)))

    def test_the_type_may_convert_the_replacement(self) -> None:
        class Parsing(type(REAL)):  # type: ignore[misc]  # a type that takes texts for numbers
            def convert_variable(self, var: Any) -> Any:
                return Apply(Parse(), [var], [PARSING()]).outputs[0] if var.type == TEXT else var

        class Parse(Identity):
            pass

        PARSING = Parsing()
        x, t = PARSING("x"), TEXT("t")
        output = Apply(identity, [x], [PARSING()]).outputs[0]
        fgraph = graph([x, t], output)
        rule = node_rewriter([identity], name="to_text")(lambda fgraph, node: [t])
        WalkRewriter(rule).rewrite(fgraph)
        self.assertEqual(str(fgraph), "[Parse(t)]")


class TestFeaturesThatRefuse(unittest.TestCase):
    def test_the_refusal_names_the_rule(self) -> None:
        class Refuses(Feature):
            def on_import(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
                raise InconsistencyError(f"no new nodes, says {reason}")

        x = real("x")
        fgraph = FunctionGraph([x], [exp(x)], [Refuses()], clone=False)
        rule = rule_returning(lambda node: [log(node.inputs[0])], "to_log")
        with self.assertRaisesRegex(RewriteError, "rewrite `to_log`: its replacement was refused: .*says to_log"):
            WalkRewriter(rule).rewrite(fgraph)


class TestFlags(unittest.TestCase):
    def test_defaults(self) -> None:
        self.assertEqual(
            (config.on_opt_error, config.optimizer_verbose, config.optimizer_excluding), ("raise", False, "")
        )

    def test_values_are_checked(self) -> None:
        for value in ("warn", "ignore", "pdb", "raise"):
            with config.change_flags(on_opt_error=value):
                self.assertEqual(config.on_opt_error, value)
        with self.assertRaisesRegex(ConfigError, "on_opt_error"):
            config.on_opt_error = "shrug"
        with self.assertRaisesRegex(ConfigError, "cannot be changed once the program runs"):
            config.optimizer_excluding = "inplace"


if __name__ == "__main__":
    unittest.main()
