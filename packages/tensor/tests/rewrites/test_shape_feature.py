from __future__ import annotations

import unittest
from typing import Any, cast

import numpy as np

import theano_tensor as T
from theano_graph import AlreadyThere, Apply, FunctionGraph, Op, generic
from theano_linker_c import FAST_RUN
from theano_optimize import WalkRewriter, node_rewriter
from theano_tensor import ShapeError
from theano_tensor.rewrites import ShapeFeature, ShapeOptimizer, UnShapeOptimizer, known_shape_i


class TestShapeFeature(unittest.TestCase):
    def setUp(self) -> None:
        self.x = T.dmatrix("x")
        self.y = T.tanh(self.x).T
        self.z = T.dot(self.y, self.x)
        self.graph: Any = FunctionGraph([self.x], [self.z, self.y], features=[ShapeFeature()], clone=False)
        self.feature = cast(Any, self.graph).shape_feature

    def value(self, length: Any) -> int:
        return int(length.eval({self.x: np.zeros((2, 5))} if length.owner is not None else {}))

    def test_lengths_come_from_the_inputs(self) -> None:
        self.assertEqual([self.value(n) for n in self.feature.shape_of[self.z]], [5, 5])
        self.assertEqual(self.value(self.feature.get_shape(self.y, 1)), 2)
        for length in self.feature.shape_of[self.z]:
            self.assertIs(length.owner.inputs[0], self.x)

    def test_same_shape(self) -> None:
        self.assertTrue(self.feature.same_shape(self.y, self.x, 0, 1))
        self.assertFalse(self.feature.same_shape(self.y, self.x))
        self.assertTrue(self.feature.same_shape(self.z, self.z))

    def test_a_length_that_is_known_in_a_graph(self) -> None:
        for length in (known_shape_i(self.z, 0), known_shape_i(self.z, -1)):
            self.assertIs(cast(Any, length).owner.inputs[0], self.x)
            self.assertEqual(self.value(length), 5)
        stranger = T.exp(self.y)
        self.assertIs(cast(Any, known_shape_i(stranger, 1, self.graph)).owner.inputs[0], self.x)
        self.assertIs(cast(Any, known_shape_i(stranger, 1)).owner.inputs[0], stranger)
        with self.assertRaisesRegex(ShapeError, "no dimension 2 of 2"):
            known_shape_i(self.z, 2)

    def test_entries_can_be_set(self) -> None:
        self.feature.set_shape_i(self.z, 0, 7)
        self.assertEqual(self.value(self.feature.get_shape(self.z, 0)), 7)
        with self.assertRaisesRegex(ShapeError, "has a shape already"):
            self.feature.set_shape(self.z, (1, 2))
        self.feature.set_shape(self.z, (3, 4), override=True)
        self.assertEqual([self.value(n) for n in self.feature.shape_of[self.z]], [3, 4])
        with self.assertRaisesRegex(ShapeError, "1 lengths are no shape of 2"):
            self.feature.set_shape(self.z, (3,), override=True)
        self.feature.update_shape(self.z, self.y)
        self.assertEqual([self.value(n) for n in self.feature.shape_of[self.z]], [5, 2])

    def test_what_is_no_length_is_refused(self) -> None:
        for wrong in (-1, 1.5, T.dscalar("s"), T.lvector("v")):
            with self.assertRaisesRegex(ShapeError, "no length(.|\n)*`dot.0`"):
                self.feature.unpack(wrong, self.z)

    def test_a_replacement_keeps_the_shape(self) -> None:
        before = self.feature.shape_of[self.y]
        new = T.exp(self.x).T
        self.graph.replace(self.y, new)
        self.assertIs(self.feature.shape_of[new], before)

    def test_a_chain_is_asked_for_one_by_one(self) -> None:
        """Each question costs only its new part, after any earlier questions."""
        y: Any = self.x
        chain = [y := T.tanh(y) for _ in range(3000)]
        feature = ShapeFeature()
        FunctionGraph([self.x], [y], features=[feature], clone=False)
        for variable in chain:
            self.assertTrue(feature.same_shape(variable, self.x))
        other = ShapeFeature()
        FunctionGraph([self.x], [T.exp(y)], features=[other])
        self.assertEqual(len(other.shape_of[chain[-1]]), 2)

    def test_rules_that_give_up_and_outputs_without_shape(self) -> None:
        """A rule that raises ShapeError leaves the length to the value; a variable that is no tensor has no shape."""

        class Odd(Op):
            __props__ = ()
            calls = 0

            def make_node(self, *inputs: Any) -> Apply:
                return Apply(self, list(inputs), [inputs[0].type(), generic(), inputs[0].type()])

            def perform(self, node: Any, inputs: Any, output_storage: Any, params: Any = None) -> None:
                for cell in output_storage:
                    cell[0] = inputs[0]

            def infer_shape(self, node: Any, shapes: Any) -> Any:
                type(self).calls += 1
                if self.calls == 1:
                    raise ShapeError("not known")
                return [shapes[0], None, shapes[0]]

        first, nothing, second = Odd().make_node(self.x).outputs
        for _ in range(2):
            feature = ShapeFeature()
            FunctionGraph([self.x], [first, nothing, second], features=[feature], clone=False).disown()
            self.assertIsNone(feature.shape_of[nothing])
            private = feature.shape_of[second][0].owner.inputs[0]
            self.assertIs(private, second if Odd.calls == 1 else self.x)

    def test_it_belongs_to_one_graph(self) -> None:
        with self.assertRaises(AlreadyThere):
            self.feature.on_attach(self.graph)
        UnShapeOptimizer().rewrite(self.graph)
        self.assertFalse(hasattr(self.graph, "shape_feature"))
        ShapeOptimizer().rewrite(self.graph)
        self.assertIsInstance(self.graph.shape_feature, ShapeFeature)

    def test_it_is_there_while_modes_rewrite(self) -> None:
        results: list[Any] = []

        @node_rewriter([T.tanh], name="looks_at_shapes")
        def look(fgraph: Any, node: Any) -> None:
            results.append(fgraph.shape_feature.shape_of[node.outputs[0]])

        from_here = FAST_RUN.register((WalkRewriter(look), 1.2))
        from_here.rewrite(FunctionGraph([self.x], [T.tanh(self.x)]))
        self.assertEqual(len(results[0]), 2)
