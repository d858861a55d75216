"""Features that lend methods, membership of graphs, and bad input to graphs that change."""

from __future__ import annotations

import gc
import io
import pickle
import unittest
import warnings
from typing import Any

from support import NUMBER, Join, chain, join, names, other

from theano_graph import (
    Apply,
    CycleError,
    Feature,
    FunctionGraph,
    GraphError,
    History,
    InconsistencyError,
    NodeFinder,
    NoOutputFromInplace,
    PrintListener,
    ReplacementKeptError,
    ReplaceValidate,
    Validator,
    Variable,
)


class Forbid(Feature):
    """Refuses an op."""

    def __init__(self, op: Join) -> None:
        self.op = op

    def validate(self, fgraph: FunctionGraph) -> None:
        if any(node.op == self.op for node in fgraph.apply_nodes):
            raise InconsistencyError(f"{self.op} is forbidden")


class TestLentMethods(unittest.TestCase):
    def setUp(self) -> None:
        self.x = names("x")[0]
        self.mid = join(self.x)
        self.fgraph: Any = FunctionGraph([self.x], [join(self.mid)], clone=False)

    def test_history(self) -> None:
        self.fgraph.attach_feature(History())
        mark = self.fgraph.checkpoint()
        self.fgraph.replace(self.mid, other(self.x))
        self.fgraph.replace(self.fgraph.outputs[0], self.x)
        self.assertEqual(str(self.fgraph), "[x]")
        self.fgraph.revert(mark)
        self.assertEqual(str(self.fgraph), "[join(join(x))]")
        self.fgraph.check_integrity()

    def test_replace_validate(self) -> None:
        self.fgraph.attach_feature(ReplaceValidate())
        self.fgraph.attach_feature(Forbid(other))
        with self.assertRaisesRegex(InconsistencyError, "forbidden"):
            self.fgraph.replace_validate(self.mid, other(self.x), reason="test")
        self.assertEqual(str(self.fgraph), "[join(join(x))]")
        self.assertTrue(self.fgraph.consistent())
        self.fgraph.replace_validate(self.mid, self.x)
        self.assertEqual(str(self.fgraph), "[join(x)]")
        self.fgraph.replace_all_validate([(self.fgraph.outputs[0], self.x)])
        self.assertEqual(str(self.fgraph), "[x]")

    def test_replacement_that_should_remove(self) -> None:
        self.fgraph.attach_feature(ReplaceValidate())
        nodes = list(self.fgraph.apply_nodes)
        with self.assertWarnsRegex(UserWarning, "did not remove join"), self.assertRaises(ReplacementKeptError):
            self.fgraph.replace_all_validate_remove([(self.mid, self.x)], nodes, reason="test")
        self.assertEqual(str(self.fgraph), "[join(join(x))]")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with self.assertRaisesRegex(ReplacementKeptError, "by test did not remove join"):
                self.fgraph.replace_all_validate_remove([(self.mid, self.x)], nodes, "test", warn=False)
            self.fgraph.replace_all_validate_remove([(self.mid, self.x)], [self.mid.owner])
        self.assertEqual(str(self.fgraph), "[join(x)]")

    def test_validator(self) -> None:
        self.fgraph.attach_feature(Validator())
        self.fgraph.validate()
        self.fgraph.attach_feature(Forbid(join))
        self.assertFalse(self.fgraph.consistent())
        with self.assertRaisesRegex(InconsistencyError, "join is forbidden"):
            self.fgraph.validate()

    def test_get_nodes(self) -> None:
        self.fgraph.attach_feature(NodeFinder())
        self.assertEqual(self.fgraph.get_nodes(join), [self.mid.owner, self.fgraph.outputs[0].owner])

    def test_methods_go_with_their_feature(self) -> None:
        history = History()
        self.fgraph.attach_feature(history)
        self.assertEqual(pickle.loads(pickle.dumps(self.fgraph)).checkpoint(), 0)
        self.fgraph.remove_feature(history)
        with self.assertRaisesRegex(AttributeError, "no attribute `checkpoint`\n.*History"):
            self.fgraph.checkpoint()

    def test_second_of_a_kind(self) -> None:
        for kind in (History, Validator):
            graph = self.fgraph.clone()
            graph.attach_feature(kind())
            graph.attach_feature(kind())
            self.assertEqual(len(graph.features), 1)
        self.fgraph.attach_feature(ReplaceValidate())
        self.fgraph.attach_feature(History())
        self.assertEqual([type(f) for f in self.fgraph.features], [ReplaceValidate])

    def test_name_that_is_taken(self) -> None:
        self.fgraph.attach_feature(History())
        with self.assertRaisesRegex(GraphError, "ReplaceValidate lends the graph `checkpoint`, which History offers"):
            self.fgraph.attach_feature(ReplaceValidate())

        class Bad(Feature):
            provides = {"replace": "on_attach"}

        with self.assertRaisesRegex(GraphError, "`replace`, which FunctionGraph offers"):
            self.fgraph.attach_feature(Bad())
        self.assertEqual(len(self.fgraph.features), 1)


