/* Weight gradients of convolutions: for each tap the sum over output positions of the input element there times the
 * cotangent of all filters.
 *
 * Vectors hold filters, so that no position is left over at the end of a row; the cotangent of some positions is
 * transposed for that. Images are divided into slabs with sums of their own, which are added up in the end: results
 * do not depend on which thread does what. */
#include "runtime.h"
#include "convolution.h"
#include <stdlib.h>

/* Positions that are transposed at a time; units of work that are aimed at; bytes that the sums of slabs may take. */
enum { POSITIONS = 128, UNITS = 32, MOST_BYTES = 1 << 22 };

typedef struct {
    const Engine *engine;
    const Geometry *g;
    Layout layout;
    const char *images, *cotangent;
    char *kernel;
    char *sums; /* [slabs][groups][blocks][taps, rounded up][vectors of a block] */
    int64_t slabs, blocks, vectors, taps, whole_taps, rows;
    int64_t *offsets, *bases; /* [whole_taps]; [rows] */
    atomic_int failed;
} Job;

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t volume(const int64_t *lengths) { return lengths[0] * lengths[1] * lengths[2]; }

/* Transpose the cotangent of `count` positions: from one row per filter to one row per position. */
#define DEFINE_TRANSPOSE(NAME, TYPE)                                                                                   \
    static void NAME(TYPE *to, const TYPE *from, int64_t filters, int64_t width, int64_t plane, int64_t count) {       \
        for (int64_t p = 0; p < count; p += 8) {                                                                       \
            int64_t end = smaller(p + 8, count);                                                                       \
            for (int64_t f = 0; f < filters; f++)                                                                      \
                for (int64_t i = p; i < end; i++)                                                                      \
                    to[i * width + f] = from[f * plane + i];                                                           \
        }                                                                                                              \
    }
DEFINE_TRANSPOSE(transpose_floats, float)
DEFINE_TRANSPOSE(transpose_doubles, double)

/* The sums over the positions first..last of one image. */
static void add_positions(const Job *job, const char *image, const char *cotangent, int64_t filters, int64_t first,
                          int64_t last, char *transposed, Span *spans, char *sums) {
    const Geometry *g = job->g;
    const WindowKernels *k = job->engine->kernels;
    size_t item = job->engine->item;
    int64_t width = job->vectors * k->lanes, plane = volume(g->output), count = 0;
    const char *from = cotangent + (size_t)first * item;
    if (item == sizeof(float))
        transpose_floats((float *)transposed, (const float *)from, filters, width, plane, last - first);
    else
        transpose_doubles((double *)transposed, (const double *)from, filters, width, plane, last - first);
    for (int64_t p = first; p < last; count++) {
        int64_t row = p / g->output[2], column = p % g->output[2], length = smaller(g->output[2] - column, last - p);
        spans[count] = (Span){job->bases[row] + column * g->stride[2], 0, length};
        p += length;
    }
    for (int64_t t = 0; t < job->whole_taps; t += SUM_TAPS)
        k->sum[job->vectors - 1](image, job->offsets + t, g->stride[2], spans, count, transposed,
                                 sums + (size_t)(t * width) * item);
}

static void run_unit(const Job *job, int64_t unit, char *filled, char *transposed, Span *spans) {
    const Geometry *g = job->g;
    size_t item = job->engine->item;
    int64_t width = job->vectors * job->engine->kernels->lanes, plane = volume(g->output),
            image_size = volume(g->image);
    int64_t slab = unit / (g->groups * job->blocks), group = unit / job->blocks % g->groups, block = unit % job->blocks;
    int64_t filter = block * width, filters = smaller(width, g->filters - filter);
    char *sums = job->sums + (size_t)(unit * job->whole_taps * width) * item;
    memset(sums, 0, (size_t)(job->whole_taps * width) * item);
    memset(transposed, 0, (size_t)(POSITIONS * width) * item);
    for (int64_t n = g->images * slab / job->slabs; n < g->images * (slab + 1) / job->slabs; n++) {
        const char *image = job->images + (size_t)((n * g->groups + group) * g->channels * image_size) * item;
        const char *cotangent =
            job->cotangent + (size_t)(((n * g->groups + group) * g->filters + filter) * plane) * item;
        if (!job->layout.whole) {
            layout_fill(&job->layout, item, filled, image);
            image = filled;
        }
        for (int64_t p = 0; p < plane; p += POSITIONS)
            add_positions(job, image, cotangent, filters, p, smaller(p + POSITIONS, plane), transposed, spans, sums);
    }
}

static void run_units(void *context, int64_t begin, int64_t end) {
    Job *job = context;
    size_t item = job->engine->item, width = (size_t)(job->vectors * job->engine->kernels->lanes);
    size_t filled = job->layout.whole ? 0 : ((size_t)layout_size(&job->layout) * item + 63) / 64 * 64;
    size_t transposed = (POSITIONS * width * item + 63) / 64 * 64;
    Slot *slot;
    char *memory = workspace_take(transposed + filled + (POSITIONS + 1) * sizeof(Span), &slot);
    if (memory == NULL) {
        atomic_store(&job->failed, 1);
        return;
    }
    for (int64_t unit = begin; unit < end; unit++)
        run_unit(job, unit, memory + transposed, memory, (Span *)(memory + transposed + filled));
    workspace_give(slot, memory);
}

