"""Elementwise kernels on devices: dtypes, layouts, broadcasting, and all scalar ops."""

from __future__ import annotations

import unittest
from collections.abc import Sequence
from typing import Any

import numpy as np

from theano_gpuarray.codegen import DeviceOperand, KernelText, NoDeviceForm
from theano_gpuarray.codegen._layouts import layout_of
from theano_gpuarray.codegen.elementwise import merge
from theano_gpuarray.codegen.text import vector_type
from theano_gpuarray.region import AtOnce, form_of, upload
from theano_linker_c import scalar as scalars
from theano_linker_c.scalar import Composite, ScalarOp, ScalarRecord, ScalarType, add, mul, neg, sub, switch
from theano_testing.device import on_device
from theano_testing.gpuarray import needs_opencl
from theano_testing.tiers import slow

from .device_cases import DeviceCase, contexts, elementwise
from .form_support import Recorder

DTYPES = ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
#: Relative errors that results may have beside those of SciPy and NumPy.
ERRORS = {"float16": 2e-3, "float32": 4e-6, "float64": 4e-13}
RNG = np.random.default_rng(5)
#: So many elements, or rows of 128, that work-items of a card take several.
COUNT, ROWS = 140_007, 1100


def numbers(dtype: str, *shape: int) -> Any:
    return np.asarray(RNG.normal(size=shape) * 3).astype(dtype)


@needs_opencl
class TestLayouts(DeviceCase):
    def test_dtypes(self) -> None:
        pairs = [(numbers(dtype, 7, 9), numbers(dtype, 7, 9)) for dtype in DTYPES]
        private = [(ScalarType(dtype)(), ScalarType(dtype)()) for dtype in DTYPES]
        op = Composite([v for pair in private for v in pair], [a - b for a, b in private])
        kernel = elementwise(op, *(dtype for dtype in DTYPES for _ in range(2)), ndim=2)
        with np.errstate(all="ignore"):
            self.check(kernel, [x for pair in pairs for x in pair], [x - y for x, y in pairs])

    def test_bool(self) -> None:
        x, y = np.array([False, True, True]), np.array([True, True, False])
        self.check(elementwise(add, "bool", "bool"), [x, y], [x | y])
        self.check(elementwise(mul, "bool", "bool"), [x, y], [x & y])

    @slow
    def test_strides(self) -> None:
        base = numbers("float32", 40, 50)
        for view in (base[::-1], base[:, ::-1], base[3:30:4, 5::7], base.T, base[::-2, ::-3].T, base[:, :1]):
            self.check(elementwise(neg, "float32", ndim=2), [view], [-view])
            self.check(elementwise(add, "float32", "float32", ndim=2), [view, view.copy()], [view + view])

    def test_many_dimensions(self) -> None:
        x = numbers("float64", 3, 4, 5, 6)
        for view in (x.transpose(2, 0, 3, 1), x[::-1, ::2, :, ::-1], x[:, :1, :, :1]):
            self.check(elementwise(neg, "float64", ndim=4), [view], [-view])

    def test_broadcast(self) -> None:
        full, row, column, one = (numbers("float32", *s) for s in ((30, 40), (1, 40), (30, 1), (1, 1)))
        x, y, z = (ScalarType("float32")(name) for name in "xyz")
        op = Composite([x, y, z], [x * y + z])
        for a, b in ((row, column), (column, row), (one, row), (column, one)):
            broadcast = [(False, False), *((v.shape[0] == 1, v.shape[1] == 1) for v in (a, b))]
            kernel = elementwise(op, *["float32"] * 3, broadcast=broadcast, ndim=2)
            self.check(kernel, [full, a, b], [full * a + b])

    def test_outer(self) -> None:
        row, column = numbers("float32", 1, 40), numbers("float32", 30, 1)
        kernel = elementwise(mul, "float32", "float32", broadcast=[(True, False), (False, True)], ndim=2)
        self.check(kernel, [row, column], [row * column])

    def test_scalars_and_empty_arrays(self) -> None:
        self.check(elementwise(add, "float32", "float32", ndim=0), [np.float32(2), np.float32(3)], [np.float32(5)])
        for shape in ((0, 3), (3, 0), (0, 0)):
            x = np.zeros(shape, "float32")
            self.check(elementwise(add, "float32", "float32", ndim=2), [x, x], [x])

    def test_long_arrays(self) -> None:
        x = numbers("float32", 300_007)
        self.check(elementwise(mul, "float32", "float32"), [x, x[::-1]], [x * x[::-1]])

    def test_several_results(self) -> None:
        x, y = (ScalarType("float64")(name) for name in "xy")
        a, b = numbers("float64", 50), numbers("float64", 50)
        self.check(elementwise(Composite([x, y], [x + y, x - y, x]), "float64", "float64"), [a, b], [a + b, a - b, a])

    def test_sums_and_products_are_rounded_apart(self) -> None:
        x, y, z = (ScalarType("float32")(name) for name in "xyz")
        a, b = numbers("float32", 1000), numbers("float32", 1000)
        self.check(elementwise(Composite([x, y, z], [x * y + z]), *["float32"] * 3), [a, b, -(a * b)], [0 * a + 0])

    def test_lengths_that_differ(self) -> None:
        kernel = elementwise(add, "float32", "float32", ndim=2)
        x = numbers("float32", 3, 4)
        self.refused(kernel, [x, x[:1]], "Input dimension mis-match. (input[0].shape[0] = 3, input[1].shape[0] = 1)")
        self.refused(kernel, [x, x[:1]], "a length of 1 broadcasts only where it is declared")
        self.refused(kernel, [x, x[:, :2]], "pass arrays whose lengths are equal in this dimension")
        fixed = elementwise(add, "float32", "float32", broadcast=[(False, False), (True, False)], ndim=2)
        self.refused(fixed, [x, x], "declared to broadcast")

    def test_what_has_no_form(self) -> None:
        for dtype in ("complex64", "complex128"):
            with self.assertRaises(NoDeviceForm):
                form_of(elementwise(add, dtype, dtype))

    def test_numbers_of_64_bits_where_they_are_needed(self) -> None:
        for size, letter in ((1000, "i"), (2**31, "q")):
            nest = merge((2, size), [(4, 8), (4 * size, 4)])
            layout = layout_of(nest, [4, 4], contexts()["card"].properties)
            self.assertEqual(layout.letter, letter)

    def test_memory_of_the_first_input(self) -> None:
        class Overwriting(AtOnce):
            def may_overwrite(self, operand: DeviceOperand) -> bool:
                return True

        x, y = numbers("float32", 30, 40), numbers("float32", 30, 40)
        kernel = elementwise(sub, "float32", "float32", ndim=2)
        for context in self.each():
            recorder = Overwriting(context)
            a, b = (recorder.operand(upload(context, v)) for v in (x, y))
            for first, second, result in ((a.view((30, 40), (4, 120)), b, None), (a, a, None), (a, b, a.slot)):
                (outcome,) = form_of(kernel).run(kernel, recorder, [first, second])
                self.assertEqual(outcome.slot == a.slot, result is not None)
            np.testing.assert_array_equal(np.asarray(recorder.value(outcome)), x - y)

    def test_more_operands_than_devices_have_parameters_for(self) -> None:
        private = [ScalarType("float32")() for _ in range(300)]
        with self.assertRaises(NoDeviceForm):
            form_of(elementwise(Composite(private, [add(*private)]), *["float32"] * 300))


