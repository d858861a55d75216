"""The OpenCL driver on a stand-in for its library: its calls, and every failure of a call."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import unittest
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

FOLDER = Path(__file__).parent
OPEN = """
import ctypes, sys
from theano_gpuarray._runtime import DeviceError, open_driver
fake = ctypes.CDLL({path!r})
{before}
try:
    driver = open_driver("opencl", {{"opencl": {path!r}}})
    print(driver.count())
    driver.open(0)
except DeviceError as error:
    print(error)
"""


class TestOpenCl(unittest.TestCase):
    def setUp(self) -> None:
        scratch = TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.path = str(Path(scratch.name, "libfake.so"))

    def build(self, *flags: str) -> None:
        options = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC", *flags]
        subprocess.run(["gcc", *options, str(FOLDER / "fakes" / "opencl.c"), "-o", self.path], check=True)

    def run_python(self, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
        settings = {**os.environ, "THEANO_TEST_FAKE": self.path}
        command = [sys.executable, *arguments]
        return subprocess.run(
            command, capture_output=True, text=True, env=settings, cwd=FOLDER, check=False, timeout=600
        )

    def opened(self, before: str = "") -> str:
        done = self.run_python(["-c", OPEN.format(path=self.path, before=before)])
        self.assertEqual(0, done.returncode, done.stderr)
        return done.stdout

    def test_cases(self) -> None:
        self.build()
        done = self.run_python(["-X", "faulthandler", "-m", "unittest", "-b", "opencl_cases"])
        self.assertEqual(0, done.returncode, done.stderr)
        count = re.search(r"Ran (\d+) tests", done.stderr)
        assert count is not None
        self.assertEqual(int(count[1]), (FOLDER / "opencl_cases.py").read_text().count("    def test_"))

    def test_no_platforms(self) -> None:
        self.build()
        result = self.opened("fake.fake_platforms(0)")
        self.assertEqual("0\nthere is no device 0: opencl has 0\n  Hint: choose one below that number\n", result)

    def test_calls_at_the_start_fail(self) -> None:
        self.build()
        for name in ("clGetPlatformIDs", "clGetDeviceIDs"):
            result = self.opened(f"fake.fake_fail({name.encode()!r}, -6, 1)")
            self.assertEqual(f"{name} failed: CL_OUT_OF_HOST_MEMORY (-6)\n", result)

    def test_a_library_without_a_function(self) -> None:
        self.build("-DWITHOUT_FLUSH")
        self.assertEqual(f"the library {self.path} has no function clFlush\n", self.opened())

    def test_no_library(self) -> None:
        Path(self.path).write_text("no library")
        program = OPEN.format(path=self.path, before="").replace("fake = ", "# ")
        done = self.run_python(["-c", program])
        self.assertIn(f"the library {self.path} could not be opened\n  ", done.stdout)
