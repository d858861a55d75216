"""Outputs share no memory with anything, except where borrowing allows it."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

from theano_graph import Constant, FunctionGraph, generic
from theano_linker_c import DeepCopyOp, Function, In, Mode, Out, ViewOp, function

from .function_support import (
    add,
    add_one_in_place,
    constant,
    matrix,
    minmax,
    mul,
    shared,
    shared_array,
    transpose,
    vector,
)


def n_copies(fn: Function) -> int:
    """Return the number of copies in a function's graph."""
    return sum(isinstance(node.op, DeepCopyOp) for node in fn.maker.fgraph.toposort())


class TestOutputs(unittest.TestCase):
    def setUp(self) -> None:
        self.x = matrix("x")
        self.a = np.arange(6.0).reshape(2, 3)

    def test_input_and_its_views_are_copied(self) -> None:
        f = function([self.x], [self.x, transpose(self.x), transpose(transpose(self.x))])
        for result in f(self.a):
            self.assertFalse(np.shares_memory(result, self.a))
        self.assertEqual(n_copies(f), 3)
        self.assertEqual(f(self.a)[1].tolist(), self.a.T.tolist())

    def test_computed_results_are_not_copied(self) -> None:
        f = function([self.x], [add(self.x, self.x), transpose(mul(self.x, self.x))])
        self.assertEqual(n_copies(f), 0)

    def test_outputs_do_not_share_with_each_other(self) -> None:
        y = add(self.x, self.x)
        f = function([self.x], [y, y, transpose(y)])
        first, second, third = f(self.a)
        self.assertEqual(n_copies(f), 2)
        self.assertFalse(np.shares_memory(first, second) or np.shares_memory(first, third))

    def test_constant_is_copied_once_an_output(self) -> None:
        c = constant([1.0, 2.0])
        f = function([], c)
        f()[0] = 9
        self.assertEqual(f().tolist(), [1, 2])
        self.assertEqual(n_copies(f), 1)

    def test_borrowing_needs_both_sides(self) -> None:
        x, a = self.x, self.a
        self.assertEqual(n_copies(function([x], Out(x, borrow=True))), 1)
        self.assertEqual(n_copies(function([In(x, borrow=True)], x)), 1)
        both = function([In(x, borrow=True)], Out(transpose(x), borrow=True))
        self.assertEqual(n_copies(both), 0)
        self.assertTrue(np.shares_memory(both(a), a))
        y = add(x, x)
        self.assertEqual(n_copies(function([x], [Out(y, borrow=True), Out(y, borrow=True)])), 0)
        self.assertEqual(n_copies(function([x], [Out(y, borrow=True), y])), 1)

    def test_two_outputs_of_one_node(self) -> None:
        low, high = minmax(self.x)
        self.assertEqual(n_copies(function([self.x], [low, high])), 0)


