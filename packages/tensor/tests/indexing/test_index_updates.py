"""Parts of shared variables that are changed: in place where that is legal, and never half."""

from __future__ import annotations

import threading
import unittest
from typing import Any

import numpy as np

import theano_tensor as T
from theano_graph import Apply, Op
from theano_linker_c import function, shared
from theano_linker_c.program import HAS_RUNTIME


class Refuse(Op):
    """The input itself; an error if it is negative."""

    __props__ = ()

    def make_node(self, x: Any) -> Apply:
        variable = T.as_tensor_variable(x)
        return Apply(self, [variable], [variable.type.make_variable()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any, params: Any = None) -> None:
        if inputs[0].min() < 0:
            raise ValueError("refused")
        output_storage[0][0] = inputs[0].copy()


def address(table: Any) -> int:
    """Return where the present value of a shared variable lies; nothing goes on referring to it."""
    pointer: int = table.get_value(borrow=True, return_internal_type=True).__array_interface__["data"][0]
    return pointer


class TestInPlace(unittest.TestCase):
    def setUp(self) -> None:
        self.start = np.arange(12.0).reshape(4, 3)
        self.table = shared(self.start)
        self.rows, self.part = T.lvector("rows"), T.dmatrix("part")

    def test_memory_stays_and_duplicates_add_up(self) -> None:
        call = function(
            [self.rows, self.part], [], updates=[(self.table, T.inc_subtensor(self.table[self.rows], self.part))]
        )
        where = address(self.table)
        call([1, 1, -1], np.ones((3, 3)))
        expected = self.start.copy()
        np.add.at(expected, [1, 1, -1], 1.0)
        np.testing.assert_array_equal(self.table.get_value(), expected)
        self.assertEqual(address(self.table) == where, HAS_RUNTIME)

    def test_chains_and_slices(self) -> None:
        new = T.inc_subtensor(self.table[self.rows], self.part)
        new = T.set_subtensor(new[:, 1:2], 5.0)
        new = T.inc_subtensor(new[1], 100.0)
        call = function([self.rows, self.part], [], updates=[(self.table, new)])
        where = address(self.table)
        call([0, 0], np.ones((2, 3)))
        expected = self.start.copy()
        expected[0] += 2
        expected[:, 1] = 5
        expected[1] += 100
        np.testing.assert_array_equal(self.table.get_value(), expected)
        self.assertEqual(address(self.table) == where, HAS_RUNTIME)

    def test_a_later_failure_leaves_all_as_it_was(self) -> None:
        x = T.dscalar("x")
        updates = [(self.table, T.inc_subtensor(self.table[self.rows], 1.0))]
        call = function([self.rows, x], Refuse()(x), updates=updates)
        where = address(self.table)
        with self.assertRaisesRegex(ValueError, "refused"):
            call([0, 1], -1.0)
        np.testing.assert_array_equal(self.table.get_value(), self.start)
        self.assertEqual(address(self.table), where)
        call([0, 1], 1.0)
        self.assertEqual(self.table.get_value()[0, 0], 1.0)

    def test_a_number_out_of_range_in_the_second_table(self) -> None:
        other = shared(np.zeros(2))
        new = [(t, T.inc_subtensor(t[self.rows], 1.0)) for t in (self.table, other)]
        call = function([self.rows], [], updates=new)
        with self.assertRaisesRegex(
            IndexError, "index 3 is out of bounds for axis 0 with size 2(.|\n)*test_index_updates"
        ):
            call([0, 3])
        np.testing.assert_array_equal(self.table.get_value(), self.start)
        np.testing.assert_array_equal(other.get_value(), [0, 0])

    def test_what_others_hold_does_not_change(self) -> None:
        call = function([self.rows], [], updates=[(self.table, T.inc_subtensor(self.table[self.rows], 1.0))])
        held = self.table.get_value(borrow=True, return_internal_type=True)
        view = held[1]
        call([1])
        np.testing.assert_array_equal(held, self.start)
        del held
        call([1])
        np.testing.assert_array_equal(view, self.start[1])
        np.testing.assert_array_equal(self.table.get_value()[1], self.start[1] + 2)

    def test_old_values_are_read_before(self) -> None:
        old = self.table.sum()
        call = function(
            [self.rows],
            [old, self.table[self.rows], self.table, self.table[1:]],
            updates=[(self.table, T.inc_subtensor(self.table[self.rows], 1.0))],
        )
        total, rows, full, tail = call([2])
        self.assertEqual(total, self.start.sum())
        np.testing.assert_array_equal(rows, self.start[[2]])
        np.testing.assert_array_equal(full, self.start)
        np.testing.assert_array_equal(tail, self.start[1:])
        call([2])
        np.testing.assert_array_equal(full, self.start)
        np.testing.assert_array_equal(tail, self.start[1:])

    def test_new_values_as_outputs(self) -> None:
        new = T.inc_subtensor(self.table[self.rows], 1.0)
        call = function([self.rows], [new, new * 2], updates=[(self.table, new)])
        first, _ = call([0])
        call([0])
        self.assertEqual(first[0, 0], 1.0)
        self.assertEqual(self.table.get_value()[0, 0], 2.0)

    def test_a_part_made_of_the_table_itself(self) -> None:
        for part in (self.table[::-1], self.table[T.arange(3, -1, -1)], self.table):
            table_before = self.table.get_value()
            call = function([], [], updates=[(self.table, T.set_subtensor(self.table[T.arange(4)], part))])
            expected = table_before[::-1] if part is not self.table else table_before
            call()
            np.testing.assert_array_equal(self.table.get_value(), expected)

    def test_one_update_from_another_table(self) -> None:
        other = shared(np.zeros((4, 3)))
        call = function([self.rows], [], updates=[(other, T.inc_subtensor(self.table[self.rows], 1.0))])
        call([0])
        np.testing.assert_array_equal(self.table.get_value(), self.start)
        self.assertEqual(other.get_value()[0, 0], 1.0)

    def test_two_variables_with_one_borrowed_array(self) -> None:
        array = np.zeros((2, 2))
        first, second = shared(array, borrow=True), shared(array, borrow=True)
        del array
        call = function([], second.sum(), updates=[(first, T.inc_subtensor(first[0], 1.0))])
        call()
        self.assertEqual(second.get_value().sum(), 0.0)
        self.assertEqual(first.get_value().sum(), 2.0)

    def test_fortran_order(self) -> None:
        table = shared(np.asfortranarray(self.start))
        call = function([self.rows], [], updates=[(table, T.inc_subtensor(table[:, self.rows], 1.0))])
        for _ in range(3):
            call([0, 2, 0])
        expected = self.start.copy()
        expected[:, 0] += 6
        expected[:, 2] += 3
        np.testing.assert_array_equal(table.get_value(), expected)

    def test_threads_see_whole_updates(self) -> None:
        table = shared(np.zeros((400, 50)))
        rows = T.lvector("rows")
        call = function([rows], [], updates=[(table, T.inc_subtensor(table[rows], 1.0))])
        read = function([], [table.min(), table.max()])
        every, seen = np.arange(400), []

        def watch() -> None:
            for _ in range(50):
                seen.append(tuple(read()))  # noqa: PERF401  (each item is another call, at another time)

        watcher = threading.Thread(target=watch)
        watcher.start()
        for _ in range(50):
            call(every)
        watcher.join()
        self.assertTrue(all(low == high for low, high in seen))
        self.assertEqual(table.get_value().min(), 50)


class TestOwnBuffers(unittest.TestCase):
    def test_arguments_are_not_changed(self) -> None:
        x, i = T.dmatrix("x"), T.lvector("i")
        call = function([x, i], [T.inc_subtensor(x[i], 1.0), T.set_subtensor((x * 2)[i], 0.0)])
        value = np.ones((3, 2))
        first, second = call(value, [0, 0])
        np.testing.assert_array_equal(value, np.ones((3, 2)))
        np.testing.assert_array_equal(first, [[3, 3], [1, 1], [1, 1]])
        np.testing.assert_array_equal(second, [[0, 0], [2, 2], [2, 2]])

    def test_one_variable_as_tensor_and_part_and_index(self) -> None:
        x = T.lvector("x")
        doubled = x * 1
        call = function([x], [T.inc_subtensor(doubled[doubled], doubled), T.inc_subtensor(x[x], x)])
        expected = np.array([0, 1, 2])
        np.add.at(expected, [0, 1, 2], [0, 1, 2])
        for item in call([0, 1, 2]):
            np.testing.assert_array_equal(item, expected)

    def test_large_copies_with_threads(self) -> None:
        rng = np.random.default_rng(0)
        x, i, j = T.fmatrix("x"), T.lvector("i"), T.imatrix("j")
        table = rng.normal(size=(3000, 300)).astype("float32")
        rows, columns = rng.integers(-3000, 3000, 5000), rng.integers(0, 300, (7, 11)).astype("int32")
        call = function([x, i, j], [x[i], x[:, j], x[i[:77].reshape((7, 11)), j]])
        first, second, third = call(table, rows, columns)
        np.testing.assert_array_equal(first, table[rows])
        np.testing.assert_array_equal(second, table[:, columns])
        np.testing.assert_array_equal(third, table[rows[:77].reshape(7, 11), columns])


class TestLongVectors(unittest.TestCase):
    """Vectors of indices that are worked out in pieces."""

    def setUp(self) -> None:
        rng = np.random.default_rng(1)
        self.rows = rng.integers(-50, 50, 5000)
        self.part = rng.integers(0, 9, (5000, 3)).astype("float64")
        self.start = np.zeros((50, 3))

    def test_values_of_all_kinds(self) -> None:
        for dtype in ("float64", "float32", "int64", "int32", "int8", "complex128", "bool"):
            part, start = self.part.astype(dtype), self.start.astype(dtype)
            for column in (np.s_[:], 0, np.s_[::2]):
                x, y = T.tensor(dtype, shape=(None, None)), T.tensor(dtype, shape=(None,) * part[:, column].ndim)
                i = T.lvector("i")
                new = T.inc_subtensor(x[i, column], y) if column == 0 else T.inc_subtensor(x[:, column][i], y)
                taken, more, put = function([x, y, i], [x[:, column][i], new, T.set_subtensor(x[:, column][i], y)])(
                    start, part[:, column], self.rows
                )
                base = start.copy() if column == 0 else start[:, column].copy()
                where: Any = (self.rows, 0) if column == 0 else self.rows
                np.add.at(base, where, part[:, column])
                np.testing.assert_array_equal(more, base)
                last = start[:, column].copy()
                last[self.rows] = part[:, column]
                np.testing.assert_array_equal(put, last)
                np.testing.assert_array_equal(taken, start[:, column][self.rows])

    def test_out_of_range_at_the_end(self) -> None:
        table, i = shared(self.start), T.lvector("i")
        read = function([i], table[i])
        write = function([i], [], updates=[(table, T.inc_subtensor(table[i], 1.0))])
        self.rows[-1] = 50
        for call in (read, write):
            with self.assertRaisesRegex(IndexError, "index 50 is out of bounds for axis 0 with size 50"):
                call(self.rows)
        np.testing.assert_array_equal(table.get_value(), self.start)

    def test_an_empty_table(self) -> None:
        x, i = T.dmatrix("x"), T.lvector("i")
        with self.assertRaisesRegex(IndexError, "out of bounds for axis 0 with size 0"):
            function([x, i], x[i])(np.zeros((0, 3)), self.rows)
        self.assertEqual(function([x, i], x[i])(np.zeros((50, 0)), self.rows).shape, (5000, 0))

    def test_updates_in_place(self) -> None:
        table, i, y = shared(self.start), T.lvector("i"), T.dmatrix("y")
        call = function([i, y], [], updates=[(table, T.inc_subtensor(table[i], y))])
        call(self.rows, self.part)
        call(self.rows, self.part)
        expected = self.start.copy()
        np.add.at(expected, self.rows, 2 * self.part)
        np.testing.assert_array_equal(table.get_value(), expected)


class TestOrderInMemory(unittest.TestCase):
    def test_calls_give_the_same_whether_they_are_captured_or_not(self) -> None:
        """The order in which products add up may depend on the layout of their operands."""
        x, v, w = T.dmatrix("x"), T.dvector("v"), T.dvector("w")
        changed = T.inc_subtensor(T.inc_subtensor((x + v)[0], w)[1], v)
        for outputs in ([changed], [T.dot(changed, w), changed], [T.tanh(changed) + T.sqr(x)]):
            f = function([x, v, w], outputs)
            for order in ("F", "C"):
                rng = np.random.default_rng(5)
                arguments = (np.asarray(rng.normal(size=(4, 4)), order=order), rng.normal(size=4), rng.normal(size=4))
                first = f(*arguments)
                for _ in range(12):
                    for once, again in zip(first, f(*arguments), strict=True):
                        self.assertEqual(once.tobytes(), again.tobytes())
                        self.assertEqual(once.strides, again.strides)


class TestTruthValues(unittest.TestCase):
    def test_integers_replace_truth_values(self) -> None:
        m = T.bmatrix("m")
        mask = T.gt(m, 0)
        for index in (slice(1, None), [1, 2]):
            part = mask[index]
            new = T.set_subtensor(part, T.cumprod(part[::-1], axis=0)[::-1])
            result = function([m], new)(np.array([[0, 1], [1, 0], [1, 1]], "int8"))
            self.assertEqual((result.dtype, result.tolist()), (bool, [[False, True], [True, False], [True, True]]))
            with self.assertRaisesRegex(TypeError, "another kind"):
                T.inc_subtensor(part, T.lmatrix())
            with self.assertRaisesRegex(TypeError, "another kind"):
                T.set_subtensor(part, T.dmatrix())
