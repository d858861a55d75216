/* Facts about dtypes; see types.h. */
#ifndef GPUARRAY_UTIL_H
#define GPUARRAY_UTIL_H

#include "table.h"

#endif
