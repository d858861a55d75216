"""The how-to pages are true: their programs run, and print the text below them."""

from __future__ import annotations

import contextlib
import doctest
import functools
import io
import os
import re
import subprocess
import sys
import unittest
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

import theano.distributed
import theano.export
import theano.functional
import theano.tensor as T
from theano_testing.tiers import slow

PAGES = Path(__file__).resolve().parents[3] / "docs" / "howto"
_PEERS = ("jax", "numpy", "pytensor", "pytorch")
#: Pages outside of that folder whose programs are run, too.
FRONT = ("index.md", "cheat_sheet.md", "faq.md", *(f"from/{name}.md" for name in _PEERS))
#: Pages about packages above this one, whose tests run them.
ELSEWHERE = ("pymc.md",)
#: The output of a program between two blocks of text.
MARK = "-- the text below was reached --"
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
#: The package that each program of the page about layers may load at most, with those below it.
LAYERS = ("graph", "optimize", "linker_c", "gpuarray", "tensor", "scan", "sparse", "testing")


def blocks(name: str) -> list[tuple[str, str]]:
    """Return the programs and printed texts of a page, each with its language."""
    text = (PAGES / name).read_text(encoding="utf-8")
    return re.findall(r"^```(python|text)\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


def run(program: str) -> subprocess.CompletedProcess[str]:
    """Run a program as a file, in an empty folder and a process of its own."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "page.py").write_text(program, encoding="utf-8")
        return subprocess.run(
            [sys.executable, "-W", "error", "page.py"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )


def run_here(parts: list[str]) -> list[str]:
    """Run the parts of a program in this process and an empty folder; return the output of each."""
    page = ModuleType("page")
    printed: list[str] = []
    before, line = Path.cwd(), 0
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        os.chdir(folder)
        sys.modules["page"] = page  # pickles look their classes up there
        try:
            for part in parts:
                out = io.StringIO()
                with contextlib.redirect_stdout(out):
                    exec(compile("\n" * line + part, "page.py", "exec"), vars(page))
                printed.append(out.getvalue())
                line += part.count("\n") + 1
        finally:
            os.chdir(before)
            del sys.modules["page"]
    return printed


def parts_of(name: str) -> tuple[list[str], list[str]]:
    """Return the programs of a page up to each text that it shows, and these texts."""
    parts, shown = [""], []
    for language, text in blocks(name):
        if language == "python":
            parts[-1] += "\n" * bool(parts[-1]) + text
        else:
            shown.append(text)
            parts.append("")
    return parts, shown


class TestHowTo(unittest.TestCase):
    def run_page(self, name: str, alone: bool = False) -> None:
        """Run all programs of a page as one; its output has to be the one on the page."""
        parts, shown = parts_of(name)
        if alone:
            done = run(f"\nprint({MARK!r})\n".join(parts))
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            printed = done.stdout.split(MARK + "\n")
        else:
            printed = run_here(parts)
        self.assertEqual(printed.pop(), "", "the page does not show the last output")
        for text, item in zip(shown, printed, strict=True):
            self.assertTrue(doctest.OutputChecker().check_output(text, item, FLAGS), f"{text}\nprinted:\n{item}")

    def test_training(self) -> None:
        self.run_page("training.md")

    def test_saving(self) -> None:
        self.run_page("saving.md")

    def test_export(self) -> None:
        self.run_page("export.md")

    def test_batches(self) -> None:
        self.run_page("batches.md")

    def test_scan(self) -> None:
        self.run_page("scan.md")

    def test_functional(self) -> None:
        self.run_page("functional.md")

    def test_nan(self) -> None:
        self.run_page("nan.md")

    def test_own_ops(self) -> None:
        self.run_page("own_ops.md")

    def test_c_ops(self) -> None:
        self.run_page("c_ops.md")

    @slow
    def test_rewrites(self) -> None:
        # Its registrations stay.
        self.run_page("rewrites.md", alone=True)

    def test_testing_ops(self) -> None:
        self.run_page("testing_ops.md")

    def test_profiling(self) -> None:
        self.run_page("profiling.md")

    def test_seeing(self) -> None:
        self.run_page("seeing.md")

    def test_parallel(self) -> None:
        self.run_page("parallel.md")

    @slow
    def test_devices(self) -> None:
        # The device that it opens stays the default one.
        self.run_page("devices.md", alone=True)

    @slow
    def test_device_ops(self) -> None:
        self.run_page("device_ops.md", alone=True)

    def test_distributed(self) -> None:
        self.run_page("distributed.md")

    @slow
    def test_each_layer_is_used_without_those_above(self) -> None:
        result = blocks("one_layer.md")
        programs = [text for language, text in result if language == "python"]
        layers = [name for name in LAYERS if name != "gpuarray"]
        for layer, program in zip(layers, programs, strict=True):
            after = result[result.index(("python", program)) + 1 :][:1]
            shown = "".join(text for language, text in after if language == "text")
            done = run(f"{program}\nimport sys\nprint({MARK!r}, *sys.modules)")
            with self.subTest(layer):
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                printed, _, modules = done.stdout.partition(MARK)
                self.assertTrue(doctest.OutputChecker().check_output(shown, printed, FLAGS), printed)
                loaded = {name.removeprefix("theano_") for name in modules.split() if name.startswith("theano")}
                above = LAYERS[LAYERS.index(layer) + 1 :] if layer != "testing" else ("scan", "sparse")
                self.assertFalse(loaded & {*above, "theano"})

    def test_front_pages(self) -> None:
        for page in FRONT:
            with self.subTest(page):
                self.run_page(f"../{page}")

    def test_names_in_tables_exist(self) -> None:
        names = {"T": T, "theano": theano}
        for page in FRONT:
            text = (PAGES.parent / page).read_text(encoding="utf-8")
            for full in re.findall(r"`((?:T|theano)\.\w[\w.]*)", text):
                root, *parts = full.rstrip(".").split(".")
                with self.subTest(f"{page}: {full}"):
                    self.assertIsNotNone(functools.reduce(getattr, parts, names[root]))

    def test_every_page_is_run(self) -> None:
        source = Path(__file__).read_text(encoding="utf-8")
        for path in PAGES.glob("*.md"):
            if path.name in ELSEWHERE:
                continue
            self.assertIn(f'"{path.name}"', source)


if __name__ == "__main__":
    unittest.main()
