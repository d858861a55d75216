/* Arrays that NumPy makes in one call: cumulative sums and products, diagonals, ranges, unit matrices.
 *
 * Whatever is out of the ordinary is left to the op's Python code, which computes it or raises. */
#include "runtime.h"
#include <limits.h>

enum { CUMSUM = 0, CUMPROD = 1, DIAGONAL = 2, RANGE = 3, EYE = 4, RECURRENCE = 5 };

typedef struct {
    int kind, type_num, number; /* number: the axis, or which diagonal */
    char one[16];               /* the number one in the type of the result */
    PyObject *fallback;         /* borrowed from the payload: input values -> output values */
} Routine;

/* Totals that are kept side by side. */
enum { TOTALS = 256 };

/* Rows of `inner` elements, each joined with the one before it; `count` rows in each of `outer` blocks. Totals are of
 * type WIDE: those of narrow floats would stand still where what is added is smaller than their last digit. */
#define DEFINE_CUMULATE(NAME, TYPE, WIDE, OP)                                                                          \
    static void NAME(const void *from, void *to, npy_intp outer, npy_intp count, npy_intp inner) {                     \
        const TYPE *x = from;                                                                                          \
        TYPE *y = to;                                                                                                  \
        for (npy_intp o = 0; o < outer; o++) {                                                                         \
            for (npy_intp start = 0; start < inner; start += TOTALS) {                                                 \
                const npy_intp n = inner - start < TOTALS ? inner - start : TOTALS;                                    \
                if (n == 1) {                                                                                          \
                    WIDE total = x[start];                                                                             \
                    y[start] = x[start];                                                                               \
                    for (npy_intp i = start + inner; i < count * inner; i += inner)                                    \
                        y[i] = (TYPE)(total = total OP x[i]);                                                          \
                    continue;                                                                                          \
                }                                                                                                      \
                WIDE totals[TOTALS];                                                                                   \
                for (npy_intp k = 0; k < n; k++)                                                                       \
                    totals[k] = y[start + k] = x[start + k];                                                           \
                for (npy_intp i = start + inner; i < count * inner; i += inner)                                        \
                    for (npy_intp k = 0; k < n; k++)                                                                   \
                        y[i + k] = (TYPE)(totals[k] = totals[k] OP x[i + k]);                                          \
            }                                                                                                          \
            x += count * inner;                                                                                        \
            y += count * inner;                                                                                        \
        }                                                                                                              \
    }
/* Of integers the unsigned ones, which wrap around as NumPy's do. */
DEFINE_CUMULATE(sum_floats, float, double, +)
DEFINE_CUMULATE(sum_doubles, double, double, +)
DEFINE_CUMULATE(sum_longs, npy_uint64, npy_uint64, +)
DEFINE_CUMULATE(prod_floats, float, double, *)
DEFINE_CUMULATE(prod_doubles, double, double, *)
DEFINE_CUMULATE(prod_longs, npy_uint64, npy_uint64, *)

typedef void (*cumulate_fn)(const void *, void *, npy_intp, npy_intp, npy_intp);

static int cumulate(Machine *m, Frame *f, const Instruction *in, const Routine *p) {
    static const cumulate_fn all[2][3] = {{sum_floats, sum_doubles, sum_longs},
                                          {prod_floats, prod_doubles, prod_longs}};
    PyObject *value = f->registers[in->inputs[0]];
    PyArrayObject *x = (PyArrayObject *)value;
    if (value == NULL || !PyArray_Check(value) || PyArray_TYPE(x) != p->type_num || PyArray_NDIM(x) <= p->number ||
        PyArray_SIZE(x) == 0 || !PyArray_ISBEHAVED_RO(x))
        return frame_call(f, in, p->fallback);
    PyArrayObject *out = buffer_obtain(m, f, in->outputs[0], p->type_num, PyArray_NDIM(x), PyArray_DIMS(x), 0);
    PyArrayObject *flat = out == NULL ? NULL : PyArray_GETCONTIGUOUS(x);
    if (flat == NULL)
        return RUN_RAISED;
    npy_intp outer = 1, inner = 1, count = PyArray_DIMS(x)[p->number];
    for (int d = 0; d < PyArray_NDIM(x); d++) {
        if (d < p->number)
            outer *= PyArray_DIMS(x)[d];
        else if (d > p->number)
            inner *= PyArray_DIMS(x)[d];
    }
    int type = p->type_num == NPY_FLOAT ? 0 : p->type_num == NPY_DOUBLE ? 1 : 2;
    NPY_BEGIN_THREADS_DEF;
    NPY_BEGIN_THREADS_THRESHOLDED(outer * count * inner > 100000 ? 501 : 0);
    all[p->kind == CUMPROD][type](PyArray_DATA(flat), PyArray_DATA(out), outer, count, inner);
    NPY_END_THREADS;
    Py_DECREF(flat);
    return RUN_DONE;
}

