"""Functions are put on disk later than they are made: with any event between."""

from __future__ import annotations

import errno
import functools
import operator
import os
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import uuid
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import theano
import theano.tensor as T
from theano import config
from theano_linker_c import finish_storing
from theano_linker_c.compiler import CompilerOptions
from theano_linker_c.kernels import library

#: These tests look at the queue inside of the linker.
_stores: Any = sys.modules[finish_storing.__module__]


def names() -> set[str]:
    return {item.name for item in library.cache(CompilerOptions.from_config()).functions()}


def is_found(function: Any) -> bool:
    return not function.maker.profile.parts


class StoredTestCase(unittest.TestCase):
    def setUp(self) -> None:
        change = config.change_flags(function_cache=True)
        change.__enter__()
        self.addCleanup(change.__exit__)
        self.addCleanup(finish_storing)
        # The thread leaves the functions of these tests to them.
        grace = mock.patch.object(_stores, "_GRACE", 30.0)
        grace.start()
        self.addCleanup(grace.stop)
        self.addCleanup(_stores.stores.renew)
        _stores.stores.renew()
        self.name = uuid.uuid4().hex
        self.x = T.dvector(self.name)

    def wave(self, factor: float = 2.0) -> Any:
        return T.exp(self.x * factor).sum() + 1


