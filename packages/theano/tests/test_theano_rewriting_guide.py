"""The examples of the guide to rewriting, as a reader of it would write them."""

from __future__ import annotations

import io
import unittest
from contextlib import redirect_stdout
from typing import Any

import theano
from theano import gof
from theano.compile import optdb
from theano.gof import Query, toolbox
from theano.gof.opt import MergeOptimizer, OpRemove, OpSub, PatternSub
from theano.scalar import add, float64, identity, mul, true_div


class Simplify(gof.Optimizer):
    """x * y / y is x."""

    def add_requirements(self, fgraph: Any) -> None:
        fgraph.attach_feature(toolbox.ReplaceValidate())

    def apply(self, fgraph: Any) -> None:
        for node in fgraph.toposort():
            if node.op == true_div:
                x, y = node.inputs
                z = node.outputs[0]
                if x.owner and x.owner.op == mul:
                    a, b = x.owner.inputs
                    if y == a:
                        fgraph.replace_validate(z, b)
                    elif y == b:
                        fgraph.replace_validate(z, a)


class SimplifyByNodeFinder(gof.Optimizer):
    """The same with the feature that finds nodes, the exercise of the guide."""

    def add_requirements(self, fgraph: Any) -> None:
        fgraph.attach_feature(toolbox.ReplaceValidate())
        fgraph.attach_feature(toolbox.NodeFinder())

    def apply(self, fgraph: Any) -> None:
        for node in fgraph.get_nodes(true_div):
            x, y = node.inputs
            if x.owner and x.owner.op == mul and y in x.owner.inputs:
                a, b = x.owner.inputs
                fgraph.replace_validate(node.outputs[0], b if y == a else a)


class LocalSimplify(gof.LocalOptimizer):
    """The same at one node."""

    def transform(self, node: Any) -> Any:  # type: ignore[override]  # the documented form has no graph
        if node.op == true_div:
            x, y = node.inputs
            if x.owner and x.owner.op == mul:
                a, b = x.owner.inputs
                if y == a:
                    return [b]
                elif y == b:
                    return [a]
        return False

    def tracks(self) -> Any:
        return []


class GuideCase(unittest.TestCase):
    def setUp(self) -> None:
        self.x, self.y, self.z = float64("x"), float64("y"), float64("z")

    def expression(self) -> Any:
        x, y, z = self.x, self.y, self.z
        return gof.FunctionGraph([x, y, z], [add(z, mul(true_div(mul(y, x), y), true_div(z, x)))])


class TestGlobal(GuideCase):
    def test_the_example(self) -> None:
        for simplify in (Simplify(), SimplifyByNodeFinder()):
            e = self.expression()
            self.assertEqual(str(e), "[add(z, mul(true_div(mul(y, x), y), true_div(z, x)))]")
            self.assertIsNone(simplify.optimize(e))
            self.assertEqual(str(e), "[add(z, mul(x, true_div(z, x)))]")

    def test_merging_first(self) -> None:
        x, y, z = self.x, self.y, self.z
        e: Any = gof.FunctionGraph([x, y, z], [true_div(mul(add(y, z), x), add(y, z))])
        simplify = Simplify()
        simplify.optimize(e)
        self.assertEqual(str(e), "[true_div(mul(add(y, z), x), add(y, z))]")
        result = MergeOptimizer().optimize(e)
        self.assertRegex(repr(result), r"^\(0, \d[^,]*, None, None, {}, 1, 0\)$")
        self.assertEqual(str(e), "[true_div(mul(*1 -> add(y, z), x), *1)]")
        simplify.optimize(e)
        self.assertEqual(str(e), "[x]")

    def test_equal_constants_are_counted(self) -> None:
        e: Any = gof.FunctionGraph([self.x], [add(mul(self.x, 2.0), mul(self.x, 2.0))])
        self.assertEqual(MergeOptimizer().optimize(e)[-2:], (1, 1))


