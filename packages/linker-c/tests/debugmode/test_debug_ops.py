"""Findings of DebugMode in ops."""

from __future__ import annotations

import unittest
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from lazy.lazy_ops import Choose, ChooseByThunk
from small_arrays import Arrays, Elementwise, Python, add, constant, log, mul, number, vector

from theano_graph import Apply, Op, Type, config, generic
from theano_linker_c import DebugMode, Function, function, get_mode, shared
from theano_linker_c.debugmode import (
    BadDestroyMap,
    BadThunkOutput,
    BadViewMap,
    DebugModeError,
    InvalidValueError,
)
from theano_linker_c.kernels import ElementwiseKernel, native_kernel
from theano_linker_c.scalar import mul as scalar_mul

V = np.array([1.0, 2.0, 3.0])


def debugged(inputs: Any, outputs: Any, **choices: Any) -> Function:
    """Return a function under DebugMode without rewrites."""
    mode = DebugMode(optimizer=None, **{"stability_patience": 1, **choices})
    return function(inputs, outputs, mode=mode, accept_inplace=True, on_unused_input="ignore")


class TestHealthy(unittest.TestCase):
    def test_values_updates_and_untouched_arguments(self) -> None:
        x, s = vector("x"), shared(V.copy(), "s")
        for layouts in ([], ["ALL"]):
            s.set_value(V)
            f = function(
                [x],
                [mul(add(x, s), x), x],
                updates=[(s, add(s, x))],
                mode=DebugMode(check_preallocated_output=layouts),
            )
            value = V.copy()
            for k in (1, 2):
                first, second = f(value)
                np.testing.assert_allclose(first, (V + k * V) * V)
                self.assertEqual(second.tolist(), V.tolist())
                self.assertFalse(np.shares_memory(second, value))
                np.testing.assert_allclose(s.get_value(), (k + 1) * V)
            self.assertEqual(value.tolist(), V.tolist())

    def test_by_name(self) -> None:
        x = vector("x")
        for name in ("DebugMode", "DEBUG_MODE"):
            self.assertIsInstance(get_mode(name), DebugMode)
            self.assertEqual(function([x], add(x, x), mode=name)(V).tolist(), [2, 4, 6])

    def test_ops_that_overwrite_and_view_as_declared(self) -> None:
        def double(v: Any) -> Any:
            v *= 2
            return v

        def turned(v: Any) -> Any:
            return v[::-1]

        x = vector("x")
        y = Python(double, destroys=(0,))(add(x, x))
        f = debugged([x], [y, Python(turned, views=(0,))(x)], check_preallocated_output=["ALL"])
        self.assertEqual([v.tolist() for v in f(V)], [[4, 8, 12], [3, 2, 1]])

    def test_attributes_follow_flags_or_arguments(self) -> None:
        mode = DebugMode()
        result = (mode.stability_patience, mode.check_c_code, mode.check_py_code, mode.check_isfinite)
        self.assertEqual(result, (10, True, True, True))
        self.assertEqual((mode.require_matching_strides, mode.check_preallocated_output), (1, []))
        flags = {"patience": 3, "check_c": False, "check_finite": False, "check_strides": 2}
        flags_text: dict[str, Any] = {f"DebugMode.{name}": value for name, value in flags.items()}
        flags_text["DebugMode.check_preallocated_output"] = "previous:strided"
        with config.change_flags(**flags_text):
            result = (mode.stability_patience, mode.check_c_code, mode.check_isfinite, mode.check_py_code)
            self.assertEqual(result, (3, False, False, True))
            self.assertEqual(mode.check_preallocated_output, ["previous", "strided"])
            self.assertEqual(DebugMode(stability_patience=7).stability_patience, 7)
        changed = DebugMode(stability_patience=4).excluding("a_tag")
        assert isinstance(changed, DebugMode)
        self.assertEqual(changed.stability_patience, 4)

    def test_wrong_flags(self) -> None:
        for name, value in (("check_strides", 3), ("check_preallocated_output", "diagonal"), ("patience", -1)):
            with self.assertRaises(ValueError), config.change_flags(**{f"DebugMode.{name}": value}):
                pass


class WrongKernel(Elementwise):
    """Adds in Python, multiplies in native code."""


@native_kernel.register(WrongKernel)
def _wrong(node: Apply) -> ElementwiseKernel:
    kind: Any = node.outputs[0].type
    return ElementwiseKernel(scalar_mul, ("float64",) * 2, ("float64",), ((False,), (False,)), kind.ndim)


