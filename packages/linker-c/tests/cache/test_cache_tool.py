"""The command `theano-cache`."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
import tempfile
import time
from pathlib import Path
from unittest import mock

from theano_graph import config
from theano_linker_c import scalar as sc
from theano_linker_c.cache_tool import main
from theano_linker_c.compiler import CompilerOptions
from theano_testing.tiers import slow

from .cache_support import CacheTestCase, start

_RUN = "import sys; from theano_linker_c.cache_tool import main; sys.exit(main(sys.argv[1:]))"


class TestCommand(CacheTestCase):
    def command(self, *arguments: str) -> str:
        worker = start(_RUN, *arguments, flags=f"compiledir={self.path},cxx=gcc")
        out, err = worker.communicate(timeout=600)
        self.assertEqual((worker.returncode, err), (0, b""))
        return out.decode()

    @slow
    def test_without_a_command_the_directory_is_printed(self) -> None:
        self.assertEqual(self.command().strip(), self.path)
        self.assertFalse(os.path.exists(self.path))

    @slow
    def test_base_directory(self) -> None:
        with tempfile.TemporaryDirectory() as base:
            worker = start(_RUN, "basecompiledir", flags=f"base_compiledir={base}")
            out, _ = worker.communicate(timeout=600)
        self.assertEqual(out.decode().strip(), base)

    @slow
    def test_list(self) -> None:
        self.assertIn("there is nothing yet", self.command("list"))
        self.build(sc.exp, sc.neg)
        self.build(sc.sqr)
        text = self.command("list")
        for path in self.object_paths():
            self.assertIn(path.name[:12], text)
        self.assertRegex(text, r"2 kernels(.|\n)*2 compiled objects: in all \d+\.\d KiB, at most 512.0 MiB")

    def test_list_that_is_read_in_part(self) -> None:
        """As `theano-cache list | head -1` does."""
        self.build(sc.exp)
        worker = start(_RUN, "list", flags=f"compiledir={self.path},cxx=gcc")
        assert worker.stdout is not None and worker.stderr is not None
        worker.stdout.close()
        self.assertEqual(worker.stderr.read(), b"")
        worker.stderr.close()
        self.assertEqual(worker.wait(timeout=600), 0)

    @slow
    def test_clear(self) -> None:
        self.build(sc.exp)
        os.makedirs(os.path.join(self.path, "locks"), exist_ok=True)
        self.assertIn("1 compiled object: removed", self.command("clear"))
        self.assertEqual((self.names("objects"), self.names("index"), self.names("toolchains")), ([], [], []))
        self.assertNotEqual(self.names("locks"), [])
        self.assertEqual(self.build(sc.exp).compiler_runs, 1)

    @slow
    def test_clear_and_unlock(self) -> None:
        for arguments in (("clear", "--unlock"), ("unlock",)):
            self.build(sc.exp)
            self.command(*arguments)
            self.assertEqual(self.names("locks"), [])

    @slow
    def test_purge(self) -> None:
        self.build(sc.exp)
        self.assertIn("removed", self.command("purge"))
        self.assertEqual(os.listdir(os.path.dirname(self.path)), [])

    @slow
    def test_purge_empties_a_directory_that_is_refused(self) -> None:
        os.makedirs(self.path)
        os.chmod(self.path, 0o777)
        self.command("purge")
        self.assertFalse(os.path.exists(self.path))

    @slow
    def test_a_refused_directory_can_be_listed(self) -> None:
        self.build(sc.exp)
        os.chmod(self.path, 0o777)
        self.assertIn("1 compiled object", self.command("list"))
        self.command("clear")
        self.assertEqual(self.names("objects"), [])

    def test_cleanup(self) -> None:
        self.build(sc.exp)
        self.build(sc.neg)
        first, second = self.object_paths()
        copy = first.read_bytes()
        first.unlink()
        first.write_bytes(copy[1:])
        long_ago = time.time() - 40 * 24 * 3600
        os.utime(second, (long_ago, long_ago))
        left = Path(self.path, "tmp", "left.so")
        left.write_bytes(b"")
        os.utime(left, (long_ago, long_ago))
        self.assertIn("2 compiled objects: removed", self.command("cleanup"))
        self.assertEqual((self.names("objects"), self.names("index"), self.names("tmp")), ([], [], []))

    @slow
    def test_help_names_all_commands(self) -> None:
        text = self.command("--help")
        for word in ("list", "clear", "cleanup", "purge", "unlock", "basecompiledir", "theano-cache", "compiledir"):
            self.assertIn(word, text)
        self.assertIn("--unlock", self.command("clear", "--help"))

    def test_what_cannot_be_cleaned_is_told(self) -> None:
        self.build(sc.exp)
        errors, refusal = io.StringIO(), PermissionError(errno.EACCES, "Permission denied")
        cases = (("clear", "os.unlink"), ("cleanup", "os.replace"), ("purge", "os.rename"))
        for command, function in cases:
            with (
                self.subTest(command=command),
                mock.patch(function, side_effect=refusal),
                mock.patch.object(CompilerOptions, "from_config", return_value=self.options),
                contextlib.redirect_stderr(errors),
                contextlib.redirect_stdout(said := io.StringIO()),
            ):
                self.assertEqual(main([command]), 1)
                self.assertIn("cannot be cleaned: Permission denied\n  Hint: give yourself", errors.getvalue())
                self.assertNotIn("1 compiled object", said.getvalue())
        self.assertEqual(len(self.names("objects")), 1)

    def test_unknown_command(self) -> None:
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors), self.assertRaises(SystemExit) as caught:
            main(["explode"])
        self.assertEqual(caught.exception.code, 2)
        self.assertIn("explode", errors.getvalue())

    def test_the_words_of_the_process_are_the_default(self) -> None:
        output, before = io.StringIO(), sys.argv
        sys.argv = ["theano-cache", "basecompiledir"]
        try:
            with contextlib.redirect_stdout(output):
                self.assertEqual(main(), 0)
        finally:
            sys.argv = before
        self.assertEqual(output.getvalue().strip(), os.path.abspath(os.path.expanduser(str(config.base_compiledir))))
