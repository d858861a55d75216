from __future__ import annotations

import gc
import sys
import unittest
import weakref

import numpy as np

from theano_gpuarray._runtime import Context, DeviceError, LaunchList

from .runtime_support import add, download, each_context, each_device, kernel, null, upload

MIB = 1 << 20


class Owner:
    """Owns memory that is wrapped."""


class Cycle:
    """Holds its argument, and itself."""

    def __init__(self, held: object) -> None:
        self.held = held
        self.self = self


class TestPool(unittest.TestCase):
    @each_context()
    def test_memory_is_used_again(self, context: Context) -> None:
        first = context.allocate(1000)
        address = first.address
        del first
        second = context.allocate(1010)
        self.assertEqual(address, second.address)
        counted = context.statistics()
        self.assertEqual((1, 1), (counted["allocations"], counted["buffers"]))

    @each_context()
    def test_memory_in_use_is_not_used_again(self, context: Context) -> None:
        held = [context.allocate(1000) for _ in range(10)]
        self.assertEqual(10, len({buffer.address for buffer in held}))

    @each_context()
    def test_sizes_are_counted(self, context: Context) -> None:
        sizes = [1, 255, 256, 257, 1000, 4096, 5000, MIB, 3 * MIB + 1]
        held = [context.allocate(size) for size in sizes]
        counted = context.statistics()
        self.assertEqual(sizes, [buffer.nbytes for buffer in held])
        self.assertEqual(len(sizes), counted["buffers"])
        self.assertGreaterEqual(counted["in_use"], sum(sizes))
        self.assertLess(counted["in_use"], 1.125 * sum(max(size, 256) for size in sizes))
        self.assertEqual(counted["in_use"], counted["peak"])
        del held
        after = context.statistics()
        self.assertEqual(0, after["in_use"])
        self.assertEqual(counted["in_use"], after["pooled"])
        self.assertEqual(counted["peak"], after["peak"])

    @each_context()
    def test_trim_gives_back_what_is_not_used(self, context: Context) -> None:
        held = upload(context, np.arange(1000, dtype="int32"))
        context.allocate(MIB)
        self.assertGreaterEqual(context.statistics()["pooled"], MIB)
        context.trim()
        self.assertEqual(0, context.statistics()["pooled"])
        np.testing.assert_array_equal(download(held, "int32"), np.arange(1000))

    @each_context(preallocate=-1)
    def test_no_pool(self, context: Context) -> None:
        context.allocate(MIB)
        context.allocate(MIB)
        counted = context.statistics()
        self.assertEqual((0, 0, 2), (counted["in_use"], counted["pooled"], counted["allocations"]))

    @each_context(preallocate=4 * MIB)
    def test_memory_allocated_ahead(self, context: Context) -> None:
        self.assertEqual(4 * MIB, context.statistics()["pooled"])
        values = [np.full(1000 + 7 * k, k, "int32") for k in range(50)]
        held = [upload(context, value) for value in values]
        for value, buffer in zip(values, held, strict=True):
            np.testing.assert_array_equal(download(buffer, "int32"), value)
        self.assertEqual(1, context.statistics()["allocations"])
        large = context.allocate(8 * MIB)
        self.assertEqual(2, context.statistics()["allocations"])
        del held, buffer, large
        context.trim()
        self.assertEqual(4 * MIB, context.statistics()["pooled"])
        full = context.allocate(4 * MIB)
        self.assertEqual(2, context.statistics()["allocations"])
        self.assertEqual(0, context.statistics()["pooled"])
        del full

    def test_as_much_ahead_as_there_is(self) -> None:
        context = null(1, preallocate=100 * MIB)
        self.assertGreater(context.statistics()["pooled"], 60 * MIB)
        self.assertLessEqual(context.statistics()["pooled"], 64 * MIB)

    @each_context()
    def test_buffer_of_no_bytes(self, context: Context) -> None:
        empty = context.allocate(0)
        empty.write(0, b"")
        empty.write(0, b"", blocking=False)
        empty.fill(0, 0, 1)
        empty.copy(0, empty, 0, 0)
        empty.read(0, bytearray())
        self.assertEqual((0, 0), (empty.nbytes, empty.address))
        self.assertEqual(0, context.statistics()["buffers"])

    @each_device()
    def test_launch_with_a_buffer_of_no_bytes(self, context: Context) -> None:
        empty = context.allocate(0)
        add(context, (empty, empty, empty), 0)
        context.synchronize()
        self.assertEqual(1, context.statistics()["launches"])

    @each_context()
    def test_negative_size(self, context: Context) -> None:
        with self.assertRaisesRegex(ValueError, "a buffer cannot have -1 bytes"):
            context.allocate(-1)


