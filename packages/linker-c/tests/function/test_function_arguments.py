"""Arguments that the machine takes without asking the type, and arrays that it may overwrite."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
from hypothesis import given, settings, strategies as st

from theano_linker_c import ArgumentError, In, Mode, Out, SharedVariable, function, scalar as sc
from theano_linker_c.kernels import ElementwiseKernel, Kernel, native_kernel
from theano_testing.tiers import examples

from .function_support import Pointwise, add, add_one_in_place, mul, scalar, shared, transpose, vector


def small(dtype: str) -> Any:
    """Return a function that gives its argument back, with the dtype of its variable."""
    x = scalar("x", dtype)
    return function([x], x)


class TestNumbers(unittest.TestCase):
    def test_integers_are_taken_by_every_dtype_that_holds_them(self) -> None:
        for dtype in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"):
            info = np.iinfo(dtype)
            same = small(dtype)
            for value in (int(info.min), 0, 1, int(info.max)):
                with self.subTest(dtype=dtype, value=value):
                    result = same(value)
                    self.assertEqual((result.dtype, result.shape, int(result)), (np.dtype(dtype), (), value))

    def test_integers_out_of_range_are_refused(self) -> None:
        for dtype in ("int8", "uint8", "int32", "uint32", "int64"):
            info = np.iinfo(dtype)
            for value in (int(info.min) - 1, int(info.max) + 1):
                with self.subTest(dtype=dtype, value=value), self.assertRaisesRegex(ArgumentError, "index 0"):
                    small(dtype)(value)

    def test_integers_as_floats(self) -> None:
        for dtype, largest in (("float32", 2**24), ("float64", 2**53)):
            same = small(dtype)
            for value in (0, -3, largest, -largest):
                with self.subTest(dtype=dtype, value=value):
                    result = same(value)
                    self.assertEqual((result.dtype, int(result)), (np.dtype(dtype), value))

    @settings(deadline=None, max_examples=examples(100))
    @given(st.integers(-(2**70), 2**70))
    def test_the_machine_and_the_type_agree(self, value: int) -> None:
        same = small("float64")
        expected = same.maker.inputs[0].variable.type.filter(value) if abs(value) < 2**63 else None
        if expected is not None:
            self.assertEqual(same(value), expected)

    def test_numpy_scalars(self) -> None:
        for dtype in ("int8", "uint16", "int64", "float32", "float64"):
            with self.subTest(dtype=dtype):
                result = small(dtype)(np.dtype(dtype).type(7))
                self.assertEqual((type(result), result.dtype, result), (np.ndarray, np.dtype(dtype), 7))

    def test_strict_inputs_take_arrays_only(self) -> None:
        x = scalar("x")
        strict = function([In(x, strict=True)], x)
        for value in (1, 1.0, np.float64(1)):
            with self.subTest(value=value), self.assertRaises(ArgumentError):
                strict(value)

    def test_results_of_earlier_calls_stay(self) -> None:
        same = small("float64")
        first = same(1)
        second = same(2)
        self.assertEqual((first, second), (1, 2))

    def test_truth_values_are_left_to_the_type(self) -> None:
        self.assertEqual(small("float64")(True), 1.0)


class NativeAdd(Pointwise):
    """The sum, with a native form."""

    def __init__(self) -> None:
        super().__init__("native_add", np.add)


@native_kernel.register(NativeAdd)
def _native_add(node: Any) -> Kernel:
    dtype = node.outputs[0].type.dtype
    ndim = len(node.outputs[0].type.shape)
    return ElementwiseKernel(sc.add, (dtype, dtype), (dtype,), ((False,) * ndim,) * 2, ndim)


native_add = NativeAdd()


class TestMutable(unittest.TestCase):
    """Uses of a mutable input's array in native code."""

    def setUp(self) -> None:
        self.x, self.y = vector("x"), vector("y")
        self.total = self.compiled("fast_run")

    def compiled(self, optimizer: str | None) -> Any:
        mode = Mode("cvm", optimizer)
        return function([In(self.x, mutable=True), self.y], native_add(self.x, self.y), mode=mode)

    def test_modes_without_in_place_rewrites_leave_it_alone(self) -> None:
        for optimizer in (None, "merge", "o1", "o2", "o3"):
            a = np.arange(4.0)
            result = self.compiled(optimizer)(a, np.ones(4))
            np.testing.assert_array_equal(result, [1, 2, 3, 4])
            np.testing.assert_array_equal(a, [0, 1, 2, 3])

    def test_the_result_lies_in_the_callers_array(self) -> None:
        a = np.arange(4.0)
        result = self.total(a, np.ones(4))
        self.assertTrue(np.shares_memory(a, result))
        np.testing.assert_array_equal(a, [1, 2, 3, 4])

    def test_a_part_of_an_array_too(self) -> None:
        a = np.zeros(6)
        self.total(a[1:4], np.ones(3))
        np.testing.assert_array_equal(a, [0, 1, 1, 1, 0, 0])

    def test_not_what_cannot_be_written(self) -> None:
        frozen = np.arange(4.0)
        frozen.flags.writeable = False
        np.testing.assert_array_equal(self.total(frozen, np.ones(4)), [1, 2, 3, 4])
        np.testing.assert_array_equal(frozen, [0, 1, 2, 3])
        steps = np.arange(8.0)[::2]
        np.testing.assert_array_equal(self.total(steps, np.ones(4)), [1, 3, 5, 7])
        np.testing.assert_array_equal(steps, [0, 2, 4, 6])

    def test_not_what_another_argument_shares(self) -> None:
        a = np.arange(5.0)
        np.testing.assert_array_equal(self.total(a[1:], a[:-1]), [1, 3, 5, 7])
        np.testing.assert_array_equal(a, [0, 1, 2, 3, 4])
        np.testing.assert_array_equal(self.total(a, a), [0, 2, 4, 6, 8])
        np.testing.assert_array_equal(self.total(a, a[::-1]), [4, 4, 4, 4, 4])

    def test_not_what_a_shared_variable_holds(self) -> None:
        state: SharedVariable = shared(np.arange(3.0), borrow=True)
        f = function([In(self.x, mutable=True)], [native_add(self.x, state)], mode=Mode("cvm", None))
        np.testing.assert_array_equal(f(state.get_value(borrow=True))[0], [0, 2, 4])
        np.testing.assert_array_equal(state.get_value(), [0, 1, 2])

    def test_the_new_value_of_a_shared_variable_is_a_copy(self) -> None:
        state: SharedVariable = shared(np.zeros(3))
        f = function(
            [In(self.x, mutable=True)], [], updates={state: native_add(self.x, self.x)}, mode=Mode("cvm", None)
        )
        a = np.ones(3)
        f(a)
        np.testing.assert_array_equal(state.get_value(), [2, 2, 2])
        self.assertFalse(np.shares_memory(a, state.get_value(borrow=True)))

    def test_inputs_that_are_not_mutable_stay(self) -> None:
        f = function([self.x], native_add(self.x, self.x), mode=Mode("cvm", None))
        a = np.arange(3.0)
        f(a)
        np.testing.assert_array_equal(a, [0, 1, 2])

    def test_borrowing_alone_overwrites_nothing_here(self) -> None:
        f = function([In(self.x, borrow=True)], Out(native_add(self.x, self.x), borrow=True), mode=Mode("cvm", None))
        a = np.arange(3.0)
        np.testing.assert_array_equal(f(a), [0, 2, 4])
        np.testing.assert_array_equal(a, [0, 1, 2])

    def test_ops_of_users_overwrite_a_copy_of_what_others_see(self) -> None:
        state: SharedVariable = shared(np.arange(3.0), borrow=True)
        for linker in ("cvm", "py"):
            changed = add_one_in_place(self.x)
            f = function([In(self.x, mutable=True), self.y], [changed, add(self.y, changed)], accept_inplace=True,
                         mode=Mode(linker, None))  # fmt: skip
            a = np.arange(3.0)
            with self.subTest(linker=linker):
                np.testing.assert_array_equal(f(a, a)[1], [1, 3, 5])
                np.testing.assert_array_equal(f(a, a[::-1])[1], [3, 3, 3])
                np.testing.assert_array_equal(a, [0, 1, 2])
                g = function([In(self.x, mutable=True)], [changed, state], accept_inplace=True, mode=Mode(linker, None))
                g(state.get_value(borrow=True))
                np.testing.assert_array_equal(state.get_value(), [0, 1, 2])

    def test_ops_of_users_overwrite_it_in_place(self) -> None:
        f = function([In(self.x, mutable=True)], add_one_in_place(self.x), accept_inplace=True)
        a = np.arange(3.0)
        f(a)
        np.testing.assert_array_equal(a, [1, 2, 3])


