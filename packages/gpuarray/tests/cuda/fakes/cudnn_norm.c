/* The stand-in for cuDNN: batch normalization that is right. */
#include "cudnn.h"
#include <math.h>

#ifndef WITHOUT_CUDNN

enum { TRAIN, TEST, BACK };

typedef struct {
    int task, mode;
    Tensor batch;
    double epsilon, weight;
    /* The batch and the gradient by the result; scale, shift, mean and variance or the inverse of its root. */
    const void *x, *dy, *scale, *shift, *mean, *spread;
    void *y, *new_mean, *new_spread, *running_mean, *running_var, *by_scale, *by_shift;
} Norm;

/* For tests: the mode, and the weight of the batch in running averages, in thousandths, of the last normalization. */
static int last_norm[2];
const int *fake_normalization(void) { return last_norm; }

/* Collect two sums over all elements of a channel: of x, and of the square or product with what is given. */
static void sums(const Norm *n, int channel, double center, double factor, double *first, double *second) {
    const int *l = n->batch.lengths, type = n->batch.type;
    const long long plane = (long long)l[2] * l[3];
    *first = *second = 0;
    for (int image = 0; image < l[0]; image++)
        for (long long p = 0; p < plane; p++) {
            const long long at = ((long long)image * l[1] + channel) * plane + p;
            const double x = fake_number(n->x, type, at) - center;
            const double v = n->task == BACK ? fake_number(n->dy, type, at) : x;
            *first += v;
            *second += v * x * factor;
        }
}

static void run_channel(const Norm *n, int k) {
    const int *l = n->batch.lengths, type = n->batch.type;
    const long long plane = (long long)l[2] * l[3], many = l[0] * plane;
    const double scale = fake_number(n->scale, type, k);
    double mean, inverse, first, second;
    if (n->task == TRAIN) {
        sums(n, k, 0, 1, &first, &second);
        mean = first / (double)many;
        sums(n, k, mean, 1, &first, &second);
        inverse = 1 / sqrt(second / (double)many + n->epsilon);
        fake_put(n->new_mean, type, k, mean);
        fake_put(n->new_spread, type, k, inverse);
        if (n->running_mean != NULL) {
            const double w = n->weight, var = second / (double)(many - 1);
            fake_put(n->running_mean, type, k, fake_number(n->running_mean, type, k) * (1 - w) + mean * w);
            fake_put(n->running_var, type, k, fake_number(n->running_var, type, k) * (1 - w) + var * w);
        }
    } else {
        mean = fake_number(n->mean, type, k);
        inverse = fake_number(n->spread, type, k);
        inverse = n->task == TEST ? 1 / sqrt(inverse + n->epsilon) : inverse;
    }
    if (n->task == BACK) {
        sums(n, k, mean, inverse, &first, &second);
        fake_put(n->by_shift, type, k, first);
        fake_put(n->by_scale, type, k, second);
    }
    for (int image = 0; image < l[0]; image++)
        for (long long p = 0; p < plane; p++) {
            const long long at = ((long long)image * l[1] + k) * plane + p;
            const double v = (fake_number(n->x, type, at) - mean) * inverse;
            fake_put(n->y, type, at,
                     n->task == BACK
                         ? scale * inverse *
                               (fake_number(n->dy, type, at) - first / (double)many - v * second / (double)many)
                         : v * scale + fake_number(n->shift, type, k));
        }
}

static void run_norm(void *data) {
    const Norm *n = data;
    for (int k = 0; k < n->batch.lengths[1]; k++)
        run_channel(n, k);
}

static int start(Handle *handle, const Norm *n, const Tensor *other, const Tensor *channel) {
    const int wanted[] = {1, n->batch.lengths[1], 1, 1};
    if (n->mode < 0 || n->mode > 1 || n->batch.type == HALF || n->batch.count != 4 || !fake_alike(&n->batch, other) ||
        channel->type != n->batch.type || memcmp(channel->lengths, wanted, sizeof wanted) != 0)
        return BAD_PARAMETER;
    if (n->mode == 0 && n->batch.lengths[2] * n->batch.lengths[3] != 1)
        return BAD_PARAMETER;
    last_norm[0] = n->mode;
    last_norm[1] = (int)lround(n->weight * 1000);
    return fake_enqueue(handle->stream, run_norm, n, sizeof *n);
}

int cudnnBatchNormalizationForwardTraining(Handle *handle, int mode, const void *alpha, const void *beta,
                                           const Tensor *of_x, const void *x, const Tensor *of_y, void *y,
                                           const Tensor *channel, const void *scale, const void *shift, double weight,
                                           void *running_mean, void *running_var, double epsilon, void *mean,
                                           void *inverse) {
    FAKE("cudnnBatchNormalizationForwardTraining");
    if (!fake_factors(of_x, alpha, beta) || (running_mean == NULL) != (running_var == NULL))
        return BAD_PARAMETER;
    const Norm n = {.task = TRAIN,
                    .mode = mode,
                    .batch = *of_x,
                    .epsilon = epsilon,
                    .weight = weight,
                    .x = x,
                    .scale = scale,
                    .shift = shift,
                    .y = y,
                    .new_mean = mean,
                    .new_spread = inverse,
                    .running_mean = running_mean,
                    .running_var = running_var};
    return start(handle, &n, of_y, channel);
}

int cudnnBatchNormalizationForwardInference(Handle *handle, int mode, const void *alpha, const void *beta,
                                            const Tensor *of_x, const void *x, const Tensor *of_y, void *y,
                                            const Tensor *channel, const void *scale, const void *shift,
                                            const void *mean, const void *var, double epsilon) {
    FAKE("cudnnBatchNormalizationForwardInference");
    if (!fake_factors(of_x, alpha, beta))
        return BAD_PARAMETER;
    const Norm n = {.task = TEST,
                    .mode = mode,
                    .batch = *of_x,
                    .epsilon = epsilon,
                    .x = x,
                    .scale = scale,
                    .shift = shift,
                    .mean = mean,
                    .spread = var,
                    .y = y};
    return start(handle, &n, of_y, channel);
}

int cudnnBatchNormalizationBackward(Handle *handle, int mode, const void *alpha, const void *beta,
                                    const void *alpha_of_parameters, const void *beta_of_parameters, const Tensor *of_x,
                                    const void *x, const Tensor *of_dy, const void *dy, const Tensor *of_dx, void *dx,
                                    const Tensor *channel, const void *scale, void *by_scale, void *by_shift,
                                    double epsilon, const void *mean, const void *inverse) {
    FAKE("cudnnBatchNormalizationBackward");
    if (!fake_factors(of_x, alpha, beta) || !fake_factors(of_x, alpha_of_parameters, beta_of_parameters) ||
        !fake_alike(of_x, of_dx))
        return BAD_PARAMETER;
    const Norm n = {.task = BACK,
                    .mode = mode,
                    .batch = *of_x,
                    .epsilon = epsilon,
                    .x = x,
                    .dy = dy,
                    .scale = scale,
                    .mean = mean,
                    .spread = inverse,
                    .y = dx,
                    .by_scale = by_scale,
                    .by_shift = by_shift};
    return start(handle, &n, of_dy, channel);
}
#endif