class TestOtherFeatures(unittest.TestCase):
    def test_print_listener(self) -> None:
        x = names("x")[0]
        written = io.StringIO()
        listener = PrintListener(file=written)
        out = join(x)
        fgraph = FunctionGraph([x], [out], [listener], clone=False)
        fgraph.replace(out, other(x), reason="because")
        listener.active = False
        fgraph.replace(fgraph.outputs[0], x)
        self.assertEqual(
            written.getvalue().splitlines(),
            [
                "-- attaching to: [join(x)]",
                "-- importing: other(x), reason: because",
                "-- changing: the graph, output 0 from join.0 to other.0, reason: because",
                "-- pruning: join(x), reason: because",
            ],
        )

    def test_no_output_from_inplace(self) -> None:
        class InPlace(Join):
            destroy_map = {0: [0]}

        x = names("x")[0]
        outputs = [join(x), InPlace("in place")(x)]
        graph: Any = FunctionGraph([x], outputs, [Validator(), NoOutputFromInplace()])
        with self.assertRaisesRegex(InconsistencyError, "in place would make an output"):
            graph.validate()
        graph = FunctionGraph([x], outputs, [Validator(), NoOutputFromInplace(0, 1)])
        self.assertTrue(graph.consistent())
        self.assertFalse(FunctionGraph([x], outputs, [Validator(), NoOutputFromInplace(1)]).consistent())  # type: ignore[attr-defined]  # lent


class TestMembership(unittest.TestCase):
    def test_nodes_belong_to_one_graph(self) -> None:
        x = names("x")[0]
        out = join(join(x))
        first = FunctionGraph([x], [out], clone=False)
        with self.assertRaisesRegex(GraphError, "belongs to another function graph\n.*made at .*\n.*disown"):
            FunctionGraph([x], [out], clone=False)
        second = FunctionGraph([x], [other(x)], clone=False)
        with self.assertRaisesRegex(GraphError, "belongs to another"):
            second.replace(second.outputs[0], out)
        self.assertEqual(str(second), "[other(x)]")
        second.check_integrity()
        first.check_integrity()
        self.assertEqual(str(FunctionGraph([x], [out])), "[join(join(x))]")

    def test_disown(self) -> None:
        x = names("x")[0]
        out = join(x)
        detached: list[str] = []

        class Tell(Feature):
            def on_detach(self, fgraph: FunctionGraph) -> None:
                detached.append("detached")

        first = FunctionGraph([x], [out], [Tell()], clone=False)
        first.disown()
        self.assertEqual((len(first), first.inputs, first.features, detached), (0, [], (), ["detached"]))
        FunctionGraph([x], [out], clone=False).check_integrity()

    def test_a_graph_that_is_gone_owns_nothing(self) -> None:
        x = names("x")[0]
        out = join(x)
        first = FunctionGraph([x], [out], clone=False)
        del first
        gc.collect()
        FunctionGraph([x], [out], clone=False).check_integrity()

    def test_pruned_nodes_are_free(self) -> None:
        x = names("x")[0]
        out = join(x)
        first = FunctionGraph([x], [out], clone=False)
        first.replace(out, x)
        second = FunctionGraph([x], [out], clone=False)
        second.check_integrity()
        self.assertEqual(len(first), 0)

    def test_unpickled_graph_owns_its_nodes(self) -> None:
        x = names("x")[0]
        again = pickle.loads(pickle.dumps(FunctionGraph([x], [join(x)])))
        with self.assertRaisesRegex(GraphError, "belongs to another"):
            FunctionGraph(again.inputs, again.outputs, clone=False)


