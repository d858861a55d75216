"""The programs of the manual with PyCUDA, as they are written there, on a stand-in for PyCUDA."""

from __future__ import annotations

import subprocess
import sys
import unittest
from pathlib import Path

from theano_testing.tiers import slow

SESSION = Path(__file__).parent / "pycuda_programs" / "session.py"


class TestPyCUDA(unittest.TestCase):
    @slow
    def test_programs(self) -> None:
        done = subprocess.run([sys.executable, str(SESSION)], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("(4, 5)", done.stdout)


if __name__ == "__main__":
    unittest.main()
