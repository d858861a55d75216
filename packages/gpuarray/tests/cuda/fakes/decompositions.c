/* The stand-ins for orthogonal factors, eigenvalues and singular values of cuSOLVER, in double precision; matrices are
 * in the order of Fortran. */
#include "fake.h"
#include <math.h>

enum { MOST_JACOBI = 32, SWEEPS = 60 };

typedef struct {
    int full, rows, columns, inner, count, job, triangle;
    void *a, *values, *u, *v;
    int *info;
} Work;

static int live_settings;
/* Settings of Jacobi's method that have not been destroyed. */
int fake_settings(void) { return live_settings; }

static double *copied(const void *a, int full, long long at, long long count) {
    double *x = calloc((size_t)count + 1, sizeof *x);
    for (long long i = 0; i < count; i++)
        x[i] = get(a, full, at + i);
    return x;
}

static void stored(void *a, int full, long long at, const double *x, long long count) {
    for (long long i = 0; i < count; i++)
        put(a, full, at + i, x[i]);
}

/* Reflections as LAPACK keeps them: the first element of each is 1 and not stored. */
static void reflect(void *data) {
    const Work *w = data;
    const long long m = w->rows, n = w->columns, least = m < n ? m : n;
    double *a = copied(w->a, w->full, 0, m * n);
    for (long long k = 0; k < least; k++) {
        double *x = a + k * m, norm = 0, tau = 0;
        for (long long i = k; i < m; i++)
            norm += x[i] * x[i];
        norm = sqrt(norm);
        if (norm != fabs(x[k]) && norm > 0) {
            double beta = x[k] > 0 ? -norm : norm, scale = x[k] - beta;
            tau = (beta - x[k]) / beta;
            for (long long i = k + 1; i < m; i++)
                x[i] /= scale;
            x[k] = beta;
            for (long long j = k + 1; j < n; j++) {
                double *y = a + j * m, sum = y[k];
                for (long long i = k + 1; i < m; i++)
                    sum += x[i] * y[i];
                y[k] -= tau * sum;
                for (long long i = k + 1; i < m; i++)
                    y[i] -= tau * sum * x[i];
            }
        }
        put(w->values, w->full, k, tau);
    }
    stored(w->a, w->full, 0, a, m * n);
    free(a);
    *w->info = 0;
}

/* The first columns of the product of reflections. */
static void multiply_out(void *data) {
    const Work *w = data;
    const long long m = w->rows, n = w->columns;
    double *a = copied(w->a, w->full, 0, m * w->inner), *q = calloc((size_t)(m * n) + 1, sizeof *q);
    for (long long j = 0; j < n; j++) {
        double *y = q + j * m;
        y[j] = 1;
        for (long long k = w->inner - 1; k >= 0; k--) {
            double *x = a + k * m, sum = y[k], tau = get(w->values, w->full, k);
            for (long long i = k + 1; i < m; i++)
                sum += x[i] * y[i];
            y[k] -= tau * sum;
            for (long long i = k + 1; i < m; i++)
                y[i] -= tau * sum * x[i];
        }
    }
    stored(w->a, w->full, 0, q, m * n);
    free(a);
    free(q);
    *w->info = 0;
}

/* Turn pairs of the columns of x (rows by n) until they are orthogonal, and those of v (n by n) with them. */
static int turn(double *x, double *v, long long rows, long long n) {
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        double most = 0;
        for (long long p = 0; p < n; p++)
            for (long long q = p + 1; q < n; q++) {
                double a = 0, b = 0, c = 0;
                for (long long i = 0; i < rows; i++) {
                    a += x[p * rows + i] * x[p * rows + i];
                    b += x[q * rows + i] * x[q * rows + i];
                    c += x[p * rows + i] * x[q * rows + i];
                }
                if (!(fabs(c) > 1e-15 * sqrt(a * b)) || c == 0) {
                    if (isnan(c))
                        return 1;
                    continue;
                }
                most = fmax(most, fabs(c) / sqrt(a * b));
                double zeta = (b - a) / (2 * c), t = (zeta > 0 ? 1 : -1) / (fabs(zeta) + sqrt(1 + zeta * zeta));
                double cosine = 1 / sqrt(1 + t * t), sine = cosine * t;
                for (long long i = 0; i < rows + n; i++) {
                    double *both = i < rows ? x + i : v + (i - rows);
                    long long step = i < rows ? rows : n;
                    double left = both[p * step], right = both[q * step];
                    both[p * step] = cosine * left - sine * right;
                    both[q * step] = sine * left + cosine * right;
                }
            }
        if (most < 1e-14)
            return 0;
    }
    return 0;
}

