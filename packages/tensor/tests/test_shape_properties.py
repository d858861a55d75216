"""Operations with any arguments: a right result or an error, never a wrong number; and patterns of broadcasting."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
from hypothesis import given, settings, strategies as st
from tensor_cases import compiled

import theano_tensor as T
from theano_linker_c import function
from theano_tensor import ShapeError
from theano_testing.tiers import examples

numpy: Any = np
tensor: Any = T
AXES = st.integers(-3, 3)
SMALL = st.integers(-2, 4)
#: Name in both -> the arguments after the array.
ONE_ARRAY: dict[str, Any] = {
    "cumsum": st.tuples(st.one_of(st.none(), AXES)),
    "cumprod": st.tuples(st.one_of(st.none(), AXES)),
    "diff": st.tuples(SMALL, AXES),
    "repeat": st.tuples(st.one_of(SMALL, st.lists(SMALL, max_size=3)), st.one_of(st.none(), AXES)),
    "tile": st.tuples(st.lists(st.integers(0, 2), max_size=3)),
    "roll": st.tuples(SMALL, st.one_of(st.none(), AXES)),
    "flip": st.tuples(st.one_of(st.none(), AXES)),
    "moveaxis": st.tuples(AXES, AXES),
    "expand_dims": st.tuples(AXES),
    "swapaxes": st.tuples(AXES, AXES),
    "transpose": st.tuples(st.permutations([0, 1, 2])),
    "reshape": st.tuples(st.lists(st.integers(-1, 6), max_size=3)),
    "sort": st.tuples(st.one_of(st.none(), AXES)),
    "argsort": st.tuples(st.one_of(st.none(), AXES)),
    "diagonal": st.tuples(SMALL, AXES, AXES),
    "tril": st.tuples(SMALL),
    "triu": st.tuples(SMALL),
    "broadcast_to": st.tuples(st.lists(st.integers(-1, 3), max_size=4)),
    "unique": st.tuples(),
    "atleast_2d": st.tuples(),
    "atleast_3d": st.tuples(),
    "ravel": st.tuples(),
    "squeeze": st.tuples(),
    "full_like": st.tuples(st.floats(-2, 2)),
}
TWO_ARRAYS = ("dot", "matmul", "inner", "vdot", "outer", "tensordot", "searchsorted", "hstack", "vstack")
OWN_NAMES = {"hstack": "horizontal_stack", "vstack": "vertical_stack"}
ERRORS = (ValueError, TypeError, IndexError, AssertionError, OverflowError)


@st.composite
def arrays(draw: Any) -> Any:
    """Return an array of up to three dimensions."""
    shape = draw(st.lists(st.integers(0, 3), max_size=3))
    values = np.arange(float(np.prod(shape))) % 5 - 1.5
    return values.reshape(shape).astype(draw(st.sampled_from(("float64", "float32", "int8"))))


def variable(value: Any, static: bool) -> Any:
    shape = [n if static or n == 1 else None for n in value.shape]
    return T.tensor(value.dtype.name, shape=shape)


class TestAgainstNumpy(unittest.TestCase):
    def check(self, name: str, values: list[Any], args: tuple[Any, ...], static: bool) -> None:
        """Compare with NumPy, which may be an error only where it is one here."""
        with np.errstate(all="ignore"):
            try:
                reference = getattr(numpy, name)
                expected = reference(values, *args) if name in OWN_NAMES else reference(*values, *args)
            except ERRORS:
                expected = None
        inputs = [variable(v, static) for v in values]
        private = getattr(tensor, OWN_NAMES.get(name, name))
        try:
            output = private(inputs, *args) if name in OWN_NAMES else private(*inputs, *args)
            compiled: Any = function(inputs, [output, output.shape], mode="FAST_RUN", on_unused_input="ignore")
            result, shape = compiled(*values)
        except ERRORS:
            return
        if expected is None:
            # NumPy refuses a few arguments that mean something here; the result then has no elements to be wrong.
            self.assertIn(name, ("squeeze", "repeat"))
            return
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)
        self.assertEqual((result.shape, tuple(shape)), (np.shape(expected), np.shape(expected)))

    @settings(deadline=None, max_examples=examples(150))
    @given(arrays(), st.sampled_from(sorted(ONE_ARRAY)), st.booleans(), st.data())
    def test_of_one_array(self, value: Any, name: str, static: bool, data: Any) -> None:
        self.check(name, [value], data.draw(ONE_ARRAY[name]), static)

    @settings(deadline=None, max_examples=examples(120))
    @given(arrays(), arrays(), st.sampled_from(TWO_ARRAYS), st.booleans())
    def test_of_two_arrays(self, a: Any, b: Any, name: str, static: bool) -> None:
        if name == "searchsorted" and a.ndim == 1:
            a = np.sort(a)
        self.check(name, [a, b], (1,) if name == "tensordot" else (), static)


class TestPatterns(unittest.TestCase):
    def test_axes_in_any_form(self) -> None:
        x = T.dtensor3("x")
        for result in (T.addbroadcast(x, 0, 2), T.addbroadcast(x, (0, -1)), T.addbroadcast(x, [0], 2)):
            self.assertEqual(result.broadcastable, (True, False, True))
        row = T.drow("r")
        self.assertEqual(T.unbroadcast(row, 0).broadcastable, (False, False))
        self.assertIs(T.unbroadcast(row, -1), row)
        self.assertEqual(T.patternbroadcast(x, (False, True, False)).broadcastable, (False, True, False))

    def test_what_contradicts_is_refused(self) -> None:
        x = T.tensor("float64", shape=(2, None))
        calls: tuple[Any, ...] = (
            lambda: T.addbroadcast(x, 0),
            lambda: T.addbroadcast(x, 2),
            lambda: T.unbroadcast(x, -3),
            lambda: T.patternbroadcast(x, (True, False)),
            lambda: T.patternbroadcast(x, (False,)),
        )
        for call in calls:
            with self.assertRaises(ShapeError):
                compiled(call())

    def test_claims_are_checked_when_they_run(self) -> None:
        x = T.dmatrix("x")
        for mode in ("FAST_RUN", "FAST_COMPILE"):
            for claim in (T.addbroadcast(x, 1), T.patternbroadcast(x, (False, True))):
                compiled: Any = function([x], claim + 1, mode=mode)
                np.testing.assert_array_equal(compiled(np.zeros((3, 1))), np.ones((3, 1)))
                with self.assertRaisesRegex(ValueError, "Dimension 1 in Rebroadcast's input was supposed to be 1"):
                    compiled(np.zeros((3, 2)))

    def test_gradient_goes_through(self) -> None:
        x, y = T.dmatrices("x", "y")
        compiled: Any = function([x, y], T.grad((T.addbroadcast(x, 0) * y).sum(), x))
        np.testing.assert_array_equal(compiled(np.ones((1, 2)), np.ones((3, 2))), [[3.0, 3.0]])
