/* Array memory of a machine: operands in registers, output buffers, and what is kept for the next call. */
#include "runtime.h"

void frame_set(Frame *f, int reg, PyObject *value) {
    PyObject *old = f->registers[reg];
    int kept_view = f->home[reg] == KEPT_VIEW;
    f->registers[reg] = value;
    f->home[reg] = -1;
    if (old == NULL)
        return;
    if (Py_REFCNT(old) == 1)
        gil_take();
    if (kept_view && Py_REFCNT(old) == 2)
        view_leave((PyArrayObject *)old);
    Py_DECREF(old);
}

/* What comes from outside in the form in which registers hold it: an array has native byte order and is aligned, so
 * that whoever reads one number of it may do so directly. Takes over the reference; NULL with an exception. */
PyObject *in_native_form(PyObject *value) {
    if (value == NULL || !PyArray_Check(value) || PyArray_ISBEHAVED_RO((PyArrayObject *)value))
        return value;
    PyArrayObject *array = (PyArrayObject *)value;
    PyArray_Descr *descr = PyArray_DescrNewByteorder(PyArray_DESCR(array), NPY_NATIVE);
    PyObject *native =
        descr == NULL ? NULL : PyArray_FromArray(array, descr, NPY_ARRAY_BEHAVED_NS & ~NPY_ARRAY_WRITEABLE);
    Py_DECREF(value);
    return native;
}

/* The array in a register, in a form that kernels read: right dtype, native byte order, aligned. What a `perform` left
 * there in another form (a NumPy scalar, a swapped array) is converted once and replaces the register. Borrowed. */
PyArrayObject *operand(Frame *f, int reg, int type_num, int ndim) {
    PyObject *value = f->registers[reg];
    if (value != NULL && PyArray_Check(value)) {
        PyArrayObject *array = (PyArrayObject *)value;
        if (PyArray_TYPE(array) == type_num && PyArray_NDIM(array) == ndim && PyArray_ISBEHAVED_RO(array))
            return array;
    }
    gil_take();
    if (value == NULL || value == Py_None) {
        PyErr_SetString(PyExc_ValueError, "an operand has no value: the node that computes it left its output empty");
        return NULL;
    }
    PyArray_Descr *descr = PyArray_DescrFromType(type_num);
    if (descr == NULL)
        return NULL;
    PyObject *array = PyArray_FromAny(value, descr, ndim, ndim, NPY_ARRAY_BEHAVED_NS & ~NPY_ARRAY_WRITEABLE, NULL);
    if (array == NULL)
        return NULL;
    frame_set(f, reg, array);
    return (PyArrayObject *)array;
}

static int has_weak_references(PyObject *value) {
    Py_ssize_t offset = Py_TYPE(value)->tp_weaklistoffset;
    return offset > 0 && *(PyObject **)((char *)value + offset) != NULL;
}

/* Whether an array owns its memory, and nothing but references to it can see that. */
int buffer_is_plain(PyArrayObject *array) {
    return Py_IS_TYPE((PyObject *)array, &PyArray_Type) && PyArray_CHKFLAGS(array, NPY_ARRAY_OWNDATA) &&
           PyArray_BASE(array) == NULL && PyArray_ISBEHAVED(array) && !has_weak_references((PyObject *)array);
}

/* Whether an array that was handed out before can be handed out again: nobody has it but those of whom we know. Its
 * holder may have changed its shape, strides, dtype or flags in place, so all of them are looked at. */
int buffer_serves(PyArrayObject *array, Py_ssize_t references, int type_num, int ndim, const npy_intp *shape,
                  int fortran) {
    if (Py_REFCNT(array) != references || PyArray_TYPE(array) != type_num || PyArray_NDIM(array) != ndim ||
        !buffer_is_plain(array))
        return 0;
    for (int d = 0; d < ndim; d++)
        if (PyArray_DIMS(array)[d] != shape[d])
            return 0;
    return PyArray_CHKFLAGS(array, fortran ? NPY_ARRAY_F_CONTIGUOUS : NPY_ARRAY_C_CONTIGUOUS);
}

static void buffer_drop(Machine *m, int reg) {
    PyObject *old = m->buffers[reg];
    if (old != NULL) {
        m->buffers[reg] = NULL;
        m->buffered_bytes -= m->buffer_bytes[reg];
        Py_DECREF(old);
    }
}

