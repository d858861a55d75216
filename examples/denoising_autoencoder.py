"""A denoising autoencoder, as programs of 2015 were written: a class with shared parameters and a list of updates.

It learns to give back stripes of which a third of the pixels was blotted out. Run
``python examples/denoising_autoencoder.py [--quick] [--picture stripes.png]``; what it must have learnt is checked.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from demo_tools import drawing, run, tiles

import theano
import theano.tensor as T
from theano.tensor.shared_randomstreams import RandomStreams

Array = npt.NDArray[np.floating[Any]]
SIDE = 8


class DenoisingAutoencoder:
    """One hidden layer that is read back through its own weights.

    Parameters
    ----------
    rng : numpy.random.RandomState
        Draws the first weights.
    stream : RandomStreams
        Draws the blotted pixels.
    pictures : matrix variable
        One picture a row, numbers from 0 to 1.
    n_visible, n_hidden : int
    weights, hidden_bias, visible_bias : shared variable, optional
        Parameters of another model that are to be shared.
    """

    def __init__(
        self,
        rng: np.random.RandomState,
        stream: RandomStreams,
        pictures: Any,
        n_visible: int,
        n_hidden: int,
        weights: Any = None,
        hidden_bias: Any = None,
        visible_bias: Any = None,
    ) -> None:
        self.x = pictures
        self.stream = stream
        if weights is None:
            bound = 4 * np.sqrt(6.0 / (n_hidden + n_visible))
            values = rng.uniform(low=-bound, high=bound, size=(n_visible, n_hidden))
            weights = theano.shared(np.asarray(values, dtype=theano.config.floatX), name="W", borrow=True)
        if hidden_bias is None:
            hidden_bias = theano.shared(np.zeros(n_hidden, dtype=theano.config.floatX), name="b", borrow=True)
        if visible_bias is None:
            visible_bias = theano.shared(np.zeros(n_visible, dtype=theano.config.floatX), name="b_prime", borrow=True)
        self.W, self.b, self.b_prime = weights, hidden_bias, visible_bias
        self.W_prime = self.W.T
        self.params = [self.W, self.b, self.b_prime]

    def corrupted(self, x: Any, level: float) -> Any:
        """Blot out each pixel with probability `level`."""
        return self.stream.binomial(size=x.shape, n=1, p=1 - level, dtype=theano.config.floatX) * x

    def hidden(self, x: Any) -> Any:
        return T.nnet.sigmoid(T.dot(x, self.W) + self.b)

    def reconstructed(self, hidden: Any) -> Any:
        return T.nnet.sigmoid(T.dot(hidden, self.W_prime) + self.b_prime)

    def cost_and_updates(self, level: float, rate: float) -> tuple[Any, list[tuple[Any, Any]]]:
        """Return the mean cross-entropy of the reconstruction, and one step of gradient descent."""
        z = self.reconstructed(self.hidden(self.corrupted(self.x, level)))
        cost = T.mean(-T.sum(self.x * T.log(z) + (1 - self.x) * T.log(1 - z), axis=1))
        gradients = T.grad(cost, self.params)
        return cost, [(p, p - rate * g) for p, g in zip(self.params, gradients, strict=True)]


def stripes(rng: np.random.RandomState, n: int) -> Array:
    """Return pictures with some full rows or full columns."""
    pictures = np.zeros((n, SIDE, SIDE), dtype=theano.config.floatX)
    for picture in pictures:
        lines = rng.rand(SIDE) < 0.3
        if rng.rand() < 0.5:
            picture[lines] = 1
        else:
            picture[:, lines] = 1
    return pictures.reshape(n, SIDE * SIDE)


def main(epochs: int = 25, quick: bool = True, picture: Path | None = None) -> tuple[float, float]:
    epochs = epochs if quick else 4 * epochs
    rng = np.random.RandomState(123)
    data = theano.shared(stripes(rng, 1200), borrow=True)
    index = T.lscalar("index")
    x = T.matrix("x")
    batch = 20
    model = DenoisingAutoencoder(rng, RandomStreams(rng.randint(2**30)), x, SIDE * SIDE, 60)
    cost, updates = model.cost_and_updates(level=0.33, rate=0.1)
    train = theano.function([index], cost, updates=updates, givens={x: data[index * batch : (index + 1) * batch]})
    repair = theano.function([x], model.reconstructed(model.hidden(x)))

    costs = [float(np.mean([train(i) for i in range(1200 // batch)])) for _ in range(epochs)]
    fresh = stripes(rng, 200)
    spoilt = fresh * (rng.rand(*fresh.shape) > 0.33)
    before, after = (
        float(((spoilt > 0.5) != (fresh > 0.5)).mean()),
        float(((repair(spoilt) > 0.5) != (fresh > 0.5)).mean()),
    )
    print(f"cost {costs[0]:.2f} -> {costs[-1]:.2f}; wrong pixels {before:.3f} -> {after:.3f}")
    assert costs[-1] < 0.5 * costs[0], costs
    assert after < 0.5 * before, (before, after)
    assert model.params[0] is model.W
    if picture is not None:
        with drawing(picture, 1, 3, size=(9, 3.4)) as panels:
            shown = ("spoilt", spoilt), ("given back", repair(spoilt)), ("as they were", fresh)
            for axes, (title, pictures) in zip(panels, shown, strict=True):
                axes.imshow(tiles(pictures[:25].reshape(-1, SIDE, SIDE), 5), cmap="gray_r")
                axes.set_axis_off()
                axes.set_title(title)
    return before, after


if __name__ == "__main__":
    run(main, __doc__)
