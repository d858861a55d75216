/* The instructions of indexing: views, copies of parts, arrays with a part changed.
 *
 * A write into the storage of a shared variable can be put off (`deferred`): its index and its operands are checked
 * and kept, and it happens when the whole call has succeeded, just before updates are stored. So the storage needs no
 * copy, and a failed call leaves it as it was. If by then somebody else sees the array, it is copied first.
 */
#include "index.h"

/* The base of a view is the owner itself, not a view in between: the owner's reference count then tells the truth. */
static PyObject *owner_of(PyObject *value) {
    while (PyArray_Check(value) && PyArray_BASE((PyArrayObject *)value) != NULL &&
           Py_IS_TYPE(PyArray_BASE((PyArrayObject *)value), &PyArray_Type))
        value = PyArray_BASE((PyArrayObject *)value);
    return value;
}

static int view_run(Machine *m, Frame *f, const Instruction *in) {
    const IndexPlan *p = in->plan;
    Region region;
    (void)m;
    PyArrayObject *array = operand(f, in->inputs[0], p->type_num, p->ndim);
    if (array == NULL)
        return RUN_RAISED;
    int status = region_resolve(f, in, p, PyArray_DIMS(array), PyArray_STRIDES(array), 1, &region);
    if (status != RUN_DONE)
        return status;
    PyArray_Descr *descr = PyArray_DESCR(array);
    Py_INCREF(descr);
    PyObject *view = PyArray_NewFromDescr(&PyArray_Type, descr, region.n_plain, region.shape, region.strides,
                                          PyArray_BYTES(array) + region.start,
                                          PyArray_FLAGS(array) & NPY_ARRAY_WRITEABLE, NULL);
    if (view == NULL)
        return RUN_RAISED;
    if (PyArray_SetBaseObject((PyArrayObject *)view, Py_NewRef(owner_of((PyObject *)array))) < 0) {
        Py_DECREF(view);
        return RUN_RAISED;
    }
    frame_set(f, in->outputs[0], view);
    return RUN_DONE;
}

static int read_run(Machine *m, Frame *f, const Instruction *in) {
    const IndexPlan *p = in->plan;
    Region region;
    npy_intp shape[NPY_MAXDIMS];
    PyArrayObject *array = operand(f, in->inputs[0], p->type_num, p->ndim);
    if (array == NULL)
        return RUN_RAISED;
    int status = region_resolve(f, in, p, PyArray_DIMS(array), PyArray_STRIDES(array), 0, &region);
    if (status != RUN_DONE)
        return status;
    int ndim = region_shape(&region, shape);
    PyArrayObject *part = ndim < 0 ? NULL : buffer_obtain(m, f, in->outputs[0], p->type_num, ndim, shape, 0);
    if (part != NULL) {
        Move move = {.region = &region, .data = PyArray_BYTES(array), .part = PyArray_BYTES(part),
                     .itemsize = PyArray_ITEMSIZE(array), .type_num = p->type_num, .what = MOVE_OUT};
        memcpy(move.part_strides, PyArray_STRIDES(part), ndim * sizeof(npy_intp));
        status = move_run(m, &move);
    }
    region_free(&region);
    return part != NULL ? status : ndim < 0 ? RUN_MISFIT : RUN_RAISED;
}

/* Strides of the new part in the dimensions of the indexed one: 0 where it stretches. RUN_MISFIT if it does not fit. */
static int part_strides(const IndexPlan *p, const Region *region, PyArrayObject *part, npy_intp *strides) {
    npy_intp shape[NPY_MAXDIMS];
    int ndim = region_shape(region, shape), own = PyArray_NDIM(part);
    if (ndim < own)
        return RUN_MISFIT;
    for (int d = 0; d < ndim; d++) {
        int at = d - ndim + own;
        if (at < 0 || p->part_stretches >> at & 1) {
            strides[d] = 0;
            if (at >= 0 && PyArray_DIMS(part)[at] != 1)
                return RUN_MISFIT;
        } else if (PyArray_DIMS(part)[at] == shape[d]) {
            strides[d] = PyArray_STRIDES(part)[at];
        } else {
            return RUN_MISFIT;
        }
    }
    return RUN_DONE;
}

