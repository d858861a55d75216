"""Ops of Theano 1.0 for neural networks: values, gradients, and their graphs."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

import theano
import theano.tensor as T
import theano.tensor.signal.pool
from theano.sandbox import blocksparse, neighbours as old_neighbours
from theano.tensor import nnet
from theano.tensor.nnet import bn, conv3d2d, corr, corr3d, ctc, neighbours, opt, sigm
from theano.tests.unittest_tools import verify_grad

RNG = np.random.RandomState(42)
MODES = ("FAST_RUN", "FAST_COMPILE", theano.Mode(linker="py", optimizer=None))


class TestSoftmaxOps(unittest.TestCase):
    def test_gradients(self) -> None:
        x, b, y = RNG.randn(3, 4), RNG.randn(4), np.array([0, 3, 1])
        verify_grad(nnet.softmax_with_bias, [x, b], rng=RNG)
        verify_grad(nnet.softmax_grad, [x, RNG.rand(3, 4)], rng=RNG)
        verify_grad(lambda m, v: nnet.crossentropy_softmax_argmax_1hot_with_bias(m, v, y)[0], [x, b], rng=RNG)
        verify_grad(lambda g, p: nnet.crossentropy_softmax_1hot_with_bias_dx(g, p, y), [RNG.rand(3), x], rng=RNG)
        verify_grad(lambda p: nnet.crossentropy_categorical_1hot(p, y), [RNG.rand(3, 4) + 0.5], rng=RNG)
        verify_grad(nnet.prepend_1_to_each_row, [x], rng=RNG)
        verify_grad(nnet.prepend_scalar_to_each_row, [np.asarray(2.0), x], rng=RNG)

    def test_every_mode_gives_the_same(self) -> None:
        x, b, y = T.dmatrix("x"), T.dvector("b"), T.ivector("y")
        outputs = nnet.crossentropy_softmax_argmax_1hot_with_bias(x, b, y)
        outputs += T.grad(outputs[0].sum(), [x, b])
        values = RNG.randn(2, 3), RNG.randn(3), np.array([2, 0], dtype="int32")
        results = [theano.function([x, b, y], outputs, mode=mode)(*values) for mode in MODES]
        for others in results[1:]:
            for first, other in zip(results[0], others, strict=True):
                np.testing.assert_allclose(first, other)
        self.assertEqual(results[0][2].dtype, "int32")

    def test_negative_classes_are_refused(self) -> None:
        x, b, y = T.dmatrix("x"), T.dvector("b"), T.lvector("y")
        for mode in MODES:
            f = theano.function([x, b, y], nnet.crossentropy_softmax_argmax_1hot_with_bias(x, b, y)[0], mode=mode)
            with self.assertRaisesRegex(ValueError, "y_i value out of bounds"):
                f(np.ones((1, 2)), np.ones(2), [-1])

    def test_vectors_count_as_rows(self) -> None:
        self.assertEqual(nnet.softmax_op(T.dvector("v")).ndim, 2)
        self.assertEqual(nnet.softmax_grad(T.dvector("g"), T.dvector("p")).ndim, 2)

    def test_other_operands_are_refused(self) -> None:
        m, v = T.lmatrix("m"), T.dvector("v")
        with self.assertRaisesRegex(ValueError, "a matrix of floats"):
            nnet.softmax_with_bias(m, v)
        with self.assertRaisesRegex(TypeError, "a vector of integers"):
            nnet.crossentropy_categorical_1hot(T.dmatrix(), v)

    def test_shapes_need_no_computation(self) -> None:
        x, b, y = T.dmatrix("x"), T.dvector("b"), T.lvector("y")
        shapes = [v.shape for v in nnet.crossentropy_softmax_argmax_1hot_with_bias(x, b, y)]
        f = theano.function([x, b, y], shapes, on_unused_input="ignore")
        self.assertFalse([n for n in f.maker.fgraph.toposort() if "exp" in str(n.op)])


class TestCorrelations(unittest.TestCase):
    def test_gradients_are_of_their_family(self) -> None:
        x, w = T.dtensor4("x"), T.dtensor4("w")
        by_x, by_w = T.grad(corr.CorrMM("half")(x, w).sum(), [x, w])
        assert by_x.owner is not None and by_w.owner is not None, "they are computed"
        self.assertIsInstance(by_x.owner.op, corr.CorrMM_gradInputs)
        self.assertIsInstance(by_w.owner.op, corr.CorrMM_gradWeights)
        verify_grad(corr.CorrMM((1, (2, 0)), (2, 1)), [RNG.rand(2, 2, 5, 6), RNG.rand(3, 2, 2, 3)], rng=RNG)
        verify_grad(corr3d.Corr3dMM(1), [RNG.rand(1, 2, 3, 4, 3), RNG.rand(1, 2, 2, 2, 2)], rng=RNG)

    def test_shape_is_needed_where_several_are_possible(self) -> None:
        g = T.dtensor4("g")
        with self.assertRaisesRegex(ValueError, "shape must be given"):
            corr.CorrMM_gradInputs(subsample=(2, 1))(g, g)
        with self.assertRaisesRegex(ValueError, "shape must be given"):
            corr.CorrMM_gradWeights("half")(g, g)

    def test_geometry_and_text(self) -> None:
        op = corr.CorrMM((1, (2, 0)), (2, 1))
        self.assertEqual((op.dH, op.dW, op.dilH, op.padH_l, op.padW_l, op.padW_r), (2, 1, 1, 1, 2, 0))
        self.assertEqual(corr.CorrMM("full").pad, ((-2, -2), (-2, -2)))
        self.assertEqual(str(corr.CorrMM()), "CorrMM{valid, (1, 1), (1, 1), 1 False}")
        with self.assertRaisesRegex(ValueError, "is a base"):
            corr.BaseCorrMM()

    def test_compiled_functions_show_them(self) -> None:
        x, w = T.dtensor4("x"), T.dtensor4("w")
        y = nnet.conv2d(x, w)
        outputs = [y, *T.grad(y.sum(), [x, w])]

        def kinds(*excluded: str) -> set[type]:
            f = theano.function([x, w], outputs, mode=theano.compile.get_default_mode().excluding(*excluded))
            return {type(node.op) for node in f.maker.fgraph.toposort()}

        expected = {corr.CorrMM, corr.CorrMM_gradInputs, corr.CorrMM_gradWeights}
        self.assertLessEqual(expected, kinds())
        self.assertTrue(expected.isdisjoint(kinds("conv_gemm")))
        self.assertIn(opt.ConvOp, kinds("conv_gemm"))

    def test_former_convolutions_compute_the_same(self) -> None:
        x, w = T.dtensor4("x"), T.dtensor4("w")
        values = RNG.rand(2, 3, 5, 6), RNG.rand(4, 3, 2, 3)
        for border in ("valid", "full"):
            y = nnet.conv2d(x, w, border_mode=border)
            outputs = [y, *T.grad((y**2).sum(), [x, w])]
            results = [
                theano.function([x, w], outputs, mode=theano.compile.get_default_mode().excluding(*tags))(*values)
                for tags in ((), ("conv_gemm",), ("conv_gemm", "conv_opts"))
            ]
            for others in results[1:]:
                for first, other in zip(results[0], others, strict=True):
                    np.testing.assert_allclose(first, other)


class TestFormerConvolution(unittest.TestCase):
    def test_shapes_that_are_given_are_checked(self) -> None:
        former: Any = nnet.conv.conv2d
        x, w = T.dtensor4("x"), T.dtensor4("w")
        f = theano.function([x, w], former(x, w, (3, 2, 8, 8), T.constant([4, 2, 5, 5])))
        self.assertEqual(f(np.ones((3, 2, 8, 8)), np.ones((4, 2, 5, 5))).shape, (3, 4, 4, 4))
        with self.assertRaisesRegex(ValueError, "image_shape"):
            f(np.ones((2, 2, 8, 8)), np.ones((4, 2, 5, 5)))
        with self.assertRaisesRegex(AssertionError, "2 channels of images, 3 of filters"):
            nnet.conv.conv2d(x, w, (3, 2, 8, 8), (4, 3, 5, 5))

    def test_shapes_without_computation(self) -> None:
        self.assertEqual(opt.ConvOp.getOutputShape((5, 6), (3, 3), (2, 1)), (2, 4))
        self.assertTrue(opt.ConvOp.has_all_shape((1, 5, 5), (3, 3)))
        self.assertFalse(opt.ConvOp.has_all_shape((1, None, 5), (3, 3)))


class TestOtherOps(unittest.TestCase):
    def test_batch_normalization(self) -> None:
        x, (scale, shift, mean, var) = RNG.rand(5, 3), RNG.rand(4, 1, 3)
        verify_grad(lambda *v: bn.AbstractBatchNormTrain((0,))(*v)[0], [x, scale, shift], rng=RNG)
        verify_grad(lambda *v: bn.AbstractBatchNormInference((0,))(*v), [x, scale, shift, mean, var], rng=RNG)
        a, g, s = T.dmatrices("a", "g", "s")
        s = T.addbroadcast(s, 0)
        out, center, invstd = bn.batch_normalization_train(a, s, s)
        (by_a,) = T.grad(None, [a], known_grads={out: g})
        former = bn.AbstractBatchNormTrainGrad((0,))(a, g, s, center, invstd)[0]
        f = theano.function([a, g, s], [by_a, former])
        first, second = f(x, RNG.rand(5, 3), scale)
        np.testing.assert_allclose(first, second, atol=1e-12)

    def test_diagonals(self) -> None:
        x = RNG.rand(5, 3)
        verify_grad(lambda m: conv3d2d.diagonal_subtensor(m, 0, 1), [x], rng=RNG)
        verify_grad(lambda m, a: conv3d2d.inc_diagonal_subtensor(m, 0, 1, a), [x, RNG.rand(3, 3)], rng=RNG)
        m = T.dmatrix("m")
        f = theano.function([m], conv3d2d.diagonal_subtensor(m, 0, 1))
        np.testing.assert_array_equal(f(x), [[x[i + 2 - k, k] for k in range(3)] for i in range(3)])

    def test_neighbourhoods_are_one_op(self) -> None:
        x = T.dtensor4("x")
        f = theano.function([x], old_neighbours.images2neibs(x, (2, 2)))
        self.assertEqual([type(n.op) for n in f.maker.fgraph.toposort()], [neighbours.Images2Neibs])
        with self.assertRaisesRegex(TypeError, "do not cover axis 2"):
            f(np.ones((1, 1, 3, 4)))
        verify_grad(lambda v: neighbours.Images2Neibs("half")(v, (2, 2), (1, 1)), [RNG.rand(1, 2, 4, 4)], rng=RNG)

    def test_pooling(self) -> None:
        pool: Any = theano.tensor.signal.pool
        x, t = RNG.rand(4, 4), RNG.rand(4, 4)
        verify_grad(lambda *v: pool.MaxPoolRop(True)(*v, (2, 2)), [x, t], rng=RNG)
        picked = pool.DownsampleFactorMaxGradGrad(True)(x, pool.Pool(True)(x, (2, 2)), t, (2, 2))
        np.testing.assert_array_equal(picked.eval(), pool.MaxPoolRop(True)(x, t, (2, 2)).eval())

    def test_ops_that_are_made(self) -> None:
        self.assertEqual(blocksparse.sparse_block_gemv_inplace, nnet.blocksparse.SparseBlockGemv(True))
        self.assertTrue(ctc.ctc_available())


class TestActivations(unittest.TestCase):
    def test_derivative_of_relu_at_zero(self) -> None:
        x = T.dvector("x")
        for alpha, expected in ((0, [0, 0.5, 1]), (0.1, [0.1, 0.55, 1])):
            for mode in MODES:
                f = theano.function([x], T.grad(nnet.relu(x, alpha).sum(), x), mode=mode)
                np.testing.assert_allclose(f([-2.0, 0.0, 3.0]), expected)

    def test_relu_of_large_numbers(self) -> None:
        values = [-np.inf, -1.7e308, 1.7e308, np.inf]
        np.testing.assert_array_equal(nnet.relu(values).eval(), [0, 0, 1.7e308, np.inf])

    def test_classes_of_scalars(self) -> None:
        for function, kind in (
            (nnet.sigmoid, sigm.ScalarSigmoid),
            (nnet.softplus, sigm.ScalarSoftplus),
            (nnet.ultra_fast_sigmoid, sigm.UltraFastScalarSigmoid),
            (nnet.nnet.softsign, nnet.nnet.ScalarSoftsign),
        ):
            self.assertIsInstance(function.scalar_op, kind)


class TestTreesOfProducts(unittest.TestCase):
    def test_parsed_and_computed(self) -> None:
        x, y, z = T.dvectors("x", "y", "z")
        tree = sigm.parse_mul_tree((x * y) * -z)
        self.assertEqual(tree, [False, [[False, [[False, x], [False, y]]], [True, z]]])
        self.assertEqual(sigm.parse_mul_tree(sigm.compute_mul(tree)), tree)

    def test_exponentials_join_sigmoids(self) -> None:
        x, y = T.dvectors("x", "y")
        product = -nnet.sigmoid(x) * (y * T.exp(-x)) * nnet.sigmoid(-y) * T.exp(y)
        tree = sigm.parse_mul_tree(product)
        self.assertTrue(sigm.perform_sigm_times_exp(tree))
        joined = sigm.compute_mul(sigm.simplify_mul(tree))
        values = {x: np.array([0.5, -2.0]), y: np.array([1.5, 0.25])}
        np.testing.assert_allclose(joined.eval(values), product.eval(values))
        self.assertNotIn("exp", theano.printing.pp(joined))

    def test_one_plus_exponential(self) -> None:
        x = T.dvector("x")
        self.assertEqual(sigm.is_1pexp(1 + T.exp(x), False), (False, x))
        self.assertIsNone(sigm.is_1pexp(2 + T.exp(x), False))


class TestRewritesByName(unittest.TestCase):
    def test_softmax_and_losses(self) -> None:
        x, b, y = T.dmatrix("x"), T.dvector("b"), T.lvector("y")
        cases: Any = (
            (nnet.nnet.local_softmax_with_bias, nnet.softmax_op(x + b), nnet.SoftmaxWithBias),
            (nnet.nnet.local_logsoftmax, T.log(nnet.softmax_op(x)), nnet.LogSoftmax),
            (nnet.nnet.local_argmax_pushdown, T.argmax(nnet.softmax_op(x), axis=1), T.Argmax),
        )
        for rewrite, before, kind in cases:
            (after,) = rewrite.transform(before.owner)
            self.assertIsInstance(after.owner.op, kind)
            values = {x: RNG.rand(2, 3), b: RNG.rand(3)}
            used = {v: a for v, a in values.items() if v in theano.gof.graph.inputs([before])}
            np.testing.assert_allclose(after.eval(used), before.eval(used))
        loss = nnet.crossentropy_categorical_1hot(nnet.softmax_with_bias(x, b), y)
        fgraph = theano.gof.FunctionGraph([x, b, y], [loss])
        nnet.nnet.crossentropy_to_crossentropy_with_softmax_with_bias.optimize(fgraph)
        self.assertIsInstance(fgraph.outputs[0].owner.op, nnet.CrossentropySoftmaxArgmax1HotWithBias)
