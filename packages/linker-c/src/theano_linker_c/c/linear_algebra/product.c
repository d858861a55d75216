/* Vector and matrix products through BLAS routines of the Fortran calling convention with 32-bit integers.
 *
 * Inputs are (a, b), (a, b, alpha) for alpha a b, (z, alpha, a, b, beta) for beta z + alpha a b, or (z, alpha, a, b)
 * for z + alpha a b. The memory of z is used for the result where it dies; where z is the present value of a shared
 * variable whose next value is the result, the product waits for the success of the call and goes straight into it.
 */
#include "machine/capture.h"
#include <limits.h>

enum { DOT = 0, GEMV = 1, VECMAT = 2, GEMM = 3, GER = 4 };

typedef void (*gemm_fn)(char *, char *, int *, int *, int *, void *, void *, int *, void *, int *, void *, void *,
                        int *);
typedef void (*gemv_fn)(char *, int *, int *, void *, void *, int *, void *, int *, void *, void *, int *);
typedef void (*ger_fn)(int *, int *, void *, void *, int *, void *, int *, void *, int *);
typedef double (*ddot_fn)(int *, void *, int *, void *, int *);
typedef float (*sdot_fn)(int *, void *, int *, void *, int *);

typedef struct {
    int kind, type_num;
    uintptr_t address;
    int takes, overwrites; /* z dies here; the op overwrites it */
    int deferred;          /* the number of the update, counted from 1, for which the product may wait; or 0 */
    int shared;            /* threads may share it */
} Product;

typedef struct {
    PyArrayObject *array; /* new reference */
    int transposed, step; /* of a matrix: columns are contiguous; leading dimension */
    int lengths[2];
    char *data;
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
    x->lengths[0] = (int)PyArray_DIMS(a)[0];
    x->lengths[1] = (int)PyArray_DIMS(a)[1];
    x->data = PyArray_BYTES(a);
    if (PyArray_SIZE(a) == 0)
        return 0; /* BLAS is not asked */
    if ((x->transposed = 0, leading(a, 0, &x->step)) || (x->transposed = 1, leading(a, 1, &x->step)))
        return 0;
    gil_take();
    Py_SETREF(x->array, (PyArrayObject *)PyArray_NewCopy(a, NPY_CORDER));
    x->transposed = 0;
    if (x->array == NULL || !leading(x->array, 0, &x->step))
        return -1;
    x->data = PyArray_BYTES(x->array);
    return 0;
}

/* A vector with a step that BLAS takes: BLAS counts a negative step from the lowest address. */
static int as_vector(PyArrayObject *a, PyArrayObject **out, int *step, void **data) {
    npy_intp item = PyArray_ITEMSIZE(a), stride = PyArray_STRIDES(a)[0], n = PyArray_DIMS(a)[0];
    *out = (PyArrayObject *)Py_NewRef((PyObject *)a);
    if (n > 1 && (stride == 0 || stride % item != 0 || stride / item > INT_MAX || stride / item < -INT_MAX)) {
        gil_take();
        Py_SETREF(*out, (PyArrayObject *)PyArray_NewCopy(a, NPY_CORDER));
        if (*out == NULL)
            return -1;
        stride = item;
    }
    *step = n > 1 ? (int)(stride / item) : 1;
    *data = PyArray_BYTES(*out) + (*step < 0 ? (n - 1) * stride : 0);
    return 0;
}

/* What is multiplied, in a form that BLAS takes. */
typedef struct {
    Matrix x, y; /* arrays are owned; vectors have only the array */
    void *vector_x, *vector_y;
    int step_x, step_y;
    int rows, inner, cols;
} Operands;

static void operands_free(Operands *o) {
    Py_CLEAR(o->x.array);
    Py_CLEAR(o->y.array);
}

static int is_matrix(const Product *p, int second) {
    return p->kind == GEMM || (second ? p->kind == VECMAT : p->kind == GEMV);
}

