"""One training step of the manual's logistic regression: 400 examples of 784 features, float64."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import logistic_models as models
from harness import OURS, Options, Row, compare, jax_with_doubles, peer


def run(options: Options) -> list[Row]:
    data = models.data()
    contenders: dict[str, Callable[[], object] | None] = {
        OURS: partial(models.theano_step(), *data),
        "jax": _jax(data),
        "pytensor": _pytensor(data, None),
        "pytensor (c)": _pytensor(data, "CVM"),
        "numpy": models.numpy_step(*data),
    }
    case = "step of the manual's logistic regression, 400 x 784, float64"
    return [Row(case, compare(contenders, options), beat=("pytensor", "pytensor (c)"))]


def _jax(data: models.Data) -> Callable[[], object] | None:
    if jax_with_doubles() is None:
        return None
    step, state = models.jax_step(*data)

    def call() -> Any:
        # Each call goes on from the state before, as in training.
        nonlocal state
        *state, prediction, xent = step(*state, *data)
        xent.block_until_ready()
        return prediction

    return call


def _pytensor(data: models.Data, mode: str | None) -> Callable[[], object] | None:
    if peer("pytensor") is None:
        return None
    return partial(models.pytensor_step(mode), *data)
