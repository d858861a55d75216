"""Test cases made of tables: the arrays that they accept, and their findings."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

import theano_tensor as T
from theano_graph import Apply, Op
from theano_linker_c import function
from theano_testing.tensor import make_broadcast_tester, make_tester

RNG = np.random.RandomState(8)


def rand(*shape: int) -> Any:
    return RNG.rand(*shape)


DotTester = make_tester(
    name="DotTester",
    op=T.dot,
    expected=np.dot,
    checks={"finite": lambda inputs, outputs: np.isfinite(outputs[0])},
    good={
        "squares": (rand(5, 7), rand(7, 5)),
        "others": (rand(5, 7), rand(7, 9)),
        "vector": (rand(5, 7), rand(7)),
    },
    bad_build={"cube": (rand(2, 2, 2, 2), rand(2, 2, 2), rand(1))},
    bad_runtime={"same": (rand(5, 7), rand(5, 7)), "other": (rand(5, 7), rand(8, 3))},
    grad={"matrices": (rand(2, 3), rand(3, 4))},
)

AddTester = make_broadcast_tester(
    T.add,
    np.add,
    good={"same": (rand(2, 3), rand(2, 3)), "row": (rand(2, 3), rand(1, 3)), "scalar": (rand(2), rand())},
    bad_runtime={"lengths": (rand(2), rand(3))},
    grad={"row": (rand(2, 3), rand(1, 3))},
)

ExpInplaceTester = make_broadcast_tester(
    T.inplace.exp_inplace, np.exp, name="ExpInplaceTester", inplace=True, good={"matrix": (rand(2, 3),)}
)


def outcome(tester: type[unittest.TestCase]) -> list[tuple[str, str]]:
    """Return (method, last line of the message) of the failures of a test case."""
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(tester).run(result)
    failed = [*result.failures, *result.errors]
    return sorted((str(case).split()[0], text.strip().splitlines()[-1]) for case, text in failed)


class WrongGradient(Op):
    """Twice its input, with the gradient of three times its input."""

    __props__ = ()

    def make_node(self, x: Any) -> Apply:
        x = T.as_tensor_variable(x)
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any, params: Any = None) -> None:
        output_storage[0][0] = inputs[0] * 2

    def grad(self, inputs: Any, output_grads: Any) -> list[Any]:
        return [output_grads[0] * 3]


class TestWhatIsFound(unittest.TestCase):
    def test_nothing_in_what_is_right(self) -> None:
        for tester in (DotTester, AddTester, ExpInplaceTester):
            self.assertEqual(outcome(tester), [])
        self.assertEqual((DotTester.__name__, AddTester.__name__), ("DotTester", "Elemwise{add,no_inplace}Tester"))
        self.assertTrue(issubclass(DotTester, unittest.TestCase))

    def test_wrong_values_shapes_and_numbers_of_results(self) -> None:
        good = {"vector": (np.array([1.0, 2.0]),)}
        for expected in (lambda x: x + 1e-3, lambda x: x[:1], lambda x: [x, x]):
            result = outcome(make_tester("Wrong", lambda x: x * 1, expected, good=good))
            self.assertEqual([name for name, _ in result], ["test_good"])

    def test_checks(self) -> None:
        tester = make_tester(
            "Checked",
            T.exp,
            np.exp,
            checks={"small": lambda inputs, outputs: outputs[0] < 10},
            good={"one": (np.array([1.0]),), "three": (np.array([3.0]),)},
        )
        ((name, text),) = outcome(tester)
        self.assertEqual(name, "test_good")
        self.assertIn("the check 'small' failed", text)
        ((_, text),) = outcome(make_broadcast_tester(T.exp, np.exp, inplace=True, good={"one": (np.array([1.0]),)}))
        self.assertIn("inplace", text)

    def test_what_should_fail_and_does_not(self) -> None:
        fine = {"fine": (np.ones(2), np.ones(2))}
        result = outcome(make_tester("Lenient", T.add, np.add, bad_build=fine, bad_runtime=fine))
        self.assertEqual([name for name, _ in result], ["test_bad_build", "test_bad_runtime"])
        self.assertIn("should have failed", result[0][1])

    def test_a_build_that_fails_is_no_bad_call(self) -> None:
        result = outcome(make_tester("Early", T.dot, np.dot, bad_runtime={"types": (np.ones(2),)}))
        self.assertEqual([name for name, _ in result], ["test_bad_runtime"])

    def test_gradients(self) -> None:
        result = outcome(make_tester("Slopes", WrongGradient(), lambda x: 2 * x, grad={"vector": (np.ones(3),)}))
        self.assertEqual([name for name, _ in result], ["test_grad"])
        f: Any = function([], WrongGradient()(np.ones(3)))
        np.testing.assert_array_equal(f(), np.full(3, 2.0))
