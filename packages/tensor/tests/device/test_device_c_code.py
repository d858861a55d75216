"""Methods of device ops that return C code: it is compiled and run, and computes the values of the host's op."""

from __future__ import annotations

import io
import unittest
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from theano_gpuarray.arrays import GpuArray, asarray
from theano_gpuarray.kernel_base import GpuKernelBase
from theano_gpuarray.types import GpuArrayType, device_kernel
from theano_graph import Apply, Op
from theano_linker_c.cop import c_thunk
from theano_linker_c.scalar import add, and_, maximum, mul, sqr
from theano_tensor import lscalar, matrix, tensor3
from theano_tensor.device.ops import (
    GpuCAReduceCuda,
    GpuCorr3dMM,
    GpuCorr3dMM_gradInputs,
    GpuCorr3dMM_gradWeights,
    GpuCorrMM,
    GpuCorrMM_gradInputs,
    GpuCorrMM_gradWeights,
    GpuIncSubtensor,
)
from theano_testing.tiers import slow

from .contexts import NAME, computes, context


def kind(dtype: str, ndim: int) -> GpuArrayType:
    context()
    return GpuArrayType(dtype, (False,) * ndim, NAME)


def on_device(x: Any) -> GpuArray:
    return asarray(x, context=context())


def run(op: Op, output: GpuArrayType, *values: Any) -> Any:
    """Run the C code of an op on arrays of the device, and on numbers of the host."""
    inputs = [
        kind(x.dtype.name, x.ndim).make_variable() if isinstance(x, GpuArray) else lscalar().type.make_variable()
        for x in values
    ]
    thunk = c_thunk(Apply(op, inputs, [output.make_variable()]))
    assert thunk is not None
    (result,) = thunk([x if isinstance(x, GpuArray) else np.asarray(x, "int64") for x in values])
    return result


class Correlation(GpuKernelBase, Op):
    """A correlation or a gradient of it, by the code of `c_code_helper`."""

    __props__ = ("op", "direction")

    def __init__(self, op: Any, direction: str) -> None:
        self.op, self.direction = op, direction

    def gpu_kernels(self, node: Apply, name: str) -> list[Any]:
        return []

    def c_code(self, node: Apply, name: str, inputs: Sequence[str], outputs: Sequence[str], sub: Any) -> str:
        a, b, *lengths = inputs
        names = {
            "forward": (a, b, outputs[0]),
            "backprop weights": (a, outputs[0], b),
            "backprop inputs": (outputs[0], a, b),
        }[self.direction]
        code: str = self.op.c_code_helper(*names, self.direction, sub, *lengths)
        return code


