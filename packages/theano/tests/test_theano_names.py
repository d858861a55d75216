"""The names of `import theano`, and its cost."""

from __future__ import annotations

import importlib
import operator
import pkgutil
import subprocess
import sys
import warnings
from types import ModuleType
from typing import Any
from unittest import TestCase

import theano
import theano.compile.function
import theano.tensor as T
import theano_gpuarray
import theano_graph
import theano_linker_c
import theano_optimize
import theano_scan
import theano_sparse
import theano_tensor
import theano_tensor.gradient
import theano_tensor.nnet
import theano_testing
import theano_testing.tensor
from theano_testing.tiers import slow

LAYERS: tuple[ModuleType, ...] = (
    theano_graph,
    theano_optimize,
    theano_linker_c,
    theano_gpuarray,
    theano_tensor,
    theano_scan,
    theano_sparse,
    theano_testing,
    theano,
)

# Building blocks of the tensor layer that no program for Theano 1.0 knows; new programs take them from `theano_tensor`.
OWN = {
    "NEWAXIS", "SameLengths", "is_length", "register_sparse_gradient", "slice_length",
    "AccumulatingReduce", "LogicalReduce", "PluralConstructor", "SYMBOL", "Slice", "as_length",
    "as_lengths", "broadcast_static", "check_broadcast",
    "complex_from_polar", "conj", "constant_value", "dimshuffle", "lengths_of", "make_vector",
    "matrix_product", "max_and_argmax",
    "round_half_away_from_zero", "round_half_to_even", "scalar_constructor", "static_int",
    "static_lengths", "sum_to", "tensor_constructor",
}  # fmt: skip

# An op and the class of types in Theano 1.0, a function and the class of variables in the tensor layer.
OTHER_KINDS = {"alloc", "Tensor", "isinf", "isnan"}

# Functions of the tensor layer whose historical names are those of ops.
APPLIED_OPS = {
    "crossentropy_categorical_1hot": "CrossentropyCategorical1Hot",
    "crossentropy_softmax_argmax_1hot_with_bias": "CrossentropySoftmaxArgmax1HotWithBias",
    "softmax_with_bias": "SoftmaxWithBias",
}

HISTORICAL: tuple[tuple[str, object], ...] = (
    ("gof.graph.Apply", theano_graph.Apply),
    ("gof.FunctionGraph", theano_graph.FunctionGraph),
    ("gof.fg.MissingInputError", theano_graph.MissingInputError),
    ("gof.toolbox.ReplaceValidate", theano_graph.ReplaceValidate),
    ("gof.destroyhandler.DestroyHandler", theano_optimize.DestroyHandler),
    ("compile.mode.AddDestroyHandler", theano_optimize.AddDestroyHandler),
    ("gof.Query", theano_optimize.RewriteQuery),
    ("compile.optdb", theano_linker_c.optdb),
    ("compile.SharedVariable", theano_linker_c.SharedVariable),
    ("compile.sharedvalue.shared", theano_linker_c.shared),
    ("compile.io.In", theano_linker_c.In),
    ("compile.mode.FAST_RUN", theano_linker_c.FAST_RUN),
    ("compile.ops.DeepCopyOp", theano_linker_c.DeepCopyOp),
    ("tensor.elemwise.Elemwise", theano_tensor.Elemwise),
    ("printing.debugprint", theano_graph.debugprint),
    ("config", theano_graph.config),
)


def ops_made(result: Any) -> list[Any]:
    """List the ops of a graph in running order."""
    return [node.op for node in theano_graph.toposort(theano_graph.graph_inputs([result]), [result])]


