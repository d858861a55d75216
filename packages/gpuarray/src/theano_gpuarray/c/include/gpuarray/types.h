/* Numbers of dtypes, which are those of NumPy where it has them, and of parameters of kernels. */
#ifndef GPUARRAY_TYPES_H
#define GPUARRAY_TYPES_H

#include "table.h"

#endif
