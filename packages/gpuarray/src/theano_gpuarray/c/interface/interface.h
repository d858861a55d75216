/* The C interface for ops of users: what its files tell each other. See include/gpuarray/table.h. */
#ifndef THEANO_GPUARRAY_INTERFACE_H
#define THEANO_GPUARRAY_INTERFACE_H

#define GPUARRAY_TABLE_BUILD
/* The driver of CUDA has a function of this name. */
#define cuda_enter interface_cuda_enter
#include "include/gpuarray/table.h"
#include "runtime.h"
#include <stdlib.h>

/* What C code knows of a context. It belongs to the context of the runtime, and lives as long. */
struct _gpucontext {
    ContextObject *native; /* borrowed */
    PyObject *weak;        /* a weak reference to the GpuContext */
    int code;              /* of the newest failure */
    char message[1024];    /* its text */
};

extern PyTypeObject InterfaceContextType, InterfaceArrayType;

#define GPUARRAY_PROTOTYPE(result, name, parameters, arguments) result name parameters;
GPUARRAY_FUNCTIONS(GPUARRAY_PROTOTYPE)
#undef GPUARRAY_PROTOTYPE

/* errors.c. Functions that set exceptions return -1; these make a number of error.h of that, and keep the text. */
int settle(gpucontext *ctx, int result);
/* Raise what a number of error.h says. Always -1. */
int raise_code(gpucontext *ctx, int code);
/* Keep a text as that of the newest failure; returns the code. */
int refuse(gpucontext *ctx, int code, const char *text);

/* calls.c: functions in Python. A new reference; NULL with an exception. */
PyObject *call_python(const char *name, const char *format, ...);
/* An array as the GpuArray that Python has, and as the arguments of that: a new reference. */
PyObject *array_object(const GpuArray *a);

/* data.c */
static inline BufferObject *buffer_of(const gpudata *data) {
    return (BufferObject *)((char *)(uintptr_t)data - offsetof(BufferObject, address));
}
static inline gpudata *data_of(PyObject *buffer) { return (gpudata *)&((BufferObject *)buffer)->address; }
/* What C code knows of the context of a GpuContext; NULL with an exception. */
gpucontext *context_of_object(PyObject *context);
/* The GpuContext; a new reference. */
PyObject *object_of_context(gpucontext *ctx);

/* arrays.c: these set exceptions. */
int array_make(GpuArray *a, gpudata *data, size_t offset, int typecode, unsigned int nd, const size_t *dims,
               const ssize_t *strides);
int array_allocate(GpuArray *a, gpucontext *ctx, int typecode, unsigned int nd, const size_t *dims, ga_order order,
                   int zero);
PyObject *sizes_object(unsigned int nd, const size_t *sizes);
PyObject *steps_object(unsigned int nd, const ssize_t *steps);
/* Read what Python tells of an array: (buffer, typecode, shape, strides, offset). */
int array_from_tuple(GpuArray *a, PyObject *described);

/* objects.c */
PyGpuArrayObject *object_of_array(GpuArray *a, PyGpuContextObject *context);

/* table.c: add the capsule and the types to the module. */
int interface_add(PyObject *module);

#endif
