"""Functions whose layers cuDNN computes, on the stand-in for CUDA that `gpuarray` is tested with."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

FOLDER = Path(__file__).resolve().parent
FAKES = FOLDER.parents[2] / "gpuarray" / "tests" / "cuda" / "fakes"


class TestLibrary(unittest.TestCase):
    def test_cases(self) -> None:
        with TemporaryDirectory() as folder:
            library = Path(folder) / "libfake.so"
            sources = sorted(map(str, FAKES.glob("*.c")))
            subprocess.run(["gcc", "-std=gnu11", "-O1", "-shared", "-fPIC", *sources, "-lm", "-o", library], check=True)
            done = subprocess.run(
                [sys.executable, "-X", "faulthandler", "-m", "unittest", "-b", "dnn_library_cases"],
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
        written = (FOLDER / "dnn_library_cases.py").read_text()
        self.assertEqual(int(count[1]), written.count("    def test_"))


if __name__ == "__main__":
    unittest.main()
