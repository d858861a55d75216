/* cuDNN: convolutions and their gradients, by the functions that versions 8 and 9 have in common.
 *
 * Descriptors are made for each call, which takes some microseconds and leaves nothing to keep. Sums of float16 have
 * the precision that is asked for; factors of float32 are rounded to the short mantissas of TF32 only where a
 * convolution asks for it, by the precision "tf32".
 */
#include "cuda.h"
#include <string.h>

enum { CUDNN_DATA_FLOAT = 0, CUDNN_DATA_DOUBLE = 1, CUDNN_DATA_HALF = 2 };
enum { CUDNN_TENSOR_NCHW = 0 };
enum { CUDNN_CONVOLUTION = 0, CUDNN_CROSS_CORRELATION = 1 };
enum { CUDNN_DEFAULT_MATH = 0, CUDNN_TENSOR_OP_MATH = 1, CUDNN_FMA_MATH = 3 };
/* More than any task has. */
enum { MOST_ALGORITHMS = 32 };
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

void cudnn_open(CudaState *state, const char *path) {
    void *handle = library_open(path, &state->cudnn_problem);
    if (handle != NULL && find_all(state, handle, path, &state->cudnn_problem) == 0)
        state->cudnn_version = (int64_t)state->cudnn.GetVersion();
}

int64_t cudnn_version(void *state, const char *role, const char **why) {
    const CudaState *s = state;
    if (strcmp(role, "cudnn") != 0)
        return 0;
    *why = s->cudnn_problem.text;
    return s->cudnn_version;
}

static int check(const CudaContext *c, int status, const char *call, Failure *failure) {
    if (status == 0)
        return 0;
    const char *name = c->state->cudnn.GetErrorString(status);
    return failure_set(failure, "%s failed: %s (%d)", call, name == NULL ? "an unknown error" : name, status);
}

static int is_declined(int status) {
    return status == BAD_PARAMETER_8 || status == NOT_SUPPORTED_8 ||
           (status >= BAD_PARAMETER && status < END_OF_NOT_SUPPORTED);
}

