"""The documented names of `theano.tensor.opt`, as programs use them."""

from __future__ import annotations

import unittest
from math import prod
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano.gof import FunctionGraph
from theano.tensor import opt


class TestTools(unittest.TestCase):
    def test_upcasts(self) -> None:
        self.assertTrue(opt.is_an_upcast("float32", "float64"))
        self.assertTrue(opt.is_an_upcast("int8", "float32"))
        self.assertFalse(opt.is_an_upcast("float64", "float32"))
        self.assertFalse(opt.is_an_upcast("float32", "int64"))
        self.assertFalse(opt.is_an_upcast("float32", "float32"))

    def test_encompasses_broadcastable(self) -> None:
        self.assertTrue(opt.encompasses_broadcastable((False, False), (True, False)))
        self.assertTrue(opt.encompasses_broadcastable((False, False), (False,)))
        self.assertFalse(opt.encompasses_broadcastable((True, False), (False, False)))
        self.assertFalse(opt.encompasses_broadcastable((False,), (False, False)))

    def test_broadcast_like(self) -> None:
        x = T.dmatrix("x")
        graph = FunctionGraph([x], [x + 1], clone=False)
        like = opt.broadcast_like(3, x, graph, dtype="float32")
        self.assertEqual((like.type.dtype, like.type.broadcastable), ("float32", x.type.broadcastable))
        np.testing.assert_array_equal(like.eval({x: np.zeros((2, 3))}), np.full((2, 3), 3))
        with self.assertRaisesRegex(ValueError, "of the graph"):
            opt.broadcast_like(3, T.dvector("y"), graph)

    def test_clients(self) -> None:
        x = T.dvector("x")
        y: Any = T.exp(x)
        z: Any = T.log(y)
        graph = FunctionGraph([x], [z * 2, y + 1], clone=False)
        users = {str(node.op) for node in opt.get_clients(y.owner)}
        self.assertEqual(users, {str(z.owner.op), str(T.add)})
        self.assertEqual([node.op for node in opt.get_clients2(y.owner)], [T.mul])
        self.assertEqual(len(graph.apply_nodes), 6)

    def test_scalarconsts_rest(self) -> None:
        x = T.dvector("x")
        two = T.constant(2.0)
        consts, origins, others = opt.scalarconsts_rest([x, two, T.fill(x, 3.0)])
        self.assertEqual([float(c) for c in consts], [2.0, 3.0])
        self.assertIs(origins[0], two)
        self.assertEqual(others, [x])
        self.assertEqual(len(opt.scalarconsts_rest([T.fill(x, 3.0)], elemwise=False)[0]), 0)
        self.assertEqual(len(opt.scalarconsts_rest([T.fill(x, 3.0)], only_process_constants=True)[0]), 0)

    def test_sign_of_quotient(self) -> None:
        x, y = T.dvectors("x", "y")
        num, denum = opt.check_for_x_over_absX([x, y], [abs(x), y])
        self.assertEqual(num[0].owner.op, T.sgn)
        self.assertEqual((num[1:], denum), ([y], [y]))

    def test_rebroadcasts(self) -> None:
        x = T.dcol("x")
        self.assertIs(opt.apply_rebroadcast_opt(T.Rebroadcast((1, True))(x)), x)
        y: Any = opt.apply_rebroadcast_opt(T.Rebroadcast((0, True))(T.exp(x)))
        self.assertEqual((y.owner.op, y.type.broadcastable), (T.exp, (True, True)))

    def test_slices(self) -> None:
        full = np.arange(20)
        for first, second in (
            (slice(2, 17, 3), slice(None, None, -1)),
            (slice(None, 3, -2), slice(1, 6)),
            (slice(5), 2),
        ):
            left = len(full[first])
            merged: Any = opt.merge_two_slices(first, 20, second, left)
            if isinstance(second, slice):
                parts = [int(part.eval()) for part in (merged.start, merged.stop, merged.step)]
                np.testing.assert_array_equal(full[slice(*parts)], full[first][second])
            else:
                self.assertEqual(full[int(merged.eval())], full[first][second])
        with self.assertRaisesRegex(TypeError, "no slice"):
            opt.merge_two_slices(3, 20, slice(2), 1)  # type: ignore[arg-type]  # this is refused

    def test_rewrites_are_attributes(self) -> None:
        self.assertEqual(opt.local_neg_neg.name, "local_neg_neg")
        self.assertIs(opt.local_dimshuffle_lift, opt.local_dimshuffle_lift)
        with self.assertRaisesRegex(AttributeError, "local_nothing"):
            opt.local_nothing  # noqa: B018  # the test is the access


