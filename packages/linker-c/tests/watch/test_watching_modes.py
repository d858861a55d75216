"""MonitorMode and NanGuardMode."""

from __future__ import annotations

import contextlib
import io
import unittest
import warnings
from typing import Any

import numpy as np
from small_arrays import LINKERS, Arrays, Python, add, constant, log, mul, number, vector

from theano_graph import Apply, config
from theano_linker_c import MonitorMode, NanGuardMode, function, get_mode, shared
from theano_linker_c.program import Thunk
from theano_linker_c.watch import detect_nan
from theano_optimize import WalkRewriter, node_rewriter

V = np.array([1.0, 2.0])


class TestMonitor(unittest.TestCase):
    def test_functions_around_each_node(self) -> None:
        for linker in (*LINKERS, "py", "c|py"):
            seen: list[Any] = []

            def before(i: int, node: Apply, fn: Thunk, seen: list[Any] = seen) -> None:
                seen.append((i, str(node.op), [cell[0].tolist() for cell in fn.inputs], fn.outputs[0][0]))

            def after(i: int, node: Apply, fn: Thunk, seen: list[Any] = seen) -> None:
                seen.append([cell[0].tolist() for cell in (*fn.inputs, *fn.outputs)])

            x = vector("x")
            f = function([x], mul(add(x, x), x), mode=MonitorMode(before, after, "None", linker))
            self.assertEqual(f(V).tolist(), [2, 8])
            self.assertEqual(
                seen,
                [
                    (0, "Elementwise{add}", [[1, 2], [1, 2]], None),
                    [[1, 2], [1, 2], [2, 4]],
                    (1, "Elementwise{mul}", [[2, 4], [1, 2]], None),
                    [[2, 4], [1, 2], [2, 8]],
                ],
            )

    def test_updates_and_later_calls(self) -> None:
        calls: list[int] = []
        s = shared(V.copy(), "s")
        mode = MonitorMode(post_func=lambda i, node, fn: calls.append(i))
        f = function([], s, updates=[(s, add(s, s))], mode=mode)
        for _ in range(3):
            f()
        self.assertEqual(s.get_value().tolist(), [8, 16])
        self.assertEqual(len(calls), 3 * len(f.fn.thunks))

    def test_detect_nan(self) -> None:
        x = number("x")
        f = function([x], mul(log(x), x), mode=MonitorMode(post_func=detect_nan))
        out = io.StringIO()
        with contextlib.redirect_stdout(out), np.errstate(all="ignore"):
            f(1.0)
            self.assertEqual(out.getvalue(), "")
            f(0.0)
        lines = out.getvalue().splitlines()
        self.assertEqual(lines[0], "*** NaN detected ***")
        self.assertTrue(lines[1].startswith("Elementwise{mul} [id A]"), lines)
        self.assertIn("Inputs : [array(-inf), array(0.)]", lines)
        self.assertIn("Outputs: [array(nan)]", lines)

    def test_tags(self) -> None:
        mode = MonitorMode(post_func=detect_nan).excluding("local_elemwise_fusion", "inplace")
        assert isinstance(mode, MonitorMode)
        self.assertIs(mode.post_func, detect_nan)
        x = vector("x")
        self.assertEqual(function([x], add(x, x), mode=mode.including("a_tag"))(V).tolist(), [2, 4])

    def test_an_error_of_the_function_names_the_node(self) -> None:
        def refuse(i: int, node: Apply, fn: Thunk) -> None:
            raise LookupError("enough")

        x = vector("x")
        f = function([x], add(x, x), mode=MonitorMode(refuse))
        with self.assertRaisesRegex(LookupError, "(?s)enough.*Elementwise.add.*`x`"):
            f(V)
        self.assertEqual(f.fn.position_of_error, 0)
        self.assertEqual(f.fn.thunks[0].inputs[0][0].tolist(), [1, 2])

    def test_call_inside_itself(self) -> None:
        results: list[Any] = []

        def again(i: int, node: Apply, fn: Thunk) -> None:
            with self.assertRaisesRegex(RuntimeError, "being called already"):
                f(V)
            results.append(i)

        x = vector("x")
        f = function([x], add(x, x), mode=MonitorMode(again))
        self.assertEqual(f(V).tolist(), [2, 4])
        self.assertEqual(results, [0])


def guarded(inputs: Any, outputs: Any, linker: str = "cvm", **choices: Any) -> Any:
    """Return a function under NanGuardMode that minds only the chosen faults."""
    chosen = {"nan_is_error": False, "inf_is_error": False, "big_is_error": False} | choices
    return function(inputs, outputs, mode=NanGuardMode(optimizer="None", linker=linker, **chosen))


