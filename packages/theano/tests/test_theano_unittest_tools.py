"""The helpers of `theano.tests.unittest_tools` that programs of Theano 1.0 import."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

import theano.tensor as T
from theano.tests import unittest_tools as utt


class TestComparison(unittest.TestCase):
    """`assert_allclose` has the tolerances of Theano 1.0."""

    def test_tolerances_depend_on_dtypes(self) -> None:
        utt.assert_allclose(np.ones(3, "float32"), np.ones(3) + 5e-6)
        with self.assertRaises(utt.WrongValue) as caught:
            utt.assert_allclose(np.zeros(3), np.full(3, 1e-6))
        self.assertIn("Max Abs Diff:  1e-06", str(caught.exception))
        self.assertIn("rtol, atol: 1e-05 1e-08", str(caught.exception))
        utt.assert_allclose(np.zeros(3), np.full(3, 1e-6), atol=1e-5)

    def test_shapes_broadcast_and_nan_is_no_number(self) -> None:
        utt.assert_allclose(np.ones((2, 3)), 1.0)
        with self.assertRaises(AssertionError):
            utt.assert_allclose(np.array([np.nan]), np.array([np.nan]))

    def test_diagnostics_of_shapes_that_do_not_meet(self) -> None:
        text = utt.str_diagnostic(np.ones(2), np.ones(3), None, None)
        self.assertIn("(2,) float64", text)
        self.assertIn("cannot be broadcast", text)


class TestDecorators(unittest.TestCase):
    """Names of generated tests, repeated attempts, and parts that are left as they are."""

    def test_names_of_generated_tests(self) -> None:
        class Parameters:
            args = ((0, 1), "valid", 1.5)

        def test_conv() -> None: ...

        self.assertEqual(utt.custom_name_func(test_conv, 3, Parameters), "test_conv__0_1__valid_1_5")
        self.assertIs(utt.assertFailure_fast(test_conv), test_conv)

    def test_attempts(self) -> None:
        seeds: list[int] = []

        @utt.AttemptManyTimes(4, n_req_successes=2)
        def attempt(fail: int) -> int:
            seeds.append(utt.fetch_seed())
            if len(seeds) <= fail:
                raise ValueError("unlucky")
            return len(seeds)

        self.assertEqual(attempt(2), 4)
        self.assertEqual(len(set(seeds)), 4)
        self.assertEqual(seeds[0], utt.fetch_seed())
        seeds.clear()
        with self.assertRaisesRegex(ValueError, "unlucky"):
            attempt(3)

    def test_giving_up_a_test(self) -> None:
        with self.assertRaisesRegex(utt.SkipTest, "Skip this test"):
            utt.TestOptimizationMixin().SkipTest()


class TestOpContract(utt.T_OpContractMixin, unittest.TestCase):
    """The contract of ops holds for reductions."""

    def setUp(self) -> None:
        self.ops = [T.Sum(0), T.Sum(1), T.Prod(0)]

    def other_op(self) -> Any:
        return T.exp

    def clone(self, op: Any) -> Any:
        return type(op)(op.axis)
