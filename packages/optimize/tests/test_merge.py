from __future__ import annotations

import unittest
from typing import Any

from arithmetic import (
    POSITIVE,
    REAL,
    RealOp,
    Scale,
    add,
    const,
    div_mod,
    draw,
    evaluate,
    exp,
    fired,
    graph,
    identity,
    mul,
    neg,
    ops_of,
    overwrite,
    real,
    sub,
    view,
)

from theano_graph import Apply, Constant, FunctionGraph, Variable
from theano_optimize import MergeRewriter, is_destroyed
from theano_optimize._merge import FEW_OPS, MergeTable


def merged(inputs: list[Variable], *outputs: Variable) -> FunctionGraph:
    """Return the graph of some outputs after a merge."""
    fgraph = graph(inputs, *outputs)
    MergeRewriter().rewrite(fgraph)
    fgraph.check_integrity()
    return fgraph


class TestMergingNodes(unittest.TestCase):
    def test_the_example_of_the_manual(self) -> None:
        x, y, z = real("x"), real("y"), real("z")
        fgraph = merged([x, y, z], sub(mul(add(y, z), x), add(y, z)))
        self.assertEqual(str(fgraph), "[Sub(Mul(*1 -> Add(y, z), x), *1)]")

    def test_equal_towers_become_one(self) -> None:
        x = real("x")
        left, right = x, x
        for _ in range(50):
            left, right = exp(neg(left)), exp(neg(right))
        fgraph = merged([x], add(left, right))
        self.assertEqual(len(fgraph.apply_nodes), 101)

    def test_the_order_of_inputs_counts(self) -> None:
        x, y = real("x"), real("y")
        self.assertEqual(ops_of(merged([x, y], add(x, y), add(y, x))), ["Add", "Add"])

    def test_parameters_of_ops_count(self) -> None:
        x = real("x")
        fgraph = merged([x], Scale(2.0)(x), Scale(3.0)(x), Scale(2.0)(x))
        self.assertEqual(len(fgraph.apply_nodes), 2)
        self.assertEqual(evaluate(fgraph, [5.0]), [10.0, 15.0, 10.0])

    def test_several_outputs(self) -> None:
        x, y = real("x"), real("y")
        fgraph = merged([x, y], div_mod(x, y)[0], div_mod(x, y)[1])
        self.assertEqual(ops_of(fgraph), ["DivMod"])
        self.assertEqual(evaluate(fgraph, [7.0, 2.0]), [3.0, 1.0])

    def test_types_of_outputs_must_agree(self) -> None:
        class Absolute(RealOp):
            def make_node(self, *inputs: Any) -> Apply:
                return Apply(self, list(inputs), [self.result()])

            result = REAL

        x = real("x")
        first, refined, third = Absolute(), Absolute(), Absolute()
        refined.result = third.result = POSITIVE
        fgraph = merged([x], first(x), refined(x), third(x))
        self.assertEqual([v.type for v in fgraph.outputs], [REAL, POSITIVE, POSITIVE])
        self.assertEqual(len(fgraph.apply_nodes), 2)

    def test_marked_ops_stay_apart(self) -> None:
        x = real("x")
        self.assertEqual(ops_of(merged([x], draw(x), draw(x))), ["Draw", "Draw"])

    def test_destroying_ops_stay_apart(self) -> None:
        x = real("x")
        self.assertEqual(ops_of(merged([x], overwrite(x), overwrite(x))), ["Overwrite", "Overwrite"])

    def test_values_that_are_destroyed_stay_apart(self) -> None:
        x = real("x")
        direct = merged([x], overwrite(neg(x)), neg(x))
        self.assertEqual(ops_of(direct), ["Neg", "Overwrite", "Neg"])
        through_a_view = merged([x], overwrite(view(neg(x))), neg(x))
        self.assertEqual(ops_of(through_a_view), ["Neg", "View", "Overwrite", "Neg"])

    def test_other_values_of_such_a_graph_are_merged(self) -> None:
        x = real("x")
        self.assertEqual(ops_of(merged([x], overwrite(neg(x)), exp(x), exp(x))), ["Neg", "Overwrite", "Exp"])

    def test_names_are_kept(self) -> None:
        x = real("x")
        first, second = exp(x), exp(x)
        second.name = "e"
        self.assertEqual(merged([x], first, second).outputs[0].name, "e")

    def test_the_first_in_topological_order_stays(self) -> None:
        x = real("x")
        first, second = exp(x), exp(x)
        fgraph = merged([x], neg(second), first)
        self.assertIs(fgraph.outputs[1], second)


