"""Changes that fail in the middle: the graph, its features and the order of everything are as before."""

from __future__ import annotations

import gc
import unittest
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from typing import Any, Literal

from hypothesis import given, settings, strategies as st
from support import NUMBER, Join, join, names, other

from theano_graph import (
    Apply,
    Bookkeeper,
    CycleError,
    Feature,
    FunctionGraph,
    GraphError,
    History,
    InconsistencyError,
    NodeFinder,
    ReplaceValidate,
    Undo,
    Variable,
    collector_paused,
    inherited_origin,
    toposort,
)
from theano_graph._traversal._postorder import numbered_marks
from theano_testing.interrupts import Interrupter
from theano_testing.tiers import examples, slow

CALLBACKS = ("on_import", "on_change_input", "on_prune")


class Failure(Exception):
    """The error of a feature of these tests."""


class Fails(Feature):
    """Raises at the n-th call of one callback, counted while it is armed."""

    def __init__(self, callback: str = "", call: int = 0) -> None:
        self.callback = callback
        self.left = call

    def _count(self, callback: str, reason: object) -> None:
        if callback == self.callback and not isinstance(reason, Undo):
            if not self.left:
                raise Failure(callback)
            self.left -= 1

    def on_import(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
        self._count("on_import", reason)

    def on_prune(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
        self._count("on_prune", reason)

    def on_change_input(
        self,
        fgraph: FunctionGraph,
        node: Apply | Literal["output"],
        i: int,
        old: Variable,
        new: Variable,
        reason: object = None,
    ) -> None:
        self._count("on_change_input", reason)


class Mirror(Bookkeeper):
    """Keeps the reported state: nodes with their inputs, and outputs."""

    def __init__(self) -> None:
        self.inputs: dict[Any, list[Variable]] = {}

    def on_import(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
        assert node not in self.inputs, "a node is reported once"
        self.inputs[node] = list(node.inputs)

    def on_prune(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
        del self.inputs[node]

    def on_change_input(
        self,
        fgraph: FunctionGraph,
        node: Apply | Literal["output"],
        i: int,
        old: Variable,
        new: Variable,
        reason: object = None,
    ) -> None:
        if not isinstance(node, str):
            assert self.inputs[node][i] is old, "changes are reported in order"
            self.inputs[node][i] = new


def snapshot(fgraph: FunctionGraph) -> tuple[Any, ...]:
    """Return everything that a graph shows of itself."""
    return (
        list(fgraph.apply_nodes),
        [list(node.inputs) for node in fgraph.apply_nodes],
        list(fgraph.outputs),
        {v: fgraph.clients(v) for v in fgraph.variables},
        fgraph.toposort(),
    )


def build(shape: list[tuple[int, int]], features: list[Feature]) -> tuple[FunctionGraph, list[Variable]]:
    """Return a random graph and all its variables, inputs first."""
    result = names("xyz")
    inputs = list(result)
    for i, (a, b) in enumerate(shape):
        result.append(Join("abc"[i % 3])(result[a % len(result)], result[b % len(result)]))
    return FunctionGraph(inputs, result[-2:], features, clone=False), result


SHAPES = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=2, max_size=15)
NUMBERS = st.integers(0, 40)


class TestFailingFeatures(unittest.TestCase):
    @settings(max_examples=examples(150), deadline=None)
    @given(SHAPES, NUMBERS, NUMBERS, NUMBERS, st.sampled_from(CALLBACKS), st.integers(0, 3), st.booleans())
    def test_all_is_as_before(
        self, shape: list[tuple[int, int]], a: int, b: int, c: int, callback: str, call: int, last: bool
    ) -> None:
        finder, mirror, history, fails = NodeFinder(), Mirror(), History(), Fails(callback, call)
        others: list[Feature] = [finder, mirror, history]
        fgraph, result = build(shape, [*others, fails] if last else [fails, *others])
        present = [v for v in result if v in fgraph.variables]
        old, base = present[a % len(present)], present[b % len(present)]
        new = other(join(base, present[c % len(present)]), NUMBER.make_constant(7))
        before = snapshot(fgraph)
        mark = history.checkpoint(fgraph)
        try:
            fgraph.replace(old, new, reason="test")
        except (Failure, CycleError) as error:
            self.assertEqual(getattr(error, "__notes__", []), [])
            self.assertEqual(snapshot(fgraph), before)
            self.assertEqual(history.checkpoint(fgraph), mark)
            self.assertIsNone(new.name)
            self.assertIsNone(new.owner.fgraph)
        fgraph.check_integrity()
        self.assertEqual(mirror.inputs, {node: list(node.inputs) for node in fgraph.apply_nodes})
        for op in {node.op for node in fgraph.apply_nodes} | {new.owner.op}:
            self.assertEqual(set(finder.nodes_of(op)), {n for n in fgraph.apply_nodes if n.op == op})

    @settings(max_examples=examples(60), deadline=None)
    @given(SHAPES, NUMBERS, NUMBERS, st.sampled_from(CALLBACKS), st.integers(0, 3))
    def test_replacement_by_what_is_there(
        self, shape: list[tuple[int, int]], a: int, b: int, callback: str, call: int
    ) -> None:
        fgraph, result = build(shape, [Mirror(), Fails(callback, call)])
        present = [v for v in result if v in fgraph.variables]
        before = snapshot(fgraph)
        try:
            fgraph.replace(present[a % len(present)], present[b % len(present)])
        except (Failure, CycleError):
            self.assertEqual(snapshot(fgraph), before)
        fgraph.check_integrity()

    def test_each_callback(self) -> None:
        for callback in CALLBACKS:
            for call in (0, 1):
                x = names("x")[0]
                mid = join(join(x))
                mirror = Mirror()
                fgraph = FunctionGraph([x], [other(mid, mid)], [mirror, Fails(callback, call)], clone=False)
                before = snapshot(fgraph)
                with self.assertRaisesRegex(Failure, callback):
                    fgraph.replace(mid, other(other(x)))
                self.assertEqual(snapshot(fgraph), before)
                self.assertEqual(len(mirror.inputs), 3)
                fgraph.check_integrity()

    def test_input_without_uses(self) -> None:
        x, y = names("xy")
        fgraph = FunctionGraph([x, y], [join(x)], clone=False)
        fgraph.replace(y, other(x))
        self.assertEqual((len(fgraph), fgraph.n_clients(y)), (1, 0))
        fgraph.check_integrity()

    def test_change_input(self) -> None:
        x, y = names("xy")
        out = join(x, x)
        fgraph = FunctionGraph([x, y], [out], [Fails("on_change_input")], clone=False)
        with self.assertRaises(Failure):
            fgraph.change_input(out.owner, 1, other(y))
        self.assertEqual(str(fgraph), "[join(x, x)]")
        with self.assertRaises(Failure):
            fgraph.change_input("output", 0, y)
        self.assertEqual(str(fgraph), "[join(x, x)]")
        fgraph.check_integrity()

    def test_constants_go_again(self) -> None:
        x = names("x")[0]
        one = NUMBER.make_constant(1)
        out = join(x)
        fgraph = FunctionGraph([x], [out], [Fails("on_change_input")], clone=False)
        with self.assertRaises(Failure):
            fgraph.replace(out, one)
        self.assertNotIn(one, fgraph.variables)
        fgraph.check_integrity()

    def test_reason_of_the_reversal(self) -> None:
        reasons: list[str] = []

        class Listens(Fails):
            def on_prune(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
                reasons.append(str(reason))

        x = names("x")[0]
        out = join(x)
        fgraph = FunctionGraph([x], [out], [Listens(), Fails("on_change_input")], clone=False)
        with self.assertRaises(Failure):
            fgraph.replace(out, other(x), reason="rule")
        self.assertEqual(reasons, ["undo of rule"])

    def test_failure_of_the_reversal_is_noted(self) -> None:
        class Stubborn(Feature):
            def on_prune(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
                raise ValueError("no way back")

            def on_import(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
                """Attach a listener, which hears of the way back as well."""

        x = names("x")[0]
        out = join(x)
        fgraph = FunctionGraph([x], [out], [Stubborn(), Fails("on_change_input")], clone=False)
        with self.assertRaises(Failure) as caught:
            fgraph.replace(out, other(x))
        self.assertIn("Stubborn.on_prune failed while this was undone: no way back", caught.exception.__notes__)
        self.assertEqual(str(fgraph), "[join(x)]")
        fgraph.check_integrity()

    def test_constructor_lets_go(self) -> None:
        class Refuses(Feature):
            def on_attach(self, fgraph: FunctionGraph) -> None:
                raise Failure

        x = names("x")[0]
        out = join(x)
        try:
            FunctionGraph([x], [out], [Refuses()], clone=False)
        except Failure:  # which keeps the graph that could not be made alive
            FunctionGraph([x], [out], clone=False).check_integrity()
        else:
            self.fail("the feature refuses")

    def test_what_had_left_has_left_again(self) -> None:
        x = names("x")[0]
        mid = join(x)
        fails = Fails()
        fgraph = FunctionGraph([x], [other(mid)], [fails], clone=False)
        fgraph.replace(mid, x)
        fails.callback = "on_change_input"
        with self.assertRaises(Failure):
            fgraph.replace(fgraph.outputs[0], mid)
        fgraph.replace(mid, x)  # ignored, like all that was in the graph once
        self.assertEqual(str(fgraph), "[other(x)]")


class TestCycles(unittest.TestCase):
    @settings(max_examples=examples(150), deadline=None)
    @given(SHAPES, st.lists(st.tuples(NUMBERS, NUMBERS, st.booleans()), max_size=12))
    def test_refused_exactly_when_there_is_one(
        self, shape: list[tuple[int, int]], steps: list[tuple[int, int, bool]]
    ) -> None:
        fgraph, _ = build(shape, [])
        for a, b, fresh in steps:
            present = [*fgraph.inputs, *(v for node in fgraph.toposort() for v in node.outputs)]
            old, base = present[a % len(present)], present[b % len(present)]
            new = other(base, base) if fresh else base
            users = {n for n, _ in fgraph.clients(old) if isinstance(n, Apply)}
            wraps = fresh and base is old and fgraph.has_clients(old)
            closes = old is not new and (bool(users & above(new)) or wraps)
            before = snapshot(fgraph)
            try:
                fgraph.replace(old, new)
            except CycleError:
                self.assertTrue(closes)
                self.assertEqual(snapshot(fgraph), before)
            else:
                self.assertFalse(closes)
            fgraph.check_integrity()

    def test_many_changes_at_one_place(self) -> None:
        x = names("x")[0]
        fgraph = FunctionGraph([x], [join(join(x))], clone=False)
        last = fgraph.outputs[0].owner
        for _ in range(300):  # far more than fit between two positions
            fgraph.change_input(last, 0, join(last.inputs[0]))
        fgraph.check_integrity()
        self.assertEqual(len(fgraph), 302)
        with self.assertRaisesRegex(CycleError, r"\.\.\. 29\d more \.\.\."):
            fgraph.replace(x, last.inputs[0])
        fgraph.check_integrity()

    def test_most_changes_walk_nowhere(self) -> None:
        x = names("x")[0]
        value = x
        for _ in range(3000):
            value = join(value)
        fgraph = FunctionGraph([x], [value], clone=False)
        for node in fgraph.toposort():
            fgraph.replace(node.outputs[0], other(other(node.inputs[0])))
        self.assertEqual(len(fgraph), 6000)
        fgraph.check_integrity()

    def test_text_of_wrong_positions(self) -> None:
        x = names("x")[0]
        out = join(join(x))
        fgraph = FunctionGraph([x], [out], clone=False)
        out.owner.inputs[0] = x
        with self.assertRaisesRegex(GraphError, "(?s)not those that lead to its outputs.*join.*Hint"):
            fgraph.check_integrity()


def above(variable: Variable) -> set[Apply]:
    """Return the nodes that a variable depends on."""
    results: set[Apply] = set()
    todo = [variable.owner]
    while todo:
        node = todo.pop()
        if node is not None and node not in results:
            results.add(node)
            todo.extend(v.owner for v in node.inputs)
    return results


class Refuses(Feature):
    """Finds every graph inconsistent."""

    def validate(self, fgraph: FunctionGraph) -> None:
        raise InconsistencyError("refused")


class TestInterruptedChanges(unittest.TestCase):
    """An interrupt at any line of a change comes out as it is, and the graph is whole."""

    def graph(self, *features: Feature) -> tuple[FunctionGraph, Variable, Variable]:
        """Return a graph, one of its variables, and what is to replace it; some nodes leave with it."""
        x, y, z = names("xyz")
        gone = join(join(x, y), z)
        old = join(gone, x)
        fgraph = FunctionGraph([x, y, z], [join(old, old), other(old, x)], [NodeFinder(), *features], clone=False)
        return fgraph, old, join(join(x, z), NUMBER.make_constant(7))

    def interrupted(self, features: Callable[[], list[Feature]], change: Callable[..., None]) -> Iterator[Any]:
        """Make a change again and again, interrupted at each of its lines in turn; give what is there then."""
        for line in count():
            fgraph, old, new = self.graph(*features())
            before = snapshot(fgraph)
            interrupter = Interrupter(["theano_graph"], lines=line)
            try:
                with interrupter:
                    change(fgraph, old, new)
            except KeyboardInterrupt:
                self.assertTrue(interrupter.place)
            except (Failure, InconsistencyError):
                self.assertFalse(interrupter.place, "the interrupt was hidden")
            if not interrupter.place:
                break
            with self.subTest(place="".join(interrupter.place)):
                fgraph.check_integrity()
                yield fgraph, old, new, before
        self.assertGreater(line, 50)

    def check_replacements(self, failing: str) -> None:
        """Interrupt replacements, told to a feature one of whose callbacks fails."""
        result = 0
        for fgraph, old, new, before in self.interrupted(
            lambda: [Fails(failing)], lambda fgraph, old, new: fgraph.replace(old, new)
        ):
            if old not in fgraph.variables:
                result += 1
                continue
            after = snapshot(fgraph)
            self.assertEqual(after[:3], before[:3])
            self.assertEqual({v: set(c) for v, c in after[3].items()}, {v: set(c) for v, c in before[3].items()})
            if not failing:
                fgraph.replace(old, new)
                fgraph.check_integrity()
                self.assertNotIn(old, fgraph.variables)
        self.assertEqual(bool(result), not failing)

    def test_a_replacement_is_made_or_not(self) -> None:
        self.check_replacements("")

    @slow
    def test_a_replacement_that_fails(self) -> None:
        for failing in CALLBACKS:
            self.check_replacements(failing)

    @slow
    def test_replacements_that_are_refused(self) -> None:
        for fgraph, _, _, _ in self.interrupted(
            lambda: [ReplaceValidate(), Refuses()],
            lambda fgraph, old, new: fgraph.replace_all_validate(
                [(old, new), (new.owner.inputs[0], old.owner.inputs[1])]
            ),
        ):
            self.assertTrue(fgraph.toposort())


class TestInterruptedWork(unittest.TestCase):
    def test_nothing_of_it_stays(self) -> None:
        """The collector runs, what is made has an origin of its own, and walks may leave marks."""
        for line in count():
            with (
                Interrupter(["theano_graph"], lines=line) as interrupter,
                suppress(KeyboardInterrupt),
                collector_paused(),
            ):
                toposort([], [join(*names("xy"))])
            self.assertTrue(gc.isenabled(), interrupter.place)
            self.assertIsNone(inherited_origin(), interrupter.place)
            with numbered_marks() as marks:
                self.assertIsNotNone(marks, interrupter.place)
            if not interrupter.place:
                break
        with collector_paused():
            self.assertFalse(gc.isenabled())
