"""More models of PyMC, for the comparison of posteriors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytensor.tensor as pt

import pymc as pm

RNG = np.random.default_rng(21)
X = RNG.normal(size=40)


def line() -> Any:
    """Return a straight line with normal errors."""
    with pm.Model() as model:
        mean = pm.Normal("height", 0.0, 5.0) + pm.Normal("slope", 0.0, 5.0) * X
        pm.Normal("y", mean, pm.HalfNormal("sigma", 2.0), observed=1.0 + 2.0 * X + RNG.normal(size=40))
    return model


def outliers() -> Any:
    """Return a straight line with heavy tails."""
    with pm.Model() as model:
        mean = pm.Normal("height", 0.0, 5.0) + pm.Normal("slope", 0.0, 5.0) * X
        nu, sigma = pm.Gamma("nu", 2.0, 0.1), pm.HalfNormal("sigma", 2.0)
        pm.StudentT("y", nu=nu, mu=mean, sigma=sigma, observed=X + RNG.standard_t(3, size=40))
    return model


def rates() -> Any:
    """Return counts with a logarithmic link."""
    with pm.Model() as model:
        mean = pt.exp(pm.Normal("height", 0.0, 2.0) + pm.Normal("slope", 0.0, 1.0) * X)
        pm.Poisson("y", mean, observed=RNG.poisson(np.exp(0.5 + 0.3 * X)))
    return model


def grades() -> Any:
    """Return grades in order."""
    with pm.Model() as model:
        ordered = pm.distributions.transforms.ordered
        cuts = pm.Normal("cuts", 0.0, 2.0, shape=3, transform=ordered, initval=np.array([-1.0, 0.0, 1.0]))
        pm.OrderedLogistic("y", eta=pm.Normal("slope", 0.0, 1.0) * X, cutpoints=cuts, observed=RNG.integers(0, 4, 40))
    return model


def many_zeros() -> Any:
    """Return counts of which some are zero for another reason."""
    with pm.Model() as model:
        share, mean = pm.Beta("share", 2.0, 2.0), pm.Gamma("mean", 2.0, 0.5)
        pm.ZeroInflatedPoisson("y", psi=share, mu=mean, observed=RNG.poisson(3, 40) * RNG.integers(0, 2, 40))
    return model


def successes() -> Any:
    """Return numbers of successes whose rates differ."""
    with pm.Model() as model:
        a, b = pm.Gamma("a", 2.0, 0.5), pm.Gamma("b", 2.0, 0.5)
        pm.BetaBinomial("y", alpha=a, beta=b, n=10, observed=RNG.binomial(10, RNG.beta(2, 3, size=20)))
    return model


def series() -> Any:
    """Return a series that depends on its past."""
    with pm.Model() as model:
        rho = pm.Uniform("rho", -1.0, 1.0)
        observed = np.cumsum(RNG.normal(size=30)) * 0.3
        pm.AR("y", rho=rho, sigma=pm.HalfNormal("sigma", 1.0), init_dist=pm.Normal.dist(0, 1), observed=observed)
    return model


def censored() -> Any:
    """Return lifetimes of which the longest are not known."""
    with pm.Model() as model:
        life = pm.Exponential.dist(1.0 / pm.Gamma("mean", 2.0, 1.0))
        pm.Censored("y", life, lower=None, upper=3.0, observed=np.minimum(RNG.exponential(2.0, size=40), 3.0))
    return model


def truncated() -> Any:
    """Return numbers of which only those above a bound were seen."""
    with pm.Model() as model:
        mean, sigma = pm.Normal("mean", 0.0, 2.0), pm.HalfNormal("sigma", 2.0)
        observed = np.abs(RNG.normal(size=40)) + 0.1
        pm.TruncatedNormal("y", mu=mean, sigma=sigma, lower=0.0, observed=observed)
    return model


def lifetimes() -> Any:
    """Return lifetimes by Weibull."""
    with pm.Model() as model:
        shape, scale = pm.Gamma("shape", 3.0, 2.0), pm.Gamma("scale", 3.0, 1.0)
        pm.Weibull("y", alpha=shape, beta=scale, observed=RNG.weibull(1.5, size=40) * 2)
    return model


def shares() -> Any:
    """Return counts of several kinds."""
    with pm.Model() as model:
        weights = pm.Dirichlet("weights", np.ones(4))
        pm.Multinomial("y", n=30, p=weights, observed=RNG.multinomial(30, [0.1, 0.2, 0.3, 0.4], size=3))
    return model


def angles() -> Any:
    """Return directions around a mean."""
    with pm.Model() as model:
        mean, focus = pm.Normal("mean", 0.0, 1.0), pm.Gamma("focus", 2.0, 0.5)
        pm.VonMises("y", mu=mean, kappa=focus, observed=RNG.vonmises(0.5, 2.0, size=40))
    return model


MODELS = (
    *(line, outliers, rates, grades, many_zeros, successes, series, censored, truncated, lifetimes, shares, angles),
)
