"""A recurrent net whose steps are written out by a Python loop, as before loops were symbolic.

It reads bits one at a time and learns to tell their running parity. Run ``python examples/unrolled_rnn.py [--quick]
[--picture cost.png]``; that it learns, and that its gradient is right, is checked.
"""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from demo_tools import drawing, run

import theano
import theano.tensor as T

Array = npt.NDArray[np.floating[Any]]
STEPS = 6
HIDDEN = 16


def parameter(rng: np.random.RandomState, name: str, *shape: int) -> Any:
    """Return a shared array of small random numbers; one of a single dimension starts at zero."""
    values = rng.randn(*shape) / np.sqrt(shape[0]) if len(shape) > 1 else np.zeros(shape)
    return theano.shared(np.asarray(values, dtype=theano.config.floatX), name=name)


class RecurrentNet:
    """A gated recurrent layer and a logistic output at each step.

    Parameters
    ----------
    rng : numpy.random.RandomState
    n_in, n_hidden, n_steps : int
    """

    def __init__(self, rng: np.random.RandomState, n_in: int, n_hidden: int, n_steps: int) -> None:
        self.n_steps = n_steps
        self.w_in = parameter(rng, "w_in", n_in, 3 * n_hidden)
        self.w_gates = parameter(rng, "w_gates", n_hidden, 2 * n_hidden)
        self.w_state = parameter(rng, "w_state", n_hidden, n_hidden)
        self.bias = parameter(rng, "bias", 3 * n_hidden)
        self.w_out = parameter(rng, "w_out", n_hidden, 1)
        self.b_out = parameter(rng, "b_out", 1)
        self.params = [self.w_in, self.w_gates, self.w_state, self.bias, self.w_out, self.b_out]
        self.n_hidden = n_hidden

    def step(self, x_t: Any, h: Any) -> Any:
        """Return the next state."""
        n = self.n_hidden
        projected = T.dot(x_t, self.w_in) + self.bias
        gates = T.nnet.sigmoid(projected[:, : 2 * n] + T.dot(h, self.w_gates))
        update, reset = gates[:, :n], gates[:, n:]
        candidate = T.tanh(projected[:, 2 * n :] + T.dot(reset * h, self.w_state))
        return (1 - update) * h + update * candidate

    def outputs(self, x: Any) -> Any:
        """Return probabilities of shape (batch, steps) for `x` of shape (batch, steps, n_in)."""
        h = T.zeros((x.shape[0], self.n_hidden), dtype=theano.config.floatX)
        answers = []
        for t in range(self.n_steps):
            h = self.step(x[:, t], h)
            answers.append(T.nnet.sigmoid(T.dot(h, self.w_out) + self.b_out))
        return T.concatenate(answers, axis=1)


def adam(cost: Any, params: list[Any], rate: float = 0.01) -> OrderedDict[Any, Any]:
    """Return the updates of one step of Adam."""
    updates: OrderedDict[Any, Any] = OrderedDict()
    t = theano.shared(np.asarray(0, dtype=theano.config.floatX), name="t")
    updates[t] = t + 1
    factor = rate * T.sqrt(1 - 0.999 ** (t + 1)) / (1 - 0.9 ** (t + 1))
    for param, gradient in zip(params, T.grad(cost, params), strict=True):
        m, v = (theano.shared(np.zeros_like(param.get_value(borrow=True))) for _ in range(2))
        updates[m] = 0.9 * m + 0.1 * gradient
        updates[v] = 0.999 * v + 0.001 * gradient**2
        updates[param] = param - factor * updates[m] / (T.sqrt(updates[v]) + 1e-8)
    return updates


def sequences(rng: np.random.RandomState, n: int) -> tuple[Array, Array]:
    """Return random bits of shape (n, steps, 1) and their running parity."""
    bits = rng.randint(0, 2, size=(n, STEPS))
    dtype = theano.config.floatX
    return bits[:, :, None].astype(dtype), (bits.cumsum(axis=1) % 2).astype(dtype)


def check_gradient(net: RecurrentNet, cost: Any, x: Any, y: Any, rng: np.random.RandomState) -> None:
    """Compare the gradient along a random direction with a difference of costs."""
    bits, parity = sequences(rng, 4)
    evaluate = theano.function([x, y], cost)
    slopes = theano.function([x, y], T.grad(cost, net.params))(bits, parity)
    starts = [p.get_value() for p in net.params]
    directions = [rng.randn(*s.shape).astype(s.dtype) for s in starts]
    ends = []
    for sign in (1, -1):
        for p, s, d in zip(net.params, starts, directions, strict=True):
            p.set_value(s + sign * 1e-5 * d)
        ends.append(float(evaluate(bits, parity)))
    for p, s in zip(net.params, starts, strict=True):
        p.set_value(s)
    expected = sum(float((g * d).sum()) for g, d in zip(slopes, directions, strict=True))
    np.testing.assert_allclose((ends[0] - ends[1]) / 2e-5, expected, rtol=1e-4)


def main(steps: int = 400, quick: bool = True, picture: Path | None = None) -> float:
    steps = steps if quick else 3 * steps
    rng = np.random.RandomState(7)
    net = RecurrentNet(rng, 1, HIDDEN, STEPS)
    x, y = T.tensor3("x"), T.matrix("y")
    p = net.outputs(x)
    cost = T.nnet.binary_crossentropy(p, y).mean()
    if theano.config.floatX == "float64":
        check_gradient(net, cost, x, y, rng)
    train = theano.function([x, y], cost, updates=adam(cost, net.params))
    predict = theano.function([x], p > 0.5)
    costs = [float(train(*sequences(rng, 64))) for _ in range(steps)]
    bits, parity = sequences(rng, 500)
    right = float((predict(bits) == (parity > 0.5)).mean())
    print(f"cost {costs[0]:.3f} -> {costs[-1]:.3f}; right answers {right:.3f}")
    assert costs[-1] < 0.2 * costs[0], (costs[0], costs[-1])
    assert right > 0.97, right
    if picture is not None:
        with drawing(picture) as axes:
            axes.semilogy(costs)
            axes.set_xlabel("step")
            axes.set_ylabel("cross-entropy of the parity")
    return right


if __name__ == "__main__":
    run(main, __doc__)
