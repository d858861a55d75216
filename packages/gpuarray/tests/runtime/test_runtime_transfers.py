from __future__ import annotations

import array
import unittest

import numpy as np

from theano_gpuarray._runtime import Context
from theano_testing.tiers import slow

from .runtime_support import download, each_context, each_device, kernel, null, upload


class TestTransfers(unittest.TestCase):
    @each_context()
    def test_write_and_read(self, context: Context) -> None:
        x = np.random.default_rng(0).normal(size=1000)
        for blocking in (True, False):
            np.testing.assert_array_equal(download(upload(context, x, blocking=blocking), "float64"), x)

    @each_context()
    def test_parts(self, context: Context) -> None:
        buffer = upload(context, np.arange(10, dtype="int32"))
        buffer.write(8, np.array([20, 30], "int32"))
        buffer.write(36, np.array([90], "int32"), blocking=False)
        part = np.empty(3, "int32")
        buffer.read(4, part)
        np.testing.assert_array_equal(part, [1, 20, 30])
        np.testing.assert_array_equal(download(buffer, "int32"), [0, 1, 20, 30, 4, 5, 6, 7, 8, 90])

    @each_context()
    def test_objects_of_the_buffer_protocol(self, context: Context) -> None:
        buffer = context.allocate(8)
        for source in (b"abcdefgh", bytearray(b"abcdefgh"), memoryview(b"abcdefgh"), array.array("b", b"abcdefgh")):
            buffer.fill(0, 8, 0)
            buffer.write(0, source)
            target = bytearray(8)
            buffer.read(0, target)
            self.assertEqual(b"abcdefgh", target)

    @each_device()
    def test_source_may_change_after_a_write_that_does_not_block(self, context: Context) -> None:
        slow, x = kernel(context, "slow"), np.zeros(100_000, "int32")
        buffers = []
        context.launch(slow, (1,), (1,), (100_000, context.allocate(4)))  # a write has to wait for it
        for value in range(20):
            x[:] = value
            buffers.append(upload(context, x, blocking=False))
        x[:] = -1
        for value, buffer in enumerate(buffers):
            np.testing.assert_array_equal(download(buffer, "int32"), np.full(100_000, value))

    @slow
    @each_context()
    def test_large_writes_that_do_not_block(self, context: Context) -> None:
        x = np.random.default_rng(0).integers(0, 255, 40_000_003, dtype="uint8")
        np.testing.assert_array_equal(download(upload(context, x, blocking=False), "uint8"), x)

    @slow
    @each_context()
    def test_pinned_memory_is_used_again_after_the_queue_was_waited_for(self, context: Context) -> None:
        # More than the ring has in all, with reads between, and several writes before each of them.
        for k in range(12):
            values = [np.random.default_rng((k, i)).integers(0, 255, 700_001, dtype="uint8") for i in range(3)]
            buffers = [upload(context, x, blocking=False) for x in values]
            for x, buffer in zip(values, buffers, strict=True):
                np.testing.assert_array_equal(download(buffer, "uint8"), x)
            if k % 3 == 0:
                large = np.random.default_rng(k).integers(0, 255, 20_000_003, dtype="uint8")
                np.testing.assert_array_equal(download(upload(context, large, blocking=False), "uint8"), large)

    @each_device()
    def test_writes_keep_their_order_with_launches(self, context: Context) -> None:
        scale, total = kernel(context, "scale"), []
        x = context.allocate(16)
        for value in range(100):
            x.write(0, np.full(4, value, "float32"), blocking=False)
            context.launch(scale, (1,), (4,), (4, 1, 2.0, x))
            total.append(context.allocate(16))
            total[-1].copy(0, x, 0, 16)
        for value, buffer in enumerate(total):
            np.testing.assert_array_equal(download(buffer, "float32"), np.full(4, 2 * value + 1))

    @each_context()
    def test_copies_and_fills(self, context: Context) -> None:
        x = upload(context, np.arange(8, dtype="int32"))
        y = context.allocate(40)
        y.fill(0, 40, 255)
        y.copy(4, x, 8, 12)
        y.fill(17, 2, 1)
        expected = np.array([-1, 2, 3, 4, -1, -1, -1, -1, -1, -1], "int32")
        expected.view("uint8")[17:19] = 1
        np.testing.assert_array_equal(download(y, "int32"), expected)
        x.copy(0, x, 16, 16)
        np.testing.assert_array_equal(download(x, "int32"), [4, 5, 6, 7, 4, 5, 6, 7])
        self.assertEqual(2, context.statistics()["copies"])

    @each_context()
    def test_copies_from_other_contexts(self, context: Context) -> None:
        value = np.random.default_rng(0).normal(size=3_000_000)  # in more than one part
        for other in (context.driver.open(0), null()):
            x = upload(other, value)
            y = context.allocate(value.nbytes)
            y.fill(0, y.nbytes, 0)
            y.copy(8, x, 16, value.nbytes - 16)
            result = download(y, "float64")
            np.testing.assert_array_equal(result[1:-1], value[2:])
            self.assertEqual((0, 0), (result[0], result[-1]))
            x.copy(0, y, 0, 8)
            self.assertEqual(0, download(x, "float64", 1)[0])

    @each_context()
    def test_counts(self, context: Context) -> None:
        x = upload(context, np.arange(4))
        download(x, "int64")
        counted = context.statistics()
        self.assertEqual((1, 1, 0), (counted["writes"], counted["reads"], counted["copies"]))