class TestLocal(GuideCase):
    def test_with_a_navigator(self) -> None:
        e = self.expression()
        simplify = gof.TopoOptimizer(LocalSimplify())
        result = simplify.optimize(e)
        self.assertEqual(str(e), "[add(z, mul(x, true_div(z, x)))]")
        self.assertIs(result[0], simplify)
        self.assertEqual((len(result), result[1:4], result[7]), (8, (1, 5, 3), simplify.local_opt))
        self.assertRegex(repr(result), r"^\(<theano\.gof\.opt\.TopoOptimizer object at 0x[0-9a-f]+>, 1, 5, 3, ")

    def test_until_nothing_changes(self) -> None:
        x, y, z = self.x, self.y, self.z
        e: Any = gof.FunctionGraph([x, y, z], [true_div(mul(true_div(mul(x, y), y), z), z)])
        gof.EquilibriumOptimizer([LocalSimplify()]).optimize(e)
        self.assertEqual(str(e), "[x]")

    def test_shortcuts(self) -> None:
        x, y, z = self.x, self.y, self.z
        e: Any = gof.FunctionGraph([x, y], [add(identity(x), identity(y))])
        gof.in2out(OpSub(add, mul), OpRemove(identity)).optimize(e)
        self.assertEqual(str(e), "[mul(x, y)]")
        local_simplify_1 = PatternSub((true_div, (mul, "x", "y"), "y"), "x")
        local_simplify_2 = PatternSub((true_div, (mul, "x", "y"), "x"), "y")
        for numerator in (mul(x, z), mul(z, x)):
            e = gof.FunctionGraph([x, z], [true_div(numerator, z)])
            gof.out2in(local_simplify_1, local_simplify_2).optimize(e)
            self.assertEqual(str(e), "[x]")

    def test_a_dict_replaces_any_node(self) -> None:
        @gof.local_optimizer([identity])
        def skip_the_client(node: Any) -> Any:
            client, _ = node.outputs[0].clients[0]
            return False if client == "output" else {client.outputs[0]: node.inputs[0], "remove": [client]}

        x, y = self.x, self.y
        e: Any = gof.FunctionGraph([x, y], [add(mul(identity(x), y), y)])
        gof.in2out(skip_the_client).optimize(e)
        self.assertEqual(str(e), "[add(x, y)]")


class TestDatabase(unittest.TestCase):
    def tearDown(self) -> None:
        for name in ("simplify_of_guide", "local_simplify_of_guide"):
            for database in (optdb, optdb["canonicalize"]):
                if name in database:
                    database.remove(name)

    def test_kinds(self) -> None:
        self.assertIsInstance(optdb, gof.SequenceDB)
        self.assertIsInstance(optdb, gof.DB)
        for name in ("canonicalize", "specialize"):
            self.assertIsInstance(optdb[name], gof.EquilibriumDB)
        self.assertTrue(issubclass(gof.EquilibriumDB, gof.DB))
        self.assertNotIsInstance(optdb, gof.EquilibriumDB)

    def test_positions(self) -> None:
        positions = optdb.__position__
        for name, position in (
            ("merge1", 0),
            ("canonicalize", 1),
            ("specialize", 2),
            ("merge2", 49),
            ("add_destroy_handler", 49.5),
            ("merge3", 100),
        ):
            self.assertEqual(positions[name], position)

    def test_queries(self) -> None:
        query = Query(include=["fast_run"], require=None, exclude=["inplace"], subquery={"canonicalize": Query(["x"])})
        self.assertEqual((query.include, query.require, query.exclude), ({"fast_run"}, set(), {"inplace"}))
        self.assertEqual(query.subquery, {"canonicalize": Query(["x"])})
        refined = query.including("a").requiring("b").excluding("c")
        self.assertEqual((refined.include, refined.require), ({"fast_run", "a"}, {"b"}))
        self.assertEqual(refined.exclude, {"inplace", "c"})
        for name in ("fast_run", "fast_compile"):
            self.assertIn("merge1", optdb.query(Query(include=[name])).labels)
        without = optdb.query(Query(include=["fast_run"], exclude=["inplace"]))
        self.assertNotIn("add_destroy_handler", without.labels)

    def test_registering_a_global_optimizer(self) -> None:
        x, y = theano.tensor.dscalars("x", "y")
        ran = []

        @gof.optimizer
        def note(fgraph: Any) -> None:
            ran.append(str(fgraph))

        optdb.register("simplify_of_guide", note, 0.5, "fast_run")
        before = theano.function([x, y], x + y, mode="FAST_RUN")
        self.assertEqual(len(ran), 1)
        theano.function([x, y], x + y, mode="FAST_COMPILE")
        optdb.remove("simplify_of_guide")
        theano.function([x, y], x + y, mode="FAST_RUN")
        self.assertEqual(len(ran), 1)
        self.assertEqual(before(1, 2), 3)

    def test_registering_a_local_optimizer(self) -> None:
        x = theano.tensor.dscalar("x")

        @gof.local_optimizer([theano.tensor.exp])
        def exp_is_square(node: Any) -> Any:
            return [node.inputs[0] ** 2]

        optdb["canonicalize"].register("local_simplify_of_guide", exp_is_square, "fast_run")
        mode = theano.compile.get_mode("FAST_RUN")
        self.assertEqual(theano.function([x], theano.tensor.exp(x), mode=mode)(3), 9)
        left_out = mode.excluding("local_simplify_of_guide")
        self.assertAlmostEqual(float(theano.function([x], theano.tensor.exp(x), mode=left_out)(0)), 1.0)

    def test_summaries(self) -> None:
        for name in ("o1", "o2", "o3", "o4", "Stabilization", "unsafe"):
            out = io.StringIO()
            with redirect_stdout(out):
                optdb.query(theano.compile.predefined_optimizers[name]).print_summary()
            self.assertIn("merge1", out.getvalue())
        self.assertIn("canonicalize", out.getvalue())


if __name__ == "__main__":
    unittest.main()
