/* The part of cuBLASLt, cuFFT, cuSOLVER and, beside products, cuBLAS that is used, and what is kept of them. */
#ifndef THEANO_GPUARRAY_OTHERS_H
#define THEANO_GPUARRAY_OTHERS_H

#include "cuda.h"

typedef struct cublasLtContext *cublasLtHandle;
/* What describes an operation, a matrix or a preference. */
typedef void *cublasLtDescriptor;
typedef struct {
    uint64_t data[8];
} cublasLtAlgorithm;
typedef struct {
    cublasLtAlgorithm algorithm;
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
} cublasLtHeuristic;

#define CUBLASLT_FUNCTIONS(F)                                                                                          \
    F(Create, "cublasLtCreate", (cublasLtHandle *))                                                                    \
    F(Destroy, "cublasLtDestroy", (cublasLtHandle))                                                                    \
    F(CreateOperation, "cublasLtMatmulDescCreate", (cublasLtDescriptor *, int, int))                                   \
    F(SetOperation, "cublasLtMatmulDescSetAttribute", (cublasLtDescriptor, int, const void *, size_t))                 \
    F(DestroyOperation, "cublasLtMatmulDescDestroy", (cublasLtDescriptor))                                             \
    F(CreateMatrix, "cublasLtMatrixLayoutCreate", (cublasLtDescriptor *, int, uint64_t, uint64_t, int64_t))            \
    F(DestroyMatrix, "cublasLtMatrixLayoutDestroy", (cublasLtDescriptor))                                              \
    F(CreatePreference, "cublasLtMatmulPreferenceCreate", (cublasLtDescriptor *))                                      \
    F(SetPreference, "cublasLtMatmulPreferenceSetAttribute", (cublasLtDescriptor, int, const void *, size_t))          \
    F(DestroyPreference, "cublasLtMatmulPreferenceDestroy", (cublasLtDescriptor))                                      \
    F(Choose, "cublasLtMatmulAlgoGetHeuristic",                                                                        \
      (cublasLtHandle, cublasLtDescriptor, cublasLtDescriptor, cublasLtDescriptor, cublasLtDescriptor,                 \
       cublasLtDescriptor, cublasLtDescriptor, int, cublasLtHeuristic *, int *))                                       \
    F(Multiply, "cublasLtMatmul",                                                                                      \
      (cublasLtHandle, cublasLtDescriptor, const void *, const void *, cublasLtDescriptor, const void *,               \
       cublasLtDescriptor, const void *, const void *, cublasLtDescriptor, void *, cublasLtDescriptor,                 \
       const cublasLtAlgorithm *, void *, size_t, CUstream))

#define CUFFT_FUNCTIONS(F)                                                                                             \
    F(Create, "cufftCreate", (int *))                                                                                  \
    F(SetAutoAllocation, "cufftSetAutoAllocation", (int, int))                                                         \
    F(MakePlan, "cufftMakePlanMany64",                                                                                 \
      (int, int, long long *, long long *, long long, long long, long long *, long long, long long, int, long long,    \
       size_t *))                                                                                                      \
    F(SetStream, "cufftSetStream", (int, CUstream))                                                                    \
    F(SetWorkArea, "cufftSetWorkArea", (int, void *))                                                                  \
    F(ExecR2C, "cufftExecR2C", (int, void *, void *))                                                                  \
    F(ExecC2R, "cufftExecC2R", (int, void *, void *))                                                                  \
    F(ExecD2Z, "cufftExecD2Z", (int, void *, void *))                                                                  \
    F(ExecZ2D, "cufftExecZ2D", (int, void *, void *))                                                                  \
    F(Destroy, "cufftDestroy", (int))

typedef struct cusolverDnContext *cusolverHandle;
/* Settings of Jacobi's method for eigenvalues and for singular values: how exact, how many sweeps, sorted or not. */
typedef void *cusolverJacobi;
#define CUSOLVER_FUNCTIONS(F)                                                                                          \
    F(Create, "cusolverDnCreate", (cusolverHandle *))                                                                  \
    F(Destroy, "cusolverDnDestroy", (cusolverHandle))                                                                  \
    F(SetStream, "cusolverDnSetStream", (cusolverHandle, CUstream))                                                    \
    F(CreateSyevj, "cusolverDnCreateSyevjInfo", (cusolverJacobi *))                                                    \
    F(DestroySyevj, "cusolverDnDestroySyevjInfo", (cusolverJacobi))                                                    \
    F(CreateGesvdj, "cusolverDnCreateGesvdjInfo", (cusolverJacobi *))                                                  \
    F(DestroyGesvdj, "cusolverDnDestroyGesvdjInfo", (cusolverJacobi))

