"""Each walker and constructor says what is wrong with what it is given, where that was made, and how to correct it."""

from __future__ import annotations

import unittest
from collections import deque
from collections.abc import Callable
from typing import Any

from support import NUMBER, join, names, other

from theano_graph import (
    AlreadyThere,
    Apply,
    ConfigError,
    CycleError,
    Feature,
    FunctionGraph,
    GraphError,
    IntFlag,
    NodeFinder,
    Variable,
    add_flag,
    ancestors,
    applys_between,
    as_string,
    clone_get_equiv,
    clone_graph,
    clone_replace,
    debugprint,
    equal_computations,
    general_toposort,
    graph_inputs,
    io_connection_pattern,
    is_in_ancestors,
    is_same_graph,
    list_of_nodes,
    op_as_string,
    orphans_between,
    sort_apply_nodes,
    stack_search,
    toposort,
    variables_and_orphans,
    variables_between,
    view_roots,
)

BETWEEN: list[Callable[..., Any]] = [
    applys_between,
    as_string,
    clone_get_equiv,
    clone_graph,
    io_connection_pattern,
    list_of_nodes,
    orphans_between,
    sort_apply_nodes,
    toposort,
    variables_and_orphans,
    variables_between,
    FunctionGraph,
]
THREE_PARTS = r"(?:.|\n)*\n  .*made at test_graph_bad_input.py:\d+(?:.|\n)*\n  Hint: "


