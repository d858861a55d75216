"""A process of its own for `compile_time`: import one contender, then print the seconds until its step is ready.

    python benchmarks/compile_child.py theano | jax | pytensor[:MODE]

What is ready has been called once, so that nobody gains by compiling at the first call.
"""

from __future__ import annotations

import importlib
import json
import sys
import time

import logistic_models as models


def main() -> None:
    package, _, mode = sys.argv[1].partition(":")
    x, y = models.data()
    importlib.import_module(package)
    if package != "theano":
        importlib.import_module({"jax": "jax.numpy", "pytensor": "pytensor.tensor"}[package])
    start = time.perf_counter()
    if package == "theano":
        models.theano_step()(x, y)
    elif package == "pytensor":
        models.pytensor_step(mode or None)(x, y)
    else:
        step, state = models.jax_step(x, y)
        step(*state, x, y)[-1].block_until_ready()
    print(json.dumps(time.perf_counter() - start))


if __name__ == "__main__":
    main()
