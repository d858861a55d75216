"""cuBLASLt, cuFFT and cuSOLVER on stand-ins: their arguments, and that all works without them."""

from __future__ import annotations

import re
import unittest
from pathlib import Path

from theano_testing.gpuarray import has_opencl
from theano_testing.tiers import slow

from ._fake import fake_library, run

ASK = """
from theano_gpuarray import _runtime
context = _runtime.open_driver("cuda", {found!r}).open(0)
print(*(context.workspace(*what) for what in (
    ("epilogue", "float32", (0, 0, 8, 8, 8, 8, 8, 8, 4, 0, 0, 0, 0)), ("rfft", "float32", (2, 8)),
    ("potrf", "float32", (8,)))))
"""
NEEDS = "@needs_opencl\nclass "
ROLES = ("cublaslt", "cufft", "cusolver")


@slow
class TestOthers(unittest.TestCase):
    def check(self, module: str) -> None:
        folder = Path(__file__).parent
        command = ["-X", "faulthandler", "-m", "unittest", "-b", f"{folder.name}.{module}"]
        done = run(command, PYTHONPATH=str(folder.parent))
        self.assertEqual(done.returncode, 0, done.stderr)
        count = re.search(r"Ran (\d+) tests", done.stderr)
        assert count is not None
        written = (folder / f"{module}.py").read_text()
        expected = written.count("    def test_")
        if not has_opencl():
            expected -= sum(part.partition("\nclass ")[0].count("    def test_") for part in written.split(NEEDS)[1:])
        self.assertEqual(int(count[1]), expected)

    def test_cases(self) -> None:
        self.check("others_cases")

    def test_epilogues(self) -> None:
        self.check("epilogue_cases")

    def test_matrices(self) -> None:
        self.check("matrix_cases")


class TestLibraries(unittest.TestCase):
    def asked(self, **result: str) -> str:
        fake = fake_library()
        done = run(["-c", ASK.format(found={"cuda": fake, "nvrtc": fake, **result})])
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    @slow
    def test_each_is_an_extra(self) -> None:
        self.assertEqual(self.asked(), "None None None")
        for k, role in enumerate(ROLES):
            expected = ["None"] * 3
            expected[k] = ("256", "64", "32")[k]
            self.assertEqual(self.asked(**{role: fake_library()}), " ".join(expected))

    @slow
    def test_files_that_are_no_such_libraries_are_not_used(self) -> None:
        for other in ("/none", "libm.so.6"):
            self.assertEqual(self.asked(**dict.fromkeys(ROLES, other)), "None None None")
