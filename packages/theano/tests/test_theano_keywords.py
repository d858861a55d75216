"""Arguments by the names that the manual gives them."""

from __future__ import annotations

import os
import pickle
import tempfile
import unittest

import numpy as np

import theano
import theano.tensor as T
from theano.gof import graph, utils
from theano.sandbox import rng_mrg
from theano.tensor import opt
from theano.tests import unittest_tools as utt


class TestKeywords(unittest.TestCase):
    def setUp(self) -> None:
        self.x = T.dvector("x")
        self.y = T.exp(self.x)

    def test_walks(self) -> None:
        x, y = self.x, self.y
        self.assertEqual(graph.inputs(variable_list=[y]), [x])
        self.assertEqual(set(graph.ancestors(variable_list=[y], blockers=None)), {x, y})
        self.assertEqual(graph.ops(i=[x], o=[y]), {y.owner})
        self.assertEqual(set(graph.variables(i=[x], o=[y])), {x, y})
        self.assertEqual(graph.orphans(i=[x], o=[x + 1])[0].eval(), 1)
        self.assertEqual([len(part) for part in graph.variables_and_orphans(i=[x], o=[x + 1])][1], 1)
        self.assertEqual([len(part) for part in graph.clone(i=[x], o=[y], copy_inputs=False)], [1, 1])
        self.assertEqual(graph.as_string(i=[x], o=[y]), graph.as_string([x], [y]))
        self.assertEqual(graph.op_as_string(i=[x], op=y.owner), graph.op_as_string([x], y.owner))
        self.assertTrue(graph.is_same_graph(var1=y, var2=T.exp(x)))
        self.assertTrue(graph.is_in_ancestors(l_node=y, f_node=y.owner))
        self.assertEqual(graph.view_roots(r=x), [x])

    def test_sequences_and_files(self) -> None:
        self.assertEqual(utils.difference(seq1=[1, 2], seq2=[2]), [1])
        self.assertEqual(utils.flatten(a=[1, [2]]), [1, 2])
        self.assertEqual(utils.remove(predicate=bool, coll=[0, 1]), [0])
        self.assertEqual(utils.uniq(seq=[1, 1]), [1])
        self.assertEqual(utils.toposort(prereqs_d={2: {1}, 1: set()}), [1, 2])
        self.assertEqual(utils.memoize(f=abs)(-1), 1)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "file")
            with open(path, "w") as file:
                file.write("text")
            self.assertEqual(utils.hash_from_file(file_path=path), utils.hash_from_code("text"))

    def test_products_and_numbers(self) -> None:
        v, m = np.arange(3.0), np.arange(24.0).reshape(2, 3, 4)
        utt.assert_allclose(T.dot(a=v, b=v).eval(), v @ v)
        utt.assert_allclose(theano.dot(x=v, y=v).eval(), v @ v)
        utt.assert_allclose(T.round(a=T.constant(2.5)).eval(), 3.0)
        self.assertEqual(T.shape_padaxis(t=T.constant(m), axis=1).type.ndim, 4)
        self.assertEqual(int(opt.get_scalar_constant_value(v=T.constant(3))), 3)
        self.assertIs(opt.apply_rebroadcast_opt(rval=self.x), self.x)
        pair = (theano.scalar.log, theano.scalar.exp)
        self.assertTrue(opt.is_inverse_pair(node_op=pair[0], prev_op=pair[1], inv_pair=pair))
        state, a = np.arange(6, dtype="int32"), np.eye(3, dtype="int64")
        utt.assert_allclose(expected=rng_mrg.multMatVect(v=state, A=a, m1=100, B=a, m2=100), value=state)

    def test_lengths_that_a_graph_knows(self) -> None:
        fgraph = theano.gof.FunctionGraph([self.x], [self.y], features=[opt.ShapeFeature()], clone=False)
        lengths = [theano.compile.ops.shape_i(var=self.y, i=0), theano.compile.shape_i(T.sqr(self.y), 0, fgraph=fgraph)]
        self.assertEqual([graph.inputs([n]) for n in lengths], [[self.x]] * 2)
        self.assertNotIn(self.y, graph.ancestors(lengths))

    def test_one_argument_under_two_names(self) -> None:
        with self.assertRaisesRegex(TypeError, "multMatVect: `A` and `first` are one argument"):
            rng_mrg.multMatVect(v=np.arange(6), A=np.eye(3), first=np.eye(3), m1=100, B=np.eye(3), m2=100)

    def test_pickles(self) -> None:
        for function in (graph.clone, utils.uniq, opt.is_inverse_pair, theano.dot):
            self.assertIs(pickle.loads(pickle.dumps(function)), function)
