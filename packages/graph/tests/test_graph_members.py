"""The members of a function graph: places, clients in order, and the sets that show them."""

from __future__ import annotations

import copy
import pickle
import random
import unittest
from typing import Any

from support import NUMBER, chain, halves, join, names, other

from theano_graph import FunctionGraph, GraphError, Variable, toposort


def uses(fgraph: FunctionGraph) -> list[list[tuple[str, int]]]:
    """Return the clients of all variables by the places of nodes in the order of arrival."""
    position: dict[Any, str] = {node: str(i) for i, node in enumerate(fgraph.apply_nodes)}
    position["output"] = "output"
    return [[(position[user], i) for user, i in fgraph.clients(v)] for v in fgraph.variables]


class TestMembers(unittest.TestCase):
    def test_nodes_that_leave_give_up_their_places(self) -> None:
        x = names("x")[0]
        fgraph = FunctionGraph([x], [chain(x, 400)], clone=False)
        for turn in range(5):
            for node in fgraph.toposort()[1::2]:
                before = fgraph.apply_nodes
                fgraph.replace(node.outputs[0], other(node.inputs[0], *([x] * turn)))
                self.assertNotIn(node, before)
            self.assertEqual(len(fgraph), 400)
            self.assertEqual(len(list(fgraph.apply_nodes)), 400)
            fgraph.check_integrity()
        self.assertEqual(set(fgraph.apply_nodes), set(fgraph.toposort()))

    def test_sets_of_nodes_and_variables(self) -> None:
        x, y = names("xy")
        first, second = halves(x)
        out = join(first, y)
        fgraph = FunctionGraph([x, y], [out], clone=False)
        nodes, variables = fgraph.apply_nodes, fgraph.variables
        self.assertEqual(list(nodes), [first.owner, out.owner])
        self.assertEqual(nodes, {out.owner, first.owner})
        self.assertEqual(nodes & {out.owner}, {out.owner})
        self.assertEqual(nodes | {1}, {first.owner, out.owner, 1})
        self.assertTrue(nodes.isdisjoint({join(x).owner}))
        self.assertEqual(variables, {x, y, first, second, out})
        self.assertEqual((len(nodes), len(variables)), (2, 5))
        strangers: list[Any] = [join(x), join(x).owner, "output", None, [], names("z")[0]]
        for foreign in strangers:
            self.assertNotIn(foreign, nodes)
            self.assertNotIn(foreign, variables)
        self.assertEqual(
            str(nodes),
            "{halves(x), join(halves.0, y)}".replace("halves(", f"{halves}(").replace("halves.", f"{halves}."),
        )
        for node in nodes:  # which are those of the beginning
            if node is first.owner:
                fgraph.replace(first, x)
        self.assertEqual(list(nodes), [out.owner])
        self.assertEqual(variables, {x, y, out})

    def test_an_input_that_another_node_of_the_graph_computes(self) -> None:
        x = names("x")[0]
        first, second = halves(x)
        out = join(first, second)
        fgraph = FunctionGraph([x, first], [out], clone=False)
        self.assertEqual(fgraph.clients(first), [(out.owner, 0)])
        self.assertEqual(fgraph.clients(second), [(out.owner, 1)])
        fgraph.check_integrity()
        fgraph.change_input(out.owner, 1, first)
        self.assertEqual(fgraph.clients(first), [(out.owner, 0), (out.owner, 1)])
        self.assertNotIn(second, fgraph.variables)
        self.assertIn(first, fgraph.variables)
        self.assertIsNone(first.owner.fgraph)
        fgraph.check_integrity()
        again: FunctionGraph = pickle.loads(pickle.dumps(fgraph))
        again.check_integrity()
        self.assertEqual(uses(again), uses(fgraph))

    def test_copies_know_the_same_clients_in_the_same_order(self) -> None:
        generator = random.Random(1)
        x, y = names("xy")
        pool: list[Variable] = [x, y, NUMBER.make_constant(3)]
        for _ in range(60):
            result: Any = generator.choice([join, other, halves])(*generator.choices(pool, k=2))
            pool += result if isinstance(result, list) else [result]
        fgraph = FunctionGraph([x, y], [*pool[-5:], x], clone=False)
        for node in generator.sample(list(fgraph.apply_nodes), 20):
            if node in fgraph.apply_nodes:
                fgraph.replace(node.outputs[0], other(node.inputs[0], x))
        fgraph.check_integrity()
        for again in (pickle.loads(pickle.dumps(fgraph)), copy.deepcopy(fgraph)):
            again.check_integrity()
            self.assertEqual(uses(again), uses(fgraph))
            self.assertEqual([str(n.op) for n in again.apply_nodes], [str(n.op) for n in fgraph.apply_nodes])
            victim = next(iter(again.toposort())).outputs[0]
            again.replace(victim, other(again.inputs[0]))
            again.check_integrity()

    def test_a_shallow_copy_is_a_graph_of_its_own(self) -> None:
        x = names("x")[0]
        fgraph = FunctionGraph([x], [chain(x, 3)], clone=False)
        again = copy.copy(fgraph)
        self.assertTrue(set(again.apply_nodes).isdisjoint(fgraph.apply_nodes))
        again.replace(again.outputs[0], again.inputs[0])
        self.assertEqual((len(again), len(fgraph)), (0, 3))
        fgraph.check_integrity()

    def test_graphs_let_go_of_what_they_held(self) -> None:
        x = names("x")[0]
        out = chain(x, 3)
        fgraph = FunctionGraph([x], [out], clone=False)
        fgraph.disown()
        self.assertEqual((len(fgraph), len(fgraph.variables), list(fgraph.apply_nodes)), (0, 0, []))
        with self.assertRaisesRegex(GraphError, "have clients"):
            fgraph.clients(x)
        again = FunctionGraph([x], [out], clone=False)
        self.assertEqual(list(again.apply_nodes), toposort([x], [out]))
        self.assertEqual(len(x.clients), 4)
        del again
        self.assertEqual(x.clients, [])
        FunctionGraph([x], [out], clone=False).check_integrity()

    def test_integrity_names_clients_that_are_none(self) -> None:
        x, y = names("xy")
        out = join(join(x), join(y))
        fgraph = FunctionGraph([x, y], [out], clone=False)
        inner = out.owner.inputs[0].owner
        inner.inputs[0] = y
        with self.assertRaisesRegex(GraphError, "clients of `y`"):
            fgraph.check_integrity()
        inner.inputs[0] = x
        fgraph.check_integrity()
        inner.inputs.append(x)
        with self.assertRaisesRegex(GraphError, "clients of `x`"):
            fgraph.check_integrity()
        inner.inputs[:] = []
        with self.assertRaisesRegex(GraphError, "clients of `x`"):
            fgraph.check_integrity()


if __name__ == "__main__":
    unittest.main()
