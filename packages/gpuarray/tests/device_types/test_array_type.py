"""The type of arrays on a device: its identity, its values and variables, and its printed form."""

from __future__ import annotations

import pickle
import unittest

import numpy as np

from theano_gpuarray.arrays import GpuArray, asarray
from theano_gpuarray.contexts import ContextNotDefined
from theano_gpuarray.types import GpuArrayType, GpuToGpu, HostFromGpu, gpu_from_host
from theano_graph import Variable

from .host import Host, named_context, opencl


class TestWhatItIs(unittest.TestCase):
    def setUp(self) -> None:
        named_context("types0")
        named_context("types1")

    def test_text(self) -> None:
        self.assertEqual(str(GpuArrayType("float64", (False,), "types0")), "GpuArrayType<types0>(float64, (False,))")
        self.assertEqual(repr(GpuArrayType("float32", (), "types0")), "GpuArrayType<types0>(float32, ())")
        self.assertEqual(str(GpuArrayType("float32", (True, False), "types0", name="row")), "row")
        self.assertEqual(GpuArrayType("float32", (None, 3), "types0").describe(), "float32[None, 3] on context types0")

    def test_attributes(self) -> None:
        kind = GpuArrayType("float32", (None, 3, True), "types0")
        self.assertEqual((kind.dtype, kind.ndim, kind.shape), ("float32", 3, (None, 3, 1)))
        self.assertEqual(kind.broadcastable, (False, False, True))
        self.assertEqual(kind.context_name, "types0")
        self.assertIs(kind.context, named_context("types0"))
        self.assertEqual(kind.typecode, 11)
        self.assertEqual(kind.c_element_type(), "ga_float")
        self.assertEqual(kind.dtype_specs()[1:], ("npy_float32", "NPY_FLOAT32"))
        self.assertEqual(GpuArrayType("int32", (), "types0").c_element_type(), "ga_int")

    def test_equality(self) -> None:
        kind = GpuArrayType("float32", (False,), "types0")
        self.assertEqual(kind, GpuArrayType("float32", (None,), "types0"))
        self.assertEqual(hash(kind), hash(GpuArrayType("float32", (3,), "types0")))
        for other in (("float64", (False,), "types0"), ("float32", (True,), "types0"), ("float32", (False,), "types1")):
            self.assertNotEqual(kind, GpuArrayType(*other))

    def test_refinement(self) -> None:
        kind, refined = GpuArrayType("float32", (None,), "types0"), GpuArrayType("float32", (3,), "types0")
        self.assertTrue(kind.is_super(refined))
        self.assertFalse(refined.is_super(kind))
        self.assertNotEqual(kind.exact, refined.exact)
        self.assertFalse(kind.is_super(GpuArrayType("float32", (None,), "types1")))
        self.assertFalse(kind.is_super(Host("float32", (None,))))

    def test_clone(self) -> None:
        kind = GpuArrayType("float32", (False, True), "types0")
        self.assertEqual(kind.clone(dtype="int8").dtype, "int8")
        self.assertEqual(kind.clone(broadcastable=(False,)).ndim, 1)
        self.assertEqual(kind.clone(context_name="types1").context_name, "types1")
        self.assertEqual(kind.clone(), kind)

    def test_pickle(self) -> None:
        kind = GpuArrayType("float32", (None, 3), "types0", "name")
        again = pickle.loads(pickle.dumps(kind))
        self.assertEqual((again, again.shape, again.name), (kind, kind.shape, "name"))
        self.assertEqual(hash(again), hash(kind))

    def test_unknown_context(self) -> None:
        with self.assertRaisesRegex(ContextNotDefined, "there is no context of the name 'nowhere'"):
            GpuArrayType("float32", (False,), "nowhere")

    def test_memory_of_a_value(self) -> None:
        kind = GpuArrayType("float32", (None, None), "types0")
        self.assertEqual(kind.get_size(kind.get_shape_info(kind.value_zeros((2, 3)))), 24)


