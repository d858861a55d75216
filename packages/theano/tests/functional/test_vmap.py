"""`theano.functional.vmap`: functions of one entry over containers."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano.functional import StructureError, grad, hessian, vmap

RNG = np.random.default_rng(5)


def loss(p: Any, x: Any, y: Any) -> Any:
    return ((T.tanh(T.dot(x, p["w"]) + p["b"]) - y) ** 2).sum()


class TestVmap(unittest.TestCase):
    def setUp(self) -> None:
        self.p = {"w": RNG.standard_normal((3, 2)), "b": RNG.standard_normal(2)}
        self.x, self.y = RNG.standard_normal((5, 3)), RNG.standard_normal((5, 2))

    def test_gradients_of_each_entry(self) -> None:
        slopes = vmap(grad(loss), in_axes=(None, 0, 0))(self.p, self.x, self.y)
        single = grad(loss)
        for k in range(5):
            expected = single(self.p, self.x[k], self.y[k])
            for name in ("w", "b"):
                np.testing.assert_allclose(slopes[name][k], expected[name], rtol=1e-10)

    def test_axes_of_containers(self) -> None:
        stacked = {"w": np.stack([self.p["w"]] * 5, axis=2), "b": self.p["b"]}
        values = vmap(loss, in_axes=({"w": 2, "b": None}, 0, 1))(stacked, self.x, self.y.T)
        np.testing.assert_allclose(values, [loss_of(self.p, x, y) for x, y in zip(self.x, self.y, strict=True)])

    def test_axes_of_results(self) -> None:
        def both(x: Any) -> Any:
            return {"twice": 2 * x, "same": T.constant(1.0)}

        result = vmap(both, out_axes={"twice": 1, "same": None})(self.x)
        np.testing.assert_allclose(result["twice"], 2 * self.x.T)
        self.assertEqual(result["same"], 1.0)

    def test_nested_and_jitted(self) -> None:
        @theano.jit
        def distances(a: Any, b: Any) -> Any:
            return vmap(lambda u: vmap(lambda v: ((u - v) ** 2).sum())(b))(a)

        expected = ((self.x[:, None] - self.x[None]) ** 2).sum(-1)
        np.testing.assert_allclose(distances(self.x, self.x), expected)

    def test_hessians(self) -> None:
        result = vmap(hessian(lambda v: (v**3).sum()))(self.x)
        np.testing.assert_allclose(result, [np.diag(6 * x) for x in self.x])

    def test_keywords(self) -> None:
        result = vmap(lambda v, w, *, factor: T.dot(v, w) * factor, in_axes=(0, None))(self.x, w=np.ones(3), factor=2.0)
        np.testing.assert_allclose(result, 2 * self.x.sum(1))

    def test_wrong_axes(self) -> None:
        with self.assertRaisesRegex(T.BatchError, "in_axes has 2 entries for 3 arguments"):
            vmap(loss, in_axes=(None, 0))(self.p, self.x, self.y)
        with self.assertRaisesRegex(StructureError, "in_axes has .* where there is a"):
            vmap(loss, in_axes=({"w": 2, "c": None}, 0, 0))(self.p, self.x, self.y)
        with self.assertRaisesRegex(T.BatchError, "depends on the entry"):
            vmap(lambda v: v.sum(), out_axes=None)(self.x)


def loss_of(p: Any, x: Any, y: Any) -> Any:
    return ((np.tanh(x @ p["w"] + p["b"]) - y) ** 2).sum()
