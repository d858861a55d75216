"""A training step of a perceptron 784-512-512-10 with tanh and softmax: 128 examples, float32, SGD."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy
from harness import OURS, Options, Row, compare, jax_training, peer
from ready_child import compare_cold
from started import COUNTED

SIZES = (784, 512, 512, 10)
BATCH, RATE = 128, 0.1


def data() -> tuple[Any, Any]:
    """Return random inputs and the classes that they belong to."""
    rng = numpy.random.default_rng(0)
    return rng.normal(size=(BATCH, SIZES[0])).astype("float32"), rng.integers(0, SIZES[-1], BATCH).astype("int32")


def first_values() -> list[Any]:
    """Return weights and biases by layer."""
    rng = numpy.random.default_rng(1)
    values: list[Any] = []
    for n, m in itertools.pairwise(SIZES):
        values += [(rng.normal(size=(n, m)) / numpy.sqrt(n)).astype("float32"), numpy.zeros(m, "float32")]
    return values


def symbolic_step(package: str, mode: str | None, argument: tuple[Any, Any] | None = None) -> Callable[..., Any]:
    """Compile the step with `theano` or `pytensor`; data that are `argument` are shared variables, not arguments."""
    main: Any = importlib.import_module(package)
    tensor: Any = importlib.import_module(f"{package}.tensor")
    x, y = tensor.fmatrix("x"), tensor.ivector("y")
    parameters = [main.shared(value) for value in first_values()]
    h = x
    for k in range(0, len(parameters) - 2, 2):
        h = tensor.tanh(tensor.dot(h, parameters[k]) + parameters[k + 1])
    score = tensor.dot(h, parameters[-2]) + parameters[-1]
    shifted = score - score.max(axis=1, keepdims=True)
    log_p = shifted - tensor.log(tensor.exp(shifted).sum(axis=1, keepdims=True))
    cost = -log_p[tensor.arange(BATCH), y].mean()
    gradients = tensor.grad(cost, parameters)
    rate = numpy.float32(RATE)
    updates = [(p, p - rate * g) for p, g in zip(parameters, gradients, strict=True)]
    options: dict[str, Any] = {"mode": mode} if mode else {}
    if argument is not None:
        options["givens"] = dict(zip([x, y], map(main.shared, argument), strict=True))
    step: Callable[..., Any] = main.function([] if argument is not None else [x, y], cost, updates=updates, **options)
    return step


def jax_step() -> Callable[..., Any]:
    """Compile the step with JAX."""
    jax: Any = peer("jax")
    jnp = jax.numpy

    def cost(parameters: Any, x: Any, y: Any) -> Any:
        h = x
        for k in range(0, len(parameters) - 2, 2):
            h = jnp.tanh(h @ parameters[k] + parameters[k + 1])
        log_p = jax.nn.log_softmax(h @ parameters[-2] + parameters[-1])
        return -log_p[jnp.arange(BATCH), y].mean()

    return jax_training(cost, first_values(), numpy.float32(RATE), data())


def prepare(package: str, mode: str | None) -> Any:
    """Compile the step and call it once."""
    step = jax_step() if package == "jax" else symbolic_step(package, mode)
    return step(*data())


def run(options: Options) -> list[Row]:
    """Measure a step, and how long it takes until one has been made."""
    contenders: dict[str, Callable[[], object] | None] = {
        OURS: partial(symbolic_step("theano", None), *data()),
        "jax": None if peer("jax") is None else partial(jax_step(), *data()),
        "pytensor": None if peer("pytensor") is None else partial(symbolic_step("pytensor", None), *data()),
    }
    case = "training step of an MLP 784-512-512-10, 128 examples, float32"
    ready = Row(f"building that step: empty caches{COUNTED}", beat=("jax",))
    targets = {OURS: "theano", "jax": "jax", "pytensor": "pytensor"}
    return [
        Row(case, compare(contenders, options), beat=("jax",)),
        compare_cold(ready, "mlp", targets, options),
    ]
