"""The commands ``theano-nose``, ``theano-doctor`` and ``theano-cache``, run as a user runs them."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import runpy
import subprocess
import sys
import tempfile
import tomllib
import unittest
from collections.abc import Callable, Iterable
from pathlib import Path
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
import theano
from theano.misc.doubleop import DoubleOp
from theano.tests import unittest_tools as utt
import theano.tensor as T
import numpy as np

class test_Double(utt.InferShapeTester):
    def test_double_op(self):
        x = T.dmatrix()
        self._compile_and_check([x], [DoubleOp()(x)], [np.ones((2, 3))], DoubleOp)

    def test_gradient(self):
        utt.verify_grad(DoubleOp(), [np.ones(3)])

    def test_flag_of_the_environment(self):
        self.assertEqual(theano.config.exception_verbosity, "high")
"""
PLAIN = """
import unittest

class TestPlain(unittest.TestCase):
    def test_first(self):
        print("said aloud")

    def test_second(self):
        pass
"""
FAILING = """
import unittest

class TestWrong(unittest.TestCase):
    def test_right(self):
        pass

    def test_wrong(self):
        self.assertEqual(1, 2)
"""


def run(
    command: str, *arguments: str, cwd: str | None = None, flags: str = "", before: str = "pass"
) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own, after some code."""
    code = f"import sys; from {MODULES[command]} import main; {before}; sys.exit(main())"
    environ = {**os.environ, "THEANO_FLAGS": flags, "THEANORC": os.devnull}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=environ, cwd=cwd, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip


class TestEntryPoints(unittest.TestCase):
    def test_each_command_is_declared_and_has_help(self) -> None:
        project = Path(__file__).resolve().parents[1] / "pyproject.toml"
        scripts = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["scripts"]
        self.assertEqual(set(scripts), set(MODULES))
        for name, position in scripts.items():
            module, function = position.split(":")
            self.assertEqual(module, MODULES[name])
            out = io.StringIO()
            with contextlib.redirect_stdout(out), self.assertRaises(SystemExit) as ended:
                getattr(importlib.import_module(module), function)(["--help"])
            self.assertEqual(ended.exception.code, 0)
            self.assertIn(f"usage: {name}", out.getvalue())


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
        Path(self.folder, "test_plain.py").write_text(PLAIN)
        (inner / "test_failing.py").write_text(FAILING)
        (inner / "no_tests_here.py").write_text("raise RuntimeError('this is no file of tests')")

    def captured(self, command: Callable[[], int]) -> subprocess.CompletedProcess[str]:
        """Run a command in this process, which runs nose2 in others, from the folder of tests."""
        out, err, start = io.StringIO(), io.StringIO(), subprocess.run

        def captured_run(line: list[str], check: bool) -> subprocess.CompletedProcess[str]:
            done = start(line, check=check, capture_output=True, text=True, timeout=600)
            out.write(done.stdout)
            err.write(done.stderr)
            return done

        with (
            contextlib.chdir(self.folder),
            mock.patch("theano._nose.subprocess.run", captured_run),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            status = command()
        return subprocess.CompletedProcess([], status, out.getvalue(), err.getvalue())

    def nose(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.captured(lambda: nose(arguments))

    @slow
    def test_all_below_the_present_folder(self) -> None:
        Path(self.folder, "test_passing.py").write_text(PASSING)
        done = run("theano-nose", cwd=self.folder, flags="exception_verbosity=high")
        self.assertEqual(done.returncode, 1)
        self.assertIn("Ran 5 tests", done.stderr)
        self.assertIn("Ran 2 tests", done.stderr)
        self.assertEqual(done.stderr.count("FAIL: "), 1)
        self.assertIn("FAIL: test_wrong (package.test_failing.TestWrong", done.stderr)

    def test_a_folder_a_file_a_class_and_a_method(self) -> None:
        for target, count, status in (
            ("deeper", 2, 1),
            ("test_plain.py", 2, 0),
            ("test_plain.py:TestPlain", 2, 0),
            ("test_plain.py:TestPlain.test_first", 1, 0),
            ("deeper/package/test_failing.py:TestWrong.test_right", 1, 0),
        ):
            with self.subTest(target):
                done = self.nose(target, "-v")
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertIn(f"Ran {count} test", done.stderr)

    def test_what_tests_print(self) -> None:
        self.assertIn("said aloud", self.nose("test_plain.py", "-s").stdout)
        quiet = self.nose("test_plain.py")
        self.assertNotIn("said aloud", quiet.stdout + quiet.stderr)

    def test_stop_at_the_first_failure(self) -> None:
        done = self.nose("-x", "deeper/package/test_failing.py", "test_plain.py")
        self.assertEqual((done.returncode, done.stderr.count("Ran ")), (1, 1))

    def test_targets_that_are_none(self) -> None:
        for arguments, message in (
            (("no_such_folder",), "'no_such_folder' is neither a folder nor a Python file"),
            (("test_missing.py:Test",), "neither a folder"),
        ):
            done = self.nose(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(message, done.stderr)
            self.assertIn("Hint:", done.stderr)
        os.mkdir(os.path.join(self.folder, "empty"))
        self.folder = os.path.join(self.folder, "empty")
        done = self.nose()
        self.assertEqual(done.returncode, 2)
        self.assertIn("there are no tests in .", done.stderr)

    def test_without_nose2(self) -> None:
        with (
            mock.patch("theano._nose.importlib.util.find_spec", return_value=None),
            mock.patch("sys.stderr") as message,
        ):
            self.assertEqual(nose([]), 2)
        text = "".join(str(call.args[0]) for call in message.write.call_args_list)
        self.assertIn("pip install 'theano-stack[test]'", text)

    @slow
    def test_own_tests(self) -> None:
        check, *folders = own_tests()
        done = self.nose(check)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Ran 8 tests", done.stderr)
        inside = Path(theano.__file__).resolve().parents[1].name == "src"
        self.assertEqual(str(Path(__file__).resolve().parent) in folders, inside)

    def test_the_function_of_the_package(self) -> None:
        for target, passed in (("test_plain.py", True), ("deeper", False)):
            with mock.patch("theano._nose.own_tests", return_value=[target]):
                done = self.captured(lambda: theano.test(verbose=2, extra_argv=["-x"]))
            self.assertIs(done.returncode, passed)
            self.assertRegex(done.stderr, r"test_\w+ \(.*\) \.\.\. ")


def by_name(findings: Iterable[Finding]) -> dict[tuple[str, str], Finding]:
    return {(item.subject, item.name): item for item in findings}


class TestDoctor(unittest.TestCase):
    def examined(
        self, flags: str, before: str = "pass", *, warned: bool = False
    ) -> tuple[int, str, dict[tuple[str, str], Finding]]:
        """Run the command; return its status, the output before it, and the findings."""
        done = run("theano-doctor", "--json", flags=flags, before=f"{before}; print('JSON:')")
        self.assertEqual("UserWarning" in done.stderr if warned else done.stderr, warned or "")
        printed, _, text = done.stdout.partition("JSON:\n")
        report = json.loads(text)
        self.assertEqual(report["healthy"], done.returncode == 0)
        return done.returncode, printed, by_name(Finding(**item) for item in report["findings"])

    @slow
    def test_all_subjects_as_text_and_for_programs(self) -> None:
        flags = "floatX=float32,contexts=dev0->null0,print_active_device=False"
        status, text, result = self.examined(flags, before="main([])")
        self.assertEqual(status, 0)
        self.assertEqual(
            {subject for subject, _ in result},
            {"versions", "flags", "compiler", "blas", "threads", "cache", "devices", "functions"},
        )
        self.assertTrue(os.path.samefile(result["versions", "Python"].how, sys.executable))
        self.assertTrue(os.path.exists(result["compiler", "command"].value))
        self.assertIn("SciPy", result["blas", "library"].how)
        self.assertEqual((result["devices", "device"].value, result["devices", "device"].state), ("cpu", "ok"))
        self.assertEqual(result["devices", "context dev0"].value, "null0: null device 0")
        self.assertEqual(result["functions", "a gradient of 101 elements"].how, "native code")
        for part in (
            "\nflags\n  [ ok ] ",
            "  [ ok ] floatX: 'float32'  (THEANO_FLAGS)\n",
            "vector functions",
            "\ncache\n",
        ):
            self.assertIn(part, text)

    @slow
    def test_a_reader_of_the_first_line_ends_it_quietly(self) -> None:
        code = "import sys; from theano._doctor import main; sys.exit(main(['--json']))"
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as command:
            assert command.stdout is not None and command.stderr is not None
            command.stdout.close()
            self.assertEqual(command.stderr.read(), b"")
        self.assertEqual(command.returncode, 0)

    @slow
    def test_a_device_of_old_gets_one_answer(self) -> None:
        _, _, findings = self.examined("device=gpu0", warned=True)
        self.assertIn("device=cuda", findings["flags", "device"].advice)
        self.assertEqual(findings["devices", "device"].state, "ok")

    @slow
    def test_surroundings_that_are_not_well(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o777)
            info = Path(folder, "Theano-1.0.5.dist-info")
            info.mkdir()
            (info / "METADATA").write_text("Metadata-Version: 2.1\nName: Theano\nVersion: 1.0.5\n")
            environ = {
                "PYTHONPATH": os.pathsep.join([folder, *filter(None, [os.environ.get("PYTHONPATH")])]),
                "PYTHONWARNINGS": "ignore",
                "OMP_NUM_THREADS": "512",
                "OPENBLAS_CORETYPE": "Prescott",
            }
            flags = f"device=opencl99:0,no_such_flag=1,cxx=,base_compiledir={folder},compiledir_format=."
            with mock.patch.dict(os.environ, environ):
                status, _, result = self.examined(flags)
        self.assertEqual(status, 1)
        self.assertEqual(result["versions", "theano"].state, "bad")
        self.assertIn("pip uninstall theano", result["versions", "theano"].advice)
        self.assertEqual(result["flags", "unknown flag"].value, "no_such_flag (from THEANO_FLAGS)")
        self.assertEqual(result["compiler", "command"].state, "note")
        self.assertIn("install gcc", result["compiler", "command"].advice)
        routines = result.get(("blas", "routines"))  # SciPy may have been built with another library
        if routines is not None:
            self.assertEqual((routines.state, routines.how), ("note", "OPENBLAS_CORETYPE=Prescott"))
        self.assertEqual(result["threads", "long loops"].value, "512 threads")
        self.assertEqual(result["threads", "long loops"].state, "note")
        self.assertEqual(result["cache", "directory"].state, "note")
        self.assertIn("others", result["cache", "directory"].advice)
        self.assertEqual(result["devices", "device"].state, "bad")
        self.assertIn("get_context(None) says why", result["devices", "device"].advice)

    def test_what_flags_name_and_does_not_work(self) -> None:
        false = "/bin/false" if os.path.exists("/bin/false") else "/usr/bin/false"
        with theano.config.change_flags(cxx=false, blas__ldflags="-lnot_to_be_found", openmp=False):
            result = by_name(examine())
        self.assertEqual(result["compiler", "command"].state, "bad")
        self.assertIn("does not work", result["compiler", "command"].value)
        self.assertEqual(result["blas", "error"].state, "bad")
        self.assertIn("libnot_to_be_found.so", result["blas", "error"].value)
        self.assertEqual(result["threads", "long loops"].value, "one thread")

    def test_routines_for_this_processor(self) -> None:
        with mock.patch.dict(os.environ), mock.patch("theano._doctor.ctypes.CDLL") as loaded:
            os.environ.pop("OPENBLAS_CORETYPE", None)
            loaded.return_value.scipy_openblas_get_corename.return_value = b"Zen"
            (private,) = _routines_of("any.so")
        self.assertEqual((private.value, private.state), ("for Zen", "ok"))

    def test_a_wrong_result_is_bad(self) -> None:
        with mock.patch("theano._doctor._library_at", side_effect=ValueError("no such address")):
            results: list[Finding] = [f for f in examine() if f.state == "bad"]
        self.assertEqual([(f.subject, f.value) for f in results], [("blas", "ValueError: no such address")])


class TestCache(unittest.TestCase):
    @slow
    def test_listing_and_clearing(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            flags = f"base_compiledir={folder},gcc.cxxflags=-O0"
            build = "import theano, theano.tensor as T; x = T.dvector(); theano.function([x], T.sin(x) + 2)"
            work = "main(['list']); main(['clear'])"
            done = run("theano-cache", "list", flags=flags, before=f"{build}; {work}")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        said = [line for line in done.stdout.splitlines() if "compiled object" in line]
        self.assertEqual(len(said), 3, done.stdout)
        for line, expected in zip(
            said, ("1 compiled object: in all", "1 compiled object: removed", "0 compiled objects"), strict=True
        ):
            self.assertIn(expected, line)


class TestMeasuringScripts(unittest.TestCase):
    def script(self, name: str, *arguments: str) -> str:
        """Run a script in this process; return its output."""
        path, out = str(Path(theano.__file__).parent / "misc" / f"{name}.py"), io.StringIO()
        with (
            mock.patch("sys.argv", [path, *arguments]),
            contextlib.redirect_stdout(out),
            self.assertRaises(SystemExit) as ended,
        ):
            runpy.run_path(path, run_name="__main__")
        self.assertEqual(ended.exception.code, 0)
        return out.getvalue()

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

    def test_loops_in_threads(self) -> None:
        lines = self.script("elemwise_openmp_speedup", "-N", "3000", "--iter", "3").splitlines()
        self.assertEqual([line.split()[0] for line in lines], ["cheap", "costly"])
        self.assertIn("on 3000 elements", lines[0])
