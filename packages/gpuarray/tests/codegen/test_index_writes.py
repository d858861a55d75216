"""Device forms of arrays with a part set or incremented."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

from theano_gpuarray.codegen import DeviceOperand, device_form
from theano_linker_c.kernels import IndexArray, IndexEntry, IndexInput, IndexSlice, IndexWriteKernel
from theano_testing.gpuarray import needs_opencl
from theano_testing.tiers import slow

from .form_support import Recorder, on_card

X = np.random.default_rng(0).integers(-50, 50, (5, 6, 4))
I = np.array([[-5, 4, 0], [1, 1, -1]])  # noqa: E741  (as in formulas)
J = np.array([[2, 5, -6], [0, 3, 1]], "int8")
WHOLE = IndexSlice()


def array(position: int, value: Any) -> IndexArray:
    """Return the entry of an array that does not broadcast, or of a mask."""
    mask = value.dtype == bool
    return IndexArray(position, mask, (False,) if mask else (False,) * value.ndim)


def part_of(*shape: int) -> Any:
    return np.random.default_rng(1).integers(-9, 9, shape)


def write_kernel(entries: tuple[IndexEntry, ...], values: list[Any], replace: bool) -> IndexWriteKernel:
    operands = [np.asarray(v) for v in values]
    dtypes, ndims = tuple(v.dtype.name for v in operands), tuple(v.ndim for v in operands)
    return IndexWriteKernel(entries, dtypes, ndims, replace, tuple(n == 1 for n in operands[1].shape))


class WriteCase(unittest.TestCase):
    def check(
        self,
        entries: tuple[IndexEntry, ...],
        index: Any,
        part: Any,
        *values: Any,
        dtype: str = "float32",
        kinds: tuple[bool, ...] = (True, False),
        **options: bool,
    ) -> int:
        """Compare with NumPy, setting and incrementing; return the number of launches of the last."""
        x, new, launches = X.astype(dtype), np.asarray(part).astype(dtype), 0
        for replace in kinds:
            recorder = Recorder(**options)
            operand = on_card(x)
            (result,) = recorder.run(write_kernel(entries, [x, new, *values], replace), [operand, new, *values])
            expected = x.copy()
            if replace:
                expected[index] = new
            else:
                np.add.at(expected, index, new)
            np.testing.assert_array_equal(result, expected)
            np.testing.assert_array_equal(np.asarray(operand), x)
            launches = recorder.launches
        return launches


@needs_opencl
class TestPlainParts(WriteCase):
    def test_slices_and_numbers(self) -> None:
        self.check((IndexSlice(1, None, 2), 2), (slice(1, None, 2), 2), part_of(2, 4))
        self.check((IndexSlice(1, None, 2), 2), (slice(1, None, 2), 2), part_of(1, 4))
        self.check((), ..., part_of(1, 1, 4))
        self.check((IndexSlice(3, 3),), (slice(3, 3),), part_of(1, 6, 4))

    def test_numbers_of_the_program(self) -> None:
        entries = (IndexSlice(IndexInput(2), None, -1), None)
        self.check(entries, (slice(3, None, -1), None), part_of(4, 1, 6, 4), np.int64(3))

    def test_dtypes(self) -> None:
        for dtype in ("bool", "uint8", "int64", "float16"):
            with self.subTest(dtype):
                self.check((1,), (1,), part_of(6, 4), dtype=dtype)

    def test_in_place(self) -> None:
        recorder = Recorder(overwrites=True)
        x = recorder.upload(np.zeros((2, 3)))
        form = device_form.get(write_kernel((1,), [X[:2, :3, 0], np.ones(3)], True))
        assert form is not None, "there is a form"
        kernel = IndexWriteKernel((1,), ("float64", "float64"), (2, 1), True, (False,))
        operand = recorder.operand(x)
        (result,) = form.run(kernel, recorder, [operand, recorder.operand(recorder.upload(np.ones(3)))])
        assert isinstance(result, DeviceOperand), "the result is on the device"
        self.assertEqual(result.slot, operand.slot)
        np.testing.assert_array_equal(np.asarray(x), [[0, 0, 0], [1, 1, 1]])
        # A part of the array itself is read while it is written: that takes a copy.
        (result,) = form.run(kernel, recorder, [operand, operand.view((3,), (8,))])
        assert isinstance(result, DeviceOperand), "the result is on the device"
        self.assertNotEqual(result.slot, operand.slot)

    def test_parts_that_do_not_fit(self) -> None:
        recorder = Recorder()
        text = r"a part of shape \(2,\) does not fit into the indexed part of shape \(6, 4\)"
        with self.assertRaisesRegex(ValueError, text):
            recorder.run(write_kernel((1,), [X, part_of(2)], True), [X, part_of(2)])


@needs_opencl
class TestPositions(WriteCase):
    def test_the_last_value_stays_and_sums_add_up(self) -> None:
        self.check((array(2, I),), I, part_of(2, 3, 6, 4), I)
        self.check((array(2, I), array(3, J)), (I, J), part_of(2, 3, 4), I, J)
        self.check((WHOLE, array(2, J)), (slice(None), J), part_of(5, 2, 3, 4), J)

    def test_broadcast_parts(self) -> None:
        k = abs(J[0]) % 4
        entries = (array(2, I), WHOLE, array(3, k))
        self.check(entries, (I, slice(None), k), part_of(2, 3, 1), I, k)
        self.check(entries, (I, slice(None), k), 3, I, k)

    def test_sums_in_all_dtypes(self) -> None:
        for dtype in ("bool", "int8", "uint16", "int32", "uint64", "float16", "float64"):
            with self.subTest(dtype):
                self.check((array(2, I), array(3, J)), (I, J), part_of(2, 3, 4), I, J, dtype=dtype, kinds=(False,))

    @slow
    def test_sums_in_order(self) -> None:
        self.check((array(2, I), array(3, J)), (I, J), part_of(2, 3, 4), I, J, kinds=(False,), deterministic=True)
        self.check((WHOLE, array(2, J)), (slice(None), J), part_of(5, 2, 3, 4), J, kinds=(False,), deterministic=True)
        for dtype in ("bool", "float16"):
            self.check((array(2, I),), (I,), part_of(2, 3, 6, 4), I, dtype=dtype, kinds=(False,), deterministic=True)

    def test_many_equal_positions(self) -> None:
        rng = np.random.default_rng(2)
        where, values, x = rng.integers(0, 50, 20000), rng.normal(size=20000), np.zeros(50)
        expected = x.copy()
        expected[where] = values
        operands = [x, values, where]
        (result,) = Recorder().run(write_kernel((array(2, where),), operands, True), operands)
        np.testing.assert_array_equal(result, expected)
        np.add.at(x, where, values)
        operands[0] = np.zeros(50)
        (result,) = Recorder().run(write_kernel((array(2, where),), operands, False), operands)
        np.testing.assert_allclose(result, x, rtol=1e-9, atol=1e-9)
        # In the order of the CPU, to the last bit.
        (result,) = Recorder(deterministic=True).run(write_kernel((array(2, where),), operands, False), operands)
        np.testing.assert_array_equal(result, x)

    def test_positions_out_of_bounds(self) -> None:
        wrong = np.array([0, 1, 5, 2])
        for replace, deterministic in ((True, False), (False, False), (False, True)):
            for part in (part_of(4, 6, 4), part_of(4, 6, 4)[:, :0]):
                x = X if part.size else X[:, :0]
                with (
                    self.subTest(replace=replace, deterministic=deterministic, size=part.size),
                    self.assertRaisesRegex(IndexError, "index 5 is out of bounds for axis 0 with size 5"),
                ):
                    kernel = write_kernel((array(2, wrong),), [x, part, wrong], replace)
                    Recorder(deterministic=deterministic).run(kernel, [x, part, wrong])


@needs_opencl
class TestMasks(WriteCase):
    def needs_values(self, entries: tuple[IndexEntry, ...], part: Any, mask: Any) -> bool:
        kernel = write_kernel(entries, [X, part, mask], True)
        form = device_form.get(kernel)
        return form is not None and form.needs_values(kernel)

    def test_values_of_their_own(self) -> None:
        mask = X > 0
        part = part_of(int(mask.sum()))
        self.assertTrue(self.needs_values((array(2, mask),), part, mask))
        self.check((array(2, mask),), mask, part, mask)
        rows = mask[:, 0, 0]
        self.check((array(2, rows),), rows, part_of(int(rows.sum()), 6, 4), rows)
        inner = mask[0]
        entries = (IndexSlice(1, None), array(2, inner))
        self.check(entries, (slice(1, None), inner), part_of(4, int(inner.sum())), inner)

    def test_one_value_needs_no_count(self) -> None:
        mask = X > 0
        self.assertFalse(self.needs_values((array(2, mask),), part_of(1), mask))
        self.assertEqual(self.check((array(2, mask),), mask, 5, mask), 2)
        rows, inner = mask[:, 0, 0], mask[0]
        self.assertFalse(self.needs_values((array(2, rows),), part_of(6, 4), rows))
        self.check((array(2, rows),), rows, part_of(6, 4), rows)
        self.check((array(2, rows),), rows, part_of(1, 6, 4), rows)
        self.check((IndexSlice(1, None), array(2, inner)), (slice(1, None), inner), part_of(4, 1), inner)

    def test_masks_that_do_not_fit(self) -> None:
        mask = np.ones(4, bool)
        for part in (part_of(1), part_of(4, 6, 4)):
            with self.assertRaisesRegex(IndexError, r"boolean index of shape \(4,\) did not match"):
                Recorder().run(write_kernel((array(2, mask),), [X, part, mask], True), [X, part, mask])
