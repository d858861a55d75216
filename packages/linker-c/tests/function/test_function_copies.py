"""Copies, pickles, printing, evaluation and dumps of functions."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import tempfile
import unittest
import weakref
from typing import Any

import numpy as np

from theano_graph import Constant, debugprint, generic
from theano_linker_c import FAST_COMPILE, Function, In, Mode, eval_cache, function, function_dump
from theano_linker_c.scalar import ScalarType, add as add_scalars, mul as mul_scalars

from .function_support import add, matrix, mul, scalar, shared, transpose, vector


def accumulator() -> tuple[Any, Any, Function]:
    """Return a shared state, an input, and a function that adds the input to the state."""
    state, inc = shared(0.0, name="state"), scalar("inc")
    return state, inc, function([inc], state, updates=[(state, add(state, inc))], name="accumulate")


class TestCopy(unittest.TestCase):
    def test_swap(self) -> None:
        state, _, f = accumulator()
        f(10)
        other = shared(0.0)
        g = f.copy(swap={state: other})
        self.assertEqual(g(100), [0.0])
        self.assertEqual((state.get_value(), other.get_value()), (10.0, 100.0))
        self.assertEqual(g.name, "accumulate copy")
        self.assertIsNot(g.maker.fgraph, f.maker.fgraph)

    def test_a_name_given_afterwards_is_kept(self) -> None:
        _, _, f = accumulator()
        x = vector("x")
        for g in (f, function([x], add(x, x))):
            g.name = "second"
            for result in (g.copy(), copy.copy(g)):
                self.assertEqual(result.name, "second copy")
            for result in (copy.deepcopy(g), pickle.loads(pickle.dumps(g))):
                self.assertEqual(result.name, "second")
                self.assertIn("second", repr(result))
            self.assertEqual(g.copy(name="third").name, "third")

    def test_delete_updates(self) -> None:
        state, _, f = accumulator()
        f(10)
        g = f.copy(delete_updates=True, name="still")
        result = g(9000)
        self.assertEqual(result, [10.0])
        result[0][...] = 5
        self.assertEqual(state.get_value(), 10.0)
        self.assertEqual(g.name, "still")
        f(1)
        self.assertEqual(g(0), [11.0])

    def test_state_of_inputs_is_copied(self) -> None:
        x, c = scalar("x"), scalar("c")
        f = function([x, In(c, value=1.0, update=add(c, x))], {"now": c})
        f(1)
        g = f.copy()
        g(10)
        self.assertEqual((f[c], g[c]), (2.0, 12.0))
        self.assertEqual(f(1), {"now": 2.0})
        self.assertEqual(g(1), {"now": 12.0})
        h = f.copy(delete_updates=True)
        h(1)
        self.assertEqual(h[c], 3.0)

    def test_bad_swaps(self) -> None:
        state, inc, f = accumulator()
        other = shared(0.0)
        with self.assertRaisesRegex(ValueError, "does not use"):
            f.copy(swap={other: state})
        with self.assertRaisesRegex(TypeError, "can only be swapped for a shared variable of its type"):
            f.copy(swap={state: shared(np.ones(2))})
        with self.assertRaisesRegex(TypeError, "can only be swapped"):
            f.copy(swap={state: inc})
        two = function([], [], updates={state: add(state, 1.0), other: add(other, 2.0)})
        with self.assertRaisesRegex(ValueError, "two updates"):
            two.copy(swap={state: other})

    def test_shallow_copy_keeps_the_form_of_outputs(self) -> None:
        _, _, f = accumulator()
        g = copy.copy(f)
        self.assertEqual(g(3), 0.0)
        self.assertEqual(f(1), 3.0)
        self.assertIs(g.maker, f.maker)
        c = scalar("c")
        h = function([In(c, value=1.0, update=add(c, 1.0))], c)
        k = copy.copy(h)
        k()
        self.assertEqual((h[c], k[c]), (1.0, 2.0))


class TestNumbers(unittest.TestCase):
    """Equal numbers of a graph become one when it is copied."""

    def test_numbers_without_truth_values(self) -> None:
        n, x = ScalarType("int64")("n"), ScalarType("float64")("x")
        y = mul_scalars(add_scalars(x, x.type.make_constant(0.0)), add_scalars(x, x.type.make_constant(0.0)))
        f = function([n, x], [y, add_scalars(n, n.type.make_constant(0))], mode=Mode(optimizer=None))
        self.assertEqual([float(value) for value in f(2, 3.0)], [9.0, 2.0])
        constants = [v for v in f.maker.fgraph.variables if isinstance(v, Constant)]
        self.assertEqual(sorted((str(v.type), float(v.data)) for v in constants), [("float64", 0.0), ("int64", 0.0)])
        self.assertEqual([float(v) for v in function([x], [y, x.type.make_constant(5.0)])(1.0)], [1.0, 5.0])


class TestPickle(unittest.TestCase):
    def test_function_with_state_and_shared_variable(self) -> None:
        state, _, f = accumulator()
        f(2)
        g, twin = pickle.loads(pickle.dumps((f, state), pickle.HIGHEST_PROTOCOL))
        self.assertEqual(g(5), 2.0)
        self.assertEqual((twin.get_value(), state.get_value()), (7.0, 2.0))
        self.assertEqual(g.name, "accumulate")

    def test_names_and_defaults_survive(self) -> None:
        x, y = scalar("x"), scalar("y")
        f = function([x, In(y, value=4)], {"z": mul(x, y)}, mode=FAST_COMPILE)
        g = pickle.loads(pickle.dumps(f))
        self.assertEqual(g(x=2), {"z": 8.0})
        with self.assertRaisesRegex(TypeError, "Missing required input: x"):
            g()

    def test_deep_copy_has_its_own_shared_storage(self) -> None:
        state, _, f = accumulator()
        g = copy.deepcopy(f)
        g(4)
        self.assertEqual(state.get_value(), 0.0)
        self.assertEqual(g(0), 4.0)

    def test_deep_graph(self) -> None:
        x = scalar("x")
        y = x
        for _ in range(3000):
            y = add(y, 1.0)
        f = function([x], y)
        self.assertEqual(f(0), 3000.0)
        self.assertEqual(pickle.loads(pickle.dumps(f))(1), 3001.0)


class TestPrinting(unittest.TestCase):
    def test_debugprint_shows_the_compiled_graph_and_storage(self) -> None:
        s, x = shared(np.ones(2), name="s"), vector("x")
        f = function([x], add(s, x))
        text = str(debugprint(f, file="str"))
        self.assertIn("add", text)
        self.assertIn("s [id", text)
        stored = str(debugprint(f, file="str", print_storage=True))
        self.assertIn("array([1., 1.])", stored)


class TestEval(unittest.TestCase):
    def test_value_for_values_of_inputs(self) -> None:
        x, y = scalar("x"), scalar("y")
        z = add(x, y)
        self.assertEqual(z.eval({x: 16.3, y: 12.1}), 28.4)
        self.assertEqual(z.eval({y: 1, x: 1}), 2.0)
        self.assertEqual(shared(3.0).eval(), 3.0)

    def test_the_function_is_kept_for_the_variable(self) -> None:
        x = scalar("x")
        z = add(x, x)
        z.eval({x: 1})
        reference = eval_cache.functions_of(z)
        z.eval({x: 2})
        self.assertEqual(eval_cache.functions_of(z), reference)
        self.assertEqual(len(reference), 1)

    def test_the_cache_does_not_keep_variables_alive(self) -> None:
        x = scalar("x")
        z = add(x, x)
        z.eval({x: 1})
        gone = weakref.ref(z)
        del z
        gc.collect()
        self.assertIsNone(gone())

    def test_keys_must_be_variables(self) -> None:
        x = scalar("x")
        with self.assertRaisesRegex(TypeError, "given by variable, not by 'x'"):
            add(x, x).eval({"x": 1})


class TestDump(unittest.TestCase):
    def test_dump_compiles_elsewhere(self) -> None:
        state, inc = shared(1.0, name="state"), scalar("inc")
        inc.tag.test_value = 3.0
        inc.tag.note = "kept"
        inc.tag.secret = "no"
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "dump.pkl")
            function_dump(
                path, [inc], add(state, inc), updates=[(state, inc)], name="f", extra_tag_to_remove=["secret"]
            )
            with open(path, "rb") as file:
                arguments = pickle.load(file)
        f = function(**arguments)
        self.assertEqual(f(2), 3.0)
        self.assertEqual(f(0), 2.0)
        self.assertEqual(state.get_value(), 1.0)
        self.assertEqual(vars(arguments["inputs"][0].tag), {"note": "kept"})


class TestFreeing(unittest.TestCase):
    def test_free_keeps_values(self) -> None:
        _, _, f = accumulator()
        f(1)
        f.free()
        self.assertEqual(f(1), 1.0)

    def test_a_function_does_not_keep_the_users_expressions(self) -> None:
        x = matrix("x")
        y = transpose(add(x, x))
        f = function([x], y)
        gone = weakref.ref(y)
        del y
        gc.collect()
        self.assertIsNone(gone())
        self.assertEqual(f(np.ones((1, 1))).tolist(), [[2.0]])

    def test_a_function_is_freed(self) -> None:
        for mode in ("FAST_RUN", "FAST_COMPILE"):
            state, _, _ = accumulator()
            x = scalar("x")
            f = function([x], [add(x, state)], updates={state: x}, mode=mode)
            f(1)
            gone = weakref.ref(f)
            del f
            gc.collect()
            self.assertIsNone(gone())

    def test_not_iterable(self) -> None:
        x = generic("x")
        with self.assertRaisesRegex(TypeError, "not iterable"):
            list(function([x], x))
