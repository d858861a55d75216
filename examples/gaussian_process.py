"""Regression with a Gaussian process: a kernel, a Cholesky factor, and parameters learnt by gradient descent.

Run ``python examples/gaussian_process.py [--quick] [--picture process.png]``; the evidence, its gradient and the
predictions are checked against NumPy.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from demo_tools import drawing, run

import theano
import theano.tensor as T
from theano.tensor import nlinalg, slinalg

Array = npt.NDArray[np.float64]


def squared_exponential(a: Any, b: Any, log_length: Any, log_scale: Any) -> Any:
    """Return the covariances of the rows of `a` with those of `b`."""
    distances = (a**2).sum(axis=1).dimshuffle(0, "x") + (b**2).sum(axis=1).dimshuffle("x", 0) - 2 * T.dot(a, b.T)
    return T.exp(2 * log_scale) * T.exp(-0.5 * T.maximum(distances, 0) / T.exp(2 * log_length))


class GaussianProcess:
    """Observations with noise of a function that is smooth on a length to be learnt.

    Parameters
    ----------
    x : array of shape (n, dimensions)
    y : array of shape (n,)
    """

    def __init__(self, x: Array, y: Array) -> None:
        self.x, self.y = theano.shared(x, name="x"), theano.shared(y, name="y")
        self.log_length, self.log_scale, self.log_noise = (
            theano.shared(np.float64(v), name=n)
            for n, v in (("log_length", 0.5), ("log_scale", 0.0), ("log_noise", -1.0))
        )
        self.params = [self.log_length, self.log_scale, self.log_noise]
        n = self.x.shape[0]
        covariance = squared_exponential(self.x, self.x, self.log_length, self.log_scale)
        covariance += (T.exp(2 * self.log_noise) + 1e-10) * T.eye(n)
        self.factor = slinalg.cholesky(covariance)
        self.weights = slinalg.solve_upper_triangular(
            self.factor.T, slinalg.solve_lower_triangular(self.factor, self.y)
        )
        half_log_determinant = T.log(nlinalg.diag(self.factor)).sum()
        self.cost = 0.5 * T.dot(self.y, self.weights) + half_log_determinant + 0.5 * n * np.log(2 * np.pi)

    def prediction(self, at: Any) -> tuple[Any, Any]:
        """Return means and variances of the function at the rows of `at`."""
        across = squared_exponential(at, self.x, self.log_length, self.log_scale)
        spread = slinalg.solve_lower_triangular(self.factor, across.T)
        return T.dot(across, self.weights), T.exp(2 * self.log_scale) - (spread**2).sum(axis=0)


def expected(x: Array, y: Array, at: Array, params: list[float]) -> tuple[float, Array, Array]:
    """Return cost, means and variances by NumPy."""
    length, scale, noise = np.exp(params)

    def kernel(a: Array, b: Array) -> Array:
        squares = ((a[:, None] - b[None]) ** 2).sum(axis=2)
        covariances: Array = scale**2 * np.exp(-0.5 * squares / length**2)
        return covariances

    covariance = kernel(x, x) + (noise**2 + 1e-10) * np.eye(len(x))
    inverse = np.linalg.inv(covariance)
    across = kernel(at, x)
    cost = 0.5 * y @ inverse @ y + 0.5 * np.linalg.slogdet(covariance)[1] + 0.5 * len(x) * np.log(2 * np.pi)
    return float(cost), across @ inverse @ y, scale**2 - np.einsum("ij,jk,ik->i", across, inverse, across)


def main(steps: int = 150, quick: bool = False, picture: Path | None = None) -> tuple[float, float]:
    rng = np.random.RandomState(11)
    x = np.sort(rng.uniform(-3, 3, size=(40, 1)), axis=0)
    y = np.sin(2 * x[:, 0]) + 0.1 * rng.randn(40)
    model = GaussianProcess(x, y)
    at = T.dmatrix("at")
    gradients = T.grad(model.cost, model.params)
    slopes = theano.function([], gradients)
    train = theano.function(
        [],
        model.cost,
        updates=[(p, p - 0.01 * T.clip(g, -10, 10)) for p, g in zip(model.params, gradients, strict=True)],
    )
    predict = theano.function([at], list(model.prediction(at)))

    def settings() -> list[float]:
        return [float(p.get_value()) for p in model.params]

    points = np.linspace(-2.5, 2.5, 17)[:, None]
    first = settings()
    values = slopes()
    for i, slope in enumerate(values):
        ends = [expected(x, y, points, [v + s * (i == j) for j, v in enumerate(first)])[0] for s in (1e-6, -1e-6)]
        np.testing.assert_allclose(slope, (ends[0] - ends[1]) / 2e-6, rtol=1e-5)
    np.testing.assert_allclose(train(), expected(x, y, points, first)[0])

    costs = [float(train()) for _ in range(steps)]
    cost, means, variances = expected(x, y, points, settings())
    found_means, found_variances = predict(points)
    np.testing.assert_allclose(found_means, means, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(found_variances, variances, rtol=1e-5, atol=1e-8)
    error = float(np.abs(found_means - np.sin(2 * points[:, 0])).max())
    noise = float(np.exp(settings()[2]))
    print(f"cost {costs[0]:.2f} -> {cost:.2f}; noise {noise:.3f}; largest error {error:.3f}")
    assert cost < costs[0] - 10, (costs[0], cost)
    assert 0.05 < noise < 0.2, noise
    assert error < 0.25, error
    if picture is not None:
        line = np.linspace(-4, 4, 200)[:, None]
        draw(picture, x[:, 0], y, line[:, 0], *predict(line))
    return cost, error


def draw(path: Path, x: Array, y: Array, line: Array, means: Array, variances: Array) -> None:
    with drawing(path) as axes:
        width = 2 * np.sqrt(variances)
        axes.fill_between(line, means - width, means + width, alpha=0.2, label="where it lies, in 95 of 100 cases")
        axes.plot(line, means, label="learned")
        axes.plot(line, np.sin(2 * line), "--", linewidth=1, label="true")
        axes.plot(x, y, "k.", label="observed")
        axes.legend(loc="lower left", fontsize=8)


if __name__ == "__main__":
    run(main, __doc__)
