"""The first use of a compiler on an empty directory: its trial and the first kernel are one run."""

from __future__ import annotations

from dataclasses import replace
from unittest import mock

from cache.cache_support import CacheTestCase
from theano_linker_c import scalar as sc
from theano_linker_c.compiler import CompilerRun, _toolchain, run_compiler


class TestFirstUse(CacheTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.sources: list[str] = []
        watch = mock.patch.object(_toolchain, "run_compiler", side_effect=self.compile)
        watch.start()
        self.addCleanup(watch.stop)

    def compile(self, command: str, arguments: list[str], source: str, output: str) -> CompilerRun:
        self.sources.append(source)
        return run_compiler(command, arguments, source, output)

    def test_one_run_tries_the_compiler_and_makes_the_kernels(self) -> None:
        self.assertEqual(self.build(sc.exp, sc.neg).compiler_runs, 1)
        self.assertEqual(len(self.sources), 1)
        self.assertIn("theano_probe", self.sources[0])
        self.assertIn("exp(", self.sources[0])
        self.assertEqual(self.build(sc.exp, sc.neg).compiler_runs, 0)
        self.assertEqual(self.build(sc.sqr).compiler_runs, 1)
        self.assertEqual(len(self.sources), 1)

    def test_kept_sources_and_shown_warnings_hold_kernels_alone(self) -> None:
        self.build(sc.exp, options=replace(self.options, keep_sources=True))
        self.assertTrue(self.sources[0].endswith("x[i] = exp(x[i]);\n}\n"))
        self.assertEqual(len(self.names("sources")), 1)

    def test_code_that_does_not_compile_is_left_out_of_the_trial(self) -> None:
        class Broken:
            def __init__(self) -> None:
                self.outputs: list[str] = []

            def source(self, toolchain: object) -> str:
                return "this is not C"

            def made(self, output: str) -> None:
                self.outputs.append(output)

        first = Broken()
        result = _toolchain.find_toolchain(self.options, self.cache().folder, first)
        self.assertIsNotNone(result)
        self.assertEqual(first.outputs, [])
        self.assertEqual(len(self.sources), 2)
