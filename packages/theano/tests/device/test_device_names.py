"""The documented names of `theano.gpuarray`, used as the manual does."""

from __future__ import annotations

import unittest
import warnings
from functools import cache
from typing import Any

import numpy as np
from scipy.ndimage import map_coordinates

import theano
import theano.tensor as T
from theano import config, gpuarray, tensor
from theano.gof import Apply, Op
from theano.gpuarray import ctc, dnn, fft, linalg, neighbours, nnet, pygpu
from theano.gpuarray.basic_ops import (
    GpuEye,
    GpuKernelBase,
    Kernel,
    as_gpuarray_variable,
    host_from_gpu,
    infer_context_name,
)
from theano.gpuarray.fp16_help import write_w
from theano.gpuarray.type import GpuArrayType, get_context, list_contexts, reg_context
from theano.gradient import grad_undefined
from theano_gpuarray.contexts import DeviceUnavailable, open_context
from theano_testing.tiers import slow

NAME = "names"


@cache
def computes() -> bool:
    """Register a context, and tell whether it computes."""
    try:
        context = open_context("opencl")
    except DeviceUnavailable:
        context = open_context("null0")
    reg_context(NAME, context)
    return context.kind != "null"


class Eye(GpuKernelBase, Op):
    """The example of the manual, launched from Python."""

    __props__ = ("dtype", "context_name")
    _f16_ok = True

    def __init__(self, dtype: Any = None, context_name: Any = None) -> None:
        self.dtype = config.floatX if dtype is None else dtype
        self.context_name = context_name

    def get_params(self, node: Any) -> Any:
        return get_context(self.context_name)

    def make_node(self, n: Any, m: Any, k: Any) -> Any:
        n, m, k = (tensor.as_tensor_variable(v) for v in (n, m, k))
        otype = GpuArrayType(dtype=self.dtype, broadcastable=(False, False), context_name=self.context_name)
        return Apply(self, [n, m, k], [otype()])

    def infer_shape(self, node: Any, in_shapes: Any) -> Any:
        return [[node.inputs[0], node.inputs[1]]]

    def grad(self, inp: Any, grads: Any) -> Any:
        return [grad_undefined(self, i, inp[i]) for i in range(3)]

    def gpu_kernels(self, node: Any, name: Any) -> Any:
        code = """#include "cluda.h"

KERNEL void eye(GLOBAL_MEM {ctype} *a, ga_size a_off, ga_size n, ga_size m, ga_ssize k) {{
    a = (GLOBAL_MEM {ctype} *)(((GLOBAL_MEM char *)a) + a_off);
    ga_ssize coff = max(k, (ga_ssize) 0);
    ga_ssize roff = -min(k, (ga_ssize) 0);
    ga_ssize nb = min((ga_ssize)n - roff, (ga_ssize)m - coff);
    for (ga_ssize i = LID_0; i < nb; i += LDIM_0) {{
        a[(i + roff)*m + i + coff] = {write}(1);
    }}
}}""".format(ctype=pygpu.gpuarray.dtype_to_ctype(self.dtype), write=write_w(self.dtype))
        params = [pygpu.gpuarray.GpuArray, *[pygpu.gpuarray.SIZE] * 3, pygpu.gpuarray.SSIZE]
        return [
            Kernel(code=code, params=params, name="eye", flags=Kernel.get_flags(self.dtype), objvar="k_eye_" + name)
        ]

    def perform(self, node: Any, inputs: Any, output_storage: Any, params: Any = None) -> None:
        n, m, k = (int(v) for v in inputs)
        z = pygpu.zeros((n, m), dtype=self.dtype, context=get_context(self.context_name))
        self.launchable(node)["eye"](z, z.offset, n, m, k, gs=1, ls=256)
        output_storage[0][0] = z


