"""Gradients, products with Jacobians and Hessians, and branches that are not computed: the tank that fills.

Run ``python examples/chapter_derivatives.py``; every statement about the results is checked.
"""

from __future__ import annotations

import numpy as np

import theano
import theano.tensor as T
from theano.ifelse import ifelse


def slopes() -> None:
    """``T.grad`` of a scalar expression is an expression again."""
    t = T.dscalar("t")
    level = 3 * t**2 + T.exp(-t)
    rate = theano.function([t], T.grad(level, t))
    acceleration = theano.function([t], T.grad(T.grad(level, t), t))
    for at in (0.0, 0.5, 2.0):
        assert np.isclose(rate(at), 6 * at - np.exp(-at))
        assert np.isclose(acceleration(at), 6 + np.exp(-at))

    x = T.dmatrix("x")
    logistic = theano.function([x], T.grad(T.sum(1 / (1 + T.exp(-x))), x))
    points = np.array([[0.0, 2.0], [-3.0, 0.25]])
    s = 1 / (1 + np.exp(-points))
    np.testing.assert_allclose(logistic(points), s * (1 - s))
    print("slopes:", float(rate(2.0)), "and", logistic(points).round(4).tolist())


def many_sources() -> None:
    """Several sources give a list; an unconnected one raises, or counts as zero."""
    w, b, unused = T.dvector("w"), T.dscalar("b"), T.dscalar("unused")
    cost = T.sum((3 * w + b) ** 2)
    gw, gb = T.grad(cost, [w, b])
    f = theano.function([w, b], [gw, gb])
    found_w, found_b = f([1.0, -1.0], 2.0)
    np.testing.assert_allclose(found_w, 6 * np.array([5.0, -1.0]))
    assert np.isclose(found_b, 2 * (5.0 - 1.0))
    try:
        T.grad(cost, unused)
    except theano.gradient.DisconnectedInputError as error:
        assert "unused" in str(error)
    else:
        raise AssertionError("a source that the cost does not depend on has to be told")
    assert float(T.grad(cost, unused, disconnected_inputs="ignore").eval({unused: 7.0})) == 0.0
    penalty = w**3
    held = theano.function([w, b], T.grad(cost + T.sum(penalty), w, consider_constant=[penalty]))
    np.testing.assert_array_equal(held([4.0], 1.0), [6 * 13.0])


def products() -> None:
    """Products with a Jacobian or a Hessian need neither of them."""
    W, V = T.dmatrices("W", "V")
    u, x = T.dvectors("u", "x")
    y = T.tanh(T.dot(x, W))
    right = theano.function([W, V, x], T.Rop(y, W, V))
    left = theano.function([W, u, x], T.Lop(y, W, u))
    rng = np.random.RandomState(30)
    at_w, at_v, at_u, at_x = rng.randn(3, 2), rng.randn(3, 2), rng.randn(2), rng.randn(3)
    outer = 1 - np.tanh(at_x @ at_w) ** 2
    np.testing.assert_allclose(right(at_w, at_v, at_x), outer * (at_x @ at_v))
    np.testing.assert_allclose(left(at_w, at_u, at_x), np.outer(at_x, outer * at_u))
    # the two agree about the number u J v
    np.testing.assert_allclose(right(at_w, at_v, at_x) @ at_u, (left(at_w, at_u, at_x) * at_v).sum())

    v = T.dvector("v")
    energy = T.sum(x**4) + x[0] * x[1]
    gradient = T.grad(energy, x)
    by_gradient = T.grad(T.sum(gradient * v), x)
    by_rop = T.Rop(gradient, x, v)
    full_product = T.dot(theano.gradient.hessian(energy, x), v)
    results = theano.function([x, v], [by_gradient, by_rop, full_product])([1.0, 2.0, -1.0], [1.0, 1.0, 2.0])
    for result in results:
        np.testing.assert_allclose(result, [12.0 + 1.0, 1.0 + 48.0, 24.0])
    print("products:", results[0].tolist())


def branches() -> None:
    """``switch`` chooses element by element; ``ifelse`` computes the branch that is needed only."""
    a, b = T.dscalars("a", "b")
    cold, warm = T.dmatrices("cold", "warm")
    everywhere = theano.function([a, b, cold, warm], T.switch(T.lt(a, b), cold.mean(), warm.mean()))
    lazily = theano.function([a, b, cold, warm], ifelse(T.lt(a, b), cold.mean(), warm.mean()))
    low, high = np.full((4, 5), -3.0), np.full((6, 2), 11.0)
    for first, second, expected in ((0, 1, -3.0), (1, 0, 11.0)):
        assert float(everywhere(first, second, low, high)) == expected
        assert float(lazily(first, second, low, high)) == expected
    # the branch that is not taken may even be impossible to compute
    guarded = theano.function(
        [cold, warm],
        ifelse(T.eq(cold.shape[1], warm.shape[0]), T.dot(cold, warm).sum(), a * 0),
        givens={a: np.float64(0)},
    )
    assert float(guarded(np.ones((2, 3)), np.ones((3, 2)))) == 12.0
    assert float(guarded(np.ones((2, 3)), np.ones((4, 2)))) == 0.0


def main() -> None:
    slopes()
    many_sources()
    products()
    branches()


if __name__ == "__main__":
    main()
