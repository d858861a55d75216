"""Device forms of `x[index]` with arrays of integers and masks."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

from theano_gpuarray.codegen import device_form
from theano_linker_c.kernels import IndexArray, IndexEntry, IndexInput, IndexReadKernel, IndexSlice
from theano_testing.gpuarray import needs_opencl
from theano_testing.tiers import slow

from .form_support import Recorder, on_card

X = np.random.default_rng(0).normal(size=(5, 6, 4)).astype("float32")
I = np.array([[-5, 4, 0], [1, 1, -1]])  # noqa: E741  (as in formulas)
J = np.array([[2, 5, -6], [0, 3, 1]], "int8")
WHOLE = IndexSlice()


def array(position: int, value: Any) -> IndexArray:
    """Return the entry of an array that does not broadcast, or of a mask."""
    mask = value.dtype == bool
    return IndexArray(position, mask, (False,) if mask else (False,) * value.ndim)


def read_kernel(entries: tuple[IndexEntry, ...], values: list[Any]) -> IndexReadKernel:
    operands = [np.asarray(v) for v in values]
    return IndexReadKernel(entries, tuple(v.dtype.name for v in operands), tuple(v.ndim for v in operands))


@needs_opencl
class TestReads(unittest.TestCase):
    def setUp(self) -> None:
        self.recorder = Recorder()

    def check(self, entries: tuple[IndexEntry, ...], index: Any, *values: Any, x: Any = X) -> int:
        """Compare with NumPy; return the number of launches."""
        before = self.recorder.launches
        (result,) = self.recorder.run(read_kernel(entries, [x, *values]), [on_card(x), *values])
        np.testing.assert_array_equal(result, x[index])
        self.assertEqual((result.dtype, result.shape), (x.dtype, x[index].shape))
        return self.recorder.launches - before

    def refuse(self, entries: tuple[IndexEntry, ...], text: str, *values: Any, x: Any = X) -> None:
        with self.assertRaisesRegex(IndexError, text):
            Recorder().run(read_kernel(entries, [x, *values]), [x, *values])

    def test_one_array(self) -> None:
        self.assertEqual(self.check((array(1, I),), I, I), 1)
        self.check((WHOLE, array(1, J)), (slice(None), J), J)
        self.check((array(1, I[:, :0]),), I[:, :0], I[:, :0])

    @slow
    def test_dtypes(self) -> None:
        for dtype in ("bool", "int8", "float16", "float64", "uint64"):
            with self.subTest(dtype):
                self.check((array(1, I),), I, I, x=X.astype(dtype))
        for dtype in ("int16", "int32", "uint8", "uint16", "uint32", "uint64"):
            with self.subTest(dtype):
                positions = abs(I[1]).astype(dtype)
                self.check((array(1, positions),), positions, positions)

    def test_arrays_that_are_adjacent_and_not(self) -> None:
        self.check((array(1, I), array(2, J)), (I, J), I, J)
        self.check((array(1, I), WHOLE, array(2, abs(J) % 4)), (I, slice(None), abs(J) % 4), I, abs(J) % 4)
        self.check((WHOLE, array(1, J), array(2, abs(J) % 4)), (slice(None), J, abs(J) % 4), J, abs(J) % 4)

    def test_numbers_slices_and_new_axes(self) -> None:
        self.check((IndexSlice(None, None, -1), array(1, J), None), (slice(None, None, -1), J, None), J)
        self.check((3, WHOLE, array(1, abs(J) % 4)), (3, slice(None), abs(J) % 4), abs(J) % 4)
        entries = (IndexSlice(IndexInput(2)), array(1, J), IndexInput(3))
        self.check(entries, (slice(2, None), J, 1), J, np.int64(2), np.uint8(1))

    def test_broadcasting(self) -> None:
        column = I[:, :1]
        entries = (IndexArray(1, False, (False, True)), array(2, J))
        self.check(entries, (column, J), column, J)
        self.check((IndexArray(1, False, (False,)), array(2, J)), (I[1], J), I[1], J)

    @slow
    def test_masks(self) -> None:
        mask = X > 0
        kernel = read_kernel((array(1, mask),), [X, mask])
        form = device_form.get(kernel)
        self.assertTrue(form is not None and form.needs_values(kernel))
        self.check((array(1, mask),), mask, mask)
        self.check((array(1, mask[:, 0, 0]),), mask[:, 0, 0], mask[:, 0, 0])
        self.check((WHOLE, array(1, mask[0])), (slice(None), mask[0]), mask[0])
        self.check((2, array(1, mask[2])), (2, mask[2]), mask[2])
        self.check((array(1, np.zeros_like(mask)),), np.zeros_like(mask), np.zeros_like(mask))

    def test_masks_of_many_groups(self) -> None:
        x = np.random.default_rng(1).normal(size=(300, 700))
        self.check((array(1, x > 1),), x > 1, x > 1, x=x)
        (result,) = self.recorder.run(read_kernel((array(1, x > 1),), [x, x > 1]), [x, on_card(x > 1)])
        np.testing.assert_array_equal(result, x[x > 1])

    def test_positions_out_of_bounds(self) -> None:
        wrong = np.array([0, 1, 5, 2])
        text = r"index 5 is out of bounds for axis 0 with size 5 \(shape \(5, 6, 4\)\)"
        self.refuse((array(1, wrong),), text, wrong)
        self.refuse((array(1, wrong),), "index 5 is out of bounds for axis 0 with size 5", wrong, x=X[:, :0])
        self.refuse((WHOLE, array(1, wrong - 9)), "index -[789] is out of bounds for axis 1 with size 6", wrong - 9)
        self.refuse((7, array(1, J)), "index 7 is out of bounds for axis 0 with size 5", J)

    def test_arrays_that_do_not_fit(self) -> None:
        text = r"shape mismatch: indexing arrays could not be broadcast together with shapes \(2,3\) \(1,3\)"
        self.refuse((array(1, I), array(2, J[:1])), text, I, J[:1])
        mask = np.ones(4, bool)
        text = r"boolean index of shape \(4,\) did not match the indexed array of shape \(5, 6, 4\) from axis 0 on"
        self.refuse((array(1, mask),), text, mask)
