/* Fourier transforms along axes: lines are transformed several at once, one in each lane of a vector, and threads share
 * them. A few long lines are transformed as matrices.
 *
 * Operands without elements and lengths that do not fit are left to the op's Python code, which computes or raises. */
#include "fourier.h"
#include <stdatomic.h>

enum { COMPLEX_TO_COMPLEX = 0, REAL_TO_HALF = 1, HALF_TO_REAL = 2, MOST_AXES = 8 };

typedef struct {
    int kind, type_num, inverse; /* type_num: of the real parts */
    int count, axes[MOST_AXES];  /* only of COMPLEX_TO_COMPLEX; the others transform all dimensions but the first */
    PyObject *fallback;          /* borrowed from the payload: input values -> output values */
} Fourier;

/* An array of complex numbers, or of real ones, whose `imag` is 0. */
typedef struct {
    char *data;
    npy_intp strides[NPY_MAXDIMS], imag;
} Operand;

/* Lines of one transform. */
typedef struct {
    const FourierKernels *kernels;
    FourierPlan *plan;
    int kind, ndim; /* ndim: dimensions of the array of lines */
    int64_t lines;
    npy_intp dims[NPY_MAXDIMS], from_strides[NPY_MAXDIMS], to_strides[NPY_MAXDIMS];
    FourierSide from, to; /* of the first line, in lane 0 */
    /* Where lines are columns of a matrix: their results are turned by the roots of this plan. */
    const FourierPlan *turns;
    size_t item;
    atomic_int failed;
} Job;

static npy_intp offset(const Job *job, const npy_intp *strides, int64_t line) {
    npy_intp total = 0;
    for (int d = job->ndim - 1; d >= 0; line /= job->dims[d--])
        total += line % job->dims[d] * strides[d];
    return total;
}

#define DEFINE_SCALARS(NAME, REAL)                                                                                     \
    /* As `join` and `split` of the kernels, for one line. */                                                          \
    static void join_##NAME(const FourierPlan *p, char *data, npy_intp step, npy_intp imag) {                          \
        int64_t n = p->n;                                                                                              \
        REAL first = *(REAL *)data, second = *(REAL *)(data + imag);                                                   \
        *(REAL *)data = first + second;                                                                                \
        *(REAL *)(data + imag) = *(REAL *)(data + n * step + imag) = 0;                                                \
        *(REAL *)(data + n * step) = first - second;                                                                   \
        for (int64_t k = 1; 2 * k <= n; k++) {                                                                         \
            const REAL *w = (const REAL *)p->roots + 2 * k;                                                            \
            char *x = data + k * step, *y = data + (n - k) * step;                                                     \
            REAL *xr = (REAL *)x, *xi = (REAL *)(x + imag), *yr = (REAL *)y, *yi = (REAL *)(y + imag);                 \
            REAL er = (*xr + *yr) / 2, ei = (*xi - *yi) / 2, dr = (*xi + *yi) / 2, di = (*yr - *xr) / 2;               \
            REAL odd_re = dr * w[0] - di * w[1], odd_im = dr * w[1] + di * w[0];                                       \
            *yr = er - odd_re;                                                                                         \
            *yi = odd_im - ei;                                                                                         \
            *xr = er + odd_re;                                                                                         \
            *xi = ei + odd_im;                                                                                         \
        }                                                                                                              \
    }                                                                                                                  \
    static void split_##NAME(const FourierPlan *p, const char *data, npy_intp step, npy_intp imag, void *to) {         \
        int64_t n = p->n;                                                                                              \
        REAL *z = to, first = *(const REAL *)data, last = *(const REAL *)(data + n * step);                            \
        z[0] = first - last;                                                                                           \
        z[1] = first + last;                                                                                           \
        for (int64_t k = 1; 2 * k <= n; k++) {                                                                         \
            const REAL *w = (const REAL *)p->roots + 2 * k;                                                            \
            const char *x = data + k * step, *y = data + (n - k) * step;                                               \
            REAL xr = *(const REAL *)x, xi = *(const REAL *)(x + imag);                                                \
            REAL yr = *(const REAL *)y, yi = *(const REAL *)(y + imag);                                                \
            REAL er = xr + yr, ei = xi - yi, dr = xr - yr, di = xi + yi;                                               \
            REAL odd_re = dr * w[0] + di * w[1], odd_im = di * w[0] - dr * w[1];                                       \
            z[2 * (n - k)] = odd_re - ei;                                                                              \
            z[2 * (n - k) + 1] = er + odd_im;                                                                          \
            z[2 * k] = ei + odd_re;                                                                                    \
            z[2 * k + 1] = er - odd_im;                                                                                \
        }                                                                                                              \
    }
