"""Variables, constants, constructors and conversion from Python objects."""

from __future__ import annotations

import operator
import pickle
import unittest
from typing import Any

import numpy as np
from tensor_cases import as_numpy, node_of, run

import theano_tensor as T
from theano_graph import config
from theano_linker_c import function, shared
from theano_tensor import Tensor, TensorConstant, TensorSharedVariable


class TestConstructors(unittest.TestCase):
    def test_letters(self) -> None:
        letters = {"b": "int8", "w": "int16", "i": "int32", "l": "int64", "f": "float32", "d": "float64"}
        for letter, dtype in {**letters, "c": "complex64", "z": "complex128"}.items():
            for kind, pattern in (("scalar", ()), ("vector", (False,)), ("row", (True, False)), ("col", (False, True))):
                result = getattr(T, letter + kind)("v")
                self.assertEqual((result.dtype, result.broadcastable, result.name), (dtype, pattern, "v"))
            for n in (3, 4, 5, 6, 7):
                self.assertEqual(getattr(T, f"{letter}tensor{n}")().ndim, n)

    def test_default_dtype_is_float_x(self) -> None:
        with config.change_flags(floatX="float32"):
            self.assertEqual(T.matrix().dtype, "float32")
        self.assertEqual(T.matrix().dtype, "float64")
        self.assertEqual(T.scalar("myvar", dtype="int32").dtype, "int32")

    def test_plurals(self) -> None:
        self.assertEqual([v.name for v in T.dmatrices("x", "y")], ["x", "y"])
        self.assertEqual([v.name for v in T.scalars("abcd")], list("abcd"))
        self.assertEqual([v.name for v in T.ivectors(3)], [None] * 3)
        with self.assertRaisesRegex(TypeError, "dmatrices needs a number or names"):
            T.dmatrices()

    def test_tensor(self) -> None:
        self.assertEqual(T.tensor("int8", (True, False), "t").type, T.brow)
        self.assertEqual(T.tensor("int8", shape=(2, None)).static_shape, (2, None))
        with self.assertRaisesRegex(TypeError, "either"):
            T.tensor("int8")


class TestConstants(unittest.TestCase):
    def test_dtypes_of_numbers(self) -> None:
        table: list[tuple[Any, str]] = [
            (1, "int8"),
            (-129, "int16"),
            (2**15, "int32"),
            (2**31, "int64"),
            (2**63, "uint64"),
            (True, "bool"),
            (0.5, "float32"),
            (0.1, "float64"),
            (float("nan"), "float32"),
            (1j, "complex128"),
            (np.float32(0.1), "float32"),
            (np.int64(1), "int64"),
        ]
        for value, dtype in table:
            with self.subTest(value=value):
                self.assertEqual(T.constant(value).dtype, dtype)

    def test_policies(self) -> None:
        with config.change_flags(floatX="float32"):
            self.assertEqual(T.constant(0.1).dtype, "float32")
        with config.change_flags(cast_policy="numpy+floatX"):
            self.assertEqual((T.constant(1).dtype, T.constant(0.5).dtype), ("int64", "float64"))

    def test_too_large(self) -> None:
        with self.assertRaisesRegex(OverflowError, "write it as a float"):
            T.constant(2**64)

    def test_array_is_copied_and_read_only(self) -> None:
        array = np.zeros((1, 3))
        constant = T.constant(array)
        array[...] = 7
        self.assertEqual(float(constant.data.sum()), 0.0)
        self.assertFalse(constant.data.flags.writeable)
        self.assertTrue(array.flags.writeable)
        self.assertEqual(constant.broadcastable, (True, False))

    def test_signatures(self) -> None:
        nan = np.array([np.nan, 1.0])
        self.assertEqual(T.constant(nan).signature(), T.constant(nan.copy()).signature())
        self.assertNotEqual(T.constant(0.0).signature(), T.constant(-0.0).signature())
        self.assertNotEqual(T.constant(1).signature(), T.constant(1.0).signature())
        self.assertNotEqual(T.constant([1.0]).signature(), T.constant([[1.0]]).signature())
        large = np.arange(1000.0)
        self.assertEqual(T.constant(large).signature(), T.constant(large.copy()).signature())
        self.assertNotEqual(T.constant(large).signature(), T.constant(large + 1).signature())

    def test_printing(self) -> None:
        self.assertEqual(str(T.constant(2)), "TensorConstant{2}")
        self.assertEqual(str(T.constant(np.full(1, 0.5))), "TensorConstant{(1,) of 0.5}")
        self.assertEqual(str(T.constant(np.ones((2, 3)))), "TensorConstant{(2, 3) of 1.0}")

    def test_pickle(self) -> None:
        again = pickle.loads(pickle.dumps(T.constant([1.0, 2.0], name="c")))
        self.assertIsInstance(again, TensorConstant)
        self.assertEqual((again.name, again.data.tolist()), ("c", [1.0, 2.0]))