class TestCorrelations(unittest.TestCase):
    def check(self, ops: Sequence[Any], image: Any, filters: Any, lengths: bool = True) -> None:
        """Compare all three directions with the device ops, which tests of their own compare with the host."""
        rng = np.random.default_rng(3)
        forward, by_filters, by_images = ops
        x, w = (on_device(rng.normal(size=shape).astype("float32")) for shape in (image, filters))
        out = kind("float32", x.ndim)
        z = run(Correlation(forward, "forward"), out, x, w)
        self.equal(z, forward, x, w)
        g = on_device(rng.normal(size=z.shape).astype("float32"))
        operands = list(filters[2:]) if lengths else []
        self.equal(
            run(Correlation(by_filters, "backprop weights"), out, x, g, *operands), by_filters, x, g, filters[2:]
        )
        operands = list(image[2:]) if lengths else []
        self.equal(run(Correlation(by_images, "backprop inputs"), out, w, g, *operands), by_images, w, g, image[2:])

    def equal(self, result: Any, op: Any, a: GpuArray, b: GpuArray, lengths: Sequence[int] | None = None) -> None:
        more = [] if lengths is None else [np.asarray(lengths, "int64")]
        node = op.make_node(*(kind("float32", a.ndim).make_variable() for _ in range(2)), *more)
        storage: list[list[Any]] = [[None]]
        op.perform(node, [a, b, *more], storage)
        expected = storage[0][0]
        self.assertEqual(result.shape, expected.shape)
        if computes():
            np.testing.assert_allclose(np.asarray(result), np.asarray(expected), rtol=1e-5, atol=1e-5)

    def ops(self, classes: Sequence[Any], **arguments: Any) -> list[Any]:
        return [result(**arguments) for result in classes]

    @slow
    def test_images(self) -> None:
        classes = (GpuCorrMM, GpuCorrMM_gradWeights, GpuCorrMM_gradInputs)
        for border, subsample, dilation in (
            ("valid", (2, 1), (1, 1)),
            (((1, 0), (0, 2)), (2, 1), (1, 2)),
        ):
            with self.subTest(border=border, subsample=subsample):
                ops = self.ops(classes, border_mode=border, subsample=subsample, filter_dilation=dilation)
                self.check(ops, (2, 3, 8, 9), (4, 3, 3, 2))
        self.check(self.ops(classes, num_groups=2), (2, 4, 5, 6), (6, 2, 3, 3))

    @slow
    def test_lengths_that_follow(self) -> None:
        classes = (GpuCorrMM, GpuCorrMM_gradWeights, GpuCorrMM_gradInputs)
        for border in ("full", (1, 2)):
            with self.subTest(border=border):
                self.check(self.ops(classes, border_mode=border), (2, 3, 8, 9), (4, 3, 3, 2), lengths=False)

    @slow
    def test_volumes(self) -> None:
        classes = (GpuCorr3dMM, GpuCorr3dMM_gradWeights, GpuCorr3dMM_gradInputs)
        for border in ("half", (1, 0, 2)):
            with self.subTest(border=border):
                self.check(self.ops(classes, border_mode=border), (2, 2, 5, 6, 4), (3, 2, 3, 2, 1))

    def test_wrong_calls(self) -> None:
        sub = {"fail": "{}"}
        op = GpuCorrMM(subsample=(2, 1))
        with self.assertRaisesRegex(ValueError, "there is no direction 'backwards'"):
            op.c_code_helper("a", "b", "c", "backwards", sub)
        with self.assertRaisesRegex(ValueError, "the height does not follow"):
            op.c_code_helper("a", "b", "c", "backprop inputs", sub)
        op.c_code_helper("a", "b", "c", "backprop inputs", sub, height="h")
        with self.assertRaisesRegex(ValueError, "the width does not follow"):
            GpuCorrMM(border_mode="half").c_code_helper("a", "b", "c", "backprop weights", sub, height="h")
        with self.assertRaisesRegex(ValueError, "the depth does not follow"):
            GpuCorr3dMM(subsample=(1, 1, 2)).c_code_helper("a", "b", "c", "backprop inputs", sub)
        with self.assertRaisesRegex(TypeError, "filters for each position"):
            GpuCorrMM(unshared=True).c_code_helper("a", "b", "c", "forward", sub)

    def test_values_that_do_not_fit(self) -> None:
        x, w = (on_device(np.zeros(shape, "float32")) for shape in ((1, 1, 2, 2), (1, 1, 5, 5)))
        with self.assertRaisesRegex(ValueError, "lengths of axis 0 do not fit"):
            run(Correlation(GpuCorrMM(), "forward"), kind("float32", 4), x, w)


class Reduced(GpuKernelBase, Op):
    """A reduction by the code of `c_code_reduce_01X`."""

    __props__ = ("op", "dtype")
    _f16_ok = True

    def __init__(self, op: GpuCAReduceCuda, dtype: str) -> None:
        self.op, self.dtype = op, dtype

    def gpu_kernels(self, node: Apply, name: str) -> list[Any]:
        return self.op.gpu_kernels(node, name)

    def c_code(
        self, node: Apply, name: str, inputs: Sequence[str], outputs: Sequence[str], sub: Mapping[str, str]
    ) -> str:
        (x,), (z,) = inputs, outputs
        sio = io.StringIO()
        sio.write(f"""
            if (theano_prep_output(&{z}, 1, PyGpuArray_DIMS({x}), {node.outputs[0].type.typecode}, GA_C_ORDER,
                                   {sub["params"]}))
                {sub["fail"]}
        """)
        self.op.c_code_reduce_01X(sio, node, name, x, z, sub["fail"], node.inputs[0].type.ndim - 1)
        return sio.getvalue()


