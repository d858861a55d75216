"""Static lengths refine the type of a tensor; the type stays equal to that of its dtype and pattern."""

from __future__ import annotations

import pickle
import unittest

import numpy as np

import theano
import theano.tensor as T
from theano.gof.opt import MergeOptimizer


class TestEquality(unittest.TestCase):
    """Types with known lengths equal the types that programs compare with."""

    def test_stacked_scalars(self) -> None:
        self.assertEqual(T.stack([T.dscalar(), T.dscalar()]).type, T.dvector)

    def test_what_is_made_of_constants(self) -> None:
        results = [T.constant([1.0, 2.0]), T.zeros(3), T.eye(2), T.arange(3), T.dvector().reshape((2, 3))]
        expected = [T.dvector, T.dvector, T.dmatrix, T.lvector, T.dmatrix]
        floats = [v.type.clone(dtype=w.dtype) for v, w in zip(results, expected, strict=True)]
        self.assertEqual(floats, expected)

    def test_length_one_counts(self) -> None:
        self.assertEqual(T.constant(np.zeros((3, 1))).type, T.dcol)
        self.assertNotEqual(T.constant(np.zeros((3, 1))).type, T.dmatrix)
        self.assertEqual(T.unbroadcast(T.drow(), 0).type, T.dmatrix)

    def test_equal_types_have_equal_hashes(self) -> None:
        kinds = {T.dvector: "vector"}
        self.assertEqual(kinds[T.stack([T.dscalar(), T.dscalar()]).type], "vector")

    def test_printed_as_its_pattern(self) -> None:
        self.assertEqual(repr(T.constant([1.0, 2.0]).type), "TensorType(float64, vector)")
        self.assertEqual(repr(T.TensorType("float64", (None, 3))), "TensorType(float64, (None, 3))")


class TestStandIns(unittest.TestCase):
    """A variable of an equal type may replace another one; known lengths are checked."""

    def setUp(self) -> None:
        self.pair = T.stack([T.dscalar("a"), T.dscalar("b")])
        self.any = T.dvector("v")

    def test_filter_variable_keeps_what_is_equal(self) -> None:
        self.assertIs(self.pair.type.filter_variable(self.any), self.any)
        self.assertIs(self.any.type.filter_variable(self.pair), self.pair)

    def test_variable_of_a_type_that_was_found_out(self) -> None:
        x = self.pair.type("x")
        self.assertEqual(x.type.shape, (None,))
        np.testing.assert_array_equal(theano.function([x], x * 2)([1.0, 2.0, 3.0]), [2.0, 4.0, 6.0])

    def test_variable_of_a_declared_type(self) -> None:
        self.assertEqual(T.TensorType("float64", (None, 3))("x").type.shape, (None, 3))

    def test_clone(self) -> None:
        total = theano.clone((self.pair * 2).sum(), {self.pair: self.any})
        self.assertEqual(float(total.eval({self.any: [1.0, 2.0]})), 6.0)

    def test_givens(self) -> None:
        f = theano.function([self.any], self.pair * self.pair.shape[0], givens={self.pair: self.any})
        np.testing.assert_array_equal(f([1.0, 2.0]), [2.0, 4.0])
        with self.assertRaises((ValueError, AssertionError)):
            f([1.0, 2.0, 3.0])

    def test_new_inputs_of_a_node(self) -> None:
        owner = T.exp(self.pair).owner
        assert owner is not None, "it is computed"
        node = owner.clone_with_new_inputs([self.any])
        self.assertEqual(node.outputs[0].type.shape, (2,))

    def test_replacement_in_a_graph(self) -> None:
        assert self.pair.owner is not None, "it is computed"
        graph = theano.gof.FunctionGraph([self.any, *self.pair.owner.inputs], [self.pair + self.any], clone=False)
        graph.replace(self.pair, self.any)
        f = theano.function([self.any], graph.outputs[0])
        np.testing.assert_array_equal(f([1.0, 2.0]), [2.0, 4.0])
        with self.assertRaises((ValueError, AssertionError)):
            f([1.0, 2.0, 3.0])

    def test_pickled(self) -> None:
        kind = pickle.loads(pickle.dumps(self.pair.type))
        self.assertEqual((kind, kind.shape, kind.found), (T.dvector, (2,), True))


class TestCachesAndMerging(unittest.TestCase):
    """An entry remembered for one type is not taken for an equal one of other lengths."""

    def test_elementwise_results_keep_their_lengths(self) -> None:
        pair, many = T.stack([T.dscalar(), T.dscalar()]), T.dvector()
        self.assertEqual([T.exp(v).type.shape for v in (pair, many, pair)], [(2,), (None,), (2,)])

    def test_constants_of_other_lengths_stay_apart(self) -> None:
        x = T.dscalar("x")
        graph = theano.gof.FunctionGraph([x], [x + T.constant([1.0, 1.0]), x + T.constant([1.0, 1.0, 1.0])])
        MergeOptimizer().optimize(graph)
        self.assertEqual([v.type.shape for v in graph.outputs], [(2,), (3,)])

    def test_equal_nodes_merge(self) -> None:
        x = T.dvector("x")
        graph = theano.gof.FunctionGraph([x], [x.reshape((3,)) + 1, x.reshape((3,)) + 1])
        MergeOptimizer().optimize(graph)
        self.assertIs(graph.outputs[0], graph.outputs[1])

    def test_branches_of_other_lengths(self) -> None:
        two, three = T.constant([1.0, 2.0]), T.constant([1.0, 2.0, 3.0])
        c = T.iscalar("c")
        f = theano.function([c], theano.ifelse.ifelse(c, two, three))
        self.assertEqual((len(f(1)), len(f(0))), (2, 3))
