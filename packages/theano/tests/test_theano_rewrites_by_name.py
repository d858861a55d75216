"""Rewrites of `theano.tensor.opt`: modes that name one, and graphs that programs of Theano 1.0 look at."""

from __future__ import annotations

import pickle
import unittest
from itertools import product
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano.compile.mode import get_mode
from theano.gof import FunctionGraph, OpWiseCLinker, PerformLinker
from theano.tensor import inplace

RUN = get_mode("FAST_RUN")
BY_ITSELF = RUN.excluding("fusion")


def ops_of(function: Any) -> list[Any]:
    return [node.op for node in function.maker.fgraph.toposort()]


class TestOnRequest(unittest.TestCase):
    def test_part_as_it_was_written(self) -> None:
        x, v, i = T.dmatrix(), T.dvector(), T.iscalar()
        f = theano.function([x, i, v], T.set_subtensor(x[i], v)[i], mode=RUN.including("local_subtensor_inc_subtensor"))
        self.assertEqual([str(op) for op in ops_of(f)], ["DeepCopyOp"])
        np.testing.assert_array_equal(f(np.ones((2, 3)), 1, [4, 5, 6]), [4, 5, 6])

    def test_rows_as_they_were_written(self) -> None:
        x, y, rows = T.dmatrix(), T.dmatrix(), T.ivector()
        mode = RUN.including("local_adv_sub1_adv_inc_sub1")
        f = theano.function([x, y, rows], T.set_subtensor(x[rows], y)[rows], mode=mode)
        new = np.arange(6.0).reshape(2, 3)
        np.testing.assert_array_equal(f(np.ones((4, 3)), new, [3, 1]), new)
        for wrong in ([4, 0], [-5, 0], [1]):
            with self.subTest(rows=wrong), self.assertRaises((AssertionError, IndexError, ValueError)):
                f(np.ones((4, 3)), new, wrong)
        unchecked = mode.including("local_remove_all_assert")
        f = theano.function([x, y, rows], T.set_subtensor(x[rows], y)[rows], mode=unchecked)
        self.assertEqual([str(op) for op in ops_of(f)], ["DeepCopyOp"])

    def test_value_for_filled_part(self) -> None:
        x, y, n = T.dvector(), T.dscalar(), T.lscalar()
        i, grid = T.lvector(), T.lmatrix()
        name = "local_useless_inc_subtensor_alloc"
        start = np.arange(6.0)
        for index, value, part in (
            (i, np.array([0, 2, 2]), x[i]),
            (grid, np.array([[0, 1], [1, 5]]), x[grid]),
            (n, 3, x[:n]),
        ):
            filled = T.alloc(y, *(index.shape if index.ndim else (index,)))
            plain, bare = (
                theano.function([x, index, y], T.inc_subtensor(part, filled), mode=m)
                for m in (RUN.excluding(name), RUN.including(name))
            )
            with self.subTest(index=str(index.type)):
                self.assertEqual(sum(isinstance(op, T.Alloc) for op in ops_of(plain)), 1)
                self.assertFalse(any(isinstance(op, T.Alloc) for op in ops_of(bare)))
                np.testing.assert_array_equal(bare(start, value, 2.5), plain(start, value, 2.5))
        with self.assertRaises((AssertionError, ValueError)):
            bare(start, 9, 2.5)

    def test_inverse_functions(self) -> None:
        x = T.dscalar()
        for outer, inner in ((T.arccosh, T.cosh), (T.tanh, T.arctanh)):
            f = theano.function([x], outer(inner(x)), mode=RUN.including("local_func_inv"))
            self.assertEqual([str(op) for op in ops_of(f)], ["DeepCopyOp"])


