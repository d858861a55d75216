/* What C code of ops and types finds before it: Python's and NumPy's headers, names that NumPy 2 and Python 3 dropped,
 * and the form of a thunk, which is how a machine runs the code of one node.
 *
 * The same text serves C and C++. Its functions are static: each compiled unit has its own. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#ifndef NPY_NO_DEPRECATED_API
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#endif
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __cplusplus
#include <exception>
#else
#include <stdbool.h>
#endif

/* Flags of arrays under their old names. */
#ifndef NPY_C_CONTIGUOUS
#define NPY_C_CONTIGUOUS NPY_ARRAY_C_CONTIGUOUS
#define NPY_F_CONTIGUOUS NPY_ARRAY_F_CONTIGUOUS
#define NPY_OWNDATA NPY_ARRAY_OWNDATA
#define NPY_ALIGNED NPY_ARRAY_ALIGNED
#define NPY_WRITEABLE NPY_ARRAY_WRITEABLE
#define NPY_FORCECAST NPY_ARRAY_FORCECAST
#define NPY_ENSURECOPY NPY_ARRAY_ENSURECOPY
#define NPY_ENSUREARRAY NPY_ARRAY_ENSUREARRAY
#define NPY_ELEMENTSTRIDES NPY_ARRAY_ELEMENTSTRIDES
#define NPY_NOTSWAPPED NPY_ARRAY_NOTSWAPPED
#define NPY_BEHAVED NPY_ARRAY_BEHAVED
#define NPY_CARRAY NPY_ARRAY_CARRAY
#define NPY_CARRAY_RO NPY_ARRAY_CARRAY_RO
#define NPY_FARRAY NPY_ARRAY_FARRAY
#define NPY_IN_ARRAY NPY_ARRAY_IN_ARRAY
#define NPY_OUT_ARRAY NPY_ARRAY_OUT_ARRAY
#define NPY_INOUT_ARRAY NPY_ARRAY_INOUT_ARRAY
#endif
#ifndef NPY_ARRAY_UPDATEIFCOPY
#define NPY_ARRAY_UPDATEIFCOPY NPY_ARRAY_WRITEBACKIFCOPY
#endif
#ifndef NPY_UPDATEIFCOPY
#define NPY_UPDATEIFCOPY NPY_ARRAY_UPDATEIFCOPY
#endif

/* The manual also spells NumPy's types out. */
typedef npy_bool numpy_bool;
typedef npy_int8 numpy_int8;
typedef npy_int16 numpy_int16;
typedef npy_int32 numpy_int32;
typedef npy_int64 numpy_int64;
typedef npy_uint8 numpy_uint8;
typedef npy_uint16 numpy_uint16;
typedef npy_uint32 numpy_uint32;
typedef npy_uint64 numpy_uint64;
typedef npy_float16 numpy_float16;
typedef npy_float32 numpy_float32;
typedef npy_float64 numpy_float64;
typedef npy_complex64 numpy_complex64;
typedef npy_complex128 numpy_complex128;
typedef npy_intp numpy_intp;

/* Python 2's names of what Python 3 calls long, unicode and bytes. */
#ifndef PyInt_Check
#define PyInt_Check PyLong_Check
#define PyInt_CheckExact PyLong_CheckExact
#define PyInt_FromLong PyLong_FromLong
#define PyInt_FromSsize_t PyLong_FromSsize_t
#define PyInt_FromSize_t PyLong_FromSize_t
#define PyInt_FromString PyLong_FromString
#define PyInt_AsLong PyLong_AsLong
#define PyInt_AS_LONG PyLong_AsLong
#define PyInt_AsSsize_t PyLong_AsSsize_t
#define PyInt_AsUnsignedLongMask PyLong_AsUnsignedLongMask
#define PyInt_Type PyLong_Type
#define PyNumber_Int PyNumber_Long
#endif
#ifndef PyString_Check
#define PyString_Check PyUnicode_Check
#define PyString_CheckExact PyUnicode_CheckExact
#define PyString_FromString PyUnicode_FromString
#define PyString_FromStringAndSize PyUnicode_FromStringAndSize
#define PyString_FromFormat PyUnicode_FromFormat
#define PyString_InternFromString PyUnicode_InternFromString
#define PyString_AsString PyUnicode_AsUTF8
#define PyString_AS_STRING PyUnicode_AsUTF8
#define PyString_Type PyUnicode_Type
#endif

/* A node's code, ready to run. `theano_run` takes one value an input (borrowed) and fills one cell an output: what
 * stands there before is NULL or a value of an earlier call that nobody else sees, and belongs to the function. It
 * returns 0, or -1 with an exception set and all cells NULL. The structure that the code's own variables live in begins
 * with this one, which c/runtime.h repeats; the names are long since members of C++ thunks see them. */
