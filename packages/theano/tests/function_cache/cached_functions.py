"""Functions cached on disk: found where all is the same, built where anything differs, alike in all they do."""

from __future__ import annotations

import importlib
import io
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import unittest
import uuid
import warnings
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import theano
import theano.tensor as T
from theano import config
from theano_linker_c import capture_after, finish_storing
from theano_linker_c.compiler import CompilerOptions
from theano_linker_c.kernels import library

#: Nodes from which functions are cached by default.
LARGE_COUNT = 200


class Scaled(theano.Op):
    """An op of the user's."""

    __props__ = ("by",)
    itypes = otypes = (T.dvector,)

    def __init__(self, by: float = 2.0) -> None:
        self.by = by

    def perform(self, node: Any, inputs: Any, output_storage: Any, params: Any = None) -> None:
        output_storage[0][0] = inputs[0] * self.by

    def infer_shape(self, node: Any, shapes: Any) -> Any:
        return shapes


class Unpicklable:
    """An object whose pickle is none."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        return 5


class Unnamed(theano.Op):
    """An op that does not declare its content."""

    itypes = otypes = (T.dvector,)

    def perform(self, node: Any, inputs: Any, output_storage: Any, params: Any = None) -> None:
        output_storage[0][0] = inputs[0] + 1


@theano.compile.ops.as_op(itypes=[T.dvector], otypes=[T.dvector])
def scaled_by_environment(value: Any) -> Any:
    return value * float(os.environ["FACTOR"])


_HELPER = """
import os

import theano
import theano.tensor as T


class Scaled(theano.Op):
    __props__ = ()
    itypes = otypes = (T.dvector,)

    def perform(self, node, inputs, output_storage, params=None):
        output_storage[0][0] = inputs[0] * float(os.environ["FACTOR"])
