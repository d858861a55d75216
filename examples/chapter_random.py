"""Random numbers: streams that are seeded, functions that draw anew or not, and states that are copied.

Run ``python examples/chapter_random.py``; every statement about the results is checked.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano import function
from theano.sandbox.rng_mrg import MRG_RandomStreams
from theano.tensor.shared_randomstreams import RandomStreams


def draws() -> None:
    """A function draws anew at each call, unless its generator is not to be updated."""
    stream = RandomStreams(seed=57)
    dice = stream.random_integers(size=(2, 3), low=1, high=6)
    throw = function([], dice)
    fixed = function([], dice, no_default_updates=True)
    first, second = throw(), throw()
    assert first.shape == (2, 3)
    assert ((first >= 1) & (first <= 6)).all()
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(fixed(), fixed())
    np.testing.assert_array_equal(fixed(), throw())  # the state that `fixed` looked at is the one that is drawn from

    # one random variable is one draw, however often a function mentions it
    noise = stream.normal(size=(4,))
    np.testing.assert_array_equal(function([], noise + noise - 2 * noise)(), np.zeros(4))


def seeds() -> None:
    """Equal seeds give equal numbers, as NumPy's generator draws them; all streams are seeded at once or one by one."""
    one, other = RandomStreams(seed=4), RandomStreams(seed=4)
    a, b = function([], one.uniform(size=(3,))), function([], other.uniform(size=(3,)))
    np.testing.assert_array_equal(a(), b())
    one.seed(99)
    other.seed(99)
    draws = a()
    np.testing.assert_array_equal(draws, b())
    seed = int(np.random.RandomState(99).randint(2**30))
    np.testing.assert_allclose(draws, np.random.RandomState(seed).uniform(size=3))

    stream = RandomStreams(seed=4)
    level = stream.uniform(size=(2,))
    f = function([], level)
    generator = level.rng.get_value(borrow=True)
    generator.seed(31)
    level.rng.set_value(generator, borrow=True)
    np.testing.assert_allclose(f(), np.random.RandomState(31).uniform(size=2))


class Sampler:
    """An expression with a generator of its own."""

    def __init__(self, kind: Any, seed: int) -> None:
        self.rng = kind(seed)
        self.y = self.rng.uniform(size=(1,))


def copies() -> None:
    """The state of one graph is given to another by its list of updates."""
    for kind in (RandomStreams, MRG_RandomStreams):
        left, right = Sampler(kind, 3), Sampler(kind, 8)
        f, g = function([], left.y), function([], right.y)
        assert f()[0] != g()[0]
        if isinstance(left.rng, MRG_RandomStreams):
            right.rng.rstate = left.rng.rstate
        for source, target in zip(left.rng.state_updates, right.rng.state_updates, strict=True):
            target[0].set_value(source[0].get_value())
        assert f()[0] == g()[0]


def moments() -> int:
    """Distributions have the moments that they are asked for."""
    kinds = (RandomStreams, MRG_RandomStreams)
    for kind in kinds:
        stream = kind(2015)
        n = 40000
        expressions = [
            (stream.uniform(size=(n,), low=2.0, high=4.0), 3.0, 1 / 3),
            (stream.normal(size=(n,), avg=-1.0, std=0.5), -1.0, 0.25),
            (stream.binomial(size=(n,), n=1, p=0.3, dtype="float64"), 0.3, 0.21),
        ]
        for value, (_, mean, variance) in zip(function([], [e for e, _, _ in expressions])(), expressions, strict=True):
            assert abs(value.mean() - mean) < 0.02, (kind, mean, value.mean())
            assert abs(value.var() - variance) < 0.02, (kind, variance, value.var())
    return len(kinds)


def dropout() -> None:
    """A mask that changes at each call multiplies the values that pass."""
    x = T.dmatrix("x")
    masked = function([x], x * RandomStreams(1).binomial(size=x.shape, n=1, p=0.5, dtype="float64"))
    values = masked(np.ones((50, 40)))
    assert set(np.unique(values)) == {0.0, 1.0}
    assert 0.4 < values.mean() < 0.6
    assert theano.shared(values).get_value().shape == (50, 40)


def main() -> None:
    draws()
    seeds()
    copies()
    dropout()
    print("streams:", moments())


if __name__ == "__main__":
    main()
