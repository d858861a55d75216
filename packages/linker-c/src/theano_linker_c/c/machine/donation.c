/* Donated arguments: arrays of the caller that a call may overwrite.
 *
 * The caller and whoever else refers to such an array are not to be counted, so that its reference count says nothing.
 * For the time of the call its register holds an array of the call's own over the same memory, whose base is a
 * DonatedBuffer. Views that the call makes have this array as their base, since a DonatedBuffer is no array and ends
 * the chain; so its reference count is as reliable as that of any array that the machine has made.
 */
#include "runtime.h"

typedef struct {
    PyObject_HEAD PyObject *array; /* what the caller has passed */
} DonatedBuffer;

static void donated_buffer_dealloc(PyObject *self) {
    Py_DECREF(((DonatedBuffer *)self)->array);
    PyObject_Free(self);
}

PyTypeObject DonatedBufferType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "theano_linker_c._runtime.DonatedBuffer",
    .tp_doc = "The base of an array over memory that a caller has donated to a function.",
    .tp_basicsize = sizeof(DonatedBuffer),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_dealloc = donated_buffer_dealloc,
};

int is_donated(PyArrayObject *array) {
    PyObject *base = PyArray_BASE(array);
    return base != NULL && Py_IS_TYPE(base, &DonatedBufferType);
}

/* Whether a value lies in memory that the caller has donated. */
int lies_in_donated(PyObject *value) {
    if (!PyArray_Check(value))
        return 0;
    value = owner_of(value);
    return PyArray_Check(value) && is_donated((PyArrayObject *)value);
}

static PyObject *donate(PyArrayObject *array) {
    PyArray_Descr *descr = PyArray_DESCR(array);
    Py_INCREF(descr);
    PyObject *made = PyArray_NewFromDescr(&PyArray_Type, descr, PyArray_NDIM(array), PyArray_DIMS(array),
                                          PyArray_STRIDES(array), PyArray_DATA(array), NPY_ARRAY_WRITEABLE, NULL);
    if (made == NULL)
        return NULL;
    DonatedBuffer *owner = PyObject_New(DonatedBuffer, &DonatedBufferType);
    if (owner == NULL) {
        Py_DECREF(made);
        return NULL;
    }
    owner->array = Py_NewRef((PyObject *)array);
    if (PyArray_SetBaseObject((PyArrayObject *)made, (PyObject *)owner) < 0)
        Py_CLEAR(made);
    return made;
}

/* What the caller gets for a result: the array that he has passed himself, where the result is that donated array.
 * Borrowed. */
PyObject *donated_result(PyObject *value) {
    if (!PyArray_CheckExact(value) || !is_donated((PyArrayObject *)value))
        return value;
    PyArrayObject *array = (PyArrayObject *)value,
                  *passed = (PyArrayObject *)((DonatedBuffer *)PyArray_BASE(array))->array;
    int same = PyArray_NDIM(array) == PyArray_NDIM(passed) && PyArray_DATA(array) == PyArray_DATA(passed) &&
               PyArray_TYPE(array) == PyArray_TYPE(passed) &&
               PyArray_CompareLists(PyArray_DIMS(array), PyArray_DIMS(passed), PyArray_NDIM(array)) &&
               PyArray_CompareLists(PyArray_STRIDES(array), PyArray_STRIDES(passed), PyArray_NDIM(array));
    return same ? (PyObject *)passed : value;
}

/* The bytes that an array spans. */
static void extent(PyArrayObject *array, char **low, char **high) {
    *low = PyArray_BYTES(array);
    *high = *low + PyArray_ITEMSIZE(array);
    for (int d = 0; d < PyArray_NDIM(array); d++) {
        npy_intp span = (PyArray_DIMS(array)[d] - 1) * PyArray_STRIDES(array)[d];
        *(span < 0 ? low : high) += PyArray_DIMS(array)[d] > 0 ? span : 0;
    }
}

typedef struct {
    PyObject *value;
    char *low, *high;
} Span;

static int overlaps(const Span *span, PyObject *other);

/* Whether an array in an attribute of an object, as sparse matrices have them, overlaps. */
static int part_overlaps(const Span *span, PyObject *other, const char *name) {
    PyObject *part = PyObject_GetAttrString(other, name);
    int found = part != NULL && PyArray_Check(part) && overlaps(span, part);
    if (part == NULL)
        PyErr_Clear();
    Py_XDECREF(part);
    return found;
}

static int overlaps(const Span *span, PyObject *other) {
    char *low, *high;
    if (other == NULL || other == Py_None || PyArray_IsScalar(other, Generic) || PyLong_Check(other))
        return 0;
    if (PyArray_Check(other)) {
        extent((PyArrayObject *)other, &low, &high);
        return low < span->high && span->low < high;
    }
    if (PyList_CheckExact(other)) {
        for (Py_ssize_t k = 0; k < PyList_GET_SIZE(other); k++)
            if (overlaps(span, PyList_GET_ITEM(other, k)))
                return 1;
        return 0;
    }
    return part_overlaps(span, other, "data") || part_overlaps(span, other, "indices") ||
           part_overlaps(span, other, "indptr");
}