@needs_opencl
class TestVectors(unittest.TestCase):
    """Loads and stores of several elements at once on graphics cards, and operands that do not lie so."""

    def found(self, kernel: Any, arrays: Sequence[Any], *, overwrites: bool = False) -> tuple[Any, KernelText]:
        """Run a kernel on arrays, or on pairs of an array and the slices of a view of it."""
        recorder = Recorder(card=True, overwrites=overwrites)
        views = []
        for array in arrays:
            full, part = array if isinstance(array, tuple) else (array, ())
            view = recorder.upload(full)[part]
            views.append(recorder.operand(view))
        (result,) = form_of(kernel).run(kernel, recorder, views)
        assert isinstance(result, DeviceOperand), "it is on the device"
        return np.asarray(recorder.value(result)), recorder.texts[-1]

    @slow
    def test_dtypes(self) -> None:
        for dtype in DTYPES:
            width = 16 // np.dtype(dtype).itemsize
            for n in (COUNT, COUNT + 2048 * 8):
                x, y = numbers(dtype, n), numbers(dtype, n)
                with self.subTest(dtype=dtype, n=n), np.errstate(all="ignore"):
                    result, text = self.found(elementwise(sub, dtype, dtype), [x, y])
                    self.assertIn(vector_type(dtype, width), text.text)
                    np.testing.assert_array_equal(result, x - y)

    def test_several_dtypes(self) -> None:
        op = Composite([x := ScalarType("bool")("x"), y := ScalarType("float64")("y")], [switch(x, y, neg(y))])
        a, b = numbers("int8", COUNT) > 0, numbers("float64", COUNT)
        result, text = self.found(elementwise(op, "bool", "float64"), [a, b])
        self.assertIn("theano_uint8_t_x2", text.text)
        np.testing.assert_array_equal(result, np.where(a, b, -b))

    def test_views_that_are_not_aligned(self) -> None:
        for dtype in ("int8", "float16", "float32", "float64"):
            x = numbers(dtype, COUNT + 9)
            for start in (1, 2, 4, 8):
                with self.subTest(dtype=dtype, start=start), np.errstate(all="ignore"):
                    part = slice(start, COUNT + start)
                    result, text = self.found(elementwise(sub, dtype, dtype), [(x, part), x[:COUNT]])
                    self.assertIn("aligned", text.text)
                    np.testing.assert_array_equal(result, x[part] - x[:COUNT])

    def test_rows_and_columns(self) -> None:
        x, y, z = (ScalarType("float32")(name) for name in "xyz")
        op = Composite([x, y, z], [x * y + z])
        for columns, width in ((128, 4), (130, 2), (131, 1)):
            wide = numbers("float32", ROWS, columns + 4)
            row, column = numbers("float32", 1, columns), numbers("float32", ROWS, 1)
            broadcast = [(False, False), (True, False), (False, True)]
            kernel = elementwise(op, *["float32"] * 3, broadcast=broadcast, ndim=2)
            for start in (0, 1, 4):
                with self.subTest(columns=columns, start=start):
                    part = (slice(None), slice(start, columns + start))
                    result, text = self.found(kernel, [(wide, part), row, column])
                    self.assertEqual(width > 1, f"_x{width}" in text.text)
                    np.testing.assert_array_equal(result, wide[part] * row + column)

    def test_what_does_not_lie_side_by_side(self) -> None:
        x = numbers("float32", 300, 70)
        for part in ((slice(None), slice(None, None, -1)), (slice(None), slice(0, 70, 2))):
            result, text = self.found(elementwise(neg, "float32", ndim=2), [(x, part)])
            self.assertNotIn("aligned", text.text)
            np.testing.assert_array_equal(result, -x[part])

    def test_results_in_the_memory_of_the_first_input(self) -> None:
        x, y = numbers("float32", COUNT), numbers("float32", COUNT)
        for overwrites in (False, True):
            result, text = self.found(elementwise(sub, "float32", "float32"), [x, y], overwrites=overwrites)
            self.assertEqual("restrict" in text.text, not overwrites)
            np.testing.assert_array_equal(result, x - y)

    def test_heavy_programs_take_an_element_at_a_time(self) -> None:
        x = np.abs(numbers("float32", COUNT)) + 1
        result, text = self.found(elementwise(scalars.gammaln, "float32"), [x])
        self.assertNotIn("aligned", text.text)
        np.testing.assert_allclose(result, scalars.gammaln.evaluate(x), rtol=1e-5)


