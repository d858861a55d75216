"""Optimizers, local optimizers, navigators, groups and databases under the names of Theano 1.0."""

from __future__ import annotations

import io
import pickle
import unittest
import warnings
from typing import Any
from unittest import mock

import theano
from theano import gof
from theano.compile.mode import AddDestroyHandler
from theano.gof import destroyhandler, opt, toolbox
from theano.scalar import add, exp, float64, identity, mul, neg, sub

x, y, z = float64("x"), float64("y"), float64("z")


def graph(*outputs: Any) -> Any:
    """Return a function graph of x, y and z."""
    return gof.FunctionGraph([x, y, z], list(outputs))


@gof.local_optimizer([neg])
def neg_neg(node: Any) -> Any:
    """-(-x) is x."""
    inner = node.inputs[0].owner
    return [inner.inputs[0]] if inner is not None and inner.op == neg else None


@gof.local_optimizer(None)
def add_to_sub(node: Any) -> Any:
    return [sub(*node.inputs)] if node.op == add else False


class TestLocalOptimizers(unittest.TestCase):
    def test_the_decorator(self) -> None:
        self.assertEqual((neg_neg.name, str(neg_neg), neg_neg.__name__), ("neg_neg",) * 3)
        self.assertEqual(neg_neg.__doc__, "-(-x) is x.")
        self.assertEqual(neg_neg.tracks(), [neg])
        self.assertIsNone(add_to_sub.tracks())
        self.assertIsInstance(neg_neg, opt.FromFunctionLocalOptimizer)
        e = graph(neg(neg(x)))
        self.assertEqual(neg_neg.transform(e.outputs[0].owner), [e.inputs[0]])

    def test_wrong_tracks(self) -> None:
        with self.assertRaisesRegex(ValueError, "(?s)empty list of ops.*pass None"):
            gof.local_optimizer([])
        with self.assertRaisesRegex(ValueError, "cannot track 'add'"):
            gof.local_optimizer(["add"])  # type: ignore[list-item]

    def test_requirements(self) -> None:
        results: list[Any] = []

        @gof.local_optimizer([add], inplace=True, requirements=[results.append])
        def nothing(node: Any) -> Any:
            return None

        e = graph(add(x, y))
        gof.TopoOptimizer(nothing).optimize(e)
        self.assertIs(results[0], e)
        self.assertTrue(any(isinstance(f, destroyhandler.DestroyHandler) for f in e._features))

    def test_a_class_without_transform(self) -> None:
        class Empty(gof.LocalOptimizer):
            pass

        with self.assertRaisesRegex(Exception, "Empty has no `transform`"):
            gof.TopoOptimizer(Empty()).optimize(graph(add(x, y)))

    def test_transform_outside_of_a_graph(self) -> None:
        pattern = gof.PatternSub((neg, (neg, "x")), "x")
        self.assertEqual(pattern.transform(neg(neg(x)).owner), [x])
        self.assertIs(pattern.transform(neg(x).owner), False)


class TestPatternSub(unittest.TestCase):
    def apply(self, rule: Any, *outputs: Any) -> str:
        e = graph(*outputs)
        gof.in2out(rule).optimize(e)
        return str(e)

    def test_constraints_and_numbers(self) -> None:
        named = {"pattern": "a", "constraint": lambda variable: variable.name == "x"}
        rule = gof.PatternSub((mul, named, 2.0), (add, "a", "a"), name="twice")
        self.assertEqual(rule.name, "twice")
        self.assertEqual(self.apply(rule, mul(x, 2.0)), "[add(x, x)]")
        self.assertIn("mul(y", self.apply(rule, mul(y, 2.0)))

    def test_nested_patterns_in_dicts_and_lists(self) -> None:
        inner = {"pattern": [neg, "a"], "constraint": lambda variable: True}
        self.assertEqual(self.apply(gof.PatternSub([sub, "b", inner], [add, "b", "a"]), sub(x, neg(y))), "[add(x, y)]")

    def test_multiple_clients(self) -> None:
        shared = neg(x)
        for allowed, text in ((False, "[neg(*1 -> neg(x)), *1]"), (True, "[x, neg(x)]")):
            rule = gof.PatternSub((neg, (neg, "a")), "a", allow_multiple_clients=allowed)
            self.assertEqual(self.apply(rule, neg(shared), shared), text)

    def test_identities(self) -> None:
        def skip(variable: Any) -> Any:
            return variable.owner.inputs[0] if variable.owner and variable.owner.op == identity else None

        rule = gof.PatternSub((neg, (neg, "a")), "a", skip_identities_fn=skip)
        self.assertEqual(self.apply(rule, neg(identity(neg(x)))), "[x]")

    def test_tracks_and_get_nodes(self) -> None:
        def users(node: Any) -> Any:
            return [client for client, _ in node.outputs[0].clients]

        rule = gof.PatternSub((add, (neg, "a"), "b"), (sub, "b", "a"), tracks=[neg], get_nodes=users)
        self.assertEqual(rule.tracks(), (neg,))
        self.assertEqual(self.apply(rule, add(neg(x), y)), "[sub(y, x)]")

    def test_values_eq_approx_and_pdb(self) -> None:
        rule = gof.PatternSub((neg, (neg, "a")), (identity, "a"), values_eq_approx=max, pdb=True)
        e = graph(neg(neg(x)))
        with mock.patch("builtins.breakpoint") as stop:
            gof.in2out(rule).optimize(e)
        self.assertEqual(stop.call_count, 2)
        self.assertIs(e.outputs[0].tag.values_eq_approx, max)

    def test_keys_and_names(self) -> None:
        self.assertEqual(gof.PatternSub({"pattern": (neg, "a"), "constraint": bool}, "a").op_key(), neg)
        self.assertEqual(str(gof.PatternSub((neg, "a"), "a")), "neg(a) -> a")
        self.assertEqual(str(gof.OpSub(add, mul)), "add -> mul")
        self.assertEqual(str(gof.OpRemove(identity)), "identity(x) -> x")

    def test_a_malformed_pattern(self) -> None:
        with self.assertRaisesRegex(ValueError, "the replacement uses the wildcard 'b'"):
            gof.PatternSub((neg, "a"), "b")


