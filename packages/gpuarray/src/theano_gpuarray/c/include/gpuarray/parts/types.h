/* Numbers of dtypes, which are those of NumPy where it has them, and of parameters of kernels. */
#ifndef GPUARRAY_PARTS_TYPES_H
#define GPUARRAY_PARTS_TYPES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum GPUARRAY_TYPES {
    GA_BUFFER = -1, /* memory, as a parameter of a kernel */
    GA_BOOL = 0,
    GA_BYTE = 1,
    GA_UBYTE = 2,
    GA_SHORT = 3,
    GA_USHORT = 4,
    GA_INT = 5,
    GA_UINT = 6,
    GA_LONG = 7,
    GA_ULONG = 8,
    GA_FLOAT = 11,
    GA_DOUBLE = 12,
    GA_CFLOAT = 14,
    GA_CDOUBLE = 15,
    GA_HALF = 23,
    GA_SIZE = 24, /* size_t and ssize_t; parameters of kernels alone */
    GA_SSIZE = 25
};

/* The bits of a number of 16 bits, as a value for a kernel. */
typedef struct {
    uint16_t h;
} ga_half_t;

typedef struct {
    const char *cluda_name; /* in kernels */
    size_t size, align;
    int typecode;
} gpuarray_type;

#endif
