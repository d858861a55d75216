"""Compiled functions on two workers of Ray, which find functions on disk."""

from __future__ import annotations

import os
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest import mock

import cluster_models as models
import joblib
import numpy as np
import ray
from ray.util.joblib import register_ray

import theano
import theano.tensor as T
from theano import distributed


class RayCase(unittest.TestCase):
    folder: tempfile.TemporaryDirectory[str]
    settings: Any


def setUpModule() -> None:
    folders = [str(Path(file).resolve().parent) for file in (__file__, models.__file__)]
    RayCase.folder = tempfile.TemporaryDirectory()
    flags = [os.environ.get("THEANO_FLAGS", ""), f"base_compiledir={RayCase.folder.name}", "function_cache=True"]
    # Workers of all kinds begin with these variables.
    RayCase.settings = mock.patch.dict(
        os.environ,
        PYTHONPATH=os.pathsep.join(filter(None, [*folders, os.environ.get("PYTHONPATH", "")])),
        THEANO_FLAGS=",".join(filter(None, flags)),
    )
    RayCase.settings.start()
    ray.init(num_cpus=2, include_dashboard=False, logging_level="error")
    register_ray()


def tearDownModule() -> None:
    ray.shutdown()
    RayCase.settings.stop()
    RayCase.folder.cleanup()


class Counter:
    """An actor that keeps a function, and so the values that its updates make."""

    def __init__(self, add: Any) -> None:
        self.add = add

    def count(self, step: float) -> float:
        return float(self.add(step))


class TestRay(RayCase):
    def test_functions_are_arguments_of_tasks(self) -> None:
        f, xs = models.draw(), [0.0, 1.0, 2.0]
        call = ray.remote(lambda function, x: function(x))
        held = ray.put(f)
        results = [ray.get(call.remote(f, xs[0])), *ray.get([call.remote(held, x) for x in xs[1:]])]
        # Each task has a function of its own, whose streams begin where those of the caller's were.
        np.testing.assert_array_equal(results, [models.draw()(x) for x in xs])

    def test_an_actor_keeps_its_function(self) -> None:
        total, step = theano.shared(0.0), T.dscalar("step")
        add = theano.function([step], total + step, updates=[(total, total + step)])
        counter = ray.remote(Counter).remote(add)
        self.assertEqual(ray.get([counter.count.remote(step) for step in (1.0, 2.0, 3.0)]), [1.0, 3.0, 6.0])
        self.assertEqual(total.get_value(), 0.0)

    def test_map(self) -> None:
        f, xs = models.draw(), [float(i) for i in range(9)]
        with ThreadPoolExecutor(1) as pool:
            expected = distributed.map(f, xs, pool, seed=5)
        with joblib.parallel_config(backend="ray"), joblib.Parallel(n_jobs=2) as parallel:
            for _ in range(2):
                np.testing.assert_array_equal(distributed.map(f, xs, parallel, seed=5), expected)
            with self.assertRaisesRegex(ValueError, "not 3") as caught:
                distributed.map(lambda x: models.fail_at(3, x), range(9), parallel)
        self.assertIn("element 3 of the arguments of map", "".join(caught.exception.__notes__))


class TestFunctionsOnDisk(RayCase):
    def test_workers_rewrite_nothing(self) -> None:
        # A worker of its own for each call: the first one builds the function.
        build = ray.remote(max_calls=1)(models.built_here)
        ray.get(build.remote(0.0))
        values = np.arange(4.0)
        results = ray.get([build.remote(x) for x in values])
        self.assertEqual([count for count, _ in results], [0] * 4)
        np.testing.assert_allclose([y for _, y in results], np.tanh(3 * values) - np.exp(-values), rtol=1e-14)


if __name__ == "__main__":
    unittest.main()