class TestNavigators(unittest.TestCase):
    def test_new_nodes(self) -> None:
        rules = gof.LocalOptGroup(gof.OpSub(identity, neg), gof.OpSub(neg, exp))
        for ignored, text in ((True, "[neg(x)]"), (False, "[exp(x)]"), ("auto", "[exp(x)]")):
            e = graph(identity(x))
            gof.TopoOptimizer(rules, ignore_newtrees=ignored).optimize(e)  # type: ignore[arg-type]  # str for Literal
            self.assertEqual(str(e), text)
        self.assertTrue(gof.NavigatorOptimizer(gof.OpRemove(identity)).ignore_newtrees)

    def test_names(self) -> None:
        result: Any = gof.out2in(neg_neg, add_to_sub, name="both", ignore_newtrees=True)
        self.assertEqual(
            (result.name, result.__name__, result.order, result.ignore_newtrees), ("both", "both", "out_to_in", True)
        )
        self.assertEqual(gof.in2out(neg_neg).name, "neg_neg")
        result.print_summary(out := io.StringIO())
        self.assertIn("neg_neg", out.getvalue())

    def test_op_keys(self) -> None:
        e = graph(add(identity(x), y))
        gof.OpKeyOptimizer(gof.OpRemove(identity)).optimize(e)
        self.assertEqual(str(e), "[add(x, y)]")
        with self.assertRaisesRegex(TypeError, "has no method `op_key`"):
            gof.OpKeyOptimizer(neg_neg)

    def test_a_navigator_of_ones_own(self) -> None:
        class Last(gof.NavigatorOptimizer):
            def apply(self, fgraph: Any) -> Any:
                return self.process_node(fgraph, fgraph.toposort()[-1])

        e = graph(neg(neg(neg(neg(x)))))
        self.assertTrue(Last(neg_neg).optimize(e))
        self.assertEqual(str(e), "[neg(neg(x))]")
        self.assertFalse(Last(add_to_sub).optimize(e))

    def test_failures(self) -> None:
        @gof.local_optimizer([add])
        def fails(node: Any) -> Any:
            raise KeyError("missing")

        seen: list[Any] = []
        e = graph(neg(neg(add(x, y))))
        gof.EquilibriumOptimizer([fails, neg_neg], failure_callback=lambda *args: seen.append(args)).optimize(e)
        self.assertEqual(str(e), "[add(x, y)]")
        error, _, pairs, rule, node = seen[0]
        self.assertIsInstance(error, KeyError)
        self.assertEqual((pairs, rule, node.op), ([], fails, add))
        with self.assertRaisesRegex(Exception, "rewrite `fails`: raised KeyError"):
            gof.TopoOptimizer(fails).optimize(e)
        with self.assertRaises(KeyError):
            gof.TopoOptimizer(fails, failure_callback=gof.TopoOptimizer.warn).optimize(e)
        with theano.config.change_flags(on_opt_error="warn"), self.assertLogs("theano.gof.opt", "ERROR") as log:
            gof.in2out(fails).optimize(e)
        self.assertIn("missing", "".join(log.output))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            gof.TopoOptimizer(fails, failure_callback=gof.NavigatorOptimizer.warn_ignore).optimize(e)
            with theano.config.change_flags(on_opt_error="ignore"):
                gof.TopoOptimizer(fails, failure_callback=gof.NavigatorOptimizer.warn).optimize(e)
        gof.NavigatorOptimizer.warn_inplace(gof.InconsistencyError("refused"), None, [], fails, node)

    def test_phases_of_an_equilibrium(self) -> None:
        order: list[str] = []

        def noting(name: str) -> Any:
            result = gof.FromFunctionOptimizer(lambda fgraph: order.append(name))
            result.name = name
            return result

        e = graph(neg(neg(x)))
        equilibrium = gof.EquilibriumOptimizer(
            [neg_neg, noting("global")],
            max_use_ratio=5,
            final_optimizers=[noting("final")],
            cleanup_optimizers=[noting("cleanup")],
            ignore_newtrees=False,
            tracks_on_change_inputs=True,
        )
        result = equilibrium.optimize(e)
        self.assertEqual(order, ["global", "cleanup", "final"])
        self.assertEqual((equilibrium.max_use_ratio, equilibrium.get_local_optimizers()), (5, (neg_neg,)))
        self.assertEqual((result[0], result[2], result[3]), (equilibrium, [{"neg_neg": 1}], (2, 0, 2)))


