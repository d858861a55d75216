/* Fourier transforms of several lines, for each kind of vector instructions. */
#include "fourier.h"

/* Elements that are moved at a time. */
enum { TILE = 16 };

#ifdef __clang__
#define UNROLLED _Pragma("clang loop unroll(full)")
#else
#define UNROLLED _Pragma("GCC unroll 8")
#endif

#define REAL float
#define LANES 4
#define TARGET
#define NAME(x) x##_of_floats
#include "fourier_kernels.h"

#define REAL double
#define LANES 2
#define TARGET
#define NAME(x) x##_of_doubles
#include "fourier_kernels.h"

#if defined(__x86_64__)
#define REAL float
#define LANES 8
#define TARGET __attribute__((target("avx2,fma")))
#define NAME(x) x##_of_floats_by_8
#include "fourier_kernels.h"

#define REAL double
#define LANES 4
#define TARGET __attribute__((target("avx2,fma")))
#define NAME(x) x##_of_doubles_by_4
#include "fourier_kernels.h"

#define REAL float
#define LANES 16
#define TARGET __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,fma")))
#define NAME(x) x##_of_floats_by_16
#include "fourier_kernels.h"

#define REAL double
#define LANES 8
#define TARGET __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,fma")))
#define NAME(x) x##_of_doubles_by_8
#include "fourier_kernels.h"
#endif

const FourierKernels *fourier_kernels(int is_double, int64_t lines) {
#if defined(__x86_64__)
    /* Lanes of doubles; of floats there are twice as many. */
    int64_t lanes = is_double ? lines : (lines + 1) / 2;
    if (lanes > 4 && most_vector_bytes >= 64 && __builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
        return is_double ? &kernels_of_doubles_by_8 : &kernels_of_floats_by_16;
    if (lanes > 2 && most_vector_bytes >= 32 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return is_double ? &kernels_of_doubles_by_4 : &kernels_of_floats_by_8;
#endif
    (void)lines;
    return is_double ? &kernels_of_doubles : &kernels_of_floats;
}
