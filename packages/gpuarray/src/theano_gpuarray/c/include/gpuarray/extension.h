/* Functions by their names: "cuda_enter", "cuda_exit", "cuda_get_stream", "cuda_get_sz"; see ext_cuda.h. */
#ifndef GPUARRAY_EXTENSION_H
#define GPUARRAY_EXTENSION_H

#include "table.h"

#endif
