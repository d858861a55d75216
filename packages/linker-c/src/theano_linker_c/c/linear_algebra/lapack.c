/* Linear algebra through LAPACK's and BLAS's routines of the Fortran calling convention with 32-bit integers.
 *
 * A matrix with contiguous rows is, for Fortran, its transpose; what is asked of the routines takes this into account.
 * Whatever is out of the ordinary (a singular matrix, shapes that do not fit, stacks) is left to the op's Python code,
 * which computes it or raises. */
#include "runtime.h"
#include <limits.h>
#include <math.h>

enum {
    CHOLESKY = 0,
    TRIANGULAR = 1,
    SOLVE = 2,
    SYMMETRIC = 3,
    INVERSE = 4,
    DET = 5,
    SLOGDET = 6,
    EIGH = 7,
    SVD = 8,
    FACTOR_BACK = 9,
    QR = 10
};
/* Up to ALONE rows LAPACK runs in one thread. */
enum { MOST_ROUTINES = 2, BLOCK = 32, ALONE = 500 };

/* How the routines of each kind are called; `void *` stands for double or float. */
typedef void (*potrf_fn)(char *, int *, void *, int *, int *);
typedef void (*trsv_fn)(char *, char *, char *, int *, void *, int *, void *, int *);
typedef void (*trsm_fn)(char *, char *, char *, char *, int *, int *, void *, void *, int *, void *, int *);
typedef void (*gemm_fn)(char *, char *, int *, int *, int *, void *, void *, int *, void *, int *, void *, void *,
                        int *);
typedef void (*getrf_fn)(int *, int *, void *, int *, int *, int *);
typedef void (*getrs_fn)(char *, int *, int *, void *, int *, int *, void *, int *, int *);
typedef void (*sysv_fn)(char *, int *, int *, void *, int *, int *, void *, int *, void *, int *, int *);
typedef void (*getri_fn)(int *, void *, int *, int *, void *, int *, int *);
typedef void (*syevd_fn)(char *, char *, int *, void *, int *, void *, void *, int *, int *, int *, int *);
typedef void (*geqrf_fn)(int *, int *, void *, int *, void *, void *, int *, int *);
typedef void (*orgqr_fn)(int *, int *, int *, void *, int *, void *, void *, int *, int *);
typedef void (*gesdd_fn)(char *, int *, int *, void *, int *, void *, void *, int *, void *, int *, void *, int *,
                         int *, int *);

typedef struct {
    int kind, type_num, flag; /* flag: lower (of EIGH and factors); of SVD, QR: 0 s or r only, 1 reduced, 2 full */
    size_t item;
    void *routines[MOST_ROUTINES];
    PyObject *fallback; /* borrowed from the payload: input values -> output values */
} Lapack;

static double one_d = 1.0, minus_d = -1.0;
static float one_s = 1.0f, minus_s = -1.0f;

/* Copy a matrix into contiguous rows; part < 0: zeros above the diagonal, > 0: below, 0: all of it. */
#define DEFINE_COPY(NAME, TYPE)                                                                                        \
    static void NAME(TYPE *to, const char *from, npy_intp rows, npy_intp cols, npy_intp down, npy_intp right,          \
                     int part) {                                                                                       \
        for (npy_intp i = 0; i < rows; i++, to += cols, from += down) {                                                \
            npy_intp begin = part > 0 ? (i < cols ? i : cols) : 0, end = part < 0 && i + 1 < cols ? i + 1 : cols;      \
            for (npy_intp j = 0; j < begin; j++)                                                                       \
                to[j] = 0;                                                                                             \
            if (right == sizeof(TYPE))                                                                                 \
                memcpy(to + begin, from + begin * right, (size_t)(end - begin) * sizeof(TYPE));                        \
            else                                                                                                       \
                for (npy_intp j = begin; j < end; j++)                                                                 \
                    to[j] = *(const TYPE *)(from + j * right);                                                         \
            for (npy_intp j = end; j < cols; j++)                                                                      \
                to[j] = 0;                                                                                             \
        }                                                                                                              \
    }