#ifndef THEANO_THUNK_NAME
#define THEANO_THUNK_NAME "theano_linker_c.thunk"
typedef struct theano_thunk theano_thunk;
struct theano_thunk {
    int (*theano_run)(theano_thunk *self, PyObject *const *inputs, PyObject **outputs);
    void (*theano_free)(theano_thunk *self);
    PyObject *theano_params; /* NULL for an op without */
    int theano_n_inputs, theano_n_outputs;
};
#endif

static inline void theano_unexplained_failure(const char *what) {
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_RuntimeError, "%s failed, but set no Python exception", what);
}

static void theano_free_thunk(PyObject *capsule) {
    theano_thunk *thunk = (theano_thunk *)PyCapsule_GetPointer(capsule, THEANO_THUNK_NAME);
    if (thunk != NULL)
        thunk->theano_free(thunk);
}

/* A number of a given NumPy type, from a NumPy scalar or an array without dimensions. */
static inline int theano_get_scalar(PyObject *value, int type_num, const char *type_name, void *target, int check) {
    int is_array = PyArray_Check(value) && PyArray_NDIM((PyArrayObject *)value) == 0;
    if (!is_array && !PyArray_IsScalar(value, Generic)) {
        PyErr_Format(PyExc_TypeError, "a NumPy scalar of type %s is needed here, got %s", type_name,
                     Py_TYPE(value)->tp_name);
        return -1;
    }
    PyArray_Descr *wanted = PyArray_DescrFromType(type_num);
    PyArrayObject *array;
    if (wanted == NULL)
        return -1;
    array = is_array ? (Py_INCREF(value), (PyArrayObject *)value) : (PyArrayObject *)PyArray_FromScalar(value, NULL);
    if (array == NULL) {
        Py_DECREF(wanted);
        return -1;
    }
    if (PyArray_TYPE(array) == type_num && PyArray_ISNOTSWAPPED(array)) {
        memcpy(target, PyArray_DATA(array), (size_t)PyArray_ITEMSIZE(array));
    } else if (check && !PyArray_EquivTypenums(PyArray_TYPE(array), type_num)) {
        PyErr_Format(PyExc_TypeError, "a scalar of type %s is needed here, got %s", type_name, Py_TYPE(value)->tp_name);
        Py_DECREF(array);
        Py_DECREF(wanted);
        return -1;
    } else {
        PyObject *converted = PyArray_CastToType(array, (Py_INCREF(wanted), wanted), 0);
        Py_DECREF(array);
        array = (PyArrayObject *)converted;
        if (array == NULL) {
            Py_DECREF(wanted);
            return -1;
        }
        memcpy(target, PyArray_DATA(array), (size_t)PyArray_ITEMSIZE(array));
    }
    Py_DECREF(array);
    Py_DECREF(wanted);
    return 0;
}

static inline PyObject *theano_make_scalar(int type_num, void *source) {
    PyArray_Descr *descr = PyArray_DescrFromType(type_num);
    PyObject *scalar = descr == NULL ? NULL : PyArray_Scalar(source, descr, NULL);
    Py_XDECREF((PyObject *)descr);
    return scalar;
}

/* An array as C code of ops expects it. With `check`, dtype, number of dimensions and alignment are looked at. */
static inline int theano_check_array(PyObject *value, int type_num, const char *type_name, int ndim, int check) {
    if (!PyArray_Check(value)) {
        PyErr_Format(PyExc_TypeError, "expected an ndarray of type %s with %d dimensions, got %s", type_name, ndim,
                     Py_TYPE(value)->tp_name);
        return -1;
    }
    if (!check)
        return 0;
    PyArrayObject *array = (PyArrayObject *)value;
    if (!PyArray_ISALIGNED(array) || !PyArray_ISNOTSWAPPED(array)) {
        PyErr_Format(PyExc_NotImplementedError,
                     "expected an aligned array of type %s (type number %d) in native byte order, got %s array of type "
                     "number %d with %d dimensions",
                     type_name, type_num, PyArray_ISALIGNED(array) ? "a byte-swapped" : "a non-aligned",
                     PyArray_TYPE(array), PyArray_NDIM(array));
        return -1;
    }
    if (PyArray_TYPE(array) != type_num && !PyArray_EquivTypenums(PyArray_TYPE(array), type_num)) {
        PyErr_Format(PyExc_TypeError, "expected type_num %d (%s) got %d", type_num, type_name, PyArray_TYPE(array));
        return -1;
    }
    if (PyArray_NDIM(array) != ndim) {
        PyErr_Format(PyExc_ValueError, "expected an array of type %s with %d dimensions, got %d", type_name, ndim,
                     PyArray_NDIM(array));
        return -1;
    }
    return 0;
}
