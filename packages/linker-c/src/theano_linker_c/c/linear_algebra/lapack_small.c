/* Factors of small matrices, for which the calls of LAPACK's routines cost more than the work.
 *
 * They take and give what LAPACK's routines of these names do: matrices in Fortran's order without gaps, and the rows
 * that were exchanged, counted from 1. */
#include "lapack.h"
#include <math.h>

#define DEFINE_SMALL(TYPE, SUFFIX)                                                                                     \
    static int factor_##SUFFIX(int n, TYPE *restrict a, int *pivots) {                                                 \
        int info = 0;                                                                                                  \
        for (int k = 0; k < n; k++) {                                                                                  \
            TYPE *restrict column = a + k * n;                                                                         \
            int best = k;                                                                                              \
            for (int i = k + 1; i < n; i++)                                                                            \
                if (fabs((double)column[i]) > fabs((double)column[best]))                                              \
                    best = i;                                                                                          \
            pivots[k] = best + 1;                                                                                      \
            if (column[best] == 0) {                                                                                   \
                info = info == 0 ? k + 1 : info;                                                                       \
                continue;                                                                                              \
            }                                                                                                          \
            for (int j = 0; j < n && best != k; j++) {                                                                 \
                TYPE kept = a[j * n + k];                                                                              \
                a[j * n + k] = a[j * n + best];                                                                        \
                a[j * n + best] = kept;                                                                                \
            }                                                                                                          \
            TYPE pivot = column[k];                                                                                    \
            for (int i = k + 1; i < n; i++)                                                                            \
                column[i] /= pivot;                                                                                    \
            for (int j = k + 1; j < n; j++) {                                                                          \
                TYPE *restrict other = a + j * n;                                                                      \
                TYPE factor = other[k];                                                                                \
                for (int i = k + 1; i < n; i++)                                                                        \
                    other[i] -= column[i] * factor;                                                                    \
            }                                                                                                          \
        }                                                                                                              \
        return info;                                                                                                   \
    }                                                                                                                  \
                                                                                                                       \
    /* Solve with the transpose of what was factored. The right-hand sides stand in contiguous rows. */                \
    static void substitute_##SUFFIX(int n, int columns, const TYPE *a, const int *pivots, TYPE *x) {                   \
        for (int i = 0; i < n; i++) {                                                                                  \
            TYPE *restrict row = x + (size_t)i * columns;                                                              \
            for (int k = 0; k < i; k++) {                                                                              \
                const TYPE *restrict other = x + (size_t)k * columns;                                                  \
                TYPE factor = a[i * n + k];                                                                            \
                for (int j = 0; j < columns; j++)                                                                      \
                    row[j] -= factor * other[j];                                                                       \
            }                                                                                                          \
            TYPE pivot = a[i * n + i];                                                                                 \
            for (int j = 0; j < columns; j++)                                                                          \
                row[j] /= pivot;                                                                                       \
        }                                                                                                              \
        for (int i = n - 1; i >= 0; i--) {                                                                             \
            TYPE *restrict row = x + (size_t)i * columns;                                                              \
            for (int k = i + 1; k < n; k++) {                                                                          \
                const TYPE *restrict other = x + (size_t)k * columns;                                                  \
                TYPE factor = a[i * n + k];                                                                            \
                for (int j = 0; j < columns; j++)                                                                      \
                    row[j] -= factor * other[j];                                                                       \
            }                                                                                                          \
        }                                                                                                              \
        for (int k = n - 1; k >= 0; k--)                                                                               \
            for (int j = 0; j < columns && pivots[k] != k + 1; j++) {                                                  \
                TYPE kept = x[(size_t)k * columns + j];                                                                \
                x[(size_t)k * columns + j] = x[(size_t)(pivots[k] - 1) * columns + j];                                 \
                x[(size_t)(pivots[k] - 1) * columns + j] = kept;                                                       \
            }                                                                                                          \
    }                                                                                                                  \
                                                                                                                       \
    static void unit_##SUFFIX(int n, TYPE *x) {                                                                        \
        for (int i = 0; i < n * n; i++)                                                                                \
            x[i] = i % (n + 1) == 0;                                                                                   \
    }
DEFINE_SMALL(double, doubles)
DEFINE_SMALL(float, floats)

int small_factor(const Lapack *p, int n, void *a, int *pivots) {
    return p->type_num == NPY_DOUBLE ? factor_doubles(n, a, pivots) : factor_floats(n, a, pivots);
}

void small_substitute(const Lapack *p, int n, int columns, const void *a, const int *pivots, void *x) {
    if (p->type_num == NPY_DOUBLE)
        substitute_doubles(n, columns, a, pivots, x);
    else
        substitute_floats(n, columns, a, pivots, x);
}

void small_unit(const Lapack *p, int n, void *x) {
    if (p->type_num == NPY_DOUBLE)
        unit_doubles(n, x);
    else
        unit_floats(n, x);
}
