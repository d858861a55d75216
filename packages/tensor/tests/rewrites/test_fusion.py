from __future__ import annotations

import random
import sys
import unittest
from typing import Any

import numpy as np

import theano_tensor as tt
from theano_graph import Apply, FunctionGraph
from theano_linker_c import FAST_RUN, function
from theano_linker_c.scalar import Composite
from theano_tensor.elemwise import Elemwise
from theano_tensor.linear import dot
from theano_tensor.rewrites import FusedReduce, FuseElementwise, FuseMultiOutput, FuseReductions
from theano_tensor.rewrites.fusion import composite_of
from theano_testing.graph import interpret
from theano_testing.tensor import assert_allclose

RNG = np.random.RandomState(11)


def fused(inputs: list[Any], outputs: list[Any]) -> FunctionGraph:
    """Fuse a copy of a graph, without any other rewrite."""
    graph = FunctionGraph(inputs, outputs)
    FuseElementwise().rewrite(graph)
    FuseMultiOutput().rewrite(graph)
    FuseReductions().rewrite(graph)
    graph.check_integrity()
    return graph


def composites(graph: FunctionGraph) -> list[Apply]:
    return [n for n in graph.toposort() if isinstance(n.op, Elemwise) and isinstance(n.op.scalar_op, Composite)]


def apply_of(variable: Any) -> Apply:
    """Return the node that makes a variable."""
    node: Apply = variable.owner
    return node


class TestComposites(unittest.TestCase):
    def test_numbers_become_part_of_the_op_and_results_may_be_inputs(self) -> None:
        x, y = tt.dvectors("x", "y")
        total = tt.exp(x * tt.constant([2.0])) + y
        nodes = FunctionGraph([x, y], [total], clone=False).toposort()
        nodes = [node for node in nodes if isinstance(node.op, Elemwise)]
        composite, inputs = composite_of(nodes, [total, y])
        self.assertEqual(inputs, [x, y])
        self.assertEqual((composite.nin, composite.nout, len(composite.program.constants)), (2, 2, 1))
        first, second = composite.impl(np.float64(0.5), np.float64(3.0))
        self.assertAlmostEqual(float(first), np.exp(1.0) + 3)
        self.assertEqual(float(second), 3.0)

    def test_inputs_are_numbered_as_readers_of_the_formula_meet_them(self) -> None:
        x, y = tt.dvectors("x", "y")
        a, b = tt.exp(x), tt.exp(y)
        total = a + b
        first, second, last = (apply_of(v) for v in (a, b, total))
        one, _ = composite_of([first, second, last], [total])
        other, inputs = composite_of([second, first, last], [total])
        self.assertEqual(inputs, [x, y])
        self.assertEqual(one, other)
        self.assertEqual(composite_of([first, second, last], [b, total])[1], [y, x])

    def test_one_composite_without_numbers_is_taken_as_it_is(self) -> None:
        x, y = tt.dvectors("x", "y")
        graph = fused([x, y], [tt.exp(x) * y])
        (node,) = composites(graph)
        composite, inputs = composite_of([node], node.outputs)
        self.assertIs(composite, node.op.scalar_op)
        self.assertEqual(inputs, node.inputs)


class FusionTestCase(unittest.TestCase):
    def assert_same_values(self, inputs: list[Any], outputs: list[Any], values: list[Any]) -> FunctionGraph:
        graph = fused(inputs, outputs)
        expected = interpret(outputs, dict(zip(inputs, values, strict=True)))
        got = interpret(graph.outputs, dict(zip(graph.inputs, values, strict=True)))
        for a, b in zip(got, expected, strict=True):
            self.assertEqual(a.dtype, b.dtype)
            assert_allclose(a, b)
        return graph


