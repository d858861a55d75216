"""Functions whose layers cuDNN computes, on stand-ins for CUDA and for cuDNN."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

from theano_testing.cuda import build, link_libraries, needs_compilers

FOLDER = Path(__file__).resolve().parent
FAKES = FOLDER.parents[2] / "gpuarray" / "tests" / "cuda" / "fakes"


@needs_compilers
class TestLibrary(unittest.TestCase):
    def test_cases(self) -> None:
        library = build(*sorted(map(str, FAKES.glob("cudnn*.c"))))
        with TemporaryDirectory() as folder:
            link_libraries(Path(folder), library)
            (Path(folder) / "libcudnn.so.9").symlink_to(library)
            environment = {"THEANO_TEST_FAKE": library, "THEANO_FLAGS": f"gpuarray.library_path={folder}"}
            done = subprocess.run(
                [sys.executable, "-X", "faulthandler", "-m", "unittest", "-b", "dnn_library_cases"],
                capture_output=True,
                text=True,
                env={**os.environ, **environment},
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