class TestWrittenAsAWhole(unittest.TestCase):
    def test_lengths_are_compared(self) -> None:
        x, y = T.dmatrices("xy")
        for index in ((slice(None),), (slice(None), slice(None)), (slice(None), slice(None, None, -1))):
            f = theano.function([x, y], T.set_subtensor(x[index], y))
            new = np.arange(4.0).reshape(2, 2)
            expected = np.zeros((2, 2))
            expected[index] = new
            with self.subTest(index=index):
                np.testing.assert_array_equal(f(np.zeros((2, 2)), new), expected)
                for shape, other in (((1, 2), (2, 2)), ((2, 2), (1, 2)), ((3, 2), (2, 2))):
                    with self.assertRaises(ValueError):
                        f(np.zeros(shape), np.ones(other))

    def test_no_index_where_lengths_are_known(self) -> None:
        x, y = T.dmatrices("xy")
        new = T.specify_shape(y, x.shape)
        for index in ((slice(None),), (slice(None), slice(None, None, -1))):
            f = theano.function([x, y], T.set_subtensor(x[index], new))
            self.assertFalse(any(isinstance(op, T.IncSubtensor) for op in ops_of(f)))
            expected = np.zeros((2, 3))
            expected[index] = np.arange(6.0).reshape(2, 3)
            np.testing.assert_array_equal(f(np.zeros((2, 3)), np.arange(6.0).reshape(2, 3)), expected)

    def test_rows_set_to_sum(self) -> None:
        v = T.dmatrix()
        for rows, keeps in (([2, 1], False), ([1, 1], True), ([0, -1], True)):
            part = v[rows]
            f = theano.function([v], T.set_subtensor(part, part + 3))
            (op,) = (op for op in ops_of(f) if isinstance(op, T.AdvancedIncSubtensor1))
            self.assertEqual(op.set_instead_of_inc, keeps)
            expected = np.zeros((3, 2))
            expected[rows] += 3
            np.testing.assert_array_equal(f(np.zeros((3, 2))), expected)


class TestFlipped(unittest.TestCase):
    def test_parts_of_what_is_flipped(self) -> None:
        x, i, j = T.dvector(), T.iscalar(), T.bscalar()
        cases: list[tuple[Any, Any]] = [
            (x[::-1][i], lambda a, p, q: a[::-1][p]),
            (x[::-1][:i], lambda a, p, q: a[::-1][:p]),
            (x[::-1][i:j:2], lambda a, p, q: a[::-1][p:q:2]),
            (x[::-1][:-2], lambda a, p, q: a[::-1][:-2]),
            (x[::-1][-3:-1], lambda a, p, q: a[::-1][-3:-1]),
        ]
        for expression, meaning in cases:
            f = theano.function([x, i, j], expression, on_unused_input="ignore")
            self.assertEqual(sum(isinstance(op, T.Subtensor) for op in ops_of(f)), 1)
            for n, p, q in product(range(4), range(-5, 6), (-4, -1, 0, 2, 5)):
                a = np.arange(float(n))
                with self.subTest(expression=str(expression), n=n, p=p, q=q):
                    try:
                        expected = meaning(a, p, q)
                    except IndexError:
                        self.assertRaises(IndexError, f, a, p, q)
                    else:
                        np.testing.assert_array_equal(f(a, p, q), expected)


