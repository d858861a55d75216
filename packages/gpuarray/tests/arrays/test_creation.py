from __future__ import annotations

import ctypes
import threading
import unittest
from typing import Any

import numpy as np

from theano_gpuarray._runtime import export_array
from theano_gpuarray.arrays import (
    SIZE,
    SSIZE,
    array,
    asarray,
    ascontiguousarray,
    dtype_to_ctype,
    dtype_to_typecode,
    empty,
    from_dlpack,
    same_context,
    zeros,
)
from theano_gpuarray.arrays._exchange import make_capsule, open_capsule
from theano_gpuarray.contexts import ContextError, ContextNotDefined, list_contexts
from theano_testing.gpuarray import needs_opencl

from ._contexts import null, opencl, other


@needs_opencl
class TestCreation(unittest.TestCase):
    def test_new_arrays(self) -> None:
        for shape in (3, (2, 3), [4], (), (2, 0, 3)):
            for order in "CF":
                x = zeros(shape, "int16", order, opencl())
                expected: Any = np.zeros(shape, "int16", order)  # type: ignore[call-overload]
                self.assertEqual((x.shape, x.dtype), (expected.shape, expected.dtype))
                if expected.size:
                    self.assertEqual(x.strides, expected.strides)
                np.testing.assert_array_equal(np.asarray(x), expected)
                self.assertEqual(empty(shape, order=order, context=null()).dtype, "float64")

    def test_wrong_shapes_and_orders(self) -> None:
        wrong: Any
        for wrong in (-1, (2, -3), 1.5, ("a",)):
            with self.subTest(wrong), self.assertRaisesRegex(ValueError, "is no shape"):
                empty(wrong, context=null())
        with self.assertRaisesRegex(ValueError, "order of elements is no 'A'"):
            zeros(3, order="A", context=null())
        with self.assertRaisesRegex(TypeError, "there are no arrays of"):
            zeros(3, "U4", context=null())

    def test_values_of_the_host(self) -> None:
        for proto in (
            [1, 2],
            1.5,
            np.arange(6).reshape(2, 3),
            np.arange(6).reshape(2, 3).T,
            np.arange(10)[::3],
            range(3),
        ):
            expected = np.asarray(proto)
            result = asarray(proto, context=opencl())
            self.assertEqual((result.shape, result.dtype), (expected.shape, expected.dtype))
            np.testing.assert_array_equal(np.asarray(result), expected)
            np.testing.assert_array_equal(
                np.asarray(asarray(proto, "float32", context=opencl())), expected.astype("float32")
            )
        self.assertEqual(asarray(np.arange(3, dtype=">i4"), context=opencl()).tolist(), [0, 1, 2])
        self.assertTrue(asarray(np.arange(6).reshape(2, 3).T, context=opencl()).flags.f_contiguous)

    def test_the_host_may_go_on_at_once(self) -> None:
        host = np.ones(100_000, "float32")
        x = asarray(host, context=opencl())
        host[...] = 7
        self.assertEqual(np.asarray(x).max(), 1)

    def test_orders(self) -> None:
        host = np.arange(6).reshape(2, 3)
        for proto in (host, host.T, asarray(host, context=opencl()), asarray(host, context=opencl()).T):
            for order in "CF":
                result = array(proto, order=order, context=opencl())
                self.assertTrue(result.flags[f"{order}_CONTIGUOUS"])
                np.testing.assert_array_equal(np.asarray(result), np.asarray(proto))

    def test_arrays_that_are_there(self) -> None:
        x = zeros((2, 2), "float32", context=opencl())
        self.assertIs(asarray(x), x)
        self.assertIs(asarray(x, "float32", context=opencl()), x)
        self.assertIsNot(array(x).buffer, x.buffer)
        self.assertEqual(asarray(x, "int8").dtype, "int8")
        self.assertIs(asarray(x, context=other()).context, other())
        self.assertIs(ascontiguousarray(x), x)
        self.assertTrue(ascontiguousarray(x.T).flags.c_contiguous)
        self.assertEqual(ascontiguousarray(x[0, 0]).shape, (1,))
        self.assertEqual(array(x, ndmin=4, copy=False).shape, (1, 1, 2, 2))

    def test_the_default_context_is_taken(self) -> None:
        self.assertNotIn(None, list_contexts())
        with self.assertRaisesRegex(
            ContextNotDefined, "no device is in use by default(.|\n)*THEANO_FLAGS=device=cuda0"
        ):
            zeros(3)

    def test_contexts_of_two_arrays(self) -> None:
        x, y = zeros(3, context=opencl()), zeros(3, context=null())
        self.assertIs(same_context(x, x[1:]), opencl())
        with self.assertRaisesRegex(ContextError, "one array is in context 'arrays', the other in None"):
            same_context(x, y)

    def test_names_of_dtypes(self) -> None:
        cases = {"float32": "float", "bool": "bool", "float16": "half", "uint8": "ubyte", "int64": "long"}
        codes = {"float32": 11, "bool": 0, "float16": 23, "uint8": 2, "int64": 7}
        for dtype, name in cases.items():
            code = codes[dtype]
            self.assertEqual((dtype_to_ctype(dtype), dtype_to_typecode(np.dtype(dtype))), (f"ga_{name}", code))
        self.assertEqual((SIZE, SSIZE), (24, 25))
        with self.assertRaises(TypeError):
            dtype_to_ctype("S1")


