/* Pooling for the vector instructions that there may be; which are used is asked at run time. */
#ifndef __clang__
#pragma GCC optimize("O3")
#endif
#include "pooling.h"
#include <math.h>
#include <string.h>

#define NUMBER float
#define MASK int32_t
#define TARGET
#define NAME(x) x##_of_floats
#include "pooling_kernels.h"

#define NUMBER double
#define MASK int64_t
#define TARGET
#define NAME(x) x##_of_doubles
#include "pooling_kernels.h"

#if defined(__x86_64__)
#define NUMBER float
#define MASK int32_t
#define TARGET __attribute__((target("avx2")))
#define NAME(x) x##_of_floats_by_8
#include "pooling_kernels.h"

#define NUMBER double
#define MASK int64_t
#define TARGET __attribute__((target("avx2")))
#define NAME(x) x##_of_doubles_by_4
#include "pooling_kernels.h"
#endif

const PoolKernels *pool_kernels(int doubles) {
#if defined(__x86_64__)
    if (most_vector_bytes >= 32 && __builtin_cpu_supports("avx2"))
        return doubles ? &kernels_of_doubles_by_4 : &kernels_of_floats_by_8;
#endif
    return doubles ? &kernels_of_doubles : &kernels_of_floats;
}
