from __future__ import annotations

import copy
import itertools
import pickle
import threading
import unittest
from collections.abc import Callable
from typing import Any

import numpy as np

from theano_gpuarray.arrays import ArrayFlags, GpuArray, asarray, empty, may_share_memory, zeros
from theano_gpuarray.contexts import ContextNotDefined
from theano_graph import config
from theano_testing.gpuarray import needs_opencl
from theano_testing.tiers import each_value, slow

from ._contexts import null, opencl, other

VIEWS: tuple[Callable[[Any], Any], ...] = (
    lambda x: x,
    lambda x: x[1],
    lambda x: x[-1, ..., 2],
    lambda x: x[:, ::-1, ::2],
    lambda x: x[1:1],
    lambda x: x[..., None, 1:],
    lambda x: x[None, 1, :, None],
    lambda x: x[5:0:-2, 0],
    lambda x: x[0, 1, 2],
    lambda x: x.T,
    lambda x: x.transpose(1, 0, 2)[::-1],
    lambda x: x.transpose(2, 0, 1)[::3],
    lambda x: x.transpose((0, -1, 1)),
)
DTYPES = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32",
          "float64", "complex64", "complex128")  # fmt: skip
#: A dtype of each kind, each of which is converted to another one; all are converted along a line.
KINDS = ("bool", "int8", "uint64", "float16", "float64", "complex64")
CONVERSIONS = (
    *((x, y) for x, y in each_value(KINDS, KINDS) if np.dtype(x).kind != "c" or np.dtype(y).kind == "c"),
    *itertools.pairwise(DTYPES),
)


def values(dtype: str = "float32") -> Any:
    """Return an array of three dimensions."""
    return (np.arange(24).reshape(2, 3, 4) % 11 - 3).astype(dtype)


