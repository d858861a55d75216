"""Dreams of a net: pictures that excite one of its outputs or filters most, by gradients with respect to pixels.

Run ``python examples/dream_digits.py [--quick] [--picture dream.png]``. The net is that of ``convolutional_net.py``,
trained on handwritten digits; a dream begins with noise, and each step brings it nearer to the net's favourite.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from convolutional_net import TRAINED, Net, digits, train
from demo_tools import Array, as_float, drawing, run, tiles

import theano
import theano.tensor as T
from theano.tensor.nnet import sigmoid, softmax


def smoothness(images: Any) -> Any:
    """Return how much neighbouring pixels differ: real pictures are smooth, and nets like rough ones."""
    return T.sqr(images[:, :, 1:] - images[:, :, :-1]).sum() + T.sqr(images[:, :, :, 1:] - images[:, :, :, :-1]).sum()


def dream(objective: Any, pixels: Any, rate: float, steps: int) -> list[float]:
    """Climb with the pixels of a shared variable; return the value of the objective before each step."""
    slope = T.grad(objective, pixels)
    # The length of a step does not depend on that of the gradient.
    updates = [(pixels, pixels + rate * slope / T.sqrt(T.sqr(slope).mean() + 1e-12))]
    step = theano.function([], objective, updates=updates)
    return [float(step()) for _ in range(steps)]


class Found(NamedTuple):
    """Results: how sure the net is of its dream of each digit, and the objective at each step."""

    sure: list[float]
    objectives: list[float]


def main(quick: bool = False, picture: Path | None = None) -> Found:
    rng = np.random.default_rng(9)
    images, answers = digits()
    net = Net(rng)
    train(net, images[:TRAINED], answers[:TRAINED], 6 if quick else 30, rng)

    # Pixels stay between 0 and 1 after every step.
    raw = theano.shared(as_float(rng.normal(size=(10, 1, 8, 8)) - 1), name="raw")
    seen = sigmoid(raw)
    scores = net.scores(seen)
    classes = T.arange(10)
    objective = scores[classes, classes].sum() - scores.sum() / 10 - 0.5 * smoothness(seen)
    steps = 60 if quick else 300
    objectives = dream(objective, raw, 0.05, steps)
    chances, dreams = theano.function([], [softmax(scores)[classes, classes], seen])()
    sure = [float(chance) for chance in chances]
    print(f"objective {objectives[0]:.1f} -> {objectives[-1]:.1f}")
    print(f"the net gives each dream its digit with a probability of at least {min(sure):.3f}")

    # Favourites of filters of the second layer, larger than a digit: convolutions take pictures of any size.
    filters = T.arange(16)
    canvas = theano.shared(as_float(0.1 * rng.normal(size=(16, 1, 16, 16))), name="canvas")
    features = net.features(sigmoid(canvas))[filters, filters]
    dream(features.sum() - 0.5 * smoothness(sigmoid(canvas)), canvas, 0.05, steps)
    textures = theano.function([], sigmoid(canvas))()
    if picture is not None:
        draw(picture, dreams[:, 0], textures[:, 0])
    return Found(sure, objectives)


def draw(path: Path, dreams: Array, textures: Array) -> None:
    with drawing(path, 1, 2) as (left, right):
        left.imshow(tiles(dreams, 5), cmap="gray_r")
        left.set_title("dreams of 0 to 9")
        right.imshow(tiles(textures, 4), cmap="magma")
        right.set_title("favourites of filters")
        for axes in (left, right):
            axes.set_axis_off()


if __name__ == "__main__":
    run(main, __doc__)
