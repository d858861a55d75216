"""Orders of graphs that programs rely on when they name, save and seed: as Theano 1.0 gave them."""

from __future__ import annotations

import unittest
from collections import deque
from typing import Any

import theano
import theano.tensor as T
from theano import gof
from theano.gof import graph


def named(variables: Any) -> list[str]:
    """Return names, or ops where there is none."""
    return [v.name or str(v.owner.op) for v in variables]


class TestWalks(unittest.TestCase):
    def setUp(self) -> None:
        self.a, self.b, self.c, self.d = (T.dvector(name) for name in "abcd")
        self.s = [theano.shared(0.5, f"s{i}") for i in range(3)]
        self.x = T.exp(self.a * self.s[0] + self.b)
        self.x.name = "x"
        self.y = T.tanh(self.c + self.s[1] * self.x) * self.d
        self.y.name = "y"
        self.z = (self.x * self.y).sum() + T.dot(self.s[2], self.x)[0]
        self.z.name = "z"

    def test_ancestors_start_from_the_last_variable(self) -> None:
        p, q, r = T.dscalars("pqr")
        u, w = T.add(p, q), T.mul(r, q)
        u.name, w.name = "u", "w"
        self.assertEqual(named(graph.ancestors([u, w])), ["w", "r", "q", "u", "p"])
        self.assertEqual(named(graph.inputs([u, w])), ["r", "q", "p"])
        self.assertEqual(named(graph.ancestors([T.add(w, u)], blockers=[w]))[1:], ["w", "u", "p", "q"])

    def test_nodes_of_the_last_input_come_first(self) -> None:
        p, q = T.dscalars("pq")
        last = T.sub(T.exp(p), T.sin(q))
        ops = [str(node.op.scalar_op) for node in graph.io_toposort([p, q], [last])]
        self.assertEqual(ops, ["sin", "exp", "sub"])
        shown = gof.FunctionGraph([p, q], [last], clone=False).toposort()
        self.assertEqual([str(node.op.scalar_op) for node in shown], ops)
        f = theano.function([p, q], last, mode=theano.Mode("py", None))
        self.assertEqual([str(n.op.scalar_op) for n in f.maker.fgraph.toposort() if hasattr(n.op, "scalar_op")], ops)

    def test_with_clients_what_can_run_comes_first(self) -> None:
        clients: dict[Any, list[Any]] = {}
        order = graph.io_toposort([self.a, self.b, self.c, self.d], [self.y, self.z], clients=clients)
        self.assertEqual(set(order), graph.ops([self.a, self.b, self.c, self.d], [self.y, self.z]))
        self.assertEqual(len(clients[self.x]), 3)
        self.assertEqual(clients[self.x.owner], [self.x])

    def test_orderings(self) -> None:
        p, q = T.dscalars("pq")
        one, two = T.exp(p), T.sin(q)
        last = T.sub(one, two)
        order = graph.io_toposort([p, q], [last], orderings={two.owner: [one.owner]})
        self.assertEqual([v.owner for v in (one, two, last)], order)
        with self.assertRaises(ValueError):
            graph.io_toposort([p, q], [last], orderings={one.owner: [last.owner]})

    def test_general_sort(self) -> None:
        self.assertEqual(graph.general_toposort([6, 9, 5], lambda k: [k // 2, k - 3] if k > 3 else None)[-1], 9)
        self.assertEqual(
            graph.general_toposort([6, 5], lambda k: [k - 1, k - 2] if k > 1 else []), [1, 0, *range(2, 7)]
        )
        with self.assertRaises(TypeError):
            graph.general_toposort([1], lambda k: {0} if k else None)

    def test_variables_of_a_part(self) -> None:
        result, orphans = graph.variables_and_orphans([self.a, self.x], [self.y])
        self.assertEqual(result[0], self.y)
        self.assertEqual([v.name for v in result if v.name], ["y", "c", "s1", "x", "d"])
        self.assertEqual(named(orphans), ["c", "s1", "d"])
        self.assertEqual(graph.variables([self.a, self.x], [self.y]), result)
        self.assertEqual(graph.orphans([self.a, self.x], [self.y]), orphans)

    def test_searches(self) -> None:
        start = deque([4])
        self.assertEqual(graph.stack_search(start, lambda n: [n - 1, n - 2] if n > 1 else None, "dfs"), [4, 2, 0, 1, 3])
        self.assertEqual(len(start), 0)
        visited, came_from = graph.stack_search(deque([2]), lambda n: [n - 1] if n else None, build_inv=True)
        self.assertEqual((visited, came_from), ([2, 1, 0], {1: [2], 0: [1]}))
        self.assertEqual(graph.list_of_nodes([self.x], [self.y])[0], self.y.owner)

    def test_shared_variables_are_collected_as_they_are_read(self) -> None:
        s = self.s
        f = theano.function([self.a, self.b, self.c, self.d], [self.y], updates=[(s[2], s[2] * 2), (s[0], s[0] + s[2])])
        self.assertEqual(named(f.get_shared()), ["s1", "s0", "s2"])
        self.assertEqual(named(f.maker.fgraph.inputs)[4:], ["s1", "s0", "s2"])
        g = theano.function([], s[0] * s[1], givens={s[1]: s[2] + s[1]}, on_unused_input="ignore")
        self.assertEqual(named(g.get_shared()), ["s2", "s1", "s0"])


class TestNamesOfVariables(unittest.TestCase):
    def test_automatic_names_are_numbered(self) -> None:
        one, two = T.dscalar(), T.dscalar("two")
        first, second = one.auto_name, two.auto_name
        self.assertEqual(int(second.removeprefix("auto_")), int(first.removeprefix("auto_")) + 1)
        self.assertEqual(one.auto_name, first)
        self.assertNotEqual(one.clone().auto_name, first)
        one.auto_name = "mine"
        self.assertEqual(one.auto_name, "mine")
        self.assertTrue(next(gof.Variable.__count__) >= 0)


if __name__ == "__main__":
    unittest.main()
