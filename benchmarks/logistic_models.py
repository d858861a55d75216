"""The manual's logistic regression in each contender's own words; each step gives the predictions and the losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import numpy.typing as npt
from harness import jax_with_doubles, peer

Array = npt.NDArray[numpy.float64]
Data = tuple[Array, Array]
EXAMPLES, FEATURES = 400, 784


def data() -> Data:
    """Return random inputs and random answers, as in the manual."""
    rng = numpy.random.RandomState(0)
    return rng.randn(EXAMPLES, FEATURES), rng.randint(size=EXAMPLES, low=0, high=2).astype("float64")


def first_weights() -> Array:
    return numpy.random.RandomState(1).randn(FEATURES)


def theano_step() -> Callable[[Array, Array], Any]:
    """Build and compile the step; `theano` is imported here so that others' processes go without it."""
    import theano
    import theano.tensor as T

    x, y = T.dmatrix("x"), T.dvector("y")
    w, b = theano.shared(first_weights(), name="w"), theano.shared(0.0, name="b")
    p_1 = 1 / (1 + T.exp(-T.dot(x, w) - b))
    prediction = p_1 > 0.5
    xent = -y * T.log(p_1) - (1 - y) * T.log(1 - p_1)
    cost = xent.mean() + 0.01 * (w**2).sum()
    gw, gb = T.grad(cost, [w, b])
    return theano.function([x, y], [prediction, xent], updates=((w, w - 0.1 * gw), (b, b - 0.1 * gb)))


def pytensor_step(mode: str | None) -> Callable[[Array, Array], Any]:
    """Build and compile the step with PyTensor; None stands for its default mode."""
    pytensor: Any = peer("pytensor")
    pt: Any = peer("pytensor.tensor")
    x, y = pt.dmatrix("x"), pt.dvector("y")
    w, b = pytensor.shared(first_weights(), name="w"), pytensor.shared(0.0, name="b")
    p_1 = 1 / (1 + pt.exp(-pt.dot(x, w) - b))
    prediction = p_1 > 0.5
    xent = -y * pt.log(p_1) - (1 - y) * pt.log(1 - p_1)
    cost = xent.mean() + 0.01 * (w**2).sum()
    gw, gb = pytensor.grad(cost, [w, b])
    step: Callable[[Array, Array], Any] = pytensor.function(
        [x, y], [prediction, xent], updates=((w, w - 0.1 * gw), (b, b - 0.1 * gb)), mode=mode
    )
    return step


def jax_step(x: Array, y: Array) -> tuple[Any, list[Any]]:
    """Build and compile the step with JAX, in the stable form that its users write; return it and its first state."""
    jax = jax_with_doubles()
    jnp = jax.numpy

    def cost(w: Any, b: Any, x: Any, y: Any) -> Any:
        score = x @ w + b
        xent = y * jax.nn.softplus(-score) + (1 - y) * jax.nn.softplus(score)
        return xent.mean() + 0.01 * (w**2).sum(), (jax.nn.sigmoid(score) > 0.5, xent)

    def step(w: Any, b: Any, x: Any, y: Any) -> Any:
        (gw, gb), (prediction, xent) = jax.grad(cost, argnums=(0, 1), has_aux=True)(w, b, x, y)
        return w - 0.1 * gw, b - 0.1 * gb, prediction, xent

    state = [jnp.asarray(first_weights()), jnp.asarray(0.0)]
    return jax.jit(step).lower(*state, x, y).compile(), state


def numpy_step(x: Array, y: Array) -> Callable[[], Any]:
    """Return the step by hand, in stable form, with the gradient worked out on paper."""
    w, b = first_weights(), 0.0

    def step() -> Any:
        nonlocal w, b
        score = x @ w + b
        p_1 = 1 / (1 + numpy.exp(-score))
        xent = y * numpy.logaddexp(0, -score) + (1 - y) * numpy.logaddexp(0, score)
        residual = (p_1 - y) / len(y)
        w = w - 0.1 * (x.T @ residual + 0.02 * w)
        b = b - 0.1 * residual.sum()
        return p_1 > 0.5, xent

    return step
