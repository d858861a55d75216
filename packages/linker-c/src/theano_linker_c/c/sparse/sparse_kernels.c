/* Tasks on compressed sparse matrices for the vector instructions that there may be; which are used is asked at run
 * time. No product is fused with a sum, so that results do not depend on the processor. */
#ifndef __clang__
#pragma GCC optimize("O3")
#endif
#include "sparse.h"
#include "convolution/convolution.h"
#include "major_indices.h"

#define ELEMENT npy_float32
#define NAME(x) x##_of_floats
#include "sparse_kernels.h"

#define ELEMENT npy_float64
#define NAME(x) x##_of_doubles
#include "sparse_kernels.h"

#if defined(__x86_64__)
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif

#define ELEMENT npy_float32
#define NAME(x) x##_of_floats_by_8
#include "sparse_kernels.h"

#define ELEMENT npy_float64
#define NAME(x) x##_of_doubles_by_4
#include "sparse_kernels.h"

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

const SparseKernels *sparse_kernels(int doubles) {
#if defined(__x86_64__)
    if (most_vector_bytes >= 32 && __builtin_cpu_supports("avx2"))
        return doubles ? &kernels_of_doubles_by_4 : &kernels_of_floats_by_8;
#endif
    return doubles ? &kernels_of_doubles : &kernels_of_floats;
}
