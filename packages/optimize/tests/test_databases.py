from __future__ import annotations

import io
import unittest

from arithmetic import add_zero, exp, fired, graph, log, log_of_exp, mul_one, neg, neg_of_neg, ops_of, real

from theano_optimize import (
    DatabaseError,
    EquilibriumDatabase,
    EquilibriumRewriter,
    FunctionGraphRewriter,
    GroupDatabase,
    MergeRewriter,
    NodeRewriter,
    PatternRewriter,
    Phase,
    RewriteDatabase,
    RewriteInfo,
    RewriteQuery,
    RewriterGroup,
    RewriteTrace,
    SequenceDatabase,
    SequenceRewriter,
    WalkRewriter,
    constant_folding,
)


def names_in(rewriter: SequenceRewriter | EquilibriumRewriter | RewriterGroup) -> list[str]:
    """Return the names of the parts of a rewriter."""
    if isinstance(rewriter, EquilibriumRewriter):
        return [r.name for r in rewriter.node_rewriters]
    return [r.name for r in rewriter.rewriters]


class TestRewriteQuery(unittest.TestCase):
    def test_any_all_and_none(self) -> None:
        query = RewriteQuery(["a", "b"], require=["c"], exclude=["d"])
        for tags, expected in (("ac", True), ("bc", True), ("abc", True), ("c", False), ("a", False), ("acd", False)):
            with self.subTest(tags=tags):
                self.assertEqual(query.selects(set(tags)), expected)

    def test_nothing_is_included_by_default(self) -> None:
        self.assertFalse(RewriteQuery([]).selects({"a"}))
        self.assertFalse(RewriteQuery(None, None, None).selects({"a"}))

    def test_refinements_leave_the_original(self) -> None:
        query = RewriteQuery(["a"], subquery={"inner": RewriteQuery(["z"])}, position_cutoff=3)
        refined = query.including("b").requiring("c").excluding("d").up_to(2)
        self.assertEqual(
            (refined.include, refined.require, refined.exclude, refined.position_cutoff), ({"a", "b"}, {"c"}, {"d"}, 2)
        )
        self.assertEqual(refined.subquery, {"inner": RewriteQuery(["z"])})
        self.assertEqual(query, RewriteQuery("a", subquery={"inner": RewriteQuery("z")}, position_cutoff=3))

    def test_queries_are_values(self) -> None:
        self.assertEqual(len({RewriteQuery(["a", "b"]), RewriteQuery(["b", "a"]), RewriteQuery(["a"])}), 2)


class TestRegistration(unittest.TestCase):
    def test_a_name_is_taken_once(self) -> None:
        db = EquilibriumDatabase("canon")
        db.register("neg_of_neg", neg_of_neg)
        with self.assertRaisesRegex(DatabaseError, "(?s)^The name 'neg_of_neg' is taken in database canon.*Hint"):
            db.register("neg_of_neg", neg_of_neg)

    def test_what_has_no_place(self) -> None:
        sequence, group = SequenceDatabase("seq"), GroupDatabase("grp")
        with self.assertRaisesRegex(DatabaseError, "(?s)'r' rewrites single nodes.*sequence seq.*WalkRewriter"):
            sequence.register("r", neg_of_neg)
        with self.assertRaisesRegex(DatabaseError, "rewrites single nodes"):
            sequence.register("g", group)
        with self.assertRaisesRegex(DatabaseError, "(?s)'m' rewrites whole graphs.*group grp"):
            group.register("m", MergeRewriter())
        with self.assertRaisesRegex(DatabaseError, "is no rewriter"):
            EquilibriumDatabase().register("x", 3)  # type: ignore[arg-type]
        with self.assertRaisesRegex(TypeError, "defines no `build`"):
            RewriteDatabase().query("a")

    def test_a_rewriter_is_found_under_its_names_and_tags(self) -> None:
        rule = PatternRewriter((neg, (neg, "x")), "x", name="own_name", phase="stabilize", tags=["mine"])
        db = EquilibriumDatabase()
        db.register("registered", rule, "fast_run")
        for tag in ("registered", "own_name", "fast_run", "mine", "stabilize", "exact"):
            with self.subTest(tag=tag):
                self.assertEqual(names_in(db.query(tag)), ["own_name"])
        self.assertEqual(names_in(db.query("other")), [])
        self.assertIs(db["registered"], rule)
        self.assertIn("registered", db)
        self.assertEqual(len(db), 1)

    def test_tags_can_change(self) -> None:
        db = EquilibriumDatabase()
        db.register("neg_of_neg", neg_of_neg, "a")
        db.add_tags("neg_of_neg", "b")
        db.remove_tags("neg_of_neg", "a", "neg_of_neg")
        self.assertEqual(db.tags_of("neg_of_neg"), {"b", "neg_of_neg", "exact"})
        self.assertEqual([names_in(db.query(t)) for t in "ab"], [[], ["neg_of_neg"]])

    def test_entries_can_be_removed(self) -> None:
        db = EquilibriumDatabase("canon")
        db.register("neg_of_neg", neg_of_neg, "a")
        db.remove("neg_of_neg")
        self.assertEqual(names_in(db.query("a")), [])
        with self.assertRaisesRegex(DatabaseError, "(?s)canon has no entry called 'neg_of_neg'.*choose among none"):
            db.remove("neg_of_neg")

    def test_names_include_those_inside(self) -> None:
        inner = EquilibriumDatabase("canon")
        inner.register("neg_of_neg", neg_of_neg)
        group = GroupDatabase("grp")
        group.register("log_of_exp", log_of_exp)
        inner.register("grp", group)
        outer = SequenceDatabase()
        outer.register("canonicalize", inner, position=1)
        self.assertEqual(outer.names(), {"canonicalize", "neg_of_neg", "grp", "log_of_exp"})


