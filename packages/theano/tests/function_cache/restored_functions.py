"""Functions from the cache whose graph is restored at the first look at it: calls need none, and all looks find it."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import uuid
import weakref
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np

import theano
import theano.tensor as T
import theano.tensor.signal.pool
from theano import config
from theano_graph.hashing import structural_hash
from theano_linker_c.compiler import CompilerOptions
from theano_linker_c.kernels import library

from .cached_functions import CachedTestCase, Scaled, shown


class Meters(T.TensorType):
    """A type of the user's, whose class another process has to find by its name."""


def is_restored(function: Any) -> bool:
    """Tell whether there is a graph."""
    return "fgraph" in vars(function.maker) or function.machine.program._function._graph is not None


class RestoredTestCase(CachedTestCase):
    def setUp(self) -> None:
        super().setUp()
        # Tests look at each program that is made.
        change: Any = mock.patch("theano_linker_c._function._link.on_lowered", [])
        change.start()
        self.addCleanup(change.stop)
        self.renew()

    def renew(self) -> None:
        """Make a graph that no test has had."""
        self.x = T.dvector(uuid.uuid4().hex)
        self.s = theano.shared(np.ones(3), "s")
        self.outputs = [T.tanh(self.x * self.s).sum(), T.exp(self.x) + self.s]

    def functions(self, **kwargs: Any) -> tuple[Any, Any]:
        """Return a function as it is built, and as it is found, whose graph is not there yet."""
        self.renew()
        built, result = self.twice([self.x], self.outputs, updates=[(self.s, self.s + self.x)], **kwargs)
        self.assertFalse(is_restored(result))
        return built, result


class CallTests(RestoredTestCase):
    def test_calls_need_no_graph(self) -> None:
        built, result = self.functions(name="step")
        value = np.array([0.1, 0.2, 0.3])
        results = result(value)
        self.s.set_value(np.ones(3))
        for mine, other in zip(results, built(value), strict=True):
            np.testing.assert_array_equal(mine, other)
        self.assertEqual(result.get_shared(), [self.s])
        self.assertIs(result.input_storage[1], self.s.container)
        np.testing.assert_array_equal(result[self.s], self.s.get_value())
        np.testing.assert_allclose(
            list(result.map([value, value], threads=1))[1][1], result(value)[1] - value, rtol=1e-12
        )
        self.assertEqual((result.name, result.unpack_single, len(result.outputs)), ("step", False, 2))
        self.assertEqual(len(result(value, output_subset=[1])), 1)  # of a graph of its own
        self.assertTrue(is_restored(result))

    def test_refused_arguments_need_no_graph(self) -> None:
        _, result = self.functions()
        with self.assertRaises(TypeError):
            result("text")
        with self.assertRaises(TypeError):
            result()
        self.assertFalse(is_restored(result))

    def test_equal_memory_is_overwritten(self) -> None:
        y = T.dvector("y")
        built, result = self.twice([self.x, y], T.tanh(self.x + y) * y - T.exp(self.x * y))
        self.assertFalse(is_restored(result))
        values = np.ones(4), np.arange(4.0)
        np.testing.assert_array_equal(built(*values), result(*values))
        self.assertEqual([value.tolist() for value in values], [[1.0] * 4, [0.0, 1.0, 2.0, 3.0]])
        self.assertEqual(
            [(x.inputs, x.outputs, x.release, x.donors) for x in built.machine.program.instructions],
            [(x.inputs, x.outputs, x.release, x.donors) for x in result.machine.program.instructions],
        )

    def test_no_bytes_are_held_once_the_graph_is_there(self) -> None:
        _, result = self.functions()
        later = result.machine.program._function
        self.assertTrue(later._entry.later)
        operand = weakref.ref(later._given)
        result.maker.fgraph.check_integrity()
        gc.collect()
        self.assertIsNone(operand())
        self.assertFalse(later._entry.later)


