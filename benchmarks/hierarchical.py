"""Log-density and gradient of a hierarchical regression: 919 observations in 85 groups, intercepts and slopes by group.

Centred effects are scaled inside the model, as samplers like it: `a = mu_a + sigma_a * raw_a`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy
from harness import OURS, Options, Row, compare, jax_with_doubles, peer
from ready_child import compare_cold
from started import COUNTED

OBSERVATIONS, GROUPS = 919, 85


def data() -> tuple[Any, Any, Any]:
    """Return group, predictor and response of each observation."""
    rng = numpy.random.default_rng(0)
    group = numpy.sort(rng.integers(0, GROUPS, OBSERVATIONS))
    floor = rng.integers(0, 2, OBSERVATIONS).astype("float64")
    return group, floor, rng.normal(1.3, 0.8, OBSERVATIONS)


def point() -> list[Any]:
    """Return where the density is taken: mu_a, log sigma_a, mu_b, log sigma_b, raw_a, raw_b, log sigma."""
    rng = numpy.random.default_rng(1)
    return [*(numpy.float64(v) for v in (1.4, -1.0, -0.7, -1.2)), *rng.normal(size=(2, GROUPS)), numpy.float64(-0.3)]


def log_density(m: Any, mu_a: Any, log_sa: Any, mu_b: Any, log_sb: Any, raw_a: Any, raw_b: Any, log_s: Any) -> Any:
    """Write the density with the functions of module `m`."""
    group, floor, response = data()

    def normal(x: Any, mean: Any, deviation: Any) -> Any:
        z = (x - mean) / deviation
        return -0.5 * z * z - m.log(deviation) - 0.5 * numpy.log(2 * numpy.pi)

    def half_cauchy(log_x: Any, scale: float) -> Any:
        # The density of x, and the logarithm of dx/d(log x).
        return numpy.log(2 / (numpy.pi * scale)) - m.log1p((m.exp(log_x) / scale) ** 2) + log_x

    sa, sb, s = m.exp(log_sa), m.exp(log_sb), m.exp(log_s)
    a, b = mu_a + sa * raw_a, mu_b + sb * raw_b
    total = normal(mu_a, 0.0, 10.0) + normal(mu_b, 0.0, 10.0)
    total = total + half_cauchy(log_sa, 5.0) + half_cauchy(log_sb, 5.0) + half_cauchy(log_s, 5.0)
    total = total + normal(raw_a, 0.0, 1.0).sum() + normal(raw_b, 0.0, 1.0).sum()
    return total + normal(response, a[group] + b[group] * floor, s).sum()


def symbolic(package: str, mode: str | None) -> Callable[..., Any]:
    """Compile value and gradient with `theano` or `pytensor`."""
    main: Any = importlib.import_module(package)
    m: Any = importlib.import_module(f"{package}.tensor")
    variables = [m.dvector() if numpy.ndim(value) else m.dscalar() for value in point()]
    cost = log_density(m, *variables)
    function: Callable[..., Any] = main.function(
        variables, [cost, *m.grad(cost, variables)], **({"mode": mode} if mode else {})
    )
    return function


def jax_function() -> Callable[..., Any]:
    """Compile value and gradient with JAX."""
    jax = jax_with_doubles()
    jitted = jax.jit(jax.value_and_grad(partial(log_density, jax.numpy), argnums=tuple(range(7))))
    compiled = jitted.lower(*point()).compile()

    def call(*values: Any) -> Any:
        return jax.block_until_ready(compiled(*values))

    return call


def prepare(package: str, mode: str | None) -> Any:
    """Compile and call once."""
    function = jax_function() if package == "jax" else symbolic(package, mode)
    return function(*point())


def run(options: Options) -> list[Row]:
    """Measure a call, and how long it takes until one has been made."""
    has_pytensor = peer("pytensor") is not None
    contenders: dict[str, Callable[[], object] | None] = {
        OURS: partial(symbolic("theano", None), *point()),
        "jax": None if peer("jax") is None else partial(jax_function(), *point()),
        "pytensor": partial(symbolic("pytensor", None), *point()) if has_pytensor else None,
        "pytensor (c)": partial(symbolic("pytensor", "CVM"), *point()) if has_pytensor else None,
    }
    case = "log-density and gradient of a hierarchical regression, 919 observations, 85 groups"
    ready = Row(f"building that density: empty caches{COUNTED}", beat=("jax",))
    targets = {OURS: "theano", "jax": "jax", "pytensor": "pytensor", "pytensor (c)": "pytensor:CVM"}
    row = Row(case, compare(contenders, options), beat=("pytensor", "pytensor (c)"), ahead={"jax": 1 / 0.3})
    return [row, compare_cold(ready, "hierarchical", targets, options)]
