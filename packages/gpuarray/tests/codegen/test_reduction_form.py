"""Reductions on devices: axes, dtypes, layouts, several at once, kept results, long ones, and none."""

from __future__ import annotations

import itertools
import unittest
from dataclasses import replace
from typing import Any

import numpy as np

from theano_gpuarray.codegen import NoDeviceForm
from theano_gpuarray.codegen.text import vector_type
from theano_gpuarray.contexts import open_context
from theano_gpuarray.region import AtOnce, form_of, upload
from theano_linker_c.kernels import Reduction, ReductionKernel
from theano_linker_c.scalar import (
    Composite,
    ScalarOp,
    ScalarType,
    add,
    and_,
    identity,
    logaddexp,
    maximum,
    minimum,
    mul,
    or_,
    sub,
    xor,
)
from theano_testing.device import on_device
from theano_testing.gpuarray import needs_opencl, tested_device
from theano_testing.tiers import each_value, slow

from .device_cases import DEVICES, DeviceCase, contexts, texts_of

RNG = np.random.default_rng(7)
FUNCTIONS: dict[str, Any] = {
    "add": np.add,
    "mul": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "or_": np.bitwise_or,
    "and_": np.bitwise_and,
    "xor": np.bitwise_xor,
}
IDENTITIES = {"add": 0, "mul": 1, "or_": 0, "and_": -1, "xor": 0}


def reduction(*ops: ScalarOp, dtype: str, ndim: int, axes: tuple[int, ...]) -> ReductionKernel:
    """Return the kernel of some reductions of the same elements."""
    acc = "float32" if dtype == "float16" else dtype
    private = ScalarType(dtype)("x")
    parts = []
    for op in ops:
        operand = IDENTITIES.get(op.name)
        parts.append(Reduction(op, acc, dtype, True if (op.name, dtype) == ("and_", "bool") else operand))
    program: ScalarOp = identity if len(ops) == 1 else Composite([private], [private] * len(ops))
    return ReductionKernel(program, (dtype,), (), tuple(parts), ((False,) * ndim,), ndim, axes)


def wanted(op: ScalarOp, x: Any, axes: tuple[int, ...]) -> Any:
    wide = x.astype("float32") if x.dtype == "float16" else x
    with np.errstate(all="ignore"):
        return np.asarray(FUNCTIONS[op.name].reduce(wide, axis=axes)).astype(x.dtype)


def every_axes(ndim: int) -> list[tuple[int, ...]]:
    return [axes for n in range(1, ndim + 1) for axes in itertools.combinations(range(ndim), n)]


