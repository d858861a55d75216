from __future__ import annotations

import unittest
from typing import Any

import numpy as np

from theano_gpuarray._runtime import Context, DeviceError

from .runtime_support import HEAD, TEXT, add, download, each_context, each_device, kernel, null, opencl, upload


class TestLaunches(unittest.TestCase):
    @each_device()
    def test_sum_of_vectors(self, context: Context) -> None:
        x = np.arange(1000, dtype="float32")
        buffers = upload(context, x), upload(context, 2 * x), context.allocate(x.nbytes)
        add(context, buffers, 1000)
        np.testing.assert_array_equal(download(buffers[2], "float32"), 3 * x)

    @each_device()
    def test_numbers_of_each_kind(self, context: Context) -> None:
        x = upload(context, np.ones(5, "float32"))
        context.launch(kernel(context, "scale"), (1,), (8,), (4, 4_000_000_000, -0.5, x))
        np.testing.assert_array_equal(download(x, "float32"), np.array([4e9 - 0.5] * 4 + [1], "float32"))

    def test_numbers_of_numpy(self) -> None:
        context = null()
        numbers: list[Any] = [np.int64(5), np.uint8(6), np.float32(0.5), context.allocate(20)]
        sizes: list[Any] = [np.int64(2), np.int32(3)]
        context.launch(kernel(context, "scale"), sizes[:1], sizes[1:], numbers)
        (entry,) = context.recorded()
        self.assertEqual(("launch", "scale", (2,), (3,), (5, 6, 0.5)), (*entry[:4], entry[4][:3]))

    @each_device()
    def test_three_dimensions(self, context: Context) -> None:
        x = upload(context, np.zeros(24, "int32"))
        context.launch(kernel(context, "place"), (2, 3, 4), (5, 2, 3), (x,))
        np.testing.assert_array_equal(download(x, "int32"), np.full(24, 30205))

    @each_device()
    def test_additional_local_memory(self, context: Context) -> None:
        x = upload(context, np.arange(16, dtype="int32"))
        context.launch(kernel(context, "reverse"), (1,), (16,), (x,), 64)
        np.testing.assert_array_equal(download(x, "int32"), np.arange(16)[::-1])

    @each_context()
    def test_no_groups_is_no_launch(self, context: Context) -> None:
        x = upload(context, np.zeros(1, "int32"))
        context.launch(kernel(context, "count"), (2, 0), (1, 1), (x,))
        self.assertEqual(0, download(x, "int32")[0])
        self.assertEqual(0, context.statistics()["launches"])

    @each_device()
    def test_order_of_launches(self, context: Context) -> None:
        x = upload(context, np.ones(3, "float32"))
        scale = kernel(context, "scale")
        for shift in range(1, 50):
            context.launch(scale, (1,), (4,), (3, shift, -1.0, x))
        expected = 1.0
        for shift in range(1, 50):
            expected = shift - expected
        np.testing.assert_array_equal(download(x, "float32"), np.full(3, expected))

    @each_device()
    def test_compiled_code_is_loaded_twice(self, context: Context) -> None:
        binary = context.compile(TEXT)
        x = upload(context, np.zeros(1, "int32"))
        for _ in range(2):
            context.launch(context.load(binary).kernel("count", "P"), (2,), (8,), (x,))
        self.assertEqual(32, download(x, "int32")[0])

    @each_device()
    def test_compiler_options(self, context: Context) -> None:
        text = HEAD + "__kernel void set(__global int *x) { *x = VALUE; }"
        code = context.compile(text, "-DVALUE=7")
        context.compile(TEXT)  # so that it is built again from the value that `compile` returned
        x = context.allocate(4)
        context.launch(context.load(code).kernel("set", "P"), (1,), (1,), (x,))
        self.assertEqual(7, download(x, "int32")[0])


