"""`theano.functional.custom_vjp`: gradients that the user writes."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano import functional
from theano.functional import DerivativeError, custom_vjp, fori_loop, grad


class Holder:
    """An object with a function whose gradient is given."""

    factor = 2.0

    @custom_vjp
    def times(self, x: Any) -> Any:
        """Return a product."""
        return x * self.factor


Holder.times.defvjp(lambda self, x: (x * self.factor, x), lambda x, g: (None, g * 50))


class TestCustomVJP(unittest.TestCase):
    def test_forward_may_call_the_function(self) -> None:
        @custom_vjp
        def log1pexp(x: Any) -> Any:
            return T.log(1 + T.exp(x))

        log1pexp.defvjp(lambda x: (log1pexp(x), x), lambda x, g: (g * T.nnet.sigmoid(x),))
        self.assertEqual((float(grad(log1pexp)(1000.0)), float(log1pexp(0.0))), (1, np.log(2)))
        self.assertEqual(float(grad(grad(log1pexp))(0.0)), 0.25)
        self.assertEqual(float(functional.jvp(log1pexp, (0.0,), (2.0,))[1]), 1)
        second = functional.hessian(lambda x: log1pexp(x).sum())(np.zeros(2))
        np.testing.assert_allclose(second, np.diag([0.25, 0.25]))

    def test_containers_keywords_and_integers(self) -> None:
        f = custom_vjp(lambda p, x, k=1: {"s": p["w"] + k * x, "p": p["w"] * x})

        def backward(residuals: Any, g: Any) -> Any:
            w, x, k = residuals
            return {"w": g["s"] * 10 + g["p"] * x, "u": 0.0 * x}, g["s"] * k + g["p"] * w, None

        f.defvjp(lambda p, x, k: ({"s": p["w"] + k * x, "p": p["w"] * x}, (p["w"], x, k)), backward)
        p = {"w": 2.0, "u": 1.0}
        by_p, by_x = grad(lambda p, x: f(p, x, k=2)["s"] + f(p, x)["p"], argnums=(0, 1))(p, 3.0)
        self.assertEqual((float(by_p["w"]), float(by_p["u"]), float(by_x)), (13, 0, 4))
        self.assertEqual(float(grad(lambda p: f(p, 3.0)["p"])(p)["w"]), 3)

    def test_static_arguments_come_first(self) -> None:
        f = custom_vjp(lambda how, x, n: how(x) * n, nondiff_argnums=(0, 2))
        f.defvjp(lambda how, x, n: (how(x) * n, x), lambda how, n, x, g: (g * 100 * n,))
        self.assertEqual(float(grad(f, 1)(T.sin, 1.0, 2)), 200)

    def test_methods_loops_and_modes(self) -> None:
        self.assertEqual((float(Holder().times(1.0)), float(grad(Holder().times)(1.0))), (2, 50))
        f = custom_vjp(lambda x: 2 * x)
        f.defvjp(lambda x: (2 * x, None), lambda _, g: (3 * g,))
        for mode in (None, "FAST_COMPILE", theano.Mode(optimizer=None)):
            slope = theano.jit(grad(lambda x: fori_loop(0, 3, lambda i, y: f(y), x)), mode=mode)
            self.assertEqual(float(slope(1.0)), 27)

    def test_clipped_gradients_keep_the_dtype(self) -> None:
        f = custom_vjp(lambda x: x)
        f.defvjp(lambda x: (x, ()), lambda _, g: (T.clip(g, -1, 1).astype("float64"),))
        slope = grad(lambda x: (f(x) ** 2).sum())(np.array([3.0, 0.125], "float32"))
        self.assertEqual((str(slope.dtype), slope.tolist()), ("float32", [1, 0.25]))

    def test_errors(self) -> None:
        f = custom_vjp(lambda x: 2 * x)
        with self.assertRaisesRegex(DerivativeError, "defvjp"):
            f(1.0)
        f.defvjp(lambda x: 2 * x, lambda _, g: (g,))
        with self.assertRaisesRegex(DerivativeError, "forward returned no pair"):
            f(1.0)
        for backward, message in (
            (lambda _, g: g, "no tuple of 1 gradients"),
            (lambda _, g: (g.sum(),), "of 0 dimensions, not 1"),
        ):
            f.defvjp(lambda x: (2 * x, None), backward)
            with self.assertRaisesRegex(DerivativeError, message):
                grad(lambda x: f(x).sum())(np.ones(2))
