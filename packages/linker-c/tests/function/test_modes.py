"""Modes: names, flags, tags, registration, and that they rewrite."""

from __future__ import annotations

import unittest
from typing import Any

from theano_graph import FunctionGraph, config
from theano_linker_c import (
    FAST_COMPILE,
    FAST_RUN,
    Linker,
    Mode,
    function,
    get_default_mode,
    get_mode,
    optdb,
    predefined_linkers,
    predefined_modes,
    predefined_optimizers,
    register_mode,
)
from theano_linker_c.modes import register_linker, register_optimizer
from theano_linker_c.targets import PYTHON, C
from theano_optimize import GraphRewriter, RewriteQuery

from .function_support import add, constant, mul, scalar


class CountRuns(GraphRewriter):
    """Counts how often it is applied."""

    def __init__(self) -> None:
        super().__init__("count_runs")
        self.runs = 0

    def apply(self, fgraph: FunctionGraph) -> None:
        self.runs += 1


class TestNames(unittest.TestCase):
    def test_strings_modes_and_none(self) -> None:
        self.assertIs(get_mode("FAST_RUN"), FAST_RUN)
        self.assertIs(get_mode(FAST_COMPILE), FAST_COMPILE)
        self.assertEqual(get_mode(None), get_default_mode())
        self.assertEqual(get_default_mode(), FAST_RUN)
        self.assertEqual(FAST_COMPILE.linker.target, PYTHON)

    def test_unknown_names_list_the_known_ones(self) -> None:
        with self.assertRaisesRegex(ValueError, "(?s)no mode called 'FAST'.*'FAST_RUN'"):
            get_mode("FAST")
        with self.assertRaisesRegex(ValueError, "no linker called 'jit'"):
            Mode(linker="jit")
        with self.assertRaisesRegex(ValueError, "no optimizer called 'o9'"):
            Mode(optimizer="o9")
        with self.assertRaisesRegex(TypeError, "a mode is a string or a Mode"):
            get_mode(3)  # type: ignore[arg-type]

    def test_historical_linkers_map_to_the_two_machines(self) -> None:
        for name in ("cvm", "cvm_nogc", "c|py", "clpy", "c|py_nogc", "c"):
            self.assertEqual(Mode(linker=name).linker.target, C, name)
        for name in ("vm", "py"):
            self.assertEqual(Mode(linker=name).linker.target, PYTHON, name)
        self.assertIs(Mode(linker="cvm_nogc").linker.allow_gc, False)

    def test_predefined_optimizers(self) -> None:
        for name in ("o1", "o2", "o3", "o4", "unsafe", "stabilize", "Stabilization", "merge", "None", None):
            self.assertIn(name, predefined_optimizers)

    def test_registration(self) -> None:
        mode = Mode("py", "merge")
        register_mode("TEST_MODE", mode)
        self.addCleanup(predefined_modes.pop, "TEST_MODE")
        self.assertIs(get_mode("TEST_MODE"), mode)
        with self.assertRaisesRegex(ValueError, "already a mode called 'TEST_MODE'"):
            register_mode("TEST_MODE", mode)
        with self.assertRaisesRegex(ValueError, "flags describe"):
            register_mode("Mode", mode)
        register_linker("test_linker", Linker("test_linker", PYTHON))
        self.addCleanup(predefined_linkers.pop, "test_linker")
        register_optimizer("test_optimizer", RewriteQuery(["merge"]))
        self.addCleanup(predefined_optimizers.pop, "test_optimizer")
        self.assertEqual(Mode("test_linker", "test_optimizer").linker.name, "test_linker")


class TestFlags(unittest.TestCase):
    def test_mode_linker_and_optimizer_flags(self) -> None:
        with config.change_flags(mode="FAST_COMPILE"):
            self.assertIs(get_default_mode(), FAST_COMPILE)
        with config.change_flags(linker="py", optimizer="None"):
            mode = get_default_mode()
            self.assertEqual(mode.linker.target, PYTHON)
            self.assertEqual(mode, Mode("py", None))
            self.assertEqual(Mode().linker.name, "py")


class TestLinkers(unittest.TestCase):
    def test_native_only_refuses_python_code(self) -> None:
        x = scalar("x")
        with self.assertRaisesRegex(
            ValueError, r"(?s)linker c runs native code only, and add has none.*made at test_modes"
        ):
            function([x], add(x, x), mode=Mode("c", None))
        self.assertEqual(function([x], x, mode=Mode("c", None))(3), 3.0)

    def test_every_linker_gives_the_same_results(self) -> None:
        x = scalar("x")
        for name in predefined_linkers:
            if name != "c":
                self.assertEqual(function([x], mul(add(x, x), x), mode=Mode(name, "fast_run"))(3), 18.0, name)

    def test_allow_gc_flag(self) -> None:
        x = scalar("x")
        with config.change_flags(allow_gc=False):
            self.assertEqual(function([x], add(x, x))(3), 6.0)


class TestTags(unittest.TestCase):
    def test_refined_modes_are_new(self) -> None:
        mode = FAST_RUN.including("x").excluding("inplace").requiring("y")
        assert mode.query is not None, "FAST_RUN has a query"
        self.assertEqual(mode.query.include, {"fast_run", "x"})
        self.assertEqual(mode.query.exclude, {"inplace"})
        self.assertEqual(mode.query.require, {"y"})
        self.assertNotEqual(mode, FAST_RUN)
        self.assertEqual(mode.linker, FAST_RUN.linker)

    def test_a_rewriter_of_ones_own(self) -> None:
        counter = CountRuns()
        mode = Mode("py", counter)
        x = scalar("x")
        function([x], add(x, x), mode=mode)
        self.assertEqual(counter.runs, 1)
        with self.assertRaisesRegex(ValueError, "has no tags"):
            mode.including("x")


class TestRewriting(unittest.TestCase):
    def nodes(self, mode: Any) -> int:
        x = scalar("x")
        one = constant(1.0)
        y = mul(add(x, one), add(x, one))
        fn = function([x], [y, add(constant(1.0), constant(2.0))], mode=mode)
        self.assertEqual(fn(2), [9.0, 3.0])
        return sum(node.op in (add, mul) for node in fn.maker.fgraph.toposort())

    def test_merging_and_folding_by_mode(self) -> None:
        self.assertEqual(self.nodes("FAST_RUN"), 2)
        self.assertEqual(self.nodes("FAST_COMPILE"), 2)
        self.assertEqual(self.nodes(Mode("py", "merge")), 3)
        self.assertEqual(self.nodes(Mode("py", None)), 4)
        self.assertEqual(self.nodes(FAST_RUN.excluding("constant_folding")), 3)

    def test_later_registrations_are_found_and_rewriters_kept(self) -> None:
        counter = CountRuns()
        before = FAST_RUN.optimizer
        self.assertIs(FAST_RUN.optimizer, before)
        optdb.register("test_counter", counter, "fast_run", position=2.5)
        self.addCleanup(optdb.remove, "test_counter")
        x = scalar("x")
        function([x], add(x, x))
        self.assertEqual(counter.runs, 1)
        function([x], add(x, x), mode=FAST_RUN.excluding("test_counter"))
        self.assertEqual(counter.runs, 1)

    def test_positions(self) -> None:
        names = list(optdb)
        expected = ["merge1", "canonicalize", "stabilize", "specialize", "uncanonicalize", "merge2", "merge3"]
        self.assertEqual([name for name in names if name in expected], expected)
