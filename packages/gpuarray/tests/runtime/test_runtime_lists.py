from __future__ import annotations

import unittest
from typing import Any

import numpy as np

from theano_gpuarray._runtime import Context, LaunchList

from .runtime_support import download, each_context, each_device, kernel, null, upload


class TestLaunchLists(unittest.TestCase):
    @each_device()
    def test_all_kinds_of_steps(self, context: Context) -> None:
        x = np.arange(8, dtype="float32")
        steps = [
            ("launch", kernel(context, "add"), (2,), (8,), (8, (0,), (0,), (1,)), 0),
            ("launch", kernel(context, "scale"), (1,), (4,), (4, 1, 10.0, (1,))),
            ("copy", 2, 4, 1, 8, 24),
            ("fill", 2, 0, 4, 255),
        ]
        replayed = LaunchList(context, steps, 3)
        buffers = [upload(context, x), context.allocate(32), context.allocate(28)]
        replayed.run(buffers)
        expected = np.concatenate([20 * x[:4] + 1, 2 * x[4:]])
        np.testing.assert_array_equal(download(buffers[1], "float32"), expected)
        result = download(buffers[2], "float32")
        np.testing.assert_array_equal(result[1:], expected[2:])
        self.assertTrue(np.isnan(result[0]))

    @each_device()
    def test_replays_with_other_buffers(self, context: Context) -> None:
        add, scale = kernel(context, "add"), kernel(context, "scale")
        steps = [
            ("launch", add, (1,), (4,), (4, (0,), (1,), (2,)), 0),
            ("launch", scale, (1,), (4,), (4, 1, 3.0, (2,)), 0),
            ("launch", add, (1,), (4,), (4, (2,), (0,), (3,)), 0),
        ]
        replayed = LaunchList(context, steps, 4)
        rng = np.random.default_rng(0)
        ring = [context.allocate(16) for _ in range(5)]
        for run in range(30):
            x, y = rng.integers(0, 100, (2, 4)).astype("float32")
            a, b, c, d = (ring[(run + k) % 5] for k in range(4))
            a.write(0, x, blocking=False)
            b.write(0, y, blocking=False)
            replayed.run((a, b, c, d))
            np.testing.assert_array_equal(download(d, "float32"), 3 * (x + y) + 1 + x)
        self.assertEqual(90, context.statistics()["launches"])

    @each_device()
    def test_replays_after_memory_was_given_back(self, context: Context) -> None:
        # Memory of the same address may be other memory: a kernel must not go on using its earlier arguments.
        steps = [("launch", kernel(context, "scale"), (1,), (4,), (4, 1, 2.0, (0,)), 0)]
        replayed = LaunchList(context, steps, 1)
        for value in range(20):
            x = upload(context, np.full(4, value, "float32"))
            replayed.run([x])
            np.testing.assert_array_equal(download(x, "float32"), np.full(4, 2 * value + 1))
            del x
            context.trim()

    @each_device()
    def test_one_kernel_in_two_lists_and_at_once(self, context: Context) -> None:
        scale = kernel(context, "scale")
        lists = [LaunchList(context, [("launch", scale, (1,), (1,), (1, shift, 2.0, (0,)), 0)], 1) for shift in (3, 5)]
        x = upload(context, np.ones(1, "float32"))
        expected = 1.0
        for _ in range(4):
            for replayed, shift in zip(lists, (3, 5), strict=True):
                replayed.run([x])
                context.launch(scale, (1,), (1,), (1, 7, -0.5, x))
                expected = (2 * expected + shift) * -0.5 + 7
        self.assertEqual(expected, download(x, "float32")[0])

    @each_device()
    def test_wrapped_memory(self, context: Context) -> None:
        memory = upload(context, np.ones(2, "float32"))
        replayed = LaunchList(context, [("launch", kernel(context, "scale"), (1,), (2,), (2, 1, 2.0, (0,)), 0)], 1)
        for _ in range(3):
            replayed.run([context.wrap(memory.address, memory.nbytes, memory)])
        np.testing.assert_array_equal(download(memory, "float32"), [15, 15])

    def test_order_on_the_null_driver(self) -> None:
        context = null()
        x, y = context.allocate(16), context.allocate(16)
        steps = [
            ("fill", 1, 0, 16, 7),
            ("launch", kernel(context, "add"), (2,), (3,), (4, (0,), (1,), (0,)), 0),
            ("launch", kernel(context, "scale"), (0,), (3,), (4, 0, 0.5, (0,)), 0),
            ("copy", 0, 0, 1, 8, 8),
            ("copy", 0, 0, 1, 8, 0),
        ]
        replayed = LaunchList(context, steps, 2)
        for first, second in ((x, y), (y, x)):
            replayed.run((first, second))
            launch = ("launch", "add", (2,), (3,), (4, first.address, second.address, first.address), 0)
            self.assertEqual([("fill", 16, 7), launch, ("copy", 8)], context.recorded())
            self.assertEqual(7, download(first, "uint8")[0])
            context.recorded()
        self.assertEqual(2, context.statistics()["launches"])

    @each_context()
    def test_empty_list(self, context: Context) -> None:
        LaunchList(context, [], 0).run(())
        self.assertEqual(0, context.statistics()["launches"])

    @each_context()
    def test_many_buffers(self, context: Context) -> None:
        held = [context.allocate(4) for _ in range(100)]
        LaunchList(context, [("fill", k, 0, 4, k) for k in range(100)], 100).run(held)
        self.assertEqual(list(range(100)), [int(download(buffer, "uint8")[0]) for buffer in held])