class IntoStorage(Op):
    """Runs a function that is given the memory for its result."""

    __props__ = ("compute",)

    def __init__(self, compute: Callable[..., Any], kind: Type | None = None) -> None:
        self.compute, self.kind = compute, kind

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, list(inputs), [(self.kind or inputs[0].type).make_variable()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any, params: Any = None) -> None:
        output_storage[0][0] = self.compute(output_storage[0][0], *inputs)


class TestBadThunkOutput(unittest.TestCase):
    def test_native_code_against_python(self) -> None:
        x, y = vector("x"), vector("y")
        node = WrongKernel(add.scalar_op)(x, y)
        f = debugged([x, y], node)
        with self.assertRaisesRegex(
            BadThunkOutput, "(?s)different results.*Elementwise.*made at.*native code"
        ) as caught:
            f(V, V + 1)
        error = caught.exception
        self.assertIsInstance(error, DebugModeError)
        self.assertEqual((error.thunk1, error.thunk2), ("perform", "native code"))
        np.testing.assert_allclose(error.val1, 2 * V + 1)
        np.testing.assert_allclose(error.val2, V * (V + 1))
        self.assertEqual(str(error.offending_op()), "Elementwise{add}")
        self.assertEqual([v.tolist() for v in error.inputs_val], [V.tolist(), (V + 1).tolist()])
        self.assertEqual(f(2 * np.ones(2), 2 * np.ones(2)).tolist(), [4, 4])

    def test_only_one_kind_of_code(self) -> None:
        x, y = vector("x"), vector("y")
        node = WrongKernel(add.scalar_op)(x, y)
        self.assertEqual(debugged([x, y], node, check_c_code=False)(V, V).tolist(), (2 * V).tolist())
        self.assertEqual(debugged([x, y], node, check_py_code=False)(V, V).tolist(), (V * V).tolist())
        only_python = Python(np.sin)(x)
        np.testing.assert_allclose(debugged([x], only_python, check_py_code=False)(V), np.sin(V))

    def test_memory_that_is_not_cleared(self) -> None:
        def accumulate(memory: Any, v: Any) -> Any:
            if memory is None or memory.shape != v.shape:
                return v.copy()
            memory += v
            return memory

        x = vector("x")
        node = IntoStorage(accumulate)(x)
        self.assertEqual(debugged([x], node)(V).tolist(), V.tolist())
        for layout in ("previous", "c_contiguous", "strided"):
            with self.assertRaisesRegex(BadThunkOutput, f"(?s)perform into {layout}.*memory"):
                debugged([x], node, check_preallocated_output=[layout])(V)
        self.assertEqual(debugged([x], node, check_preallocated_output=["wrong_size"])(V).tolist(), V.tolist())
        f = debugged([x], node, check_preallocated_output=["initial"])
        f(V)
        with self.assertRaisesRegex(BadThunkOutput, "perform into initial memory"):
            f(V)

    def test_memory_of_the_wrong_size(self) -> None:
        def trusting(memory: Any, v: Any) -> Any:
            if memory is None:
                return v.copy()
            memory[: len(v)] = v[: len(memory)]
            return memory

        x = vector("x")
        node = IntoStorage(trusting)(x)
        debugged([x], node, check_preallocated_output=["c_contiguous", "strided", "previous"])(V)
        with self.assertRaisesRegex(BadThunkOutput, r"wrong_size\(-1,\) memory"):
            debugged([x], node, check_preallocated_output=["wrong_size"])(V)

    def test_memory_that_is_taken_for_contiguous(self) -> None:
        def flat(memory: Any, v: Any) -> Any:
            if memory is None or memory.shape != v.shape:
                return v.copy()
            # As C code would: one element after the other from the first, for any strides.
            if memory.strides == v.strides:
                memory[...] = v
            return memory

        x = Arrays("float64", 2)("x")
        node = IntoStorage(flat)(x)
        value = np.arange(6.0).reshape(2, 3)
        debugged([x], node, check_preallocated_output=["c_contiguous"])(value)
        for layout in ("f_contiguous", "strided"):
            with self.assertRaisesRegex(BadThunkOutput, layout):
                debugged([x], node, check_preallocated_output=[layout])(value)
        everything = config.change_flags(**{"DebugMode.check_preallocated_output": "ALL"})
        with everything, self.assertRaises(BadThunkOutput):
            debugged([x], node)(value)

    def test_good_use_of_memory_passes(self) -> None:
        def careful(memory: Any, v: Any) -> Any:
            out = memory if memory is not None and memory.shape == v.shape else np.empty_like(v)
            np.multiply(v, 2, out=out)
            return out

        for shape in ((), (3,), (2, 3), (2, 2, 2)):
            x = Arrays("float64", len(shape))("x")
            f = debugged([x], IntoStorage(careful)(x), check_preallocated_output=["ALL"])
            value = np.ones(shape)
            for _ in range(2):
                np.testing.assert_allclose(f(value), 2 * value)

    def test_number_of_strided_axes(self) -> None:
        seen: list[Any] = []

        def watch(memory: Any, v: Any) -> Any:
            seen.append(None if memory is None else memory.strides)
            return v.copy()

        x = Arrays("float64", 2)("x")
        node = IntoStorage(watch)(x)
        value = np.ones((2, 3))
        for ndim, count in ((1, 3), (2, 15)):
            seen.clear()
            with config.change_flags(**{"DebugMode.check_preallocated_output_ndim": ndim}):
                f = debugged([x], node, check_preallocated_output=["strided"])
            f(value)
            self.assertEqual(sum(strides is not None for strides in seen), count)

    def test_strides(self) -> None:
        def fortran(memory: Any, v: Any) -> Any:
            return np.asfortranarray(v)

        class Both(IntoStorage):
            pass

        @native_kernel.register(Both)
        def _copy(node: Apply) -> ElementwiseKernel:
            return ElementwiseKernel(scalar_mul, ("float64",) * 2, ("float64",), ((False,) * 2,) * 2, 2)

        x = Arrays("float64", 2)("x")
        node = Both(lambda memory, v, w: np.asfortranarray(v * w))(x, x)
        value = np.arange(6.0).reshape(2, 3)
        with self.assertWarnsRegex(UserWarning, "strides of results differ"):
            debugged([x], node)(value)
        with self.assertRaisesRegex(BadThunkOutput, "strides"):
            debugged([x], node, require_matching_strides=2)(value)
        with warnings.catch_warnings(action="error"):
            debugged([x], node, require_matching_strides=0)(value)