class TestSequences(unittest.TestCase):
    def test_a_list_of_optimizers(self) -> None:
        seq = gof.SeqOptimizer(gof.in2out(neg_neg), gof.MergeOptimizer())
        seq.append(gof.in2out(add_to_sub))
        seq.insert(0, gof.in2out(gof.OpRemove(identity)))
        e = graph(add(neg(identity(neg(x))), y))
        result = seq.optimize(e)
        self.assertEqual(str(e), "[sub(x, y)]")
        self.assertEqual((len(seq), len(list(seq)), seq[2].name), (4, 4, "MergeOptimizer"))
        self.assertEqual((result[0], len(result[1]), result[5:7]), (seq, 4, (4, 1)))
        self.assertEqual(len(gof.SeqOptimizer([gof.MergeOptimizer()], name="one")), 1)
        with self.assertRaisesRegex(TypeError, "needs graph rewriters"):
            gof.SeqOptimizer(neg_neg)  # type: ignore[arg-type]

    def test_failures(self) -> None:
        @gof.optimizer
        def fails(fgraph: Any) -> None:
            raise KeyError("missing")

        e = graph(neg(neg(x)))
        seen: list[Any] = []
        gof.SeqOptimizer(fails, gof.in2out(neg_neg), failure_callback=lambda *a: seen.append(a)).optimize(e)
        self.assertEqual(str(e), "[x]")
        self.assertIsInstance(seen[0][0], KeyError)
        with self.assertRaises(KeyError):
            gof.SeqOptimizer(fails, failure_callback=gof.SeqOptimizer.warn).optimize(e)
        with theano.config.change_flags(on_opt_error="warn"), self.assertLogs("theano.gof.opt", "ERROR"):
            gof.SeqOptimizer(fails).optimize(e)

    def test_profiles_are_printed(self) -> None:
        seq = gof.SeqOptimizer(gof.in2out(neg_neg), gof.EquilibriumOptimizer([add_to_sub], name="canon"), name="OPT_X")
        e = graph(neg(neg(add(x, y))))
        seq.print_profile(out := io.StringIO(), seq.optimize(e))
        text = out.getvalue()
        self.assertRegex(text, r"SeqOptimizer  OPT_X  time \d\.\d{3}s for 3/1 nodes before/after optimization")
        self.assertIn("('canon', 'EquilibriumOptimizer', 1)", text)
        self.assertIn("nb_node (start, end, changed) (3, 1, 1)", text)

    def test_pure_then_inplace(self) -> None:
        ran: list[str] = []

        @gof.inplace_optimizer
        def inplace(fgraph: Any) -> None:
            ran.append(str(fgraph))
            fgraph.replace_validate(fgraph.outputs[0], fgraph.inputs[0])

        e = graph(neg(neg(neg(x))))
        gof.PureThenInplaceOptimizer(gof.in2out(neg_neg), inplace).optimize(e)
        self.assertEqual((ran, str(e)), (["[neg(x)]"], "[x]"))


class TestGroups(unittest.TestCase):
    def test_first_or_all(self) -> None:
        rules = (gof.OpSub(add, sub), gof.OpSub(sub, mul))
        for group, text in (
            (gof.LocalOptGroup(*rules), "[sub(x, y)]"),
            (gof.LocalOptGroup(*rules, apply_all_opts=True), "[mul(x, y)]"),
            (gof.LocalSeqOptGroup(*rules, profile=True), "[mul(x, y)]"),
        ):
            e = graph(add(x, y))
            gof.TopoOptimizer(group, ignore_newtrees=True).optimize(e)
            self.assertEqual(str(e), text)
        self.assertEqual(gof.LocalOptGroup(*rules).name, "LocalOptGroup(add -> sub,sub -> mul)")


