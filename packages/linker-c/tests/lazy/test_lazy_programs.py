"""Operations that ask for their inputs: only requested ones run, once, on both machines."""

from __future__ import annotations

import gc
import sys
import unittest
from typing import Any

import numpy as np
from small_arrays import LINKERS, Python, add, compiled, constant, mul, number, vector

from theano_graph import Apply, Op
from theano_linker_c import Mode, function, shared
from theano_testing.tiers import slow

from .lazy_ops import Choose, ChooseByThunk, Runs

V = np.array([1.0, 2.0])
KINDS = (Choose, ChooseByThunk)


class TestChoice(unittest.TestCase):
    def each(self) -> Any:
        """Yield linkers and kinds of lazy ops."""
        for linker in LINKERS:
            for kind in KINDS:
                with self.subTest(linker=linker, kind=kind.__name__):
                    yield linker, kind()

    def test_only_what_is_chosen_runs(self) -> None:
        for linker, choose in self.each():
            runs = Runs()
            c, x = number("c"), vector("x")
            a, b = runs.op("a", lambda v: v + 1)(x), runs.op("b", lambda v: v * 10)(x)
            f = compiled([c, x], choose(c, a, b), linker)
            self.assertEqual(f(1.0, V).tolist(), [2, 3])
            self.assertEqual(dict(runs.count), {"a": 1})
            self.assertEqual(f(0.0, V).tolist(), [10, 20])
            self.assertEqual(dict(runs.count), {"a": 1, "b": 1})

    def test_other_linkers_compute_both(self) -> None:
        for linker in ("py", "c|py", "c|py_nogc"):
            for kind in KINDS:
                runs = Runs()
                c, x = number("c"), vector("x")
                f = compiled([c, x], kind()(c, runs.op("a")(x), runs.op("b")(x)), linker)
                self.assertEqual(f(1.0, V).tolist(), [2, 3])
                self.assertEqual(dict(runs.count), {"a": 1, "b": 1}, (linker, kind))

    def test_what_others_need_runs_once(self) -> None:
        for linker, choose in self.each():
            runs = Runs()
            c, x = number("c"), vector("x")
            a, b = runs.op("a")(x), runs.op("b")(x)
            f = compiled([c, x], [choose(c, a, b), add(a, a), choose(c, b, a)], linker)
            first, second, third = f(0.0, V)
            self.assertEqual([first.tolist(), second.tolist(), third.tolist()], [[2, 3], [4, 6], [2, 3]])
            self.assertEqual(dict(runs.count), {"a": 1, "b": 1})

    def test_the_condition_is_computed_too(self) -> None:
        for linker, choose in self.each():
            runs = Runs()
            x = vector("x")
            big = Python(lambda v: np.asarray(float(v.sum() > 2)), number().type)(x)
            f = compiled([x], choose(big, runs.op("a")(x), runs.op("b")(x)), linker)
            self.assertEqual(f(V).tolist(), [2, 3])
            self.assertEqual(f(V - 1).tolist(), [1, 2])
            self.assertEqual(dict(runs.count), {"a": 1, "b": 1})

    def test_nested(self) -> None:
        for linker, choose in self.each():
            runs = Runs()
            c, d, x = number("c"), number("d"), vector("x")
            inner = choose(d, runs.op("a")(x), runs.op("b")(x))
            common = runs.op("common")(inner)
            f = compiled([c, d, x], choose(c, add(common, common), runs.op("e")(x)), linker)
            self.assertEqual(f(0.0, 1.0, V).tolist(), [2, 3])
            self.assertEqual(dict(runs.count), {"e": 1})
            self.assertEqual(f(1.0, 0.0, V).tolist(), [6, 8])
            self.assertEqual(dict(runs.count), {"e": 1, "b": 1, "common": 1})

    def test_the_chosen_input_may_be_an_argument_constant_or_shared(self) -> None:
        for linker, choose in self.each():
            c, x = number("c"), vector("x")
            s = shared(V * 3, "s")
            f = compiled([c, x], [choose(c, x, s), choose(c, constant([7.0]), x)], linker)
            value = V.copy()
            first, second = f(1.0, value)
            self.assertEqual([first.tolist(), second.tolist()], [[1, 2], [7]])
            first[:] = 0
            self.assertEqual(value.tolist(), [1, 2])
            first, _ = f(0.0, value)
            first[:] = 0
            self.assertEqual(s.get_value().tolist(), [3, 6])

    def test_updates(self) -> None:
        for linker, choose in self.each():
            runs = Runs()
            c, s = number("c"), shared(V.copy(), "s")
            f = compiled([c], [], linker, updates=[(s, choose(c, runs.op("more")(s), s))])
            f(0.0), f(1.0), f(1.0)
            self.assertEqual(s.get_value().tolist(), [3, 4])
            self.assertEqual(runs.count["more"], 2)

    def test_an_error_in_what_is_not_chosen_does_not_show(self) -> None:
        for linker, choose in self.each():
            c, x, y = number("c"), vector("x"), vector("y")
            f = compiled([c, x, y], choose(c, add(x, y), x), linker)
            self.assertEqual(f(0.0, V, np.ones(3)).tolist(), [1, 2])
            with self.assertRaisesRegex(ValueError, "(?s)shapes.*`x`.*`y`"):
                f(1.0, V, np.ones(3))
            self.assertEqual(f.fn.thunks[f.fn.position_of_error].inputs[1][0].shape, (3,))
            self.assertEqual(f(1.0, V, V).tolist(), [2, 4])

    @slow
    def test_chain_of_choices_is_no_recursion(self) -> None:
        for linker, choose in self.each():
            c, x = number("c"), vector("x")
            y = x
            for _ in range(3000):
                y = choose(c, add(y, x), x)
            f = compiled([c, x], y, linker)
            self.assertEqual(f(1.0, V).tolist(), [3001, 6002])
            self.assertEqual(f(0.0, V).tolist(), [1, 2])

    def test_memory_is_given_back(self) -> None:
        for linker, choose in self.each():
            c, x = number("c"), vector("x")
            a = add(x, x)
            f = compiled([c, x], choose(c, mul(a, a), add(a, x)), linker)
            value = np.ones(50)
            before = sys.getrefcount(value)
            for k in range(2000):
                f(float(k % 2), value)
                if k == 100:
                    gc.collect()
                    blocks = sys.getallocatedblocks()
            gc.collect()
            # A block that one call keeps would be 1900; other parts of the process may take some.
            self.assertLess(sys.getallocatedblocks() - blocks, 900)
            self.assertEqual(sys.getrefcount(value), before)

    def test_results_with_and_without_garbage_collection(self) -> None:
        c, x = number("c"), vector("x")
        a, b = add(x, x), mul(x, x)
        out = Choose()(c, add(mul(a, b), a), mul(add(a, b), b))
        for condition in (0.0, 1.0):
            expected = (V + V) * V**2 + 2 * V if condition else (2 * V + V**2) * V**2
            for linker in ("cvm", "cvm_nogc", "vm", "vm_nogc", "c|py", "py"):
                f = compiled([c, x], [out, a], linker)
                for _ in range(3):
                    np.testing.assert_allclose(f(condition, V)[0], expected)
                    np.testing.assert_allclose(f(condition, V)[1], 2 * V)


