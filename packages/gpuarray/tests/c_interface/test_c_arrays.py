"""C code of ops that makes arrays, takes views of them, and copies them."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

from theano_gpuarray.arrays import GpuArray, asarray, zeros
from theano_testing.tiers import slow

from .c_cases import computes, context, run

X = np.arange(12, dtype="float32").reshape(3, 4)
CHECK = "if (%(z)s == NULL) %(fail)s"


class TestMaking(unittest.TestCase):
    def equal(self, result: GpuArray, expected: Any) -> None:
        self.assertIsInstance(result, GpuArray)
        self.assertEqual(result.shape, np.shape(expected))
        if computes():
            np.testing.assert_array_equal(np.asarray(result), expected)

    def test_an_input_is_the_output(self) -> None:
        x = asarray(X, context=context())
        result = run("Py_XDECREF(%(z)s); Py_INCREF(%(x0)s); %(z)s = %(x0)s;", x, ndim=2)
        self.assertIs(result, x)

    def test_zeros_and_empty(self) -> None:
        code = """size_t dims[2] = {2, 5};
        Py_XDECREF(%(z)s);
        %(z)s = pygpu_zeros(2, dims, GA_INT, GA_F_ORDER, %(ctx)s, Py_None);"""
        result = run(code + CHECK, dtype="int32", ndim=2)
        self.assertEqual((result.dtype, result.strides, result.context), (np.dtype("int32"), (4, 8), context()))
        self.equal(result, np.zeros((2, 5)))
        empty = run(code.replace("{2, 5}", "{0, 5}").replace("zeros", "empty") + CHECK, dtype="int32", ndim=2)
        self.assertEqual(empty.shape, (0, 5))

    def test_what_cannot_be_made(self) -> None:
        code = """size_t dims[2] = {%s, 5};
        %%(z)s = pygpu_zeros(2, dims, %s, GA_C_ORDER, %%(ctx)s, Py_None);"""
        with self.assertRaisesRegex(TypeError, "no dtype with the number 99"):
            run(code % (2, 99) + CHECK, ndim=2)
        with self.assertRaisesRegex(ValueError, "too large"):
            run(code % ("(size_t)1 << 62", "GA_FLOAT") + CHECK, ndim=2)

    def test_wrong_values(self) -> None:
        code = "Py_INCREF(%(x0)s); %(z)s = %(x0)s;"
        with self.assertRaisesRegex(TypeError, "a GpuArray"):
            _run_with(code, X)
        with self.assertRaisesRegex(TypeError, "with 2 dimensions got one of dtype number 11 with 1"):
            _run_with(code, asarray(X[0], context=context()))
        with self.assertRaisesRegex(TypeError, "dtype number 11 with 2 dimensions got one of dtype number 12"):
            _run_with(code, asarray(X.astype("float64"), context=context()))

    def test_no_result(self) -> None:
        self.assertIsNone(run(";", X, ndim=2))

    def test_storage_is_taken_over(self) -> None:
        code = """if (theano_prep_output(&%(z)s, 2, PyGpuArray_DIMS(%(x0)s), %(x0)s->ga.typecode, GA_C_ORDER, %(ctx)s))
            %(fail)s
        if (pygpu_move(%(z)s, %(x0)s) < 0) %(fail)s"""
        storage = zeros((3, 4), "float32", context=context())
        result = run(code, X, ndim=2, storage=storage)
        self.assertIs(result, storage)
        self.equal(result, X)
        other = zeros((2, 4), "float32", context=context())
        self.assertIsNot(run(code, X, ndim=2, storage=other), other)
        self.equal(run("%(z)s = theano_try_copy(%(z)s, %(x0)s);", X, ndim=2, storage=other), X)

    @slow
    def test_views(self) -> None:
        code = """ssize_t starts[2] = {2, 1}, stops[2] = {-1, 0}, steps[2] = {-1, 0};
        Py_XDECREF(%(z)s);
        %(z)s = pygpu_index(%(x0)s, starts, stops, steps);"""
        x = asarray(X, context=context())
        result = run(code + CHECK, x)
        self.assertIs(result.buffer, x.buffer)
        self.equal(result, X[::-1, 1])
        with self.assertRaisesRegex(ValueError, "out of bounds"):
            run(code.replace("{2, 1}", "{3, 1}") + CHECK, x)
        for names, expected in (("NULL", X.T), ("axes", X)):
            code = f"unsigned int axes[2] = {{0, 1}}; (void)axes; %(z)s = pygpu_transpose(%(x0)s, {names});"
            self.equal(run(code + CHECK, x, ndim=2), expected)
        with self.assertRaisesRegex(ValueError, "an axis is out of bounds, or occurs twice"):
            run("unsigned int axes[2] = {1, 1}; %(z)s = pygpu_transpose(%(x0)s, axes);" + CHECK, x, ndim=2)
        self.equal(run("%(z)s = pygpu_view(%(x0)s, Py_None);" + CHECK, x, ndim=2), X)

    @slow
    def test_reshape(self) -> None:
        code = """size_t dims[2] = {2, 6};
        %(z)s = pygpu_reshape(%(x0)s, 2, dims, GA_C_ORDER, 1, -1);"""
        self.equal(run(code + CHECK, X, ndim=2), X.reshape(2, 6))
        self.equal(run(code.replace("{2,", "{99,").replace("-1", "0") + CHECK, X, ndim=2), X.reshape(2, 6))
        turned = asarray(X, context=context()).T
        with self.assertRaisesRegex(ValueError, "no view of shape"):
            run(code + CHECK, turned, ndim=2)
        self.equal(run(code.replace("1, -1", "0, -1") + CHECK, turned, ndim=2), X.T.reshape(2, 6))
        self.equal(run(code.replace("C_ORDER", "F_ORDER") + CHECK, turned, ndim=2), X.T.reshape(2, 6, order="F"))

    def test_flags(self) -> None:
        code = """if (!GpuArray_IS_C_CONTIGUOUS(&%(x0)s->ga) || GpuArray_IS_F_CONTIGUOUS(&%(x0)s->ga) ||
            !GpuArray_ISALIGNED(&%(x0)s->ga) || !GpuArray_ISWRITEABLE(&%(x0)s->ga) ||
            GpuArray_ITEMSIZE(&%(x0)s->ga) != 4 || PyGpuArray_NDIM(%(x0)s) != 2 || PyGpuArray_SIZE(%(x0)s) != 12 ||
            PyGpuArray_STRIDES(%(x0)s)[0] != 16 || !PyGpuArray_Check(%(x0)s) || %(x0)s->context->ctx != %(ctx)s->ctx) {
            PyErr_SetString(PyExc_AssertionError, "flags");
            %(fail)s
        }
        if (GpuArray_transpose_inplace(&%(x0)s->ga, NULL) || !GpuArray_ISFORTRAN(&%(x0)s->ga)) {
            PyErr_SetString(PyExc_AssertionError, "flags of the transposed array");
            %(fail)s
        }
        Py_INCREF(%(x0)s);
        %(z)s = %(x0)s;"""
        self.equal(run(code, X, ndim=2), X.T)


class TestElements(unittest.TestCase):
    def equal(self, result: GpuArray, expected: Any) -> None:
        self.assertEqual(result.shape, np.shape(expected))
        if computes():
            np.testing.assert_allclose(np.asarray(result), expected, rtol=1e-6)

    def test_copies(self) -> None:
        x = asarray(X, context=context())
        result = run("%(z)s = pygpu_copy(%(x0)s, GA_F_ORDER);" + CHECK, x, ndim=2)
        self.assertIsNot(result.buffer, x.buffer)
        self.assertEqual(result.strides, (4, 12))
        self.equal(result, X)
        like = run("%(z)s = pygpu_empty_like(%(x0)s, GA_ANY_ORDER, GA_DOUBLE);" + CHECK, x, dtype="float64", ndim=2)
        self.assertEqual((like.dtype, like.shape), (np.dtype("float64"), (3, 4)))

    def test_setting_broadcasts_and_converts(self) -> None:
        code = """%(z)s = pygpu_copy(%(x0)s, GA_C_ORDER);
        int err = %(z)s == NULL ? GA_MISC_ERROR : GpuArray_setarray(&%(z)s->ga, &%(x1)s->ga);
        if (err != GA_NO_ERROR) {
            PyErr_SetString(PyExc_ValueError, GpuArray_error(&%(z)s->ga, err));
            %(fail)s
        }"""
        row = np.array([1, 2, 3, 4], "int8")
        self.equal(run(code, X, row, ndim=2), np.broadcast_to(row, (3, 4)))
        with self.assertRaisesRegex(ValueError, "do not broadcast"):
            run(code, X, row[:3], ndim=2)

    def test_the_host(self) -> None:
        code = """float values[6] = {1, 2, 3, 4, 5, 6}, back[3] = {0, 0, 0};
        size_t dims[2] = {2, 3};
        ssize_t strides[2] = {4, 8};
        %(z)s = pygpu_fromhostdata(values, GA_FLOAT, 2, dims, strides, %(ctx)s, Py_None);
        if (%(z)s == NULL) %(fail)s
        if (GpuArray_write(&%(x0)s->ga, values, 12) || GpuArray_read(back, 12, &%(x0)s->ga) || pygpu_sync(%(x0)s)) {
            PyErr_SetString(PyExc_AssertionError, GpuArray_error(&%(x0)s->ga, GA_VALUE_ERROR));
            %(fail)s
        }
        if (GpuArray_read(back, 8, &%(x0)s->ga) != GA_VALUE_ERROR) {
            PyErr_SetString(PyExc_AssertionError, "there is no room");
            %(fail)s
        }"""
        x = zeros((3,), "float32", context=context())
        self.equal(run(code, x, ndim=2), [[1, 3, 5], [2, 4, 6]])
        self.equal(x, [1, 2, 3])

    def test_joining_and_splitting(self) -> None:
        code = """const GpuArray *parts[2] = {&%(x0)s->ga, &%(x1)s->ga};
        %(z)s = pygpu_concatenate(parts, 2, AXIS, GA_FLOAT, Py_None, %(ctx)s);"""
        self.equal(run(code.replace("AXIS", "1") + CHECK, X, X[:, :2], ndim=2), np.concatenate([X, X[:, :2]], 1))
        with self.assertRaisesRegex(ValueError, "joined along axis 0"):
            run(code.replace("AXIS", "0") + CHECK, X, X[:, :2], ndim=2)
        code = """GpuArray first, second;
        GpuArray *both[2] = {&first, &second};
        size_t places[1] = {3};
        if (GpuArray_split(both, &%(x0)s->ga, 1, places, 1) != GA_NO_ERROR) {
            PyErr_SetString(PyExc_AssertionError, "split");
            %(fail)s
        }
        if (first.dimensions[1] != 3 || !GpuArray_share(&first, &second)) {
            PyErr_SetString(PyExc_AssertionError, "the first part");
            %(fail)s
        }
        %(z)s = pygpu_fromgpudata(second.data, second.offset, second.typecode, second.nd, second.dimensions,
                                  second.strides, %(ctx)s, 1, NULL, Py_None);
        GpuArray_clear(&first);
        GpuArray_clear(&second);"""
        self.equal(run(code + CHECK, X, ndim=2), X[:, 3:])

    def test_rows(self) -> None:
        code = """size_t dims[2] = {PyGpuArray_DIM(%(x1)s, 0), PyGpuArray_DIM(%(x0)s, 1)};
        %(z)s = pygpu_zeros(2, dims, GA_FLOAT, GA_C_ORDER, %(ctx)s, Py_None);
        int err = %(z)s == NULL ? GA_MISC_ERROR : GpuArray_take1(&%(z)s->ga, &%(x0)s->ga, &%(x1)s->ga, 1);
        if (err != GA_NO_ERROR) {
            PyErr_SetString(PyExc_IndexError, GpuArray_error(&%(z)s->ga, err));
            %(fail)s
        }"""
        index = np.array([2, -3, 2], "int64")
        if computes():
            self.equal(run(code, X, index, ndim=2), X[index])
            with self.assertRaisesRegex(IndexError, "out of bounds: there are 3"):
                run(code, X, np.array([3], "int64"), ndim=2)

    @slow
    def test_products(self) -> None:
        rng = np.random.default_rng(1)
        a, b, v = (rng.normal(size=n).astype("float32") for n in ((3, 4), (3, 5), 3))
        c = rng.normal(size=(4, 5)).astype("float32")
        code = "%(z)s = pygpu_blas_rgemm(cb_trans, cb_no_trans, 2, %(x0)s, %(x1)s, 0.5, %(x2)s, 0);"
        self.equal_floats(run(code + CHECK, a, b, c, ndim=2), 2 * a.T @ b + 0.5 * c)
        code = "%(z)s = pygpu_blas_rgemv(cb_trans, 1, %(x0)s, %(x1)s, 0, %(x2)s, 1);"
        self.equal_floats(run(code + CHECK, a, v, np.zeros(4, "float32")), v @ a)
        code = "%(z)s = pygpu_blas_rger(1, %(x0)s, %(x1)s, %(x2)s, 0);"
        self.equal_floats(run(code + CHECK, v, c[0], b, ndim=2), b + np.outer(v, c[0]))
        code = """if (GpuArray_rdot(&%(x0)s->ga, &%(x1)s->ga, &%(x2)s->ga, 1)) {
            PyErr_SetString(PyExc_AssertionError, GpuArray_error(&%(x0)s->ga, GA_VALUE_ERROR));
            %(fail)s
        }
        Py_INCREF(%(x2)s);
        %(z)s = %(x2)s;"""
        self.equal_floats(run(code, v, v, np.zeros((), "float32"), ndim=0, headers="<gpuarray/blas.h>"), v @ v)
        code = code.replace("GpuArray_rdot(", "GpuArray_rgemmBatch_3d(cb_no_trans, cb_trans, 1, ").replace(
            "ga, 1)", "ga, 1)"
        )
        code = code.replace("&%(x2)s->ga, 1)", "0, &%(x2)s->ga, 1)")
        batch = rng.normal(size=(2, 3, 4)).astype("float32")
        expected = batch @ batch.transpose(0, 2, 1)
        self.equal_floats(run(code, batch, batch, np.zeros((2, 3, 3), "float32"), ndim=3), expected)
        with self.assertRaisesRegex(ValueError, "no operands of a product"):
            run("%(z)s = pygpu_blas_rger(1, %(x0)s, %(x1)s, %(x2)s, 0);" + CHECK, a, v, b, ndim=2)

    def equal_floats(self, result: GpuArray, expected: Any) -> None:
        self.assertEqual(result.shape, np.shape(expected))
        if computes():
            np.testing.assert_allclose(np.asarray(result), expected, rtol=1e-4, atol=1e-5)


def _run_with(code: str, value: Any) -> Any:
    """Run code that was compiled for a matrix of float32 on another value."""
    return run(code, X, ndim=2, values=[value])


if __name__ == "__main__":
    unittest.main()