static int buffer_keep(Machine *m, int reg, PyArrayObject *array) {
    npy_intp bytes = PyArray_NBYTES(array);
    buffer_drop(m, reg);
    if (bytes > m->buffer_limit - m->buffered_bytes)
        return 0;
    m->buffers[reg] = Py_NewRef((PyObject *)array);
    m->buffer_bytes[reg] = bytes; /* its holder may change the array, so what was counted is remembered */
    m->buffered_bytes += bytes;
    return 1;
}

/* An array for a register, with arbitrary contents: the buffer of an earlier call when nobody else sees it any more,
 * else a new one. `stored` tells whether the store holds it too. A new reference. */
PyArrayObject *buffer_get(Machine *m, int reg, int type_num, int ndim, const npy_intp *shape, int fortran,
                          int *stored) {
    PyArrayObject *array = (PyArrayObject *)m->buffers[reg];
    *stored = array != NULL && buffer_serves(array, 1, type_num, ndim, shape, fortran);
    if (*stored)
        return (PyArrayObject *)Py_NewRef((PyObject *)array);
    gil_take();
    PyArray_Descr *descr = PyArray_DescrFromType(type_num);
    if (descr == NULL)
        return NULL;
    array = (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, descr, ndim, shape, NULL, NULL, fortran, NULL);
    if (array != NULL)
        *stored = m->buffer_limit > 0 && buffer_keep(m, reg, array);
    return array;
}

/* Whether the result for a register has its place already. */
int slot_offered(const Frame *f, int reg) { return f->slots != NULL && f->slots[reg] != NULL; }

/* Whether an array lies in Fortran order and not in C order. */
int is_fortran_only(PyArrayObject *array) { return PyArray_IS_F_CONTIGUOUS(array) && !PyArray_IS_C_CONTIGUOUS(array); }

/* Whether no operand is asked for its array or its order, since a place is offered: those in a loop are parts of
 * arrays in C order. In a batch results lie as those of single calls do, since the order of additions that read them
 * may depend on it. */
int slot_decides(const Machine *m, const Frame *f, int reg, int ndim) {
    return slot_offered(f, reg) && (ndim < 2 || !m->in_batch);
}

static int slot_fits(PyArrayObject *slot, int type_num, int ndim, const npy_intp *shape, int fortran) {
    int order = fortran ? NPY_ARRAY_F_CONTIGUOUS : NPY_ARRAY_C_CONTIGUOUS;
    if (PyArray_TYPE(slot) != type_num || PyArray_NDIM(slot) != ndim || !PyArray_CHKFLAGS(slot, order))
        return 0;
    for (int d = 0; d < ndim; d++)
        if (PyArray_DIM(slot, d) != shape[d])
            return 0;
    return 1;
}

/* Put an array for an output into its register and return it (borrowed): the slot that is offered for it, the buffer of
 * an earlier call, or a new array. Its contents are arbitrary, and it lies in the order that is asked for. */
PyArrayObject *buffer_obtain(Machine *m, Frame *f, int reg, int type_num, int ndim, const npy_intp *shape,
                             int fortran) {
    if (slot_offered(f, reg) && slot_fits(f->slots[reg], type_num, ndim, shape, fortran)) {
        PyArrayObject *slot = f->slots[reg];
        frame_set(f, reg, Py_NewRef((PyObject *)slot));
        return slot;
    }
    int stored;
    PyArrayObject *array = buffer_get(m, reg, type_num, ndim, shape, fortran, &stored);
    if (array == NULL)
        return NULL;
    frame_set(f, reg, (PyObject *)array);
    if (stored)
        f->home[reg] = reg;
    return array;
}

/* Let two registers exchange what the store holds for them. */
void buffers_swap(Machine *m, int a, int b) {
    PyObject *array = m->buffers[a];
    npy_intp bytes = m->buffer_bytes[a];
    m->buffers[a] = m->buffers[b];
    m->buffer_bytes[a] = m->buffer_bytes[b];
    m->buffers[b] = array;
    m->buffer_bytes[b] = bytes;
}

/* Whether the array in a register is seen by nobody but this frame: an array of the machine's own, or one that the
 * caller donates. A view counts as a reference to its base, wherever it is. */