@slow
@needs_opencl
class TestScalarOps(DeviceCase):
    """Each scalar op, in each kind of dtype that has it, some ops in a kernel."""

    def test_float16(self) -> None:
        """Operations are those of float32, and their results are rounded: every other one is enough."""
        self._all("float16", slice(None, None, 2))

    def test_float32(self) -> None:
        self._all("float32")

    def test_float64(self) -> None:
        self._all("float64")

    def test_signed(self) -> None:
        for start, dtype in enumerate(("int32", "int64")):
            self._all(dtype, slice(start, None, 2))

    def test_unsigned_and_bool(self) -> None:
        for start, dtype in enumerate(("uint8", "bool")):
            self._all(dtype, slice(start, None, 2))

    def _all(self, dtype: str, part: slice = slice(None)) -> None:
        reference = [record for record in scalars.records if _takes(record.op, _dtypes(record.op, dtype))]
        self.assertGreater(len(reference), 40)
        for at in range(0, len(reference[part]), 16):
            self._some(reference[part][at : at + 16], dtype)

    def _some(self, records: list[ScalarRecord], dtype: str) -> None:
        inputs: list[Any] = []
        values: list[Any] = []
        outputs: list[Any] = []
        expected: list[Any] = []
        for record in records:
            kinds = _dtypes(record.op, dtype)
            operands = [_operand(record, i, kind) for i, kind in enumerate(kinds)]
            private = [ScalarType(kind)() for kind in kinds]
            inputs, values = [*inputs, *private], [*values, *operands]
            outputs.append(record.op(*private))
            expected.append(record.op.evaluate(*operands))
        kernel = elementwise(Composite(inputs, outputs), *(v.dtype.name for v in values))
        with np.errstate(all="ignore"):
            result = on_device(kernel, values, contexts()["cpu"])
        for record, x, y in zip(records, result, expected, strict=True):
            with self.subTest(op=record.op, dtype=dtype):
                self.assertEqual(x.dtype, y.dtype)
                error = ERRORS.get(x.dtype.name, 0)
                np.testing.assert_allclose(x.astype("float64"), y.astype("float64"), rtol=error, atol=error)


def _dtypes(op: ScalarOp, dtype: str) -> tuple[str, ...]:
    return ("bool", dtype, dtype) if op.name == "switch" else (dtype,) * (op.nin if op.nin > 0 else 2)


def _takes(op: ScalarOp, dtypes: tuple[str, ...]) -> bool:
    if op.nout != 1:
        return False
    try:
        return not any("complex" in dtype for dtype in op.result_dtypes(*dtypes))
    except TypeError:
        return False


def _operand(record: ScalarRecord, i: int, dtype: str) -> Any:
    # Orders of Bessel functions and reflected arguments lie right of 0.
    low = 0.1 if i < record.parameters else record.low
    x = RNG.uniform(low, record.high, size=300)
    return x > 0 if dtype == "bool" else (np.abs(x) if dtype.startswith("u") else x).astype(dtype)


if __name__ == "__main__":
    unittest.main()