static int operands_prepare(const Product *p, PyArrayObject *a, PyArrayObject *b, Operands *o) {
    memset(o, 0, sizeof *o);
    npy_intp *dims_a = PyArray_DIMS(a), *dims_b = PyArray_DIMS(b);
    o->rows = is_matrix(p, 0) || p->kind == GER ? (int)dims_a[0] : 1;
    o->cols = is_matrix(p, 1) ? (int)dims_b[1] : p->kind == GER ? (int)dims_b[0] : 1;
    o->inner = p->kind == GER ? 1 : (int)dims_b[0];
    int failed = is_matrix(p, 0) ? as_matrix(a, &o->x) : as_vector(a, &o->x.array, &o->step_x, &o->vector_x);
    if (!failed)
        failed = is_matrix(p, 1) ? as_matrix(b, &o->y) : as_vector(b, &o->y.array, &o->step_y, &o->vector_y);
    if (failed)
        operands_free(o);
    return failed ? -1 : 0;
}

static double get(const Product *p, const void *at) {
    return p->type_num == NPY_DOUBLE ? *(const double *)at : *(const float *)at;
}

/* A number in the form that BLAS reads. */
typedef union {
    double d;
    float s;
} Scalar;

static Scalar scalar_of(const Product *p, double value) {
    Scalar result;
    if (p->type_num == NPY_DOUBLE)
        result.d = value;
    else
        result.s = (float)value;
    return result;
}

/* z = beta z; it is not read where beta is 0. */
static void scale(const Product *p, char *z, npy_intp size, double beta) {
    if (beta == 0)
        memset(z, 0, size * (p->type_num == NPY_DOUBLE ? sizeof(double) : sizeof(float)));
    else if (p->type_num == NPY_DOUBLE)
        for (npy_intp i = 0; i < size; i++)
            ((double *)z)[i] *= beta;
    else
        for (npy_intp i = 0; i < size; i++)
            ((float *)z)[i] *= (float)beta;
}

static void call_dot(const Product *p, Operands *o, char *z) {
    if (p->type_num == NPY_DOUBLE)
        *(double *)z = ((ddot_fn)p->address)(&o->inner, o->vector_x, &o->step_x, o->vector_y, &o->step_y);
    else
        *(float *)z = ((sdot_fn)p->address)(&o->inner, o->vector_x, &o->step_x, o->vector_y, &o->step_y);
}

/* A x, or x A with `from_left`. BLAS sees the transpose of rows that are contiguous. */
static void call_gemv(const Product *p, Operands *o, Scalar alpha, Scalar beta, char *z, int from_left) {
    Matrix *m = from_left ? &o->y : &o->x;
    int rows = m->lengths[!m->transposed], cols = m->lengths[m->transposed], one = 1;
    char trans = m->transposed == from_left ? 'T' : 'N';
    ((gemv_fn)p->address)(&trans, &rows, &cols, &alpha, m->data, &m->step, from_left ? o->vector_x : o->vector_y,
                          from_left ? &o->step_x : &o->step_y, &beta, z, &one);
}

static double work_of(const Operands *o) { return (double)o->rows * o->cols * o->inner; }

/* A product of matrices in parts: blocks of rows, or of columns, of the result. */
typedef struct {
    const Product *product;
    const Operands *operands;
    Scalar alpha, beta;
    char *z;
    int by_rows;
    int64_t before; /* blocks before those that are counted */
} Parts;

enum { BLOCK = 16 };