class TestNames(TestCase):
    def test_each_name_of_the_tensor_layer_is_in_tensor(self) -> None:
        modules = {name for name in theano_tensor.__all__ if isinstance(getattr(theano_tensor, name), ModuleType)}
        for name in set(theano_tensor.__all__) - OWN - OTHER_KINDS - modules - {"__version__"}:
            with self.subTest(name):
                self.assertIs(getattr(T, name), getattr(theano_tensor, name))

    def test_some_names_of_tensor_are_of_another_kind(self) -> None:
        self.assertIsInstance(T.alloc, T.Alloc)
        self.assertIs(T.Tensor, T.TensorType)
        self.assertIsInstance(ops_made(T.isnan(T.lvector()))[-1], T.Alloc)
        self.assertEqual(ops_made(T.isinf(T.dvector())), [theano_tensor.isinf])

    def test_each_name_of_nnet_is_in_nnet(self) -> None:
        for name in set(theano_tensor.nnet.__all__) - APPLIED_OPS.keys():
            with self.subTest(name):
                self.assertIs(getattr(T.nnet, name), getattr(theano_tensor.nnet, name))

    def test_some_names_of_nnet_are_ops(self) -> None:
        for name, class_name in APPLIED_OPS.items():
            with self.subTest(name):
                self.assertIs(type(getattr(T.nnet, name)), getattr(T.nnet, class_name))
                self.assertIsInstance(getattr(T.nnet, name), theano.Op)

    def test_the_gradient_is_one_function_with_three_names(self) -> None:
        self.assertIs(theano.grad, theano_tensor.gradient.grad)
        self.assertIs(T.grad, theano.grad)
        self.assertIs(theano.gradient.grad, theano.grad)

    def test_databases_and_ops_have_the_historical_base_classes(self) -> None:
        self.assertTrue(issubclass(theano.gof.DB, theano_optimize.RewriteDatabase))
        self.assertIsInstance(theano.compile.optdb, theano.gof.DB)
        for name in ("EquilibriumDB", "SequenceDB", "ProxyDB", "LocalGroupDB"):
            self.assertTrue(issubclass(getattr(theano.gof, name), theano.gof.DB), name)
        self.assertTrue(issubclass(theano.Op, theano.gof.PureOp))

    def test_a_database_class_of_a_program_has_only_its_own_instances(self) -> None:
        private = type("Own", (theano.gof.SequenceDB,), {})
        self.assertIsInstance(theano.compile.optdb, theano.gof.SequenceDB)
        self.assertNotIsInstance(theano.compile.optdb, private)
        self.assertFalse(issubclass(theano.gof.SequenceDB, private))
        self.assertIsInstance(private(), private)
        self.assertIsInstance(private(), theano.gof.DB)

    def test_a_historical_name_is_the_thing_of_its_layer(self) -> None:
        for name, thing in HISTORICAL:
            with self.subTest(name):
                self.assertIs(operator.attrgetter(name)(theano), thing)

    def test_function_is_a_function_and_a_module(self) -> None:
        module = importlib.import_module("theano.compile.function")
        self.assertIs(module, sys.modules["theano.compile.function"])
        self.assertIs(module.In, theano.In)
        self.assertIs(theano.compile.function, theano.function)

    def test_each_name_that_a_module_lists_exists(self) -> None:
        for layer in LAYERS:
            for item in pkgutil.walk_packages(layer.__path__, f"{layer.__name__}."):
                if item.name.endswith("__main__"):
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # old places say that they are old
                    module = importlib.import_module(item.name)
                missing = [name for name in getattr(module, "__all__", ()) if not hasattr(module, name)]
                self.assertEqual(missing, [], item.name)

    def test_helpers_for_tests_are_found_when_asked_for(self) -> None:
        self.assertIs(theano.gradient.verify_grad, theano_testing.tensor.verify_grad)
        self.assertIs(T.verify_grad, theano_testing.tensor.verify_grad)
        self.assertIs(importlib.import_module("theano.tests.unittest_tools").seed_rng, theano_testing.tensor.seed_rng)

    def test_a_name_that_does_not_exist(self) -> None:
        with self.assertRaisesRegex(AttributeError, r"module 'theano\.tensor' has no attribute 'nonsense'"):
            operator.attrgetter("nonsense")(T)

    def test_var_is_a_function_and_a_module(self) -> None:
        module = importlib.import_module("theano.tensor.var")
        self.assertIs(module.TensorVariable, T.TensorVariable)
        self.assertEqual(float(T.var(T.constant([1.0, 3.0])).eval()), 1.0)

    def test_a_name_that_does_not_exist_is_not_pretended(self) -> None:
        self.assertFalse(hasattr(theano, "nonsense"))
        self.assertFalse(hasattr(T.nnet, "nonsense"))


class TestImport(TestCase):
    @slow
    def test_import_takes_no_scipy_and_starts_no_process(self) -> None:
        program = (
            "import sys, subprocess\n"
            "def refuse(*arguments, **options): raise AssertionError('a process at import')\n"
            "subprocess.Popen.__init__ = refuse\n"
            "import theano, theano.tensor\n"
            "print([name for name in ('scipy', 'theano_sparse', 'theano_testing') if name in sys.modules])"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout.strip(), done.stderr), (0, "[]", ""))