class TestForms(unittest.TestCase):
    def test_in_place_forms_are_equal(self) -> None:
        x = T.dvector()
        f = theano.function([x], -T.log(1 - x), mode=BY_ITSELF)
        self.assertEqual(ops_of(f), [T.neg, inplace.log1p_inplace, inplace.neg_inplace])
        self.assertEqual(hash(ops_of(f)[1]), hash(inplace.log1p_inplace))
        self.assertNotEqual(inplace.add_inplace, T.add)

    def test_logarithm_of_integers(self) -> None:
        z = T.imatrix()
        f = theano.function([z], T.log(1 + z), mode=BY_ITSELF)
        self.assertEqual(ops_of(f), [T.log1p])
        np.testing.assert_allclose(f([[0, 5]]), np.log([[1, 6]]))

    def test_quotients_by_sizes(self) -> None:
        x = T.dscalar()
        for quotient, factor in (((4 * x) / abs(2 * x), 2.0), ((4 * x) / abs(x / 2), 8.0)):
            f = theano.function([x], quotient, mode=BY_ITSELF)
            self.assertEqual(ops_of(f)[0], T.sgn)
            self.assertEqual([float(f(v)) for v in (-1, 0, 0.5)], [-factor, 0.0, factor])

    def test_sizes_of_products(self) -> None:
        y, z = T.dmatrices("yz")
        f = theano.function([y, z], abs(y * z * -2), mode=BY_ITSELF)
        self.assertEqual([type(op.scalar_op).__name__ for op in ops_of(f)], ["Mul", "Abs"])
        np.testing.assert_array_equal(f([[-1, 2]], [[3, 4]]), [[6, 16]])

    def test_powers_are_one_node(self) -> None:
        v = T.dvector()
        values = np.array([-2.0, -0.5, 1.5, 3.0])
        for exponent, steps in ((15, 6), (-15, 6), (16, 4), (-16, 4), (3, 2)):
            f = theano.function([v], v**exponent, mode=BY_ITSELF)
            first, *others = ops_of(f)
            with self.subTest(exponent=exponent):
                self.assertEqual(len(first.scalar_op.fgraph.apply_nodes), steps)
                self.assertEqual(len(others), exponent < 0)
                np.testing.assert_allclose(f(values), values**exponent, rtol=1e-13)

    def test_tiles_of_one(self) -> None:
        for x, value in ((T.dvector(), np.arange(3.0)), (T.dmatrix(), np.arange(6.0).reshape(2, 3))):
            for ndim in range(x.ndim + 1, x.ndim + 3):
                tiled = T.tile(x, (1,) * ndim)
                self.assertEqual(tiled.broadcastable, (True,) * (ndim - x.ndim) + (False,) * x.ndim)
                f = theano.function([x], tiled)
                self.assertIsInstance(ops_of(f)[0], T.DimShuffle)
                self.assertLessEqual(len(ops_of(f)), 2)
                np.testing.assert_array_equal(f(value), np.tile(value, (1,) * ndim))
        self.assertEqual(T.tile(T.drow(), (1, 3)).broadcastable, (True, False))
        self.assertEqual(T.tile(T.drow(), (2, 3)).broadcastable, (False, False))

    def test_lengths_are_not_negative_in_vectors_either(self) -> None:
        x = T.dvector()
        f = theano.function([x], T.eq(T.join(0, x.shape[0:], x.shape[0:1]), -1))
        self.assertEqual([type(op).__name__ for op in ops_of(f)], ["Alloc"])
        self.assertFalse(f([3, 3]).any())

    def test_part_of_a_number_that_was_broadcast(self) -> None:
        x, y = T.dvector(), T.dscalar()
        f = theano.function([x, y], T.exp(x + y)[0])
        self.assertEqual([type(op).__name__ for op in ops_of(f)], ["Subtensor", "Elemwise"])


class TestBeforeTheGraph(unittest.TestCase):
    def test_rules_of_the_library_on_nodes_in_no_graph(self) -> None:
        folded = T.opt.pre_greedy_local_optimizer([T.opt.constant_folding], T.constant(2) * 3)
        self.assertEqual(int(folded.data), 6)


class TestLinkerItself(unittest.TestCase):
    def test_function_of_the_graph_that_was_accepted(self) -> None:
        x = T.dvector("x")
        for kind in (PerformLinker, OpWiseCLinker):
            linker = kind()
            with self.assertRaises(ValueError):
                linker.make_function()
            linker.accept(FunctionGraph([x], [x * 2]))
            np.testing.assert_array_equal(linker.make_function()([1, 2]), [2, 4])
            thunk, (operands,), (result,) = linker.make_thunk()
            operands.value = np.array([3.0])
            thunk()
            np.testing.assert_array_equal(result.value, [6])
            self.assertEqual(linker, kind())
            self.assertEqual(pickle.loads(pickle.dumps(linker)), kind())
