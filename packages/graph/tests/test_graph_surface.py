"""Function graphs, nodes and features beside replacement: counts, copies, marks, callbacks, measurement."""

from __future__ import annotations

import contextlib
import copy
import io
import pickle
import unittest
from typing import Any
from unittest import mock

from support import NUMBER, Join, halves, join, names, other

from theano_graph import (
    Apply,
    Feature,
    FunctionGraph,
    GraphError,
    History,
    InconsistencyError,
    NodeFinder,
    Op,
    PrintListener,
    ReplaceValidate,
    Type,
    Validator,
    Variable,
    debugprint,
    equal_computations,
    printable_graph,
)


class TestQuestions(unittest.TestCase):
    def setUp(self) -> None:
        self.x, self.y = names("xy")
        self.out = join(self.x, self.x)
        self.fgraph = FunctionGraph([self.x, self.y], [self.out, self.x], clone=False)

    def test_counts(self) -> None:
        self.assertEqual([self.fgraph.n_clients(v) for v in (self.x, self.y, self.out)], [3, 0, 1])
        self.assertFalse(self.fgraph.has_clients(self.y))
        self.assertFalse(self.fgraph.has_clients(join(self.x)))

    def test_variables_know_their_clients(self) -> None:
        self.assertEqual(self.x.clients, [(self.out.owner, 0), (self.out.owner, 1), ("output", 1)])
        self.assertEqual(self.out.clients, [("output", 0)])
        self.assertEqual((self.y.clients, join(self.x).clients), ([], []))
        self.assertIs(self.out.owner.fgraph, self.fgraph)
        self.fgraph.replace(self.out, self.y)
        self.assertIsNone(self.out.owner.fgraph)
        self.assertEqual((self.out.clients, self.x.clients, self.y.clients), ([], [("output", 1)], [("output", 0)]))
        self.fgraph.disown()
        self.assertEqual(self.x.clients, [])

    def test_clients_after_a_pickle(self) -> None:
        again = pickle.loads(pickle.dumps(self.fgraph))
        self.assertEqual(len(again.inputs[0].clients), 3)
        again.check_integrity()

    def test_verbose(self) -> None:
        with contextlib.redirect_stdout(io.StringIO()) as text:
            self.fgraph.replace(self.out, self.y, reason="rule", verbose=True)
            self.fgraph.replace(self.fgraph.outputs[1], self.y)
        self.assertEqual(text.getvalue(), "rule: join.0 -> y\n")

    def test_updates_are_printed(self) -> None:
        graph = FunctionGraph([self.x], [other(self.x), self.x], update_mapping={0: 0})
        self.assertEqual(printable_graph(graph).updates, {graph.outputs[0]: graph.inputs[0]})
        self.assertIn("x", str(debugprint(graph, file="str")))


class TestMarks(unittest.TestCase):
    def test_nan_guard_mode_check_follows(self) -> None:
        for value in (False, True):
            x = names("x")[0]
            out = join(x)
            out.tag.nan_guard_mode_check = value
            fgraph = FunctionGraph([x], [out])
            fgraph.replace(fgraph.outputs[0], other(fgraph.inputs[0]))
            self.assertEqual(fgraph.outputs[0].tag.nan_guard_mode_check, value)
            fgraph.replace(fgraph.outputs[0], fgraph.inputs[0])
            self.assertFalse(hasattr(fgraph.inputs[0].tag, "nan_guard_mode_check"))

    def test_names_stay(self) -> None:
        x = names("x")[0]
        out = join(x, name="mine")
        fgraph = FunctionGraph([x], [out], clone=False)
        fgraph.replace(out, other(x, name="own"))
        self.assertEqual(fgraph.outputs[0].name, "own")