DEFINE_COPY(copy_doubles, double)
DEFINE_COPY(copy_floats, float)

static void copy_strided(const Lapack *p, void *to, const char *from, npy_intp rows, npy_intp cols, npy_intp down,
                         npy_intp right, int part) {
    if (p->type_num == NPY_DOUBLE)
        copy_doubles(to, from, rows, cols, down, right, part);
    else
        copy_floats(to, from, rows, cols, down, right, part);
}

static void copy_matrix(const Lapack *p, void *to, PyArrayObject *a, int part) {
    copy_strided(p, to, PyArray_BYTES(a), PyArray_DIMS(a)[0], PyArray_DIMS(a)[1], PyArray_STRIDES(a)[0],
                 PyArray_STRIDES(a)[1], part);
}

/* Copy a vector or matrix into columns that are contiguous, as Fortran has them. */
static void copy_turned(const Lapack *p, void *to, PyArrayObject *b) {
    int vector = PyArray_NDIM(b) == 1;
    copy_strided(p, to, PyArray_BYTES(b), vector ? 1 : PyArray_DIMS(b)[1], PyArray_DIMS(b)[0],
                 vector ? 0 : PyArray_STRIDES(b)[1], PyArray_STRIDES(b)[0], 0);
}

/* Whether one side of a matrix is contiguous, so that routines can read it where it lies. */
static int readable(PyArrayObject *a, size_t item, int *transposed, int *step) {
    npy_intp n = PyArray_DIMS(a)[0], down = PyArray_STRIDES(a)[0], right = PyArray_STRIDES(a)[1];
    for (*transposed = 0; *transposed < 2; ++*transposed) {
        npy_intp inner = *transposed ? down : right, outer = *transposed ? right : down;
        if (inner == (npy_intp)item && outer % (npy_intp)item == 0 && outer / (npy_intp)item >= n &&
            outer / (npy_intp)item <= INT_MAX) {
            *step = (int)(outer / (npy_intp)item);
            return 1;
        }
    }
    return 0;
}

static int cholesky(const Lapack *p, PyArrayObject *a, PyArrayObject *out) {
    int n = (int)PyArray_DIMS(a)[0], info = 0;
    char triangle = p->flag ? 'U' : 'L';
    copy_matrix(p, PyArray_DATA(out), a, p->flag ? -1 : 1);
    ((potrf_fn)p->routines[0])(&triangle, &n, PyArray_DATA(out), &n, &info);
    return info;
}

static int has_zero(const Lapack *p, PyArrayObject *a) {
    npy_intp n = PyArray_DIMS(a)[0], step = PyArray_STRIDES(a)[0] + PyArray_STRIDES(a)[1];
    const char *at = PyArray_BYTES(a);
    for (npy_intp i = 0; i < n; i++, at += step)
        if (p->type_num == NPY_DOUBLE ? *(const double *)at == 0.0 : *(const float *)at == 0.0f)
            return 1;
    return 0;
}

/* The solution takes the place of a copy of the right-hand side; `work` holds the matrix where it must be copied. */
static int triangular(const Lapack *p, PyArrayObject *a, PyArrayObject *b, PyArrayObject *out, void *work) {
    int n = (int)PyArray_DIMS(a)[0], transposed = 0, step = n, one = 1;
    void *matrix = PyArray_DATA(a);
    if (has_zero(p, a))
        return 1;
    if (!readable(a, p->item, &transposed, &step)) {
        copy_matrix(p, work, a, 0);
        matrix = work;
        transposed = 0;
        step = n;
    }
    char triangle = (p->flag != 0) == (transposed != 0) ? 'L' : 'U', diagonal = 'N';
    if (PyArray_NDIM(b) == 1) {
        char trans = transposed ? 'N' : 'T';
        copy_turned(p, PyArray_DATA(out), b);
        ((trsv_fn)p->routines[0])(&triangle, &trans, &diagonal, &n, matrix, &step, PyArray_DATA(out), &one);
        return 0;
    }
    /* For Fortran the rows of b are columns: x' A' = b'. */
    int columns = (int)PyArray_DIMS(b)[1];
    char side = 'R', trans = transposed ? 'T' : 'N';
    copy_matrix(p, PyArray_DATA(out), b, 0);
    ((trsm_fn)p->routines[1])(&side, &triangle, &trans, &diagonal, &columns, &n,
                              p->type_num == NPY_DOUBLE ? (void *)&one_d : &one_s, matrix, &step, PyArray_DATA(out),
                              &columns);
    return 0;
}

