"""A variational autoencoder: it decodes handwritten digits from two latent values, and infers these from digits.

Run ``python examples/variational_autoencoder.py [--quick] [--picture digits.png]``. The picture shows digits
decoded from a grid of latent values, and the latent values of the real digits, coloured by class: the classes lie
apart, though the model has not seen them.
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
from theano.tensor.nnet import sigmoid, softplus

PIXELS, HIDDEN, LATENT = 64, 128, 2


class Autoencoder:
    """An encoder that gives the mean and the log variance of latent values, and a decoder back to pixels."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.into = [parameter(rng, "e1", PIXELS, HIDDEN), zeros("e1_bias", HIDDEN)]
        self.mean = [parameter(rng, "mean", HIDDEN, LATENT), zeros("mean_bias", LATENT)]
        self.log_variance = [parameter(rng, "variance", HIDDEN, LATENT, scale=0.01), zeros("variance_bias", LATENT)]
        self.back = [parameter(rng, "d1", LATENT, HIDDEN), zeros("d1_bias", HIDDEN)]
        self.out = [parameter(rng, "d2", HIDDEN, PIXELS), zeros("d2_bias", PIXELS)]
        self.params = [*self.into, *self.mean, *self.log_variance, *self.back, *self.out]
        self.streams = MRG_RandomStreams(int(rng.integers(2**31)))

    def encode(self, x: Any) -> tuple[Any, Any]:
        hidden = T.tanh(T.dot(x, self.into[0]) + self.into[1])
        return tuple(T.dot(hidden, weights) + bias for weights, bias in (self.mean, self.log_variance))

    def decode(self, z: Any) -> Any:
        """Return the logits of the pixels."""
        return T.dot(T.tanh(T.dot(z, self.back[0]) + self.back[1]), self.out[0]) + self.out[1]

    def bound(self, x: Any) -> Any:
        """Return the evidence lower bound of each picture; the noise is drawn anew in each call."""
        mean, log_variance = self.encode(x)
        noise = self.streams.normal(mean.shape, dtype=mean.dtype)
        logits = self.decode(mean + T.exp(log_variance / 2) * noise)
        likelihood = (x * logits - softplus(logits)).sum(axis=1)
        divergence = 0.5 * (T.exp(log_variance) + T.sqr(mean) - 1 - log_variance).sum(axis=1)
        return likelihood - divergence


class Found(NamedTuple):
    """Results: bounds per picture before and after, and how well neighbours agree on the class."""

    before: float
    after: float
    agreement: float


def agreement_of_neighbours(codes: Array, answers: Array) -> float:
    """Return the share of pictures whose nearest neighbour in the plane is of the same class."""
    squares = (codes**2).sum(axis=1)
    distances = squares[:, None] + squares - 2 * codes @ codes.T
    np.fill_diagonal(distances, np.inf)
    return float((answers[distances.argmin(axis=1)] == answers).mean())


def main(quick: bool = False, picture: Path | None = None) -> Found:
    rng = np.random.default_rng(2)
    bunch = load_digits()
    images, answers = as_float(bunch.data / 16), bunch.target
    unseen = images[1500:]
    model = Autoencoder(rng)
    x, z = T.matrix("x"), T.matrix("z")
    bound = model.bound(x).mean()
    train = theano.function([x], bound, updates=adam(-bound, model.params, 0.002))
    evaluate = theano.function([x], bound)
    encode = theano.function([x], model.encode(x)[0])
    decode = theano.function([z], sigmoid(model.decode(z)))

    before = float(evaluate(unseen))
    for _ in range(50 if quick else 400):
        for chosen in batches(rng, 1500, 50):
            train(images[chosen])
    after = float(np.mean([evaluate(unseen) for _ in range(5)]))
    agreement = agreement_of_neighbours(encode(images), answers)
    print(f"bound {before:.2f} -> {after:.2f} nats a picture; neighbours agree in {agreement:.1%}")
    if picture is not None:
        side = as_float(np.linspace(-2, 2, 15))
        grid = as_float([[a, b] for a in side for b in side])
        draw(picture, decode(grid), encode(images), answers)
    return Found(before, after, agreement)


def draw(path: Path, decoded: Array, codes: Array, answers: Array) -> None:
    with drawing(path, 1, 2, size=(9, 4.5)) as (left, right):
        left.imshow(tiles(decoded.reshape(-1, 8, 8), 15), cmap="gray_r")
        left.set_axis_off()
        left.set_title("decoded from a grid of latent values")
        points = right.scatter(*codes.T, c=answers, cmap="tab10", s=6)
        right.legend(*points.legend_elements(), fontsize=7, ncols=2)
        right.set_title("where the real digits lie")


if __name__ == "__main__":
    run(main, __doc__)
