/* Pooling of images and its gradients: the instruction.
 *
 * Whatever is out of the ordinary (layouts that cannot be, shapes that do not fit, nothing to do) is left to the op's
 * Python code, which computes it or raises. */
#include "runtime.h"
#include "pooling.h"
#include <stdatomic.h>
#include <stdlib.h>

enum { POOL = 0, AVERAGE_POOL_GRAD = 1, MAX_POOL_GRAD = 2, MAX_POOL_GRAD_GRAD = 3 };

typedef struct {
    int task, type_num, ndim, mode, ignore_border;
    PyObject *fallback; /* borrowed from the payload: input values -> output values */
} Pooling;

typedef struct {
    const Pooling *pooling;
    const PoolKernels *kernels;
    Windows windows;
    const char *operands[3];
    size_t steps[3]; /* bytes from plane to plane */
    char *target;
    size_t target_step, workspace;
    atomic_int failed; /* there is no memory */
} Job;

/* Numbers of a vector of the program; NULL if it is not as it should be. */
static const npy_int64 *numbers(const Frame *f, int reg, int count) {
    PyArrayObject *a = (PyArrayObject *)f->registers[reg];
    return a != NULL && PyArray_Check(a) && PyArray_TYPE(a) == NPY_INT64 && PyArray_NDIM(a) == 1 &&
                   PyArray_DIMS(a)[0] == count && PyArray_ISCARRAY_RO(a)
               ? PyArray_DATA(a)
               : NULL;
}

