"""`theano.distributed` with two processes of Dask, and with those of joblib."""

from __future__ import annotations

import gc
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import cluster_models as models
import joblib
import numpy as np
from distributed import Client, LocalCluster

import theano
import theano.tensor as T
from theano import distributed

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "distributed_digits.py"


class DaskCase(unittest.TestCase):
    cluster: Any
    client: Any

    def setUp(self) -> None:
        self.client.wait_for_workers(2)  # another test may have killed some


def setUpModule() -> None:
    here = str(Path(__file__).resolve().parent)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH", "")]))
    DaskCase.cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    DaskCase.client = Client(DaskCase.cluster)


def tearDownModule() -> None:
    DaskCase.client.close()
    DaskCase.cluster.close()


def expected(f: Any, xs: list[Any], **options: Any) -> list[Any]:
    with ThreadPoolExecutor(1) as pool:
        return distributed.map(f, xs, pool, **options)


class TestMap(DaskCase):
    def test_results_and_draws_are_those_of_one_thread(self) -> None:
        f, xs = models.draw(), [float(i) for i in range(9)]
        for size in (None, 1, 5):
            np.testing.assert_array_equal(distributed.map(f, xs, self.client, chunksize=size), expected(f, xs))
        np.testing.assert_array_equal(distributed.map(f, xs, "dask", seed=5), expected(f, xs, seed=5))

    def test_functions_of_the_program_and_items_that_are_futures(self) -> None:
        f = models.draw()
        xs = [self.client.submit(float, i) for i in range(3)]
        results = distributed.map(lambda x: f(x).sum(), xs, self.client)
        np.testing.assert_array_equal(results, [v.sum() for v in expected(f, [0.0, 1.0, 2.0])])

    def test_an_error_names_the_item(self) -> None:
        with self.assertRaisesRegex(ValueError, "not 3") as caught:
            distributed.map(partial(models.fail_at, 3), range(6), self.client, chunksize=2)
        self.assertEqual(caught.exception.__notes__, ["  in element 3 of the arguments of map, counted from 0: 3"])

    def test_an_item_that_cannot_be_pickled_is_named(self) -> None:
        with self.assertRaisesRegex(TypeError, "(?s)element 1 .*counted from 0, cannot be sent.*lock.*Hint"):
            distributed.map(models.draw(), [1.0, (1.0, threading.Lock())], self.client)

    def test_tasks_are_cancelled_in_the_thread_of_the_caller(self) -> None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(5):
                with self.assertRaises((TypeError, ValueError)):
                    distributed.map(models.draw(), [2.0, np.ones(3), 3.0, 4.0], self.client, chunksize=1)
                gc.collect()
        self.assertEqual([str(w.message) for w in caught if "never awaited" in str(w.message)], [])

    def test_a_client_that_was_closed(self) -> None:
        client: Any = Client(self.cluster, set_as_default=False)
        step = distributed.data_parallel(*models.model(), models.momentum, client)
        client.close()
        batch = models.batches()[0]
        for call in (lambda: distributed.map(abs, [1.0], client), lambda: step(*batch), lambda: step.parts([batch])):
            with self.assertRaisesRegex(RuntimeError, "this Dask client is closed\n  Hint: make another one"):
                call()

    def test_an_executor_of_dask(self) -> None:
        f = models.draw()
        with self.client.get_executor() as pool:
            np.testing.assert_array_equal(distributed.map(f, [1.0, 2.0], pool), expected(f, [1.0, 2.0]))

    def test_joblib(self) -> None:
        f, xs = models.draw(), [0.0, 1.0, 2.0]
        np.testing.assert_array_equal(distributed.map(f, xs, joblib.Parallel(n_jobs=2)), expected(f, xs))

    def test_without_a_client(self) -> None:
        program = "from theano import distributed; distributed.map(abs, [1], 'dask')"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        self.assertIn("RuntimeError: there is no Dask client in this process\n  Hint: make one first", done.stderr)