@needs_opencl
class TestReductions(DeviceCase):
    def _checked(self, ops: tuple[ScalarOp, ...], x: Any, axes: tuple[int, ...], *devices: str) -> None:
        error = {"float16": 2e-3, "float32": 2e-5, "float64": 1e-12}.get(x.dtype.name, 0)
        kernel = reduction(*ops, dtype=x.dtype.name, ndim=x.ndim, axes=axes)
        self.check(kernel, [x], [wanted(op, x, axes) for op in ops], rtol=error, atol=10 * error, devices=devices)

    @slow
    def test_axes(self) -> None:
        for shape, every in (
            ((5,), every_axes(1)),
            ((1000,), every_axes(1)),
            ((7, 300), every_axes(2)),
            ((300, 7), every_axes(2)),
            ((20, 3, 25), [(1,), (0, 2)]),
            ((3, 20, 5, 6), [(0, 2), (1, 3), (0, 1, 3)]),
        ):
            x = RNG.normal(size=shape).astype("float32")
            for axes, device in each_value(every, DEVICES):
                with self.subTest(shape=shape, axes=axes):
                    self._checked((add, maximum), x, axes, device)

    @slow
    def test_dtypes(self) -> None:
        dtypes = ("float16", "float64", "int8", "int32", "int64", "uint8", "uint64")
        for dtype, axis, device in each_value(dtypes, (0, 1), DEVICES):
            x = (RNG.normal(size=(30, 40)) * 2).astype(dtype)
            ops = (add, mul, maximum, minimum) if "float" in dtype else (add, mul, maximum, minimum, or_, and_, xor)
            with self.subTest(dtype=dtype):
                self._checked(ops, x, (axis,), device)

    @slow
    def test_bool(self) -> None:
        x = RNG.random((30, 40)) > 0.9
        for axes in ((0,), (0, 1)):
            self._checked((add, mul, maximum, or_, and_, xor), x, axes)

    @slow
    def test_strides(self) -> None:
        base = RNG.normal(size=(60, 70))
        for view in (base[::-2, 3:50:3], base.T, base[:, ::-1], np.broadcast_to(base[:1], (60, 70))):
            for axes, device in each_value(every_axes(2), DEVICES):
                self._checked((add, minimum), view, axes, device)

    @slow
    def test_nan_and_infinity(self) -> None:
        x = RNG.normal(size=(30, 40)).astype("float32")
        x[3, 5], x[7, :], x[9, 1] = np.nan, -np.inf, np.inf
        for axes in every_axes(2):
            self._checked((add, maximum, minimum), x, axes)

    @slow
    def test_long_reductions_are_split_and_exact(self) -> None:
        x = RNG.random(1_000_003).astype("float32")
        self._checked((add, maximum), x, (0,))
        kernel = reduction(add, dtype="float32", ndim=1, axes=(0,))
        for context in self.each():
            (result,) = on_device(kernel, [x], context)
            self.assertLess(abs(float(result) / x.sum(dtype="float64") - 1), 2e-7)
            (again,) = on_device(kernel, [x], context)
            self.assertEqual(result, again)

    @slow
    def test_tall_and_wide(self) -> None:
        x = RNG.random((20_011, 33)).astype("float32")
        for view in (x, np.ascontiguousarray(x.T)):
            for axes in ((0,), (1,)):
                self._checked((add,), view, axes)

    def test_two_launches_for_a_long_one_and_one_for_others(self) -> None:
        for shape, axes, count in (((10**6,), (0,), 2), ((5000, 300), (1,), 1), ((300, 5000), (0,), 1)):
            kernel = reduction(add, dtype="float32", ndim=len(shape), axes=axes)
            self.assertEqual(len(texts_of(kernel, [np.zeros(shape, "float32")])), count)

    def test_no_elements(self) -> None:
        for shape, axes in (((0, 3), (0,)), ((0, 3), (1,)), ((3, 0), (1,)), ((0, 0), (0, 1))):
            self._checked((add, mul), np.zeros(shape, "float32"), axes)
        kernel = reduction(maximum, dtype="float32", ndim=2, axes=(0,))
        text = "zero-size array to reduction operation maximum which has no identity"
        self.refused(kernel, [np.zeros((0, 3), "float32")], text)
        self._checked((maximum,), np.zeros((3, 0), "float32"), (0,))

    @slow
    def test_kept_results_and_broadcast_inputs(self) -> None:
        a, b = ScalarType("float32")("a"), ScalarType("float32")("b")
        less = a - b
        op = Composite([a, b], [less, less * less, less])
        x, y = RNG.normal(size=(50, 90)).astype("float32"), RNG.normal(size=(50, 1)).astype("float32")
        parts = Reduction(add, "float64", "float32", 0), Reduction(maximum, "float32", "float32", None)
        for axes in every_axes(2):
            kernel = ReductionKernel(
                op, ("float32",) * 2, ("float32",), parts, ((False, False), (False, True)), 2, axes
            )
            results = [x - y, ((x - y) ** 2).sum(axes), np.asarray((x - y).max(axes))]
            self.check(kernel, [x, y], results, rtol=1e-6)

    def test_lengths_that_differ(self) -> None:
        op = Composite([ScalarType("float32")("a"), (b := ScalarType("float32")("b"))], [b])
        part = Reduction(add, "float32", "float32", 0)
        kernel = ReductionKernel(op, ("float32",) * 2, (), (part,), ((False,), (False,)), 1, (0,))
        self.refused(kernel, [np.zeros(3, "float32"), np.zeros(4, "float32")], "Input dimension mis-match")

    def test_accumulators_of_float16_have_no_form(self) -> None:
        kernel = ReductionKernel(
            identity, ("float16",), (), (Reduction(add, "float16", "float16", 0),), ((False,),), 1, (0,)
        )
        with self.assertRaises(NoDeviceForm):
            form_of(kernel)

    def test_operations_without_a_starting_value_have_no_form(self) -> None:
        part = Reduction(sub, "float32", "float32", None)
        with self.assertRaises(NoDeviceForm):
            form_of(ReductionKernel(identity, ("float32",), (), (part,), ((False,),), 1, (0,)))

    def test_other_operations_that_join(self) -> None:
        part = Reduction(logaddexp, "float64", "float64", float("-inf"))
        kernel = ReductionKernel(identity, ("float64",), (), (part,), ((False, False),), 2, (1,))
        x = RNG.normal(size=(20, 300))
        self.check(kernel, [x], [np.logaddexp.reduce(x, 1)], rtol=1e-12)

    def test_groups_that_are_no_power_of_two(self) -> None:
        x = RNG.random((7, 1000)).astype("float32")
        kernel = reduction(add, dtype="float32", ndim=2, axes=(1,))
        context = open_context(tested_device())
        context.properties = replace(context.properties, cpu=False, max_local=100)
        (result,) = on_device(kernel, [x], context)
        np.testing.assert_allclose(result, x.sum(1), rtol=1e-5)

    @slow
    def test_vectors_in_rows(self) -> None:
        for dtype, *shapes in (
            ("float32", (9000, 48), (70, 2048), (3, 4000), (5, 4), (2, 60_000)),
            ("float16", (9000, 48)),
            ("float64", (5, 2)),
            ("int8", (5, 16)),
            ("int64", (70, 2048)),
        ):
            for shape in shapes:
                x = (RNG.normal(size=shape) * 2).astype(dtype)
                text = texts_of(reduction(add, dtype=dtype, ndim=2, axes=(1,)), [x])[0]
                with self.subTest(dtype=dtype, shape=shape):
                    self.assertIn(vector_type(dtype, 16 // x.itemsize), text.text)
                    self._checked((add, maximum), x, (1,))

    def test_the_order_of_sums_does_not_depend_on_addresses(self) -> None:
        context = contexts()["card"]
        full = RNG.normal(size=(300, 1030)).astype("float32")
        kernel = reduction(add, dtype="float32", ndim=2, axes=(1,))
        for start in (1, 2, 4):
            recorder = AtOnce(context, offset=64)
            x = recorder.operand(upload(context, full))
            part = full[:, start : start + 1024]
            sums = []
            for operand in (
                x.view(part.shape, x.strides, x.offset + 4 * start),
                recorder.operand(upload(context, np.ascontiguousarray(part))),
            ):
                (result,) = form_of(kernel).run(kernel, recorder, [operand])
                sums.append(np.asarray(recorder.value(result)))
            np.testing.assert_array_equal(sums[0], sums[1])
            np.testing.assert_allclose(sums[0], part.sum(1), rtol=1e-3, atol=1e-4)

    def test_vectors_of_kept_results_and_numbers_of_rows(self) -> None:
        a, b = ScalarType("float32")("a"), ScalarType("float32")("b")
        op = Composite([a, b], [(less := a - b), less * less])
        x, y = RNG.normal(size=(50, 96)).astype("float32"), RNG.normal(size=(50, 1)).astype("float32")
        part = (Reduction(add, "float32", "float32", 0),)
        kernel = ReductionKernel(op, ("float32",) * 2, ("float32",), part, ((False, False), (False, True)), 2, (1,))
        self.assertIn("theano_float_x4", texts_of(kernel, [x, y])[0].text)
        self.check(kernel, [x, y], [x - y, ((x - y) ** 2).sum(1)], rtol=1e-6)

    def test_offsets(self) -> None:
        for name, context in contexts().items():
            with self.subTest(device=name):
                recorder = AtOnce(context, offset=64)
                x = recorder.operand(upload(context, np.arange(12.0).reshape(3, 4)))
                view = x.view((2, 3), x.strides, x.offset + 8)
                kernel = reduction(add, dtype="float64", ndim=2, axes=(1,))
                (result,) = form_of(kernel).run(kernel, recorder, [view])
                np.testing.assert_array_equal(np.asarray(recorder.value(result)), [6, 18])


if __name__ == "__main__":
    unittest.main()