static int solve(const Lapack *p, PyArrayObject *a, PyArrayObject *b, PyArrayObject *out, void *work) {
    int n = (int)PyArray_DIMS(a)[0], columns = PyArray_NDIM(b) == 1 ? 1 : (int)PyArray_DIMS(b)[1], info = 0;
    char *matrix = work, *right = matrix + (size_t)n * n * p->item;
    int *pivots = (int *)(right + (size_t)n * columns * p->item);
    void *target = columns == 1 ? PyArray_DATA(out) : right;
    copy_matrix(p, matrix, a, 0);
    copy_turned(p, target, b);
    if (p->kind == SOLVE) {
        char trans = 'T';
        ((getrf_fn)p->routines[0])(&n, &n, matrix, &n, pivots, &info);
        if (info == 0)
            ((getrs_fn)p->routines[1])(&trans, &n, &columns, matrix, &n, pivots, target, &n, &info);
    } else {
        char triangle = p->flag ? 'U' : 'L';
        int length = 64 * n;
        void *space = malloc((size_t)length * p->item);
        if (space == NULL)
            return 1;
        ((sysv_fn)p->routines[0])(&triangle, &n, &columns, matrix, &n, pivots, target, &n, space, &length, &info);
        free(space);
    }
    if (info == 0 && columns != 1)
        copy_strided(p, PyArray_DATA(out), right, n, columns, (npy_intp)p->item, (npy_intp)n * (npy_intp)p->item, 0);
    return info;
}

static int inverse(const Lapack *p, PyArrayObject *a, PyArrayObject *out, void *work) {
    int n = (int)PyArray_DIMS(a)[0], info = 0, length = 64 * n;
    int *pivots = (int *)((char *)work + (size_t)length * p->item);
    copy_matrix(p, PyArray_DATA(out), a, 0);
    ((getrf_fn)p->routines[0])(&n, &n, PyArray_DATA(out), &n, pivots, &info);
    if (info == 0)
        ((getri_fn)p->routines[1])(&n, PyArray_DATA(out), &n, pivots, work, &length, &info);
    return info;
}

/* Sign and logarithm of the size of the determinant, or the determinant itself. As in NumPy, a pivot of 0 makes both 0
 * whatever the others are, and one of NaN counts as positive for the sign. */
static int determinant(const Lapack *p, PyArrayObject *a, void *work, double *sign, double *value) {
    int n = (int)PyArray_DIMS(a)[0], info = 0;
    int *pivots = (int *)((char *)work + (size_t)n * n * p->item);
    copy_matrix(p, work, a, 0);
    ((getrf_fn)p->routines[0])(&n, &n, work, &n, pivots, &info);
    if (info < 0)
        return info;
    *sign = 1.0;
    *value = p->kind == DET ? 1.0 : 0.0;
    if (info > 0) {
        *sign = 0.0;
        *value = p->kind == DET ? 0.0 : -INFINITY;
        return 0;
    }
    for (int i = 0; i < n; i++) {
        size_t place = (size_t)i * (n + 1);
        double x = p->type_num == NPY_DOUBLE ? ((double *)work)[place] : ((float *)work)[place];
        if (pivots[i] != i + 1)
            *sign = -*sign;
        if (p->kind == DET) {
            *value *= x;
        } else {
            *sign = x < 0 ? -*sign : *sign;
            *value += log(fabs(x));
        }
    }
    if (p->kind == DET)
        *value *= *sign;
    return 0;
}

