/* What C code of ops does again and again. */
#ifndef GPUARRAY_HELPER_H
#define GPUARRAY_HELPER_H

#include "gpuarray_api.h"

/* Whether an array has these lengths, and this dtype. */
static inline int theano_size_check(PyGpuArrayObject *a, unsigned int nd, const size_t *dims, int typecode) {
    int same = a->ga.nd == nd && a->ga.typecode == typecode;
    for (unsigned int d = 0; same && d < nd; d++)
        same = a->ga.dimensions[d] == dims[d];
    return same;
}

/* Let `out` be an array with these lengths: what is there already, or a new one. 0, or 1 with an exception. */
static inline int theano_prep_output(PyGpuArrayObject **out, unsigned int nd, const size_t *dims, int typecode,
                                     ga_order ord, PyGpuContextObject *ctx) {
    int wanted = ord == GA_F_ORDER ? GA_F_CONTIGUOUS : GA_C_CONTIGUOUS;
    if (*out != NULL && theano_size_check(*out, nd, dims, typecode) && GpuArray_CHKFLAGS(&(*out)->ga, wanted))
        return 0;
    Py_XDECREF((PyObject *)*out);
    *out = pygpu_empty(nd, dims, typecode, ord, ctx, Py_None);
    return *out == NULL;
}

/* A copy of V: in `out`, whose reference is taken over, where it has the lengths, else a new array. */
static inline PyGpuArrayObject *theano_try_copy(PyGpuArrayObject *out, PyGpuArrayObject *V) {
    if (out != NULL && GpuArray_CHKFLAGS(&out->ga, GA_CARRAY) &&
        theano_size_check(out, V->ga.nd, V->ga.dimensions, V->ga.typecode)) {
        if (pygpu_move(out, V) == 0)
            return out;
        Py_DECREF((PyObject *)out);
        return NULL;
    }
    Py_XDECREF((PyObject *)out);
    return pygpu_copy(V, GA_C_ORDER);
}

#endif
