"""Unit tests of ops and expressions: values, errors, seeds, gradients by finite differences, shapes, R-operators.

Run ``python examples/chapter_testing.py``, or ``theano-nose examples/chapter_testing.py``.
"""

from __future__ import annotations

import io
import unittest
from collections.abc import Sequence
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano.tests import unittest_tools as utt
from theano.tests.test_rop import RopLop_checker


class Ramp(theano.Op):
    """``max(x, 0)^2`` of each element."""

    __props__ = ()

    def make_node(self, *inputs: Any) -> theano.Apply:
        (x,) = (T.as_tensor_variable(v) for v in inputs)
        return theano.Apply(self, [x], [x.type()])

    def perform(
        self, node: theano.Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        output_storage[0][0] = np.maximum(inputs[0], 0) ** 2

    def infer_shape(self, node: theano.Apply, input_shapes: Sequence[Any]) -> Sequence[Any]:
        return input_shapes

    def grad(self, inputs: Sequence[Any], output_grads: Sequence[Any]) -> list[Any]:
        return [2 * T.maximum(inputs[0], 0) * output_grads[0]]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return [None if eval_points[0] is None else 2 * T.maximum(inputs[0], 0) * eval_points[0]]


class TestRamp(utt.InferShapeTester):
    """Checks that the author of an op runs."""

    def setUp(self) -> None:
        super().setUp()
        utt.seed_rng()
        self.rng = np.random.RandomState(utt.fetch_seed())
        self.op = Ramp()

    def test_values_in_each_mode(self) -> None:
        x = T.dmatrix("x")
        value = self.rng.rand(5, 4) - 0.5
        for mode in ("FAST_RUN", "FAST_COMPILE", "DebugMode"):
            f = theano.function([x], self.op(x), mode=mode)
            utt.assert_allclose(f(value), np.where(value > 0, value, 0) ** 2)

    def test_wrong_input(self) -> None:
        self.assertRaises(TypeError, self.op, object())

    def test_infer_shape(self) -> None:
        x = T.dmatrix("x")
        self._compile_and_check([x], [self.op(x)], [self.rng.rand(5, 6)], Ramp)

    def test_gradient(self) -> None:
        utt.verify_grad(self.op, [self.rng.rand(5, 7) + 0.1])
        with self.assertRaises(utt.GradientError):
            utt.verify_grad(lambda x: theano.gradient.grad_scale(self.op(x), 3), [self.rng.rand(3) + 0.1])


class TestRampRop(RopLop_checker):
    """The products with Jacobians of the op."""

    def test_rop(self) -> None:
        self.check_rop_lop(Ramp()(self.x), self.in_shape)


class TestRewrite(unittest.TestCase, utt.OptimizationTestMixin):
    """Whether a rewrite took place."""

    def test_the_logarithm_is_gone(self) -> None:
        x = T.dvector("x")
        f = theano.function([x], T.log(T.exp(x)))
        self.assertFunctionContains0(f, T.log)
        self.assertEqual(f([2.0]).tolist(), [2.0])


def main() -> None:
    cases = [unittest.defaultTestLoader.loadTestsFromTestCase(case) for case in (TestRamp, TestRampRop, TestRewrite)]
    result = unittest.TextTestRunner(stream=io.StringIO()).run(unittest.TestSuite(cases))
    assert result.wasSuccessful(), result.failures + result.errors
    print(f"testing: {result.testsRun} tests passed")


if __name__ == "__main__":
    main()