class TestCopies(unittest.TestCase):
    def test_features_go_along(self) -> None:
        x = names("x")[0]
        listener = PrintListener(active=False)
        fgraph: Any = FunctionGraph([x], [join(x)], [History(), NodeFinder(), listener])
        again, equiv = fgraph.clone_get_equiv()
        self.assertEqual([type(f) for f in again.features], [History, NodeFinder, PrintListener])
        self.assertIsNot(again.features[1], fgraph.features[1])
        self.assertIs(again.features[2], listener)
        self.assertEqual(again.get_nodes(join), [equiv[fgraph.outputs[0].owner]])
        again.replace(again.outputs[0], again.inputs[0])
        self.assertEqual((len(fgraph.get_nodes(join)), len(again.get_nodes(join))), (1, 0))
        self.assertEqual((fgraph.checkpoint(), again.checkpoint()), (0, 1))
        self.assertEqual(fgraph.clone_get_equiv(attach_feature=False)[0].features, ())
        self.assertEqual(len(fgraph.clone().features), 3)

    def test_integrity_is_checked_on_request(self) -> None:
        x = names("x")[0]
        out = join(join(x))
        fgraph = FunctionGraph([x], [out], clone=False)
        out.owner.inputs[0] = x
        with self.assertRaisesRegex(GraphError, "not those that lead"):
            fgraph.clone()
        self.assertEqual(str(fgraph.clone(check_integrity=False)), "[join(x)]")

    def test_unused_outputs_of_long_graphs(self) -> None:
        x = names("x")[0]
        value = x
        for _ in range(3000):
            value = halves(value)[0]
        value.tag.note = ["kept"]
        copies: list[Any] = [copy.deepcopy([x, value]), pickle.loads(pickle.dumps([x, value]))]
        for again in copies:
            self.assertTrue(equal_computations([value], [again[1]], [x], [again[0]]))
            second = again[1].owner.outputs[1]
            self.assertIs(second.owner, again[1].owner)
            self.assertEqual(again[1].tag.note, ["kept"])
            self.assertIsNot(again[1].tag.note, value.tag.note)

    def test_copies_and_pickles_walk_once(self) -> None:
        x = names("x")[0]
        value = x
        for _ in range(200):
            value = halves(value)[0]
        fgraph = FunctionGraph([x], [value])
        for duplicate in (copy.deepcopy, pickle.dumps):
            for thing in (value, fgraph):
                with mock.patch.object(Apply, "get_parents", autospec=True, side_effect=Apply.get_parents) as asked:
                    duplicate(thing)
                self.assertLess(asked.call_count, 500)

    def test_attributes_are_copied_deeply(self) -> None:
        class Marked(Variable):
            """A variable with attributes of its own."""

        x: Any = Marked(NUMBER, name="x")
        x.extra = [1]
        again: Any = copy.deepcopy(x)
        self.assertEqual((again.extra, again.name, again.origin), ([1], "x", x.origin))
        self.assertIsNot(again.extra, x.extra)

    def test_nodes_of_one_line_share_their_origin(self) -> None:
        x = names("x")[0]
        first, second = (join(x) for _ in range(2))
        self.assertIs(first.origin, second.origin)
        self.assertIsNot(first.origin, join(x).origin)

        def make() -> Any:
            return join(x)

        a = make()
        b = make()
        self.assertEqual(a.origin.frames[0], b.origin.frames[0])
        self.assertEqual(b.origin.frames[1].lineno, a.origin.frames[1].lineno + 1)


