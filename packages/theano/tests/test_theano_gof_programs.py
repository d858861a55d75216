"""Classes, helpers and flags of theano.gof and its neighbours as programs for Theano 1.0 use them."""

from __future__ import annotations

import importlib
import logging
import os
import pickle
import subprocess
import sys
import tempfile
import unittest
import warnings
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano import gof
from theano.configparser import AddConfigVar, ConfigParam, _config_var_list, change_flags, config
from theano.gof import sched, unify, utils
from theano.gof.opt import OpSub, TopoOptimizer
from theano_testing.tiers import slow


class Plain:
    """A type of a program, without our base class."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return 1


class Simple(gof.Type):
    """A type whose `filter` takes the value alone."""

    def filter(self, data: Any) -> Any:  # type: ignore[override]  # as programs wrote it
        return float(data)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Simple)

    def __hash__(self) -> int:
        return 2


class TestTypesOfPrograms(unittest.TestCase):
    def test_a_type_without_our_base_class(self) -> None:
        v: Any = gof.Variable(Plain(), name="v")  # type: ignore[arg-type]  # the test is this argument
        self.assertEqual(str(v), "v")
        for wrong in (None, 64, int):
            with self.assertRaises(TypeError):
                gof.Variable(wrong)  # type: ignore[arg-type]  # the test is this argument

    def test_filter_without_further_arguments(self) -> None:
        class Add(gof.Op):
            __props__ = ()
            itypes = (Simple(), Simple())
            otypes = (Simple(),)

            def perform(self, node: Any, inputs: Any, outputs: Any, params: Any = None) -> None:
                outputs[0][0] = inputs[0] + inputs[1]

        x, y = Simple()("x"), Simple()("y")
        out = Add()(x, y)
        self.assertEqual(theano.function([x, y], out, mode=theano.Mode("py", None))(1, "2"), 3.0)
        run, (i, j), (o,) = gof.PerformLinker().accept(gof.FunctionGraph([x, y], [out])).make_thunk()
        i.data, j.data = 1, 2.5
        run()
        self.assertEqual(o.data, 3.5)


class TestClasses(unittest.TestCase):
    def test_pure_ops_stand_above_ops(self) -> None:
        self.assertEqual(gof.Op.__mro__[1:], (gof.PureOp, object))
        self.assertIsInstance(T.exp, gof.op.PureOp)

    def test_what_databases_make(self) -> None:
        query = gof.Query(include=["fast_run"])
        self.assertIsInstance(theano.compile.optdb.query(query), gof.SeqOptimizer)
        self.assertIsInstance(theano.compile.optdb.query(query), gof.Optimizer)
        self.assertIsInstance(theano.compile.optdb["canonicalize"].query(query), gof.EquilibriumOptimizer)
        self.assertNotIsInstance(theano.compile.optdb.query(query), gof.MergeOptimizer)

    def test_queries_have_a_cut_off(self) -> None:
        query = gof.Query(include=["fast_run"])
        full = len(theano.compile.optdb.query(query).rewriters)
        query.position_cutoff = 1.5
        self.assertLess(len(theano.compile.optdb.query(query).rewriters), full, query)
        with self.assertRaises(AttributeError):
            query.include = frozenset()

    def test_databases_keep_names_and_tags_apart(self) -> None:
        db = gof.DB()
        db.register("a", TopoOptimizer(OpSub(T.exp, T.sin)), "tag")
        for arguments, message in ((("a",), "^The name"), (("tag",), "^The name"), (("b", "a"), "^The tag")):
            name, *tags = arguments
            with self.subTest(arguments), self.assertRaisesRegex(ValueError, message):
                db.register(name, TopoOptimizer(OpSub(T.exp, T.sin)), *tags)

    def test_c_code_may_be_hidden(self) -> None:
        class Coded(gof.Op):
            __props__ = ()
            itypes = otypes = (T.dscalar,)

            def c_code(self, *args: Any) -> str:
                raise AssertionError("nobody should ask")

        class Hidden(gof.HideC, Coded):
            def perform(self, node: Any, inputs: Any, outputs: Any, params: Any = None) -> None:
                outputs[0][0] = np.asarray(2 * inputs[0])

        x = T.dscalar("x")
        self.assertEqual(theano.function([x], Hidden()(x))(4.0), 8.0)
        with self.assertRaises(utils.MethodNotDefined):
            gof.op.CLinkerOp().c_code(None, "n", [], [], {})  # type: ignore[attr-defined]  # made by a decorator


class TestReports(unittest.TestCase):
    def test_failures_go_to_the_log(self) -> None:
        @gof.local_optimizer([T.exp])
        def broken(node: Any) -> Any:
            raise ZeroDivisionError("no luck")

        x = T.dvector("x")
        graph = gof.FunctionGraph([x], [T.exp(x)], clone=False)
        with change_flags(on_opt_error="warn"), self.assertLogs("theano.gof.opt", logging.ERROR) as log:
            TopoOptimizer(broken).optimize(graph)
        self.assertIn("Optimization failure due to: broken", log.records[0].getMessage())
        self.assertTrue(log.records[1].getMessage().startswith("node: "))
        self.assertIn("ZeroDivisionError: no luck", log.records[-1].getMessage())

    def test_refused_forms_are_told_to_the_callback(self) -> None:
        x = T.dvector("x")
        graph = gof.FunctionGraph([x], [T.exp(x) + x], features=[gof.toolbox.ReplaceValidate()], clone=False)
        graph.attach_feature(gof.DestroyHandler())
        seen: list[Any] = []
        inplace = T.inplace.exp_inplace
        TopoOptimizer(OpSub(T.exp, inplace), failure_callback=lambda *args: seen.append(args[0])).optimize(graph)
        self.assertLessEqual(len(seen), 1)
        self.assertTrue(all(isinstance(error, gof.InconsistencyError) for error in seen))


class TestHelpers(unittest.TestCase):
    def test_schedules(self) -> None:
        x = T.dmatrix("x")
        y = T.dot(x * 2, x + 1)
        order = sched.sort_schedule_fn(sched.key_to_cmp(str))(gof.FunctionGraph([x], [y], clone=False))
        self.assertIs(order[-1], y.owner)
        self.assertEqual(sched.posort("dacb", lambda a, b: ord(a) - ord(b)), list("abcd"))
        with self.assertRaises(ValueError):
            sched._toposort({1: [2], 2: [1]})

    def test_unification(self) -> None:
        a, b, either = unify.Var("a"), unify.Var("b"), unify.OrVariable("c", [1, 2])
        self.assertEqual(unify.unify({"k": a, "l": [b, 2]}, {"k": 5, "l": (3, 2)})[0], {"k": 5, "l": [3, 2]})
        self.assertEqual(unify.unify([a, a], [1, 2]), (None, False))
        self.assertEqual(unify.unify(either, 2)[0], 2)
        self.assertFalse(unify.unify(unify.NotVariable("n", [3]), 3)[1])
        both = unify.unify_walk(either, unify.NotVariable("n", [1]), unify.Unification())
        self.assertEqual(unify.unify_build(either, both), 2)

    def test_calls_are_kept_in_a_file(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "calls.pkl")
            calls = gof.callcache.CallCache(path)
            self.assertEqual(calls.call(abs, (-2,)), 2)
            calls.persist()
            self.assertEqual(gof.callcache.CallCache(path).cache, calls.cache)

    def test_constants_and_rules_before_a_graph(self) -> None:
        x = T.dvector("x")
        first, second = x + T.constant(3.5), x * T.constant(3.5)
        gof.opt.pre_constant_merge([first, second])
        references = [v for out in (first, second) for v in gof.graph.inputs([out]) if isinstance(v, gof.Constant)]
        self.assertIs(references[0], references[1])
        out: Any = gof.opt.pre_greedy_local_optimizer([OpSub(T.exp, T.sin)], T.tanh(T.exp(x)))
        self.assertEqual(out.owner.inputs[0].owner.op, T.sin)

    def test_small_ones(self) -> None:
        self.assertEqual(utils.hist("aab"), {"a": 2, "b": 1})
        self.assertFalse(utils.ABORT)
        self.assertEqual(utils.to_return_values([1]), 1)
        self.assertIn("while", utils.c_cpp_keywords)
        x = T.dscalar("x")
        self.assertIn(os.path.basename(__file__), utils.get_variable_trace_string(x))

        class Pair(utils.object2):
            __props__ = ("one",)

            def __init__(self, one: int) -> None:
                self.one = one

        self.assertEqual((Pair(1), str(Pair(2))), (Pair(1), "Pair{one=2}"))
        self.assertIs(gof.cmodule.GCC_compiler.try_flags(["--no-such-flag-at-all"]), False)

    def test_values_of_what_is_no_variable(self) -> None:
        self.assertEqual(gof.op.get_test_value([1, 2]).tolist(), [1, 2])
        for mode in ("ignore", "raise"):
            with change_flags(compute_test_value=mode), self.assertRaises(ValueError):
                gof.op.debug_error_message("wrong")


class TestFlags(unittest.TestCase):
    def test_each_flag_is_an_object(self) -> None:
        (flag,) = [v for v in _config_var_list if v.fullname == "floatX"]
        before = flag.__get__(True, None)
        flag.__set__(None, "float32")
        try:
            self.assertEqual(theano.config.floatX, "float32")
        finally:
            flag.__set__(None, before)
        self.assertIn("floatX", str(flag))
        self.assertGreater(len(_config_var_list), 120)

    def test_changes_are_pickled(self) -> None:
        for change in (change_flags(floatX="float16"), theano.config.change_flags(floatX="float16")):
            with pickle.loads(pickle.dumps(change)):
                self.assertEqual(theano.config.floatX, "float16")
        self.assertNotEqual(theano.config.floatX, "float16")

    def test_flags_of_devices_are_there(self) -> None:
        config = theano.config
        self.assertEqual((config.contexts, config.gpuarray.preallocate, config.assert_no_cpu_op), ("", 0.0, "ignore"))
        with self.assertWarns(UserWarning):
            config.dnn.conv.workmem = "small"
        self.assertEqual(config.dnn.conv.workmem, "small")
        config.dnn.conv.workmem = ""
        with warnings.catch_warnings(), config.change_flags({"dnn.conv.algo_fwd": "time_once"}):
            warnings.simplefilter("error")
            self.assertEqual(config.dnn.conv.algo_fwd, "time_once")
        self.assertEqual(config.dnn.conv.algo_fwd, "small")
        self.assertFalse(config.warn.sum_sum_bug)

    def test_settings_of_the_environment_are_taken_once(self) -> None:
        flags = theano.configparser.THEANO_FLAGS_DICT
        flags["test_programs.depth"] = "5"
        AddConfigVar("test_programs.depth", "How deep.", ConfigParam("3", filter=int))
        self.assertEqual(config.test_programs.depth, 5)
        self.assertNotIn("test_programs.depth", flags)


#: Other tests open devices, so this is a process of its own.
NO_CUDNN = """
from theano.gpuarray import dnn, pygpu_activated
print(pygpu_activated)
print(dnn.dnn_available(None), "no device is in use by default" in dnn.dnn_available.msg)
print(dnn.dnn_present(), dnn.dnn_present.msg)
"""


class TestDevicesAndDialects(unittest.TestCase):
    @slow
    def test_no_cudnn(self) -> None:
        environment = {**os.environ, "THEANO_FLAGS": "device=cpu"}
        expected = ["False", "False True", "False no device of CUDA is in use"]
        done = subprocess.run([sys.executable, "-c", NO_CUDNN], env=environment, capture_output=True, text=True)
        self.assertEqual(done.stdout.splitlines(), expected, done.stderr)

    def test_no_device(self) -> None:
        gpu = importlib.import_module("theano.gpuarray")
        self.assertIs(gpu, theano.gpuarray)
        for attempt in (lambda: gpu.use("cuda99", force=True), gpu.dnn.version):
            with self.assertRaises(RuntimeError):
                attempt()
        with self.assertRaises(gpu.ContextNotDefined):
            gpu.get_context("dev0")
        self.assertIsNone(gpu.transfer(T.dvector(), "dev0"))
        self.assertFalse(isinstance(T.dvector().type, gpu.GpuArrayType))
        self.assertEqual(gpu.pygpu_parse_version("0.7.6.dev3").patch, 6)

    def test_masks_become_indices(self) -> None:
        convert = theano.gpuarray.subtensor.check_and_convert_boolean_masks
        values = np.arange(6).reshape(2, 3)
        mask = values % 2 == 0
        self.assertEqual(values[tuple(convert(values, [mask]))].tolist(), values[mask].tolist())
        with self.assertRaises(IndexError):
            convert(values, [slice(None), np.array([True, False])])

    def test_the_module_has_itself(self) -> None:
        module = importlib.import_module("theano")
        self.assertIs(module.theano, module)

    def test_names_of_the_next_version(self) -> None:
        names = {
            "basic": "Apply Constant Variable ancestors graph_inputs vars_between applys_between io_toposort clone",
            "fg": "FunctionGraph MissingInputError",
            "op": "Op COp get_test_value",
            "opt": "local_optimizer PatternSub EquilibriumOptimizer",
            "optdb": "Query SequenceDB",
            "toolbox": "Feature History",
            "type": "Type generic",
            "utils": "TestValueError MethodNotDefined MetaObject",
        }
        for module, words in names.items():
            result = importlib.import_module(f"theano.graph.{module}")
            for word in words.split():
                with self.subTest(module=module, name=word):
                    self.assertTrue(hasattr(result, word))
        self.assertIs(theano.graph.basic.Apply, gof.Apply)


if __name__ == "__main__":
    unittest.main()
