/* The stand-in for cuDNN: pooling and softmax that are right. */
#include "cudnn.h"
#include <math.h>

#ifndef WITHOUT_CUDNN

typedef struct {
    int mode, axes, windows[AXES], zeros[AXES], steps[AXES];
} PoolingDescription;

/* For tests: the mode of the last pooling; algorithm and mode of the last softmax. */
static int last_layer[3];
const int *fake_layer(void) { return last_layer; }

int cudnnCreatePoolingDescriptor(void **made) {
    return fake_create("cudnnCreatePoolingDescriptor", made, sizeof(PoolingDescription));
}
int cudnnDestroyPoolingDescriptor(void *given) { return fake_destroy("cudnnDestroyPoolingDescriptor", given); }

int cudnnSetPoolingNdDescriptor(PoolingDescription *d, int mode, int nan, int axes, const int *windows,
                                const int *zeros, const int *steps) {
    FAKE("cudnnSetPoolingNdDescriptor");
    if (mode < 0 || mode > 3 || nan != 1 || axes < 2 || axes > AXES)
        return BAD_PARAMETER;
    const size_t bytes = (size_t)axes * sizeof(int);
    d->mode = mode;
    d->axes = axes;
    memcpy(d->windows, windows, bytes);
    memcpy(d->zeros, zeros, bytes);
    memcpy(d->steps, steps, bytes);
    return 0;
}

static int pooled(const PoolingDescription *d, const Tensor *image, int axis) {
    return (image->lengths[axis + 2] + 2 * d->zeros[axis] - d->windows[axis]) / d->steps[axis] + 1;
}

int cudnnGetPoolingNdForwardOutputDim(const PoolingDescription *d, const Tensor *image, int count, int *lengths) {
    FAKE("cudnnGetPoolingNdForwardOutputDim");
    if (count != d->axes + 2 || image->count != count)
        return BAD_PARAMETER;
    for (int k = 0; k < count; k++)
        lengths[k] = k < 2 ? image->lengths[k] : pooled(d, image, k - 2);
    return 0;
}

typedef struct {
    PoolingDescription d;
    Tensor image, result;
    const void *from;
    void *to;
    int back;
} Pool;

/* Visit the elements of a window; gradients are spread, others are collected. */
static void run_window(const Pool *p, long long plane, long long window) {
    const int axes = p->d.axes, type = p->image.type;
    long long pixels = 1, windows = 1, rest = window, inside = 0, taps = 1;
    int first[AXES];
    for (int k = axes - 1; k >= 0; k--) {
        first[k] = (int)(rest % p->result.lengths[k + 2]) * p->d.steps[k] - p->d.zeros[k];
        rest /= p->result.lengths[k + 2];
    }
    for (int k = 0; k < axes; k++) {
        pixels *= p->image.lengths[k + 2];
        windows *= p->result.lengths[k + 2];
        taps *= p->d.windows[k];
    }
    const long long at = plane * windows + window;
    double total = 0, largest = -INFINITY;
    for (int round = 0; round < 2; round++) {
        const double share =
            p->back && round ? fake_number(p->from, type, at) / (double)(p->d.mode == 1 ? taps : inside) : 0;
        for (long long tap = 0; tap < taps; tap++) {
            long long place = 0, left = tap;
            int there = 1, position[AXES];
            for (int k = axes - 1; k >= 0; k--) {
                position[k] = first[k] + (int)(left % p->d.windows[k]);
                left /= p->d.windows[k];
                there &= position[k] >= 0 && position[k] < p->image.lengths[k + 2];
            }
            for (int k = 0; k < axes; k++)
                place = place * p->image.lengths[k + 2] + position[k];
            if (!there)
                continue;
            if (round && p->back)
                fake_add(p->to, type, plane * pixels + place, share);
            if (round)
                continue;
            inside++;
            if (!p->back) {
                const double x = fake_number(p->from, type, plane * pixels + place);
                total += x;
                largest = x > largest || x != x ? x : largest;
            }
        }
    }
    if (!p->back)
        fake_put(p->to, type, at,
                 p->d.mode == 1   ? total / (double)taps
                 : p->d.mode == 2 ? total / (double)inside
                                  : largest);
}

static void run_pool(void *data) {
    const Pool *p = data;
    const long long planes = (long long)p->image.lengths[0] * p->image.lengths[1];
    if (p->back)
        memset(p->to, 0, (size_t)fake_size(&p->image) * (p->image.type == DOUBLE ? 8 : 4));
    for (long long plane = 0; plane < planes; plane++)
        for (long long w = 0; w < fake_size(&p->result) / planes; w++)
            run_window(p, plane, w);
}

