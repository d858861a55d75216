/* Loops over operands of one common shape: axes are ordered and merged, then kernels run along the innermost one. */
#include "runtime.h"

/* Elements along the inner axis that are handled as one unit when work is shared between threads. */
#define BLOCK 16384
/* An inner axis shorter than this gives way to a longer one: each kernel call costs as much as some elements. */
#define SHORT_INNER 16
/* Elements that stay in the cache while a short axis beside the inner one is gone through. */
#define TILE 2048

static npy_intp magnitude(npy_intp value) { return value < 0 ? -value : value; }

npy_intp loop_nest_size(const LoopNest *nest) {
    npy_intp size = 1;
    for (int d = 0; d < nest->ndim; d++)
        size *= nest->shape[d];
    return size;
}

/* Whether the number of elements of a common shape is a length. Operands that broadcast may make it larger than any
 * array could be. Returns RUN_DONE, or RUN_RAISED. */
int shape_fits(const npy_intp *shape, int ndim) {
    npy_intp size = 1;
    int fits = 1;
    for (int d = 0; d < ndim; d++) {
        if (shape[d] == 0)
            return RUN_DONE;
        fits &= size <= NPY_MAX_INTP / shape[d];
        size = fits ? size * shape[d] : 1;
    }
    if (fits)
        return RUN_DONE;
    gil_take();
    PyErr_SetString(PyExc_ValueError, "the common shape of the operands has more elements than can be counted\n"
                                      "  Hint: pass operands that broadcast along fewer axes.");
    return RUN_RAISED;
}

static npy_intp axis_weight(const LoopNest *nest, int axis) {
    npy_intp weight = 0;
    for (int k = 0; k < nest->nops; k++)
        weight += magnitude(nest->strides[axis * nest->nops + k]);
    return weight;
}

static void swap_axes(LoopNest *nest, int a, int b) {
    npy_intp length = nest->shape[a];
    nest->shape[a] = nest->shape[b];
    nest->shape[b] = length;
    for (int k = 0; k < nest->nops; k++) {
        npy_intp *x = &nest->strides[a * nest->nops + k], *y = &nest->strides[b * nest->nops + k];
        npy_intp stride = *x;
        *x = *y;
        *y = stride;
    }
}

static void move_axis(LoopNest *nest, int to, int from) {
    if (to == from)
        return;
    nest->shape[to] = nest->shape[from];
    memcpy(nest->strides + to * nest->nops, nest->strides + from * nest->nops, nest->nops * sizeof(npy_intp));
}

static int can_merge(const LoopNest *nest, int outer, int inner) {
    for (int k = 0; k < nest->nops; k++)
        if (nest->strides[outer * nest->nops + k] != nest->strides[inner * nest->nops + k] * nest->shape[inner])
            return 0;
    return 1;
}

/* Drop axes of length 1, order the rest by stride, merge neighbours; an inner axis that is short gives way. */
void loop_nest_simplify(LoopNest *nest) {
    int kept = 0;
    for (int d = 0; d < nest->ndim; d++)
        if (nest->shape[d] != 1)
            move_axis(nest, kept++, d);
    nest->ndim = kept;
    for (int d = 1; d < kept; d++)
        for (int e = d; e > 0 && axis_weight(nest, e - 1) < axis_weight(nest, e); e--)
            swap_axes(nest, e - 1, e);
    int last = 0;
    for (int d = 1; d < kept; d++) {
        if (can_merge(nest, last, d)) {
            npy_intp length = nest->shape[last] * nest->shape[d];
            move_axis(nest, last, d);
            nest->shape[last] = length;
        } else {
            move_axis(nest, ++last, d);
        }
    }
    if (kept > 0)
        nest->ndim = last + 1;
    if (nest->ndim > 1 && nest->shape[nest->ndim - 1] < SHORT_INNER) {
        int last_axis = nest->ndim - 1, longest = last_axis;
        for (int d = 0; d < last_axis; d++)
            if (nest->shape[d] > 4 * nest->shape[longest])
                longest = d;
        /* The short axis comes right before the inner one. */
        for (int d = longest; d < last_axis; d++)
            swap_axes(nest, d, d + 1);
    }
}

