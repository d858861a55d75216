/* What runs the tasks on compressed sparse matrices, for one type of elements and some vector instructions. */
#ifndef THEANO_LINKER_C_SPARSE_H
#define THEANO_LINKER_C_SPARSE_H

#include "runtime.h"

/* Same numbers as `CompressedTask` in kernels/_routines.py. */
enum {
    SPARSE_DOT,
    SPARSE_USMM,
    SPARSE_USMM_ROWS,
    SPARSE_CHANGE_COMPRESSION,
    SPARSE_TO_DENSE,
    SPARSE_SUM,
    SPARSE_GATHER,
    SPARSE_SAMPLED,
    SPARSE_MAJOR_INDICES,
    SPARSE_TASKS
};

enum { SPARSE_OPERANDS = 8, SPARSE_RESULTS = 3 };

/* A call: `in` are the operands, checked and borrowed; `out` holds arrays of the call before or NULL, and receives the
 * results. */
typedef struct {
    PyArrayObject *in[SPARSE_OPERANDS];
    PyArrayObject *out[SPARSE_RESULTS];
    int n_in;
    int flag;    /* of the task: rows are the major axis, or it is about the major axis */
    int inplace; /* the last operand may be overwritten */
} SparseCall;

typedef int (*sparse_fn)(SparseCall *);

typedef struct {
    sparse_fn run[SPARSE_TASKS]; /* each returns 0, or -1 with an exception */
} SparseKernels;

const SparseKernels *sparse_kernels(int doubles);

#endif
