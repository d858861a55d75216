/* The instructions of indexing: views, copies of parts, arrays with a part changed.
 *
 * A write into the storage of a shared variable can be put off (`deferred`): its index and its operands are checked
 * and kept; see commit.c.
 */
#include "index.h"

/* Elements that a captured move has at most. */
#define MOST_ELEMENTS 10000

static int view_run(Machine *m, Frame *f, const Instruction *in) {
    const IndexPlan *p = in->plan;
    Region region;
    PyArrayObject *array = operand(f, in->inputs[0], p->type_num, p->ndim);
    if (array == NULL)
        return RUN_RAISED;
    int status = region_resolve(f, in, p, PyArray_DIMS(array), PyArray_STRIDES(array), 1, &region);
    if (status != RUN_DONE)
        return status;
    if (view_make(m, f, in->outputs[0], array, region.n_plain, region.shape, region.strides,
                  PyArray_BYTES(array) + region.start) == NULL)
        return RUN_RAISED;
    index_note_numbers(m, f, in);
    return RUN_DONE;
}

/* A move as a capture keeps it; its operands are the array that is indexed, the part, and index arrays that may hold
 * other numbers in other calls. */
typedef struct {
    Region region;
    Move move;
    int n_arrays;
    void *sources;
    npy_intp offsets[];
} KeptMove;

static int move_again(void *what, char *const *data) {
    KeptMove *kept = what;
    if (kept->n_arrays > 0 && index_offsets_again(&kept->region, kept->sources, kept->n_arrays, data + 2) != RUN_DONE)
        return 0;
    kept->move.data = data[0];
    kept->move.part = data[1];
    move_run(NULL, &kept->move); /* it is short, and its indices have been checked */
    return 1;
}

/* Note a move between the operands 0, the array that is indexed, and 1. */
static void note_move(Capture *c, Frame *f, const Instruction *in, const Move *move, PyArrayObject *array,
                      npy_intp elements) {
    const Region *region = move->region;
    npy_intp count = region->offsets == NULL ? 0 : region->count;
    char *data[MOST_OPERANDS] = {move->data, move->part};
    KeptMove *kept = elements > MOST_ELEMENTS || region->numbers != NULL
                         ? NULL
                         : capture_keep(c, sizeof *kept + count * sizeof(npy_intp));
    if (kept == NULL) {
        capture_fail(c);
        return;
    }
    kept->region = *region;
    kept->move = *move;
    kept->move.region = &kept->region;
    if (count > 0) {
        memcpy(kept->offsets, region->offsets, count * sizeof(npy_intp));
        kept->region.offsets = kept->offsets;
    }
    kept->n_arrays = index_note_arrays(c, f, in, 2, data);
    if (kept->n_arrays > 0) {
        npy_intp *dims = PyArray_DIMS(array), *strides = PyArray_STRIDES(array);
        size_t size = index_sources(f, in, dims, strides, NULL);
        kept->sources = capture_keep(c, size);
        if (kept->sources == NULL)
            return;
        memset(kept->sources, 0, size);
        index_sources(f, in, dims, strides, kept->sources);
    }
    capture_other(c, move_again, kept, 2 + kept->n_arrays, data);
    c->work += 4.0 * (double)elements;
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
        Move move = {.region = &region,
                     .data = PyArray_BYTES(array),
                     .part = PyArray_BYTES(part),
                     .itemsize = PyArray_ITEMSIZE(array),
                     .type_num = p->type_num,
                     .what = MOVE_OUT};
        memcpy(move.part_strides, PyArray_STRIDES(part), ndim * sizeof(npy_intp));
        status = move_run(m, &move);
        index_note_numbers(m, f, in);
        Capture *capture = m->open == NULL ? NULL : capturing(m, f);
        if (capture != NULL) {
            capture_result(capture, f, in->outputs[0]);
            capture_operand(capture, 0, in->inputs[0]);
            capture_operand(capture, 1, in->outputs[0]);
            note_move(capture, f, in, &move, array, PyArray_SIZE(part));
        }
    }
    region_free(&region);
    return part != NULL ? status : ndim < 0 ? RUN_MISMATCH : RUN_RAISED;
}

/* Strides of the new part in the dimensions of the indexed one: 0 where it broadcasts. RUN_MISMATCH if it does not
 * fit. */
static int part_strides(const IndexPlan *p, const Region *region, PyArrayObject *part, npy_intp *strides) {
    npy_intp shape[NPY_MAXDIMS];
    int ndim = region_shape(region, shape), own = PyArray_NDIM(part);
    if (ndim < own)
        return RUN_MISMATCH;
    for (int d = 0; d < ndim; d++) {
        int at = d - ndim + own;
        if (at < 0 || p->part_broadcastable >> at & 1) {
            strides[d] = 0;
            if (at >= 0 && PyArray_DIMS(part)[at] != 1)
                return RUN_MISMATCH;
        } else if (PyArray_DIMS(part)[at] == shape[d]) {
            strides[d] = PyArray_STRIDES(part)[at];
        } else {
            return RUN_MISMATCH;
        }
    }
    return RUN_DONE;
}

