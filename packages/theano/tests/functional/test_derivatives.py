"""`theano.functional`: derivatives of functions in plain Python against finite differences, and each other."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano import functional

RNG = np.random.default_rng(0)


class Scaled:
    """An object with a jitted method."""

    factor = 2.0

    @theano.jit(static_argnames="how")
    def at(self, x: Any, y: Any = 1.0, how: str = "exp") -> Any:
        """Return a function of a product."""
        return getattr(T, how)(x * y * self.factor)


def moved(function: Callable[..., Any], params: Any, direction: Any, step: float = 1e-6) -> float:
    """Return a central difference of a function of a container, in the direction of one of the same structure."""
    leaves, structure = functional.flatten(params)
    steps, _ = functional.flatten(direction)

    def at(t: float) -> Any:
        return function(functional.unflatten(structure, [x + t * d for x, d in zip(leaves, steps, strict=True)]))

    return float((at(step) - at(-step)) / (2 * step))


def like(params: Any) -> Any:
    """Return random numbers in the structure of a container."""
    leaves, structure = functional.flatten(params)
    return functional.unflatten(structure, [RNG.normal(size=np.shape(x)) for x in leaves])


def product(a: Any, b: Any) -> float:
    """Return the scalar product of two containers."""
    pairs = zip(functional.flatten(a)[0], functional.flatten(b)[0], strict=True)
    return sum(float(np.sum(x * y)) for x, y in pairs)


def network(params: Any, x: Any, y: Any) -> Any:
    """Return the loss of a small network."""
    for layer in params["layers"]:
        x = np.tanh(x @ layer["w"] + layer["b"])
    return ((params["scale"] * x - y) ** 2).mean()


PARAMS = {
    "layers": [
        {"w": RNG.normal(size=(3, 4)), "b": RNG.normal(size=4)},
        {"w": RNG.normal(size=(4, 2)), "b": RNG.normal(size=2)},
    ],
    "scale": 1.5,
    "nothing": None,
}
DATA = (RNG.normal(size=(6, 3)), RNG.normal(size=(6, 2)))


class TestGrad(unittest.TestCase):
    def test_gradients_come_in_the_structure_of_the_argument(self) -> None:
        value, slopes = functional.value_and_grad(network)(PARAMS, *DATA)
        self.assertEqual(functional.flatten(slopes)[1], functional.flatten(PARAMS)[1])
        for x, y in zip(functional.flatten(PARAMS)[0], functional.flatten(slopes)[0], strict=True):
            self.assertEqual(np.shape(x), np.shape(y))
        np.testing.assert_allclose(value, theano.jit(network)(PARAMS, *DATA))
        direction = like(PARAMS)
        expected = moved(lambda params: theano.jit(network)(params, *DATA), PARAMS, direction)
        np.testing.assert_allclose(product(slopes, direction), expected, rtol=1e-6)
        again = functional.grad(network)(PARAMS, *DATA)
        np.testing.assert_array_equal(again["layers"][0]["w"], slopes["layers"][0]["w"])

    def test_several_arguments(self) -> None:
        f = functional.grad(lambda x, y: (x * y**2).sum(), argnums=(1, 0))
        x, y = np.array([1.0, 2.0]), np.array([3.0, 4.0])
        by_y, by_x = f(x, y)
        np.testing.assert_allclose(by_y, 2 * x * y)
        np.testing.assert_allclose(by_x, y**2)
        np.testing.assert_allclose(functional.grad(lambda x, y: (x * y**2).sum(), argnums=-1)(x, y=y), by_y)
        with self.assertRaisesRegex(TypeError, "argnums has 2"):
            functional.grad(lambda x, y: x, argnums=2)(x, y)

    def test_one_variable_twice(self) -> None:
        f = functional.grad(lambda x, y: x * y)
        self.assertEqual(theano.jit(lambda x: f(x, x))(3.0), 3)
        x = T.dscalar("x")
        self.assertEqual(f(x, x).eval({x: 3.0}), 3)

    def test_has_aux(self) -> None:
        def f(x: Any) -> Any:
            return (x**2).sum(), {"twice": 2 * x, "name": "f"}

        x = np.array([1.0, 2.0])
        slope, aux = functional.grad(f, has_aux=True)(x)
        (value, again), same = functional.value_and_grad(f, has_aux=True)(x)
        np.testing.assert_allclose(slope, 2 * x)
        np.testing.assert_allclose(same, slope)
        self.assertEqual((value, aux["name"], again["name"]), (5, "f", "f"))
        np.testing.assert_allclose(aux["twice"], 2 * x)
        with self.assertRaisesRegex(TypeError, "no pair"):
            functional.grad(lambda x: x, has_aux=True)(1.0)

    def test_nesting(self) -> None:
        grad = functional.grad
        self.assertEqual(grad(grad(grad(lambda x: x**4)))(2.0), 48)
        # The inner derivative is by y only, though x is a part of the function.
        self.assertEqual(grad(lambda x: x * grad(lambda y: x * y)(x))(3.0), 6)
        self.assertEqual(grad(lambda x: x * grad(lambda y: x * y)(2.0))(3.0), 6)
        self.assertEqual(theano.jit(grad(theano.jit(lambda x: T.exp(x))))(0.0), 1)

    def test_lengths_of_one_are_summed_over(self) -> None:
        x, y = np.ones((3, 1)), np.arange(12.0).reshape(3, 4)
        for f, expected in (
            (lambda x, y: (x * y).sum(), y.sum(1, keepdims=True)),
            (lambda x, y: (x + y).sum(), np.full((3, 1), 4.0)),
        ):
            np.testing.assert_array_equal(functional.grad(f)(x, y), expected)

    def test_what_a_function_does_not_read_has_zeros(self) -> None:
        slopes = functional.grad(lambda p: p["a"] ** 2)({"a": 3.0, "b": np.ones(2)})
        self.assertEqual((slopes["a"], slopes["b"].tolist()), (6, [0, 0]))

    def test_float32(self) -> None:
        self.assertEqual(functional.grad(lambda x: (x**2).sum())(np.ones(2, "float32")).dtype, "float32")

    def test_integers_and_vectors_are_refused(self) -> None:
        for value in (2, True, np.arange(3), {"a": 1}):
            with self.assertRaisesRegex(TypeError, "floating-point"):
                functional.grad(lambda x: T.constant(1.0))(value)
        with self.assertRaisesRegex(TypeError, "one scalar"):
            functional.grad(lambda x: (x, x))(1.0)
        with self.assertRaises(TypeError):
            functional.grad(lambda x: x)(np.ones(3))

    def test_static_arguments_of_a_jitted_function(self) -> None:
        f = theano.jit(lambda x, how: getattr(T, how)(x), static_argnames="how")
        self.assertEqual(functional.grad(f)(0.0, "sin"), 1)
        self.assertEqual(functional.grad(functional.grad(f))(0.0, how="cos"), -1)

    def test_methods(self) -> None:
        slope = functional.grad(Scaled().at)
        self.assertEqual([slope(0.0), slope(0.0, y=2.0), slope(0.0, how="sin", y=3.0)], [2, 4, 6])

    def test_grad_of_theano_takes_functions(self) -> None:
        self.assertEqual(theano.grad(lambda x: x**2)(3.0), 6)
        self.assertEqual(T.grad(lambda x, y: x * y, 1)(3.0, 4.0), 3)
        self.assertEqual(theano.jit(theano.grad(T.exp))(0.0), 1)
        with self.assertRaises(TypeError):
            T.grad(T.dscalar("x"))  # type: ignore[call-overload]  # the missing argument is the test

    def test_symbolic_arguments(self) -> None:
        x = T.dvector("x")
        slope = functional.grad(lambda p: (p["x"] ** 3).sum())({"x": x})["x"]
        self.assertEqual(slope.eval({x: [2.0]}).tolist(), [12])

    def test_loops(self) -> None:
        def power(x: Any, n: Any) -> Any:
            results, _ = theano.scan(lambda y, x: y * x, outputs_info=T.ones_like(x), non_sequences=x, n_steps=n)
            return results[-1]

        self.assertEqual(functional.grad(power)(2.0, 4), 32)


class TestJacobians(unittest.TestCase):
    def test_shapes_and_structures(self) -> None:
        x: Any = {"a": RNG.normal(size=(2, 3)), "b": 2.0}
        result = functional.jacobian(lambda x: {"y": T.exp(x["a"]) * x["b"], "z": x["a"].sum() * x["b"]})(x)
        self.assertEqual(result["y"]["a"].shape, (2, 3, 2, 3))
        np.testing.assert_allclose(result["y"]["b"], np.exp(x["a"]))
        np.testing.assert_allclose(result["z"]["a"], np.full((2, 3), 2.0))
        np.testing.assert_allclose(result["z"]["b"], x["a"].sum())
        expected = np.diag(2 * np.exp(x["a"]).ravel()).reshape(2, 3, 2, 3)
        np.testing.assert_allclose(result["y"]["a"], expected)

    def test_hessian(self) -> None:
        def f(p: Any) -> Any:
            return (p["a"] ** 2 * p["b"]).sum() * p["c"] ** 3

        p: Any = {"a": np.array([1.0, 2.0]), "b": np.array([3.0, 4.0]), "c": 2.0}
        result = functional.hessian(f)(p)
        np.testing.assert_allclose(result["a"]["a"], np.diag(2 * p["b"]) * 8)
        np.testing.assert_allclose(result["a"]["b"], np.diag(2 * p["a"]) * 8)
        np.testing.assert_allclose(result["b"]["b"], np.zeros((2, 2)))
        np.testing.assert_allclose(result["c"]["c"], (p["a"] ** 2 * p["b"]).sum() * 12)
        np.testing.assert_allclose(result["c"]["a"], result["a"]["c"])
        self.assertEqual(functional.hessian(lambda w: (w**2).sum())(np.ones((2, 3))).shape, (2, 3, 2, 3))

    def test_products(self) -> None:
        direction = like(PARAMS)
        f = theano.jit(network)
        value, slope = functional.jvp(lambda p: network(p, *DATA))((PARAMS,), (direction,))
        np.testing.assert_allclose(value, f(PARAMS, *DATA))
        np.testing.assert_allclose(slope, moved(lambda p: f(p, *DATA), PARAMS, direction), rtol=1e-6)
        same, pullback = functional.vjp(network)(PARAMS, *DATA)
        np.testing.assert_allclose(same, value)
        np.testing.assert_allclose(product(pullback(1.0)[0], direction), slope)

    def test_products_at_once_and_symbolic(self) -> None:
        x, v = np.array([1.0, 2.0]), np.array([1.0, -1.0])
        _, slope = functional.jvp(lambda x: {"y": x**2}, (x,), (v,))
        np.testing.assert_allclose(slope["y"], 2 * x * v)
        _, pullback = functional.vjp(lambda x: {"y": x**2}, x)
        np.testing.assert_allclose(pullback({"y": v})[0], 2 * x * v)
        a, b = T.dvector("a"), T.dvector("b")
        _, slope = functional.jvp(lambda x: x**2, (a,), (b,))
        np.testing.assert_allclose(slope.eval({a: x, b: v}), 2 * x * v)
        both = theano.jit(lambda x, v: functional.vjp(lambda x: x**2, x)[1](v))
        np.testing.assert_allclose(both(x, v)[0], 2 * x * v)

    def test_second_derivatives_in_a_direction(self) -> None:
        def f(x: Any) -> Any:
            return (x**3).sum()

        x, v = np.array([1.0, 2.0]), np.array([1.0, -1.0])
        _, forward = functional.jvp(functional.grad(f))((x,), (v,))
        np.testing.assert_allclose(forward, 6 * x * v)

    def test_structures_that_differ(self) -> None:
        with self.assertRaisesRegex(ValueError, "jvp: the structure differs"):
            functional.jvp(lambda x: x)((1.0,), (1.0, 2.0))
        with self.assertRaisesRegex(ValueError, "vjp: the structure differs"):
            functional.vjp(lambda x: x, 1.0)[1]([1.0])

    def test_checkpoint(self) -> None:
        @functional.checkpoint
        def part(x: Any) -> Any:
            return {"y": T.exp(T.sin(x)), "name": "part"}

        x = RNG.normal(size=3)
        np.testing.assert_allclose(part(x)["y"], np.exp(np.sin(x)))
        slope = functional.grad(lambda x: part(part(x)["y"])["y"].sum())
        plain = functional.grad(lambda x: T.exp(T.sin(T.exp(T.sin(x)))).sum())
        np.testing.assert_allclose(slope(x), plain(x))
        self.assertIn("checkpoint", str(slope.lower(x)))
