/* Loops over elements that LAPACK has no routines for, in both precisions. */
#ifndef THEANO_LAPACK_LOOPS_H
#define THEANO_LAPACK_LOOPS_H

#include <math.h>
#include <stddef.h>

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

#endif
