"""Files and messages at their documented places, and training in several processes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from unittest import TestCase

import numpy as np

import theano
from theano import Variable, function, tensor
from theano.gof import Generic
from theano.tensor import io
from theano_testing.tiers import slow

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "data_parallel.py"


@cache
def mpiexec() -> str | None:
    """Return the program that starts processes, or None if there is no MPI that mpi4py finds."""
    probe = subprocess.run([sys.executable, "-c", "import mpi4py.MPI"], capture_output=True, check=False)
    beside = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return None if probe.returncode else shutil.which("mpiexec", path=beside)


class TestFiles(TestCase):
    def test_the_documented_example(self) -> None:
        path = Variable(Generic(), None, None)
        x = tensor.load(path, "int64", (False,))
        fn = function([path], x * 2)
        with tempfile.TemporaryDirectory() as folder:
            stored = os.path.join(folder, "stored-array.npy")
            np.save(stored, np.arange(5))
            np.testing.assert_array_equal(fn(stored), [0, 2, 4, 6, 8])

    def test_the_documented_modes(self) -> None:
        for mode in (None, "c"):
            self.assertEqual(io.load("x.npy", "int64", (False,), mmap_mode=mode).owner.op.mmap_mode, mode)
        for mode in ("r", "r+", "w+"):
            self.assertRaises(ValueError, io.load, "x.npy", "int64", (False,), mmap_mode=mode)


@slow
class TestProcesses(TestCase):
    def run_example(self, *command: str) -> str:
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1",
            "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
        }
        line = [*command, sys.executable, str(EXAMPLE), "--data", "cancer", "--steps", "20"]
        done = subprocess.run(line, capture_output=True, text=True, timeout=600, env=environment, check=False)
        if not command and mpiexec() is None:
            self.assertEqual(done.returncode, 1)
            self.assertIn("hint: pip install", done.stderr)
            return "train loss: nothing"
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_two_processes_learn_what_one_does(self) -> None:
        alone = self.run_example()
        start = mpiexec()
        if start is None:
            self.assertIn("nothing", alone)
            return
        together = self.run_example(start, "-n", "2")
        self.assertIn("processes:      2", together)
        losses = [float(re.findall(r"train loss: +([\d.]+)", text)[0]) for text in (alone, together)]
        self.assertAlmostEqual(losses[0], losses[1], delta=1e-6)
        self.assertLess(losses[1], 0.5)

    def test_messages_are_refused_without_mpi(self) -> None:
        program = (
            "import sys; sys.modules['mpi4py'] = None\n"
            "import theano, theano.tensor as T\n"
            "x = T.dscalar('x')\n"
            "theano.function([x], T.io.send(x, 1, 2))(1.0)\n"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("pip install 'theano-stack[mpi]'", done.stderr)
        self.assertIn(theano.__name__, done.stderr)