/* Row-major z = a b is column-major z' = b' a'. */
static void gemm_blocks(void *context, int64_t begin, int64_t end) {
    Parts *parts = context;
    begin += parts->before;
    end += parts->before;
    const Product *p = parts->product;
    const Operands *o = parts->operands;
    const Matrix *x = &o->x, *y = &o->y;
    int rows = o->rows, cols = o->cols, inner = o->inner, all = parts->by_rows ? rows : cols;
    npy_intp item = p->type_num == NPY_DOUBLE ? sizeof(double) : sizeof(float), first = begin * BLOCK;
    int count = end * BLOCK < all ? (int)(end * BLOCK - first) : (int)(all - first), step = cols;
    char trans_x = x->transposed ? 'T' : 'N', trans_y = y->transposed ? 'T' : 'N';
    char *dx = x->data, *dy = y->data, *z = parts->z;
    if (parts->by_rows) {
        dx += first * item * (x->transposed ? 1 : x->step);
        z += first * item * cols;
        rows = count;
    } else {
        dy += first * item * (y->transposed ? y->step : 1);
        z += first * item;
        cols = count;
    }
    int step_x = x->step, step_y = y->step;
    ((gemm_fn)p->address)(&trans_y, &trans_x, &cols, &rows, &inner, &parts->alpha, dy, &step_y, dx, &step_x,
                          &parts->beta, z, &step);
}

static Parts gemm_parts(const Product *p, const Operands *o, Scalar alpha, Scalar beta, char *z) {
    return (Parts){.product = p, .operands = o, .alpha = alpha, .beta = beta, .z = z, .by_rows = o->rows >= o->cols};
}

static int64_t gemm_count(const Parts *parts) {
    return ((parts->by_rows ? parts->operands->rows : parts->operands->cols) + BLOCK - 1) / BLOCK;
}

/* Compute the blocks begin..end, which take so many multiplications: one piece for each thread, since for each piece
 * BLAS copies the other factor into its own layout. */
static void gemm_range(Parts *parts, int64_t begin, int64_t end, double work) {
    int64_t count = end - begin, pieces = threads_get();
    int64_t grain = work < WORK_TO_SHARE ? count : (count + pieces - 1) / pieces;
    parts->before = begin;
    if (!parts->product->shared || work < WORK_TO_CONTROL ||
        !blas_share(gemm_blocks, parts, count, grain < 4 ? 4 : grain))
        gemm_blocks(parts, 0, count);
}

static void call_gemm(const Product *p, Operands *o, Scalar alpha, Scalar beta, char *z) {
    Parts parts = gemm_parts(p, o, alpha, beta, z);
    gemm_range(&parts, 0, gemm_count(&parts), work_of(o));
}

/* z = beta z + alpha a b, for a z of contiguous rows and an alpha that is not 0. Cannot fail, needs no GIL. */
static void multiply(const Product *p, Operands *o, double alpha, double beta, char *z) {
    npy_intp size = (npy_intp)o->rows * o->cols;
    if (size == 0)
        return;
    if (o->inner == 0) {
        scale(p, z, size, beta);
        return;
    }
    /* Not every BLAS ignores what is in a vector that is multiplied by 0; those for matrices do. */
    if (p->kind == GER ? beta != 1 : beta == 0 && p->kind != GEMM) {
        scale(p, z, size, beta);
        beta = p->kind == GER ? 1 : 0;
    }
    Scalar factor = scalar_of(p, alpha), kept = scalar_of(p, beta);
    switch (p->kind) {
    case DOT: call_dot(p, o, z); break;
    case GEMV:
    case VECMAT: call_gemv(p, o, factor, kept, z, p->kind == VECMAT); break;
    case GEMM: call_gemm(p, o, factor, kept, z); break;
    default:
        ((ger_fn)p->address)(&o->cols, &o->rows, &factor, o->vector_y, &o->step_y, o->vector_x, &o->step_x, z,
                             &o->cols);
    }
}

/* Multiplications between two looks at signals, and blocks that a slice has at least. */
#define WORK_OF_SLICE 8e9
#define LEAST_SLICE 16

