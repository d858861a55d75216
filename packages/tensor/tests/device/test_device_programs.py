"""Programs in which variables of the host and of a device meet."""

from __future__ import annotations

import io
import unittest
from collections.abc import Sequence
from typing import Any

import numpy as np

import theano_tensor as T
from theano_graph import Apply, Op, config
from theano_linker_c import In, function, shared
from theano_linker_c.archive import dump, load
from theano_tensor.control import ifelse

from .contexts import NAME, OTHER, computes, context


class AddOneInPlace(Op):
    """Add one to each element of the operand itself, in Python."""

    __props__ = ()
    destroy_map = {0: [0]}

    def make_node(self, x: Any) -> Apply:
        x = T.as_tensor_variable(x)
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any, params: Any = None) -> None:
        inputs[0][...] += 1
        output_storage[0][0] = inputs[0]


class TestBranches(unittest.TestCase):
    def setUp(self) -> None:
        context()

    def assertValues(self, result: Any, expected: Any) -> None:
        self.assertIsInstance(result, np.ndarray)
        self.assertEqual((result.shape, result.dtype), (expected.shape, expected.dtype))
        if computes():
            np.testing.assert_allclose(result, expected, rtol=1e-6)

    def test_one_on_the_device(self) -> None:
        value, other = np.arange(3, dtype="float32"), np.full(4, 7, "float32")
        x, v, c = shared(value, target=NAME), T.fvector("v"), T.bscalar("c")
        for first, second, a, b in ((x, v, value, other), (v, x, other, value), (x * 2, x, value * 2, value)):
            f = function([c, v], ifelse(c, first, second), on_unused_input="ignore")
            self.assertValues(f(1, other), a)
            self.assertValues(f(0, other), b)

    def test_on_two_devices(self) -> None:
        value, other = np.arange(3, dtype="float32"), np.full(4, 7, "float32")
        x, y, c = shared(value, target=NAME), shared(other, target=OTHER), T.bscalar("c")
        f = function([c], ifelse(c, x, y))
        self.assertValues(f(1), value)
        self.assertValues(f(0), other)

    def test_updates(self) -> None:
        value = np.arange(3, dtype="float32")
        x, c = shared(value, target=NAME), T.bscalar("c")
        f = function([c], updates=[(x, ifelse(c, x * 3, x))])
        for condition, expected in ((0, value), (1, value * 3), (0, value * 3)):
            f(condition)
            self.assertValues(x.get_value(), expected)

    def test_an_argument_that_an_op_overwrites(self) -> None:
        x = T.fvector("x")
        x.tag.target = NAME
        f = function([In(x, mutable=True)], AddOneInPlace()(x) - T.expm1(x), accept_inplace=True)
        self.assertValues(f(np.ones(3, "float32")), np.full(3, 2 - np.expm1(1), "float32"))

    def test_gradients(self) -> None:
        value, other = np.arange(3, dtype="float32"), np.full(3, 7, "float32")
        x, v, c = shared(value, target=NAME), T.fvector("v"), T.bscalar("c")
        f = function([c, v], T.grad((ifelse(c, x, v) ** 2).sum(), [x, v]))
        for condition, expected in ((1, (value * 2, other * 0)), (0, (value * 0, other * 2))):
            for item, gradient in zip(f(condition, other), expected, strict=True):
                self.assertValues(item, gradient)

    def test_other_dtypes_are_refused(self) -> None:
        x = shared(np.zeros(3, "float32"), target=NAME)
        with self.assertRaisesRegex(TypeError, r"different types for output 0: float32.*float64(?s:.*)Hint: "):
            ifelse(T.bscalar(), x, T.dvector())


class TestErrors(unittest.TestCase):
    def test_what_is_stored(self) -> None:
        context()
        w, x = shared(np.zeros((3, 2), "float32"), name="w", target=NAME), T.fmatrix("x")
        f = function([x], T.dot(x, w))
        with config.change_flags(exception_verbosity="high"), self.assertRaises(ValueError) as caught:
            f(np.zeros((5, 4), "float32"))
        message = str(caught.exception)
        self.assertIn("Storage map (104 bytes in operands", message)
        self.assertIn("`w` (operand): float32 of shape (3, 2), 24 bytes", message)


class TestArchives(unittest.TestCase):
    def test_members_are_named_after_the_variables(self) -> None:
        context()
        w = shared(np.arange(3, dtype="float32"), name="w", target=NAME)
        v = shared(np.arange(2, dtype="float32"), name="v", target=NAME)
        unnamed = shared(np.zeros(1, "float32"), target=NAME)
        file = io.BytesIO()
        dump([w, w.container, np.zeros(4), v, unnamed, w], file)
        with np.load(io.BytesIO(file.getvalue()), allow_pickle=False) as members:
            self.assertEqual(set(members.files) - {"pkl"}, {"w", "v", "array_0", "array_1"})
            self.assertEqual(
                [members[name].shape for name in ("w", "v", "array_0", "array_1")], [(3,), (2,), (4,), (1,)]
            )
        result = load(file)
        self.assertIs(result[0], result[-1])
        self.assertEqual([x.get_value().shape for x in (result[0], result[3], result[4])], [(3,), (2,), (1,)])
        if computes():
            np.testing.assert_array_equal(result[0].get_value(), np.arange(3))


if __name__ == "__main__":
    unittest.main()
