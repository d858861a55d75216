"""The documented names of in-place rewrites turn on and off that results reuse the memory of operands."""

from __future__ import annotations

import pickle
import unittest
from collections.abc import Callable
from typing import Any

import numpy as np

import theano_tensor as T
from theano_graph import config
from theano_linker_c import FAST_RUN, In, Mode, Out, function, shared
from theano_linker_c.program import HAS_RUNTIME
from theano_tensor import typed_list
from theano_tensor.random import RandomFunction, random_state_type, uniform

Build = Callable[[Any, Any, Any], Any]

#: Documented names -> an expression of z, x and y whose result can lie in the memory of z.
FORMS: dict[str, Build] = {
    "inplace_elemwise": lambda z, x, y: T.exp(z) + x * y,
    "inplace_elemwise_optimizer": lambda z, x, y: T.tanh(z * y) - x,
    "insert_inplace_optimizer": lambda z, x, y: z * x - y,
    "inplace_opt": lambda z, x, y: T.sqr(z + x) / y,
    "inplace_setsubtensor": lambda z, x, y: T.set_subtensor(z[1], x[0] * y[0]),
    "local_inplace_setsubtensor": lambda z, x, y: T.inc_subtensor(z[[0, 2]], y[:2] * x[:2]),
    "InplaceBlasOpt": lambda z, x, y: z + T.dot(x, y),
    "local_inplace_gemm": lambda z, x, y: z - 0.5 * T.dot(x, y),
}


def given() -> list[Any]:
    rng = np.random.RandomState(4)
    return [rng.rand(3, 3) for _ in range(3)]


@unittest.skipUnless(HAS_RUNTIME and config.cxx, "native kernels reuse memory; NumPy's results are fresh")
class TestOverwriting(unittest.TestCase):
    def overwritten(self, build: Build, mode: Mode) -> bool:
        """Tell whether the result lies in the memory of an operand that the caller offers; values are checked."""
        z, x, y = T.dmatrices("z", "x", "y")
        expected = function([z, x, y], build(z, x, y), mode=Mode("py", None))(*given())
        f: Any = function([In(z, mutable=True), x, y], Out(build(z, x, y), borrow=True), mode=mode)
        values = given()
        result = f(*values)
        np.testing.assert_allclose(result, expected, rtol=1e-12)
        shared_memory = bool(np.shares_memory(result, values[0]))
        if not shared_memory:
            np.testing.assert_array_equal(values[0], given()[0])
        return shared_memory

    def test_the_graph_before_rewriting_keeps_its_ops(self) -> None:
        x = T.dvector("x")
        y = T.exp(x)
        f: Any = function([x], [T.tanh(y), y.sum() * 0], mode=FAST_RUN.excluding("fusion"))
        self.assertTrue(any(node.op.destroy_map for node in f.maker.fgraph.apply_nodes))
        again = pickle.loads(pickle.dumps(f))
        for label, maker in (("made", f.maker), ("loaded", again.maker)):
            with self.subTest(label=label):
                self.assertFalse(any(node.op.destroy_map for node in maker.source.build().apply_nodes))
                maker.reoptimize()
                np.testing.assert_allclose(maker.create()([0.5])[0], np.tanh(np.exp([0.5])))

    def test_each_name_excludes_what_it_says(self) -> None:
        for name, build in FORMS.items():
            with self.subTest(name=name):
                self.assertTrue(self.overwritten(build, FAST_RUN))
                self.assertFalse(self.overwritten(build, FAST_RUN.excluding(name)))

    def test_each_name_includes_what_it_says(self) -> None:
        for name, build in FORMS.items():
            with self.subTest(name=name):
                # Modes that leave all of "inplace" out go on doing so, so this starts from one that has none of it.
                mode = Mode("cvm", "o1").including("fusion", "BlasOpt", "local_dot_to_dot22", "gemm_optimizer")
                self.assertFalse(self.overwritten(build, mode))
                self.assertTrue(self.overwritten(build, mode.including(name)))

    def test_levels(self) -> None:
        for level, expected in {"o4": True, "o3": False, "o2": False, "unsafe": False, "merge": False}.items():
            for name in ("inplace_elemwise", "inplace_setsubtensor"):
                with self.subTest(level=level, name=name):
                    self.assertEqual(self.overwritten(FORMS[name], Mode("cvm", level)), expected)

    def test_excluding_one_kind_leaves_the_others(self) -> None:
        mode = FAST_RUN.excluding("inplace_setsubtensor")
        self.assertTrue(self.overwritten(FORMS["inplace_elemwise"], mode))
        self.assertTrue(self.overwritten(FORMS["InplaceBlasOpt"], mode))

    def test_shared_storage(self) -> None:
        """Updates of parts go into the storage of a shared variable unless that is excluded."""
        for mode, expected in ((FAST_RUN, True), (FAST_RUN.excluding("local_inplace_setsubtensor"), False)):
            table = shared(np.zeros((50, 4)), name="table")
            i = T.lscalar("i")
            f: Any = function([i], [], updates=[(table, T.inc_subtensor(table[i], 1.0))], mode=mode)
            before = table.get_value(borrow=True).ctypes.data
            f(3)
            f(3)
            f(5)
            after = table.get_value(borrow=True)
            self.assertEqual(after.ctypes.data == before, expected)
            self.assertEqual((after[3, 0], after[5, 0], after.sum()), (2.0, 1.0, 12.0))

    def test_copies_and_subsets_overwrite_as_their_function_does(self) -> None:
        z = T.dvector("z")
        for mode, expected in ((FAST_RUN, True), (FAST_RUN.excluding("inplace"), False)):
            f: Any = function([In(z, mutable=True)], [Out(T.exp(z) + 1, borrow=True)], mode=mode)
            for again in (f, f.copy(), lambda value, f=f: f(value, output_subset=[0])):
                value = np.ones(3)
                self.assertEqual(bool(np.shares_memory(again(value)[0], value)), expected)