class TestWrongLists(unittest.TestCase):
    def test_wrong_steps(self) -> None:
        context = null()
        add = kernel(context, "add")
        other = kernel(null(), "add")
        wrong: list[tuple[Any, type[Exception], str]] = [
            ((), ValueError, "is no step: there are launch, copy, fill, product, convolution and call"),
            (("jump", 1), ValueError, "is no step"),
            ("fill", ValueError, "is no step"),
            (("launch", add, (1,), (1,)), TypeError, "launch"),
            (("launch", add, (1,), (1,), (1, (0,), (1,), 2), 0), TypeError, "argument 3: a buffer is told by its numb"),
            (("launch", add, (1,), (1,), (1, (0,), (1,), (2,)), 0), ValueError, "there is no buffer 2: the list has 2"),
            (("launch", add, (1,), (1,), (1, (0,), (1,), (-1,)), 0), ValueError, "there is no buffer -1"),
            (("launch", other, (1,), (1,), (1, (0,), (1,), (1,)), 0), ValueError, "kernel add belongs to another"),
            (("launch", add, (1,), (1025,), (1, (0,), (1,), (1,)), 0), OverflowError, "1025 is out of bounds"),
            (("copy", 0, 0, 1, 0, -1), ValueError, "offsets and lengths are not negative"),
            (("copy", 0, 0, 2, 0, 1), ValueError, "there is no buffer 2"),
            (("fill", 0, -1, 1, 0), ValueError, "offsets and lengths are not negative"),
            (("fill", 0, 0, 1, 300), OverflowError, "unsigned byte"),
            (("product", "float32"), ValueError, "the driver null has no products by a library"),
        ]
        for step, error, text in wrong:
            with self.subTest(step), self.assertRaisesRegex(error, text):
                LaunchList(context, [("fill", 0, 0, 1, 0), step], 2)
        with self.assertRaisesRegex(ValueError, "a list cannot have -1 buffers"):
            LaunchList(context, [], -1)

    @each_context()
    def test_wrong_buffers(self, context: Context) -> None:
        replayed = LaunchList(context, [("fill", 0, 4, 4, 0), ("copy", 1, 8, 0, 0, 8)], 2)
        x, y = context.allocate(8), context.allocate(16)
        wrong: list[tuple[Any, type[Exception], str]] = [
            ((x,), ValueError, "the list has 2 buffers, not 1"),
            ((x, 1), TypeError, "a buffer is wanted, not int"),
            ((context.allocate(7), y), ValueError, "the buffer is too small: 8 bytes from byte 0 on"),
            ((x, x), ValueError, "the buffer is too small: 16 bytes from byte 0 on"),
            ((x, null().allocate(16)), ValueError, "the buffer belongs to another context"),
            (5, TypeError, "not iterable"),
        ]
        context.recorded()
        for buffers, error, text in wrong:
            with self.subTest(text), self.assertRaisesRegex(error, text):
                replayed.run(buffers)
        self.assertEqual([], context.recorded())
        replayed.run([x, y])

    @each_context()
    def test_copy_that_overlaps(self, context: Context) -> None:
        with self.assertRaisesRegex(ValueError, "source and target overlap"):
            LaunchList(context, [("copy", 0, 4, 0, 0, 8)], 1)
        replayed = LaunchList(context, [("copy", 0, 4, 1, 0, 8)], 2)
        x = context.allocate(16)
        with self.assertRaisesRegex(ValueError, "source and target overlap"):
            replayed.run([x, x])
        replayed.run([x, context.allocate(16)])
        LaunchList(context, [("copy", 0, 8, 1, 0, 8)], 2).run([x, x])
