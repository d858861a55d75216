"""Functions that are cached on disk, tested in a process of its own.

Registrations of other tests in this process (rewrites that are closures, say) would count as missing keys. The process
has a compile directory of its own too, since these tests look at which functions lie there.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from theano_gpuarray.contexts import DeviceUnavailable, open_context
from theano_testing.tiers import slow

TESTS = Path(__file__).resolve().parents[1]


def device() -> str:
    """Return a device that computes, or the one that only counts."""
    try:
        return open_context("opencl").devname
    except DeviceUnavailable:
        return "null0"


@slow
class CachedFunctions(unittest.TestCase):
    def check(self, name: str, count: int, flags: str = "") -> None:
        command = [sys.executable, "-m", "nose2", "-s", TESTS.name, f"function_cache.{name}"]
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        all_flags = ",".join(filter(None, [os.environ.get("THEANO_FLAGS"), f"base_compiledir={folder.name}", flags]))
        environ = {**os.environ, "THEANO_FLAGS": all_flags}
        done = subprocess.run(command, cwd=TESTS.parent, env=environ, capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr)
        ran = re.search(r"Ran (\d+) tests", done.stderr)
        assert ran is not None, done.stderr
        self.assertGreaterEqual(int(ran[1]), count)

    def test_all_cases(self) -> None:
        self.check("cached_functions", 35)

    def test_what_happens_before_functions_are_stored(self) -> None:
        self.check("stored_functions", 22)

    def test_all_cases_of_later_looks(self) -> None:
        self.check("restored_functions", 21)

    def test_all_cases_of_c_code_and_flags(self) -> None:
        self.check("coded_functions", 9)

    def test_all_cases_of_code_elsewhere(self) -> None:
        self.check("code_elsewhere", 4)

    def test_all_cases_under_stress(self) -> None:
        self.check("stressed_functions", 6)

    def test_all_cases_on_a_device(self) -> None:
        self.check("cached_device_functions", 14, f"device={device()},force_device=True,print_active_device=False")


if __name__ == "__main__":
    unittest.main()
