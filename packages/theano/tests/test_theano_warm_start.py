"""A second process that builds the same functions spends no time in the compiler."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest
import warnings
from pathlib import Path

import theano
from theano_testing.tiers import slow

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
#: Programs with many kinds of compiled code: elementwise, reductions, random numbers, loops over rows, C code of ops.
PROGRAMS = ("chapter_functions", "chapter_derivatives", "chapter_own_ops", "denoising_autoencoder", "gaussian_process")


@slow
class TestWarmStart(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.log = self.folder / "log"
        # Named as the compilers are, so that one is found beside the other as usual.
        for name in ("g++", "gcc"):
            real = shutil.which(name)
            assert real is not None, "the tests of compiled code need gcc"
            script = self.folder / name
            script.write_text(f'#!/bin/sh\necho "$@" >> {self.log}\nexec {real} "$@"\n')
            script.chmod(script.stat().st_mode | stat.S_IXUSR)

    def runs(self, code: str, flag: str = "-O0") -> int:
        """Run a program in a process of its own; return how often it started the compiler, which has little to do."""
        self.log.write_text("")
        settings = f"cxx={self.folder / 'g++'},base_compiledir={self.folder / 'compiled'},gcc.cxxflags={flag}"
        environ = {**os.environ, "THEANO_FLAGS": settings, "THEANORC": os.devnull}
        done = subprocess.run(
            [sys.executable, "-c", code], env=environ, capture_output=True, text=True, timeout=600, check=False
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return len(self.log.read_text().splitlines())

    def test_programs(self) -> None:
        scripts = [str(EXAMPLES / f"{name}.py") for name in PROGRAMS]
        code = (
            f"import runpy, sys\nsys.path.insert(0, {str(EXAMPLES)!r})\n"
            f"for script in {scripts}:\n"
            "    sys.argv = [script]\n"
            "    try:\n        runpy.run_path(script, run_name='__main__')\n"
            "    except SystemExit as end:\n        assert not end.code, end.code\n"
        )
        self.assertGreaterEqual(self.runs(code), len(scripts))
        self.assertEqual(self.runs(code), 0)

    def test_functions(self) -> None:
        code = (
            "import theano, theano.tensor as T; x, y = T.dmatrices('x', 'y'); "
            "theano.function([x, y], [T.tanh(T.dot(x, y)).sum(axis=0), T.grad((x * y).sum() ** 2, x)])\n"
        )
        renamed = code.replace("'x', 'y'", "'first', 'second'")
        with self.subTest("a function is one run, and none the next time"):
            self.assertEqual(self.runs(code), 1)
            self.assertEqual(self.runs(code + renamed), 0)
        with self.subTest("other arguments of the compiler are other code"):
            self.assertGreater(self.runs(code, flag="-DNOTHING"), 0)
            self.assertEqual(self.runs(code), 0)
        with self.subTest("the cache saves the runs"):
            shutil.rmtree(self.folder / "compiled")
            self.assertEqual(self.runs(code), 1)


class TestWithinAProcess(unittest.TestCase):
    def test_the_same_function_again_needs_no_compiler(self) -> None:
        x = theano.tensor.dvector("x")
        theano.function([x], theano.tensor.exp(x) * 1.375)
        with theano.config.change_flags(cxx="/no/such/compiler"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            f = theano.function([x], theano.tensor.exp(x) * 1.375)
        self.assertEqual(f([0.0]).tolist(), [1.375])
