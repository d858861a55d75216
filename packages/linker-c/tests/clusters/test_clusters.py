"""Nodes that a rule claims run as one instruction, in the order of the graph."""

from __future__ import annotations

import random
import unittest
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from lazy.lazy_ops import Choose, Runs
from small_arrays import Python, add, compiled, constant, mul, number, vector

from theano_graph import Apply, Op, Variable
from theano_linker_c import Mode, function, shared
from theano_linker_c.program import Cluster, ClusterRule, Instruction, NodeError, cluster_rule

V = np.array([1.0, 2.0])


class Device(Op):
    """An op of which nodes with equal places run together; it stands for one on a device."""

    __props__ = ("name", "place", "n_outputs")

    def __init__(self, name: str = "add", place: str = "a", n_outputs: int = 1, view: bool = False) -> None:
        self.name, self.place, self.n_outputs = name, place, n_outputs
        self.view_map = {0: [0]} if view else {}

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, list(inputs), [inputs[0].type() for _ in range(self.n_outputs)])

    def perform(self, node: Apply, inputs: Any, output_storage: Any, params: Any = None) -> None:
        if len({np.shape(x) for x in inputs}) > 1:
            raise ValueError(f"shapes differ: {[x.shape for x in inputs]}")
        for k, cell in enumerate(output_storage):
            cell[0] = inputs[0] if self.view_map else sum(inputs) + k

    def __str__(self) -> str:
        return f"Device{{{self.name}}}"


built: list[int] = []


def _claims(node: Apply) -> Hashable | None:
    op: Any = node.op
    return op.place or None


def _build(nodes: Sequence[Apply], inputs: Sequence[Variable], outputs: Sequence[Variable]) -> Any:
    built.append(len(nodes))

    def run(values: list[Any]) -> list[Any]:
        reference = dict(zip(inputs, values, strict=True))
        for node in nodes:
            cells: list[list[Any]] = [[None] for _ in node.outputs]
            operands = [reference[v] for v in node.inputs]
            try:
                node.op.perform(node, operands, cells)
            except ValueError as error:
                raise NodeError(node, operands, error) from error
            reference.update((v, cell[0]) for v, cell in zip(node.outputs, cells, strict=True))
        return [reference[v] for v in outputs]

    return run


def _late(nodes: Sequence[Apply]) -> list[Apply]:
    return [node for node in nodes if getattr(node.op, "name", "") == "wait"]


cluster_rule.register(Device)(ClusterRule(_claims, _build, _late))


def instructions(f: Any) -> Sequence[Instruction]:
    result: Sequence[Instruction] = f.fn.program.instructions
    return result


def kinds(f: Any) -> list[str]:
    """Return which instructions there are: "3" for a cluster of three nodes, the name of the op for others."""
    return [str(len(x.node.op.nodes)) if isinstance(x.node.op, Cluster) else str(x.node.op) for x in instructions(f)]


