from __future__ import annotations

import pickle
import unittest
from typing import Any

import numpy as np

import theano_tensor as T
from theano_linker_c import FAST_COMPILE, FAST_RUN, Mode, function
from theano_tensor import Assert, CheckAndRaise, ShapeError, grad
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

TestChecked = op_tests(
    OpRecord(
        "checked",
        lambda x: CheckAndRaise(ValueError, "not reached")(x, x.size < 9),
        lambda x: x,
        [[VECTOR], [np.zeros(0)], [VECTOR.astype("float32")]],
        [[VECTOR]],
    )
)


class TestCheckAndRaise(unittest.TestCase):
    def setUp(self) -> None:
        self.x = T.dvector("x")

    def checked(self, *conditions: Any) -> Any:
        return CheckAndRaise(KeyError, "two at most")(self.x, *conditions)

    def test_the_error_is_of_the_class_that_was_given(self) -> None:
        for mode in (FAST_RUN, FAST_COMPILE, Mode("py", None)):
            f: Any = function([self.x], self.checked(self.x.size < 3, self.x.sum() > 0) * 2, mode=mode)
            np.testing.assert_array_equal(f([1.0, 2.0]), [2.0, 4.0])
            for operands in ([1.0, 2.0, 3.0], [-1.0]):
                with self.assertRaisesRegex(KeyError, "two at most"):
                    f(operands)

    def test_assert_is_one_of_them(self) -> None:
        self.assertIsInstance(Assert(), CheckAndRaise)
        self.assertEqual(Assert("a").exc_type, AssertionError)
        self.assertNotEqual(Assert("a"), CheckAndRaise(AssertionError, "a"))
        self.assertEqual(str(CheckAndRaise(KeyError, "a")), "CheckAndRaise{KeyError('a')}")

    def test_derivatives_and_shapes_need_no_check(self) -> None:
        v = T.dvector("v")
        checked = self.checked(self.x.size < 3)
        outputs = [checked.shape[0], grad((checked**2).sum(), self.x), T.Rop(checked * 3, self.x, v)]
        f: Any = function([self.x, v], outputs[0], on_unused_input="ignore")
        self.assertEqual(f([1.0, 2.0, 3.0], [0.0]), 3)
        result = function([self.x, v], outputs[1:])([1.0, 2.0], [1.0, 0.0])
        np.testing.assert_array_equal(result, [[2.0, 4.0], [3.0, 0.0]])

    def test_checks_that_hold_go_and_all_go_on_request(self) -> None:
        def left(output: Any, mode: Any = FAST_RUN) -> list[int]:
            f: Any = function([self.x], output, mode=mode, on_unused_input="ignore")
            return [len(n.inputs) for n in f.maker.fgraph.toposort() if isinstance(n.op, CheckAndRaise)]

        small = self.x.size < 3
        self.assertEqual(left(self.checked(T.constant(True), small, small)), [2])
        self.assertEqual(left(self.checked(T.constant(True))), [])
        self.assertEqual(left(self.checked()), [])
        self.assertEqual(left(self.checked(T.constant(False))), [2])
        self.assertEqual(left(self.checked(small), FAST_RUN.including("local_remove_all_assert")), [])

    def test_wrong_input(self) -> None:
        for wrong in ("ValueError", 3, ValueError("x"), dict, None):
            with self.assertRaisesRegex(TypeError, "no class of exceptions"):
                CheckAndRaise(wrong, "x")  # type: ignore[arg-type]
        with self.assertRaisesRegex(ShapeError, "CheckAndRaise: .*1 dimensions"):
            self.checked(self.x > 0)

    def test_pickles(self) -> None:
        op = CheckAndRaise(ValueError, "text")
        self.assertEqual(pickle.loads(pickle.dumps(op)), op)


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
