"""Indexing, products and reductions that differ from Theano 1.0 on purpose."""

from __future__ import annotations

import unittest

import numpy as np

import theano
import theano.tensor as T
from theano.tensor.blas import Gemv
from theano.tensor.blas_c import CGemv
from theano.tensor.subtensor import get_idx_list


class TestIndexConstants(unittest.TestCase):
    difference = "index-constants"

    def test_constants_stand_in_the_op(self) -> None:
        x, i = T.dmatrix("x"), T.lscalar("i")
        node = x[0, 1:i].owner
        self.assertEqual(len(node.inputs), 2)
        first, part = get_idx_list(node.inputs, node.op.idx_list)
        self.assertEqual((first, part.start, part.stop), (0, 1, node.inputs[1]))


class TestPartLengths(unittest.TestCase):
    difference = "part-lengths"

    def test_only_declared_dimensions_stretch(self) -> None:
        x, y = T.dvector("x"), T.dvector("y")
        f = theano.function([x, y], T.set_subtensor(x[:2], y))
        with self.assertRaises(ValueError):
            f(np.zeros(3), np.ones(1))
        g = theano.function([x, y], T.set_subtensor(x[:2], T.addbroadcast(y, 0)))
        np.testing.assert_array_equal(g(np.zeros(3), np.ones(1)), [1, 1, 0])


class TestBlasOpClasses(unittest.TestCase):
    difference = "blas-op-classes"

    def test_graphs_show_the_general_class(self) -> None:
        x, y, v = T.dmatrix("x"), T.dvector("y"), T.dvector("v")
        f = theano.function([x, y, v], T.exp(y) + T.dot(x, v), mode="FAST_RUN")
        self.assertEqual([type(n.op) for n in f.maker.fgraph.toposort() if isinstance(n.op, Gemv)], [Gemv])
        self.assertIsInstance(CGemv(inplace=False), Gemv)


class TestInplaceUpdates(unittest.TestCase):
    difference = "inplace-updates"

    def test_old_values_stay_until_the_call_has_succeeded(self) -> None:
        s, x, y = theano.shared(np.zeros(3)), T.dvector("x"), T.dvector("y")
        f = theano.function([x, y], x + y, updates=[(s, s + 1)], mode="FAST_RUN")
        self.assertFalse(f.maker.fgraph.outputs[1].owner.op.destroy_map)
        with self.assertRaises(ValueError):
            f(np.zeros(2), np.zeros(3))
        np.testing.assert_array_equal(s.get_value(), np.zeros(3))


class TestProdWithoutZeros(unittest.TestCase):
    difference = "prod-without-zeros"

    def test_there_is_a_gradient(self) -> None:
        x = T.dvector("x")
        total = T.elemwise.ProdWithoutZeros()(x)
        np.testing.assert_allclose(T.grad(total, x).eval({x: [2.0, 0.0, 3.0]})[[0, 2]], [3, 2])


class TestIndexMasks(unittest.TestCase):
    difference = "index-masks"

    def test_a_truth_value_is_a_mask(self) -> None:
        x = T.dvector("x")
        self.assertEqual(x[True].eval({x: [1.0, 2.0]}).shape, (1, 2))


if __name__ == "__main__":
    unittest.main()