class TestOpsOfPrograms(unittest.TestCase):
    def setUp(self) -> None:
        computes()

    def test_an_op_with_a_kernel(self) -> None:
        for dtype in ("float32", "float64", "float16"):
            f = theano.function([], [Eye(dtype, NAME)(4, 5, -1), GpuEye(dtype, NAME)(4, 5, -1).transfer("cpu")])
            mine, theirs = f()
            self.assertEqual((mine.shape, mine.dtype), ((4, 5), np.dtype(dtype)))
            if computes():
                np.testing.assert_array_equal(np.asarray(mine), np.eye(4, 5, -1))
                np.testing.assert_array_equal(theirs, np.eye(4, 5, -1))
        self.assertEqual(Eye("float32", NAME).gpu_kernels(None, "x")[0].objvar, "k_eye_x")
        self.assertEqual(len(Eye("float32", NAME).kernel_version(Eye("float32", NAME).make_node(1, 1, 0))), 2)

    def test_an_op_of_the_library_of_arrays(self) -> None:
        class Product(Op):
            __props__ = ()

            def make_node(self, a: Any, b: Any) -> Any:
                name = infer_context_name(a, b)
                a, b = as_gpuarray_variable(a, name), as_gpuarray_variable(b, name)
                return Apply(self, [a, b], [a.type()])

            def perform(self, node: Any, inputs: Any, output_storage: Any, params: Any = None) -> None:
                a, b = inputs
                c = pygpu.empty([a.shape[0], b.shape[1]], dtype=a.dtype, context=a.context)
                output_storage[0][0] = pygpu.blas.gemm(1, a, b, 0, c, overwrite_c=True)

        x, value = T.dmatrix("x"), np.arange(6.0).reshape(2, 3)
        gx = x.transfer(NAME)
        result = theano.function([x], Product()(gx, gx.T).transfer("cpu"))(value)
        self.assertEqual(result.shape, (2, 2))
        if computes():
            np.testing.assert_allclose(result, value @ value.T)

    def test_wrong_products(self) -> None:
        a = pygpu.zeros((2, 3), "float32", context=get_context(NAME))
        with self.assertRaisesRegex(TypeError, "gemm takes matrices of one dtype"):
            pygpu.blas.gemm(1, a, a.astype("float64"))
        with self.assertRaises(ValueError):
            pygpu.blas.gemm(1, a, a)


