"""Update of some rows of a lookup table: 512 rows of 20000 x 64, float32, square-sum cost, increments that add up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import cycle
from typing import Any

import numpy
import numpy.typing as npt
from harness import OURS, Options, Row, compare, peer

WORDS, FEATURES, BATCH = 20000, 64, 512
#: So small that even many steps do not bring the weights near the subnormal numbers, which are slow on any machine.
RATE = 1e-6
Batches = Sequence[npt.NDArray[numpy.int64]]


def table() -> npt.NDArray[numpy.float32]:
    return numpy.random.default_rng(0).normal(size=(WORDS, FEATURES)).astype("float32")


def batches() -> Batches:
    """Return some batches of word numbers; words may occur several times."""
    rng = numpy.random.default_rng(1)
    return [rng.integers(0, WORDS, BATCH) for _ in range(16)]


def in_turn(step: Callable[[Any], object], argument: Batches) -> Callable[[], object]:
    """Return a call that works on the next batch each time."""
    following = cycle(argument)
    return lambda: step(next(following))


def theano_step() -> Callable[[Any], object]:
    import theano
    import theano.tensor as T

    weights, rows = theano.shared(table(), name="weights"), T.lvector("rows")
    subset = weights[rows]
    cost = T.sqr(subset).sum()
    change = numpy.float32(-RATE) * T.grad(cost, subset)
    step: Callable[[Any], object] = theano.function([rows], cost, updates=[(weights, T.inc_subtensor(subset, change))])
    return step


def pytensor_step(mode: str | None) -> Callable[[Any], object]:
    """Build and compile the step with PyTensor; None stands for its default mode."""
    pytensor: Any = peer("pytensor")
    pt: Any = peer("pytensor.tensor")
    weights, rows = pytensor.shared(table(), name="weights"), pt.lvector("rows")
    subset = weights[rows]
    cost = pt.sqr(subset).sum()
    change = numpy.float32(-RATE) * pytensor.grad(cost, subset)
    step: Callable[[Any], object] = pytensor.function(
        [rows], cost, updates=[(weights, pt.inc_subtensor(subset, change))], mode=mode
    )
    return step


def jax_step() -> Callable[[Any], object]:
    """Build the step with JAX; the table is donated, so that it can be changed in place."""
    jax: Any = peer("jax")
    jnp = jax.numpy

    def cost(subset: Any) -> Any:
        return jnp.square(subset).sum()

    def step(weights: Any, rows: Any) -> Any:
        value, gradient = jax.value_and_grad(cost)(weights[rows])
        return weights.at[rows].add(-RATE * gradient), value

    compiled = jax.jit(step, donate_argnums=0)
    weights = jnp.asarray(table())

    def call(rows: Any) -> object:
        nonlocal weights
        weights, value = compiled(weights, rows)
        weights.block_until_ready()
        return value.block_until_ready()

    return call


def numpy_step() -> Callable[[Any], object]:
    weights = table()

    def step(rows: Any) -> object:
        subset = weights[rows]
        numpy.add.at(weights, rows, numpy.float32(-2 * RATE) * subset)
        return numpy.square(subset).sum()

    return step


def run(options: Options) -> list[Row]:
    data = batches()
    contenders: dict[str, Callable[[], object] | None] = {
        OURS: in_turn(theano_step(), data),
        "jax": None if peer("jax") is None else in_turn(jax_step(), data),
        "pytensor": None if peer("pytensor") is None else in_turn(pytensor_step(None), data),
        "pytensor (c)": None if peer("pytensor") is None else in_turn(pytensor_step("CVM"), data),
        "numpy": in_turn(numpy_step(), data),
    }
    case = "update of 512 rows of a table of 20000 x 64, float32"
    return [Row(case, compare(contenders, options), beat=("pytensor", "pytensor (c)"), ahead={"jax": 2.5})]