struct Commit {
    Commit *next;
    const IndexPlan *plan;
    Region region;
    Move move;
    int output;                   /* a register that holds the array, or is empty again */
    PyArrayObject *array, *part; /* owned */
    PyObject *holder;            /* owned, or NULL: of a long vector of indices */
};

static void commit_free(Commit *c) {
    region_free(&c->region);
    Py_DECREF(c->array);
    Py_DECREF(c->part);
    Py_XDECREF(c->holder);
    PyMem_Free(c);
}

void commits_drop(Frame *f) {
    while (f->commits != NULL) {
        Commit *c = f->commits;
        f->commits = c->next;
        commit_free(c);
    }
}

/* Put the write off. Takes over the region; the output is the array itself, which is not changed yet. */
static int defer(Frame *f, const Instruction *in, PyArrayObject *array, PyArrayObject *part, Region *region,
                 const Move *move) {
    Commit *c = PyMem_Calloc(1, sizeof *c), **end = &f->commits;
    if (c == NULL) {
        PyErr_NoMemory();
        return RUN_RAISED;
    }
    c->plan = in->plan;
    c->region = *region;
    c->move = *move;
    c->move.region = &c->region;
    c->output = in->outputs[0];
    c->array = (PyArrayObject *)Py_NewRef((PyObject *)array);
    c->part = (PyArrayObject *)Py_NewRef((PyObject *)part);
    c->holder = Py_XNewRef(region->holder);
    region->offsets = NULL;
    while (*end != NULL)
        end = &(*end)->next;
    *end = c;
    frame_set(f, c->output, Py_NewRef((PyObject *)array));
    return RUN_DONE;
}

/* Whether nobody but this call and the storage of one shared variable sees the array. */
static int only_ours(const Machine *m, const Frame *f, PyObject *array) {
    Py_ssize_t known = 0, stored = 0;
    if (!buffer_is_plain((PyArrayObject *)array))
        return 0;
    for (const Commit *c = f->commits; c != NULL; c = c->next)
        known += (PyObject *)c->array == array;
    for (int r = 0; r < m->n_registers; r++)
        known += (f->registers[r] == array) + (m->buffers[r] == array);
    for (int k = 0; k < m->n_cells; k++)
        stored += PyList_GET_SIZE(m->cells[k].cell) > 0 && PyList_GET_ITEM(m->cells[k].cell, 0) == array;
    return stored <= 1 && known + stored == Py_REFCNT(array);
}

/* Everything that can fail: an array that somebody else sees is copied, for all writes into it. */
static int commits_prepare(const Machine *m, Frame *f) {
    for (Commit *c = f->commits; c != NULL; c = c->next) {
        PyArrayObject *array = c->array;
        if (only_ours(m, f, (PyObject *)array))
            continue;
        PyArrayObject *copy = (PyArrayObject *)PyArray_NewCopy(array, NPY_CORDER);
        if (copy == NULL)
            return -1;
        Py_INCREF(array);
        for (Commit *other = c; other != NULL; other = other->next) {
            if (other->array != array)
                continue;
            Py_SETREF(other->array, (PyArrayObject *)Py_NewRef((PyObject *)copy));
            other->move.data = PyArray_BYTES(copy);
            if (f->registers[other->output] == (PyObject *)array)
                frame_set(f, other->output, Py_NewRef((PyObject *)copy));
        }
        Py_DECREF(array);
        Py_DECREF(copy);
    }
    return 0;
}