class TestWalkers(unittest.TestCase):
    def setUp(self) -> None:
        self.x = NUMBER.make_variable("x")
        self.out = join(self.x)

    def test_outputs_that_are_no_variables(self) -> None:
        for walk in BETWEEN:
            with self.subTest(walk.__name__):
                with self.assertRaisesRegex(TypeError, "(?s)output.* is no variable: 3.*Hint: pass variables"):
                    walk([self.x], [3])
                with self.assertRaisesRegex(TypeError, "(?s)output.*Hint: "):
                    walk([self.x], [self.out.owner])

    def test_inputs_that_are_no_variables(self) -> None:
        for walk in BETWEEN:
            with (
                self.subTest(walk.__name__),
                self.assertRaisesRegex(TypeError, "(?s)input.* is no variable: 'x'.*Hint"),
            ):
                walk(["x"], [self.out])

    def test_one_variable_instead_of_a_list(self) -> None:
        for walk in BETWEEN:
            with self.subTest(walk.__name__):
                with self.assertRaisesRegex(TypeError, rf"not one variable{THREE_PARTS}pass \[join.0\]"):
                    walk([self.x], self.out)
                if walk is not as_string:
                    with self.assertRaisesRegex(TypeError, rf"not one variable{THREE_PARTS}pass \[x\]"):
                        walk(self.x, [self.out])

    def test_no_list_at_all(self) -> None:
        with self.assertRaisesRegex(TypeError, "outputs are a list of variables, not 3\n  Hint"):
            toposort([self.x], 3)  # type: ignore[arg-type]  # the wrong type is what is tested

    def test_walks_from_outputs(self) -> None:
        bad: Any = [3]
        for walk in (ancestors, graph_inputs):
            with self.assertRaisesRegex(TypeError, "0 of the outputs is no variable: 3\n  Hint"):
                walk(bad)
            with self.assertRaisesRegex(TypeError, "0 of the blockers is no variable: 3\n  Hint"):
                walk([self.out], bad)
        self.assertEqual(graph_inputs([self.out], None), [self.x])

    def test_single_things(self) -> None:
        bad: Any = self.out
        with self.assertRaisesRegex(TypeError, rf"is no apply node: join.0{THREE_PARTS}pass `variable.owner`"):
            is_in_ancestors(self.out, bad)
        with self.assertRaisesRegex(TypeError, rf"is a node, not a variable{THREE_PARTS}pass its outputs"):
            is_in_ancestors(self.out.owner, self.out.owner)
        with self.assertRaisesRegex(TypeError, "no variable: None\n  Hint"):
            view_roots(None)  # type: ignore[arg-type]  # the wrong type is what is tested
        with self.assertRaisesRegex(TypeError, "the second is no variable: 3\n  Hint"):
            is_same_graph(self.x, 3)  # type: ignore[arg-type]  # the wrong type is what is tested

    def test_comparisons(self) -> None:
        with self.assertRaisesRegex(GraphError, "do not correspond: 1 and 0\n  Hint"):
            equal_computations([self.out], [self.out], [self.x])
        with self.assertRaisesRegex(TypeError, "0 of the xs is no variable: 3\n  Hint"):
            equal_computations([3], [3])  # type: ignore[list-item]  # the wrong type is what is tested
        self.assertTrue(is_same_graph(join(self.x, 1), join(self.x, 1), debug=True))
        self.assertFalse(is_same_graph(join(self.x, 1), join(self.x, 2), debug=True))
        self.assertFalse(is_same_graph(join(self.x), other(self.x), debug=True))
        self.assertFalse(is_same_graph(join(self.x), self.x, debug=True))
        self.assertTrue(is_same_graph(join(self.x), join(names("y")[0]), {self.x: self.out}, debug=True) is False)

    def test_comparisons_that_disagree(self) -> None:
        class Unstable(type(join)):  # type: ignore[misc]  # a class that is known at run time only
            def __hash__(self) -> int:
                return id(self)

        with self.assertRaisesRegex(GraphError, rf"two ways to compare graphs disagree{THREE_PARTS}make sure"):
            is_same_graph(Unstable("u")(self.x), Unstable("u")(self.x), debug=True)

    def test_replacements(self) -> None:
        with self.assertRaisesRegex(GraphError, "only variables can be replaced, not 'x'\n  Hint"):
            clone_replace(self.out, {"x": self.x})
        with self.assertRaisesRegex(TypeError, "0 of the outputs is no variable: 3\n  Hint"):
            clone_replace([3], {})  # type: ignore[list-item]  # the wrong type is what is tested

    def test_searches(self) -> None:
        with self.assertRaisesRegex(TypeError, "(?s)starts from a deque or list, not 'a'.*Hint"):
            stack_search("a", lambda n: None)  # type: ignore[call-overload]  # the wrong type is what is tested
        with self.assertRaisesRegex(GraphError, "(?s)no search mode 'best'.*Hint"):
            stack_search(deque("a"), lambda n: None, "best")
        with self.assertRaisesRegex(TypeError, "(?s)a comparator is a function of two nodes, not 3.*Hint"):
            sort_apply_nodes([self.x], [self.out], [3])  # type: ignore[list-item]  # the wrong type is tested
        with self.assertRaisesRegex((TypeError, AttributeError), "."):
            op_as_string([self.x], 3)  # type: ignore[arg-type]  # the wrong type is what is tested


