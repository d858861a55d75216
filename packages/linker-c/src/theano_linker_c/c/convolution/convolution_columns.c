/* Gradients of convolutions by images as products of filters and cotangent, which are added where windows were read.
 *
 * A convolution of the cotangent (convolution_apply.c) meets each tap at each element of an image; that is wasted where
 * filters are about as large as images, and outputs small: most taps meet zeros. Here each position of the output
 * meets the filters once. A unit of work owns one channel of a few images, so that no two add to one element. */
#include "runtime.h"
#include "convolution.h"
#include <stdlib.h>

typedef struct {
    const Engine *engine;
    const Geometry *g;
    const char *kernel, *cotangent;
    char *images;
    char *filters;              /* [groups][channels][filters][width], as they lie on images */
    int64_t size, width, plane; /* elements of a filter, in whole vectors; positions of an output */
    int64_t block;              /* images of a unit */
    atomic_int failed;
} Job;

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t volume(const int64_t *lengths) { return lengths[0] * lengths[1] * lengths[2]; }

/* Vectors of `add_window`, which every machine has. */
typedef float FloatVector __attribute__((vector_size(16), aligned(sizeof(float)), may_alias));
typedef double DoubleVector __attribute__((vector_size(16), aligned(sizeof(double)), may_alias));

/* Filters of one channel, turned around where they are flipped, with zeros up to the width; units are groups and, in
 * them, channels. */
#define DEFINE_ARRANGE(NAME, TYPE)                                                                                     \
    static void NAME(void *context, int64_t begin, int64_t end) {                                                      \
        const Job *job = context;                                                                                      \
        const Geometry *g = job->g;                                                                                    \
        int64_t size = job->size;                                                                                      \
        TYPE *to = (TYPE *)job->filters + begin * g->filters * job->width;                                             \
        for (int64_t unit = begin; unit < end; unit++)                                                                 \
            for (int64_t f = 0; f < g->filters; f++, to += job->width) {                                               \
                int64_t filter = unit / g->channels * g->filters + f;                                                  \
                const TYPE *from = (const TYPE *)job->kernel + (filter * g->channels + unit % g->channels) * size;     \
                for (int64_t t = 0; t < size; t++)                                                                     \
                    to[t] = from[g->flip ? size - 1 - t : t];                                                          \
                for (int64_t t = size; t < job->width; t++)                                                            \
                    to[t] = 0;                                                                                         \
            }                                                                                                          \
    }
DEFINE_ARRANGE(arrange_floats, float)
DEFINE_ARRANGE(arrange_doubles, double)

/* The cotangent of all filters at `count` positions, of which the first one is number `first` in the images from
 * `from` on. */
#define DEFINE_GATHER(NAME, TYPE)                                                                                      \
    static void NAME(const Job *job, TYPE *to, const TYPE *from, int64_t first, int count) {                           \
        const Geometry *g = job->g;                                                                                    \
        int64_t image_step = g->groups * g->filters * job->plane;                                                      \
        for (int r = 0; r < count; r++) {                                                                              \
            const TYPE *x = from + (first + r) / job->plane * image_step + (first + r) % job->plane;                   \
            for (int64_t f = 0; f < g->filters; f++)                                                                   \
                to[f * count + r] = x[f * job->plane];                                                                 \
        }                                                                                                              \
    }
DEFINE_GATHER(gather_floats, float)
DEFINE_GATHER(gather_doubles, double)

/* Add a window to the channel of an image, at a position of the output; what lies on the border is left out. */
#define DEFINE_ADD(NAME, TYPE, VECTOR)                                                                                 \
    static void NAME(const Job *job, TYPE *image, const TYPE *window, int64_t position) {                              \
        const Geometry *g = job->g;                                                                                    \
        enum { LANES = sizeof(VECTOR) / sizeof(TYPE) };                                                                \
        int64_t step = g->dilation[2], corner[3];                                                                      \
        for (int d = 2; d >= 0; d--) {                                                                                 \
            corner[d] = position % g->output[d] * g->stride[d] - g->before[d];                                         \
            position /= g->output[d];                                                                                  \
        }                                                                                                              \
        int64_t first = corner[2] < 0 ? (step - 1 - corner[2]) / step : 0;                                             \
        int64_t inside = g->image[2] - corner[2];                                                                      \
        int64_t last = inside <= 0 ? 0 : smaller(g->kernel[2], (inside + step - 1) / step);                            \
        const TYPE *row = window;                                                                                      \
        for (int64_t i = 0, depth = corner[0]; i < g->kernel[0]; i++, depth += g->dilation[0])                         \
            for (int64_t j = 0, line = corner[1]; j < g->kernel[1];                                                    \
                 j++, line += g->dilation[1], row += g->kernel[2]) {                                                   \
                if (depth < 0 || depth >= g->image[0] || line < 0 || line >= g->image[1])                              \
                    continue;                                                                                          \
                TYPE *to = image + (depth * g->image[1] + line) * g->image[2] + corner[2];                             \
                int64_t t = first;                                                                                     \
                for (; step == 1 && t + LANES <= last; t += LANES)                                                     \
                    *(VECTOR *)(to + t) += *(const VECTOR *)(row + t);                                                 \
                for (; t < last; t++)                                                                                  \
                    to[t * step] += row[t];                                                                            \
            }                                                                                                          \
    }
DEFINE_ADD(add_floats, float, FloatVector)
DEFINE_ADD(add_doubles, double, DoubleVector)