/* A product of matrices that takes long, in slices. */
static int multiply_in_slices(const Product *p, Operands *o, double alpha, double beta, char *z) {
    Parts parts = gemm_parts(p, o, scalar_of(p, alpha), scalar_of(p, beta), z);
    double work = work_of(o), share = WORK_OF_SLICE / work;
    int64_t count = gemm_count(&parts), slice = (int64_t)(count * share);
    slice = slice < LEAST_SLICE ? LEAST_SLICE : slice;
    for (int64_t begin = 0; begin < count; begin += slice) {
        int64_t end = count - begin < slice ? count : begin + slice;
        if (begin > 0 && gil_let_go == NULL && PyErr_CheckSignals() < 0)
            return RUN_RAISED;
        PyThreadState *state = gil_release();
        gemm_range(&parts, begin, end, work * (end - begin) / count);
        gil_restore(state);
    }
    return RUN_DONE;
}

static int multiply_at_length(const Product *p, Operands *o, double alpha, double beta, char *z) {
    if (p->kind == GEMM && work_of(o) > 2 * WORK_OF_SLICE)
        return multiply_in_slices(p, o, alpha, beta, z);
    PyThreadState *state = work_of(o) > (p->kind == GEMM ? 1e5 : 1.6e4) ? gil_release() : NULL;
    multiply(p, o, alpha, beta, z);
    gil_restore(state);
    return RUN_DONE;
}

/* A product as a capture keeps it. Its operands are the result and both factors. */
typedef struct {
    const Product *product;
    Operands operands;
    npy_intp first_x, first_y; /* where BLAS finds a vector, in bytes from its first element */
    double alpha, beta;
} KeptProduct;

static int product_again(void *what, char *const *data) {
    KeptProduct *kept = what;
    Operands *o = &kept->operands;
    const Product *p = kept->product;
    double alpha = data[3] == NULL ? kept->alpha : get(p, data[3]),
           beta = data[4] == NULL ? kept->beta : get(p, data[4]);
    if (alpha == 0 || (beta == 0) != (kept->beta == 0))
        return 0;
    o->x.data = data[1];
    o->y.data = data[2];
    o->vector_x = data[1] + kept->first_x;
    o->vector_y = data[2] + kept->first_y;
    multiply(p, o, alpha, beta, data[0]);
    return 1;
}

int product_captures(const Instruction *in) {
    const Product *p = in->plan;
    return !p->deferred && !p->overwrites;
}

/* Where the factors of the products are among the inputs; -1: not there. */
static int alpha_position(const Instruction *in) { return in->n_inputs == 3 ? 2 : in->n_inputs >= 4 ? 1 : -1; }

static int beta_position(const Instruction *in) { return in->n_inputs == 5 ? 4 : -1; }

static void note_factor(Capture *c, const Frame *f, const Instruction *in, int k, int position, char **data) {
    data[k] = NULL;
    c->operands[k] = -1;
    if (position >= 0) {
        capture_operand(c, k, in->inputs[position]);
        data[k] = PyArray_BYTES((PyArrayObject *)f->registers[in->inputs[position]]);
    }
}

/* Note a product; `a` and `b` are the factors, `z` is what it is added to, or NULL. */
static void note_product(Capture *c, Frame *f, const Instruction *in, const Operands *o, PyArrayObject *a,
                         PyArrayObject *b, PyArrayObject *z, PyArrayObject *made, double alpha, double beta) {
    const Product *p = in->plan;
    int first = in->n_inputs >= 4 ? 2 : 0;
    char *data[5] = {PyArray_BYTES(made), PyArray_BYTES(a), PyArray_BYTES(b)};
    KeptProduct *kept =
        work_of(o) > 1e5 || alpha == 0 || o->x.array != a || o->y.array != b ? NULL : capture_keep(c, sizeof *kept);
    if (kept == NULL) {
        capture_fail(c);
        return;
    }
    *kept = (KeptProduct){.product = p, .operands = *o, .alpha = alpha, .beta = beta};
    kept->operands.x.array = kept->operands.y.array = NULL;
    kept->first_x = is_matrix(p, 0) ? 0 : (char *)o->vector_x - data[1];
    kept->first_y = is_matrix(p, 1) ? 0 : (char *)o->vector_y - data[2];
    capture_result(c, f, in->outputs[0]);
    capture_operand(c, 0, in->outputs[0]);
    if (z != NULL && z != made && beta != 0) {
        if (!PyArray_IS_C_CONTIGUOUS(z))
            capture_fail(c);
        capture_operand(c, 1, in->inputs[0]);
        capture_copy(c, PyArray_BYTES(made), PyArray_BYTES(z), PyArray_NBYTES(z));
    }
    capture_operand(c, 1, in->inputs[first]);
    capture_operand(c, 2, in->inputs[first + 1]);
    note_factor(c, f, in, 3, alpha_position(in), data);
    note_factor(c, f, in, 4, beta_position(in), data);
    capture_other(c, product_again, kept, 5, data);
    c->work += work_of(o);
}

