/* cuDNN: how it is found and started, and what its operations share.
 *
 * Descriptors are made for each call, which takes some microseconds and leaves nothing to keep.
 */
#include "cudnn.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* The categories of statuses that say that the library does not do this: wrong parameters, and what is not supported.
 * Version 8 has one number for each. */
enum { BAD_PARAMETER = 2000, END_OF_NOT_SUPPORTED = 4000, BAD_PARAMETER_8 = 3, NOT_SUPPORTED_8 = 9 };

static int find_all(CudaState *state, void *handle, const char *path, Failure *failure) {
    CudnnFunctions *dnn = &state->cudnn;
#define FIND(field, result, symbol, parameters)                                                                        \
    if ((*(void **)&dnn->field = library_function(handle, symbol, path, failure)) == NULL)                             \
        return -1;
    CUDNN_FUNCTIONS(FIND)
#undef FIND
#define FIND(task, guess_, find_, workspace_, compute_)                                                                \
    if ((*(void **)&dnn->tasks[task].guess = library_function(handle, guess_, path, failure)) == NULL ||               \
        (*(void **)&dnn->tasks[task].find = library_function(handle, find_, path, failure)) == NULL ||                 \
        (*(void **)&dnn->tasks[task].workspace = library_function(handle, workspace_, path, failure)) == NULL ||       \
        (*(void **)&dnn->tasks[task].compute = library_function(handle, compute_, path, failure)) == NULL)             \
        return -1;
    CUDNN_TASKS(FIND)
#undef FIND
    return 0;
}

/* What versions lack is left to kernels, and no reason not to use the rest. */
static void find_layers(struct CudnnLayers *layers, void *handle, const char *path) {
#define FIND(name, symbol, parameters)                                                                                 \
    if ((*(void **)&group->name = library_function(handle, symbol, path, NULL)) == NULL)                               \
        group->there = 0;
#define FIND_GROUP(name, functions)                                                                                    \
    {                                                                                                                  \
        __typeof__(layers->name) *group = &layers->name;                                                               \
        group->there = 1;                                                                                              \
        functions(FIND)                                                                                                \
    }
    CUDNN_GROUPS(FIND_GROUP)
#undef FIND_GROUP
#undef FIND
}

void cudnn_open(CudaState *state, const char *path) {
    void *handle = library_open(path, &state->cudnn_problem);
    if (handle == NULL || find_all(state, handle, path, &state->cudnn_problem) < 0)
        return;
    state->cudnn_version = (int64_t)state->cudnn.GetVersion();
    state->layers = calloc(1, sizeof *state->layers);
    if (state->layers != NULL)
        find_layers(state->layers, handle, path);
}

int64_t cudnn_version(void *state, const char *role, const char **why) {
    const CudaState *s = state;
    if (strcmp(role, "cudnn") != 0)
        return 0;
    *why = s->cudnn_problem.text;
    return s->cudnn_version;
}

int cudnn_check(const CudaContext *c, int status, const char *call, Failure *failure) {
    if (status == 0)
        return 0;
    const char *name = c->state->cudnn.GetErrorString(status);
    return failure_set(failure, "%s failed: %s (%d)", call, name == NULL ? "an unknown error" : name, status);
}

int cudnn_declines(int status) {
    return status == BAD_PARAMETER_8 || status == NOT_SUPPORTED_8 ||
           (status >= BAD_PARAMETER && status < END_OF_NOT_SUPPORTED);
}

/* The library of a context is started with its first use; where that fails, kernels compute. */
int cudnn_start(CudaContext *c) {
    if (c->state->cudnn_version == 0 || c->dnn_failed)
        return 0;
    if (c->dnn == NULL && c->state->cudnn.Create(&c->dnn) != 0) {
        c->dnn = NULL;
        c->dnn_failed = 1;
    }
    return c->dnn != NULL;
}

void cudnn_close(CudaContext *c) {
    if (c->dnn != NULL)
        c->state->cudnn.Destroy(c->dnn);
    c->dnn = NULL;
}

int cudnn_answer(const CudaContext *c, int status, const char *call, Failure *failure) {
    if (status != 0)
        return cudnn_declines(status) ? 0 : cudnn_check(c, status, call, failure);
    return 1;
}

int cudnn_type(const char *dtype) {
    if (strcmp(dtype, "float64") == 0)
        return CUDNN_DATA_DOUBLE;
    return strcmp(dtype, "float16") == 0 ? CUDNN_DATA_HALF : CUDNN_DATA_FLOAT;
}

size_t cudnn_itemsize(const char *dtype) {
    static const size_t sizes[] = {[CUDNN_DATA_FLOAT] = 4, [CUDNN_DATA_DOUBLE] = 8, [CUDNN_DATA_HALF] = 2};
    return sizes[cudnn_type(dtype)];
}

int cudnn_tensor(const CudnnFunctions *dnn, cudnnDescriptor *made, int type, int count, const int *lengths) {
    int strides[MOST_LENGTHS], step = 1, status = dnn->CreateTensor(made);
    for (int d = count - 1; d >= 0; d--) {
        strides[d] = step;
        step *= lengths[d];
    }
    return status != 0 ? status : dnn->SetTensor(*made, type, count, lengths, strides);
}

void cudnn_forget(const CudnnFunctions *dnn, cudnnDescriptor tensor) {
    if (tensor != NULL)
        dnn->DestroyTensor(tensor);
}

int cudnn_lengths(const Call *call, int first, int count, int64_t least, int *lengths) {
    if (call->count < first + count)
        return 0;
    for (int d = 0; d < count; d++) {
        if (call->numbers[first + d] < least || call->numbers[first + d] > INT_MAX)
            return 0;
        lengths[d] = (int)call->numbers[first + d];
    }
    return 1;
}

int64_t cudnn_elements(int count, const int *lengths) {
    int64_t size = 1;
    for (int d = 0; d < count; d++) {
        size *= lengths[d];
        if (size > INT_MAX)
            return -1;
    }
    return size;
}

int cudnn_fits(const Call *call, int place, int64_t elements, Failure *failure) {
    if (elements >= 0 && call->places[place].bytes >= (size_t)elements * cudnn_itemsize(call->dtype))
        return 0;
    return failure_set(failure, "%s: array %d has %zu bytes, too few for %lld elements", call->name, place,
                       call->places[place].bytes, (long long)elements);
}

const void *cudnn_factor(const char *dtype, int one) {
    static const double full[] = {0, 1};
    static const float single[] = {0, 1};
    return cudnn_type(dtype) == CUDNN_DATA_DOUBLE ? (const void *)&full[one] : &single[one];
}

int cudnn_begin(CudaContext *c, const Call *call, CUstream stream, Failure *failure) {
    if (!cudnn_start(c) || c->state->layers == NULL)
        return failure_set(failure, "cuDNN has no %s for operands that it had one for before", call->name);
    return cudnn_check(c, c->state->cudnn.SetStream(c->dnn, stream), "choosing the stream of cuDNN", failure);
}
