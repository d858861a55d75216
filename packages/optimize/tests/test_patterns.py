from __future__ import annotations

import unittest
from typing import Any

from arithmetic import (
    POSITIVE,
    REAL,
    TEXT,
    Add,
    RealOp,
    Scale,
    add,
    const,
    div,
    div_mod,
    evaluate,
    exp,
    graph,
    log,
    mul,
    neg,
    ops_of,
    real,
    sub,
    total,
)

from theano_graph import Apply, Op, Variable
from theano_optimize import Exactness, PatternError, PatternRewriter, Phase, WalkRewriter, constant_scalar


def rewritten(rule: PatternRewriter, inputs: list[Variable], *outputs: Variable) -> tuple[int, list[str]]:
    """Apply a rule in one walk; return how often it fired and the result."""
    fgraph = graph(inputs, *outputs)
    profile = WalkRewriter(rule).rewrite(fgraph)
    fgraph.check_integrity()
    return profile.changes, ops_of(fgraph)


class TestMatching(unittest.TestCase):
    def setUp(self) -> None:
        self.x, self.y, self.z = real("x"), real("y"), real("z")
        self.simplify = PatternRewriter((div, (mul, "x", "y"), "y"), "x")

    def test_the_quotient_of_the_manual(self) -> None:
        x, y, z = self.x, self.y, self.z
        fgraph = graph([x, y, z], add(z, mul(div(mul(y, x), y), div(z, x))))
        before = evaluate(fgraph, [2.0, 3.0, 5.0])
        self.assertEqual(WalkRewriter(self.simplify).rewrite(fgraph).changes, 1)
        self.assertEqual(str(fgraph), "[Add(z, Mul(x, Div(z, x)))]")
        self.assertAlmostEqual(evaluate(fgraph, [2.0, 3.0, 5.0])[0], before[0])

    def test_a_repeated_wildcard_needs_the_same_variable(self) -> None:
        x, y, z = self.x, self.y, self.z
        self.assertEqual(rewritten(self.simplify, [x, y, z], div(mul(x, y), z)), (0, ["Mul", "Div"]))

    def test_a_repeated_wildcard_accepts_equal_constants(self) -> None:
        rule = PatternRewriter((sub, "c", "c"), 0)
        fired, ops = rewritten(rule, [], sub(const(2), const(2)))
        self.assertEqual((fired, ops), (1, []))

    def test_a_number_matches_constants_only(self) -> None:
        rule = PatternRewriter((add, "x", 0), "x")
        self.assertEqual(rewritten(rule, [self.x], add(self.x, const(0)))[0], 1)
        self.assertEqual(rewritten(rule, [self.x], add(self.x, const(1)))[0], 0)
        self.assertEqual(rewritten(rule, [self.x, self.y], add(self.x, self.y))[0], 0)

    def test_a_commutative_op_is_matched_in_every_order(self) -> None:
        rule = PatternRewriter((add, (mul, 2, "x"), "x"), (mul, 3, "x"))
        x = self.x
        for expression in (
            add(mul(const(2), x), x),
            add(mul(x, const(2)), x),
            add(x, mul(const(2), x)),
            add(x, mul(x, const(2))),
        ):
            self.assertEqual(rewritten(rule, [x], expression), (1, ["Mul"]))

    def test_other_ops_are_matched_in_the_given_order(self) -> None:
        rule = PatternRewriter((sub, 0, "x"), (neg, "x"))
        self.assertEqual(rewritten(rule, [self.x], sub(self.x, const(0)))[0], 0)
        self.assertEqual(rewritten(rule, [self.x], sub(const(0), self.x)), (1, ["Neg"]))

    def test_an_op_class_matches_all_its_instances(self) -> None:
        rule = PatternRewriter((Scale, (Scale, "x")), lambda x: mul(x, const(6)))
        self.assertEqual(rewritten(rule, [self.x], Scale(2.0)(Scale(3.0)(self.x))), (1, ["Mul"]))

    def test_an_op_instance_matches_equal_ops_only(self) -> None:
        rule = PatternRewriter((Scale(1.0), "x"), "x")
        self.assertEqual(rewritten(rule, [self.x], Scale(1.0)(self.x))[0], 1)
        self.assertEqual(rewritten(rule, [self.x], Scale(2.0)(self.x))[0], 0)

    def test_a_variable_matches_itself(self) -> None:
        rule = PatternRewriter((add, self.x, "y"), "y")
        self.assertEqual(rewritten(rule, [self.x, self.y], neg(add(self.y, self.x)))[0], 1)
        self.assertEqual(rewritten(rule, [self.z, self.y], add(self.y, self.z))[0], 0)

    def test_the_number_of_inputs_must_agree(self) -> None:
        rule = PatternRewriter((total, "x", "y"), "x")
        self.assertEqual(rewritten(rule, [self.x, self.y, self.z], total(self.x, self.y, self.z))[0], 0)

    def test_a_constraint_is_asked_about_the_variable(self) -> None:
        seen: list[Variable] = []

        def is_constant(variable: Any) -> bool:
            seen.append(variable)
            return hasattr(variable, "data")

        rule = PatternRewriter((sub, "x", {"pattern": "c", "constraint": is_constant}), (add, "x", (neg, "c")))
        self.assertEqual(rewritten(rule, [self.x, self.y], sub(self.x, self.y))[0], 0)
        self.assertEqual(rewritten(rule, [self.x], sub(self.x, const(2)))[0], 1)
        self.assertIs(seen[0], self.y)

    def test_a_constraint_may_stand_around_the_whole_pattern(self) -> None:
        rule = PatternRewriter({"pattern": (neg, "x"), "constraint": lambda v: v.name == "w"}, "x")
        named = neg(self.x)
        named.name = "w"
        self.assertEqual(rewritten(rule, [self.x], named)[0], 1)
        self.assertEqual(rewritten(rule, [self.x], neg(self.x))[0], 0)

    def test_a_condition_on_the_whole_match(self) -> None:
        rule = PatternRewriter((add, "x", "y"), "x", when=lambda x, y: x.name == "y" and y.name == "x")
        fgraph = graph([self.x, self.y], add(self.x, self.y))
        WalkRewriter(rule).rewrite(fgraph)
        # The commutative op offers the other order when the first fails the condition.
        self.assertEqual(fgraph.outputs, [self.y])

    def test_a_node_with_several_outputs_is_not_matched_as_one(self) -> None:
        quotient, remainder = div_mod(self.x, self.y)
        rule = PatternRewriter((type(div_mod), "x", "y"), "x")
        self.assertEqual(rewritten(rule, [self.x, self.y], quotient, remainder)[0], 0)


