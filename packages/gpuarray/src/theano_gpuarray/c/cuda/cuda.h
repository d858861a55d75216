/* The part of the CUDA driver, of NVRTC, of cuBLAS and of cuDNN that is used: their types, constants and functions,
 * declared here so that nothing of CUDA is needed to build, and the libraries are looked for when a device is. */
#ifndef THEANO_GPUARRAY_CUDA_H
#define THEANO_GPUARRAY_CUDA_H

#include "../driver.h"

typedef int CUresult;
typedef int CUdevice;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUgraphNode_st *CUgraphNode;
typedef unsigned long long CUdeviceptr;

enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE = 708,
};
enum {
    CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
    CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X = 2, /* Y and Z follow */
    CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X = 5,  /* Y and Z follow */
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
    CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10,
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
};
enum { CU_CTX_SCHED_YIELD = 2, CU_CTX_SCHED_MASK = 7 };
enum { CU_STREAM_DEFAULT = 0, CU_STREAM_NON_BLOCKING = 1 };
enum { CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1 };
enum { CU_EVENT_DISABLE_TIMING = 2 };
enum { CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0 };

typedef struct {
    int result;
    CUgraphNode error_node, error_from_node;
} CUgraphExecUpdateResultInfo;

/* Name in this table, name in the library, and parameters of each function that every driver has. */
#define CUDA_FUNCTIONS(F)                                                                                              \
    F(Init, "cuInit", (unsigned))                                                                                      \
    F(DriverGetVersion, "cuDriverGetVersion", (int *))                                                                 \
    F(GetErrorName, "cuGetErrorName", (CUresult, const char **))                                                       \
    F(GetErrorString, "cuGetErrorString", (CUresult, const char **))                                                   \
    F(DeviceGetCount, "cuDeviceGetCount", (int *))                                                                     \
    F(DeviceGet, "cuDeviceGet", (CUdevice *, int))                                                                     \
    F(DeviceGetName, "cuDeviceGetName", (char *, int, CUdevice))                                                       \
    F(DeviceGetPCIBusId, "cuDeviceGetPCIBusId", (char *, int, CUdevice))                                               \
    F(DeviceTotalMem, "cuDeviceTotalMem_v2", (size_t *, CUdevice))                                                     \
    F(DeviceGetAttribute, "cuDeviceGetAttribute", (int *, int, CUdevice))                                              \
    F(DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (CUcontext *, CUdevice))                                     \
    F(DevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (CUdevice))                                             \
    F(DevicePrimaryCtxSetFlags, "cuDevicePrimaryCtxSetFlags_v2", (CUdevice, unsigned))                                 \
    F(DevicePrimaryCtxGetState, "cuDevicePrimaryCtxGetState", (CUdevice, unsigned *, int *))                           \
    F(CtxPushCurrent, "cuCtxPushCurrent_v2", (CUcontext))                                                              \
    F(CtxPopCurrent, "cuCtxPopCurrent_v2", (CUcontext *))                                                              \
    F(CtxSynchronize, "cuCtxSynchronize", (void))                                                                      \
    F(StreamCreate, "cuStreamCreate", (CUstream *, unsigned))                                                          \
    F(StreamDestroy, "cuStreamDestroy_v2", (CUstream))                                                                 \
    F(StreamSynchronize, "cuStreamSynchronize", (CUstream))                                                            \
    F(StreamWaitEvent, "cuStreamWaitEvent", (CUstream, CUevent, unsigned))                                             \
    F(EventCreate, "cuEventCreate", (CUevent *, unsigned))                                                             \
    F(EventRecord, "cuEventRecord", (CUevent, CUstream))                                                               \
    F(EventSynchronize, "cuEventSynchronize", (CUevent))                                                               \
    F(EventDestroy, "cuEventDestroy_v2", (CUevent))                                                                    \
    F(MemAlloc, "cuMemAlloc_v2", (CUdeviceptr *, size_t))                                                              \
    F(MemFree, "cuMemFree_v2", (CUdeviceptr))                                                                          \
    F(MemHostAlloc, "cuMemHostAlloc", (void **, size_t, unsigned))                                                     \
    F(MemFreeHost, "cuMemFreeHost", (void *))                                                                          \
    F(MemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", (CUdeviceptr, const void *, size_t, CUstream))                          \
    F(MemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", (void *, CUdeviceptr, size_t, CUstream))                                \
    F(MemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", (CUdeviceptr, CUdeviceptr, size_t, CUstream))                           \
    F(MemcpyPeerAsync, "cuMemcpyPeerAsync", (CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t, CUstream))        \
    F(MemsetD8Async, "cuMemsetD8Async", (CUdeviceptr, unsigned char, size_t, CUstream))                                \
    F(MemsetD32Async, "cuMemsetD32Async", (CUdeviceptr, unsigned, size_t, CUstream))                                   \
    F(ModuleLoadData, "cuModuleLoadData", (CUmodule *, const void *))                                                  \
    F(ModuleUnload, "cuModuleUnload", (CUmodule))                                                                      \
    F(ModuleGetFunction, "cuModuleGetFunction", (CUfunction *, CUmodule, const char *))                                \
    F(FuncGetAttribute, "cuFuncGetAttribute", (int *, int, CUfunction))                                                \
    F(LaunchKernel, "cuLaunchKernel",                                                                                  \
      (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **, void **))

/* Those of graphs, which drivers before CUDA 12 lack in this form: lists are then launched step by step. */
#define CUDA_GRAPH_FUNCTIONS(F)                                                                                        \
    F(StreamBeginCapture, "cuStreamBeginCapture_v2", (CUstream, int))                                                  \
    F(StreamEndCapture, "cuStreamEndCapture", (CUstream, CUgraph *))                                                   \
    F(GraphInstantiate, "cuGraphInstantiateWithFlags", (CUgraphExec *, CUgraph, unsigned long long))                   \
    F(GraphExecUpdate, "cuGraphExecUpdate_v2", (CUgraphExec, CUgraph, CUgraphExecUpdateResultInfo *))                  \
    F(GraphLaunch, "cuGraphLaunch", (CUgraphExec, CUstream))                                                           \
    F(GraphDestroy, "cuGraphDestroy", (CUgraph))                                                                       \
    F(GraphExecDestroy, "cuGraphExecDestroy", (CUgraphExec))

typedef struct {
#define CUDA_FIELD(name, symbol, parameters) CUresult(*name) parameters;
    CUDA_FUNCTIONS(CUDA_FIELD)
    CUDA_GRAPH_FUNCTIONS(CUDA_FIELD)
#undef CUDA_FIELD
    int graphs; /* whether all functions of graphs are there */
} CudaFunctions;
extern CudaFunctions cu;

typedef struct _nvrtcProgram *nvrtcProgram;

#define NVRTC_FUNCTIONS(F)                                                                                             \
    F(int, Version, (int *, int *))                                                                                    \
    F(const char *, GetErrorString, (int))                                                                             \
    F(int, GetNumSupportedArchs, (int *))                                                                              \
    F(int, GetSupportedArchs, (int *))                                                                                 \
    F(int, CreateProgram, (nvrtcProgram *, const char *, const char *, int, const char *const *, const char *const *)) \
    F(int, DestroyProgram, (nvrtcProgram *))                                                                           \
    F(int, CompileProgram, (nvrtcProgram, int, const char *const *))                                                   \
    F(int, GetProgramLogSize, (nvrtcProgram, size_t *))                                                                \
    F(int, GetProgramLog, (nvrtcProgram, char *))                                                                      \
    F(int, GetCUBINSize, (nvrtcProgram, size_t *))                                                                     \
    F(int, GetCUBIN, (nvrtcProgram, char *))                                                                           \
    F(int, GetPTXSize, (nvrtcProgram, size_t *))                                                                       \
    F(int, GetPTX, (nvrtcProgram, char *))

typedef struct {
#define NVRTC_FIELD(result, name, parameters) result(*name) parameters;
    NVRTC_FUNCTIONS(NVRTC_FIELD)
#undef NVRTC_FIELD
} NvrtcFunctions;

typedef struct cublasContext *cublasHandle;

/* Name in the table, name in the library, and parameters. */
#define CUBLAS_FUNCTIONS(F)                                                                                            \
    F(Create, "cublasCreate_v2", (cublasHandle *))                                                                     \
    F(Destroy, "cublasDestroy_v2", (cublasHandle))                                                                     \
    F(SetStream, "cublasSetStream_v2", (cublasHandle, CUstream))                                                       \
    F(SetWorkspace, "cublasSetWorkspace_v2", (cublasHandle, void *, size_t))                                           \
    F(SetPointerMode, "cublasSetPointerMode_v2", (cublasHandle, int))                                                  \
    F(SetMathMode, "cublasSetMathMode", (cublasHandle, int))                                                           \
    F(Gemm, "cublasGemmEx",                                                                                            \
      (cublasHandle, int, int, int, int, int, const void *, const void *, int, int, const void *, int, int,            \
       const void *, void *, int, int, int, int))                                                                      \
    F(GemmOfStack, "cublasGemmStridedBatchedEx",                                                                       \
      (cublasHandle, int, int, int, int, int, const void *, const void *, int, int, long long, const void *, int, int, \
       long long, const void *, void *, int, int, long long, int, int, int))

typedef struct {
#define CUBLAS_FIELD(name, symbol, parameters) int(*name) parameters;
    CUBLAS_FUNCTIONS(CUBLAS_FIELD)
#undef CUBLAS_FIELD
} CublasFunctions;

typedef struct cudnnContext *cudnnHandle;
/* Descriptors of tensors, filters and convolutions are all pointers to what nobody else knows. */
typedef void *cudnnDescriptor;

/* What the library tells of an algorithm. */
typedef struct {
    int algorithm, status;
    float time;
    size_t memory;
    int determinism, math;
    int reserved[3];
} cudnnPerformance;

/* Name in the table, result, name in the library, and parameters. */
#define CUDNN_FUNCTIONS(F)                                                                                             \
    F(GetVersion, size_t, "cudnnGetVersion", (void))                                                                   \
    F(GetErrorString, const char *, "cudnnGetErrorString", (int))                                                      \
    F(Create, int, "cudnnCreate", (cudnnHandle *))                                                                     \
    F(Destroy, int, "cudnnDestroy", (cudnnHandle))                                                                     \
    F(SetStream, int, "cudnnSetStream", (cudnnHandle, CUstream))                                                       \
    F(CreateTensor, int, "cudnnCreateTensorDescriptor", (cudnnDescriptor *))                                           \
    F(SetTensor, int, "cudnnSetTensorNdDescriptor", (cudnnDescriptor, int, int, const int *, const int *))             \
    F(DestroyTensor, int, "cudnnDestroyTensorDescriptor", (cudnnDescriptor))                                           \
    F(CreateFilter, int, "cudnnCreateFilterDescriptor", (cudnnDescriptor *))                                           \
    F(SetFilter, int, "cudnnSetFilterNdDescriptor", (cudnnDescriptor, int, int, int, const int *))                     \
    F(DestroyFilter, int, "cudnnDestroyFilterDescriptor", (cudnnDescriptor))                                           \
    F(CreateConvolution, int, "cudnnCreateConvolutionDescriptor", (cudnnDescriptor *))                                 \
    F(SetConvolution, int, "cudnnSetConvolutionNdDescriptor",                                                          \
      (cudnnDescriptor, int, const int *, const int *, const int *, int, int))                                         \
    F(SetGroups, int, "cudnnSetConvolutionGroupCount", (cudnnDescriptor, int))                                         \
    F(SetMath, int, "cudnnSetConvolutionMathType", (cudnnDescriptor, int))                                             \
    F(DestroyConvolution, int, "cudnnDestroyConvolutionDescriptor", (cudnnDescriptor))

/* The functions of a convolution and of its gradients. They take the descriptors in one order: of both operands, of the
 * convolution, and of the result. */
#define CUDNN_TASKS(F)                                                                                                 \
    F(0, "cudnnGetConvolutionForwardAlgorithm_v7", "cudnnFindConvolutionForwardAlgorithm",                             \
      "cudnnGetConvolutionForwardWorkspaceSize", "cudnnConvolutionForward")                                            \
    F(1, "cudnnGetConvolutionBackwardDataAlgorithm_v7", "cudnnFindConvolutionBackwardDataAlgorithm",                   \
      "cudnnGetConvolutionBackwardDataWorkspaceSize", "cudnnConvolutionBackwardData")                                  \
    F(2, "cudnnGetConvolutionBackwardFilterAlgorithm_v7", "cudnnFindConvolutionBackwardFilterAlgorithm",               \
      "cudnnGetConvolutionBackwardFilterWorkspaceSize", "cudnnConvolutionBackwardFilter")

typedef struct {
    int (*guess)(cudnnHandle, cudnnDescriptor, cudnnDescriptor, cudnnDescriptor, cudnnDescriptor, int, int *,
                 cudnnPerformance *);
    int (*find)(cudnnHandle, cudnnDescriptor, cudnnDescriptor, cudnnDescriptor, cudnnDescriptor, int, int *,
                cudnnPerformance *);
    int (*workspace)(cudnnHandle, cudnnDescriptor, cudnnDescriptor, cudnnDescriptor, cudnnDescriptor, int, size_t *);
    int (*compute)(cudnnHandle, const void *, cudnnDescriptor, const void *, cudnnDescriptor, const void *,
                   cudnnDescriptor, int, void *, size_t, const void *, cudnnDescriptor, void *);
} CudnnTask;

typedef struct {
#define CUDNN_FIELD(name, result, symbol, parameters) result(*name) parameters;
    CUDNN_FUNCTIONS(CUDNN_FIELD)
#undef CUDNN_FIELD
    CudnnTask tasks[3]; /* by ConvolutionTask */
} CudnnFunctions;

/* Of cuBLASLt, cuFFT and cuSOLVER: see others.h. */
typedef struct OtherLibraries OtherLibraries;

typedef struct {
    NvrtcFunctions nvrtc;
    CublasFunctions cublas;
    int has_cublas;
    CudnnFunctions cudnn;
    int64_t cudnn_version;      /* as 90100 for 9.1.0; 0: there is none */
    Failure cudnn_problem;      /* why it cannot be used, though it was given */
    struct CudnnLayers *layers; /* what it has beside convolutions: see cudnn/cudnn.h; NULL where it has none */
    OtherLibraries *others;
    int count;        /* devices */
    int cuda_version; /* of the driver, 1000 * major + 10 * minor */
    int nvrtc_major, nvrtc_minor;
    int *archs, arch_count; /* for which NVRTC makes code, as 90 for sm_90, ascending */
} CudaState;

typedef struct {
    CudaState *state;
    CUdevice device;
    CUcontext handle;
    CUstream queue;                  /* in order with the default stream of CUDA, in which other libraries work */
    CUstream capture;                /* never waits for another stream: graphs are captured from it */
    CUstream beside[MOST_LANES - 1]; /* from which lanes beside the first one are captured; NULL before the first use */
    int arch;                        /* 90 for sm_90 */
    cublasHandle blas;
    CUdeviceptr workspace; /* of cuBLAS, with room for two factors behind it */
    int blas_failed;
    cudnnHandle dnn;
    int dnn_failed;
    struct OtherHandles *others; /* NULL before the first use of one of these libraries */
} CudaContext;

/* Say that a call failed, with what the driver tells of the error; -1, or 0 where it did not. */
int cuda_check(CUresult status, const char *call, Failure *failure);
/* Make the context current in this thread, and undo that. */
int cuda_enter(CudaContext *context, Failure *failure);
void cuda_leave(void);
/* All contexts of a device are one for CUDA. While something is captured from a stream of it nobody may wait for all of
 * it, in whatever thread: the wait would fail, and end the capture. Many may capture at the same time. */
void cuda_begin_capture(const CudaContext *context);
void cuda_begin_wait(const CudaContext *context);
void cuda_end(const CudaContext *context);

/* nvrtc.c */
int nvrtc_open(CudaState *state, const char *path, Failure *failure);
/* Code for an architecture, as 90 for sm_90; `binary` is allocated by malloc. */
int nvrtc_compile(const CudaState *state, int arch, const char *text, const char *options, unsigned char **binary,
                  size_t *bytes, Failure *failure);

/* cublas.c */
int cublas_open(CudaState *state, const char *path, Failure *failure);
/* Into a stream, with the context current: 1 done, 0 there are no products of this dtype, -1 failed. */
int cublas_product(CudaContext *context, const Product *product, CUstream stream, Failure *failure);
void cublas_close(CudaContext *context);
/* Start the library where it has not been started; 0 where there is none. */
int cublas_start(CudaContext *context);
/* Let it work in a stream, with factors on the host; its status. */
int cublas_enter(const CudaContext *context, CUstream stream);

/* cudnn/library.c and cudnn/convolutions.c */
/* Where that fails, the state says why, and the library is not used. */
void cudnn_open(CudaState *state, const char *path);
int64_t cudnn_version(void *state, const char *role, const char **why);
/* With the context current; see `plan` and `convolve` of the driver. */
int cudnn_plan(CudaContext *context, Convolution *convolution, const Choice *choice, Failure *failure);
int cudnn_convolve(CudaContext *context, const Convolution *convolution, CUstream stream, Failure *failure);
void cudnn_close(CudaContext *context);

/* calls.c */
void calls_open(CudaState *state, const Libraries *libraries);
int cuda_workspace(void *context, const Call *call, int64_t *bytes, Failure *failure);
int cuda_call(void *context, const Call *call, Failure *failure);
/* Whether an operation may wait for the device, so that it cannot be captured. */
int cuda_call_waits(const Call *call);
/* Put an operation into a stream, with the context current. */
int cuda_run_call(CudaContext *context, const Call *call, CUstream stream, Failure *failure);
void calls_close(CudaContext *context);

/* memory.c */
int cuda_allocate(void *context, size_t bytes, Address *address, Failure *failure);
int cuda_slice(void *context, Address memory, size_t offset, size_t bytes, Address *address, Failure *failure);
void cuda_release(void *context, Address address, int is_slice);
int cuda_host_allocate(void *context, size_t bytes, void **memory, void **handle, Failure *failure);
void cuda_host_release(void *context, void *memory, void *handle);
int cuda_mark(void *context, void **mark, Failure *failure);
int cuda_mark_wait(void *context, void *mark, Failure *failure);
int cuda_write(void *context, Address target, size_t offset, const void *source, size_t bytes, int blocking,
               Failure *failure);
int cuda_read(void *context, void *target, Address source, size_t offset, size_t bytes, Failure *failure);
int cuda_copy(void *context, const Copy *copy, Failure *failure);
int cuda_fill(void *context, const Fill *fill, Failure *failure);
int cuda_share(void *context, uintptr_t stream, Failure *failure);
int cuda_settle(void *context, Failure *failure);
int cuda_copy_from(void *context, void *other, const Copy *copy, Failure *failure);

/* launch.c */
int cuda_load(void *context, const unsigned char *binary, size_t bytes, void **module, Failure *failure);
void cuda_unload(void *context, void *module);
int cuda_kernel(void *context, void *module, const char *name, void **kernel, int64_t *max_local, Failure *failure);
void cuda_kernel_free(void *context, void *kernel);
int cuda_launch(void *context, const Launch *launch, Failure *failure);
int cuda_product(void *context, const Product *product, Failure *failure);
int cuda_plan(void *context, Convolution *convolution, const Choice *choice, Failure *failure);
int cuda_convolve(void *context, const Convolution *convolution, Failure *failure);
/* Put one step into a stream, with the context current. */
int cuda_step(CudaContext *context, const Step *step, CUstream stream, Failure *failure);

/* graph.c */
int cuda_replay(void *context, List *list, Failure *failure);
void cuda_list_free(void *context, List *list);

#endif
