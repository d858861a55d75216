"""Products in normal form, and the form that rules have in common until the graph changes."""

from __future__ import annotations

import unittest
from typing import Any

import theano_tensor as tt
from theano_graph import FunctionGraph
from theano_linker_c import scalar
from theano_tensor.rewrites._language import RULES
from theano_tensor.rewrites._products import MAX_FACTORS, flatten_product, is_product, shared_product


class TestFlatten(unittest.TestCase):
    def setUp(self) -> None:
        self.x, self.y, self.z = tt.dvectors("x", "y", "z")

    def test_coefficient_and_powers(self) -> None:
        x, y, z = self.x, self.y, self.z
        product = flatten_product(-(2 * x * x) / (y * 4.0) * (1 / z))
        self.assertEqual(product.coefficient, -0.5)
        self.assertEqual(product.factors, {x: 2, y: -1, z: -1})
        self.assertTrue(product.complete)
        self.assertFalse(product.cancelled)
        self.assertEqual(product.nodes, 7)

    def test_factors_above_and_below_are_noted(self) -> None:
        product = flatten_product(self.x * self.y / self.x)
        self.assertEqual(product.factors, {self.y: 1})
        self.assertTrue(product.cancelled)

    def test_squares_are_taken_apart_on_request_and_at_the_root(self) -> None:
        x, y = self.x, self.y
        square = tt.sqr(x * y)
        self.assertEqual(flatten_product(square * y).factors, {square: 1, y: 1})
        self.assertEqual(flatten_product(square * y, squares=True).factors, {x: 2, y: 3})
        self.assertEqual(flatten_product(square).factors, {x: 2, y: 2})

    def test_what_others_use_stays_whole(self) -> None:
        x, y, z = self.x, self.y, self.z
        used = x * y
        root = used * z
        fgraph = FunctionGraph([x, y, z], [root, used + 1.0], clone=False)
        self.assertEqual(flatten_product(root, fgraph=fgraph).factors, {used: 1, z: 1})
        self.assertEqual(flatten_product(root).factors, {x: 1, y: 1, z: 1})

    def test_other_dtypes_and_numbers_out_of_range_stay_whole(self) -> None:
        narrow = tt.fvector("w")
        inner = narrow * narrow
        self.assertEqual(flatten_product(self.x * inner).factors[self.x], 1)
        self.assertNotIn(narrow, flatten_product(self.x * inner).factors)
        product = flatten_product(self.x * 0.0)
        self.assertEqual((product.coefficient, len(product.factors)), (1.0, 2))

    def test_long_products_are_not_complete(self) -> None:
        root: Any = self.x
        for _ in range(MAX_FACTORS + 2):
            root = root * tt.dvector()
        self.assertFalse(flatten_product(root).complete)

    def test_kinds_of_factors(self) -> None:
        product = flatten_product(tt.exp(self.x) / (self.y + self.z))
        self.assertTrue(product.has(type(scalar.exp)))
        self.assertTrue(product.has(type(scalar.sub), type(scalar.add)))
        self.assertFalse(product.has(type(scalar.mul)))

    def test_is_product(self) -> None:
        x, y = self.x, self.y
        self.assertEqual([is_product(v) for v in (x * y, x / y, -x, tt.inv(x))], [True] * 4)
        self.assertEqual([is_product(v) for v in (x, x + y, tt.sqr(x), tt.constant(2.0))], [False] * 4)


class TestShared(unittest.TestCase):
    def test_one_form_until_the_graph_changes(self) -> None:
        x, y, z = tt.dvectors("x", "y", "z")
        root = x * (y * z)
        fgraph = FunctionGraph([x, y, z], [root], clone=False)
        first = shared_product(fgraph, root)
        self.assertIs(shared_product(fgraph, root), first)
        changed = first.copy()
        changed.multiply(x, 3)
        self.assertEqual(shared_product(fgraph, root).factors, {x: 1, y: 1, z: 1})
        fgraph.replace(root.owner.inputs[1], y)
        self.assertEqual(shared_product(fgraph, root).factors, {x: 1, y: 1})

    def test_asking_all_rules_leaves_the_form_as_it_was(self) -> None:
        x, y = tt.dvectors("x", "y")
        e = tt.exp(x)
        root = e / (e + tt.exp(y))
        fgraph = FunctionGraph([x, y], [root], clone=False)
        before = dict(shared_product(fgraph, root).factors)
        fired = [name for name, answer in _answers(fgraph, root) if answer]
        self.assertIn("exp_over_added_exps", fired)
        self.assertEqual(shared_product(fgraph, root).factors, before)


def _answers(fgraph: FunctionGraph, root: Any) -> list[tuple[str, Any]]:
    return [
        (entry.rewriter.name, entry.rewriter.transform(fgraph, root.owner))
        for entry in RULES
        if root.owner.op in (entry.rewriter.tracks() or ())
    ]