/* Make columns of u, of which there are `known` orthonormal ones, a basis. */
static void complete(double *u, long long rows, long long known, long long wanted) {
    for (long long e = 0; e < rows && known < wanted; e++) {
        double *x = u + known * rows, norm = 0;
        memset(x, 0, (size_t)rows * sizeof *x);
        x[e] = 1;
        for (int twice = 0; twice < 2; twice++)
            for (long long k = 0; k < known; k++) {
                double sum = 0;
                for (long long i = 0; i < rows; i++)
                    sum += x[i] * u[k * rows + i];
                for (long long i = 0; i < rows; i++)
                    x[i] -= sum * u[k * rows + i];
            }
        for (long long i = 0; i < rows; i++)
            norm += x[i] * x[i];
        if (norm < 1e-6)
            continue;
        for (long long i = 0; i < rows; i++)
            x[i] /= sqrt(norm);
        known++;
    }
}

/* Singular values, descending, of a matrix of at least as many rows as columns: u has all columns, v the right ones. */
static int singular(const double *a, long long rows, long long n, double *s, double *u, double *v) {
    double *x = calloc((size_t)(rows * n) + 1, sizeof *x), *turned = calloc((size_t)(n * n) + 1, sizeof *turned);
    memcpy(x, a, (size_t)(rows * n) * sizeof *x);
    for (long long i = 0; i < n; i++)
        turned[i * n + i] = 1;
    int failed = turn(x, turned, rows, n);
    char *taken = calloc((size_t)n + 1, 1);
    long long known = 0;
    for (long long k = 0; k < n; k++) {
        long long best = -1;
        double most = -1;
        for (long long j = 0; j < n; j++) {
            double norm = 0;
            for (long long i = 0; i < rows; i++)
                norm += x[j * rows + i] * x[j * rows + i];
            if (!taken[j] && (norm > most || best < 0)) {
                most = norm;
                best = j;
            }
        }
        taken[best] = 1;
        s[k] = sqrt(most);
        memcpy(v + k * n, turned + best * n, (size_t)n * sizeof *v);
        if (s[k] > 0) {
            known = k + 1;
            for (long long i = 0; i < rows; i++)
                u[k * rows + i] = x[best * rows + i] / s[k];
        }
    }
    complete(u, rows, known, rows);
    free(x);
    free(turned);
    free(taken);
    return failed;
}

static void decompose_one(const Work *w, long long b) {
    const long long m = w->rows, n = w->columns, wide = m < n, rows = wide ? n : m, least = wide ? m : n;
    double *a = copied(w->a, w->full, b * m * n, m * n), *x = calloc((size_t)(m * n) + 1, sizeof *x);
    double *s = calloc((size_t)least + 1, sizeof *s), *u = calloc((size_t)(rows * rows) + 1, sizeof *u);
    double *v = calloc((size_t)(least * least) + 1, sizeof *v);
    for (long long i = 0; i < m; i++)
        for (long long j = 0; j < n; j++)
            x[wide ? i * n + j : j * m + i] = a[j * m + i];
    w->info[b] = singular(x, rows, least, s, u, v);
    stored(w->values, w->full, b * least, s, least);
    if (w->inner && w->job) { /* Jacobi's method: u and v, both square */
        stored(w->u, w->full, b * m * m, wide ? v : u, m * m);
        stored(w->v, w->full, b * n * n, wide ? u : v, n * n);
    } else if (w->job) { /* u with some or all of its columns, and v transposed */
        stored(w->u, w->full, 0, u, m * (w->job == 2 ? m : n));
        for (long long i = 0; i < n; i++)
            for (long long j = 0; j < n; j++)
                put(w->v, w->full, j * n + i, v[i * n + j]);
    }
    free(a);
    free(x);
    free(s);
    free(u);
    free(v);
}

static void decompose(void *data) {
    const Work *w = data;
    for (int b = 0; b < w->count; b++)
        decompose_one(w, b);
}

