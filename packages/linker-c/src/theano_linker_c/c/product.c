/* Vector and matrix products through BLAS routines of the Fortran calling convention with 32-bit integers. */
#include "runtime.h"
#include <limits.h>

enum { DOT = 0, GEMV = 1, VECMAT = 2, GEMM = 3, GER = 4 };

typedef void (*gemm_fn)(char *, char *, int *, int *, int *, void *, void *, int *, void *, int *, void *, void *, int *);
typedef void (*gemv_fn)(char *, int *, int *, void *, void *, int *, void *, int *, void *, void *, int *);
typedef void (*ger_fn)(int *, int *, void *, void *, int *, void *, int *, void *, int *);
typedef double (*ddot_fn)(int *, void *, int *, void *, int *);
typedef float (*sdot_fn)(int *, void *, int *, void *, int *);

typedef struct {
    int kind, type_num;
    uintptr_t address;
} Product;

typedef struct {
    PyArrayObject *array;  /* new reference */
    int transposed, step;  /* of a matrix: columns are contiguous; leading dimension */
} Matrix;

static int fits_int(PyArrayObject *a) {
    for (int d = 0; d < PyArray_NDIM(a); d++)
        if (PyArray_DIMS(a)[d] > INT_MAX)
            return 0;
    return 1;
}

/* Whether rows (or, transposed, columns) are contiguous with a leading dimension that BLAS takes. */
static int leading(PyArrayObject *a, int transposed, int *step) {
    npy_intp item = PyArray_ITEMSIZE(a), rows = PyArray_DIMS(a)[transposed], cols = PyArray_DIMS(a)[!transposed];
    npy_intp outer = PyArray_STRIDES(a)[transposed], inner = PyArray_STRIDES(a)[!transposed];
    npy_intp least = cols > 1 ? cols : 1;
    if (cols > 1 && inner != item)
        return 0;
    if (rows <= 1)
        outer = least * item;
    if (outer % item != 0 || outer / item < least || outer / item > INT_MAX)
        return 0;
    *step = (int)(outer / item);
    return 1;
}

static int as_matrix(PyArrayObject *a, Matrix *x) {
    x->array = (PyArrayObject *)Py_NewRef((PyObject *)a);
    if ((x->transposed = 0, leading(a, 0, &x->step)) || (x->transposed = 1, leading(a, 1, &x->step)))
        return 0;
    Py_SETREF(x->array, (PyArrayObject *)PyArray_NewCopy(a, NPY_CORDER));
    x->transposed = 0;
    return x->array == NULL || !leading(x->array, 0, &x->step) ? -1 : 0;
}

/* A vector with a step that BLAS takes: BLAS counts a negative step from the lowest address. */
static int as_vector(PyArrayObject *a, PyArrayObject **out, int *step, void **data) {
    npy_intp item = PyArray_ITEMSIZE(a), stride = PyArray_STRIDES(a)[0], n = PyArray_DIMS(a)[0];
    *out = (PyArrayObject *)Py_NewRef((PyObject *)a);
    if (n > 1 && (stride == 0 || stride % item != 0 || stride / item > INT_MAX || stride / item < -INT_MAX)) {
        Py_SETREF(*out, (PyArrayObject *)PyArray_NewCopy(a, NPY_CORDER));
        if (*out == NULL)
            return -1;
        stride = item;
    }
    *step = n > 1 ? (int)(stride / item) : 1;
    *data = PyArray_BYTES(*out) + (*step < 0 ? (n - 1) * stride : 0);
    return 0;
}

static double one_d = 1.0, zero_d = 0.0;
static float one_s = 1.0f, zero_s = 0.0f;

static int run_dot(const Product *p, PyArrayObject *x, PyArrayObject *y, PyArrayObject *z) {
    PyArrayObject *u = NULL, *v = NULL;
    int step_u, step_v, n = (int)PyArray_DIMS(x)[0], status = RUN_RAISED;
    void *du, *dv;
    if (as_vector(x, &u, &step_u, &du) == 0 && as_vector(y, &v, &step_v, &dv) == 0) {
        if (p->type_num == NPY_DOUBLE)
            *(double *)PyArray_DATA(z) = n == 0 ? 0.0 : ((ddot_fn)p->address)(&n, du, &step_u, dv, &step_v);
        else
            *(float *)PyArray_DATA(z) = n == 0 ? 0.0f : ((sdot_fn)p->address)(&n, du, &step_u, dv, &step_v);
        status = RUN_DONE;
    }
    Py_XDECREF(u);
    Py_XDECREF(v);
    return status;
}

/* z = A x, or z = x A with `from_left`. The result is cleared first: not every BLAS ignores what is in it. */
static int run_gemv(const Product *p, PyArrayObject *a, PyArrayObject *x, PyArrayObject *z, int from_left) {
    Matrix m = {NULL, 0, 0};
    PyArrayObject *v = NULL;
    int step, one = 1, status = RUN_RAISED, d = p->type_num == NPY_DOUBLE;
    void *dv;
    memset(PyArray_DATA(z), 0, PyArray_NBYTES(z));
    if (PyArray_SIZE(a) == 0)
        return RUN_DONE;
    if (as_matrix(a, &m) == 0 && as_vector(x, &v, &step, &dv) == 0) {
        /* BLAS sees the transpose of rows that are contiguous. */
        int rows = (int)PyArray_DIMS(m.array)[!m.transposed], cols = (int)PyArray_DIMS(m.array)[m.transposed];
        char trans = m.transposed == from_left ? 'T' : 'N';
        gemv_fn gemv = (gemv_fn)p->address;
        NPY_BEGIN_THREADS_DEF;
        NPY_BEGIN_THREADS_THRESHOLDED(PyArray_SIZE(a) / 32);
        gemv(&trans, &rows, &cols, d ? (void *)&one_d : &one_s, PyArray_DATA(m.array), &m.step, dv, &step,
             d ? (void *)&zero_d : &zero_s, PyArray_DATA(z), &one);
        NPY_END_THREADS;
        status = RUN_DONE;
    }
    Py_XDECREF(m.array);
    Py_XDECREF(v);
    return status;
}

