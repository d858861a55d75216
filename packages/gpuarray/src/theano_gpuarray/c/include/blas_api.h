/* Products of arrays as objects of Python; see gpuarray_api.h. */
#ifndef GPUARRAY_BLAS_API_H
#define GPUARRAY_BLAS_API_H

#include "gpuarray/blas.h"
#include "gpuarray_api.h"

static inline int import_pygpu__blas(void) { return import_pygpu__gpuarray(); }

#endif
