"""Digests of arrays, and shapes of all variables of a graph."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

import theano_tensor as T
from theano_graph import FunctionGraph
from theano_tensor.utils import hash_from_ndarray, shape_of_variables


class TestDigests(unittest.TestCase):
    def test_all_that_makes_an_array(self) -> None:
        base = np.arange(6.0).reshape(2, 3)
        self.assertEqual(hash_from_ndarray(base), hash_from_ndarray(base.copy()))
        others = (base.reshape(3, 2), base.astype("float32"), base + 1, base.view("int64"))
        digests = {hash_from_ndarray(a) for a in (base, *others)}
        self.assertEqual(len(digests), 5)

    def test_views_and_their_copies(self) -> None:
        base = np.arange(6.0).reshape(2, 3)
        for view in (base[::-1], base[:, ::2], base.T):
            self.assertEqual(hash_from_ndarray(view), hash_from_ndarray(view.copy()))

    def test_any_array(self) -> None:
        for value in (np.zeros(()), np.zeros((0, 3)), np.arange(10)[::2], np.array(["text"])):
            self.assertEqual(hash_from_ndarray(value), hash_from_ndarray(value))


class TestShapes(unittest.TestCase):
    def shapes(self, inputs: list[Any], outputs: list[Any], argument: dict[Any, Any]) -> list[tuple[int, ...]]:
        """Return the shapes of `outputs`."""
        table = shape_of_variables(FunctionGraph(inputs, outputs, clone=False), argument)
        return [tuple(int(n) for n in table[v]) for v in (*inputs, *outputs)]

    def test_manual(self) -> None:
        x = T.matrix("x")
        y = x[512:]
        y.name = "y"
        fgraph = FunctionGraph([x], [y], clone=False)
        table = shape_of_variables(fgraph, {x: (1024, 1024)})
        self.assertEqual(table[y], (np.array(512), np.array(1024)))
        self.assertEqual(table[x], (np.array(1024), np.array(1024)))
        self.assertIsInstance(table[y][0], np.ndarray)

    def test_nothing_is_computed_but_shapes(self) -> None:
        x, w = T.dmatrices("x", "w")
        y = T.concatenate([T.tanh(T.dot(x, w)), x], axis=1).sum(0, keepdims=True).repeat(3, 0).T
        result = self.shapes([x, w], [y], {x: (10**6, 20), w: (20, 30)})
        self.assertEqual(result, [(10**6, 20), (20, 30), (50, 3)])

    def test_missing_and_wrong_shapes(self) -> None:
        x, s = T.dmatrix("x"), T.dscalar("s")
        fgraph = FunctionGraph([x, s], [x * s], clone=False)
        self.assertEqual(len(shape_of_variables(fgraph, {x: (2, 3)})[fgraph.outputs[0]]), 2)
        with self.assertRaisesRegex(ValueError, "the shape of `x` is missing"):
            shape_of_variables(fgraph, {})
        with self.assertRaisesRegex(ValueError, r"\(3,\) is not its shape"):
            shape_of_variables(fgraph, {x: (3,)})

    def test_shapes_that_depend_on_values(self) -> None:
        n = T.lscalar("n")
        fgraph = FunctionGraph([n], [T.zeros((n, 2))], clone=False)
        with self.assertRaisesRegex(ValueError, "depends on the value of `n`"):
            shape_of_variables(fgraph, {})
