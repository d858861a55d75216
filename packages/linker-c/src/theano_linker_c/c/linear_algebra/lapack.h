/* Tasks of linear algebra on one matrix: their operands, and how they are run. */
#ifndef THEANO_LAPACK_H
#define THEANO_LAPACK_H

#include "runtime.h"

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
    QR = 10,
    COFACTORS = 11,
    EIGH_BACK = 12
};
/* Up to ALONE rows LAPACK runs in one thread; up to SMALL rows it is not called for factors of general matrices. */
enum { MOST_ROUTINES = 2, BLOCK = 32, ALONE = 500, SMALL = 16 };

typedef struct {
    int kind, type_num;
    int flag;   /* lower (of EIGH and factors); of SVD, QR: 0 s or r only, 1 reduced, 2 full */
    int shared; /* threads may share the matrices of a stack */
    size_t item;
    void *routines[MOST_ROUTINES];
    PyObject *fallback; /* borrowed from the payload: input values -> output values */
} Lapack;

/* A matrix, a vector or a number, which may be one of a stack. */
typedef struct {
    char *data;
    int ndim;
    npy_intp dims[2], strides[2];
} View;

/* Compute one matrix with memory to work in; 0, or what the routines report. */
int lapack_compute(const Lapack *p, const View *x, const View *out, void *work);
/* Bytes to work in, for matrices of n rows and right-hand sides of so many columns. */
size_t lapack_work_bytes(const Lapack *p, size_t n, size_t columns);

/* Factor a matrix; 0, or the number of the first pivot that is 0. */
int small_factor(const Lapack *p, int n, void *a, int *pivots);
/* Solve with the transpose of a matrix that was factored; x has contiguous rows. */
void small_substitute(const Lapack *p, int n, int columns, const void *a, const int *pivots, void *x);
/* The matrix with ones on its diagonal. */
void small_unit(const Lapack *p, int n, void *x);

#endif
