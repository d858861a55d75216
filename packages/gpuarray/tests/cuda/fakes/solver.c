/* The stand-ins for factors of cuSOLVER, and for what cuBLAS does beside products; matrices are in the order of
 * Fortran. */
#include "fake.h"
#include <math.h>

int cusolverDnCreate(Solver **handle) {
    FAKE("cusolverDnCreate");
    *handle = calloc(1, sizeof **handle);
    return fake_has_context() ? 0 : 1;
}

int cusolverDnDestroy(Solver *handle) {
    FAKE("cusolverDnDestroy");
    free(handle);
    return 0;
}

int cusolverDnSetStream(Solver *handle, Stream *stream) {
    FAKE("cusolverDnSetStream");
    handle->stream = stream;
    return 0;
}

typedef struct {
    int full, n, columns;
    void *a, *b;
    int *pivots, *info;
} Equations;

/* The upper triangle is overwritten by U, where U'U is the matrix; the lower one is not touched. */
static void factor_definite(void *data) {
    const Equations *e = data;
    *e->info = 0;
    for (int j = 0; j < e->n; j++)
        for (int i = 0; i <= j; i++) {
            double sum = get(e->a, e->full, (long long)j * e->n + i);
            for (int k = 0; k < i; k++)
                sum -= get(e->a, e->full, (long long)i * e->n + k) * get(e->a, e->full, (long long)j * e->n + k);
            if (i == j && !(sum > 0)) {
                *e->info = j + 1;
                return;
            }
            put(e->a, e->full, (long long)j * e->n + i,
                i == j ? sqrt(sum) : sum / get(e->a, e->full, (long long)i * e->n + i));
        }
}

static void exchange(void *x, int full, long long i, long long j) {
    double held = get(x, full, i);
    put(x, full, i, get(x, full, j));
    put(x, full, j, held);
}

static void factor(void *data) {
    const Equations *e = data;
    const long long n = e->n;
    *e->info = 0;
    for (long long k = 0; k < n; k++) {
        long long best = k;
        for (long long i = k + 1; i < n; i++)
            if (fabs(get(e->a, e->full, k * n + i)) > fabs(get(e->a, e->full, k * n + best)))
                best = i;
        e->pivots[k] = (int)best + 1;
        for (long long j = 0; best != k && j < n; j++)
            exchange(e->a, e->full, j * n + k, j * n + best);
        double pivot = get(e->a, e->full, k * n + k);
        if (pivot == 0 && *e->info == 0)
            *e->info = (int)k + 1;
        for (long long i = k + 1; pivot != 0 && i < n; i++) {
            double scale = get(e->a, e->full, k * n + i) / pivot;
            put(e->a, e->full, k * n + i, scale);
            for (long long j = k + 1; j < n; j++)
                put(e->a, e->full, j * n + i, get(e->a, e->full, j * n + i) - scale * get(e->a, e->full, j * n + k));
        }
    }
}

/* With the transposed matrix: U'y = b, L'z = y, and the exchanges backwards. */
static void solve(void *data) {
    const Equations *e = data;
    const long long n = e->n;
    *e->info = 0;
    for (long long c = 0; c < e->columns; c++) {
        for (long long i = 0; i < n; i++) {
            double sum = get(e->b, e->full, c * n + i);
            for (long long k = 0; k < i; k++)
                sum -= get(e->a, e->full, i * n + k) * get(e->b, e->full, c * n + k);
            put(e->b, e->full, c * n + i, sum / get(e->a, e->full, i * n + i));
        }
        for (long long i = n - 1; i >= 0; i--) {
            double sum = get(e->b, e->full, c * n + i);
            for (long long k = i + 1; k < n; k++)
                sum -= get(e->a, e->full, i * n + k) * get(e->b, e->full, c * n + k);
            put(e->b, e->full, c * n + i, sum);
        }
        for (long long i = n - 1; i >= 0; i--)
            exchange(e->b, e->full, c * n + i, c * n + e->pivots[i] - 1);
    }
}

