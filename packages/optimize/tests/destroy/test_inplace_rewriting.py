"""In-place forms put in by the helper for op authors and by the engines."""

from __future__ import annotations

import unittest
from collections.abc import Iterator
from typing import Any

from theano_graph import Apply, FunctionGraph, NoOutputFromInplace, Variable
from theano_optimize import (
    DestroyHandler,
    EquilibriumRewriter,
    GraphRewriter,
    InplaceRewriter,
    NodeRewriter,
    RewriteError,
    RewriteTrace,
    Supervisor,
    WalkRewriter,
    node_rewriter,
)

from .memory_language import Memory, overwrite, pure, variables, view


def in_place(node: Apply) -> Iterator[Memory]:
    """Offer to overwrite any of the inputs."""
    for i in range(node.nin):
        yield Memory(f"overwrite{i}", destroys=((0, (i,)),))


def chain(length: int) -> Any:
    (x,) = variables(1)
    y = x
    for _ in range(length):
        y = pure(y)
    return FunctionGraph([x], [y], features=[Supervisor([x])], clone=False)


def kinds(fgraph: FunctionGraph) -> list[str]:
    return [node.op.kind for node in fgraph.toposort()]


@node_rewriter([pure])
def first_input(fgraph: FunctionGraph, node: Apply) -> list[Variable]:
    """Overwrite the first input."""
    return list(overwrite.make_node(*node.inputs).outputs)


class TestInplaceRewriter(unittest.TestCase):
    def test_a_chain(self) -> None:
        fgraph = chain(5)
        profile = InplaceRewriter(in_place, [pure]).rewrite(fgraph)
        self.assertEqual(kinds(fgraph), ["pure"] + ["overwrite0"] * 4)
        self.assertEqual((profile.name, profile.changes, profile.visits), ("in_place", 4, 5))
        fgraph.validate()

    def test_the_second_input_where_the_first_is_needed(self) -> None:
        (x,) = variables(1)
        a, b = pure(x), pure(x)
        fgraph: Any = FunctionGraph([x], [pure(a, b), a], features=[Supervisor([x])], clone=False)
        InplaceRewriter(in_place, [pure], "try_all").rewrite(fgraph)
        self.assertEqual(fgraph.outputs[0].owner.op.kind, "overwrite1")
        self.assertEqual(fgraph.outputs[1].owner.op, pure)

    def test_what_is_read_later_stays(self) -> None:
        (x,) = variables(1)
        a = pure(x)
        b = pure(view(a))
        fgraph: Any = FunctionGraph([x], [pure(pure(b), a)], clone=False)
        before = str(fgraph)
        InplaceRewriter(lambda node: [overwrite], [pure], "one").rewrite(fgraph)
        fgraph.validate()
        self.assertEqual(
            [n.op.kind for n in fgraph.toposort()], ["overwrite", "view", "pure", "overwrite", "overwrite"]
        )
        self.assertNotEqual(str(fgraph), before)

    def test_a_view_gives_way_to_a_form_that_overwrites(self) -> None:
        (x,) = variables(1)
        fgraph: Any = FunctionGraph([x], [view(view(pure(x)))], features=[Supervisor([x])], clone=False)
        InplaceRewriter(in_place, [view], "views").rewrite(fgraph)
        self.assertEqual(kinds(fgraph), ["pure", "overwrite0", "overwrite0"])
        fgraph.validate()

    def test_outputs_as_forms_and_wrong_ones(self) -> None:
        fgraph = chain(2)
        rewriter = InplaceRewriter(lambda node: [overwrite.make_node(*node.inputs).outputs], [pure], "made")
        self.assertEqual(rewriter.rewrite(fgraph).changes, 1)
        fgraph = chain(2)
        with self.assertRaisesRegex(RewriteError, "`wrong` returned 0 variables"):
            InplaceRewriter(lambda node: [()], [pure], "wrong").rewrite(fgraph)
        self.assertEqual(kinds(fgraph), ["pure", "pure"])
        with self.assertRaises(TypeError):
            InplaceRewriter(in_place, [3])  # type: ignore[list-item]  # that is the point

    def test_the_trace_tells_only_of_what_stays(self) -> None:
        trace = RewriteTrace()
        (x,) = variables(1)
        a = pure(x)
        fgraph = FunctionGraph([x], [pure(pure(a), a)], features=[Supervisor([x])], clone=False)
        InplaceRewriter(lambda node: [overwrite], [pure], "one").rewrite(fgraph, trace=trace)
        self.assertEqual(trace.counts(), {"one": 1})

    def test_other_features_may_refuse_as_well(self) -> None:
        fgraph = chain(4)
        fgraph.attach_feature(NoOutputFromInplace())
        InplaceRewriter(in_place, [pure]).rewrite(fgraph)
        self.assertEqual(kinds(fgraph), ["pure", "overwrite0", "overwrite0", "pure"])

    def test_a_node_that_works_in_place_already(self) -> None:
        """A form that overwrites more may replace one that overwrites less."""
        x, y = variables(2)
        both = Memory("both", destroys=((0, (0, 1)),))
        fgraph: Any = FunctionGraph([x, y], [overwrite(pure(x), pure(y))], clone=False)
        InplaceRewriter(lambda node: [both], [overwrite], "more").rewrite(fgraph)
        self.assertEqual(kinds(fgraph), ["pure", "pure", "both"])

    def test_names_and_origins_stay(self) -> None:
        (x,) = variables(1)
        a = pure(x)
        b = pure(a)
        b.name = "b"
        fgraph = FunctionGraph([x], [b], features=[Supervisor([x])], clone=False)
        InplaceRewriter(in_place, [pure]).rewrite(fgraph)
        self.assertEqual(fgraph.outputs[0].name, "b")
        self.assertEqual(str(fgraph.outputs[0].origin), str(b.origin))