class TestClients(unittest.TestCase):
    def test_an_inner_node_used_elsewhere_blocks_the_rule(self) -> None:
        x = real("x")
        e = exp(x)
        rule = PatternRewriter((log, (exp, "x")), "x")
        self.assertEqual(rewritten(rule, [x], log(e), neg(e))[0], 0)

    def test_unless_several_clients_are_allowed(self) -> None:
        x = real("x")
        e = exp(x)
        rule = PatternRewriter((log, (exp, "x")), "x", allow_multiple_clients=True)
        self.assertEqual(rewritten(rule, [x], log(e), neg(e)), (1, ["Exp", "Neg"]))

    def test_an_inner_node_that_is_an_output_blocks_the_rule(self) -> None:
        x = real("x")
        e = exp(x)
        rule = PatternRewriter((log, (exp, "x")), "x")
        self.assertEqual(rewritten(rule, [x], log(e), e)[0], 0)

    def test_an_inner_node_used_twice_within_the_pattern_does_not(self) -> None:
        x = real("x")
        e = exp(x)
        rule = PatternRewriter((sub, (exp, "x"), (exp, "x")), 0)
        self.assertEqual(rewritten(rule, [x], sub(e, e)), (1, []))


class TestReplacement(unittest.TestCase):
    def setUp(self) -> None:
        self.x, self.y = real("x"), real("y")

    def test_nested_calls(self) -> None:
        rule = PatternRewriter((log, (mul, "x", "y")), (add, (log, "x"), (log, "y")))
        fgraph = graph([self.x, self.y], log(mul(self.x, self.y)))
        WalkRewriter(rule).rewrite(fgraph)
        self.assertEqual(str(fgraph), "[Add(Log(x), Log(y))]")
        self.assertAlmostEqual(evaluate(fgraph, [2.0, 8.0])[0], 2.772588722239781)

    def test_a_number_becomes_a_constant_of_the_old_type(self) -> None:
        rule = PatternRewriter((sub, "x", "x"), 0)
        fgraph = graph([self.x], sub(self.x, self.x))
        WalkRewriter(rule).rewrite(fgraph)
        self.assertEqual((fgraph.outputs[0].data, fgraph.outputs[0].type), (0.0, REAL))

    def test_a_function_builds_the_replacement(self) -> None:
        rule = PatternRewriter((sub, "x", "y"), lambda x, y: add(x, neg(y)))
        self.assertEqual(rewritten(rule, [self.x, self.y], sub(self.x, self.y)), (1, ["Neg", "Add"]))

    def test_a_function_may_decline(self) -> None:
        rule = PatternRewriter((sub, "x", "y"), lambda x, y: None, name="declines")
        self.assertEqual(rewritten(rule, [self.x, self.y], sub(self.x, self.y))[0], 0)

    def test_a_variable_stands_for_itself(self) -> None:
        rule = PatternRewriter((neg, "x"), self.y)
        fgraph = graph([self.x, self.y], exp(neg(self.x)))
        WalkRewriter(rule).rewrite(fgraph)
        self.assertEqual(str(fgraph), "[Exp(y)]")

    def test_a_replacement_of_another_type_does_not_apply(self) -> None:
        class Length(RealOp):
            def make_node(self, *inputs: Any) -> Apply:
                return Apply(self, list(inputs), [REAL()])

        text = TEXT("s")
        rule = PatternRewriter((Length, "s"), "s")
        self.assertEqual(rewritten(rule, [text], Length()(text)), (0, ["Length"]))

    def test_a_more_precise_type_applies(self) -> None:
        p = POSITIVE("p")
        self.assertEqual(rewritten(PatternRewriter((add, "x", 0), "x"), [p], add(p, const(0))), (1, []))