@needs_opencl
class TestViews(unittest.TestCase):
    def test_views_are_those_of_numpy(self) -> None:
        for dtype in ("int8", "float64", "complex128"):
            host = values(dtype)
            device = asarray(host, context=opencl())
            for number, view in enumerate(VIEWS):
                with self.subTest(dtype, view=number):
                    result, expected = view(device), view(host)
                    self.assertEqual((result.shape, result.dtype), (expected.shape, expected.dtype))
                    self.assertIs(result.buffer, device.buffer)
                    np.testing.assert_array_equal(np.asarray(result), expected)
                    for order in "CFAK":
                        outcome = result.copy(order)
                        self.assertIsNot(outcome.buffer, device.buffer)
                        np.testing.assert_array_equal(np.asarray(outcome), expected)
                        self.assertTrue(outcome.flags["FORC"])

    def test_far_apart_elements(self) -> None:
        host = np.arange(10_000.0)
        device = asarray(host, context=opencl())
        before = opencl().statistics()["launches"]
        np.testing.assert_array_equal(np.asarray(device[::1000]), host[::1000])
        self.assertEqual(opencl().statistics()["launches"], before + 1, "they are gathered on the device")

    def test_sizes(self) -> None:
        x = asarray(values(), context=opencl())
        self.assertEqual((x.ndim, x.size, x.itemsize, x.nbytes, x.typecode, len(x)), (3, 24, 4, 96, 11, 2))
        part = x[1, ::2]
        self.assertEqual((part.offset, part.strides, part.gpudata), (48, (32, 4), x.gpudata))
        self.assertIs(part.context, opencl())
        self.assertEqual([row.shape for row in x], [(3, 4)] * 2)

    def test_wrong_indices(self) -> None:
        x = asarray(values(), context=null())
        for key, error, text in (
            (2, IndexError, "index 2 is out of bounds for dimension 0 of length 2\n  Hint: take one from -2 to 1"),
            ((0, -4), IndexError, "index -4 is out of bounds for dimension 1"),
            ((0, 0, 0, 0), IndexError, "too many indices: 4 for an array of 3 dimensions"),
            ((..., 0, ...), IndexError, "`...` twice"),
            ([0, 1], TypeError, r"not by \[0, 1\]\n  Hint: index its host copy"),
            (True, TypeError, "not by True"),
            (1.0, TypeError, "not by 1.0"),
            ("a", TypeError, "not by 'a'"),
        ):
            with self.subTest(key), self.assertRaisesRegex(error, text):
                x[key]

    def test_transposes(self) -> None:
        x = asarray(values(), context=null())
        for axes in ((0, 1), (0, 1, 1), (0, 1, 3), (0, 1, -5)):
            with self.subTest(axes), self.assertRaisesRegex(ValueError, "does not name each of 3 dimensions once"):
                x.transpose(axes)
        self.assertEqual(x.transpose(None).shape, (4, 3, 2))

    def test_reshape(self) -> None:
        host = values()
        device = asarray(host, context=opencl())
        for view in VIEWS:
            result, expected = view(device), view(host)
            for shape in ((-1,), (expected.size,), (2, -1) if expected.size % 2 == 0 and expected.size else (-1,)):
                for order in "CF":
                    got, want = result.reshape(shape, order=order), expected.reshape(shape, order=order)
                    np.testing.assert_array_equal(np.asarray(got), want)
                    if np.shares_memory(want, host) and want.size:
                        self.assertIs(got.buffer, device.buffer, "a view where NumPy has one")
        self.assertEqual(device.reshape(4, 1, 6).shape, (4, 1, 6))
        self.assertEqual(device.ravel().shape, (24,))
        self.assertEqual(asarray(np.zeros((0, 3)), context=null()).reshape(3, 0, 5).shape, (3, 0, 5))

    def test_wrong_shapes(self) -> None:
        x = asarray(values(), context=null())
        for shape in ((5, 5), (-1, -1), (7, -1), (-2, -12), (0, -1)):
            with self.subTest(shape), self.assertRaisesRegex(ValueError, "an array of 24 elements has no shape"):
                x.reshape(shape)
        with self.assertRaisesRegex(ValueError, "order of elements is no 'X'"):
            x.reshape(24, order="X")

    def test_views_of_another_dtype(self) -> None:
        host = values("int32")
        device = asarray(host, context=opencl())
        for dtype in ("float32", "int16", "uint64", "uint8"):
            np.testing.assert_array_equal(np.asarray(device.view(dtype)), host.view(dtype))
        self.assertEqual(device.view().shape, host.shape)
        for wrong, dtype in ((device.T, "int16"), (device[..., :3], "int64"), (device[0, 0, 0], "int16")):
            with self.assertRaisesRegex(ValueError, "are no view of"):
                wrong.view(dtype)

    def test_flags(self) -> None:
        host = values()
        device = asarray(host, context=null())
        for view in VIEWS:
            result, expected = view(device).flags, view(host).flags
            for name in ("C_CONTIGUOUS", "F_CONTIGUOUS", "FORC", "FNC", "C", "F", "ALIGNED"):
                if view(host).size:
                    self.assertEqual(result[name], expected[name], name)
            self.assertEqual(result["IS_C_CONTIGUOUS"], result.c_contiguous)
        self.assertTrue(device.flags.owndata)
        self.assertFalse(device[1:].flags.owndata)
        self.assertIn("C_CONTIGUOUS : True", repr(device.flags))
        self.assertEqual(dict(device.flags), dict(ArrayFlags(True, False, True, True)))
        with self.assertRaisesRegex(KeyError, "no flag 'D'"):
            device.flags["D"]
        with self.assertRaises(AttributeError):
            _ = device.flags.x_contiguous


