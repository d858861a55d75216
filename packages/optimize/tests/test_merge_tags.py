"""Merging of variables with tags, and merging in the graphs inside ops."""

from __future__ import annotations

import copy
import pickle
import unittest
from typing import Any

from arithmetic import REAL, RealOp, add, const, exp, graph, mul, neg, ops_of, real

from theano_graph import Apply, Constant, FunctionGraph, Variable, config
from theano_optimize import MergeRewriter


def merged(inputs: list[Variable], *outputs: Variable) -> FunctionGraph:
    fgraph = graph(inputs, *outputs)
    MergeRewriter().rewrite(fgraph)
    fgraph.check_integrity()
    return fgraph


class TestTags(unittest.TestCase):
    def test_marked_differently(self) -> None:
        x = real("x")
        a, b, c = neg(x), neg(x), neg(x)
        a.tag.nan_guard_mode_check = False
        fgraph = merged([x], a, b, c)
        self.assertEqual(ops_of(fgraph), ["Neg", "Neg"])
        first, second, third = fgraph.outputs
        self.assertIs(second, third)
        self.assertFalse(first.tag.nan_guard_mode_check)
        self.assertFalse(hasattr(second.tag, "nan_guard_mode_check"))

    def test_marked_alike(self) -> None:
        x = real("x")
        a, b = neg(x), neg(x)
        a.tag.place = b.tag.place = ["a list"]
        self.assertEqual(ops_of(merged([x], a, b)), ["Neg"])
        x = real("x")
        a, b = neg(x), neg(x)
        a.tag.place, b.tag.place = ["one"], ["another"]
        self.assertEqual(ops_of(merged([x], a, b)), ["Neg", "Neg"])

    def test_nodes_marked_differently(self) -> None:
        x = real("x")
        a, b = neg(x), neg(x)
        a.owner.tag.stage = 1
        b.owner.tag.stage = 2
        self.assertEqual(ops_of(merged([x], a, b)), ["Neg", "Neg"])

    def test_notes_go_to_what_remains(self) -> None:
        x = real("x")
        a, b = neg(x), neg(x)
        b.name = "b"
        b.tag.test_value = -2.0
        b.tag.trace = [[("model.py", 3, "f", "b = -x")]]
        fgraph = merged([x], a, b)
        self.assertEqual(ops_of(fgraph), ["Neg"])
        (saved, _) = fgraph.outputs
        self.assertEqual((saved.name, saved.tag.test_value, saved.tag.trace[0][0][1]), ("b", -2.0, 3))

    def test_own_notes_stay(self) -> None:
        x = real("x")
        x.tag.test_value = 1.0
        with config.change_flags(compute_test_value="raise"):
            a, b = exp(neg(x)), exp(neg(x))
        b.tag.test_value = 7.0
        fgraph = merged([x], a, b)
        self.assertEqual(ops_of(fgraph), ["Neg", "Exp"])
        self.assertEqual(fgraph.outputs[0].tag.test_value, a.tag.test_value)

    def test_an_origin_is_handed_over(self) -> None:
        x = real("x")
        a, b = neg(x), neg(x)
        a.origin = a.owner.origin = None
        fgraph = merged([x], a, b)
        self.assertEqual(str(fgraph.outputs[0].origin), str(b.origin))
        self.assertEqual(str(fgraph.outputs[0].owner.origin), str(b.owner.origin))


class TestConstants(unittest.TestCase):
    def constants_of(self, *values: Any) -> list[Constant]:
        x = real("x")
        fgraph = merged([x], *(add(x, v) for v in values))
        return [v for v in fgraph.variables if isinstance(v, Constant)]

    def test_not_a_number(self) -> None:
        self.assertEqual(len(self.constants_of(const(float("nan")), const(float("nan")))), 1)

    def test_names_and_marks(self) -> None:
        named = REAL.make_constant(2.0, name="two")
        (saved,) = self.constants_of(const(2.0), named)
        self.assertEqual(saved.name, "two")
        marked = const(3.0)
        marked.tag.indestructible = True
        self.assertEqual(len(self.constants_of(const(3.0), marked)), 2)


class Inner(RealOp):
    """An op that runs a graph, equal to itself only."""

    def __init__(self, inputs: list[Variable], outputs: list[Variable]) -> None:
        self.fgraph = FunctionGraph(inputs, outputs)
        self.nin = len(inputs)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, list(inputs), [REAL() for _ in self.fgraph.outputs])


class TestGraphsInsideOps(unittest.TestCase):
    def test_a_merged_graph_can_be_pickled(self) -> None:
        x, z = real("x"), real("z")
        op = Inner([x], [add(neg(x), neg(x))])
        fgraph = pickle.loads(pickle.dumps(merged([z], op(z))))
        self.assertEqual(ops_of(fgraph.outputs[0].owner.op.fgraph), ["Neg", "Add"])
        self.assertEqual(MergeRewriter().rewrite(fgraph).changes, 0)

    def test_merged_at_any_depth(self) -> None:
        x, y = real("x"), real("y")
        innermost = Inner([y], [add(neg(y), neg(y))])
        x = real("x")
        op = Inner([x], [mul(innermost(x), exp(x)), mul(innermost(x), exp(x))])
        z = real("z")
        fgraph = graph([z], *op(z))
        profile = MergeRewriter().rewrite(fgraph)
        self.assertEqual(ops_of(op.fgraph), ["Exp", "Inner", "Mul"])
        self.assertIs(op.fgraph.outputs[0], op.fgraph.outputs[1])
        self.assertEqual(ops_of(innermost.fgraph), ["Neg", "Add"])
        self.assertEqual(profile.rules, {"merge_nodes": 4})
        self.assertEqual((op.fgraph.features, innermost.fgraph.features), ((), ()))
        self.assertEqual(MergeRewriter().rewrite(fgraph).changes, 0)

    def test_one_op_on_the_same_inputs(self) -> None:
        x, z = real("x"), real("z")
        op = Inner([x], [neg(x)])
        fgraph = merged([z], add(op(z), op(z)))
        self.assertEqual(ops_of(fgraph), ["Inner", "Add"])
        self.assertEqual(ops_of(copy.copy(op).fgraph), ["Neg"])


if __name__ == "__main__":
    unittest.main()
