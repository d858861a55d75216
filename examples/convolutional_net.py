"""A convolutional net that reads handwritten digits: filters, pooling, dropout, and a softmax at the end.

Run ``python examples/convolutional_net.py [--quick] [--picture net.png]``. The digits are those of scikit-learn, 8 x 8
pixels each; the picture shows the learned filters, and digits that the net gets wrong.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from demo_tools import Array, adam, as_float, batches, drawing, parameter, run, tiles, zeros
from sklearn.datasets import load_digits

import theano
import theano.tensor as T
from theano.sandbox.rng_mrg import MRG_RandomStreams
from theano.tensor.nnet import categorical_crossentropy, conv2d, relu, softmax
from theano.tensor.signal.pool import pool_2d

TRAINED = 1400


class Net:
    """Two convolutions with pooling between them, a hidden layer and a softmax.

    Parameters
    ----------
    rng : numpy.random.Generator
    filters : tuple of int
        How many filters the convolutions have.
    hidden : int
    """

    def __init__(self, rng: np.random.Generator, filters: tuple[int, int] = (16, 32), hidden: int = 64) -> None:
        first, second = filters
        self.filters1 = parameter(rng, "filters1", first, 1, 3, 3, scale=0.4)
        self.filters2 = parameter(rng, "filters2", second, first, 3, 3)
        self.weights = parameter(rng, "weights", second * 4, hidden)
        self.output = parameter(rng, "output", hidden, 10)
        self.biases = [zeros("b1", first), zeros("b2", second), zeros("b3", hidden), zeros("b4", 10)]
        self.params = [self.filters1, self.filters2, self.weights, self.output, *self.biases]
        self.streams = MRG_RandomStreams(int(rng.integers(2**31)))

    def features(self, images: Any) -> Any:
        """Return the features of the second layer in images of shape (batch, 1, height, width)."""
        b1, b2, _, _ = self.biases
        h = relu(conv2d(images, self.filters1, border_mode="half") + b1.dimshuffle("x", 0, "x", "x"))
        h = pool_2d(h, (2, 2), ignore_border=True)
        return conv2d(h, self.filters2, border_mode="half") + b2.dimshuffle("x", 0, "x", "x")

    def scores(self, images: Any, drop: float = 0.0) -> Any:
        """Return the ten scores of each image of 8 x 8 pixels; each hidden unit is left out with probability `drop`."""
        _, _, b3, b4 = self.biases
        h = pool_2d(relu(self.features(images)), (2, 2), ignore_border=True)
        h = relu(T.dot(h.flatten(2), self.weights) + b3)
        if drop:
            h = h * self.streams.binomial(h.shape, p=1 - drop, dtype=h.dtype) / (1 - drop)
        return T.dot(h, self.output) + b4


def digits() -> tuple[Array, Array]:
    """Return 1797 pictures with numbers from 0 to 1, and their labels."""
    bunch = load_digits()
    return as_float(bunch.images[:, None] / 16), bunch.target


def train(net: Net, images: Array, answers: Array, epochs: int, rng: np.random.Generator) -> list[float]:
    """Train a net; return the mean loss of each epoch."""
    x, y = T.tensor4("x"), T.lvector("y")
    loss = categorical_crossentropy(softmax(net.scores(x, drop=0.3)), y).mean()
    step = theano.function([x, y], loss, updates=adam(loss, net.params, 0.003))
    return [
        float(np.mean([step(images[chosen], answers[chosen]) for chosen in batches(rng, len(images), 50)]))
        for _ in range(epochs)
    ]


class Found(NamedTuple):
    """Results: losses of the epochs, and the share of unseen digits that are read rightly."""

    losses: list[float]
    accuracy: float


def main(quick: bool = False, picture: Path | None = None) -> Found:
    rng = np.random.default_rng(1)
    images, answers = digits()
    net = Net(rng)
    losses = train(net, images[:TRAINED], answers[:TRAINED], 6 if quick else 40, rng)
    x = T.tensor4("x")
    read = theano.function([x], T.argmax(net.scores(x), axis=1))
    said = read(images[TRAINED:])
    accuracy = float((said == answers[TRAINED:]).mean())
    print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f}; right on unseen digits {accuracy:.1%}")
    if picture is not None:
        draw(picture, net, images[TRAINED:, 0], answers[TRAINED:], said)
    return Found(losses, accuracy)


def draw(path: Path, net: Net, images: Array, answers: Array, said: Array) -> None:
    wrong = np.flatnonzero(said != answers)[:20]
    with drawing(path, 1, 2) as (left, right):
        left.imshow(tiles(net.filters1.get_value()[:, 0], 4), cmap="RdBu_r")
        left.set_title("filters of the first layer")
        right.imshow(tiles(images[wrong], 5), cmap="gray_r")
        right.set_title("read wrongly: " + " ".join(f"{answers[i]}→{said[i]}" for i in wrong[:5]))
        for axes in (left, right):
            axes.set_axis_off()


if __name__ == "__main__":
    run(main, __doc__)