static int buffer_is_unseen(const Machine *m, const Frame *f, int reg) {
    PyObject *value = f->registers[reg];
    int home = f->home[reg];
    Py_ssize_t expected = 1 + (home >= 0 && m->buffers[home] == value) + (m->open != NULL && capture_holds(m, f, reg));
    return Py_REFCNT(value) == expected && (buffer_is_plain((PyArrayObject *)value) ||
                                            (PyArray_CheckExact(value) && is_donated((PyArrayObject *)value)));
}

/* Whether it may be overwritten, too. */
int buffer_is_ours(const Machine *m, const Frame *f, int reg) {
    return (m->open == NULL || !capture_refuses(m, f, reg)) && buffer_is_unseen(m, f, reg);
}

/* Whether the array in a dying register lies in Fortran order and would be overwritten, but for a capture. What is made
 * instead lies in that order, too, so that results do not depend on what is captured. */
int capture_wants_fortran(const Machine *m, const Frame *f, int reg) {
    return m->open != NULL && is_fortran_only((PyArrayObject *)f->registers[reg]) && capture_refuses(m, f, reg) &&
           buffer_is_unseen(m, f, reg);
}

/* Hand the array of a dying register to an output register. The caller has checked that dtype and shape fit. */
int buffer_reuse(Machine *m, Frame *f, int from, int to) {
    if (!buffer_is_ours(m, f, from))
        return 0;
    frame_set(f, to, Py_NewRef(f->registers[from]));
    f->home[to] = f->home[from];
    return 1;
}

/* The same, or, where a place is offered or a capture refuses the array, say in which order the result has to lie then.
 * Returns 1 where the array was handed over, 0 where it was not, -1 where `fortran` has been decided. */
int buffer_reuse_or_order(Machine *m, Frame *f, int from, int to, int *fortran) {
    if (!slot_offered(f, to) && buffer_reuse(m, f, from, to))
        return 1;
    if (m->open != NULL && capture_refuses(m, f, from) && buffer_is_unseen(m, f, from))
        return *fortran = is_fortran_only((PyArrayObject *)f->registers[from]), -1;
    if (!slot_offered(f, to) || !buffer_is_ours(m, f, from))
        return 0;
    *fortran = is_fortran_only((PyArrayObject *)f->registers[from]);
    return -1;
}

/* An array has just been replaced in a cell: keep it as the buffer of the register whose value replaced it, when
 * nobody else has it. Takes over the caller's reference. */
void buffer_retire(Machine *m, const Frame *f, int reg, PyObject *value) {
    if (f->home[reg] >= 0)
        reg = f->home[reg];
    if (m->buffer_limit > 0 && Py_REFCNT(value) == 1 && PyArray_CheckExact(value) &&
        buffer_is_plain((PyArrayObject *)value)) {
        PyArrayObject *current = (PyArrayObject *)m->buffers[reg];
        /* A buffer that is in use now (it just went into the cell) cannot serve the next call; this one can. */
        if (current == NULL || Py_REFCNT(current) > 1)
            buffer_keep(m, reg, (PyArrayObject *)value);
    }
    Py_DECREF(value);
}

/* Take out the array that an earlier call left in a register, for code that looks itself whether its shape fits: when
 * nobody else sees it, and dtype and number of dimensions are still right. A new reference, or NULL. */
PyObject *buffer_recall(Machine *m, int reg, int type_num, int ndim) {
    PyArrayObject *array = (PyArrayObject *)m->buffers[reg];
    if (array == NULL || Py_REFCNT(array) != 1 || PyArray_TYPE(array) != type_num || PyArray_NDIM(array) != ndim ||
        !buffer_is_plain(array))
        return NULL;
    Py_INCREF(array);
    buffer_drop(m, reg);
    return (PyObject *)array;
}

/* Keep the array in a register for the next call, when it is one that `buffer_recall` may give back. */
void buffer_offer(Machine *m, Frame *f, int reg) {
    PyObject *value = f->registers[reg];
    if (m->buffer_limit > 0 && Py_REFCNT(value) == 1 && PyArray_CheckExact(value) &&
        buffer_is_plain((PyArrayObject *)value) && buffer_keep(m, reg, (PyArrayObject *)value))
        f->home[reg] = reg;
}

void buffers_clear(Machine *m) {
    if (m->buffers != NULL)
        for (int reg = 0; reg < m->n_registers; reg++)
            buffer_drop(m, reg);
}
