"""Cases of `device.py`: training steps, loops, memory rates, products and first calls on a device.

It runs with the flags ``device=NAME,floatX=float32,force_device=True``, so that shared variables are on the device.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import convolution
import loops
import mlp
import numpy
from device_peers import Contenders, Figures, contest, cupy, jax, on_device_of_jax, torch, turns

#: Bytes of the arrays whose rates are measured, and the rows and columns of the products; then those of a quick run.
BYTES, SIDE = (1 << 30, 1 << 24), (8192, 256)


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

    def holds(self, match: Figures) -> bool | None:
        """Tell whether the aim is met; None where the contender is not there."""
        figure = match.ours if self.seconds else match.ratio
        return None if figure is None else figure <= self.most


def default_context() -> Any:
    """Return the context of the device."""
    theano: Any = importlib.import_module("theano")
    return theano.gpuarray.type.get_context(None)


def mlp_resident(quick: bool) -> Figures:
    """Measure the training step of `mlp`; parameters and data are on the device."""
    step = mlp.symbolic_step("theano", None, mlp.data())
    return contest(step, {"jax": lambda: on_device_of_jax(mlp.jax_step, mlp.data())}, quick)


def mlp_passed(quick: bool) -> Figures:
    """Measure the same step with data that are passed from the host."""
    step = partial(mlp.symbolic_step("theano", None), *mlp.data())
    return contest(step, {"jax": lambda: jax() and partial(mlp.jax_step(), *mlp.data())}, quick)


def unwaited_step(passed: bool) -> Callable[[], object]:
    """Return a step of the same perceptron with squared errors: it has no result and no status to wait for."""
    theano: Any = importlib.import_module("theano")
    tensor = theano.tensor
    images = mlp.data()[0]
    values = images, numpy.ones((len(images), mlp.SIZES[-1]), "float32")
    variables = [tensor.fmatrix(), tensor.fmatrix()] if passed else [theano.shared(value) for value in values]
    parameters = [theano.shared(value) for value in mlp.first_values()]
    h = variables[0]
    for weights, bias in zip(parameters[::2], parameters[1::2], strict=True):
        h = tensor.tanh(tensor.dot(h, weights) + bias)
    gradients = tensor.grad(tensor.sqr(h - variables[1]).mean(), parameters)
    rate = numpy.float32(mlp.RATE)
    updates = [(p, p - rate * g) for p, g in zip(parameters, gradients, strict=True)]
    step: Callable[..., object] = theano.function(variables if passed else [], [], updates=updates)
    return partial(step, *values) if passed else step


def host_time(passed: bool, quick: bool) -> Figures:
    """Measure how long a call keeps the host where nothing waits for the device; the queue is empty in the beginning.

    Calls with data from the host also report the time that a copy of the data in the memory of the host takes.
    """
    step, context = unwaited_step(passed), default_context()
    calls = 10
    for _ in range(calls):
        step()
    times = []
    for _ in range(turns(quick).rounds):
        context.synchronize()
        start = time.perf_counter_ns()
        for _ in range(calls):
            step()
        times.append((time.perf_counter_ns() - start) / calls * 1e-9)
    context.synchronize()
    note = f"{1e6 * _copy_seconds():.1f} µs of it copy the images" if passed else ""
    return Figures(sorted(times)[len(times) // 2], note=note)


def _copy_seconds() -> float:
    """Return how long a copy of the images takes on the host."""
    images = mlp.data()[0]
    target, times = numpy.empty_like(images), []
    for _ in range(101):
        start = time.perf_counter_ns()
        numpy.copyto(target, images)
        times.append((time.perf_counter_ns() - start) * 1e-9)
    return sorted(times)[50]


def lenet(quick: bool) -> Figures:
    """Measure the training step of `convolution`; parameters and data are on the device."""
    step = convolution.our_step(convolution.data())
    return contest(step, {"jax": lambda: on_device_of_jax(convolution.jax_step, convolution.data())}, quick)


def gated_units(quick: bool) -> Figures:
    """Measure value and gradients of gated units, 50 steps; arguments and results are on the device."""
    theano: Any = importlib.import_module("theano")
    values = loops.network_values(9)
    inputs, outputs = loops.network(loops.gated, 9, gradient=True)(theano, theano.tensor)
    givens = dict(zip(inputs, map(theano.shared, values), strict=True))
    function = theano.function([], [out.transfer(None) for out in outputs], givens=givens)

    def ours() -> None:
        function()
        default_context().synchronize()

    def theirs() -> Callable[[], object] | None:
        module = jax()
        if module is None:
            return None
        compiled = module.jit(loops.jax_network(loops.gated, True, module))
        there = [module.device_put(value) for value in values]
        return lambda: module.block_until_ready(compiled(*there))

    return contest(ours, {"jax": theirs}, quick)


def memory_rate(
    build: Callable[[Any, Any], Any], in_cupy: Callable[[Any], Callable[[Any], object]], quick: bool
) -> Figures:
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

    others: Contenders = {"copy": lambda: copy, "cupy": lambda: _with_cupy(in_cupy, values)}
    match = contest(ours, others, quick)
    copied = match.beside["copy"]
    if not isinstance(copied, float):
        return match
    note = f"the copy reads and writes {2e-9 * values.nbytes / copied:.0f} GB/s"
    # A copy reads and writes all bytes; a sum of rows reads them only.
    match.beside["copy"] = copied * (1.0 if result.ndim == 2 else 0.5)
    return Figures(match.ours, match.beside, note)


def _with_cupy(make: Callable[[Any], Callable[[Any], object]], values: Any) -> Callable[[], object] | None:
    module = cupy()
    if module is None:
        return None
    kernel, there = make(module), module.asarray(values)

    def call() -> None:
        kernel(there)
        module.cuda.get_current_stream().synchronize()

    return call


def product(tf32: bool, quick: bool) -> Figures:
    """Measure a product of matrices beside PyTorch and CuPy, all of them with or without rounding to TF32."""
    os.environ["CUPY_TF32"] = str(int(tf32))
    theano: Any = importlib.import_module("theano")
    theano.config.gpuarray.tf32 = tf32
    values = numpy.random.default_rng(0).normal(size=(SIDE[quick], SIDE[quick])).astype("float32")
    a, b, c = (theano.shared(values) for _ in range(3))
    step = theano.function([], [], updates=[(c, theano.tensor.dot(a, b))])
    array = a.get_value(borrow=True, return_internal_type=True)

    def ours() -> None:
        step()
        array.sync()

    def theirs() -> Callable[[], object] | None:
        module = torch(tf32)
        if module is None:
            return None
        device = "cuda" if module.cuda.is_available() else "cpu"
        left, right = (module.from_numpy(values).to(device) for _ in range(2))

        def call() -> None:
            module.matmul(left, right)
            if device == "cuda":
                module.cuda.synchronize()

        return call

    others: Contenders = {"torch": theirs, "cupy": lambda: _with_cupy(lambda m: lambda x: m.matmul(x, x), values)}
    return contest(ours, others, quick)


#: Prints the seconds from the expression of the training step to its first result. Everything that other functions of
#: need as well has been there before: the device, and the compiler of kernels.
FIRST = """
import json, time
import theano, mlp
theano.function([], theano.shared(mlp.data()[0]) + 1)()
values, data = mlp.first_values(), mlp.data()
mlp.first_values = lambda: values
begin = time.perf_counter()
mlp.symbolic_step("theano", None)(*data)
print(json.dumps(time.perf_counter() - begin))
"""


def first_call(second: bool, quick: bool) -> Figures:
    """Measure building and first call of the step of `mlp`, with empty caches or in a second process."""
    times = []
    for _ in range(1 if quick else 3):
        with tempfile.TemporaryDirectory(prefix="bench-device-") as folder:
            changes = {"THEANO_FLAGS": f"{os.environ['THEANO_FLAGS']},base_compiledir={folder}"}
            # The driver may not have compiled anything before either; Python's own modules have been compiled.
            environment = os.environ | changes | {"CUDA_CACHE_DISABLE": "1", "PYTHONDONTWRITEBYTECODE": ""}
            for _ in range(1 + second):
                last = _seconds_of([sys.executable, "-c", FIRST], environment)
        times.append(last)
    return Figures(sorted(times)[len(times) // 2])


def _seconds_of(command: Sequence[str], environment: dict[str, str]) -> float:
    done = subprocess.run(command, env=environment, cwd=Path(__file__).parent, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1])
    return float(json.loads(done.stdout.strip().splitlines()[-1]))


def _elementwise(tensor: Any, x: Any) -> Any:
    return tensor.tanh(x * 2 + 1) * tensor.exp(-tensor.sqr(x))


def _elementwise_in_cupy(module: Any) -> Any:
    text = "y = tanhf(x * 2 + 1) * expf(-x * x)"
    return module.ElementwiseKernel("float32 x", "float32 y", text, "bench_elementwise")


def _row_sums(tensor: Any, x: Any) -> Any:
    return tensor.sqr(x + 1).sum(axis=1)


def _row_sums_in_cupy(module: Any) -> Any:
    parts = "float32 x", "float32 y", "(x + 1) * (x + 1)", "a + b", "y = a", "0", "bench_row_sums"
    return partial(module.ReductionKernel(*parts), axis=1)


_STEP = "training step of an MLP 784-512-512-10, 128 examples, float32"
CASES: dict[str, Case] = {
    "mlp": Case(f"{_STEP}: parameters and data on the device", "at most 0.7 of jax", mlp_resident, 0.7),
    "mlp_host": Case(f"{_STEP}: data passed from the host", "at most 0.9 of jax", mlp_passed, 0.9),
    "host": Case(
        "host time of a step, data on the device",
        "at most 10 µs",
        partial(host_time, False),
        10e-6,
        seconds=True,
    ),
    "host_passed": Case(
        "host time of a step, 401 KB passed from the host",
        "at most 10 µs",
        partial(host_time, True),
        10e-6,
        seconds=True,
    ),
    "lenet": Case("training step of LeNet, 64 images", "at most 0.9 of jax", lenet, 0.9),
    "gru": Case("gated units, 50 steps, value and gradients", "at most 0.5 of jax", gated_units, 0.5),
    "elementwise": Case(
        "fused elementwise over 1 GB",
        "at least 90 % of the copy rate",
        partial(memory_rate, _elementwise, _elementwise_in_cupy),
        1 / 0.9,
    ),
    "row_sums": Case(
        "row sums of 1 GB",
        "at least 90 % of the copy rate",
        partial(memory_rate, _row_sums, _row_sums_in_cupy),
        1 / 0.9,
    ),
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