/* Add up slabs, and put sums where the elements of filters are; units are groups and, in them, blocks. */
#define DEFINE_FINISH(NAME, TYPE)                                                                                      \
    static void NAME(void *context, int64_t begin, int64_t end) {                                                      \
        const Job *job = context;                                                                                      \
        const Geometry *g = job->g;                                                                                    \
        int64_t size = volume(g->kernel), width = job->vectors * job->engine->kernels->lanes;                          \
        int64_t step = g->groups * job->blocks * job->whole_taps * width;                                              \
        for (int64_t unit = begin; unit < end; unit++) {                                                               \
            int64_t filter = unit % job->blocks * width, filters = smaller(width, g->filters - filter);                \
            const TYPE *from = (const TYPE *)job->sums + unit * job->whole_taps * width;                               \
            TYPE *to = (TYPE *)job->kernel + (unit / job->blocks * g->filters + filter) * job->taps;                   \
            for (int64_t tap = 0; tap < job->taps; tap += 16)                                                          \
                for (int64_t f = 0; f < filters; f++)                                                                  \
                    for (int64_t t = tap; t < smaller(tap + 16, job->taps); t++) {                                     \
                        TYPE sum = 0;                                                                                  \
                        for (int64_t slab = 0; slab < job->slabs; slab++)                                              \
                            sum += from[slab * step + t * width + f];                                                  \
                        to[f * job->taps + t / size * size + (g->flip ? size - 1 - t % size : t % size)] = sum;        \
                    }                                                                                                  \
        }                                                                                                              \
    }
DEFINE_FINISH(finish_floats, float)
DEFINE_FINISH(finish_doubles, double)

static void set_tables(Job *job) {
    const Geometry *g = job->g;
    int64_t t = 0, k[3];
    for (int64_t c = 0; c < g->channels; c++)
        for (k[0] = 0; k[0] < g->kernel[0]; k[0]++)
            for (k[1] = 0; k[1] < g->kernel[1]; k[1]++)
                for (k[2] = 0; k[2] < g->kernel[2]; k[2]++)
                    job->offsets[t++] =
                        c * job->layout.plane + layout_offset(&job->layout, k[0] * g->dilation[0],
                                                              k[1] * g->dilation[1], k[2] * g->dilation[2]);
    for (; t < job->whole_taps; t++) /* these sums are computed and left out */
        job->offsets[t] = 0;
    for (int64_t r = 0; r < job->rows; r++)
        job->bases[r] =
            layout_offset(&job->layout, r / g->output[1] * g->stride[0], r % g->output[1] * g->stride[1], 0);
}

static double set_sizes(Job *job) {
    const Geometry *g = job->g;
    const WindowKernels *k = job->engine->kernels;
    int64_t vectors = (g->filters + k->lanes - 1) / k->lanes, after[3];
    job->blocks = (vectors + k->sums - 1) / k->sums;
    job->vectors = (vectors + job->blocks - 1) / job->blocks;
    job->blocks = (vectors + job->vectors - 1) / job->vectors;
    job->taps = g->channels * volume(g->kernel);
    job->whole_taps = (job->taps + SUM_TAPS - 1) / SUM_TAPS * SUM_TAPS;
    job->rows = g->output[0] * g->output[1];
    int64_t slab_units = g->groups * job->blocks;
    int64_t bytes = slab_units * job->whole_taps * job->vectors * k->lanes * (int64_t)job->engine->item;
    job->slabs = smaller(smaller((UNITS + slab_units - 1) / slab_units, g->images), MOST_BYTES / bytes);
    if (job->slabs < 1)
        job->slabs = 1;
    for (int d = 0; d < 3; d++) {
        after[d] =
            (g->output[d] - 1) * g->stride[d] + (g->kernel[d] - 1) * g->dilation[d] + 1 - g->before[d] - g->image[d];
        if (after[d] < 0)
            after[d] = 0;
    }
    layout_set(&job->layout, g->channels, g->image, g->before, after, 1);
    double positions = (double)g->images * (double)volume(g->output);
    return positions * (double)(slab_units * job->vectors * job->whole_taps);
}

/* Run units of work of so many cycles in all; short work keeps the GIL. */
static int run(const Job *job, range_fn fn, int64_t units, double work) {
    if (work >= WORK_FOR_GIL)
        return run_long(fn, (void *)job, units, 1, work, job->engine->threshold);
    fn((void *)job, 0, units);
    return RUN_DONE;
}

int convolution_weight_grad(const Engine *m, const Geometry *g, const char *images, const char *cotangent,
                            char *kernel) {
    Job job = {.engine = m, .g = g, .images = images, .cotangent = cotangent, .kernel = kernel};
    double work = set_sizes(&job);
    int64_t blocks = g->groups * job.blocks, units = job.slabs * blocks;
    int64_t elements = units * job.whole_taps * job.vectors * m->kernels->lanes;
    size_t tables = (size_t)(job.whole_taps + job.rows) * sizeof(int64_t);
    Slot *slot;
    char *memory = workspace_take(tables + (size_t)elements * m->item, &slot);
    if (memory == NULL) {
        PyErr_NoMemory();
        return RUN_RAISED;
    }
    job.offsets = (int64_t *)memory;
    job.bases = job.offsets + job.whole_taps;
    job.sums = memory + tables;
    atomic_init(&job.failed, 0);
    set_tables(&job);
    int status = run(&job, run_units, units, work);
    if (atomic_load(&job.failed)) {
        PyErr_NoMemory();
        status = RUN_RAISED;
    }
    if (status == RUN_DONE)
        status = run(&job, m->item == sizeof(float) ? finish_floats : finish_doubles, blocks, 4.0 * (double)elements);
    workspace_give(slot, memory);
    return status;
}