class TestWrongTransfers(unittest.TestCase):
    @each_context()
    def test_outside_of_the_buffer(self, context: Context) -> None:
        x, y = context.allocate(8), context.allocate(100)
        source = bytearray(8)
        with self.assertRaisesRegex(ValueError, "write: 8 bytes from byte 1 on .* buffer of 8 bytes"):
            x.write(1, source)
        with self.assertRaisesRegex(ValueError, "write: 8 bytes from byte -1 on"):
            x.write(-1, source, blocking=False)
        with self.assertRaisesRegex(ValueError, "read: 8 bytes from byte 9 on"):
            x.read(9, source)
        with self.assertRaisesRegex(ValueError, "fill: 9 bytes from byte 0 on"):
            x.fill(0, 9, 0)
        with self.assertRaisesRegex(ValueError, "copy, target: 9 bytes from byte 0 on"):
            x.copy(0, y, 0, 9)
        with self.assertRaisesRegex(ValueError, "copy: 9 bytes from byte 0 on"):
            y.copy(0, x, 0, 9)
        with self.assertRaisesRegex(ValueError, "copy, target: -1 bytes"):
            y.copy(0, x, 0, -1)
        with self.assertRaisesRegex(ValueError, "source and target overlap"):
            y.copy(10, y, 0, 11)
        self.assertEqual(bytearray(8), source)

    @each_context()
    def test_objects_that_do_not_fit(self, context: Context) -> None:
        x = context.allocate(64)
        with self.assertRaisesRegex(ValueError, "contiguous"):
            x.write(0, np.zeros((4, 4), "int8")[:, ::2])
        with self.assertRaises(TypeError):
            x.write(0, 3.5)
        with self.assertRaises((TypeError, BufferError)):
            x.read(0, b"not writable")
        with self.assertRaises((ValueError, OverflowError)):
            x.fill(0, 1, 256)
        with self.assertRaises(TypeError):
            x.copy(0, b"12", 0, 1)  # type: ignore[arg-type]  # wrong on purpose

    def test_source_is_released_after_an_error(self) -> None:
        source = bytearray(8)
        with self.assertRaises(ValueError):
            null().allocate(4).write(0, source)
        source.extend(b"more")  # refused while something looks into it
        self.assertEqual(12, len(source))
