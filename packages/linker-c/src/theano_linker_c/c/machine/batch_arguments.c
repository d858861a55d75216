/* Arguments of a batch of calls: with the GIL, where their elements are is noted; without it, calls see them through
 * arrays of the machine's own, one an input, which are laid over one argument after the other. */
#include "batch.h"

enum { ALIGNMENT = 16 };

static size_t rounded(size_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

static Argument *argument_at(const Calls *c, Py_ssize_t i, int k) {
    const Batches *b = c->m->batches;
    return (Argument *)(c->arguments + i * b->argument_bytes + b->at[k]);
}

/* An array without memory of its own, which is laid over that of others. */
static PyObject *header_make(const InputCheck *check) {
    static _Alignas(64) char nothing[64];
    npy_intp shape[NPY_MAXDIMS] = {0};
    PyArray_Descr *descr = PyArray_DescrFromType(check->type_num);
    return descr == NULL ? NULL
                         : PyArray_NewFromDescr(&PyArray_Type, descr, check->ndim, shape, NULL, nothing, 0, NULL);
}

int arguments_setup(Machine *m, Batches *b) {
    b->headers = PyMem_Calloc(m->n_inputs + 1, sizeof *b->headers);
    b->at = PyMem_Calloc(m->n_inputs + 1, sizeof *b->at);
    if (b->headers == NULL || b->at == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (int k = 0; k < m->n_inputs; k++) {
        if ((b->headers[k] = header_make(&m->inputs[k])) == NULL)
            return -1;
        int ndim = m->inputs[k].ndim;
        size_t item = PyArray_ITEMSIZE((PyArrayObject *)b->headers[k]);
        b->at[k] = b->argument_bytes;
        b->argument_bytes += rounded(rounded(sizeof(Argument)) + (ndim > 0 ? 2 * ndim * sizeof(npy_intp) : item));
    }
    return 0;
}

void arguments_free(const Machine *m, Batches *b) {
    for (int k = 0; b->headers != NULL && k < m->n_inputs; k++)
        Py_CLEAR(b->headers[k]);
    PyMem_Free(b->headers);
    PyMem_Free(b->at);
}

static void *number_of(Argument *a) { return (char *)a + rounded(sizeof *a); }

static void argument_note(Argument *a, char *data, int ndim, const npy_intp *dims, const npy_intp *strides) {
    a->data = data;
    for (int d = 0; d < ndim; d++) {
        a->layout[d] = dims[d];
        a->layout[ndim + d] = strides[d];
    }
}

static void array_note(Argument *a, PyArrayObject *array) {
    argument_note(a, PyArray_BYTES(array), PyArray_NDIM(array), PyArray_DIMS(array), PyArray_STRIDES(array));
}

static int keep(Calls *c, PyObject *value) {
    if (c->kept == NULL && (c->kept = PyList_New(0)) == NULL)
        return -1;
    return PyList_Append(c->kept, value);
}

/* What the hook makes of a value, as an array that the kernels read. */
static int argument_filter(Calls *c, Argument *a, int k, PyObject *value) {
    const InputCheck *check = &c->m->inputs[k];
    PyObject *filtered = in_native_form(PyObject_CallFunction(c->m->on_input, "iO", k, value)), *array;
    PyArray_Descr *descr = filtered == NULL ? NULL : PyArray_DescrFromType(check->type_num);
    if (descr == NULL) {
        Py_XDECREF(filtered);
        return -1;
    }
    array =
        PyArray_FromAny(filtered, descr, check->ndim, check->ndim, NPY_ARRAY_BEHAVED_NS & ~NPY_ARRAY_WRITEABLE, NULL);
    Py_DECREF(filtered);
    int status = array == NULL ? -1 : keep(c, array);
    if (status == 0)
        array_note(a, (PyArrayObject *)array);
    Py_XDECREF(array);
    return status;
}

static int argument_accept(Calls *c, Py_ssize_t i, int k, PyObject *value) {
    const InputCheck *check = &c->m->inputs[k];
    Argument *a = argument_at(c, i, k);
    if (input_fits(check, value)) {
        array_note(a, (PyArrayObject *)value);
        return 0;
    }
    int taken = number_accept(c->m, c->f, check, value, number_of(a));
    if (taken > 0)
        a->data = number_of(a);
    return taken == 0 ? argument_filter(c, a, k, value) : taken < 0 ? -1 : 0;
}

/* Whether an element that is no tuple is the one argument itself. */
static int is_value(PyObject *element) {
    return PyArray_CheckExact(element) || PyFloat_CheckExact(element) || PyLong_CheckExact(element) ||
           PyArray_IsScalar(element, Generic);
}

/* The arguments that an element stands for. Borrowed, of `made` where that is set, which the caller owns. */
PyObject *const *values_of(const Machine *m, PyObject **element, PyObject *regular, PyObject **made) {
    PyObject *given = *element;
    *made = NULL;
    if (PyTuple_CheckExact(given) && PyTuple_GET_SIZE(given) == m->n_inputs)
        return ((PyTupleObject *)given)->ob_item;
    if (m->n_inputs == 1 && is_value(given))
        return element;
    if (regular != NULL && (*made = PyObject_CallOneArg(regular, given)) == NULL)
        return NULL;
    if (*made != NULL && PyTuple_CheckExact(*made) && PyTuple_GET_SIZE(*made) == m->n_inputs)
        return ((PyTupleObject *)*made)->ob_item;
    Py_CLEAR(*made);
    PyErr_Format(PyExc_TypeError, "run_batch() needs tuples of %d values", m->n_inputs);
    return NULL;
}

static int accept_element(Calls *c, Py_ssize_t i, PyObject *element) {
    PyObject *made;
    PyObject *const *values = values_of(c->m, &element, c->regular, &made);
    int status = values == NULL || (made != NULL && keep(c, made) < 0) ? -1 : 0;
    for (int k = 0; status == 0 && k < c->m->n_inputs; k++)
        status = argument_accept(c, i, k, values[k]);
    Py_XDECREF(made);
    return status;
}

/* Whether each row of an array is the one argument of a call. */
int rows_fit(const Machine *m, PyObject *elements) {
    PyArrayObject *rows = (PyArrayObject *)elements;
    const InputCheck *check = m->inputs;
    if (m->n_inputs != 1 || !PyArray_CheckExact(elements) || PyArray_TYPE(rows) != check->type_num ||
        PyArray_NDIM(rows) != check->ndim + 1 || !PyArray_ISBEHAVED_RO(rows))
        return 0;
    for (int d = 0; d < check->ndim; d++)
        if (check->shape[d] >= 0 && check->shape[d] != PyArray_DIM(rows, d + 1))
            return 0;
    return 1;
}

/* Accept what can be accepted; an exception of the first element that cannot is left set. The elements are a list, or
 * an array whose rows fit. */
void accept_elements(Calls *c, PyObject *elements, Py_ssize_t wanted) {
    PyArrayObject *rows = (PyArrayObject *)elements;
    if (PyList_CheckExact(elements))
        while (c->count < wanted && accept_element(c, c->count, PyList_GET_ITEM(elements, c->count)) == 0)
            c->count++;
    else
        for (; c->count < wanted; c->count++)
            argument_note(argument_at(c, c->count, 0), PyArray_BYTES(rows) + c->count * PyArray_STRIDE(rows, 0),
                          PyArray_NDIM(rows) - 1, PyArray_DIMS(rows) + 1, PyArray_STRIDES(rows) + 1);
}

/* Put the arguments of a call into their registers. Needs the GIL only where a header has stayed in use. */
int arguments_show(Calls *c, Py_ssize_t i) {
    const Machine *m = c->m;
    for (int k = 0; k < m->n_inputs; k++) {
        const Argument *a = argument_at(c, i, k);
        const int ndim = m->inputs[k].ndim;
        const size_t bytes = ndim * sizeof(npy_intp);
        PyObject **header = &m->batches->headers[k];
        if (Py_REFCNT(*header) != 1) {
            gil_take();
            PyObject *other = header_make(&m->inputs[k]);
            if (other == NULL)
                return -1;
            Py_SETREF(*header, other);
        }
        PyArrayObject_fields *fields = (PyArrayObject_fields *)*header;
        fields->data = a->data;
        if (ndim > 0 && (memcmp(fields->dimensions, a->layout, bytes) != 0 ||
                         memcmp(fields->strides, a->layout + ndim, bytes) != 0)) {
            memcpy(fields->dimensions, a->layout, bytes);
            memcpy(fields->strides, a->layout + ndim, bytes);
            PyArray_UpdateFlags((PyArrayObject *)fields, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS);
        }
        frame_set(c->f, m->inputs[k].reg, Py_NewRef(*header));
    }
    return 0;
}
