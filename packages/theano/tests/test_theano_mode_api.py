"""Modes: names of optimizers, tags, flags, optimizers that a mode brings along, profiles of rewriting."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import unittest
import uuid
from contextlib import redirect_stdout
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano import gof
from theano.compile import mode as modes, optdb, predefined_optimizers
from theano_optimize import RewriteProfile, profile_report
from theano_testing.tiers import slow

LEVELS = ("merge", "fast_compile", "o1", "o2", "o3", "o4", "fast_run", "unsafe", "stabilize", "Stabilization")


def steps(name: str | None) -> set[str]:
    """Return the names of an optimizer's rewrites at the top level."""
    return set(optdb.query(predefined_optimizers[name]).labels)


def rules(name: str | None, *, without: frozenset[str] | set[str] = frozenset()) -> set[str]:
    """Return the names of all rules that an optimizer applies to nodes, but for steps `without` at the top level."""
    results: set[str] = set()
    sequence = optdb.query(predefined_optimizers[name])
    for label, part in zip(sequence.labels, sequence.rewriters, strict=True):
        if label not in without:
            results.update(rule.name for rule in getattr(part, "node_rewriters", ()))
    return results


ANNOUNCED = """
import io, sys
import theano
from theano.compile import optdb, predefined_optimizers
from theano.gof import Query

def shown(name):
    text = io.StringIO()
    optdb.query(predefined_optimizers[name]).print_summary(text)
    return text.getvalue().count("local_structured_dot")

def holds():
    assert {"sparse_dot", "local_structured_dot"} <= optdb.names()
    assert [shown(n) for n in ("o1", "o2", "o3", "o4", "unsafe", "stabilize")] == [0, 0, 1, 1, 1, 0]
    left_out = optdb.query(Query(include=["fast_run"], exclude=["sparse_dot"]))
    text = io.StringIO()
    left_out.print_summary(text)
    assert "local_structured_dot" not in text.getvalue()

holds()
assert "scipy" not in sys.modules and "theano_sparse" not in sys.modules
x = theano.tensor.dvector()
theano.function([x], x + 1, mode="FAST_COMPILE")
import theano.sparse
holds()
"""