class TestNanGuard(unittest.TestCase):
    def test_each_kind_by_itself(self) -> None:
        x = vector("x")
        kinds = {"nan_is_error": (np.nan, "NaN"), "inf_is_error": (np.inf, "Inf"), "big_is_error": (2e10, "Big value")}
        for linker in LINKERS:
            for choice in kinds:
                f = guarded([x], add(x, x), linker, **{choice: True})
                for name, (value, text) in kinds.items():
                    operand = np.array([0.0, -value])
                    if name == choice:
                        with self.assertRaisesRegex(AssertionError, f"(?s){text} detected.*`x`.*nan_guard_mode_check"):
                            f(operand)
                    else:
                        np.testing.assert_array_equal(f(operand), operand * 2)

    def test_big_beside_a_permitted_nan(self) -> None:
        x = vector("x")
        with self.assertRaisesRegex(AssertionError, "Big value detected"):
            guarded([x], add(x, x), big_is_error=True)(np.array([np.nan, 1e11, np.inf]))

    def test_the_node_that_makes_the_value_is_named(self) -> None:
        x = vector("x")
        for linker in LINKERS:
            f = guarded([x], add(log(x), x), linker, inf_is_error=True)
            with (
                np.errstate(all="ignore"),
                self.assertRaisesRegex(
                    AssertionError,
                    "(?s)Inf detected in the output of a node.*Elementwise.log.*\\[id A\\].*x \\[id B\\]",
                ),
            ):
                f(np.array([1.0, 0.0]))
            self.assertEqual(f(np.ones(2)).tolist(), [1, 1])

    def test_shared_variables_and_float32(self) -> None:
        s = shared(np.array([1.0, np.nan], "float32"), "s")
        with self.assertRaisesRegex(AssertionError, "(?s)NaN detected in the value of an input.*`s`"):
            guarded([], add(s, s), nan_is_error=True)()

    def test_integers_and_other_objects_are_left_alone(self) -> None:
        x = vector("x", "int64")
        f = guarded([x], add(x, x), big_is_error=True, nan_is_error=True)
        self.assertEqual(f(np.array([10**12])).tolist(), [2 * 10**12])

    def test_state_stays_after_an_error(self) -> None:
        s = shared(np.array([1.0]), "s")
        f = function([], [], updates=[(s, log(s))], mode=NanGuardMode(True, True, True))
        f()
        self.assertEqual(s.get_value().tolist(), [0])
        with np.errstate(all="ignore"), self.assertRaises(AssertionError):
            f()
        self.assertEqual(s.get_value().tolist(), [0])

    def test_flags_give_the_defaults(self) -> None:
        x = vector("x")
        nan = np.array([np.nan])
        with self.assertRaisesRegex(AssertionError, "NaN"):
            function([x], add(x, x), mode="NanGuardMode")(nan)
        with config.change_flags(**{"NanGuardMode.nan_is_error": False}):
            f = function([x], add(x, x), mode="NanGuardMode")
        self.assertTrue(np.isnan(f(nan)).all())
        with self.assertRaisesRegex(AssertionError, "Inf"):
            f(np.array([np.inf]))

    def test_warning_instead(self) -> None:
        x = vector("x")
        f = guarded([x], add(x, x), nan_is_error=True)
        warns = config.change_flags(**{"NanGuardMode.action": "warn"})
        with warns, self.assertWarnsRegex(UserWarning, "NaN detected"):
            f(np.array([np.nan]))

    def test_marked_variables(self) -> None:
        x = vector("x")
        y = log(x)
        y.tag.nan_guard_mode_check = False
        x.tag.nan_guard_mode_check = False
        f = guarded([x], mul(y, constant([0.5, 0.5])), inf_is_error=True, nan_is_error=True)
        with np.errstate(all="ignore"), self.assertRaisesRegex(AssertionError, "(?s)Inf.*Elementwise.mul"):
            f(np.array([1.0, 0.0]))
        f = guarded([x], y, inf_is_error=True)
        with np.errstate(all="ignore"):
            self.assertEqual(f(np.array([1.0, 0.0])).tolist(), [0, -np.inf])

    def test_the_mark_goes_over_to_a_replacement(self) -> None:
        x = vector("x")
        y = log(x)
        y.tag.nan_guard_mode_check = False
        other = Python(np.log, Arrays())

        @node_rewriter([log], name="log_in_python")
        def swap(fgraph: Any, node: Apply) -> list[Any]:
            return [other(node.inputs[0])]

        mode = NanGuardMode(True, True, True, WalkRewriter(swap))
        f = function([x], y, mode=mode)
        self.assertEqual([str(node.op) for node in f.fn.nodes], ["Python{log}"])
        with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
            self.assertEqual(f(np.array([0.0])).tolist(), [-np.inf])

    def test_by_name_and_tags(self) -> None:
        mode = get_mode("NanGuardMode")
        self.assertIsInstance(mode, NanGuardMode)
        self.assertIsInstance(mode.including("alloc_empty_to_zeros"), NanGuardMode)
