"""Wrong input: each gets an error of the documented kind with the fault, its place in this file, and the correction."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from unittest import TestCase

import numpy
from theano_cases import in_each_mode

import theano
import theano.tensor as T
from theano import Mode, function, shared

HERE = r"test_theano_bad_input\.py:\d+"

i = T.iscalar("i")
w = T.fvector("w")
v = T.dvector("v")
x = T.dmatrix("x")
a, b = T.TensorType("float64", (3,))("a"), T.TensorType("float64", (4,))("b")
s = shared(numpy.zeros(3), name="s")

increment = function([i], i + 1)
double = function([w], w * 2)
product = function([x, v], T.dot(x, v), name="product")

Case = tuple[str, Callable[[], object], type[Exception], str, str, str]

AT_A_CALL: tuple[Case, ...] = (
    ("wrong dtype: a float for an int", lambda: increment(1.5), TypeError, "`i`.*1.5", "`i`: int32", "convert|allow_"),
    ("wrong dtype: float64 for float32", lambda: double(numpy.ones(3)), TypeError, "`w`", "`w`: float32", "astype|as"),
    ("wrong number of dimensions", lambda: product(numpy.ones(3), numpy.ones(3)), TypeError, "`x`.*expected 2, got 1",
     "`x`: float64", "2 dimensions"),
    ("None", lambda: product(None, numpy.ones(3)), TypeError, "`x`.*None", "`x`: float64", "an array of numbers"),
    ("text", lambda: product("abc", numpy.ones(3)), TypeError, "`x`.*'abc'", "`x`: float64", "an array of numbers"),
    ("too few arguments", lambda: product(numpy.ones((3, 3))), TypeError, "Missing required input: v", "`v`: float64",
     "pass a value"),
    ("too many arguments", lambda: increment(1, 2), TypeError, "takes 1 argument, got 2", "", "leave out"),
    ("an unknown argument", lambda: increment(1, k=2), TypeError, "k", "", "one of the names|position"),
)  # fmt: skip

AT_COMPILATION: tuple[Case, ...] = (
    ("a shared variable as input", lambda: function([s], s * 2), TypeError, "shared variable", "`s`: float64",
     "leave it out"),
    ("an input used nowhere", lambda: function([x, v], v * 2), theano.compile.UnusedInputError, "not part of",
     "`x`: float64", "on_unused_input='ignore'"),
    ("an input that is missing", lambda: function([x], T.dot(x, v)), theano.gof.MissingInputError, "`v`",
     "`v`: float64", "add `v` to the inputs"),
    ("an update of another dtype", lambda: function([], updates=[(s, T.cast(s, "float32"))]), TypeError,
     "another type", "`s`: float64", "astype"),
    ("an update of another number of dimensions", lambda: function([x], updates=[(s, x)]), TypeError, "another type",
     "`x`: float64", "reduce"),
    ("an update of an unshared variable", lambda: function([v], updates=[(v, v + 1)]), TypeError, "shared variable",
     "`v`: float64", "shared"),
    ("givens of another type", lambda: function([x], v.sum(), givens={v: x}), TypeError, "another type",
     "`v`: float64", "convert"),
    ("static shapes that differ", lambda: function([a, b], a + b), ValueError, "3.*4", "`a`: float64.3", "same length"),
    ("no variable", lambda: function([x, 3], x), TypeError, "position 1 is not a variable", "", "pass a variable"),
)  # fmt: skip

AT_CONSTRUCTION: tuple[Case, ...] = (
    ("a disconnected gradient", lambda: T.grad((v**2).sum(), x), theano.gradient.DisconnectedInputError, "`x`",
     "`x`: float64", "disconnected_inputs='ignore'"),
    ("the gradient of a vector", lambda: T.grad(v**2, v), TypeError, "scalar", "float64", "sum"),
    ("a truth value", lambda: bool(v > 0), TypeError, "truth value", "", "switch"),
    ("no numbers", lambda: T.dot(x, "abc"), TypeError, "'abc'", "", "pass a tensor"),
)  # fmt: skip


class TestBadInput(TestCase):
    def check(self, case: Case) -> None:
        _, call, kind, what, where, hint = case
        with self.assertRaises(kind) as caught:
            call()
        text = str(caught.exception)
        self.assertRegex(text.splitlines()[0], what)
        if where:
            self.assertRegex(text, rf"{where}.*{HERE}")
        self.assertRegex(text.splitlines()[-1], rf"^  Hint: .*({hint})")

    def test_at_a_call(self) -> None:
        for case in AT_A_CALL:
            with self.subTest(case[0]):
                self.check(case)

    def test_at_compilation(self) -> None:
        for case in AT_COMPILATION:
            with self.subTest(case[0]):
                self.check(case)

    def test_at_construction(self) -> None:
        for case in AT_CONSTRUCTION:
            with self.subTest(case[0]):
                self.check(case)

    @in_each_mode
    def test_lengths_that_do_not_fit_a_product(self, mode: str | Mode) -> None:
        f = function([x, v], T.dot(x, v), mode=mode)
        with self.assertRaisesRegex(ValueError, r"(?s)[Ss]hape.*4.*3.*`v`: float64.*" + HERE + ".*Hint: ."):
            f(numpy.ones((3, 4)), numpy.ones(3))

    @in_each_mode
    def test_lengths_that_do_not_fit_a_sum(self, mode: str | Mode) -> None:
        f = function([x, v], T.exp(x + v), mode=mode)
        with self.assertRaisesRegex(ValueError, r"(?s)Input dimension mis-match.*4.*3") as caught:
            f(numpy.ones((3, 4)), numpy.ones(3))
        self.assertRegex(str(caught.exception), "`x`: float64.*" + HERE)
        self.assertRegex(str(caught.exception), "Hint: .")

    @in_each_mode
    def test_a_length_of_one_stretches_only_where_it_is_declared(self, mode: str | Mode) -> None:
        y = T.dvector("y")
        with self.assertRaisesRegex(ValueError, "Input dimension mis-match"):
            function([v, y], v + y, mode=mode)(numpy.ones(1), numpy.ones(3))
        row = T.drow("row")
        numpy.testing.assert_array_equal(
            function([row, x], row + x, mode=mode)(numpy.ones((1, 2)), numpy.ones((3, 2))), numpy.full((3, 2), 2.0)
        )


class TestAfterAFailure(TestCase):
    @in_each_mode
    def test_shared_variables_are_as_they_were(self, mode: str | Mode) -> None:
        a, b = shared(numpy.zeros(3), name="a"), shared(numpy.ones(3), name="b")
        f = function([v], [], updates=[(a, a + 1), (b, b + v)], mode=mode)
        with self.assertRaises(ValueError):
            f(numpy.ones(4))
        numpy.testing.assert_array_equal(a.get_value(), [0, 0, 0])
        numpy.testing.assert_array_equal(b.get_value(), [1, 1, 1])
        f(numpy.ones(3))
        numpy.testing.assert_array_equal(a.get_value(), [1, 1, 1])
        numpy.testing.assert_array_equal(b.get_value(), [2, 2, 2])

    def test_default_values_are_as_they_were(self) -> None:
        y = T.dscalar("y")
        f = function([v, theano.In(y, value=2.0)], v * y)
        with self.assertRaises(TypeError):
            f("abc", 5.0)
        numpy.testing.assert_array_equal(f([1.0]), [2.0])

    def test_a_wrong_value_is_not_stored(self) -> None:
        state = shared(numpy.zeros(3), name="state")
        with self.assertRaisesRegex(TypeError, "(?s)expected 1, got 2.*Hint: "):
            state.set_value(numpy.zeros((2, 2)))
        with self.assertRaisesRegex(TypeError, "(?s)None is no value.*Hint: ") as caught:
            state.set_value(None)
        self.assertRegex("".join(traceback.format_exception_only(caught.exception)), "`state`: float64.*" + HERE)
        numpy.testing.assert_array_equal(state.get_value(), [0, 0, 0])
