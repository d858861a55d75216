"""Ops that devices compute as expressions: diagonals, draws of categories, and pooling by documented names."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

import theano_tensor as T
from theano_gpuarray.arrays import asarray
from theano_gpuarray.types import DeviceOp, GpuArrayType, HostFromGpu, TransferOp, is_host_array
from theano_linker_c import function, shared
from theano_tensor import device
from theano_tensor.control import IfElse, ifelse
from theano_tensor.gradient import grad
from theano_tensor.nnet.blocksparse import sparse_block_dot
from theano_tensor.random.mrg import ChoiceFromUniform, MRG_RandomStreams, MultinomialFromUniform
from theano_tensor.signal import pool
from theano_testing.gpuarray import needs_opencl

from .contexts import NAME, computes, context
from .test_device_variables import DeviceTestCase

RNG = np.random.default_rng(7)
X = RNG.uniform(0.1, 1, (5, 6))
IMAGES = RNG.uniform(0.1, 1, (2, 3, 7, 8)).astype("float32")


def arrays_on_host(f: Any) -> list[str]:
    """Return the ops that compute arrays of floats on the host."""
    return [
        str(node.op)
        for node in f.maker.fgraph.toposort()
        if not isinstance(node.op, (DeviceOp, TransferOp))
        and any(is_host_array(v) and v.type.ndim and v.type.dtype.startswith("float") for v in node.outputs)
    ]


class ExpressionCase(DeviceTestCase):
    """Compares expressions of arrays on the device with the same ones of arrays on the host."""

    def check(self, build: Any, *values: Any, **options: Any) -> Any:
        on_device = [shared(np.asarray(v), target=NAME) for v in values]
        f = function([], build(*on_device))
        self.assertEqual(arrays_on_host(f), [])
        expected = function([], build(*(T.constant(v) for v in values)))()
        self.assertValues(f(), expected, **options)
        return f


class TestExpressions(ExpressionCase):
    def test_diagonals(self) -> None:
        for offset in (0, 2, -3, 9):
            self.check(lambda x, k=offset: T.diagonal(x, k), X)
            self.check(lambda v, k=offset: T.diag(v, k), X[0])
            self.check(lambda x, k=offset: T.diagonal(x, k, 3, 1), IMAGES)
            self.check(lambda x, k=offset: T.AllocDiag(k, 2, 0)(x), X)
        self.check(lambda x: grad((T.diagonal(x, 1, 2, 3) ** 2).sum(), x), IMAGES)
        self.check(lambda v: grad((T.diag(v, 1) ** 2).sum(), v), X[0])

    def test_diagonals_that_are_filled(self) -> None:
        self.check(lambda x: T.fill_diagonal(x, 3.0), X)
        self.check(lambda x: T.fill_diagonal_offset(x, 3.0, -2), X)

    def test_rolled(self) -> None:
        for shift in (0, 2, -2, 13, -13):
            self.check(lambda x, k=shift: T.roll(x, k, axis=1), X)
        self.check(lambda x: T.roll(x, 3), X)
        self.check(lambda x: T.roll(x, 3, axis=0), X[:0])

    def test_repeated(self) -> None:
        self.check(lambda x: T.repeat(x, 2, axis=0), X)

    def test_products_of_blocks(self) -> None:
        W, b = RNG.normal(size=(4, 5, 2, 3)), RNG.normal(size=(5, 3))
        h = RNG.normal(size=(3, 2, 2))
        first, second = RNG.integers(0, 4, (3, 2)), RNG.integers(0, 5, (3, 4))

        def product(W: Any, h: Any, b: Any) -> Any:
            return sparse_block_dot(W, h, T.constant(first), b, T.constant(second))

        self.check(product, W, h, b)
        self.check(lambda *v: grad((product(*v) ** 2).sum(), v[0]), W, h, b, rtol=1e-4)
        self.check(lambda *v: grad((product(*v) ** 2).sum(), v[1]), W, h, b, rtol=1e-4)


class TestChoices(DeviceTestCase):
    def test_only_one_branch_is_computed_and_stays_on_the_device(self) -> None:
        x, c = shared(X, target=NAME), T.lscalar("c")
        f = function([c], T.exp(ifelse(c, x * 2, x + 1)))
        nodes = f.maker.fgraph.toposort()
        (choice,) = (node for node in nodes if isinstance(node.op, IfElse))
        self.assertTrue(choice.op.gpu)
        self.assertEqual(sum(isinstance(node.op, HostFromGpu) for node in nodes), 1)
        self.assertValues(f(1), np.exp(X * 2))
        self.assertValues(f(0), np.exp(X + 1))

    def test_a_refused_branch_that_is_not_chosen(self) -> None:
        x, c, i = shared(X, target=NAME), T.lscalar("c"), T.lvector("i")
        f = function([c, i], ifelse(c, x[i], x * 2))
        self.assertValues(f(0, [99]), X * 2)
        if computes():
            with self.assertRaises(IndexError):
                f(1, [99])

    def test_numbers_stay_on_the_host(self) -> None:
        x, c = shared(X, target=NAME), T.lscalar("c")
        first, second = ifelse(c, [x * 2, c], [x + 1, c + 1])
        f = function([c], [first, second])
        result, number = f(1)
        self.assertValues(result, X * 2)
        self.assertEqual(number, 1)


@needs_opencl
class TestChecks(ExpressionCase):
    def test_checked_arrays_stay_on_the_device(self) -> None:
        f = self.check(lambda x: T.exp(T.Assert("small")(x * 2, x.sum() < 100)), X)
        moved = [n.inputs[0].ndim for n in f.maker.fgraph.apply_nodes if isinstance(n.op, HostFromGpu)]
        self.assertEqual(sorted(moved), [0, 2])
        x = shared(X, target=NAME)
        refused = function([], T.Assert("small")(x * 2, x.sum() < 1))
        if computes():
            with self.assertRaisesRegex(AssertionError, "small"):
                refused()

    def test_arrays_one_of_which_the_result_may_be(self) -> None:
        x = shared(X, target=NAME)
        joined = device.GpuJoin(view=0)(0, x, x)
        self.assertValues(function([], joined)(), np.concatenate([X, X]))


class TestCategories(DeviceTestCase):
    def test_same_as_on_the_host(self) -> None:
        for dtype in ("float32", "float64"):
            chances = RNG.uniform(0, 1, (40, 9)).astype(dtype)
            chances[3] = 0
            chances[4, :5] = 0
            for scale in (1.0, 0.5):
                operands = (chances / np.maximum(chances.sum(1, keepdims=True), 1e-9) * scale).astype(dtype)
                numbers = RNG.uniform(0, 1, 40 * 5).astype(dtype)
                for host in (
                    MultinomialFromUniform("auto"),
                    MultinomialFromUniform("int8"),
                    MultinomialFromUniform("float16"),
                    ChoiceFromUniform("auto", replace=True),
                    ChoiceFromUniform("int32", replace=False),
                ):
                    with self.subTest(dtype=dtype, scale=scale, op=str(host)):
                        expected = function([], host(operands, numbers, 5))()
                        x, u = shared(operands, target=NAME), shared(numbers, target=NAME)
                        f = function([], host(x, u, 5))
                        self.assertEqual(arrays_on_host(f), [])
                        self.assertValues(f(), expected)

    def test_by_their_names(self) -> None:
        x, u = shared(np.array([[0.25, 0.75]]), target=NAME), shared(np.array([0.1, 0.5, 0.9]), target=NAME)
        counts = device.GPUAMultinomialFromUniform("int64")(x, u, 3)
        self.assertEqual(counts.type.context_name, NAME)
        self.assertValues(function([], counts)(), np.array([[1, 2]]))
        chosen = device.GPUAChoiceFromUniform("int64", replace=True)(x, u, 3)
        self.assertValues(function([], chosen)(), np.array([[0, 1, 1]]))

    def test_refusals(self) -> None:
        x, u = shared(np.array([[0.25, 0.75]]), target=NAME), shared(np.array([0.1, 0.5, 0.9]), target=NAME)
        with self.assertRaisesRegex(ValueError, "2 draws from 1 rows need as many uniform numbers, got 3"):
            function([], device.GPUAMultinomialFromUniform("auto")(x, u, 2))()
        with self.assertRaisesRegex(ValueError, "3 draws from 2 categories: there are not so many"):
            function([], device.GPUAChoiceFromUniform("auto")(x, u, 3))()

    def test_streams_are_where_they_are_wanted(self) -> None:
        streams: Any = MRG_RandomStreams(5)
        x = shared(X.astype("float32"), target=NAME)
        on_host, on_device = streams.uniform(x.shape, target="cpu"), streams.uniform(x.shape, target=NAME)
        self.assertIsInstance(on_device.rstate, device.GpuArraySharedVariable)
        self.assertNotIsInstance(on_host.rstate, device.GpuArraySharedVariable)
        for drawn, expected in ((on_host, False), (on_device, True)):
            f = function([], (x * drawn).sum())
            ops = [n.op for n in f.maker.fgraph.apply_nodes]
            self.assertEqual(any(isinstance(op, device.GPUA_mrg_uniform) for op in ops), expected)
        with self.assertRaisesRegex(TypeError, "uniform: unknown option place='cpu'"):
            streams.uniform((2,), place="cpu")

    def test_streams_draw_them_on_the_device(self) -> None:
        chances = (X / X.sum(1, keepdims=True)).astype("float32")
        results = []
        for target in ("cpu", NAME):
            streams, p = MRG_RandomStreams(5), shared(chances, target=target)
            drawn = [
                streams.multinomial(pvals=p, n=3, dtype="float32"),
                streams.choice(size=2, p=p, replace=False, dtype="int64"),
            ]
            results.append(function([], drawn)())
        for on_host, on_device in zip(*results, strict=True):
            self.assertEqual(on_host.shape, on_device.shape)


@needs_opencl
class TestPooling(DeviceTestCase):
    def test_by_their_names(self) -> None:
        x, host = shared(IMAGES, target=NAME), T.constant(IMAGES)
        for mode in ("max", "sum", "average_inc_pad", "average_exc_pad"):
            op, expected = device.GpuPool(True, mode), pool.Pool(True, mode)(host, (2, 3), (1, 2), (1, 1))
            pooled = op(x, (2, 3), (1, 2), (1, 1))
            self.assertEqual((op.ignore_border, op.mode, op.ndim), (True, mode, 2))
            self.assertEqual(pooled.type.context_name, NAME)
            self.assertValues(function([], pooled)(), function([], expected)())
            by_images = grad((expected**2).sum(), host)
            if mode == "max":
                private = device.GpuMaxPoolGrad(True)(x, pooled, 2 * pooled, (2, 3), (1, 2), (1, 1))
            else:
                private = device.GpuAveragePoolGrad(True, mode)(x, 2 * pooled, (2, 3), (1, 2), (1, 1))
            self.assertValues(function([], private)(), function([], by_images)())

    def test_elements_at_the_largest_ones(self) -> None:
        x, host = shared(IMAGES, target=NAME), T.constant(IMAGES)
        result = device.GpuDownsampleFactorMaxGradGrad(True)(x, device.GpuPool(True)(x, (2, 2)), x * 2, (2, 2))
        self.assertValues(function([], result)(), function([], 2 * pool.Pool(True)(host, (2, 2)))())

    def test_wrong_modes(self) -> None:
        with self.assertRaisesRegex(ValueError, "GpuMaxPoolGrad is for the mode 'max', not 'sum'"):
            device.GpuMaxPoolGrad(True, "sum")
        with self.assertRaisesRegex(ValueError, "unknown mode 'least'"):
            device.GpuPool(True, "least")


class TestNames(DeviceTestCase):
    def test_cumulative_sums(self) -> None:
        x = shared(X, target=NAME)
        self.assertValues(function([], device.GpuCumOp(axis=0)(x))(), X.cumsum(0))
        self.assertValues(function([], device.GpuCumOp(-1, mode="mul")(x))(), X.cumprod(1))
        self.assertEqual((device.GpuCumOp(None).axis, device.GpuCumOp(1, "mul").mode), (0, "mul"))
        with self.assertRaisesRegex(ValueError, r"axis\(=2\) out of bounds for 2 dimensions"):
            device.GpuCumOp(2)(x)

    def test_diagonals(self) -> None:
        x = shared(X, target=NAME)
        op = device.GpuExtractDiag(1, 1, 0, view=True)
        self.assertEqual((op.offset, op.axis1, op.axis2, op.view), (1, 1, 0, True))
        self.assertValues(function([], op(x))(), np.diagonal(X, 1, 1, 0))
        result = device.GpuAllocDiag(-1)
        self.assertEqual((result.offset, result.axis1, result.axis2), (-1, 0, 1))
        self.assertValues(function([], result(shared(X[0], target=NAME)))(), np.diag(X[0], -1))

    def test_shapes_are_worked_out_of_those_of_operands(self) -> None:
        x = GpuArrayType("float64", (False, False), NAME)("x")
        for result, expected in (
            (device.GpuAllocDiag()(x), (6, 6, 5)),
            (device.GpuDimShuffle((False, False), (1, "x", 0))(x), (6, 1, 5)),
            (device.GpuCumOp(0)(x), (5, 6)),
            (device.GpuCAReduceCuda(T.add.scalar_op, 0)(x), (6,)),
        ):
            f = function([x], result.shape)
            self.assertFalse([n.op for n in f.maker.fgraph.apply_nodes if isinstance(n.op, DeviceOp)])
            self.assertEqual(tuple(f(asarray(X, context=context()))), expected)

    def test_draws_by_their_constructor(self) -> None:
        streams = MRG_RandomStreams(5)
        states = shared(np.asarray(streams.get_substream_rstates(7, "float32")), target=NAME)
        moved, drawn = device.GPUA_mrg_uniform.new(states, ndim=None, dtype="float32", size=(4, 5))
        self.assertEqual((drawn.type.ndim, drawn.type.dtype, drawn.type.context_name), (2, "float32", NAME))
        self.assertEqual(drawn.owner.op.inplace, False)
        self.assertEqual(moved.type.context_name, NAME)
        self.assertEqual(np.shape(function([], drawn)()), (4, 5))

    def test_inverse_error_functions(self) -> None:
        x = shared(X.astype("float32"), target=NAME)
        expected = function([], T.erfinv(T.constant(X.astype("float32"))))()
        self.assertValues(function([], device.GpuElemwise(device.gpu_erfinv)(x))(), expected, rtol=1e-4)
        self.assertEqual(str(device.gpu_erfcinv), "gpu_erfcinv")


if __name__ == "__main__":
    unittest.main()