class TestOutOfMemory(unittest.TestCase):
    def test_pool_is_trimmed_first(self) -> None:
        context = null(1)
        context.allocate(40 * MIB)
        held = context.allocate(50 * MIB)
        self.assertEqual(50 * MIB, held.nbytes)
        self.assertEqual(0, context.statistics()["pooled"])

    def test_garbage_is_collected_first(self) -> None:
        context = null(1)
        gc.disable()
        try:
            cycle = Cycle(context.allocate(40 * MIB))
            del cycle
            self.assertEqual(50 * MIB, context.allocate(50 * MIB).nbytes)
        finally:
            gc.enable()

    def test_error_tells_the_sizes(self) -> None:
        context = null(1)
        held = context.allocate(40 * MIB)
        with self.assertRaises(DeviceError) as caught:
            context.allocate(30 * MIB)
        text = str(caught.exception)
        self.assertIn("there is no memory left on the device for 30.0 MiB", text)
        self.assertIn("in use: 40.0 MiB; in the pool: 0 bytes; the device has 64.0 MiB", text)
        self.assertIn("Hint: ", text)
        self.assertEqual(held.nbytes, context.statistics()["in_use"])
        self.assertEqual(20 * MIB, context.allocate(20 * MIB).nbytes)

    @each_context()
    def test_more_than_the_device_has(self, context: Context) -> None:
        for size in (1 << 50, sys.maxsize):
            with self.assertRaisesRegex(DeviceError, "there is no memory left on the device for"):
                context.allocate(size)
        self.assertEqual(0, context.statistics()["buffers"])


