"""Graphs of the fuzzer on devices."""

from __future__ import annotations

import unittest

from theano_testing.gpuarray import needs_opencl
from theano_testing.tiers import slow
from theano_testing_workshop.fuzz import Failure, as_source
from theano_testing_workshop.fuzz._comparison._batch import compare_batch, on_device as configuration_of
from theano_testing_workshop.fuzz._comparison._judge import Tally
from theano_testing_workshop.fuzz._operations._grammar import Grammar
from theano_testing_workshop.fuzz._workers import Task, configurations_of, generate


@needs_opencl
class TestFuzzer(unittest.TestCase):
    @slow
    def test_graphs_on_a_device(self) -> None:
        programs = [generate(seed, Grammar().operations) for seed in (5, 8)]
        tally = Tally()
        self.assertEqual([], compare_batch(programs, [configuration_of("opencl")], tally, reference=False))
        self.assertEqual(2, tally.counts["graphs, FAST_RUN on opencl"])

    def test_the_source_of_a_finding_runs_on_the_device(self) -> None:
        program = generate(8, Grammar().operations)
        failure = Failure(program, configuration_of("opencl"), "values", "an example")
        source = as_source(failure)
        self.assertIn("with placed_on('opencl', [", source)
        exec(source, {})

    def test_tasks_of_a_device_compare_nothing_else(self) -> None:
        task = Task(0, 4, variant=2, captured=True, device="opencl0:0")
        (configuration,) = configurations_of(task)
        self.assertEqual("opencl0:0", configuration.device)
        self.assertFalse(task.has_reference)
        self.assertTrue(Task(0, 4).has_reference)


if __name__ == "__main__":
    unittest.main()
