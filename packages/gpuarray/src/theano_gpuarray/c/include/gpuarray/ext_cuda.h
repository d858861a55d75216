/* What libraries of CUDA need: the context as the current one, and its queue, a CUstream. */
#ifndef GPUARRAY_EXT_CUDA_H
#define GPUARRAY_EXT_CUDA_H

#include "table.h"

/* All work of a context goes into one queue, which what waits for reads or writes need not know of. */
#define CUDA_WAIT_READ 0x10000
#define CUDA_WAIT_WRITE 0x20000
#define CUDA_WAIT_ALL (CUDA_WAIT_READ | CUDA_WAIT_WRITE)

#endif
