/* cuDNN: batch normalization and its gradient, of float32 and float64.
 *
 * All take: mode, batch, channels, elements of a channel, and the bits of epsilon as a float64. Parameters and
 * averages have one element for each channel; per activation, each activation counts as a channel of one element.
 *
 *   norm_train: also the bits of the weight of the batch in running averages, where there are some; the batch, the
 *     result, scale, shift, mean, the inverse of the standard deviation, and both running averages, which are updated
 *   norm_test: the batch, the result, scale, shift, mean, variance
 *   norm_grad: the batch, the gradient by the result, that by the batch, scale, gradients by scale and by shift, mean,
 *     the inverse of the standard deviation
 */
#include "cudnn.h"
#include <string.h>

enum { DIMENSIONS = 4, WITHOUT_AVERAGES = 6, WITH_AVERAGES = 8 };
/* The library refuses larger batches in some modes when it computes, though it lets them be described. */
enum { MOST_OF_BATCH = 65535 };

typedef struct {
    int mode, lengths[DIMENSIONS], channels[DIMENSIONS];
    double epsilon, weight;
    cudnnDescriptor batch, channel;
} Norm;

static double bits(const Call *call, int number) {
    double value = 0;
    if (number < call->count)
        memcpy(&value, &call->numbers[number], sizeof value);
    return value;
}

/* 0 where the library has none such. */
static int understand(CudaContext *c, const Call *call, Norm *n) {
    int lengths[3];
    if (!cudnn_start(c) || c->state->layers == NULL || !c->state->layers->normalization.there ||
        strcmp(call->dtype, "float16") == 0 || !cudnn_lengths(call, 1, 3, 1, lengths) || lengths[0] > MOST_OF_BATCH)
        return 0;
    const Norm made = {.mode = (int)call->numbers[0],
                       .lengths = {lengths[0], lengths[1], 1, lengths[2]},
                       .channels = {1, lengths[1], 1, 1},
                       .epsilon = bits(call, 4),
                       .weight = bits(call, 5)};
    *n = made;
    return cudnn_elements(DIMENSIONS, n->lengths) > 0;
}

static int describe(const CudaContext *c, const Call *call, Norm *n) {
    const int type = cudnn_type(call->dtype);
    int status = cudnn_tensor(&c->state->cudnn, &n->batch, type, DIMENSIONS, n->lengths);
    return status == 0 ? cudnn_tensor(&c->state->cudnn, &n->channel, type, DIMENSIONS, n->channels) : status;
}

static void forget(const CudaContext *c, const Norm *n) {
    cudnn_forget(&c->state->cudnn, n->batch);
    cudnn_forget(&c->state->cudnn, n->channel);
}

int dnn_norm_workspace(CudaContext *c, const Call *call, int64_t *bytes, Failure *failure) {
    Norm n;
    if (!understand(c, call, &n))
        return 0;
    int status = describe(c, call, &n);
    forget(c, &n);
    *bytes = 0;
    return cudnn_answer(c, status, "describing normalization to cuDNN", failure);
}

static int compute(const CudaContext *c, const Call *call, const Norm *n) {
    const void *one = cudnn_factor(call->dtype, 1), *zero = cudnn_factor(call->dtype, 0);
    void *at[WITH_AVERAGES] = {NULL};
    for (int k = 0; k < call->n_places && k < WITH_AVERAGES; k++)
        at[k] = place_address(&call->places[k]);
    if (strcmp(call->name, "norm_train") == 0)
        return c->state->layers->normalization.Normalize(c->dnn, n->mode, one, zero, n->batch, at[0], n->batch, at[1],
                                                         n->channel, at[2], at[3], n->weight, at[6], at[7], n->epsilon,
                                                         at[4], at[5]);
    if (strcmp(call->name, "norm_test") == 0)
        return c->state->layers->normalization.NormalizeBy(c->dnn, n->mode, one, zero, n->batch, at[0], n->batch, at[1],
                                                           n->channel, at[2], at[3], at[4], at[5], n->epsilon);
    return c->state->layers->normalization.NormalizeBack(c->dnn, n->mode, one, zero, one, zero, n->batch, at[0],
                                                         n->batch, at[1], n->batch, at[2], n->channel, at[3], at[4],
                                                         at[5], n->epsilon, at[6], at[7]);
}

/* How many of the first places are of the batch; the others are of its channels. */
static int check_places(const Call *call, const Norm *n, Failure *failure) {
    const int whole = strcmp(call->name, "norm_grad") == 0 ? 3 : 2;
    const int wanted = whole == 3 || call->count > 5 ? WITH_AVERAGES : WITHOUT_AVERAGES;
    if (call->n_places != wanted)
        return failure_set(failure, "%s has %d arrays, not %d", call->name, wanted, call->n_places);
    for (int k = 0; k < wanted; k++)
        if (cudnn_fits(call, k, cudnn_elements(DIMENSIONS, k < whole ? n->lengths : n->channels), failure) < 0)
            return -1;
    return 0;
}

int dnn_norm_call(CudaContext *c, const Call *call, CUstream stream, Failure *failure) {
    Norm n;
    if (cudnn_begin(c, call, stream, failure) < 0)
        return -1;
    if (!understand(c, call, &n))
        return failure_set(failure, "cuDNN has no %s of these lengths", call->name);
    if (check_places(call, &n, failure) < 0)
        return -1;
    int status = describe(c, call, &n);
    if (status == 0)
        status = compute(c, call, &n);
    forget(c, &n);
    return cudnn_check(c, status, "normalization by cuDNN", failure);
}
