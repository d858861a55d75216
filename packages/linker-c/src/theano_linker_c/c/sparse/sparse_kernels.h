/* Read by sparse_kernels.c with ELEMENT (a type) and NAME(x) defined: all tasks for elements of this type. */
#include "compressed.h"
#include "products.h"
#include "dot.h"
#include "rows.h"
#include "conversions.h"
#include "gather.h"
#include "sampled.h"

/* The number in an operand without dimensions. */
static npy_intp NAME(length)(PyArrayObject *operand)
{
    return (npy_intp) * (npy_int64 *)PyArray_DATA(operand);
}

static ELEMENT NAME(scale)(PyArrayObject *operand)
{
    return *(ELEMENT *)PyArray_DATA(operand);
}

static int NAME(run_dot)(SparseCall *c)
{
    return NAME(dot)(c->in[0], c->in[1], c->in[2], NAME(length)(c->in[3]), c->flag, c->in[4], 1, NULL, 0, &c->out[0]);
}

static int NAME(run_usmm)(SparseCall *c)
{
    return NAME(dot)(c->in[1], c->in[2], c->in[3], NAME(length)(c->in[4]), c->flag, c->in[5], NAME(scale)(c->in[0]),
                     c->in[6], c->inplace, &c->out[0]);
}

static int NAME(run_usmm_rows)(SparseCall *c)
{
    return NAME(some_rows)(c->in[1], c->in[2], c->in[3], NAME(length)(c->in[4]), c->flag, c->in[5],
                           NAME(scale)(c->in[0]), NAME(length)(c->in[6]), NAME(length)(c->in[7]), &c->out[0],
                           &c->out[1]);
}

static int NAME(run_change_compression)(SparseCall *c)
{
    return NAME(change_compression)(c->in[0], c->in[1], c->in[2], NAME(length)(c->in[3]), &c->out[0], &c->out[1],
                                    &c->out[2]);
}

static int NAME(run_to_dense)(SparseCall *c)
{
    return NAME(dense)(c->in[0], c->in[1], c->in[2], NAME(length)(c->in[3]), c->flag, c->n_in > 4 ? c->in[4] : NULL,
                       c->inplace, &c->out[0]);
}

static int NAME(run_sum)(SparseCall *c)
{
    return NAME(sums)(c->in[0], c->in[1], c->in[2], NAME(length)(c->in[3]), c->flag, &c->out[0]);
}

static int NAME(run_gather)(SparseCall *c)
{
    return NAME(gather)(c->in[0], c->in[1], c->in[2], c->flag, &c->out[0]);
}

static int NAME(run_sampled)(SparseCall *c)
{
    return NAME(sample)(c->in[0], c->in[1], c->in[2], c->in[3], &c->out[0]);
}

static const SparseKernels NAME(kernels) = {
    {NAME(run_dot), NAME(run_usmm), NAME(run_usmm_rows), NAME(run_change_compression), NAME(run_to_dense),
     NAME(run_sum), NAME(run_gather), NAME(run_sampled), sparse_major_indices}};

#undef ELEMENT
#undef NAME
