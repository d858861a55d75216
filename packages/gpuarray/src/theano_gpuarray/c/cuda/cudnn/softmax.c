/* cuDNN: softmax and its gradient.
 *
 *   softmax: algorithm, mode, four lengths; the scores and the result
 *   softmax_grad: the same numbers; the result, the gradient by it, and the gradient by the scores
 */
#include "cudnn.h"

enum { DIMENSIONS = 4 };

/* 0 where the library has none such. */
static int read_lengths(CudaContext *c, const Call *call, int *lengths) {
    return cudnn_start(c) && c->state->layers != NULL && c->state->layers->softmax.there &&
           cudnn_lengths(call, 2, DIMENSIONS, 1, lengths) && cudnn_elements(DIMENSIONS, lengths) > 0;
}

int dnn_softmax_workspace(CudaContext *c, const Call *call, int64_t *bytes, Failure *failure) {
    const CudnnFunctions *dnn = &c->state->cudnn;
    cudnnDescriptor made = NULL;
    int lengths[DIMENSIONS];
    if (!read_lengths(c, call, lengths))
        return 0;
    int status = cudnn_tensor(dnn, &made, cudnn_type(call->dtype), DIMENSIONS, lengths);
    cudnn_forget(dnn, made);
    *bytes = 0;
    return cudnn_answer(c, status, "describing softmax to cuDNN", failure);
}

static int compute(const CudaContext *c, const Call *call, cudnnDescriptor tensor) {
    const int algorithm = (int)call->numbers[0], mode = (int)call->numbers[1];
    const void *one = cudnn_factor(call->dtype, 1), *zero = cudnn_factor(call->dtype, 0);
    void *first = place_address(&call->places[0]), *second = place_address(&call->places[1]);
    if (call->n_places == 2)
        return c->state->layers->softmax.Softmax(c->dnn, algorithm, mode, one, tensor, first, zero, tensor, second);
    return c->state->layers->softmax.SoftmaxBack(c->dnn, algorithm, mode, one, tensor, first, tensor, second, zero,
                                                 tensor, place_address(&call->places[2]));
}

int dnn_softmax_call(CudaContext *c, const Call *call, CUstream stream, Failure *failure) {
    const CudnnFunctions *dnn = &c->state->cudnn;
    cudnnDescriptor made = NULL;
    int lengths[DIMENSIONS];
    if (cudnn_begin(c, call, stream, failure) < 0)
        return -1;
    if (!read_lengths(c, call, lengths) || call->n_places != (call->name[7] == '\0' ? 2 : 3))
        return failure_set(failure, "cuDNN has no %s of these lengths", call->name);
    for (int k = 0; k < call->n_places; k++)
        if (cudnn_fits(call, k, cudnn_elements(DIMENSIONS, lengths), failure) < 0)
            return -1;
    int status = cudnn_tensor(dnn, &made, cudnn_type(call->dtype), DIMENSIONS, lengths);
    if (status == 0)
        status = compute(c, call, made);
    cudnn_forget(dnn, made);
    return cudnn_check(c, status, "softmax by cuDNN", failure);
}
