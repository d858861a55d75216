"""Log-likelihood of a Gaussian process and its gradient: 200 points, Cholesky factor and triangular solutions."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy
from harness import OURS, Options, Row, compare, jax_with_doubles, peer
from ready_child import compare_cold
from started import COUNTED

POINTS = 200


def data() -> tuple[Any, Any]:
    """Return squared distances of the points, and the observations there."""
    rng = numpy.random.default_rng(0)
    x = numpy.sort(rng.uniform(0, 10, POINTS))
    return (x[:, None] - x[None, :]) ** 2, numpy.sin(x) + 0.1 * rng.normal(size=POINTS)


def point() -> list[Any]:
    """Return logarithms of scale, length and noise."""
    return [numpy.float64(v) for v in (0.2, 0.1, -1.0)]


def log_likelihood(m: Any, linalg: Any, distances: Any, y: Any, log_scale: Any, log_length: Any, log_noise: Any) -> Any:
    """Write the density with the functions of module `m`; `linalg` has factor, triangular solution and diagonal."""
    kernel = m.exp(2 * log_scale - 0.5 * distances * m.exp(-2 * log_length))
    kernel = kernel + m.exp(2 * log_noise) * numpy.eye(POINTS)
    factor = linalg.cholesky(kernel)
    white = linalg.solve(factor, y)
    return -0.5 * (white**2).sum() - m.log(linalg.diagonal(factor)).sum() - 0.5 * POINTS * numpy.log(2 * numpy.pi)


class Symbolic:
    """The three operations in a package with Theano's names."""

    def __init__(self, package: str) -> None:
        self.slinalg: Any = importlib.import_module(f"{package}.tensor.slinalg")
        self.tensor: Any = importlib.import_module(f"{package}.tensor")
        self.cholesky, self.diagonal = self.slinalg.cholesky, self.tensor.diagonal

    def solve(self, factor: Any, y: Any) -> Any:
        """Solve with a lower triangular matrix."""
        if hasattr(self.slinalg, "solve_lower_triangular"):
            return self.slinalg.solve_lower_triangular(factor, y)
        return self.slinalg.solve_triangular(factor, y, lower=True)


class Jax:
    """The three operations in JAX."""

    def __init__(self) -> None:
        linalg: Any = importlib.import_module("jax.scipy.linalg")
        self.cholesky = partial(linalg.cholesky, lower=True)
        self.solve = partial(linalg.solve_triangular, lower=True)
        self.diagonal = importlib.import_module("jax.numpy").diagonal


def symbolic(package: str, mode: str | None) -> Callable[..., Any]:
    """Compile value and gradient with `theano` or `pytensor`."""
    main: Any = importlib.import_module(package)
    m: Any = importlib.import_module(f"{package}.tensor")
    variables = [m.dscalar() for _ in point()]
    cost = log_likelihood(m, Symbolic(package), *data(), *variables)
    function: Callable[..., Any] = main.function(
        variables, [cost, *m.grad(cost, variables)], **({"mode": mode} if mode else {})
    )
    return function


def jax_function() -> Callable[..., Any]:
    """Compile value and gradient with JAX."""
    jax = jax_with_doubles()
    jitted = jax.jit(jax.value_and_grad(partial(log_likelihood, jax.numpy, Jax(), *data()), argnums=(0, 1, 2)))
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
    case = f"log-likelihood and gradient of a Gaussian process, {POINTS} points"
    ahead = dict.fromkeys(("jax", "pytensor", "pytensor (c)"), 1 / 0.9)
    ready = Row(f"building that likelihood: empty caches{COUNTED}", beat=("jax",))
    targets = {OURS: "theano", "jax": "jax", "pytensor": "pytensor", "pytensor (c)": "pytensor:CVM"}
    return [
        Row(case, compare(contenders, options), ahead=ahead),
        compare_cold(ready, "gaussian_likelihood", targets, options),
    ]
