"""Searches, orders and texts of graphs."""

from __future__ import annotations

import unittest
from collections import deque
from collections.abc import Sequence
from threading import Thread

from support import NUMBER, Join, chain, halves, join, names, ops_of, other

from theano_graph import (
    Apply,
    GraphError,
    NoParams,
    Variable,
    as_string,
    default_node_formatter,
    general_toposort,
    io_connection_pattern,
    list_of_nodes,
    nodes_constructed,
    op_as_string,
    sort_apply_nodes,
    stack_search,
    toposort,
    variables_and_orphans,
)

TREE = {"a": ["b", "c"], "b": ["d", "e"], "c": ["e", "f"]}


class TestStackSearch(unittest.TestCase):
    def test_breadth_and_depth_first(self) -> None:
        self.assertEqual("".join(stack_search(deque("a"), TREE.get, "bfs")), "abcdef")
        self.assertEqual("".join(stack_search(deque("a"), TREE.get, "dfs")), "abdecf")

    def test_start_is_emptied_and_nothing_repeated(self) -> None:
        start = deque("aab")
        self.assertEqual("".join(stack_search(start, TREE.get)), "abcdef")
        self.assertEqual(len(start), 0)
        as_list = ["b", "a"]
        self.assertEqual("".join(stack_search(as_list, TREE.get, "dfs")), "bdeacf")
        self.assertEqual(as_list, [])

    def test_what_led_there(self) -> None:
        result, came_from = stack_search(deque("a"), TREE.get, build_inv=True)
        self.assertEqual("".join(result), "abcdef")
        self.assertEqual(came_from["e"], ["b", "c"])
        self.assertNotIn("a", came_from)

    def test_unknown_mode(self) -> None:
        with self.assertRaisesRegex(GraphError, "no search mode 'best'"):
            stack_search(deque("a"), TREE.get, "best")


class TestLists(unittest.TestCase):
    def test_variables_and_orphans(self) -> None:
        x, y = names("xy")
        mid = join(x, y)
        out = join(mid)
        result, orphans = variables_and_orphans([x], [out])
        self.assertEqual(set(result), {x, y, mid, out})
        self.assertEqual(orphans, [y])

    def test_nodes(self) -> None:
        x = names("x")[0]
        out = join(other(x))
        self.assertEqual(ops_of(list_of_nodes([x], [out])), ["join", "other"])
        self.assertEqual(ops_of(list_of_nodes([out.owner.inputs[0]], [out, out])), ["join"])

    def test_preferences(self) -> None:
        x = names("x")[0]
        outputs = [Join(n)(x) for n in "cab"]
        outputs.append(Join("0")(outputs[0]))

        def by_name(a: Apply, b: Apply) -> int:
            return int(a.op.name > b.op.name) - int(a.op.name < b.op.name)

        self.assertEqual(ops_of(sort_apply_nodes([x], outputs, [by_name])), ["a", "b", "c", "0"])
        self.assertEqual(sort_apply_nodes([x], outputs), toposort([x], outputs))
        long = chain(x, 3000)
        self.assertEqual(sort_apply_nodes([x], [long], [by_name]), toposort([x], [long]))

    def test_clients_of_a_general_order(self) -> None:
        users: dict[str, list[str]] = {}
        order = general_toposort("a", TREE.get, clients=users)
        self.assertEqual("".join(order), "debfca")
        self.assertEqual(users, {"b": ["a"], "c": ["a"], "d": ["b"], "e": ["b", "c"], "f": ["c"]})

    def test_connections(self) -> None:
        class Half(Join):
            def connection_pattern(self, node: Apply) -> list[list[bool]]:
                return [[i == 0] for i in range(len(node.inputs))]

        x, y, z = names("xyz")
        a, b = Half()(x, y), join(y)
        self.assertEqual(
            io_connection_pattern([x, y, z], [a, b, join(a, b), z]),
            [[True, False, True, False], [False, True, True, False], [False, False, False, True]],
        )


class TestText(unittest.TestCase):
    def test_formatters(self) -> None:
        x, y = names("xy")
        shared = other(x)
        out = join(shared, shared, y)

        def lisp(node: Apply, arguments: Sequence[str]) -> str:
            return f"({' '.join([str(node.op), *arguments])})"

        def leaf(variable: Variable) -> str:
            return str(variable).upper()

        self.assertEqual(as_string([x, y], [out], leaf), ["join(*1 -> other(X), *1, Y)"])
        self.assertEqual(as_string([x, y], [out], leaf, lisp), ["(join *1 -> (other X) *1 Y)"])
        self.assertEqual(as_string([x], [halves(x)[1]], leaf, lisp), ["(Halves X)::1"])
        self.assertEqual(as_string([x], halves(x)), [f"*1 -> {halves(x)[0].owner.op}(x)", "*1::1"])
        self.assertEqual(op_as_string([x, y], out.owner, leaf, lisp), "(join *1 -> (other X) *1 Y)")
        self.assertEqual(op_as_string([x], shared.owner), "other(x)")
        self.assertEqual(default_node_formatter(shared.owner, ["1", "2"]), "other(1, 2)")

    def test_formatter_and_default_agree(self) -> None:
        x = names("x")[0]
        out = chain(other(x), 50)

        def same(node: Apply, arguments: Sequence[str]) -> str:
            return default_node_formatter(node, arguments)

        self.assertEqual(as_string([x], [out], node_formatter=same), as_string([x], [out]))


class TestConstruction(unittest.TestCase):
    def test_variables_made_in_a_block(self) -> None:
        x = names("x")[0]
        with nodes_constructed() as outer:
            y = join(x)
            with nodes_constructed() as inner:
                z = NUMBER.make_constant(3)
        join(y)
        self.assertEqual((outer, inner), ([y, z], [z]))
        self.assertEqual(Variable.construction_observers, [])

    def test_copies_are_told(self) -> None:
        three = NUMBER.make_constant(3)
        with nodes_constructed() as result:
            copies = [three.clone(), names("x")[0].clone()]
        self.assertIs(result[0], copies[0])
        self.assertIs(result[-1], copies[1])

    def test_other_threads_are_not_heard(self) -> None:
        with nodes_constructed() as result:
            other = Thread(target=names, args=("xyz",))
            other.start()
            other.join()
            w = names("w")[0]
        self.assertEqual(result, [w])

    def test_observers_end_with_an_error(self) -> None:
        with self.assertRaises(KeyError), nodes_constructed():
            raise KeyError
        self.assertEqual(Variable.construction_observers, [])


class TestParams(unittest.TestCase):
    def test_no_params(self) -> None:
        node = join(names("x")[0]).owner
        self.assertIs(node.run_params(), NoParams)
        self.assertIsNone(node.params_type)

    def test_params(self) -> None:
        class Scaled(Join):
            params_type = NUMBER

            def get_params(self, node: Apply) -> int:
                return len(node.inputs)

        x = names("x")[0]
        node = Scaled()(x, x).owner
        self.assertEqual((node.params_type, node.run_params()), (NUMBER, 2))

    def test_missing_get_params(self) -> None:
        class Half(Join):
            params_type = NUMBER

        with self.assertRaisesRegex(NotImplementedError, "Half.get_params"):
            Half()(names("x")[0]).owner.run_params()