class TestKindsOfTensors(unittest.TestCase):
    def test_inputs_constants_and_shared_variables_can_be_told_apart(self) -> None:
        x, weights = T.dvector("x"), shared(np.ones(2))
        for variable, kind in (
            (x, T.TensorVariable),
            (x + weights, T.TensorVariable),
            (T.constant([1.0]), T.TensorConstant),
            (weights, T.TensorSharedVariable),
        ):
            kinds = [k for k in (T.TensorVariable, T.TensorConstant, T.TensorSharedVariable) if isinstance(variable, k)]
            self.assertEqual((kinds, isinstance(variable, T.Tensor)), ([kind], True))


class TestAsTensorVariable(unittest.TestCase):
    def test_variables_pass_through(self) -> None:
        x = T.dvector()
        self.assertIs(T.as_tensor_variable(x), x)
        self.assertIs(node_of(T.as_tensor_variable(node_of(x + 1))).op, T.add)

    def test_lists_with_variables_are_stacked(self) -> None:
        a, b = T.dscalars("ab")
        value = run([a, b], T.as_tensor_variable([[a, 1], [2, b]]), 5.0, 6.0)
        np.testing.assert_array_equal(value, [[5, 1], [2, 6]])

    def test_ndim(self) -> None:
        self.assertEqual(T.as_tensor_variable(T.dvector(), ndim=2).broadcastable, (True, False))
        self.assertEqual(T.as_tensor_variable(T.drow(), ndim=1).ndim, 1)
        with self.assertRaisesRegex(ValueError, "`m`: float64"):
            T.as_tensor_variable(T.dmatrix("m"), ndim=1)

    def test_refusals(self) -> None:
        for value in (None, "text", object(), {}, [[1], [2, 3]]):
            with self.subTest(value=value), self.assertRaisesRegex(TypeError, "Hint"):
                T.as_tensor_variable(value)