@needs_opencl
class TestValues(unittest.TestCase):
    @slow
    def test_conversions_are_those_of_numpy(self) -> None:
        for dtype, other_dtype in CONVERSIONS:
            with self.subTest(dtype, to=other_dtype):
                host = values(dtype)
                # Negative floats become unsigned in more than one way; those of C are compared elsewhere.
                with np.errstate(all="ignore"):
                    expected = host.astype(other_dtype)
                if np.dtype(dtype).kind == "f" and np.dtype(other_dtype).kind == "u":
                    expected = host.astype("int64").astype(other_dtype)
                result = asarray(host, context=opencl())[:, ::-1].astype(other_dtype)
                self.assertEqual(result.dtype, expected.dtype)
                np.testing.assert_array_equal(np.asarray(result), expected[:, ::-1])

    def test_astype_copies_unless_told_otherwise(self) -> None:
        x = asarray(values(), context=opencl())
        self.assertIs(x.astype("float32", copy=False), x)
        self.assertIsNot(x.astype("float32").buffer, x.buffer)
        self.assertTrue(x.T.astype("int32").flags.f_contiguous)
        self.assertTrue(x.T.astype("int32", order="C").flags.c_contiguous)
        for dtype in ("S3", "O", ">f4", "M8[s]"):
            with self.assertRaisesRegex(TypeError, "there are no arrays of"):
                x.astype(dtype)

    def test_elements_are_set(self) -> None:
        for key, value in (
            ((0, slice(None), 1), 5),
            (slice(None), [[1], [2], [3]]),
            ((..., slice(None, None, -2)), np.arange(6.0).reshape(3, 2)),
            (None, np.ones((1, 1, 1, 1, 4))),
            ((1, 1, 1), -7.9),
            (slice(2, 2), 1),
        ):
            with self.subTest(key):
                host = values("int16")
                device = asarray(host, context=opencl())
                device[key] = value
                host[key] = np.asarray(value).astype("int16")
                np.testing.assert_array_equal(np.asarray(device), host)
                result = asarray(values("int16"), context=opencl())
                result[key] = asarray(np.asarray(value, "float32"), context=other())
                np.testing.assert_array_equal(np.asarray(result), host)

    def test_parts_that_overlap(self) -> None:
        host = np.arange(10)
        device = asarray(host, context=opencl())
        device[1:] = device[:-1]
        host[1:] = host[:-1].copy()
        device[::-1] = device
        host[::-1] = host.copy()
        np.testing.assert_array_equal(np.asarray(device), host)

    def test_values_that_do_not_fit(self) -> None:
        x = asarray(values(), context=opencl())
        for value in (np.ones(3), np.ones((2, 2, 3, 4))):
            with self.assertRaisesRegex(ValueError, "do not broadcast to the elements of shape"):
                x[...] = value

    def test_single_elements(self) -> None:
        x = asarray(values(), context=opencl())
        self.assertEqual(
            (float(x[0, 0, 0]), int(x[1, 1, 1]), bool(x[0, 0, 3]), x[0, 0, 1].item()), (-3.0, 3, False, -2.0)
        )
        self.assertEqual(complex(x[0, 0, 0]), -3)
        self.assertEqual([1, 2, 3][asarray(np.int8(1), context=opencl())], 2)
        self.assertEqual(x[0].tolist(), values()[0].tolist())
        for action in (bool, int, float, GpuArray.item):
            with self.assertRaisesRegex(ValueError, "an array of 24 elements is no single number"):
                action(x)
        with self.assertRaisesRegex(TypeError, "an element of float32 is no index"):
            [1, 2][x[0, 0, 0]]
        with self.assertRaisesRegex(TypeError, "without dimensions has no length"):
            len(x[0, 0, 0])

    def test_texts(self) -> None:
        x = asarray(np.array([1.5, 2.5], "float32"), context=opencl())
        self.assertEqual(repr(x), "gpuarray.array([1.5, 2.5], dtype=float32, context='arrays')")
        self.assertEqual(str(x), "[1.5 2.5]")

    def test_reading_and_writing(self) -> None:
        host = values()
        x = asarray(host, context=opencl())
        target = np.zeros_like(host)
        x.read(target)
        np.testing.assert_array_equal(target, host)
        x.T.write(np.ascontiguousarray(target.T + 1))
        np.testing.assert_array_equal(np.asarray(x), host + 1)
        wrong: Any
        for wrong in (np.zeros(24, "float32"), np.zeros((2, 3, 4)), [1.0]):
            for action in (x.read, x.write):
                with self.assertRaisesRegex(ValueError, "an array of float32 of shape .* an array like it, not"):
                    action(wrong)

    def test_numpy_takes_copies(self) -> None:
        x = asarray(values(), context=opencl())
        self.assertEqual(np.asarray(x, "int64").dtype, "int64")
        self.assertEqual(np.sum(x), values().sum())
        with self.assertRaisesRegex(ValueError, "no elements on the host"):
            x.__array__(copy=False)

    def test_waiting(self) -> None:
        x = zeros((1000,), context=opencl())
        x[...] = 3
        x.sync()
        self.assertEqual(np.asarray(x).sum(), 3000)


