"""Lists: values, types, in-place forms, aliases and wrong input."""

from __future__ import annotations

import copy
import pickle
import unittest
from typing import Any

import numpy as np
from hypothesis import given, settings, strategies as st

import theano_tensor as T
from theano_linker_c import In, Mode, function
from theano_tensor import typed_list as tl
from theano_testing.tiers import examples

MODES = (Mode("cvm", "fast_run"), Mode("vm", "fast_run"), Mode("py", None), Mode("cvm", "fast_compile"))
VALUES = [np.array([1.0, 2.0]), np.array([3.0]), np.array([1.0, 2.0])]


class ListCase(unittest.TestCase):
    def setUp(self) -> None:
        self.kind = tl.TypedListType(T.dvector)
        self.x, self.y = self.kind("x"), self.kind("y")
        self.v = T.dvector("v")
        self.i, self.j = T.iscalar("i"), T.lscalar("j")

    def check(self, expression: Any, inputs: list[Any], values: list[Any], expected: Any) -> None:
        for mode in MODES:
            given_values = copy.deepcopy(values)
            with self.subTest(mode=str(mode)):
                result = function(inputs, expression, mode=mode)(*given_values)
                self.assert_lists(result, expected)
                for before, after in zip(values, given_values, strict=True):
                    self.assert_lists(after, before)

    def assert_lists(self, result: Any, expected: Any) -> None:
        if isinstance(expected, list):
            self.assertIsInstance(result, list)
            self.assertEqual(len(result), len(expected))
            for a, b in zip(result, expected, strict=True):
                self.assert_lists(a, b)
        else:
            np.testing.assert_array_equal(result, expected)


class TestOps(ListCase):
    def test_changes(self) -> None:
        a, b, c = VALUES
        new = np.array([9.0])
        self.check(tl.append(self.x, self.v), [self.x, self.v], [[a, b], new], [a, b, new])
        self.check(tl.extend(self.x, self.y), [self.x, self.y], [[a], [b, c]], [a, b, c])
        self.check(tl.insert(self.x, self.j, self.v), [self.x, self.j, self.v], [[a, b], 1, new], [a, new, b])
        self.check(tl.insert(self.x, -1, self.v), [self.x, self.v], [[a, b], new], [a, new, b])
        self.check(tl.remove(self.x, self.v), [self.x, self.v], [[b, a, c], a], [b, c])
        self.check(tl.reverse(self.x), [self.x], [[a, b]], [b, a])

    def test_questions(self) -> None:
        a, b, c = VALUES
        self.check(tl.length(self.x), [self.x], [[a, b, c]], 3)
        self.check(tl.length(self.x), [self.x], [[]], 0)
        self.check(tl.count(self.x, self.v), [self.x, self.v], [[a, b, c], a], 2)
        self.check(tl.index_(self.x, self.v), [self.x, self.v], [[b, a, c], c], 1)

    def test_elements_and_parts(self) -> None:
        for index in range(-3, 3):
            self.check(self.x[index], [self.x], [VALUES], VALUES[index])
        self.check(self.x[self.i], [self.x, self.i], [VALUES, 1], VALUES[1])
        slices = (slice(1, None), slice(None, -1), slice(None, None, -1), slice(0, 3, 2), slice(None))
        for part in slices:
            self.check(self.x[part], [self.x], [VALUES], VALUES[part])
        self.check(self.x[self.i : self.j], [self.x, self.i, self.j], [VALUES, 1, 3], VALUES[1:3])

    def test_lists_of_variables(self) -> None:
        result = tl.make_list([self.v, self.v * 2])
        self.assertEqual(result.type, self.kind)
        self.check(result, [self.v], [VALUES[0]], [VALUES[0], 2 * VALUES[0]])
        self.check(tl.make_list((1.0, 2.0))[1], [], [], 2.0)

    def test_methods(self) -> None:
        a, b, c = VALUES
        chained = self.x.append(self.v).extend(self.y).insert(0, self.v).reverse().remove(self.v)
        self.check(chained, [self.x, self.v, self.y], [[a], b, [c]], [c, a, b])
        self.check(self.x.count(self.v) + self.x.ind(self.v), [self.x, self.v], [[b, a], a], 2)

    def test_lists_of_lists(self) -> None:
        deep = tl.TypedListType(T.dvector, 1)
        self.assertEqual((deep.get_depth(), self.kind.get_depth()), (1, 0))
        x = deep("deep")
        self.check(x[0].append(self.v), [x, self.v], [[[VALUES[0]], []], VALUES[1]], VALUES[:2])
        self.check(x[0][0], [x], [[[VALUES[0]]]], VALUES[0])

    def test_elements_of_other_types(self) -> None:
        scalars = tl.TypedListType(T.lscalar)("s")
        self.check(scalars[1] + 1, [scalars], [[np.array(3), np.array(4)]], 5)

    @settings(deadline=None, max_examples=examples(50))
    @given(
        st.lists(st.lists(st.integers(-2, 2), max_size=3), max_size=4), st.integers(-5, 5), st.lists(st.integers(-2, 2))
    )
    def test_as_python_lists(self, values: list[list[int]], index: int, element: list[int]) -> None:
        arrays = [np.array(v, "float64") for v in values]
        expected = [list(v) for v in values]
        expected.insert(index, element)
        f = function([self.x, self.j, self.v], tl.insert(self.x, self.j, self.v))
        self.assertEqual([list(v) for v in f(arrays, index, element)], expected)