class TestBadDestroyMap(unittest.TestCase):
    def test_undeclared_change(self) -> None:
        def spoil(v: Any, w: Any) -> Any:
            w[0] = -1
            return v + 1

        x, y = vector("x"), vector("y")
        f = debugged([x, y], Python(spoil)(x, y))
        value = V.copy()
        with self.assertRaisesRegex(BadDestroyMap, "(?s)changed input 1.*Python.spoil.*destroy_map.*`y`") as caught:
            f(V, value)
        self.assertEqual((caught.exception.idx, caught.exception.perform), (1, "perform"))
        self.assertEqual((caught.exception.old_val[0], caught.exception.new_val[0]), (1, -1))
        self.assertEqual(value.tolist(), V.tolist())

    def test_a_declaration_for_another_input_does_not_help(self) -> None:
        def spoil(v: Any, w: Any) -> Any:
            w[0] = -1
            v += 1
            return v

        x, y = vector("x"), vector("y")
        with self.assertRaisesRegex(BadDestroyMap, "changed input 1"):
            debugged([x, y], Python(spoil, destroys=(0,))(x, y))(V, V)


class TwoOutputs(Op):
    """Returns one array twice."""

    __props__ = ()

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, list(inputs), [inputs[0].type(), inputs[0].type()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any, params: Any = None) -> None:
        output_storage[0][0] = inputs[0] + 1
        output_storage[1][0] = output_storage[0][0][::-1]


class TestBadViewMap(unittest.TestCase):
    def test_undeclared_view(self) -> None:
        def turned(w: Any, v: Any) -> Any:
            return v[::-1]

        x, y = vector("x"), vector("y")
        choices: tuple[dict[str, Any], ...] = ({}, {"views": (0,)}, {"destroys": (0,)})
        for maps in choices:
            with self.assertRaisesRegex(BadViewMap, r"(?s)output 0.*shares memory with inputs \[1\]") as caught:
                debugged([x, y], Python(turned, **maps)(x, y))(V, V.copy())
            self.assertEqual((caught.exception.output_idx, caught.exception.in_alias_idx), (0, [1]))

    def test_outputs_that_are_one(self) -> None:
        x = vector("x")
        with self.assertRaisesRegex(BadViewMap, r"shares memory with outputs \[1\]"):
            debugged([x], add(*TwoOutputs()(x)))(V)

    def test_outputs_that_are_one_and_nobody_reads(self) -> None:
        x = vector("x")
        one, other = debugged([x], TwoOutputs()(x))(V)
        np.testing.assert_array_equal(one, V + 1)
        np.testing.assert_array_equal(other, V[::-1] + 1)

    def test_declared_and_not_done(self) -> None:
        x = vector("x")
        choices: tuple[dict[str, Any], ...] = ({"views": (0,)}, {"destroys": (0,)})
        for maps in choices:
            f = debugged([x], Python(np.sin, **maps)(add(x, x)))
            with self.assertWarnsRegex(UserWarning, "(?s)output 0 lies in the memory of an input.*Python.sin"):
                f(V)
            with (
                config.change_flags(**{"DebugMode.warn_input_not_reused": False}),
                warnings.catch_warnings(action="error"),
            ):
                debugged([x], Python(np.sin, **maps)(add(x, x)))(V)


