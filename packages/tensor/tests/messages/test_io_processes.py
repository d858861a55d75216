"""Messages between two processes that really run. Without mpi4py or MPI, the tests look at the error."""

from __future__ import annotations

import json
import unittest
from pathlib import Path
from typing import Any

import numpy as np

import theano_tensor as tt
from theano_linker_c import function
from theano_tensor import io

from .io_processes import BIG, PROGRAMS, find_mpiexec, start

HERE = Path(__file__).resolve().parent


def run_all(count: int) -> list[dict[str, Any]]:
    """Return the results of the programs in each process."""
    mpiexec = find_mpiexec()
    assert mpiexec is not None
    done = start(mpiexec, count, str(HERE / "io_processes.py"))
    if done.returncode:
        raise AssertionError(f"exit status {done.returncode}\n{done.stdout}\n{done.stderr}")
    lines = sorted(json.loads(line) for line in done.stdout.splitlines() if line.startswith("["))
    return [results for _, results in lines]


class TestWithoutMPI(unittest.TestCase):
    """The error of a machine without MPI; the tests of two processes are made where there is one."""

    def test_a_function_says_what_is_missing(self) -> None:
        x = tt.dvector("x")
        for output in (io.send(x, 0, 1), io.allreduce(x), io.broadcast(x), io.reduce(x)):
            with self.subTest(output=str(output)), self.assertRaisesRegex(ImportError, r"theano-stack\[mpi\]"):
                function([x], output)(np.ones(2))
        with self.assertRaisesRegex(ImportError, "mpi4py"):
            function([], io.recv((2,), "float64", 0, 1))()


class TestTwoProcesses(unittest.TestCase):
    results: list[dict[str, Any]] = []

    @classmethod
    def setUpClass(cls) -> None:
        cls.results = run_all(2)

    def test_all_programs_ran_in_both(self) -> None:
        self.assertEqual([set(item) for item in self.results], [set(PROGRAMS)] * 2)

    def test_both_send_before_they_wait(self) -> None:
        self.assertEqual(self.results[0]["exchange"], [True, [5.0], BIG * 1.0])
        self.assertEqual(self.results[1]["exchange"], [True, [3.0], BIG * 4.0])

    def test_an_answer_to_a_message(self) -> None:
        self.assertEqual(self.results[0]["wait_in_between"], [[10.0, 20.0, 30.0], [40.0, 50.0, 60.0]])

    def test_messages_that_look_the_same_stay_apart(self) -> None:
        self.assertEqual(self.results[1]["two_with_one_tag"], [[1, 2], [2, 3]])

    def test_dtypes_and_shapes(self) -> None:
        result = self.results[1]["kinds"]
        self.assertEqual(len(result), 18)
        self.assertTrue(all(right for _, _, right in result), result)
        self.assertIn(["float16", [3], True], result)
        self.assertIn(["complex64", [0, 2], True], result)

    def test_errors(self) -> None:
        short, long, nobody = self.results[1]["wrong_sizes"]
        self.assertRegex(short, "ValueError: .*16 bytes came, and 24 are expected")
        self.assertRegex(long, "ValueError: .*more bytes came than expected")
        self.assertRegex(nobody, "ValueError: .*there is no process 2 among 2")

    def test_messages_in_branches(self) -> None:
        self.assertEqual([item["in_a_branch"] for item in self.results], [[[1.0], [3.0]], [[2.0], [3.0]]])

    def test_sums_and_their_derivatives(self) -> None:
        x = [np.array([1.0, 3.0]), np.array([2.0, 4.0])]
        for rank in range(2):
            total, first, slope, collected, adjoint, product, highest, lowest = self.results[rank]["sums"]
            self.assertEqual(total, 10.0)
            self.assertEqual(first, x[1].tolist())
            # The gradient of the sum of both costs: 2 total for each, first from the product, and the copy's adjoint.
            expected = 2 * 10.0 * 2 + x[1] + (x[0] + x[1] if rank == 1 else 0)
            self.assertEqual(slope, expected.tolist())
            self.assertEqual(collected, (x[0] + x[1]).tolist() if rank == 1 else [0.0, 0.0])
            # sum(reduce(x) x) is x1 (x0 + x1) in process 1, and nothing in process 0.
            self.assertEqual(adjoint, (x[1] + (x[0] + x[1] if rank == 1 else 0)).tolist())
            self.assertEqual([product, highest, lowest], [[2.0, 12.0], [2.0, 4.0], [1.0, 3.0]])


# Either of the two classes fits this machine.
if find_mpiexec() is None:
    del TestTwoProcesses
else:
    del TestWithoutMPI