static int eigh(const Lapack *p, PyArrayObject *a, PyArrayObject *values, PyArrayObject *vectors, void *work) {
    int n = (int)PyArray_DIMS(a)[0], info = 0, length = 1 + 6 * n + 2 * n * n, integers = 3 + 5 * n;
    char job = 'V', triangle = p->flag ? 'U' : 'L';
    char *matrix = work, *space = matrix + (size_t)n * n * p->item;
    copy_matrix(p, matrix, a, 0);
    ((syevd_fn)p->routines[0])(&job, &triangle, &n, matrix, &n, PyArray_DATA(values), space, &length,
                               (int *)(space + (size_t)length * p->item), &integers, &info);
    copy_strided(p, PyArray_DATA(vectors), matrix, n, n, (npy_intp)p->item, (npy_intp)n * (npy_intp)p->item, 0);
    return info;
}

/* The matrix is transposed for Fortran, and its vectors are transposed back: of the transpose they would have other
 * signs than NumPy's. */
static int svd(const Lapack *p, PyArrayObject *a, PyArrayObject *u, PyArrayObject *s, PyArrayObject *vt) {
    int m = (int)PyArray_DIMS(a)[0], n = (int)PyArray_DIMS(a)[1], k = m < n ? m : n, info = 0, length = -1;
    int columns = p->flag == 2 ? m : k, rows = p->flag == 2 ? n : k, lda = m > 1 ? m : 1, ldvt = rows > 1 ? rows : 1;
    char job = p->flag == 0 ? 'N' : p->flag == 1 ? 'S' : 'A';
    union {
        double d;
        float s;
    } wanted;
    gesdd_fn gesdd = (gesdd_fn)p->routines[0];
    gesdd(&job, &m, &n, NULL, &lda, PyArray_DATA(s), NULL, &lda, NULL, &ldvt, &wanted, &length, &info, &info);
    if (info != 0)
        return info;
    double need = p->type_num == NPY_DOUBLE ? wanted.d : wanted.s;
    if (!(need > 0 && need < 2e9))
        return 1; /* more than 32 bits count */
    length = (int)need + 1;
    size_t matrix = (size_t)m * n, left_size = p->flag ? (size_t)m * columns : 0;
    size_t right_size = p->flag ? (size_t)rows * n : 0, item = p->item;
    char *work = malloc((matrix + left_size + right_size + length) * item + (size_t)k * 8 * sizeof(int));
    if (work == NULL)
        return 1;
    char *left = work + matrix * item, *right = left + left_size * item, *space = right + right_size * item;
    copy_turned(p, work, a);
    gesdd(&job, &m, &n, work, &lda, PyArray_DATA(s), left, &lda, right, &ldvt, space, &length,
          (int *)(space + (size_t)length * item), &info);
    if (info == 0 && p->flag) {
        copy_strided(p, PyArray_DATA(u), left, m, columns, (npy_intp)item, (npy_intp)(m * item), 0);
        copy_strided(p, PyArray_DATA(vt), right, rows, n, (npy_intp)item, (npy_intp)(rows * item), 0);
    }
    free(work);
    return info;
}

/* The gradient by a block on the diagonal, given those by its lower factor (Smith 1995); then the sum of it and its
 * transpose, and zeros above the diagonal. */
#define DEFINE_BLOCK_BACK(NAME, TYPE)                                                                                  \
    static void NAME(TYPE *f, const TYPE *l, int n, int step, TYPE *both) {                                            \
        for (int k = n - 1; k >= 0; k--) {                                                                             \
            TYPE pivot = l[k * step + k], remainder = f[k * step + k];                                                 \
            for (int i = k + 1; i < n; i++)                                                                            \
                for (int j = k + 1; j <= i; j++) {                                                                     \
                    f[i * step + k] -= f[i * step + j] * l[j * step + k];                                              \
                    f[j * step + k] -= f[i * step + j] * l[i * step + k];                                              \
                }                                                                                                      \
            for (int j = k + 1; j < n; j++) {                                                                          \
                f[j * step + k] /= pivot;                                                                              \
                remainder -= l[j * step + k] * f[j * step + k];                                                        \
            }                                                                                                          \
            f[k * step + k] = remainder / (2 * pivot);                                                                 \
        }                                                                                                              \
        for (int i = 0; i < n; i++)                                                                                    \
            for (int j = 0; j <= i; j++) {                                                                             \
                both[i * n + j] = both[j * n + i] = f[i * step + j] * (i == j ? 2 : 1);                                \
                if (j < i)                                                                                             \
                    f[j * step + i] = 0;                                                                               \
            }                                                                                                          \
    }
