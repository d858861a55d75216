/* What functions of this interface return: 0, or the kind of a failure. */
#ifndef GPUARRAY_ERROR_H
#define GPUARRAY_ERROR_H

#include "table.h"

#endif
