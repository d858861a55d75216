"""Databases of walks, proxies and groups; positions, cut-offs and rewriters that a query brings along."""

from __future__ import annotations

import unittest
from typing import Any

from arithmetic import exp, graph, log, neg, neg_of_neg, real

from theano_optimize import (
    DatabaseError,
    EquilibriumDatabase,
    FunctionGraphRewriter,
    GroupDatabase,
    MergeRewriter,
    PatternRewriter,
    ProxyDatabase,
    RewriteQuery,
    RewriterGroup,
    SequenceDatabase,
    WalkDatabase,
    WalkRewriter,
)

exp_to_log = PatternRewriter((exp, "x"), (log, "x"), name="exp_to_log")
log_to_neg = PatternRewriter((log, "x"), (neg, "x"), name="log_to_neg")


def group_of_rules(**options: Any) -> GroupDatabase:
    group = GroupDatabase("rules", **options)
    group.register("exp_to_log", exp_to_log, "fast_run")
    group.register("log_to_neg", log_to_neg, "fast_run", "late")
    return group


class TestSequences(unittest.TestCase):
    def setUp(self) -> None:
        self.db = SequenceDatabase("db")
        for name, position in (("late", 10.0), ("early", 0.5), ("middle", 5.0)):
            self.db.register(name, MergeRewriter(), "fast_run", position=position)

    def test_positions(self) -> None:
        self.assertEqual(self.db.positions, {"early": 0.5, "middle": 5.0, "late": 10.0})
        self.assertEqual(self.db.__position__, self.db.positions)

    def test_cut_off(self) -> None:
        self.assertEqual(self.db.query("fast_run", position_cutoff=5).labels, ("early",))
        query = RewriteQuery(["fast_run"], position_cutoff=10)
        self.assertEqual(self.db.query(query).labels, ("early", "middle"))
        self.assertEqual(self.db.query(query, position_cutoff=1).labels, ("early",))
        self.assertEqual(self.db.query(query, position_cutoff=99).labels, ("early", "middle"))

    def test_a_query_gives_the_name(self) -> None:
        self.assertEqual(self.db.query(RewriteQuery(["fast_run"], name="OPT_FAST_RUN")).name, "OPT_FAST_RUN")
        self.assertEqual(self.db.query("fast_run").name, "db")
        self.assertIsNone(RewriteQuery(["fast_run"], name="OPT_FAST_RUN").including("more").name)

    def test_a_query_brings_rewriters_along(self) -> None:
        extra = FunctionGraphRewriter(lambda fgraph: None, "extra")
        query = RewriteQuery(["fast_run"]).register((extra, 5.0), (extra, 20.0))
        self.assertEqual(self.db.query(query).labels, ("early", "middle", "extra", "late", "extra"))
        self.assertEqual(self.db.query(query.excluding("middle")).labels, ("early", "extra", "late", "extra"))
        self.assertEqual(self.db.query(query.up_to(20)).labels, ("early", "middle", "extra", "late"))
        self.assertEqual(self.db.query("fast_run").labels, ("early", "middle", "late"))

    def test_positions_are_those_of_the_outer_sequence(self) -> None:
        inner = SequenceDatabase("inner")
        inner.register("far", MergeRewriter(), "fast_run", position=100.0)
        self.db.register("inner", inner, "fast_run", position=1.0)
        extra = FunctionGraphRewriter(lambda fgraph: None, "extra")
        result = self.db.query(RewriteQuery(["fast_run"]).register((extra, 2.0)).up_to(5))
        self.assertEqual(result.labels, ("early", "inner", "extra"))
        nested: Any = result.rewriters[1]
        self.assertEqual(nested.labels, ("far",))


class TestWalks(unittest.TestCase):
    def test_a_walk_over_a_group_is_a_step_of_a_sequence(self) -> None:
        db = SequenceDatabase("db")
        walk = WalkDatabase(group_of_rules(), "out_to_in", visit_new=False)
        db.register("walk", walk, "fast_run", position=1)
        (built,) = db.query("fast_run").rewriters
        self.assertIsInstance(built, WalkRewriter)
        assert isinstance(built, WalkRewriter)
        self.assertEqual((built.order, built.visit_new, built.name), ("out_to_in", False, "rules"))
        x = real("x")
        fgraph = graph([x], exp(log(x)))
        db.query("fast_run").rewrite(fgraph)
        self.assertEqual(str(fgraph), "[Log(Neg(x))]")
        fgraph = graph([x], exp(neg(x)))
        db.query("fast_run", "-exp_to_log").rewrite(fgraph)
        self.assertEqual(str(fgraph), "[Exp(Neg(x))]")

    def test_it_shows_the_group(self) -> None:
        group = group_of_rules()
        walk = WalkDatabase(group, name="walk")
        before = walk.query("fast_run")
        walk.register("neg_of_neg", neg_of_neg, "fast_run")
        self.assertIn("neg_of_neg", group)
        self.assertIsNot(walk.query("fast_run"), before)
        group.remove("neg_of_neg")
        self.assertEqual(walk.names(), {"exp_to_log", "log_to_neg"})
        self.assertEqual(walk.summary_lines()[0], "walk: WalkDatabase")
        self.assertEqual(len(walk.summary_lines()), 3)
        with self.assertRaisesRegex(DatabaseError, "rewrites whole graphs"):
            walk.register("merge", MergeRewriter(), "fast_run")

    def test_a_wrong_order(self) -> None:
        with self.assertRaisesRegex(ValueError, "the order of a walk is 'sideways'"):
            WalkDatabase(group_of_rules(), "sideways").query("fast_run")  # type: ignore[arg-type]


class TestProxies(unittest.TestCase):
    def test_the_same_rules_twice_under_other_tags(self) -> None:
        rules = EquilibriumDatabase("rules")
        rules.register("exp_to_log", exp_to_log, "fast_run")
        db = SequenceDatabase("db")
        db.register("first", rules, "fast_run", position=1)
        db.register("second", ProxyDatabase(rules), "fast_run", "again", position=2)
        self.assertEqual(db.query("fast_run").labels, ("first", "second"))
        self.assertEqual(db.query("fast_run", "-again").labels, ("first",))
        first, second = db.query("fast_run").rewriters
        self.assertIs(first, second)
        rules.register("log_to_neg", log_to_neg, "fast_run")
        self.assertIsNot(db.query("fast_run").rewriters[1], second)


class TestGroups(unittest.TestCase):
    def test_one_or_all_rules(self) -> None:
        x = real("x")
        for options, text in (({}, "[Log(x)]"), ({"apply_all": True}, "[Neg(x)]")):
            with self.subTest(options=options):
                group = group_of_rules(**options).query("fast_run")
                self.assertIsInstance(group, RewriterGroup)
                fgraph = graph([x], exp(x))
                WalkRewriter(group).rewrite(fgraph)
                self.assertEqual(str(fgraph), text)
                fgraph.disown()


if __name__ == "__main__":
    unittest.main()
