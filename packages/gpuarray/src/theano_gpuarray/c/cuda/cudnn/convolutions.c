/* cuDNN: convolutions and their gradients, by the functions that versions 8 and 9 have in common.
 *
 * Descriptors are made for each call, which takes some microseconds and leaves nothing to keep. Sums of float16 have
 * the precision that is asked for; factors of float32 are rounded to the short mantissas of TF32 only where a
 * convolution asks for it, by the precision "tf32".
 */
#include "cudnn.h"
#include <string.h>

enum { CUDNN_TENSOR_NCHW = 0 };
enum { CUDNN_CONVOLUTION = 0, CUDNN_CROSS_CORRELATION = 1 };
/* More than any task has. */
enum { MOST_ALGORITHMS = 32 };

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

static int math_of(const Convolution *p) {
    if (strcmp(p->dtype, "float16") == 0)
        return CUDNN_TENSOR_OP_MATH;
    return strcmp(p->precision, "tf32") == 0 ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH;
}

static int describe(const CudnnFunctions *dnn, const Convolution *p, Descriptors *d) {
    int status = cudnn_tensor(dnn, &d->image, cudnn_type(p->dtype), p->axes + 2, p->images);
    if (status == 0)
        status = cudnn_tensor(dnn, &d->top, cudnn_type(p->dtype), p->axes + 2, p->top_lengths);
    if (status == 0)
        status = dnn->CreateFilter(&d->filter);
    if (status == 0)
        status = dnn->SetFilter(d->filter, cudnn_type(p->dtype), CUDNN_TENSOR_NCHW, p->axes + 2, p->filters);
    if (status == 0)
        status = dnn->CreateConvolution(&d->convolution);
    if (status == 0)
        status =
            dnn->SetConvolution(d->convolution, p->axes, p->zeros, p->strides, p->dilations,
                                p->flipped ? CUDNN_CONVOLUTION : CUDNN_CROSS_CORRELATION, cudnn_type(p->precision));
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
            return cudnn_declines(status) ? 0 : cudnn_check(c, status, "choosing an algorithm of cuDNN", failure);
        if (!choose(found, count, choice, p))
            return 0;
    }
    status = task->workspace(c->dnn, d[0], d[1], d[3], d[2], p->algorithm, &p->workspace.bytes);
    if (status != 0)
        return cudnn_declines(status) ? 0 : cudnn_check(c, status, "asking cuDNN for a workspace", failure);
    return p->workspace.bytes <= choice->most_memory;
}

int cudnn_plan(CudaContext *c, Convolution *p, const Choice *choice, Failure *failure) {
    if (!cudnn_start(c))
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
    } else if (!cudnn_declines(status))
        result = cudnn_check(c, status, "describing a convolution to cuDNN", failure);
    destroy(dnn, &made);
    return result;
}

int cudnn_convolve(CudaContext *c, const Convolution *p, CUstream stream, Failure *failure) {
    const double one = 1, zero = 0;
    const float single_one = 1, single_zero = 0;
    const int full = strcmp(p->dtype, "float64") == 0;
    if (!cudnn_start(c))
        return failure_set(failure, "cuDNN has no convolution for operands that it had one for before");
    const CudnnFunctions *dnn = &c->state->cudnn;
    Descriptors made = {0};
    void *d[3], *m[3];
    int status = dnn->SetStream(c->dnn, stream);
    if (status == 0)
        status = describe(dnn, p, &made);
    if (status == 0) {
        in_order(p->task, made.image, made.filter, made.top, d);
        in_order(p->task, place_address(&p->image), place_address(&p->filter), place_address(&p->top), m);
        status = dnn->tasks[p->task].compute(c->dnn, full ? (const void *)&one : &single_one, d[0], m[0], d[1], m[1],
                                             made.convolution, p->algorithm,
                                             p->workspace.bytes == 0 ? NULL : place_address(&p->workspace),
                                             p->workspace.bytes, full ? (const void *)&zero : &single_zero, d[2], m[2]);
    }
    destroy(dnn, &made);
    return cudnn_check(c, status, "a convolution by cuDNN", failure);
}
