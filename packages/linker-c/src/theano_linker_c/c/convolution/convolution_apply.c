/* Convolutions and their gradients by images as products of matrices: filters times windows.
 *
 * Windows of a few vectors of positions are copied side by side (a packed row for each tap), and stay in the cache
 * while all filters meet them. A gradient by images is a convolution of the cotangent for each phase of the steps:
 * elements whose positions are equal modulo the steps meet the same taps. */
#include "runtime.h"
#include "convolution.h"
#include <stdlib.h>

/* Taps that are packed at a time. */
enum { TAPS = 512 };

/* One convolution without steps, whose results lie anywhere in the target. */
typedef struct {
    int64_t taps, rows, length; /* rows of positions, and positions in a row */
    int64_t *offsets;           /* [taps] in the source, from the first position */
    int64_t *filters;           /* [taps] in the filters, from those of one row of the target */
    int64_t *bases, *targets;   /* [rows] where the positions of a row begin in the source and in the target */
    int64_t stride;             /* from position to position in the target */
    int contiguous;             /* rows of the target follow each other */
    char *weights;              /* [groups][blocks][taps][rows of a block] */
} Pass;

typedef struct {
    const Engine *engine;
    Layout layout; /* of one image with all of its groups */
    const char *source;
    char *target;
    int64_t images, groups, rows, plane; /* channels of a group in the target, elements of a channel */
    int64_t source_channels, parts;      /* channels of a group in the source; parts of each image */
    int64_t n_passes;
    Pass *passes;
    const char *kernel;
    int64_t kernel_group, kernel_row; /* steps in the filters from group to group, and from row to row */
    atomic_int failed;
} Job;

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* Rows of the next block: the largest power of two that is not more than what is left. */
static int block_kind(int64_t left, int most) {
    int kind = 0;
    while (2 << kind <= most && 2 << kind <= left)
        kind++;
    return kind;
}

static void copy_item(char *to, const char *from, size_t item) {
    if (item == sizeof(float))
        memcpy(to, from, sizeof(float));
    else
        memcpy(to, from, sizeof(double));
}

/* Taps of a block of rows side by side; a few taps at a time, so that what is read and written is in the cache. */
#define DEFINE_PACK(NAME, TYPE)                                                                                        \
    static void NAME(TYPE *to, const TYPE *from, const int64_t *filters, int64_t taps, int64_t row_step, int count) {  \
        for (int64_t begin = 0; begin < taps; begin += 64) {                                                           \
            int64_t end = smaller(begin + 64, taps);                                                                   \
            for (int r = 0; r < count; r++)                                                                            \
                for (int64_t t = begin; t < end; t++)                                                                  \
                    to[t * count + r] = from[r * row_step + filters[t]];                                               \
        }                                                                                                              \
    }
DEFINE_PACK(pack_floats, float)
DEFINE_PACK(pack_doubles, double)

static int64_t pack_units(const Job *job) {
    int rows = job->engine->kernels->rows;
    return job->groups * ((job->rows + rows - 1) / rows);
}

/* Units are groups and, in them, the most rows that a tile may have. */
static void pack_weights(void *context, int64_t begin, int64_t end) {
    const Job *job = context;
    size_t item = job->engine->item;
    int64_t most = job->engine->kernels->rows, each = pack_units(job) / job->groups;
    for (int64_t unit = begin; unit < end; unit++)
        for (int64_t i = 0; i < job->n_passes; i++) {
            const Pass *pass = &job->passes[i];
            int64_t group = unit / each, row = unit % each * most, last = smaller(row + most, job->rows);
            while (row < last) {
                int count = 1 << block_kind(job->rows - row, (int)most);
                char *to = pass->weights + (size_t)((group * job->rows + row) * pass->taps) * item;
                const char *from = job->kernel + (size_t)(group * job->kernel_group + row * job->kernel_row) * item;
                if (item == sizeof(float))
                    pack_floats((float *)to, (const float *)from, pass->filters, pass->taps, job->kernel_row, count);
                else
                    pack_doubles((double *)to, (const double *)from, pass->filters, pass->taps, job->kernel_row, count);
                row += count;
            }
        }
}

/* Tiles have up to three vectors of positions; the last two have two each rather than three and one. */
static int64_t tile_count(int64_t vectors) { return (vectors + 2) / 3; }