/* Called when the call has succeeded: nothing can fail once the first array has changed. */
int commits_run(const Machine *m, Frame *f) {
    if (commits_prepare(m, f) < 0)
        return -1;
    for (Commit *c = f->commits; c != NULL; c = c->next)
        move_run(m, &c->move); /* all indices have been checked */
    commits_drop(f);
    return 0;
}

static int may_defer(const IndexPlan *p, PyArrayObject *array, PyArrayObject *part) {
    return p->deferred && PyArray_IS_C_CONTIGUOUS(array) && PyArray_CHKFLAGS(array, NPY_ARRAY_OWNDATA) &&
           owner_of((PyObject *)part) != (PyObject *)array;
}

/* The array that is written into: that of the first input where it dies here and is ours, else a copy. */
static PyArrayObject *target(Machine *m, Frame *f, const Instruction *in, const IndexPlan *p, PyArrayObject *array,
                             int ours) {
    if (ours && buffer_take_over(m, f, in->inputs[0], in->outputs[0]))
        return array;
    PyArrayObject *copy = buffer_obtain(m, f, in->outputs[0], p->type_num, p->ndim, PyArray_DIMS(array), 0);
    return copy == NULL || PyArray_CopyInto(copy, array) < 0 ? NULL : copy;
}

static void packed_strides(PyArrayObject *array, npy_intp *strides) {
    npy_intp stride = PyArray_ITEMSIZE(array);
    for (int d = PyArray_NDIM(array) - 1; d >= 0; d--) {
        strides[d] = stride;
        stride *= PyArray_DIMS(array)[d];
    }
}

static int write_run(Machine *m, Frame *f, const Instruction *in) {
    const IndexPlan *p = in->plan;
    Region region;
    npy_intp strides[NPY_MAXDIMS];
    PyArrayObject *array = operand(f, in->inputs[0], p->type_num, p->ndim);
    PyArrayObject *part = array == NULL ? NULL : operand(f, in->inputs[1], p->type_num, p->ndims[1]);
    if (part == NULL)
        return RUN_RAISED;
    int later = may_defer(p, array, part);
    int ours = !later && p->takes && in->inputs[0] != in->inputs[1] && buffer_is_ours(m, f, in->inputs[0]);
    packed_strides(array, strides);
    int status = region_resolve(f, in, p, PyArray_DIMS(array), ours ? PyArray_STRIDES(array) : strides, 1, &region);
    if (status != RUN_DONE)
        return status;
    Move move = {.region = &region, .data = PyArray_BYTES(array), .part = PyArray_BYTES(part),
                 .itemsize = PyArray_ITEMSIZE(array), .type_num = p->type_num,
                 .what = p->replace ? MOVE_IN : MOVE_ADD};
    status = part_strides(p, &region, part, move.part_strides);
    if (status == RUN_DONE && later) {
        status = defer(f, in, array, part, &region, &move);
    } else if (status == RUN_DONE) {
        PyArrayObject *written = target(m, f, in, p, array, ours);
        if (written != NULL) {
            move.data = PyArray_BYTES(written);
            move_run(m, &move);
        } else {
            status = RUN_RAISED;
        }
    }
    region_free(&region);
    return status;
}

int index_view_prepare(Machine *m, Instruction *in, PyObject *payload) {
    (void)m;
    in->run = view_run;
    return index_plan_parse(in, payload) == NULL ? -1 : 0;
}

int index_read_prepare(Machine *m, Instruction *in, PyObject *payload) {
    (void)m;
    in->run = read_run;
    return index_plan_parse(in, payload) == NULL ? -1 : 0;
}

int index_write_prepare(Machine *m, Instruction *in, PyObject *payload) {
    (void)m;
    in->run = write_run;
    const IndexPlan *p = index_plan_parse(in, payload);
    if (p == NULL)
        return -1;
    if (in->n_inputs < 2 || (!p->replace && !can_add(p->type_num))) {
        PyErr_SetString(PyExc_ValueError, "index payload: this part cannot be written");
        return -1;
    }
    return 0;
}
