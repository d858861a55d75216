"""The chapters of the manual and medium programs in the style of 2015, each a program under ``examples/``."""

from __future__ import annotations

import importlib
import io
import subprocess
import sys
import unittest
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from theano_testing.tiers import slow

FOLDER = Path(__file__).resolve().parents[3] / "examples"

#: Chapters that print one line, always the same.
LAST_LINES = {
    "c_ops": "C ops: 3 pairs of types from one file",
    "conditions": "conditions: 2 of 4 branches were computed",
    "configuration": "configuration: 2 flags of our own, 3 sources",
    "first_steps": "first steps: 5 modes, one result",
    "graphs": "graphs: 3 nodes became 1",
    "library": "library: 6 chapters agree with NumPy",
    "memory": "memory: copies by default, borrowed where asked",
    "multicore": "cores: 4 threads called one function",
    "profiling": "profiling: 3 calls; a report of some lines",
    "saving": "saving: 2 files, 1 archive, 3 copies",
    "testing": "testing: 6 tests passed",
    "typed_lists": "typed lists: 3 rows of different lengths",
}


def run(name: str) -> tuple[Any, str]:
    """Run the program of a name; return the result of its `main` and its output."""
    if str(FOLDER) not in sys.path:
        sys.path.append(str(FOLDER))
    printed = io.StringIO()
    with redirect_stdout(printed):
        result = importlib.import_module(name).main()
    return result, printed.getvalue()


class TestChapters(unittest.TestCase):
    """Each program checks its results itself; its output shows that it went to its end."""

    def test_functions(self) -> None:
        self.assertIn("state: 35 in one till, 11 in the other", run("chapter_functions")[1])

    def test_derivatives(self) -> None:
        self.assertIn("products: [13.0, 49.0, 24.0]", run("chapter_derivatives")[1])

    def test_shapes(self) -> None:
        self.assertIn("subsets: [[1.0, 2.0], [0.0, 0.0], [4.0, 5.0], [0.0, 0.0]]", run("chapter_shapes")[1])

    def test_random_numbers(self) -> None:
        self.assertIn("streams: 2", run("chapter_random")[1])

    def test_own_ops(self) -> None:
        self.assertEqual(run("chapter_own_ops")[1], "own ops: 4 tests passed\n")

    def test_own_type(self) -> None:
        self.assertEqual(run("chapter_own_type")[1], "own type: 272.625 each\n")

    def test_debugging(self) -> None:
        self.assertEqual(run("chapter_debugging")[1], "debugging: every mistake was told\n")

    def test_rewriting(self) -> None:
        self.assertIn("rewriting: 3 additions, then 1", run("chapter_rewriting")[1])

    @slow
    def test_the_last_lines_of_other_chapters(self) -> None:
        for name, line in LAST_LINES.items():
            with self.subTest(name):
                self.assertEqual(run(f"chapter_{name}")[1], line + "\n")

    def test_drawing(self) -> None:
        self.assertRegex(run("chapter_printing")[1], r"^printing: formulas, trees, pages; (no|drawn by) Graphviz")

    def test_each_chapter_is_run(self) -> None:
        text = Path(__file__).read_text(encoding="utf-8")
        for path in FOLDER.glob("chapter_*.py"):
            self.assertTrue(path.stem.removeprefix("chapter_") in LAST_LINES or f'"{path.stem}"' in text, path.stem)

    @slow
    def test_as_a_script(self) -> None:
        done = subprocess.run(
            [sys.executable, str(FOLDER / "chapter_functions.py")],
            check=False,
            capture_output=True,
            text=True,
            timeout=600,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("prices: 20.0", done.stdout)


class TestProgramsOf2015(unittest.TestCase):
    def test_a_denoising_autoencoder(self) -> None:
        (before, after), printed = run("denoising_autoencoder")
        self.assertLess(after, before / 2)
        self.assertRegex(printed, r"^cost \d+\.\d\d -> \d+\.\d\d; wrong pixels")

    @slow
    def test_a_recurrent_net_unrolled_in_python(self) -> None:
        right, _ = run("unrolled_rnn")
        self.assertGreater(right, 0.97)

    def test_regression_with_a_gaussian_process(self) -> None:
        (cost, error), _ = run("gaussian_process")
        self.assertLess(cost, 0)
        self.assertLess(error, 0.25)