class TestTraining(DaskCase):
    def train(self, model: Any = None, before: Any = None, **options: Any) -> tuple[list[float], list[Any]]:
        inputs, cost, params = model or models.model()
        step = distributed.data_parallel(inputs, cost, params, models.momentum, self.client, **options)
        costs = []
        for i, batch in enumerate(models.batches()):
            if before is not None:
                before(i)
            costs.append(step(*batch))
        self.assertEqual(step.steps, len(costs))
        return costs, [p.get_value() for p in step.params]

    def test_a_step_in_parts_is_the_step_of_the_whole(self) -> None:
        costs, params = models.whole()
        for count in (None, 1, 5):
            found_costs, match = self.train(n_parts=count)
            np.testing.assert_allclose(found_costs, costs, rtol=1e-12)
            for a, b in zip(match, params, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-12)

    def test_parts_that_the_workers_have(self) -> None:
        costs, _ = models.whole()
        step = distributed.data_parallel(*models.model(), models.momentum, self.client)
        self.assertAlmostEqual(step.parts([self.client.submit(models.load, i) for i in range(2)]), costs[0], places=12)
        x, y = models.batches()[1]
        self.assertAlmostEqual(step.parts([(x, y), (x[:0], y[:0])]), costs[1], places=12)

    def test_shared_variables_that_the_program_sets_are_sent(self) -> None:
        rate = theano.shared(0.0, name="decay")
        step = distributed.data_parallel(*models.model(rate), lambda g, p: [], self.client)
        batch = models.batches()[0]
        before = step(*batch)
        rate.set_value(1.0)
        self.assertAlmostEqual(step(*batch) - before, float(np.sum(step.params[0].get_value() ** 2)), places=12)

    def test_values_that_are_set_after_a_step_that_failed_are_sent(self) -> None:
        step = distributed.data_parallel(*models.model(), lambda g, p: [], self.client)
        x, y = models.batches()[0]
        before = step(x, y)
        with self.assertRaises(ValueError):
            step(x[:, :3], y)
        w = step.params[0]
        w.set_value(w.get_value() + 1)
        changed = step(x, y)
        self.assertNotAlmostEqual(changed, before, places=3)
        with self.assertRaises(ValueError):
            step(x[:, :3], y)
        w.set_value(w.get_value() - 1)
        self.assertAlmostEqual(step(x, y), before, places=12)

    def test_values_that_are_put_back_are_sent(self) -> None:
        first = np.asarray(0.5)
        rate = theano.shared(first, name="decay", borrow=True)
        step = distributed.data_parallel(*models.model(rate), lambda g, p: [], self.client)
        batch = models.batches()[0]
        before = step(*batch)
        rate.set_value(np.asarray(2.0), borrow=True)
        self.assertNotAlmostEqual(step(*batch), before, places=3)
        rate.set_value(first, borrow=True)
        self.assertEqual(step(*batch), before)

    def test_a_batch_without_rows_is_an_error_of_the_step(self) -> None:
        step = distributed.data_parallel(*models.model(), lambda g, p: [], self.client)
        x, y = models.batches()[0]
        calls: list[Callable[[], float]] = [lambda: step(x[:0], y[:0]), lambda: step.parts([(x[:0], y[:0])] * 2)]
        for call in calls:
            with self.assertRaisesRegex(ValueError, "a batch has no rows\n  Hint: leave") as caught:
                call()
            self.assertEqual(caught.exception.__notes__[-1], "The parameters are those before the step.")

    def test_dropout_draws_by_step_and_part(self) -> None:
        draws = []
        for _ in range(2):
            x, w = T.dmatrix("x"), theano.shared(np.ones(2), name="w")
            streams = T.shared_randomstreams.RandomStreams(1)
            cost = T.dot(x + streams.uniform((1, 2)), w).mean()
            step = distributed.data_parallel([x], cost, [w], lambda g, p: [], self.client, seed=4)
            draws.append([step(np.zeros((4, 2))) for _ in range(3)])
        self.assertEqual(draws[0], draws[1])
        self.assertEqual(len(set(draws[0])), 3)

    def test_an_error_leaves_the_parameters(self) -> None:
        step = distributed.data_parallel(*models.model(), models.momentum, self.client)
        x, y = models.batches()[0]
        with self.assertRaisesRegex(ValueError, "have 7, 6 rows"):
            step(x, y[:6])
        with self.assertRaises(ValueError) as caught:
            step(x[:, :3], y)
        self.assertIn("  in part 0 of the batch of step 0, both counted from 0", caught.exception.__notes__)
        self.assertEqual(step.steps, 0)
        np.testing.assert_array_equal(step.params[0].get_value(), models.model()[2][0].get_value())

    def test_a_worker_that_is_killed_between_steps(self) -> None:
        calm = self.train(n_parts=3)

        def kill(i: int) -> None:
            if i == 2:
                os.kill(next(iter(self.client.run(os.getpid).values())), signal.SIGKILL)

        costs, params = self.train(n_parts=3, before=kill)
        self.assertEqual(costs, calm[0])
        for a, b in zip(params, calm[1], strict=True):
            np.testing.assert_array_equal(a, b)

    def test_a_worker_that_dies_in_a_step(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            mark = Path(folder) / "mark"
            found_costs, match = self.train(models.model(mark=str(mark)), n_parts=3)
            self.assertTrue(mark.exists())
        costs, params = self.train(n_parts=3)
        np.testing.assert_allclose(found_costs, costs, rtol=1e-12)
        for a, b in zip(match, params, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)


class TestExample(unittest.TestCase):
    def test_it_learns_the_digits(self) -> None:
        command = [sys.executable, str(EXAMPLE), "--engine", "dask", "--workers", "2", "--epochs", "2"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=400, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        accuracy = re.search(r"test accuracy: +([\d.]+)", done.stdout)
        assert accuracy is not None, done.stdout
        self.assertGreater(float(accuracy[1]), 0.85)
