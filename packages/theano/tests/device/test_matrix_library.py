"""Functions whose linear algebra cuSOLVER computes, on the stand-in for CUDA that `gpuarray` is tested with."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

from theano_testing.cuda import build

FOLDER = Path(__file__).resolve().parent
FAKES = FOLDER.parents[2] / "gpuarray" / "tests" / "cuda" / "fakes"


class TestLibrary(unittest.TestCase):
    def test_cases(self) -> None:
        library = build(*sorted(map(str, FAKES.glob("*.c"))))
        done = subprocess.run(
            [sys.executable, "-X", "faulthandler", "-m", "unittest", "-b", "matrix_library_cases"],
            capture_output=True,
            text=True,
            env={**os.environ, "THEANO_TEST_FAKE": str(library)},
            cwd=FOLDER,
            check=False,
            timeout=500,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        count = re.search(r"Ran (\d+) tests", done.stderr)
        assert count is not None
        written = (FOLDER / "matrix_library_cases.py").read_text()
        self.assertEqual(int(count[1]), written.count("    def test_"))


if __name__ == "__main__":
    unittest.main()
