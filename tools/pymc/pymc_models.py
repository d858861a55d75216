"""Small models of PyMC, of the kinds that people write."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt

import pymc as pm

RNG = np.random.default_rng(20)


def schools() -> Any:
    """Return a hierarchy of means with known deviations."""
    with pm.Model() as model:
        mu, tau = pm.Normal("mu", 0.0, 5.0), pm.HalfCauchy("tau", 5.0)
        offsets = pm.Normal("offsets", 0.0, 1.0, shape=5)
        pm.Normal("y", mu + tau * offsets, np.full(5, 10.0), observed=RNG.normal(8.0, 10.0, size=5))
    return model


def regression() -> Any:
    """Return a logistic regression with groups, read by their indices."""
    x, group = RNG.normal(size=(60, 3)), RNG.integers(0, 4, size=60)
    with pm.Model() as model:
        slopes, heights = pm.Normal("slopes", 0.0, 1.0, shape=3), pm.ZeroSumNormal("heights", shape=4)
        pm.Bernoulli("y", logit_p=pt.dot(x, slopes) + heights[group], observed=RNG.integers(0, 2, size=60))
    return model


def mixture() -> Any:
    """Return a mixture of normal distributions in order."""
    with pm.Model() as model:
        weights = pm.Dirichlet("weights", np.ones(2))
        ordered = pm.distributions.transforms.ordered
        means = pm.Normal("means", 0.0, 5.0, shape=2, transform=ordered, initval=np.array([-1.0, 1.0]))
        pm.NormalMixture("y", w=weights, mu=means, sigma=1.0, observed=RNG.normal(size=30))
    return model


def process() -> Any:
    """Return a Gaussian process."""
    x = np.linspace(0.0, 5.0, 12)[:, None]
    with pm.Model() as model:
        scale = pm.Gamma("scale", 2.0, 1.0)
        field = pm.gp.Marginal(cov_func=pm.gp.cov.Matern52(1, scale))
        field.marginal_likelihood("y", X=x, y=np.sin(x[:, 0]), sigma=pm.HalfNormal("noise", 1.0))
    return model


def correlated() -> Any:
    """Return correlated slopes."""
    with pm.Model() as model:
        factor, _, _ = pm.LKJCholeskyCov("factor", n=2, eta=2.0, sd_dist=pm.Exponential.dist(1.0))
        pm.MvNormal("y", mu=np.zeros(2), chol=factor, observed=RNG.normal(size=(10, 2)))
    return model


def counts() -> Any:
    """Return counts with more variance than those of Poisson."""
    with pm.Model() as model:
        pm.NegativeBinomial(
            "y", mu=pm.Gamma("mu", 2.0, 1.0), alpha=pm.Gamma("alpha", 2.0, 0.5), observed=[3, 1, 4, 1, 5]
        )
    return model


def walk() -> Any:
    """Return a volatility that walks."""
    with pm.Model() as model:
        path = pm.GaussianRandomWalk(
            "path", sigma=pm.Exponential("step", 10.0), init_dist=pm.Normal.dist(0, 1), shape=20
        )
        pm.StudentT("y", nu=pm.Exponential("nu", 0.1), sigma=pt.exp(path), observed=RNG.standard_t(5, size=20))
    return model


def epidemic() -> Any:
    """Return a model of an epidemic, a loop over its days."""
    with pm.Model() as model:
        rate, recovery = pm.LogNormal("rate", -1.0, 0.5), pm.LogNormal("recovery", -2.0, 0.5)

        def day(healthy: Any, ill: Any, rate: Any, recovery: Any) -> tuple[Any, Any]:
            new = rate * healthy * ill
            return healthy - new, ill + new - recovery * ill

        start = [pt.constant(0.99), pt.constant(0.01)]
        _, ill = pytensor.scan(
            day, outputs_info=start, non_sequences=[rate, recovery], n_steps=15, return_updates=False
        )
        pm.Poisson("y", mu=500 * ill + 0.1, observed=RNG.poisson(20, size=15))
    return model


MODELS = (schools, regression, mixture, process, correlated, counts, walk, epidemic)
