/* Products of matrices and vectors. */
#ifndef GPUARRAY_BLAS_H
#define GPUARRAY_BLAS_H

#include "table.h"

#define GpuArray_hdot GpuArray_rdot
#define GpuArray_sdot GpuArray_rdot
#define GpuArray_ddot GpuArray_rdot
#define GpuArray_sgemv GpuArray_rgemv
#define GpuArray_dgemv GpuArray_rgemv
#define GpuArray_hgemm GpuArray_rgemm
#define GpuArray_sgemm GpuArray_rgemm
#define GpuArray_dgemm GpuArray_rgemm
#define GpuArray_sger GpuArray_rger
#define GpuArray_dger GpuArray_rger

#endif
