/* What the files of cuDNN share, and the functions of the library beside those of convolutions: those that versions 8
 * and 9 have in common. Each group of them is optional: where one is missing there are kernels. */
#ifndef THEANO_GPUARRAY_CUDNN_H
#define THEANO_GPUARRAY_CUDNN_H

#include "../others.h"

enum { CUDNN_DATA_FLOAT = 0, CUDNN_DATA_DOUBLE = 1, CUDNN_DATA_HALF = 2 };
enum { CUDNN_DEFAULT_MATH = 0, CUDNN_TENSOR_OP_MATH = 1, CUDNN_FMA_MATH = 3 };

#define CUDNN_POOLING(F)                                                                                               \
    F(CreatePooling, "cudnnCreatePoolingDescriptor", (cudnnDescriptor *))                                              \
    F(SetPooling, "cudnnSetPoolingNdDescriptor",                                                                       \
      (cudnnDescriptor, int, int, int, const int *, const int *, const int *))                                         \
    F(GetPooled, "cudnnGetPoolingNdForwardOutputDim", (cudnnDescriptor, cudnnDescriptor, int, int *))                  \
    F(DestroyPooling, "cudnnDestroyPoolingDescriptor", (cudnnDescriptor))                                              \
    F(Pool, "cudnnPoolingForward",                                                                                     \
      (cudnnHandle, cudnnDescriptor, const void *, cudnnDescriptor, const void *, const void *, cudnnDescriptor,       \
       void *))                                                                                                        \
    F(PoolBack, "cudnnPoolingBackward",                                                                                \
      (cudnnHandle, cudnnDescriptor, const void *, cudnnDescriptor, const void *, cudnnDescriptor, const void *,       \
       cudnnDescriptor, const void *, const void *, cudnnDescriptor, void *))

#define CUDNN_SOFTMAX(F)                                                                                               \
    F(Softmax, "cudnnSoftmaxForward",                                                                                  \
      (cudnnHandle, int, int, const void *, cudnnDescriptor, const void *, const void *, cudnnDescriptor, void *))     \
    F(SoftmaxBack, "cudnnSoftmaxBackward",                                                                             \
      (cudnnHandle, int, int, const void *, cudnnDescriptor, const void *, cudnnDescriptor, const void *,              \
       const void *, cudnnDescriptor, void *))

#define CUDNN_NORMALIZATION(F)                                                                                         \
    F(Normalize, "cudnnBatchNormalizationForwardTraining",                                                             \
      (cudnnHandle, int, const void *, const void *, cudnnDescriptor, const void *, cudnnDescriptor, void *,           \
       cudnnDescriptor, const void *, const void *, double, void *, void *, double, void *, void *))                   \
    F(NormalizeBy, "cudnnBatchNormalizationForwardInference",                                                          \
      (cudnnHandle, int, const void *, const void *, cudnnDescriptor, const void *, cudnnDescriptor, void *,           \
       cudnnDescriptor, const void *, const void *, const void *, const void *, double))                               \
    F(NormalizeBack, "cudnnBatchNormalizationBackward",                                                                \
      (cudnnHandle, int, const void *, const void *, const void *, const void *, cudnnDescriptor, const void *,        \
       cudnnDescriptor, const void *, cudnnDescriptor, void *, cudnnDescriptor, const void *, void *, void *, double,  \
       const void *, const void *))

#define CUDNN_RECURRENT(F)                                                                                             \
    F(CreateDropout, "cudnnCreateDropoutDescriptor", (cudnnDescriptor *))                                              \
    F(SetDropout, "cudnnSetDropoutDescriptor",                                                                         \
      (cudnnDescriptor, cudnnHandle, float, void *, size_t, unsigned long long))                                       \
    F(DestroyDropout, "cudnnDestroyDropoutDescriptor", (cudnnDescriptor))                                              \
    F(CreateNetwork, "cudnnCreateRNNDescriptor", (cudnnDescriptor *))                                                  \
    F(SetNetwork, "cudnnSetRNNDescriptor_v8",                                                                          \
      (cudnnDescriptor, int, int, int, int, int, int, int, int, int32_t, int32_t, int32_t, int32_t, cudnnDescriptor,   \
       uint32_t))                                                                                                      \
    F(DestroyNetwork, "cudnnDestroyRNNDescriptor", (cudnnDescriptor))                                                  \
    F(CreateSteps, "cudnnCreateRNNDataDescriptor", (cudnnDescriptor *))                                                \
    F(SetSteps, "cudnnSetRNNDataDescriptor", (cudnnDescriptor, int, int, int, int, int, const int *, void *))          \
    F(DestroySteps, "cudnnDestroyRNNDataDescriptor", (cudnnDescriptor))                                                \
    F(GetSpaces, "cudnnGetRNNTempSpaceSizes",                                                                          \
      (cudnnHandle, cudnnDescriptor, int, cudnnDescriptor, size_t *, size_t *))                                        \
    F(GetWeightSpace, "cudnnGetRNNWeightSpaceSize", (cudnnHandle, cudnnDescriptor, size_t *))                          \
    F(GetWeight, "cudnnGetRNNWeightParams",                                                                            \
      (cudnnHandle, cudnnDescriptor, int32_t, size_t, const void *, int32_t, cudnnDescriptor, void **,                 \
       cudnnDescriptor, void **))                                                                                      \
    F(RunNetwork, "cudnnRNNForward",                                                                                   \
      (cudnnHandle, cudnnDescriptor, int, const int32_t *, cudnnDescriptor, const void *, cudnnDescriptor, void *,     \
       cudnnDescriptor, const void *, void *, cudnnDescriptor, const void *, void *, size_t, const void *, size_t,     \
       void *, size_t, void *))                                                                                        \
    F(BackToData, "cudnnRNNBackwardData_v8",                                                                           \
      (cudnnHandle, cudnnDescriptor, const int32_t *, cudnnDescriptor, const void *, const void *, cudnnDescriptor,    \
       void *, cudnnDescriptor, const void *, const void *, void *, cudnnDescriptor, const void *, const void *,       \
       void *, size_t, const void *, size_t, void *, size_t, void *))                                                  \
    F(BackToWeights, "cudnnRNNBackwardWeights_v8",                                                                     \
      (cudnnHandle, cudnnDescriptor, int, const int32_t *, cudnnDescriptor, const void *, cudnnDescriptor,             \
       const void *, cudnnDescriptor, const void *, size_t, void *, size_t, void *, size_t, void *))