class TestSequenceDatabase(unittest.TestCase):
    def setUp(self) -> None:
        self.db = SequenceDatabase("optdb")
        for name, position in (
            ("last", Phase.FINAL_MERGE),
            ("inplace", 75),
            ("merge", Phase.MERGE),
            ("special", 2.0),
            ("special_too", 2),
        ):
            self.db.register(name, FunctionGraphRewriter(lambda fgraph: None, name), "fast_run", position=position)

    def test_positions_order_the_parts(self) -> None:
        expected = ["merge", "special", "special_too", "inplace", "last"]
        self.assertEqual(names_in(self.db.query("fast_run")), expected)
        self.assertEqual(list(self.db), expected)

    def test_the_historical_place_of_the_position(self) -> None:
        self.db.register("simplify", FunctionGraphRewriter(lambda fgraph: None, "simplify"), 0.5, "fast_run")
        self.assertEqual(names_in(self.db.query("fast_run"))[:2], ["merge", "simplify"])

    def test_a_rewriter_may_know_its_phase(self) -> None:
        info = RewriteInfo("fuse", Phase.FUSE)
        self.db.register("fuse", FunctionGraphRewriter(lambda fgraph: None, info=info), "fast_run")
        self.assertEqual(names_in(self.db.query("fast_run"))[-3:], ["fuse", "inplace", "last"])

    def test_parts_go_by_their_registered_names(self) -> None:
        db = SequenceDatabase("db")
        for name in ("merge1", "merge2"):
            db.register(name, MergeRewriter(), "fast_run")
        x = real("x")
        trace = RewriteTrace()
        rewriter = db.query("fast_run")
        profile = rewriter.rewrite(graph([x], exp(x), exp(x)), trace=trace)
        self.assertEqual([part.name for part in profile.parts], ["merge1", "merge2"])
        self.assertEqual(trace.events[0].path, ("db", "merge1"))
        self.assertEqual(rewriter.summary_lines(), ["db", "  merge1: merge", "  merge2: merge"])

    def test_a_cut_off(self) -> None:
        self.assertEqual(names_in(self.db.query(RewriteQuery(["fast_run"], position_cutoff=2))), ["merge"])

    def test_excluding_by_name_and_tag(self) -> None:
        self.db.add_tags("inplace", "slow")
        self.assertEqual(names_in(self.db.query("fast_run", "-slow", "-special")), ["merge", "special_too", "last"])
        self.assertEqual(names_in(self.db.query("fast_run", "&slow")), ["inplace"])

    def test_wrong_queries(self) -> None:
        for bad in (("",), (3,), (RewriteQuery(["a"]), "b")):
            with self.subTest(bad=str(bad)), self.assertRaisesRegex(DatabaseError, "is no tag"):
                self.db.query(*bad)

    def test_the_phases_have_the_documented_positions(self) -> None:
        positions = {phase.name: phase.position for phase in Phase}
        self.assertEqual(
            positions,
            {
                "MERGE": 0,
                "CANONICALIZE": 1,
                "STABILIZE": 1.5,
                "BLAS": 1.7,
                "SPECIALIZE": 2,
                "UNCANONICALIZE": 3,
                "FUSE": 49,
                "ADD_DESTROY": 49.5,
                "INPLACE": 75,
                "FINAL_MERGE": 100,
            },
        )