class TestCallbacks(unittest.TestCase):
    def test_calls_with_keywords(self) -> None:
        class Adds(Feature):
            total = 0

            def add(self, fgraph: FunctionGraph, amount: int, times: int = 1) -> int:
                self.total += amount * times
                return self.total

        first, second = Adds(), Adds()
        fgraph = FunctionGraph([], [], [first, Feature(), second])
        fgraph.execute_callbacks("add", 2, times=3)
        self.assertEqual((first.total, second.total), (6, 6))
        self.assertEqual(fgraph.collect_callbacks("add", 1), {first: 7, second: 7})

    def test_measurement(self) -> None:
        class Busy(Feature):
            def on_import(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
                sum(range(10_000))

        x = names("x")[0]
        fgraph: Any = FunctionGraph([x], [join(x)], [Busy(), Validator()])
        self.assertIsNone(fgraph.callback_seconds)
        with fgraph.timed_callbacks() as seconds:
            fgraph.replace(fgraph.outputs[0], other(fgraph.inputs[0]))
            fgraph.validate()
        self.assertEqual(set(seconds), {"Busy", "validate"})
        self.assertGreater(seconds["Busy"], 0)
        fgraph.replace(fgraph.outputs[0], join(fgraph.inputs[0]))
        self.assertIsNone(fgraph.callback_seconds)

    def test_methods_put_on_a_graph(self) -> None:
        class Adds(Feature):
            def on_attach(self, fgraph: FunctionGraph) -> None:
                fgraph.size = lambda: len(fgraph)  # type: ignore[attr-defined]  # what the test is about

            def on_detach(self, fgraph: FunctionGraph) -> None:
                del fgraph.size  # type: ignore[attr-defined]  # what the test is about

        x = names("x")[0]
        fgraph: Any = FunctionGraph([x], [join(x)])
        feature = Adds()
        fgraph.attach_feature(feature)
        self.assertEqual(fgraph.size(), 1)
        fgraph.remove_feature(feature)
        self.assertFalse(hasattr(fgraph, "size"))


class TestHistory(unittest.TestCase):
    def test_marks(self) -> None:
        x = names("x")[0]
        history = History()
        out = join(x)
        fgraph = FunctionGraph([x], [out], [history], clone=False)
        mark = history.checkpoint()
        fgraph.replace(out, other(x))
        late = history.checkpoint()
        history.revert(fgraph, mark)
        self.assertEqual(str(fgraph), "[join(x)]")
        bad: Any
        for bad in (late, -1, "start"):
            with self.assertRaisesRegex(GraphError, "(?s)marks no moment of the 0 changes.*Hint"):
                history.revert(fgraph, bad)

    def test_any_error_of_a_check_undoes(self) -> None:
        class Breaks(Feature):
            def validate(self, fgraph: FunctionGraph) -> None:
                raise KeyError("broken")

        x = names("x")[0]
        out = join(x)
        fgraph: Any = FunctionGraph([x], [out], [ReplaceValidate(), Breaks()], clone=False)
        with self.assertRaisesRegex(KeyError, "broken"):
            fgraph.replace_validate(out, other(x))
        self.assertEqual(str(fgraph), "[join(x)]")
        self.assertFalse(FunctionGraph([x], [out], [Validator()]).consistent() is False)  # type: ignore[attr-defined]

    def test_all_or_none(self) -> None:
        x, y = names("xy")
        a, b = join(x), join(y)
        fgraph: Any = FunctionGraph([x, y], [a, b], [ReplaceValidate()], clone=False)
        with self.assertRaisesRegex(GraphError, "not in this graph"):
            fgraph.replace_all_validate([(a, other(x)), (join(x), y)])
        self.assertEqual(str(fgraph), "[join(x), join(y)]")
        with self.assertRaises(InconsistencyError):
            fgraph.attach_feature(Never())
            fgraph.replace_all_validate([(a, other(x)), (b, y)])
        self.assertEqual(str(fgraph), "[join(x), join(y)]")
        fgraph.check_integrity()


class Never(Feature):
    """Refuses everything."""

    def validate(self, fgraph: FunctionGraph) -> None:
        raise InconsistencyError("never")


class TestConstructors(unittest.TestCase):
    def test_variables(self) -> None:
        bad: Any = 3
        with self.assertRaisesRegex(TypeError, "(?s)the type of a variable is a Type, not 3.*Hint"):
            Variable(bad)
        with self.assertRaisesRegex(TypeError, "(?s)the owner of a variable is a node, not 3.*Hint"):
            Variable(NUMBER, bad, 0)
        self.assertEqual(Variable(Type(), name="x").name, "x")

    def test_outputs(self) -> None:
        x = names("x")[0]
        with self.assertRaisesRegex(GraphError, "(?s)output 0 of join is one of the inputs.*`x`.*Hint"):
            Apply(join, [x], [x])
        with self.assertRaisesRegex(GraphError, "(?s)output 0 of join never has an owner.*Hint"):
            Apply(join, [x], [NUMBER.make_constant(1)])
        y = NUMBER()
        with self.assertRaisesRegex(GraphError, "already belongs"):
            Apply(join, [x], [y, y])

    def test_classes_of_ops(self) -> None:
        bad: Any = Join
        with self.assertRaisesRegex(TypeError, "(?s)Join is a class of ops, not an op.*Hint"):
            Apply(bad, [], [])

    def test_plain_ops_with_functions(self) -> None:
        op: Any = Op()
        op.make_node = lambda x: Apply(op, [x], [x.type()])
        y = op(names("x")[0])
        self.assertIs(y.owner.op, op)

    def test_numbers_of_inputs(self) -> None:
        class Typed(Op):
            itypes = (NUMBER, NUMBER)
            otypes = (NUMBER,)

        x = names("x")[0]
        with self.assertRaisesRegex(TypeError, "(?s)takes 2 inputs, got 1.*`x`.*Hint: .*number, number"):
            Typed()(x)
        with self.assertRaisesRegex(GraphError, "(?s)given 1 inputs in place of 2.*`x`.*Hint"):
            Typed()(x, x).owner.clone_with_new_inputs([x])
