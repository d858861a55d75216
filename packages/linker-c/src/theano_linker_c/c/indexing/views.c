/* Instructions that move no elements (axes reordered, dropped, inserted), and plain copies. */
#include "runtime.h"

typedef struct {
    int ndim_in, ndim_out, n_drop;
    int *order; /* source axis, or -1 for a new axis of length 1 */
    int *drop;
} Transpose;

static int transpose_run(Machine *m, Frame *f, const Instruction *in) {
    const Transpose *r = in->plan;
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    PyObject *value = f->registers[in->inputs[0]];
    PyArrayObject *array = (PyArrayObject *)value;
    if (value == NULL || !PyArray_Check(value) || PyArray_NDIM(array) != r->ndim_in) {
        gil_take();
        PyErr_Format(PyExc_TypeError, "an array with %d dimensions is expected here", r->ndim_in);
        return RUN_RAISED;
    }
    for (int k = 0; k < r->n_drop; k++)
        if (PyArray_DIMS(array)[r->drop[k]] != 1)
            return RUN_MISMATCH;
    for (int d = 0; d < r->ndim_out; d++) {
        shape[d] = r->order[d] < 0 ? 1 : PyArray_DIMS(array)[r->order[d]];
        strides[d] = r->order[d] < 0 ? 0 : PyArray_STRIDES(array)[r->order[d]];
    }
    PyArrayObject *view = view_make(m, f, in->outputs[0], array, r->ndim_out, shape, strides, PyArray_BYTES(array));
    return view == NULL ? RUN_RAISED : RUN_DONE;
}

static void transpose_free(void *plan) {
    Transpose *r = plan;
    PyMem_Free(r->order);
    PyMem_Free(r->drop);
    PyMem_Free(r);
}

/* Payload: (ndim of the input, order, dropped axes). */
int transpose_prepare(Machine *m, Instruction *in, PyObject *payload) {
    PyObject *order, *drop;
    (void)m;
    Transpose *r = PyMem_Calloc(1, sizeof *r);
    if (r == NULL)
        return -1;
    in->plan = r;
    in->run = transpose_run;
    in->free = transpose_free;
    if (!PyArg_ParseTuple(payload, "iO!O!", &r->ndim_in, &PyTuple_Type, &order, &PyTuple_Type, &drop))
        return -1;
    r->order = parse_ints(order, &r->ndim_out);
    r->drop = parse_ints(drop, &r->n_drop);
    if (r->order == NULL || r->drop == NULL)
        return -1;
    for (int d = 0; d < r->ndim_out; d++)
        if (r->order[d] < -1 || r->order[d] >= r->ndim_in || r->ndim_out > NPY_MAXDIMS) {
            PyErr_SetString(PyExc_ValueError, "transpose payload: axis out of range");
            return -1;
        }
    for (int k = 0; k < r->n_drop; k++)
        if (r->drop[k] < 0 || r->drop[k] >= r->ndim_in) {
            PyErr_SetString(PyExc_ValueError, "transpose payload: dropped axis out of range");
            return -1;
        }
    return 0;
}

/* A fresh array of its own; other values go through the op's `perform`, which the plan holds as a callable. */
static int copy_run(Machine *m, Frame *f, const Instruction *in) {
    PyObject *value = f->registers[in->inputs[0]];
    PyArrayObject *array = (PyArrayObject *)value;
    if (value == NULL || !PyArray_CheckExact(value) || PyDataType_REFCHK(PyArray_DESCR(array)) ||
        PyArray_TYPE(array) >= NPY_OBJECT || !PyArray_ISNOTSWAPPED(array)) {
        gil_take();
        PyObject *copy = PyObject_CallOneArg(in->plan, value == NULL ? Py_None : value);
        if (copy == NULL)
            return RUN_RAISED;
        frame_set(f, in->outputs[0], copy);
        return RUN_DONE;
    }
    int flags = PyArray_FLAGS(array);
    int fortran = is_fortran_only(array) && !slot_decides(m, f, in->outputs[0], PyArray_NDIM(array));
    PyArrayObject *copy =
        buffer_obtain(m, f, in->outputs[0], PyArray_TYPE(array), PyArray_NDIM(array), PyArray_DIMS(array), fortran);
    if (copy == NULL)
        return RUN_RAISED;
    int order = fortran ? NPY_ARRAY_F_CONTIGUOUS : NPY_ARRAY_C_CONTIGUOUS;
    if ((flags & order) && PyArray_CHKFLAGS(copy, order)) {
        memcpy(PyArray_DATA(copy), PyArray_DATA(array), PyArray_NBYTES(copy));
        return RUN_DONE;
    }
    gil_take();
    return PyArray_CopyInto(copy, array) < 0 ? RUN_RAISED : RUN_DONE;
}

static void copy_free(void *plan) { (void)plan; /* borrowed from `held` */ }

/* Payload: a callable that copies one value that is not a plain array. */
int copy_prepare(Machine *m, Instruction *in, PyObject *payload) {
    (void)m;
    in->plan = payload;
    in->run = copy_run;
    in->free = copy_free;
    return 0;
}