/* z = beta z + 0 a b: BLAS would drop the product, and with it infinities and NaN. */
static int multiply_by_zero(const Product *p, Operands *o, double beta, PyArrayObject *z) {
    gil_take();
    PyArrayObject *product = (PyArrayObject *)PyArray_NewLikeArray(z, NPY_CORDER, NULL, 0);
    if (product == NULL)
        return -1;
    npy_intp size = PyArray_SIZE(z);
    if (multiply_at_length(p, o, 1.0, 0.0, PyArray_BYTES(product)) != RUN_DONE) {
        Py_DECREF(product);
        return -1;
    }
    scale(p, PyArray_BYTES(z), size, beta);
    if (p->type_num == NPY_DOUBLE)
        for (npy_intp i = 0; i < size; i++)
            ((double *)PyArray_DATA(z))[i] += 0.0 * ((double *)PyArray_DATA(product))[i];
    else
        for (npy_intp i = 0; i < size; i++)
            ((float *)PyArray_DATA(z))[i] += 0.0f * ((float *)PyArray_DATA(product))[i];
    Py_DECREF(product);
    return 0;
}

/* A product that waits for the success of the call. */
typedef struct {
    Commit head;
    const Product *product;
    Operands operands;
    double alpha, beta;
} ProductCommit;

/* The GIL stays: other threads see the old value or the new one. */
static void product_commit_run(Commit *commit) {
    ProductCommit *c = (ProductCommit *)commit;
    multiply(c->product, &c->operands, c->alpha, c->beta, PyArray_BYTES(commit->array));
}

static void product_commit_free(Commit *commit) {
    operands_free(&((ProductCommit *)commit)->operands);
    PyMem_Free(commit);
}

/* Multiplications above which a product does not wait: the GIL would be held too long. */
#define WORK_TO_WAIT 4e9

static int is_stored(const Machine *m, PyArrayObject *operand) {
    PyObject *owner = owner_of((PyObject *)operand);
    for (int k = 0; k < m->n_cells; k++)
        if (PyList_GET_SIZE(m->cells[k].cell) > 0 && owner_of(PyList_GET_ITEM(m->cells[k].cell, 0)) == owner)
            return 1;
    return 0;
}

/* An operand that is itself a shared value might change before this product is carried out. */
static int may_defer(const Machine *m, const Product *p, const Operands *o, PyArrayObject *z, double alpha) {
    return p->deferred && alpha != 0 && work_of(o) <= WORK_TO_WAIT && PyArray_IS_C_CONTIGUOUS(z) &&
           PyArray_CHKFLAGS(z, NPY_ARRAY_OWNDATA) && PyArray_ISWRITEABLE(z) && !is_stored(m, o->x.array) &&
           !is_stored(m, o->y.array);
}

/* Takes over the operands. */
static int defer(Frame *f, const Instruction *in, Operands *o, double alpha, double beta, PyArrayObject *z) {
    ProductCommit *c = PyMem_Calloc(1, sizeof *c);
    if (c == NULL) {
        PyErr_NoMemory();
        return RUN_RAISED;
    }
    c->head.run = product_commit_run;
    c->head.free = product_commit_free;
    c->product = in->plan;
    c->operands = *o;
    c->alpha = alpha;
    c->beta = beta;
    o->x.array = o->y.array = NULL;
    commit_add(f, &c->head, c->product->deferred - 1, in->outputs[0], z);
    return RUN_DONE;
}

