"""Convolutions and pooling: a training step in the shape of LeNet, and each operation alone with its gradients.

PyTensor has neither convolutions of images with channels nor pooling; PyTorch is measured where it is installed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy
from harness import OURS, Options, Row, compare, jax_training, peer
from ready_child import compare_cold
from started import COUNTED

BATCH, RATE = 64, 0.1
#: Filters and neurons of the network, layer by layer: (outputs, inputs, rows, columns) or (inputs, outputs).
LAYERS: tuple[tuple[int, ...], ...] = ((20, 1, 5, 5), (50, 20, 5, 5), (800, 500), (500, 10))
IMAGES, FILTERS, POOLED = (32, 16, 32, 32), (32, 16, 3, 3), (32, 16, 64, 64)
JAX_AXES = ("NCHW", "OIHW", "NCHW")


def random(shape: tuple[int, ...], seed: int = 0) -> Any:
    """Return normal numbers."""
    return numpy.random.default_rng(seed).normal(size=shape).astype("float32")


def data() -> tuple[Any, Any]:
    """Return images and the classes that they belong to."""
    return random((BATCH, 1, 28, 28)), numpy.random.default_rng(2).integers(0, 10, BATCH).astype("int32")


def first_values() -> list[Any]:
    """Return weights and biases by layer."""
    values: list[Any] = []
    for shape in LAYERS:
        inputs, outputs = (numpy.prod(shape[1:]), shape[0]) if len(shape) == 4 else shape
        values += [random(shape, 1) / numpy.float32(numpy.sqrt(inputs)), numpy.zeros(outputs, "float32")]
    return values


def our_step(argument: tuple[Any, Any] | None = None) -> Callable[..., Any]:
    """Compile the step with Theano; data that are `argument` are shared variables, not arguments."""
    import theano
    import theano.tensor as tt
    from theano.tensor import nnet
    from theano.tensor.signal import pool

    x, y = tt.ftensor4("x"), tt.ivector("y")
    p = [theano.shared(value) for value in first_values()]
    h = x
    for k in (0, 2):
        h = tt.tanh(
            pool.pool_2d(nnet.conv2d(h, p[k]), (2, 2), ignore_border=True) + p[k + 1].dimshuffle("x", 0, "x", "x")
        )
    h = tt.tanh(tt.dot(h.flatten(2), p[4]) + p[5])
    cost = nnet.categorical_crossentropy(nnet.softmax(tt.dot(h, p[6]) + p[7]), y).mean()
    rate = numpy.float32(RATE)
    updates = [(v, v - rate * g) for v, g in zip(p, tt.grad(cost, p), strict=True)]
    givens = None if argument is None else dict(zip([x, y], map(theano.shared, argument), strict=True))
    step: Callable[..., Any] = theano.function([x, y] if argument is None else [], cost, updates=updates, givens=givens)
    return step


def jax_step() -> Callable[..., Any]:
    """Compile the step with JAX."""
    jax: Any = peer("jax")
    jnp = jax.numpy

    def cost(p: Any, x: Any, y: Any) -> Any:
        h = x
        for k in (0, 2):
            h = _jax_conv(jax, h, p[k][:, :, ::-1, ::-1])
            h = jnp.tanh(_jax_pool(jax, h) + p[k + 1][None, :, None, None])
        h = jnp.tanh(h.reshape(BATCH, -1) @ p[4] + p[5])
        log_p = jax.nn.log_softmax(h @ p[6] + p[7])
        return -log_p[jnp.arange(BATCH), y].mean()

    return jax_training(cost, first_values(), numpy.float32(RATE), data())


def _jax_conv(jax: Any, x: Any, w: Any) -> Any:
    return jax.lax.conv_general_dilated(x, w, (1, 1), "VALID", dimension_numbers=JAX_AXES)


def _jax_pool(jax: Any, x: Any) -> Any:
    return jax.lax.reduce_window(x, -numpy.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")


def torch_step() -> Callable[..., Any]:
    """Return the step as PyTorch does it, eagerly."""
    torch: Any = peer("torch")
    p = [torch.tensor(value, requires_grad=True) for value in first_values()]
    F = torch.nn.functional

    def call(x: Any, y: Any) -> Any:
        h = torch.from_numpy(x)
        for k in (0, 2):
            h = F.max_pool2d(F.conv2d(h, p[k].flip(2, 3)), 2) + p[k + 1][None, :, None, None]
            h = torch.tanh(h)
        h = torch.tanh(h.flatten(1) @ p[4] + p[5])
        cost = F.cross_entropy(h @ p[6] + p[7], torch.from_numpy(y).long())
        gradients = torch.autograd.grad(cost, p)
        with torch.no_grad():
            for v, g in zip(p, gradients, strict=True):
                v -= RATE * g
        return cost.item()

    return call


def _step_row(options: Options) -> Row:
    contenders: dict[str, Callable[[], object] | None] = {
        OURS: partial(our_step(), *data()),
        "jax": None if peer("jax") is None else partial(jax_step(), *data()),
        "torch": None if peer("torch") is None else partial(torch_step(), *data()),
    }
    case = "training step of LeNet: 64 images 28 x 28, 20 and 50 filters 5 x 5, 500 neurons, float32"
    return Row(case, compare(contenders, options), beat=("jax",))


def _gradients_row(
    case: str, values: list[Any], ours: Callable[..., Any], theirs: dict[str, Callable[..., Any]], options: Options
) -> Row:
    """Measure an operation, weighted and summed, with the gradients by all of its operands.

    The weights come as the last operand, so that nobody can make the sum simpler.
    """
    import theano
    import theano.tensor as tt

    variables = [tt.ftensor4() for _ in values]
    result = ours(*variables[:-1])
    gradients = tt.grad((result * variables[-1]).sum(), variables[:-1])
    contenders: dict[str, Callable[[], object] | None] = {
        OURS: partial(theano.function(variables, [result, *gradients]), *values),
        "jax": None,
        "torch": None,
    }
    jax, torch = peer("jax"), peer("torch")
    if jax is not None:

        def both(*operands: Any) -> Any:
            result, pull = jax.vjp(theirs["jax"], *operands[:-1])
            return result, pull(operands[-1])

        compiled, arrays = jax.jit(both), [jax.numpy.asarray(v) for v in values]
        contenders["jax"] = lambda: jax.block_until_ready(compiled(*arrays))
    if torch is not None:
        tensors = [torch.tensor(v, requires_grad=True) for v in values]

        def eager() -> object:
            result = theirs["torch"](*tensors[:-1])
            return torch.autograd.grad(result, tensors[:-1], tensors[-1])

        contenders["torch"] = eager
    return Row(case, compare(contenders, options), beat=("jax",))


def _convolution_row(options: Options) -> Row:
    from theano.tensor import nnet

    jax: Any = peer("jax")
    torch: Any = peer("torch")
    values = [random(IMAGES), random(FILTERS, 1), random((32, 32, 30, 30), 2)]
    theirs = {
        "jax": lambda x, w: _jax_conv(jax, x, w),
        "torch": lambda x, w: torch.nn.functional.conv2d(x, w),
    }
    case = f"conv2d of {IMAGES} with {FILTERS} and both gradients, float32"
    return _gradients_row(case, values, partial(nnet.conv2d, filter_flip=False), theirs, options)


def _pooling_row(options: Options) -> Row:
    from theano.tensor.signal import pool

    jax: Any = peer("jax")
    torch: Any = peer("torch")
    values = [random(POOLED), random((32, 16, 32, 32), 1)]
    theirs = {
        "jax": lambda x: _jax_pool(jax, x),
        "torch": lambda x: torch.nn.functional.max_pool2d(x, 2),
    }
    case = f"pool_2d of {POOLED} by 2 x 2, mode max, and its gradient, float32"
    return _gradients_row(case, values, partial(pool.pool_2d, ws=(2, 2), ignore_border=True), theirs, options)


def prepare(package: str, mode: str | None) -> Any:
    """Compile the step and call it once."""
    return (jax_step() if package == "jax" else our_step())(*data())


def run(options: Options) -> list[Row]:
    """Measure the step, both operations, and how long it takes until a step has been made."""
    ready = Row(f"building the step of LeNet: empty caches{COUNTED}", beat=("jax",))
    return [
        _step_row(options),
        _convolution_row(options),
        _pooling_row(options),
        compare_cold(ready, "convolution", {OURS: "theano", "jax": "jax"}, options),
    ]