DEFINE_SCALARS(floats, float)
DEFINE_SCALARS(doubles, double)

/* Groups begin..end of as many lines as there are lanes. */
static void transform_groups(void *context, int64_t begin, int64_t end) {
    Job *job = context;
    int lanes = job->kernels->lanes;
    void *work;
    if (posix_memalign(&work, 64, 4 * job->item * (size_t)job->plan->room * (size_t)lanes) != 0) {
        atomic_store(&job->failed, 1);
        return;
    }
    FourierSide from = job->from, to = job->to;
    for (int64_t first = begin * lanes; first < end * lanes && first < job->lines; first += lanes) {
        int count = job->lines - first < lanes ? (int)(job->lines - first) : lanes;
        for (int l = 0; l < lanes; l++) {
            int64_t line = first + (l < count ? l : count - 1);
            from.at[l] = job->from.at[0] + offset(job, job->from_strides, line);
            to.at[l] = job->to.at[0] + offset(job, job->to_strides, line);
        }
        job->kernels->transform(job->plan, job->kind, &from, &to, count, job->turns, first, work);
    }
    free(work);
}

static int transform_lines(const Machine *m, Job *job) {
    int lanes = job->kernels->lanes;
    int64_t groups = (job->lines + lanes - 1) / lanes, pieces = 4 * threads_get();
    double each = (double)job->plan->room * 40 * (job->plan->wide != NULL ? 4 : 1), work = each * (double)groups;
    int64_t grain = (groups + pieces - 1) / pieces;
    if ((double)grain * each < WORK_FOR_GIL)
        grain = (int64_t)(WORK_FOR_GIL / each) + 1;
    if (work < WORK_FOR_GIL) {
        transform_groups(job, 0, groups);
        return RUN_DONE;
    }
    return run_long(transform_groups, job, groups, grain, work, m->thread_scale * work_for_threads);
}

/* The factor of n that is nearest to its root, from below; 1 if there is none from the number of lanes on. */
static int64_t rows_of(const FourierPlan *p, int lanes) {
    int64_t rows = 1;
    for (int f = p->passes - 1; f >= 0 && p->wide == NULL; f--)
        if (rows * p->radices[f] * rows * p->radices[f] <= p->n)
            rows *= p->radices[f];
    return rows < lanes ? 1 : rows;
}

/* One line of n = rows * columns complex numbers, as a matrix: with j = columns * i + c, the columns are transformed,
 * element (k, c) is turned by exp(-2 pi i k c / n), then the rows are transformed. (D. Bailey, 1990) */
static int transform_matrix(const Machine *m, const Job *line, const FourierSide *from, const FourierSide *to,
                            int64_t rows) {
    const FourierPlan *whole = line->plan;
    int64_t columns = whole->n / rows;
    npy_intp pair = 2 * (npy_intp)line->item;
    int is_double = line->item == sizeof(double), status = RUN_RAISED;
    Job first = {.kernels = line->kernels,
                 .plan = fourier_acquire(rows, is_double),
                 .kind = COMPLEX_LINES,
                 .ndim = 1,
                 .lines = columns,
                 .dims = {columns},
                 .turns = whole,
                 .item = line->item};
    Job second = {.kernels = line->kernels,
                  .plan = fourier_acquire(columns, is_double),
                  .kind = COMPLEX_LINES,
                  .ndim = 1,
                  .lines = rows,
                  .dims = {rows},
                  .item = line->item};
    char *matrix = malloc((size_t)whole->n * (size_t)pair);
    if (first.plan == NULL || second.plan == NULL || matrix == NULL) {
        PyErr_NoMemory();
    } else {
        first.from = *from;
        first.from_strides[0] = from->step;
        first.from.step *= columns;
        first.to = (FourierSide){.at = {matrix}, .step = columns * pair, .imag = (npy_intp)line->item};
        first.to_strides[0] = pair;
        second.from = (FourierSide){.at = {matrix}, .step = pair, .imag = (npy_intp)line->item};
        second.from_strides[0] = columns * pair;
        second.to = *to;
        second.to_strides[0] = to->step;
        second.to.step *= rows;
        status = transform_lines(m, &first);
        if (status == RUN_DONE)
            status = transform_lines(m, &second);
        if (status == RUN_DONE && (atomic_load(&first.failed) || atomic_load(&second.failed))) {
            PyErr_NoMemory();
            status = RUN_RAISED;
        }
    }
    free(matrix);
    fourier_release(first.plan);
    fourier_release(second.plan);
    return status;
}