class TestClusters(unittest.TestCase):
    def setUp(self) -> None:
        built.clear()

    def test_neighbours_become_one_instruction(self) -> None:
        x = vector("x")
        y = Device("one")(x, x)
        f = compiled([x], [Device("two")(y, x), Device("three")(y, y)])
        self.assertEqual(["3"], kinds(f))
        self.assertEqual([[3.0, 6.0], [4.0, 8.0]], [r.tolist() for r in f(V)])
        self.assertEqual([3], built)

    def test_the_nodes_of_the_graph_stay(self) -> None:
        x = vector("x")
        f = compiled([x], Device("two")(Device("one")(x), x))
        self.assertEqual(2, len(f.maker.fgraph.apply_nodes))
        self.assertTrue(all(isinstance(node.op, Device) for node in f.maker.fgraph.toposort()))

    def test_what_needs_others_in_between_is_cut(self) -> None:
        x = vector("x")
        first = Device("first")(x)
        outside = add(first, first)
        f = compiled([x], [Device("second")(outside, first), Device("third")(first)])
        self.assertEqual(["2", "Elementwise{add}", "1"], kinds(f))
        self.assertEqual([[3.0, 6.0], [1.0, 2.0]], [r.tolist() for r in f(V)])

    def test_what_is_late_is_apart_and_comes_last(self) -> None:
        x = vector("x")
        a, b = Device("1", "a")(x), Device("1", "b")(x)
        waits = [Device("wait", "a")(Device("2", "a")(a)), Device("wait", "b")(b), Device("wait", "a")(a)]
        read = add(waits[0], waits[1])
        f = compiled([x], [*waits[:1], read, waits[2], Device("3", "b")(b), mul(x, x)])
        names = [getattr(node.op, "name", "") for node in f.maker.fgraph.toposort()]
        self.assertEqual(3, names.count("wait"))
        result = kinds(f)
        self.assertEqual(["2", "2"], [kind for kind in result[:3] if kind.isdigit()])
        self.assertEqual("Elementwise{add}", result[-1])
        self.assertEqual(6, len(result))
        expected = [V, 2 * V, V, V, V * V]
        self.assertEqual([w.tolist() for w in expected], [r.tolist() for r in f(V)])

    def test_places_are_apart(self) -> None:
        x = vector("x")
        a = Device("1", "a")(x)
        b = Device("2", "b")(a)
        f = compiled([x], [Device("3", "a")(b), Device("4", "b")(x), Device("5", "a")(x)])
        self.assertEqual(["1", "1", "1", "2"], sorted(kinds(f)))
        self.assertEqual([V.tolist()] * 3, [r.tolist() for r in f(V)])

    def test_nodes_without_a_key_run_alone(self) -> None:
        x = vector("x")
        f = compiled([x], Device("two", "")(Device("one", "")(x)))
        self.assertEqual(["Device{one}", "Device{two}"], kinds(f))

    def test_views_are_known(self) -> None:
        x = vector("x")
        w = shared(V)
        view = Device("view", view=True)
        f = compiled([x], [view(Device("sum")(w, x)), view(w)], updates=[(w, Device("sum")(w, x))])
        (cluster,) = (i for i in instructions(f) if isinstance(i.node.op, Cluster))
        seen = {v.owner.op.name: cluster.node.op.view_map.get(k) for k, v in enumerate(cluster.node.outputs)}
        self.assertEqual(None, seen["sum"])
        results = f(V)
        self.assertEqual([[2.0, 4.0], [1.0, 2.0]], [r.tolist() for r in results])
        results[1][:] = 7
        self.assertEqual([2.0, 4.0], w.get_value().tolist())

    def test_what_overwrites_runs_alone_and_after_readers(self) -> None:
        x = vector("x")
        y = add(x, x)
        fill = Python(_fill, destroys=(0,))
        f = compiled([x], [Device("read")(y), fill(y)], accept_inplace=True)
        self.assertEqual([[2.0, 4.0], [0.0, 0.0]], [r.tolist() for r in f(V)])

    def test_updates_see_the_old_values(self) -> None:
        w, v = shared(V), shared(10 * V)
        f = compiled([], Device("sum")(w, v), updates=[(w, Device("id")(v)), (v, Device("id")(w))])
        self.assertEqual(["3"], kinds(f))
        self.assertEqual([11.0, 22.0], f().tolist())
        self.assertEqual([10.0, 20.0], w.get_value().tolist())
        self.assertEqual([1.0, 2.0], v.get_value().tolist())

    def test_constants_come_in(self) -> None:
        x = vector("x")
        f = compiled([x], Device("sum")(Device("one")(x), constant(V)))
        self.assertEqual([2.0, 4.0], f(V).tolist())

    def test_results_that_nobody_reads(self) -> None:
        x = vector("x")
        f = compiled([x], Device("two")(Device("pair", n_outputs=2)(x)[1]))
        (cluster,) = instructions(f)
        self.assertEqual(1, len(cluster.outputs))
        self.assertEqual([2.0, 3.0], f(V).tolist())

    def test_long_chains(self) -> None:
        x = vector("x")
        y = x
        for i in range(3000):
            y = Device(str(i))(y)
        self.assertEqual(["3000"], kinds(compiled([x], y)))

    def test_random_graphs(self) -> None:
        for seed in range(60):
            rng = random.Random(seed)
            x = vector("x")
            outcome = [x, add(x, x)]
            for i in range(rng.randint(1, 25)):
                op: Any = rng.choice(
                    [add, mul, Device(str(i), rng.choice("ab")), Device(str(i), "a"), Device(str(i), "")]
                )
                outcome.append(op(rng.choice(outcome), rng.choice(outcome[-3:])))
            outputs = rng.sample(outcome[1:], min(3, len(outcome) - 1))
            expected, result = (
                compiled([x], outputs, linker=linker, on_unused_input="ignore")(V / 3) for linker in ("py", "cvm")
            )
            for got, want in zip(result, expected, strict=True):
                np.testing.assert_allclose(got, want, rtol=1e-12)