static int64_t tile_begin(int64_t tile, int64_t vectors) {
    int64_t count = tile_count(vectors);
    return vectors % 3 == 1 && vectors > 1 && tile >= count - 1 ? vectors - 2 * (count - tile)
                                                                : smaller(3 * tile, vectors);
}

/* The spans of rows that the positions first..last lie in. */
static int64_t cut(const Pass *pass, int64_t first, int64_t last, Span *spans) {
    int64_t count = 0, row = first / pass->length, column = first % pass->length;
    for (int64_t p = first; p < last; row++, column = 0) {
        int64_t length = smaller(pass->length - column, last - p);
        spans[count++] = (Span){pass->bases[row] + column, p - first, length};
        p += length;
    }
    return count;
}

/* Put the results of a tile, one row for each channel, where they belong. */
static void scatter(const Job *job, const Pass *pass, const char *from, int64_t width, char *target, int64_t first,
                    int64_t last) {
    size_t item = job->engine->item;
    for (int64_t r = 0; r < job->rows; r++, from += (size_t)width * item, target += (size_t)job->plane * item) {
        if (pass->contiguous) {
            memcpy(target + (size_t)(pass->targets[0] + first) * item, from, (size_t)(last - first) * item);
            continue;
        }
        int64_t row = first / pass->length, column = first % pass->length;
        for (int64_t p = first; p < last; p++) {
            copy_item(target + (size_t)(pass->targets[row] + column * pass->stride) * item,
                      from + (size_t)(p - first) * item, item);
            if (++column == pass->length) {
                column = 0;
                row++;
            }
        }
    }
}

typedef struct {
    char *packed, *spilled;
    Span *spans;
} Workspace;

static void run_tile(const Job *job, const Pass *pass, const char *source, char *target, int64_t group, int64_t first,
                     int64_t last, const Workspace *workspace) {
    const WindowKernels *k = job->engine->kernels;
    size_t item = job->engine->item;
    int64_t vectors = (last - first + k->lanes - 1) / k->lanes, width = vectors * k->lanes;
    int direct = pass->contiguous && last - first == width;
    int64_t count = cut(pass, first, last, workspace->spans), step = direct ? job->plane : width;
    char *c = direct ? target + (size_t)(pass->targets[0] + first) * item : workspace->spilled;
    for (int64_t tap = 0; tap < pass->taps; tap += TAPS) {
        int64_t taps = smaller(TAPS, pass->taps - tap);
        const char *w = pass->weights + (size_t)(group * job->rows * pass->taps) * item;
        k->pack(workspace->packed, width, source, pass->offsets + tap, taps, workspace->spans, count);
        for (int64_t row = 0; row < job->rows;) {
            int kind = block_kind(job->rows - row, k->rows), rows = 1 << kind;
            k->tile[kind][vectors - 1](taps, w + (size_t)(tap * rows) * item, workspace->packed, width,
                                       c + (size_t)(row * step) * item, step, tap > 0);
            w += (size_t)(pass->taps * rows) * item;
            row += rows;
        }
    }
    if (!direct)
        scatter(job, pass, c, width, target, first, last);
}

static void run_image(const Job *job, int64_t image, int64_t part, const char *source, const Workspace *workspace) {
    int lanes = job->engine->kernels->lanes;
    size_t item = job->engine->item;
    for (int64_t g = 0; g < job->groups; g++)
        for (int64_t i = 0; i < job->n_passes; i++) {
            const Pass *pass = &job->passes[i];
            const char *from = source + (size_t)(g * job->source_channels * job->layout.plane) * item;
            char *to = job->target + (size_t)((image * job->groups + g) * job->rows * job->plane) * item;
            int64_t positions = pass->rows * pass->length, vectors = (positions + lanes - 1) / lanes;
            int64_t tiles = tile_count(vectors), end = tiles * (part + 1) / job->parts;
            for (int64_t tile = tiles * part / job->parts; tile < end; tile++)
                run_tile(job, pass, from, to, g, tile_begin(tile, vectors) * lanes,
                         smaller(tile_begin(tile + 1, vectors) * lanes, positions), workspace);
        }
}