class TestBadInput(unittest.TestCase):
    def setUp(self) -> None:
        self.x, self.y = names("xy")
        self.mid = join(self.x)
        self.out = join(self.mid)
        self.fgraph = FunctionGraph([self.x], [self.out], clone=False)

    def unchanged(self) -> None:
        self.assertEqual(str(self.fgraph), "[join(join(x))]")
        self.fgraph.check_integrity()

    def test_variable_that_was_never_there(self) -> None:
        for foreign in (self.y, other(self.x), NUMBER.make_constant(1)):
            with self.assertRaisesRegex(GraphError, "not in this graph cannot be replaced"):
                self.fgraph.replace(foreign, self.x)
        copied = FunctionGraph([self.x], [join(self.x)])
        with self.assertRaisesRegex(GraphError, r"fgraph\.memo\[variable\]"):
            copied.replace(self.x, self.y)
        self.unchanged()

    def test_variable_that_has_left_is_ignored(self) -> None:
        one = NUMBER.make_constant(1)
        self.fgraph.replace(self.mid, one)
        self.fgraph.replace(self.mid, self.x)
        self.fgraph.replace(self.out, self.x)
        self.fgraph.replace(one, self.x)
        self.assertEqual(str(self.fgraph), "[x]")

    def test_no_variables(self) -> None:
        bad: Any = 3
        with self.assertRaisesRegex(TypeError, "only a variable can stand in a graph, not 3"):
            self.fgraph.replace(self.mid, bad)
        with self.assertRaisesRegex(GraphError, "only a variable can be replaced, not 3"):
            self.fgraph.replace(bad, self.mid)
        self.unchanged()

    def test_cycle(self) -> None:
        for new in (other(self.mid), join(other(other(self.mid)), self.x)):
            with self.assertRaisesRegex(CycleError, "cannot be replaced by something made from it"):
                self.fgraph.replace(self.mid, new)
        self.unchanged()

    def test_cycle_through_nodes_of_the_graph(self) -> None:
        for new in (self.out, other(self.x, other(self.out))):
            with self.assertRaisesRegex(CycleError, "(?s)the cycle: join -> .*Hint"):
                self.fgraph.replace(self.mid, new)
        self.unchanged()

    def test_wrong_places(self) -> None:
        for node, i in ((other(self.x).owner, 0), (self.mid.owner, 1), (self.mid.owner, -1)):
            with self.assertRaises(GraphError):
                self.fgraph.change_input(node, i, self.x)
        with self.assertRaisesRegex(GraphError, "output has no place 1"):
            self.fgraph.change_input("output", 1, self.x)
        self.unchanged()

    def test_wrong_owner(self) -> None:
        a, b = join(self.x), join(self.x)
        a.owner.outputs[0] = b
        with self.assertRaisesRegex(GraphError, "says that it is output 0 of another node"):
            FunctionGraph([self.x], [a], clone=False)
        with self.assertRaisesRegex(GraphError, "already belongs to another node"):
            Apply(join, [self.x], [b])
        with self.assertRaisesRegex(GraphError, "both an owner and an index, or neither"):
            Variable(NUMBER, b.owner)

    def test_no_feature(self) -> None:
        bad: Any
        for bad in (3, object(), History):
            with self.assertRaisesRegex(TypeError, "is no feature"):
                self.fgraph.attach_feature(bad)
        with self.assertRaisesRegex(GraphError, "not attached"):
            self.fgraph.remove_feature(History())

    def test_duck_typed_feature(self) -> None:
        class Plain:
            seen = 0

            def on_import(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
                self.seen += 1

        plain: Any = Plain()
        self.fgraph.attach_feature(plain)
        self.fgraph.replace(self.mid, chain(self.x, 3))
        self.assertEqual(plain.seen, 3)