class TestMemory(ListCase):
    def test_results_share_nothing_with_arguments(self) -> None:
        given_values = [np.array([1.0]), np.array([2.0])]
        for expression in (self.x, self.x[0], self.x[1:], tl.append(self.x, self.x[0]), tl.reverse(self.x)):
            result = function([self.x], expression)(given_values)
            arrays = result if isinstance(result, list) else [result]
            for array in arrays:
                self.assertFalse(any(np.shares_memory(array, operand) for operand in given_values))

    def test_lists_of_ones_own_are_changed_in_place(self) -> None:
        twice = tl.append(tl.append(tl.make_list([self.v]), self.v), self.v)
        f = function([self.v], twice)
        self.assertEqual([n.op.inplace for n in f.maker.fgraph.toposort() if hasattr(n.op, "inplace")], [True, True])
        self.assert_lists(f([2.0]), [np.array([2.0])] * 3)
        shared_elements = function([self.x, self.v], tl.append(self.x, self.v))
        mine = [np.array([1.0])]
        shared_elements(mine, [2.0])
        self.assertEqual(len(mine), 1)

    def test_mutable_arguments(self) -> None:
        f = function([In(self.x, mutable=True), self.v], tl.append(self.x, self.v))
        result = f([np.array([1.0])], [2.0])
        self.assert_lists(result, [np.array([1.0]), np.array([2.0])])

    def test_copies_and_pickles(self) -> None:
        f = pickle.loads(pickle.dumps(function([self.x], tl.reverse(self.x))))
        self.assert_lists(f(VALUES[:2]), VALUES[1::-1])


class TestTypes(ListCase):
    def test_equality_and_text(self) -> None:
        self.assertEqual(self.kind, tl.TypedListType(T.dvector))
        self.assertEqual(hash(self.kind), hash(tl.TypedListType(T.dvector)))
        self.assertNotEqual(self.kind, tl.TypedListType(T.fvector))
        self.assertEqual(str(tl.TypedListType(T.fvector)), f"TypedList <{T.fvector}>")
        self.assertEqual(self.x.ttype, T.dvector)

    def test_values(self) -> None:
        self.assert_lists(self.kind.filter([[1, 2], (3,)]), [np.array([1.0, 2.0]), np.array([3.0])])
        self.assertTrue(self.kind.values_eq(VALUES, copy.deepcopy(VALUES)))
        self.assertFalse(self.kind.values_eq(VALUES, VALUES[:2]))
        self.assertTrue(self.kind.values_eq_approx([np.array([1.0])], [np.array([1.0 + 1e-12])]))
        self.assertTrue(self.kind.may_share_memory(VALUES, [VALUES[1]]))
        self.assertFalse(self.kind.may_share_memory(VALUES, [np.ones(2)]))
        self.assertTrue(self.kind.is_valid_value(VALUES))
        self.assertFalse(self.kind.is_valid_value([[1.0]]))

    def test_constants(self) -> None:
        constant = self.kind.make_constant([[1.0], [2.0, 3.0]])
        self.check(constant[1], [], [], np.array([2.0, 3.0]))
        self.check(tl.length(constant), [], [], 2)


class TestWrongInput(ListCase):
    def test_when_graphs_are_built(self) -> None:
        other = tl.TypedListType(T.fvector)("other")
        cases: list[tuple[type[Exception], str, Any]] = [
            (TypeError, "is no type", lambda: tl.TypedListType("float64")),
            (ValueError, "is negative", lambda: tl.TypedListType(T.dvector, -1)),
            (TypeError, "works on lists", lambda: tl.append(self.v, self.v)),
            (TypeError, "has elements of type", lambda: tl.append(self.x, T.dmatrix())),
            (TypeError, "different types", lambda: tl.extend(self.x, other)),
            (TypeError, "a position is an integer", lambda: self.x[self.v]),
            (TypeError, "a position is an integer", lambda: self.x[1.5]),
            (TypeError, "different types", lambda: tl.make_list([self.v, self.i])),
            (TypeError, "no list of variables", lambda: tl.make_list([])),
            (TypeError, "integer", lambda: len(self.x)),
            (TypeError, "cannot be iterated", lambda: list(self.x)),
        ]
        for kind, text, call in cases:
            with self.subTest(text=text), self.assertRaisesRegex(kind, text):
                call()

    def test_the_method_behind_len_gives_a_symbolic_number(self) -> None:
        n: Any = self.x.__len__()
        self.assertIsInstance(n.owner.op, tl.Length)
        self.assertEqual(function([self.x], n)([[1.0], [2.0]]), 2)

    def test_when_functions_run(self) -> None:
        cases: list[tuple[type[Exception], str, Any, list[Any], list[Any]]] = [
            (TypeError, "a list is wanted", self.x, [self.x], [3]),
            (TypeError, "element 1 does not fit", self.x, [self.x], [[[1.0], [[2.0]]]]),
            (IndexError, "position 5 is out of range for a list of 3", self.x[self.i], [self.x, self.i], [VALUES, 5]),
            (ValueError, "has no such element", tl.remove(self.x, self.v), [self.x, self.v], [VALUES, [7.0]]),
            (ValueError, "has no such element", tl.index_(self.x, self.v), [self.x, self.v], [VALUES, [7.0]]),
        ]
        for kind, text, expression, inputs, values in cases:
            for mode in MODES:
                with self.subTest(text=text, mode=str(mode)), self.assertRaisesRegex(kind, text):
                    function(inputs, expression, mode=mode)(*values)
