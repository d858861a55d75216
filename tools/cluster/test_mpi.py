"""`theano.distributed` with two processes of MPI."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import cluster_models as models
import numpy as np

from theano import distributed

HERE = Path(__file__).resolve().parent
EXAMPLE = HERE.parents[1] / "examples" / "distributed_digits.py"


def start(count: int, *command: str) -> str:
    """Run a Python program in `count` processes; Open MPI may start more of them than there are processors."""
    environment = {
        **os.environ,
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
        "PYTHONPATH": os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH", "")])),
    }
    beside = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    mpiexec = shutil.which("mpiexec", path=beside)
    assert mpiexec is not None, "mpiexec was not found; hint: pip install mpich"
    line = [mpiexec, "-n", str(count), sys.executable, *command]
    done = subprocess.run(line, capture_output=True, text=True, timeout=400, env=environment, check=False)
    if done.returncode:
        raise AssertionError(f"exit status {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def results(*command: str) -> list[dict[str, Any]]:
    """Return the report of each process."""
    (line,) = (line for line in start(2, *command).splitlines() if line.startswith("["))
    rows: list[dict[str, Any]] = json.loads(line)
    return rows


def drawn() -> list[Any]:
    with ThreadPoolExecutor(1) as pool:
        return distributed.map(models.draw(), [float(i) for i in range(5)], pool)


class TestTwoProcesses(unittest.TestCase):
    found: list[dict[str, Any]] = []

    @classmethod
    def setUpClass(cls) -> None:
        cls.found = results(str(HERE / "mpi_program.py"))

    def test_a_step_in_parts_is_the_step_of_the_whole(self) -> None:
        costs, params = models.whole()
        self.assertEqual(len(self.found), 2)
        for process in self.found:
            np.testing.assert_allclose(process["train"][0], costs, rtol=1e-12)
            for a, b in zip(process["train"][1], params, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-12)
            np.testing.assert_allclose(process["parts"], costs[:1], rtol=1e-12)

    def test_all_processes_have_the_same_parameters(self) -> None:
        self.assertEqual(self.found[0]["train"], self.found[1]["train"])

    def test_errors_are_told_by_all(self) -> None:
        first, second = (process["errors"] for process in self.found)
        self.assertIn("step 0 failed in 1 of 2 processes", first[0])
        self.assertIn("  in process 1 of 2, in step 0, both counted from 0", second[0])
        for _, error, cost in (first, second):
            self.assertIn("ValueError: not 4\n  in element 4 of the arguments of map, counted from 0: (4, 4)", error)
            self.assertAlmostEqual(cost, models.whole()[0][0], places=12)

    def test_processes_that_come_apart_tell(self) -> None:
        for process in self.found:
            batch, state, value, cost = process["apart"]
            self.assertIn("ValueError: the processes gave batches of the same length (7 rows)", batch)
            self.assertIn("RuntimeError: the processes have different parameters", state)
            self.assertIn("RuntimeError: the processes have different parameters", value)
            self.assertAlmostEqual(cost, models.whole()[0][0], places=12)

    def test_items(self) -> None:
        for process in self.found:
            np.testing.assert_array_equal(process["mapped"], drawn())

    def test_processes_that_wait_for_work(self) -> None:
        (row,) = results("-m", "mpi4py.futures", str(HERE / "mpi_program.py"), "pool")
        np.testing.assert_array_equal(row["pooled"], drawn())


class TestExample(unittest.TestCase):
    def test_training_goes_on_from_what_was_saved(self) -> None:
        losses = []
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "state.npz")
            for count, epochs, more in ((2, 1, ["--save", path]), (2, 2, ["--save", path]), (2, 2, [])):
                said = start(count, str(EXAMPLE), "--engine", "mpi", "--epochs", str(epochs), *more)
                losses.append(float(re.findall(r"train loss: +([\d.]+)", said)[0]))
        # One epoch and another one are two.
        self.assertAlmostEqual(losses[1], losses[2], places=5)
        self.assertLess(losses[1], losses[0])