static npy_int64 divided(npy_int64 a, npy_int64 b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

/* How many windows there are; those that reach over the border count only without `ignore_border`. */
static npy_int64 count_windows(const WindowAxis *a, int ignore_border) {
    npy_int64 last_start = a->length + 2 * a->pad - a->window;
    if (ignore_border)
        return last_start < 0 ? 0 : last_start / a->step + 1;
    npy_int64 covering = divided(last_start + a->window - 1, a->step), beginning = -divided(-last_start, a->step);
    beginning = beginning < 0 ? 0 : beginning;
    return (covering < beginning ? covering : beginning) + 1;
}

/* Read how windows lie along axes of such lengths; 0 if there is anything wrong. The last three inputs say it. */
static int lay_out(const Frame *f, const Instruction *in, const Pooling *p, const npy_intp *lengths, Windows *w) {
    const npy_int64 *found[3];
    for (int k = 0; k < 3; k++)
        if ((found[k] = numbers(f, in->inputs[in->n_inputs - 3 + k], p->ndim)) == NULL)
            return 0;
    w->mode = p->mode;
    for (int d = 0; d < 3; d++) {
        int k = d - (3 - p->ndim);
        WindowAxis *a = &w->axes[d];
        *a = (WindowAxis){1, 1, 1, 0, 1};
        if (k < 0)
            continue;
        *a = (WindowAxis){lengths[k], found[0][k], found[1][k], found[2][k], 0};
        npy_int64 most = (npy_int64)1 << 40; /* sums of lengths stay in range */
        if (a->length < 1 || a->window < 1 || a->step < 1 || a->pad < 0 || a->pad >= a->window ||
            (a->pad > 0 && !p->ignore_border) || a->window > most || a->step > most)
            return 0;
        a->windows = count_windows(a, p->ignore_border);
        if (a->windows < 1)
            return 0;
        npy_int64 all = a->length + 2 * a->pad; /* nothing is behind it, whatever the window */
        a->window = a->window < all ? a->window : all;
    }
    return 1;
}

static PyArrayObject *plain(const Frame *f, int reg, const Pooling *p) {
    PyArrayObject *a = (PyArrayObject *)f->registers[reg];
    return a != NULL && PyArray_Check(a) && PyArray_TYPE(a) == p->type_num && PyArray_NDIM(a) >= p->ndim &&
                   PyArray_ISBEHAVED_RO(a) && PyArray_SIZE(a) > 0
               ? a
               : NULL;
}

/* Write the shape with the lengths or the numbers of windows in place of the last axes of `like`. */
static void shape_of(const Pooling *p, PyArrayObject *like, const Windows *w, int windows, npy_intp *shape) {
    int first = PyArray_NDIM(like) - p->ndim;
    for (int d = 0; d < first; d++)
        shape[d] = PyArray_DIMS(like)[d];
    for (int d = 0; d < p->ndim; d++) {
        const WindowAxis *a = &w->axes[3 - p->ndim + d];
        shape[first + d] = windows ? a->windows : a->length;
    }
}

static int has_shape(PyArrayObject *a, int ndim, const npy_intp *shape) {
    return PyArray_NDIM(a) == ndim && PyArray_CompareLists(PyArray_DIMS(a), shape, ndim);
}

/* Whether the operands belong together; fills in the layout and the shape of the result. */
static int understand(const Frame *f, const Instruction *in, const Pooling *p, PyArrayObject **operands, Windows *w,
                      npy_intp *shape) {
    npy_intp windows[NPY_MAXDIMS], lengths[NPY_MAXDIMS];
    int ndim = PyArray_NDIM(operands[0]), first = ndim - p->ndim;
    const npy_intp *along = PyArray_DIMS(operands[0]) + first;
    if (p->task == AVERAGE_POOL_GRAD && (along = (const npy_intp *)numbers(f, in->inputs[1], p->ndim)) == NULL)
        return 0;
    if (!lay_out(f, in, p, along, w))
        return 0;
    shape_of(p, operands[0], w, 1, windows);
    shape_of(p, operands[0], w, 0, lengths);
    int result_has_windows = p->task == POOL || p->task == MAX_POOL_GRAD_GRAD;
    memcpy(shape, result_has_windows ? windows : lengths, (size_t)ndim * sizeof *shape);
    if (p->task == AVERAGE_POOL_GRAD)
        return has_shape(operands[0], ndim, windows);
    return p->task == POOL || (has_shape(operands[1], ndim, windows) &&
                               has_shape(operands[2], ndim, p->task == MAX_POOL_GRAD ? windows : lengths));
}

static void run_planes(void *context, int64_t begin, int64_t end) {
    Job *job = context;
    const Windows *w = &job->windows;
    void *workspace = malloc(job->workspace);
    if (workspace == NULL) {
        atomic_store(&job->failed, 1);
        return;
    }
    for (int64_t i = begin; i < end; i++) {
        const char *x[3];
        char *to = job->target + (size_t)i * job->target_step;
        for (int k = 0; k < 3; k++)
            x[k] = job->operands[k] + (size_t)i * job->steps[k];
        switch (job->pooling->task) {
        case POOL: job->kernels->pool(w, x[0], to, workspace); break;
        case AVERAGE_POOL_GRAD: job->kernels->average_pool_grad(w, x[0], to, workspace); break;
        case MAX_POOL_GRAD: job->kernels->max_pool_grad(w, x[0], x[1], x[2], to, workspace); break;
        default: job->kernels->max_pool_grad_grad(w, x[0], x[1], x[2], to, workspace);
        }
    }
    free(workspace);
}

static int run_job(const Machine *m, const Pooling *p, Job *job, PyArrayObject **operands, PyArrayObject *out) {
    size_t item = (size_t)PyArray_ITEMSIZE(out);
    const WindowAxis *a = job->windows.axes;
    int64_t windows = a[0].windows * a[1].windows * a[2].windows, elements = windows;
    int64_t lengths = a[0].length * a[1].length * a[2].length;
    for (int d = 0; d < 3; d++)
        elements *= a[d].window;
    int result_has_windows = p->task == POOL || p->task == MAX_POOL_GRAD_GRAD;
    job->target = PyArray_BYTES(out);
    job->target_step = (size_t)(result_has_windows ? windows : lengths) * item;
    job->workspace = (size_t)workspace_row(&job->windows) * 2 * item;
    for (int k = 0; k < 3; k++) {
        if (operands[k] == NULL)
            continue;
        int of_windows = p->task == AVERAGE_POOL_GRAD || k == 1 || (k == 2 && p->task == MAX_POOL_GRAD);
        job->operands[k] = PyArray_BYTES(operands[k]);
        job->steps[k] = (size_t)(of_windows ? windows : lengths) * item;
    }
    int64_t planes = PyArray_SIZE(out) / (int64_t)(job->target_step / item);
    double work = (double)planes * ((double)elements + (double)lengths) / 2, each = work / (double)planes;
    int64_t grain = (int64_t)(20000.0 / each) + 1;
    int status = RUN_DONE;
    atomic_init(&job->failed, 0);
    if (work < WORK_FOR_GIL)
        run_planes(job, 0, planes);
    else
        status = run_long(run_planes, job, planes, grain, work, m->thread_scale * work_for_threads);
    if (atomic_load(&job->failed)) {
        PyErr_NoMemory();
        status = RUN_RAISED;
    }
    return status;
}

static int pooling_run(Machine *m, Frame *f, const Instruction *in) {
    const Pooling *p = in->plan;
    PyArrayObject *operands[3] = {NULL, NULL, NULL}, *held[3] = {NULL, NULL, NULL};
    Job job = {.pooling = p, .kernels = pool_kernels(p->type_num == NPY_DOUBLE)};
    npy_intp shape[NPY_MAXDIMS];
    int count = p->task == MAX_POOL_GRAD || p->task == MAX_POOL_GRAD_GRAD ? 3 : 1, status = RUN_RAISED;
    for (int k = 0; k < count; k++)
        if ((operands[k] = plain(f, in->inputs[k], p)) == NULL)
            return frame_call(f, in, p->fallback);
    if (!understand(f, in, p, operands, &job.windows, shape))
        return frame_call(f, in, p->fallback);
    int ready = 1;
    for (int k = 0; k < count; k++)
        ready &= (held[k] = PyArray_GETCONTIGUOUS(operands[k])) != NULL;
    if (ready) {
        PyArrayObject *out = buffer_obtain(m, f, in->outputs[0], p->type_num, PyArray_NDIM(operands[0]), shape, 0);
        if (out != NULL)
            status = run_job(m, p, &job, held, out);
    }
    for (int k = 0; k < count; k++)
        Py_XDECREF(held[k]);
    return status;
}

/* Payload: (task, type, number of axes, mode, whether borders are ignored, Python form). */
int pooling_prepare(Machine *m, Instruction *in, PyObject *payload) {
    static const int inputs[] = {4, 5, 6, 6};
    (void)m;
    Pooling *p = PyMem_Calloc(1, sizeof *p);
    if (p == NULL)
        return -1;
    in->plan = p;
    in->run = pooling_run;
    if (!PyArg_ParseTuple(payload, "iiiipO", &p->task, &p->type_num, &p->ndim, &p->mode, &p->ignore_border,
                          &p->fallback))
        return -1;
    if (p->task < POOL || p->task > MAX_POOL_GRAD_GRAD || (p->type_num != NPY_FLOAT && p->type_num != NPY_DOUBLE) ||
        p->ndim < 1 || p->ndim > 3 || p->mode < POOL_MAX || p->mode > POOL_MEAN_OF_INSIDE || in->n_outputs != 1 ||
        in->n_inputs != inputs[p->task]) {
        PyErr_SetString(PyExc_ValueError, "pooling payload: unknown task, type or mode");
        return -1;
    }
    return 0;
}