/* The array that the product is added to: z itself where it dies and is ours, or where the op says that it overwrites z
 * and no write that waits may still have to read it; else a copy. */
static PyArrayObject *target(Machine *m, Frame *f, const Instruction *in, PyArrayObject *z, double beta) {
    const Product *p = in->plan;
    if (p->takes && PyArray_IS_C_CONTIGUOUS(z) && buffer_reuse(m, f, in->inputs[0], in->outputs[0]))
        return z;
    if (p->overwrites && f->commits == NULL && PyArray_IS_C_CONTIGUOUS(z) && PyArray_ISBEHAVED(z)) {
        frame_set(f, in->outputs[0], Py_NewRef((PyObject *)z));
        return z;
    }
    PyArrayObject *copy = buffer_obtain(m, f, in->outputs[0], p->type_num, PyArray_NDIM(z), PyArray_DIMS(z), 0);
    if (beta != 0)
        gil_take();
    return copy == NULL || (beta != 0 && PyArray_CopyInto(copy, z) < 0) ? NULL : copy;
}

/* Put a result that BLAS could not compute in z, for its order or its steps, into z, which the op overwrites. Where
 * nobody else has z, nobody can tell; the caller has what he lets us overwrite. */
static int put_back(const Machine *m, Frame *f, const Instruction *in, PyArrayObject *made, PyArrayObject *z) {
    const Product *p = in->plan;
    int reg = in->inputs[0], unseen = p->takes && !is_donated(z) && buffer_is_ours(m, f, reg);
    if (f->commits != NULL || !PyArray_ISBEHAVED(z) || unseen)
        return RUN_DONE;
    gil_take();
    if (PyArray_CopyInto(z, made) < 0)
        return RUN_RAISED;
    frame_set(f, in->outputs[0], Py_NewRef((PyObject *)z));
    return RUN_DONE;
}

static PyArrayObject *factor_array(const Frame *f, const Instruction *in, int position) {
    return (PyArrayObject *)f->registers[in->inputs[position]];
}

static int accumulate(Machine *m, Frame *f, const Instruction *in, Operands *o, double alpha, double beta) {
    const Product *p = in->plan;
    PyArrayObject *z = operand(f, in->inputs[0], p->type_num, p->kind == GEMM || p->kind == GER ? 2 : 1);
    if (z == NULL)
        return RUN_RAISED;
    npy_intp lengths[2] = {o->rows, o->cols}, *shape = p->kind == VECMAT ? lengths + 1 : lengths;
    for (int d = 0; d < PyArray_NDIM(z); d++)
        if (PyArray_DIMS(z)[d] != shape[d])
            return RUN_MISMATCH;
    if (may_defer(m, p, o, z, alpha))
        return defer(f, in, o, alpha, beta, z);
    if (f->commits != NULL && (z = commits_settle(f, in->inputs[0])) == NULL)
        return RUN_RAISED;
    PyArrayObject *made = target(m, f, in, z, beta);
    if (made == NULL || (alpha == 0 && multiply_by_zero(p, o, beta, made) < 0))
        return RUN_RAISED;
    Capture *capture = m->open == NULL ? NULL : capturing(m, f);
    if (capture != NULL)
        note_product(capture, f, in, o, factor_array(f, in, 2), factor_array(f, in, 3), z, made, alpha, beta);
    int status = alpha == 0 ? RUN_DONE : multiply_at_length(p, o, alpha, beta, PyArray_BYTES(made));
    return status == RUN_DONE && made != z && p->overwrites ? put_back(m, f, in, made, z) : status;
}