class TestRandomStates(unittest.TestCase):
    """A state that nobody else asks for is moved itself."""

    def in_place(self, mode: Mode) -> list[bool]:
        state = random_state_type("state")
        moved, first = uniform(state, (3,))
        last, second = uniform(moved, (3,))
        f: Any = function([In(state, mutable=True)], [first, second, Out(last, borrow=True)], mode=mode)
        value = np.random.RandomState(3)
        result = f(value)
        expected = np.random.RandomState(3)
        np.testing.assert_array_equal(result[0], expected.uniform(size=3))
        np.testing.assert_array_equal(result[1], expected.uniform(size=3))
        self.assertEqual(result[2].uniform(), expected.uniform())
        untouched = value.uniform() == np.random.RandomState(3).uniform()
        flags = [n.op.inplace for n in f.maker.fgraph.toposort() if isinstance(n.op, RandomFunction)]
        self.assertEqual(untouched, not any(flags))
        return flags

    def test_by_name(self) -> None:
        self.assertEqual(self.in_place(FAST_RUN), [True, True])
        for name in ("inplace_random", "random_make_inplace", "inplace"):
            self.assertEqual(self.in_place(FAST_RUN.excluding(name)), [False, False])
        self.assertEqual(self.in_place(Mode("cvm", "fast_compile")), [False, False])
        self.assertEqual(self.in_place(Mode("cvm", "fast_compile").including("inplace_random")), [True, True])


class TestArgumentsGivenTwice(unittest.TestCase):
    """A value that is passed twice is overwritten in none of the two places, of any kind."""

    def modes(self) -> list[Mode]:
        return [Mode(linker, "fast_run") for linker in ("cvm", "vm")]

    def test_states(self) -> None:
        for mode in self.modes():
            for both in (True, False):
                states = [random_state_type("a"), random_state_type("b")]
                draws = [uniform(state, (3,))[1] for state in states]
                f = function([In(states[0], mutable=True), In(states[1], mutable=both)], draws, mode=mode)
                value = np.random.RandomState(3)
                pairs = [(value, value), (np.random.RandomState(value._bit_generator), value)]
                for first, second in pairs:
                    expected = np.random.RandomState(3)
                    expected.set_state(value.get_state())
                    numbers = expected.uniform(size=3)
                    for item in f(first, second):
                        np.testing.assert_array_equal(item, numbers)

    def test_lists_and_what_is_in_them(self) -> None:
        kind = typed_list.TypedListType(T.dvector)
        item = T.dvector("item")
        for mode in self.modes():
            for both in (True, False):
                x, y = kind("x"), kind("y")
                longer = [typed_list.append(x, item), typed_list.append(y, item)]
                f = function([In(x, mutable=True), In(y, mutable=both), item], longer, mode=mode)
                value = [np.zeros(1)]
                for result in f(value, value, np.ones(1)):
                    self.assertEqual([array.tolist() for array in result], [[0.0], [1.0]])
        x, y = kind("x"), kind("y")
        for mode in self.modes():
            f = function([In(x, mutable=True), y], [T.exp(x[0]), y[0] + 0], mode=mode)
            shared_array = np.zeros(2)
            result = f([shared_array], [shared_array])
            self.assertEqual([array.tolist() for array in result], [[1.0, 1.0], [0.0, 0.0]])

    def test_shared_value(self) -> None:
        value = np.random.RandomState(3)
        saved, given_state = shared(value, borrow=True), random_state_type("s")
        draws = [uniform(given_state, (2,))[1], uniform(saved, (2,))[1]]
        for mode in self.modes():
            f = function([In(given_state, mutable=True)], draws, mode=mode)
            first, second = f(value)
            np.testing.assert_array_equal(first, second)
