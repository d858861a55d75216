"""Rules as data: their own descriptions, patterns written as expressions, identities, rarer parts."""

from __future__ import annotations

import unittest
from typing import Any
from unittest import mock

from arithmetic import (
    POSITIVE,
    REAL,
    Identity,
    add,
    const,
    div_mod,
    exp,
    graph,
    identity,
    log,
    mul,
    neg,
    ops_of,
    real,
    sub,
)

from theano_graph import Apply, FunctionGraph, Variable
from theano_optimize import (
    EquilibriumRewriter,
    NodeRewriter,
    PatternError,
    PatternRewriter,
    Phase,
    RewriteInfo,
    RewriterGroup,
    TransformResult,
    WalkRewriter,
    constant_scalar,
    node_rewriter,
    pattern_of,
)


def behind_identity(variable: Variable) -> Variable | None:
    node = variable.owner
    return node.inputs[0] if node is not None and isinstance(node.op, Identity) else None


def rewritten(rule: NodeRewriter, *outputs: Any) -> str:
    """Return the text of a graph of x and y after a rule has been tried at each node."""
    from_graph = {v for out in outputs for v in _leaves(out)}
    fgraph = graph(sorted(from_graph, key=str), *outputs)
    WalkRewriter(rule).rewrite(fgraph)
    fgraph.check_integrity()
    return str(fgraph)


def _leaves(variable: Variable) -> list[Variable]:
    node = variable.owner
    if node is None:
        return [] if hasattr(variable, "data") else [variable]
    return [leaf for v in node.inputs for leaf in _leaves(v)]


class TestInfo(unittest.TestCase):
    def test_a_guard_of_a_function_is_asked_first(self) -> None:
        seen = []

        def has_a_name(fgraph: FunctionGraph, node: Apply) -> bool:
            """The input has a name."""
            return node.inputs[0].name is not None

        @node_rewriter([exp], guard=has_a_name, phase="specialize", reference="made up")
        def drop(fgraph: FunctionGraph, node: Apply) -> TransformResult:
            seen.append(node)
            return [node.inputs[0]]

        x = real("x")
        self.assertEqual(rewritten(drop, exp(neg(exp(x)))), "[Exp(Neg(x))]")
        self.assertEqual(len(seen), 1)
        self.assertEqual(
            drop.info.as_dict(),
            {
                "name": "drop",
                "phase": "specialize",
                "tags": [],
                "guard": "The input has a name.",
                "exactness": "exact",
                "reference": "made up",
            },
        )

    def test_the_guard_of_a_pattern(self) -> None:
        rule = PatternRewriter((sub, "x", "y"), "x", when=lambda x, y: y.name == "zero", name="rule")
        self.assertEqual(rule.info.guard, rule.when)
        self.assertEqual(rule.info.guard_text, "<lambda>")
        self.assertEqual(rewritten(rule, sub(real("x"), real("y"))), "[Sub(x, y)]")

    def test_no_guard(self) -> None:
        self.assertIsNone(RewriteInfo("rule", Phase.FUSE).guard_text)


class TestExpressionsAsPatterns(unittest.TestCase):
    def setUp(self) -> None:
        self.x, self.y, self.z = real("x"), real("y"), real("z")

    def test_a_rule_of_two_expressions(self) -> None:
        x, y = self.x, self.y
        rule = PatternRewriter.from_expressions(mul(exp(x), exp(y)), exp(add(x, y)), [x, y])
        self.assertEqual(rule.name, "Mul(Exp(x), Exp(y)) -> Exp(Add(x, y))")
        a, b = real("a"), real("b")
        self.assertEqual(rewritten(rule, mul(exp(a), exp(neg(b)))), "[Exp(Add(a, Neg(b)))]")
        # The expressions of the rule are untouched.
        self.assertIsNone(x.owner)

    def test_the_same_wildcard_twice_and_any_order(self) -> None:
        x, y = self.x, self.y
        rule = PatternRewriter.from_expressions(add(mul(x, y), x), mul(x, add(y, const(1))), [x, y], name="factor")
        a, b = real("a"), real("b")
        self.assertEqual(rewritten(rule, add(a, mul(b, a))), "[Mul(a, Add(b, Constant{1.0}))]")
        self.assertEqual(rewritten(rule, add(real("c"), mul(real("b"), real("a")))), "[Add(c, Mul(b, a))]")

    def test_numbers_and_a_lone_wildcard(self) -> None:
        x = self.x
        rule = PatternRewriter.from_expressions(mul(x, const(1)), x, [x], tags=["demo"])
        self.assertEqual(rule.info.tags, ("demo",))
        self.assertEqual(rewritten(rule, mul(const(1.0), real("a"))), "[a]")
        self.assertEqual(rewritten(rule, mul(const(2.0), real("a"))), "[Mul(Constant{2.0}, a)]")

    def test_typed_wildcards(self) -> None:
        p = POSITIVE("p")
        rule = PatternRewriter.from_expressions(log(exp(p)), p, [p], typed=True)
        self.assertEqual(rewritten(rule, log(exp(real("a")))), "[Log(Exp(a))]")
        self.assertEqual(rewritten(rule, log(exp(POSITIVE("q")))), "[q]")

    def test_as_tuples(self) -> None:
        self.assertEqual(
            pattern_of(sub(self.x, const(2)), [self.x]),
            (sub, "x", 2.0),
        )

    def test_errors(self) -> None:
        x, y = self.x, self.y
        with self.assertRaisesRegex(PatternError, "`y` cannot stand in a pattern: it is no wildcard"):
            pattern_of(add(x, y), [x])
        with self.assertRaisesRegex(PatternError, "the replacement needs `y`, which the pattern does not have"):
            PatternRewriter.from_expressions(exp(x), y, [x, y])
        with self.assertRaisesRegex(PatternError, "each wildcard of a pattern needs a name of its own"):
            pattern_of(exp(x), [x, real("x")])
        with self.assertRaisesRegex(PatternError, "each wildcard of a pattern needs a name of its own"):
            pattern_of(exp(x), [REAL()])
        quotient, _ = div_mod.make_node(x, y).outputs
        with self.assertRaisesRegex(PatternError, "needs an output that is not the default output of its node"):
            pattern_of(exp(quotient), [x, y])


