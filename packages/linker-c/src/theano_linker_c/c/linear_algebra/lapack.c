/* Instructions of linear algebra: one matrix, or those of stacks, which threads share.
 *
 * Whatever is out of the ordinary (a singular matrix, shapes that do not fit, stacks that broadcast) is left to the
 * op's Python code, which computes it or raises. */
#include "lapack.h"
#include <stdatomic.h>

/* An array in the dtype and with the dimensions that the routines take, or NULL: it is left to Python. */
static PyArrayObject *plain(const Lapack *p, const Frame *f, int reg, int least, int most) {
    PyArrayObject *a = (PyArrayObject *)f->registers[reg];
    if (a == NULL || !PyArray_Check(a) || PyArray_TYPE(a) != p->type_num || !PyArray_ISBEHAVED_RO(a) ||
        PyArray_NDIM(a) < least || PyArray_NDIM(a) > most || PyArray_SIZE(a) == 0)
        return NULL;
    for (int d = PyArray_NDIM(a) > 2 ? PyArray_NDIM(a) - 2 : 0; d < PyArray_NDIM(a); d++)
        if (PyArray_DIMS(a)[d] > 30000)
            return NULL; /* products of lengths must stay within 32 bits */
    return a;
}

/* The matrices of an instruction: one, or those of stacks whose first `lead` dimensions are equal. */
typedef struct {
    const Lapack *p;
    int lead, n_inputs, n_outputs;
    PyArrayObject *arrays[5]; /* inputs, then outputs */
    size_t bytes;             /* of memory to work in */
    atomic_int failed;
} Stack;

/* Arrays for all outputs; 0, or -1 with an exception. */
static int obtain(Machine *m, Frame *f, const Instruction *in, Stack *s) {
    const Lapack *p = s->p;
    PyArrayObject *a = s->arrays[0], *b = s->n_inputs > 1 ? s->arrays[1] : NULL;
    npy_intp shape[NPY_MAXDIMS], *core = shape + s->lead;
    npy_intp rows = PyArray_DIMS(a)[s->lead], cols = PyArray_DIMS(a)[s->lead + 1], k = rows < cols ? rows : cols;
    memcpy(shape, PyArray_DIMS(a), (size_t)s->lead * sizeof *shape);
    for (int i = 0; i < in->n_outputs; i++) {
        int ndim = 2;
        core[0] = rows;
        core[1] = cols;
        if (p->kind == DET || p->kind == SLOGDET) {
            ndim = 0;
        } else if (b != NULL && p->kind != COFACTORS) {
            ndim = PyArray_NDIM(b) - s->lead;
            core[1] = ndim == 2 ? PyArray_DIMS(b)[s->lead + 1] : 0;
        } else if (p->kind == EIGH && i == 0) {
            ndim = 1;
        } else if (p->kind == SVD && (p->flag == 0 || i == 1)) {
            ndim = 1;
            core[0] = k;
        } else if (p->kind == SVD && i == 0) {
            core[1] = p->flag == 2 ? rows : k;
        } else if (p->kind == SVD) {
            core[0] = p->flag == 2 ? cols : k;
        } else if (p->kind == QR && i == 0 && p->flag != 0) {
            core[1] = p->flag == 2 ? rows : k;
        } else if (p->kind == QR) {
            core[0] = p->flag == 2 ? rows : k;
        }
        PyArrayObject *out = buffer_obtain(m, f, in->outputs[i], p->type_num, s->lead + ndim, shape, 0);
        if (out == NULL)
            return -1;
        s->arrays[s->n_inputs + i] = out;
    }
    return 0;
}

static void view_of(const Stack *s, PyArrayObject *a, int64_t k, View *v) {
    const npy_intp *dims = PyArray_DIMS(a), *strides = PyArray_STRIDES(a), *lengths = PyArray_DIMS(s->arrays[0]);
    v->data = PyArray_BYTES(a);
    v->ndim = PyArray_NDIM(a) - s->lead;
    for (int d = s->lead - 1; d >= 0; k /= lengths[d--])
        v->data += dims[d] == 1 ? 0 : k % lengths[d] * strides[d];
    for (int d = 0; d < v->ndim; d++) {
        v->dims[d] = dims[s->lead + d];
        v->strides[d] = strides[s->lead + d];
    }
}

/* Compute the matrices begin..end, up to the first one that fails. */
static void compute_range(void *context, int64_t begin, int64_t end) {
    Stack *s = context;
    View views[5];
    void *work = s->bytes == 0 ? NULL : malloc(s->bytes);
    int failed = s->bytes != 0 && work == NULL;
    for (int64_t k = begin; k < end && !failed && !atomic_load(&s->failed); k++) {
        for (int i = 0; i < s->n_inputs + s->n_outputs; i++)
            view_of(s, s->arrays[i], k, &views[i]);
        failed = lapack_compute(s->p, views, views + s->n_inputs, work) != 0;
    }
    if (failed)
        atomic_store(&s->failed, 1);
    free(work);
}

/* Multiplications for which a thread comes to the stack. */
#define WORK_OF_CHUNK 2e5

