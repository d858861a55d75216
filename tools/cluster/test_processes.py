"""Processes of joblib and Python that find functions on disk."""

from __future__ import annotations

import os
import tempfile
import unittest
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from unittest import mock

import cluster_models as models
import joblib
import numpy as np
from joblib.externals.loky import get_reusable_executor


class TestFunctionsOnDisk(unittest.TestCase):
    def setUp(self) -> None:
        folder = self.enterContext(tempfile.TemporaryDirectory())
        here = str(Path(__file__).resolve().parent)
        flags = [os.environ.get("THEANO_FLAGS", ""), f"base_compiledir={folder}", "function_cache=True"]
        # Workers of all kinds begin with these variables.
        settings = mock.patch.dict(
            os.environ,
            PYTHONPATH=os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH", "")])),
            THEANO_FLAGS=",".join(filter(None, flags)),
        )
        self.enterContext(settings)
        # joblib keeps its workers, and those of another test know other variables.
        get_reusable_executor().shutdown(wait=True)
        # The first process builds the function.
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            pool.submit(models.built_here, 0.0).result()

    def check(self, match: list[tuple[int, float]]) -> None:
        """Check the results of `models.built_here` in workers for 0, 1, 2 and 3: nothing was rewritten there."""
        values = np.arange(4.0)
        self.assertEqual([count for count, _ in match], [0] * 4)
        np.testing.assert_allclose([y for _, y in match], np.tanh(3 * values) - np.exp(-values), rtol=1e-14)

    def test_joblib(self) -> None:
        build = joblib.delayed(models.built_here)
        self.check(joblib.Parallel(n_jobs=2, backend="loky")(build(float(i)) for i in range(4)))

    def test_processes(self) -> None:
        for start in ("spawn", "forkserver"):
            with self.subTest(start), ProcessPoolExecutor(2, get_context(start)) as pool:
                self.check(list(pool.map(models.built_here, [0.0, 1.0, 2.0, 3.0])))


if __name__ == "__main__":
    unittest.main()