class LookTests(RestoredTestCase):
    def check(self, look: Callable[[Any], Any], **kwargs: Any) -> None:
        """Check that a look at it gives the facts of a built function."""
        built, result = self.functions(**kwargs)
        expected = look(built)
        self.s.set_value(np.ones(3))
        self.assertEqual(look(result), expected)
        self.assertTrue(is_restored(result))

    def test_printing(self) -> None:
        self.check(shown)
        self.check(theano.printing.pp)

    def test_text_of_the_function(self) -> None:
        self.check(repr)

    def test_graph(self) -> None:
        self.check(lambda f: [str(node.op) for node in f.maker.fgraph.toposort()], name="named")
        _, result = self.functions(name="named again")
        self.assertEqual(result.maker.fgraph.name, "named again")
        self.assertEqual([v.name for v in result.maker.fgraph.inputs], [self.x.name, "s"])
        result.maker.fgraph.check_integrity()

    def test_structure_of_the_graph(self) -> None:
        x, image = self.x, self.x.reshape((1, 1, 3, 3))
        for output in (
            T.nnet.conv2d(image, np.ones((1, 1, 2, 2))),
            T.grad(T.nnet.conv2d(image, np.ones((1, 1, 2, 2))).sum(), x),
            T.signal.pool.pool_2d(image, (2, 2), ignore_border=True),
            theano.scan(lambda a, b: a * b, sequences=x, outputs_info=np.ones(()))[0],
            theano.ifelse.ifelse(x.sum() > 0, T.sort(x), x[::-1]),
            T.inc_subtensor(x[1:], T.nnet.softmax(x).flatten()[:-1]),
            T.Rop(T.grad(T.tanh(x * x).sum(), x), x, x),
            T.nlinalg.matrix_inverse(T.outer(x, x)) + T.slinalg.cholesky(T.outer(x, x)),
        ):
            with self.subTest(output=str(output)):
                built, result = (f.maker.fgraph for f in self.twice([x], output))
                first, second = (structural_hash(g.inputs, g.outputs, names=True) for g in (built, result))
                self.assertEqual(first, second)

    def test_nodes_thunks_and_storage(self) -> None:
        self.check(lambda f: [str(node) for node in f.machine.nodes])
        self.check(lambda f: [str(thunk) for thunk in f.machine.thunks])
        self.check(lambda f: sorted(str(v.type) for v in f.machine.storage_map))

    def test_copies_come_without_in_place_forms(self) -> None:
        self.check(lambda f: [value.tolist() for value in f.copy(delete_updates=True)(np.ones(3))])
        self.check(lambda f: sorted(str(node.op) for node in f.maker.graph_of([0, 1]).apply_nodes))

    def test_pickles_and_copies(self) -> None:
        for again in (lambda f: pickle.loads(pickle.dumps(f)), copy.deepcopy, copy.copy):
            with self.subTest(again=again):
                self.check(lambda f, again=again: [value.tolist() for value in again(f)(np.ones(3))])  # type: ignore[misc]

    def test_values_that_stay(self) -> None:
        def kept(function: Any) -> list[Any]:
            function(np.ones(3))
            return sorted(str(cell[0]) for cell in function.machine.storage_map.values())

        with config.change_flags(allow_gc=False):
            built, result = self.twice([self.x], self.outputs)
            self.assertEqual(kept(built), kept(result))

    def test_profiles(self) -> None:
        def counts(function: Any) -> list[int]:
            function(np.ones(3))
            return sorted(function.profile.apply_callcount.values())

        built, result = self.twice([self.x], self.outputs, profile=True)
        self.assertEqual(counts(built), counts(result))

    def test_memory_is_let_go_of(self) -> None:
        self.check(lambda f: (f(np.ones(3)), f.free())[1])

    def test_errors(self) -> None:
        y, messages = T.dvector("y"), []
        for is_new in (True, False):
            rewritten, function = self.build([self.x, y], T.tanh(self.x + y))
            self.assertEqual(rewritten, is_new)
            with self.assertRaises(ValueError) as caught:
                function(np.ones(2), np.ones(3))
            messages.append([str(caught.exception), *getattr(caught.exception, "__notes__", ())])
        self.assertEqual(*messages)
        self.assertIn("restored_functions.py", "".join(messages[1]))

    def test_several_threads_look_at_once(self) -> None:
        _, result = self.functions()
        start, seen = threading.Barrier(8), []

        def look(k: int) -> None:
            start.wait()
            maker, program = result.maker, result.machine.program
            graph = maker.fgraph if k % 2 else program.instructions[0].node.outputs[0].owner._membership.graph()
            seen.append((graph, program.instructions, maker.fgraph, maker.decisions))

        threads = [threading.Thread(target=look, args=(k,)) for k in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(seen), 8)
        for several in zip(*seen, strict=True):
            self.assertTrue(all(one is several[0] for one in several))
        self.assertIs(seen[0][0], result.maker.fgraph)

    def test_calls_while_others_look(self) -> None:
        built, outcome = self.twice([self.x], T.tanh(self.x * 2).sum() + self.x)
        value, results = np.arange(5.0), []
        threads = [threading.Thread(target=lambda: results.append(outcome(value))) for _ in range(4)]
        threads.append(threading.Thread(target=lambda: shown(outcome)))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for result in results:
            np.testing.assert_array_equal(result, built(value))

    def test_a_look_that_fails_is_made_again(self) -> None:
        _, result = self.functions()
        with (
            mock.patch("theano_linker_c._function._disk_files.graph_from_columns", side_effect=MemoryError),
            self.assertRaises(MemoryError),
        ):
            result.maker.fgraph  # noqa: B018
        self.assertEqual(len(result.maker.fgraph.outputs), 3)


class AtOnceTests(RestoredTestCase):
    def test_what_names_code_of_the_user_is_restored_at_once(self) -> None:
        kind = Meters("float64", (None,))
        x = kind("length")
        _, result = self.twice([self.x, x], [self.x * 2, x], on_unused_input="ignore")
        self.assertTrue(is_restored(result))

    def test_what_calls_code_of_ops_is_restored_at_once(self) -> None:
        built, result = self.twice([self.x], Scaled()(self.x) + 1)
        self.assertTrue(is_restored(result))
        np.testing.assert_array_equal(result(np.ones(2)), built(np.ones(2)))

    def test_damage_of_the_graph_alone_is_noticed_when_it_is_read(self) -> None:
        cache = library.cache(CompilerOptions.from_config())
        reference = {item.name for item in cache.functions()}
        self.functions()
        (name,) = {item.name for item in cache.functions()} - reference
        path = cache.folder.file("functions", name)
        with open(path, "r+b") as file:
            data = file.read()
            file.seek(len(data) - 100)
            file.write(bytes(byte ^ 1 for byte in data[-100:-90]))
        self.check_missed([self.x], self.outputs, updates=[(self.s, self.s + self.x)])