/* A write that has been put off. */
typedef struct {
    Commit head;
    Region region;
    Move move;
    PyArrayObject *part; /* owned */
    PyObject *holder;    /* owned, or NULL: of a long vector of indices */
} IndexCommit;

static void index_commit_run(Commit *commit) {
    IndexCommit *c = (IndexCommit *)commit;
    c->move.data = PyArray_BYTES(commit->array);
    move_run(NULL, &c->move); /* all indices have been checked */
}

static void index_commit_free(Commit *commit) {
    IndexCommit *c = (IndexCommit *)commit;
    region_free(&c->region);
    Py_DECREF(c->part);
    Py_XDECREF(c->holder);
    PyMem_Free(c);
}

/* Put the write off. Takes over the region. */
static int defer(Frame *f, const Instruction *in, PyArrayObject *array, PyArrayObject *part, Region *region,
                 const Move *move) {
    IndexCommit *c = PyMem_Calloc(1, sizeof *c);
    if (c == NULL) {
        PyErr_NoMemory();
        return RUN_RAISED;
    }
    c->head.run = index_commit_run;
    c->head.free = index_commit_free;
    c->region = *region;
    c->move = *move;
    c->move.region = &c->region;
    c->part = (PyArrayObject *)Py_NewRef((PyObject *)part);
    c->holder = Py_XNewRef(region->holder);
    region->offsets = NULL;
    commit_add(f, &c->head, ((const IndexPlan *)in->plan)->deferred - 1, in->outputs[0], array);
    return RUN_DONE;
}

static int may_defer(const IndexPlan *p, PyArrayObject *array, PyArrayObject *part) {
    return p->deferred && PyArray_IS_C_CONTIGUOUS(array) && PyArray_CHKFLAGS(array, NPY_ARRAY_OWNDATA) &&
           owner_of((PyObject *)part) != (PyObject *)array;
}

/* The array that is written into: that of the first input where the op says that it overwrites it, or where it dies
 * here and is ours, else a copy. */
static PyArrayObject *target(Machine *m, Frame *f, const Instruction *in, const IndexPlan *p, PyArrayObject *array,
                             int ours, int told, int fortran) {
    if (told) {
        frame_set(f, in->outputs[0], Py_NewRef((PyObject *)array));
        return array;
    }
    if (ours && buffer_reuse(m, f, in->inputs[0], in->outputs[0]))
        return array;
    PyArrayObject *copy = buffer_obtain(m, f, in->outputs[0], p->type_num, p->ndim, PyArray_DIMS(array), fortran);
    gil_take();
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
    if (!later && f->commits != NULL && (array = commits_settle(f, in->inputs[0])) == NULL)
        return RUN_RAISED;
    int ours = !later && p->takes && in->inputs[0] != in->inputs[1] && buffer_is_ours(m, f, in->inputs[0]);
    int told = !later && p->takes > 1 && f->commits == NULL && PyArray_ISBEHAVED(array);
    int fortran = p->takes && in->inputs[0] != in->inputs[1] && capture_wants_fortran(m, f, in->inputs[0]);
    packed_strides(array, strides);
    int status = region_resolve(f, in, p, PyArray_DIMS(array),
                                ours || told || fortran ? PyArray_STRIDES(array) : strides, 1, &region);
    if (status != RUN_DONE)
        return status;
    Move move = {.region = &region,
                 .data = PyArray_BYTES(array),
                 .part = PyArray_BYTES(part),
                 .itemsize = PyArray_ITEMSIZE(array),
                 .type_num = p->type_num,
                 .what = p->replace ? MOVE_IN : MOVE_ADD};
    status = part_strides(p, &region, part, move.part_strides);
    if (status == RUN_DONE && later) {
        status = defer(f, in, array, part, &region, &move);
    } else if (status == RUN_DONE) {
        PyArrayObject *written = target(m, f, in, p, array, ours, told, fortran);
        if (written != NULL) {
            index_note_numbers(m, f, in);
            Capture *capture = m->open == NULL ? NULL : capturing(m, f);
            move.data = PyArray_BYTES(written);
            if (capture != NULL) {
                capture_result(capture, f, in->outputs[0]);
                capture_operand(capture, 0, in->outputs[0]);
                capture_operand(capture, 1, in->inputs[0]);
                if (written != array && !fortran && !PyArray_IS_C_CONTIGUOUS(array))
                    capture_fail(capture);
                else if (written != array)
                    capture_copy(capture, PyArray_BYTES(written), PyArray_BYTES(array), PyArray_NBYTES(array));
                capture_operand(capture, 1, in->inputs[1]);
                note_move(capture, f, in, &move, written, PyArray_SIZE(array));
            }
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