/* As above, of two arrays: each row is added to the one before it times a factor of its own. */
#define DEFINE_RECUR(NAME, TYPE)                                                                                       \
    static void NAME(const void *from, const void *factors, void *to, npy_intp outer, npy_intp count,                  \
                     npy_intp inner) {                                                                                 \
        const TYPE *x = from, *a = factors;                                                                            \
        TYPE *y = to;                                                                                                  \
        for (npy_intp o = 0; o < outer; o++) {                                                                         \
            for (npy_intp start = 0; start < inner; start += TOTALS) {                                                 \
                const npy_intp n = inner - start < TOTALS ? inner - start : TOTALS;                                    \
                double totals[TOTALS];                                                                                 \
                for (npy_intp k = 0; k < n; k++)                                                                       \
                    totals[k] = y[start + k] = x[start + k];                                                           \
                for (npy_intp i = start + inner; i < count * inner; i += inner)                                        \
                    for (npy_intp k = 0; k < n; k++)                                                                   \
                        y[i + k] = (TYPE)(totals[k] = x[i + k] + a[i + k] * totals[k]);                                \
            }                                                                                                          \
            x += count * inner;                                                                                        \
            a += count * inner;                                                                                        \
            y += count * inner;                                                                                        \
        }                                                                                                              \
    }
DEFINE_RECUR(recur_floats, float)
DEFINE_RECUR(recur_doubles, double)

static int recurrence(Machine *m, Frame *f, const Instruction *in, const Routine *p) {
    PyArrayObject *x = (PyArrayObject *)f->registers[in->inputs[0]], *a = (PyArrayObject *)f->registers[in->inputs[1]];
    if (x == NULL || a == NULL || !PyArray_Check(x) || !PyArray_Check(a) || PyArray_TYPE(x) != p->type_num ||
        PyArray_TYPE(a) != p->type_num || PyArray_NDIM(x) <= p->number || !PyArray_SAMESHAPE(x, a) ||
        PyArray_SIZE(x) == 0 || !PyArray_ISBEHAVED_RO(x) || !PyArray_ISBEHAVED_RO(a))
        return frame_call(f, in, p->fallback);
    PyArrayObject *out = buffer_obtain(m, f, in->outputs[0], p->type_num, PyArray_NDIM(x), PyArray_DIMS(x), 0);
    PyArrayObject *flat = out == NULL ? NULL : PyArray_GETCONTIGUOUS(x);
    PyArrayObject *factors = flat == NULL ? NULL : PyArray_GETCONTIGUOUS(a);
    if (factors == NULL) {
        Py_XDECREF(flat);
        return RUN_RAISED;
    }
    npy_intp outer = 1, inner = 1, count = PyArray_DIMS(x)[p->number];
    for (int d = 0; d < PyArray_NDIM(x); d++) {
        if (d < p->number)
            outer *= PyArray_DIMS(x)[d];
        else if (d > p->number)
            inner *= PyArray_DIMS(x)[d];
    }
    NPY_BEGIN_THREADS_DEF;
    NPY_BEGIN_THREADS_THRESHOLDED(outer * count * inner > 100000 ? 501 : 0);
    (p->type_num == NPY_FLOAT ? recur_floats : recur_doubles)(PyArray_DATA(flat), PyArray_DATA(factors),
                                                              PyArray_DATA(out), outer, count, inner);
    NPY_END_THREADS;
    Py_DECREF(flat);
    Py_DECREF(factors);
    return RUN_DONE;
}

static int diagonal(Machine *m, Frame *f, const Instruction *in, const Routine *p) {
    PyObject *value = f->registers[in->inputs[0]];
    PyArrayObject *x = (PyArrayObject *)value;
    if (value == NULL || !PyArray_Check(value) || PyArray_TYPE(x) != p->type_num || PyArray_NDIM(x) != 2 ||
        !PyArray_ISNOTSWAPPED(x))
        return frame_call(f, in, p->fallback);
    npy_intp down = p->number < 0 ? -(npy_intp)p->number : 0, right = p->number > 0 ? p->number : 0;
    npy_intp rows = PyArray_DIMS(x)[0] - down, columns = PyArray_DIMS(x)[1] - right;
    npy_intp length = rows < columns ? rows : columns, step = PyArray_STRIDES(x)[0] + PyArray_STRIDES(x)[1];
    if (length < 0)
        length = 0;
    PyArrayObject *out = buffer_obtain(m, f, in->outputs[0], p->type_num, 1, &length, 0);
    if (out == NULL)
        return RUN_RAISED;
    size_t item = (size_t)PyArray_ITEMSIZE(x);
    const char *from = PyArray_BYTES(x) + down * PyArray_STRIDES(x)[0] + right * PyArray_STRIDES(x)[1];
    char *to = PyArray_BYTES(out);
    if (item == 8)
        for (npy_intp i = 0; i < length; i++, from += step)
            memcpy(to + i * 8, from, 8);
    else
        for (npy_intp i = 0; i < length; i++, from += step)
            memcpy(to + (size_t)i * item, from, item);
    return RUN_DONE;
}

