"""The commands ``theano-nose``, ``theano-doctor`` and ``theano-cache``, run as a user runs them."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import subprocess
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

import theano
from theano.__main__ import main as by_module
from theano._doctor import Finding, _routines_of, examine
from theano._nose import main as nose, own_tests
from theano.misc import check_blas
from theano_testing.tiers import slow

MODULES = {
    "theano-nose": "theano._nose",
    "theano-doctor": "theano._doctor",
    "theano-cache": "theano_linker_c.cache_tool",
}
PASSING = """
import unittest
from theano.misc.doubleop import DoubleOp
from theano.tests import unittest_tools as utt
import theano.tensor as T
import numpy as np

class test_Double(utt.InferShapeTester):
    def test_double_op(self):
        print("said aloud")
        x = T.dmatrix()
        self._compile_and_check([x], [DoubleOp()(x)], [np.ones((2, 3))], DoubleOp)

    def test_gradient(self):
        utt.verify_grad(DoubleOp(), [np.ones(3)])
"""
FAILING = """
import unittest

class TestWrong(unittest.TestCase):
    def test_right(self):
        pass

    def test_wrong(self):
        self.assertEqual(1, 2)
"""


def run(command: str, *arguments: str, cwd: str | None = None, flags: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own."""
    code = f"import sys; from {MODULES[command]} import main; sys.exit(main())"
    environ = {**os.environ, "THEANO_FLAGS": flags, "THEANORC": os.devnull}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=environ, cwd=cwd, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip


class TestEntryPoints(unittest.TestCase):
    @slow
    def test_each_command_is_declared_and_has_help(self) -> None:
        project = Path(__file__).resolve().parents[1] / "pyproject.toml"
        scripts = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["scripts"]
        self.assertEqual(set(scripts), set(MODULES))
        for name, place in scripts.items():
            module, function = place.split(":")
            self.assertEqual(module, MODULES[name])
            self.assertTrue(callable(getattr(importlib.import_module(module), function)))
            done = run(name, "--help")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn(f"usage: {name}", done.stdout)


class TestModule(unittest.TestCase):
    def test_commands_by_name(self) -> None:
        out = io.StringIO()
        with contextlib.redirect_stdout(out), self.assertRaises(SystemExit) as ended:
            by_module(["--version"])
        self.assertEqual((ended.exception.code, out.getvalue()), (0, f"theano {theano.__version__}\n"))
        with contextlib.redirect_stdout(out):
            self.assertEqual(by_module(["cache"]), 0)
        self.assertTrue(os.path.isabs(out.getvalue().splitlines()[-1]))

    def test_what_is_no_command(self) -> None:
        err = io.StringIO()
        with contextlib.redirect_stderr(err), self.assertRaises(SystemExit) as ended:
            by_module(["docter"])
        self.assertEqual(ended.exception.code, 2)
        self.assertIn("doctor", err.getvalue())