/* Eigenvalues of symmetric matrices: singular values of one that is shifted to be positive definite. */
static void eigenvalues(void *data) {
    const Work *w = data;
    const long long n = w->rows;
    for (long long b = 0; b < w->count; b++) {
        double *a = copied(w->a, w->full, b * n * n, n * n), shift = 0;
        double *s = calloc((size_t)n + 1, sizeof *s), *u = calloc((size_t)(n * n) + 1, sizeof *u),
               *v = calloc((size_t)(n * n) + 1, sizeof *v);
        for (long long j = 0; j < n; j++)
            for (long long i = 0; i < j; i++)
                *(w->triangle ? &a[i * n + j] : &a[j * n + i]) = w->triangle ? a[j * n + i] : a[i * n + j];
        for (long long i = 0; i < n * n; i++)
            shift += fabs(a[i]);
        for (long long i = 0; i < n; i++)
            a[i * n + i] += shift;
        w->info[b] = singular(a, n, n, s, u, v);
        for (long long k = 0; k < n; k++) {
            put(w->values, w->full, b * n + k, s[n - 1 - k] - shift);
            stored(w->a, w->full, b * n * n + k * n, v + (n - 1 - k) * n, n);
        }
        free(a);
        free(s);
        free(u);
        free(v);
    }
}

#define SETTINGS(name)                                                                                                 \
    int cusolverDnCreate##name##Info(int **made) {                                                                     \
        FAKE("cusolverDnCreate" #name "Info");                                                                         \
        *made = calloc(1, sizeof **made);                                                                              \
        **made = #name[0];                                                                                             \
        live_settings++;                                                                                               \
        return 0;                                                                                                      \
    }                                                                                                                  \
    int cusolverDnDestroy##name##Info(int *made) {                                                                     \
        FAKE("cusolverDnDestroy" #name "Info");                                                                        \
        live_settings--;                                                                                               \
        free(made);                                                                                                    \
        return 0;                                                                                                      \
    }
SETTINGS(Syevj)
SETTINGS(Gesvdj)