class TestReductions(unittest.TestCase):
    def reduced(self, op: GpuCAReduceCuda, x: GpuArray) -> Any:
        variable = kind(x.dtype.name, x.ndim).make_variable()
        plain: Any = device_kernel(GpuCAReduceCuda.of(op.host_op).make_node(variable))
        dtype = plain.reductions[0].output_dtype
        return run(Reduced(op, dtype), kind(dtype, 1), x)

    @slow
    def test_values(self) -> None:
        rng = np.random.default_rng(7)
        for shape, dtype, joins, numpy_name in (
            ((3, 5), "float32", add, "sum"),
            ((2, 1000), "float32", add, "sum"),
            ((3, 0), "float32", add, "sum"),
            ((4, 3, 7), "float64", mul, "prod"),
            ((2, 3, 4, 5), "int8", add, "sum"),
            ((5, 1, 300), "float16", maximum, "max"),
            ((2, 3, 1, 2), "float32", maximum, "max"),
        ):
            x = (rng.normal(size=shape) * 3).astype(dtype)
            with self.subTest(shape=shape, dtype=dtype, joins=numpy_name):
                mask = (0, *[1] * (len(shape) - 1))
                result = self.reduced(GpuCAReduceCuda(joins, reduce_mask=mask), on_device(x))
                expected = getattr(np, numpy_name)(x, axis=tuple(range(1, len(shape))))
                self.assertEqual(result.shape, expected.shape)
                if computes():
                    np.testing.assert_allclose(np.asarray(result), expected, rtol=2e-4, atol=1e-4)

    @slow
    def test_views_and_other_ops(self) -> None:
        x = np.random.default_rng(8).normal(size=(5, 4, 6)).astype("float32")
        turned = on_device(x).transpose(2, 0, 1)[::-1]
        result = self.reduced(GpuCAReduceCuda(add, reduce_mask=(0, 1, 1), pre_scalar_op=sqr), turned)
        bits = self.reduced(GpuCAReduceCuda(and_, reduce_mask=(0, 1)), on_device(x[0] > -1))
        self.assertEqual((result.shape, bits.shape), ((6,), (4,)))
        if computes():
            np.testing.assert_allclose(np.asarray(result), (x**2).sum((0, 1))[::-1], rtol=1e-5)
            np.testing.assert_array_equal(np.asarray(bits), (x[0] > -1).all(1))

    def test_other_axes(self) -> None:
        op = GpuCAReduceCuda(add, reduce_mask=(1, 0))
        node = op.make_node(kind("float32", 2).make_variable())
        with self.assertRaisesRegex(TypeError, "no kernel for axes .0,. of 2 dimensions"):
            op.gpu_kernels(node, "n")
        with self.assertRaisesRegex(ValueError, "N=4"):
            op.c_code_reduce_01X(io.StringIO(), node, "n", "x", "z", "", 4)


class Replaced(GpuKernelBase, Op):
    """Row 1 of a matrix replaced, by the parts of C code of `GpuIncSubtensor`."""

    __props__ = ()

    def gpu_kernels(self, node: Apply, name: str) -> list[Any]:
        return []

    def c_code(
        self, node: Apply, name: str, inputs: Sequence[str], outputs: Sequence[str], sub: Mapping[str, str]
    ) -> str:
        x, y = inputs
        z = outputs[0]
        op = GpuIncSubtensor([1], set_instead_of_inc=True)
        op.do_type_checking(node)
        prefix = op.get_helper_c_code_args()["c_prefix"]
        unit = op.get_helper_c_code_args()["strides_mul"]
        return f"""
        PyGpuArrayObject *view = NULL;
        int failed;
        Py_XDECREF({z});
        {z} = {op.copy_of_x(x)};
        if ({z} == NULL) {sub["fail"]}
        view = {op.make_view_array(z, 1)};
        if (view == NULL) {sub["fail"]}
        view->ga.offset += (size_t)({prefix}_STRIDES({z})[0] * {unit});
        view->ga.dimensions[0] = {prefix}_DIMS({z})[1];
        view->ga.strides[0] = {prefix}_STRIDES({z})[1];
        GpuArray_fix_flags(&view->ga);
        failed = {op.copy_into("view", y)};
        Py_DECREF((PyObject *)view);
        if (failed) {{
            PyErr_SetString(PyExc_ValueError, GpuArray_error(&{z}->ga, failed));
            {sub["fail"]}
        }}
        """


class TestParts(unittest.TestCase):
    def test_a_row(self) -> None:
        x = np.arange(12, dtype="float32").reshape(3, 4)
        operand = on_device(x)
        for y in (np.array([9, 8, 7, 6], "float32"), np.array([5], "int8")):
            result = run(Replaced(), kind("float32", 2), operand, on_device(y))
            expected = x.copy()
            expected[1] = y
            self.assertEqual(result.shape, x.shape)
            if computes():
                np.testing.assert_array_equal(np.asarray(result), expected)
                np.testing.assert_array_equal(np.asarray(operand), x)
        with self.assertRaisesRegex(ValueError, "do not broadcast"):
            run(Replaced(), kind("float32", 2), operand, on_device(np.zeros(3, "float32")))

    def test_types(self) -> None:
        op = GpuIncSubtensor([1])
        x = kind("float32", 3).make_variable()
        op.do_type_checking(op.make_node(x, kind("float32", 2).make_variable()))
        with self.assertRaisesRegex(NotImplementedError, "on a device"):
            op.do_type_checking(Apply(op, [tensor3(), matrix()], [x.type.make_variable()]))


if __name__ == "__main__":
    unittest.main()
