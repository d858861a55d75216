"""Any index on any tensor: NumPy's result, or an error; never anything else, on no machine."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
from hypothesis import given, settings, strategies as st

import theano_tensor as T
from theano_linker_c import function, shared
from theano_testing.tiers import examples, slow

from .index_cases import MODES, Case, Symbolic, cases, outcome

DTYPES = ("float64", "float32", "int32", "bool", "complex128", "float16")


def _expected(case: Case) -> Any:
    try:
        return np.asarray(case.x[case.numpy_index()])
    except (IndexError, ValueError) as error:
        return error


def _may_be_stricter(case: Case) -> bool:
    """Tell whether we may refuse an index that NumPy takes.

    That is an index array of length 1 that is not known to be so, a mask without elements where it does not fit, and
    for NumPy 1 a number out of range where nothing is selected.
    """
    shapes = []
    for item in case.index:
        value = item.value if isinstance(item, Symbolic) else item
        if isinstance(value, np.ndarray):
            shapes.append((int(value.sum()),) if value.dtype == bool else value.shape)
            if (value.dtype == bool and value.size == 0) or case.x.size == 0:
                return True
    return any(1 in shape for shape in shapes) and len(shapes) > 1


class TestAnyIndex(unittest.TestCase):
    """Reading, writing and adding with random indices."""

    def _compare(self, case: Case, result: Any, expected: Any, mode: str) -> None:
        if isinstance(expected, Exception):
            self.assertIsInstance(result, Exception, f"{mode}: NumPy says {expected}")
            return
        if isinstance(result, Exception):
            self.assertTrue(_may_be_stricter(case), f"{mode}: {result}")
            return
        self.assertEqual(result.dtype, expected.dtype)
        np.testing.assert_array_equal(result, expected, err_msg=mode)

    @slow
    @settings(deadline=None, max_examples=examples(150))
    @given(cases(DTYPES))
    def test_reading(self, case: Case) -> None:
        def build() -> Any:
            x, index, inputs, values = case.symbolic()
            return inputs, x[index], values

        for mode in MODES:
            self._compare(case, outcome(build, mode), _expected(case), mode)

    @settings(deadline=None, max_examples=examples(100))
    @given(cases(DTYPES))
    def test_static_shape_and_shape_rule(self, case: Case) -> None:
        def build() -> Any:
            x, index, inputs, values = case.symbolic()
            part = x[index]
            self.assertEqual(part.type.ndim, np.ndim(_expected(case)))
            return inputs, [part, part.shape], values

        if isinstance(_expected(case), Exception):
            return
        for mode in MODES:
            result = outcome(build, mode)
            if not isinstance(result, Exception):
                self.assertEqual(tuple(result[1]), result[0].shape)

    @slow
    @settings(deadline=None, max_examples=examples(150))
    @given(cases(("float64", "int32", "float32", "complex64")), st.booleans(), st.booleans())
    def test_writing(self, case: Case, replace: bool, full: bool) -> None:
        part = _expected(case)
        given_part: Any = part if isinstance(part, Exception) else np.asarray(part + 100) if full else np.asarray(100)

        def build() -> Any:
            x, index, inputs, values = case.symbolic()
            if isinstance(part, Exception):
                return inputs, T.inc_subtensor(x[index], 1, set_instead_of_inc=replace), values
            y = T.tensor(case.x.dtype.name, shape=(None,) * given_part.ndim, name="y")
            new = T.inc_subtensor(x[index], y, set_instead_of_inc=replace)
            return [*inputs, y], new, [*values, given_part.astype(case.x.dtype)]

        expected: Any = part
        if not isinstance(part, Exception):
            expected = case.x.copy()
            if replace:
                expected[case.numpy_index()] = given_part
            else:
                np.add.at(expected, case.numpy_index(), given_part.astype(case.x.dtype))
        for mode in MODES:
            result = outcome(build, mode)
            if isinstance(result, TypeError) and "not the result of indexing" in str(result):
                continue
            self._compare(case, result, expected, mode)

    @settings(deadline=None, max_examples=examples(60))
    @given(cases(("float64",)), st.booleans())
    def test_stored_values(self, case: Case, replace: bool) -> None:
        part = _expected(case)
        _, index, inputs, values = case.symbolic()
        if isinstance(part, Exception):
            return
        expected = case.x.copy()
        if replace:
            expected[case.numpy_index()] = 7
        else:
            np.add.at(expected, case.numpy_index(), 7)
        table = shared(case.x)
        try:
            new = T.inc_subtensor(table[index], 7, set_instead_of_inc=replace)
            call = function(inputs[1:], table.sum(), updates=[(table, new)], on_unused_input="ignore")
        except (TypeError, IndexError):
            return
        before = table.get_value(borrow=True)
        try:
            self.assertAlmostEqual(float(call(*values[1:])), float(case.x.sum()))
        except IndexError:
            np.testing.assert_array_equal(table.get_value(), case.x)
            return
        np.testing.assert_array_equal(table.get_value(), expected)
        np.testing.assert_array_equal(before, case.x, err_msg="the caller's array has changed")
        del before
        call(*values[1:])
        if replace:
            np.testing.assert_array_equal(table.get_value(), expected)
