/* Loops that are one C function for arrays of certain shapes: operands are looked at here, results are made, and the
 * function does all steps. It knows nothing of Python: while it works for long, the GIL is let go, and now and then it
 * asks here whether to go on. */
#include "loop.h"

/* Steps until the next question, which reads the clock. */
#define LONGEST_PAUSE 16384
#define LOOK_SECONDS 0.001
/* After so long other threads run; after so long again, signals are looked at. */
#define LET_GO_SECONDS 0.002
#define SIGNAL_SECONDS 0.05

/* How many steps there are until the next question; -1 to end the loop, with an exception. */
int64_t code_look(void *context) {
    Look *l = context;
    double now = profile_clock();
    if (!l->started) {
        l->started = 1;
        l->looked = l->signals = now;
        return l->pause;
    }
    double spent = now - l->looked;
    l->looked = now;
    if (spent < LOOK_SECONDS / 4 && l->pause < LONGEST_PAUSE)
        l->pause *= 2;
    else if (spent > LOOK_SECONDS && l->pause > 1)
        l->pause /= 2;
    if (l->state == NULL) {
        if (now - l->signals < LET_GO_SECONDS)
            return l->pause;
    } else {
        if (now - l->signals < SIGNAL_SECONDS)
            return l->pause;
        PyEval_RestoreThread(l->state);
        l->state = NULL;
    }
    if (PyErr_CheckSignals() < 0)
        return -1;
    l->signals = now;
    l->state = PyEval_SaveThread();
    return l->pause;
}

const int64_t *form_read(const int64_t *at, Form *form) {
    form->moves = (int)at[0];
    form->type_num = (int)at[1];
    form->ndim = (int)at[2];
    form->shape = at + 3;
    return at + 3 + form->ndim;
}

/* The array that is read: as it is, or a copy in C order. NULL without an exception where it does not fit. */
PyArrayObject *form_fitting(PyObject *value, const Form *form, Py_ssize_t steps) {
    if (!PyArray_Check(value))
        return NULL;
    PyArrayObject *array = (PyArrayObject *)value;
    if (PyArray_TYPE(array) != form->type_num || PyArray_NDIM(array) != form->ndim + form->moves ||
        (form->moves && PyArray_DIM(array, 0) < steps))
        return NULL;
    npy_intp expected = PyArray_ITEMSIZE(array);
    int rows = 1, size = 1;
    for (int d = form->ndim - 1; d >= 0; d--) {
        npy_intp length = PyArray_DIM(array, d + form->moves);
        if (length != form->shape[d])
            return NULL;
        rows &= length == 1 || PyArray_STRIDE(array, d + form->moves) == expected;
        expected *= length;
        size &= length != 0;
    }
    if (form->moves)
        rows &= PyArray_STRIDE(array, 0) % PyArray_ITEMSIZE(array) == 0;
    if (PyArray_ISBEHAVED_RO(array) && (rows || !size))
        return (PyArrayObject *)Py_NewRef(value);
    return (PyArrayObject *)PyArray_FROM_OTF(value, form->type_num, NPY_ARRAY_CARRAY_RO);
}

typedef struct {
    int n_given, n_results;
    PyArrayObject **arrays; /* owned: the operands, then the results */
    const void **data;
    void **into;
    int64_t *strides;
} Call;

static int prepare(Machine *m, Call *c, const int64_t *at, Py_ssize_t steps, PyObject *given) {
    Form form;
    for (int k = 0; k < c->n_given; k++) {
        at = form_read(at, &form);
        PyArrayObject *array = c->arrays[k] = form_fitting(PyTuple_GET_ITEM(given, k), &form, steps);
        if (array == NULL)
            return PyErr_Occurred() ? -1 : 0;
        c->data[k] = PyArray_DATA(array);
        c->strides[k] = form.moves ? PyArray_STRIDE(array, 0) / PyArray_ITEMSIZE(array) : 0;
    }
    for (int k = 0; k < c->n_results; k++) {
        npy_intp shape[NPY_MAXDIMS];
        int stored;
        at = form_read(at, &form);
        if (form.ndim + form.moves > NPY_MAXDIMS)
            return 0;
        shape[0] = steps;
        for (int d = 0; d < form.ndim; d++)
            shape[form.moves + d] = form.shape[d];
        PyArrayObject *array = c->arrays[c->n_given + k] =
            buffer_get(m, m->outputs[k], form.type_num, form.ndim + form.moves, shape, 0, &stored);
        if (array == NULL)
            return -1;
        c->into[k] = PyArray_DATA(array);
    }
    return 1;
}

static PyObject *call(Machine *m, Call *c, uintptr_t address, const int64_t *forms, Py_ssize_t steps, PyObject *given) {
    int possible = prepare(m, c, forms, steps, given), status = 0;
    if (possible < 0)
        return NULL;
    if (possible == 0)
        Py_RETURN_NONE;
    Look l = {.pause = 1};
    int64_t done = steps;
    status = ((code_fn)address)(steps, c->data, c->strides, c->into, &done, code_look, &l);
    if (l.state != NULL)
        PyEval_RestoreThread(l.state);
    if (status < 0)
        return NULL;
    if (status > 0)
        return PyLong_FromLong(status);
    PyObject *found = PyList_New(c->n_results);
    for (int k = 0; found != NULL && k < c->n_results; k++)
        PyList_SET_ITEM(found, k, Py_NewRef((PyObject *)c->arrays[c->n_given + k]));
    return found == NULL ? NULL : Py_BuildValue("LN", (long long)done, found);
}

/* Method `run_loop_code(address, forms, steps, values)`: `forms` are numbers that describe values and results, see
 * loop_code.py. Returns how many steps were done and the list of results; None where the values do not fit; or the
 * number of the error that the function has found. */
static PyObject *run_loop_code(Machine *m, PyObject *args) {
    unsigned long long address;
    const char *bytes;
    Py_ssize_t length, steps;
    PyObject *given, *result = NULL;
    if (!PyArg_ParseTuple(args, "Ky#nO!", &address, &bytes, &length, &steps, &PyTuple_Type, &given))
        return NULL;
    const int64_t *forms = (const int64_t *)bytes;
    Call c = {.n_given = (int)forms[0], .n_results = (int)forms[1]};
    if (PyTuple_GET_SIZE(given) != c.n_given || c.n_results > m->n_outputs || steps < 1) {
        PyErr_SetString(PyExc_ValueError, "loop: the code is for other values");
        return NULL;
    }
    if (m->profile != NULL || m->retained != NULL)
        Py_RETURN_NONE;
    int n = c.n_given + c.n_results + 1;
    c.arrays = PyMem_Calloc(n, sizeof *c.arrays);
    c.data = PyMem_Calloc(n, sizeof *c.data);
    c.into = PyMem_Calloc(n, sizeof *c.into);
    c.strides = PyMem_Calloc(n, sizeof *c.strides);
    if (c.arrays == NULL || c.data == NULL || c.into == NULL || c.strides == NULL)
        PyErr_NoMemory();
    else
        result = call(m, &c, (uintptr_t)address, forms + 2, steps, given);
    for (int k = 0; c.arrays != NULL && k < n; k++)
        Py_XDECREF(c.arrays[k]);
    PyMem_Free(c.arrays);
    PyMem_Free(c.data);
    PyMem_Free(c.into);
    PyMem_Free(c.strides);
    return result;
}

PyObject *machine_run_loop_code(PyObject *self, PyObject *args) {
    PyObject *result;
    MACHINE_BEGIN(self);
    result = run_loop_code((Machine *)self, args);
    MACHINE_END();
    return result;
}
