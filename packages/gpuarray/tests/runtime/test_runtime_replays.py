"""Calls that the runtime repeats: their keys, their results, and their errors."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

from theano_gpuarray import arrays
from theano_gpuarray._runtime import DeviceError, LaunchList, Replays
from theano_gpuarray.arrays import GpuArray
from theano_testing.device import null_context

INPUT, OWN, HELD, STATUS = range(4)
MOVED, KEYED = b"\x01", b"\x02"
FLOATS = np.dtype("float32")


def _unexplained(*message: int) -> object:
    raise AssertionError(f"no kernel looks for anything, but {message} was found")


class TestReplays(unittest.TestCase):
    def setUp(self) -> None:
        self.context = null_context()

    def replays(self, flags: bytes) -> Replays:
        return Replays(self.context.native, GpuArray, self.context, np.empty, flags)

    def copied(self, nbytes: int, value: int = 0) -> Any:
        """Return the effects of a call that copies a value, and its result on the device and on the host."""
        launches = LaunchList(self.context.native, (("copy", 1, 0, 0, 0, nbytes),), 2)
        n = nbytes // 4
        outputs = (1, False, FLOATS, (n,), (4,), 0), (1, True, FLOATS, (n,), (4,), 0), lambda memory: len(memory)
        return launches, ((INPUT, value), (OWN, nbytes)), outputs, None, _unexplained

    def test_arrays_of_the_device(self) -> None:
        replays = self.replays(b"\0")
        x = arrays.asarray(np.arange(4, dtype="float32"), context=self.context)
        self.assertIsNone(replays.run([x], 0))
        self.assertTrue(replays.keep([x], 0, self.copied(16)))
        result = replays.run([x], 0)
        assert result is not None
        there, here, count = result
        self.assertIsInstance(there, GpuArray)
        self.assertIs(there.context, self.context)
        self.assertEqual(((4,), (4,), 0, FLOATS), (there.shape, there.strides, there.offset, there.dtype))
        self.assertIsNot(there.buffer, x.buffer)
        self.assertEqual(((4,), FLOATS, 2), (here.shape, here.dtype, count))

    def test_what_is_alike(self) -> None:
        replays = self.replays(b"\0")
        x = arrays.zeros((4, 4), "float32", context=self.context)
        replays.keep([x], 0, self.copied(64))
        self.assertIsNotNone(replays.run([arrays.zeros((4, 4), "float32", context=self.context)], 0))
        for other in (x.T, x[1:], x[:, :3], arrays.zeros((16,), "float32", context=self.context)):
            with self.subTest(shape=other.shape, strides=other.strides):
                self.assertIsNone(replays.run([other], 0))
        self.assertIsNone(replays.run([x], 1), "flags are others")
        self.assertIsNone(replays.run([x, x], 0))

    def test_arrays_of_the_host(self) -> None:
        moved, keyed, ignored = (self.replays(flags) for flags in (MOVED, KEYED, b"\0"))
        x = np.arange(4, dtype="float32")
        for replays in (moved, keyed, ignored):
            self.assertTrue(replays.keep([x], 0, self.copied(16)))
        self.assertIsNotNone(moved.run([x + 1], 0))
        self.assertIsNone(moved.run([x[:3]], 0))
        self.assertIsNone(keyed.run([x + 1], 0))
        self.assertIsNotNone(keyed.run([x + 0], 0))
        self.assertIsNotNone(ignored.run([x + 1], 0))

    def test_arrays_that_are_written_while_a_call_waits(self) -> None:
        x = np.arange(200_000, dtype="float32")
        replays, entry = self.replays(MOVED), self.copied(x.nbytes)
        for value in range(3):
            x[:] = value
            _, here, _ = replays.make([x], entry)
            x[:] = -1
            self.assertTrue((here == value).all())

    def test_arrays_are_held_until_the_queue_has_been_waited_for(self) -> None:
        launches, sources, (there, here, _), status, explain = self.copied(16)
        value = bytearray(np.ones(4, "float32").tobytes())

        def grow(memory: object) -> None:
            value.extend(bytes(4))

        replays = self.replays(MOVED)
        with self.assertRaises(BufferError):
            replays.make([value], (launches, sources, (grow, here), status, explain))
        replays.make([value], (launches, sources, (grow, there), status, explain))
        self.assertEqual(len(value), 20, "a call that does not wait has copied it")

    def test_arrays_are_copied_where_no_call_waits(self) -> None:
        launches, sources, (there, *_), status, explain = self.copied(800_000)
        x = np.zeros(200_000, "float32")
        results = [
            self.replays(MOVED).make([x + k], (launches, sources, (there,), status, explain))[0] for k in range(3)
        ]
        for k, array in enumerate(results):
            self.assertTrue((np.asarray(array) == k).all())

    def test_failures_after_arrays_were_written(self) -> None:
        launches, sources, (_, here, _), status, explain = self.copied(16)

        def fails(memory: object) -> object:
            raise KeyError("no result")

        replays = self.replays(MOVED)
        with self.assertRaisesRegex(KeyError, "no result"):
            replays.make([np.ones(4, "float32")], (launches, sources, (here, fails), status, explain))
        enormous = (*sources[:1], (OWN, 1 << 60))
        with self.assertRaisesRegex(DeviceError, "no memory left"):
            replays.make([np.ones(4, "float32")], (launches, enormous, (here,), status, explain))
        self.assertEqual(replays.make([np.ones(4, "float32")], self.copied(16))[1].tolist(), [1.0] * 4)

    def test_what_is_never_alike(self) -> None:
        replays = self.replays(MOVED)
        for value in (np.arange(8, dtype="float32")[::2], 3.0, None):
            with self.subTest(value=value):
                self.assertFalse(replays.keep([value], 0, self.copied(16)))
                self.assertIsNone(replays.run([value], 0))
        many = self.replays(KEYED)
        self.assertFalse(many.keep([np.zeros(1 << 16)], 0, self.copied(16)))

    def test_calls_that_are_told_what_they_do(self) -> None:
        result = self.replays(MOVED).make([np.ones(4, "float32")], self.copied(16))
        self.assertEqual((4,), result[1].shape)

    def test_kept_calls_are_bounded(self) -> None:
        replays = self.replays(KEYED)
        entry = self.copied(16)
        for k in range(300):
            replays.keep([np.full(4, k, "float32")], 0, entry)
        self.assertIsNone(replays.run([np.full(4, 0, "float32")], 0))
        self.assertIsNotNone(replays.run([np.full(4, 299, "float32")], 0))

    def test_statuses(self) -> None:
        replays = self.replays(b"")
        message = list[tuple[int, ...]]()

        def explain(*numbers: int) -> object:
            message.append(numbers)
            raise IndexError("out of bounds")

        fine = (None, ((STATUS, None),), (), 0, explain)
        self.assertEqual([], replays.make([], fine))
        self.assertEqual([], message)
        # The status holds no zeros here, as if a kernel had written to it.
        wrong = (LaunchList(self.context.native, (("fill", 0, 0, 32, 1),), 1), ((STATUS, None),), (), 0, explain)
        with self.assertRaisesRegex(IndexError, "out of bounds"):
            replays.make([], wrong)
        self.assertEqual([(int.from_bytes(b"\x01" * 8, "little"),) * 4], message)
        self.assertEqual([], replays.make([], fine), "the next call has a clean one")
        with self.assertRaises(SystemError):
            replays.make([], (*wrong[:4], lambda *numbers: None))

    def test_wrong_entries(self) -> None:
        replays = self.replays(b"\0")
        good = self.copied(16)
        x = arrays.zeros((4,), "float32", context=self.context)
        wrong = [
            (),
            (3, *good[1:]),
            (good[0], ((INPUT, 1), (OWN, 16)), *good[2:]),
            (good[0], ((HELD, 16),), *good[2:]),
            (good[0], ((9, 16),), *good[2:]),
            (*good[:2], ((2, False, FLOATS, (4,), (4,), 0),), *good[3:]),
            (*good[:2], ((0, False, FLOATS, (4,), (4,), -1),), *good[3:]),
            (*good[:3], 2, _unexplained),
        ]
        for entry in wrong:
            with self.subTest(entry=entry):
                self.assertRaises(TypeError, replays.keep, [x], 0, entry)
                self.assertRaises(TypeError, replays.make, [x], entry)
        self.assertRaises(TypeError, replays.make, (x,), good)
        with self.assertRaises(AttributeError):
            Replays(self.context.native, dict, self.context, np.empty, b"")
        with self.assertRaises(ValueError):  # the list has two buffers
            replays.make([x], (good[0], ((INPUT, 0),), (), None, _unexplained))

    def test_memory_that_is_held(self) -> None:
        replays = self.replays(b"")
        held = self.context.native.allocate(16)
        entry = (None, ((HELD, held),), ((0, False, FLOATS, (4,), (4,), 0),), None, _unexplained)
        (result,) = replays.make([], entry)
        self.assertIs(result.buffer, held)
