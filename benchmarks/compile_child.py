"""A process of its own for `compile_time`: start one contender, then print the seconds until its function is ready.

    python benchmarks/compile_child.py theano | jax | pytensor[:MODE] [NODES]

With NODES it is a function of about so many nodes, otherwise the step of the logistic regression, gradient included.
The figure covers the building of that function up to its first result, the first call included: imports and the first
use of each contender (`started`) lie before.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import logistic_models as models
import numpy
from started import start


def main() -> None:
    package, _, mode = sys.argv[1].partition(":")
    start(package, mode or None)
    prepare = _step(package, mode) if len(sys.argv) < 3 else _nodes(package, mode, int(sys.argv[2]))
    begin = time.perf_counter()
    prepare()
    print(json.dumps(time.perf_counter() - begin))


def _step(package: str, mode: str) -> Callable[[], object]:
    x, y = models.data()

    def prepare() -> object:
        if package == "theano":
            return models.theano_step()(x, y)
        if package == "pytensor":
            return models.pytensor_step(mode or None)(x, y)
        step, state = models.jax_step(x, y)
        return step(*state, x, y)[-1].block_until_ready()

    return prepare


def _nodes(package: str, mode: str, count: int) -> Callable[[], object]:
    values = numpy.linspace(0.1, 1, 1000)
    module: Any = importlib.import_module(
        {"theano": "theano.tensor", "jax": "jax.numpy"}.get(package, "pytensor.tensor")
    )
    main: Any = importlib.import_module(package)
    if package == "jax":
        main.config.update("jax_enable_x64", True)

    def prepare() -> object:
        if package == "jax":
            return main.jit(partial(_chain, module, count))(values).block_until_ready()
        x = module.dvector("x")
        kind = {"mode": mode} if mode else {}
        return main.function([x], _chain(module, count, x), **kind)(values)

    return prepare


def _chain(module: Any, count: int, x: Any) -> Any:
    """Blocks of ten nodes, each with a function, constants and a sum of its own, so that no two are alike."""
    functions = [module.exp, module.tanh, module.sin, module.log1p, module.sqrt, module.cos]
    h = x
    for i in range(count // 10):
        h = functions[i % 6](h * h + (0.5 + 0.01 * i)) - x * (0.1 * i + 1)
        h = h / (1.0 + module.sum(h * h))
    return module.sum(h * x)


if __name__ == "__main__":
    main()