#define SOLVER(T, full)                                                                                                \
    int cusolverDn##T##potrf_bufferSize(Solver *handle, int triangle, int n, void *a, int leading, int *size) {        \
        (void)handle, (void)a;                                                                                         \
        FAKE("cusolverDn" #T "potrf_bufferSize");                                                                      \
        *size = n;                                                                                                     \
        return triangle == 1 && leading == n ? 0 : 3;                                                                  \
    }                                                                                                                  \
    int cusolverDn##T##potrf(Solver *handle, int triangle, int n, void *a, int leading, void *memory, int size,        \
                             int *info) {                                                                              \
        FAKE("cusolverDn" #T "potrf");                                                                                 \
        Equations work = {full, n, 0, a, NULL, NULL, info};                                                            \
        if (triangle != 1 || leading != n || size != n || memory == NULL)                                              \
            return 3;                                                                                                  \
        return fake_enqueue(handle->stream, factor_definite, &work, sizeof work);                                      \
    }                                                                                                                  \
    int cusolverDn##T##getrf_bufferSize(Solver *handle, int m, int n, void *a, int leading, int *size) {               \
        (void)handle, (void)a;                                                                                         \
        FAKE("cusolverDn" #T "getrf_bufferSize");                                                                      \
        *size = n;                                                                                                     \
        return m == n && leading == n ? 0 : 3;                                                                         \
    }                                                                                                                  \
    int cusolverDn##T##getrf(Solver *handle, int m, int n, void *a, int leading, void *memory, int *pivots,            \
                             int *info) {                                                                              \
        FAKE("cusolverDn" #T "getrf");                                                                                 \
        Equations work = {full, n, 0, a, NULL, pivots, info};                                                          \
        if (m != n || leading != n || memory == NULL)                                                                  \
            return 3;                                                                                                  \
        return fake_enqueue(handle->stream, factor, &work, sizeof work);                                               \
    }                                                                                                                  \
    int cusolverDn##T##getrs(Solver *handle, int transposed, int n, int columns, void *a, int leading, int *pivots,    \
                             void *b, int leading_b, int *info) {                                                      \
        FAKE("cusolverDn" #T "getrs");                                                                                 \
        Equations work = {full, n, columns, a, b, pivots, info};                                                       \
        if (transposed != 1 || leading != n || leading_b != n)                                                         \
            return 3;                                                                                                  \
        return fake_enqueue(handle->stream, solve, &work, sizeof work);                                                \
    }
SOLVER(S, 0)
SOLVER(D, 1)

typedef struct {
    Equations one;
    void **a, **b;
    int count, side, fill, transposed, rows, width, lda, ldx;
    double alpha;
    void (*run)(void *data);
} Stack;

/* Each matrix of a stack; the addresses are looked up when the work is done. */
static void of_stack(void *data) {
    const Stack *s = data;
    for (int k = 0; k < s->count; k++) {
        int unused = 0;
        Equations e = s->one;
        e.a = s->a[k];
        e.b = s->b == NULL ? NULL : s->b[k];
        e.pivots = e.pivots == NULL ? NULL : e.pivots + (long long)k * e.n;
        e.info = e.info == NULL ? &unused : e.info + k;
        s->run(&e);
    }
}

static double of_triangle(const Stack *s, const void *a, long long i, long long j) {
    const long long row = s->transposed ? j : i, column = s->transposed ? i : j;
    const int is_read = row == column || (s->fill == 0) == (row > column);
    return is_read ? get(a, s->one.full, column * s->lda + row) : 0;
}

/* x is overwritten by the solution y of op(a) y = x, or of y op(a) = x: element by element, in the order of either
 * triangle, which is found by what is 0. */
static void substitute(void *data) {
    const Stack *s = data;
    const int full = s->one.full, n = s->side == 0 ? s->rows : s->width, columns = s->side == 0 ? s->width : s->rows;
    for (int b = 0; b < s->count; b++) {
        const void *a = s->a == NULL ? s->one.a : s->a[b];
        void *x = s->b == NULL ? s->one.b : s->b[b];
        const int is_lower = (s->fill == 0) != (s->transposed != 0), forwards = is_lower == (s->side == 0);
        for (long long c = 0; c < columns; c++)
            for (long long p = 0; p < n; p++) {
                const long long i = forwards ? p : n - 1 - p;
                const long long at = s->side == 0 ? c * s->ldx + i : i * s->ldx + c;
                double sum = s->alpha * get(x, full, at);
                for (long long q = 0; q < p; q++) {
                    const long long j = forwards ? q : n - 1 - q;
                    sum -= (s->side == 0 ? of_triangle(s, a, i, j) : of_triangle(s, a, j, i)) *
                           get(x, full, s->side == 0 ? c * s->ldx + j : j * s->ldx + c);
                }
                put(x, full, at, sum / of_triangle(s, a, i, i));
            }
    }
}

static int triangular(BlasHandle *handle, int full, int side, int fill, int transposed, int diagonal, int m, int n,
                      const void *alpha, Stack work) {
    const int order = side == 0 ? m : n;
    if (handle->on_device || diagonal != 0 || side < 0 || side > 1 || fill < 0 || fill > 1 || transposed < 0 ||
        transposed > 1 || work.lda < order || work.ldx < m)
        return 7;
    work.side = side;
    work.fill = fill;
    work.transposed = transposed;
    work.rows = m;
    work.width = n;
    work.alpha = get(alpha, full, 0);
    return fake_enqueue(handle->stream, substitute, &work, sizeof work);
}

#define MATRICES(T, full)                                                                                              \
    int cusolverDn##T##potrfBatched(Solver *handle, int triangle, int n, void **a, int leading, int *info,             \
                                    int count) {                                                                       \
        FAKE("cusolverDn" #T "potrfBatched");                                                                          \
        Stack work = {.one = {full, n, 0, NULL, NULL, NULL, info}, .a = a, .count = count, .run = factor_definite};    \
        return triangle != 1 || leading != n ? 3 : fake_enqueue(handle->stream, of_stack, &work, sizeof work);         \
    }                                                                                                                  \
    int cublas##T##getrfBatched(BlasHandle *handle, int n, void **a, int leading, int *pivots, int *info, int count) { \
        FAKE("cublas" #T "getrfBatched");                                                                              \
        Stack work = {.one = {full, n, 0, NULL, NULL, pivots, info}, .a = a, .count = count, .run = factor};           \
        return leading != n ? 7 : fake_enqueue(handle->stream, of_stack, &work, sizeof work);                          \
    }                                                                                                                  \
    int cublas##T##getrsBatched(BlasHandle *handle, int transposed, int n, int columns, void **a, int leading,         \
                                int *pivots, void **b, int leading_b, int *wrong, int count) {                         \
        FAKE("cublas" #T "getrsBatched");                                                                              \
        Stack work = {                                                                                                 \
            .one = {full, n, columns, NULL, NULL, pivots, NULL}, .a = a, .b = b, .count = count, .run = solve};        \
        *wrong = transposed != 1 ? -2 : leading != n ? -6 : leading_b != n ? -9 : 0;                                   \
        return *wrong != 0 ? 0 : fake_enqueue(handle->stream, of_stack, &work, sizeof work);                           \
    }                                                                                                                  \
    int cublas##T##trsm_v2(BlasHandle *handle, int side, int fill, int transposed, int diagonal, int m, int n,         \
                           const void *alpha, void *a, int lda, void *x, int ldx) {                                    \
        FAKE("cublas" #T "trsm_v2");                                                                                   \
        Stack work = {.one = {full, 0, 0, a, x, NULL, NULL}, .count = 1, .lda = lda, .ldx = ldx};                      \
        return triangular(handle, full, side, fill, transposed, diagonal, m, n, alpha, work);                          \
    }                                                                                                                  \
    int cublas##T##trsmBatched(BlasHandle *handle, int side, int fill, int transposed, int diagonal, int m, int n,     \
                               const void *alpha, void **a, int lda, void **x, int ldx, int count) {                   \
        FAKE("cublas" #T "trsmBatched");                                                                               \
        Stack work = {                                                                                                 \
            .one = {full, 0, 0, NULL, NULL, NULL, NULL}, .a = a, .b = x, .count = count, .lda = lda, .ldx = ldx};      \
        return triangular(handle, full, side, fill, transposed, diagonal, m, n, alpha, work);                          \
    }
MATRICES(S, 0)
MATRICES(D, 1)