class TestExpressions(unittest.TestCase):
    def setUp(self) -> None:
        computes()
        rng = np.random.default_rng(1)
        self.x, self.b, self.y = rng.normal(size=(3, 4)), rng.normal(size=4), np.asarray([0, 3, 1])

    def check(self, on_device: Any, on_host: Any, *values: Any) -> None:
        shared = [theano.shared(v, target=NAME) for v in values]
        there, here = on_device(*shared), on_host(*(theano.shared(v) for v in values))
        pairs = zip(*(v if isinstance(v, list) else [v] for v in (there, here)), strict=True)
        for mine, theirs in pairs:
            self.assertEqual(mine.type, GpuArrayType(theirs.dtype, theirs.broadcastable, NAME))
            result, expected = theano.function([], mine.transfer("cpu"))(), theano.function([], theirs)()
            self.assertEqual((result.shape, result.dtype), (expected.shape, expected.dtype))
            if computes():
                np.testing.assert_allclose(result, expected, rtol=1e-6, atol=1e-6)

    @slow
    def test_softmax_and_losses(self) -> None:
        self.check(nnet.GpuSoftmax(), T.nnet.softmax, self.x)
        self.check(nnet.GpuSoftmaxWithBias(), T.nnet.SoftmaxWithBias(), self.x, self.b)
        loss = T.nnet.CrossentropySoftmaxArgmax1HotWithBias()
        self.check(nnet.GpuCrossentropySoftmaxArgmax1HotWithBias(), loss, self.x, self.b, self.y)
        gradient = T.nnet.CrossentropySoftmax1HotWithBiasDx()
        self.check(nnet.GpuCrossentropySoftmax1HotWithBiasDx(), gradient, self.b[:3], self.x, self.y)

    def test_neighbourhoods(self) -> None:
        images = np.arange(32.0).reshape(1, 2, 4, 4)
        op, host = neighbours.GpuImages2Neibs(), T.nnet.neighbours.Images2Neibs()
        self.check(lambda x: op(x, [2, 2]), lambda x: host(x, [2, 2]), images)
        self.assertEqual(str(op), "GpuImages2Neibs{valid}")

    @slow
    def test_softmax_of_images(self) -> None:
        x, g = np.random.default_rng(2).normal(size=(2, 2, 3, 2, 4))
        for algo, host in (("fast", T.nnet.softmax), ("accurate", T.nnet.softmax), ("log", T.nnet.logsoftmax)):
            for mode in ("channel", "instance"):

                def wanted(v: Any, host: Any = host, mode: str = mode) -> Any:
                    if mode == "instance":
                        return host(v.flatten(2)).reshape((2, 3, 2, 4))
                    return host(v.dimshuffle(0, 2, 3, 1).reshape((16, 3))).reshape((2, 2, 4, 3)).dimshuffle(0, 3, 1, 2)

                with self.subTest(algo=algo, mode=mode):
                    op = dnn.GpuDnnSoftmax(algo, mode)
                    self.check(op, wanted, x)
                    by_hand = dnn.GpuDnnSoftmaxGrad(algo, mode)
                    self.check(
                        lambda v, d, op=op, by_hand=by_hand: by_hand(d, op(v)),
                        lambda v, d, expected=wanted: T.grad((expected(v) * d).sum(), v),
                        *(x, g),
                    )
        with self.assertRaisesRegex(ValueError, "unknown mode 'row'"):
            dnn.GpuDnnSoftmax("fast", "row")
        with self.assertRaisesRegex(TypeError, "takes tensors with 4 dimensions, 1 of them"):
            dnn.GpuDnnSoftmax("fast", "channel")(theano.shared(self.x, target=NAME))

    @slow
    def test_batch_normalization(self) -> None:
        bn, x = T.nnet.bn, np.random.default_rng(2).normal(size=(2, 3, 2, 4))
        others = np.random.default_rng(3).uniform(1, 2, size=(4, 1, 3, 1, 1))
        self.check(
            dnn.GpuDnnBatchNorm("spatial"),
            lambda x, a, b: list(bn.batch_normalization_train(x, a, b, "spatial")),
            x,
            *others[:2],
        )
        self.check(
            lambda x, a, b, m, v: dnn.GpuDnnBatchNorm("spatial", True)(x, a, b, 1e-3, 0.2, m, v),
            lambda x, a, b, m, v: list(bn.batch_normalization_train(x, a, b, "spatial", 1e-3, 0.2, m, v)),
            *(x, *others),
        )
        self.check(
            dnn.GpuDnnBatchNormInference("spatial"),
            lambda x, a, b, m, v: bn.batch_normalization_test(x, a, b, m, v, "spatial"),
            *(x, *others),
        )
        with self.assertRaisesRegex(TypeError, "running_averages=True, which the operands do not fit"):
            dnn.GpuDnnBatchNorm(running_averages=True)(theano.shared(x, target=NAME), others[0], others[1])
        with self.assertRaisesRegex(ValueError, "unknown mode 'rows'"):
            dnn.GpuDnnBatchNormInference("rows")

    def compare(self, result: Any, expected: Any) -> None:
        """Compare a variable with numbers."""
        value = np.asarray(theano.function([], result)())
        self.assertEqual(value.shape, expected.shape)
        if computes():
            np.testing.assert_allclose(value, expected, rtol=1e-6, atol=1e-12)

    @slow
    def test_spatial_transformers(self) -> None:
        rng = np.random.default_rng(2)
        x, theta = rng.normal(size=(2, 3, 5, 4)), rng.normal(size=(2, 2, 3)) / 2
        gx, gt = (theano.shared(v, target=NAME) for v in (x, theta))
        same = theano.shared(np.tile([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], (2, 1, 1)), target=NAME)
        self.compare(dnn.dnn_spatialtf(gx, same), x)
        y, z = np.meshgrid(np.linspace(-1, 1, 8), np.linspace(-1, 1, 4), indexing="ij")
        points = np.einsum("nik,hwk->nhwi", theta, np.stack([z, y, np.ones_like(y)], axis=2))
        grid = dnn.GpuDnnTransformerGrid()(gt, (2, 3, 8, 4))
        self.compare(grid, points)
        expected = np.zeros((2, 3, 8, 4))
        for n in range(2):
            position = (points[n, :, :, 1] + 1) * 2, (points[n, :, :, 0] + 1) * 1.5
            for c in range(3):
                expected[n, c] = map_coordinates(np.pad(x[n, c], 2), [p + 2 for p in position], order=1)
        out = dnn.dnn_spatialtf(gx, gt, scale_height=1.5)
        self.compare(out, expected)
        top = rng.normal(size=expected.shape)
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # nothing is said of lengths, by which nobody asked for a gradient
            by_image, by_theta = T.grad((host_from_gpu(out) * top).sum(), [gx, gt])
        result, by_grid = dnn.GpuDnnTransformerGradI()(gx, grid, theano.shared(top, target=NAME))
        self.compare(result, np.asarray(theano.function([], by_image)()))
        self.compare(dnn.GpuDnnTransformerGradT()(by_grid), np.asarray(theano.function([], by_theta)()))
        step = np.zeros_like(theta)
        step[1, 0, 2] = 1e-6
        ends = [
            theano.function([], host_from_gpu(dnn.dnn_spatialtf(gx, theano.shared(theta + s, target=NAME), 1, 1.5)))()
            for s in (step, -step)
        ]
        if computes():
            slope = ((ends[0] - ends[1]) * top).sum() / 2e-6
            np.testing.assert_allclose(np.asarray(theano.function([], by_theta)())[1, 0, 2], slope, rtol=1e-4)
        with self.assertRaisesRegex(TypeError, "theta has 2 dimensions, not 3"):
            dnn.dnn_spatialtf(gx, theano.shared(self.x, target=NAME))
        with self.assertRaisesRegex(TypeError, "img has 2 dimensions, not 4"):
            dnn.dnn_spatialtf(theano.shared(self.x, target=NAME), gt)

    def test_fourier_transforms(self) -> None:
        x = np.random.default_rng(2).normal(size=(2, 3, 5)).astype("float32")
        for norm in (None, "ortho", "no_norm"):
            self.check(lambda v, n=norm: fft.curfft(v, n), lambda v, n=norm: T.fft.rfft(v, n), x)
            self.check(
                lambda v, n=norm: fft.cuirfft(fft.curfft(v, n), n, is_odd=True),
                lambda v, n=norm: T.fft.irfft(T.fft.rfft(v, n), n, is_odd=True),
                x,
            )
        self.assertIs(fft.cuifft, fft.cuirfft)
        with self.assertRaisesRegex(TypeError, "curfft takes float32, got float64"):
            fft.curfft(theano.shared(self.x, target=NAME))

    def test_losses_of_sequences(self) -> None:
        x = np.random.default_rng(2).normal(size=(5, 2, 4))
        labels, lengths = np.asarray([[1, 2], [3, -1]], "int32"), np.asarray([5, 3], "int32")
        self.check(lambda v: ctc.gpu_ctc(v, labels, lengths), lambda v: T.nnet.ctc.ctc(v, labels, lengths), x)
        self.check(
            lambda v: T.grad(host_from_gpu(ctc.gpu_ctc(v, labels, lengths)).sum(), v).transfer(NAME),
            lambda v: T.grad(T.nnet.ctc.ctc(v, labels, lengths).sum(), v),
            x,
        )
        op = ctc.GpuConnectionistTemporalClassification(compute_grad=False)
        self.assertEqual(len(op.make_node(theano.shared(x, target=NAME), labels, lengths).outputs), 1)
        with self.assertRaisesRegex(ValueError, "activations has 2 dimensions"):
            ctc.gpu_ctc(theano.shared(self.x, target=NAME), labels, lengths)

    def test_linear_algebra(self) -> None:
        x = np.random.default_rng(4).normal(size=(4, 4)) + 4 * np.eye(4)
        b = np.random.default_rng(5).normal(size=(4, 2))
        both, definite = x + x.T, x @ x.T
        for trans, matrix in (("N", x), ("T", x.T), ("C", x.T)):
            expected = np.linalg.solve(matrix, b)
            self.compare(linalg.gpu_solve(theano.shared(x, target=NAME), b, trans=trans), expected)
            for name, part in (("lower", np.tril), ("upper", np.triu)):
                triangle = part(x) if trans == "N" else part(x).T
                result = linalg.gpu_solve(theano.shared(x, target=NAME), b, name, trans)
                self.compare(result, np.linalg.solve(triangle, b))
        solved = linalg.gpu_solve(theano.shared(np.triu(both), target=NAME), b[:, 0], "symmetric")
        self.compare(solved, np.linalg.solve(both, b[:, 0]))
        self.compare(
            linalg.gpu_solve_lower_triangular(theano.shared(x, target=NAME), b), np.linalg.solve(np.tril(x), b)
        )
        self.compare(
            linalg.gpu_solve_upper_triangular(theano.shared(x, target=NAME), b), np.linalg.solve(np.triu(x), b)
        )
        self.compare(linalg.gpu_matrix_inverse(theano.shared(x, target=NAME)), np.linalg.inv(x))
        factor = np.linalg.cholesky(definite)
        self.compare(linalg.gpu_cholesky(theano.shared(definite, target=NAME)), factor)
        self.compare(linalg.GpuMagmaCholesky(lower=False)(theano.shared(definite, target=NAME)), factor.T)

    def test_factors_that_are_computed_on_the_host(self) -> None:
        x = np.random.default_rng(4).normal(size=(4, 3))
        operand = theano.shared(x, target=NAME)
        u, s, vt = linalg.gpu_svd(operand, full_matrices=False)
        product = np.asarray(theano.function([], host_from_gpu(u) * host_from_gpu(s) @ host_from_gpu(vt))())
        self.compare(linalg.gpu_svd(operand, compute_uv=False), np.linalg.svd(x, compute_uv=False))
        q, r = linalg.gpu_qr(operand)
        self.assertEqual([v.type.ndim for v in (q, r, linalg.gpu_qr(operand, complete=False))], [2, 2, 2])
        self.compare(linalg.gpu_qr(operand, complete=False), np.linalg.qr(x, "r"))
        both = x.T @ x
        values, vectors = linalg.GpuMagmaEigh()(theano.shared(both, target=NAME))
        self.compare(values, np.linalg.eigvalsh(both))
        self.assertEqual(vectors.type.context_name, NAME)
        only = linalg.GpuMagmaEigh("U", compute_v=False)(theano.shared(both, target=NAME))
        self.compare(only, np.linalg.eigvalsh(both))
        if computes():
            np.testing.assert_allclose(product, x)
            again = theano.function([], host_from_gpu(q).dot(host_from_gpu(r)))()
            np.testing.assert_allclose(again, x)

    @slow
    def test_gradients_of_linear_algebra(self) -> None:
        x = np.random.default_rng(4).normal(size=(4, 4)) + 4 * np.eye(4)
        cases: list[tuple[Any, Any]] = [
            (linalg.gpu_matrix_inverse, T.nlinalg.matrix_inverse),
            (lambda v: linalg.gpu_solve(v, v[0], trans="T"), lambda v: T.slinalg.solve(v.T, v[0])),
            (lambda v: linalg.gpu_cholesky(T.dot(v, v.T).transfer(NAME)), lambda v: T.slinalg.cholesky(T.dot(v, v.T))),
        ]
        for on_device, on_host in cases:
            host = theano.shared(x)
            expected = theano.function([], T.grad((on_host(host) ** 2).sum(), host))()
            operand = theano.shared(x, target=NAME)
            self.compare(T.grad((host_from_gpu(on_device(operand)) ** 2).sum(), operand).transfer(NAME), expected)

    def test_wrong_input_of_linear_algebra(self) -> None:
        x = theano.shared(np.eye(3), target=NAME)
        with self.assertRaisesRegex(ValueError, "unknown A_structure='triangular'"):
            linalg.gpu_solve(x, x, "triangular")
        for function in (linalg.gpu_solve, linalg.gpu_solve_lower_triangular):
            with self.assertRaisesRegex(ValueError, "unknown trans='H'"):
                function(x, x, trans="H")
        with self.assertRaisesRegex(ValueError, "a matrix takes a vector or a matrix"):
            linalg.gpu_solve(x, np.ones((2, 3, 3)))
        singular = theano.shared(np.ones((3, 3)), target=NAME)
        if computes():
            for out, text in (
                (linalg.gpu_matrix_inverse(singular), "matrix_inverse: Singular matrix"),
                (linalg.gpu_solve(singular, np.ones(3)), "solve: Singular matrix"),
                (linalg.gpu_cholesky((singular - 2).transfer(NAME)), "cholesky: Matrix is not positive definite"),
            ):
                with self.assertRaisesRegex(np.linalg.LinAlgError, text):
                    theano.function([], out)()

    def test_gradient(self) -> None:
        x = theano.shared(self.x, target=NAME)
        g = T.grad(host_from_gpu(nnet.GpuSoftmax()(x))[0, 0], x)
        result = theano.function([], g)()
        p = np.exp(self.x[0]) / np.exp(self.x[0]).sum()
        self.assertEqual(result.shape, (3, 4))
        if computes():
            np.testing.assert_allclose(result[0], p[0] * (np.eye(4)[0] - p), rtol=1e-6)


class TestModules(unittest.TestCase):
    def test_contexts(self) -> None:
        computes()
        self.assertIn(NAME, list_contexts())
        self.assertTrue(gpuarray.pygpu_activated)
        with self.assertRaisesRegex(ValueError, "there is a context of the name 'names' already"):
            reg_context(NAME, get_context(NAME))
        with self.assertRaises(gpuarray.ContextNotDefined):
            get_context("nowhere")
        with self.assertRaises(AttributeError):
            _ = gpuarray.no_such_name

    def test_classes(self) -> None:
        self.assertIs(GpuArrayType.Variable, gpuarray.GpuArrayVariable)
        self.assertIs(GpuArrayType.Constant, gpuarray.GpuArrayConstant)
        self.assertIs(GpuArrayType.SharedVariable, gpuarray.GpuArraySharedVariable)
        self.assertIs(gpuarray.elemwise.GpuCAReduce, gpuarray.elemwise.GpuCAReduceCPY)


if __name__ == "__main__":
    unittest.main()