/* Row-major z = a b is column-major z' = b' a'. */
static int run_gemm(const Product *p, PyArrayObject *a, PyArrayObject *b, PyArrayObject *z) {
    Matrix x = {NULL, 0, 0}, y = {NULL, 0, 0};
    int m = (int)PyArray_DIMS(b)[1], n = (int)PyArray_DIMS(a)[0], k = (int)PyArray_DIMS(a)[1], status = RUN_RAISED;
    int d = p->type_num == NPY_DOUBLE;
    if (m == 0 || n == 0 || k == 0) {
        memset(PyArray_DATA(z), 0, PyArray_NBYTES(z));
        return RUN_DONE;
    }
    if (as_matrix(a, &x) == 0 && as_matrix(b, &y) == 0) {
        char trans_x = x.transposed ? 'T' : 'N', trans_y = y.transposed ? 'T' : 'N';
        gemm_fn gemm = (gemm_fn)p->address;
        NPY_BEGIN_THREADS_DEF;
        NPY_BEGIN_THREADS_THRESHOLDED((double)m * n * k > 1e5 ? 501 : 0);
        gemm(&trans_y, &trans_x, &m, &n, &k, d ? (void *)&one_d : &one_s, PyArray_DATA(y.array), &y.step,
             PyArray_DATA(x.array), &x.step, d ? (void *)&zero_d : &zero_s, PyArray_DATA(z), &m);
        NPY_END_THREADS;
        status = RUN_DONE;
    }
    Py_XDECREF(x.array);
    Py_XDECREF(y.array);
    return status;
}

static int run_ger(const Product *p, PyArrayObject *x, PyArrayObject *y, PyArrayObject *z) {
    npy_intp rows = PyArray_DIMS(x)[0], cols = PyArray_DIMS(y)[0];
    npy_intp step_x = PyArray_STRIDES(x)[0], step_y = PyArray_STRIDES(y)[0];
    for (npy_intp i = 0; i < rows; i++) {
        const char *left = PyArray_BYTES(x) + i * step_x, *right = PyArray_BYTES(y);
        if (p->type_num == NPY_DOUBLE) {
            double *out = (double *)PyArray_DATA(z) + i * cols, factor = *(const double *)left;
            for (npy_intp j = 0; j < cols; j++)
                out[j] = factor * *(const double *)(right + j * step_y);
        } else {
            float *out = (float *)PyArray_DATA(z) + i * cols, factor = *(const float *)left;
            for (npy_intp j = 0; j < cols; j++)
                out[j] = factor * *(const float *)(right + j * step_y);
        }
    }
    return RUN_DONE;
}

static int product_run(Machine *m, Frame *f, const Instruction *in) {
    const Product *p = in->plan;
    int ndim_a = p->kind == GEMV || p->kind == GEMM ? 2 : 1, ndim_b = p->kind == VECMAT || p->kind == GEMM ? 2 : 1;
    PyArrayObject *a = operand(f, in->inputs[0], p->type_num, ndim_a);
    PyArrayObject *b = a == NULL ? NULL : operand(f, in->inputs[1], p->type_num, ndim_b);
    if (b == NULL)
        return RUN_RAISED;
    /* The first operand may have been replaced when both are one register. */
    a = (PyArrayObject *)f->registers[in->inputs[0]];
    npy_intp shape[2];
    int ndim = 0;
    if (p->kind != GER && PyArray_DIMS(a)[ndim_a - 1] != PyArray_DIMS(b)[0])
        return RUN_MISFIT;
    if (!fits_int(a) || !fits_int(b)) {
        PyErr_SetString(PyExc_OverflowError, "a dimension is too long for BLAS, which counts with 32 bits");
        return RUN_RAISED;
    }
    if (ndim_a == 2 || p->kind == GER)
        shape[ndim++] = PyArray_DIMS(a)[0];
    if (ndim_b == 2 || p->kind == GER)
        shape[ndim++] = PyArray_DIMS(b)[ndim_b - 1];
    PyArrayObject *z = buffer_obtain(m, f, in->outputs[0], p->type_num, ndim, shape, 0);
    if (z == NULL)
        return RUN_RAISED;
    switch (p->kind) {
    case DOT:
        return run_dot(p, a, b, z);
    case GEMV:
        return run_gemv(p, a, b, z, 0);
    case VECMAT:
        return run_gemv(p, b, a, z, 1);
    case GEMM:
        return run_gemm(p, a, b, z);
    default:
        return run_ger(p, a, b, z);
    }
}

/* Payload: (kind, type, address of the routine). */
int product_prepare(Machine *m, Instruction *in, PyObject *payload) {
    unsigned long long address;
    (void)m;
    Product *p = PyMem_Calloc(1, sizeof *p);
    if (p == NULL)
        return -1;
    in->plan = p;
    in->run = product_run;
    if (!PyArg_ParseTuple(payload, "iiK", &p->kind, &p->type_num, &address))
        return -1;
    p->address = (uintptr_t)address;
    if (p->kind < DOT || p->kind > GER || (p->type_num != NPY_DOUBLE && p->type_num != NPY_FLOAT) ||
        in->n_inputs != 2 || in->n_outputs != 1) {
        PyErr_SetString(PyExc_ValueError, "product payload: unknown kind or type");
        return -1;
    }
    return 0;
}