class TestInvalidValue(unittest.TestCase):
    def test_value_of_another_type(self) -> None:
        x = vector("x")
        for wrong in (lambda v: v + 1j, lambda v: v.astype("float32"), lambda v: v[None], lambda v: "text"):
            with self.assertRaisesRegex(InvalidValueError, "(?s)does not fit.*node Python.*float64"):
                debugged([x], Python(wrong)(x))(V)

    def test_the_first_node_with_nan_is_named(self) -> None:
        x = vector("x")
        with np.errstate(all="ignore"):
            for outputs in (add(log(x), x), [add(log(x), x)]):
                with self.assertRaisesRegex(InvalidValueError, "(?s)NaN or infinities.*Elementwise.log") as caught:
                    debugged([x], outputs)(np.array([1.0, -1.0]))
                self.assertTrue(np.isnan(caught.exception.v[1]))
            result: Any = debugged([x], log(x), check_isfinite=False)(np.array([1.0, 0.0]))
        self.assertEqual(result.tolist(), [0, -np.inf])

    def test_arguments(self) -> None:
        x = vector("x")
        with self.assertRaisesRegex(InvalidValueError, "(?s)an input has NaN.*`x`"):
            debugged([x], add(x, x))(np.array([np.nan]))


class TestPythonObjects(unittest.TestCase):
    def test_what_cannot_change_may_be_handed_on(self) -> None:
        x = generic("x")
        f = debugged([x], Python(lambda v: v)(x))
        for value in (3, 2.5, "text", None, (1, "a")):
            self.assertEqual(f(value), value)
        with self.assertRaises(BadViewMap):
            f([1, 2])

    def test_changes_are_noticed(self) -> None:
        x = generic("x")
        with self.assertRaises(BadDestroyMap):
            debugged([x], Python(lambda v: v.append(3) or len(v))(x))([1, 2])


class TestMarks(unittest.TestCase):
    def test_values_that_mean_nothing(self) -> None:
        turns = iter(range(100))

        def whatever(memory: Any, v: Any) -> Any:
            return v * (next(turns) if memory is None else np.nan)

        x = vector("x")
        y = IntoStorage(whatever)(x)
        with self.assertRaises(InvalidValueError):
            debugged([x], y, check_preallocated_output=["ALL"])(V)
        y.tag.nan_guard_mode_check = False
        with self.assertRaises(BadThunkOutput):
            debugged([x], y, check_preallocated_output=["ALL"])(V)
        y.tag.values_eq_approx = lambda a, b: True
        result: Any = debugged([x], y, check_preallocated_output=["ALL"])(V)
        self.assertEqual(result.shape, (3,))


class TestOtherWaysToRun(unittest.TestCase):
    def test_debug_perform(self) -> None:
        class Gentle(Python):
            def debug_perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
                output_storage[0][0] = inputs[0] * 100

        x = vector("x")
        node = Gentle(np.sin)(x)
        self.assertEqual(debugged([x], node)(V).tolist(), [100, 200, 300])
        np.testing.assert_allclose(function([x], node)(V), np.sin(V))

    def test_own_thunk_and_lazy_ops(self) -> None:
        c, x = number("c"), vector("x")
        kinds: tuple[Any, ...] = (Choose, ChooseByThunk)
        for kind in kinds:
            f = debugged([c, x], kind()(c, add(x, x), mul(x, x)))
            self.assertEqual(f(1.0, V).tolist(), [2, 4, 6])
            self.assertEqual(f(0.0, V).tolist(), [1, 4, 9])

    def test_an_error_of_an_op_names_the_node(self) -> None:
        x, y = vector("x"), vector("y")
        f = debugged([x, y], mul(add(x, y), constant(V)))
        with self.assertRaisesRegex(ValueError, "(?s)shapes differ.*Elementwise.add.*`y`"):
            f(V, np.ones(2))
        self.assertEqual(f.fn.thunks[f.fn.position_of_error].inputs[1][0].tolist(), [1, 1])
        self.assertEqual(f(V, V).tolist(), [2, 8, 18])