class TestOrders(unittest.TestCase):
    def setUp(self) -> None:
        self.x = NUMBER.make_variable("x")
        self.a, self.b = join(self.x), other(self.x)

    def test_orderings(self) -> None:
        expected = {self.a.owner: [self.b.owner]}
        self.assertEqual(toposort([self.x], [self.a, self.b], expected), [self.b.owner, self.a.owner])

    def test_clients(self) -> None:
        users: dict[Apply, list[Apply]] = {}
        out = join(self.a, self.a, self.b)
        order = toposort([self.x], [out], {self.b.owner: [self.a.owner]}, users)
        self.assertEqual(order, [self.a.owner, self.b.owner, out.owner])
        self.assertEqual(users, {self.a.owner: [out.owner, self.b.owner], self.b.owner: [out.owner]})

    def test_bad_orderings(self) -> None:
        bad: Any
        for bad, text in (
            ({self.a.owner: {self.b.owner}}, "are a set: its order changes"),
            ({self.a: [self.b.owner]}, "a key of the orderings is no apply node"),
            ({self.a.owner: [self.b]}, "what must come before join.* is no apply node"),
            ([self.a.owner], "orderings are a mapping, not"),
        ):
            with self.assertRaisesRegex(TypeError, f"(?s){text}.*Hint"):
                toposort([self.x], [self.a], bad)

    def test_cycle_is_named(self) -> None:
        with self.assertRaisesRegex(CycleError, r"(?s)cycle through join .*\n  join .*\n  other .*\n  Hint"):
            toposort([self.x], [self.a], {self.a.owner: [self.b.owner], self.b.owner: [self.a.owner]})
        with self.assertRaisesRegex(CycleError, "(?s)0\n  1\n  2\n  3\n  ... 92 more ...\n.*99\n"):
            general_toposort([0], lambda n: [(n + 1) % 100])

    def test_general_order_by_a_cache(self) -> None:
        cache: dict[int, list[int]] = {}

        def compute(n: int) -> list[int]:
            cache[n] = [n - 1] if n else []
            return cache[n]

        self.assertEqual(general_toposort([2], None, compute_deps_cache=compute, deps_cache=cache), [0, 1, 2])
        self.assertEqual(cache, {0: [], 1: [0], 2: [1]})
        reference = {5: [7], 7: []}
        self.assertEqual(general_toposort([5], None, compute_deps_cache=compute, deps_cache=reference), [7, 5])

    def test_general_order_with_bad_arguments(self) -> None:
        bad: Any = 3
        for deps, arguments in (
            (None, {}),
            (bad, {}),
            (None, {"deps_cache": {}}),
            (None, {"compute_deps_cache": lambda n: []}),
            (None, {"compute_deps_cache": bad, "deps_cache": {}}),
        ):
            with self.assertRaisesRegex(TypeError, "Hint: pass `deps`, a function, or both"):
                general_toposort([1], deps, **arguments)


class TestGraphs(unittest.TestCase):
    def setUp(self) -> None:
        self.x = NUMBER.make_variable("x")
        self.out = join(self.x)
        self.fgraph = FunctionGraph([self.x], [self.out], clone=False)

    def test_update_mapping(self) -> None:
        x, y = names("xy")
        graph = FunctionGraph([x, y], [join(x), y], update_mapping={0: 1})
        self.assertEqual(graph.update_mapping, {0: 1})
        self.assertEqual(graph.clone().update_mapping, {0: 1})
        bad: Any
        for bad in ({2: 0}, {0: 2}, {0: -1}, {"a": 0}, {0: 1, 1: 1}):
            with self.assertRaisesRegex(GraphError, "(?s)update_mapping .*Hint: map the index"):
                FunctionGraph([x, y], [join(x), y], update_mapping=bad)
        bad = [0]
        with self.assertRaisesRegex(TypeError, "(?s)update_mapping is a mapping of indices.*Hint"):
            FunctionGraph([x], [x], update_mapping=bad)

    def test_pairs(self) -> None:
        bad: Any = [(self.out,)]
        with self.assertRaisesRegex(TypeError, "(?s)a replacement is a pair of variables.*Hint"):
            self.fgraph.replace_all(bad)

    def test_places(self) -> None:
        bad: Any = "0"
        with self.assertRaisesRegex(GraphError, "(?s)has no place '0'.*Hint"):
            self.fgraph.change_input(self.out.owner, bad, self.x)
        with self.assertRaisesRegex(GraphError, "(?s)is not a node of this graph.*Hint"):
            self.fgraph.change_input(other(self.x).owner, 0, self.x)

    def test_inputs(self) -> None:
        with self.assertRaisesRegex(GraphError, rf"an input has no owner{THREE_PARTS}"):
            self.fgraph.add_input(other(self.x))
        bad: Any = 3
        with self.assertRaisesRegex(TypeError, "(?s)an input is a variable, not 3.*Hint"):
            self.fgraph.add_input(bad)
        y = names("y")[0]
        self.fgraph.add_input(y)
        self.fgraph.add_input(y)
        self.assertEqual((self.fgraph.inputs, self.fgraph.n_clients(y)), ([self.x, y], 0))
        self.fgraph.replace(self.out, y)
        self.fgraph.check_integrity()

    def test_clients_of_strangers(self) -> None:
        foreign: Any
        for foreign in (names("y")[0], 3, []):
            for ask in (self.fgraph.clients, self.fgraph.n_clients):
                with self.assertRaisesRegex(GraphError, "(?s)have clients.*Hint: pass one of `fgraph.variables`"):
                    ask(foreign)

    def test_features(self) -> None:
        class Lends(Feature):
            provides = {"missing": "nowhere"}

        with self.assertRaisesRegex(GraphError, "(?s)lends the graph `missing` but has no method `nowhere`.*Hint"):
            self.fgraph.attach_feature(Lends())
        self.fgraph.attach_feature(NodeFinder())
        self.fgraph.attach_feature(NodeFinder())
        self.assertEqual(len(self.fgraph.features), 1)
        with self.assertRaises(AlreadyThere):
            NodeFinder().on_attach(self.fgraph)

    def test_a_feature_that_cannot_stay_is_told(self) -> None:
        messages: list[str] = []

        class Lends(Feature):
            provides = {"replace": "on_attach"}

            def on_detach(self, fgraph: FunctionGraph) -> None:
                messages.append("detached")

        with self.assertRaisesRegex(GraphError, "(?s)`replace`, which FunctionGraph offers.*Hint"):
            self.fgraph.attach_feature(Lends())
        self.assertEqual((messages, self.fgraph.features), (["detached"], ()))

    def test_nodes(self) -> None:
        bad: Any = self.x
        with self.assertRaisesRegex(TypeError, "are lists or tuples of variables"):
            Apply(join, bad, [NUMBER()])
        with self.assertRaisesRegex(TypeError, "(?s)output 0 of join is no variable: 3.*Hint"):
            bad = [3]
            Apply(join, [self.x], bad)
        with self.assertRaisesRegex(GraphError, "both an owner and an index, or neither"):
            Variable(NUMBER, None, 0)


