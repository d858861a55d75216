"""Whole programs in C with exported functions."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from theano_testing.tiers import slow

from .harness import STRICT
from .other_machines import MODELS, compare

EXAMPLE = Path(__file__).resolve().parents[4] / "examples" / "export"


def run(*command: object, folder: str) -> str:
    """Run a program, and return its output."""
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{words}\n{done.stdout}{done.stderr}"
    return done.stdout


class Example(unittest.TestCase):
    """The folder of the example, with the exported files and the results of Python."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.wanted = run(sys.executable, EXAMPLE / "logistic.py", self.folder, folder=self.folder).strip().split(", ")

    def train(self, programs: str) -> str:
        """Train in C, compare with Python, and return the path of the learnt weights."""
        state = str(Path(self.folder, "trained.state"))
        trained = run(f"{programs}/train", "data.txt", 200, state, folder=self.folder)
        self.assertEqual(trained.strip(), self.wanted[0])
        return state


class TestExample(Example):
    """Training without Python."""

    @slow
    def test_training(self) -> None:
        """Compiled by hand, where every warning is an error."""
        run("gcc", *STRICT, "-O2", "train.c", "step.c", "-o", "train", "-lm", folder=self.folder)
        self.train(self.folder)
        refused = subprocess.run(["./train", "data.txt"], cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual((refused.returncode, refused.stderr), (2, "usage: train DATA STEPS STATE\n"))


class TestModels(unittest.TestCase):
    """Programs that print the results of a model."""

    @slow
    def test_models(self) -> None:
        """The same numbers as the function's; `other_machines` does this for other processors."""
        for name in MODELS:
            with self.subTest(name):
                compare(name, ["gcc"])
