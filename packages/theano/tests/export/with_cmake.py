"""The example in C and C++, built by CMake; `nox -s export` runs this where CMake, make and a C++ compiler are."""

from __future__ import annotations

import subprocess
from pathlib import Path

from .harness import STRICT
from .test_export_programs import Example, run


class TestBuilds(Example):
    """Training in C, and prediction in C++."""

    def check(self, programs: str) -> None:
        """Run both programs, and compare their results with those of Python."""
        state = self.train(programs)
        result = run(f"{programs}/predict_rows", "data.txt", state, folder=self.folder)
        self.assertEqual(result.strip(), self.wanted[1])
        Path(self.folder, "wrong.state").write_bytes(b"another state")
        command = [f"{programs}/predict_rows", "data.txt", "wrong.state"]
        refused = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual((refused.returncode, refused.stderr), (1, "no parameters of this model\n"))

    def test_compilers(self) -> None:
        """Compiled by hand, where every warning is an error; C++ of 2011."""
        here, strict = self.folder, [word for word in STRICT if not word.startswith("-std")]
        run("gcc", *STRICT, "-O2", "-c", "predict.c", folder=here)
        run("gcc", *STRICT, "-O2", "train.c", "step.c", "-o", "train", "-lm", folder=here)
        run(
            "g++",
            "-std=c++11",
            *strict,
            "-O2",
            "predict_rows.cpp",
            "predict.o",
            "-o",
            "predict_rows",
            "-lm",
            folder=here,
        )
        self.check(here)

    def test_cmake(self) -> None:
        """Built by CMake."""
        run("cmake", "-S", ".", "-B", "build", folder=self.folder)
        run("cmake", "--build", "build", folder=self.folder)
        self.check(f"{self.folder}/build")