class MeanwhileTests(StoredTestCase):
    def test_it_is_found_before_it_is_on_disk(self) -> None:
        reference = names()
        self.assertFalse(is_found(theano.function([self.x], self.wave())))
        self.assertEqual(names(), reference)
        self.assertTrue(is_found(theano.function([self.x], self.wave())))
        self.assertEqual(len(names() - reference), 1)

    def test_the_graph_changes(self) -> None:
        y = self.x * 2
        y.name = "before"
        function = theano.function([self.x], T.exp(y))
        y.name = "afterwards"
        assert y.owner is not None, "it is a product"
        y.owner.inputs[1] = T.constant(np.full(1, 3.0))
        self.assertTrue(finish_storing())
        self.assertFalse(is_found(theano.function([self.x], T.exp(y))))
        z = self.x * 2
        z.name = "before"
        again = theano.function([self.x], T.exp(z))
        self.assertTrue(is_found(again))
        np.testing.assert_array_equal(again(np.ones(2)), np.exp([2.0, 2.0]))
        np.testing.assert_array_equal(function(np.ones(2)), np.exp([2.0, 2.0]))

    def test_a_constant_changes(self) -> None:
        value = np.arange(1.0, 4.0)
        with config.change_flags(optimizer="None"):
            theano.function([self.x], self.x * T.constant(value))
            value[:] = 7.0
            self.assertTrue(finish_storing())
            again = theano.function([self.x], self.x * T.constant(np.arange(1.0, 4.0)))
        np.testing.assert_array_equal(again(np.ones(3)), [1.0, 2.0, 3.0])

    def test_the_function_changes_and_goes(self) -> None:
        function = theano.function([self.x], self.wave())
        expected = function(np.ones(3))
        fgraph = function.maker.fgraph
        fgraph.replace_all([(fgraph.outputs[0], T.constant(np.float64(5.0)))])
        function.maker.reoptimize()
        del function, fgraph
        self.assertTrue(finish_storing())
        again = theano.function([self.x], self.wave())
        self.assertTrue(is_found(again))
        self.assertEqual(again(np.ones(3)), expected)

    def test_flags_change(self) -> None:
        with config.change_flags(allow_gc=False):
            theano.function([self.x], self.wave())
        self.assertTrue(finish_storing())
        self.assertFalse(is_found(theano.function([self.x], self.wave())))
        with config.change_flags(allow_gc=False):
            self.assertTrue(is_found(theano.function([self.x], self.wave())))

    def test_rewrites_are_registered(self) -> None:
        theano.function([self.x], self.wave())

        @theano.gof.local_optimizer([T.Elemwise])
        def local_nothing(node: Any) -> Any:
            return None

        theano.compile.optdb["canonicalize"].register("local_nothing", local_nothing, "fast_run")
        try:
            self.assertTrue(finish_storing())
            self.assertFalse(is_found(theano.function([self.x], self.wave())))
        finally:
            theano.compile.optdb["canonicalize"].remove("local_nothing")

    def test_databases_that_are_registered_leave_functions_without_names(self) -> None:
        # How one chooses among its rewrites is said by its class and its attributes.
        database = theano.gof.TopoDB(theano.gof.LocalGroupDB(), order="in_to_out")
        theano.compile.optdb.register("chosen", database, 2.5, "fast_run")
        try:
            reference = names()
            theano.function([self.x], self.wave())
            self.assertTrue(finish_storing())
            self.assertEqual(names(), reference)
        finally:
            theano.compile.optdb.remove("chosen")

    def test_rewriters_that_are_added_to_a_query_inside_of_another(self) -> None:
        inner = theano.gof.Query(["fast_run"]).register((theano.gof.MergeOptimizer(), 2))
        for query, count in (
            (theano.gof.Query(["fast_run"]), 1),
            (theano.gof.Query(["fast_run"], subquery={"mineseq": inner}), 0),
        ):
            reference = names()
            theano.function([self.x], self.wave(), mode=theano.Mode("cvm", query))
            self.assertTrue(finish_storing())
            self.assertEqual(len(names() - reference), count)

    def test_what_cannot_be_looked_at_leaves_functions_without_names(self) -> None:
        environment = sys.modules["theano_linker_c._function._disk_key"]
        reference = names()
        for error in (ValueError("scipy.__spec__ is None"), NotADirectoryError("lib.zip")):
            with mock.patch.object(environment, "_marks", side_effect=error):
                f = theano.function([self.x], self.wave())
                self.assertTrue(finish_storing())
            self.assertEqual(np.shape(f(np.ones(2))), ())
        self.assertEqual(names(), reference)

    def test_constants_of_the_library_change(self) -> None:
        # Sums are cut at as many terms as a constant says.
        groups = "theano_tensor.rewrites._groups.MAX_OPERANDS"
        sum_ = functools.reduce(operator.add, [T.exp(self.x * float(i)) for i in range(40)])

        def nodes(function: Any) -> int:
            return len(function.maker.fgraph.apply_nodes)

        usual = theano.function([self.x], sum_)
        for value in (5, 6):
            with self.subTest(value=value), mock.patch(groups, value):
                changed = theano.function([self.x], sum_)
                self.assertFalse(is_found(changed))
                self.assertGreater(nodes(changed), nodes(usual))
                self.assertTrue(is_found(theano.function([self.x], sum_)))
        again = theano.function([self.x], sum_)
        self.assertTrue(is_found(again))
        self.assertEqual(nodes(again), nodes(usual))

    def test_constants_that_have_no_content_to_compare(self) -> None:
        with mock.patch("theano_tensor.rewrites._groups.MAX_OPERANDS", threading.Event()):
            reference = names()
            theano.function([self.x], T.exp(self.x))
            self.assertTrue(finish_storing())
            self.assertEqual(names(), reference)

    def test_the_library_changes_no_constants(self) -> None:
        theano.function([self.x], self.wave())
        changed = sys.modules["theano_linker_c._function._disk_lookup"].changed_constants
        self.assertEqual([name for name, _ in changed()], [f"{_stores.__name__}._GRACE"])  # changed by `setUp`
        groups = "theano_tensor.rewrites._groups"
        for value, names_found in ((30, []), (30.0, [f"{groups}.MAX_OPERANDS"]), (None, [f"{groups}.MAX_OPERANDS"])):
            with self.subTest(value=value), mock.patch(f"{groups}.MAX_OPERANDS", value):
                self.assertEqual([name for name, _ in changed()][1:], names_found)
        # Names in small letters are no constants, and new ones have not been read by anybody.
        with mock.patch(f"{groups}.NEW", 1, create=True), mock.patch("theano.tensor._historical.float16_atol", 1.0):
            self.assertEqual(len(changed()), 1)

    def test_another_version_of_the_library_is_installed(self) -> None:
        theano.function([self.x], self.wave())  # so that all is loaded that caching takes
        self.assertTrue(finish_storing())
        environment = sys.modules["theano_linker_c._function._disk_key"]
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "of_the_new_version.py").write_text("")
            with mock.patch.object(theano, "__path__", [*theano.__path__, folder]):
                # The code that runs is not that of the files: nothing is taken from their processes, or left to them.
                reference = names()
                for _ in range(2):
                    self.assertFalse(is_found(theano.function([self.x], self.wave())))
                    self.assertTrue(finish_storing())
                self.assertEqual(names(), reference)
                with mock.patch.object(
                    environment, "LOADED_AT", time.time_ns() + 10**9
                ):  # a process of the new version
                    self.assertFalse(is_found(theano.function([self.x], self.wave())))
                    self.assertTrue(is_found(theano.function([self.x], self.wave())))
                self.assertFalse(is_found(theano.function([self.x], self.wave())))
        self.assertTrue(is_found(theano.function([self.x], self.wave())))

    def test_a_function_is_let_go_of_when_it_is_stored(self) -> None:
        theano.function([self.x], self.wave())
        self.assertTrue(_stores.stores._waiting)
        self.assertTrue(finish_storing())
        self.assertFalse(_stores.stores._waiting)

    def test_many_functions(self) -> None:
        reference = names()
        for i in range(_stores._MOST + 3):
            theano.function([self.x], self.x + float(i))
        self.assertLess(len(_stores.stores._waiting), 4)
        self.assertTrue(finish_storing())
        self.assertEqual(len(names() - reference), _stores._MOST + 3)

    def test_threads(self) -> None:
        reference, result = names(), []

        def work(k: int) -> None:
            for i in range(4):
                function = theano.function([self.x], T.exp(self.x * float(4 * k + i)))
                result.append(function(np.zeros(2)).tolist() == [1.0, 1.0])

        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertTrue(finish_storing())
        self.assertEqual(result, [True] * 16)
        self.assertEqual(len(names() - reference), 16)

    def test_the_thread_stores(self) -> None:
        reference = names()
        with mock.patch.object(_stores, "_GRACE", 0.01):
            theano.function([self.x], self.wave())
            thread = _stores.stores._thread
            if thread is not None:
                thread.join(600)
        self.assertEqual(len(names() - reference), 1)

    def test_no_threads(self) -> None:
        reference = names()
        with mock.patch.object(threading.Thread, "start", side_effect=RuntimeError("can't start new thread")):
            theano.function([self.x], self.wave())
        self.assertEqual(len(names() - reference), 1)

    def test_no_time(self) -> None:
        theano.function([self.x], self.wave())
        self.assertFalse(finish_storing(0.0))
        self.assertTrue(finish_storing())


