/* cuDNN: pooling, and its gradient for means.
 *
 *   pool, pool_grad: mode, axes along which windows lie, lengths of images, of windows, of padding, and steps;
 *     the images and the result, or the gradient by the result and that by the images
 *
 * Where the gradient of a largest element goes if several are equal is not said by the library, so that it is not asked
 * for gradients of these. Those of means read neither images nor results, whose places other arrays take.
 */
#include "cudnn.h"

enum { CUDNN_PROPAGATE_NAN = 1 };

typedef struct {
    int axes, images[MOST_LENGTHS], results[MOST_LENGTHS];
    cudnnDescriptor pooling, image, result;
} Pooling;

/* 0 where the library has none such. */
static int read_lengths(const Call *call, Pooling *p, int *windows, int *pads, int *steps) {
    p->axes = (int)call->numbers[1];
    if (p->axes < 2 || p->axes > MOST_AXES || call->count != 4 + 4 * p->axes)
        return 0;
    const int first = 4 + p->axes;
    if (!cudnn_lengths(call, 2, p->axes + 2, 1, p->images) || !cudnn_lengths(call, first, p->axes, 1, windows) ||
        !cudnn_lengths(call, first + p->axes, p->axes, 0, pads) ||
        !cudnn_lengths(call, first + 2 * p->axes, p->axes, 1, steps))
        return 0;
    p->results[0] = p->images[0];
    p->results[1] = p->images[1];
    for (int d = 0; d < p->axes; d++) {
        const int64_t room = (int64_t)p->images[d + 2] + 2 * (int64_t)pads[d] - windows[d];
        if (pads[d] >= windows[d] || room < 0)
            return 0;
        p->results[d + 2] = (int)(room / steps[d]) + 1;
    }
    return cudnn_elements(p->axes + 2, p->images) > 0 && cudnn_elements(p->axes + 2, p->results) > 0;
}

static int describe(const CudaContext *c, const Call *call, Pooling *p, const int *windows, const int *pads,
                    const int *steps) {
    const CudnnFunctions *dnn = &c->state->cudnn;
    const int type = cudnn_type(call->dtype);
    int status = c->state->layers->pooling.CreatePooling(&p->pooling);
    if (status == 0)
        status = c->state->layers->pooling.SetPooling(p->pooling, (int)call->numbers[0], CUDNN_PROPAGATE_NAN, p->axes,
                                                      windows, pads, steps);
    if (status == 0)
        status = cudnn_tensor(dnn, &p->image, type, p->axes + 2, p->images);
    return status == 0 ? cudnn_tensor(dnn, &p->result, type, p->axes + 2, p->results) : status;
}

static void forget(const CudaContext *c, const Pooling *p) {
    if (p->pooling != NULL)
        c->state->layers->pooling.DestroyPooling(p->pooling);
    cudnn_forget(&c->state->cudnn, p->image);
    cudnn_forget(&c->state->cudnn, p->result);
}

/* Whether the library has as many windows as there are here. */
static int agrees(const CudaContext *c, const Pooling *p, int *status) {
    int found[MOST_LENGTHS] = {0};
    *status = c->state->layers->pooling.GetPooled(p->pooling, p->image, p->axes + 2, found);
    for (int d = 0; *status == 0 && d < p->axes + 2; d++)
        if (found[d] != p->results[d])
            return 0;
    return 1;
}

int dnn_pool_workspace(CudaContext *c, const Call *call, int64_t *bytes, Failure *failure) {
    Pooling p = {0};
    int windows[MOST_AXES], pads[MOST_AXES], steps[MOST_AXES], fits = 1;
    if (!cudnn_start(c) || c->state->layers == NULL || !c->state->layers->pooling.there ||
        !read_lengths(call, &p, windows, pads, steps))
        return 0;
    int status = describe(c, call, &p, windows, pads, steps);
    if (status == 0)
        fits = agrees(c, &p, &status);
    forget(c, &p);
    *bytes = 0;
    return fits ? cudnn_answer(c, status, "describing pooling to cuDNN", failure) : 0;
}

static int compute(const CudaContext *c, const Call *call, const Pooling *p) {
    const void *one = cudnn_factor(call->dtype, 1), *zero = cudnn_factor(call->dtype, 0);
    void *from = place_address(&call->places[0]), *to = place_address(&call->places[1]);
    if (call->name[4] == '\0')
        return c->state->layers->pooling.Pool(c->dnn, p->pooling, one, p->image, from, zero, p->result, to);
    return c->state->layers->pooling.PoolBack(c->dnn, p->pooling, one, p->result, from, p->result, from, p->image, to,
                                              zero, p->image, to);
}

int dnn_pool_call(CudaContext *c, const Call *call, CUstream stream, Failure *failure) {
    Pooling p = {0};
    int windows[MOST_AXES], pads[MOST_AXES], steps[MOST_AXES];
    if (cudnn_begin(c, call, stream, failure) < 0)
        return -1;
    if (!c->state->layers->pooling.there || !read_lengths(call, &p, windows, pads, steps))
        return failure_set(failure, "cuDNN has no %s of these lengths", call->name);
    const int64_t images = cudnn_elements(p.axes + 2, p.images), results = cudnn_elements(p.axes + 2, p.results);
    const int is_forward = call->name[4] == '\0';
    if (cudnn_fits(call, 0, is_forward ? images : results, failure) < 0 ||
        cudnn_fits(call, 1, is_forward ? results : images, failure) < 0)
        return -1;
    int status = describe(c, call, &p, windows, pads, steps);
    if (status == 0)
        status = compute(c, call, &p);
    forget(c, &p);
    return cudnn_check(c, status, "pooling by cuDNN", failure);
}