class TestSharedStorage(unittest.TestCase):
    def setUp(self) -> None:
        self.s = shared(np.ones((2, 2)), name="s")
        self.t = shared(np.zeros((2, 2)), name="t")

    def test_output_is_a_copy_of_shared_storage(self) -> None:
        f = function([], self.s)
        f()[...] = 5
        self.assertEqual(self.s.get_value().tolist(), [[1, 1], [1, 1]])
        borrowed = function([], Out(self.s, borrow=True))
        self.assertIs(borrowed(), self.s.get_value(borrow=True))

    def test_old_value_is_handed_out_when_it_is_replaced(self) -> None:
        f = function([], self.s, updates={self.s: add(self.s, self.s)})
        self.assertEqual(n_copies(f), 0)
        old = f()
        old[...] = 7
        self.assertEqual(self.s.get_value().tolist(), [[2, 2], [2, 2]])

    def test_old_value_is_copied_when_the_update_is_a_view_of_it(self) -> None:
        f = function([], self.s, updates={self.s: transpose(self.s)})
        self.assertEqual(n_copies(f), 1)
        f()[...] = 7
        self.assertEqual(self.s.get_value().tolist(), [[1, 1], [1, 1]])

    def test_update_does_not_share_with_input_constant_or_other_storage(self) -> None:
        x = matrix("x")
        a = np.full((2, 2), 3.0)
        function([x], [], updates={self.s: x})(a)
        self.assertFalse(np.shares_memory(a, self.s.get_value(borrow=True)))
        function([], [], updates={self.s: self.t})()
        self.assertIsNot(self.s.get_value(borrow=True), self.t.get_value(borrow=True))
        both = function([x], [], updates={self.s: add(x, x), self.t: add(x, x)})
        both(a)
        self.assertIsNot(self.s.get_value(borrow=True), self.t.get_value(borrow=True))
        self.assertEqual(n_copies(both), 1)

    def test_output_equal_to_the_new_value_is_a_copy(self) -> None:
        new = add(self.s, self.s)
        f = function([], new, updates={self.s: new})
        f()[...] = 100
        self.assertEqual(self.s.get_value().tolist(), [[2, 2], [2, 2]])
        self.assertIs(function([], Out(new, borrow=True), updates={self.s: new})(), self.s.get_value(borrow=True))

    def test_state_of_an_input_is_the_callers_memory(self) -> None:
        c = vector("c")
        f = function([In(c, value=np.ones(2), update=add(c, c))], c)
        mine = np.ones(2)
        self.assertFalse(np.shares_memory(f(mine), mine))

    def test_an_updated_variable_may_borrow_the_users_array(self) -> None:
        mine = np.ones((2, 2))
        u = shared_array(mine, borrow=True)
        self.assertIs(u.get_value(borrow=True), mine)
        function([], [], updates={u: add(u, u)})()
        self.assertEqual(u.get_value().tolist(), [[2, 2], [2, 2]])


class TestCopyOps(unittest.TestCase):
    def test_deep_copy_of_arrays_and_objects(self) -> None:
        x = generic("x")
        data = {"a": [1]}
        result = function([x], x)(data)
        self.assertEqual(result, data)
        self.assertIsNot(result["a"], data["a"])
        m = matrix("m")
        transposed = np.ones((2, 3)).T
        self.assertTrue(function([m], m)(transposed).flags.f_contiguous)

    def test_view_op_returns_its_input(self) -> None:
        x = vector("x")
        a = np.ones(3)
        f = function([In(x, borrow=True)], Out(ViewOp()(x), borrow=True))
        self.assertIs(f(a), a)
        self.assertEqual(n_copies(function([x], ViewOp()(x))), 1)
        self.assertEqual(ViewOp(), ViewOp())