static void run_units(void *context, int64_t begin, int64_t end) {
    Job *job = context;
    size_t item = job->engine->item;
    int64_t lanes = job->engine->kernels->lanes, width = TILE_VECTORS * lanes;
    size_t filled = (size_t)(layout_size(&job->layout) + lanes) * item, packed = (size_t)((TAPS + 1) * width) * item;
    size_t spilled = (size_t)(job->rows * width) * item, total = filled + packed + spilled + 3 * 64;
    Slot *slot;
    char *memory = workspace_take(total + (size_t)width * sizeof(Span), &slot);
    if (memory == NULL) {
        atomic_store(&job->failed, 1);
        return;
    }
    char *prepared = memory + (packed + 63) / 64 * 64;
    char *after = prepared + (filled + 63) / 64 * 64;
    Workspace workspace = {memory, after, (Span *)(after + (spilled + 63) / 64 * 64)};
    int64_t present = -1;
    for (int64_t u = begin; u < end; u++) {
        int64_t image = u / job->parts;
        const char *source = job->source + (size_t)(image * layout_size(&job->layout)) * item;
        /* Packing reads on behind the elements of an image; behind the last ones there is nothing. */
        if (!job->layout.whole || (job->images - 1 - image) * layout_size(&job->layout) < lanes) {
            if (image != present)
                layout_fill(&job->layout, item, prepared,
                            job->source + (size_t)(image * job->layout.channels * job->layout.image[0] *
                                                   job->layout.image[1] * job->layout.image[2]) *
                                              item);
            source = prepared;
            present = image;
        }
        run_image(job, image, u % job->parts, source, &workspace);
    }
    workspace_give(slot, memory);
}

/* Join rows that follow each other, so that spans are long. */
static void join_rows(Pass *pass) {
    int source = 1, target = pass->stride == 1;
    for (int64_t r = 1; r < pass->rows; r++) {
        source &= pass->bases[r] == pass->bases[r - 1] + pass->length;
        target &= pass->targets[r] == pass->targets[r - 1] + pass->length;
    }
    pass->contiguous = target;
    if (source && target) {
        pass->length *= pass->rows;
        pass->rows = 1;
    }
}

/* Run units of work of so many cycles in all; short work keeps the GIL. */
static int run(const Job *job, range_fn fn, int64_t units, double work) {
    if (work >= WORK_FOR_GIL)
        return run_long(fn, (void *)job, units, 1, work, job->engine->threshold);
    fn((void *)job, 0, units);
    return RUN_DONE;
}

static int run_job(Job *job, double work) {
    int64_t wanted = work < job->engine->threshold ? 1 : 4 * threads_get(), taps = 0;
    job->parts = job->images >= wanted ? 1 : (wanted + job->images - 1) / job->images;
    for (int64_t i = 0; i < job->n_passes; i++) {
        join_rows(&job->passes[i]);
        taps += job->passes[i].taps;
    }
    atomic_init(&job->failed, 0);
    int status = run(job, pack_weights, pack_units(job), 2.0 * (double)(job->groups * job->rows * taps));
    if (status == RUN_DONE)
        status = run(job, run_units, job->images * job->parts, work);
    if (atomic_load(&job->failed)) {
        PyErr_NoMemory();
        status = RUN_RAISED;
    }
    return status;
}

static double work_of(const Engine *m, const Geometry *g) {
    double each = (double)g->images * (double)(g->groups * g->filters * g->channels);
    for (int d = 0; d < 3; d++)
        each *= (double)(g->output[d] * g->kernel[d]);
    return each / m->kernels->lanes;
}

static int64_t volume(const int64_t *lengths) { return lengths[0] * lengths[1] * lengths[2]; }

/* The number of an element of a filter, by where it meets the image. */
static int64_t element(const Geometry *g, const int64_t *tap) {
    int64_t at = 0;
    for (int d = 0; d < 3; d++)
        at = at * g->kernel[d] + (g->flip ? g->kernel[d] - 1 - tap[d] : tap[d]);
    return at;
}

/* Memory for passes, their tables and weights; `rows` and `taps` are sums over all of them. */
static char *job_memory(const Job *job, int64_t passes, int64_t rows, int64_t taps, Slot **slot) {
    size_t weights = (size_t)(taps * job->rows * job->groups) * job->engine->item;
    size_t bytes = weights + (size_t)passes * sizeof(Pass) + (size_t)(2 * rows + 2 * taps) * sizeof(int64_t);
    char *memory = workspace_take(bytes, slot);
    if (memory == NULL)
        PyErr_NoMemory();
    return memory;
}

