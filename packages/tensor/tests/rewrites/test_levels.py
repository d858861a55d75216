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
#: The manual's table: each row, the names of the rewrites that do it, and the levels that have them. Its rows on
#: devices and sparse matrices belong to other packages. Rules that leave expressions open for Stabilization, which
#: needs simple expressions to recognise others, is not looked at.
TABLE: dict[str, tuple[tuple[str, ...], set[str]]] = {
    "merge": (("merge1", "merge2", "merge3"), ALL | {"o2", "o1"}),
    "constant folding": (("constant_folding",), ALL | {"o2", "o1"}),
    "shape promotion": (("local_shape_to_shape_i", "local_track_shape_i"), ALL),
    "fill cut": (("local_fill_cut", "local_fill_sink"), ALL),
    "inc_subtensor srlz.": (("local_IncSubtensor_serialize",), ALL),
    "reshape_chain": (("local_reshape_chain",), ALL),
    "const. elimination": (("local_mul_zero", "local_mul_specialize"), ALL),
    "add canonical.": (("local_add_canonizer",), ALL),
    "mul canonical.": (("local_mul_canonizer",), ALL),
    "dot22": (("local_dot_to_dot22",), ALL),
    "sum_scalar_mul": (("local_sum_mul_by_scalar",), ALL),
    "neg_neg": (("local_neg_neg",), ALL),
    "neg_div_neg": (("local_neg_div_neg",), ALL),
    "add specialize": (("local_add_specialize",), ALL),
    "mul specialize": (("local_mul_specialize", "local_mul_to_sqr"), ALL),
    "pow specialize": (("local_pow_specialize",), ALL),
    "inplace_setsubtensor": (("local_inplace_setsubtensor",), {"o4"}),
    "gemm": (("gemm_optimizer",), ALL),
    "inplace_elemwise": (("inplace_elemwise_optimizer", "overwrite_elementwise"), {"o4"}),
    "inplace_random": (("random_make_inplace",), {"o4"}),
    "elemwise fusion": (("elemwise_fusion", "composite_elemwise_fusion"), ALL | {"o2"}),
    "local_log_softmax": (("local_log_softmax",), ALL | {"Stabilization"}),
    "local_remove_all_assert": (("local_remove_all_assert",), {"unsafe"}),
}
#: Other documented names of the same rewrites, by which modes include and exclude them.
ALSO: dict[str, set[str]] = {
    "merge": ALL | {"o2", "o1"},
    "reshape_chain": ALL,
    "dot22": ALL,
    "gemm": ALL,
    "sum_scalar_mul": ALL,
    "neg_neg": ALL,
    "neg_div_neg": ALL,
    "inplace_setsubtensor": {"o4"},
    "inplace_elemwise": {"o4"},
    "inplace_random": {"o4"},
    "local_log_softmax": ALL | {"Stabilization"},
}


def names_in(database: RewriteDatabase[Any], query: RewriteQuery) -> set[str]:
    """Return the names of a query's rules, others included."""
    results: set[str] = set()
    for entry, _ in database.selected(query):
        results |= {entry.name} | entry.aliases
        if isinstance(entry.item, RewriteDatabase):
            results |= names_in(entry.item, query.for_database(entry.name))
    return results


def summary(level: str) -> set[str]:
    """Return the names in front of the lines of `print_summary`, and those in brackets at their ends."""
    text = io.StringIO()
    optdb.query(predefined_optimizers[level]).print_summary(text)
    lines = text.getvalue().splitlines()[1:]
    results = {line.split(":")[0].split("(")[0].split("[")[0].strip() for line in lines}
    return results | {name for line in lines if "[" in line for name in line.split("[")[1].rstrip("]").split(", ")}


PROGRAM = """
import theano_tensor
from theano_linker_c import get_default_mode
from theano_testing.optimize import rules_of
rules = {rule.name for rule in rules_of(get_default_mode().optimizer)}
print("log_of_one_plus" in rules, "assert_left_out" in rules)
"""


class TestLevels(unittest.TestCase):
    def test_the_table_of_the_manual_is_what_summaries_show(self) -> None:
        shown = {level: summary(level) for level in LEVELS}
        for row, (rewrites, expected) in TABLE.items():
            for rewrite in rewrites:
                with self.subTest(row=row, rewrite=rewrite):
                    self.compare({level for level in LEVELS if rewrite in shown[level]}, expected)

    def test_other_names(self) -> None:
        names = {level: names_in(optdb, predefined_optimizers[level]) for level in LEVELS}
        for rewrite, expected in ALSO.items():
            with self.subTest(rewrite=rewrite):
                self.compare({level for level in LEVELS if rewrite in names[level]}, expected)

    def compare(self, result: set[str], expected: set[str]) -> None:
        self.assertEqual(result - ({"Stabilization"} - expected), expected)

    def test_levels_are_the_modes_they_stand_for(self) -> None:
        self.assertEqual(predefined_optimizers["o4"], predefined_optimizers["fast_run"])
        self.assertEqual(predefined_optimizers["o1"], predefined_optimizers["fast_compile"])
        self.assertEqual(predefined_optimizers["stabilize"], predefined_optimizers["Stabilization"])
        self.assertEqual(predefined_optimizers[None], predefined_optimizers["None"])
        self.assertEqual(summary("None"), set())
        self.assertEqual(summary("merge"), {"merge1", "merge2", "merge3"})

    def test_documented_names_are_registered(self) -> None:
        named = {rewrite for rewrites, _ in TABLE.values() for rewrite in rewrites} | set(ALSO)
        self.assertEqual(named - optdb.names(), set())


class TestByName(unittest.TestCase):
    """A rewrite goes, and comes, by its documented name, by our name for it, and by the names of others with it."""

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
            [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True, timeout=600
        )
        self.assertEqual(run.stdout.split(), ["False", "True"])

    def test_one_name_for_several_rules(self) -> None:
        rules = {rule.name for rule in rules_of(FAST_RUN.excluding("local_add_specialize").optimizer)}
        self.assertFalse({"zero_in_sum", "zero_in_difference"} & rules)
        self.assertIn("one_in_product", rules)


class TestAsserts(unittest.TestCase):
    """Checks of users' arguments stay at every level but "unsafe"; facts known to hold are not checked."""

    def test_kept_or_left_out(self) -> None:
        x = T.dvector("x")
        checked = T.Assert("x is negative")(x, T.all(x >= 0)) * 2
        for level in (*LEVELS, "fast_run", "fast_compile", "stabilize", "merge", "None", None):
            f: Any = function([x], checked, mode=Mode("cvm", level))
            with self.subTest(level=level):
                if level == "unsafe":
                    self.assertEqual(f([-1.0]).tolist(), [-2.0])
                    continue
                with self.assertRaisesRegex(AssertionError, "x is negative"):
                    f([-1.0])

    def test_known_to_hold(self) -> None:
        x = T.dvector("x")
        checked = T.Assert()(x, T.constant(True), T.eq(x.shape[0], x.shape[0])) * 2
        for level in (*LEVELS, "merge", "None"):
            f: Any = function([x], checked, mode=Mode("cvm", level))
            saved = any("Assert" in str(node.op) for node in f.maker.fgraph.apply_nodes)
            self.assertEqual(saved, level in ("merge", "None"), level)
