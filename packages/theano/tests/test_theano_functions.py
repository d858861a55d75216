"""The manual's chapters on functions, shared variables and the memory model, run as they are written there."""

from __future__ import annotations

import importlib
import tomllib
import unittest
from pathlib import Path
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano import function
from theano.compile.io import In, Out
from theano.compile.sharedvalue import SharedVariable, constructors, shared_constructor


class TestInputs(unittest.TestCase):
    def test_values_that_stick_around(self) -> None:
        u, x, s = T.scalars("u", "x", "s")
        inc = function([u, In(x, value=3), In(s, update=(s + x * u), value=10.0)], [])
        self.assertEqual(inc(5), [])
        self.assertEqual(inc[s], 25.0)
        inc(3, 4)
        self.assertEqual((inc[s], inc[x]), (37.0, 3.0))
        inc(3, 4, 7)
        self.assertEqual(inc[s], 19.0)
        inc[s] = 10
        self.assertEqual(inc[s], 10.0)

    def test_access_to_values_and_containers(self) -> None:
        a, b, c = T.scalars("xys")
        fn = theano.function([a, b, ((c, c + a + b), 10.0)], [])
        self.assertIs(fn["s"], fn.value[c])
        self.assertIs(fn["s"], fn.container[c].value)
        fn(1, 2)
        self.assertEqual(fn["s"], 13.0)
        fn["s"] = 99.0
        fn(1, 0)
        self.assertEqual(fn["s"], 100.0)
        fn.value[c] = 99.0
        fn(1, 0)
        self.assertEqual((fn["s"], fn.value[c], fn.container[c].value), (100.0, 100.0, 100.0))

    def test_shortcuts(self) -> None:
        x, y, z, w = T.scalar(), T.scalar("y"), T.scalar("z"), T.scalar("w")
        fn = theano.function(inputs=[x, y, In(z, value=42), ((w, w + x), 0)], outputs=x + y + z)
        with self.assertRaisesRegex(TypeError, "^Missing required input: y"):
            fn(1)
        self.assertEqual((fn(1, 2), fn(1, y=2)), (45.0, 45.0))
        text = (
            r"^Unknown input or state: x\. The function has 3 named inputs \(y, z, w\), and 1 unnamed input which thus "
            r"cannot be accessed through keyword argument \(use 'name=\.\.\.' in a variable's constructor to give it a "
            r"name\)\."
        )
        with self.assertRaisesRegex(TypeError, text):
            fn(x=1, y=2)
        self.assertEqual((fn(1, 2, 3), fn(1, z=3, y=2), fn(1, 2, w=400), fn(1, 2)), (6.0, 6.0, 45.0, 45.0))
        self.assertEqual(fn[w], 402.0)

    def test_numbers_of_python(self) -> None:
        x = T.dscalar()
        f = theano.function([x], 2 * x)
        self.assertEqual(repr(f(4)), "array(8.)")
        for variable, value in ((T.bscalar(), 127), (T.iscalar(), -7), (T.lscalar(), 2**62), (T.fscalar(), 3)):
            result = theano.function([variable], variable)(value)
            self.assertEqual((result, result.dtype), (value, variable.dtype))
        with self.assertRaisesRegex(TypeError, "index 0"):
            theano.function([variable := T.bscalar("i")], variable)(128)


class TestOutputs(unittest.TestCase):
    def test_borrowed_and_not(self) -> None:
        x = T.matrix("x")
        fn1 = theano.function([x], [x + x, Out((x + x).T, borrow=True)])
        first, second = fn1(np.asarray([[1, 0], [0, 1]]))
        np.testing.assert_array_equal(first, [[2, 0], [0, 2]])
        np.testing.assert_array_equal(second, first)
        f = theano.function([theano.In(x, borrow=True)], theano.Out(2 * x, borrow=True, return_internal_type=True))
        np.testing.assert_array_equal(f(np.eye(2)), 2 * np.eye(2))

    def test_orig_function(self) -> None:
        x = T.dscalar("x")
        self.assertEqual(theano.compile.function_module.orig_function([x], [2 * x])(2), [4.0])

    def test_functions_of_a_maker(self) -> None:
        x = T.dscalar("x")
        f = theano.function([x], x + 1)
        self.assertIsInstance(f.maker, theano.FunctionMaker)
        self.assertEqual(f.maker.create()(1), 2.0)