class TestWhereClustersAreOff(unittest.TestCase):
    def test_machines_that_look_at_nodes(self) -> None:
        for mode in ("FAST_COMPILE", "NanGuardMode", Mode("cvm_nogc", None), Mode("py", None)):
            with self.subTest(mode=mode):
                x = vector("x")
                f = function([x], Device("two")(Device("one")(x)), mode=mode)
                programs = [i for i in f.fn.program.instructions if isinstance(i.node.op, Cluster)]
                self.assertEqual([], programs)
                self.assertEqual([1.0, 2.0], f(V).tolist())

    def test_profiles(self) -> None:
        x = vector("x")
        f = compiled([x], Device("two")(Device("one")(x)), profile=True)
        f.profile.print_at_exit = False
        self.assertEqual(["Device{one}", "Device{two}"], kinds(f))


class TestErrors(unittest.TestCase):
    def test_the_node_inside_is_named(self) -> None:
        x, y = vector("x"), vector("y")
        f = compiled([x, y], Device("three")(Device("broken")(Device("one")(x), y)))
        with self.assertRaisesRegex(ValueError, "shapes differ") as caught:
            f(V, np.ones(3))
        text = str(caught.exception)
        self.assertIn("in `Device{broken}`, called at ", text)
        self.assertIn("test_clusters.py", text)
        self.assertIn("shape (3,)", text)
        self.assertNotIn("Cluster", text)
        self.assertEqual([2.0, 3.0], f(V, np.array([1.0, 1.0])).tolist())

    def test_updates_are_not_stored(self) -> None:
        x, w = vector("x"), shared(V)
        f = compiled([x], Device("sum")(w, x), updates=[(w, Device("id")(Device("one")(w)))])
        with self.assertRaisesRegex(ValueError, "shapes differ"):
            f(np.ones(3))
        self.assertEqual([1.0, 2.0], w.get_value().tolist())

    def test_a_cluster_is_not_applied(self) -> None:
        x = vector("x")
        (cluster,) = instructions(compiled([x], Device("one")(x)))
        with self.assertRaisesRegex(TypeError, "cannot be applied"):
            cluster.node.op.make_node(x)


class TestLazyPrograms(unittest.TestCase):
    def test_only_what_is_needed_in_the_same_calls_runs_together(self) -> None:
        runs = Runs()
        c, x = number("c"), vector("x")
        one, other = Device("one")(Device("0")(x)), Device("other")(runs.op("slow")(x))
        f = compiled([c, x], Choose()(c, one, other))
        self.assertEqual([1.0, 2.0], f(1.0, V).tolist())
        self.assertEqual({}, dict(runs.count))
        self.assertEqual([2.0, 3.0], f(0.0, V).tolist())
        self.assertEqual({"slow": 1}, dict(runs.count))

    def test_what_every_call_needs(self) -> None:
        c, x = number("c"), vector("x")
        both = Device("both")(x)
        f = compiled([c, x], [Choose()(c, Device("a")(both), Device("b")(both)), Device("c")(both)])
        self.assertIn("2", kinds(f))
        self.assertEqual([[1.0, 2.0], [1.0, 2.0]], [r.tolist() for r in f(1.0, V)])
        self.assertEqual([[1.0, 2.0], [1.0, 2.0]], [r.tolist() for r in f(0.0, V)])

    def test_random_graphs(self) -> None:
        for seed in range(40):
            rng = random.Random(seed)
            c, x = number("c"), vector("x")
            outcome = [x, add(x, x)]
            for i in range(rng.randint(4, 20)):
                if rng.random() < 0.25:
                    outcome.append(Choose()(c, rng.choice(outcome), rng.choice(outcome)))
                else:
                    op: Any = rng.choice([add, Device(str(i)), Device(str(i), "b")])
                    outcome.append(op(rng.choice(outcome), rng.choice(outcome[-3:])))
            outputs = rng.sample(outcome[1:], 2)
            for value in (0.0, 1.0):
                expected, result = (
                    compiled([c, x], outputs, linker=linker, on_unused_input="ignore")(value, V)
                    for linker in ("py", "cvm")
                )
                for got, want in zip(result, expected, strict=True):
                    np.testing.assert_allclose(got, want, rtol=1e-12)


def _fill(x: Any) -> Any:
    x[:] = 0
    return x


if __name__ == "__main__":
    unittest.main()
