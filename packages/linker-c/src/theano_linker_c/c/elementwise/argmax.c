/* Positions of extrema along one axis, or along axes that lie in memory like one. */
#include "machine/capture.h"

/* Columns that the kernel across rows takes at once, and kept elements from which it is used. */
#define TILE 256
#define FEWEST_COLUMNS 8

typedef int64_t (*inner_fn)(int64_t n, const char *x, int64_t stride);
typedef void (*outer_fn)(int64_t n, int64_t rows, const char *x, int64_t stride, int64_t step, int64_t *position);

typedef struct {
    inner_fn inner;
    outer_fn outer;
    int ndim, type;
    double cost;
    signed char *is_reduced;
} Argmax;

typedef struct {
    const Argmax *p;
    int n_kept, across; /* whether kernels run across rows, along the last kept axis */
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS], length, stride, tiles;
    char *data;
    npy_int64 *out;
} Search;

static char *kept_address(const Search *s, int axes, int64_t unit) {
    char *data = s->data;
    for (int d = axes - 1; d > 0; d--) {
        data += unit % s->shape[d] * s->strides[d];
        unit /= s->shape[d];
    }
    return axes > 0 ? data + unit * s->strides[0] : data;
}

static void search_units(void *context, int64_t begin, int64_t end) {
    const Search *s = context;
    int last = s->n_kept - 1;
    for (int64_t unit = begin; unit < end; unit++) {
        if (!s->across) {
            s->out[unit] = s->p->inner(s->length, kept_address(s, s->n_kept, unit), s->stride);
            continue;
        }
        npy_intp start = unit % s->tiles * TILE, left = s->shape[last] - start;
        int64_t row = unit / s->tiles;
        s->p->outer(left < TILE ? left : TILE, s->length, kept_address(s, last, row) + start * s->strides[last],
                    s->strides[last], s->stride, s->out + row * s->shape[last] + start);
    }
}

/* Collect kept axes, and merge reduced ones into one run. Returns 0 where they do not lie like one. */
static int collect(const Argmax *p, PyArrayObject *x, Search *s) {
    s->n_kept = 0;
    s->length = 1;
    s->stride = PyArray_ITEMSIZE(x);
    for (int d = p->ndim - 1; d >= 0; d--) {
        npy_intp length = PyArray_DIMS(x)[d], stride = PyArray_STRIDES(x)[d];
        if (!p->is_reduced[d] || length == 1)
            continue;
        if (s->length > 1 && stride != s->stride * s->length)
            return 0;
        if (s->length == 1)
            s->stride = stride;
        s->length *= length;
    }
    for (int d = 0; d < p->ndim; d++)
        if (!p->is_reduced[d]) {
            s->shape[s->n_kept] = PyArray_DIMS(x)[d];
            s->strides[s->n_kept++] = PyArray_STRIDES(x)[d];
        }
    s->data = PyArray_BYTES(x);
    return 1;
}

/* A copy in memory order [kept..., reduced...], seen with its axes in their order. */
static PyArrayObject *copy_in_order(const Argmax *p, PyArrayObject *x) {
    npy_intp order[NPY_MAXDIMS], back[NPY_MAXDIMS];
    int at = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int d = 0; d < p->ndim; d++)
            if (p->is_reduced[d] == pass) {
                back[d] = at;
                order[at++] = d;
            }
    PyArray_Dims there = {order, p->ndim}, home = {back, p->ndim};
    PyArrayObject *moved = (PyArrayObject *)PyArray_Transpose(x, &there);
    PyArrayObject *copy = moved == NULL ? NULL : (PyArrayObject *)PyArray_NewCopy(moved, NPY_CORDER);
    PyArrayObject *result = copy == NULL ? NULL : (PyArrayObject *)PyArray_Transpose(copy, &home);
    Py_XDECREF(moved);
    Py_XDECREF(copy);
    return result;
}

static npy_intp magnitude(npy_intp value) { return value < 0 ? -value : value; }

/* A search as a capture keeps it; its operands are the result and the array. */
typedef struct {
    Search search;
    int64_t units;
} KeptSearch;

static int search_again(void *what, char *const *data) {
    KeptSearch *kept = what;
    kept->search.out = (npy_int64 *)data[0];
    kept->search.data = data[1];
    search_units(&kept->search, 0, kept->units);
    return 1;
}

