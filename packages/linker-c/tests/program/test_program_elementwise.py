"""Elementwise instructions: both machines against NumPy, for many layouts."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
from hypothesis import given, settings, strategies as st
from support import Elementwise, Python, Shuffle, array, machines

from theano_linker_c import _runtime
from theano_linker_c.scalar import add, exp, mul
from theano_testing.tiers import examples

LAYOUTS = ("c", "fortran", "reversed", "stepped")


def laid_out(values: Any, layout: str) -> Any:
    if layout == "fortran":
        return np.asfortranarray(values)
    if layout == "reversed":
        return np.ascontiguousarray(values[::-1])[::-1]
    if layout == "stepped":
        return np.repeat(values, 2, axis=-1)[..., ::2]
    return values


class TestBroadcasting(unittest.TestCase):
    @settings(max_examples=examples(60), deadline=None)
    @given(st.data())
    def test_random_shapes_and_layouts(self, data: st.DataObject) -> None:
        ndim = data.draw(st.integers(1, 4))
        lengths = data.draw(st.lists(st.sampled_from([0, 1, 2, 3, 17]), min_size=ndim, max_size=ndim))
        broadcasted = [data.draw(st.lists(st.booleans(), min_size=ndim, max_size=ndim)) for _ in range(2)]
        rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
        dtype = data.draw(st.sampled_from(["float64", "float32"]))
        variables, values = [], []
        for flags in broadcasted:
            shape = [1 if flag else n for flag, n in zip(flags, lengths, strict=True)]
            variables.append(array(dtype, *(1 if flag else None for flag in flags)))
            values.append(laid_out(rng.normal(size=shape).astype(dtype), data.draw(st.sampled_from(LAYOUTS))))
        x, y = variables
        native, plain = machines([x, y], [Elementwise(mul)(Elementwise(add)(x, y), x)])
        expected = (values[0] + values[1]) * values[0]
        for machine in (native, plain):
            result = machine(*values)
            self.assertEqual((result.dtype, result.shape), (expected.dtype, expected.shape))
            np.testing.assert_allclose(result, expected, rtol=1e-6)

    def test_short_last_dimensions(self) -> None:
        rng = np.random.default_rng(4)
        x, y = array("float64", None, None, None), array("float64", None, None, 1)
        native, _ = machines([x, y], [Elementwise(mul)(x, y)])
        threads, threshold = _runtime.get_num_threads(), _runtime.set_thread_threshold(1.0)
        try:
            for shape in ((1, 5000, 3), (4, 3001, 7), (3001, 4, 15), (2, 2049, 2), (5, 100_000, 2), (70_000, 3, 5)):
                a, b = rng.normal(size=shape), rng.normal(size=(*shape[:2], 1))
                for count in (1, 3):
                    _runtime.set_num_threads(count)
                    for values in ((a, b), (a[:, ::-1], b), (a.transpose(1, 0, 2), b.transpose(1, 0, 2))):
                        np.testing.assert_array_equal(native(*values), values[0] * values[1])
        finally:
            _runtime.set_num_threads(threads)
            _runtime.set_thread_threshold(threshold)

    def test_no_dimensions(self) -> None:
        x, y = array("float64"), array("float64")
        for machine in machines([x, y], [Elementwise(add)(x, y)]):
            result = machine(1.5, 2.0)
            self.assertIs(type(result), np.ndarray)
            self.assertEqual(result, 3.5)

    def test_fortran_order_is_kept(self) -> None:
        x = array("float64", None, None)
        native, _ = machines([x], [Elementwise(exp)(x)])
        self.assertTrue(native(np.zeros((3, 4), order="F")).flags.f_contiguous)
        self.assertTrue(native(np.zeros((3, 4))).flags.c_contiguous)


class TestMismatches(unittest.TestCase):
    def test_both_machines_say_the_same(self) -> None:
        x, y = array("float64", None, None, name="x"), array("float64", None, None, name="y")
        texts = []
        for machine in machines([x, y], [Elementwise(add)(x, y)]):
            with self.assertRaisesRegex(ValueError, r"lengths \[1, 4\] of axis 1") as caught:
                machine(np.zeros((3, 4)), np.zeros((3, 1)))
            texts.append(str(caught.exception))
            self.assertEqual(machine.position_of_error, 0)
        self.assertEqual(texts[0], texts[1])
        self.assertRegex(texts[0], r"`y`: float64\[None, None\] made at .*; got float64 of shape \(3, 1\), strides")
        self.assertRegex(texts[0], r"called at .*test_program_elementwise.py:\d+")


class TestThreads(unittest.TestCase):
    def setUp(self) -> None:
        self.threads = _runtime.get_num_threads()
        self.threshold = _runtime.set_thread_threshold(1.0)

    def tearDown(self) -> None:
        _runtime.set_num_threads(self.threads)
        _runtime.set_thread_threshold(self.threshold)

    def test_same_bits_with_and_without(self) -> None:
        x, y = array("float64", None, None), array("float64", 1, None)
        native, _ = machines([x, y], [Elementwise(mul)(Elementwise(exp)(x), y)])
        rng = np.random.default_rng(3)
        for shape in ((1000, 500), (500_000, 2), (3, 200_000)):
            a, b = rng.normal(size=shape), rng.normal(size=(1, shape[1]))
            _runtime.set_num_threads(1)
            alone = native(a, b)
            _runtime.set_num_threads(4)
            np.testing.assert_array_equal(native(a, b), alone)
            np.testing.assert_array_equal(native(a[::-1], b), alone[::-1])


class TestMemory(unittest.TestCase):
    def test_inputs_and_kept_results_are_never_overwritten(self) -> None:
        x = array("float64", None)
        native, _ = machines([x], [Elementwise(exp)(Elementwise(mul)(Elementwise(add)(x, x), x))])
        value = np.linspace(0, 1, 50)
        first = native(value)
        copy, view = first.copy(), native(value)[10:]
        for k in range(5):
            native(value * k)
        np.testing.assert_array_equal(value, np.linspace(0, 1, 50))
        np.testing.assert_array_equal(first, copy)
        np.testing.assert_array_equal(view, copy[10:])

    def test_memory_of_dropped_results_serves_again(self) -> None:
        x = array("float64", None)
        native, _ = machines([x], [Elementwise(exp)(x)])
        value = np.zeros(1000)
        address = native(value).ctypes.data
        self.assertEqual(native(value).ctypes.data, address)
        changed = native(value)
        changed.shape = (10, 100)
        del changed
        self.assertEqual(native(value).shape, (1000,))
        native.clear()
        self.assertEqual(native.buffered_bytes, 0)  # type: ignore[attr-defined]  # the native machine's own

    def test_a_value_that_an_op_keeps_is_not_taken_over(self) -> None:
        references: list[Any] = []
        x = array("float64", None)
        middle = Elementwise(add)(x, x)

        def keep(value: Any) -> Any:
            references.append(value)
            return value.copy()

        spied = Python(keep, middle.type)(middle)
        native, _ = machines([x], [Elementwise(mul)(Elementwise(exp)(middle), spied)])
        for k in range(3):
            native(np.full(5, float(k)))
        for k, value in enumerate(references):
            np.testing.assert_array_equal(value, np.full(5, 2.0 * k))

    def test_views_guard_their_owner(self) -> None:
        x = array("float64", None, None)
        total = Elementwise(add)(x, x)
        turned = Shuffle((1, 0))(total)
        native, _ = machines([x], [Elementwise(mul)(Elementwise(exp)(total), total), turned])
        value = np.arange(6.0).reshape(2, 3)
        product, view = native(value)
        np.testing.assert_allclose(product, np.exp(2 * value) * 2 * value)
        np.testing.assert_array_equal(view, 2 * value.T)
        native(value + 1)
        np.testing.assert_array_equal(view, 2 * value.T)
