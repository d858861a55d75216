"""Densities of PyMC's models with their gradients, draws, and chains, where PyMC is installed."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt
from pymc.pytensorf import compile as compile_pymc, join_nonshared_inputs
from pymc_models import MODELS, schools
from pytensor.compile.mode import Mode
from pytensor.graph.rewriting.db import RewriteDatabaseQuery

import pymc as pm
import theano_pytensor
from theano_testing.tiers import slow

IN_PYTHON = Mode("py", RewriteDatabaseQuery(include=["fast_compile", "py_only"]))


def density(model: Any) -> tuple[Any, list[Any], Any]:
    """Return the vector of all parameters, the log-density with its gradient, and a point."""
    start = model.initial_point()
    (value,), vector = join_nonshared_inputs(point=start, outputs=[model.logp()], inputs=model.value_vars)
    point = np.concatenate([np.ravel(start[v.name]) for v in model.value_vars]) + 0.01
    return vector, [value, pt.grad(value, vector)], point


@slow
class TestModels(unittest.TestCase):
    def test_densities_and_gradients(self) -> None:
        for make in MODELS:
            with self.subTest(make.__name__), pytensor.config.change_flags(mode=IN_PYTHON):
                vector, outputs, point = density(make())
                ours = compile_pymc([vector], outputs, mode="THEANO")
                theirs = compile_pymc([vector], outputs, mode=IN_PYTHON)
                for result, expected in zip(ours(point), theirs(point), strict=True):
                    np.testing.assert_allclose(result, expected, rtol=1e-8)
                self.assertEqual({}, theano_pytensor.report(ours).performed)

    def test_a_parameter_out_of_its_range_has_no_density(self) -> None:
        with pytensor.config.change_flags(mode=IN_PYTHON):
            sigma = pt.dscalar("sigma")
            f = compile_pymc([sigma], pm.logp(pm.Normal.dist(0.0, sigma), 1.0), mode="THEANO")
        self.assertEqual(-np.inf, f(-1.0))

    def test_draws_are_those_of_the_seed(self) -> None:
        results = []
        for mode in ("THEANO", IN_PYTHON):
            x = pm.MvNormal.dist(np.zeros(2), np.eye(2), size=3)
            results.append(compile_pymc([], [x, pm.Gamma.dist(2.0, 1.0, size=4)], random_seed=7, mode=mode)())
        for ours, theirs in zip(*results, strict=True):
            np.testing.assert_array_equal(ours, theirs)

    def test_chains(self) -> None:
        with pytensor.config.change_flags(mode="THEANO"), schools():
            trace = pm.sample(
                draws=60, tune=60, chains=2, cores=1, random_seed=3, progressbar=False,
                compute_convergence_checks=False,
                compile_kwargs={"mode": "THEANO"},
            )  # fmt: skip
        self.assertEqual((2, 60), trace.posterior["mu"].shape)
        self.assertTrue(np.isfinite(trace.posterior["tau"].to_numpy()).all())
