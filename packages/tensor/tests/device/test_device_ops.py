"""The documented classes of ops, applied by hand: their values, their text, their arguments."""

from __future__ import annotations

import pickle
import unittest
from typing import Any

import numpy as np

import theano_tensor as T
from theano_gpuarray.arrays import GpuArray
from theano_gpuarray.codegen import NoDeviceForm
from theano_gpuarray.types import DeviceOp, GpuArrayType, host_from_gpu
from theano_linker_c import function, scalar, shared
from theano_linker_c.scalar import Composite
from theano_tensor import device
from theano_tensor.elemwise import Elemwise
from theano_tensor.nnet.convolution import conv2d

from .contexts import NAME, computes
from .test_device_variables import DeviceTestCase

FLOAT = scalar.ScalarType("float64")
INDEX = scalar.ScalarType("int64")


class OpTestCase(DeviceTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.value = np.linspace(-1.0, 1.0, 6).reshape(2, 3)
        self.x = shared(self.value, name="x", target=NAME)

    def check(self, variable: Any, expected: Any) -> None:
        """Compare the values of a device variable, computed in a region and node by node."""
        self.assertIsInstance(variable.type, GpuArrayType)
        self.assertEqual(variable.type.context_name, NAME)
        for mode in ("FAST_RUN", "FAST_COMPILE"):
            result = function([], variable, mode=mode)()
            self.assertIsInstance(result, GpuArray)
            self.assertValues(result, np.asarray(expected), atol=1e-12)


class TestElementwise(OpTestCase):
    def test_values(self) -> None:
        self.check(device.GpuElemwise(scalar.exp)(self.x), np.exp(self.value))
        self.check(device.GpuElemwise(scalar.add)(self.x, self.x, 1.5), 2 * self.value + 1.5)

    def test_dimensions_are_inserted_on_the_device(self) -> None:
        row = shared(np.arange(3.0), target=NAME)
        out = device.GpuElemwise(scalar.mul)(self.x, row)
        self.assertIsInstance(out.owner.inputs[1].owner.op, DeviceOp)
        self.assertEqual(out.owner.inputs[1].owner.inputs, [row])
        self.check(out, self.value * np.arange(3.0))

    def test_text(self) -> None:
        a, b = FLOAT("a"), FLOAT("b")
        fused = Composite([a, b], [a * b + a])
        self.assertEqual(str(device.GpuElemwise(scalar.exp)), "GpuElemwise{exp,no_inplace}")
        self.assertRegex(str(device.GpuElemwise(fused)), r"^GpuElemwise\{Composite\{.*\}\}\[\]<gpuarray>$")
        self.assertRegex(
            str(device.GpuElemwise(fused, {0: 0})), r"^GpuElemwise\{Composite\{.*\}\}\[\(0, 0\)\]<gpuarray>$"
        )
        self.assertEqual(str(device.GpuElemwise(scalar.exp, name="mine")), "mine")

    def test_equality_and_pickles(self) -> None:
        op = device.GpuElemwise(scalar.exp)
        self.assertEqual(op, device.GpuElemwise(scalar.exp))
        self.assertNotEqual(op, device.GpuElemwise(scalar.log))
        self.assertNotEqual(op, device.GpuElemwise(scalar.exp, {0: 0}))
        self.assertEqual(pickle.loads(pickle.dumps(op)), op)
        self.assertEqual((op.scalar_op, dict(op.inplace_pattern), op.nfunc_spec), (scalar.exp, {}, None))
        self.assertNotIsInstance(op, Elemwise)

    def test_wrong_operands(self) -> None:
        no_scalar_op: Any = T.exp
        with self.assertRaisesRegex(TypeError, "no scalar op"):
            device.GpuElemwise(no_scalar_op)
        with self.assertRaisesRegex(TypeError, "exp takes 1 argument, got 2"):
            device.GpuElemwise(scalar.exp)(self.x, self.x)
        three = shared(np.zeros((3, 3)), target=NAME)
        f = function([], device.GpuElemwise(scalar.add)(self.x, three))
        with self.assertRaises(ValueError):
            f()

    def test_number_of_inputs(self) -> None:
        few = device.max_inputs_to_GpuElemwise(device.GpuElemwise(scalar.exp)(self.x).owner)
        many = device.max_inputs_to_GpuElemwise([device.GpuElemwise(scalar.exp)(shared(np.zeros(3), target=NAME))])
        self.assertGreater(many, few)
        self.assertGreater(few, 30)

    def test_inverse_error_functions(self) -> None:
        x = shared(np.linspace(0.1, 0.9, 4), target=NAME)
        y = function([], host_from_gpu(device.GpuElemwise(device.GpuErfinv(name="erfinv"))(x)))()
        z = function([], T.erf(y) if computes() else T.zeros(4))()
        if computes():
            np.testing.assert_allclose(z, np.linspace(0.1, 0.9, 4), rtol=1e-9)

    def test_derivatives(self) -> None:
        cost = host_from_gpu(device.GpuElemwise(scalar.exp)(self.x)).sum()
        self.assertValues(function([], T.grad(cost, self.x))(), np.exp(self.value))


class TestReductions(OpTestCase):
    def test_values(self) -> None:
        self.check(device.GpuCAReduceCuda(scalar.add)(self.x), self.value.sum())
        self.check(device.GpuCAReduceCuda(scalar.add, axis=0)(self.x), self.value.sum(axis=0))
        self.check(device.GpuCAReduceCuda(scalar.add, reduce_mask=(0, 1))(self.x), self.value.sum(axis=1))
        self.check(device.GpuCAReduceCuda(scalar.maximum, axis=1)(self.x), self.value.max(axis=1))
        squares = device.GpuCAReduceCuda(scalar.add, axis=[1], pre_scalar_op=scalar.sqr)
        self.check(squares(self.x), (self.value**2).sum(axis=1))
        self.check(device.GpuCAReduceCPY(scalar.mul, axis=(0,))(self.x), self.value.prod(axis=0))
        self.assertIs(device.GpuCAReduce, device.GpuCAReduceCPY)

    def test_text(self) -> None:
        self.assertEqual(str(device.GpuCAReduceCuda(scalar.add, axis=0)), "GpuCAReduceCuda{add}{0}")
        self.assertEqual(str(device.GpuCAReduceCuda(scalar.add)), "GpuCAReduceCuda{add}")
        pre = device.GpuCAReduceCuda(scalar.maximum, reduce_mask=(1, 0, 1), pre_scalar_op=scalar.sqr)
        self.assertEqual(str(pre), "GpuCAReduceCuda{pre=sqr,red=maximum}{0, 2}")

    def test_text_of_fused_ones(self) -> None:
        f = function([], [T.tanh(self.x).sum(axis=1)], mode="FAST_RUN")
        texts = [str(node.op) for node in f.maker.fgraph.toposort()]
        self.assertIn("GpuCAReduceCuda{pre=Composite{tanh(i0)},red=add}{1}", texts)
        self.assertEqual(str(device.GpuCAReduceCPY(scalar.add, axis=1)), "GpuReduce{add}{1}")

    def test_arguments(self) -> None:
        op = device.GpuCAReduceCuda(scalar.add, axis=1, dtype="float32")
        self.assertEqual((op.scalar_op, op.axis), (scalar.add, (1,)))
        self.assertEqual(op(self.x).dtype, "float32")
        self.assertTrue(op.supports_c_code([self.x]))
        self.assertFalse(device.GpuCAReduceCuda(scalar.add, axis=3).supports_c_code([self.x]))
        with self.assertRaisesRegex(ValueError, "different axes"):
            device.GpuCAReduceCuda(scalar.add, axis=0, reduce_mask=(0, 1))
        with self.assertRaisesRegex(TypeError, "does not take one number"):
            device.GpuCAReduceCuda(scalar.add, pre_scalar_op=scalar.second)


class TestMemory(OpTestCase):
    def test_filled(self) -> None:
        self.check(device.GpuAlloc(NAME)(self.x[0], 2, 3), np.broadcast_to(self.value[0], (2, 3)).copy())
        self.check(device.GpuAlloc(NAME, memset_0=True)(np.float64(0), 4), np.zeros(4))
        self.assertEqual(str(device.GpuAlloc(NAME)), f"GpuAlloc<{NAME}>")
        self.assertEqual(str(device.GpuAlloc(NAME, memset_0=True)), f"GpuAlloc<{NAME}>{{memset_0=True}}")
        self.assertNotEqual(device.GpuAlloc(NAME), device.GpuAlloc(NAME, True))

    def test_empty(self) -> None:
        op = device.GpuAllocEmpty("float32", NAME)
        result = function([], op(2, 3))()
        self.assertEqual((result.shape, result.dtype), ((2, 3), np.dtype("float32")))
        self.assertEqual(str(op), f"GpuAllocEmpty{{dtype='float32', context_name={NAME!r}}}")
        n = T.lscalar("n")
        with self.assertRaisesRegex(ValueError, "a length is negative"):
            function([n], op(n))(-1)

    def test_eye(self) -> None:
        self.check(device.GpuEye("float64", NAME)(3, 4, 1), np.eye(3, 4, 1))
        self.check(device.GpuEye(dtype="float32", context_name=NAME)(2, 2), np.eye(2, dtype="float32"))
        self.assertEqual(str(device.GpuEye("float32", NAME)), f"GpuEye{{dtype='float32', context_name={NAME!r}}}")

    def test_contiguous(self) -> None:
        turned = device.GpuDimShuffle((False, False), (1, 0))(self.x)
        copy = device.gpu_contiguous(turned)
        self.check(copy, self.value.T)
        f = function([], copy)
        self.assertTrue(f().flags["C_CONTIGUOUS"])
        self.assertEqual(device.gpu_contiguous, device.GpuContiguous())
        self.assertValues(function([], T.grad(host_from_gpu(copy).sum(), self.x))(), np.ones((2, 3)))

    def test_shapes(self) -> None:
        self.check(device.GpuReshape(1)(self.x, [6]), self.value.ravel())
        self.check(device.GpuDimShuffle((False, False), ("x", 1, 0))(self.x), self.value.T[None])
        self.assertEqual(str(device.GpuReshape(2)), "GpuReshape{2}")
        self.assertEqual(str(device.GpuReshape(2, name="mine")), "mine")
        self.assertEqual(str(device.GpuDimShuffle((False, False), (1, 0))), "InplaceGpuDimShuffle{1,0}")
        self.assertEqual(str(device.GpuDimShuffle((False,), ("x", 0), inplace=False)), "GpuDimShuffle{x,0}")
        with self.assertRaisesRegex(ValueError, "left out"):
            device.GpuDimShuffle((False, False), (1,))

    def test_joins(self) -> None:
        self.check(device.GpuJoin()(1, self.x, self.x), np.concatenate([self.value, self.value], axis=1))
        first, second = device.GpuSplit(2)(self.x, 1, [1, 2])
        self.check(first, self.value[:, :1])
        self.check(second, self.value[:, 1:])
        self.assertEqual((str(device.GpuJoin()), str(device.GpuSplit(2))), ("GpuJoin", "GpuSplit{2}"))
        self.assertEqual((device.GpuJoin().view, device.GpuSplit(2).len_splits), (-1, 2))


class TestProducts(OpTestCase):
    def test_values(self) -> None:
        a = shared(np.arange(6.0).reshape(3, 2), target=NAME)
        z = shared(np.ones((2, 2)), target=NAME)
        product = self.value @ np.arange(6.0).reshape(3, 2)
        self.check(device.GpuDot22()(self.x, a), product)
        self.check(device.GpuGemm()(z, 2.0, self.x, a, 0.5), 2 * product + 0.5)
        self.check(device.GpuGemm(inplace=True)(z, 1.0, self.x, a, 0.0), product)
        v, y = shared(np.arange(3.0), target=NAME), shared(np.ones(2), target=NAME)
        self.check(device.GpuGemv()(y, 1.0, self.x, v, 2.0), self.value @ np.arange(3.0) + 2)
        self.check(device.GpuGer()(self.x, 0.5, y, v), self.value + 0.5 * np.outer(np.ones(2), np.arange(3.0)))

    def test_text(self) -> None:
        self.assertEqual(str(device.GpuGemm()), "GpuGemm{inplace=False}")
        self.assertEqual(str(device.gpugemv_inplace), "GpuGemv{inplace=True}")
        self.assertEqual(str(device.GpuGer(inplace=True)), "GpuGer{inplace=True}")
        self.assertEqual(str(device.GpuDot22()), "GpuDot22")
        self.assertNotEqual(device.GpuGemm(), device.GpuGemm(inplace=True))

    def test_operands_that_do_not_fit(self) -> None:
        with self.assertRaises(TypeError):
            device.GpuDot22()(self.x, shared(np.zeros(3), target=NAME))


class TestIndexing(OpTestCase):
    def test_parts(self) -> None:
        self.check(device.GpuSubtensor([INDEX, slice(None, None, -1)])(self.x, 1), self.value[1, ::-1])
        self.check(device.GpuSubtensor([0])(self.x), self.value[0])
        self.check(device.GpuAdvancedSubtensor1()(self.x, np.asarray([1, 0, 1])), self.value[[1, 0, 1]])
        self.check(
            device.GpuAdvancedSubtensor()(self.x, np.asarray([1, 0]), np.asarray([2, 1])), self.value[[1, 0], [2, 1]]
        )

    def test_changes(self) -> None:
        part = shared(np.full(3, 5.0), target=NAME)
        expected = self.value.copy()
        expected[0] = 5.0
        self.check(device.GpuIncSubtensor([0], set_instead_of_inc=True)(self.x, part), expected)
        expected = self.value.copy()
        expected[1] += 5.0
        self.check(device.GpuIncSubtensor([INDEX])(self.x, part, 1), expected)
        rows = shared(np.ones((3, 3)), target=NAME)
        expected = self.value.copy()
        np.add.at(expected, [1, 0, 1], 1.0)
        for op in (device.GpuAdvancedIncSubtensor1(), device.GpuAdvancedIncSubtensor1_dev20()):
            self.check(op(self.x, rows, np.asarray([1, 0, 1], "int32")), expected)
        where = np.asarray([1, 0]), np.asarray([2, 1])
        expected = self.value.copy()
        expected[where] = 7.0
        values = shared(np.full(2, 7.0), target=NAME)
        self.check(device.GpuAdvancedIncSubtensor(set_instead_of_inc=True)(self.x, values, *where), expected)

    def test_text_and_arguments(self) -> None:
        self.assertEqual(str(device.GpuSubtensor([INDEX])), "GpuSubtensor{int64}")
        op = device.GpuIncSubtensor([slice(1, None)], inplace=True, set_instead_of_inc=True)
        self.assertEqual(str(op), "GpuIncSubtensor{InplaceSet;1:}")
        self.assertEqual((op.inplace, op.set_instead_of_inc, op.idx_list), (True, True, [slice(1, None)]))
        self.assertEqual(device.GpuSubtensor([3]).idx_list, (3,))
        self.assertEqual(str(device.GpuAdvancedSubtensor1()), "GpuAdvancedSubtensor1")
        self.assertTrue(device.GpuAdvancedSubtensor1(sparse_grad=True).sparse_grad)

    def test_an_index_out_of_bounds(self) -> None:
        i = T.lscalar("i")
        f = function([i], device.GpuSubtensor([INDEX])(self.x, i))
        with self.assertRaises(IndexError):
            f(2)


class TestConvolutions(OpTestCase):
    def test_text_and_arguments(self) -> None:
        op = device.GpuCorrMM(border_mode="half", subsample=(2, 1))
        self.assertEqual(str(op), "GpuCorrMM{half, (2, 1), (1, 1), 1 False}")
        self.assertEqual((op.border_mode, op.subsample, op.num_groups, op.unshared), ("half", (2, 1), 1, False))
        self.assertEqual(op.flops([(1, 2, 5, 5), (3, 2, 3, 3)], [(1, 3, 3, 5)]), 2 * 45 * 18)
        for base in (device.BaseGpuCorrMM, device.BaseGpuCorr3dMM):
            with self.assertRaisesRegex(TypeError, "is a base, and computes nothing"):
                base()

    def test_lengths_that_do_not_follow(self) -> None:
        images = GpuArrayType("float32", (False,) * 4, NAME)("images")
        for op in (device.GpuCorrMM_gradWeights(border_mode="half"), device.GpuCorrMM_gradInputs(subsample=(2, 2))):
            with self.assertRaisesRegex(ValueError, "the lengths do not follow"):
                op.make_node(images, images)

    def test_unshared_filters(self) -> None:
        images, filters = GpuArrayType("float32", (False,) * 4, NAME)(), GpuArrayType("float32", (False,) * 6, NAME)()
        with self.assertRaisesRegex(NoDeviceForm, "devices cannot compute"):
            device.GpuCorrMM(unshared=True)(images, filters)

    def test_values(self) -> None:
        rng = np.random.default_rng(3)
        images, filters = rng.normal(size=(2, 3, 6, 5)), rng.normal(size=(4, 3, 3, 2))
        gi, gf = shared(images, target=NAME), shared(filters, target=NAME)
        for border in ("valid", "full", "half", (1, 2)):
            with self.subTest(border=border):
                expected = function([], conv2d(images, filters, border_mode=border, filter_flip=False))()
                forward = device.GpuCorrMM(border_mode=border)(gi, gf)
                self.check(forward, expected)
                cost = (conv2d(gi, gf, border_mode=border, filter_flip=False) ** 2).sum() / 2
                by_images, by_filters = function([], T.grad(cost, [gi, gf]))()
                top = shared(expected, target=NAME)
                self.check(device.GpuCorrMM_gradInputs(border_mode=border)(gf, top), by_images)
                lengths = () if border != "half" else ([3, 2],)
                self.check(device.GpuCorrMM_gradWeights(border_mode=border)(gi, top, *lengths), by_filters)


if __name__ == "__main__":
    unittest.main()