#define DECOMPOSITIONS(T, is_full)                                                                                     \
    int cusolverDn##T##geqrf_bufferSize(Solver *handle, int m, int n, void *a, int leading, int *size) {               \
        (void)handle, (void)a;                                                                                         \
        FAKE("cusolverDn" #T "geqrf_bufferSize");                                                                      \
        *size = n;                                                                                                     \
        return leading == m ? 0 : 3;                                                                                   \
    }                                                                                                                  \
    int cusolverDn##T##geqrf(Solver *handle, int m, int n, void *a, int leading, void *tau, void *memory, int size,    \
                             int *info) {                                                                              \
        FAKE("cusolverDn" #T "geqrf");                                                                                 \
        Work work = {.full = is_full, .rows = m, .columns = n, .a = a, .values = tau, .info = info};                   \
        if (leading != m || size != n || memory == NULL)                                                               \
            return 3;                                                                                                  \
        return fake_enqueue(handle->stream, reflect, &work, sizeof work);                                              \
    }                                                                                                                  \
    int cusolverDn##T##orgqr_bufferSize(Solver *handle, int m, int n, int k, const void *a, int leading,               \
                                        const void *tau, int *size) {                                                  \
        (void)handle, (void)a, (void)tau;                                                                              \
        FAKE("cusolverDn" #T "orgqr_bufferSize");                                                                      \
        *size = n;                                                                                                     \
        return leading == m && n <= m && k <= n ? 0 : 3;                                                               \
    }                                                                                                                  \
    int cusolverDn##T##orgqr(Solver *handle, int m, int n, int k, void *a, int leading, const void *tau, void *memory, \
                             int size, int *info) {                                                                    \
        FAKE("cusolverDn" #T "orgqr");                                                                                 \
        Work work = {.full = is_full, .rows = m, .columns = n, .inner = k, .a = a, .info = info};                      \
        work.values = (void *)tau;                                                                                     \
        if (leading != m || size != n || memory == NULL || n > m || k > n)                                             \
            return 3;                                                                                                  \
        return fake_enqueue(handle->stream, multiply_out, &work, sizeof work);                                         \
    }                                                                                                                  \
    int cusolverDn##T##syevd_bufferSize(Solver *handle, int vectors, int triangle, int n, const void *a, int leading,  \
                                        const void *values, int *size) {                                               \
        (void)handle, (void)a, (void)values;                                                                           \
        FAKE("cusolverDn" #T "syevd_bufferSize");                                                                      \
        *size = n;                                                                                                     \
        return leading == n && vectors == 1 && triangle >= 0 && triangle <= 1 ? 0 : 3;                                 \
    }                                                                                                                  \
    int cusolverDn##T##syevd(Solver *handle, int vectors, int triangle, int n, void *a, int leading, void *values,     \
                             void *memory, int size, int *info) {                                                      \
        FAKE("cusolverDn" #T "syevd");                                                                                 \
        Work work = {.full = is_full, .rows = n, .count = 1, .triangle = triangle, .a = a, .info = info};              \
        work.values = values;                                                                                          \
        if (leading != n || size != n || memory == NULL || vectors != 1 || handle->stream->capturing != NULL)          \
            return 3;                                                                                                  \
        return fake_enqueue(handle->stream, eigenvalues, &work, sizeof work);                                          \
    }                                                                                                                  \
    int cusolverDn##T##syevjBatched_bufferSize(Solver *handle, int vectors, int triangle, int n, const void *a,        \
                                               int leading, const void *values, int *size, int *settings, int count) { \
        (void)handle, (void)a, (void)values, (void)vectors, (void)triangle;                                            \
        FAKE("cusolverDn" #T "syevjBatched_bufferSize");                                                               \
        *size = n * count;                                                                                             \
        return leading == n && *settings == 'S' ? 0 : 3;                                                               \
    }                                                                                                                  \
    int cusolverDn##T##syevjBatched(Solver *handle, int vectors, int triangle, int n, void *a, int leading,            \
                                    void *values, void *memory, int size, int *info, int *settings, int count) {       \
        FAKE("cusolverDn" #T "syevjBatched");                                                                          \
        Work work = {.full = is_full, .rows = n, .count = count, .triangle = triangle, .a = a, .info = info};          \
        work.values = values;                                                                                          \
        if (leading != n || size != n * count || memory == NULL || vectors != 1 || *settings != 'S')                   \
            return 3;                                                                                                  \
        return fake_enqueue(handle->stream, eigenvalues, &work, sizeof work);                                          \
    }                                                                                                                  \
    int cusolverDn##T##gesvd_bufferSize(Solver *handle, int m, int n, int *size) {                                     \
        (void)handle;                                                                                                  \
        FAKE("cusolverDn" #T "gesvd_bufferSize");                                                                      \
        *size = m;                                                                                                     \
        return m >= n ? 0 : 3;                                                                                         \
    }                                                                                                                  \
    int cusolverDn##T##gesvd(Solver *handle, signed char job_u, signed char job_v, int m, int n, void *a, int leading, \
                             void *values, void *u, int leading_u, void *v, int leading_v, void *memory, int size,     \
                             void *real, int *info) {                                                                  \
        FAKE("cusolverDn" #T "gesvd");                                                                                 \
        (void)real;                                                                                                    \
        Work work = {.full = is_full, .rows = m, .columns = n, .count = 1, .a = a, .values = values, .u = u, .v = v};  \
        work.info = info;                                                                                              \
        work.job = job_u == 'A' ? 2 : job_u == 'S' ? 1 : 0;                                                            \
        if (leading != m || size != m || memory == NULL || job_u != job_v || m < n || leading_u != m ||                \
            leading_v != n || handle->stream->capturing != NULL)                                                       \
            return 3;                                                                                                  \
        return fake_enqueue(handle->stream, decompose, &work, sizeof work);                                            \
    }                                                                                                                  \
    int cusolverDn##T##gesvdjBatched_bufferSize(Solver *handle, int vectors, int m, int n, const void *a, int leading, \
                                                const void *values, const void *u, int leading_u, const void *v,       \
                                                int leading_v, int *size, int *settings, int count) {                  \
        (void)handle, (void)vectors, (void)a, (void)values, (void)u, (void)v;                                          \
        FAKE("cusolverDn" #T "gesvdjBatched_bufferSize");                                                              \
        *size = count;                                                                                                 \
        return leading == m && leading_u == m && leading_v == n && *settings == 'G' ? 0 : 3;                           \
    }                                                                                                                  \
    int cusolverDn##T##gesvdjBatched(Solver *handle, int vectors, int m, int n, void *a, int leading, void *values,    \
                                     void *u, int leading_u, void *v, int leading_v, void *memory, int size,           \
                                     int *info, int *settings, int count) {                                            \
        FAKE("cusolverDn" #T "gesvdjBatched");                                                                         \
        Work work = {.full = is_full, .rows = m, .columns = n, .inner = 1, .count = count, .a = a, .u = u, .v = v};    \
        work.values = values;                                                                                          \
        work.info = info;                                                                                              \
        work.job = vectors;                                                                                            \
        if (leading != m || leading_u != m || leading_v != n || size != count || memory == NULL || *settings != 'G' || \
            m > MOST_JACOBI || n > MOST_JACOBI)                                                                        \
            return 3;                                                                                                  \
        return fake_enqueue(handle->stream, decompose, &work, sizeof work);                                            \
    }
DECOMPOSITIONS(S, 0)
DECOMPOSITIONS(D, 1)