int convolution_forward(const Engine *m, const Geometry *g, const char *images, const char *kernel, char *output) {
    int64_t size = volume(g->kernel), taps = g->channels * size, rows = g->output[0] * g->output[1], after[3], k[3];
    Job job = {.engine = m,
               .source = images,
               .target = output,
               .images = g->images,
               .groups = g->groups,
               .rows = g->filters,
               .plane = volume(g->output),
               .source_channels = g->channels,
               .n_passes = 1,
               .kernel = kernel,
               .kernel_group = g->filters * taps,
               .kernel_row = taps};
    Slot *slot;
    char *memory = job_memory(&job, 1, rows, taps, &slot);
    if (memory == NULL)
        return RUN_RAISED;
    for (int d = 0; d < 3; d++)
        after[d] = larger(0, (g->output[d] - 1) * g->stride[d] + (g->kernel[d] - 1) * g->dilation[d] + 1 -
                                 g->before[d] - g->image[d]);
    layout_set(&job.layout, g->groups * g->channels, g->image, g->before, after, g->stride[2]);
    Pass *pass = job.passes = (Pass *)memory;
    int64_t *tables = (int64_t *)(pass + 1);
    *pass = (Pass){.taps = taps,
                   .rows = rows,
                   .length = g->output[2],
                   .stride = 1,
                   .offsets = tables,
                   .filters = tables + taps,
                   .bases = tables + 2 * taps,
                   .targets = tables + 2 * taps + rows,
                   .weights = (char *)(tables + 2 * (taps + rows))};
    for (int64_t r = 0; r < rows; r++) {
        pass->bases[r] =
            layout_offset(&job.layout, r / g->output[1] * g->stride[0], r % g->output[1] * g->stride[1], 0);
        pass->targets[r] = r * g->output[2];
    }
    int64_t t = 0;
    for (int64_t c = 0; c < g->channels; c++)
        for (k[0] = 0; k[0] < g->kernel[0]; k[0]++)
            for (k[1] = 0; k[1] < g->kernel[1]; k[1]++)
                for (k[2] = 0; k[2] < g->kernel[2]; k[2]++, t++) {
                    pass->offsets[t] =
                        c * job.layout.plane +
                        layout_offset(&job.layout, k[0] * g->dilation[0], k[1] * g->dilation[1], k[2] * g->dilation[2]);
                    pass->filters[t] = c * size + element(g, k);
                }
    int status = run_job(&job, work_of(m, g));
    workspace_give(slot, memory);
    return status;
}

/* Along one axis: the elements of an image that have a certain place modulo the step. With the padding, such an
 * element is number step * (first + i) + phase, i < count; tap k of the filters joins it with the element
 * first + i - shift(k) of the cotangent. */
typedef struct {
    int64_t first, count;
} Phase;

static Phase phase_of(const Geometry *g, int d, int64_t phase) {
    int64_t s = g->stride[d], low = g->before[d] - phase, high = low + g->image[d] - 1;
    int64_t first = low <= 0 ? 0 : (low + s - 1) / s;
    return (Phase){first, high < 0 ? 0 : larger(0, high / s - first + 1)};
}

/* Whether a tap meets a phase, and how far away in the cotangent. */
static int meets(const Geometry *g, int d, int64_t phase, int64_t tap, int64_t *shift) {
    int64_t far = tap * g->dilation[d] - phase;
    *shift = far / g->stride[d];
    return far % g->stride[d] == 0;
}

/* How many zeros the cotangent needs around it so that all phases find their elements. */
static void surround(const Geometry *g, int64_t *before, int64_t *after) {
    for (int d = 0; d < 3; d++) {
        before[d] = after[d] = 0;
        for (int64_t r = 0; r < g->stride[d]; r++) {
            Phase p = phase_of(g, d, r);
            int64_t shift;
            for (int64_t k = 0; p.count > 0 && k < g->kernel[d]; k++)
                if (meets(g, d, r, k, &shift)) {
                    before[d] = larger(before[d], shift - p.first);
                    after[d] = larger(after[d], p.first + p.count - shift - g->output[d]);
                }
        }
    }
}

/* Where the tables of the next phase begin. */
typedef struct {
    int64_t *offsets, *filters, *rows;
    char *weights;
} Tables;

