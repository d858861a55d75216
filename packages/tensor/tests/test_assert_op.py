from __future__ import annotations

import unittest
from typing import Any

import numpy as np

import theano_tensor as T
from theano_linker_c import FAST_COMPILE, FAST_RUN, function
from theano_tensor import Assert, ShapeError, grad
from theano_testing.tensor import OpRecord, op_tests

VECTOR = np.array([0.5, -1.0, 2.0])

TestHolding = op_tests(
    OpRecord(
        "holding",
        lambda x: Assert("not reached")(x, x.size < 9),
        lambda x: x,
        [[VECTOR], [np.zeros(0)], [VECTOR.astype("float32")]],
        [[VECTOR]],
    )
)


class TestAssert(unittest.TestCase):
    def test_a_false_condition_is_an_error_with_the_given_text(self) -> None:
        x = T.dvector("x")
        for mode in (FAST_RUN, FAST_COMPILE):
            f: Any = function([x], Assert("two elements at most")(x, x.size < 3) * 2, mode=mode)
            np.testing.assert_array_equal(f([1.0, 2.0]), [2.0, 4.0])
            with self.assertRaisesRegex(AssertionError, "two elements at most"):
                f([1.0, 2.0, 3.0])

    def test_conditions_have_no_dimensions(self) -> None:
        x = T.dvector("x")
        with self.assertRaisesRegex(ShapeError, "1 dimensions(.|\n)*T.all"):
            Assert()(x, x > 0)

    def test_the_gradient_passes(self) -> None:
        x = T.dvector("x")
        f: Any = function([x], grad(T.sqr(Assert()(x, x.size > 1)).sum(), x))
        np.testing.assert_array_equal(f([1.0, 2.0]), [2.0, 4.0])

    def test_checks_that_hold_go_and_all_go_on_request(self) -> None:
        x = T.dvector("x")
        checked = Assert()(x, T.constant(True), x.size < 3) * 2

        def checks(mode: Any) -> list[int]:
            f: Any = function([x], checked, mode=mode)
            return [len(node.inputs) for node in f.maker.fgraph.toposort() if isinstance(node.op, Assert)]

        self.assertEqual(checks(FAST_RUN), [2])
        self.assertEqual(checks(FAST_RUN.including("local_remove_all_assert")), [])
        self.assertEqual(checks(FAST_RUN.clone(optimizer="unsafe")), [])
