/* Fourier transforms: plans for a length, and kernels that transform several lines at once, one in each lane of a
 * vector.
 *
 * Kernels compute the forward transform, sum_j x[j] exp(-2 pi i j k / n). Where real and imaginary parts change places
 * in the operands and in the results, the same sum is the inverse one, without a factor. */
#ifndef THEANO_FOURIER_H
#define THEANO_FOURIER_H

#include "runtime.h"

/* Lengths with prime factors above GREATEST_RADIX are computed as a convolution. */
enum { MOST_PASSES = 64, GREATEST_RADIX = 31, MOST_LANES = 16 };

/* Tables are pairs of real and imaginary parts in the type of the transform. */
typedef struct FourierPlan {
    int64_t n, room; /* numbers of a line, and of each of the two places to work in */
    int is_double, passes, radices[MOST_PASSES];
    void *twiddles;           /* of the passes, one after the other */
    struct FourierPlan *wide; /* transforms the convolution; NULL where there is none */
    void *chirp, *spectrum;   /* of the convolution */
    void *roots;              /* exp(-2 pi i k / (2 n)), k = 0..n, which join the halves of real lines */
    int users;                /* holders of the plan; the table of plans is one */
    uint64_t last_use;
} FourierPlan;

/* Returns NULL, without an exception, where there is no memory. Any thread may call these, without the GIL. */
FourierPlan *fourier_acquire(int64_t n, int is_double);
void fourier_release(FourierPlan *plan);
extern int most_vector_bytes; /* convolution_kernels.c */
/* exp(-2 pi i k / n) for 0 <= k < n, to the last digit or so. */
void fourier_root(int64_t k, int64_t n, double *re, double *im);

/* COMPLEX: n numbers to n. The others are transforms of real lines: REAL to the first half of the results, HALF back;
 * EVEN takes lines of 2 n real numbers as n complex ones, ODD takes n. */
enum { COMPLEX_LINES, REAL_EVEN, REAL_ODD, HALF_EVEN, HALF_ODD };

/* Operands or results of several lines: element i of line l has its real part at `at[l] + i * step` and its imaginary
 * part `imag` bytes behind; 0: it has none. */
typedef struct {
    char *at[MOST_LANES];
    npy_intp step, imag;
} FourierSide;

typedef struct {
    int lanes;
    /* Transform lines 0..count-1; `work` has room for 2 * room * lanes pairs, aligned to 64 bytes. Where `turns` is not
     * NULL, result k of lane l is turned by exp(-2 pi i k (line + l) / n), for the n of that plan. */
    void (*transform)(const FourierPlan *p, int kind, const FourierSide *from, const FourierSide *to, int count,
                      const FourierPlan *turns, int64_t line, void *work);
} FourierKernels;

/* Kernels with as many lanes as there are lines, or with the most. */
const FourierKernels *fourier_kernels(int is_double, int64_t lines);

#endif
