"""Where random numbers differ from Theano 1.0 on purpose."""

from __future__ import annotations

import pickle
import unittest

import numpy as np
import scipy.sparse

import theano
import theano.tensor as T
from theano import sparse
from theano.sandbox.rng_mrg import MRG_RandomStreams
from theano.tensor.raw_random import RandomFunction, permutation_helper, random_state_type


class TestRandomGradients(unittest.TestCase):
    difference = "random-gradients"

    def test_gradients_go_through_the_mean(self) -> None:
        mean = T.dscalar("mean")
        slope = T.grad(MRG_RandomStreams(1).normal((9,), mean).sum(), mean)
        self.assertEqual(theano.function([mean], slope, on_unused_input="ignore")(2.0), 9.0)


class TestRandomEmptySizes(unittest.TestCase):
    difference = "random-empty-sizes"

    def test_nothing_is_drawn(self) -> None:
        self.assertEqual(theano.function([], MRG_RandomStreams(1).uniform((0, 3)))().shape, (0, 3))


class TestSizesCheckedAtOnce(unittest.TestCase):
    difference = "sizes-checked-at-once"

    def test_a_size_that_does_not_fit(self) -> None:
        state = random_state_type()
        for added in (0, 2):
            with self.assertRaisesRegex(ValueError, "dimensions"):
                RandomFunction(permutation_helper, T.imatrix, ndim_added=added)(state, (7,), 8)
        _, draw = RandomFunction(permutation_helper, T.imatrix, ndim_added=1)(state, (7,), 8)
        self.assertEqual(theano.function([state], draw)(np.random.RandomState(1)).shape, (7, 8))


class TestLargeDraws(unittest.TestCase):
    difference = "large-draws"

    def test_the_shape_of_a_draw_that_no_memory_holds(self) -> None:
        draw = MRG_RandomStreams(1).uniform((2**15, 2**16))
        self.assertEqual(list(theano.function([], draw.shape)()), [2**15, 2**16])


class TestTruncatedDraws(unittest.TestCase):
    difference = "truncated-draws"

    def test_each_part_has_the_deviation_of_the_whole(self) -> None:
        def ratio() -> float:
            draw = theano.function([], MRG_RandomStreams(1).normal((200, 500), truncate=True))()
            return float(draw[-4:].std() / draw[:100].std())

        self.assertLess(abs(ratio() - 1), 0.05)
        with theano.config.change_flags({"random.truncated_as_1_0": True}):
            self.assertGreater(ratio(), 1.2)


class TestPickledGraphs(unittest.TestCase):
    difference = "pickled-graphs"

    def test_state_of_an_old_type(self) -> None:
        old = {"dtype": "float64", "broadcastable": (True, False), "name": None, "sparse_grad": False}
        with self.assertRaises(AttributeError):
            T.TensorType.__new__(T.TensorType).__setstate__(old)

    def test_graphs_of_this_version(self) -> None:
        x = T.dmatrix("x")
        again, result = pickle.loads(pickle.dumps([x, x + 1]))
        np.testing.assert_array_equal(theano.function([again], result)([[1.0]]), [[2.0]])


class TestSparseFormats(unittest.TestCase):
    difference = "sparse-formats"

    def test_blocks(self) -> None:
        with self.assertRaisesRegex(ValueError, "bsr"):
            sparse.SparseType("bsr", "float64")


class TestSparseSums(unittest.TestCase):
    difference = "sparse-sums"

    def test_methods(self) -> None:
        x = sparse.csr_matrix("x")
        value = scipy.sparse.csr_matrix(np.array([[0.0, 2.0], [3.0, 0.0]]))
        self.assertEqual(float(theano.function([x], x.sum())(value)), 5.0)
        np.testing.assert_array_equal(theano.function([x], x.dot(x.transpose()))(value), (value @ value.T).toarray())


class TestUsmmWithoutBlas(unittest.TestCase):
    difference = "usmm-without-blas"

    def test_one_op(self) -> None:
        self.assertEqual(theano.config.blas.ldflags, "")
        x, y, z = sparse.csr_matrix("x"), T.dmatrix("y"), T.dmatrix("z")
        f = theano.function([x, y, z], z - 2 * sparse.dot(x, y))
        self.assertTrue([node for node in f.maker.fgraph.toposort() if "Usmm" in type(node.op).__name__])
        value = np.array([[0.0, 2.0], [3.0, 0.0]])
        np.testing.assert_array_equal(f(scipy.sparse.csr_matrix(value), value, value), value - 2 * value @ value)
