"""Jacobians whose rows are computed at once."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

import theano_tensor as tt
from theano_graph import Apply, Op
from theano_linker_c import function
from theano_testing.tensor import fetch_seed

RNG = np.random.RandomState(fetch_seed())


class Doubled(Op):
    """An op without a rule for batches."""

    __props__ = ()

    def make_node(self, x: Any) -> Apply:
        return Apply(self, [tt.as_tensor_variable(x)], [tt.as_tensor_variable(x).type()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any, params: Any = None) -> None:
        output_storage[0][0] = inputs[0] * 2

    def grad(self, inputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        return [Doubled()(output_gradients[0])]


class TestJacobians(unittest.TestCase):
    def check(self, expression: Any, *values: Any) -> None:
        variables = [tt.tensor("float64", shape=(None,) * v.ndim) for v in values]
        y = expression(*variables)
        for vectorize in (True, "auto"):
            loop = tt.jacobian(y, variables)
            batch = tt.jacobian(y, variables, vectorize=vectorize)
            values_of_both = function(variables, [*loop, *batch])(*values)
            for a, b in zip(values_of_both[: len(values)], values_of_both[len(values) :], strict=True):
                np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-12)

    def test_as_the_loop(self) -> None:
        self.check(lambda x: tt.tanh(x) * x.sum(), RNG.randn(4))
        self.check(lambda x, w: tt.tanh(tt.dot(w, x)), RNG.randn(3), RNG.randn(5, 3))
        self.check(lambda x, w: tt.nnet.softmax(tt.dot(x, w)).flatten(), RNG.randn(2, 3), RNG.randn(3, 4))
        self.check(lambda x: tt.sort(x)[1:], RNG.randn(4))
        self.check(lambda x: tt.tanh(x), np.zeros(0))

    def test_hessians(self) -> None:
        x, a, value = tt.dvector(), tt.dmatrix(), (RNG.randn(3), RNG.randn(4, 3))
        cost = tt.tanh(tt.dot(a, tt.sin(x))).sum() + x.prod()
        for vectorize in (True, "auto"):
            hessians = [tt.hessian(cost, x), tt.hessian(cost, x, vectorize=vectorize)]
            loop, batch = function([x, a], hessians)(*value)
            np.testing.assert_allclose(batch, loop, rtol=1e-9, atol=1e-12)
        with self.assertRaisesRegex(ValueError, "vectorize"):
            tt.hessian(cost, x, vectorize="yes")  # type: ignore[arg-type]

    def test_unit_matrices_are_not_multiplied(self) -> None:
        x, a = tt.dvector(), tt.dmatrix()
        f = function([x, a], tt.jacobian(tt.tanh(tt.dot(a, x)), x, vectorize=True))
        names = {str(node.op) for node in f.maker.fgraph.toposort()}
        self.assertFalse([name for name in names if "Dot22" in name or "Eye" in name], names)

    def test_static_length_1(self) -> None:
        x = tt.tensor("float64", shape=(1,))
        np.testing.assert_allclose(tt.jacobian(x**2, x, vectorize=True).eval({x: [3.0]}), [[6.0]])

    def test_disconnected(self) -> None:
        x, y = tt.dvector(), tt.dvector()
        by_y = tt.jacobian(x**2, [x, y], disconnected_inputs="ignore", vectorize=True)[1]
        self.assertEqual(function([x, y], by_y)([1.0, 2.0], [1.0]).shape, (2, 1))

    def test_derivatives(self) -> None:
        x = tt.dvector("x")
        value = RNG.randn(3)
        total = tt.jacobian(tt.tanh(x) * x.sum(), x, vectorize=True).sum()
        expected = tt.jacobian(tt.tanh(x) * x.sum(), x).sum()
        first, second = function([x], [tt.grad(total, x), tt.grad(expected, x)])(value)
        np.testing.assert_allclose(first, second)

    def test_auto_runs_the_loop_for_ops_without_rules(self) -> None:
        x = tt.dvector("x")
        ops = {type(node.op).__name__ for node in _nodes(tt.jacobian(Doubled()(x), x, vectorize="auto"))}
        self.assertIn("MapRows", ops)
        ops = {type(node.op).__name__ for node in _nodes(tt.jacobian(tt.tanh(x), x, vectorize="auto"))}
        self.assertNotIn("MapRows", ops)

    def test_wrong_choice(self) -> None:
        x = tt.dvector("x")
        with self.assertRaisesRegex(ValueError, "vectorize"):
            tt.jacobian(x, x, vectorize="yes")  # type: ignore[arg-type]


def _nodes(output: Any) -> list[Apply]:
    seen: dict[Apply, None] = {}
    pending = [output]
    while pending:
        node = pending.pop().owner
        if node is not None and node not in seen:
            seen[node] = None
            pending.extend(node.inputs)
    return list(seen)