"""


@theano.compile.ops.as_op([T.dvector], [T.dvector], infer_shape=lambda node, shapes: [(shapes[0][0] + 1,)])
def longer_by_one(value: Any) -> Any:
    return np.append(value, 0.0)


class CachedTestCase(unittest.TestCase):
    def setUp(self) -> None:
        change = config.change_flags(function_cache=True)
        change.__enter__()
        self.addCleanup(change.__exit__)
        # No run of the tests before this one has had such a function.
        self.name = uuid.uuid4().hex
        self.x = T.dvector(self.name)

    def build(self, *args: Any, **kwargs: Any) -> tuple[bool, Any]:
        """Return whether a function was rewritten, and the function."""
        with mock.patch.object(theano.compile.Mode, "rewrite", autospec=True) as rewrite:
            rewrite.side_effect = _rewrite
            function = theano.function(*args, **kwargs)
        self.assertTrue(finish_storing())
        return bool(rewrite.call_count), function

    def twice(self, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """Return a function as it is built, and as it is found."""
        (first, built), (second, result) = self.build(*args, **kwargs), self.build(*args, **kwargs)
        self.assertEqual((first, second), (True, False))
        return built, result

    def check_missed(self, *args: Any, **kwargs: Any) -> Any:
        rewritten, function = self.build(*args, **kwargs)
        self.assertTrue(rewritten)
        return function


_rewrite = theano.compile.Mode.rewrite


def shown(function: Any) -> str:
    file = io.StringIO()
    theano.printing.debugprint(function, file=file)
    return file.getvalue()


class AlikeTests(CachedTestCase):
    def test_functions_that_start_in_tiers_are_kept_when_they_are_native(self) -> None:
        with config.change_flags(**{"tiered": True, "gcc.cxxflags": f"-DTIERS_{self.name}"}):
            first = self.check_missed([self.x], T.exp(self.x).sum())
            self.assertFalse(first.ready())
            self.assertTrue(first.ready(wait=True))
            rewritten, second = self.build([self.x], T.exp(self.x).sum())
            self.assertFalse(rewritten)
            self.assertTrue(second.ready())
            self.assertEqual(first([0.0, 0.0]), second([0.0, 0.0]))

    def test_training_step(self) -> None:
        w = theano.shared(np.zeros(3), "w")
        y = T.dmatrix("y")
        out = T.nnet.sigmoid(T.dot(y, w) + self.x)
        cost = ((out - 1) ** 2).mean()
        updates = [(w, w - 0.1 * T.grad(cost, w))]
        built, result = self.twice([self.x, theano.In(y, name="data")], {"c": cost, "o": out}, updates=updates)
        self.assertEqual(shown(built), shown(result))
        values = np.ones(2), np.arange(6.0).reshape(2, 3)
        results = []
        for function in (built, result):
            w.set_value(np.zeros(3))
            first = function(values[0], data=values[1])
            results.append((first["c"], first["o"].tolist(), w.get_value().tolist()))
        self.assertEqual(*results)
        self.assertEqual([v.name for v in result.maker.fgraph.inputs], [self.name, "y", "w"])
        self.assertIs(result.maker.inputs[0].variable, self.x)
        self.assertIs(result.get_shared()[0], w)
        self.assertEqual([i.name for i in result.maker.inputs], [i.name for i in built.maker.inputs])

    def test_instructions_overwrite_as_when_built(self) -> None:
        x = T.dvector("x")
        y = T.inc_subtensor(T.zeros_like(x)[1:], T.exp(x[1:]))
        functions = [theano.function([x], T.inc_subtensor(y[:2], 1.0) * x.sum()) for _ in range(2)]
        machines: list[Any] = [f.machine for f in functions]
        with capture_after(0):
            for value in np.random.default_rng(0).normal(size=(3, 4)):
                np.testing.assert_array_equal(functions[0](value), functions[1](value))
        self.assertEqual(machines[0].captured(), machines[1].captured())
        self.assertTrue(machines[1].captured())

    def test_copies_pickles_and_subsets(self) -> None:
        s, other = theano.shared(1.0, "s"), theano.shared(5.0, "t")
        _, result = self.twice([self.x], [self.x * s, T.exp(self.x)], updates=[(s, s + 1)])
        value = np.ones(2)
        twin = result.copy(swap={s: other})
        self.assertEqual(twin(value)[0].tolist(), [5.0, 5.0])
        self.assertEqual(other.get_value(), 6.0)
        again = pickle.loads(pickle.dumps(result))
        self.assertEqual(again(value)[0].tolist(), [1.0, 1.0])
        self.assertEqual(again(value)[0].tolist(), [2.0, 2.0])
        self.assertEqual(len(result(value, output_subset=[1])), 1)
        self.assertEqual(result(value)[0].tolist(), [2.0, 2.0])
        result.maker.reoptimize()
        self.assertEqual(len(result.maker.fgraph.outputs), 3)

    def test_errors_name_the_line_of_this_process(self) -> None:
        y = T.dvector("y")

        def first() -> Any:
            return self.x + y

        def second() -> Any:
            return self.x + y

        self.build([self.x, y], first())
        rewritten, result = self.build([self.x, y], second())
        self.assertFalse(rewritten)
        with self.assertRaises(ValueError) as caught:
            result(np.ones(2), np.ones(3))
        message = str(caught.exception) + "".join(getattr(caught.exception, "__notes__", ()))
        line = second.__code__.co_firstlineno + 1
        self.assertIn(f"cached_functions.py:{line}", message)
        self.assertNotIn(f"cached_functions.py:{line - 3}", message)

    def test_random_numbers_go_on(self) -> None:
        def draws() -> Any:
            streams = T.shared_randomstreams.RandomStreams(7)
            return streams.uniform((3,)) + self.x

        (first, built), (second, result) = (self.build([self.x], draws()) for _ in range(2))
        self.assertEqual((first, second), (True, False))
        zeros = np.zeros(3)
        for _ in range(2):
            np.testing.assert_array_equal(built(zeros), result(zeros))

    def test_loops_and_choices(self) -> None:
        total, _ = theano.scan(lambda a, b: T.tanh(a * b) + 1.0, outputs_info=T.ones(()), sequences=self.x)
        chosen = theano.ifelse.ifelse(T.gt(self.x.sum(), 0), T.grad(total.sum(), self.x), self.x)
        built, result = self.twice([self.x], chosen)
        for value in (np.ones(3), -np.ones(3)):
            np.testing.assert_array_equal(built(value), result(value))

    def test_steps_of_loops_keep_their_code(self) -> None:
        def last() -> Any:
            states, _ = theano.scan(lambda h, x: h * x + 1.0, outputs_info=self.x, non_sequences=self.x, n_steps=7)
            return states[-1]

        references = []
        for function in self.twice([self.x], last()):
            (loop,) = (node.op for node in function.maker.fgraph.apply_nodes if hasattr(node.op, "plan"))
            function(np.ones(3))
            references.append(list(loop.compiled().machine.program.loops))
        self.assertEqual(*references)
        self.assertTrue(references[1])

    def test_equal_ops_are_one_object(self) -> None:
        y = self.x
        for _ in range(8):
            y = T.tanh(y * self.x + y.sum())
        built, result = self.twice([self.x], y)
        counts = [len({id(node.op) for node in f.maker.fgraph.apply_nodes}) for f in (built, result)]
        different = len({node.op for node in built.maker.fgraph.apply_nodes})
        self.assertGreater(counts[0], different)
        self.assertEqual(counts[1], different)
        np.testing.assert_array_equal(result(np.ones(3)), built(np.ones(3)))

    def test_ops_of_the_caller_stay_apart(self) -> None:
        first, second = Scaled(), Scaled()
        for function in self.twice([self.x], [first(self.x), second(self.x + 1)]):
            results = [node.op for node in function.maker.fgraph.toposort() if isinstance(node.op, Scaled)]
            self.assertEqual(sorted(map(id, results)), sorted((id(first), id(second))))

    def test_pickled_and_rewritten_again(self) -> None:
        y = self.x * 2
        y.name = "twice"
        _, result = self.twice([self.x], y + 1)
        message = shown(result)
        again = pickle.loads(pickle.dumps(result))
        self.assertEqual((shown(result), again(np.ones(1)).tolist()), (message, [3.0]))
        result.maker.reoptimize()
        self.assertEqual(result.maker.fgraph.outputs[0].type, self.x.type)

    def test_checks_are_made_before_the_look_up(self) -> None:
        y = T.dvector("y")
        self.twice([self.x, y], self.x * 2, on_unused_input="ignore")
        with self.assertRaises(theano.compile.UnusedInputError):
            theano.function([self.x, y], self.x * 2)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            rewritten, _ = self.build([self.x, y], self.x * 2, on_unused_input="warn")
        self.assertEqual((rewritten, len(caught)), (False, 1))
        with self.assertRaises(theano.gof.MissingInputError):
            theano.function([self.x], self.x * y)

    def test_profiles(self) -> None:
        _, result = self.twice([self.x], T.exp(self.x).sum(), profile=True)
        result(np.ones(3))
        self.assertEqual(result.profile.fct_callcount, 1)
        self.assertEqual(len(result.profile.apply_time), len(result.maker.fgraph.apply_nodes))

    def test_profiles_of_rewriting(self) -> None:
        _, result = self.twice([self.x], T.tanh(self.x).sum())
        profile = result.maker.profile
        self.assertEqual((profile.name, profile.parts, profile.changes), ("OPT_FAST_RUN", [], 0))
        self.assertEqual(profile.nodes_after, len(result.maker.fgraph.apply_nodes))
        _, plain = self.twice([self.x], T.tanh(self.x).sum(), mode=theano.compile.Mode(optimizer=None))
        self.assertIsNone(plain.maker.profile)


class DifferentTests(CachedTestCase):
    def test_constants(self) -> None:
        for value in (1.5, 2.5, np.nan, -np.nan, 0.0, -0.0):
            self.check_missed([self.x], self.x * np.float64(value) + 3)
        self.twice([self.x], self.x * np.float64("inf") + 3)
        large = np.arange(5000.0)
        self.twice([self.x], self.x + large)
        large[4321] = -1
        self.check_missed([self.x], self.x + large)

    def test_types_and_shared_variables(self) -> None:
        for kind in (T.dvector, T.fvector, T.TensorType("float64", (True,)), T.TensorType("float64", (3,))):
            x = kind(self.name)
            self.check_missed([x], x * 2)
        for dtype in ("float32", "float64"):
            self.check_missed([self.x], self.x * theano.shared(np.zeros(3, dtype), "s"))
        self.build([self.x], self.x * 3)

    def test_flags_of_inputs_and_outputs(self) -> None:
        y = self.x * 2
        self.check_missed([self.x], y)
        self.check_missed([theano.In(self.x, mutable=True)], y)
        self.check_missed([theano.In(self.x, borrow=True)], y)
        self.check_missed([self.x], theano.Out(y, borrow=True))
        self.check_missed([self.x], [y])

    def test_modes_and_flags(self) -> None:
        y = T.exp(self.x) * 2
        self.check_missed([self.x], y)
        for mode in ("FAST_COMPILE", theano.Mode("py", "fast_run"), theano.compile.FAST_RUN.excluding("inplace")):
            self.check_missed([self.x], y, mode=mode)
        for flags in ({"allow_gc": False}, {"gcc__cxxflags": "-DNOTHING"}, {"openmp": False}):
            with config.change_flags(**flags):
                self.check_missed([self.x], y)
        self.assertFalse(self.build([self.x], y)[0])

    def test_what_is_looked_at_while_it_is_built_is_built(self) -> None:
        y = T.exp(self.x)
        for mode in (theano.compile.DebugMode(), theano.compile.NanGuardMode()):
            theano.function([self.x], y, mode=mode)
            self.assertIsNotNone(theano.function([self.x], y, mode=mode).maker.profile)

    def test_rewrites_of_the_user(self) -> None:
        y = T.sinh(self.x)
        self.check_missed([self.x], y)

        def register(other: Any) -> None:
            @theano.gof.local_optimizer([T.Elemwise])
            def local_other(node: Any) -> Any:
                return [other(node.inputs[0])] if node.op == T.sinh else None

            theano.compile.optdb["canonicalize"].register("local_other", local_other, "fast_run")

        for other in (T.cosh, T.tanh):
            register(other)
            try:
                function = self.check_missed([self.x], y)
                value = other(T.constant(np.ones(1))).eval()
                np.testing.assert_allclose(function(np.ones(1)), value, rtol=1e-14)
            finally:
                theano.compile.optdb["canonicalize"].remove("local_other")
        self.assertFalse(self.build([self.x], y)[0])

    def test_ops_of_the_user(self) -> None:
        built, result = self.twice([self.x], Scaled()(self.x) + 1)
        self.assertEqual(result(np.ones(2)).tolist(), built(np.ones(2)).tolist())
        self.check_missed([self.x], Scaled(3.0)(self.x) + 1)

        def perform(self: Any, node: Any, inputs: Any, output_storage: Any, params: Any = None) -> None:
            output_storage[0][0] = inputs[0] - self.by

        with mock.patch.object(Scaled, "perform", perform):
            self.check_missed([self.x], Scaled()(self.x) + 1)
        for _ in range(2):
            self.check_missed([self.x], Unnamed()(self.x))

    def test_ops_of_functions_that_are_pickled_by_their_names(self) -> None:
        _, result = self.twice([self.x], longer_by_one(self.x).shape[0])
        self.assertEqual(int(result(np.ones(2))), 3)

        def longer(node: Any, shapes: Any) -> Any:
            return [(shapes[0][0] + 7,)]

        with mock.patch.object(longer_by_one, "infer_shape", longer):
            again = self.check_missed([self.x], longer_by_one(self.x).shape[0])
        self.assertEqual(int(again(np.ones(2))), 9)
        self.twice([self.x], longer_by_one(self.x))
        with mock.patch.object(longer_by_one, "fn", lambda value: np.append(value, 7.0)):
            self.check_missed([self.x], longer_by_one(self.x))

    def test_what_cannot_be_compared_is_built_as_ever(self) -> None:
        nested: tuple[Any, ...] = ()
        for _ in range(5000):
            nested = (nested,)
        held: Any
        for held in (nested, Unpicklable()):
            scaled = Scaled()
            scaled.held = held  # type: ignore[attr-defined]
            for _ in range(2):
                function = self.check_missed([self.x], scaled(self.x) + 1)
                self.assertEqual(function(np.ones(2)).tolist(), [3.0, 3.0])

    def test_ops_of_the_user_inside_of_loops_are_the_given_ones(self) -> None:
        op = Scaled()
        total, _ = theano.scan(lambda row: op(row) + 1.0, sequences=T.stack([self.x, self.x]))
        for _ in range(2):
            self.check_missed([self.x], total)

    def test_what_code_of_the_user_gives_for_constants_is_computed_by_each_process(self) -> None:
        for y in (Scaled()(T.constant(np.ones(2))), scaled_by_environment(T.constant(np.ones(2)))):
            for value in ("2.0", "3.0"):
                with mock.patch.dict(os.environ, {"FACTOR": value}):
                    function = self.check_missed([self.x], y + self.x)
            self.assertEqual(len(function(np.zeros(2))), 2)
        self.assertEqual(function(np.zeros(2)).tolist(), [3.0, 3.0])

    def test_modules_of_users_that_are_called_like_the_library(self) -> None:
        name, folder = f"theano_{self.name}", tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        (Path(folder) / f"{name}.py").write_text(_HELPER)
        with mock.patch.object(sys, "path", [folder, *sys.path]):
            module: Any = importlib.import_module(name)
        self.addCleanup(sys.modules.pop, name)
        # The folded value depends on more than the text of the op.
        for factor in (2.0, 3.0):
            with mock.patch.dict(os.environ, {"FACTOR": str(factor)}):
                function = self.check_missed([self.x], module.Scaled()(T.constant(np.ones(2))) + self.x)
            self.assertEqual(function(np.zeros(2)).tolist(), [factor, factor])

    def test_large_constants(self) -> None:
        def with_change(change: float, by_columns: bool = False) -> Any:
            value = np.arange(1.0, 1000001.0).reshape(1000, 1000)
            value = np.asfortranarray(value) if by_columns else value
            value[999, 998] += change
            return T.dot(T.constant(value), self.x)

        # The hash covers the content of the caller's arguments, which are not written; the rewritten graph is too
        # large.
        built, result = self.twice([self.x], with_change(0.0))
        value = np.ones(1000)
        np.testing.assert_array_equal(result(value), built(value))
        self.check_missed([self.x], with_change(1.0))
        self.check_missed([self.x], with_change(0.0, by_columns=True))
        for _ in range(2):
            self.check_missed([self.x], T.constant(np.arange(1e6)) ** 2 + self.x)

    def test_names_count(self) -> None:
        y = self.x * 2
        self.check_missed([self.x], y + 1)
        y.name = "twice"
        self.check_missed([self.x], y + 1)


class LargeTests(CachedTestCase):
    """Functions that are cached by default: those of large graphs."""

    def setUp(self) -> None:
        super().setUp()
        change = config.change_flags(function_cache="large")
        change.__enter__()
        self.addCleanup(change.__exit__)

    def build(self, *args: Any, **kwargs: Any) -> tuple[bool, Any]:
        # A function that others look at, `Mode.rewrite` in other clothes, would be noticed.
        function = theano.function(*args, **kwargs)
        return bool(function.maker.profile.parts), function

    def sums(self, count: int) -> Any:
        y = self.x
        for i in range(count):
            y = T.tanh(y) + float(i % 7)
        return y

    def test_large_graphs_only(self) -> None:
        for _ in range(2):
            self.check_missed([self.x], self.sums(10))
        built, result = self.twice([self.x], self.sums(LARGE_COUNT // 2))
        value = np.linspace(0, 1, 5)
        np.testing.assert_array_equal(result(value), built(value))
        np.testing.assert_allclose(result(value), _sums(value, LARGE_COUNT // 2), rtol=1e-12)

    def test_nodes_count_once(self) -> None:
        y = self.sums(LARGE_COUNT // 4)
        for _ in range(2):
            self.check_missed([self.x], [y, y + 1, y + 2, y + 3])

    def test_expressions_of_updates_count(self) -> None:
        w = theano.shared(np.ones(3), "w")
        self.twice([self.x], [], updates=[(w, w + self.sums(LARGE_COUNT))])

    def test_nothing_is_taken_while_a_program_exchanges_code_of_the_library(self) -> None:
        y = self.sums(LARGE_COUNT)
        self.twice([self.x], y)

        def other(self: Any, node: Any, inputs: Any, output_storage: Any, params: Any = None) -> None:
            output_storage[0][0] = inputs[0]

        for exchange in (
            mock.patch.object(T.Elemwise, "perform", other),
            mock.patch.object(T.Elemwise, "perform"),
            mock.patch.object(T.TensorType, "ndim", property(lambda kind: len(kind.shape))),
            mock.patch("theano_tensor.elemwise._elemwise.Elemwise", Scaled),
        ):
            with exchange:
                self.check_missed([self.x], y)
                with config.change_flags(function_cache=True):
                    self.assertFalse(self.build([self.x], y)[0])
        self.assertFalse(self.build([self.x], y)[0])

    def test_values_of_the_flag(self) -> None:
        for text, value in (("True", True), ("off", False), (0, False), ("large", "large")):
            with config.change_flags(function_cache=text):
                self.assertEqual(config.function_cache, value)
        with self.assertRaisesRegex(ValueError, "True, False or 'large'"), config.change_flags(function_cache="small"):
            pass


def _sums(value: Any, count: int) -> Any:
    for i in range(count):
        value = np.tanh(value) + i % 7
    return value


class FileTests(CachedTestCase):
    def file(self, reference: set[str]) -> str:
        (name,) = {entry.name for entry in self.cache().functions()} - reference
        return str(self.cache().folder.file("functions", name))

    def cache(self) -> Any:
        return library.cache(CompilerOptions.from_config())

    def test_damage_counts_as_missing(self) -> None:
        reference = {entry.name for entry in self.cache().functions()}
        self.build([self.x], self.x * 2)
        path = self.file(reference)
        with open(path, "rb") as file:
            full = file.read()
        position = full.index(b"\n") + 200
        flipped = full[:position] + bytes([full[position] ^ 1]) + full[position + 1 :]
        for data in (b"", full[:-1], full[: len(full) // 2], flipped, b"0" * 40 + full[40:]):
            with open(path, "wb") as file:
                file.write(data)
            self.check_missed([self.x], self.x * 2)
        self.assertFalse(self.build([self.x], self.x * 2)[0])

    def test_a_file_under_another_name_counts_as_missing(self) -> None:
        reference = {entry.name for entry in self.cache().functions()}
        self.build([self.x], self.x * 2)
        first = self.file(reference)
        reference.add(os.path.basename(first))
        self.build([self.x], self.x * 3)
        second = self.file(reference)
        with open(first, "rb") as file:
            data = file.read()
        with open(second, "wb") as file:
            file.write(data)
        self.assertEqual(self.check_missed([self.x], self.x * 3)(np.ones(1)).tolist(), [3.0])

    def test_off(self) -> None:
        self.build([self.x], self.x * 2)
        with config.change_flags(function_cache=False):
            self.check_missed([self.x], self.x * 2)


PROGRAM = """
import numpy as np, theano, theano.tensor as T
from unittest import mock
real, count = theano.compile.Mode.rewrite, []
theano.compile.Mode.rewrite = lambda self, fgraph: (count.append(1), real(self, fgraph))[1]
x, w = T.dmatrix("x"), theano.shared(np.eye(3), "w")
f = theano.function([x], T.tanh(T.dot(x, w)).sum(), updates=[(w, w + 1)], name="f")
print(len(count), f(np.ones((2, 3))), w.get_value()[0, 0])
"""


class ProcessTests(unittest.TestCase):
    def test_second_process(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            flags = f"base_compiledir={folder},function_cache=True,gcc.cxxflags=-O0"
            path = os.pathsep.join(p for p in sys.path if p)
            environment = {**os.environ, "PYTHONPATH": path, "THEANO_FLAGS": flags}
            messages = []
            for _ in range(2):
                done = subprocess.run(
                    [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
                )
                messages.append(done.stdout.split())
        self.assertEqual([words[0] for words in messages], ["1", "0"])
        self.assertEqual(messages[0][1:], messages[1][1:])


if __name__ == "__main__":
    unittest.main()
