"""Which nodes are needed in the same calls, and that calls compute no others, each once and in order."""

from __future__ import annotations

import unittest
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from small_arrays import LINKERS, add, compiled, number, vector

from theano_graph import Apply, Variable, toposort
from theano_linker_c.program import ALWAYS, when_needed

from .lazy_ops import Choose, ChooseByThunk, Runs

V = np.array([1.0, 2.0])


def needs(outputs: Sequence[Variable]) -> Callable[[Variable], int]:
    """Return a function that tells in which calls the node of a variable is needed."""
    result = when_needed(toposort([], outputs), outputs)
    return lambda variable: result.get(variable.owner, ALWAYS) if variable.owner is not None else ALWAYS


class TestNumbers(unittest.TestCase):
    def setUp(self) -> None:
        runs = Runs()
        self.c, self.d, self.x = number("c"), number("d"), vector("x")
        self.a, self.b, self.e = (runs.op(name)(self.x) for name in "abe")
        self.after: Callable[[Variable], Any] = runs.op("after")
        self.choose = Choose()

    def test_without_choices_nothing_is_told(self) -> None:
        result: Mapping[Apply, int] = when_needed(toposort([], [self.a, add(self.a, self.b)]), [self.a])
        self.assertEqual(result, {})

    def test_branches_are_told_apart_and_from_what_all_calls_need(self) -> None:
        out = self.choose(self.c, self.a, self.b)
        of = needs([out, self.e])
        self.assertEqual([of(out), of(self.e)], [ALWAYS, ALWAYS])
        self.assertEqual(len({ALWAYS, of(self.a), of(self.b)}), 3)

    def test_what_one_branch_is_made_of_has_its_number(self) -> None:
        late = self.after(self.after(self.a))
        of = needs([self.choose(self.c, late, self.b)])
        self.assertEqual(of(self.a), of(late))
        self.assertNotEqual(of(self.a), of(self.b))

    def test_what_both_branches_need_is_needed_always(self) -> None:
        of = needs([self.choose(self.c, self.after(self.a), self.after(self.a))])
        self.assertEqual(of(self.a), ALWAYS)

    def test_what_an_output_needs_is_needed_always(self) -> None:
        of = needs([self.choose(self.c, self.a, self.b), self.after(self.a)])
        self.assertEqual(of(self.a), ALWAYS)
        self.assertNotEqual(of(self.b), ALWAYS)

    def test_the_condition_is_needed_with_the_choice(self) -> None:
        inner_condition = add(self.d, self.d)
        inner = self.choose(inner_condition, self.a, self.b)
        outer_condition = add(self.c, self.c)
        of = needs([self.choose(outer_condition, inner, self.e)])
        self.assertEqual(of(outer_condition), ALWAYS)
        self.assertEqual(of(inner_condition), of(inner))
        self.assertNotEqual(of(inner_condition), ALWAYS)

    def test_choices_with_one_condition_share_numbers(self) -> None:
        first, second = self.choose(self.c, self.a, self.b), self.choose(self.c, self.e, self.after(self.b))
        of = needs([first, second])
        self.assertEqual(of(self.a), of(self.e))
        other = needs([first, self.choose(self.d, self.e, self.x)])
        self.assertNotEqual(other(self.a), other(self.e))

    def test_nested_choices_part_the_calls_of_their_branch(self) -> None:
        inner = self.choose(self.d, self.a, self.b)
        of = needs([self.choose(self.c, self.after(inner), self.e)])
        self.assertEqual(len({ALWAYS, of(inner), of(self.a), of(self.b), of(self.e)}), 5)

    def test_both_branches_of_an_inner_choice_are_the_calls_of_the_outer_branch(self) -> None:
        inner = self.choose(self.d, self.after(self.a), add(self.a, self.a))
        of = needs([self.choose(self.c, inner, self.e)])
        self.assertEqual(of(self.a), of(inner))

    def test_a_part_adds_nothing_to_the_calls_that_it_is_a_part_of(self) -> None:
        inner = self.choose(self.d, self.a, self.b)
        of = needs([self.choose(self.c, add(inner, self.a), self.e)])
        self.assertEqual(of(self.a), of(inner))

    def test_unions_of_branches_are_equal_whatever_leads_to_them(self) -> None:
        shared = self.after(self.x)
        first = self.choose(self.c, add(self.a, shared), self.x)
        second = self.choose(self.d, add(shared, self.a), self.x)
        of = needs([first, second])
        self.assertEqual(of(self.a), of(shared))
        self.assertNotIn(of(self.a), {ALWAYS, of(first.owner.inputs[1]), of(second.owner.inputs[1])})

    def test_choices_by_thunks_alone_need_all_of_their_inputs(self) -> None:
        of = needs([ChooseByThunk()(self.c, self.a, self.b), self.choose(self.c, self.e, self.x)])
        self.assertEqual([of(self.a), of(self.b)], [ALWAYS, ALWAYS])
        self.assertNotEqual(of(self.e), ALWAYS)