class TestNames(unittest.TestCase):
    @slow
    def test_rewrites_of_sparse_matrices_are_known_before_they_are_imported(self) -> None:
        done = subprocess.run([sys.executable, "-c", ANNOUNCED], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_each_name_is_a_query_of_its_own(self) -> None:
        self.assertEqual(steps("None"), set())
        self.assertEqual(steps(None), set())
        self.assertEqual(steps("merge"), {"merge1", "merge2", "merge3"})
        self.assertEqual(predefined_optimizers["o1"], predefined_optimizers["fast_compile"])
        self.assertEqual(predefined_optimizers["o4"], predefined_optimizers["fast_run"])
        self.assertEqual(predefined_optimizers["Stabilization"], predefined_optimizers["stabilize"])

    def test_the_levels_differ_as_documented(self) -> None:
        self.assertTrue(steps("merge") < steps("o1") < steps("o2") < steps("o3") < steps("o4"))
        self.assertIn("add_destroy_handler", steps("o4") - steps("o3"))
        self.assertTrue(any("fus" in step for step in steps("o2") - steps("o1")))
        for level in ("o1", "o2", "o3", "o4", "unsafe"):
            self.assertIn("constant_folding", rules(level))
        self.assertTrue(rules("o1") < rules("o3"))
        self.assertEqual(rules("o3"), rules("o4", without=steps("o4") - steps("o3")))
        self.assertEqual(steps("unsafe"), steps("o3"))
        self.assertLessEqual(rules("o3"), rules("unsafe"))
        self.assertIn("stabilize", steps("Stabilization"))
        self.assertNotIn("specialize", steps("Stabilization"))

    def test_the_names_of_queries(self) -> None:
        for name, key in (
            ("OPT_NONE", None),
            ("OPT_MERGE", "merge"),
            ("OPT_FAST_RUN", "fast_run"),
            ("OPT_FAST_COMPILE", "fast_compile"),
            ("OPT_STABILIZE", "stabilize"),
            ("OPT_UNSAFE", "unsafe"),
            ("OPT_O2", "o2"),
            ("OPT_O3", "o3"),
        ):
            query = getattr(modes, name)
            self.assertIs(query, predefined_optimizers[key])
            self.assertEqual(query.name, name)
            self.assertEqual(optdb.query(query).name, name)

    def test_every_level_computes_the_same(self) -> None:
        x = T.dvector("x")
        for level in LEVELS:
            f = theano.function([x], T.log(1 + T.exp(x)) * 2 - x, mode=theano.Mode("py", level))
            np.testing.assert_allclose(f([0.5, -1.0]), np.log1p(np.exp([0.5, -1.0])) * 2 - [0.5, -1.0])

    def test_registering_names(self) -> None:
        name = f"demo_{uuid.uuid4().hex}"
        theano.compile.register_optimizer(name, gof.Query(["merge"]))
        self.addCleanup(predefined_optimizers.pop, name)
        self.assertEqual(theano.Mode("py", name).query, gof.Query(["merge"]))
        with self.assertRaisesRegex(ValueError, "already a optimizer"):
            theano.compile.register_optimizer(name, gof.Query(["merge"]))
        linker = theano.compile.predefined_linkers["py"]
        theano.compile.register_linker(name, linker)
        self.addCleanup(theano.compile.predefined_linkers.pop, name)
        self.assertIs(theano.Mode(name).linker, linker)
        with self.assertRaisesRegex(ValueError, "there is no optimizer called 'o5'"):
            theano.Mode("py", "o5")


class TestTags(unittest.TestCase):
    def test_chains(self) -> None:
        mode = theano.compile.get_mode("FAST_RUN").including("a", "b").excluding("inplace").requiring("c")
        query = mode.query
        assert query is not None
        self.assertEqual((query.include, query.exclude, query.require), ({"fast_run", "a", "b"}, {"inplace"}, {"c"}))
        self.assertEqual(mode.linker, theano.compile.FAST_RUN.linker)
        self.assertEqual(theano.compile.FAST_RUN.query, modes.OPT_FAST_RUN)

    def test_a_rule_can_be_left_out_by_name(self) -> None:
        x = T.dscalar("x")
        full = theano.function([x], T.exp(x) * 1, mode="FAST_RUN")
        none = theano.function([x], T.exp(x) * 1, mode=theano.Mode("py", None))
        self.assertLess(len(full.maker.fgraph.apply_nodes), len(none.maker.fgraph.apply_nodes))
        self.assertEqual(theano.Mode("py", None).optimizer.rewriters, ())  # type: ignore[attr-defined]

    def test_optimizers_brought_along(self) -> None:
        seen: list[str] = []

        @gof.optimizer
        def note(fgraph: Any) -> None:
            seen.append(str(fgraph))

        x = T.dscalar("x")
        mode = theano.compile.get_mode("FAST_RUN").register((note, 0.5), (note, 1.2))
        theano.function([x], x * 1 * 1, mode=mode)
        self.assertEqual(len(seen), 2)
        self.assertEqual(seen[1], "[x]")
        self.assertGreater(len(seen[0]), len(seen[1]))

    def test_a_mode_with_a_rewriter_of_its_own(self) -> None:
        mode = theano.Mode("py", gof.MergeOptimizer())
        with self.assertRaisesRegex(ValueError, "has a rewriter of its own, which has no tags"):
            mode.register((gof.MergeOptimizer(), 1.0))

    def test_rewrites_that_need_a_compiler(self) -> None:
        x = T.dscalar("x")
        ran: list[str] = []
        name = f"demo_{uuid.uuid4().hex}"
        optdb.register(name, gof.FromFunctionOptimizer(lambda fgraph: ran.append("ran")), 0.7, "fast_run", "cxx_only")
        self.addCleanup(optdb.remove, name)
        mode = theano.Mode("py", "fast_run")
        with theano.config.change_flags(cxx=""):
            theano.function([x], x + 1, mode=mode)
        self.assertEqual(ran, [])
        with theano.config.change_flags(cxx="g++"):
            theano.function([x], x + 1, mode=mode)
        self.assertEqual(ran, ["ran"])


class TestFlags(unittest.TestCase):
    def run_with(self, flags: str, program: str) -> str:
        environment = {**os.environ, "THEANO_FLAGS": flags}
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=600, check=True
        )
        return done.stdout.strip()

    @slow
    def test_tags_of_the_default_mode(self) -> None:
        flags = ",".join(
            f"optimizer_{kind}=first_{kind}:second_{kind}" for kind in ("including", "excluding", "requiring")
        )
        program = (
            "import theano; q = theano.compile.get_default_mode().query; "
            "print(*(sorted(tags) for tags in (q.include, q.exclude, q.require)), sep='\\n')"
        )
        lines = self.run_with(flags, program).splitlines()
        for line, kind in zip(lines, ("including", "excluding", "requiring"), strict=True):
            self.assertIn(f"'first_{kind}'", line)
            self.assertIn(f"'second_{kind}'", line)

    def test_the_optimizer(self) -> None:
        for value, name in (("None", "OPT_NONE"), ("o1", "OPT_FAST_COMPILE"), ("unsafe", "OPT_UNSAFE")):
            with theano.config.change_flags(optimizer=value):
                query = theano.compile.get_default_mode().query
            assert query is not None
            self.assertEqual(query.name, name)

    def test_each_rewrite_can_be_printed(self) -> None:
        x = T.dscalar("x")
        with redirect_stdout(out := io.StringIO()), theano.config.change_flags(optimizer_verbose=True):
            theano.function([x], T.log(T.exp(x)), mode="FAST_RUN")
        self.assertRegex(out.getvalue(), r"OPT_FAST_RUN/canonicalize/\w+ \(\d+ us\)")

    def test_profiles_of_rewriting(self) -> None:
        x = T.dvector("x")
        plain = theano.function([x], T.exp(x) * 1, mode="FAST_RUN").maker.profile
        self.assertIsNone(plain.details)
        with theano.config.change_flags(profile_optimizer=True):
            profile = theano.function([x], T.exp(x) * 1, mode="FAST_RUN").maker.profile
        self.assertIsInstance(profile, RewriteProfile)
        text = profile_report(profile)
        self.assertRegex(text, r"(?m)^SeqOptimizer  OPT_FAST_RUN  time \d+\.\d{3}s for \d+/\d+ nodes before/after")
        self.assertRegex(text, r"(?m)^\d+\.\d{6}s - \('canonicalize', 'EquilibriumOptimizer', \d+\) - \d+\.\d{3}s$")

    def test_what_happens_when_a_rewrite_fails(self) -> None:
        x = T.dscalar("x")

        @gof.local_optimizer([T.exp])
        def fails(node: Any) -> Any:
            raise KeyError("missing")

        mode = theano.compile.get_mode("FAST_RUN").register((gof.in2out(fails, failure_callback=None), 1.1))
        with self.assertRaisesRegex(Exception, "rewrite `fails`: raised KeyError: 'missing'"):
            theano.function([x], T.exp(x), mode=mode)
        with theano.config.change_flags(on_opt_error="warn"), self.assertLogs("theano.gof.opt", "ERROR") as log:
            f = theano.function([x], T.exp(x), mode=mode)
        self.assertIn("fails", "".join(log.output))
        self.assertEqual(f(0), 1)
        with theano.config.change_flags(on_opt_error="ignore"):
            self.assertEqual(theano.function([x], T.exp(x), mode=mode)(0), 1)


class TestHelpers(unittest.TestCase):
    def test_printing_the_graph_on_the_way(self) -> None:
        x = T.dscalar("x")
        show = modes.PrintCurrentFunctionGraph("half way")
        with redirect_stdout(out := io.StringIO()):
            theano.function([x], T.exp(x) + 1, mode=theano.compile.get_mode("FAST_RUN").register((show, 10.0)))
        self.assertIn("PrintCurrentFunctionGraph: half way", out.getvalue())
        self.assertIn("exp", out.getvalue())

    def test_adding_a_feature(self) -> None:
        x = T.dscalar("x")
        finder = gof.toolbox.NodeFinder()
        mode = theano.Mode("py", modes.AddFeatureOptimizer(finder))
        f = theano.function([x], T.exp(x), mode=mode)
        self.assertIn(finder, f.maker.fgraph.features)


if __name__ == "__main__":
    unittest.main()