class TestValues(unittest.TestCase):
    def setUp(self) -> None:
        self.context = opencl() or named_context("types0")
        self.name = "types_opencl" if opencl() else "types0"
        self.kind = GpuArrayType("float32", (False,), self.name)

    def test_from_the_host(self) -> None:
        value = self.kind.filter(np.arange(3, dtype="float32"))
        self.assertIsInstance(value, GpuArray)
        self.assertEqual((value.dtype, value.shape), (np.dtype("float32"), (3,)))
        if opencl():
            np.testing.assert_array_equal(np.asarray(value), [0, 1, 2])

    def test_an_array_of_the_type_is_taken_itself(self) -> None:
        value = self.kind.filter(np.zeros(3, "float32"))
        self.assertIs(self.kind.filter(value, strict=True), value)
        self.assertTrue(self.kind.is_valid_value(value))

    def test_strict_takes_nothing_else(self) -> None:
        with self.assertRaisesRegex(TypeError, "an array on the host .* strict is set"):
            self.kind.filter(np.zeros(3, "float32"), strict=True)
        with self.assertRaisesRegex(TypeError, "only an array of this very dtype"):
            self.kind.filter(asarray(np.zeros(3, "float64"), context=self.context), strict=True)

    def test_dtypes(self) -> None:
        full = asarray(np.arange(3, dtype="int8"), context=self.context)
        self.assertEqual(self.kind.filter(full).dtype, np.dtype("float32"))
        wide = asarray(np.arange(3, dtype="float64"), context=self.context)
        with self.assertRaisesRegex(TypeError, "converting from float64 to float32 may lose precision"):
            self.kind.filter(wide)
        self.assertEqual(self.kind.filter(wide, allow_downcast=True).dtype, np.dtype("float32"))
        with self.assertRaisesRegex(TypeError, "may lose precision"):
            self.kind.filter(np.zeros(3))

    def test_shapes(self) -> None:
        with self.assertRaisesRegex(TypeError, "wrong number of dimensions: expected 1, got 2"):
            self.kind.filter(np.zeros((2, 3), "float32"))
        row = GpuArrayType("float32", (True, False), self.name)
        with self.assertRaisesRegex(TypeError, "broadcastable dimension 0 must have length 1, got 2"):
            row.filter(np.zeros((2, 3), "float32"))

    def test_symbols_are_no_values(self) -> None:
        with self.assertRaisesRegex(TypeError, "symbolic variable"):
            self.kind.filter(self.kind.make_variable("x"))

    def test_another_context(self) -> None:
        named_context("types1")
        there = GpuArrayType("float32", (False,), "types1").filter(np.zeros(3, "float32"))
        with self.assertRaisesRegex(TypeError, "another context"):
            self.kind.filter(there, strict=True)
        self.assertIs(self.kind.filter(there).context, self.context)

    def test_memory_in_common(self) -> None:
        value = self.kind.filter(np.zeros(4, "float32"))
        self.assertTrue(self.kind.may_share_memory(value, value[1:]))
        self.assertFalse(self.kind.may_share_memory(value, value.copy()))
        self.assertFalse(self.kind.may_share_memory(value, np.zeros(4)))

    def test_comparison(self) -> None:
        if not opencl():
            self.assertEqual(self.context.kind, "null")  # the null device keeps no elements
            return
        a, b = (self.kind.filter(np.asarray(v, "float32")) for v in ([1, 2], [1, 2.0000002]))
        self.assertTrue(self.kind.values_eq(a, a))
        self.assertFalse(self.kind.values_eq(a, b))
        self.assertTrue(self.kind.values_eq_approx(a, b))
        self.assertFalse(self.kind.values_eq_approx(a, self.kind.filter(np.asarray([1, 3], "float32"))))


class TestVariables(unittest.TestCase):
    def setUp(self) -> None:
        named_context("types0")
        named_context("types1")
        self.kind = GpuArrayType("float32", (None,), "types0")

    def test_what_is_there_stays(self) -> None:
        x = self.kind.make_variable("x")
        self.assertIs(self.kind.filter_variable(x), x)
        self.assertIs(self.kind.convert_variable(x), x)

    def test_transfers(self) -> None:
        x = Host("float32", (None,)).make_variable("x")
        moved = self.kind.filter_variable(x, allow_convert=False)
        self.assertEqual(moved.owner.op, gpu_from_host("types0"))
        self.assertEqual(moved.type, self.kind)
        between = self.kind.filter_variable(GpuArrayType("float32", (None,), "types1").make_variable())
        self.assertEqual(between.owner.op, GpuToGpu("types0"))

    def test_others_do_not_fit(self) -> None:
        for other in (Host("float64", (None,)), Host("float32", (None, None)), GpuArrayType("int8", (None,), "types1")):
            self.assertIsNone(self.kind.convert_variable(other.make_variable()))
            with self.assertRaisesRegex(TypeError, "cannot stand where float32.None. on context types0 is needed"):
                self.kind.filter_variable(other.make_variable())

    def test_known_lengths_that_differ(self) -> None:
        four = GpuArrayType("float32", (4,), "types0")
        self.assertIsNone(four.convert_variable(Host("float32", (3,)).make_variable()))

    def test_variables_are_made(self) -> None:
        x = self.kind("x")
        self.assertIsInstance(x, Variable)
        self.assertEqual((x.name, x.type), ("x", self.kind))
        back = HostFromGpu()(x)
        self.assertEqual(back.type, Host("float32", (None,)))


if __name__ == "__main__":
    unittest.main()
