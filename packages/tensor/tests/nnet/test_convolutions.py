"""Expressions of convolutions, lengths, former interfaces, and refused arguments."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any

import numpy as np

import theano_tensor as tt
import theano_tensor.nnet.convolution as C
import theano_tensor.rewrites  # the full pipeline is under test
from theano_graph import config
from theano_linker_c import Mode, function
from theano_testing.tensor import assert_allclose, fetch_seed, verify_grad

from .convolution_cases import CASES, convolved

RNG = np.random.RandomState(fetch_seed())
X, W = RNG.randn(2, 3, 6, 5), RNG.randn(4, 3, 3, 2)
MODES = (Mode("cvm", "fast_run"), Mode("cvm", "fast_compile"), Mode("py", None))


def run(inputs: list[Any], outputs: Any, *values: Any) -> Any:
    return function(inputs, outputs)(*values)


class TestMadeOfConvolutions(unittest.TestCase):
    def test_transposed(self) -> None:
        for name, images, filters, keywords in CASES:
            if len(images) != 4:
                continue
            with self.subTest(case=name):
                x, w = RNG.randn(*images), RNG.randn(*filters)
                y = convolved(x, w, **keywords)
                top = RNG.randn(*y.shape)
                arguments = {**keywords, "input_dilation": keywords.get("subsample", (1, 1))}
                arguments.pop("subsample", None)
                result = C.conv2d_transpose(top, w, images, **arguments).eval()
                assert_allclose((result * x).sum(), (y * top).sum())

    def test_separable(self) -> None:
        depthwise, pointwise = RNG.randn(6, 1, 2, 3), RNG.randn(5, 6, 1, 1)
        arguments: dict[str, Any] = {"border_mode": 1, "subsample": (2, 1), "filter_dilation": (1, 2)}
        between = convolved(X, depthwise, num_groups=3, **arguments)
        result = C.separable_conv2d(X, depthwise, pointwise, 3, X.shape, **arguments).eval()
        assert_allclose(result, np.einsum("fc,nchw->nfhw", pointwise[:, :, 0, 0], between))
        volumes = C.separable_conv3d(X[:, :, None], depthwise[:, :, None], pointwise[:, :, None], 3)
        plain = C.separable_conv2d(X, depthwise, pointwise, 3)
        assert_allclose(volumes.eval()[:, :, 0], plain.eval())

    def test_causal(self) -> None:
        x, w = RNG.randn(2, 4, 9), RNG.randn(6, 2, 3)
        for flip, step, spread in ((True, 1, 1), (False, 2, 1), (True, 1, 3)):
            result = C.causal_conv1d(x, w, w.shape, x.shape, step, flip, spread, num_groups=2).eval()
            padded = np.pad(x, [(0, 0), (0, 0), (2 * spread, 0)])
            expected = convolved(
                padded, w, subsample=(step,), filter_flip=flip, filter_dilation=(spread,), num_groups=2
            )
            assert_allclose(result, expected)
        changed = x.copy()
        changed[:, :, 5:] = 0
        first, second = (C.causal_conv1d(v, w, w.shape, num_groups=2).eval() for v in (x, changed))
        assert_allclose(first[:, :, :5], second[:, :, :5])
        private = RNG.randn(3, 9, 4, 2)
        result = C.causal_conv1d(x, private, (3, 9, 4, 2), unshared=True).eval()
        assert_allclose(result, convolved(np.pad(x, [(0, 0), (0, 0), (1, 0)]), private, unshared=True))

    def test_movies(self) -> None:
        movies, w = RNG.randn(2, 4, 3, 5, 5), RNG.randn(6, 2, 3, 3, 2)
        for mode in ("valid", "full", "half"):
            expected = convolved(movies.swapaxes(1, 2), w.swapaxes(1, 2), border_mode=mode).swapaxes(1, 2)
            assert_allclose(C.conv3d2d(movies, w, movies.shape, w.shape, mode).eval(), expected)

    def test_former_interface(self) -> None:
        for mode in ("valid", "full"):
            result = C.former_conv2d(X, W, X.shape, (4, 3, None, 2), mode, (2, 1), unroll_kern=2, openmp=False)
            assert_allclose(result.eval(), convolved(X, W, mode, (2, 1)))
        x = tt.dtensor4("x")
        gradient = run([x], tt.grad((C.former_conv2d(x, W) ** 2).sum(), x), X)
        expected = C.conv2d_grad_wrt_inputs(2 * convolved(X, W), W, X.shape).eval()
        assert_allclose(gradient, expected)

    def test_methods_on_arrays(self) -> None:
        op = C.AbstractConv2d()
        assert_allclose(op.conv(X, W, "full", 2), convolved(X, W, "full", filter_dilation=(2, 2)))
        private = RNG.randn(4, 4, 3, 2)
        image = X[0, 0]
        result = op.unshared2d(image, private, (4, 4))
        assert_allclose(result, convolved(image[None, None], private[None, :, :, None], unshared=True)[0, 0])
        top = RNG.randn(4, 4)
        by_image = op.unshared2d(top, private, image.shape, "backprop inputs")
        by_filters = op.unshared2d(image, top, private.shape, "backprop weights")
        for gradient, value in ((by_image, image), (by_filters, private)):
            assert_allclose((gradient * value).sum(), (result * top).sum())

    def test_number_of_operations(self) -> None:
        y = convolved(X, W, num_groups=1).shape
        self.assertEqual(C.AbstractConv2d().flops([X.shape, W.shape], [y]), 2 * int(np.prod(y)) * 3 * 3 * 2)
        by_x = C.AbstractConv2d_gradInputs().flops([W.shape, y, (2,)], [X.shape])
        by_w = C.AbstractConv2d_gradWeights().flops([X.shape, y, (2,)], [W.shape])
        self.assertEqual({by_x, by_w}, {2 * int(np.prod(y)) * 18})


class TestGradientsByShape(unittest.TestCase):
    def test_symbolic_and_missing_lengths(self) -> None:
        top, x, rows = tt.dtensor4("top"), tt.dtensor4("x"), tt.lscalar("rows")
        y = convolved(X, W)
        by_x = C.conv2d_grad_wrt_inputs(y, W, X.shape).eval()
        shape: tuple[Any, ...]
        for shape in ((2, 3, rows, 5), (rows, 5), (None, None, rows, None)):
            result = run([top, rows], C.conv2d_grad_wrt_inputs(top, W, shape), y, 6)
            assert_allclose(result, by_x)
        assert_allclose(run([top], C.conv2d_grad_wrt_inputs(top, W, None), y), by_x)
        by_w = C.conv2d_grad_wrt_weights(X, y, W.shape).eval()
        for shape in ((4, 3, rows, 2), (rows, None), (None, None, rows, None)):
            result = run([x, top, rows], C.conv2d_grad_wrt_weights(x, top, shape), X, y, 3)
            assert_allclose(result, by_w)
        assert_allclose(run([x, top], C.conv2d_grad_wrt_weights(x, top, None), X, y), by_w)

    def test_steps_need_lengths(self) -> None:
        top = RNG.randn(1, 1, 3, 3)
        for rows in (7, 8):
            result = C.conv2d_grad_wrt_inputs(top, RNG.randn(1, 1, 3, 3), (rows, 7), subsample=(2, 2)).eval()
            self.assertEqual(result.shape, (1, 1, rows, 7))
        with self.assertRaisesRegex(ValueError, "input_shape = None leaves several shapes possible"):
            C.conv2d_grad_wrt_inputs(top, top, None, border_mode=1, subsample=(2, 2))
        with self.assertRaisesRegex(ValueError, "filter_shape = None leaves several"):
            C.conv2d_grad_wrt_weights(top, top, None, border_mode="half")

    def test_without_a_shape_the_input_is_the_smallest(self) -> None:
        top, w = RNG.randn(2, 4, 3, 3), RNG.randn(4, 3, 3, 2)
        cases: tuple[tuple[dict[str, Any], tuple[int, ...]], ...] = (
            ({"border_mode": (0, 0)}, (2, 3, 5, 4)),
            ({"border_mode": (1, 0)}, (2, 3, 3, 4)),
            ({"border_mode": (0, 0), "subsample": (2, 3)}, (2, 3, 7, 8)),
            ({"subsample": (2, 1), "filter_dilation": (2, 2)}, (2, 3, 9, 5)),
            ({"border_mode": (0, 1), "subsample": (4, 1)}, (2, 3, 11, 2)),
        )
        for arguments, shape in cases:
            result = C.conv2d_grad_wrt_inputs(top, w, filter_shape=w.shape, **arguments).eval()
            self.assertEqual(result.shape, shape)
            assert_allclose(result, C.conv2d_grad_wrt_inputs(top, w, shape, **arguments).eval())
        volumes = C.conv3d_grad_wrt_inputs(top[:, :, None], w[:, :, None], subsample=(2, 2, 2)).eval()
        assert_allclose(volumes[:, :, 0], C.conv2d_grad_wrt_inputs(top, w, subsample=(2, 2)).eval())

    def test_gradients_broadcast_where_operands_do(self) -> None:
        def operand(ndim: int, axis: int) -> Any:
            return tt.TensorType("float64", [n == axis for n in range(ndim)])()

        for ndim, convolve in ((4, C.conv2d), (5, C.conv3d), (4, C.former_conv2d)):
            x, w, images = tt.TensorType("float64", (False,) * ndim)(), operand(ndim, 1), operand(ndim, 0)
            for cost, variable in ((convolve(x, w) ** 2, w), (convolve(images, x) ** 2, images)):
                self.assertEqual(tt.grad(cost.sum(), variable).type, variable.type)
        a, b = tt.dtensor3(), operand(3, 1)
        slope = tt.grad((tt.grad((tt.batched_dot(a, b) ** 2).sum(), a) ** 2).sum(), b)
        self.assertEqual(slope.type, b.type)

    def test_borders_of_movies_axis_by_axis(self) -> None:
        movies, w = RNG.randn(2, 5, 3, 6, 6), RNG.randn(4, 2, 3, 3, 3)
        full = C.conv3d2d(movies, w, border_mode="full").eval()
        assert_allclose(C.conv3d2d(movies, w, border_mode=("full",) * 3).eval(), full)
        result = C.conv3d2d(movies, w, border_mode=("full", "valid", "valid")).eval()
        assert_allclose(result, full[:, :, :, 2:-2, 2:-2])
        # Filters of unknown lengths: as many zeros as they say when the function is called.
        x, kernel = (tt.TensorType("float64", (False,) * 5)() for _ in range(2))
        half = C.conv3d2d(movies, w, border_mode="half").eval()
        for modes, numbers in (
            (("full", "valid", "valid"), full[:, :, :, 2:-2, 2:-2]),
            (("valid", "full", "full"), full[:, 1:-1]),
            (("full", "half", "half"), full[:, :, :, 1:-1, 1:-1]),
            (("half", "valid", "valid"), half[:, :, :, 1:-1, 1:-1]),
        ):
            f = function([x, kernel], C.conv3d2d(x, kernel, movies.shape, border_mode=modes))
            assert_allclose(f(movies, w), numbers)

    def test_a_shape_that_is_said_needs_no_images(self) -> None:
        x, w, top = tt.dtensor4("x"), tt.dtensor4("w"), tt.dtensor4("top")
        y = C.conv2d(x, w, X.shape, W.shape)
        f = function([w, top], tt.grad(None, x, known_grads={y: top}))
        cotangent = convolved(X, W)
        assert_allclose(f(W, cotangent), C.conv2d_grad_wrt_inputs(cotangent, W, X.shape).eval())
        # Programs that hand the images over as well go on doing so.
        g = function([x, w, top], tt.grad(None, x, known_grads={y: top}))
        assert_allclose(g(X, W, cotangent), f(W, cotangent))

    def test_a_layer_trains(self) -> None:
        w = np.ascontiguousarray(W[:2])

        def loss(x: Any, w: Any, b: Any) -> Any:
            return tt.tanh(C.conv2d(x, w, border_mode="half") + b.dimshuffle("x", 0, "x", "x")).sum()

        verify_grad(loss, [X[:1], w, np.array([0.1, -0.2])], rng=RNG)


class TestUpsampling(unittest.TestCase):
    @staticmethod
    def _along(x: Any, axis: int, up: int, down: int) -> Any:
        positions = (np.arange(0, x.shape[axis] * up, down) - (up - 1) // 2) / up
        return np.apply_along_axis(lambda row: np.interp(positions, np.arange(len(row)), row), axis, x)

    def test_whole_ratios(self) -> None:
        ratio = tt.lscalar("ratio")
        for r in (1, 2, 3, 4):
            expected = self._along(self._along(X, 2, r, 1), 3, r, 1)
            for use_1D in (True, False):
                result = C.bilinear_upsampling(X, r, batch_size=2, num_input_channels=3, use_1D_kernel=use_1D)
                assert_allclose(result.eval(), expected)
            assert_allclose(run([ratio], C.bilinear_upsampling(X, ratio), r), expected)

    def test_fractions(self) -> None:
        for fraction, (rows, columns) in (((3, 2), ((3, 2), (3, 2))), (((2, 1), (1, 2)), ((2, 1), (1, 2)))):
            expected = self._along(self._along(X, 2, *rows), 3, *columns)
            assert_allclose(C.frac_bilinear_upsampling(X, fraction).eval(), expected)
            assert_allclose(C.bilinear_upsampling(X, frac_ratio=fraction).eval(), expected)

    def test_as_a_transposed_convolution(self) -> None:
        for r in (2, 3):
            kernel = C.bilinear_kernel_2D(r)[None, None]
            image = np.pad(X[:, :1], [(0, 0), (0, 0), (1, 1), (1, 1)], "edge")
            border = 2 * r - (r - 1) // 2 - 1
            result = C.conv2d_transpose(image, kernel, (2, 1, 6 * r, 5 * r), border_mode=border, input_dilation=(r, r))
            assert_allclose(result.eval(), C.bilinear_upsampling(X[:, :1], r).eval())

    def test_gradient(self) -> None:
        verify_grad(lambda x: C.bilinear_upsampling(x, 3), [X[:1, :1, :3, :2]], rng=RNG)
        verify_grad(lambda x: C.frac_bilinear_upsampling(x, ((3, 2), (1, 1))), [X[:1, :1, :3, :2]], rng=RNG)

    def test_kernels(self) -> None:
        n = tt.iscalar("n")
        assert_allclose(run([n], C.bilinear_kernel_1D(n, normalize=False), 3), [1.0, 2, 3, 2, 1])
        line = C.bilinear_kernel_1D(3).eval()
        assert_allclose(C.bilinear_kernel_2D(3).eval(), np.outer(line, line))

    def test_single_precision_stays(self) -> None:
        x = tt.ftensor4("x")
        self.assertEqual(C.bilinear_upsampling(x, 2).type.dtype, "float32")


class TestLengths(unittest.TestCase):
    def test_of_results(self) -> None:
        for name, images, filters, keywords in CASES:
            with self.subTest(case=name):
                ndim = len(images) - 2
                mode, step = keywords.get("border_mode", "valid"), keywords.get("subsample", (1,) * ndim)
                spread = keywords.get("filter_dilation")
                top = convolved(np.zeros(images), np.zeros(filters), **keywords).shape
                self.assertEqual(C.get_conv_output_shape(images, filters, mode, step, spread), top)
                symbolic = [tt.lscalar() for _ in images]
                result = C.get_conv_output_shape(symbolic, filters, mode, step, spread)
                lengths = run(symbolic, [tt.stack([*result, symbolic[1]])], *images)[0]
                self.assertEqual(tuple(lengths), (*top, images[1]))
                self.assertTrue(C.check_conv_gradinputs_shape(images, filters, top, mode, step, spread))
                wrong = (*top[:-1], top[-1] + 1)
                self.assertFalse(C.check_conv_gradinputs_shape(images, filters, wrong, mode, step, spread))
                groups, unshared = keywords.get("num_groups", 1), keywords.get("unshared", False)
                back = C.get_conv_gradinputs_shape(filters, top, mode, step, spread, groups)
                self.assertEqual(
                    back, (*images[:2], *(n if s == 1 else None for n, s in zip(images[2:], step, strict=True)))
                )
                kernel = C.get_conv_gradweights_shape(images, top, mode, step, spread, groups, unshared)
                modes = mode if isinstance(mode, tuple) else (mode,) * ndim
                kernels = (
                    n if s == 1 and m != "half" else None for n, s, m in zip(filters[-ndim:], step, modes, strict=True)
                )
                self.assertEqual(kernel, (*filters[:-ndim], *kernels))

    def test_unknown(self) -> None:
        self.assertEqual(
            C.get_conv_output_shape((None, 2, None, 5), (3, None, 2, 2), "full", (1, 1)), (None, 3, None, 6)
        )
        self.assertIsNone(C.get_conv_shape_1axis(5, None, "valid", 1))
        self.assertIsNone(C.get_conv_gradinputs_shape_1axis(3, 5, "valid", 2, 1))
        self.assertIsNone(C.get_conv_gradweights_shape_1axis(9, 5, "half", 1, 1))
        n = tt.lscalar("n")
        self.assertTrue(C.check_conv_gradinputs_shape((2, 3, n, 8), (5, 3, 3, 3), (2, 5, 6, None), "valid", (1, 1)))
        self.assertFalse(C.check_conv_gradinputs_shape((2, 3, 8, 8), (5, 3, 3, 3), (2, 5, 6), "valid", (1, 1)))

    def test_static_types(self) -> None:
        x = tt.TensorType("float64", (None, 3, 8, None))("x")
        w = tt.TensorType("float64", (4, 3, 3, 2))("w")
        y = C.conv2d(x, w, border_mode="full", subsample=(2, 1))
        self.assertEqual(y.type.shape, (None, 4, 5, None))
        by_x, by_w = tt.grad(y.sum(), [x, w])
        self.assertEqual((by_x.type.shape[1], by_w.type.shape[:2]), (3, (4, 3)))

    def test_asserted(self) -> None:
        n = tt.lscalar("n")
        for shape in ((-1, 1, 1, 1), (1, 1, 0, 1)):
            with self.assertRaisesRegex(ValueError, "must be at least"):
                C.assert_conv_shape(shape)
        checked = run([n], list(C.assert_conv_shape((n, n, n + 1))), 0)
        self.assertEqual([int(v) for v in checked], [0, 0, 1])
        with self.assertRaisesRegex(AssertionError, "dimension 2 must be at least 1"):
            run([n], C.assert_conv_shape((1, 1, n))[2], 0)
        x = tt.dmatrix("x")
        self.assertIs(C.assert_shape(x, None), x)
        self.assertIs(C.assert_shape(x, (None, None)), x)
        f = function([x], C.assert_shape(x, (None, 2), "two columns, please"))
        assert_allclose(f(np.ones((3, 2))), np.ones((3, 2)))
        with self.assertRaisesRegex(AssertionError, "two columns, please"):
            f(np.ones((2, 3)))

    def test_flag(self) -> None:
        x = tt.dtensor4("x")
        for expected, mode in ((True, MODES[0]), (True, MODES[2]), (False, MODES[0])):
            with config.change_flags(conv__assert_shape=expected):
                f = function([x], C.conv2d(x, W, (None, 3, 6, 6), W.shape), mode=mode)
            if expected:
                with self.assertRaisesRegex(AssertionError, "the input of a convolution has not the shape"):
                    f(X)
            else:
                assert_allclose(f(X), convolved(X, W))


class TestRefused(unittest.TestCase):
    def test_arguments(self) -> None:
        x, w, m = tt.dtensor4("x"), tt.dtensor4("w"), tt.dmatrix("m")
        cases: tuple[tuple[type[Exception], str, Callable[[], Any]], ...] = (
            (ValueError, "unknown border_mode 'same'", lambda: C.conv2d(x, w, border_mode="same")),
            (ValueError, "border of -1", lambda: C.conv2d(x, w, border_mode=-1)),
            (ValueError, "3 entries for 2 axes", lambda: C.conv2d(x, w, border_mode=(1, 2, 3))),
            (ValueError, "no border of one axis", lambda: C.conv2d(x, w, border_mode=(1, (1, 2, 3)))),
            (ValueError, r"subsample=\(0, 1\)", lambda: C.conv2d(x, w, subsample=(0, 1))),
            (ValueError, r"subsample=\(1,\)", lambda: C.conv2d(x, w, subsample=(1,))),
            (ValueError, "filter_dilation", lambda: C.conv2d(x, w, filter_dilation=(1, 1, 1))),
            (ValueError, "num_groups=0", lambda: C.conv2d(x, w, num_groups=0)),
            (tt.ShapeError, "images must have 4 dimensions, not 2(.|\n)*`m`", lambda: C.conv2d(m, w)),
            (tt.ShapeError, "filters must have 6 dimensions, not 4", lambda: C.conv2d(x, w, unshared=True)),
            (tt.DTypeError, "real numbers(.|\n)*`z`", lambda: C.conv2d(tt.ztensor4("z"), w)),
            (tt.ShapeError, "images must have 5 dimensions", lambda: C.conv3d(x, w)),
            (tt.ShapeError, "3 entries, expected 4", lambda: C.conv2d(x, w, (1, 2, 3))),
            (tt.ShapeError, "output_grad must have 4", lambda: C.conv2d_grad_wrt_inputs(m, w, (5, 5))),
            (tt.ShapeError, "input must have 4", lambda: C.conv2d_grad_wrt_weights(m, x, (5, 5))),
            (tt.ShapeError, "five dimensions", lambda: C.conv3d2d(x, w)),
            (ValueError, "conv3d2d: unknown border_mode 1", lambda: C.conv3d2d(*(tt.dtensor5(),) * 2, border_mode=1)),  # type: ignore[arg-type]
            (ValueError, "unknown output_mode 'half'", lambda: C.former_conv2d(x, w, border_mode="half")),
            (TypeError, "unknown arguments verbose", lambda: C.former_conv2d(x, w, verbose=1)),
            (tt.ShapeError, "causal_conv1d takes three", lambda: C.causal_conv1d(x, w, (1, 1, 2))),
            (ValueError, "length of the filters", lambda: C.causal_conv1d(*(tt.dtensor3(),) * 2, (1, 1, None))),
            (ValueError, "either ratio or frac_ratio", lambda: C.bilinear_upsampling(x)),
            (ValueError, "is no fraction", lambda: C.frac_bilinear_upsampling(x, (0, 1))),
            (tt.ShapeError, "four dimensions", lambda: C.bilinear_upsampling(m, 2)),
            (ValueError, "same", lambda: C.conv2d(x, w, (1, 1, 5, 5), image_shape=(1, 1, 5, 5))),
            (ValueError, "direction='back'", lambda: C.AbstractConv2d().conv(X, W, direction="back")),
            (ValueError, "unknown direction", lambda: C.AbstractConv2d().unshared2d(X[0, 0], W[0], (1, 1), "back")),
            (tt.ShapeError, "3 lengths for 2 axes", lambda: C.AbstractConv2d_gradInputs()(w, x, (1, 2, 3))),
        )
        for error, pattern, call in cases:
            with self.subTest(pattern=pattern), self.assertRaisesRegex(error, pattern) as caught:
                call()
            self.assertIn("Hint", str(caught.exception))

    def test_old_arguments_warn(self) -> None:
        with self.assertWarnsRegex(DeprecationWarning, "image_shape is called input_shape"):
            C.conv2d(X, W, image_shape=X.shape)
        with self.assertWarnsRegex(DeprecationWarning, "ignores imshp_logical"):
            C.conv2d(X, W, imshp_logical=(1, 2))

    def test_shapes_at_run_time(self) -> None:
        x, w, top, private = tt.dtensor4("x"), tt.dtensor4("w"), tt.dtensor4("top"), tt.tensor6("own", dtype="float64")
        cases: tuple[tuple[str, list[Any], Any, list[Any]], ...] = (
            ("differ in input channels", [x, w], C.conv2d(x, w), [X, W[:, :2]]),
            ("channels, times 2 groups", [x, w], C.conv2d(x, w, num_groups=2), [X, W]),
            ("4 filters cannot be divided into 3", [x, w], C.conv2d(x, w, num_groups=3), [X, W[:, :1]]),
            ("do not fit into the images", [x, w], C.conv2d(x, w), [X[:, :, :2], W]),
            (r"positions", [x, private], C.conv2d(x, private, unshared=True), [X, np.ones((2, 2, 2, 3, 2, 2))]),
            (r"has the shape \(2, 4, 4, 4\)", [w, top], C.conv2d_grad_wrt_inputs(top, w, (6, 5)), [W, X]),
            (r"has the shape \(2, 3, 4, 4\)", [x, top], C.conv2d_grad_wrt_weights(x, top, (3, 2)), [X, X]),
        )
        for pattern, inputs, output, values in cases:
            for mode in MODES:
                with (
                    self.subTest(pattern=pattern, mode=str(mode)),
                    self.assertRaisesRegex(ValueError, pattern) as caught,
                ):
                    function(inputs, output, mode=mode)(*values)
                self.assertIn("images: shape (2, 3,", str(caught.exception))