class TestNose(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        inner = Path(self.folder, "deeper", "package")
        inner.mkdir(parents=True)
        (inner / "__init__.py").touch()
        Path(self.folder, "test_passing.py").write_text(PASSING)
        (inner / "test_failing.py").write_text(FAILING)
        (inner / "no_tests_here.py").write_text("raise RuntimeError('this is no file of tests')")

    def nose(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return run("theano-nose", *arguments, cwd=self.folder)

    @slow
    def test_all_below_the_present_folder(self) -> None:
        done = self.nose()
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr.count("Ran 2 tests"), 2)
        self.assertIn("FAIL: test_wrong (package.test_failing.TestWrong", done.stderr)

    @slow
    def test_a_folder_a_file_a_class_and_a_method(self) -> None:
        for target, count, status in (
            ("deeper", 2, 1),
            ("test_passing.py", 2, 0),
            ("test_passing.py:test_Double", 2, 0),
            ("test_passing.py:test_Double.test_double_op", 1, 0),
            ("deeper/package/test_failing.py:TestWrong.test_right", 1, 0),
        ):
            with self.subTest(target):
                done = self.nose(target, "-v")
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertIn(f"Ran {count} test", done.stderr)

    @slow
    def test_what_tests_print(self) -> None:
        self.assertIn("said aloud", self.nose("test_passing.py", "-s").stdout)
        quiet = self.nose("test_passing.py")
        self.assertNotIn("said aloud", quiet.stdout + quiet.stderr)

    @slow
    def test_stop_at_the_first_failure(self) -> None:
        done = self.nose("-x", "deeper/package/test_failing.py", "test_passing.py")
        self.assertEqual((done.returncode, done.stderr.count("Ran ")), (1, 1))

    @slow
    def test_flags_are_those_of_the_environment(self) -> None:
        Path(self.folder, "test_flag.py").write_text(
            "import unittest, theano\nclass Test(unittest.TestCase):\n"
            "    def test_it(self):\n        self.assertEqual(theano.config.floatX, 'float32')\n"
        )
        target = os.path.join(self.folder, "test_flag.py")
        self.assertEqual(run("theano-nose", target, flags="floatX=float32").returncode, 0)

    @slow
    def test_targets_that_are_none(self) -> None:
        for arguments, message in (
            (("no_such_folder",), "'no_such_folder' is neither a folder nor a Python file"),
            (("test_missing.py:Test",), "neither a folder"),
        ):
            done = self.nose(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(message, done.stderr)
            self.assertIn("To mend:", done.stderr)
        with tempfile.TemporaryDirectory() as empty:
            done = run("theano-nose", cwd=empty)
        self.assertEqual(done.returncode, 2)
        self.assertIn("there are no tests in .", done.stderr)

    def test_without_nose2(self) -> None:
        with mock.patch("theano._nose.importlib.util.find_spec", return_value=None), mock.patch("sys.stderr") as told:
            self.assertEqual(nose([]), 2)
        text = "".join(str(call.args[0]) for call in told.write.call_args_list)
        self.assertIn("pip install 'theano-stack[test]'", text)

    @slow
    def test_own_tests(self) -> None:
        check, *folders = own_tests()
        done = run("theano-nose", check)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Ran 8 tests", done.stderr)
        inside = Path(theano.__file__).resolve().parents[1].name == "src"
        self.assertEqual(str(Path(__file__).resolve().parent) in folders, inside)

    @slow
    def test_the_function_of_the_package(self) -> None:
        code = (
            "import sys, theano, theano._nose; theano._nose.own_tests = lambda: [sys.argv[1]]; "
            "print('passed:', theano.test(verbose=2, extra_argv=['-x']))"
        )
        for target, passed in (("test_passing.py", True), ("deeper", False)):
            path = os.path.join(self.folder, target)
            done = subprocess.run(
                [sys.executable, "-c", code, path], capture_output=True, text=True, timeout=600, check=True
            )
            self.assertIn(f"passed: {passed}", done.stdout)
            self.assertRegex(done.stderr, r"test_\w+ \(.*\) \.\.\. ")


class TestDoctor(unittest.TestCase):
    def findings(self, flags: str = "", **environ: str) -> tuple[int, dict[tuple[str, str], Any]]:
        with mock.patch.dict(os.environ, environ):
            done = run("theano-doctor", "--json", flags=flags)
        self.assertEqual(done.stderr, "")
        report = json.loads(done.stdout)
        self.assertEqual(report["healthy"], done.returncode == 0)
        return done.returncode, {(found["subject"], found["name"]): found for found in report["findings"]}

    @slow
    def test_all_subjects(self) -> None:
        status, found = self.findings()
        self.assertEqual(status, 0)
        self.assertEqual(
            {subject for subject, _ in found},
            {"versions", "compiler", "blas", "threads", "cache", "devices", "functions"},
        )
        self.assertTrue(os.path.samefile(found["versions", "Python"]["how"], sys.executable))
        self.assertTrue(os.path.exists(found["compiler", "command"]["value"]))
        self.assertIn("SciPy", found["blas", "library"]["how"])
        self.assertEqual(found["devices", "device"]["value"], "cpu")
        self.assertEqual(found["functions", "a gradient of 101 elements"]["how"], "native code")

    @slow
    def test_devices(self) -> None:
        status, found = self.findings("contexts=dev0->null0,print_active_device=False")
        self.assertEqual((status, found["devices", "device"]["state"]), (0, "ok"))
        self.assertEqual(found["devices", "context dev0"]["value"], "null0: null device 0")
        with mock.patch.dict(os.environ, {"PYTHONWARNINGS": "ignore"}):
            status, found = self.findings("device=opencl99:0")
        self.assertEqual((status, found["devices", "device"]["state"]), (1, "bad"))
        self.assertIn("get_context(None) says why", found["devices", "device"]["advice"])

    @slow
    def test_text(self) -> None:
        done = run("theano-doctor", flags="floatX=float32")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for part in ("flags\n  [ ok ] floatX: 'float32'  (THEANO_FLAGS)", "compiler\n", "vector functions", "cache\n"):
            self.assertIn(part, done.stdout)

    @slow
    def test_the_former_project_beside_this_one(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            info = Path(folder, "Theano-1.0.5.dist-info")
            info.mkdir()
            (info / "METADATA").write_text("Metadata-Version: 2.1\nName: Theano\nVersion: 1.0.5\n")
            path = os.pathsep.join([folder, *filter(None, [os.environ.get("PYTHONPATH")])])
            status, found = self.findings(PYTHONPATH=path)
        self.assertEqual((status, found["versions", "theano"]["state"]), (1, "bad"))
        self.assertIn("pip uninstall theano", found["versions", "theano"]["advice"])

    @slow
    def test_without_a_compiler(self) -> None:
        status, found = self.findings("cxx=")
        self.assertEqual((status, found["compiler", "command"]["state"]), (0, "note"))
        self.assertIn("install gcc", found["compiler", "command"]["advice"])

    @slow
    def test_a_compiler_that_does_not_work(self) -> None:
        false = "/bin/false" if os.path.exists("/bin/false") else "/usr/bin/false"
        status, found = self.findings(f"cxx={false}")
        self.assertEqual((status, found["compiler", "command"]["state"]), (1, "bad"))
        self.assertIn("does not work", found["compiler", "command"]["value"])

    @slow
    def test_a_blas_that_is_not_there(self) -> None:
        status, found = self.findings("blas.ldflags=-lnot_to_be_found")
        self.assertEqual((status, found["blas", "error"]["state"]), (1, "bad"))
        self.assertIn("libnot_to_be_found.so", found["blas", "error"]["value"])

    @slow
    def test_routines_of_another_processor_are_noted(self) -> None:
        _, found = self.findings(OPENBLAS_CORETYPE="Prescott")
        routines = found.get(("blas", "routines"))  # SciPy may have been built with another library
        if routines is not None:
            self.assertEqual((routines["state"], routines["how"]), ("note", "OPENBLAS_CORETYPE=Prescott"))
        with mock.patch.dict(os.environ), mock.patch("theano._doctor.ctypes.CDLL") as loaded:
            os.environ.pop("OPENBLAS_CORETYPE", None)
            loaded.return_value.scipy_openblas_get_corename.return_value = b"Zen"
            (own,) = _routines_of("any.so")
        self.assertEqual((own.value, own.state), ("for Zen", "ok"))

    @slow
    def test_threads_and_cache(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o777)
            _, found = self.findings(f"base_compiledir={folder},compiledir_format=.", OMP_NUM_THREADS="512")
            self.assertEqual(found["threads", "long loops"]["value"], "512 threads")
            self.assertEqual(found["threads", "long loops"]["state"], "note")
            self.assertEqual(found["cache", "directory"]["state"], "note")
            self.assertIn("others", found["cache", "directory"]["advice"])
        _, found = self.findings("openmp=False")
        self.assertEqual(found["threads", "long loops"]["value"], "one thread")

    @slow
    def test_flags_that_are_none(self) -> None:
        done = run("theano-doctor", "--json", flags="no_such_flag=1")
        found = [f for f in json.loads(done.stdout)["findings"] if f["name"] == "unknown flag"]
        self.assertEqual(found[0]["value"], "no_such_flag (from THEANO_FLAGS)")

    def test_a_wrong_result_is_bad(self) -> None:
        with mock.patch("theano._doctor._library_at", side_effect=ValueError("no such address")):
            found: list[Finding] = [f for f in examine() if f.state == "bad"]
        self.assertEqual([(f.subject, f.value) for f in found], [("blas", "ValueError: no such address")])


class TestCache(unittest.TestCase):
    @slow
    def test_listing_and_clearing(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            flags = f"base_compiledir={folder}"
            code = "import theano, theano.tensor as T; x = T.dvector(); theano.function([x], T.sin(x) + 2)"
            subprocess.run(
                [sys.executable, "-c", code], env={**os.environ, "THEANO_FLAGS": flags}, check=True, timeout=600
            )
            self.assertIn("1 compiled object: in all", run("theano-cache", "list", flags=flags).stdout)
            self.assertIn("1 compiled object: removed", run("theano-cache", "clear", flags=flags).stdout)
            self.assertIn("0 compiled objects", run("theano-cache", "list", flags=flags).stdout)


class TestMeasuringScripts(unittest.TestCase):
    def script(self, name: str, *arguments: str) -> str:
        path = Path(theano.__file__).parent / "misc" / f"{name}.py"
        done = subprocess.run(
            [sys.executable, str(path), *arguments], capture_output=True, text=True, timeout=600, check=False
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    @slow
    def test_products(self) -> None:
        small = ("-M", "50", "-N", "60", "-K", "70", "--iter", "2")
        self.assertRegex(self.script("check_blas", "-q", *small), r"^\d+\.\d{4}\n$")
        text = self.script("check_blas", "--order", "F", *small)
        self.assertRegex(text, r"(?s)blas: library: .*computed by Gemm.*2 products by Gemm.*GFLOPS in float64\n$")
        self.assertIn("computed by", self.script("check_blas", "--print_only", *small))

    def test_the_function_for_products(self) -> None:
        self.assertEqual(check_blas.execute(execute=False, verbose=False, M=3, N=4, K=5)[0], 0.0)
        seconds, how = check_blas.execute(verbose=False, M=3, N=4, K=5, iters=1)
        self.assertGreater(seconds, 0.0)
        self.assertRegex(how, "(?i)gemm|dot22")

    @slow
    def test_loops_in_threads(self) -> None:
        lines = self.script("elemwise_openmp_speedup", "-N", "3000", "--iter", "3").splitlines()
        self.assertEqual([line.split()[0] for line in lines], ["cheap", "costly"])
        self.assertIn("on 3000 elements", lines[0])