#define CUDNN_TRANSFORMERS(F)                                                                                          \
    F(CreateTransformer, "cudnnCreateSpatialTransformerDescriptor", (cudnnDescriptor *))                               \
    F(SetTransformer, "cudnnSetSpatialTransformerNdDescriptor", (cudnnDescriptor, int, int, int, const int *))         \
    F(DestroyTransformer, "cudnnDestroySpatialTransformerDescriptor", (cudnnDescriptor))                               \
    F(MakeGrid, "cudnnSpatialTfGridGeneratorForward", (cudnnHandle, cudnnDescriptor, const void *, void *))            \
    F(MakeGridBack, "cudnnSpatialTfGridGeneratorBackward", (cudnnHandle, cudnnDescriptor, const void *, void *))       \
    F(Sample, "cudnnSpatialTfSamplerForward",                                                                          \
      (cudnnHandle, cudnnDescriptor, const void *, cudnnDescriptor, const void *, const void *, const void *,          \
       cudnnDescriptor, void *))                                                                                       \
    F(SampleBack, "cudnnSpatialTfSamplerBackward",                                                                     \
      (cudnnHandle, cudnnDescriptor, const void *, cudnnDescriptor, const void *, const void *, cudnnDescriptor,       \
       void *, const void *, cudnnDescriptor, const void *, const void *, const void *, void *))

/* The groups: name in the table, and functions. */
#define CUDNN_GROUPS(G)                                                                                                \
    G(pooling, CUDNN_POOLING)                                                                                          \
    G(softmax, CUDNN_SOFTMAX)                                                                                          \
    G(normalization, CUDNN_NORMALIZATION)                                                                              \
    G(recurrent, CUDNN_RECURRENT)                                                                                      \
    G(transformers, CUDNN_TRANSFORMERS)

struct CudnnLayers {
#define CUDNN_FIELD(name, symbol, parameters) int(*name) parameters;
#define CUDNN_GROUP(name, functions)                                                                                   \
    struct {                                                                                                           \
        int there; /* whether all functions of the group are */                                                        \
        functions(CUDNN_FIELD)                                                                                         \
    } name;
    CUDNN_GROUPS(CUDNN_GROUP)
#undef CUDNN_GROUP
#undef CUDNN_FIELD
};

/* Whether the context has the library, which is started with its first use. */
int cudnn_start(CudaContext *context);
/* Say that a call failed, with the name of its status; 0 where it did not. */
int cudnn_check(const CudaContext *context, int status, const char *call, Failure *failure);
/* Whether a status says that the library does not do this. */
int cudnn_declines(int status);
/* 1 for a status of success, 0 where it declines, else a failure: the answer of `workspace` of an operation. */
int cudnn_answer(const CudaContext *context, int status, const char *call, Failure *failure);
int cudnn_type(const char *dtype);
size_t cudnn_itemsize(const char *dtype);
/* Make a descriptor of a C-ordered array; the status of the library. */
int cudnn_tensor(const CudnnFunctions *functions, cudnnDescriptor *made, int type, int count, const int *lengths);
void cudnn_forget(const CudnnFunctions *functions, cudnnDescriptor tensor);
/* Read `count` numbers of a call, from one on, as lengths; 0 where one is less than `least` or too large. */
int cudnn_lengths(const Call *call, int first, int count, int64_t least, int *lengths);
/* Elements of an array; -1 where the library, which counts by 32 bits, cannot have so many. */
int64_t cudnn_elements(int count, const int *lengths);
/* A failure where a place of a call has fewer bytes than so many elements. */
int cudnn_fits(const Call *call, int place, int64_t elements, Failure *failure);
/* 1 or 0 as factors of a result: float64 for arrays of float64, else float32. */
const void *cudnn_factor(const char *dtype, int one);
/* Begin an operation in a stream: a failure where the library is not there any more. */
int cudnn_begin(CudaContext *context, const Call *call, CUstream stream, Failure *failure);

#endif