static void note_search(Capture *c, const Frame *f, const Instruction *in, const Search *s, int64_t units,
                        double work) {
    char *data[] = {(char *)s->out, s->data};
    KeptSearch *kept = work >= WORK_FOR_GIL ? NULL : capture_keep(c, sizeof *kept);
    if (kept == NULL) {
        capture_fail(c);
        return;
    }
    *kept = (KeptSearch){*s, units};
    capture_result(c, f, in->outputs[0]);
    capture_operand(c, 0, in->outputs[0]);
    capture_operand(c, 1, in->inputs[0]);
    capture_other(c, search_again, kept, 2, data);
    c->work += work;
}

static int search(const Machine *m, Frame *f, const Instruction *in, Search *s, int64_t kept, int is_copy) {
    int last = s->n_kept - 1;
    int64_t units = kept;
    s->across = last >= 0 && s->shape[last] >= FEWEST_COLUMNS && s->length < INT32_MAX &&
                magnitude(s->strides[last]) < magnitude(s->stride);
    if (s->across) {
        s->tiles = (s->shape[last] + TILE - 1) / TILE;
        units = kept / s->shape[last] * s->tiles;
    }
    double work = (double)kept * s->length * s->p->cost;
    Capture *capture = m->open == NULL ? NULL : capturing(m, f);
    if (capture != NULL && is_copy)
        capture_fail(capture);
    else if (capture != NULL)
        note_search(capture, f, in, s, units, work);
    if (work < WORK_FOR_GIL) {
        search_units(s, 0, units);
        return RUN_DONE;
    }
    int64_t share = units / (4 * threads_get());
    return run_long(search_units, s, units, share < 1 ? 1 : share, work, m->thread_scale * work_for_threads);
}

static int argmax_run(Machine *m, Frame *f, const Instruction *in) {
    const Argmax *p = in->plan;
    npy_intp shape[NPY_MAXDIMS];
    npy_int64 kept = 1, n_reduced = 1;
    int n_kept = 0;
    PyArrayObject *x = operand(f, in->inputs[0], p->type, p->ndim);
    if (x == NULL)
        return RUN_RAISED;
    for (int d = 0; d < p->ndim; d++) {
        npy_intp length = PyArray_DIMS(x)[d];
        *(p->is_reduced[d] ? &n_reduced : &kept) *= length;
        if (!p->is_reduced[d])
            shape[n_kept++] = length;
    }
    if (n_reduced == 0)
        return RUN_MISMATCH;
    Search s = {.p = p};
    PyArrayObject *copy = NULL;
    if (kept > 0 && !collect(p, x, &s)) {
        copy = copy_in_order(p, x);
        if (copy == NULL)
            return RUN_RAISED;
        collect(p, copy, &s);
    }
    PyArrayObject *out = buffer_obtain(m, f, in->outputs[0], NPY_INT64, n_kept, shape, 0);
    int status = out == NULL ? RUN_RAISED : RUN_DONE;
    if (out != NULL && kept > 0) {
        s.out = (npy_int64 *)PyArray_DATA(out);
        status = search(m, f, in, &s, kept, copy != NULL);
    }
    Py_XDECREF(copy);
    return status;
}

static void argmax_free(void *plan) {
    PyMem_Free(((Argmax *)plan)->is_reduced);
    PyMem_Free(plan);
}

/* Payload: (inner, outer, ndim, type, ((reduced flags,),), cost). */
int argmax_prepare(Machine *m, Instruction *in, PyObject *payload) {
    unsigned long long inner, outer;
    PyObject *is_reduced;
    (void)m;
    Argmax *p = PyMem_Calloc(1, sizeof *p);
    if (p == NULL)
        return -1;
    in->plan = p;
    in->run = argmax_run;
    in->free = argmax_free;
    if (!PyArg_ParseTuple(payload, "KKiiO!d", &inner, &outer, &p->ndim, &p->type, &PyTuple_Type, &is_reduced, &p->cost))
        return -1;
    p->inner = (inner_fn)(uintptr_t)inner;
    p->outer = (outer_fn)(uintptr_t)outer;
    if (p->ndim < 0 || p->ndim > NPY_MAXDIMS) {
        PyErr_SetString(PyExc_ValueError, "argmax payload: dimensions out of range");
        return -1;
    }
    p->is_reduced = parse_flags(is_reduced, p->ndim);
    return p->is_reduced == NULL ? -1 : 0;
}
