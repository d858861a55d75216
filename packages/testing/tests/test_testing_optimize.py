"""The checks for rule authors, on a language of integers: only the graph and the rewriting layer are needed."""

from __future__ import annotations

import random
import unittest
from collections.abc import Sequence
from typing import Any

from theano_graph import Apply, FunctionGraph, Op, Variable
from theano_optimize import (
    EquilibriumDatabase,
    MergeRewriter,
    PatternRewriter,
    RewriterGroup,
    SequenceDatabase,
    SequenceRewriter,
    WalkRewriter,
)
from theano_testing.graph import MODULUS, toy
from theano_testing.optimize import (
    apply_rewrite,
    check_commute,
    check_fires,
    check_rewrite,
    check_values,
    rules_of,
    run_by_interpreter,
    shuffled_results,
)


class Integers(Op):
    """A function of integers."""

    __props__ = ("name",)

    def __init__(self, name: str, function: Any) -> None:
        self.name = name
        self.function = function

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, [toy.filter_variable(x) for x in inputs], [toy()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        output_storage[0][0] = self.function(*inputs) % MODULUS


neg = Integers("neg", lambda x: -x)
double = Integers("double", lambda x: 2 * x)
add = Integers("add", lambda x, y: x + y)

neg_neg = PatternRewriter((neg, (neg, "x")), "x", name="neg_neg")
add_self = PatternRewriter((add, "x", "x"), (double, "x"), name="add_self")
wrong = PatternRewriter((double, "x"), "x", name="wrong")
add_neg = PatternRewriter((add, "x", (neg, "x")), 0, name="add_neg")
to_double = PatternRewriter((neg, (double, "x")), (double, (neg, "x")), name="to_double")


def draw(variable: Variable, rng: random.Random) -> int:
    return rng.randrange(MODULUS)


def database() -> SequenceDatabase:
    rules = EquilibriumDatabase("rules")
    for rule in (neg_neg, add_self):
        rules.register(rule.name, rule, "fast")
    rules.register("merge_again", MergeRewriter(), "fast")
    db = SequenceDatabase("pipeline")
    db.register("merge", MergeRewriter(), "fast", position=0)
    db.register("rules", rules, "fast", position=1)
    return db


class TestRules(unittest.TestCase):
    def test_all_parts_are_found(self) -> None:
        group = RewriterGroup([neg_neg, add_self], "group")
        full = SequenceRewriter([WalkRewriter(group), database().query("fast"), MergeRewriter()])
        self.assertEqual([rule.name for rule in rules_of(full)], ["neg_neg", "add_self"] * 2)
        self.assertEqual(list(rules_of(neg_neg)), [neg_neg])


class TestFiring(unittest.TestCase):
    def setUp(self) -> None:
        self.x, self.y = toy("x"), toy("y")

    def test_a_rule_that_needs_the_others(self) -> None:
        x = self.x
        (event,) = check_fires(add_self, database().query("fast"), [x], [add(neg(neg(x)), x)])
        self.assertEqual((event.rewriter, event.path), ("add_self", ("pipeline", "rules")))
        self.assertEqual(event.after, "double(x)")
        self.assertEqual(len(check_fires("neg_neg", database().query("fast"), [x], [add(neg(neg(x)), x)])), 1)

    def test_reasons_for_not_firing(self) -> None:
        x, y = self.x, self.y
        pipeline = database().query("fast")
        for rule, output, reason in (
            (add_neg, add(x, neg(x)), "it is not part of the pipeline: register it"),
            (add_self, add(x, y), "it was asked [1-9]+ times and never answered"),
            (add_self, neg(neg(x)), "part of the pipeline, but no node with an op that it tracks"),
        ):
            with self.subTest(reason=reason), self.assertRaisesRegex(AssertionError, f"(?s)did not fire.*{reason}"):
                check_fires(rule, pipeline, [x, y], [output])
        with self.assertRaisesRegex(
            AssertionError, r"fired: 1 x neg_neg\n  before: \[neg\(neg\(x\)\)\]\n  after: \[x\]"
        ):
            check_fires(add_self, pipeline, [x], [neg(neg(x))])

    def test_the_users_graph_stays(self) -> None:
        y = neg(neg(self.x))
        check_fires(neg_neg, database().query("fast"), [self.x], [y])
        apply_rewrite(neg_neg, [self.x], [y])
        self.assertEqual(str(y.owner.inputs[0]), "neg.0")


class TestValues(unittest.TestCase):
    def setUp(self) -> None:
        self.x = toy("x")

    def test_right_rules(self) -> None:
        result = check_values(add_self, [self.x], [neg(add(self.x, self.x))], draw)
        self.assertEqual(result.ops(), ["double", "neg"])
        check_values(database().query("fast"), [self.x], [neg(neg(add(self.x, self.x)))], draw, trials=3)

    def test_a_wrong_rule(self) -> None:
        with self.assertRaisesRegex(
            AssertionError,
            r"(?s)wrong \(seed 5\) changed a value.*before: \[double\(x\)\].*inputs: \[\d+\].*after: \d+",
        ):
            check_values(wrong, [self.x], [double(self.x)], draw, seed=5)

    def test_a_rule_that_does_not_fire(self) -> None:
        with self.assertRaisesRegex(AssertionError, "wrong did not fire on"):
            check_values(wrong, [self.x], [neg(self.x)], draw)

    def test_seeds_draw_the_same(self) -> None:
        seen: list[Any] = []

        def note(variable: Variable, rng: random.Random) -> int:
            seen.append(draw(variable, rng))
            return int(seen[-1])

        for _ in range(2):
            check_values(add_self, [self.x], [add(self.x, self.x)], note, trials=4, seed=3)
        self.assertEqual(seen[:4], seen[4:])
        self.assertEqual(len(set(seen)), 4)

    def test_an_evaluator_and_a_comparison_of_ones_own(self) -> None:
        graphs: list[str] = []

        def evaluate(fgraph: FunctionGraph, values: Sequence[Any]) -> list[Any]:
            graphs.append(str(fgraph))
            return run_by_interpreter(fgraph, values)

        output = [double(self.x)]
        check_values(wrong, [self.x], output, draw, trials=1, evaluate=evaluate, same=lambda a, b: True)
        self.assertEqual(graphs, ["[double(x)]", "[x]"])
        with self.assertRaisesRegex(AssertionError, "wrong changed a value"):
            check_rewrite(wrong, [self.x], output, [[3]], evaluate=evaluate)


class TestOrders(unittest.TestCase):
    def setUp(self) -> None:
        self.x, self.y = toy("x"), toy("y")

    def test_rules_that_commute(self) -> None:
        output = add(neg(neg(self.x)), self.x)
        result = check_commute([neg_neg, add_self], [self.x], [output])
        self.assertEqual(str(result), "[double(x)]")
        phase = database().query("fast").rewriters[1]
        self.assertEqual(str(check_commute(phase, [self.x], [output], shuffles=2)), "[double(x)]")  # type: ignore[arg-type]

    def test_rules_that_do_not(self) -> None:
        rival = PatternRewriter((neg, (double, "x")), "x", name="rival")
        message = r"(?s)the order of rules matters\n  to_double , rival\n    gives \[double\(neg\(x\)\)\].*gives \[x\]"
        with self.assertRaisesRegex(AssertionError, message):
            check_commute([to_double, rival], [self.x], [neg(double(self.x))])

    def test_rules_that_do_not_end(self) -> None:
        back = PatternRewriter((double, (neg, "x")), (neg, (double, "x")), name="back")
        with self.assertRaisesRegex(AssertionError, "(?s)do not come to an end.*`back`"):
            check_commute([to_double, back], [self.x], [neg(double(self.x))])

    def test_the_number_of_orders(self) -> None:
        results = shuffled_results([neg_neg, add_self, wrong], [self.x], [neg(self.x)], shuffles=20, seed=1)
        self.assertEqual(len(results), 21)
        self.assertEqual(results[0].order, ("neg_neg", "add_self", "wrong"))
        self.assertGreater(len({result.order for result in results}), 3)


if __name__ == "__main__":
    unittest.main()