DEFINE_BLOCK_BACK(block_back_doubles, double)
DEFINE_BLOCK_BACK(block_back_floats, float)

/* c -= op(a) b for matrices with contiguous rows, `step` apart in b and c. */
static void subtract_product(const Lapack *p, int transposed, int rows, int cols, int inner, void *a, int step_a,
                             void *b, void *c, int step) {
    char plain = 'N', trans = transposed ? 'T' : 'N';
    int d = p->type_num == NPY_DOUBLE;
    if (rows > 0 && cols > 0 && inner > 0)
        ((gemm_fn)p->routines[1])(&plain, &trans, &cols, &rows, &inner, d ? (void *)&minus_d : &minus_s, b, &step, a,
                                  &step_a, d ? (void *)&one_d : &one_s, c, &step);
}

/* Murray (2016), "Differentiation of the Cholesky decomposition", section 4: blocks of columns from the last to the
 * first. The gradient by the factor becomes the one by the matrix in its place. */
static int factor_back(const Lapack *p, PyArrayObject *factor, PyArrayObject *g, PyArrayObject *out, char *work) {
    int n = (int)PyArray_DIMS(factor)[0], d = p->type_num == NPY_DOUBLE;
    char *l = work, *both = work + (size_t)n * n * p->item, *f = PyArray_DATA(out);
    copy_matrix(p, l, factor, -1);
    copy_matrix(p, f, g, -1);
    for (int k = n; k > 0; k -= BLOCK) {
        int j = k > BLOCK ? k - BLOCK : 0, width = k - j, below = n - k;
        size_t left = (size_t)j * n * p->item, corner = left + j * p->item, low = (size_t)k * n * p->item;
        char side = 'L', triangle = 'U', trans = 'N', diagonal = 'N';
        char *column = f + low + j * p->item;
        if (below > 0)
            ((trsm_fn)p->routines[0])(&side, &triangle, &trans, &diagonal, &width, &below, d ? (void *)&one_d : &one_s,
                                      l + corner, &n, column, &n);
        subtract_product(p, 0, below, j, width, column, n, l + left, f + low, n);
        subtract_product(p, 1, width, width, below, column, n, l + low + j * p->item, f + corner, n);
        if (d)
            block_back_doubles((double *)(f + corner), (double *)(l + corner), width, n, (double *)both);
        else
            block_back_floats((float *)(f + corner), (float *)(l + corner), width, n, (float *)both);
        subtract_product(p, 1, width, j, below, column, n, l + low, f + left, n);
        subtract_product(p, 0, width, j, width, both, width, l + left, f + left, n);
    }
    return 0;
}

static int qr(const Lapack *p, PyArrayObject *a, PyArrayObject *q, PyArrayObject *r) {
    int m = (int)PyArray_DIMS(a)[0], n = (int)PyArray_DIMS(a)[1], k = m < n ? m : n, info = 0;
    int columns = p->flag == 2 ? m : k, most = m < n ? n : m, length = 64 * most;
    npy_intp down = (npy_intp)p->item, right = (npy_intp)m * (npy_intp)p->item;
    char *work = malloc(((size_t)m * most + (size_t)k + (size_t)length) * p->item);
    if (work == NULL)
        return 1;
    char *factors = work + (size_t)m * most * p->item, *space = factors + (size_t)k * p->item;
    copy_turned(p, work, a);
    ((geqrf_fn)p->routines[0])(&m, &n, work, &m, factors, space, &length, &info);
    copy_strided(p, PyArray_DATA(r), work, PyArray_DIMS(r)[0], n, down, right, 1);
    if (info == 0 && q != NULL) {
        ((orgqr_fn)p->routines[1])(&m, &columns, &k, work, &m, factors, space, &length, &info);
        copy_strided(p, PyArray_DATA(q), work, m, columns, down, right, 0);
    }
    free(work);
    return info;
}

