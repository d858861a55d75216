/* Kernels that are called with arguments.
 *
 * A launch takes a pointer to each argument, and for memory the `gpudata *` itself. Numbers of work-groups (gs) come
 * before numbers of work-items in each (ls).
 */
#ifndef GPUARRAY_PARTS_KERNEL_H
#define GPUARRAY_PARTS_KERNEL_H

#include "buffer.h"

typedef struct _GpuKernel {
    gpukernel *k;
    void **args; /* those of GpuKernel_setarg */
} GpuKernel;

#endif