/* Read a whole number that is far from the limits of 64 bits; 0 if it is none. */
static int read_number(const Frame *f, int reg, npy_int64 *number) {
    PyObject *value = f->registers[reg];
    PyArrayObject *x = (PyArrayObject *)value;
    if (value == NULL || !PyArray_Check(value) || PyArray_NDIM(x) != 0 || !PyArray_ISBEHAVED_RO(x))
        return 0;
    const void *at = PyArray_DATA(x);
    switch (PyArray_TYPE(x)) {
    case NPY_INT8: *number = *(const npy_int8 *)at; break;
    case NPY_INT16: *number = *(const npy_int16 *)at; break;
    case NPY_INT32: *number = *(const npy_int32 *)at; break;
    case NPY_INT64: *number = *(const npy_int64 *)at; break;
    default: return 0;
    }
    return *number > -((npy_int64)1 << 60) && *number < ((npy_int64)1 << 60);
}

static int range(Machine *m, Frame *f, const Instruction *in, const Routine *p) {
    npy_int64 start, stop, step;
    if (!read_number(f, in->inputs[0], &start) || !read_number(f, in->inputs[1], &stop) ||
        !read_number(f, in->inputs[2], &step) || step == 0)
        return frame_call(f, in, p->fallback);
    npy_int64 span = step > 0 ? stop - start : start - stop, size = step > 0 ? step : -step;
    npy_intp length = span > 0 ? (npy_intp)((span + size - 1) / size) : 0;
    PyArrayObject *out = buffer_obtain(m, f, in->outputs[0], p->type_num, 1, &length, 0);
    if (out == NULL)
        return RUN_RAISED;
    npy_int64 *to = PyArray_DATA(out);
    for (npy_intp i = 0; i < length; i++)
        to[i] = start + i * step;
    return RUN_DONE;
}

static int eye(Machine *m, Frame *f, const Instruction *in, const Routine *p) {
    npy_int64 rows, columns, offset;
    if (!read_number(f, in->inputs[0], &rows) || !read_number(f, in->inputs[1], &columns) ||
        !read_number(f, in->inputs[2], &offset) || rows < 0 || columns < 0)
        return frame_call(f, in, p->fallback);
    npy_intp shape[2] = {rows, columns};
    PyArrayObject *out = buffer_obtain(m, f, in->outputs[0], p->type_num, 2, shape, 0);
    if (out == NULL)
        return RUN_RAISED;
    size_t item = (size_t)PyArray_ITEMSIZE(out);
    char *to = PyArray_BYTES(out);
    memset(to, 0, (size_t)rows * (size_t)columns * item);
    npy_int64 row = offset < 0 ? -offset : 0, column = offset > 0 ? offset : 0;
    for (; row < rows && column < columns; row++, column++)
        memcpy(to + (size_t)(row * columns + column) * item, p->one, item);
    return RUN_DONE;
}

static int routine_run(Machine *m, Frame *f, const Instruction *in) {
    const Routine *p = in->plan;
    switch (p->kind) {
    case DIAGONAL: return diagonal(m, f, in, p);
    case RANGE: return range(m, f, in, p);
    case EYE: return eye(m, f, in, p);
    case RECURRENCE: return recurrence(m, f, in, p);
    default: return cumulate(m, f, in, p);
    }
}

/* Payload: (kind, type, axis or number of the diagonal, the bytes of a one, Python form). */
int routine_prepare(Machine *m, Instruction *in, PyObject *payload) {
    const char *one;
    Py_ssize_t size;
    (void)m;
    Routine *p = PyMem_Calloc(1, sizeof *p);
    if (p == NULL)
        return -1;
    in->plan = p;
    in->run = routine_run;
    if (!PyArg_ParseTuple(payload, "iiiy#O", &p->kind, &p->type_num, &p->number, &one, &size, &p->fallback))
        return -1;
    int of_numbers =
        p->type_num == NPY_FLOAT || p->type_num == NPY_DOUBLE || p->type_num == NPY_INT64 || p->type_num == NPY_UINT64;
    int wanted = p->kind < RANGE ? 1 : p->kind == RECURRENCE ? 2 : 3;
    if (p->kind < CUMSUM || p->kind > RECURRENCE || in->n_inputs != wanted || in->n_outputs != 1 ||
        size > (Py_ssize_t)sizeof p->one || (p->kind <= CUMPROD && (!of_numbers || p->number < 0)) ||
        (p->kind == RANGE && p->type_num != NPY_INT64)) {
        PyErr_SetString(PyExc_ValueError, "routine payload: unknown kind or type");
        return -1;
    }
    memcpy(p->one, one, (size_t)size);
    return 0;
}