class TestOperators(unittest.TestCase):
    def test_arithmetic_against_numpy(self) -> None:
        x, y = T.dvectors("x", "y")
        a, b = np.array([1.5, -2.0, 3.0]), np.array([2.0, 0.5, -1.5])
        table = [
            (x + y, a + b),
            (x - y, a - b),
            (2 - x, 2 - a),
            (x * y, a * b),
            (x / y, a / b),
            (3 / x, 3 / a),
            (x // y, a // b),
            (x % y, a % b),
            (abs(x), abs(a)),
            (-x, -a),
            (x**2, a**2),
            (2**x, 2**a),
            (x < y, a < b),
            (x <= y, a <= b),
            (x > 1.5, a > 1.5),
            (x >= y, a >= b),
            (T.eq(x, 1.5), a == 1.5),
            (T.neq(x, 1.5), a != 1.5),
            (x @ y, a @ b),
            (divmod(x, y)[1], a % b),
        ]
        for (expression, expected), result in zip(table, run([x, y], [e for e, _ in table], a, b), strict=True):
            with self.subTest(expression=str(expression)):
                np.testing.assert_allclose(result, expected)

    def test_bitwise(self) -> None:
        x, y = T.ivectors("x", "y")
        a, b = np.array([1, 6, -3], "int32"), np.array([3, 3, 5], "int32")
        results = run([x, y], [x & y, x | y, x ^ y, ~x, 1 & x], a, b)
        for result, expected in zip(results, [a & b, a | b, a ^ b, ~a, 1 & a], strict=True):
            np.testing.assert_array_equal(result, expected)
        with self.assertRaisesRegex(TypeError, "`f`: float64"):
            _ = T.dvector("f") & 1

    def test_numpy_functions_and_arrays_build_expressions(self) -> None:
        x = T.dvector("x")
        a = np.array([0.5, 1.0])
        for expression, expected in (
            (np.exp(x), np.exp(a)),
            (a * x, a * a),
            (np.float64(3) - x, 3 - a),
            (as_numpy(np.maximum)(x, 0.7), np.maximum(a, 0.7)),
        ):
            self.assertIsInstance(expression, Tensor)
            np.testing.assert_allclose(run([x], expression, a), expected)
        with self.assertRaisesRegex(TypeError, r"numpy\.add\.at"):
            as_numpy(np.add).at(x, [0], 1)

    def test_equality_is_identity(self) -> None:
        x, y = T.dscalars("xy")
        self.assertTrue(x == x)
        self.assertFalse(x == y)
        self.assertEqual({x: 1, y: 2}[x], 1)

    def test_a_variable_is_true(self) -> None:
        x, b = T.dvector("x"), T.scalar("b", dtype="bool")
        for variable in (x, x + 1, b, T.eq(x, 1), T.and_(b, b), (x > 0) * 2, T.constant(0)):
            self.assertIs(bool(variable), True)

    def test_foreign_objects_are_asked(self) -> None:
        class Foreign:
            def answer(self, other: Any) -> str:
                return "foreign"

            __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rfloordiv__ = __rmod__ = __rpow__ = answer
            __rand__ = __ror__ = __rxor__ = __rmatmul__ = __gt__ = __ge__ = __lt__ = __le__ = answer

        names = [
            "add",
            "sub",
            "mul",
            "truediv",
            "floordiv",
            "mod",
            "pow",
            "and_",
            "or_",
            "xor",
            "matmul",
            "lt",
            "le",
            "gt",
            "ge",
        ]
        for name in names:
            for variable in (T.lvector("x"), T.lvector("x") + 1, T.constant([1, 2])):
                with self.subTest(name):
                    self.assertEqual(getattr(operator, name)(variable, Foreign()), "foreign")
        with self.assertRaises(TypeError):
            T.lvector("x") + object()

    def test_a_list_with_slices_is_an_index_like_a_tuple(self) -> None:
        x, i = T.dmatrix("x"), T.iscalar("i")
        value = np.arange(12.0).reshape(3, 4)
        np.testing.assert_array_equal(x[[slice(1, 3), slice(None, 2)]].eval({x: value}), value[1:3, :2])
        np.testing.assert_array_equal(x[[slice(1, 3), i]].eval({x: value, i: 2}), value[1:3, 2])

    def test_what_a_symbol_cannot_do(self) -> None:
        x = T.dvector("x")
        with self.assertRaisesRegex(TypeError, "object of type 'TensorVariable' has no len"):
            len(x)
        with self.assertRaisesRegex(TypeError, "no truth value(.|\n)*switch"):
            bool(x > 0)
        with self.assertRaisesRegex(TypeError, "cannot iterate"):
            list(x)
        with self.assertRaisesRegex(TypeError, "`in`"):
            _ = 1 in x

    def test_iteration_over_known_length(self) -> None:
        a, b = T.tensor("float64", shape=(2,))
        self.assertEqual((a.ndim, b.ndim), (0, 0))

    def test_integer_division_flag(self) -> None:
        x, y = T.iscalars("xy")
        self.assertEqual((x / y).dtype, "float64")
        self.assertEqual(T.int_or_true_div(x, y).dtype, "int32")
        with config.change_flags(int_division="floatX", floatX="float32"):
            self.assertEqual(T.int_or_true_div(x, y).dtype, "float32")
        with config.change_flags(int_division="raise"), self.assertRaisesRegex(TypeError, "int_division"):
            T.int_or_true_div(x, y)

    def test_copy_carries_a_name_and_no_tags(self) -> None:
        x = T.dvector("x")
        x.tag.note = 1
        copy = x.copy("y")
        self.assertEqual(copy.name, "y")
        self.assertFalse(hasattr(copy.tag, "note"))


class TestShared(unittest.TestCase):
    def test_arrays_do_not_broadcast_by_default(self) -> None:
        state = shared(np.zeros((1, 3)), name="state")
        self.assertIsInstance(state, TensorSharedVariable)
        self.assertEqual(state.broadcastable, (False, False))
        self.assertEqual(shared(np.zeros((1, 3)), broadcastable=(True, False)).type, T.drow)

    def test_numbers(self) -> None:
        for value, dtype in ((0.0, "float64"), (1, "int64"), (True, "bool"), (np.float32(1), "float32")):
            self.assertEqual((shared(value).dtype, shared(value).ndim), (dtype, 0))

    def test_value_is_copied_unless_borrowed(self) -> None:
        array = np.zeros(3)
        copied, borrowed = shared(array), shared(array, borrow=True)
        array[0] = 1
        self.assertEqual(copied.get_value()[0], 0.0)
        self.assertEqual(borrowed.get_value()[0], 1.0)

    def test_operators_and_updates(self) -> None:
        count = shared(0, name="count")
        step = function([], count + 1, updates=[(count, count + 1)])
        self.assertEqual((int(step()), int(step()), int(count.get_value())), (1, 2, 2))

    def test_value_of_another_kind_is_refused(self) -> None:
        state = shared(np.zeros(3), name="state")
        with self.assertRaises(TypeError):
            state.set_value(np.zeros((2, 2)))
        self.assertEqual(state.get_value().shape, (3,))

    def test_zero(self) -> None:
        state = shared(np.ones(3))
        state.zero()
        self.assertEqual(float(state.get_value().sum()), 0.0)
