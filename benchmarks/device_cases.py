"""What `device.py` measures: training steps, loops, memory rates, products and first calls on a device.

It runs with the flags ``device=NAME,floatX=float32,force_device=True``, so that shared variables are on the device.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import convolution
import loops
import mlp
import numpy
from harness import Options, compare, peer

OURS = "theano"
#: Bytes of the arrays whose rates are measured, and the rows and columns of the products; then those of a quick run.
BYTES, SIDE = (1 << 30, 1 << 24), (8192, 256)


@dataclass(frozen=True, slots=True)
class Figures:
    """Seconds of a call of ours, and of the contender that the aim names."""

    ours: float
    beside: float | None = None
    contender: str = ""

    @property
    def ratio(self) -> float | None:
        """Our time divided by that of the contender."""
        return None if not self.beside else self.ours / self.beside

    def fields(self) -> dict[str, Any]:
        """Return what `json` writes."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Case:
    """A row of the table.

    Attributes
    ----------
    title, aim : str
    run : callable
        Measures; True stands for small sizes and few turns.
    most : float
        The largest ratio with which the aim is met, or the most seconds.
    seconds : bool
        Whether `most` is seconds.
    """

    title: str
    aim: str
    run: Callable[[bool], Figures]
    most: float
    seconds: bool = False

    def holds(self, found: Figures) -> bool | None:
        """Tell whether the aim is met; None where the contender is not there."""
        figure = found.ours if self.seconds else found.ratio
        return None if figure is None else figure <= self.most


def describe_device() -> str:
    """Return names and versions of the device and of all contenders."""
    theano: Any = importlib.import_module("theano")
    context = theano.gpuarray.type.get_context(None)
    versions = [f"{name} {module.__version__}" for name in ("jax", "torch") if (module := peer(name)) is not None]
    return ", ".join([f"{context.devname}", f"theano {theano.__version__}", f"numpy {numpy.__version__}", *versions])


def turns(quick: bool) -> Options:
    """Return how many turns of what length there are."""
    return Options(rounds=5, turn_seconds=0.02) if quick else Options(rounds=21, turn_seconds=0.1)


def beside(ours: Callable[[], object], theirs: Callable[[], object] | None, contender: str, quick: bool) -> Figures:
    """Time two contenders in turns."""
    found = compare({OURS: ours, contender: theirs}, turns(quick))
    own, other = found[OURS], found[contender]
    assert isinstance(own, float), "ours is always there"
    return Figures(own, other if isinstance(other, float) else None, contender)


def jax_on_device(step: Callable[..., Any], values: tuple[Any, ...]) -> Callable[[], object] | None:
    """Return a call of a step of JAX with data on its device."""
    jax: Any = peer("jax")
    return None if jax is None else partial(step, *(jax.device_put(value) for value in values))


def mlp_resident(quick: bool) -> Figures:
    """Measure the training step of `mlp`; parameters and data are on the device."""
    theirs = None if peer("jax") is None else jax_on_device(mlp.jax_step(), mlp.data())
    return beside(mlp.symbolic_step("theano", None, mlp.data()), theirs, "jax", quick)


def mlp_passed(quick: bool) -> Figures:
    """Measure the same step with data that are passed from the host."""
    theirs = None if peer("jax") is None else partial(mlp.jax_step(), *mlp.data())
    return beside(partial(mlp.symbolic_step("theano", None), *mlp.data()), theirs, "jax", quick)