static void set_taps(const Job *job, const Geometry *g, Pass *pass, const int64_t *phase, Tables *free_part) {
    int64_t size = volume(g->kernel), k[3], shift[3];
    pass->offsets = free_part->offsets;
    pass->filters = free_part->filters;
    pass->weights = free_part->weights;
    for (int64_t f = 0; f < g->filters; f++)
        for (k[0] = 0; k[0] < g->kernel[0]; k[0]++)
            for (k[1] = 0; k[1] < g->kernel[1]; k[1]++)
                for (k[2] = 0; k[2] < g->kernel[2]; k[2]++)
                    if (meets(g, 0, phase[0], k[0], shift) && meets(g, 1, phase[1], k[1], shift + 1) &&
                        meets(g, 2, phase[2], k[2], shift + 2)) {
                        pass->offsets[pass->taps] =
                            f * job->layout.plane - layout_offset(&job->layout, shift[0], shift[1], shift[2]);
                        pass->filters[pass->taps++] = f * g->channels * size + element(g, k);
                    }
    free_part->offsets += pass->taps;
    free_part->filters += pass->taps;
    free_part->weights += (size_t)(pass->taps * job->rows * job->groups) * job->engine->item;
}

static void set_rows(const Job *job, const Geometry *g, Pass *pass, const int64_t *phase, const Phase *p,
                     const int64_t *before, Tables *free_part) {
    pass->rows = p[0].count * p[1].count;
    pass->length = p[2].count;
    pass->stride = g->stride[2];
    pass->bases = free_part->rows;
    pass->targets = free_part->rows + pass->rows;
    free_part->rows += 2 * pass->rows;
    for (int64_t r = 0; r < pass->rows; r++) {
        int64_t at[3] = {r / p[1].count, r % p[1].count, 0}, offset = 0, in_source[3];
        for (int d = 0; d < 3; d++) {
            in_source[d] = at[d] + p[d].first + before[d];
            offset = offset * g->image[d] + g->stride[d] * (at[d] + p[d].first) + phase[d] - g->before[d];
        }
        pass->bases[r] = layout_offset(&job->layout, in_source[0], in_source[1], in_source[2]);
        pass->targets[r] = offset;
    }
}

/* Whether it takes less work to add windows than to meet each tap at each element of the images. */
static int columns_pay(const Engine *m, const Geometry *g) {
    double taps = (double)(g->filters * volume(g->kernel)) / (double)volume(g->stride);
    double elements = (double)(g->images * volume(g->image)) * (double)g->groups / m->kernels->lanes;
    return columns_work(m, g) < 0.8 * elements * taps * (double)(g->channels + 6);
}

int convolution_input_grad(const Engine *m, const Geometry *g, const char *kernel, const char *cotangent,
                           char *images) {
    if (columns_pay(m, g))
        return convolution_by_columns(m, g, kernel, cotangent, images);
    int64_t size = volume(g->kernel), taps = g->filters * size, phases = volume(g->stride), before[3], after[3];
    int64_t rows = g->image[0] * g->image[1] * smaller(g->stride[2], g->image[2]), r[3];
    Job job = {.engine = m,
               .source = cotangent,
               .target = images,
               .images = g->images,
               .groups = g->groups,
               .rows = g->channels,
               .plane = volume(g->image),
               .source_channels = g->filters,
               .kernel = kernel,
               .kernel_group = g->filters * g->channels * size,
               .kernel_row = size};
    Slot *slot;
    char *memory = job_memory(&job, phases, rows, taps, &slot);
    if (memory == NULL)
        return RUN_RAISED;
    surround(g, before, after);
    layout_set(&job.layout, g->groups * g->filters, g->output, before, after, 1);
    job.passes = (Pass *)memory;
    Tables tables = {.offsets = (int64_t *)(job.passes + phases)};
    tables.filters = tables.offsets + taps;
    tables.rows = tables.filters + taps;
    tables.weights = (char *)(tables.rows + 2 * rows);
    int empty = 0;
    for (r[0] = 0; r[0] < g->stride[0]; r[0]++)
        for (r[1] = 0; r[1] < g->stride[1]; r[1]++)
            for (r[2] = 0; r[2] < g->stride[2]; r[2]++) {
                const Phase p[3] = {phase_of(g, 0, r[0]), phase_of(g, 1, r[1]), phase_of(g, 2, r[2])};
                if (p[0].count * p[1].count * p[2].count == 0)
                    continue;
                Pass *pass = &job.passes[job.n_passes];
                memset(pass, 0, sizeof *pass);
                set_rows(&job, g, pass, r, p, before, &tables);
                set_taps(&job, g, pass, r, &tables);
                empty |= pass->taps == 0;
                job.n_passes += pass->taps > 0;
            }
    if (empty)
        memset(images, 0, (size_t)(g->images * g->groups * g->channels * job.plane) * m->item);
    int status = run_job(&job, work_of(m, g));
    workspace_give(slot, memory);
    return status;
}
