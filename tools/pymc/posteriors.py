"""Sample models of PyMC with Theano and with another mode of PyTensor, and compare posteriors.

    python tools/pymc/posteriors.py                   all models beside numba
    python tools/pymc/posteriors.py line schools      some of them
    python tools/pymc/posteriors.py --beside CVM      beside another mode; --draws 2000 for longer chains

Both start from the same seeds. Means, and means of squares, of all parameters have to agree within five standard errors
of the difference, which the effective number of draws tells. The exit status is 1 where one does not, or where a node
of the density is left to PyTensor.
"""

from __future__ import annotations

import argparse
import logging
import time
import warnings
from collections.abc import Iterator
from typing import Any

import more_models
import numpy as np
import pymc_models
import pytensor
from pymc.stats import ess

import pymc as pm
import theano_pytensor

MODELS = {make.__name__: make for make in (*pymc_models.MODELS, *more_models.MODELS)}
STANDARD_ERRORS = 5.0


def made(name: str) -> Any:
    """Return a model, with the same data each time."""
    pymc_models.RNG, more_models.RNG = np.random.default_rng(20), np.random.default_rng(21)
    return MODELS[name]()


def sampled(name: str, mode: str, draws: int) -> tuple[Any, float]:
    """Return draws of a model, and the processor's seconds."""
    start = time.process_time()
    with pytensor.config.change_flags(mode=mode), made(name):
        trace = pm.sample(
            draws=draws, tune=draws, chains=2, cores=1, random_seed=11, progressbar=False,
            compute_convergence_checks=False, compile_kwargs={"mode": mode},
        )  # fmt: skip
    return trace.posterior, time.process_time() - start


def left_over(name: str) -> dict[str, list[str]]:
    """Return which nodes of a density with its gradient are left to PyTensor."""
    with pytensor.config.change_flags(mode="THEANO"):
        function = made(name).logp_dlogp_function(ravel_inputs=True)
    function.set_extra_values({})
    return dict(theano_pytensor.report(function._pytensor_function).performed)


def differences(ours: Any, theirs: Any) -> Iterator[tuple[str, float]]:
    """Yield how many standard errors apart the means of each parameter are, and those of its square."""
    for name in ours.data_vars:
        for power in (1, 2):
            parts = [posterior[[name]] ** power for posterior in (ours, theirs)]
            means = [part[name].mean(("chain", "draw")).to_numpy() for part in parts]
            errors = [
                part[name].var(("chain", "draw")).to_numpy() / np.maximum(ess(part)[name].to_numpy(), 1)
                for part in parts
            ]
            apart = np.abs(means[0] - means[1]) / np.sqrt(errors[0] + errors[1] + 1e-12)
            yield f"{name}^{power}", float(np.nanmax(apart))


def main() -> int:
    """Compare, a line for each model."""
    parser = argparse.ArgumentParser(description="Compare posteriors of PyMC's models.")
    parser.add_argument("names", nargs="*", help="models; all by default")
    parser.add_argument("--beside", default="NUMBA", help="the other mode of PyTensor")
    parser.add_argument("--draws", type=int, default=1000)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.getLogger("pymc").setLevel(logging.ERROR)
    failed = 0
    for name in options.names or MODELS:
        ours, our_seconds = sampled(name, "THEANO", options.draws)
        theirs, their_seconds = sampled(name, options.beside, options.draws)
        worst = max(differences(ours, theirs), key=lambda pair: pair[1])
        performed = left_over(name)
        wrong = worst[1] > STANDARD_ERRORS or bool(performed)
        failed += wrong
        print(
            f"{'FAIL' if wrong else 'ok':4} {name:12} {worst[1]:.1f} standard errors apart ({worst[0]}); "
            f"{our_seconds:.1f} s, {options.beside} {their_seconds:.1f} s {performed or ''}",
            flush=True,
        )
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
