"""The demo and the benchmarks, run as a user runs them."""

from __future__ import annotations

import importlib
import io
import json
import re
import struct
import subprocess
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import TestCase, mock

from theano_testing.tiers import slow

ROOT = Path(__file__).resolve().parents[3]
DEMO = ROOT / "examples" / "logistic_regression.py"
BENCH = ROOT / "benchmarks" / "run.py"


def load(script: Path) -> ModuleType:
    """Import a script that has its helper modules beside it."""
    folder = str(script.parent)
    if folder not in sys.path:
        sys.path.append(folder)
    return importlib.import_module(script.stem)


class ScriptCase(TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def refuse(self, script: Path, arguments: list[str]) -> str:
        """Give a command line that is wrong; return the one line that it answers with."""
        errors = io.StringIO()
        with self.assertRaises(SystemExit) as caught, redirect_stderr(errors):
            load(script).main(arguments)
        self.assertEqual(caught.exception.code, 2)
        line, others = errors.getvalue().split("\n", 1)
        self.assertEqual(others, "")
        self.assertTrue(line.startswith(f"{script.name}: error: "), line)
        return line


class TestDemo(ScriptCase):
    @slow
    def test_it_learns_the_digits_and_draws(self) -> None:
        picture = self.folder / "new" / "digits.png"
        command = [sys.executable, str(DEMO), "--output", str(picture)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"(?s)digits.*compile time: +\d.*time per step: +\d.* ms.*train accuracy: +0\.9")
        accuracy = re.search(r"test accuracy: +([\d.]+)", done.stdout)
        assert accuracy is not None, done.stdout
        self.assertGreater(float(accuracy[1]), 0.93)
        data = picture.read_bytes()
        self.assertEqual(data[:8], b"\x89PNG\r\n\x1a\n")
        width, height = struct.unpack(">II", data[16:24])
        self.assertTrue(width > 1000 and height > 500, (width, height))

    @slow
    def test_it_learns_the_tumours_in_another_mode_and_format(self) -> None:
        picture, said = self.folder / "cancer.svg", io.StringIO()
        arguments = f"--data cancer --steps 300 --mode FAST_COMPILE --seed 5 --output {picture}".split()
        with redirect_stdout(said), redirect_stderr(io.StringIO()):
            self.assertEqual(load(DEMO).main(arguments), 0)
        accuracy = re.search(r"test accuracy: +([\d.]+)", said.getvalue())
        assert accuracy is not None, said.getvalue()
        self.assertGreater(float(accuracy[1]), 0.93)
        self.assertIn("<svg", picture.read_text(encoding="utf-8"))

    def test_the_same_seed_gives_the_same_run(self) -> None:
        runs = []
        for _ in range(2):
            said, demo = io.StringIO(), load(DEMO)
            with redirect_stdout(said), redirect_stderr(io.StringIO()), mock.patch.object(demo, "draw"):
                demo.main(["--data", "cancer", "--steps", "20", "--output", str(self.folder / "x.png")])
            runs.append(re.findall(r"accuracy: +([\d.]+)", said.getvalue()))
        self.assertEqual(runs[0], runs[1])
        self.assertEqual(len(runs[0]), 2)

    @slow
    def test_steps_that_are_too_long_end_with_advice(self) -> None:
        errors, picture = io.StringIO(), self.folder / "x.png"
        with redirect_stdout(io.StringIO()), redirect_stderr(errors):
            code = load(DEMO).main(["--learning-rate", "1e9", "--steps", "30", "--output", str(picture)])
        self.assertEqual(code, 1)
        self.assertRegex(errors.getvalue().splitlines()[-1], "error: the loss .*a smaller --learning-rate")
        self.assertFalse(picture.exists())

    def test_wrong_options_get_one_line(self) -> None:
        (self.folder / "file").write_text("")
        for arguments, reason in (
            (["--steps", "-3"], "--steps: -3 is not above 0"),
            (["--steps", "many"], "--steps: 'many' is not a whole number"),
            (["--learning-rate", "0"], "--learning-rate: 0 is not a finite number above 0"),
            (["--learning-rate", "nan"], "--learning-rate: nan is not a finite number above 0"),
            (["--learning-rate", "x"], "--learning-rate: 'x' is not a number"),
            (["--seed", "-1"], "--seed: -1 is not from 0"),
            (["--seed", "1.5"], "--seed: '1.5' is not a whole number"),
            (["--mode", "NO_MODE"], "--mode: .*NO_MODE"),
            (["--data", "iris"], "--data: .*'iris'"),
            (["--output", str(self.folder / "file" / "x.png")], "--output: cannot write .*: "),
            (["--output", str(self.folder)], "--output: .* ends in none of .*png"),
            (["--output", "picture.txt"], "--output: 'picture.txt' ends in none of .*png"),
            (["--nonsense"], "--nonsense"),
            (["--step", "3"], "--step"),
        ):
            with self.subTest(arguments):
                self.assertRegex(self.refuse(DEMO, arguments), reason)

    @slow
    def test_help_explains_each_option(self) -> None:
        said = io.StringIO()
        with self.assertRaises(SystemExit) as caught, redirect_stdout(said):
            load(DEMO).main(["--help"])
        self.assertEqual(caught.exception.code, 0)
        for option in ("--data", "--steps", "--learning-rate", "--mode", "--output", "--seed"):
            self.assertRegex(said.getvalue(), rf"(?s)  {option} \S+\s+\S+")


class TestReadme(TestCase):
    def test_the_first_example_learns(self) -> None:
        program = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
        assert program is not None, "the README has no example"
        names: dict[str, Any] = {}
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(program[1], names)
        self.assertLess(float(names["loss"]), 0.2)
        self.assertEqual([value > 0 for value in names["w"].get_value()], [True, False, True])
        said = re.search(r"# (.*)$", program[1])
        assert said is not None, "the last line names the output"
        digits = r"\d*".join(map(re.escape, said[1].split("...")))
        self.assertRegex(printed.getvalue(), rf"^{digits}\s*$")


class TestBenchmarks(ScriptCase):
    @slow
    def test_a_quick_look_writes_both_files(self) -> None:
        command = [sys.executable, str(BENCH), "--quick", "--only", "call_overhead", "--output", str(self.folder)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn((self.folder / "bench.md").read_text(encoding="utf-8").strip(), done.stdout)
        facts = json.loads((self.folder / "bench.json").read_text(encoding="utf-8"))
        row = facts["rows"][0]
        self.assertRegex(row["case"], "f.a, b. = a [+] b")
        self.assertTrue(0 < row["seconds"]["theano"] < 1e-3, row)
        for peer in ("jax", "pytensor", "pytensor (c)"):
            self.assertTrue(row["seconds"][peer] == "not installed" or row["seconds"][peer] > 0)

    def test_contenders_take_turns_and_absent_ones_get_a_note(self) -> None:
        harness = load(BENCH.with_name("harness.py"))
        calls: list[str] = []
        contenders = {"one": lambda: calls.append("one"), "two": lambda: calls.append("two"), "three": None}
        options = harness.Options(rounds=4, turn_seconds=0.0)
        results = harness.compare(contenders, options)
        self.assertEqual(results["three"], "not installed")
        self.assertEqual(calls[-8:], ["one", "two", "two", "one"] * 2)

    def test_ratios_and_aims(self) -> None:
        row = load(BENCH.with_name("harness.py")).Row(
            "case", {"theano": 2e-6, "jax": 3e-6, "numpy": "not installed"}, limit=1.5e-6, beat=("jax",)
        )
        self.assertEqual((row.ratio("jax"), row.ratio("numpy")), (1.5, None))
        self.assertEqual((row.verdict(), row.aim()), ("no", "at most 1.5 µs, not slower than jax"))
        row.results["theano"] = 1e-6
        self.assertEqual(row.verdict(), "yes")
        row.results["jax"] = 0.5e-6
        self.assertEqual(row.verdict(), "no")

    def test_a_process_that_fails_or_hangs_gets_a_note(self) -> None:
        harness = load(BENCH.with_name("harness.py"))
        self.assertEqual(harness.run_process(harness.Command(["-c", "print(0.5)"]), 60), 0.5)
        self.assertEqual(
            harness.run_process(harness.Command(["-c", "1 / 0"]), 60), "fails: ZeroDivisionError: division by zero"
        )
        sleep = harness.Command(["-c", "import time; time.sleep(60)"])
        self.assertEqual(harness.run_process(sleep, 0.2), "more than 0.2 s")

    def test_wrong_options_get_one_line(self) -> None:
        self.assertRegex(self.refuse(BENCH, ["--only", "nothing"]), "--only: .*'nothing'")
        self.assertRegex(self.refuse(BENCH, ["--fast"]), "--fast")