/* One line, which may be a real one of an even length. */
static int transform_long(const Machine *m, const Job *job, int64_t line, int64_t rows) {
    const FourierPlan *p = job->plan;
    int is_double = job->item == sizeof(double), status;
    FourierSide from = job->from, to = job->to;
    from.at[0] += offset(job, job->from_strides, line);
    to.at[0] += offset(job, job->to_strides, line);
    if (job->kind != HALF_EVEN) {
        status = transform_matrix(m, job, &from, &to, rows);
        if (status == RUN_DONE && job->kind == REAL_EVEN)
            (is_double ? join_doubles : join_floats)(p, to.at[0], to.step, to.imag);
        return status;
    }
    char *pairs = malloc(2 * job->item * (size_t)p->n);
    if (pairs == NULL) {
        PyErr_NoMemory();
        return RUN_RAISED;
    }
    (is_double ? split_doubles : split_floats)(p, from.at[0], from.step, from.imag, pairs);
    from = (FourierSide){.at = {pairs}, .step = 2 * (npy_intp)job->item, .imag = (npy_intp)job->item};
    status = transform_matrix(m, job, &from, &to, rows);
    free(pairs);
    return status;
}

/* Bytes of the places to work in from which the elements of a line do not stay in the cache. */
#define BYTES_OF_CACHE 1000000

/* Transform along one axis of `ndim`, whose lines have n numbers on the real side, or n complex ones. */
static int transform_axis(const Machine *m, int kind, const npy_intp *dims, int ndim, int axis, int64_t n,
                          const Operand *from, const Operand *to, size_t item) {
    int even = kind != COMPLEX_LINES && n % 2 == 0, is_double = item == sizeof(double);
    Job job = {.kernels = fourier_kernels(is_double, MOST_LANES), .kind = kind, .lines = 1, .item = item};
    if (kind != COMPLEX_LINES)
        job.kind = kind == REAL_TO_HALF ? (even ? REAL_EVEN : REAL_ODD) : even ? HALF_EVEN : HALF_ODD;
    for (int d = 0; d < ndim; d++)
        if (d != axis && dims[d] != 1) {
            job.dims[job.ndim] = dims[d];
            job.from_strides[job.ndim] = from->strides[d];
            job.to_strides[job.ndim++] = to->strides[d];
            job.lines *= dims[d];
        }
    job.from = (FourierSide){.at = {from->data}, .step = from->strides[axis], .imag = from->imag};
    job.to = (FourierSide){.at = {to->data}, .step = to->strides[axis], .imag = to->imag};
    if (job.kind == REAL_EVEN) {
        job.from.imag = job.from.step;
        job.from.step *= 2;
    } else if (job.kind == HALF_EVEN) {
        /* Real and imaginary parts of the results are in each other's place. */
        job.to.at[0] += job.to.step;
        job.to.imag = -job.to.step;
        job.to.step *= 2;
    }
    job.plan = fourier_acquire(even ? n / 2 : n, is_double);
    if (job.plan == NULL) {
        PyErr_NoMemory();
        return RUN_RAISED;
    }
    int status = RUN_DONE, widest = job.kernels->lanes;
    size_t bytes = 4 * item * (size_t)job.plan->room * (size_t)widest;
    int64_t rows = job.kind == REAL_ODD || job.kind == HALF_ODD ? 1 : rows_of(job.plan, widest);
    if (rows > 1 && (bytes > BYTES_OF_CACHE || job.lines < widest / 2)) {
        for (int64_t k = 0; k < job.lines && status == RUN_DONE; k++)
            status = transform_long(m, &job, k, rows);
    } else {
        job.kernels = fourier_kernels(is_double, job.lines);
        status = transform_lines(m, &job);
    }
    if (status == RUN_DONE && atomic_load(&job.failed)) {
        PyErr_NoMemory();
        status = RUN_RAISED;
    }
    fourier_release(job.plan);
    return status;
}