def host_time(quick: bool) -> Figures:
    """Measure how long a call keeps the host, where nothing waits for its results."""
    theano: Any = importlib.import_module("theano")
    weights = theano.shared(numpy.ones((64, 64), "float32"))
    step = theano.function([], [], updates=[(weights, weights * numpy.float32(0.999))])
    times, calls = [], 20 if quick else 200
    for _ in range(turns(quick).rounds):
        weights.get_value()  # waits until the queue is empty
        start = time.perf_counter_ns()
        for _ in range(calls):
            step()
        times.append((time.perf_counter_ns() - start) / calls * 1e-9)
    return Figures(sorted(times)[len(times) // 2])


def lenet(quick: bool) -> Figures:
    """Measure the training step of `convolution`; parameters and data are on the device."""
    theirs = None if peer("jax") is None else jax_on_device(convolution.jax_step(), convolution.data())
    return beside(convolution.our_step(convolution.data()), theirs, "jax", quick)


def gated_units(quick: bool) -> Figures:
    """Measure value and gradients of gated units, 50 steps; all arguments are on the device."""
    theano: Any = importlib.import_module("theano")
    values = loops.network_values(9)
    inputs, outputs = loops.network(loops.gated, 9, gradient=True)(theano, theano.tensor)
    givens = dict(zip(inputs, map(theano.shared, values), strict=True))
    theirs = None
    if (jax := peer("jax")) is not None:
        compiled = jax.jit(loops.jax_network(loops.gated, True, jax))
        there = [jax.device_put(value) for value in values]
        theirs = lambda: jax.block_until_ready(compiled(*there))  # noqa: E731
    return beside(theano.function([], outputs, givens=givens), theirs, "jax", quick)


def memory_rate(build: Callable[[Any, Any], Any], quick: bool) -> Figures:
    """Measure an update of one array by an expression of another beside a copy of as many bytes on the device."""
    theano: Any = importlib.import_module("theano")
    columns = 1024
    values = numpy.ones((BYTES[quick] // 4 // columns, columns), "float32")
    source, target = theano.shared(values), theano.shared(values)
    result = build(theano.tensor, source)
    if result.ndim != 2:
        target = theano.shared(values[:, 0].copy())
    step = theano.function([], [], updates=[(target, result)])
    array = source.get_value(borrow=True, return_internal_type=True)

    def ours() -> None:
        step()
        array.sync()

    def copy() -> None:
        array.copy()
        array.sync()

    found = beside(ours, copy, "copy", quick)
    # A copy reads and writes all bytes; a sum of rows reads them only.
    moved = 1.0 if result.ndim == 2 else 0.5
    return Figures(found.ours, None if found.beside is None else found.beside * moved, "copy of the same bytes")


def product(tf32: bool, quick: bool) -> Figures:
    """Measure a product of matrices beside PyTorch."""
    theano: Any = importlib.import_module("theano")
    theano.config.gpuarray.tf32 = tf32
    values = numpy.random.default_rng(0).normal(size=(SIDE[quick], SIDE[quick])).astype("float32")
    a, b, c = (theano.shared(values) for _ in range(3))
    step = theano.function([], [], updates=[(c, theano.tensor.dot(a, b))])
    array = a.get_value(borrow=True, return_internal_type=True)

    def ours() -> None:
        step()
        array.sync()

    torch: Any = peer("torch")
    theirs = None
    if torch is not None and torch.cuda.is_available():
        torch.backends.cuda.matmul.allow_tf32 = tf32
        left, right = (torch.from_numpy(values).cuda() for _ in range(2))

        def theirs() -> None:
            torch.matmul(left, right)
            torch.cuda.synchronize()

    return beside(ours, theirs, "torch", quick)


#: Prints the seconds until the first training step of the perceptron has been made, start-up not counted.
FIRST = """
import json, time
import theano, mlp
theano.function([], theano.shared(mlp.data()[0]) + 1)()
begin = time.perf_counter()
mlp.symbolic_step("theano", None)(*mlp.data())
print(json.dumps(time.perf_counter() - begin))
"""


def first_call(second: bool, quick: bool) -> Figures:
    """Measure building and first call of the step of `mlp`, with empty caches or in a second process."""
    times = []
    for _ in range(1 if quick else 3):
        with tempfile.TemporaryDirectory(prefix="bench-device-") as folder:
            for _ in range(1 + second):
                code = f"import os; os.environ['THEANO_FLAGS'] += ',base_compiledir={folder}'\n{FIRST}"
                done = subprocess.run(
                    [sys.executable, "-c", code], cwd=Path(__file__).parent, capture_output=True, text=True, check=True
                )
                last = float(json.loads(done.stdout.strip().splitlines()[-1]))
        times.append(last)
    return Figures(sorted(times)[len(times) // 2])


def _elementwise(tensor: Any, x: Any) -> Any:
    return tensor.tanh(x * 2 + 1) * tensor.exp(-tensor.sqr(x))


def _row_sums(tensor: Any, x: Any) -> Any:
    return tensor.sqr(x + 1).sum(axis=1)


_STEP = "training step of an MLP 784-512-512-10, 128 examples, float32"
CASES: dict[str, Case] = {
    "mlp": Case(f"{_STEP}: parameters and data on the device", "at most 0.7 of jax", mlp_resident, 0.7),
    "mlp_host": Case(f"{_STEP}: data passed from the host", "at most 0.9 of jax", mlp_passed, 0.9),
    "host": Case("host time of a replayed call", "at most 10 µs", host_time, 10e-6, seconds=True),
    "lenet": Case("training step of LeNet, 64 images", "at most 0.9 of jax", lenet, 0.9),
    "gru": Case("gated units, 50 steps, value and gradients", "at most 0.5 of jax", gated_units, 0.5),
    "elementwise": Case(
        "fused elementwise over 1 GB", "at least 90 % of the copy rate", partial(memory_rate, _elementwise), 1 / 0.9
    ),
    "row_sums": Case("row sums of 1 GB", "at least 90 % of the copy rate", partial(memory_rate, _row_sums), 1 / 0.9),
    "product": Case(
        "product 8192 x 8192, float32", "at least 97 % of the rate of torch", partial(product, False), 1 / 0.97
    ),
    "product_tf32": Case(
        "product 8192 x 8192, TF32", "at least 97 % of the rate of torch", partial(product, True), 1 / 0.97
    ),
    "first": Case("first call of the MLP, empty caches", "at most 1 s", partial(first_call, False), 1.0, seconds=True),
    "second": Case(
        "first call of the MLP, second process", "at most 80 ms", partial(first_call, True), 0.08, seconds=True
    ),
}