class TestMergingConstants(unittest.TestCase):
    def test_equal_constants_become_one(self) -> None:
        x = real("x")
        fgraph = merged([x], add(mul(x, const(2)), mul(x, const(2))))
        self.assertEqual(ops_of(fgraph), ["Mul", "Add"])
        constants = [v for v in fgraph.variables if isinstance(v, Constant)]
        self.assertEqual([c.data for c in constants], [2.0])

    def test_different_values_and_types_stay_apart(self) -> None:
        x = real("x")
        two = POSITIVE.make_constant(2)
        fgraph = merged([x], mul(x, const(2)), mul(x, const(3)), mul(x, two))
        self.assertEqual(len([v for v in fgraph.variables if isinstance(v, Constant)]), 3)

    def test_zeros_of_different_sign_stay_apart(self) -> None:
        x = real("x")
        fgraph = merged([x], mul(x, const(0.0)), mul(x, const(-0.0)))
        self.assertEqual([str(v) for v in evaluate(fgraph, [1.0])], ["0.0", "-0.0"])

    def test_constants_count_as_changes(self) -> None:
        x = real("x")
        profile = MergeRewriter().rewrite(graph([x], add(x, const(1)), sub(x, const(1))))
        self.assertEqual(fired(profile), {"merge_constants": 1})

    def test_constants_that_left_are_forgotten(self) -> None:
        x = real("x")
        fgraph = graph([x], neg(add(x, const(1))))
        merge = MergeRewriter()
        merge.rewrite(fgraph)
        fgraph.replace(fgraph.outputs[0], add(x, const(2)))
        merge.rewrite(fgraph)
        # A constant equal to the one that left comes back: it must not be exchanged for the forgotten one.
        again = const(1)
        fgraph.replace(fgraph.outputs[0], sub(x, again))
        self.assertEqual(merge.rewrite(fgraph).changes, 0)
        self.assertIs(fgraph.outputs[0].owner.inputs[1], again)


class TestMergingAgain(unittest.TestCase):
    def test_only_what_changed_is_looked_at(self) -> None:
        x = real("x")
        v = x
        for _ in range(100):
            v = exp(neg(v))
        fgraph = graph([x], v, identity(x))
        merge = MergeRewriter()
        self.assertEqual(merge.rewrite(fgraph).visits, 201)
        self.assertEqual(merge.rewrite(fgraph).visits, 0)
        fgraph.replace(fgraph.outputs[1], exp(neg(x)))
        profile = merge.rewrite(fgraph)
        self.assertEqual((profile.changes, profile.visits), (2, 2))
        self.assertEqual(len(fgraph.apply_nodes), 200)

    def test_a_changed_input_is_noticed(self) -> None:
        x, y = real("x"), real("y")
        fgraph = graph([x, y], exp(x), exp(y))
        merge = MergeRewriter()
        self.assertEqual(merge.rewrite(fgraph).changes, 0)
        fgraph.change_input(fgraph.outputs[1].owner, 0, x)
        self.assertEqual(merge.rewrite(fgraph).changes, 1)
        self.assertIs(fgraph.outputs[0], fgraph.outputs[1])

    def test_ops_that_are_gone_are_forgotten(self) -> None:
        x = real("x")
        fgraph = graph([x], Scale(-1.0)(x), identity(x))
        merge = MergeRewriter()
        for i in range(300):
            fgraph.replace_all([(fgraph.outputs[1], mul(Scale(float(i))(x), Scale(float(i))(x)))])
            self.assertEqual(merge.rewrite(fgraph).changes, 1)
        (table,) = (feature for feature in fgraph.features if isinstance(feature, MergeTable))
        self.assertLess(len(table._number_of), 2 * FEW_OPS + 8)
        fgraph.replace(fgraph.outputs[1], Scale(-1.0)(x))
        self.assertEqual(merge.rewrite(fgraph).changes, 1)
        self.assertIs(fgraph.outputs[0], fgraph.outputs[1])
        fgraph.check_integrity()

    def test_a_pruned_node_is_not_merged_into(self) -> None:
        x = real("x")
        fgraph = graph([x], exp(x))
        merge = MergeRewriter()
        merge.rewrite(fgraph)
        fgraph.replace(fgraph.outputs[0], x)
        fgraph.change_input("output", 0, neg(exp(x)))
        self.assertEqual(merge.rewrite(fgraph).changes, 0)
        fgraph.check_integrity()

    def test_one_table_serves_all_merges(self) -> None:
        x = real("x")
        fgraph = graph([x], exp(x))
        MergeRewriter("one").rewrite(fgraph)
        MergeRewriter("two").rewrite(fgraph)
        self.assertEqual(len(fgraph.features), 1)

    def test_a_copy_of_the_graph_gets_a_table_of_its_own(self) -> None:
        x = real("x")
        fgraph = graph([x], neg(exp(x)))
        MergeRewriter().rewrite(fgraph)
        copy, _ = fgraph.clone_get_equiv()
        copy.replace(copy.outputs[0], add(copy.outputs[0].owner.inputs[0], exp(copy.inputs[0])))
        self.assertEqual(MergeRewriter().rewrite(copy).changes, 1)
        self.assertEqual((ops_of(fgraph), ops_of(copy)), (["Exp", "Neg"], ["Exp", "Add"]))
        copy.check_integrity()

    def test_a_table_can_be_moved(self) -> None:
        x = real("x")
        first, second = graph([x], exp(x)), graph([x], exp(x), exp(x))
        MergeRewriter().rewrite(first)
        (table,) = first.features
        first.remove_feature(table)
        second.attach_feature(table)
        self.assertEqual(MergeRewriter().rewrite(second).changes, 1)
        second.check_integrity()


class TestIsDestroyed(unittest.TestCase):
    def test_directly_through_views_and_not_at_all(self) -> None:
        x = real("x")
        a, b, c = neg(x), exp(x), identity(x)
        fgraph = graph([x], overwrite(a), overwrite(view(view(b))), neg(view(c)))
        self.assertEqual([is_destroyed(fgraph, v) for v in (a, b, c, x)], [True, True, False, False])


if __name__ == "__main__":
    unittest.main()
