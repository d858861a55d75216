/* The stand-in for cuDNN: spatial transformers that are right where points lie inside of images. */
#include "cudnn.h"
#include <math.h>

#ifndef WITHOUT_CUDNN

typedef struct {
    int type, lengths[4];
} Transformer;

typedef struct {
    Transformer t;
    Tensor image;
    const void *first, *grid, *dy;
    void *result, *by_grid;
    int back;
} Work;

int cudnnCreateSpatialTransformerDescriptor(void **made) {
    return fake_create("cudnnCreateSpatialTransformerDescriptor", made, sizeof(Transformer));
}
int cudnnDestroySpatialTransformerDescriptor(void *given) {
    return fake_destroy("cudnnDestroySpatialTransformerDescriptor", given);
}

int cudnnSetSpatialTransformerNdDescriptor(Transformer *t, int sampler, int type, int count, const int *lengths) {
    FAKE("cudnnSetSpatialTransformerNdDescriptor");
    if (sampler != 0 || count != 4 || type == HALF)
        return BAD_PARAMETER;
    t->type = type;
    memcpy(t->lengths, lengths, sizeof t->lengths);
    return 0;
}

/* x, y and 1 of a point. */
static void point(const Transformer *t, long long k, double *found) {
    const int rows = t->lengths[2], columns = t->lengths[3];
    found[0] = 2.0 * (double)(k % columns) / (columns - 1) - 1;
    found[1] = 2.0 * (double)(k / columns % rows) / (rows - 1) - 1;
    found[2] = 1;
}

static void run_grid(void *data) {
    const Work *w = data;
    const long long plane = (long long)w->t.lengths[2] * w->t.lengths[3], points = plane * w->t.lengths[0];
    const int type = w->t.type;
    for (int k = 0; w->back && k < 6 * w->t.lengths[0]; k++)
        fake_put(w->result, type, k, 0);
    for (long long k = 0; k < points; k++) {
        double p[3];
        point(&w->t, k, p);
        for (int axis = 0; axis < 2; axis++) {
            double total = 0;
            for (int j = 0; j < 3; j++) {
                const long long at = (k / plane * 2 + axis) * 3 + j;
                if (w->back)
                    fake_add(w->result, type, at, p[j] * fake_number(w->first, type, 2 * k + axis));
                else
                    total += p[j] * fake_number(w->first, type, at);
            }
            if (!w->back)
                fake_put(w->result, type, 2 * k + axis, total);
        }
    }
}

static int start_grid(Handle *handle, const Transformer *t, const void *first, void *result, int back) {
    const Work w = {.t = *t, .first = first, .result = result, .back = back};
    return fake_enqueue(handle->stream, run_grid, &w, sizeof w);
}

int cudnnSpatialTfGridGeneratorForward(Handle *handle, const Transformer *t, const void *theta, void *grid) {
    FAKE("cudnnSpatialTfGridGeneratorForward");
    return start_grid(handle, t, theta, grid, 0);
}

int cudnnSpatialTfGridGeneratorBackward(Handle *handle, const Transformer *t, const void *dgrid, void *dtheta) {
    FAKE("cudnnSpatialTfGridGeneratorBackward");
    return start_grid(handle, t, dgrid, dtheta, 1);
}

/* One point of one channel: the four pixels around it. */
static void run_point(const Work *w, long long image, int channel, long long at) {
    const int rows = w->image.lengths[2], columns = w->image.lengths[3], type = w->t.type, many = w->t.lengths[1];
    const long long plane = (long long)w->t.lengths[2] * w->t.lengths[3], spot = 2 * (image * plane + at);
    const long long base = (image * many + channel) * rows * columns, out = (image * many + channel) * plane + at;
    const double x = (fake_number(w->grid, type, spot) + 1) * (columns - 1) / 2;
    const double y = (fake_number(w->grid, type, spot + 1) + 1) * (rows - 1) / 2;
    double total = 0, by_x = 0, by_y = 0;
    for (int corner = 0; corner < 4; corner++) {
        const int i = (int)floor(y) + corner / 2, j = (int)floor(x) + corner % 2;
        if (i < 0 || j < 0 || i >= rows || j >= columns)
            continue;
        const double down = 1 - fabs(y - i), across = 1 - fabs(x - j);
        const double v = fake_number(w->first, type, base + (long long)i * columns + j);
        total += v * down * across;
        by_x += v * down * (corner % 2 ? 1 : -1);
        by_y += v * across * (corner / 2 ? 1 : -1);
        if (w->back)
            fake_add(w->result, type, base + (long long)i * columns + j, down * across * fake_number(w->dy, type, out));
    }
    if (!w->back) {
        fake_put(w->result, type, out, total);
        return;
    }
    fake_add(w->by_grid, type, spot, by_x * (columns - 1) / 2 * fake_number(w->dy, type, out));
    fake_add(w->by_grid, type, spot + 1, by_y * (rows - 1) / 2 * fake_number(w->dy, type, out));
}

static void run_sample(void *data) {
    const Work *w = data;
    const long long plane = (long long)w->t.lengths[2] * w->t.lengths[3];
    if (w->back) {
        const size_t size = w->t.type == DOUBLE ? 8 : 4;
        memset(w->result, 0, (size_t)fake_size(&w->image) * size);
        memset(w->by_grid, 0, (size_t)(2 * plane * w->t.lengths[0]) * size);
    }
    for (int image = 0; image < w->t.lengths[0]; image++)
        for (int channel = 0; channel < w->t.lengths[1]; channel++)
            for (long long at = 0; at < plane; at++)
                run_point(w, image, channel, at);
}

int cudnnSpatialTfSamplerForward(Handle *handle, const Transformer *t, const void *alpha, const Tensor *of_x,
                                 const void *x, const void *grid, const void *beta, const Tensor *of_y, void *y) {
    FAKE("cudnnSpatialTfSamplerForward");
    if (!fake_factors(of_x, alpha, beta) || memcmp(of_y->lengths, t->lengths, sizeof t->lengths) != 0)
        return BAD_PARAMETER;
    const Work w = {.t = *t, .image = *of_x, .first = x, .grid = grid, .result = y};
    return fake_enqueue(handle->stream, run_sample, &w, sizeof w);
}

int cudnnSpatialTfSamplerBackward(Handle *handle, const Transformer *t, const void *alpha, const Tensor *of_x,
                                  const void *x, const void *beta, const Tensor *of_dx, void *dx,
                                  const void *alpha_of_grid, const Tensor *of_dy, const void *dy, const void *grid,
                                  const void *beta_of_grid, void *dgrid) {
    FAKE("cudnnSpatialTfSamplerBackward");
    if (!fake_factors(of_x, alpha, beta) || !fake_factors(of_x, alpha_of_grid, beta_of_grid) ||
        !fake_alike(of_x, of_dx) || memcmp(of_dy->lengths, t->lengths, sizeof t->lengths) != 0)
        return BAD_PARAMETER;
    const Work w = {
        .t = *t, .image = *of_x, .first = x, .grid = grid, .dy = dy, .result = dx, .by_grid = dgrid, .back = 1};
    return fake_enqueue(handle->stream, run_sample, &w, sizeof w);
}
#endif
