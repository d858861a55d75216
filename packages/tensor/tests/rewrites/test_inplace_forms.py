from __future__ import annotations

import unittest
from typing import Any

import numpy as np

import theano_tensor as T
from theano_graph import FunctionGraph
from theano_linker_c import FAST_RUN, Mode, function
from theano_optimize import Supervisor
from theano_tensor.elemwise import Elemwise
from theano_tensor.rewrites import InplaceElemwiseOptimizer


class TestInplaceForms(unittest.TestCase):
    """The examples of the manual: ``x + y + z`` and ``(x + y) * (x * y)``."""

    def overwritten(self, inputs: list[Any], output: Any) -> list[dict[int, list[int]]]:
        graph = FunctionGraph(inputs, [output], features=[])
        graph.attach_feature(Supervisor(graph.inputs))
        InplaceElemwiseOptimizer(Elemwise).rewrite(graph)
        graph.check_integrity()
        return [node.op.destroy_map for node in graph.toposort()]

    def test_sums_one_after_the_other(self) -> None:
        x, y, z = T.dvectors("x", "y", "z")
        self.assertEqual(self.overwritten([x, y, z], (x + y) + z), [{}, {0: [0]}])

    def test_one_of_two_intermediate_results(self) -> None:
        x, y = T.dvectors("x", "y")
        maps = self.overwritten([x, y], (x + y) * (x * y))
        self.assertEqual(sorted(map(len, maps)), [0, 0, 1])

    def test_what_is_needed_again_is_not_overwritten(self) -> None:
        x = T.dvector("x")
        y = T.exp(x)
        graph = FunctionGraph([x], [y + 1, T.log(y) * y])
        graph.attach_feature(Supervisor(graph.inputs))
        InplaceElemwiseOptimizer(Elemwise).rewrite(graph)
        f: Any = function(graph.inputs, graph.outputs, mode=Mode("py", None), accept_inplace=True)
        operand = np.array([0.5, 1.0])
        first, second = f(operand)
        np.testing.assert_allclose(first, np.exp(operand) + 1)
        np.testing.assert_allclose(second, operand * np.exp(operand))

    def test_native_loops_are_left_to_the_machine(self) -> None:
        x = T.dvector("x")
        for mode, expected in ((FAST_RUN, False), (FAST_RUN.excluding("fusion"), True)):
            # Without fusion graphs are easy to look at, and show overwritten inputs.
            with self.subTest(shown=expected):
                f: Any = function([x], T.dot(T.exp(x + 1), x), mode=mode)
                loops = [node.op for node in f.maker.fgraph.toposort() if isinstance(node.op, Elemwise)]
                self.assertEqual(any(op.destroy_map for op in loops), expected)
