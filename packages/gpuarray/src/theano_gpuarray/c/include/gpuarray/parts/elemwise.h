/* Expressions that are computed for each element of arrays. */
#ifndef GPUARRAY_PARTS_ELEMWISE_H
#define GPUARRAY_PARTS_ELEMWISE_H

#include "array.h"

typedef struct _GpuElemwise GpuElemwise;

#define GE_SCALAR 0x0001 /* a number: its argument is a pointer to it */
#define GE_READ 0x0002
#define GE_WRITE 0x0004

typedef struct _gpuelemwise_arg {
    const char *name; /* in the expression */
    int typecode, flags;
} gpuelemwise_arg;

/* Flags of GpuElemwise_new: numbers of 16 bits are float in the expression, as they always are here. */
#define GE_NOADD64 0x0001
#define GE_CONVERT_F16 0x0002
/* Flags of GpuElemwise_call: whether lengths of 1 stand for the others. */
#define GE_NOCOLLAPSE 0x0001
#define GE_BROADCAST 0x0002
#define GE_PADSHAPE 0x0004

#endif
