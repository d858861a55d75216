from __future__ import annotations

import copy
import pickle
import unittest
from typing import Any, Literal

from hypothesis import given, settings, strategies as st
from support import NUMBER, POSITIVE, chain, join, names, ops_of, other

from theano_graph import (
    AlreadyThere,
    Apply,
    Bookkeeper,
    CycleError,
    Feature,
    FunctionGraph,
    GraphError,
    IncompatibleReplacementError,
    InconsistencyError,
    MissingInputError,
    NodeFinder,
    ReplaceValidate,
    Variable,
    equal_computations,
)
from theano_testing.tiers import examples


def pickled(value: Any) -> Any:
    """Return what comes back from a pickle of `value`."""
    return pickle.loads(pickle.dumps(value))


class Recorder(Feature):
    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []

    def on_import(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
        self.events.append(("import", str(node.op)))

    def on_prune(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
        self.events.append(("prune", str(node.op)))

    def on_change_input(
        self,
        fgraph: FunctionGraph,
        node: Apply | Literal["output"],
        i: int,
        old: Variable,
        new: Variable,
        reason: object = None,
    ) -> None:
        self.events.append(("change", str(reason)))


class Forbid(Feature):
    """Refuses graphs with an op of the given name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def validate(self, fgraph: FunctionGraph) -> None:
        if any(str(node.op) == self.name for node in fgraph.apply_nodes):
            raise InconsistencyError(f"{self.name} is forbidden")


class TestConstruction(unittest.TestCase):
    def test_works_on_a_copy(self) -> None:
        x, y = names("xy")
        z = join(x, y)
        fgraph = FunctionGraph([x, y], [z])
        self.assertIsNot(fgraph.outputs[0], z)
        self.assertIs(fgraph.memo[z], fgraph.outputs[0])
        self.assertTrue(equal_computations([z], fgraph.outputs, [x, y], fgraph.inputs))
        fgraph.check_integrity()

    def test_missing_input_says_where(self) -> None:
        x, y = NUMBER.make_variable("x"), NUMBER.make_variable("y")
        z = join(x, y)
        with self.assertRaisesRegex(
            MissingInputError, r"(?s)needs `y`.*test_fgraph.py:\d+.*used by join at .*Hint: add"
        ):
            FunctionGraph([x], [z])

    def test_bad_boundaries(self) -> None:
        x = names("x")[0]
        with self.assertRaisesRegex(GraphError, "given twice"):
            FunctionGraph([x, x], [x])
        with self.assertRaisesRegex(TypeError, "output 0 .* no variable: 3"):
            FunctionGraph([x], [3])  # type: ignore[list-item]  # the wrong type is what is tested

    def test_variables_know_their_graph(self) -> None:
        x, y = names("xy")
        self.assertIsNone(x.fgraph)
        z = join(x, x)
        fgraph = FunctionGraph([x], [z], clone=False)
        self.assertEqual([v.fgraph for v in (x, y, z)], [fgraph, None, fgraph])
        fgraph.replace(var=z, new_var=x)
        self.assertEqual([v.fgraph for v in (x, z)], [fgraph, None])

    def test_clients(self) -> None:
        x = names("x")[0]
        z = join(x, x)
        fgraph = FunctionGraph([x], [z, x], clone=False)
        self.assertEqual(fgraph.clients(x), [(z.owner, 0), (z.owner, 1), ("output", 1)])
        self.assertTrue(fgraph.has_clients(z))
        with self.assertRaisesRegex(GraphError, "not in this graph"):
            fgraph.clients(names("y")[0])

    def test_sole_client(self) -> None:
        x, y = names("xy")
        z = join(x, y, y)
        fgraph = FunctionGraph([x, y], [z], clone=False)
        self.assertIs(fgraph.sole_client(x), z.owner)
        self.assertIsNone(fgraph.sole_client(y))
        self.assertIsNone(fgraph.sole_client(z))
        with self.assertRaisesRegex(GraphError, "not in this graph"):
            fgraph.sole_client(names("w")[0])

    def test_what_was_derived_is_forgotten_at_a_change(self) -> None:
        x, y = names("xy")
        mid = join(x)
        fgraph = FunctionGraph([x, y], [other(mid, y)], clone=False)
        before = fgraph.toposort()
        before.clear()
        self.assertEqual(ops_of(fgraph.toposort()), ["join", "other"])
        fgraph.derived["mine"] = 1
        self.assertEqual(pickled(fgraph).derived, {})
        fgraph.replace(mid, join(join(x)))
        self.assertNotIn("mine", fgraph.derived)
        self.assertEqual(ops_of(fgraph.toposort()), ["join", "join", "other"])

    def test_text(self) -> None:
        x, y = names("xy")
        shared = join(x, y)
        self.assertEqual(str(FunctionGraph([x, y], [other(shared, shared)])), "[other(*1 -> join(x, y), *1)]")


class TestReplace(unittest.TestCase):
    def test_replaces_everywhere_and_prunes(self) -> None:
        x, y = names("xy")
        mid = join(x)
        out = other(mid, mid)
        fgraph = FunctionGraph([x, y], [out, mid], clone=False)
        fgraph.replace(mid, y)
        self.assertEqual(out.owner.inputs, [y, y])
        self.assertEqual(fgraph.outputs, [out, y])
        self.assertEqual(ops_of(list(fgraph.apply_nodes)), ["other"])
        fgraph.check_integrity()

    def test_wrong_type_leaves_graph(self) -> None:
        p = POSITIVE.make_variable("p")
        x = names("x")[0]
        out = join(p)
        fgraph = FunctionGraph([p, x], [out], clone=False)
        with self.assertRaisesRegex(
            IncompatibleReplacementError, r"(?s)type positive .*by one of type number \(wanted by rule\)"
        ):
            fgraph.replace(p, x, reason="rule")
        self.assertEqual(out.owner.inputs, [p])
        fgraph.check_integrity()

    def test_foreign_variable_leaves_graph(self) -> None:
        x, y = names("xy")
        out = join(join(x))
        fgraph = FunctionGraph([x], [out], clone=False)
        with self.assertRaisesRegex(MissingInputError, "brought in by rule"):
            fgraph.replace(out, other(y, join(x)), reason="rule")
        self.assertEqual(len(fgraph), 2)
        fgraph.check_integrity()

    def test_new_node_takes_the_name(self) -> None:
        x = names("x")[0]
        out = join(x, name="result")
        fgraph = FunctionGraph([x], [out], clone=False)
        fgraph.replace(out, other(x))
        self.assertEqual(fgraph.outputs[0].name, "result")

    def test_input_from_behind_is_refused(self) -> None:
        x = names("x")[0]
        a = join(x)
        b = other(a)
        fgraph = FunctionGraph([x], [b], clone=False)
        with self.assertRaisesRegex(CycleError, "the cycle: join -> other -> join"):
            fgraph.change_input(a.owner, 0, b)
        self.assertEqual(str(fgraph), "[other(join(x))]")
        fgraph.check_integrity()

    def test_change_input_of_foreign_node(self) -> None:
        x = names("x")[0]
        fgraph = FunctionGraph([x], [join(x)])
        with self.assertRaisesRegex(GraphError, "not a node of this graph"):
            fgraph.change_input(join(x).owner, 0, NUMBER.make_constant(1))

    @settings(max_examples=examples(30), deadline=None)
    @given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=20))
    def test_any_replacements_keep_the_invariants(self, swaps: list[tuple[int, int]]) -> None:
        x, y = names("xy")
        result = [x, y]
        for i in range(12):
            result.append(join(result[(i * 7) % len(result)], result[-1]))
        fgraph = FunctionGraph([x, y], result[-3:], clone=False)
        order = {v: i for i, v in enumerate(result)}
        for a, b in swaps:
            old, new = result[a % len(result)], result[b % len(result)]
            if order[new] < order[old]:
                fgraph.replace(old, new)
                fgraph.check_integrity()


class TestFeatures(unittest.TestCase):
    def test_callbacks(self) -> None:
        x = names("x")[0]
        a = join(x)
        recorder = Recorder()
        fgraph = FunctionGraph([x], [a], [recorder], clone=False)
        fgraph.replace(a, other(x), reason="why")
        self.assertEqual(recorder.events, [("import", "other"), ("change", "why"), ("prune", "join")])
        fgraph.remove_feature(recorder)
        fgraph.replace(fgraph.outputs[0], join(x))
        self.assertEqual(len(recorder.events), 3)
        with self.assertRaisesRegex(GraphError, "not attached"):
            fgraph.remove_feature(recorder)

    def test_already_there_cancels(self) -> None:
        class Once(Feature):
            def on_attach(self, fgraph: FunctionGraph) -> None:
                if any(isinstance(f, Once) for f in fgraph.features):
                    raise AlreadyThere

        fgraph = FunctionGraph([], [])
        fgraph.attach_feature(Once())
        fgraph.attach_feature(Once())
        self.assertEqual(len(fgraph.features), 1)

    def test_orderings_steer_the_order(self) -> None:
        x = names("x")[0]
        a, b = join(x), other(x)

        class After(Feature):
            def orderings(self, fgraph: FunctionGraph) -> Any:
                return {a.owner: [b.owner]}

        fgraph = FunctionGraph([x], [a, b], clone=False)
        self.assertEqual(ops_of(fgraph.toposort()), ["join", "other"])
        fgraph.attach_feature(After())
        self.assertEqual(ops_of(fgraph.toposort()), ["other", "join"])

    def test_bookkeeper_sees_present_nodes(self) -> None:
        class Count(Bookkeeper):
            count = 0

            def on_import(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
                self.count += 1

        counter = Count()
        x = names("x")[0]
        FunctionGraph([x], [join(join(x))], [counter])
        self.assertEqual(counter.count, 2)

    def test_node_finder(self) -> None:
        x = names("x")[0]
        finder = NodeFinder()
        fgraph = FunctionGraph([x], [join(other(join(x)))], [finder])
        self.assertEqual(len(finder.nodes_of(join)), 2)
        fgraph.replace(fgraph.outputs[0], fgraph.inputs[0])
        self.assertEqual(finder.nodes_of(join), [])

    def test_refused_replacement_is_undone(self) -> None:
        x = names("x")[0]
        out = join(join(x))
        validate = ReplaceValidate()
        fgraph = FunctionGraph([x], [out], [validate, Forbid("other")], clone=False)
        with self.assertRaisesRegex(InconsistencyError, "forbidden"):
            validate.replace_all_validate(fgraph, [(out.owner.inputs[0], other(x))])
        self.assertEqual(str(fgraph), "[join(join(x))]")
        fgraph.check_integrity()
        validate.replace_all_validate(fgraph, [(out.owner.inputs[0], x)])
        self.assertEqual(str(fgraph), "[join(x)]")


class TestSize(unittest.TestCase):
    def test_deep_chain_at_default_recursion_limit(self) -> None:
        x = names("x")[0]
        fgraph = FunctionGraph([x], [chain(x, 20_000)])
        self.assertEqual(len(fgraph.toposort()), 20_000)
        again = fgraph.clone()
        self.assertTrue(equal_computations(fgraph.outputs, again.outputs, fgraph.inputs, again.inputs))
        fgraph.replace(fgraph.outputs[0], fgraph.inputs[0])
        self.assertEqual(len(fgraph), 0)
        fgraph.check_integrity()

    def test_deep_chain_is_pickled_and_copied(self) -> None:
        x = names("x")[0]
        out = chain(x, 4_000)
        for make in (pickled, copy.deepcopy):
            x2, out2 = make([x, out])
            self.assertTrue(equal_computations([out], [out2], [x], [x2]))

    def test_function_graph_is_pickled_and_copied(self) -> None:
        x, y = names("xy")
        fgraph = FunctionGraph([x, y], [chain(join(x, y), 2_000), y], [NodeFinder()])
        for make in (pickled, copy.deepcopy):
            again = make(fgraph)
            again.check_integrity()
            self.assertTrue(equal_computations(fgraph.outputs, again.outputs, fgraph.inputs, again.inputs))
            again.replace(again.outputs[0], again.inputs[1])
            finder: Any = again.features[0]
            self.assertEqual(finder.nodes_of(join), [])
