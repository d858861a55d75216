/* Batched matrix products: one call of BLAS for each pair of matrices in two stacks, or for blocks of rows where there
 * are few large pairs. The threads of this runtime share the calls, each of which uses one thread (blas_threads.c). */
#include "runtime.h"
#include <limits.h>

typedef void (*gemm_fn)(char *, char *, int *, int *, int *, void *, void *, int *, void *, int *, void *, void *,
                        int *);

typedef struct {
    int type_num, shared; /* shared: threads may share it */
    uintptr_t address;
} BatchedProduct;

typedef struct {
    PyArrayObject *array; /* new reference */
    char trans;           /* for the matrices as BLAS sees them */
    int step;             /* leading dimension */
    npy_intp stride;      /* bytes from one matrix to the next */
} Batch;

/* Whether rows (or, transposed, columns) of each matrix are contiguous with a leading dimension that BLAS takes. */
static int has_layout(PyArrayObject *a, int transposed, int *step) {
    const npy_intp *dims = PyArray_DIMS(a), *strides = PyArray_STRIDES(a);
    npy_intp item = PyArray_ITEMSIZE(a), rows = dims[1 + transposed], cols = dims[2 - transposed];
    npy_intp outer = strides[1 + transposed], least = cols > 1 ? cols : 1;
    if (cols > 1 && strides[2 - transposed] != item)
        return 0;
    if (rows <= 1)
        outer = least * item;
    if (outer % item != 0 || outer / item < least || outer / item > INT_MAX)
        return 0;
    *step = (int)(outer / item);
    return 1;
}

static int batch_take(PyArrayObject *a, Batch *s) {
    s->array = (PyArrayObject *)Py_NewRef((PyObject *)a);
    if (!(s->trans = 'N', has_layout(a, 0, &s->step)) && !(s->trans = 'T', has_layout(a, 1, &s->step))) {
        Py_SETREF(s->array, (PyArrayObject *)PyArray_NewCopy(a, NPY_CORDER));
        s->trans = 'N';
        if (s->array == NULL || !has_layout(s->array, 0, &s->step))
            return -1;
    }
    s->stride = PyArray_STRIDES(s->array)[0];
    return 0;
}

/* The products of all pairs, each cut into `pieces` blocks of `height` rows. */
typedef struct {
    const BatchedProduct *product;
    const Batch *x, *y;
    char *z;
    npy_intp stride; /* bytes from one result to the next */
    int rows, cols, inner, pieces, height;
} Pairs;

/* Row-major z = x y is column-major z' = y' x'. */
static void multiply_blocks(void *context, int64_t begin, int64_t end) {
    const Pairs *s = context;
    const Batch *x = s->x, *y = s->y;
    double one_d = 1.0, zero_d = 0.0;
    float one_s = 1.0f, zero_s = 0.0f;
    int d = s->product->type_num == NPY_DOUBLE, cols = s->cols, inner = s->inner, step_x = x->step, step_y = y->step;
    npy_intp item = d ? sizeof(double) : sizeof(float);
    char trans_x = x->trans, trans_y = y->trans;
    for (int64_t k = begin; k < end; k++) {
        int64_t pair = k / s->pieces;
        int first = (int)(k % s->pieces) * s->height;
        int rows = s->rows - first < s->height ? s->rows - first : s->height;
        char *from = PyArray_BYTES(x->array) + pair * x->stride + first * item * (trans_x == 'T' ? 1 : step_x);
        if (rows > 0)
            ((gemm_fn)s->product->address)(&trans_y, &trans_x, &cols, &rows, &inner, d ? (void *)&one_d : &one_s,
                                           PyArray_BYTES(y->array) + pair * y->stride, &step_y, from, &step_x,
                                           d ? (void *)&zero_d : &zero_s, s->z + pair * s->stride + first * item * cols,
                                           &cols);
    }
}