class TestDatabasesInside(unittest.TestCase):
    def setUp(self) -> None:
        self.canon = EquilibriumDatabase("canonicalize")
        self.canon.register("neg_of_neg", neg_of_neg, "fast_run", "fast_compile")
        self.canon.register("log_of_exp", log_of_exp, "fast_run")
        self.optdb = SequenceDatabase("optdb")
        self.optdb.register("canonicalize", self.canon, "fast_run", "fast_compile", position=Phase.CANONICALIZE)
        self.optdb.register("merge", MergeRewriter(), "fast_run", position=Phase.MERGE)

    def rules(self, query: SequenceRewriter) -> list[str]:
        return [name for part in query.rewriters if isinstance(part, EquilibriumRewriter) for name in names_in(part)]

    def test_the_query_is_passed_on(self) -> None:
        self.assertEqual(self.rules(self.optdb.query("fast_run")), ["neg_of_neg", "log_of_exp"])
        self.assertEqual(self.rules(self.optdb.query("fast_compile")), ["neg_of_neg"])
        self.assertEqual(self.rules(self.optdb.query("fast_run", "-neg_of_neg")), ["log_of_exp"])

    def test_a_database_can_be_left_out_as_a_whole(self) -> None:
        self.assertEqual(names_in(self.optdb.query("fast_run", "-canonicalize")), ["merge"])

    def test_a_query_of_its_own(self) -> None:
        private = RewriteQuery(["log_of_exp"])
        self.assertEqual(
            self.rules(self.optdb.query(RewriteQuery(["fast_run"], subquery={"canonicalize": private}))), ["log_of_exp"]
        )
        self.assertEqual(self.rules(self.optdb.query("fast_run", subquery={"canonicalize": private})), ["log_of_exp"])

    def test_the_same_query_gives_the_same_object_until_something_is_registered(self) -> None:
        first = self.optdb.query("fast_run")
        self.assertIs(self.optdb.query(RewriteQuery(["fast_run"])), first)
        self.canon.register("add_zero", add_zero, "fast_run")
        self.assertEqual(self.rules(self.optdb.query("fast_run")), ["neg_of_neg", "log_of_exp", "add_zero"])
        self.assertEqual(self.rules(first), ["neg_of_neg", "log_of_exp"])

    def test_priority_goes_before_registration(self) -> None:
        self.canon.register("urgent", mul_one, "fast_run", position=-1)
        self.assertEqual(self.rules(self.optdb.query("fast_run")), ["mul_one", "neg_of_neg", "log_of_exp"])

    def test_it_works_on_a_graph(self) -> None:
        x = real("x")
        fgraph = graph([x], log(exp(neg(neg(x)))))
        profile = self.optdb.query("fast_run").rewrite(fgraph)
        self.assertEqual((fgraph.outputs, fired(profile)), ([x], {"log_of_exp": 1, "neg_of_neg": 1}))

    def test_a_group_inside_an_equilibrium(self) -> None:
        group = GroupDatabase("group")
        group.register("to_log", PatternRewriter((exp, "x"), (log, "x"), name="to_log"), "fast_run")
        group.register("to_neg", PatternRewriter((exp, "x"), (neg, "x"), name="to_neg"), "fast_run")
        self.canon.register("group", group, "fast_run")
        x = real("x")
        fgraph = graph([x], exp(x))
        self.optdb.query("fast_run").rewrite(fgraph)
        self.assertEqual(ops_of(fgraph), ["Log"])
        fgraph = graph([x], exp(x))
        self.optdb.query("fast_run", "-to_log").rewrite(fgraph)
        self.assertEqual(ops_of(fgraph), ["Neg"])

    def test_graph_rewriters_in_an_equilibrium_have_a_role(self) -> None:
        self.canon.register("merge", MergeRewriter(), "fast_run")
        self.canon.register("last", FunctionGraphRewriter(lambda fgraph: None, "last"), "fast_run", role="final")
        built = self.canon.query("fast_run")
        self.assertEqual(([r.name for r in built.cleanup], [r.name for r in built.final]), (["merge"], ["last"]))


class TestExactness(unittest.TestCase):
    def test_fast_rules_run_only_when_asked_for(self) -> None:
        rough = PatternRewriter((exp, "x"), (neg, "x"), name="rough", exactness="fast")
        stable = PatternRewriter((log, "x"), (neg, "x"), name="stable", exactness="stabilizing")
        db = EquilibriumDatabase()
        db.register("rough", rough, "fast_run")
        db.register("stable", stable, "fast_run")
        self.assertEqual(names_in(db.query("fast_run")), ["stable"])
        self.assertEqual(names_in(db.query("fast_run", "fast")), ["rough", "stable"])
        self.assertEqual(names_in(db.query("fast_run", "rough")), ["rough", "stable"])

    def test_unknown_words_are_refused(self) -> None:
        with self.assertRaisesRegex(ValueError, "sloppy"):
            PatternRewriter((exp, "x"), "x", exactness="sloppy")
        with self.assertRaises(KeyError):
            PatternRewriter((exp, "x"), "x", phase="nowhere")


class TestSummary(unittest.TestCase):
    def test_positions_names_and_tags(self) -> None:
        canon = EquilibriumDatabase("canonicalize")
        canon.register("constant_folding", constant_folding, "fast_compile")
        db = SequenceDatabase("optdb")
        db.register("canonicalize", canon, "fast_run", position=Phase.CANONICALIZE)
        db.register("clean", WalkRewriter(neg_of_neg, name="clean"), "fast_run", position=1.5)
        text = io.StringIO()
        db.print_summary(text)
        self.assertEqual(
            text.getvalue().splitlines(),
            [
                "optdb: SequenceDatabase",
                "  1 canonicalize [fast_run]",
                "    0 constant_folding [canonicalize, exact, fast_compile]",
                "  1.5 clean [exact, fast_run]",
            ],
        )

    def test_rules_are_node_rewriters(self) -> None:
        self.assertIsInstance(constant_folding, NodeRewriter)
        self.assertEqual(constant_folding.info.phase, Phase.CANONICALIZE)


if __name__ == "__main__":
    unittest.main()
