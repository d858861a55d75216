/* Arrays beside those of an earlier call. */
#include "runtime.h"

/* Whether dimensions are as a pattern says: their number where none is 1, or for each whether it is. */
static int has_pattern(PyArrayObject *a, PyObject *pattern) {
    int ndim = PyArray_NDIM(a), plain = PyLong_Check(pattern);
    if (plain ? PyLong_AsLong(pattern) != ndim : !PyTuple_Check(pattern) || PyTuple_GET_SIZE(pattern) != ndim)
        return 0;
    for (int d = 0; d < ndim; d++)
        if ((PyArray_DIMS(a)[d] == 1) != (!plain && PyTuple_GET_ITEM(pattern, d) == Py_True))
            return 0;
    return 1;
}

/* Function `arrays_alike(kinds, *values)`: whether all values are arrays, of no class derived from it, with the dtypes
 * and patterns of dimensions that the tuple `kinds` has for them, one after the other. */
PyObject *arrays_alike(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    if (count < 1 || !PyTuple_Check(args[0]) || PyTuple_GET_SIZE(args[0]) != 2 * (count - 1)) {
        PyErr_SetString(PyExc_TypeError, "arrays_alike() needs a tuple of two items for each array, and the arrays");
        return NULL;
    }
    for (Py_ssize_t k = 0; k < count - 1; k++) {
        PyArrayObject *a = (PyArrayObject *)args[k + 1];
        if (!PyArray_CheckExact(a) || (PyObject *)PyArray_DESCR(a) != PyTuple_GET_ITEM(args[0], 2 * k) ||
            !has_pattern(a, PyTuple_GET_ITEM(args[0], 2 * k + 1)))
            Py_RETURN_FALSE;
    }
    Py_RETURN_TRUE;
}