class TestElementwise(FusionTestCase):
    def test_a_tree_becomes_one_node(self) -> None:
        x, y = tt.dvector("x"), tt.dvector("y")
        output = tt.tanh(2 * x + 1) * tt.exp(-(x**2)) + tt.sigmoid(y)
        graph = FunctionGraph([x, y], [output])
        FAST_RUN.rewrite(graph)
        self.assertEqual(len(graph.apply_nodes), 1)

    def test_what_is_used_outside_is_one_more_output(self) -> None:
        x = tt.dvector("x")
        a = tt.exp(x)
        b = a * 2
        graph = self.assert_same_values([x], [a, b, tt.sin(b)], [RNG.rand(4)])
        (node,) = composites(graph)
        self.assertEqual(len(node.outputs), 3)

    def test_casts_and_comparisons_are_inside(self) -> None:
        x, n = tt.fvector("x"), tt.ivector("n")
        graph = self.assert_same_values(
            [x, n], [tt.cast(x * n, "float32") > 0], [np.array([1, -2], "float32"), np.array([3, 4], "int32")]
        )
        self.assertEqual(len(composites(graph)), 1)

    def test_constants_become_part_of_the_kernel(self) -> None:
        x = tt.dvector("x")
        graph = FunctionGraph([x], [tt.exp(x * 2.5) + 1])
        FAST_RUN.rewrite(graph)
        (node,) = graph.apply_nodes
        self.assertEqual(len(node.inputs), 1)

    def test_broadcast_operands(self) -> None:
        x, v, s = tt.dmatrix("x"), tt.dvector("v"), tt.dscalar("s")
        graph = self.assert_same_values(
            [x, v, s], [tt.exp(x * v + s) - v], [RNG.rand(3, 4), RNG.rand(4), np.asarray(0.5)]
        )
        self.assertEqual(len(composites(graph)), 1)

    def test_small_work_is_not_repeated_for_each_element_of_the_large(self) -> None:
        x, v = tt.dmatrix("x"), tt.dvector("v")
        graph = self.assert_same_values([x, v], [tt.exp(v * 2) * x + 1], [RNG.rand(3, 4), RNG.rand(4)])
        self.assertEqual([n.outputs[0].type.ndim for n in composites(graph)], [1, 2])

    def test_tensors_of_unrelated_lengths_stay_apart(self) -> None:
        x, y = tt.dvector("x"), tt.dvector("y")
        graph = self.assert_same_values([x, y], [tt.exp(x) + 1, tt.exp(y) * 2], [RNG.rand(3), RNG.rand(5)])
        self.assertEqual(len(composites(graph)), 2)

    def test_no_cycle_through_what_cannot_be_fused(self) -> None:
        x = tt.dvector("x")
        a = tt.exp(x)
        total = dot(a, a).dimshuffle("x")
        graph = self.assert_same_values([x], [a * total + tt.sin(a)], [RNG.rand(4)])
        self.assertEqual(len(graph.toposort()), len(graph.apply_nodes))

    def test_early_work_waits_for_its_only_user(self) -> None:
        x, y, m = tt.dvector("x"), tt.dvector("y"), tt.dmatrix("m")
        graph = self.assert_same_values(
            [x, y, m], [(1 - y) * tt.exp(dot(m, x)) + y], [RNG.rand(4), RNG.rand(3), RNG.rand(3, 4)]
        )
        self.assertEqual(len(composites(graph)), 1)
        self.assertEqual(
            len(graph.apply_nodes) - len(composites(graph)),
            1 + sum("DimShuffle" in str(n.op) for n in graph.apply_nodes),
        )

    def test_number_of_operands_is_bounded(self) -> None:
        inputs = [tt.dvector(f"x{i}") for i in range(100)]
        total: Any = inputs[0]
        for x in inputs[1:]:
            total = total + tt.sqr(x)
        graph = self.assert_same_values(inputs, [total], [RNG.rand(2) for _ in inputs])
        for node in graph.apply_nodes:
            self.assertLessEqual(len(node.inputs) + len(node.outputs), 30)
        self.assertLess(len(graph.apply_nodes), 10)

    def test_work_grows_with_the_length_of_a_chain(self) -> None:
        def calls(length: int) -> int:
            x = tt.dvector("x")
            y = x
            for _ in range(length):
                y = tt.sin(y)
            seen = 0

            def count(*_: object) -> None:
                nonlocal seen
                seen += 1

            before = sys.getprofile()
            sys.setprofile(count)
            try:
                graph = fused([x], [y])
            finally:
                sys.setprofile(before)
            self.assertLess(len(graph.apply_nodes), 20)
            return seen

        calls(10)
        self.assertLess(calls(3000), 6 * calls(750))

    def test_complex_numbers_and_float16_are_fused(self) -> None:
        for dtype in ("complex64", "float16"):
            z = tt.tensor(dtype, shape=(None,))
            self.assertEqual(len(composites(fused([z], [tt.exp(z * 2) + 1]))), 1)

    def test_what_has_no_c_form_or_overwrites_is_left_alone(self) -> None:
        z, x = tt.zvector("z"), tt.dvector("x")
        for output in (tt.expm1(z * 2) * 3, tt.inplace.exp_inplace(x * 2) * 3):
            graph = fused([z, x], [output])
            self.assertEqual([len(node.op.scalar_op.program.steps) for node in composites(graph)], [])

    def test_random_graphs(self) -> None:
        rng = random.Random(5)
        for _ in range(25):
            vectors: list[Any] = [tt.dvector("u"), tt.dvector("v")]
            inputs = list(vectors)
            for _ in range(25):
                a, b = rng.choice(vectors), rng.choice(vectors[-6:])
                kind = rng.randrange(5)
                if kind == 0:
                    vectors.append(a * dot(a, b).dimshuffle("x"))
                elif kind == 1:
                    vectors.append(tt.tanh(a) / (2 + tt.sqr(b)).sum().dimshuffle("x"))
                else:
                    vectors.append(tt.tanh(a + 0.5 * b) if kind == 2 else a * 0.5 - tt.tanh(b))
            outputs = rng.sample(vectors[2:], 3)
            graph = self.assert_same_values(inputs, outputs, [RNG.rand(3), RNG.rand(3)])
            graph.toposort()


class TestReductions(FusionTestCase):
    def test_elements_are_not_stored(self) -> None:
        x, y = tt.dmatrix("x"), tt.dmatrix("y")
        for reduce_, axis in ((tt.sum, None), (tt.max, 0), (tt.prod, 1), (tt.min, (0, 1))):
            graph = self.assert_same_values(
                [x, y], [reduce_(tt.exp(x) * y, axis=axis)], [RNG.rand(3, 4), RNG.rand(3, 4)]
            )
            (node,) = graph.apply_nodes
            self.assertIsInstance(node.op, FusedReduce)

    def test_shape_is_checked(self) -> None:
        x, y = tt.dvector("x"), tt.dvector("y")
        compiled: Any = function([x, y], tt.exp(x * y).sum())
        with self.assertRaises(ValueError):
            compiled(np.ones(3), np.ones(4))
        self.assertEqual(float(compiled(np.ones(0), np.ones(0))), 0.0)

    def test_empty_maximum_is_an_error(self) -> None:
        x = tt.dvector("x")
        compiled: Any = function([x], tt.exp(x).max())
        with self.assertRaises(ValueError):
            compiled(np.zeros(0))

    def test_float32_is_summed_in_its_accumulator(self) -> None:
        x = tt.fvector("x")
        self.assert_same_values([x], [tt.sqr(x).sum()], [np.full(10_000, 0.1, "float32")])