static size_t work_bytes(const Lapack *p, size_t n, size_t columns) {
    switch (p->kind) {
    case TRIANGULAR: return n * n * p->item;
    case SOLVE:
    case SYMMETRIC: return (n * n + n * columns) * p->item + n * sizeof(int);
    case INVERSE: return 64 * n * p->item + n * sizeof(int);
    case DET:
    case SLOGDET: return n * n * p->item + n * sizeof(int);
    case EIGH: return (n * n + 1 + 6 * n + 2 * n * n) * p->item + (3 + 5 * n) * sizeof(int);
    case FACTOR_BACK: return (n * n + BLOCK * BLOCK) * p->item;
    default: return 0;
    }
}

/* An array in the dtype and with the dimensions that the routines take, or NULL: it is left to Python. */
static PyArrayObject *plain(const Lapack *p, const Frame *f, int reg, int least, int most) {
    PyArrayObject *a = (PyArrayObject *)f->registers[reg];
    if (a == NULL || !PyArray_Check(a) || PyArray_TYPE(a) != p->type_num || !PyArray_ISBEHAVED_RO(a) ||
        PyArray_NDIM(a) < least || PyArray_NDIM(a) > most || PyArray_SIZE(a) == 0)
        return NULL;
    for (int d = 0; d < PyArray_NDIM(a); d++)
        if (PyArray_DIMS(a)[d] > 30000)
            return NULL; /* products of lengths must stay within 32 bits */
    return a;
}

/* Arrays for all outputs; 0, or -1 with an exception. */
static int obtain(Machine *m, Frame *f, const Instruction *in, const Lapack *p, PyArrayObject *a, PyArrayObject *b,
                  PyArrayObject **out) {
    npy_intp rows = PyArray_DIMS(a)[0], cols = PyArray_DIMS(a)[1], k = rows < cols ? rows : cols;
    npy_intp u[2] = {rows, p->flag == 2 ? rows : k}, vt[2] = {p->flag == 2 ? cols : k, cols};
    npy_intp r[2] = {p->flag == 2 ? rows : k, cols};
    for (int i = 0; i < in->n_outputs; i++) {
        const npy_intp *shape = PyArray_DIMS(a);
        int ndim = 2;
        if (p->kind == DET || p->kind == SLOGDET) {
            ndim = 0;
        } else if (b != NULL) {
            ndim = PyArray_NDIM(b);
            shape = PyArray_DIMS(b);
        } else if (p->kind == EIGH && i == 0) {
            ndim = 1;
        } else if (p->kind == SVD) {
            int values = p->flag == 0 || i == 1;
            ndim = values ? 1 : 2;
            shape = values ? &k : i == 0 ? u : vt;
        } else if (p->kind == QR) {
            shape = i == 0 && p->flag != 0 ? u : r;
        }
        out[i] = buffer_obtain(m, f, in->outputs[i], p->type_num, ndim, shape, 0);
        if (out[i] == NULL)
            return -1;
    }
    return 0;
}

static int compute(const Lapack *p, PyArrayObject *a, PyArrayObject *b, PyArrayObject **out, void *work,
                   double *number) {
    switch (p->kind) {
    case CHOLESKY: return cholesky(p, a, out[0]);
    case TRIANGULAR: return triangular(p, a, b, out[0], work);
    case SOLVE:
    case SYMMETRIC: return solve(p, a, b, out[0], work);
    case INVERSE: return inverse(p, a, out[0], work);
    case EIGH: return eigh(p, a, out[0], out[1], work);
    case FACTOR_BACK: return factor_back(p, a, b, out[0], work);
    case QR: return p->flag == 0 ? qr(p, a, NULL, out[0]) : qr(p, a, out[0], out[1]);
    case SVD: return p->flag == 0 ? svd(p, a, NULL, out[0], NULL) : svd(p, a, out[0], out[1], out[2]);
    default: return determinant(p, a, work, &number[0], &number[1]);
    }
}