/* The library of a context is started with its first convolution; where that fails, kernels compute convolutions. */
static int start(CudaContext *c) {
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

typedef struct {
    cudnnDescriptor image, filter, top, convolution;
} Descriptors;

static void destroy(const CudnnFunctions *dnn, const Descriptors *d) {
    if (d->image != NULL)
        dnn->DestroyTensor(d->image);
    if (d->filter != NULL)
        dnn->DestroyFilter(d->filter);
    if (d->top != NULL)
        dnn->DestroyTensor(d->top);
    if (d->convolution != NULL)
        dnn->DestroyConvolution(d->convolution);
}

static int type_of(const char *dtype) {
    if (strcmp(dtype, "float64") == 0)
        return CUDNN_DATA_DOUBLE;
    return strcmp(dtype, "float16") == 0 ? CUDNN_DATA_HALF : CUDNN_DATA_FLOAT;
}

static int math_of(const Convolution *p) {
    if (strcmp(p->dtype, "float16") == 0)
        return CUDNN_TENSOR_OP_MATH;
    return strcmp(p->precision, "tf32") == 0 ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH;
}

static int set_tensor(const CudnnFunctions *dnn, cudnnDescriptor *made, const Convolution *p, const int *lengths) {
    int strides[MOST_LENGTHS], step = 1, status = dnn->CreateTensor(made);
    for (int d = p->axes + 1; d >= 0; d--) {
        strides[d] = step;
        step *= lengths[d];
    }
    return status != 0 ? status : dnn->SetTensor(*made, type_of(p->dtype), p->axes + 2, lengths, strides);
}

static int describe(const CudnnFunctions *dnn, const Convolution *p, Descriptors *d) {
    int status = set_tensor(dnn, &d->image, p, p->images);
    if (status == 0)
        status = set_tensor(dnn, &d->top, p, p->top_lengths);
    if (status == 0)
        status = dnn->CreateFilter(&d->filter);
    if (status == 0)
        status = dnn->SetFilter(d->filter, type_of(p->dtype), CUDNN_TENSOR_NCHW, p->axes + 2, p->filters);
    if (status == 0)
        status = dnn->CreateConvolution(&d->convolution);
    if (status == 0)
        status = dnn->SetConvolution(d->convolution, p->axes, p->zeros, p->strides, p->dilations,
                                     p->flipped ? CUDNN_CONVOLUTION : CUDNN_CROSS_CORRELATION, type_of(p->precision));
    if (status == 0)
        status = dnn->SetGroups(d->convolution, p->groups);
    return status == 0 ? dnn->SetMath(d->convolution, math_of(p)) : status;
}

/* The operands and the result of a task, in the order of the library. */
static void in_order(ConvolutionTask task, void *image, void *filter, void *top, void **found) {
    void *const orders[3][3] = {{image, filter, top}, {filter, top, image}, {image, top, filter}};
    memcpy(found, orders[task], sizeof orders[task]);
}

/* The first algorithm that works, fits into the memory, and always gives the same where that is wanted. */
static int choose(const cudnnPerformance *found, int count, const Choice *choice, Convolution *p) {
    for (int i = 0; i < count; i++) {
        if (found[i].status != 0 || found[i].memory > choice->most_memory)
            continue;
        if (choice->deterministic && !found[i].determinism)
            continue;
        p->algorithm = found[i].algorithm;
        return 1;
    }
    return 0;
}

static int plan(CudaContext *c, Convolution *p, const Choice *choice, void *const *d, Failure *failure) {
    const CudnnTask *task = &c->state->cudnn.tasks[p->task];
    cudnnPerformance found[MOST_ALGORITHMS];
    int count = 0, status = 0;
    if (choice->kind != CHOICE_FIXED) {
        status = (choice->kind == CHOICE_GUESS ? task->guess : task->find)(c->dnn, d[0], d[1], d[3], d[2],
                                                                           MOST_ALGORITHMS, &count, found);
        if (status != 0)
            return is_declined(status) ? 0 : check(c, status, "choosing an algorithm of cuDNN", failure);
        if (!choose(found, count, choice, p))
            return 0;
    }
    status = task->workspace(c->dnn, d[0], d[1], d[3], d[2], p->algorithm, &p->workspace.bytes);
    if (status != 0)
        return is_declined(status) ? 0 : check(c, status, "asking cuDNN for a workspace", failure);
    return p->workspace.bytes <= choice->most_memory;
}

int cudnn_plan(CudaContext *c, Convolution *p, const Choice *choice, Failure *failure) {
    if (!start(c))
        return 0;
    const CudnnFunctions *dnn = &c->state->cudnn;
    Descriptors made = {0};
    void *d[4];
    int result = 0, status = dnn->SetStream(c->dnn, c->queue);
    if (status == 0)
        status = describe(dnn, p, &made);
    if (status == 0) {
        in_order(p->task, made.image, made.filter, made.top, d);
        d[3] = made.convolution;
        result = plan(c, p, choice, d, failure);
    } else if (!is_declined(status))
        result = check(c, status, "describing a convolution to cuDNN", failure);
    destroy(dnn, &made);
    return result;
}

static void *memory_of(const Place *place) { return (void *)(uintptr_t)(place->address + place->offset); }

int cudnn_convolve(CudaContext *c, const Convolution *p, CUstream stream, Failure *failure) {
    const double one = 1, zero = 0;
    const float single_one = 1, single_zero = 0;
    const int full = strcmp(p->dtype, "float64") == 0;
    if (!start(c))
        return failure_set(failure, "cuDNN has no convolution for operands that it had one for before");
    const CudnnFunctions *dnn = &c->state->cudnn;
    Descriptors made = {0};
    void *d[3], *m[3];
    int status = dnn->SetStream(c->dnn, stream);
    if (status == 0)
        status = describe(dnn, p, &made);
    if (status == 0) {
        in_order(p->task, made.image, made.filter, made.top, d);
        in_order(p->task, memory_of(&p->image), memory_of(&p->filter), memory_of(&p->top), m);
        status = dnn->tasks[p->task].compute(c->dnn, full ? (const void *)&one : &single_one, d[0], m[0], d[1], m[1],
                                             made.convolution, p->algorithm,
                                             p->workspace.bytes == 0 ? NULL : memory_of(&p->workspace),
                                             p->workspace.bytes, full ? (const void *)&zero : &single_zero, d[2], m[2]);
    }
    destroy(dnn, &made);
    return check(c, status, "a convolution by cuDNN", failure);
}