@needs_opencl
class TestCopies(unittest.TestCase):
    def test_copies(self) -> None:
        x = asarray(values(), context=opencl())
        for result in (copy.copy(x), copy.deepcopy(x), x.copy()):
            result[...] = 0
            self.assertIs(result.context, x.context)
        self.assertTrue(copy.deepcopy(x.T).flags.f_contiguous)
        np.testing.assert_array_equal(np.asarray(x), values())

    def test_pickles_have_values_and_the_name_of_a_context(self) -> None:
        x = asarray(values(), context=opencl())[:, ::2]
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            result = pickle.loads(pickle.dumps(x, protocol))
            self.assertIs(result.context, opencl())
            np.testing.assert_array_equal(np.asarray(result), values()[:, ::2])

    def test_pickles_without_their_context(self) -> None:
        x = asarray(values(), context=other())
        other().name = "arrays_elsewhere"
        data = pickle.dumps(x)
        with self.assertRaisesRegex(ContextNotDefined, "'arrays_elsewhere'"):
            pickle.loads(data)
        with config.change_flags(experimental__unpickle_gpu_on_cpu=True):
            result = pickle.loads(data)
        self.assertIsInstance(result, np.ndarray)
        np.testing.assert_array_equal(result, values())

    def test_moving_between_contexts(self) -> None:
        for view in VIEWS:
            x = view(asarray(values(), context=opencl()))
            self.assertIs(x.transfer(opencl()), x)
            for context in (other(), null()):
                moved = x.transfer(context)
                self.assertIs(moved.context, context)
                np.testing.assert_array_equal(np.asarray(moved), view(values()))
                np.testing.assert_array_equal(np.asarray(moved.transfer(opencl())), view(values()))

    def test_shared_memory(self) -> None:
        x = asarray(values(), context=opencl())
        self.assertTrue(may_share_memory(x, x[0]))
        self.assertFalse(may_share_memory(x[0], x[1]))
        self.assertTrue(may_share_memory(x[0], x[::-1][1:]))
        self.assertFalse(may_share_memory(x, x.copy()))
        self.assertFalse(may_share_memory(x, asarray(values(), context=null())))
        self.assertFalse(may_share_memory(x[:0], x))

    def test_arrays_of_nothing(self) -> None:
        for context in (opencl(), null()):
            x = empty((0, 3), "float32", context=context)
            self.assertEqual((np.asarray(x).shape, x.copy().shape, x.astype("int8").shape), ((0, 3),) * 3)
            x[...] = 1
            self.assertEqual(x.transfer(other()).shape, (0, 3))

    def test_memory_is_given_back(self) -> None:
        before = opencl().statistics()["buffers"]
        x = asarray(values(), context=opencl())
        y = x[0].T.copy()[1:]
        del x
        self.assertEqual(opencl().statistics()["buffers"], before + 1)
        del y
        self.assertEqual(opencl().statistics()["buffers"], before)


@needs_opencl
class TestThreads(unittest.TestCase):
    def test_threads_use_one_context(self) -> None:
        result: dict[int, Any] = {}

        def work(number: int) -> None:
            for _ in range(20):
                x = asarray(np.full((50, 40), number, "float32"), context=opencl())
                x[::2] = number + 1
                result[number] = np.asarray(x.T.copy().astype("int32"))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for number in range(4):
            expected = np.full((50, 40), number)
            expected[::2] = number + 1
            np.testing.assert_array_equal(result[number], expected.T)


if __name__ == "__main__":
    unittest.main()