static void set_number(const Lapack *p, PyArrayObject *to, double value) {
    if (p->type_num == NPY_DOUBLE)
        *(double *)PyArray_DATA(to) = value;
    else
        *(float *)PyArray_DATA(to) = (float)value;
}

static int lapack_run(Machine *m, Frame *f, const Instruction *in) {
    const Lapack *p = in->plan;
    /* Of a matrix, its factor and the gradient by it, the last two count. */
    int first = in->n_inputs - (in->n_inputs > 1 ? 2 : 1);
    PyArrayObject *a = plain(p, f, in->inputs[first], 2, 2), *b = NULL, *out[3];
    if (a == NULL || (p->kind != SVD && p->kind != QR && PyArray_DIMS(a)[0] != PyArray_DIMS(a)[1]))
        return frame_call(f, in, p->fallback);
    if (in->n_inputs > 1) {
        b = plain(p, f, in->inputs[first + 1], 1, 2);
        if (b == NULL || PyArray_DIMS(a)[0] != PyArray_DIMS(b)[0] ||
            (p->kind == FACTOR_BACK && (PyArray_NDIM(b) != 2 || PyArray_DIMS(a)[0] != PyArray_DIMS(b)[1])))
            return frame_call(f, in, p->fallback);
    }
    size_t n = (size_t)PyArray_DIMS(a)[0];
    size_t bytes = work_bytes(p, n, b == NULL || PyArray_NDIM(b) == 1 ? 1 : (size_t)PyArray_DIMS(b)[1]);
    void *work = bytes == 0 ? NULL : PyMem_RawMalloc(bytes);
    double number[2] = {0.0, 0.0};
    if (bytes != 0 && work == NULL) {
        PyErr_NoMemory();
        return RUN_RAISED;
    }
    if (obtain(m, f, in, p, a, b, out) < 0) {
        PyMem_RawFree(work);
        return RUN_RAISED;
    }
    NPY_BEGIN_THREADS_DEF;
    NPY_BEGIN_THREADS_THRESHOLDED((double)n * (double)n * (double)n > 1e5 ? 501 : 0);
    int alone = n <= ALONE && lapack_alone(), info = compute(p, a, b, out, work, number);
    if (alone)
        lapack_many();
    NPY_END_THREADS;
    PyMem_RawFree(work);
    if (info != 0)
        return frame_call(f, in, p->fallback);
    if (p->kind == SLOGDET)
        set_number(p, out[0], number[0]);
    if (p->kind == DET || p->kind == SLOGDET)
        set_number(p, out[p->kind == SLOGDET], number[1]);
    return RUN_DONE;
}

/* Payload: (kind, type, flag, addresses of the routines, Python form). */
int lapack_prepare(Machine *m, Instruction *in, PyObject *payload) {
    static const int inputs[] = {1, 2, 2, 2, 1, 1, 1, 1, 1, 3, 1};
    PyObject *addresses;
    (void)m;
    Lapack *p = PyMem_Calloc(1, sizeof *p);
    if (p == NULL)
        return -1;
    in->plan = p;
    in->run = lapack_run;
    if (!PyArg_ParseTuple(payload, "iiiO!O", &p->kind, &p->type_num, &p->flag, &PyTuple_Type, &addresses, &p->fallback))
        return -1;
    p->item = p->type_num == NPY_DOUBLE ? sizeof(double) : sizeof(float);
    if (p->kind < CHOLESKY || p->kind > QR || (p->type_num != NPY_DOUBLE && p->type_num != NPY_FLOAT) ||
        in->n_inputs != inputs[p->kind] || in->n_outputs > 3 || PyTuple_GET_SIZE(addresses) > MOST_ROUTINES) {
        PyErr_SetString(PyExc_ValueError, "lapack payload: unknown kind or type");
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(addresses); i++)
        p->routines[i] = PyLong_AsVoidPtr(PyTuple_GET_ITEM(addresses, i));
    lapack_find_threads((uintptr_t)p->routines[0]);
    return PyErr_Occurred() ? -1 : 0;
}