class TestCalls(unittest.TestCase):
    """Calls agree with these numbers, with both machines."""

    def setUp(self) -> None:
        self.order: list[str] = []

    def op(self, name: str, change: float = 1.0) -> Any:
        """Return an op that notes when it runs."""

        def noted(value: Any) -> Any:
            self.order.append(name)
            return value + change

        return Runs().op(name, noted)

    def failing(self, name: str) -> Any:
        """Return an op that cannot be computed."""

        def fail(value: Any) -> Any:
            raise ZeroDivisionError(name)

        return Runs().op(name, fail)

    def check(self, f: Any, arguments: Sequence[Any], expected: Sequence[float], ran: Sequence[str]) -> None:
        """Call a function, and look at the operations that ran, in order."""
        self.order.clear()
        self.assertEqual(f(*arguments).tolist(), list(expected))
        self.assertEqual(self.order, list(ran))

    def test_order_and_nested_choices(self) -> None:
        for linker in LINKERS:
            with self.subTest(linker=linker):
                c, d, x = number("c"), number("d"), vector("x")
                common = self.op("common")(x)
                inner = Choose()(d, self.op("b", 10)(self.op("a")(common)), self.op("e", 20)(common))
                f = compiled([c, d, x], Choose()(c, self.op("after")(inner), self.op("other", 5)(x)), linker)
                self.check(f, (1.0, 1.0, V), [14, 15], ["common", "a", "b", "after"])
                self.check(f, (1.0, 0.0, V), [23, 24], ["common", "e", "after"])
                self.check(f, (0.0, 1.0, V), [6, 7], ["other"])

    def test_errors_show_in_the_branch_that_is_taken_alone(self) -> None:
        for linker in LINKERS:
            with self.subTest(linker=linker):
                c, d, x = number("c"), number("d"), vector("x")
                inner = Choose()(d, self.failing("inner")(x), self.op("b")(x))
                f = compiled([c, d, x], Choose()(c, inner, self.failing("outer")(x)), linker)
                self.check(f, (1.0, 0.0, V), [2, 3], ["b"])
                with self.assertRaisesRegex(ZeroDivisionError, "inner"):
                    f(1.0, 1.0, V)
                with self.assertRaisesRegex(ZeroDivisionError, "outer"):
                    f(0.0, 1.0, V)
                self.check(f, (1.0, 0.0, V), [2, 3], ["b"])

    def test_what_branches_share_runs_once(self) -> None:
        for linker in LINKERS:
            with self.subTest(linker=linker):
                c, d, x = number("c"), number("d"), vector("x")
                shared = self.op("shared")(x)
                first = Choose()(c, self.op("a", 1)(shared), x)
                second = Choose()(d, self.op("b", 2)(shared), x)
                f = compiled([c, d, x], add(first, second), linker)
                self.check(f, (1.0, 0.0, V), [4, 6], ["shared", "a"])
                self.check(f, (0.0, 1.0, V), [5, 7], ["shared", "b"])
                self.check(f, (0.0, 0.0, V), [2, 4], [])
                self.order.clear()
                self.assertEqual(f(1.0, 1.0, V).tolist(), [7, 9])
                self.assertEqual((self.order[0], sorted(self.order)), ("shared", ["a", "b", "shared"]))
