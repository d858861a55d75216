/* Arrays of devices as objects of Python. */
#ifndef GPUARRAY_API_H
#define GPUARRAY_API_H

#include "gpuarray/array.h"
#include "gpuarray/table.h"

#define PyGpuArrayType (*gpuarray_functions->array_type)
#define PyGpuContextType (*gpuarray_functions->context_type)
#define GpuArrayType PyGpuArrayType
#define GpuContextType PyGpuContextType
#define PyGpuArray_Check(o) PyObject_TypeCheck((PyObject *)(o), &PyGpuArrayType)
#define PyGpuArray_NDIM(a) ((a)->ga.nd)
#define PyGpuArray_DIMS(a) ((a)->ga.dimensions)
#define PyGpuArray_DIM(a, n) ((a)->ga.dimensions[n])
#define PyGpuArray_STRIDES(a) ((a)->ga.strides)
#define PyGpuArray_STRIDE(a, n) ((a)->ga.strides[n])
#define PyGpuArray_TYPE(a) ((a)->ga.typecode)
#define PyGpuArray_ITEMSIZE(a) GpuArray_ITEMSIZE(&(a)->ga)

/* The number of elements. */
static inline size_t PyGpuArray_SIZE(const PyGpuArrayObject *a) {
    size_t size = 1;
    for (unsigned int d = 0; d < a->ga.nd; d++)
        size *= a->ga.dimensions[d];
    return size;
}

/* Find the functions; 0, or -1 with an exception. */
static inline int import_pygpu__gpuarray(void) {
    if (gpuarray_functions == NULL)
        gpuarray_functions = (gpuarray_table *)PyCapsule_Import(GPUARRAY_TABLE_NAME, 0);
    if (gpuarray_functions == NULL)
        return -1;
    if (gpuarray_functions->version == GPUARRAY_TABLE_VERSION)
        return 0;
    PyErr_SetString(PyExc_ImportError, "theano_gpuarray has another version of its C functions than its headers\n"
                                       "  Hint: compile the code again, or install theano-gpuarray anew");
    gpuarray_functions = NULL;
    return -1;
}

#endif