/* Whether two generators of random numbers draw from one source. */
static int draws_from(PyObject *value, PyObject *other) {
    PyObject *source = PyObject_GetAttrString(value, "_bit_generator");
    PyObject *theirs = source == NULL ? NULL : PyObject_GetAttrString(other, "_bit_generator");
    if (source == NULL || theirs == NULL)
        PyErr_Clear();
    int same = source != NULL && source != Py_None && source == theirs;
    Py_XDECREF(source);
    Py_XDECREF(theirs);
    return same;
}

/* Whether overwriting a value changes another one. */
static int shares(PyObject *value, PyObject *other) {
    if (other == NULL || value == Py_None || PyArray_IsScalar(value, Generic) || PyLong_Check(value))
        return 0;
    if (PyArray_Check(value)) {
        Span span = {value, NULL, NULL};
        extent((PyArrayObject *)value, &span.low, &span.high);
        return overlaps(&span, other);
    }
    if (value == other)
        return 1;
    if (PyList_CheckExact(value)) {
        for (Py_ssize_t k = 0; k < PyList_GET_SIZE(value); k++)
            if (shares(PyList_GET_ITEM(value, k), other))
                return 1;
        return 0;
    }
    static const char *const parts[] = {"data", "indices", "indptr"};
    for (int k = 0; k < 3; k++) {
        PyObject *part = PyObject_GetAttrString(value, parts[k]);
        int found = part != NULL && PyArray_Check(part) && shares(part, other);
        if (part == NULL)
            PyErr_Clear();
        Py_XDECREF(part);
        if (found)
            return 1;
    }
    return draws_from(value, other);
}

/* Whether another argument, a shared value or a constant shares memory or state with an argument. */
static int seen_elsewhere(const Machine *m, const Frame *f, int reg) {
    PyObject *value = f->registers[reg];
    for (int i = 0; i < m->n_inputs; i++)
        if (m->inputs[i].reg != reg && shares(value, f->registers[m->inputs[i].reg]))
            return 1;
    for (int k = 0; k < m->n_cells; k++)
        if (shares(value, f->registers[m->cells[k].reg]))
            return 1;
    for (int k = 0; k < m->n_constants; k++)
        if (shares(value, f->registers[m->constants[k].reg]))
            return 1;
    return 0;
}

/* Whether an op may write into an array element by element: it is writable, and each element has a place of its own,
 * as it does not in what is broadcast or in windows that slide. */
static int takes_writes(PyArrayObject *array) {
    int ndim = PyArray_NDIM(array), done[NPY_MAXDIMS] = {0};
    npy_intp held = PyArray_ITEMSIZE(array);
    if (!PyArray_ISWRITEABLE(array))
        return 0;
    if (PyArray_FLAGS(array) & (NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS))
        return 1;
    for (int k = 0; k < ndim; k++) { /* from the shortest stride on; each has to reach over all that is shorter */
        int next = 0;
        while (done[next])
            next++;
        for (int d = next + 1; d < ndim; d++)
            if (!done[d] && Py_ABS(PyArray_STRIDES(array)[d]) < Py_ABS(PyArray_STRIDES(array)[next]))
                next = d;
        done[next] = 1;
        npy_intp count = PyArray_DIMS(array)[next], stride = Py_ABS(PyArray_STRIDES(array)[next]);
        if (count > 1 && stride < held)
            return 0;
        held += count > 1 ? (count - 1) * stride : 0;
    }
    return 1;
}

/* Copy a value that is no array, with all that it holds. */
static PyObject *deep_copy(PyObject *value) {
    PyObject *module = PyImport_ImportModule("copy");
    PyObject *made = module == NULL ? NULL : PyObject_CallMethod(module, "deepcopy", "O", value);
    Py_XDECREF(module);
    return made;
}

/* Donate the arrays that the caller lets a function overwrite. Called when all inputs are in their registers. A value
 * that shares memory or state with another of them, with a shared value or with a constant gives way to a copy, since
 * overwriting it would change what others read; this goes for lists, sparse matrices and generators, too. So does an
 * array that an op cannot write into, though the graph may have one that does. Returns 0, or -1 with an exception. */
int donate_inputs(const Machine *m, Frame *f) {
    for (int i = 0; i < m->n_inputs; i++) {
        int reg = m->inputs[i].reg;
        PyObject *value = f->registers[reg], *instead = NULL;
        PyArrayObject *array = (PyArrayObject *)value;
        if (!m->inputs[i].overwrite || value == NULL)
            continue;
        int is_array = PyArray_Check(value);
        if (is_array && !takes_writes(array))
            instead = PyArray_NewCopy(array, NPY_KEEPORDER);
        else if (seen_elsewhere(m, f, reg))
            instead = is_array ? PyArray_NewCopy(array, NPY_KEEPORDER) : deep_copy(value);
        else if (is_array && PyArray_CheckExact(value) && PyArray_ISBEHAVED(array) &&
                 PyArray_FLAGS(array) & (NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS) &&
                 !PyDataType_REFCHK(PyArray_DESCR(array)))
            instead = donate(array);
        else
            continue;
        if (instead == NULL)
            return -1;
        frame_set(f, reg, instead);
    }
    return 0;
}

/* Give a value that becomes that of a cell memory of its own. */
int undonate(Frame *f, int reg) {
    if (f->registers[reg] == NULL || !lies_in_donated(f->registers[reg]))
        return 0;
    PyObject *copy = PyArray_NewCopy((PyArrayObject *)f->registers[reg], NPY_KEEPORDER);
    if (copy == NULL)
        return -1;
    frame_set(f, reg, copy);
    return 0;
}
