"""Permitted overwriting, case by case, and the errors that say why not."""

from __future__ import annotations

import pickle
import unittest
from collections.abc import Sequence
from typing import Any
from unittest import mock

from theano_graph import Feature, FunctionGraph, GraphError, InconsistencyError, ReplaceValidate, Variable
from theano_optimize import (
    AddDestroyHandler,
    DestroyHandler,
    MergeRewriter,
    Supervisor,
    destroyed_inputs,
    fast_inplace_check,
    is_destroyed,
)
from theano_optimize._destroy._versions import Versions

from .memory_language import OBJECT, Memory, overwrite, overwrite_tolerant, pure, variables, view


def graph(inputs: Sequence[Variable], outputs: Sequence[Variable], protected: Sequence[Variable] = ()) -> Any:
    features: list[Feature] = [Supervisor(protected), DestroyHandler(), ReplaceValidate()]
    return FunctionGraph(inputs, outputs, features=features, clone=False)


class TestLegality(unittest.TestCase):
    def refuses(self, fgraph: Any, text: str) -> None:
        self.assertFalse(fgraph.consistent())
        with self.assertRaisesRegex(InconsistencyError, text):
            fgraph.validate()

    def test_readers_come_first(self) -> None:
        (x,) = variables(1)
        overwritten = overwrite(x)
        reader = pure(view(view(x)))
        fgraph = graph([x], [pure(overwritten, reader)])
        fgraph.validate()
        order = fgraph.toposort()
        self.assertLess(order.index(reader.owner), order.index(overwritten.owner))
        self.assertEqual(set(fgraph.orderings()), {overwritten.owner})

    def test_a_reader_that_needs_the_result(self) -> None:
        (x,) = variables(1)
        self.refuses(graph([x], [pure(overwrite(x), x)]), "overwrite.* before and after another node")
        (x,) = variables(1)
        self.refuses(graph([x], [pure(pure(pure(overwrite(x))), view(x))]), "before and after")

    def test_two_that_wait_for_each_other(self) -> None:
        x, y = variables(2)
        a, b = overwrite(x, pure(y)), overwrite(y, pure(x))
        graph([x, y], [pure(a, b)]).validate()
        x, y = variables(2)
        self.refuses(graph([x, y], [pure(overwrite(x, y), overwrite(y, x))]), "before and after")

    def test_overwritten_twice(self) -> None:
        (x,) = variables(1)
        self.refuses(graph([x], [pure(overwrite(x), overwrite(view(x)))]), "another node overwrites already")

    def test_one_version_after_the_other(self) -> None:
        (x,) = variables(1)
        graph([x], [overwrite(view(overwrite(overwrite(x))))]).validate()

    def test_what_belongs_to_others(self) -> None:
        (x,) = variables(1)
        self.refuses(graph([x], [overwrite(view(x))], protected=[x]), "`x0`, which is protected")
        (x,) = variables(1)
        y = pure(x)
        self.refuses(graph([x], [overwrite(view(y))], protected=[y]), "which is protected")
        self.refuses(graph([], [overwrite(OBJECT.make_constant(3))]), "a constant")
        (x,) = variables(1)
        y = pure(x)
        self.refuses(graph([x], [view(y), overwrite(y)]), "an output of the graph")
        (x,) = variables(1)
        x.tag.indestructible = True
        self.refuses(graph([x], [overwrite(x)]), "indestructible")

    def test_other_inputs_in_the_same_memory(self) -> None:
        (x,) = variables(1)
        self.refuses(graph([x], [overwrite(x, x)]), "input 1 lies in the same memory")
        (x,) = variables(1)
        graph([x], [overwrite_tolerant(x, x)]).validate()
        (x,) = variables(1)
        self.refuses(graph([x], [overwrite_tolerant(x, view(x))]), "input 1 lies in the same memory")
        anything = Memory("anything", destroys=((0, (0,)),), aliased=((0, 1),))
        (x,) = variables(1)
        graph([x], [anything(x, view(x))]).validate()

    def test_a_change_elsewhere_checks_little(self) -> None:
        x, y, *others = variables(52)
        odd, changed = Memory("odd", views=((0, (0, 1)),))(x, y), pure(x)
        fgraph = graph([x, y, *others], [pure(odd), pure(changed), *(overwrite(pure(v)) for v in others)])
        fgraph.validate()
        with mock.patch.object(Versions, "destroyers_of", autospec=True, side_effect=Versions.destroyers_of) as asked:
            fgraph.replace_validate(changed, pure(y))
        self.assertLess(asked.call_count, 10)

    def test_maps_with_several_entries(self) -> None:
        both = Memory("both", destroys=((0, (0, 1)),))
        x, y = variables(2)
        fgraph = graph([x, y], [both(x, y)])
        fgraph.validate()
        self.assertTrue(fgraph.has_destroyers([x]) and fgraph.has_destroyers([y]))
        twice = Memory("twice", destroys=((0, (0,)), (1, (0,))), nout=2)
        (x,) = variables(1)
        first, second = twice(x)
        fgraph = graph([x], [overwrite(first), second])
        self.refuses(fgraph, "an output of the graph")
        self.assertEqual(destroyed_inputs(first.owner), [0])

    def test_a_view_made_by_the_node_that_overwrites(self) -> None:
        op = Memory("slice and overwrite", views=((1, (0,)),), destroys=((0, (0,)),), nout=2)
        (x,) = variables(1)
        new, window = op(x)
        fgraph = graph([x], [pure(overwrite(new), pure(window))])
        fgraph.validate()
        self.assertTrue(fgraph.has_destroyers([window]))
        order = [n.op.kind for n in fgraph.toposort()]
        self.assertLess(order.index("pure"), order.index("overwrite"))

    def test_what_a_view_of_two_inputs_may_lie_in_is_not_overwritten(self) -> None:
        odd = Memory("odd", views=((0, (0, 1)),))
        for overwritten in (0, 1, 2):
            x, y = variables(2)
            either = odd(x, y)
            fgraph = graph([x, y], [pure(either), overwrite((x, y, either)[overwritten])])
            self.refuses(fgraph, "a view of several inputs")
        x, y = variables(2)
        self.refuses(graph([x, y], [pure(odd(x, view(y))), overwrite(view(y))]), "a view of several inputs")

    def test_a_view_of_two_inputs_keeps_nothing_else_from_being_overwritten(self) -> None:
        odd = Memory("odd", views=((0, (0, 1)),))
        x, y, z = variables(3)
        result = pure(z)
        fgraph = graph([x, y, z], [pure(odd(x, y)), overwrite(result)])
        fgraph.validate()
        self.assertEqual(fast_inplace_check(fgraph, [x, y]), [])
        other = pure(x, z)
        fgraph.replace_validate(result, other)
        with self.assertRaisesRegex(InconsistencyError, "a view of several inputs"):
            fgraph.replace_validate(other, view(x))
        fgraph.validate()

    def test_views_get_another_root(self) -> None:
        x, y = variables(2)
        window = view(x)
        last = view(window)
        reader = pure(last)
        overwritten = overwrite(y)
        fgraph = graph([x, y], [pure(overwritten, reader), pure(reader)])
        fgraph.validate()
        fgraph.change_input(window.owner, 0, y)
        fgraph.validate()
        self.assertEqual(fgraph.destroyers(last), [overwritten.owner])
        order = fgraph.toposort()
        self.assertLess(order.index(reader.owner), order.index(overwritten.owner))

    def test_views_that_move_bring_readers_which_come_too_late(self) -> None:
        x, y = variables(2)
        overwritten = overwrite(y)
        window = view(x)
        fgraph = graph([x, y], [pure(pure(overwritten), window)])
        fgraph.validate()
        fgraph.change_input(window.owner, 0, y)
        self.refuses(fgraph, "before and after")


