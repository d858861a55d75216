/* Linear algebra of one matrix through LAPACK's and BLAS's routines of the Fortran calling convention with 32-bit
 * integers.
 *
 * A matrix with contiguous rows is, for Fortran, its transpose; the arguments of the routines take this into
 * account. */
#include "lapack.h"
#include <float.h>
#include <limits.h>
#include <math.h>

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

static void copy_matrix(const Lapack *p, void *to, const View *a, int part) {
    copy_strided(p, to, a->data, a->dims[0], a->dims[1], a->strides[0], a->strides[1], part);
}

/* Copy a vector or matrix into columns that are contiguous, as Fortran has them. */
static void copy_turned(const Lapack *p, void *to, const View *b) {
    int vector = b->ndim == 1;
    copy_strided(p, to, b->data, vector ? 1 : b->dims[1], b->dims[0], vector ? 0 : b->strides[1], b->strides[0], 0);
}

/* Whether one side of a matrix is contiguous, so that routines can read it where it lies. */
static int readable(const View *a, size_t item, int *transposed, int *step) {
    npy_intp n = a->dims[0], down = a->strides[0], right = a->strides[1];
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

static int cholesky(const Lapack *p, const View *a, const View *out) {
    int n = (int)a->dims[0], info = 0;
    char triangle = p->flag ? 'U' : 'L';
    copy_matrix(p, out->data, a, p->flag ? -1 : 1);
    ((potrf_fn)p->routines[0])(&triangle, &n, out->data, &n, &info);
    return info;
}

static int has_zero(const Lapack *p, const View *a) {
    npy_intp n = a->dims[0], step = a->strides[0] + a->strides[1];
    const char *at = a->data;
    for (npy_intp i = 0; i < n; i++, at += step)
        if (p->type_num == NPY_DOUBLE ? *(const double *)at == 0.0 : *(const float *)at == 0.0f)
            return 1;
    return 0;
}

/* The solution takes the place of a copy of the right-hand side; `work` holds the matrix where it must be copied. */
static int triangular(const Lapack *p, const View *a, const View *b, const View *out, void *work) {
    int n = (int)a->dims[0], transposed = 0, step = n, one = 1;
    void *matrix = a->data;
    if (has_zero(p, a))
        return 1;
    if (!readable(a, p->item, &transposed, &step)) {
        copy_matrix(p, work, a, 0);
        matrix = work;
        transposed = 0;
        step = n;
    }
    char triangle = (p->flag != 0) == (transposed != 0) ? 'L' : 'U', diagonal = 'N';
    if (b->ndim == 1) {
        char trans = transposed ? 'N' : 'T';
        copy_turned(p, out->data, b);
        ((trsv_fn)p->routines[0])(&triangle, &trans, &diagonal, &n, matrix, &step, out->data, &one);
        return 0;
    }
    /* For Fortran the rows of b are columns: x' A' = b'. */
    int columns = (int)b->dims[1];
    char side = 'R', trans = transposed ? 'T' : 'N';
    copy_matrix(p, out->data, b, 0);
    ((trsm_fn)p->routines[1])(&side, &triangle, &trans, &diagonal, &columns, &n,
                              p->type_num == NPY_DOUBLE ? (void *)&one_d : &one_s, matrix, &step, out->data, &columns);
    return 0;
}

static int factor(const Lapack *p, int n, void *a, int *pivots) {
    int info = 0;
    if (n <= SMALL)
        return small_factor(p, n, a, pivots);
    ((getrf_fn)p->routines[0])(&n, &n, a, &n, pivots, &info);
    return info;
}

static int solve(const Lapack *p, const View *a, const View *b, const View *out, void *work) {
    int n = (int)a->dims[0], columns = b->ndim == 1 ? 1 : (int)b->dims[1], info = 0;
    char *matrix = work, *right = matrix + (size_t)n * n * p->item;
    int *pivots = (int *)(right + (size_t)n * columns * p->item);
    void *target = columns == 1 ? out->data : right;
    copy_matrix(p, matrix, a, 0);
    if (p->kind == SOLVE && n <= SMALL) {
        if (b->ndim == 1)
            copy_turned(p, out->data, b);
        else
            copy_matrix(p, out->data, b, 0);
        info = small_factor(p, n, matrix, pivots);
        if (info == 0)
            small_substitute(p, n, columns, matrix, pivots, out->data);
        return info;
    }
    copy_turned(p, target, b);
    if (p->kind == SOLVE) {
        char trans = 'T';
        info = factor(p, n, matrix, pivots);
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
        copy_strided(p, out->data, right, n, columns, (npy_intp)p->item, (npy_intp)n * (npy_intp)p->item, 0);
    return info;
}

/* Replace factors by the inverse of what was factored, with 64 n numbers to work in. */
static int invert(const Lapack *p, int n, void *a, int *pivots, void *work) {
    int info = 0, length = 64 * n;
    if (n <= SMALL) {
        memcpy(work, a, (size_t)n * n * p->item);
        small_unit(p, n, a);
        small_substitute(p, n, n, work, pivots, a);
    } else {
        ((getri_fn)p->routines[1])(&n, a, &n, pivots, work, &length, &info);
    }
    return info;
}

static int inverse(const Lapack *p, const View *a, const View *out, void *work) {
    int n = (int)a->dims[0], info;
    int *pivots = (int *)((char *)work + (size_t)64 * n * p->item);
    copy_matrix(p, out->data, a, 0);
    info = factor(p, n, out->data, pivots);
    return info == 0 ? invert(p, n, out->data, pivots, work) : info;
}

/* Sign and logarithm of the size of the determinant, or the determinant itself. As in NumPy, a pivot of 0 makes both 0
 * whatever the others are, and one of NaN counts as positive for the sign. */
static int determinant(const Lapack *p, const View *a, void *work, double *sign, double *value) {
    int n = (int)a->dims[0];
    int *pivots = (int *)((char *)work + (size_t)n * n * p->item);
    copy_matrix(p, work, a, 0);
    int info = factor(p, n, work, pivots);
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

/* Replace an inverse by its transpose times mantissa * 2^exponent; return the greatest sum of sizes in a row. */
#define DEFINE_TURN(NAME, TYPE)                                                                                        \
    static double NAME(TYPE *x, int n, double mantissa, int exponent) {                                                \
        int plain = exponent > -900 && exponent < 900;                                                                 \
        double most = 0, factor = plain ? ldexp(mantissa, exponent) : mantissa;                                        \
        int rest = plain ? 0 : exponent;                                                                               \
        for (int i = 0; i < n; i++) {                                                                                  \
            double size = 0;                                                                                           \
            for (int j = 0; j < n; j++)                                                                                \
                size += fabs((double)x[(size_t)i * n + j]);                                                            \
            most = size > most || size != size ? size : most;                                                          \
        }                                                                                                              \
        for (int i = 0; i < n; i++)                                                                                    \
            for (int j = 0; j <= i; j++) {                                                                             \
                TYPE *one = x + (size_t)i * n + j, *other = x + (size_t)j * n + i;                                     \
                double low = *one * factor, high = *other * factor;                                                    \
                *one = (TYPE)(plain ? high : ldexp(high, rest));                                                       \
                *other = (TYPE)(plain ? low : ldexp(low, rest));                                                       \
            }                                                                                                          \
        return most;                                                                                                   \
    }
DEFINE_TURN(turn_doubles, double)
DEFINE_TURN(turn_floats, float)

/* The determinant times the inverse, transposed, times a number. Both come from the same factors, so that rounding of
 * small pivots cancels; a matrix that is nearly singular is left to Python. */
static int cofactors(const Lapack *p, const View *a, const View *g, const View *out, void *work) {
    int n = (int)a->dims[0], exponent = 0, d = p->type_num == NPY_DOUBLE;
    int *pivots = (int *)((char *)work + (size_t)64 * n * p->item);
    double mantissa = d ? *(double *)(void *)g->data : *(float *)(void *)g->data, norm = 0;
    copy_matrix(p, out->data, a, 0);
    for (int i = 0; i < n; i++) {
        double size = 0;
        for (int j = 0; j < n; j++) {
            size_t place = (size_t)i * n + j;
            size += fabs(d ? ((double *)(void *)out->data)[place] : ((float *)(void *)out->data)[place]);
        }
        norm = size > norm || size != size ? size : norm;
    }
    int info = factor(p, n, out->data, pivots);
    if (info != 0)
        return info;
    for (int i = 0; i < n; i++) {
        size_t place = (size_t)i * (n + 1);
        double x = d ? ((double *)(void *)out->data)[place] : ((float *)(void *)out->data)[place];
        int more;
        mantissa = frexp(mantissa * (pivots[i] != i + 1 ? -x : x), &more);
        exponent += more;
    }
    info = invert(p, n, out->data, pivots, work);
    if (info != 0)
        return info;
    double other = d ? turn_doubles((double *)(void *)out->data, n, mantissa, exponent)
                     : turn_floats((float *)(void *)out->data, n, mantissa, exponent);
    return !(norm * other < pow(d ? DBL_EPSILON : FLT_EPSILON, -0.9));
}

/* The matrix is transposed for Fortran: of the transpose, vectors would have other signs than NumPy's. */
static int eigh(const Lapack *p, const View *a, const View *values, const View *vectors, void *work) {
    int n = (int)a->dims[0], info = 0, length = 1 + 6 * n + 2 * n * n, integers = 3 + 5 * n;
    char job = 'V', triangle = p->flag ? 'L' : 'U';
    char *matrix = work, *space = matrix + (size_t)n * n * p->item;
    copy_turned(p, matrix, a);
    ((syevd_fn)p->routines[0])(&job, &triangle, &n, matrix, &n, values->data, space, &length,
                               (int *)(space + (size_t)length * p->item), &integers, &info);
    copy_strided(p, vectors->data, matrix, n, n, (npy_intp)p->item, (npy_intp)n * (npy_intp)p->item, 0);
    return info;
}

/* Likewise; the vectors are transposed back. */
static int svd(const Lapack *p, const View *a, const View *u, const View *s, const View *vt) {
    int m = (int)a->dims[0], n = (int)a->dims[1], k = m < n ? m : n, info = 0, length = -1;
    int columns = p->flag == 2 ? m : k, rows = p->flag == 2 ? n : k, lda = m > 1 ? m : 1, ldvt = rows > 1 ? rows : 1;
    char job = p->flag == 0 ? 'N' : p->flag == 1 ? 'S' : 'A';
    union {
        double d;
        float s;
    } wanted;
    gesdd_fn gesdd = (gesdd_fn)p->routines[0];
    gesdd(&job, &m, &n, NULL, &lda, s->data, NULL, &lda, NULL, &ldvt, &wanted, &length, &info, &info);
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
    gesdd(&job, &m, &n, work, &lda, s->data, left, &lda, right, &ldvt, space, &length,
          (int *)(space + (size_t)length * item), &info);
    if (info == 0 && p->flag) {
        copy_strided(p, u->data, left, m, columns, (npy_intp)item, (npy_intp)(m * item), 0);
        copy_strided(p, vt->data, right, rows, n, (npy_intp)item, (npy_intp)(rows * item), 0);
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
static int factor_back(const Lapack *p, const View *factor, const View *g, const View *out, char *work) {
    int n = (int)factor->dims[0], d = p->type_num == NPY_DOUBLE;
    char *l = work, *both = work + (size_t)n * n * p->item, *f = out->data;
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

static double number(const Lapack *p, const void *x, size_t place) {
    return p->type_num == NPY_DOUBLE ? ((const double *)x)[place] : (double)((const float *)x)[place];
}

static void set_number(const Lapack *p, void *to, size_t place, double value) {
    if (p->type_num == NPY_DOUBLE)
        ((double *)to)[place] = value;
    else
        ((float *)to)[place] = (float)value;
}

/* c = op(a) op(b) for square matrices with contiguous rows. */
static void square_product(const Lapack *p, int n, char trans_a, void *a, char trans_b, void *b, void *c) {
    double zero = 0;
    ((gemm_fn)p->routines[0])(&trans_b, &trans_a, &n, &n, &n, p->type_num == NPY_DOUBLE ? (void *)&one_d : &one_s, b,
                              &n, a, &n, &zero, c, &n);
}

/* The gradient by a symmetric matrix, given those by its eigenvalues w and eigenvectors v: v h v', where h has the
 * former on its diagonal, and beside it skew[i, j] / (w[j] - w[i]), skew = (v' gv - gv' v) / 2. Values that differ by
 * roundings count as equal; where no gradient tells them apart h is 0. */
static int eigh_back(const Lapack *p, const View *x, const View *out, double *work) {
    const View *v = x, *gv = x + 1, *w = x + 2, *gw = x + 3;
    size_t n = (size_t)v->dims[0], all = n * n * p->item;
    double *values = work, *slopes = values + n;
    char *vectors = (char *)(slopes + n), *inner = vectors + all, *turn = inner + all;
    double step = 16 * (p->type_num == NPY_DOUBLE ? DBL_EPSILON : FLT_EPSILON), size = 0, of_w = 0, of_gw = 0;
    for (size_t i = 0; i < n; i++) {
        of_w += fabs(values[i] = number(p, w->data + (npy_intp)i * w->strides[0], 0));
        of_gw += fabs(slopes[i] = number(p, gw->data + (npy_intp)i * gw->strides[0], 0));
    }
    copy_matrix(p, vectors, v, 0);
    copy_matrix(p, inner, gv, 0);
    square_product(p, (int)n, 'T', vectors, 'N', inner, turn);
    for (size_t i = 0; i < n * n; i++)
        size += fabs(number(p, turn, i));
    for (size_t i = 0; i < n; i++) {
        set_number(p, inner, i * n + i, slopes[i]);
        for (size_t j = 0; j < i; j++) {
            double skew = (number(p, turn, i * n + j) - number(p, turn, j * n + i)) / 2, gap = values[j] - values[i];
            int equal = fabs(gap) <= step * of_w;
            int free = fabs(skew) <= step * size && fabs(slopes[j] - slopes[i]) <= step * of_gw;
            double h = equal && free ? 0 : skew / (equal ? 0 : gap);
            /* Both the skew and the gap change their signs with i and j. */
            set_number(p, inner, i * n + j, h);
            set_number(p, inner, j * n + i, equal && !free ? -skew / 0.0 : h);
        }
    }
    square_product(p, (int)n, 'N', vectors, 'N', inner, turn);
    square_product(p, (int)n, 'N', turn, 'T', vectors, inner);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double both = number(p, inner, i * n + j) + number(p, inner, j * n + i);
            set_number(p, out->data, i * n + j, i == j ? both / 2 : p->flag ? both : 0);
            if (j < i)
                set_number(p, out->data, j * n + i, p->flag ? 0 : both);
        }
    return 0;
}

static int qr(const Lapack *p, const View *a, const View *q, const View *r) {
    int m = (int)a->dims[0], n = (int)a->dims[1], k = m < n ? m : n, info = 0;
    int columns = p->flag == 2 ? m : k, most = m < n ? n : m, length = 64 * most;
    npy_intp down = (npy_intp)p->item, right = (npy_intp)m * (npy_intp)p->item;
    char *work = malloc(((size_t)m * most + (size_t)k + (size_t)length) * p->item);
    if (work == NULL)
        return 1;
    char *factors = work + (size_t)m * most * p->item, *space = factors + (size_t)k * p->item;
    copy_turned(p, work, a);
    ((geqrf_fn)p->routines[0])(&m, &n, work, &m, factors, space, &length, &info);
    copy_strided(p, r->data, work, r->dims[0], n, down, right, 1);
    if (info == 0 && q != NULL) {
        ((orgqr_fn)p->routines[1])(&m, &columns, &k, work, &m, factors, space, &length, &info);
        copy_strided(p, q->data, work, m, columns, down, right, 0);
    }
    free(work);
    return info;
}

size_t lapack_work_bytes(const Lapack *p, size_t n, size_t columns) {
    switch (p->kind) {
    case TRIANGULAR: return n * n * p->item;
    case SOLVE:
    case SYMMETRIC: return (n * n + n * columns) * p->item + n * sizeof(int);
    case INVERSE:
    case COFACTORS: return 64 * n * p->item + n * sizeof(int);
    case DET:
    case SLOGDET: return n * n * p->item + n * sizeof(int);
    case EIGH: return (n * n + 1 + 6 * n + 2 * n * n) * p->item + (3 + 5 * n) * sizeof(int);
    case EIGH_BACK: return 2 * n * sizeof(double) + 3 * n * n * p->item;
    case FACTOR_BACK: return (n * n + BLOCK * BLOCK) * p->item;
    default: return 0;
    }
}

int lapack_compute(const Lapack *p, const View *x, const View *out, void *work) {
    const View *a = x, *b = x + 1;
    double sign, value;
    int info;
    switch (p->kind) {
    case CHOLESKY: return cholesky(p, a, out);
    case TRIANGULAR: return triangular(p, a, b, out, work);
    case SOLVE:
    case SYMMETRIC: return solve(p, a, b, out, work);
    case INVERSE: return inverse(p, a, out, work);
    case COFACTORS: return cofactors(p, a, b, out, work);
    case EIGH: return eigh(p, a, out, out + 1, work);
    case EIGH_BACK: return eigh_back(p, x, out, work);
    case FACTOR_BACK: return factor_back(p, a, b, out, work);
    case QR: return p->flag == 0 ? qr(p, a, NULL, out) : qr(p, a, out, out + 1);
    case SVD: return p->flag == 0 ? svd(p, a, NULL, out, NULL) : svd(p, a, out, out + 1, out + 2);
    default: info = determinant(p, a, work, &sign, &value);
    }
    if (info == 0 && p->kind == SLOGDET)
        set_number(p, (out++)->data, 0, sign);
    if (info == 0)
        set_number(p, out->data, 0, value);
    return info;
}