class TestMaking(unittest.TestCase):
    def test_the_text_of_the_rule_is_its_name(self) -> None:
        self.assertEqual(PatternRewriter((add, (neg, "x"), 1), (sub, 1, "x")).name, "Add(Neg(x), 1) -> Sub(1, x)")

    def test_what_is_known_of_a_rule(self) -> None:
        rule = PatternRewriter(
            (neg, "x"), "x", name="r", phase="stabilize", tags=["a"], exactness="fast", reference="DLMF 4.2"
        )
        self.assertEqual(rule.info.phase, Phase.STABILIZE)
        self.assertEqual(rule.info.exactness, Exactness.FAST)
        self.assertEqual(rule.info.reference, "DLMF 4.2")
        self.assertEqual(rule.info.all_tags, ("a", "stabilize", "fast"))

    def test_reach_follows_the_depth_of_the_pattern(self) -> None:
        self.assertEqual(PatternRewriter((neg, "x"), "x").reach, 0)
        self.assertEqual(PatternRewriter((log, (sub, 1, (exp, "x"))), "x").reach, 2)

    def test_an_unknown_wildcard_in_the_replacement(self) -> None:
        with self.assertRaisesRegex(PatternError, r"wildcard 'z'.*\n.*wildcards of the pattern: x, y\n.*Hint"):
            PatternRewriter((add, "x", "y"), (neg, "z"))

    def test_malformed_patterns(self) -> None:
        bad: list[tuple[Any, str]] = [
            ("x", "starts with an op"),
            ((), "empty tuple"),
            (("add", "x"), "which is no op"),
            ((add, "x", object()), "cannot stand in a pattern"),
            ((add, "x", {"pattern": "y"}), "dict in a pattern has the keys"),
            ((add, "x", {"pattern": "y", "constraint": 3}), "dict in a pattern"),
        ]
        for pattern, message in bad:
            with self.subTest(pattern=str(pattern)), self.assertRaisesRegex(PatternError, message):
                PatternRewriter(pattern, "x")

    def test_malformed_replacements(self) -> None:
        for replacement in ((), ("x", "y"), add, object()):
            with self.subTest(replacement=str(replacement)), self.assertRaises(PatternError):
                PatternRewriter((add, "x", "y"), replacement)

    def test_tracks_the_op_at_the_root(self) -> None:
        self.assertEqual(PatternRewriter((add, "x", "y"), "x").tracks(), (add,))
        self.assertEqual(PatternRewriter((Add, "x", "y"), "x").tracks(), (Add,))


class TestConstantScalar(unittest.TestCase):
    def test_numbers_and_zero_dimensional_values(self) -> None:
        class ZeroDimensional:
            shape = ()

            def __getitem__(self, index: tuple[()]) -> float:
                return 4.0

        self.assertEqual(constant_scalar(REAL, 2.5), 2.5)
        self.assertEqual(constant_scalar(REAL, ZeroDimensional()), 4.0)
        self.assertIsNone(constant_scalar(TEXT, "a"))

    def test_a_type_may_have_its_own_method(self) -> None:
        class Repeated(type(TEXT)):  # type: ignore[misc]  # a class of its own, so that the method stays in this test
            pass

        constant_scalar.register(Repeated, lambda type_, data: data[0] if len(set(data)) == 1 else None)
        self.assertEqual(constant_scalar(Repeated(), (7, 7)), 7)
        self.assertIsNone(constant_scalar(Repeated(), (7, 8)))


class TestWideCommutativeOps(unittest.TestCase):
    def test_up_to_six_inputs_are_permuted(self) -> None:
        class Bag(RealOp):
            commutative = True

            def make_node(self, *inputs: Any) -> Apply:
                return Apply(self, list(inputs), [REAL()])

        bag: Op = Bag()
        x, y, z = real("x"), real("y"), real("z")
        rule = PatternRewriter((bag, "a", 0, (neg, "b")), (sub, "a", "b"))
        self.assertEqual(rewritten(rule, [x, y], bag(neg(y), x, const(0))), (1, ["Sub"]))
        wide = PatternRewriter((bag, 0, "b", "c", "d", "e", "f", "g"), "b")
        self.assertEqual(rewritten(wide, [x, y, z], bag(x, y, z, x, y, z, const(0)))[0], 0)
        self.assertEqual(rewritten(wide, [x, y, z], bag(const(0), x, y, z, x, y, z))[0], 1)


if __name__ == "__main__":
    unittest.main()
