"""Functions whose kernels are being compiled, in programs that end or fork meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys
import unittest
from pathlib import Path

from .tiers_support import TieredTestCase, path_of_modules

#: Says that it runs, and never ends by itself.
HANGING = "echo $$ > {gate}\nexec sleep 1000\n"
BEGIN = """
import os, sys, threading, time
import numpy as np
from small_arrays import add, vector
from theano_linker_c import function
x = vector("x")
f = function([x], add(x, x), mode="FAST_RUN")
gate = sys.argv[1]
"""
END = """
while not os.path.exists(gate) or not open(gate).read().strip():
    f(np.ones(3))
    time.sleep(0.01)
print(f(np.ones(3)), f.ready())
"""
FORK = """
import warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of Python from 3.12 on: there are threads
child = os.fork()
if child == 0:
    ready = f.ready(wait=True) and f(np.ones(3)).tolist() == [2, 2, 2]
    os._exit(0 if ready else 1)
assert not f.ready()
open(gate, "w").close()
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 0, status
assert f.ready(wait=True)
print(f(np.ones(3)))
"""


class TestProcesses(TieredTestCase):
    def run_program(self, text: str) -> str:
        """Run a program with caches of its own, and return its output."""
        flags = f"tiered=True,cxx={self.folder / 'compiler'},compiledir={self.folder / 'compiled'}"
        environment = {**os.environ, "PYTHONPATH": path_of_modules(), "THEANO_FLAGS": flags, "THEANORC": os.devnull}
        done = subprocess.run(
            [sys.executable, "-c", BEGIN + text, str(self.gate)],
            env=environment,
            cwd=Path(__file__).parents[1],
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.strip()

    def test_the_end_does_not_wait_for_the_compiler(self) -> None:
        self.compiler(HANGING)
        self.assertEqual(self.run_program(END), "[2. 2. 2.] False")
        with self.assertRaises(ProcessLookupError):
            os.kill(int(self.gate.read_text()), 0)
        self.assertEqual(list((self.folder / "compiled" / "tmp").iterdir()), [])
        self.assertFalse((self.folder / "compiled" / "failed").exists())

    def test_both_processes_of_a_fork_become_native(self) -> None:
        self.assertEqual(self.run_program(FORK), "[2. 2. 2.]")

    def test_a_program_that_ends_at_once(self) -> None:
        self.assertEqual(self.run_program("print(f(np.ones(3)))"), "[2. 2. 2.]")


if __name__ == "__main__":
    unittest.main()
