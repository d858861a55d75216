/* The inner loops of convolutions for the vector instructions that there may be; which are used is asked at run
 * time. */
#include "convolution.h"
#include <stddef.h>

#ifdef __clang__
#define UNROLLED _Pragma("clang loop unroll(full)")
#else
#define UNROLLED _Pragma("GCC unroll 8")
#endif

#define NUMBER float
#define LANES 4
#define ROWS 4
#define SUMS 2
#define TARGET
#define NAME(x) x##_of_floats
#include "convolution_kernels.h"

#define NUMBER double
#define LANES 2
#define ROWS 4
#define SUMS 2
#define TARGET
#define NAME(x) x##_of_doubles
#include "convolution_kernels.h"

#if defined(__x86_64__)
#define NUMBER float
#define LANES 8
#define ROWS 4
#define SUMS 2
#define TARGET __attribute__((target("avx2,fma")))
#define NAME(x) x##_of_floats_by_8
#include "convolution_kernels.h"

#define NUMBER double
#define LANES 4
#define ROWS 4
#define SUMS 2
#define TARGET __attribute__((target("avx2,fma")))
#define NAME(x) x##_of_doubles_by_4
#include "convolution_kernels.h"

#define NUMBER float
#define LANES 16
#define ROWS 8
#define SUMS 4
#define TARGET __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,fma")))
#define NAME(x) x##_of_floats_by_16
#include "convolution_kernels.h"

#define NUMBER double
#define LANES 8
#define ROWS 8
#define SUMS 4
#define TARGET __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,fma")))
#define NAME(x) x##_of_doubles_by_8
#include "convolution_kernels.h"
#endif

int most_vector_bytes = 64;

const WindowKernels *window_kernels(int doubles) {
#if defined(__x86_64__)
    if (most_vector_bytes >= 64 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
        return doubles ? &kernels_of_doubles_by_8 : &kernels_of_floats_by_16;
    if (most_vector_bytes >= 32 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return doubles ? &kernels_of_doubles_by_4 : &kernels_of_floats_by_8;
#endif
    return doubles ? &kernels_of_doubles : &kernels_of_floats;
}
