"""Device forms of views, joins, and arrays that follow from lengths."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

from theano_gpuarray.codegen import NoDeviceForm
from theano_linker_c.kernels import (
    ArrayRoutineKernel,
    ConcatenateKernel,
    FullKernel,
    IndexInput,
    IndexSlice,
    IndexViewKernel,
    Kernel,
    LengthKernel,
    ReshapeKernel,
    SpecifyShapeKernel,
    SplitKernel,
    StackKernel,
    TransposeKernel,
)
from theano_testing.gpuarray import needs_opencl

from .form_support import Card, Recorder, on_card

X = np.arange(24.0).reshape(2, 3, 4)


class FormCase(unittest.TestCase):
    """Runs kernels on a new recorder for each test."""

    def setUp(self) -> None:
        self.recorder = Recorder()

    def check(self, kernel: Kernel, values: list[Any], *expected: Any, launches: int | None = None) -> None:
        before = self.recorder.launches
        outcome = self.recorder.run(kernel, values)
        for result, value in zip(outcome, expected, strict=True):
            np.testing.assert_array_equal(result, value)
            self.assertEqual((result.dtype, result.shape), (np.asarray(value).dtype, np.shape(value)))
        if launches is not None:
            self.assertEqual(self.recorder.launches - before, launches)

    def refuse(self, kernel: Kernel, values: list[Any], error: type[Exception], text: str) -> None:
        with self.assertRaisesRegex(error, text):
            self.recorder.run(kernel, values)


@needs_opencl
class TestViews(FormCase):
    def test_transpose(self) -> None:
        self.check(TransposeKernel((2, None, 0, 1), ()), [on_card(X)], X.transpose(2, 0, 1)[:, None], launches=0)
        self.check(TransposeKernel((1,), (0,)), [X[:1, 0]], X[0, 0], launches=0)
        self.refuse(TransposeKernel((1,), (0,)), [X[0]], ValueError, r"dimension 0 of an array of shape \(3, 4\)")

    def test_length(self) -> None:
        self.check(LengthKernel(1), [X], np.int64(3), launches=0)

    def test_specified_shape(self) -> None:
        kernel = SpecifyShapeKernel((True, False, True))
        self.check(kernel, [X, np.int64(2), np.int64(4)], X, launches=0)
        self.refuse(
            kernel,
            [X, np.int64(2), np.int64(5)],
            AssertionError,
            r"SpecifyShape: dimension 2 has length 4, expected 5 \(shape \(2, 3, 4\)\)",
        )
        self.check(kernel, [X[:1, :, :1]], X[:1, :, :1])
        self.refuse(
            kernel, [X], ValueError, r"Dimension 0 in Rebroadcast's input was supposed to be 1 \(got 2 instead\)"
        )

    def test_reshape_of_contiguous_parts_is_a_view(self) -> None:
        for shape in ([6, 4], [-1], [2, 1, 3, 2, 2], [24]):
            with self.subTest(shape):
                self.check(ReshapeKernel("float64", 3, len(shape)), [X, np.array(shape)], X.reshape(shape), launches=0)
        self.check(ReshapeKernel("float64", 3, 2), [X[:0], np.array([5, 0])], np.zeros((5, 0)))
        self.check(ReshapeKernel("float64", 0, 2), [np.float64(3), np.array([1, 1])], np.full((1, 1), 3.0))

    def test_reshape_of_other_layouts(self) -> None:
        self.check(
            ReshapeKernel("float64", 3, 4), [on_card(X), np.array([2, 3, 2, 2])], X.reshape(2, 3, 2, 2), launches=0
        )
        self.check(ReshapeKernel("float64", 3, 2), [on_card(X), np.array([4, 6])], X.reshape(4, 6), launches=1)

    def test_reshapes_that_cannot_be(self) -> None:
        kernel = ReshapeKernel("float64", 3, 2)
        for shape, text in (
            ([2, 3, 4], "the shape has 3 lengths, expected 2"),
            ([-1, -1], r"\(-1, -1\) is no shape: at most one length may be -1"),
            ([5, 5], r"cannot give an array of shape \(2, 3, 4\) the shape \(5, 5\)"),
            ([-1, 5], r"cannot give an array of shape \(2, 3, 4\) the shape \(-1, 5\)"),
            ([-1, 0], r"cannot give an array of shape \(2, 3, 4\) the shape \(-1, 0\)"),
        ):
            with self.subTest(shape):
                self.refuse(kernel, [X, np.array(shape)], ValueError, text)

    def test_split(self) -> None:
        kernel = SplitKernel("float64", 3, 1)
        lengths = np.array([1, 0, 2])
        self.check(kernel, [on_card(X), np.int64(1), lengths], X[:, :1], X[:, 1:1], X[:, 1:], launches=0)
        text = r"split: lengths \[1, 1\] do not add up to 3 in 2 parts"
        self.refuse(kernel, [X, np.int64(1), np.array([1, 1])], ValueError, text)

    def test_index(self) -> None:
        entries = (IndexSlice(IndexInput(1), None, -1), None, -1, IndexSlice(None, None, 2))
        kernel = IndexViewKernel(entries, ("float64", "int64"), (3, 0))
        self.check(kernel, [on_card(X), np.int64(0)], X[0::-1, None, -1, ::2], launches=0)
        one = IndexViewKernel((IndexInput(1),), ("float64", "int64"), (3, 0))
        text = r"index 2 is out of bounds for axis 0 with size 2 \(shape \(2, 3, 4\)\)"
        self.refuse(one, [X, np.int64(2)], IndexError, text)
        step = IndexViewKernel((IndexSlice(None, None, IndexInput(1)),), ("float64", "int64"), (3, 0))
        self.refuse(step, [X, np.int64(0)], ValueError, "slice step cannot be zero")


@needs_opencl
class TestJoins(FormCase):
    def test_concatenate(self) -> None:
        for dtype in ("bool", "int16", "float16", "float32", "float64"):
            x = (X % 5).astype(dtype)
            for axis in range(3) if dtype == "float32" else (1,):
                with self.subTest(dtype=dtype, axis=axis):
                    short = x.take([1], axis)
                    parts = [on_card(x), x.take([], axis), on_card(short), x]
                    expected = np.concatenate([x, short, x], axis)
                    self.check(ConcatenateKernel(dtype, 3, axis), [np.int64(axis), *parts], expected, launches=1)

    def test_many_parts(self) -> None:
        parts = [X + k for k in range(40)]
        expected = np.concatenate(parts, 1)
        self.check(ConcatenateKernel("float64", 3, 1), [np.int64(1), *parts], expected, launches=3)

    def test_one_part(self) -> None:
        self.check(ConcatenateKernel("float64", 3, 0), [np.int64(0), on_card(X)], X)
        self.check(ConcatenateKernel("float64", 3, 0), [np.int64(0), X[:0], X[:0]], X[:0], launches=0)

    def test_parts_that_do_not_fit(self) -> None:
        text = r"join: shapes \(2, 3, 4\), \(2, 2, 4\) do not fit along axis 0"
        self.refuse(ConcatenateKernel("float64", 3, 0), [np.int64(0), X, X[:, :2]], ValueError, text)

    def test_stack(self) -> None:
        self.check(StackKernel("float32"), [np.float32(k) for k in range(5)], np.arange(5, dtype="float32"), launches=1)

    def test_stack_of_numbers_on_the_host_stays_there(self) -> None:
        card = Card()
        (result,) = card.run(StackKernel("int64"), [np.int64(3), np.array(4)])
        np.testing.assert_array_equal(result, [3, 4])
        self.assertEqual(card.launches, [])

    def test_full(self) -> None:
        value = on_card(X[0, :, :1])
        kernel = FullKernel("float64", (False, True))
        lengths = [np.int64(n) for n in (5, 3, 4)]
        self.check(kernel, [value, *lengths], np.broadcast_to(X[0, :, :1], (5, 3, 4)), launches=1)
        self.check(FullKernel("float64", ()), [np.float64(2), *lengths], np.full((5, 3, 4), 2.0), launches=1)
        self.check(FullKernel("float64", ()), [np.float64(2), np.int64(0)], np.zeros(0))
        self.refuse(FullKernel("float64", ()), [np.float64(2), np.int64(-1)], ValueError, r"alloc: \(-1,\) is no shape")
        text = r"a value of shape \(3, 1\) does not fit into the shape \(5, 4, 4\)"
        self.refuse(kernel, [value, np.int64(5), np.int64(4), np.int64(4)], ValueError, text)

    def test_complex_numbers_stay_on_the_host(self) -> None:
        for kernel in (FullKernel("complex64", ()), ConcatenateKernel("complex64", 1, 0), StackKernel("complex64")):
            with self.assertRaisesRegex(NoDeviceForm, "has no device form"):
                self.recorder.run(kernel, [])


@needs_opencl
class TestRoutines(FormCase):
    def test_diagonal(self) -> None:
        x = X[0]
        for number in (-4, -1, 0, 2, 5):
            with self.subTest(number):
                expected = np.diagonal(x, number)
                self.check(ArrayRoutineKernel("diagonal", "float64", number), [on_card(x)], expected)

    def test_arange(self) -> None:
        kernel = ArrayRoutineKernel("arange", "int64")
        for bounds in ((0, 5, 1), (5, 0, 1), (2**40, 2**40 - 9, -4)):
            with self.subTest(bounds):
                self.check(kernel, [np.int64(n) for n in bounds], np.arange(*bounds))
        text = "arange: from 0 to 3 in steps of zero there is no end"
        self.refuse(kernel, [np.int8(0), np.int8(3), np.int8(0)], ValueError, text)

    def test_eye(self) -> None:
        for dtype in ("float16", "float32", "int8", "bool"):
            kernel = ArrayRoutineKernel("eye", dtype)
            for sizes in ((3, 4, 1), (4, 3, -2), (0, 3, 0), (2, 2, 5)):
                with self.subTest(dtype=dtype, sizes=sizes):
                    self.check(kernel, [np.int64(n) for n in sizes], np.eye(*sizes, dtype=dtype))
        text = "negative dimensions are not allowed"
        self.refuse(ArrayRoutineKernel("eye", "bool"), [np.int64(-1), np.int64(2), np.int64(0)], ValueError, text)
