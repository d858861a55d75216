/* Arrays in the memory of devices. */
#ifndef GPUARRAY_PARTS_ARRAY_H
#define GPUARRAY_PARTS_ARRAY_H

#include "buffer.h"

/* Of who makes one, until GpuArray_clear; `data` is a reference to memory, and both tables come from malloc. */
typedef struct _GpuArray {
    gpudata *data;
    size_t *dimensions;
    ssize_t *strides; /* in bytes */
    size_t offset;    /* bytes before the first element */
    unsigned int nd;
    int flags;
    int typecode;
} GpuArray;

#define GA_C_CONTIGUOUS 0x0001
#define GA_F_CONTIGUOUS 0x0002
#define GA_ALIGNED 0x0100
#define GA_WRITEABLE 0x0400
#define GA_BEHAVED (GA_ALIGNED | GA_WRITEABLE)
#define GA_CARRAY (GA_C_CONTIGUOUS | GA_BEHAVED)
#define GA_FARRAY (GA_F_CONTIGUOUS | GA_BEHAVED)

#define GpuArray_CHKFLAGS(a, fl) (((a)->flags & (fl)) == (fl))
#define GpuArray_IS_C_CONTIGUOUS(a) GpuArray_CHKFLAGS(a, GA_C_CONTIGUOUS)
#define GpuArray_IS_F_CONTIGUOUS(a) GpuArray_CHKFLAGS(a, GA_F_CONTIGUOUS)
#define GpuArray_ISONESEGMENT(a) ((a)->flags & (GA_C_CONTIGUOUS | GA_F_CONTIGUOUS))
#define GpuArray_ISFORTRAN(a) (((a)->flags & (GA_C_CONTIGUOUS | GA_F_CONTIGUOUS)) == GA_F_CONTIGUOUS)
#define GpuArray_ISWRITEABLE(a) GpuArray_CHKFLAGS(a, GA_WRITEABLE)
#define GpuArray_ISALIGNED(a) GpuArray_CHKFLAGS(a, GA_ALIGNED)
#define GpuArray_ITEMSIZE(a) gpuarray_get_elsize((a)->typecode)

typedef enum _ga_order { GA_ANY_ORDER = -1, GA_C_ORDER = 0, GA_F_ORDER = 1 } ga_order;

#endif