static int start_pool(Handle *handle, const Pool *p) {
    for (int k = 0; k < p->d.axes; k++)
        if (p->result.lengths[k + 2] != pooled(&p->d, &p->image, k))
            return BAD_PARAMETER;
    last_layer[0] = p->d.mode;
    return p->image.type == HALF ? 0 : fake_enqueue(handle->stream, run_pool, p, sizeof *p);
}

int cudnnPoolingForward(Handle *handle, const PoolingDescription *d, const void *alpha, const Tensor *image,
                        const void *x, const void *beta, const Tensor *result, void *y) {
    FAKE("cudnnPoolingForward");
    const Pool p = {*d, *image, *result, x, y, 0};
    return fake_factors(image, alpha, beta) ? start_pool(handle, &p) : BAD_PARAMETER;
}

int cudnnPoolingBackward(Handle *handle, const PoolingDescription *d, const void *alpha, const Tensor *result,
                         const void *y, const Tensor *of_dy, const void *dy, const Tensor *image, const void *x,
                         const void *beta, const Tensor *of_dx, void *dx) {
    FAKE("cudnnPoolingBackward");
    if (d->mode == 0 || d->mode == 3 || y == NULL || x == NULL || !fake_alike(result, of_dy) ||
        !fake_alike(image, of_dx) || !fake_factors(image, alpha, beta))
        return BAD_PARAMETER;
    const Pool p = {*d, *image, *result, dy, dx, 1};
    return start_pool(handle, &p);
}

typedef struct {
    int algorithm, mode;
    Tensor tensor;
    const void *y, *dy;
    void *result;
} Softmax;

/* One line: `count` elements, `step` apart. */
static void run_line(const Softmax *s, long long first, long long count, long long step) {
    const int type = s->tensor.type, is_log = s->algorithm == 2;
    double largest = -INFINITY, total = 0;
    for (long long k = 0; k < count; k++) {
        const long long at = first + k * step;
        const double y = fake_number(s->y, type, at);
        largest = s->algorithm == 0 ? 0 : y > largest ? y : largest;
        if (s->dy != NULL)
            total += fake_number(s->dy, type, at) * (is_log ? 1 : y);
    }
    for (long long k = 0; s->dy == NULL && k < count; k++)
        total += exp(fake_number(s->y, type, first + k * step) - largest);
    for (long long k = 0; k < count; k++) {
        const long long at = first + k * step;
        const double y = fake_number(s->y, type, at), dy = s->dy == NULL ? 0 : fake_number(s->dy, type, at);
        fake_put(s->result, type, at,
                 s->dy != NULL ? (is_log ? dy - exp(y) * total : y * (dy - total))
                 : is_log      ? y - largest - log(total)
                               : exp(y - largest) / total);
    }
}

static void run_softmax(void *data) {
    const Softmax *s = data;
    const int *n = s->tensor.lengths;
    const long long plane = (long long)n[2] * n[3];
    for (int image = 0; image < n[0]; image++)
        if (s->mode == 0)
            run_line(s, image * n[1] * plane, n[1] * plane, 1);
        else
            for (long long p = 0; p < plane; p++)
                run_line(s, image * n[1] * plane + p, n[1], plane);
}

static int start_softmax(Handle *handle, int algorithm, int mode, const Tensor *tensor, const void *y, const void *dy,
                         void *result) {
    if (algorithm < 0 || algorithm > 2 || mode < 0 || mode > 1)
        return BAD_PARAMETER;
    last_layer[1] = algorithm;
    last_layer[2] = mode;
    const Softmax s = {algorithm, mode, *tensor, y, dy, result};
    return tensor->type == HALF ? 0 : fake_enqueue(handle->stream, run_softmax, &s, sizeof s);
}

int cudnnSoftmaxForward(Handle *handle, int algorithm, int mode, const void *alpha, const Tensor *of_x, const void *x,
                        const void *beta, const Tensor *of_y, void *y) {
    FAKE("cudnnSoftmaxForward");
    if (!fake_alike(of_x, of_y) || !fake_factors(of_x, alpha, beta))
        return BAD_PARAMETER;
    return start_softmax(handle, algorithm, mode, of_x, x, NULL, y);
}

int cudnnSoftmaxBackward(Handle *handle, int algorithm, int mode, const void *alpha, const Tensor *of_y, const void *y,
                         const Tensor *of_dy, const void *dy, const void *beta, const Tensor *of_dx, void *dx) {
    FAKE("cudnnSoftmaxBackward");
    if (!fake_alike(of_y, of_dy) || !fake_alike(of_y, of_dx) || !fake_factors(of_y, alpha, beta))
        return BAD_PARAMETER;
    return start_softmax(handle, algorithm, mode, of_y, y, dy, dx);
}
#endif
