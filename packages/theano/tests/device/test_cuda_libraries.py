"""Functions whose layers cuDNN computes, and whose linear algebra cuSOLVER does, on stand-ins for CUDA."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

from theano_testing.tiers import slow
from theano_testing_workshop.cuda import build, link_libraries, needs_compilers

FOLDER = Path(__file__).resolve().parent
FAKES = FOLDER.parents[2] / "gpuarray" / "tests" / "cuda" / "fakes"


@slow
@needs_compilers
class TestLibraries(unittest.TestCase):
    def check(self, module: str, name: str) -> None:
        """Run the tests of a module in a process in which one further library of CUDA is a stand-in, too."""
        library = build(*sorted(map(str, FAKES.glob("*.c"))))
        with TemporaryDirectory() as folder:
            link_libraries(Path(folder), library)
            (Path(folder) / name).symlink_to(library)
            environment = {"THEANO_TEST_FAKE": library, "THEANO_FLAGS": f"gpuarray.library_path={folder}"}
            done = subprocess.run(
                [sys.executable, "-X", "faulthandler", "-m", "unittest", "-b", module],
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
        written = (FOLDER / f"{module}.py").read_text()
        self.assertEqual(int(count[1]), written.count("    def test_"))

    def test_layers(self) -> None:
        self.check("dnn_library_cases", "libcudnn.so.9")

    def test_linear_algebra(self) -> None:
        self.check("matrix_library_cases", "libcusolver.so.11")


if __name__ == "__main__":
    unittest.main()
