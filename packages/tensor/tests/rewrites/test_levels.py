"""Which rewrites the levels o1 to o4, Stabilization and unsafe have, and how modes and flags change that."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import unittest
from typing import Any

import theano_tensor as T
from theano_linker_c import FAST_RUN, Mode, function
from theano_linker_c.modes import optdb, predefined_optimizers
from theano_optimize import RewriteDatabase, RewriteQuery
from theano_testing.optimize import rules_of

LEVELS = ("o4", "o3", "o2", "o1", "Stabilization", "unsafe")
ALL = {"o4", "o3", "unsafe"}
#: The manual's table, by the names of the rewrites that do it. What it leaves open for Stabilization, which needs
#: simple expressions to recognise others, is not looked at.
TABLE: dict[str, set[str]] = {
    "merge": ALL | {"o2", "o1"},
    "constant_folding": ALL | {"o2", "o1"},
    "local_track_shape_i": ALL,
    "local_fill_cut": ALL,
    "local_fill_sink": ALL,
    "local_IncSubtensor_serialize": ALL,
    "local_reshape_chain": ALL,
    "reshape_chain": ALL,
    "local_mul_zero": ALL,
    "local_add_canonizer": ALL,
    "local_mul_canonizer": ALL,
    "local_sum_mul_by_scalar": ALL,
    "sum_scalar_mul": ALL,
    "local_neg_neg": ALL,
    "neg_neg": ALL,
    "local_neg_div_neg": ALL,
    "neg_div_neg": ALL,
    "local_add_specialize": ALL,
    "local_mul_specialize": ALL,
    "local_pow_specialize": ALL,
    "inplace_elemwise": {"o4"},
    "elemwise_fusion": ALL | {"o2"},
    "local_log_softmax": ALL | {"Stabilization"},
    "local_remove_all_assert": {"unsafe"},
}


def names_in(database: RewriteDatabase[Any], query: RewriteQuery) -> set[str]:
    """Return the names, others included, of what a query selects."""
    found: set[str] = set()
    for entry, _ in database.selected(query):
        found |= {entry.name} | entry.aliases
        if isinstance(entry.item, RewriteDatabase):
            found |= names_in(entry.item, query.for_database(entry.name))
    return found


PROGRAM = """
import theano_tensor
from theano_linker_c import get_default_mode
from theano_testing.optimize import rules_of
rules = {rule.name for rule in rules_of(get_default_mode().optimizer)}
print("log_of_one_plus" in rules, "assert_left_out" in rules)
"""


class TestLevels(unittest.TestCase):
    def test_the_table_of_the_manual(self) -> None:
        names = {level: names_in(optdb, predefined_optimizers[level]) for level in LEVELS}
        for rewrite, wanted in TABLE.items():
            with self.subTest(rewrite=rewrite):
                found = {level for level in LEVELS if rewrite in names[level]}
                if "Stabilization" not in wanted:
                    found.discard("Stabilization")
                self.assertEqual(found, wanted)

    def test_summaries_show_what_is_selected(self) -> None:
        for level in LEVELS[:-2]:
            text = io.StringIO()
            optdb.query(predefined_optimizers[level]).print_summary(text)
            shown = text.getvalue()
            for rewrite in ("local_mul_canonizer", "local_neg_neg", "local_fill_sink", "local_reshape_chain"):
                self.assertEqual(f"{rewrite}: " in shown, level in ("o3", "o4"), f"{rewrite} in {level}")
            self.assertIn("constant_folding", shown)
            self.assertEqual("composite_elemwise_fusion" in shown, level != "o1")

    def test_documented_names_are_registered(self) -> None:
        self.assertEqual(set(TABLE) - optdb.names(), set())


class TestByName(unittest.TestCase):
    """A rewrite goes, and comes, by its documented name, by what we call it, and by the names of others with it."""

    def ops(self, mode: Mode) -> str:
        x = T.dvector("x")
        f: Any = function([x], T.log(1 + T.sqr(x)), mode=mode)
        return " ".join(str(node.op) for node in f.maker.fgraph.toposort())

    def test_excluded_by_a_mode(self) -> None:
        self.assertIn("log1p", self.ops(FAST_RUN))
        for name in ("local_log1p", "log_of_one_plus"):
            self.assertNotIn("log1p", self.ops(FAST_RUN.excluding(name)))
        self.assertNotIn("log1p", self.ops(Mode("cvm", "fast_compile").excluding("local_log1p")))

    def test_included_by_a_mode(self) -> None:
        self.assertNotIn("log1p", self.ops(Mode("cvm", "merge")))
        rules = {rule.name for rule in rules_of(FAST_RUN.including("local_remove_all_assert").optimizer)}
        self.assertIn("assert_left_out", rules)
        self.assertNotIn("assert_left_out", {rule.name for rule in rules_of(FAST_RUN.optimizer)})

    def test_by_flags(self) -> None:
        flags = "optimizer_excluding=local_log1p,optimizer_including=local_remove_all_assert"
        environment = {**os.environ, "THEANO_FLAGS": flags}
        run = subprocess.run(
            [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True, timeout=120
        )
        self.assertEqual(run.stdout.split(), ["False", "True"])

    def test_one_name_for_several_rules(self) -> None:
        rules = {rule.name for rule in rules_of(FAST_RUN.excluding("local_add_specialize").optimizer)}
        self.assertFalse({"zero_in_sum", "zero_in_difference"} & rules)
        self.assertIn("one_in_product", rules)
