"""Counts and times of profiled functions, on both machines."""

from __future__ import annotations

import copy
import pickle
import time
import unittest
from typing import Any
from unittest import mock

import numpy as np
from lazy.lazy_ops import Choose
from small_arrays import LINKERS, Python, add, log, mul, number, vector

from theano_graph import config
from theano_linker_c import Function, Mode, ProfileStats, function, shared
from theano_linker_c.profiling import printer

V = np.array([1.0, 2.0])


def slow(v: Any) -> Any:
    """Take five milliseconds at least."""
    time.sleep(0.005)
    return v + 1


def profiled(inputs: Any, outputs: Any, linker: str = "cvm", **others: Any) -> Function:
    """Return a profiled function without rewrites."""
    return function(inputs, outputs, mode=Mode(linker, "None"), **{"profile": True, **others})


class TestObservers(unittest.TestCase):
    def test_an_observer_may_start_another_profile_or_none(self) -> None:
        x = vector("x")
        for linker in LINKERS:
            f = profiled([x], mul(add(x, x), add(x, x)), linker, profile=False)
            seen: list[int] = []

            def observe(index: int, inputs: Any, outputs: Any, f: Function = f, seen: list[int] = seen) -> None:
                seen.append(index)
                for _ in range(20):
                    f.fn.start_profile(0, observe)

            f.fn.start_profile(0, observe)
            for _ in range(3):
                f(V)
            with self.subTest(linker=linker):
                self.assertEqual(len(seen), 3 * len(f.maker.fgraph.toposort()))
                reading = f.fn.read_profile()
                assert reading is not None
                self.assertGreaterEqual(reading[0], 0)


