"""Programs of somebody who knows another library of the kind: `theano.jit` and `theano.functional` from end to end."""

from __future__ import annotations

import unittest
from typing import Any, NamedTuple

import numpy as np

import theano
import theano.tensor as T
from theano import functional
from theano_testing.tiers import slow

RNG = np.random.default_rng(0)


class State(NamedTuple):
    """The state of a Kalman filter."""

    mean: Any
    cov: Any


def descend(value_and_grad: Any, params: Any, rate: float, steps: int, *data: Any) -> tuple[Any, list[float]]:
    """Return the parameters after gradient descent, and the values on the way."""
    leaves, structure = functional.flatten(params)
    values = []
    for _ in range(steps):
        value, slopes = value_and_grad(functional.unflatten(structure, leaves), *data)
        leaves = [x - rate * d for x, d in zip(leaves, functional.flatten(slopes)[0], strict=True)]
        values.append(float(value))
    return functional.unflatten(structure, leaves), values


@slow
class TestPrograms(unittest.TestCase):
    def test_network(self) -> None:
        def predicted(params: Any, x: Any) -> Any:
            *hidden, last = params
            for layer in hidden:
                x = np.maximum(x @ layer["w"] + layer["b"], 0)
            return x @ last["w"] + last["b"]

        def loss(params: Any, x: Any, y: Any) -> Any:
            logits = predicted(params, x)
            log_p = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
            return -np.mean(np.sum(log_p * y, axis=1))

        sizes = [(4, 16), (16, 3)]
        params = [{"w": RNG.normal(size=s) / np.sqrt(s[0]), "b": np.zeros(s[1])} for s in sizes]
        x = RNG.normal(size=(64, 4))
        _, values = descend(functional.value_and_grad(loss), params, 0.5, 200, x, np.eye(3)[x[:, :3].argmax(1)])
        self.assertLess(values[-1], 0.1)

    def test_logistic_regression(self) -> None:
        def loss(p: Any, x: Any, y: Any) -> Any:
            z = np.dot(x, p["w"]) + p["b"]
            return np.mean(np.logaddexp(0, z) - y * z) + 1e-3 * np.sum(p["w"] ** 2)

        x = RNG.normal(size=(100, 3))
        y = (x @ np.array([1.0, -2.0, 0.5]) > 0).astype(float)
        p, _ = descend(functional.value_and_grad(loss), {"w": np.zeros(3), "b": 0.0}, 1.0, 100, x, y)
        self.assertGreater(((x @ p["w"] + p["b"] > 0) == y).mean(), 0.95)

    def test_recurrent_network(self) -> None:
        def loss(p: Any, xs: Any, ys: Any) -> Any:
            def step(h: Any, x: Any) -> Any:
                h = np.tanh(x @ p["wx"] + h @ p["wh"])
                return h, h @ p["wo"]

            _, out = functional.scan(step, np.zeros(8), xs)
            return ((out - ys) ** 2).mean()

        p = {"wx": RNG.normal(size=(2, 8)) / 2, "wh": RNG.normal(size=(8, 8)) / 3, "wo": RNG.normal(size=8)}
        xs = RNG.normal(size=(20, 2))
        _, values = descend(functional.value_and_grad(loss), p, 0.02, 50, xs, np.cumsum(xs[:, 0]) / 10)
        self.assertLess(values[-1], values[0] / 2)

    def test_kalman_filter(self) -> None:
        a, h = np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([[1.0, 0.0]])
        q, r = 0.01 * np.eye(2), np.array([[0.5]])

        def step(s: State, y: Any) -> tuple[State, Any]:
            mean, cov = a @ s.mean, a @ s.cov @ a.T + q
            gain = cov @ h.T @ np.linalg.inv(h @ cov @ h.T + r)
            new = State(mean + gain @ (y - h @ mean), (np.eye(2) - gain @ h) @ cov)
            return new, {"mean": new.mean, "variances": np.diag(new.cov)}

        ys = np.arange(30.0)[:, None] + RNG.normal(size=(30, 1))
        start = State(np.zeros(2), 10 * np.eye(2))
        last, path = theano.jit(lambda start, ys: functional.scan(step, start, ys))(start, ys)
        expected = start
        for y in ys:
            expected, _ = step(expected, y)
        np.testing.assert_allclose(last.mean, expected.mean)
        np.testing.assert_allclose(last.cov, expected.cov)
        self.assertEqual((path["mean"].shape, path["variances"].shape), ((30, 2), (30, 2)))

    def test_metropolis(self) -> None:
        def log_p(x: Any) -> Any:
            return -0.5 * np.sum((x - 3.0) ** 2)

        @theano.jit
        def chain(rng: Any, x: Any, n: Any) -> Any:
            def step(state: Any, _: Any) -> Any:
                rng, x, before = state
                proposal = x + rng.normal(size=x.shape)
                after = log_p(proposal)
                taken = np.log(rng.random()) < after - before
                return (rng, T.switch(taken, proposal, x), T.switch(taken, after, before)), x

            (rng, _, _), xs = functional.scan(step, (rng, x, log_p(x)), length=n)
            return rng, xs

        rng, xs = chain(theano.random.default_rng(0), np.zeros(2), 2000)
        self.assertLess(abs(xs[500:].mean() - 3), 0.4)
        self.assertFalse(np.array_equal(chain(rng, np.zeros(2), 2000)[1], xs))

    def test_gaussian_process(self) -> None:
        x = np.linspace(0, 5, 20)

        def loss(p: Any, x: Any, y: Any) -> Any:
            distance = x[:, None] - x[None, :]
            kernel = np.exp(p["size"]) * np.exp(-0.5 * distance**2 / np.exp(p["scale"]) ** 2)
            root = np.linalg.cholesky(kernel + np.exp(p["noise"]) * T.eye(x.shape[0]))
            white = T.slinalg.solve_lower_triangular(root, y)
            return 0.5 * (white @ white) + np.sum(np.log(np.diag(root)))

        start = {"size": 0.0, "scale": 0.0, "noise": -2.0}
        _, values = descend(functional.value_and_grad(loss), start, 0.01, 50, x, np.sin(x))
        self.assertLess(values[-1], values[0])

    def test_newton(self) -> None:
        def valley(x: Any) -> Any:
            return (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2

        @theano.jit
        def step(x: Any) -> Any:
            return x - np.linalg.solve(functional.hessian(valley)(x), functional.grad(valley)(x))

        x = np.array([-1.0, 1.5])
        for _ in range(20):
            x = step(x)
        np.testing.assert_allclose(x, [1, 1], rtol=1e-6)

    def test_differential_equation(self) -> None:
        def field(s: Any) -> Any:
            return {"x": s["v"], "v": -s["x"]}

        def moved(a: Any, d: Any, s: Any) -> Any:
            return {k: s[k] + a * d[k] for k in s}

        @theano.jit
        def solved(s: Any, dt: Any, n: Any) -> Any:
            def body(i: Any, s: Any) -> Any:
                k1 = field(s)
                k2 = field(moved(dt / 2, k1, s))
                k3 = field(moved(dt / 2, k2, s))
                k4 = field(moved(dt, k3, s))
                return {k: s[k] + dt / 6 * (k1[k] + 2 * k2[k] + 2 * k3[k] + k4[k]) for k in s}

            return functional.fori_loop(0, n, body, s)

        self.assertAlmostEqual(float(solved({"x": 1.0, "v": 0.0}, 2 * np.pi / 100, 100)["x"]), 1, places=5)
        slope = functional.grad(lambda v: solved({"x": 0.0, "v": v}, 0.01, 100)["x"])(1.0)
        self.assertAlmostEqual(float(slope), np.sin(1), places=6)

    def test_clusters(self) -> None:
        points = np.concatenate([RNG.normal(size=(30, 2)), RNG.normal(size=(30, 2)) + 6])

        @theano.jit
        def clustered(points: Any, centers: Any) -> Any:
            def body(state: Any) -> Any:
                centers, _, n = state
                nearest = np.argmin(((points[:, None, :] - centers[None, :, :]) ** 2).sum(-1), axis=1)
                member = T.eq(nearest[:, None], np.arange(2)[None, :])
                new = (member.T @ points) / np.maximum(member.sum(0), 1)[:, None]
                return new, np.abs(new - centers).max(), n + 1

            state = (centers, np.inf, 0)
            centers, _, n = functional.while_loop(lambda s: (s[1] > 1e-6) & (s[2] < 100), body, state)
            return centers, n

        centers, n = clustered(points, points[[0, 1]])
        self.assertLess(n, 100)
        expected = [points[:30].mean(0), points[30:].mean(0)]
        np.testing.assert_allclose(centers[centers[:, 0].argsort()], expected, atol=0.2)

    def test_image_filter(self) -> None:
        @theano.jit(static_argnames="size")
        def blurred(image: Any, sigma: Any, size: int = 3) -> Any:
            weights = np.exp(-0.5 * ((np.arange(size) - size // 2) / sigma) ** 2)
            weights = weights / weights.sum()
            image = np.pad(image, size // 2, mode="edge")
            rows = sum(weights[i] * image[i : image.shape[0] - size + 1 + i] for i in range(size))
            return sum(weights[i] * rows[:, i : rows.shape[1] - size + 1 + i] for i in range(size))

        image = np.zeros((16, 16))
        image[8, 8] = 1
        for result in (blurred(image, 1.0), blurred(image, 1.0, size=5)):
            self.assertEqual(result.shape, image.shape)
            self.assertAlmostEqual(float(result.sum()), 1)
        self.assertLess(float(functional.grad(lambda s: (blurred(image, s) ** 2).sum())(1.0)), 0)
