"""Attempts of the first day, and their answers."""

from __future__ import annotations

import contextlib
import importlib
import io
import operator
import re
import unittest
from functools import cache
from pathlib import Path
from subprocess import CompletedProcess
from tempfile import TemporaryDirectory

from test_theano_config import run

import theano
import theano.tensor as T
from theano._doctor import main as doctor
from theano._nose import main as nose
from theano._old_flags import is_former
from theano_linker_c.cache_tool import main as cache_tool
from theano_testing.tiers import slow

ADVICE: dict[str, str] = importlib.import_module("theano_tensor._protocols._numpy_protocols").ADVICE


class TestAdvice(unittest.TestCase):
    def test_named_functions_exist(self) -> None:
        for name, advice in ADVICE.items():
            for item in re.findall(r"\b(?:T|theano)((?:\.[A-Za-z_]\w*)+)", advice):
                with self.subTest(name, found=item):
                    root = theano if f"theano{item}" in advice else T
                    self.assertTrue(callable(operator.attrgetter(item[1:])(root)))


OLD_SETTINGS = "device=gpu0,lib.cnmem=1,gpuarray.sync=True,cublas.lib=/usr,no_such=1,cycle_detection=fast"


@cache
def run_with_old_settings() -> CompletedProcess[str]:
    """Run a program with settings of old; it shows the device, and the doctor's words on the flags."""
    with TemporaryDirectory() as folder:
        program = Path(folder) / "program.py"
        program.write_text("import os\n\nimport theano\nprint(theano.config.device)\n")
        code = (
            f"import runpy; runpy.run_path({str(program)!r}); "
            "from theano._doctor import _flags; print([(f.name, f.state, f.advice) for f in _flags()])"
        )
        return run(code, OLD_SETTINGS)


class TestOldFlags(unittest.TestCase):
    @slow
    def test_flags_of_gpus_are_obsolete_in_one_message(self) -> None:
        done = run_with_old_settings()
        self.assertEqual((done.returncode, done.stdout.splitlines()[0]), (0, "gpu0"))
        self.assertEqual(done.stderr.count("obsolete"), 1)
        listed = "the flags `device=gpu0`, `gpuarray.sync`, `lib.cnmem`, `cublas.lib` are obsolete"
        self.assertRegex(done.stderr, f"{listed}: .*\n  Hint: leave them out")
        self.assertEqual(done.stderr.count("`no_such`"), 1)

    @slow
    def test_forced_device_of_old_is_an_error(self) -> None:
        done = run("import theano", "device=gpu,force_device=True")
        self.assertRegex(done.stderr, "ConfigError: device=gpu named a back-end for GPUs that is obsolete")

    def test_words_of_other_libraries(self) -> None:
        for module, name, lead in (
            (theano.tensor, "random", "theano.tensor.shared_randomstreams.RandomStreams"),
            (theano.tensor, "linalg", "theano.tensor.nlinalg"),
            (theano, "vectorize", "theano.tensor.vectorize"),
            (theano, "cond", "theano.ifelse.ifelse"),
        ):
            with self.assertRaisesRegex(AttributeError, f"did you mean {lead}"):
                getattr(module, name)

    def test_names(self) -> None:
        self.assertTrue(all(map(is_former, ("lib.cnmem", "nvcc.old", "cublas.lib", "gpuarray.sync"))))
        others = "lib.amdlibm", "gcc.cxxflags", "no_such", "cudas", "cuda.root", "nvcc.flags", "dnn.enabled"
        self.assertFalse(any(map(is_former, others)))

    @slow
    def test_warnings_point_at_the_line_of_the_program(self) -> None:
        done = run_with_old_settings()
        results = [line.split("program.py:")[1][:2] for line in done.stderr.splitlines() if "UserWarning" in line]
        self.assertEqual(results, ["3:"] * 3, done.stderr)

    @slow
    def test_the_doctor_says_the_same(self) -> None:
        done = run_with_old_settings()
        self.assertEqual(done.stdout.count("it is obsolete"), 4)
        self.assertIn("('cycle_detection', 'note', 'leave it out: it has no effect", done.stdout)
        self.assertIn("('unknown flag', 'note', 'print(theano.config)", done.stdout)


class TestNames(unittest.TestCase):
    def test_names_that_are_elsewhere(self) -> None:
        cases = {
            "relu": "theano.tensor.nnet.relu",
            "softmax": "theano.tensor.nnet.softmax",
            "matrix_inverse": "theano.tensor.nlinalg.matrix_inverse",
            "cholesky": "theano.tensor.slinalg.cholesky",
            "pool_2d": "theano.tensor.signal.pool.pool_2d",
        }
        for name, position in cases.items():
            with self.assertRaisesRegex(AttributeError, rf"no attribute '{name}'; did you mean {position}\?"):
                getattr(T, name)
        with self.assertRaisesRegex(AttributeError, r"did you mean theano\.tensor\.dvector\?"):
            getattr(theano, "dvector")  # noqa: B009 - type checkers know that it is not there
        with self.assertRaisesRegex(AttributeError, r"no attribute 'no_such_name'$"):
            getattr(theano, "no_such_name")  # noqa: B009 - as above

    def test_only_public_names_are_listed(self) -> None:
        listed = set(dir(theano))
        self.assertLessEqual({"function", "shared", "grad", "scan", "config", "tensor"}, listed)
        self.assertFalse(listed & {"lazy_names", "also_called", "announce", "collector_paused", "TYPE_CHECKING"})
        self.assertFalse([name for name in listed if name.startswith("_")])
        self.assertTrue({"floatX", "mode", "gcc"} <= set(dir(theano.config)))
        self.assertIn("cxxflags", dir(theano.config.gcc))

    def test_methods_explain_themselves(self) -> None:
        for name in ("sum", "mean", "max", "argmax", "take", "dot", "repeat", "std"):
            explained = str(getattr(T.dvector(), name).__doc__)
            self.assertGreater(len(explained), 30, name)
            self.assertFalse(explained.startswith("See "), name)

    def test_commands_tell_their_version(self) -> None:
        for main, name in ((doctor, "theano-doctor"), (nose, "theano-nose"), (cache_tool, "theano-cache")):
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed), self.assertRaises(SystemExit) as ended:
                main(["--version"])
            self.assertEqual(ended.exception.code, 0)
            self.assertRegex(printed.getvalue(), rf"^{name} \d+\.\d+")