class TestSeveralOutputs(unittest.TestCase):
    def test_groups(self) -> None:
        for linker in LINKERS:
            runs = Runs()
            c, x, y = number("c"), vector("x"), vector("y")
            p, q = Choose(2)(c, runs.op("a")(x), y, runs.op("b")(x), x)
            f = compiled([c, x, y], [p, q, add(p, q)], linker)
            self.assertEqual([v.tolist() for v in f(1.0, V, V * 5)], [[2, 3], [5, 10], [7, 13]])
            self.assertEqual([v.tolist() for v in f(0.0, V, V * 5)], [[2, 3], [1, 2], [3, 5]])
            self.assertEqual(dict(runs.count), {"a": 1, "b": 1})


class Stubborn(Op):
    """Asks for its first input for ever, or for one that it does not have."""

    __props__ = ("asked",)

    def __init__(self, asked: int) -> None:
        self.asked = asked

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, list(inputs), [inputs[0].type()])

    def make_thunk(  # type: ignore[override]  # the older form, without impl
        self, node: Apply, storage_map: Any, compute_map: Any, no_recycling: Any
    ) -> Any:
        def thunk() -> list[int]:
            return [self.asked]

        thunk.lazy = True  # type: ignore[attr-defined]
        return thunk


class TestWrongThunks(unittest.TestCase):
    def test_asking_again_is_an_error(self) -> None:
        x = vector("x")
        for linker in (*LINKERS, "c|py", "py"):
            f = compiled([x], Stubborn(0)(add(x, x)), linker)
            for _ in range(2):
                with self.assertRaisesRegex(RuntimeError, "asks for inputs that have been computed"):
                    f(V)

    def test_asking_for_what_is_not_there(self) -> None:
        x = vector("x")
        for linker in LINKERS:
            for wrong in (5, -1):
                with self.assertRaisesRegex((ValueError, IndexError), "does not have"):
                    compiled([x], Stubborn(wrong)(x), linker)(V)


class TestOverwriting(unittest.TestCase):
    def test_what_either_choice_may_be_is_protected(self) -> None:
        def negate(v: Any) -> Any:
            np.negative(v, out=v)
            return v

        negated = Python(negate, destroys=(0,))
        c, x = number("c"), vector("x")
        for linker in (*LINKERS, "c|py", "py"):
            for kind in (Choose, ChooseByThunk):
                for condition, expected in ((1.0, -2 * V), (0.0, -V)):
                    f = compiled([c, x], negated(kind()(c, add(x, x), x)), linker, accept_inplace=True)
                    value = V.copy()
                    self.assertEqual(f(condition, value).tolist(), expected.tolist())
                    self.assertEqual(value.tolist(), V.tolist())
                # The other way round: a branch is overwritten, and the choice is read as well.
                a, b = add(x, x), mul(x, x)
                chosen = kind()(c, a, b)
                f = compiled([c, x], [negated(b), add(chosen, x)], linker, accept_inplace=True)
                for condition, expected in ((1.0, 3 * V), (0.0, V * V + V)):
                    first, second = f(condition, V)
                    self.assertEqual([first.tolist(), second.tolist()], [(-V * V).tolist(), expected.tolist()])

    def test_readers_run_before_a_lazy_destroyer(self) -> None:
        def double_in_place(v: Any) -> Any:
            v *= 2
            return v

        for linker in LINKERS:
            for condition, expected in ((1.0, [4.0, 8.0]), (0.0, [1.0, 2.0])):
                c, x = number("c"), vector("x")
                a = add(x, x)
                destroyed = Python(double_in_place, destroys=(0,))(a)
                f = function(
                    [c, x],
                    [Choose()(c, destroyed, x), add(a, x)],
                    mode=Mode(linker, None),
                    accept_inplace=True,
                )
                first, second = f(condition, V)
                self.assertEqual(first.tolist(), expected)
                self.assertEqual(second.tolist(), [3, 6])