class TestFigures(unittest.TestCase):
    def test_counts_and_times(self) -> None:
        for linker in (*LINKERS, "py", "c|py_nogc"):
            x = vector("x")
            f = profiled([x], mul(add(x, x), Python(slow)(x)), linker)
            stats = f.profile
            assert stats is not None
            self.assertEqual(stats.fct_callcount, 0)
            begin = time.perf_counter()
            for _ in range(4):
                f(V)
            wall = time.perf_counter() - begin
            self.assertEqual(stats.fct_callcount, 4)
            self.assertEqual(sorted(stats.apply_callcount.values()), [4, 4, 4])
            self.assertLessEqual(stats.fct_call_time, wall)
            self.assertLessEqual(stats.vm_call_time, stats.fct_call_time)
            self.assertLessEqual(stats.thunk_time, stats.vm_call_time)
            self.assertGreater(stats.thunk_time, 0.02)
            self.assertAlmostEqual(stats.thunk_time, sum(stats.apply_time.values()))
            slowest = max(stats.apply_time, key=stats.apply_time.__getitem__)
            self.assertEqual(str(slowest.op), "Python{slow}")

    def test_which_code_runs(self) -> None:
        x = vector("x")
        f = profiled([x], mul(add(x, x), Python(slow)(x)))
        f(V)
        assert f.profile is not None
        kinds = {str(op): kind for op, kind in f.profile.op_impl().items()}
        self.assertEqual(kinds, {"Elementwise{add}": "C", "Elementwise{mul}": "C", "Python{slow}": "Py"})
        stats = f.profile
        self.assertEqual({c.__name__: n for c, n in stats.class_nodes().items()}, {"Elementwise": 2, "Python": 1})
        self.assertEqual({c.__name__: n for c, n in stats.class_callcount().items()}, {"Elementwise": 2, "Python": 1})
        self.assertEqual({c.__name__: k for c, k in stats.class_impl().items()}, {"Elementwise": "C", "Python": "Py"})
        self.assertEqual({str(node.op): native for node, native in stats.apply_cimpl.items()}["Python{slow}"], False)
        for times in (stats.class_time(), stats.op_time()):
            self.assertAlmostEqual(sum(times.values()), stats.thunk_time)
            self.assertEqual(max(times, key=times.__getitem__), next(iter(times)))
        f = profiled([x], add(x, x), "vm")
        assert f.profile is not None
        self.assertEqual(list(f.profile.op_impl().values()), ["Py"])

    def test_equal_ops_are_one_row(self) -> None:
        x = vector("x")
        f = profiled([x], add(add(x, x), mul(x, x)))
        f(V)
        assert f.profile is not None
        expected = {"Elementwise{add}": 2, "Elementwise{mul}": 1}
        self.assertEqual({str(op): n for op, n in f.profile.op_nodes().items()}, expected)
        self.assertEqual({str(op): n for op, n in f.profile.op_callcount().items()}, expected)

    def test_nothing_is_counted_unasked(self) -> None:
        x = vector("x")
        for linker in LINKERS:
            for asked in (None, False):
                f = profiled([x], add(x, x), linker, profile=asked)
                f(V)
                self.assertIsNone(f.profile)
                self.assertIsNone(f.fn.read_profile())

    def test_several_functions_in_one_profile(self) -> None:
        stats = ProfileStats(message="both")
        x = vector("x")
        f, g = profiled([x], add(x, x), profile=stats), profiled([x], mul(x, x), "vm", profile=stats)
        f(V), g(V), g(V)
        self.assertEqual(stats.fct_callcount, 3)
        self.assertIs(f.profile, stats)
        self.assertEqual(stats.nb_nodes, 2)
        self.assertEqual(sorted(stats.apply_callcount.values()), [1, 2])

    def test_first_call_left_out(self) -> None:
        x = vector("x")
        for linker in LINKERS:
            with config.change_flags(**{"profiling.ignore_first_call": True}):
                f = profiled([x], Python(slow)(x), linker)
            assert f.profile is not None
            f(V)
            self.assertEqual((f.profile.fct_callcount, f.profile.thunk_time), (0, 0.0))
            f(V), f(V)
            self.assertEqual(f.profile.fct_callcount, 2)
            self.assertEqual(list(f.profile.apply_callcount.values()), [2])

    def test_failed_calls(self) -> None:
        x, y = vector("x"), vector("y")
        for linker in LINKERS:
            f = profiled([x, y], add(Python(slow)(x), y), linker)
            assert f.profile is not None
            with self.assertRaises(ValueError):
                f(V, np.ones(3))
            self.assertEqual(f.profile.fct_callcount, 1)
            self.assertEqual(sorted(f.profile.apply_callcount.values()), [0, 1])
            self.assertLessEqual(f.profile.thunk_time, f.profile.vm_call_time)
            self.assertLessEqual(f.profile.vm_call_time, f.profile.fct_call_time)

    def test_subsets_of_the_outputs_count(self) -> None:
        x = vector("x")
        f = profiled([x], [add(x, x), Python(slow)(x)])
        assert f.profile is not None
        f(V)
        f(V, output_subset=[0])
        self.assertEqual(f.profile.fct_callcount, 2)
        self.assertEqual(sorted(f.profile.op_callcount().values()), [1, 2])

    def test_lazy_programs(self) -> None:
        c, x = number("c"), vector("x")
        for linker in LINKERS:
            with config.change_flags(profile_memory=True):
                f = profiled([c, x], Choose()(c, Python(slow)(x), add(x, x)), linker)
            assert f.profile is not None
            f(1.0, V), f(0.0, V), f(0.0, V)
            counts = {str(node.op): n for node, n in f.profile.apply_callcount.items()}
            self.assertEqual((counts["Python{slow}"], counts["Elementwise{add}"], counts[str(Choose())]), (1, 2, 3))
            (record,) = f.profile.memory_records()
            self.assertEqual(record.fresh_bytes(), 2 * V.nbytes)

    def test_unpickled_functions_follow_the_flag(self) -> None:
        x = vector("x")
        data = pickle.dumps(profiled([x], add(x, x), name="saved"))
        self.assertIsNone(pickle.loads(data).profile)
        with config.change_flags(profile=True), mock.patch.object(printer, "add") as added:
            f = pickle.loads(data)
        f(V)
        self.assertEqual((f.profile.message, f.profile.fct_callcount), ("saved", 1))
        added.assert_called_once_with(f.profile)

    def test_updates_and_keywords(self) -> None:
        c, s = number("c"), shared(np.zeros(()), "s")
        f = profiled([c], [], updates=[(s, add(s, c))])
        assert f.profile is not None
        f(1.0), f(c=2.0)
        self.assertEqual(float(s.get_value()), 3)
        self.assertEqual(f.profile.fct_callcount, 2)

    def test_compile_times(self) -> None:
        x = vector("x")
        f = profiled([x], log(add(x, x)))
        assert f.profile is not None
        stats = f.profile
        self.assertGreater(stats.optimizer_time, 0)
        self.assertGreater(stats.linker_time, 0)
        self.assertGreaterEqual(stats.compile_time, stats.optimizer_time + stats.linker_time)
        self.assertGreaterEqual(stats.linker_time, stats.import_time)

    def test_copies(self) -> None:
        x = vector("x")
        f = profiled([x], add(x, x), name="first")
        f(V)
        self.assertIsNone(f.copy().profile)
        g = f.copy(profile=True)
        assert g.profile is not None
        g(V), g(V)
        self.assertEqual(g.profile.fct_callcount, 2)
        again = copy.deepcopy(f.profile)
        assert again is not None
        self.assertEqual((again.message, again.fct_callcount), ("first", 0))
        self.assertEqual(pickle.loads(pickle.dumps(f.profile)).message, "first")

    def test_wrong_argument(self) -> None:
        x = vector("x")
        with self.assertRaisesRegex(TypeError, "(?s)profile is 3.*pass True, False, a ProfileStats"):
            profiled([x], x, profile=3)