class TestEngines(unittest.TestCase):
    def engines(self, rule: NodeRewriter) -> Iterator[GraphRewriter]:
        yield WalkRewriter(rule)
        yield WalkRewriter(rule, "out_to_in")
        yield WalkRewriter(rule, visit_new=True)
        yield WalkRewriter(rule, "out_to_in", visit_new=True)
        yield EquilibriumRewriter([rule])

    def test_refused_replacements_leave_the_graph_alone(self) -> None:
        for engine in self.engines(first_input):
            with self.subTest(engine=engine):
                (x,) = variables(1)
                a = pure(x)
                b = pure(a)
                fgraph: Any = FunctionGraph(
                    [x], [pure(b, a), b], features=[Supervisor([x]), DestroyHandler()], clone=False
                )
                profile = engine.rewrite(fgraph)
                fgraph.validate()
                fgraph.check_integrity()
                self.assertEqual(profile.changes, 0)
                self.assertEqual(kinds(fgraph), ["pure", "pure", "pure"])

    def test_allowed_ones_are_made(self) -> None:
        for engine in self.engines(first_input):
            with self.subTest(engine=engine):
                fgraph = chain(6)
                fgraph.attach_feature(DestroyHandler())
                self.assertEqual(engine.rewrite(fgraph).changes, 5)
                fgraph.validate()
                self.assertEqual(kinds(fgraph), ["pure"] + ["overwrite"] * 5)

    def test_steps_of_searches_stay_linear(self) -> None:
        """Forward values that a backward chain reads: each try on the way forward is refused, without a long walk."""
        counts = []
        for length in (200, 400):
            (x,) = variables(1)
            values = [x]
            for _ in range(length):
                values.append(pure(values[-1]))
            y = values[-1]
            for value in reversed(values):
                y = pure(y, value)
            handler = CountingHandler()
            fgraph = FunctionGraph([x], [y], features=[Supervisor([x]), handler], clone=False)
            profile = InplaceRewriter(lambda node: [overwrite], [pure], "one").rewrite(fgraph)
            self.assertEqual(profile.changes, length)
            counts.append(handler.questions)
        self.assertLess(counts[1], 2.3 * counts[0])


class CountingHandler(DestroyHandler):
    """Counts how often the graph is asked for clients while a replacement is checked."""

    questions = 0

    def validate(self, fgraph: FunctionGraph) -> None:
        super().validate(_Counted(fgraph, self))  # type: ignore[arg-type]  # stands for the graph


class _Counted:
    """A graph that counts the questions about clients."""

    def __init__(self, fgraph: FunctionGraph, handler: CountingHandler) -> None:
        self._fgraph, self._handler = fgraph, handler

    def clients(self, variable: Variable) -> Any:
        self._handler.questions += 1
        return self._fgraph.clients(variable)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._fgraph, name)