class TestFusion(unittest.TestCase):
    def test_one_step(self) -> None:
        x = T.dvector("x")
        y: Any = T.exp(x) * x
        graph = FunctionGraph([x], [y], clone=False)
        (new,) = opt.local_elemwise_fusion.transform(y.owner)
        self.assertEqual(len(new.owner.inputs), 1)
        np.testing.assert_allclose(new.eval({x: [0.0, 1.0]}), np.exp([0.0, 1.0]) * [0.0, 1.0])
        limited = opt.local_elemwise_fusion_op(type(T.exp), lambda node: 0)
        self.assertIs(limited(y.owner), False)
        self.assertEqual(len(graph.outputs), 1)

    def test_whole_graph(self) -> None:
        x = T.dvector("x")
        graph = FunctionGraph([x], [T.tanh(T.exp(x) * x) + 1])
        opt.FusionOptimizer(opt.local_elemwise_fusion).optimize(graph)
        loops = [node for node in graph.apply_nodes if isinstance(node.op, type(T.exp))]
        self.assertEqual(len(loops), 1)

    def test_sums(self) -> None:
        x, y, z = T.dvectors("x", "y", "z")
        total: Any = (x + y) + z
        graph = FunctionGraph([x, y, z], [total], clone=False)
        (new,) = opt.local_add_mul_fusion(total.owner)
        self.assertEqual(new.owner.inputs, [x, y, z])
        self.assertEqual(len(graph.inputs), 3)


class TestCanonizer(unittest.TestCase):
    """The examples of the manual."""

    def setUp(self) -> None:
        self.mul = opt.Canonizer(T.mul, T.true_div, T.inv, lambda n, d: prod(n) / prod(d))
        self.add = opt.Canonizer(T.add, T.sub, T.neg, lambda n, d: sum(n) - sum(d))

    def test_numerators_and_denominators(self) -> None:
        a, b, c, d = T.dscalars("a", "b", "c", "d")
        cases = [
            (a * b, [a, b], []),
            (T.inv(a), [], [a]),
            (T.inv(a) * T.inv(b), [], [a, b]),
            (a * b / c, [a, b], [c]),
            (((a / b) * c) / d, [a, c], [b, d]),
            (a / (b / c), [a, c], [b]),
        ]
        for expression, num, denum in cases:
            self.assertEqual(self.mul.get_num_denum(expression), (num, denum))
        full = T.log(a)
        self.assertEqual(self.mul.get_num_denum(full), ([full], []))

    def test_constants(self) -> None:
        x, y, z = T.dscalars("x", "y", "z")
        num, denum = self.mul.simplify_constants([2, 3, x], [])
        self.assertEqual((float(num[0].data), num[1:], denum), (6.0, [x], []))
        num, denum = self.mul.simplify_constants([x, y, 2], [4, z])
        self.assertEqual((float(num[0].data), num[1:], denum), (0.5, [x, y], [z]))
        self.assertEqual(self.mul.simplify_constants([x, 2, y], [z, 2]), ([x, y], [z]))
        self.assertEqual(opt.Canonizer.get_constant(T.constant(3.0)), 3.0)
        self.assertIsNone(opt.Canonizer.get_constant(x))

    def test_factors(self) -> None:
        a, b, c, d = T.dscalars("a", "b", "c", "d")
        self.assertEqual(self.mul.simplify_factors([a], [a]), ([], []))
        self.assertEqual(self.mul.simplify_factors([a, b], [a]), ([b], []))
        self.assertEqual(self.mul.simplify_factors([a, b], [c, d]), ([a, b], [c, d]))

    def test_merging(self) -> None:
        a, b = T.dscalars("a", "b")
        values = {a: 3.0, b: 4.0}
        for num, denum, value in (
            ([], [], 1.0),
            ([a], [], 3.0),
            ([], [a], 1 / 3),
            ([a], [b], 0.75),
            ([], [a, b], 1 / 12),
            ([a, b], [], 12.0),
            ([a, b], [a, b], 1.0),
        ):
            result = self.mul.merge_num_denum(num, denum)
            used = {v: values[v] for v in {*num, *denum}}
            self.assertAlmostEqual(float(result.eval(used)), value)

    def test_in_a_graph(self) -> None:
        x, y, z = T.dvectors("x", "y", "z")
        values = {x: [2.0, 3.0], y: [4.0, 5.0], z: [0.5, 0.25]}
        for canonizer, expression, left in (
            (self.mul, x / y / x, 1),
            (self.mul, (x * y) / x, 0),
            (self.mul, (2.0 * x) / (4.0 * y), 2),
            (self.add, x + y - x, 0),
            (self.add, (x + 1.0) + (z + 2.0) - z, 1),
        ):
            graph = FunctionGraph([x, y, z], [expression])
            theano.gof.opt.in2out(canonizer).optimize(graph)
            loops = [n for n in graph.apply_nodes if n.op in (T.mul, T.true_div, T.inv, T.add, T.sub)]
            self.assertEqual(len(loops), left, str(graph))
            f: Any = theano.function(
                graph.inputs, graph.outputs[0], mode=theano.Mode("py", None), on_unused_input="ignore"
            )
            g: Any = theano.function([x, y, z], expression, mode=theano.Mode("py", None), on_unused_input="ignore")
            np.testing.assert_allclose(f(*values.values()), g(*values.values()))