class TestDatabases(unittest.TestCase):
    def test_equilibrium_roles(self) -> None:
        db = gof.EquilibriumDB(ignore_newtrees=False)
        db.register("neg_neg", neg_neg, "fast_run")
        db.register("merge", gof.MergeOptimizer(), "fast_run", cleanup=True)
        db.register("last", gof.MergeOptimizer(), "fast_run", final_opt=True)
        built = db.query("fast_run")
        self.assertEqual((len(built.cleanup), len(built.final)), (1, 1))
        with self.assertRaisesRegex(ValueError, "choose one"):
            db.register("both", gof.MergeOptimizer(), final_opt=True, cleanup=True)

    def test_groups_walks_and_proxies(self) -> None:
        group = gof.LocalGroupDB(apply_all_opts=True)
        group.register("second", gof.OpSub(sub, mul), "fast_run", position=2)
        group.register("first", gof.OpSub(add, sub), "fast_run", position=1)
        group.register("third", neg_neg, "fast_run")
        self.assertEqual(list(group), ["first", "second", "third"])
        with self.assertRaisesRegex(TypeError, "the position of fourth is 'first'"):
            group.register("fourth", neg_neg, position="first")
        db = gof.SequenceDB()
        db.register("walk", gof.TopoDB(group, order="out_to_in", ignore_newtrees=True), 1.0, "fast_run")
        db.register("proxy", gof.ProxyDB(db["walk"]), 2.0, "fast_run")
        walk: Any
        walk, proxy = db.query("fast_run").rewriters
        self.assertIs(walk, proxy)
        self.assertEqual((walk.order, walk.ignore_newtrees), ("out_to_in", True))
        e = graph(add(x, y))
        db.query("fast_run", position_cutoff=1.5).optimize(e)
        self.assertEqual(str(e), "[mul(x, y)]")

    def test_failure_callbacks_of_sequences(self) -> None:
        seen: list[Any] = []
        db = gof.SequenceDB(failure_callback=lambda *args: seen.append(args))
        db.register("fails", gof.FromFunctionOptimizer(lambda fgraph: 1 / 0), 1, "fast_run")
        built = db.query("fast_run")
        self.assertIsInstance(built, gof.SeqOptimizer)
        built.optimize(graph(x))
        self.assertIsInstance(seen[0][0], ZeroDivisionError)


class TestStackTraces(unittest.TestCase):
    def test_copying_and_checking(self) -> None:
        old, new = neg(x), neg(y)
        new.origin = new.owner.origin = None
        e = gof.FunctionGraph([x, y, z], [neg(new)], clone=False)
        self.assertTrue(opt.check_stack_trace(e))
        self.assertFalse(opt.check_stack_trace(e, "all", bug_print="ignore"))
        with self.assertRaisesRegex(ValueError, "1 nodes do not say where they come from"):
            opt.check_stack_trace(e, neg)
        with self.assertWarns(UserWarning):
            opt.check_stack_trace(e, [neg], bug_print="warn")
        self.assertIs(gof.copy_stack_trace(old, new), new)
        self.assertTrue(opt.check_stack_trace(e, "all"))
        with self.assertRaisesRegex(ValueError, "bug_print is 'loud'"):
            opt.check_stack_trace(e, bug_print="loud")

    def test_of_a_function_and_by_the_flag(self) -> None:
        v = theano.tensor.dvector()
        with theano.config.change_flags(check_stack_trace="raise"):
            f = theano.function([v], theano.tensor.log(theano.tensor.exp(v) * 2))
        self.assertTrue(opt.check_stack_trace(f, bug_print="ignore"))

    def test_as_an_optimizer(self) -> None:
        e = graph(neg(x))
        opt.CheckStackTraceOptimization().optimize(e)
        self.assertEqual(len(e._features), 0)
        with theano.config.change_flags(check_stack_trace="warn"):
            opt.CheckStackTraceOptimization().optimize(e)
        self.assertEqual(len(e._features), 1)


class TestNames(unittest.TestCase):
    def test_classes_live_where_they_are_documented(self) -> None:
        for name in opt.__all__:
            result = getattr(opt, name)
            if isinstance(result, type):
                self.assertEqual(result.__module__, "theano.gof.opt")
                self.assertIs(pickle.loads(pickle.dumps(result)), result)
        self.assertIs(gof.opt.GlobalOptimizer, gof.Optimizer)

    def test_features_and_inplace_checks(self) -> None:
        e = graph(neg(x))
        theano.compile.AddFeatureOptimizer(toolbox.ReplaceValidate()).optimize(e)
        self.assertTrue(e.consistent())
        AddDestroyHandler().optimize(e)
        # Inputs may be overwritten here: nobody has protected them.
        self.assertEqual(destroyhandler.fast_inplace_check(e.outputs[0].owner.inputs), [e.inputs[0]])


if __name__ == "__main__":
    unittest.main()