class FullDiskTests(StoredTestCase):
    def test_what_cannot_be_written_is_written_another_time(self) -> None:
        with config.change_flags(function_cache=False):
            theano.function([self.x], self.x + 1)  # so that its kernel is there
        reference = names()
        for number in (errno.ENOSPC, errno.EROFS, errno.EDQUOT):
            with mock.patch.object(
                library.cache(CompilerOptions.from_config()).folder,
                "publish",
                side_effect=OSError(number, os.strerror(number)),
            ):
                self.assertEqual(theano.function([self.x], self.x + 1)(np.ones(1)).tolist(), [2.0])
                self.assertTrue(finish_storing())
        self.assertEqual(names(), reference)
        theano.function([self.x], self.x + 1)
        self.assertTrue(is_found(theano.function([self.x], self.x + 1)))

    def test_what_fails_in_the_background_is_not_told(self) -> None:
        with mock.patch("theano_linker_c._function._disk_entry.Draft.written", side_effect=ZeroDivisionError):
            theano.function([self.x], self.wave())
            self.assertTrue(finish_storing())
        self.assertFalse(is_found(theano.function([self.x], self.wave())))


FULL = """
import os, resource, sys, numpy as np, theano, theano.tensor as T
from theano import config
from theano_linker_c import finish_storing
from theano_linker_c.compiler import CompilerOptions
from theano_linker_c.kernels import library
x = T.dvector("x")
y = T.exp(x * 2).sum() + 1
with config.change_flags(function_cache=False):
    theano.function([x], y)
cache = library.cache(CompilerOptions.from_config())
most = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, most[1]))
f = theano.function([x], y)
assert finish_storing()
resource.setrlimit(resource.RLIMIT_FSIZE, most)
names = [entry.name for entry in cache.folder.entries("tmp")]
print(len(cache.functions()), len(names), f(np.zeros(2)))
theano.function([x], y)
assert finish_storing()
again = theano.function([x], y)
print(len(cache.functions()), len(again.maker.profile.parts), again(np.zeros(2)))
"""

FORKED = """
import os, numpy as np, theano, theano.tensor as T
from theano_linker_c import finish_storing
from theano_linker_c.compiler import CompilerOptions
from theano_linker_c.kernels import library
x = T.dvector("x")
f = theano.function([x], T.exp(x).sum())
child = os.fork()
if not child:
    assert finish_storing()
    g = theano.function([x], T.cos(x).sum())
    assert g(np.zeros(2)) == 2.0 == f(np.zeros(2))
    assert finish_storing()
    os._exit(len(library.cache(CompilerOptions.from_config()).functions()))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
assert finish_storing()
print(len(library.cache(CompilerOptions.from_config()).functions()))
"""

ENDED = """
import sys, theano, theano.tensor as T
x = T.dvector("x")
f = theano.function([x], T.exp(x).sum())
print(len(f.maker.profile.parts))
sys.exit(3)
"""


class ProcessTests(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_program(self, text: str, status: int = 0) -> list[str]:
        path = os.pathsep.join(p for p in sys.path if p)
        flags = f"base_compiledir={self.folder},function_cache=True,gcc.cxxflags=-O0"
        environment = {**os.environ, "PYTHONPATH": path, "THEANO_FLAGS": flags}
        done = subprocess.run(
            [sys.executable, "-W", "ignore::DeprecationWarning", "-c", text],
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        self.assertEqual((done.returncode, done.stderr), (status, ""))
        return done.stdout.split("\n")[:-1]

    @unittest.skipIf(sys.platform == "win32", "there are no such limits")
    def test_a_full_disk(self) -> None:
        self.assertEqual(self.run_program(FULL), ["0 0 3.0", "1 0 3.0"])

    @unittest.skipUnless(hasattr(os, "fork"), "there is no fork")
    def test_a_fork_does_not_store_what_waits(self) -> None:
        message = self.run_program(FORKED)
        self.assertIn(message, (["1", "2"], ["2", "2"]))  # the thread may have been faster than the fork

    def test_a_program_that_ends_at_once(self) -> None:
        first, second = (self.run_program(ENDED, 3)[0] for _ in range(2))
        self.assertNotEqual(first, "0")
        self.assertEqual(second, "0")

    def test_many_processes_at_once(self) -> None:
        threads = [threading.Thread(target=self.run_program, args=(ENDED, 3)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(self.run_program(ENDED, 3), ["0"])
        (folder,) = Path(self.folder).glob("*/functions")
        self.assertEqual(len(list(folder.iterdir())), 1)


if __name__ == "__main__":
    unittest.main()