class TestQuestions(unittest.TestCase):
    def test_who_overwrites(self) -> None:
        (x,) = variables(1)
        y = pure(x)
        window = view(view(y))
        result = overwrite(window)
        fgraph = graph([x], [result])
        for variable in (y, window, window.owner.inputs[0]):
            self.assertEqual(fgraph.destroyers(variable), [result.owner])
            self.assertTrue(is_destroyed(fgraph, variable))
        self.assertEqual((fgraph.destroyers(x), fgraph.destroyers(result)), ([], []))
        self.assertFalse(fgraph.has_destroyers([x, result]))

    def test_fast_check(self) -> None:
        x, y = variables(2)
        free, taken, saved = pure(x), pure(x), pure(x)
        constant = OBJECT.make_constant(1)
        fgraph = graph([x, y], [pure(free, overwrite(taken), constant), view(saved), pure(y)], protected=[x])
        candidates = [x, y, free, taken, saved, constant]
        self.assertEqual(fast_inplace_check(fgraph, candidates), [y, free])
        self.assertEqual(fast_inplace_check([free, taken]), [free])
        self.assertEqual(fast_inplace_check([]), [])
        with self.assertRaisesRegex(TypeError, r"pass \(fgraph, variables\)"):
            fast_inplace_check(variables(1))

    def test_why_not(self) -> None:
        (x,) = variables(1)
        bad, good = overwrite(x), overwrite(pure(x))
        fgraph = graph([x], [bad, good], protected=[x])
        self.assertRegex(str(fgraph.destroy_conflict(bad.owner)), "which is protected")
        self.assertIsNone(fgraph.destroy_conflict(good.owner))

    def test_methods_are_lent(self) -> None:
        (x,) = variables(1)
        fgraph: Any = FunctionGraph([x], [pure(x)], clone=False)
        self.assertFalse(hasattr(fgraph, "destroyers"))
        AddDestroyHandler().rewrite(fgraph)
        self.assertTrue(hasattr(fgraph, "destroyers") and hasattr(fgraph, "has_destroyers"))
        fgraph.attach_feature(DestroyHandler())
        self.assertEqual(sum(isinstance(f, DestroyHandler) for f in fgraph.features), 1)

    def test_one_graph_for_each_handler(self) -> None:
        x, y = variables(2)
        handler = DestroyHandler()
        first: Any = FunctionGraph([x], [overwrite(x)], features=[handler], clone=False)
        second: Any = FunctionGraph([y], [overwrite(y)], features=[handler], clone=False)
        self.assertEqual(second.features, ())
        first.remove_feature(handler)
        self.assertEqual(first.orderings(), {})
        second.attach_feature(handler)
        self.assertTrue(second.has_destroyers([y]))

    def test_a_supervisor_that_comes_late(self) -> None:
        (x,) = variables(1)
        fgraph: Any = FunctionGraph([x], [overwrite(x)], features=[DestroyHandler(), ReplaceValidate()], clone=False)
        fgraph.validate()
        fgraph.attach_feature(Supervisor([x]))
        self.assertFalse(fgraph.consistent())

    def test_pickles_and_copies(self) -> None:
        (x,) = variables(1)
        fgraph = graph([x], [overwrite(x)], protected=[x])
        self.assertFalse(fgraph.consistent())
        loaded = pickle.loads(pickle.dumps(fgraph))
        self.assertFalse(loaded.consistent())
        self.assertEqual(len(loaded.destroyers(loaded.inputs[0])), 1)

    def test_merging_leaves_a_legal_graph_legal(self) -> None:
        (x,) = variables(1)
        a, b, twin = pure(x), pure(pure(x)), pure(x)
        fgraph = graph([x], [pure(overwrite(a), b, twin)])
        fgraph.validate()
        MergeRewriter().rewrite(fgraph)
        fgraph.validate()

    def test_an_output_may_not_become_what_is_overwritten(self) -> None:
        (x,) = variables(1)
        y = pure(x)
        fgraph = graph([x], [overwrite(y), pure(y)])
        with self.assertRaises(InconsistencyError):
            fgraph.replace_validate(fgraph.outputs[1], view(y))
        fgraph.validate()
        with self.assertRaises(GraphError):
            fgraph.replace_validate(OBJECT("z"), x)