/* RUN_DONE also where a matrix has failed; RUN_RAISED where a signal has come. */
static int compute_all(Stack *s, size_t n, int shared) {
    int64_t count = 1;
    for (int d = 0; d < s->lead; d++)
        count *= PyArray_DIMS(s->arrays[0])[d];
    double each = (double)n * (double)n * (double)n * 4 + 200, work = each * (double)count;
    int is_shared = shared && count > 1 && work >= WORK_TO_SHARE, pieces = 4 * threads_get();
    int64_t grain = is_shared ? (count + pieces - 1) / pieces : 1;
    if (is_shared && (double)grain * each < WORK_OF_CHUNK)
        grain = (int64_t)(WORK_OF_CHUNK / each) + 1;
    int alone = (n <= ALONE || is_shared) && lapack_alone(), status = RUN_DONE;
    if (work < WORK_FOR_GIL)
        compute_range(s, 0, count);
    else
        status = run_long(compute_range, s, count, grain, work, alone && is_shared ? 0.0 : INFINITY);
    if (alone)
        lapack_many();
    return status;
}

/* Take the operands; 0 where they are left to Python. */
static int take(const Lapack *p, const Frame *f, const Instruction *in, Stack *s) {
    /* Of a matrix, its factor and the gradient by it, the last two count; of eigenvalues and eigenvectors and the
     * gradients by them, the matrices come first. */
    int pairs = p->kind == EIGH_BACK, first = pairs ? 2 : in->n_inputs - (in->n_inputs > 1 ? 2 : 1);
    int second = pairs ? 4 : first + 1;
    PyArrayObject *a = plain(p, f, in->inputs[first], 2, NPY_MAXDIMS), *b = NULL;
    if (a == NULL)
        return 0;
    const npy_intp *dims = PyArray_DIMS(a);
    int lead = PyArray_NDIM(a) - 2;
    npy_intp n = dims[lead];
    if (p->kind != SVD && p->kind != QR && n != dims[lead + 1])
        return 0;
    *s = (Stack){.p = p, .lead = lead, .n_inputs = pairs ? 4 : in->n_inputs > 1 ? 2 : 1, .n_outputs = in->n_outputs};
    s->arrays[0] = a;
    size_t columns = 1;
    if (s->n_inputs > 1) {
        int numbers = p->kind == COFACTORS, least = numbers ? lead : lead > 0 ? lead + 2 : 1;
        b = s->arrays[1] = plain(p, f, in->inputs[second], least, numbers ? lead : lead + 2);
        if (b == NULL)
            return 0;
        for (int d = 0; d < lead + !numbers; d++)
            if (PyArray_DIMS(b)[d] != dims[d] && !(numbers && PyArray_DIMS(b)[d] == 1))
                return 0;
        columns = PyArray_NDIM(b) <= lead + 1 ? 1 : (size_t)PyArray_DIMS(b)[lead + 1];
        if ((p->kind == FACTOR_BACK || pairs) && (PyArray_NDIM(b) != lead + 2 || (npy_intp)columns != n))
            return 0;
    }
    for (int i = 2; pairs && i < 4; i++) {
        PyArrayObject *c = s->arrays[i] = plain(p, f, in->inputs[2 * i - 3], lead + 1, lead + 1);
        if (c == NULL || !PyArray_CompareLists(PyArray_DIMS(c), dims, lead + 1))
            return 0;
    }
    s->bytes = lapack_work_bytes(p, (size_t)n, columns);
    return 1;
}

static int lapack_run(Machine *m, Frame *f, const Instruction *in) {
    const Lapack *p = in->plan;
    Stack s;
    if (!take(p, f, in, &s))
        return frame_call(f, in, p->fallback);
    if (obtain(m, f, in, &s) < 0)
        return RUN_RAISED;
    int status = compute_all(&s, (size_t)PyArray_DIMS(s.arrays[0])[s.lead], p->shared);
    return status == RUN_DONE && atomic_load(&s.failed) ? frame_call(f, in, p->fallback) : status;
}

/* Payload: (kind, type, flag, addresses of the routines, Python form). */
int lapack_prepare(Machine *m, Instruction *in, PyObject *payload) {
    static const int inputs[] = {1, 2, 2, 2, 1, 1, 1, 1, 1, 3, 1, 2, 5};
    PyObject *addresses;
    Lapack *p = PyMem_Calloc(1, sizeof *p);
    if (p == NULL)
        return -1;
    in->plan = p;
    in->run = lapack_run;
    if (!PyArg_ParseTuple(payload, "iiiO!O", &p->kind, &p->type_num, &p->flag, &PyTuple_Type, &addresses, &p->fallback))
        return -1;
    p->item = p->type_num == NPY_DOUBLE ? sizeof(double) : sizeof(float);
    p->shared = m->thread_scale < 1e300;
    if (p->kind < CHOLESKY || p->kind > EIGH_BACK || (p->type_num != NPY_DOUBLE && p->type_num != NPY_FLOAT) ||
        in->n_inputs != inputs[p->kind] || in->n_outputs > 3 || PyTuple_GET_SIZE(addresses) > MOST_ROUTINES) {
        PyErr_SetString(PyExc_ValueError, "lapack payload: unknown kind or type");
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(addresses); i++)
        p->routines[i] = PyLong_AsVoidPtr(PyTuple_GET_ITEM(addresses, i));
    lapack_find_threads((uintptr_t)p->routines[0]);
    return PyErr_Occurred() ? -1 : 0;
}
