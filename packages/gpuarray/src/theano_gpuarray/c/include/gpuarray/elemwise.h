/* Expressions that are computed for each element of arrays. */
#ifndef GPUARRAY_ELEMWISE_H
#define GPUARRAY_ELEMWISE_H

#include "table.h"

#endif
