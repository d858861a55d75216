"""Whole programs in C and C++ with exported functions."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from .harness import STRICT
from .other_machines import MODELS, compare

EXAMPLE = Path(__file__).resolve().parents[4] / "examples" / "export"


def run(*command: object, folder: str) -> str:
    """Run a program, and return what it prints."""
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{words}\n{done.stdout}{done.stderr}"
    return done.stdout


class TestExample(unittest.TestCase):
    """Training and prediction without Python."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.wanted = run(sys.executable, EXAMPLE / "logistic.py", self.folder, folder=self.folder).strip().split(", ")

    def check(self, programs: str) -> None:
        """Run both programs, and compare what they find with what Python has found."""
        state = str(Path(self.folder, "trained.state"))
        trained = run(f"{programs}/train", "data.txt", 200, state, folder=self.folder)
        found = run(f"{programs}/predict_rows", "data.txt", state, folder=self.folder)
        self.assertEqual([trained.strip(), found.strip()], self.wanted)

    def test_compilers(self) -> None:
        """Compiled by hand, where every warning is an error; C++ of 2011."""
        here, strict = self.folder, [word for word in STRICT if not word.startswith("-std")]
        for name in ("step", "predict", "train"):
            run("gcc", *STRICT, "-O2", "-c", f"{name}.c", folder=here)
        run("g++", "-std=c++11", *strict, "-O2", "-c", "predict_rows.cpp", folder=here)
        run("gcc", "train.o", "step.o", "-o", "train", "-lm", folder=here)
        run("g++", "predict_rows.o", "predict.o", "-o", "predict_rows", "-lm", folder=here)
        self.check(here)
        refused = subprocess.run(["./train", "data.txt"], cwd=here, capture_output=True, text=True, check=False)
        self.assertEqual((refused.returncode, refused.stderr), (2, "usage: train DATA STEPS STATE\n"))
        Path(here, "wrong.state").write_bytes(b"another state")
        refused = subprocess.run(
            ["./predict_rows", "data.txt", "wrong.state"], cwd=here, capture_output=True, text=True, check=False
        )
        self.assertEqual((refused.returncode, refused.stderr), (1, "no parameters of this model\n"))

    @unittest.skipIf(shutil.which("cmake") is None, "cmake is not installed")
    def test_cmake(self) -> None:
        """Built by CMake."""
        run("cmake", "-S", ".", "-B", "build", folder=self.folder)
        run("cmake", "--build", "build", folder=self.folder)
        self.check(f"{self.folder}/build")


class TestModels(unittest.TestCase):
    """Programs that print what a model computes."""

    def test_models(self) -> None:
        """The same numbers as the function's; `other_machines` does this for other processors."""
        for name in MODELS:
            with self.subTest(name):
                compare(name, ["gcc"])