class TestShapes(unittest.TestCase):
    def test_a_rewrite_that_asks_for_shapes(self) -> None:
        x = T.dmatrix("x")
        seen: list[Any] = []

        @theano.gof.local_optimizer([T.tanh])
        def look(node: Any) -> Any:
            seen.append(node.fgraph.shape_feature.shape_of[node.outputs[0]])
            return False

        graph = FunctionGraph([x], [T.tanh(T.dot(x, x.T))])
        opt.ShapeOptimizer().rewrite(graph)
        theano.gof.opt.in2out(look).optimize(graph)
        (shape,) = seen
        self.assertEqual([length.eval({graph.inputs[0]: np.zeros((2, 3))}) for length in shape], [2, 2])
        opt.UnShapeOptimizer().rewrite(graph)
        self.assertFalse(hasattr(graph, "shape_feature"))


class TestDatabases(unittest.TestCase):
    """Phases to which programs add rewrites, and rewrites that modes include by name."""

    def test_phases_of_programs(self) -> None:
        def log1p(node: theano.Apply) -> Any:
            return [T.log1p(node.inputs[0] - 1)]

        x = T.dvector("x")
        phases = (("useless", opt.register_useless), ("specialize_device", opt.register_specialize_device))
        for number, (phase, register) in enumerate(phases):
            name = f"log1p_for_a_test_{number}"
            rule = theano.gof.local_optimizer([T.log])(log1p)
            rule.__name__ = name
            self.assertIs(register("fast_compile")(rule), rule)
            self.assertIn(name, theano.compile.optdb[phase])
            try:
                for mode, expected in (("FAST_RUN", True), ("FAST_COMPILE", True)):
                    text = str(theano.function([x], T.log(x), mode=mode).maker.fgraph)
                    self.assertIs("log1p" in text, expected)
                without = theano.compile.get_mode("FAST_RUN").excluding(name)
                self.assertNotIn("log1p", str(theano.function([x], T.log(x), mode=without).maker.fgraph))
            finally:
                theano.compile.optdb[phase].remove(name)
        self.assertEqual(theano.compile.optdb.__position__["useless"], 0.6)
        self.assertEqual(theano.compile.optdb.__position__["specialize_device"], 48.6)
        self.assertIs(theano.compile.optdb["useless"].database, theano.compile.mode.local_useless)

    def test_old_rewrites_are_included_by_name(self) -> None:
        row = T.TensorType("float64", (True, False))("row")
        increment = T.inc_subtensor(T.zeros_like(T.dvector("y"))[1:], 2.0)
        cases = (
            ("local_reshape_dimshuffle", T.dvector("v").dimshuffle("x", 0).reshape((2, -1)), "DimShuffle{x,0}"),
            ("local_dimshuffle_subtensor", row[:, ::2].dimshuffle(1), "DimShuffle{1}"),
            ("local_view_op", theano.compile.view_op(T.dvector("w")) + 1, "ViewOp"),
            ("local_incsubtensor_of_zeros_to_setsubtensor", increment, "Inc;"),
        )
        for name, expression, gone in cases:
            with self.subTest(name):
                inputs = [v for v in theano.gof.graph.inputs([expression]) if not isinstance(v, theano.Constant)]
                phase = next(p for p in ("canonicalize", "uncanonicalize") if name in theano.compile.optdb[p])
                fgraph = FunctionGraph(inputs, [expression], clone=True)
                theano.compile.optdb.query(f"+{phase}").optimize(fgraph)
                self.assertIn(gone, str(fgraph))
                theano.compile.optdb.query("+canonicalize", "+uncanonicalize", f"+{name}").optimize(fgraph)
                self.assertNotIn(gone, str(fgraph))

    def test_a_selection_gives_what_is_used(self) -> None:
        x = T.dvector("x")
        (node,) = theano.function([x], T.topk_and_argtopk(x, 2)[1], mode="FAST_RUN").maker.fgraph.toposort()
        self.assertEqual((node.op.return_values, node.op.return_indices), (False, True))
        self.assertEqual(opt.local_useless_topk.__name__, "local_useless_topk")