class TestRemainingArguments(unittest.TestCase):
    """Arguments that have nothing to do with what they stand for."""

    def check(self, *cases: tuple[str, Callable[[], Any]]) -> None:
        """Each call fails with a text, and with words on how to correct it."""
        for text, call in cases:
            with self.subTest(text), self.assertRaisesRegex((TypeError, GraphError), f"{text}(.|\n)*\n  Hint: "):
                call()

    def test_nodes_and_variables(self) -> None:
        x, y = names("xy")
        out: Any = join(x, y)
        wrong: Any = None
        kind: Any = type(NUMBER)
        index: Any = "a"
        pairs: Any = [x]
        self.check(
            ("an op, not None", lambda: Apply(wrong, [x], [NUMBER()])),
            ("is a Type, not", lambda: Variable(kind)),
            ("counts outputs from 0: -1", lambda: Variable(NUMBER, out.owner, -1)),
            ("counts outputs from 0: 'a'", lambda: Variable(NUMBER, out.owner, index)),
            ("new input 1 of join is no variable: 3", lambda: out.owner.clone_with_new_inputs([x, 3])),
            ("a replacement is a pair", lambda: clone_replace(out, pairs)),
        )

    def test_function_graphs(self) -> None:
        x = names("x")[0]
        fgraph = FunctionGraph([x], [join(x)])
        wrong: Any = None
        number: Any = 3
        self.check(
            ("inputs of a function graph are a list of variables, not None", lambda: FunctionGraph(wrong, [x])),
            ("outputs of a function graph are a list of variables, not 3", lambda: FunctionGraph([x], number)),
            ("features are a list, not 3", lambda: FunctionGraph([x], [x], number)),
            ("replacements are pairs of variables, not None", lambda: fgraph.replace_all(wrong)),
        )

    def test_printing(self) -> None:
        x = names("x")[0]
        number: Any = 3
        word: Any = "a"
        self.check(
            ("cannot write to 3", lambda: debugprint(x, file=number)),
            ("levels, not 'a'", lambda: debugprint(x, depth=word)),
        )

    def test_flags_that_are_there(self) -> None:
        for name in ("traceback.limit", "traceback"):
            with self.assertRaisesRegex(ConfigError, "traceback(.|\n)*\n  Hint: "):
                add_flag(name, "Twice.", IntFlag(3))