static void multiply(const BatchedProduct *p, const Batch *x, const Batch *y, PyArrayObject *z, int inner) {
    npy_intp count = PyArray_DIMS(z)[0];
    int rows = (int)PyArray_DIMS(z)[1], cols = (int)PyArray_DIMS(z)[2], threads = threads_get();
    double each = (double)rows * cols * inner, work = each * (double)count;
    Pairs pairs = {p, x, y, PyArray_BYTES(z), PyArray_STRIDES(z)[0], rows, cols, inner, 1, rows};
    if (count < threads && each >= WORK_TO_SHARE && rows >= 2 * threads) {
        pairs.height = (rows + threads - 1) / threads;
        pairs.pieces = (rows + pairs.height - 1) / pairs.height;
    }
    int64_t blocks = (int64_t)count * pairs.pieces, grain = (blocks + 4 * threads - 1) / (4 * threads);
    int64_t least = (int64_t)(WORK_TO_SHARE / 4 / (work / (double)blocks + 1)) + 1;
    if (work < WORK_TO_SHARE)
        grain = blocks;
    else if (grain < least)
        grain = least;
    PyThreadState *state = work > 1e5 ? gil_release() : NULL;
    if (!p->shared || (each < WORK_TO_CONTROL && work < WORK_TO_SHARE) ||
        !blas_share(multiply_blocks, &pairs, blocks, grain)) {
        pairs.pieces = 1;
        pairs.height = rows;
        multiply_blocks(&pairs, 0, count);
    }
    gil_restore(state);
}

static int fits_int(PyArrayObject *a) { return PyArray_DIMS(a)[1] <= INT_MAX && PyArray_DIMS(a)[2] <= INT_MAX; }

static int batched_product_run(Machine *m, Frame *f, const Instruction *in) {
    const BatchedProduct *p = in->plan;
    PyArrayObject *a = operand(f, in->inputs[0], p->type_num, 3);
    PyArrayObject *b = a == NULL ? NULL : operand(f, in->inputs[1], p->type_num, 3);
    if (b == NULL)
        return RUN_RAISED;
    /* The first operand may have been replaced when both are one register. */
    a = (PyArrayObject *)f->registers[in->inputs[0]];
    if (PyArray_DIMS(a)[0] != PyArray_DIMS(b)[0] || PyArray_DIMS(a)[2] != PyArray_DIMS(b)[1])
        return RUN_MISMATCH;
    if (!fits_int(a) || !fits_int(b)) {
        PyErr_SetString(PyExc_OverflowError, "a dimension is too long for BLAS, which counts with 32 bits");
        return RUN_RAISED;
    }
    npy_intp shape[3] = {PyArray_DIMS(a)[0], PyArray_DIMS(a)[1], PyArray_DIMS(b)[2]};
    PyArrayObject *z = buffer_obtain(m, f, in->outputs[0], p->type_num, 3, shape, 0);
    if (z == NULL)
        return RUN_RAISED;
    if (PyArray_SIZE(a) == 0 || PyArray_SIZE(b) == 0) {
        memset(PyArray_DATA(z), 0, PyArray_NBYTES(z));
        return RUN_DONE;
    }
    Batch x = {NULL, 'N', 0, 0}, y = {NULL, 'N', 0, 0};
    int failed = batch_take(a, &x) < 0 || batch_take(b, &y) < 0;
    if (!failed)
        multiply(p, &x, &y, z, (int)PyArray_DIMS(a)[2]);
    Py_XDECREF(x.array);
    Py_XDECREF(y.array);
    return failed ? RUN_RAISED : RUN_DONE;
}

/* Payload: (type, address of gemm). */
int batched_product_prepare(Machine *m, Instruction *in, PyObject *payload) {
    unsigned long long address;
    BatchedProduct *p = PyMem_Calloc(1, sizeof *p);
    if (p == NULL)
        return -1;
    in->plan = p;
    in->run = batched_product_run;
    if (!PyArg_ParseTuple(payload, "iK", &p->type_num, &address))
        return -1;
    p->address = (uintptr_t)address;
    p->shared = m->thread_scale < 1e300;
    blas_find_threads(p->address);
    if ((p->type_num != NPY_DOUBLE && p->type_num != NPY_FLOAT) || in->n_inputs != 2 || in->n_outputs != 1) {
        PyErr_SetString(PyExc_ValueError, "batched product payload: unknown type");
        return -1;
    }
    return 0;
}