/* The functions for float32 (S) and for float64 (D). */
#define CUSOLVER_ROUTINES(F, T)                                                                                        \
    F(PotrfSize, "cusolverDn" T "potrf_bufferSize", (cusolverHandle, int, int, void *, int, int *))                    \
    F(Potrf, "cusolverDn" T "potrf", (cusolverHandle, int, int, void *, int, void *, int, int *))                      \
    F(GetrfSize, "cusolverDn" T "getrf_bufferSize", (cusolverHandle, int, int, void *, int, int *))                    \
    F(Getrf, "cusolverDn" T "getrf", (cusolverHandle, int, int, void *, int, void *, int *, int *))                    \
    F(Getrs, "cusolverDn" T "getrs",                                                                                   \
      (cusolverHandle, int, int, int, const void *, int, const int *, void *, int, int *))                             \
    F(PotrfStack, "cusolverDn" T "potrfBatched", (cusolverHandle, int, int, void **, int, int *, int))                 \
    F(GeqrfSize, "cusolverDn" T "geqrf_bufferSize", (cusolverHandle, int, int, void *, int, int *))                    \
    F(Geqrf, "cusolverDn" T "geqrf", (cusolverHandle, int, int, void *, int, void *, void *, int, int *))              \
    F(OrgqrSize, "cusolverDn" T "orgqr_bufferSize",                                                                    \
      (cusolverHandle, int, int, int, const void *, int, const void *, int *))                                         \
    F(Orgqr, "cusolverDn" T "orgqr", (cusolverHandle, int, int, int, void *, int, const void *, void *, int, int *))   \
    F(SyevdSize, "cusolverDn" T "syevd_bufferSize",                                                                    \
      (cusolverHandle, int, int, int, const void *, int, const void *, int *))                                         \
    F(Syevd, "cusolverDn" T "syevd", (cusolverHandle, int, int, int, void *, int, void *, void *, int, int *))         \
    F(SyevjSize, "cusolverDn" T "syevjBatched_bufferSize",                                                             \
      (cusolverHandle, int, int, int, const void *, int, const void *, int *, cusolverJacobi, int))                    \
    F(Syevj, "cusolverDn" T "syevjBatched",                                                                            \
      (cusolverHandle, int, int, int, void *, int, void *, void *, int, int *, cusolverJacobi, int))                   \
    F(GesvdSize, "cusolverDn" T "gesvd_bufferSize", (cusolverHandle, int, int, int *))                                 \
    F(Gesvd, "cusolverDn" T "gesvd",                                                                                   \
      (cusolverHandle, signed char, signed char, int, int, void *, int, void *, void *, int, void *, int, void *, int, \
       void *, int *))                                                                                                 \
    F(GesvdjSize, "cusolverDn" T "gesvdjBatched_bufferSize",                                                           \
      (cusolverHandle, int, int, int, const void *, int, const void *, const void *, int, const void *, int, int *,    \
       cusolverJacobi, int))                                                                                           \
    F(Gesvdj, "cusolverDn" T "gesvdjBatched",                                                                          \
      (cusolverHandle, int, int, int, void *, int, void *, void *, int, void *, int, void *, int, int *,               \
       cusolverJacobi, int))

/* Those of cuBLAS on triangular matrices and on stacks of matrices, whose addresses are in an array on the device. */
#define CUBLAS_ROUTINES(F, T)                                                                                          \
    F(Trsm, "cublas" T "trsm_v2",                                                                                      \
      (cublasHandle, int, int, int, int, int, int, const void *, const void *, int, void *, int))                      \
    F(TrsmStack, "cublas" T "trsmBatched",                                                                             \
      (cublasHandle, int, int, int, int, int, int, const void *, const void *const *, int, void *const *, int, int))   \
    F(GetrfStack, "cublas" T "getrfBatched", (cublasHandle, int, void *const *, int, int *, int *, int))               \
    F(GetrsStack, "cublas" T "getrsBatched",                                                                           \
      (cublasHandle, int, int, int, const void *const *, int, const int *, void *const *, int, int *, int))

