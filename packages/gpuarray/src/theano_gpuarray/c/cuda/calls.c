/* CUDA: operations of cuBLASLt, cuFFT, cuSOLVER, cuBLAS and cuDNN, by their names. */
#include "others.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *name;
    int count, places; /* numbers and places, at least */
    int waits;         /* whether the library may wait for the device on the way: such a call cannot be captured */
    int (*workspace)(CudaContext *, const Call *, int64_t *, Failure *);
    int (*call)(CudaContext *, const Call *, CUstream, Failure *);
} Operation;

static const Operation operations[] = {
    {"epilogue", 13, 5, 0, lt_workspace, lt_call},
    {"rfft", 2, 3, 0, fft_workspace, fft_call},
    {"irfft", 2, 3, 0, fft_workspace, fft_call},
    {"potrf", 1, 3, 0, solver_workspace, solver_call},
    {"getrf", 1, 4, 0, solver_workspace, solver_call},
    {"getrs", 2, 4, 0, solver_workspace, solver_call},
    {"potrf_stack", 2, 2, 0, solver_workspace, solver_call},
    {"geqrf", 2, 4, 0, solver_workspace, solver_call},
    {"orgqr", 3, 4, 0, solver_workspace, solver_call},
    {"syevd", 2, 4, 1, solver_workspace, solver_call},
    {"syevj", 3, 4, 1, solver_workspace, solver_call},
    {"gesvd", 3, 6, 1, solver_workspace, solver_call},
    {"gesvdj", 4, 6, 1, solver_workspace, solver_call},
    {"trsm", 7, 2, 0, blas_workspace, blas_call},
    {"trsm_stack", 8, 2, 0, blas_workspace, blas_call},
    {"getrf_stack", 2, 3, 0, blas_workspace, blas_call},
    {"getrs_stack", 3, 3, 0, blas_workspace, blas_call},
    {"pool", 12, 2, 0, dnn_pool_workspace, dnn_pool_call},
    {"pool_grad", 12, 2, 0, dnn_pool_workspace, dnn_pool_call},
    {"softmax", 6, 2, 0, dnn_softmax_workspace, dnn_softmax_call},
    {"softmax_grad", 6, 3, 0, dnn_softmax_workspace, dnn_softmax_call},
    {"norm_train", 5, 6, 0, dnn_norm_workspace, dnn_norm_call},
    {"norm_test", 5, 6, 0, dnn_norm_workspace, dnn_norm_call},
    {"norm_grad", 5, 8, 0, dnn_norm_workspace, dnn_norm_call},
    {"grid", 4, 2, 0, dnn_transformer_workspace, dnn_transformer_call},
    {"grid_grad", 4, 2, 0, dnn_transformer_workspace, dnn_transformer_call},
    {"sample", 6, 3, 0, dnn_transformer_workspace, dnn_transformer_call},
    {"sample_grad", 6, 5, 0, dnn_transformer_workspace, dnn_transformer_call},
    {"rnn", 9, 10, 0, dnn_rnn_workspace, dnn_rnn_call},
    {"rnn_reserve", 9, 10, 0, dnn_rnn_workspace, dnn_rnn_call},
    {"rnn_weights", 9, 10, 0, dnn_rnn_workspace, dnn_rnn_call},
    {"rnn_grad", 9, 15, 0, dnn_rnn_workspace, dnn_rnn_call},
};

static const Operation *operation_of(const Call *call) {
    for (size_t k = 0; k < sizeof operations / sizeof *operations; k++)
        if (strcmp(operations[k].name, call->name) == 0 && call->count >= operations[k].count)
            return &operations[k];
    return NULL;
}

/* A library that cannot be used is none: there are kernels for all that it does. */
void calls_open(CudaState *state, const Libraries *libraries) {
    Failure failure = {0};
    const char *lt = library_path(libraries, "cublaslt"), *fft = library_path(libraries, "cufft"),
               *solver = library_path(libraries, "cusolver"), *blas = library_path(libraries, "cublas");
    state->others = calloc(1, sizeof *state->others);
    if (state->others == NULL)
        return;
    state->others->has_lt = lt != NULL && lt_open(state->others, lt, &failure) == 0;
    state->others->has_fft = fft != NULL && fft_open(state->others, fft, &failure) == 0;
    state->others->has_solver = solver != NULL && solver_open(state->others, solver, &failure) == 0;
    state->others->has_blas = blas != NULL && blas_open(state->others, blas, &failure) == 0;
    failure_clear(&failure);
}

static int has_handles(CudaContext *c) {
    if (c->others == NULL)
        c->others = calloc(1, sizeof *c->others);
    return c->state->others != NULL && c->others != NULL;
}

int cuda_workspace(void *context, const Call *call, int64_t *bytes, Failure *failure) {
    CudaContext *c = context;
    const Operation *operation = operation_of(call);
    if (operation == NULL || !has_handles(c))
        return 0;
    if (cuda_enter(c, failure) < 0)
        return -1;
    int result = operation->workspace(c, call, bytes, failure);
    cuda_leave();
    return result;
}

int cuda_run_call(CudaContext *c, const Call *call, CUstream stream, Failure *failure) {
    const Operation *operation = operation_of(call);
    if (operation == NULL || call->n_places < operation->places || !has_handles(c))
        return failure_set(failure, "there is no operation %s with %d numbers and %d arrays", call->name, call->count,
                           call->n_places);
    return operation->call(c, call, stream, failure);
}

int cuda_call_waits(const Call *call) {
    const Operation *operation = operation_of(call);
    return operation != NULL && operation->waits;
}

int cuda_call(void *context, const Call *call, Failure *failure) {
    CudaContext *c = context;
    if (cuda_enter(c, failure) < 0)
        return -1;
    int result = cuda_run_call(c, call, c->queue, failure);
    cuda_leave();
    return result;
}

void calls_close(CudaContext *c) {
    if (c->others == NULL)
        return;
    lt_close(c);
    fft_close(c);
    solver_close(c);
    free(c->others);
    c->others = NULL;
}
