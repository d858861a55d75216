"""Differences on purpose in graphs, rewriters and linkers: one class for each row of docs/differences.md."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano import gof
from theano.gof.opt import EquilibriumOptimizer, PatternSub
from theano_optimize import RewriteError


class TestCyclesAreRefusedAtOnce(unittest.TestCase):
    difference = "cycles-refused-at-once"

    def test_a_replacement_made_from_what_it_replaces(self) -> None:
        x = T.dvector("x")
        middle = T.exp(x)
        graph = gof.FunctionGraph([x], [T.tanh(middle)], clone=False)
        before = str(graph)
        with self.assertRaises(ValueError):
            graph.replace(middle, T.sin(middle))
        self.assertEqual(str(graph), before)


class TestConstantsMayBeInSeveralGraphs(unittest.TestCase):
    difference = "constants-in-any-graph"

    def test_a_graph_takes_a_constant_that_others_have(self) -> None:
        constant = T.constant(1)
        graphs = [gof.FunctionGraph([], [constant + 1], clone=False) for _ in range(2)]
        for graph in graphs:
            self.assertIn(constant, graph.variables)
        with self.assertRaises(gof.CachedConstantError):
            raise gof.CachedConstantError


class TestInputsAreListedOnce(unittest.TestCase):
    difference = "inputs-listed-once"

    def test_an_input_twice(self) -> None:
        x = T.dvector("x")
        with self.assertRaisesRegex(ValueError, "an input is given twice"):
            gof.FunctionGraph([x, x], [x + x], clone=False)


class TestGeneratedCode(unittest.TestCase):
    difference = "no-generated-text"

    def test_linkers_give_thunks_not_text(self) -> None:
        x = T.dscalar("x")
        accepted = gof.CLinker().accept(gof.FunctionGraph([x], [x * 4.125], clone=False))
        self.assertEqual(accepted.make_function()(2.0), 8.25)
        self.assertFalse(hasattr(accepted, "code_gen"))


class TestRulesWithoutEnd(unittest.TestCase):
    difference = "rules-without-end"

    def test_rules_that_undo_each_other(self) -> None:
        x = T.dvector("x")
        graph = gof.FunctionGraph([x], [T.exp(x)], clone=False)
        rules = [PatternSub((T.exp, "x"), (T.sin, "x")), PatternSub((T.sin, "x"), (T.exp, "x"))]
        with self.assertRaisesRegex(theano.TheanoError, "come back to the same expression"):
            EquilibriumOptimizer(rules, max_use_ratio=1.0).optimize(graph)

    def test_limits_leave_room(self) -> None:
        x = T.dvector("x")
        graph = gof.FunctionGraph([x], [T.exp(T.exp(x))], clone=False)
        EquilibriumOptimizer([PatternSub((T.exp, "x"), (T.sin, "x"))], max_use_ratio=0.5).optimize(graph)
        self.assertEqual(graph.toposort()[-1].op, T.sin)


class TestOpsWithoutCode(unittest.TestCase):
    difference = "ops-without-c-code"

    def test_there_is_no_method_that_refuses(self) -> None:
        class Doubled(gof.Op):
            __props__ = ()
            itypes = otypes = (T.dscalar,)

            def perform(self, node: Any, inputs: Any, outputs: Any, params: Any = None) -> None:
                outputs[0][0] = np.asarray(2 * inputs[0])

        op = Doubled()
        self.assertFalse(hasattr(op, "c_code"))
        self.assertIsInstance(op, gof.op.CLinkerOp)
        x = T.dscalar("x")
        self.assertEqual(theano.function([x], op(x), mode=theano.Mode("cvm", None))(3.0), 6.0)


class TestCollectionIsChosenWhenCompiled(unittest.TestCase):
    difference = "allow-gc-of-functions"

    def test_the_linker_says_it(self) -> None:
        x = T.dvector("x")
        middle = T.dot(x, x)
        outputs = [middle + 1]
        for frees in (True, False):
            f = theano.function([x], outputs, mode=theano.Mode(gof.VM_Linker(allow_gc=frees), None))
            f([1.0, 2.0])
            node = f.maker.fgraph.toposort()[0]
            self.assertEqual(f.fn.storage_map[node.outputs[0]][0] is None, frees)
            self.assertFalse(hasattr(f.fn, "allow_gc"))


class TestFailuresOfRewriters(unittest.TestCase):
    difference = "on-opt-error"

    def test_they_are_errors_by_default(self) -> None:
        self.assertEqual(theano.config.on_opt_error, "raise")


class TestRefusedReplacements(unittest.TestCase):
    difference = "refused-replacements"

    def test_the_error_names_the_rule(self) -> None:
        @theano.gof.local_optimizer([T.add])
        def to_single(node: Any) -> Any:
            return [node.outputs[0].astype("float32")]

        database = theano.gof.EquilibriumDB()
        database.register("to_single", to_single, "all")
        a = T.dvector()
        with self.assertRaisesRegex(RewriteError, "(?s)to_single.*float64.*float32"):
            theano.function([a], a + a, mode=theano.Mode("py", database.query("+all")))


class TestConstantsNotKept(unittest.TestCase):
    difference = "constants-not-kept"

    def test_equal_constants_become_one_when_compiled(self) -> None:
        a, b, x = T.constant(1.5), T.constant(1.5), T.dvector()
        self.assertIsNot(a, b)
        self.assertEqual(a.signature(), b.signature())
        f = theano.function([x], [T.exp(x + a), T.exp(x + b)])
        self.assertEqual(sum(isinstance(node.op, T.Elemwise) for node in f.maker.fgraph.toposort()), 1)


if __name__ == "__main__":
    unittest.main()