/* An array in the dtype of the payload with one dimension at least and no empty one, or NULL. */
static PyArrayObject *taken(const Frame *f, int reg, int type_num, int least) {
    PyArrayObject *a = (PyArrayObject *)f->registers[reg];
    int fits = a != NULL && PyArray_Check(a) && PyArray_TYPE(a) == type_num && PyArray_ISBEHAVED_RO(a) &&
               PyArray_NDIM(a) >= least && PyArray_SIZE(a) > 0;
    return fits ? a : NULL;
}

static Operand operand_of(PyArrayObject *a, npy_intp imag) {
    Operand result = {.data = PyArray_BYTES(a), .imag = imag};
    memcpy(result.strides, PyArray_STRIDES(a), (size_t)PyArray_NDIM(a) * sizeof(npy_intp));
    return result;
}

/* The same, with real and imaginary parts in each other's place. */
static Operand swapped(Operand x) {
    x.data += x.imag;
    x.imag = -x.imag;
    return x;
}

static int complex_run(Machine *m, Frame *f, const Instruction *in) {
    const Fourier *p = in->plan;
    int type_num = p->type_num == NPY_DOUBLE ? NPY_CDOUBLE : NPY_CFLOAT, status = RUN_DONE;
    npy_intp item = p->type_num == NPY_DOUBLE ? sizeof(double) : sizeof(float);
    PyArrayObject *x = taken(f, in->inputs[0], type_num, 1);
    for (int i = 0; i < p->count && x != NULL; i++)
        if (p->axes[i] < 0 || p->axes[i] >= PyArray_NDIM(x))
            x = NULL;
    if (x == NULL)
        return frame_call(f, in, p->fallback);
    PyArrayObject *y = buffer_obtain(m, f, in->outputs[0], type_num, PyArray_NDIM(x), PyArray_DIMS(x), 0);
    if (y == NULL)
        return RUN_RAISED;
    Operand from = operand_of(x, item), to = operand_of(y, item);
    if (p->inverse) {
        from = swapped(from);
        to = swapped(to);
    }
    for (int i = p->count - 1; i >= 0 && status == RUN_DONE; i--, from = to)
        status = transform_axis(m, COMPLEX_LINES, PyArray_DIMS(x), PyArray_NDIM(x), p->axes[i],
                                PyArray_DIMS(x)[p->axes[i]], &from, &to, (size_t)item);
    return status;
}

static int real_run(Machine *m, Frame *f, const Instruction *in) {
    const Fourier *p = in->plan;
    npy_intp item = p->type_num == NPY_DOUBLE ? sizeof(double) : sizeof(float), shape[NPY_MAXDIMS];
    PyArrayObject *x = taken(f, in->inputs[0], p->type_num, 2);
    if (x == NULL || PyArray_NDIM(x) >= NPY_MAXDIMS)
        return frame_call(f, in, p->fallback);
    int last = PyArray_NDIM(x) - 1;
    npy_intp n = PyArray_DIMS(x)[last];
    memcpy(shape, PyArray_DIMS(x), (size_t)last * sizeof *shape);
    shape[last] = n / 2 + 1;
    shape[last + 1] = 2;
    PyArrayObject *y = buffer_obtain(m, f, in->outputs[0], p->type_num, last + 2, shape, 0);
    if (y == NULL)
        return RUN_RAISED;
    Operand from = operand_of(x, 0), to = operand_of(y, item);
    int status = transform_axis(m, REAL_TO_HALF, shape, last + 1, last, n, &from, &to, (size_t)item);
    for (int axis = last - 1; axis > 0 && status == RUN_DONE; axis--)
        status = transform_axis(m, COMPLEX_LINES, shape, last + 1, axis, shape[axis], &to, &to, (size_t)item);
    return status;
}

