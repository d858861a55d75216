/* CUDA: modules, kernels and launches. */
#include "cuda.h"
#include <stdlib.h>
#include <string.h>

/* Arguments of a launch have at most 32,764 bytes. */
#define MOST_ARGUMENTS 4096
int cuda_load(void *context, const unsigned char *binary, size_t bytes, void **module, Failure *failure) {
    CUmodule made = NULL;
    /* Text of PTX has to end with a 0. */
    unsigned char *copy = malloc(bytes + 1);
    if (copy == NULL)
        return failure_set(failure, "there is no memory for compiled code");
    memcpy(copy, binary, bytes);
    copy[bytes] = 0;
    int result = cuda_enter(context, failure);
    if (result == 0) {
        result = cuda_check(cu.ModuleLoadData(&made, copy), "cuModuleLoadData", failure);
        cuda_leave();
    }
    free(copy);
    *module = made;
    return result;
}

void cuda_unload(void *context, void *module) {
    CudaContext *c = context;
    if (cuda_enter(c, NULL) < 0)
        return;
    /* Launches of its kernels may be under way. */
    cu.StreamSynchronize(c->queue);
    cu.ModuleUnload(module);
    cuda_leave();
}

int cuda_kernel(void *context, void *module, const char *name, void **kernel, int64_t *max_local, Failure *failure) {
    CUfunction function = NULL;
    int threads = 0;
    if (cuda_enter(context, failure) < 0)
        return -1;
    Failure reason = {0};
    int result = cuda_check(cu.ModuleGetFunction(&function, module, name), "cuModuleGetFunction", &reason);
    if (result < 0)
        failure_set(failure, "%s\n  the kernel %s", reason.text, name);
    failure_clear(&reason);
    if (result == 0)
        result = cuda_check(cu.FuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function),
                            "cuFuncGetAttribute", failure);
    cuda_leave();
    *max_local = threads;
    *kernel = function;
    return result;
}

/* A function is a part of its module. */
void cuda_kernel_free(void *context, void *kernel) { (void)context, (void)kernel; }

static int enqueue(const Launch *launch, CUstream stream, Failure *failure) {
    void *arguments[MOST_ARGUMENTS];
    unsigned sizes[6];
    if (launch->count > MOST_ARGUMENTS)
        return failure_set(failure, "the kernel %s has %d arguments, and CUDA takes %d at most", launch->name,
                           launch->count, MOST_ARGUMENTS);
    /* All members of a value begin where it does. */
    for (int k = 0; k < launch->count; k++)
        arguments[k] = &launch->values[k];
    for (int d = 0; d < 3; d++) {
        sizes[d] = d < launch->dimensions ? (unsigned)launch->groups[d] : 1;
        sizes[3 + d] = d < launch->dimensions ? (unsigned)launch->local[d] : 1;
    }
    CUresult status = cu.LaunchKernel(launch->kernel, sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5],
                                      (unsigned)launch->shared, stream, arguments, NULL);
    if (status == CUDA_SUCCESS)
        return 0;
    Failure reason = {0};
    cuda_check(status, "cuLaunchKernel", &reason);
    failure_set(failure, "%s\n  the kernel %s, groups %u x %u x %u of %u x %u x %u", reason.text, launch->name,
                sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5]);
    failure_clear(&reason);
    return -1;
}

static int product_step(CudaContext *context, const Product *product, CUstream stream, Failure *failure) {
    int result = cublas_product(context, product, stream, failure);
    if (result == 0)
        return failure_set(failure, "cuBLAS has no product for operands that it had one for before");
    return result < 0 ? -1 : 0;
}

int cuda_step(CudaContext *context, const Step *step, CUstream stream, Failure *failure) {
    switch (step->kind) {
    case STEP_COPY: {
        const Copy *copy = &step->copy;
        if (copy->bytes == 0)
            return 0;
        return cuda_check(
            cu.MemcpyDtoDAsync(copy->target + copy->offset, copy->source + copy->source_offset, copy->bytes, stream),
            "cuMemcpyDtoDAsync", failure);
    }
    case STEP_FILL: {
        const Fill *fill = &step->fill;
        if (fill->bytes == 0)
            return 0;
        return cuda_check(
            cu.MemsetD8Async(fill->target + fill->offset, (unsigned char)fill->value, fill->bytes, stream),
            "cuMemsetD8Async", failure);
    }
    case STEP_PRODUCT: return product_step(context, &step->product, stream, failure);
    case STEP_CONVOLUTION: return cudnn_convolve(context, step->convolution, stream, failure);
    case STEP_CALL: return cuda_run_call(context, step->call, stream, failure);
    default: return enqueue(&step->launch, stream, failure);
    }
}

int cuda_launch(void *context, const Launch *launch, Failure *failure) {
    CudaContext *c = context;
    if (cuda_enter(c, failure) < 0)
        return -1;
    int result = enqueue(launch, c->queue, failure);
    cuda_leave();
    return result;
}

int cuda_product(void *context, const Product *product, Failure *failure) {
    CudaContext *c = context;
    if (cuda_enter(c, failure) < 0)
        return -1;
    int result = cublas_product(c, product, c->queue, failure);
    cuda_leave();
    return result;
}

int cuda_plan(void *context, Convolution *convolution, const Choice *choice, Failure *failure) {
    CudaContext *c = context;
    if (cuda_enter(c, failure) < 0)
        return -1;
    int result = cudnn_plan(c, convolution, choice, failure);
    cuda_leave();
    return result;
}

int cuda_convolve(void *context, const Convolution *convolution, Failure *failure) {
    CudaContext *c = context;
    if (cuda_enter(c, failure) < 0)
        return -1;
    int result = cudnn_convolve(c, convolution, c->queue, failure);
    cuda_leave();
    return result;
}
