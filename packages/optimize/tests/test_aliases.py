from __future__ import annotations

import unittest

from theano_optimize import EquilibriumDatabase, NodeRewriter, RewriteQuery, SequenceDatabase, constant_folding


class TestOtherNames(unittest.TestCase):
    """Entries have other names, which several may share."""

    def setUp(self) -> None:
        self.database = EquilibriumDatabase("canonicalize")
        self.database.register("first", constant_folding, "fast_run", aliases=("documented",))
        self.database.register("second", NodeRewriter("other"), "fast_run", aliases=("documented", "more"))

    def test_names_lists_them_also_from_outside(self) -> None:
        outer = SequenceDatabase("all")
        outer.register("canonicalize", self.database, "fast_run", position=1)
        self.assertEqual(outer.names(), {"canonicalize", "first", "second", "documented", "more"})

    def test_queries_select_and_exclude_by_them(self) -> None:
        names = {entry.name for entry, _ in self.database.selected(RewriteQuery(["documented"]))}
        self.assertEqual(names, {"first", "second"})
        others = self.database.selected(RewriteQuery(["fast_run"], exclude=["more"]))
        self.assertEqual([entry.name for entry, _ in others], ["first"])
        self.assertEqual(self.database.selected(RewriteQuery(["fast_run"], exclude=["documented"])), [])

    def test_the_summary_shows_them(self) -> None:
        (line,) = [line for line in self.database.summary_lines() if " second " in line]
        self.assertIn("documented", line)