/* Memory of a thread: cotangents of the positions of a tile, and their windows, [positions][width]. */
typedef struct {
    char *cotangents, *windows;
} Workspace;

static void add_positions(const Job *job, const char *filters, const char *cotangent, char *images, int64_t first,
                          int kind, const Workspace *w) {
    const Geometry *g = job->g;
    const WindowKernels *k = job->engine->kernels;
    size_t item = job->engine->item;
    int64_t image_step = g->groups * g->channels * volume(g->image);
    if (item == sizeof(float))
        gather_floats(job, (float *)w->cotangents, (const float *)cotangent, first, 1 << kind);
    else
        gather_doubles(job, (double *)w->cotangents, (const double *)cotangent, first, 1 << kind);
    for (int64_t at = 0; at < job->width; at += TILE_VECTORS * k->lanes) {
        int64_t vectors = smaller(TILE_VECTORS, (job->width - at) / k->lanes);
        k->tile[kind][vectors - 1](g->filters, w->cotangents, filters + (size_t)at * item, job->width,
                                   w->windows + (size_t)at * item, job->width, 0);
    }
    for (int r = 0; r < 1 << kind; r++) {
        int64_t image = (first + r) / job->plane * image_step, position = (first + r) % job->plane;
        const char *window = w->windows + (size_t)(r * job->width) * item;
        if (item == sizeof(float))
            add_floats(job, (float *)images + image, (const float *)window, position);
        else
            add_doubles(job, (double *)images + image, (const double *)window, position);
    }
}

/* Units are images, and in them groups and channels. */
static void run_unit(const Job *job, int64_t unit, const Workspace *w) {
    const Geometry *g = job->g;
    size_t item = job->engine->item;
    int64_t channels = g->groups * g->channels, channel = unit % channels, first = unit / channels * job->block;
    int64_t images = smaller(job->block, g->images - first), size = volume(g->image);
    const char *filters = job->filters + (size_t)(channel * g->filters * job->width) * item;
    const char *cotangent =
        job->cotangent + (size_t)((first * g->groups + channel / g->channels) * g->filters * job->plane) * item;
    char *target = job->images + (size_t)((first * channels + channel) * size) * item;
    for (int64_t n = 0; n < images; n++)
        memset(target + (size_t)(n * channels * size) * item, 0, (size_t)size * item);
    for (int64_t p = 0; p < images * job->plane;) {
        int kind = 0;
        while (2 << kind <= job->engine->kernels->rows && 2 << kind <= images * job->plane - p)
            kind++;
        add_positions(job, filters, cotangent, target, p, kind, w);
        p += 1 << kind;
    }
}

static void run_units(void *context, int64_t begin, int64_t end) {
    Job *job = context;
    size_t item = job->engine->item, rows = (size_t)job->engine->kernels->rows;
    size_t cotangents = (rows * (size_t)job->g->filters * item + 63) / 64 * 64;
    Slot *slot;
    char *memory = workspace_take(cotangents + rows * (size_t)job->width * item, &slot);
    if (memory == NULL) {
        atomic_store(&job->failed, 1);
        return;
    }
    Workspace workspace = {memory, memory + cotangents};
    for (int64_t unit = begin; unit < end; unit++)
        run_unit(job, unit, &workspace);
    workspace_give(slot, memory);
}

/* As measured: sums go row by row, and a window costs something by itself. */
double columns_work(const Engine *m, const Geometry *g) {
    int64_t size = volume(g->kernel), vectors = (size + m->kernels->lanes - 1) / m->kernels->lanes;
    double products = (double)vectors * (double)(g->filters + 2), rows = (double)(g->kernel[0] * g->kernel[1]);
    double sums = (double)size * (g->dilation[2] == 1 ? (double)m->item / 16 : 1.0) + 4 * rows + 100;
    return (double)(g->images * volume(g->output)) * (double)(g->groups * g->channels) * (products + sums);
}

/* Run units of work of so many cycles in all; short work keeps the GIL. */
static int run(const Job *job, range_fn fn, int64_t units, double work) {
    if (work >= WORK_FOR_GIL)
        return run_long(fn, (void *)job, units, 1, work, job->engine->threshold);
    fn((void *)job, 0, units);
    return RUN_DONE;
}

int convolution_by_columns(const Engine *m, const Geometry *g, const char *kernel, const char *cotangent,
                           char *images) {
    Job job = {.engine = m, .g = g, .kernel = kernel, .cotangent = cotangent, .images = images};
    int64_t lanes = m->kernels->lanes, channels = g->groups * g->channels;
    job.size = volume(g->kernel);
    job.width = (job.size + lanes - 1) / lanes * lanes;
    job.plane = volume(g->output);
    job.block = (m->kernels->rows + job.plane - 1) / job.plane;
    int64_t elements = channels * g->filters * job.width;
    Slot *slot;
    job.filters = workspace_take((size_t)elements * m->item, &slot);
    if (job.filters == NULL) {
        PyErr_NoMemory();
        return RUN_RAISED;
    }
    atomic_init(&job.failed, 0);
    int status = run(&job, m->item == sizeof(float) ? arrange_floats : arrange_doubles, channels, (double)elements);
    if (status == RUN_DONE)
        status = run(&job, run_units, (g->images + job.block - 1) / job.block * channels, columns_work(m, g));
    if (atomic_load(&job.failed)) {
        PyErr_NoMemory();
        status = RUN_RAISED;
    }
    workspace_give(slot, job.filters);
    return status;
}
