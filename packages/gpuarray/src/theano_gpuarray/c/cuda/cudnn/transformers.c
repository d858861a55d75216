/* cuDNN: spatial transformers of images, which are sampled at the points of a grid, and their gradients.
 *
 *   grid, grid_grad: the four lengths of the sampled images; affine maps and the grid, or the gradient by the grid and
 *     that by the maps
 *   sample: these lengths, and rows and columns of the images; images, grid, sampled images
 *   sample_grad: the same numbers; images, grid, the gradient by the sampled images, gradients by images and by the
 *     grid
 *
 * Along an axis of one point the ends of the grid are the same, and nothing says which one it is: there kernels
 * compute.
 */
#include "cudnn.h"
#include <string.h>

enum { DIMENSIONS = 4, SAMPLER_BILINEAR = 0, COORDINATES = 2, OF_MAP = 6, MOST_CHANNELS = 1024 };

typedef struct {
    int sampled[DIMENSIONS], images[DIMENSIONS];
    cudnnDescriptor transformer, image, result;
} Transformer;

/* 0 where the library has none such. */
static int understand(CudaContext *c, const Call *call, Transformer *t) {
    memset(t, 0, sizeof *t);
    if (!cudnn_start(c) || c->state->layers == NULL || !c->state->layers->transformers.there ||
        strcmp(call->dtype, "float16") == 0 || !cudnn_lengths(call, 0, DIMENSIONS, 1, t->sampled))
        return 0;
    memcpy(t->images, t->sampled, sizeof t->images);
    if (strncmp(call->name, "sample", 6) == 0 && !cudnn_lengths(call, DIMENSIONS, 2, 2, t->images + 2))
        return 0;
    return t->sampled[1] <= MOST_CHANNELS && t->sampled[2] > 1 && t->sampled[3] > 1 &&
           cudnn_elements(DIMENSIONS, t->sampled) > 0 && cudnn_elements(DIMENSIONS, t->images) > 0;
}

static int describe(const CudaContext *c, const Call *call, Transformer *t) {
    const struct CudnnLayers *of = c->state->layers;
    const int type = cudnn_type(call->dtype);
    int status = of->transformers.CreateTransformer(&t->transformer);
    if (status == 0)
        status = of->transformers.SetTransformer(t->transformer, SAMPLER_BILINEAR, type, DIMENSIONS, t->sampled);
    if (status == 0)
        status = cudnn_tensor(&c->state->cudnn, &t->image, type, DIMENSIONS, t->images);
    return status == 0 ? cudnn_tensor(&c->state->cudnn, &t->result, type, DIMENSIONS, t->sampled) : status;
}

static void forget(const CudaContext *c, const Transformer *t) {
    if (t->transformer != NULL)
        c->state->layers->transformers.DestroyTransformer(t->transformer);
    cudnn_forget(&c->state->cudnn, t->image);
    cudnn_forget(&c->state->cudnn, t->result);
}

int dnn_transformer_workspace(CudaContext *c, const Call *call, int64_t *bytes, Failure *failure) {
    Transformer t;
    if (!understand(c, call, &t))
        return 0;
    int status = describe(c, call, &t);
    forget(c, &t);
    *bytes = 0;
    return cudnn_answer(c, status, "describing a spatial transformer to cuDNN", failure);
}

/* What is in which place: images (i), sampled images (s), a grid (g), or maps (m). */
static int check_places(const Call *call, const Transformer *t, Failure *failure) {
    const char *wanted = strcmp(call->name, "grid") == 0        ? "mg"
                         : strcmp(call->name, "grid_grad") == 0 ? "gm"
                         : strcmp(call->name, "sample") == 0    ? "igs"
                                                                : "igsig";
    const int64_t points = (int64_t)t->sampled[0] * t->sampled[2] * t->sampled[3] * COORDINATES;
    if (call->n_places != (int)strlen(wanted))
        return failure_set(failure, "%s has %zu arrays, not %d", call->name, strlen(wanted), call->n_places);
    for (int k = 0; k < call->n_places; k++) {
        const int64_t elements = wanted[k] == 'i'   ? cudnn_elements(DIMENSIONS, t->images)
                                 : wanted[k] == 's' ? cudnn_elements(DIMENSIONS, t->sampled)
                                 : wanted[k] == 'g' ? points
                                                    : (int64_t)t->sampled[0] * OF_MAP;
        if (cudnn_fits(call, k, elements, failure) < 0)
            return -1;
    }
    return 0;
}

static int compute(const CudaContext *c, const Call *call, const Transformer *t) {
    const struct CudnnLayers *of = c->state->layers;
    const void *one = cudnn_factor(call->dtype, 1), *zero = cudnn_factor(call->dtype, 0);
    void *at[MOST_PLACES];
    for (int k = 0; k < call->n_places; k++)
        at[k] = place_address(&call->places[k]);
    if (strcmp(call->name, "grid") == 0)
        return of->transformers.MakeGrid(c->dnn, t->transformer, at[0], at[1]);
    if (strcmp(call->name, "grid_grad") == 0)
        return of->transformers.MakeGridBack(c->dnn, t->transformer, at[0], at[1]);
    if (strcmp(call->name, "sample") == 0)
        return of->transformers.Sample(c->dnn, t->transformer, one, t->image, at[0], at[1], zero, t->result, at[2]);
    return of->transformers.SampleBack(c->dnn, t->transformer, one, t->image, at[0], zero, t->image, at[3], one,
                                       t->result, at[2], at[1], zero, at[4]);
}

int dnn_transformer_call(CudaContext *c, const Call *call, CUstream stream, Failure *failure) {
    Transformer t;
    if (cudnn_begin(c, call, stream, failure) < 0)
        return -1;
    if (!understand(c, call, &t))
        return failure_set(failure, "cuDNN has no %s of these lengths", call->name);
    if (check_places(call, &t, failure) < 0)
        return -1;
    int status = describe(c, call, &t);
    if (status == 0)
        status = compute(c, call, &t);
    forget(c, &t);
    return cudnn_check(c, status, "a spatial transformer by cuDNN", failure);
}
