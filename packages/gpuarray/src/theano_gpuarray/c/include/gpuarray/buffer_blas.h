/* Whether a factor of a product is transposed. */
#ifndef GPUARRAY_BUFFER_BLAS_H
#define GPUARRAY_BUFFER_BLAS_H

#include "table.h"

#endif
