"""Sums and products of very many terms."""

from __future__ import annotations

import unittest

import numpy as np

import theano_tensor as T
from theano_graph import FunctionGraph
from theano_linker_c import function
from theano_optimize import EquilibriumRewriter, WalkRewriter, constant_folding
from theano_tensor.elemwise import Elemwise
from theano_tensor.rewrites._groups import MAX_OPERANDS
from theano_tensor.rewrites._language import number
from theano_tensor.rewrites.algebra import constants_in_sum
from theano_tensor.rewrites.fusion import sums_and_products_joined
from theano_testing.tiers import slow


class TestLongSums(unittest.TestCase):
    """A kernel has a bounded number of operands; a longer sum is cut in the order of the terms."""

    def test_sums_and_products_are_cut_in_every_mode(self) -> None:
        rng = np.random.default_rng(3)
        terms = [T.dvector() for _ in range(101)]
        values = [rng.uniform(0.5, 1.5, 3) for _ in terms]
        total, product = values[0], values[0]
        for value in values[1:]:
            total, product = total + value, product * value
        for mode in ("FAST_RUN", "FAST_COMPILE"):
            f = function(terms, [T.add(*terms), T.mul(*terms)], mode=mode)
            np.testing.assert_array_equal(f(*values), [total, product])
            widths = [len(n.inputs) for n in f.maker.fgraph.apply_nodes if isinstance(n.op, Elemwise)]
            self.assertLessEqual(max(widths), MAX_OPERANDS)
            self.assertLessEqual(len(widths), 10)

    def test_broadcasting_and_dtypes(self) -> None:
        terms = [T.dscalar(), *[T.bvector() for _ in range(40)], T.frow(), *[T.dmatrix() for _ in range(40)]]
        values = [2.0, *[np.full(3, 100, "int8")] * 40, np.ones((1, 3), "float32"), *[np.ones((2, 3))] * 40]
        result = function(terms, T.add(*terms))(*values)
        np.testing.assert_array_equal(result, np.full((2, 3), 4043.0))

    def test_narrow_integers_before_a_wider_term_do_not_overflow(self) -> None:
        terms = [*[T.bvector() for _ in range(40)], T.dvector()]
        values = [*[np.full(3, 100, "int8")] * 40, np.ones(3)]
        np.testing.assert_array_equal(function(terms, T.add(*terms))(*values), np.full(3, 4001.0))

    @slow
    def test_thousands_of_terms(self) -> None:
        terms = [T.dvector() for _ in range(4000)]
        f = function(terms, T.add(*terms))
        np.testing.assert_array_equal(f(*[np.full(2, float(i)) for i in range(4000)]), [7998000.0] * 2)


class TestChains(unittest.TestCase):
    """Sums of sums of two terms become sums of as many as a kernel takes, all of them at once."""

    def test_terms_keep_their_order_and_are_joined_once(self) -> None:
        rng = np.random.default_rng(5)
        terms = [T.dvector() for _ in range(100)]
        values = [rng.normal(size=3) * 10.0 ** rng.integers(-8, 8) for _ in terms]
        total, expected = terms[0], values[0]
        for term, value in zip(terms[1:], values[1:], strict=True):
            total, expected = total + term, expected + value
        graph = FunctionGraph(terms, [total], clone=False)
        profile = WalkRewriter(sums_and_products_joined).rewrite(graph)
        np.testing.assert_array_equal(function(terms, total)(*values), expected)
        nodes = graph.toposort()
        self.assertEqual([len(node.inputs) for node in nodes], [29, 29, 29, 16])
        self.assertEqual([v for node in nodes for v in node.inputs if v.owner is None], terms)
        self.assertEqual(profile.rules["sums_and_products_joined"], 4)

    def test_what_is_used_elsewhere_stays(self) -> None:
        x, y, z = T.dvectors("x", "y", "z")
        inner = x + y
        middle = inner * z
        graph = FunctionGraph([x, y, z], [inner + z + x, middle, middle * x * y], clone=False)
        WalkRewriter(sums_and_products_joined).rewrite(graph)
        self.assertEqual(sorted(len(node.inputs) for node in graph.apply_nodes), [2, 2, 3, 3])


class TestChainsOfConstants(unittest.TestCase):
    """``x + c + d + ...`` becomes one sum by one replacement, as exact as by one for each constant."""

    def joined(self, constants: list[float], dtype: str = "float64") -> tuple[FunctionGraph, int]:
        x = T.vector("x", dtype=dtype)
        y = x
        for c in constants:
            y = y + T.constant(c, dtype=dtype)
        fgraph = FunctionGraph([x], [y])
        profile = EquilibriumRewriter([constants_in_sum, constant_folding]).rewrite(fgraph)
        return fgraph, profile.rules["constants_in_sum"]

    def test_one_replacement(self) -> None:
        fgraph, times = self.joined([1.5] * 300)
        self.assertEqual(times, 1)
        self.assertEqual([float(number(v)) for v in fgraph.outputs[0].owner.inputs if number(v) is not None], [450.0])

    def test_each_step_is_rounded(self) -> None:
        fgraph, _ = self.joined([0.1] * 1000, "float16")
        total = np.float16(0.1)
        for _ in range(999):
            total = np.float16(np.float16(0.1) + total)
        self.assertEqual([number(v) for v in fgraph.outputs[0].owner.inputs if number(v) is not None], [total.item()])

    def test_what_is_used_elsewhere_stays(self) -> None:
        x = T.dvector("x")
        middle = x + 1.0 + 2.0
        f = function([x], [middle + 3.0 + 4.0, middle], mode="FAST_COMPILE")
        np.testing.assert_array_equal(f([1.0]), [[11.0], [4.0]])

    def test_signs(self) -> None:
        x = T.dvector("x")
        y, expected = x, 5.0
        for i in range(40):
            y, expected = (
                (y + i, expected + i),
                (y - 2.0, expected - 2.0),
                (i - y, i - expected),
                (2.0 + y, 2.0 + expected),
            )[i % 4]
        for mode in ("FAST_RUN", "FAST_COMPILE"):
            np.testing.assert_allclose(function([x], y, mode=mode)([5.0]), [expected])