static int half_run(Machine *m, Frame *f, const Instruction *in) {
    const Fourier *p = in->plan;
    npy_intp item = p->type_num == NPY_DOUBLE ? sizeof(double) : sizeof(float), shape[NPY_MAXDIMS], total = 1;
    PyArrayObject *x = taken(f, in->inputs[0], p->type_num, 3), *length = taken(f, in->inputs[1], NPY_INT64, 0);
    int last = x == NULL ? 0 : PyArray_NDIM(x) - 2;
    npy_intp n = length == NULL || PyArray_NDIM(length) != 0 ? 0 : (npy_intp) * (npy_int64 *)PyArray_DATA(length);
    if (x == NULL || n < 1 || PyArray_DIMS(x)[last] != n / 2 + 1 || PyArray_DIMS(x)[last + 1] != 2)
        return frame_call(f, in, p->fallback);
    memcpy(shape, PyArray_DIMS(x), (size_t)last * sizeof *shape);
    shape[last] = n;
    PyArrayObject *y = buffer_obtain(m, f, in->outputs[0], p->type_num, last + 1, shape, 0);
    if (y == NULL)
        return RUN_RAISED;
    shape[last] = n / 2 + 1;
    Operand from = operand_of(x, PyArray_STRIDES(x)[last + 1]), to = operand_of(y, 0);
    int status = RUN_DONE;
    char *pairs = NULL;
    if (last > 1) {
        /* The other axes first, in an array of its own. */
        Operand middle = {.imag = item};
        for (int d = last; d >= 0; total *= shape[d--])
            middle.strides[d] = 2 * item * total;
        if ((pairs = malloc(2 * (size_t)item * (size_t)total)) == NULL) {
            PyErr_NoMemory();
            return RUN_RAISED;
        }
        middle.data = pairs;
        from = swapped(from);
        middle = swapped(middle);
        for (int axis = 1; axis < last && status == RUN_DONE; axis++, from = middle)
            status = transform_axis(m, COMPLEX_LINES, shape, last + 1, axis, shape[axis], &from, &middle, (size_t)item);
        from = swapped(middle);
    }
    if (status == RUN_DONE)
        status = transform_axis(m, HALF_TO_REAL, shape, last + 1, last, n, &from, &to, (size_t)item);
    free(pairs);
    return status;
}

/* Payload: (kind, type of the real parts, whether inverse, axes, Python form). */
int fourier_prepare(Machine *Py_UNUSED(m), Instruction *in, PyObject *payload) {
    static const run_fn runs[] = {complex_run, real_run, half_run};
    PyObject *axes;
    Fourier *p = PyMem_Calloc(1, sizeof *p);
    if (p == NULL)
        return -1;
    in->plan = p;
    if (!PyArg_ParseTuple(payload, "iipO!O", &p->kind, &p->type_num, &p->inverse, &PyTuple_Type, &axes, &p->fallback))
        return -1;
    if (p->kind < COMPLEX_TO_COMPLEX || p->kind > HALF_TO_REAL || PyTuple_GET_SIZE(axes) > MOST_AXES ||
        (p->type_num != NPY_DOUBLE && p->type_num != NPY_FLOAT) || in->n_outputs != 1 ||
        in->n_inputs != (p->kind == HALF_TO_REAL ? 2 : 1)) {
        PyErr_SetString(PyExc_ValueError, "fourier payload: unknown kind or type");
        return -1;
    }
    in->run = runs[p->kind];
    for (p->count = 0; p->count < PyTuple_GET_SIZE(axes); p->count++)
        p->axes[p->count] = (int)PyLong_AsLong(PyTuple_GET_ITEM(axes, p->count));
    return PyErr_Occurred() ? -1 : 0;
}
