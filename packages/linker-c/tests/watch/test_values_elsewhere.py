"""Values outside the memory of the host: their readers ask `as_host`."""

from __future__ import annotations

import contextlib
import io
import unittest
from typing import Any
from unittest import mock

import numpy as np

from theano_graph import Apply, Op, Type, config
from theano_graph.hashing import StructuralHasher
from theano_linker_c import (
    FAST_COMPILE,
    FAST_RUN,
    Mode,
    MonitorMode,
    NanGuardMode,
    as_host,
    function,
    function_cache_depends_on,
    optdb,
)
from theano_linker_c._function import _disk_key, _disk_lookup
from theano_linker_c._function._disk_key import Environment
from theano_linker_c.debugmode._errors import show
from theano_linker_c.debugmode._evaluate import is_finite, same
from theano_linker_c.watch import detect_nan
from theano_optimize import GraphRewriter


class Elsewhere:
    """Stands for an array on a device."""

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values)


@as_host.register(Elsewhere)
def _values(value: Any) -> Any:
    return value.values


class ElsewhereType(Type):
    def __eq__(self, other: Any) -> Any:
        return type(other) is ElsewhereType

    def __hash__(self) -> Any:
        return 7


class Same(Op):
    __props__ = ()

    def make_node(self, x: Any) -> Any:
        return Apply(self, [x], [x.type.make_variable()])

    def perform(self, node: Any, inputs: Any, output_storage: Any, params: Any = None) -> None:
        output_storage[0][0] = Elsewhere(inputs[0].values + 0)


class TestValuesElsewhere(unittest.TestCase):
    def setUp(self) -> None:
        self.x = ElsewhereType()("x")

    def test_other_values_are_returned_as_they_are(self) -> None:
        value = object()
        self.assertIs(as_host(value), value)

    def test_nan_guard(self) -> None:
        f = function([self.x], Same()(self.x), mode=NanGuardMode(True, True, True))
        self.assertEqual(f(Elsewhere([1.0])).values.tolist(), [1.0])
        with self.assertRaisesRegex(AssertionError, "NaN detected in the value of an input"):
            f(Elsewhere([np.nan]))

    def test_monitor(self) -> None:
        f = function([self.x], Same()(self.x), mode=MonitorMode(post_func=detect_nan))
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            f(Elsewhere([1.0]))
            self.assertEqual(printed.getvalue(), "")
            f(Elsewhere([np.nan]))
        self.assertIn("*** NaN detected ***", printed.getvalue())

    def test_debugmode_s_words(self) -> None:
        self.assertIn("float64 of shape (2,)", show(Elsewhere([1.0, 2.0])))
        self.assertFalse(is_finite(Elsewhere([np.inf])))
        self.assertTrue(is_finite(Elsewhere([1.0])))
        self.assertTrue(same(ElsewhereType(), Elsewhere([1.0]), Elsewhere([1.0])))
        self.assertFalse(same(ElsewhereType(), Elsewhere([1.0]), Elsewhere([2.0])))


class Noted(GraphRewriter):
    def __init__(self) -> None:
        super().__init__("noted")
        self.calls = 0

    def apply(self, fgraph: Any) -> None:
        self.calls += 1


class TestRewritesForDevices(unittest.TestCase):
    def test_python_linkers_leave_them_out(self) -> None:
        noted = Noted()
        optdb.register("noted", noted, "fast_run", "fast_compile", "gpuarray", position=49.2)
        try:
            x = ElsewhereType()("x")
            for mode, runs in (
                (FAST_RUN, True),
                (Mode("cvm", "fast_compile"), True),
                (FAST_COMPILE, False),
                (Mode("vm"), False),
            ):
                with self.subTest(str(mode)):
                    noted.calls = 0
                    function([x], Same()(x), mode=mode)
                    self.assertEqual(noted.calls > 0, runs)
        finally:
            optdb.remove("noted")


class TestFunctionCache(unittest.TestCase):
    def test_what_no_text_tells_keeps_functions_out(self) -> None:
        message: list[str | None] = [None]
        with mock.patch.object(_disk_lookup, "_surroundings", []), config.change_flags(function_cache="large"):
            self.assertEqual(self.cacheable(), (False, False, True))
            function_cache_depends_on(lambda: message[0])
            self.assertEqual(self.cacheable(), (False, False, False))
            message[0] = ""
            self.assertEqual(self.cacheable(), (False, False, True))

    def test_from_fewer_nodes_on_where_there_is_something(self) -> None:
        with mock.patch.object(_disk_lookup, "_surroundings", []), config.change_flags(function_cache="large"):
            function_cache_depends_on(lambda: "a device")
            self.assertEqual(self.cacheable(), (False, True, True))

    def test_what_is_told_is_a_part_of_the_name(self) -> None:
        messages = ["one device", "another"]
        # Other tests have rules for ops that no other process could import.
        without_rules = mock.patch.object(_disk_key, "_rules_of_users", return_value=())
        with mock.patch.object(_disk_lookup, "_surroundings", []), without_rules:
            function_cache_depends_on(lambda: messages[0])
            before = Environment(StructuralHasher()).digest()
            self.assertEqual(Environment(StructuralHasher()).digest(), before)
            messages.pop(0)
            self.assertNotEqual(Environment(StructuralHasher()).digest(), before)

    def cacheable(self) -> tuple[bool, ...]:
        return tuple(_disk_lookup.is_cacheable(FAST_RUN, count) for count in (5, 60, 5000))


if __name__ == "__main__":
    unittest.main()