class TestOptions(unittest.TestCase):
    def test_implicit_inputs_cannot_be_passed(self) -> None:
        x, y = scalar("x"), scalar("y")
        f = function([x, In(y, value=2.0, implicit=True)], mul(x, y))
        self.assertEqual(f(3.0), 6.0)
        f[y] = 5
        self.assertEqual(f(3.0), 15.0)
        for arguments, named in (((3.0, 4.0), {}), ((3.0,), {"y": 4.0})):
            with self.subTest(named=named), self.assertRaises(ArgumentError):
                f(*arguments, **named)

    def test_names(self) -> None:
        x = scalar("x")
        self.assertEqual(function([In(x, name="other")], x)(other=2.0), 2.0)
        with self.assertRaisesRegex(ArgumentError, "Unknown input or state: x"):
            function([In(x, autoname=False)], x)(x=2.0)

    def test_default_of_one_call_only(self) -> None:
        x = scalar("x")
        f = function([In(x, value=3.0)], x)
        self.assertEqual([f(), f(7.0), f()], [3.0, 7.0, 3.0])

    def test_all_forms_of_outputs(self) -> None:
        x = scalar("x")
        double = add(x, x)
        self.assertEqual(function([x], double)(1.0), 2.0)
        self.assertEqual(function([x], [double])(1.0), [2.0])
        self.assertEqual(function([x], Out(double))(1.0), 2.0)
        self.assertEqual(function([x], {"b": double, "a": x})(1.0), {"a": 1.0, "b": 2.0})
        self.assertEqual(function([x], None, on_unused_input="ignore")(1.0), [])

    def test_views_of_a_mutable_input_are_copied_for_the_caller(self) -> None:
        x = vector("x")
        f = function([In(x, mutable=True)], [transpose(x)], mode=Mode("cvm", None))
        a = np.arange(3.0)
        self.assertFalse(np.shares_memory(f(a)[0], a))
