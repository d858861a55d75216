"""Ops made of Python functions, as the manual's chapter on them teaches."""

from __future__ import annotations

import pickle
import unittest
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano.compile.ops import FromFunctionOp, as_op


def product_shape(node: Any, input_shapes: list[Any]) -> list[Any]:
    first, second = input_shapes
    return [first[:-1] + second[-1:]]


@as_op(itypes=[T.fmatrix, T.fmatrix], otypes=[T.fmatrix], infer_shape=product_shape)
def product(a: Any, b: Any) -> Any:
    return np.dot(a, b)


@as_op(itypes=[T.dvector, T.dvector], otypes=[T.dvector, T.dvector])
def sum_and_difference(a: Any, b: Any) -> Any:
    return a + b, a - b


@as_op(itypes=[T.dscalar], otypes=[T.dscalar, T.dscalar])
def forgetful(a: Any) -> Any:
    return a


@as_op(itypes=[T.dscalar], otypes=[T.dscalar])
def silent(a: Any) -> Any:
    return None


def half(x: Any) -> Any:
    return x / 2


class TestAsOp(unittest.TestCase):
    def test_one_output_in_each_mode(self) -> None:
        x, y = T.fmatrices("x", "y")
        a, b = (np.random.default_rng(0).random(s).astype("float32") for s in ((5, 4), (4, 7)))
        for mode in ("FAST_RUN", "FAST_COMPILE", "DebugMode"):
            with self.subTest(mode=mode):
                np.testing.assert_allclose(theano.function([x, y], product(x, y), mode=mode)(a, b), a @ b, rtol=1e-5)

    def test_the_shape_is_known_without_a_call(self) -> None:
        x, y = T.fmatrices("x", "y")
        f = theano.function([x, y], product(x, y).shape)
        self.assertFalse(any(isinstance(n.op, FromFunctionOp) for n in f.maker.fgraph.apply_nodes))
        self.assertEqual(list(f(np.zeros((5, 4), "float32"), np.zeros((4, 7), "float32"))), [5, 7])

    def test_two_outputs(self) -> None:
        x, y = T.dvectors("x", "y")
        total, difference = theano.function([x, y], sum_and_difference(x, y))([3.0, 4.0], [1.0, 5.0])
        self.assertEqual((list(total), list(difference)), ([4.0, 9.0], [2.0, -1.0]))

    def test_pickles_and_equality(self) -> None:
        self.assertIs(pickle.loads(pickle.dumps(product)), product)
        op = FromFunctionOp(half, [T.dscalar], [T.dscalar], None)
        again = pickle.loads(pickle.dumps(op))
        self.assertEqual((again, hash(again)), (op, hash(op)))
        x = T.dscalar("x")
        f = pickle.loads(pickle.dumps(theano.function([x], op(x))))
        self.assertEqual(f(3.0), 1.5)

    def test_there_is_no_gradient(self) -> None:
        x, y = T.fmatrices("x", "y")
        with self.assertRaisesRegex(theano.gradient.NullTypeGradError, "Python function"):
            theano.grad(product(x, y).sum(), x)

    def test_wrong_input(self) -> None:
        x = T.dscalar("x")
        cases: list[tuple[type[Exception], str, Any]] = [
            (TypeError, "fn is no function", lambda: FromFunctionOp(3, [T.dscalar], [T.dscalar], None)),
            (TypeError, "infer_shape is no function", lambda: FromFunctionOp(half, [T.dscalar], [T.dscalar], 3)),
            (TypeError, "itypes .* are no types", lambda: as_op(itypes=["float64"], otypes=[T.dscalar])(half)),  # type: ignore[list-item]
            (TypeError, "takes 2 inputs, not 1", lambda: product(x)),
            (TypeError, "input 0 has to be of type", lambda: product(x, x)),
            (ValueError, "and it has 2 outputs", lambda: forgetful(x)[0].eval({x: 1.0})),
            (ValueError, "returned None as output 0", lambda: silent(x).eval({x: 1.0})),
        ]
        for kind, text, call in cases:
            with self.subTest(text=text), self.assertRaisesRegex(kind, text):
                call()


class TestOpFromGraph(unittest.TestCase):
    def test_the_chapter(self) -> None:
        x, y, z = T.scalars("xyz")
        op: Any = theano.OpFromGraph([x, y, z], [x + y * z])
        f = theano.function([x, y, z], [op(x, y, z) + op(z, y, x)])
        self.assertEqual(f(1.0, 2.0, 3.0), [12.0])
        self.assertIs(theano.compile.builders.OpFromGraph, theano.OpFromGraph)

    def test_the_chapter_with_a_gradient_of_ones_own(self) -> None:
        x, y, z = T.scalars("xyz")

        def doubled(inputs: Any, gradients: Any) -> Any:
            return inputs[2] * 2

        op: Any = theano.OpFromGraph([x, y, z], [x + y * z], grad_overrides=["default", doubled, "default"])
        f = theano.function([x, y, z], theano.grad(op(x, y, z), [x, y, z]))
        self.assertEqual(f(2.0, 3.0, 4.0), [1.0, 8.0, 3.0])

    def test_in_debug_mode_and_in_a_profile(self) -> None:
        x, y = T.dvectors("x", "y")
        op: Any = theano.OpFromGraph([x, y], [T.tanh(x) * y, T.sum(x * y)])
        first, second = op(x, y)
        for options in ({"mode": "DebugMode"}, {"profile": True}, {"mode": theano.Mode("py", "fast_run")}):
            with self.subTest(**options):
                f = theano.function([x, y], first * second, **options)
                np.testing.assert_allclose(f([1.0, 2.0], [3.0, 4.0]), np.tanh([1.0, 2.0]) * [3.0, 4.0] * 11.0)