#define OTHER_FIELD(name, symbol, parameters) int(*name) parameters;
typedef struct {
    CUBLASLT_FUNCTIONS(OTHER_FIELD)
} CublasLtFunctions;
typedef struct {
    CUFFT_FUNCTIONS(OTHER_FIELD)
} CufftFunctions;
typedef struct {
    CUSOLVER_ROUTINES(OTHER_FIELD, "")
} CusolverRoutines;
typedef struct {
    CUSOLVER_FUNCTIONS(OTHER_FIELD)
    CusolverRoutines of_float32, of_float64;
} CusolverFunctions;
typedef struct {
    CUBLAS_ROUTINES(OTHER_FIELD, "")
} CublasRoutines;
typedef struct {
    CublasRoutines of_float32, of_float64;
} CublasMatrices;
#undef OTHER_FIELD

struct OtherLibraries {
    CublasLtFunctions lt;
    CufftFunctions fft;
    CusolverFunctions solver;
    CublasMatrices blas;
    int has_lt, has_fft, has_solver, has_blas;
};

/* A product with what follows it, as it was described for some numbers, and the algorithm that was chosen. */
typedef struct {
    char dtype[16];
    int64_t numbers[MOST_NUMBERS];
    uint32_t alignment; /* of all addresses */
    cublasLtDescriptor operation, a, b, z;
    cublasLtAlgorithm algorithm;
    size_t workspace;
} LtPlan;

typedef struct {
    int type, rank;
    int64_t lengths[3], batch;
    int handle;
    size_t workspace;
} FftPlan;

enum { MOST_LT_PLANS = 128, MOST_FFT_PLANS = 256 };

struct OtherHandles {
    cublasLtHandle lt;
    cusolverHandle solver;
    cusolverJacobi syevj, gesvdj; /* NULL before their first use */
    int lt_failed, solver_failed;
    LtPlan lt_plans[MOST_LT_PLANS];
    int n_lt_plans, next_lt_plan;
    int nan_kept[4]; /* what becomes of NaN, by precision: see cublaslt.c */
    FftPlan fft_plans[MOST_FFT_PLANS];
    int n_fft_plans;
};

/* The address of a place. */
static inline void *place_address(const Place *place) { return (void *)(place->address + place->offset); }

/* Each finds the functions; with the context current, each gives the bytes of the workspace (1, or 0 where the library
 * does not have the operation, or -1), puts the operation into a stream, and lets go what it has kept. */
int lt_open(OtherLibraries *libraries, const char *path, Failure *failure);
int lt_workspace(CudaContext *context, const Call *call, int64_t *bytes, Failure *failure);
int lt_call(CudaContext *context, const Call *call, CUstream stream, Failure *failure);
void lt_close(CudaContext *context);

int fft_open(OtherLibraries *libraries, const char *path, Failure *failure);
int fft_workspace(CudaContext *context, const Call *call, int64_t *bytes, Failure *failure);
int fft_call(CudaContext *context, const Call *call, CUstream stream, Failure *failure);
void fft_close(CudaContext *context);

int solver_open(OtherLibraries *libraries, const char *path, Failure *failure);
int solver_workspace(CudaContext *context, const Call *call, int64_t *bytes, Failure *failure);
int solver_call(CudaContext *context, const Call *call, CUstream stream, Failure *failure);
void solver_close(CudaContext *context);

/* Those of cuDNN: see cudnn/. */
int dnn_pool_workspace(CudaContext *context, const Call *call, int64_t *bytes, Failure *failure);
int dnn_pool_call(CudaContext *context, const Call *call, CUstream stream, Failure *failure);
int dnn_softmax_workspace(CudaContext *context, const Call *call, int64_t *bytes, Failure *failure);
int dnn_softmax_call(CudaContext *context, const Call *call, CUstream stream, Failure *failure);
int dnn_norm_workspace(CudaContext *context, const Call *call, int64_t *bytes, Failure *failure);
int dnn_norm_call(CudaContext *context, const Call *call, CUstream stream, Failure *failure);
int dnn_rnn_workspace(CudaContext *context, const Call *call, int64_t *bytes, Failure *failure);
int dnn_rnn_call(CudaContext *context, const Call *call, CUstream stream, Failure *failure);
int dnn_transformer_workspace(CudaContext *context, const Call *call, int64_t *bytes, Failure *failure);
int dnn_transformer_call(CudaContext *context, const Call *call, CUstream stream, Failure *failure);

/* Of cuBLAS, beside products; its handle is closed with them. */
int blas_open(OtherLibraries *libraries, const char *path, Failure *failure);
int blas_workspace(CudaContext *context, const Call *call, int64_t *bytes, Failure *failure);
int blas_call(CudaContext *context, const Call *call, CUstream stream, Failure *failure);

#endif