/* The product alone, times alpha. */
static int fresh(Machine *m, Frame *f, const Instruction *in, Operands *o, double alpha) {
    const Product *p = in->plan;
    npy_intp shape[2];
    int ndim = 0;
    if (is_matrix(p, 0) || p->kind == GER)
        shape[ndim++] = o->rows;
    if (is_matrix(p, 1) || p->kind == GER)
        shape[ndim++] = o->cols;
    PyArrayObject *z = buffer_obtain(m, f, in->outputs[0], p->type_num, ndim, shape, 0);
    if (z == NULL || (alpha == 0 && multiply_by_zero(p, o, 0.0, z) < 0))
        return RUN_RAISED;
    Capture *capture = m->open == NULL ? NULL : capturing(m, f);
    if (capture != NULL)
        note_product(capture, f, in, o, factor_array(f, in, 0), factor_array(f, in, 1), NULL, z, alpha, 0.0);
    return alpha == 0 ? RUN_DONE : multiply_at_length(p, o, alpha, 0.0, PyArray_BYTES(z));
}

/* Read a factor; 1 for an input that is not there. */
static int factor(Frame *f, const Instruction *in, int position, double *value) {
    const Product *p = in->plan;
    *value = 1.0;
    if (position < 0)
        return 0;
    PyArrayObject *array = operand(f, in->inputs[position], p->type_num, 0);
    if (array == NULL)
        return -1;
    *value = get(p, PyArray_DATA(array));
    return 0;
}

static int product_run(Machine *m, Frame *f, const Instruction *in) {
    const Product *p = in->plan;
    int first = in->n_inputs >= 4 ? 2 : 0, ndim_a = is_matrix(p, 0) ? 2 : 1, ndim_b = is_matrix(p, 1) ? 2 : 1;
    PyArrayObject *a = operand(f, in->inputs[first], p->type_num, ndim_a);
    PyArrayObject *b = a == NULL ? NULL : operand(f, in->inputs[first + 1], p->type_num, ndim_b);
    double alpha, beta;
    if (b == NULL || factor(f, in, alpha_position(in), &alpha) < 0 || factor(f, in, beta_position(in), &beta) < 0)
        return RUN_RAISED;
    /* The first operand may have been replaced when both are one register. */
    a = (PyArrayObject *)f->registers[in->inputs[first]];
    if (p->kind != GER && PyArray_DIMS(a)[ndim_a - 1] != PyArray_DIMS(b)[0])
        return RUN_MISMATCH;
    if (!fits_int(a) || !fits_int(b)) {
        gil_take();
        PyErr_SetString(PyExc_OverflowError, "a dimension is too long for BLAS, which counts with 32 bits");
        return RUN_RAISED;
    }
    Operands o;
    if (operands_prepare(p, a, b, &o) < 0)
        return RUN_RAISED;
    int status = first ? accumulate(m, f, in, &o, alpha, beta) : fresh(m, f, in, &o, alpha);
    operands_free(&o);
    return status;
}

/* Payload: (kind, type, address of the routine, z dies here, the op overwrites z, number of the update + 1 if the
 * product may wait, else 0). */
int product_prepare(Machine *m, Instruction *in, PyObject *payload) {
    unsigned long long address;
    Product *p = PyMem_Calloc(1, sizeof *p);
    if (p == NULL)
        return -1;
    in->plan = p;
    in->run = product_run;
    if (!PyArg_ParseTuple(payload, "iiKppi", &p->kind, &p->type_num, &address, &p->takes, &p->overwrites, &p->deferred))
        return -1;
    p->address = (uintptr_t)address;
    p->shared = m->thread_scale < 1e300;
    blas_find_threads(p->address);
    if (p->kind < DOT || p->kind > GER || (p->type_num != NPY_DOUBLE && p->type_num != NPY_FLOAT) || in->n_inputs < 2 ||
        in->n_inputs > 5 || (p->kind == DOT && in->n_inputs != 2) || in->n_outputs != 1) {
        PyErr_SetString(PyExc_ValueError, "product payload: unknown kind or type");
        return -1;
    }
    return 0;
}