class TestInPlaceOps(unittest.TestCase):
    def test_readers_run_before_the_node_that_overwrites(self) -> None:
        x = matrix("x")
        y = add(x, x)
        z = add_one_in_place(y)
        f = function([x], [z, mul(y, 10.0)], accept_inplace=True)
        z_value, y_value = f(np.ones((2, 2)))
        self.assertEqual(z_value.tolist(), [[3, 3], [3, 3]])
        self.assertEqual(y_value.tolist(), [[20, 20], [20, 20]])

    def test_what_the_users_graph_overwrites_is_overwritten(self) -> None:
        x, s = matrix("x"), shared(np.ones((2, 2)))
        a = np.ones((2, 2))
        f = function([x], [add_one_in_place(x), add_one_in_place(transpose(s))], accept_inplace=True)
        for n in (2, 3):
            self.assertEqual([r.tolist() for r in f(a)], [[[n, n], [n, n]]] * 2)
        self.assertEqual(a.tolist(), [[3, 3], [3, 3]])
        self.assertEqual(s.get_value().tolist(), [[3, 3], [3, 3]])

    def test_only_what_the_users_graph_overwrites_is_overwritten(self) -> None:
        x, y = matrix("x"), matrix("y")
        a, b = np.ones((2, 2)), np.ones((2, 2))
        function([x, y], [add_one_in_place(add(x, y)), add_one_in_place(y)], accept_inplace=True)(a, b)
        self.assertEqual((a.tolist(), b.tolist()), ([[1, 1], [1, 1]], [[2, 2], [2, 2]]))

    def test_a_constant_is_not_overwritten(self) -> None:
        f = function([], add_one_in_place(constant([1.0])), accept_inplace=True)
        f()
        self.assertEqual(f().tolist(), [2.0])

    def test_a_mutable_input_that_takes_no_writes(self) -> None:
        ones, windows = np.ones(4), np.lib.stride_tricks.as_strided
        fixed = np.ones((2, 2))
        fixed.flags.writeable = False
        x = matrix("x")
        for mode in (Mode("cvm", None), Mode("vm", None), Mode("py", None)):
            f = function([In(x, mutable=True)], add_one_in_place(x), mode=mode, accept_inplace=True)
            for a in (
                fixed,
                np.broadcast_to(np.ones(2), (2, 2)),
                windows(ones, (2, 2), (0, 8)),
                windows(ones, (2, 2), (8, 8)),
                windows(ones[1:], (2, 2), (-8, 8)),
                windows(np.ones(9), (2, 2), (32, 16)),
                np.ones((4, 4))[::2, ::-2],
                np.ones((2, 2), ">f8"),
            ):
                with self.subTest(mode=str(mode), strides=a.strides):
                    self.assertEqual(f(a).tolist(), [[2, 2], [2, 2]])
            self.assertEqual((fixed.tolist(), ones.tolist()), ([[1, 1], [1, 1]], [1] * 4))

    def test_a_mutable_input_may_be_overwritten(self) -> None:
        x = matrix("x")
        a = np.ones((2, 2))
        function([In(x, mutable=True)], add_one_in_place(x), accept_inplace=True)(a)
        self.assertEqual(a.tolist(), [[2, 2], [2, 2]])

    def test_overwritten_twice(self) -> None:
        x = matrix("x")
        y = add(x, x)
        f = function([x], [add_one_in_place(y), add_one_in_place(y), y], accept_inplace=True)
        self.assertEqual([r[0, 0] for r in f(np.ones((2, 2)))], [3.0, 3.0, 2.0])

    def test_graph_stays_sound(self) -> None:
        x = matrix("x")
        fgraph = function([x], [x, add_one_in_place(add(x, x))], accept_inplace=True).maker.fgraph
        self.assertIsInstance(fgraph, FunctionGraph)
        fgraph.check_integrity()
        self.assertFalse(any(isinstance(v, Constant) for v in fgraph.variables))


class TestStorageOfOutputs(unittest.TestCase):
    def test_calls_of_fn_leave_results_and_new_values(self) -> None:
        x, s = vector("x"), shared_array(np.array([1.0, 2.0]))
        f = function([x], [mul(x, x), x], updates=[(s, add(s, x))])
        f.input_storage[0].storage[0] = np.array([3.0, 4.0])
        f.fn()
        self.assertEqual([box.value.tolist() for box in f.output_storage], [[9, 16], [3, 4], [4, 6]])
        self.assertEqual(s.get_value().tolist(), [4, 6])
        f.fn(output_subset=[1])
        self.assertEqual([box.value.tolist() for box in f.output_storage], [[9, 16], [3, 4], [7, 10]])
        f.free()
        self.assertEqual([box.value for box in f.output_storage], [None] * 3)

    def test_dictionaries_and_single_outputs(self) -> None:
        x = vector("x")
        for outputs in (add(x, x), {"twice": add(x, x)}):
            f = function([x], outputs)
            self.assertIs(f.fn, f.fn)
            f.fn([1.0], n_calls=2) if isinstance(outputs, dict) else f.fn([1.0])
            self.assertEqual(f.output_storage[0].value.tolist(), [2])

    def test_calls_of_the_function_keep_nothing(self) -> None:
        x = vector("x")
        f = function([x], add(x, x))
        f([1.0])
        self.assertEqual([box.value for box in f.output_storage], [None])

    def test_everything_else_is_the_machine(self) -> None:
        f = function([], constant([1.0]))
        machine: Any = f.machine
        self.assertIs(f.fn.program, machine.program)
        f.fn.buffer_limit = 5
        self.assertEqual(machine.buffer_limit, 5)
        self.assertIn("buffer_limit", dir(f.fn))


class TestInputsThatKeepTheirNewValue(unittest.TestCase):
    def test_a_value_that_may_be_overwritten_is_not_copied(self) -> None:
        x = vector("x")
        for mutable in (True, False):
            f = function([In(x, value=np.array([1.0, 2.0]), update=transpose(x), mutable=mutable)], [])
            self.assertEqual(n_copies(f), int(not mutable))
            f()
            self.assertEqual(f[x].tolist(), [1, 2])