@needs_opencl
class TestDLPack(unittest.TestCase):
    def test_arrays_of_numpy(self) -> None:
        for host in (
            np.arange(6.0),
            np.arange(6).reshape(2, 3).T,
            np.arange(10, dtype="int8")[::3],
            np.array([True, False]),
        ):
            np.testing.assert_array_equal(np.asarray(from_dlpack(host, opencl())), host)

    def test_devices(self) -> None:
        x = zeros(3, context=opencl())
        self.assertEqual(x.__dlpack_device__(), (4, 0))
        with self.assertRaisesRegex(BufferError, "no array of a device"):
            zeros(3, context=null()).__dlpack_device__()
        with self.assertRaisesRegex(BufferError, r"the array is on device \(4, 0\), not \(1, 0\)"):
            x.__dlpack__(dl_device=(1, 0))
        self.assertIs(from_dlpack(x), x)
        self.assertIs(from_dlpack(x, other()).context, other())

    def test_capsules(self) -> None:
        host = np.arange(24, dtype="float32").reshape(2, 3, 4)
        x = asarray(host, context=opencl())[:, ::2].transpose(2, 0, 1)
        cases: list[tuple[tuple[int, int] | None, str]] = [(None, ""), ((0, 8), ""), ((1, 1), "_versioned")]
        for newest, ending in cases:
            name = f"dltensor{ending}"
            capsule = x.__dlpack__(max_version=newest)
            self.assertIn(f'"{name}"', repr(capsule))
            result = open_capsule(capsule)
            self.assertEqual((result.address, result.offset), (x.gpudata, x.offset))
            self.assertEqual((result.dtype, result.shape, result.strides), (x.dtype, x.shape, x.strides))
            self.assertEqual((result.device, result.read_only), ((4, 0), False))
            self.assertIn(f'"used_{name}"', repr(capsule))
            with self.assertRaisesRegex(BufferError, "has been taken before"):
                open_capsule(capsule)
        self.assertNotEqual(open_capsule(x.__dlpack__(copy=True)).address, x.gpudata)
        with self.assertRaisesRegex(BufferError, "is no DLPack capsule"):
            open_capsule(7)

    def test_who_has_a_capsule_has_the_memory(self) -> None:
        before = opencl().statistics()["buffers"]
        for taken in (False, True):
            capsule = zeros(3, context=opencl()).__dlpack__()
            result = open_capsule(capsule) if taken else None
            self.assertEqual(opencl().statistics()["buffers"], before + 1)
            del capsule
            self.assertEqual(opencl().statistics()["buffers"], before + (1 if taken else 0))
            del result
            self.assertEqual(opencl().statistics()["buffers"], before)

    def test_consumers_that_refuse_a_capsule_say_so_themselves(self) -> None:
        before = opencl().statistics()["buffers"]
        with self.assertRaises((BufferError, RuntimeError)):
            np.from_dlpack(zeros(3, context=opencl()))
        self.assertEqual(opencl().statistics()["buffers"], before)

    def test_capsules_are_freed_by_any_thread_and_while_an_error_is_raised(self) -> None:
        before = opencl().statistics()["buffers"]
        for newest in (None, (1, 0)):
            capsules = [zeros(3, context=opencl()).__dlpack__(max_version=newest)]
            thread = threading.Thread(target=capsules.clear)
            thread.start()
            thread.join()
            held = [open_capsule(zeros(3, context=opencl()).__dlpack__(max_version=newest))]
            thread = threading.Thread(target=held.clear)
            thread.start()
            thread.join()
        self.assertEqual(opencl().statistics()["buffers"], before)

    def test_lengths_and_strides_go_together(self) -> None:
        with self.assertRaisesRegex(ValueError, "2 lengths and 1 strides"):
            export_array(None, 0, 0, (2, 64), (2, 3), (1,), (1, 0), False, False)
        with self.assertRaises(OverflowError):
            export_array(None, 0, 0, (2, 64), (2**70,), (1,), (1, 0), False, False)

    def test_strides_that_have_no_number(self) -> None:
        with self.assertRaisesRegex(BufferError, "no multiples of the 8 bytes"):
            make_capsule(None, 0, 0, np.dtype("float64"), (2,), (12,), (2, 0))

    def test_capsules_of_the_host(self) -> None:
        memory = ctypes.create_string_buffer(64)
        result = open_capsule(make_capsule(memory, ctypes.addressof(memory), 8, np.dtype("bool"), (), (), (1, 0)))
        self.assertEqual((result.dtype, result.shape, result.offset), (np.dtype("bool"), (), 8))
        self.assertTrue(open_capsule(np.arange(3).__dlpack__()).strides in (None, (8,)))

    def test_what_exports_nothing(self) -> None:
        with self.assertRaisesRegex(BufferError, "list exports nothing"):
            from_dlpack([1, 2])

    def test_devices_without_a_context(self) -> None:
        class Elsewhere:
            def __dlpack_device__(self) -> tuple[int, int]:
                return 2, 5

            def __dlpack__(self, **asked: Any) -> Any:
                raise AssertionError("nobody asks for it")

        with self.assertRaisesRegex(BufferError, r"no context for arrays of device 2:5 \(CUDA\)"):
            from_dlpack(Elsewhere())


if __name__ == "__main__":
    unittest.main()
