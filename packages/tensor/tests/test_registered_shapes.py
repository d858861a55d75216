"""Shapes of values of other types than tensors, in Python and by C code that the author of the type registers."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

from theano_graph import Type
from theano_linker_c import FAST_COMPILE, FAST_RUN, function
from theano_linker_c.cop import ArrayInterface
from theano_tensor import (
    Rebroadcast,
    ShapeI,
    ShapeOf,
    SpecifyShape,
    register_rebroadcast_c_code,
    register_shape_c_code,
    register_shape_i_c_code,
    register_specify_shape_c_code,
    shape,
    shape_i,
)


class Grid(ArrayInterface, Type):
    """Matrices of float64 that are no tensors."""

    dtype = "float64"
    shape: tuple[int | None, ...] = (None, None)
    ndim = 2

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        return np.asarray(value, "float64")


class Loose(Grid):
    """The same, with more dimensions than its values have."""

    ndim = 3


SHAPE = """
{
    npy_intp count[1] = {2};
    Py_XDECREF(%(oname)s);
    %(oname)s = (PyArrayObject *)PyArray_SimpleNew(1, count, NPY_INT64);
    if (!%(oname)s)
        %(fail)s
    for (int k = 0; k < 2; k++)
        ((npy_int64 *)PyArray_DATA(%(oname)s))[k] = 100 + PyArray_DIMS(%(iname)s)[k];
}
"""
LENGTH_CHECK = """
if (PyArray_NDIM(%(iname)s) <= %(i)s) { PyErr_SetString(PyExc_IndexError, "no such dimension"); %(fail)s }
"""
LENGTH = """
Py_XDECREF(%(oname)s);
%(oname)s = (PyArrayObject *)PyArray_ZEROS(0, NULL, NPY_INT64, 0);
if (!%(oname)s)
    %(fail)s
((npy_int64 *)PyArray_DATA(%(oname)s))[0] = 200 + PyArray_DIMS(%(iname)s)[%(i)s];
"""
BROADCAST = """
if (PyArray_DIMS(%(iname)s)[%(axis)s] != 1) {
    PyErr_Format(PyExc_ValueError, "axis %(axis)s of the grid is long");
    %(fail)s
}
"""
SPECIFY = """
if (PyArray_DIMS(%(shape)s)[0] != 2) { PyErr_SetString(PyExc_AssertionError, "not two lengths"); %(fail)s }
for (int k = 0; k < 2; k++)
    if (((dtype_%(shape)s *)PyArray_DATA(%(shape)s))[k] != same_%(name)s(PyArray_DIMS(%(iname)s)[k])) {
        PyErr_Format(PyExc_AssertionError, "the grid has another shape");
        %(fail)s
    }
Py_XDECREF(%(oname)s);
%(oname)s = %(iname)s;
Py_XINCREF(%(oname)s);
"""


class RegisteredTestCase(unittest.TestCase):
    def setUp(self) -> None:
        self.x = Grid()("x")
        self.value = np.ones((1, 3))


class TestPython(RegisteredTestCase):
    def test_any_type_with_a_shape(self) -> None:
        for mode in (FAST_RUN, FAST_COMPILE):
            vector, length = function([self.x], [shape(self.x), shape_i(self.x, 1)], mode=mode)(self.value)
            np.testing.assert_array_equal(vector, [1, 3])
            self.assertEqual(length, 3)

    def test_broadcasting_and_claims(self) -> None:
        f = function([self.x], Rebroadcast((0, True))(self.x))
        np.testing.assert_array_equal(f(self.value), self.value)
        with self.assertRaisesRegex(ValueError, "supposed to be 1"):
            f(np.ones((2, 3)))
        g = function([self.x], SpecifyShape([0, 1])(self.x, 1, 3))
        np.testing.assert_array_equal(g(self.value), self.value)
        with self.assertRaisesRegex(AssertionError, "dimension 0 has length 2"):
            g(np.ones((2, 3)))

    def test_what_has_no_shape_is_refused(self) -> None:
        with self.assertRaisesRegex(TypeError, "is not a tensor"):
            ShapeOf()(Type()("t"))


class TestCCode(RegisteredTestCase):
    def test_shape(self) -> None:
        register_shape_c_code(Grid, SHAPE, version=1)
        self.addCleanup(ShapeOf.type_code.remove, Grid)
        np.testing.assert_array_equal(function([self.x], ShapeOf()(self.x))(self.value), [101, 103])

    def test_length(self) -> None:
        register_shape_i_c_code(Grid, LENGTH, LENGTH_CHECK, version=1)
        self.addCleanup(ShapeI.type_code.remove, Grid)
        self.assertEqual(function([self.x], ShapeI(1)(self.x))(self.value), 203)

    def test_length_of_a_dimension_that_is_not_there(self) -> None:
        register_shape_i_c_code(Loose, LENGTH, LENGTH_CHECK, version=1)
        self.addCleanup(ShapeI.type_code.remove, Loose)
        x = Loose()("x")
        with self.assertRaisesRegex(IndexError, "no such dimension"):
            function([x], ShapeI(2)(x))(self.value)

    def test_rebroadcast(self) -> None:
        register_rebroadcast_c_code(Grid, BROADCAST, version=1)
        self.addCleanup(Rebroadcast.type_code.remove, Grid)
        f = function([self.x], Rebroadcast((0, True), (1, False))(self.x))
        np.testing.assert_array_equal(f(self.value), self.value)
        with self.assertRaisesRegex(ValueError, "axis 0 of the grid is long"):
            f(np.ones((2, 3)))

    def test_specify_shape(self) -> None:
        support = "static npy_int64 same_%(name)s(npy_intp n) { return n; }"
        register_specify_shape_c_code(Grid, SPECIFY, 1, support)
        self.addCleanup(SpecifyShape.type_code.remove, Grid)
        f = function([self.x], SpecifyShape([0, 1])(self.x, 1, 3))
        np.testing.assert_array_equal(f(self.value), self.value)
        with self.assertRaisesRegex(AssertionError, "the grid has another shape"):
            f(np.ones((2, 3)))
        with self.assertRaisesRegex(AssertionError, "not two lengths"):
            function([self.x], SpecifyShape([0])(self.x, 1))(self.value)