class TestWrongLaunches(unittest.TestCase):
    @each_device()
    def test_compiler_says_what_is_wrong(self, context: Context) -> None:
        with self.assertRaisesRegex(DeviceError, "(?s)(clBuildProgram|NVRTC).*undefined_name"):
            context.compile(HEAD + "__kernel void f(__global int *x) { *x = undefined_name; }")

    def test_null_driver_fails_where_a_compiler_is_told_to(self) -> None:
        with self.assertRaisesRegex(DeviceError, "#error wrong"):
            null().compile("int a;\n#error wrong\nint b;")

    @each_context()
    def test_unknown_kernel(self, context: Context) -> None:
        with self.assertRaisesRegex(DeviceError, "absent|clCreateKernel"):
            context.load(context.compile(TEXT)).kernel("absent", "P")

    def test_damaged_binary(self) -> None:
        driver = opencl()
        if driver is not None:
            context = driver.open(0)
            for damaged in (b"", b"B", b"X\0abc", b"B\0" + bytes(100)):
                with self.assertRaises(DeviceError):
                    context.load(damaged)

    @each_context()
    def test_wrong_letter(self, context: Context) -> None:
        with self.assertRaisesRegex(ValueError, 'kernel add: "x" is no letter of a parameter'):
            context.load(context.compile(TEXT)).kernel("add", "qPPx")

    @each_context()
    def test_wrong_arguments(self, context: Context) -> None:
        scale, x = kernel(context, "scale"), context.allocate(8)
        wrong = (
            ((1, 2, 3.0), TypeError, "kernel scale has 4 parameters, not 3"),
            ((1, 2, 3.0, 4), TypeError, "kernel scale, argument 3: a buffer is wanted, not int"),
            ((2**31, 2, 3.0, x), OverflowError, "argument 0: 2147483648 is out of bounds"),
            ((1, -1, 3.0, x), OverflowError, "argument 1: -1 is out of bounds"),
            ((1.5, 1, 3.0, x), TypeError, "argument 0: 'float' object"),
            ((1, 1, "a", x), TypeError, "argument 2: must be real number"),
        )
        for arguments, error, text in wrong:
            with self.assertRaisesRegex(error, text):
                context.launch(scale, (1,), (1,), arguments)  # type: ignore[arg-type]  # wrong on purpose
        self.assertEqual(0, context.statistics()["launches"])

    @each_context()
    def test_wrong_sizes(self, context: Context) -> None:
        count, x = kernel(context, "count"), context.allocate(4)
        wrong = (
            ((1, 1), (1,), ValueError, "groups have 2 dimensions, and work-items 1"),
            ((), (), ValueError, "one to three dimensions, not 0"),
            ((1,) * 4, (1,) * 4, ValueError, "one to three dimensions, not 4"),
            ((-1,), (1,), OverflowError, "work-groups of a launch, argument 0: -1 is out of bounds"),
            ((2**31,), (1,), OverflowError, "work-groups of a launch, argument 0: 2147483648 is out of bounds"),
            ((1,), (0,), OverflowError, "work-items of a work-group, argument 0: 0 is out of bounds"),
            ((1,), (2**20,), OverflowError, "work-items of a work-group, argument 0: 1048576 is out of bounds"),
        )
        for groups, local, error, text in wrong:
            with self.assertRaisesRegex(error, text):
                context.launch(count, groups, local, (x,))
        with self.assertRaisesRegex(ValueError, "work-items; it can have"):
            context.launch(count, (1, 1), (count.max_local, 2), (x,))
        with self.assertRaisesRegex(ValueError, "bytes of local memory; the device has"):
            context.launch(count, (1,), (1,), (x,), 2**30)

    def test_other_contexts(self) -> None:
        first, second = null(), null()
        with self.assertRaisesRegex(ValueError, "the buffer belongs to another context"):
            first.launch(kernel(first, "count"), (1,), (1,), (second.allocate(4),))
        with self.assertRaisesRegex(ValueError, "kernel count belongs to another context"):
            first.launch(kernel(second, "count"), (1,), (1,), (first.allocate(4),))

    def test_objects_are_made_by_their_makers(self) -> None:
        context = null()
        for result in (context, context.driver, context.allocate(1), kernel(context, "add")):
            with self.assertRaisesRegex(TypeError, "cannot create"):
                type(result)()


class TestRecords(unittest.TestCase):
    def test_what_was_asked_for_in_order(self) -> None:
        context = null()
        x = upload(context, np.zeros(6, "float32"))
        context.launch(kernel(context, "scale"), (2, 3), (4, 5), (6, 7, 0.5, x), 16)
        x.fill(0, 8, 255)
        x.copy(0, x, 12, 12)
        download(x, "float32")
        expected = [
            ("write", 24),
            ("launch", "scale", (2, 3), (4, 5), (6, 7, 0.5, x.address), 16),
            ("fill", 8, 255),
            ("copy", 12),
            ("read", 24),
        ]
        self.assertEqual(expected, context.recorded())
        self.assertEqual([], context.recorded())

    @each_device()
    def test_other_drivers_record_nothing(self, context: Context) -> None:
        upload(context, np.zeros(6, "float32"))
        self.assertEqual([], context.recorded())

    def test_the_oldest_are_forgotten(self) -> None:
        context = null()
        x = context.allocate(8)
        for value in range(65540):
            x.fill(0, 8, value % 251)
        result = context.recorded()
        self.assertEqual(65536, len(result))
        self.assertEqual(("fill", 8, 4), result[0])
        self.assertEqual(("fill", 8, 65539 % 251), result[-1])
