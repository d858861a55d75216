"""Functions that are cached on disk, tested in a process of its own.

What other tests have registered in this one (rewrites that are closures, say) would count as missing keys.
"""

from __future__ import annotations

import re
import subprocess
import sys
import unittest
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]


class CachedFunctions(unittest.TestCase):
    def check(self, name: str, count: int) -> None:
        command = [sys.executable, "-m", "nose2", "-s", TESTS.name, f"function_cache.{name}"]
        done = subprocess.run(command, cwd=TESTS.parent, capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr)
        ran = re.search(r"Ran (\d+) tests", done.stderr)
        assert ran is not None, done.stderr
        self.assertGreaterEqual(int(ran[1]), count)

    def test_all_cases(self) -> None:
        self.check("cached_functions", 35)

    def test_all_cases_under_stress(self) -> None:
        self.check("stressed_functions", 4)


if __name__ == "__main__":
    unittest.main()
