"""Work that goes on while the compiler is waited for."""

from __future__ import annotations

import os
import shutil
import tempfile
import unittest
from unittest import mock

from theano_linker_c.compiler import run_compiler, while_compiling
from theano_testing.tiers import slow


@unittest.skipUnless(shutil.which("gcc"), "there is no gcc")
class WhileCompiling(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.done: list[str] = []

    def compile(self, source: str = "int f(void) { return 1; }") -> bool:
        output = os.path.join(self.folder, "f.so")
        return run_compiler("gcc", [], source, output).ok and os.path.getsize(output) > 0

    def test_all_is_done_once_and_in_order(self) -> None:
        with while_compiling(lambda: self.done.append("first"), lambda: self.done.append("second")):
            self.assertEqual(self.done, [])
            self.assertTrue(self.compile())
            self.assertEqual(self.done, ["first", "second"])
            self.assertTrue(self.compile())
        self.assertEqual(self.done, ["first", "second"])

    @slow
    def test_texts_that_fit_into_no_pipe(self) -> None:
        text = "".join(f"int f{i}(void) {{ return {i}; }}\n" for i in range(20_000))
        with while_compiling(lambda: self.done.append("done")):
            self.assertTrue(self.compile(text))
        self.assertEqual(self.done, ["done"])

    def test_errors_are_told(self) -> None:
        with while_compiling(lambda: self.done.append("done")):
            run = run_compiler("gcc", [], "int f(void) { return nothing; }\n" * 2000, os.path.join(self.folder, "f"))
        self.assertFalse(run.ok)
        self.assertIn("nothing", run.message)

    def test_nothing_is_done_without_a_compiler_or_outside_of_the_block(self) -> None:
        with while_compiling(lambda: self.done.append("one")):
            run = run_compiler(os.path.join(self.folder, "none"), [], "", os.path.join(self.folder, "f"))
            self.assertFalse(run.ok)
        self.assertTrue(self.compile())
        self.assertEqual(self.done, [])

    def test_blocks_inside_of_blocks(self) -> None:
        with while_compiling(lambda: self.done.append("outer")):
            with while_compiling(lambda: self.done.append("inner")):
                pass
            self.assertTrue(self.compile())
        self.assertEqual(self.done, ["outer"])

    def test_no_room_for_the_text(self) -> None:
        with (
            mock.patch("tempfile.TemporaryFile", side_effect=OSError(28, "no room")),
            while_compiling(lambda: self.done.append("done")),
        ):
            self.assertTrue(self.compile())
        self.assertEqual(self.done, [])

    def test_an_interrupt_ends_the_compiler(self) -> None:
        def interrupt() -> None:
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt), while_compiling(interrupt):
            self.compile()
        self.assertTrue(self.compile())


if __name__ == "__main__":
    unittest.main()
