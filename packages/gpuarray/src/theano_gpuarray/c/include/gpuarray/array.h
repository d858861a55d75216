/* Arrays in the memory of devices. */
#ifndef GPUARRAY_ARRAY_H
#define GPUARRAY_ARRAY_H

#include "table.h"

#endif