class TestIdentities(unittest.TestCase):
    def test_parts_fit_behind_identities(self) -> None:
        plain = PatternRewriter((log, (exp, "x")), "x")
        through = PatternRewriter((log, (exp, "x")), "x", see_through=behind_identity)
        x = real("x")
        hidden = log(identity(identity(exp(x))))
        self.assertEqual(rewritten(plain, hidden), "[Log(Identity(Identity(Exp(x))))]")
        self.assertEqual(rewritten(through, log(identity(identity(exp(real("x")))))), "[x]")
        self.assertEqual(rewritten(through, log(identity(real("x")))), "[Log(Identity(x))]")

    def test_numbers_behind_identities(self) -> None:
        rule = PatternRewriter((mul, "x", 1), "x", see_through=behind_identity)
        self.assertEqual(rewritten(rule, mul(real("a"), identity(const(1)))), "[a]")


class TestRarerParts(unittest.TestCase):
    def test_the_rule_is_asked_at_the_part(self) -> None:
        asked = []

        def users(node: Apply) -> list[object]:
            asked.append(node.op)
            return [client for client, _ in node.outputs[0].clients]

        rule = PatternRewriter((add, (exp, "x"), "y"), (sub, "x", "y"), tracks=[exp], candidates=users)
        self.assertEqual(rule.tracks(), (exp,))
        a, b = real("a"), real("b")
        fgraph = graph([a, b], neg(add(b, exp(a))), add(a, b))
        EquilibriumRewriter([rule]).rewrite(fgraph)
        self.assertEqual(str(fgraph), "[Neg(Sub(a, b)), Add(a, b)]")
        self.assertEqual(asked, [exp])

    def test_an_output_is_no_candidate(self) -> None:
        rule = PatternRewriter(
            (add, (exp, "x"), "y"), "y", tracks=[exp], candidates=lambda n: [c for c, _ in n.outputs[0].clients]
        )
        self.assertEqual(rewritten(rule, exp(real("a"))), "[Exp(a)]")


class OneElement:
    """Looks like an array with one element."""

    size = 1

    def item(self) -> float:
        return 2.5


class TestNumbersOfConstants(unittest.TestCase):
    def test_what_counts_as_a_number(self) -> None:
        several = OneElement()
        several.size = 2
        for data, number in ((3, 3), (2.5, 2.5), (OneElement(), 2.5), (several, None), ("text", None), (None, None)):
            with self.subTest(data=data):
                self.assertEqual(constant_scalar(REAL, data), number)


class TestOptions(unittest.TestCase):
    def test_how_to_compare_is_put_on_the_tag(self) -> None:
        def close(a: object, b: object) -> bool:
            return True

        x = real("x")
        fgraph = graph([x], exp(neg(x)))
        WalkRewriter(PatternRewriter((exp, "x"), (log, "x"), values_eq_approx=close)).rewrite(fgraph)
        self.assertIs(fgraph.outputs[0].tag.values_eq_approx, close)

    def test_the_debugger_is_entered_where_the_root_fits(self) -> None:
        rule = PatternRewriter((exp, (log, "x")), "x", debug=True)
        with mock.patch("builtins.breakpoint") as stop:
            rewritten(rule, neg(exp(real("a"))))
        stop.assert_called_once_with()

    def test_the_text_tells_constraints(self) -> None:
        rule = PatternRewriter((exp, {"pattern": "x", "constraint": behind_identity}), "x")
        self.assertEqual(rule.name, "Exp(x subject to behind_identity) -> x")


class TestGroupsThatApplyAll(unittest.TestCase):
    rules = [
        PatternRewriter((exp, "x"), (log, "x"), name="exp_to_log"),
        PatternRewriter((log, "x"), (neg, "x"), name="log_to_neg"),
    ]

    def test_one_or_all(self) -> None:
        first = RewriterGroup(self.rules, "first")
        everything = RewriterGroup(self.rules, "everything", apply_all=True)
        self.assertEqual(rewritten(first, exp(real("a"))), "[Log(a)]")
        self.assertEqual(rewritten(everything, exp(real("a"))), "[Neg(a)]")
        self.assertEqual(everything.summary_lines()[0], "everything (all that match)")

    def test_an_answer_that_is_no_new_node_ends_it(self) -> None:
        drop = PatternRewriter((exp, "x"), "x", name="drop")
        group = RewriterGroup([drop, self.rules[1]], "group", apply_all=True)
        fgraph = graph([a := real("a")], exp(log(a)))
        WalkRewriter(group, "out_to_in").rewrite(fgraph)
        self.assertIn(ops_of(fgraph), (["Log"], ["Neg"]))


if __name__ == "__main__":
    unittest.main()