class TestLifetimes(unittest.TestCase):
    @each_context()
    def test_nothing_is_left_of_many_buffers_and_launches(self, context: Context) -> None:
        scale = kernel(context, "scale")
        steps = [("launch", scale, (1,), (4,), (4, 0, 2.0, (0,)), 0)]
        for size in range(10_000):
            x = context.allocate(16 + size % 1000)
            context.launch(scale, (1,), (4,), (4, 0, 2.0, x))
            if size % 100 == 0:
                LaunchList(context, steps, 1).run([x])
        del x
        context.synchronize()
        counted = context.statistics()
        self.assertEqual((0, 0, 10_100), (counted["in_use"], counted["buffers"], counted["launches"]))
        self.assertLess(counted["allocations"], 64)

    def test_references_are_given_back(self) -> None:
        context = null()
        scale, x = kernel(context, "scale"), context.allocate(16)
        steps = [("launch", scale, (1,), (4,), (4, 0, 2.0, (0,)), 0), ("copy", 0, 0, 0, 8, 8), ("fill", 0, 0, 4, 1)]
        watched = (context, scale, x)
        before = [sys.getrefcount(item) for item in watched]
        for _ in range(100):
            context.launch(scale, (1,), (4,), (4, 0, 2.0, x))
            LaunchList(context, steps, 1).run((x,))
            x.copy(0, x, 8, 8)
            for wrong in ((4, 0, 2.0), (4, 0, 2.0, 1), (4, 0, "", x)):
                with self.assertRaises(TypeError):
                    context.launch(scale, (1,), (4,), wrong)  # type: ignore[arg-type]  # wrong on purpose
                with self.assertRaises(TypeError):
                    LaunchList(context, [("launch", scale, (1,), (4,), wrong, 0)], 1)
            del wrong
        self.assertEqual(before, [sys.getrefcount(item) for item in watched])

    @each_device()
    def test_buffer_may_be_deallocated_while_launches_use_it(self, context: Context) -> None:
        slow, result = kernel(context, "slow"), context.allocate(4)
        expected = None
        for _ in range(20):
            x = context.allocate(4)
            context.launch(slow, (1,), (1,), (20_000, x))
            result.copy(0, x, 0, 4)
            del x
            other = context.allocate(4)  # the same memory: its fill comes after the copy
            other.fill(0, 4, 0)
            value = download(result, "float32")[0]
            expected = value if expected is None else expected
            self.assertEqual(expected, value)
            self.assertNotEqual(0, value)

    @each_device(preallocate=-1)
    def test_memory_may_be_given_back_while_launches_use_it(self, context: Context) -> None:
        slow, result = kernel(context, "slow"), context.allocate(4)
        x = context.allocate(4)
        context.launch(slow, (1,), (1,), (20_000, x))
        result.copy(0, x, 0, 4)
        del x
        self.assertNotEqual(0, download(result, "float32")[0])

    @each_device()
    def test_kernels_keep_what_they_need(self, context: Context) -> None:
        add_kernel = kernel(context, "add")
        x = upload(context, np.ones(8, "float32"))
        del context
        x.context.launch(add_kernel, (1,), (8,), (8, x, x, x))
        np.testing.assert_array_equal(download(x, "float32"), np.full(8, 2))

    @each_context()
    def test_contexts_can_be_opened_many_times(self, context: Context) -> None:
        driver = context.driver
        for _ in range(20):
            again = driver.open(0)
            np.testing.assert_array_equal(download(upload(again, np.arange(5)), "int64"), np.arange(5))


class TestWrappedMemory(unittest.TestCase):
    @each_context()
    def test_owner_is_kept(self, context: Context) -> None:
        memory, owner = upload(context, np.arange(10)), Owner()
        gone = weakref.ref(owner)
        wrapped = context.wrap(memory.address, memory.nbytes, owner)
        del owner
        self.assertIsNotNone(gone())
        np.testing.assert_array_equal(download(wrapped, "int64"), np.arange(10))
        self.assertEqual(memory.address, wrapped.address)
        del wrapped
        self.assertIsNone(gone())

    @each_device()
    def test_owner_is_let_go_after_the_work(self, context: Context) -> None:
        memory, owner = context.allocate(4), Owner()
        result, seen = context.allocate(4), np.zeros(1, "float32")
        weakref.finalize(owner, result.read, 0, seen)
        wrapped = context.wrap(memory.address, memory.nbytes, owner)
        context.launch(kernel(context, "slow"), (1,), (1,), (20_000, wrapped))
        result.copy(0, wrapped, 0, 4)
        del owner, wrapped
        self.assertNotEqual(0, seen[0])
        self.assertEqual(download(memory, "float32")[0], seen[0])

    @each_device()
    def test_owner_is_let_go_after_a_list(self, context: Context) -> None:
        memory, owner = context.allocate(4), Owner()
        result, seen = context.allocate(4), np.zeros(1, "float32")
        weakref.finalize(owner, result.read, 0, seen)
        steps = [("launch", kernel(context, "slow"), (1,), (1,), (20_000, (0,)), 0), ("copy", 1, 0, 0, 0, 4)]
        replayed = LaunchList(context, steps, 2)
        replayed.run([context.wrap(memory.address, memory.nbytes, owner), result])
        del owner
        self.assertNotEqual(0, seen[0])
        self.assertEqual(download(memory, "float32")[0], seen[0])

    def test_wrong_addresses(self) -> None:
        context = null()
        with self.assertRaises(OverflowError):
            context.wrap(-1, 8, None)
        with self.assertRaises(ValueError):
            context.wrap(1, -8, None)
        with self.assertRaises(TypeError):
            context.wrap("1", 8, None)  # type: ignore[arg-type]  # wrong on purpose