typedef struct {
    const LoopNest *nest;
    elementwise_fn fn;
    npy_intp inner, block, blocks; /* blocks: units along the inner axis */
    npy_intp minor;                /* length of the axis before the inner one, where each block goes through it; or 1 */
} LoopNestJob;

/* Units are numbered along the minor axis first, then along the inner one. */
static void run_units(void *context, int64_t begin, int64_t end) {
    const LoopNestJob *job = context;
    const LoopNest *nest = job->nest;
    int inner = nest->ndim - 1, outer = inner - (job->minor > 1), nops = nest->nops;
    npy_intp index[NPY_MAXDIMS];
    char *row[nops + 1], *data[nops + 1];
    npy_intp minor = begin % job->minor, block = begin / job->minor % job->blocks;
    npy_intp remainder = begin / job->minor / job->blocks;
    const npy_intp *inner_strides = nest->strides + (npy_intp)inner * nops;
    const npy_intp *minor_strides = nest->strides + (npy_intp)outer * nops;
    memcpy(row, nest->data, nops * sizeof(char *));
    for (int d = outer - 1; d >= 0; d--) {
        index[d] = remainder % nest->shape[d];
        remainder /= nest->shape[d];
        for (int k = 0; k < nops; k++)
            row[k] += index[d] * nest->strides[d * nops + k];
    }
    for (int64_t unit = begin; unit < end; unit++) {
        npy_intp start = block * job->block, n = job->inner - start;
        for (int k = 0; k < nops; k++)
            data[k] = row[k] + start * inner_strides[k] + minor * minor_strides[k];
        job->fn(n < job->block ? n : job->block, data, (const int64_t *)inner_strides);
        if (++minor < job->minor)
            continue;
        minor = 0;
        if (++block < job->blocks)
            continue;
        block = 0;
        for (int d = outer - 1; d >= 0; d--) {
            const npy_intp *strides = nest->strides + d * nops;
            if (++index[d] < nest->shape[d]) {
                for (int k = 0; k < nops; k++)
                    row[k] += strides[k];
                break;
            }
            index[d] = 0;
            for (int k = 0; k < nops; k++)
                row[k] -= (nest->shape[d] - 1) * strides[k];
        }
    }
}

/* Run `fn` over all elements; `cost` is the rough number of cycles for one. Called with the GIL, which is let go for
 * long work. The nest must be simplified and not empty. Returns RUN_RAISED when a signal handler raised. */
int loop_nest_run(const Machine *m, const LoopNest *nest, elementwise_fn fn, double cost) {
    if (nest->ndim == 0) {
        npy_intp none[nest->nops + 1];
        memset(none, 0, sizeof none);
        fn(1, nest->data, (const int64_t *)none);
        return RUN_DONE;
    }
    npy_intp inner = nest->shape[nest->ndim - 1], total = loop_nest_size(nest);
    double work = total * cost;
    LoopNestJob job = {nest, fn, inner, inner, 1, 1};
    double threshold = m->thread_scale * work_for_threads;
    int64_t grain = 1;
    int is_tiled = nest->ndim > 1 && nest->shape[nest->ndim - 2] < SHORT_INNER && inner > TILE;
    if (is_tiled) {
        job.minor = nest->shape[nest->ndim - 2];
        job.block = TILE / job.minor;
        job.blocks = (inner + job.block - 1) / job.block;
        grain = BLOCK / job.block;
    }
    if (work < WORK_FOR_GIL && work < threshold) {
        run_units(&job, 0, total / inner * job.blocks);
        return RUN_DONE;
    }
    if (!is_tiled && ((work >= threshold && threads_get() > 1) || work >= WORK_FOR_SIGNALS)) {
        if (inner > BLOCK) {
            job.block = BLOCK;
            job.blocks = (inner + BLOCK - 1) / BLOCK;
        }
        int64_t share = total / inner * job.blocks / (4 * threads_get());
        grain = BLOCK / (inner < BLOCK ? inner : BLOCK);
        grain = grain < share || share < 1 ? grain : share;
    }
    return run_long(run_units, &job, total / inner * job.blocks, grain < 1 ? 1 : grain, work, threshold);
}
