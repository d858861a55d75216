/* Contexts, memory and compiled kernels. All functions of this interface are called with the GIL held. */
#ifndef GPUARRAY_BUFFER_H
#define GPUARRAY_BUFFER_H

#include "table.h"

#endif