class TestBorrowing(unittest.TestCase):
    def test_creating(self) -> None:
        np_array = np.ones(2, dtype="float32")
        s_default = theano.shared(np_array)
        s_false = theano.shared(np_array, borrow=False)
        s_true = theano.shared(np_array, borrow=True)
        np_array += 1
        self.assertEqual([s.get_value().tolist() for s in (s_default, s_false, s_true)], [[1, 1], [1, 1], [2, 2]])

    def test_reading(self) -> None:
        s = theano.shared(np.ones(3))
        stored = s.container.value
        self.assertIs(s.get_value(borrow=True), stored)
        self.assertIs(s.get_value(borrow=True, return_internal_type=True), stored)
        for internal in (False, True):
            self.assertFalse(np.shares_memory(s.get_value(borrow=False, return_internal_type=internal), stored))

    def test_writing(self) -> None:
        s = theano.shared(np.ones(3))
        value = s.get_value(borrow=True)
        value *= 2
        s.set_value(value, borrow=True)
        self.assertIs(s.get_value(borrow=True), value)
        s.set_value(value)
        self.assertFalse(np.shares_memory(s.get_value(borrow=True), value))
        np.testing.assert_array_equal(s.get_value(), [2, 2, 2])

    def test_axes_that_stretch(self) -> None:
        value = np.ones((1, 3))
        self.assertEqual(theano.shared(value).broadcastable, (False, False))
        self.assertEqual(theano.shared(value, broadcastable=(True, False)).broadcastable, (True, False))

    def test_zeros(self) -> None:
        s = theano.shared(np.array([1.0, np.nan], "float32"))
        stored = s.get_value(borrow=True)
        s.zero()
        np.testing.assert_array_equal(s.get_value(), np.zeros(2, "float32"))
        self.assertFalse(np.shares_memory(s.get_value(borrow=True), stored))
        s.zero(borrow=True)
        self.assertEqual(s.get_value().dtype, "float32")

    def test_constructors_of_ones_own(self) -> None:
        class Fraction:
            pass

        def shared_fraction(
            value: object, name: str | None = None, strict: bool = False, **_: object
        ) -> SharedVariable:
            if not isinstance(value, Fraction):
                raise TypeError("not a fraction")
            return SharedVariable(theano.Generic(), value, f"fraction {name}", strict)

        self.assertIs(shared_constructor(shared_fraction), shared_fraction)
        self.addCleanup(constructors.remove, shared_fraction)
        self.assertEqual(theano.shared(Fraction(), name="half").name, "fraction half")
        self.assertEqual(theano.shared(1.0, name="one").name, "one")


class TestTools(unittest.TestCase):
    def test_the_lock_can_be_turned_off(self) -> None:
        theano.gof.compilelock.set_lock_status(False)
        theano.gof.compilelock.set_lock_status(True)

    def test_the_command_exists(self) -> None:
        project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
        module, _, name = project["project"]["scripts"]["theano-cache"].partition(":")
        self.assertTrue(callable(getattr(importlib.import_module(module), name)))


class _Positive(T.TensorType):
    """A type that refuses some values, and changes others."""

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        array = super().filter(value, strict, allow_downcast)
        if (array < 0).any():
            raise ValueError("negative")
        return np.minimum(array, 5.0)


class TestFilterOfATypeOfAProgram(unittest.TestCase):
    def test_it_is_called_for_every_argument(self) -> None:
        for mode in ("FAST_RUN", "FAST_COMPILE", "DebugMode", theano.Mode("py", None)):
            for broadcastable in ((), (False,)):
                x = _Positive("float64", broadcastable)("x")
                f = theano.function([x], T.sqrt(x), mode=mode)
                for value in (np.full((1,) * len(broadcastable), -1.0), [-1.0] if broadcastable else -1.0):
                    with self.subTest(mode=mode, value=value), self.assertRaisesRegex(ValueError, "negative"):
                        f(value)
                large = np.full((1,) * len(broadcastable), 9.0)
                np.testing.assert_array_equal(f(large), np.sqrt(np.minimum(large, 5.0)))
                f.trust_input = True
                np.testing.assert_array_equal(f(large), np.sqrt(large))
