/* Elements between an indexed region and a part: copied out, copied in, or added. */
#include "index.h"
#include <stdatomic.h>

/* The loops over lines are worth vectorising, which -O2 leaves out where lengths are unknown. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

/* How many rows ahead memory is asked for. */
#define AHEAD 4
/* How many indices are worked out at a time. */
#define PIECE 1024

typedef void (*line_fn)(npy_intp n, char *to, npy_intp to_stride, const char *from, npy_intp from_stride,
                        npy_intp itemsize);

#define COPY_LINE(name, type)                                                                                          \
    static void name(npy_intp n, char *to, npy_intp ts, const char *from, npy_intp fs, npy_intp itemsize) {            \
        (void)itemsize;                                                                                                \
        for (npy_intp i = 0; i < n; i++, to += ts, from += fs)                                                         \
            *(type *)to = *(const type *)from;                                                                         \
    }
COPY_LINE(copy_1, npy_uint8)
COPY_LINE(copy_2, npy_uint16)
COPY_LINE(copy_4, npy_uint32)
COPY_LINE(copy_8, npy_uint64)

static void copy_any(npy_intp n, char *to, npy_intp ts, const char *from, npy_intp fs, npy_intp itemsize) {
    for (npy_intp i = 0; i < n; i++, to += ts, from += fs)
        memcpy(to, from, itemsize);
}

static void copy_packed(npy_intp n, char *to, npy_intp ts, const char *from, npy_intp fs, npy_intp itemsize) {
    (void)ts, (void)fs;
    memcpy(to, from, n * itemsize);
}

/* Rows that lie close together in both are added by the first loop, which the compiler vectorises. */
#define ADD_LINE(name, type, sum)                                                                                      \
    static void name(npy_intp n, char *to, npy_intp ts, const char *from, npy_intp fs, npy_intp itemsize) {            \
        (void)itemsize;                                                                                                \
        if (ts == sizeof(type) && fs == sizeof(type)) {                                                                \
            type *restrict a = (type *)to;                                                                             \
            const type *restrict b = (const type *)from;                                                               \
            for (npy_intp i = 0; i < n; i++)                                                                           \
                a[i] = (type)(a[i] sum b[i]);                                                                          \
            return;                                                                                                    \
        }                                                                                                              \
        if (ts == sizeof(type) && fs == 0) {                                                                           \
            type *restrict a = (type *)to;                                                                             \
            const type b = *(const type *)from;                                                                        \
            for (npy_intp i = 0; i < n; i++)                                                                           \
                a[i] = (type)(a[i] sum b);                                                                             \
            return;                                                                                                    \
        }                                                                                                              \
        for (npy_intp i = 0; i < n; i++, to += ts, from += fs)                                                         \
            *(type *)to = (type)(*(type *)to sum * (const type *)from);                                                \
    }
ADD_LINE(add_bool, npy_bool, |)
ADD_LINE(add_8, npy_uint8, +)
ADD_LINE(add_16, npy_uint16, +)
ADD_LINE(add_32, npy_uint32, +)
ADD_LINE(add_64, npy_uint64, +)
ADD_LINE(add_float, npy_float, +)
ADD_LINE(add_double, npy_double, +)

#define ADD_COMPLEX(name, type)                                                                                        \
    static void name(npy_intp n, char *to, npy_intp ts, const char *from, npy_intp fs, npy_intp itemsize) {            \
        (void)itemsize;                                                                                                \
        for (npy_intp i = 0; i < n; i++, to += ts, from += fs) {                                                       \
            ((type *)to)[0] += ((const type *)from)[0];                                                                \
            ((type *)to)[1] += ((const type *)from)[1];                                                                \
        }                                                                                                              \
    }
ADD_COMPLEX(add_cfloat, npy_float)
ADD_COMPLEX(add_cdouble, npy_double)

static line_fn adder(int type_num) {
    switch (type_num) {
    case NPY_BOOL: return add_bool;
    case NPY_BYTE:
    case NPY_UBYTE: return add_8;
    case NPY_SHORT:
    case NPY_USHORT: return add_16;
    case NPY_INT:
    case NPY_UINT: return add_32;
    case NPY_LONG:
    case NPY_ULONG: return sizeof(npy_long) == 8 ? add_64 : add_32;
    case NPY_LONGLONG:
    case NPY_ULONGLONG: return add_64;
    case NPY_FLOAT: return add_float;
    case NPY_DOUBLE: return add_double;
    case NPY_CFLOAT: return add_cfloat;
    case NPY_CDOUBLE: return add_cdouble;
    default: return NULL;
    }
}

int can_add(int type_num) { return adder(type_num) != NULL; }

static line_fn copier(npy_intp itemsize, int packed) {
    if (packed)
        return copy_packed;
    switch (itemsize) {
    case 1: return copy_1;
    case 2: return copy_2;
    case 4: return copy_4;
    case 8: return copy_8;
    default: return copy_any;
    }
}

/* A move with its block of plain dimensions after the index arrays joined as far as their strides allow. */
typedef struct {
    const Move *move;
    line_fn line;
    atomic_int mismatch; /* an index is out of range */
    int ndim;            /* of the block; the last dimension is the line */
    npy_intp shape[2 * NPY_MAXDIMS], own[2 * NPY_MAXDIMS], part[2 * NPY_MAXDIMS];
} Job;

static void block_make(Job *job) {
    const Move *move = job->move;
    const Region *r = move->region;
    job->ndim = 0;
    for (int d = r->n_before; d < r->n_plain; d++) {
        npy_intp length = r->shape[d], own = r->strides[d], part = move->part_strides[d + r->index_ndim];
        int k = job->ndim - 1;
        if (length == 1)
            continue;
        if (k >= 0 && job->own[k] == length * own && job->part[k] == length * part) {
            job->shape[k] *= length;
            job->own[k] = own;
            job->part[k] = part;
            continue;
        }
        k = job->ndim++;
        job->shape[k] = length;
        job->own[k] = own;
        job->part[k] = part;
    }
    if (job->ndim == 0) {
        job->ndim = 1;
        job->shape[0] = 1;
        job->own[0] = job->part[0] = move->itemsize;
    }
}

static void block_run(const Job *job, char *own, char *part) {
    int last = job->ndim - 1, out = job->move->what == MOVE_OUT;
    npy_intp index[2 * NPY_MAXDIMS];
    memset(index, 0, last * sizeof(npy_intp));
    for (;;) {
        job->line(job->shape[last], out ? part : own, out ? job->part[last] : job->own[last], out ? own : part,
                  out ? job->own[last] : job->part[last], job->move->itemsize);
        int d = last - 1;
        for (; d >= 0; d--) {
            own += job->own[d];
            part += job->part[d];
            if (++index[d] < job->shape[d])
                break;
            index[d] = 0;
            own -= job->shape[d] * job->own[d];
            part -= job->shape[d] * job->part[d];
        }
        if (d < 0)
            return;
    }
}

#define EACH_ELEMENT(type, to, from)                                                                                   \
    for (npy_intp i = 0; i < n; i++, part += step)                                                                     \
        *(type *)(to) = *(const type *)(from);                                                                         \
    return 1
/* Indices that follow each other are often equal (rows sorted by group): their sum stays in a register. */
#define ADD_ELEMENT(type)                                                                                              \
    for (npy_intp i = 0; i < n;) {                                                                                     \
        npy_intp at = offsets[i];                                                                                      \
        type sum = *(const type *)(own + at);                                                                          \
        do {                                                                                                           \
            sum += *(const type *)part;                                                                                \
            part += step;                                                                                              \
        } while (++i < n && offsets[i] == at);                                                                         \
        *(type *)(own + at) = sum;                                                                                     \
    }                                                                                                                  \
    return 1

/* Blocks of one element each: the common sizes and types without a call for each. Returns whether it was one. */
static int elements_run(const Job *job, char *own, char *part, npy_intp step, const npy_intp *offsets, npy_intp n) {
    const Move *move = job->move;
    if (job->ndim != 1 || job->shape[0] != 1)
        return 0;
    if (move->what == MOVE_ADD) {
        switch (move->type_num) {
        case NPY_FLOAT: ADD_ELEMENT(npy_float);
        case NPY_DOUBLE: ADD_ELEMENT(npy_double);
        case NPY_INT: ADD_ELEMENT(npy_uint32);
        case NPY_LONG:
        case NPY_LONGLONG:
            if (move->itemsize == 8) {
                ADD_ELEMENT(npy_uint64);
            }
            return 0;
        default: return 0;
        }
    }
    if (move->itemsize == 8) {
        if (move->what == MOVE_OUT) {
            EACH_ELEMENT(npy_uint64, part, own + offsets[i]);
        }
        EACH_ELEMENT(npy_uint64, own + offsets[i], part);
    }
    if (move->itemsize == 4) {
        if (move->what == MOVE_OUT) {
            EACH_ELEMENT(npy_uint32, part, own + offsets[i]);
        }
        EACH_ELEMENT(npy_uint32, own + offsets[i], part);
    }
    return 0;
}

/* Blocks of one line each. Rows of a large table lie far from each other, so they are asked for ahead. */
static void rows_run(const Job *job, char *own, char *part, npy_intp step, const npy_intp *offsets, npy_intp count) {
    npy_intp n = job->shape[0], at = job->own[0], from = job->part[0], itemsize = job->move->itemsize;
    line_fn line = job->line;
    int out = job->move->what == MOVE_OUT;
    if (elements_run(job, own, part, step, offsets, count))
        return;
    for (npy_intp k = 0; k < count; k++, part += step) {
        char *row = own + offsets[k];
        if (k + AHEAD < count) {
            const char *later = own + offsets[k + AHEAD];
            for (npy_intp byte = 0; byte < n * itemsize && byte < 512; byte += 64)
                __builtin_prefetch(later + byte);
        }
        line(n, out ? part : row, out ? from : at, out ? row : part, out ? at : from, itemsize);
    }
}

static void blocks_run(const Job *job, char *own, char *part, npy_intp step, const npy_intp *offsets, npy_intp n) {
    if (job->ndim == 1) {
        rows_run(job, own, part, step, offsets, n);
        return;
    }
    for (npy_intp k = 0; k < n; k++, part += step)
        block_run(job, own + offsets[k], part);
}

/* A long vector of indices: the offsets of a piece, then its blocks. */
static void pieces_run(void *context, int64_t begin, int64_t end) {
    Job *job = context;
    const Move *move = job->move;
    npy_intp offsets[PIECE], step = move->part_strides[0];
    for (; begin < end; begin += PIECE) {
        npy_intp n = end - begin < PIECE ? end - begin : PIECE;
        if (region_piece(move->region, begin, n, offsets) != RUN_DONE) {
            atomic_store(&job->mismatch, 1);
            return;
        }
        blocks_run(job, move->data + move->region->start, move->part + begin * step, step, offsets, n);
    }
}

/* Units are the blocks, in the order of the part's dimensions: those before the index arrays, then the arrays' own. */
static void units_run(void *context, int64_t begin, int64_t end) {
    const Job *job = context;
    const Move *move = job->move;
    const Region *r = move->region;
    const npy_intp *index_strides = move->part_strides + r->n_before;
    npy_intp outer = begin / r->count, k = begin % r->count, left = end - begin;
    for (; left > 0; outer++, k = 0) {
        char *own = move->data + r->start, *part = move->part;
        npy_intp remainder = outer, stop = r->count - k < left ? r->count : k + left;
        for (int d = r->n_before - 1; d >= 0; d--) {
            own += remainder % r->shape[d] * r->strides[d];
            part += remainder % r->shape[d] * move->part_strides[d];
            remainder /= r->shape[d];
        }
        left -= stop - k;
        if (r->index_ndim == 1) {
            blocks_run(job, own, part + k * index_strides[0], index_strides[0], r->offsets + k, stop - k);
            continue;
        }
        for (; k < stop; k++) {
            npy_intp at = k, from = 0;
            for (int d = r->index_ndim - 1; d >= 0; d--) {
                from += at % r->index_shape[d] * index_strides[d];
                at /= r->index_shape[d];
            }
            block_run(job, own + (r->offsets != NULL ? r->offsets[k] : 0), part + from);
        }
    }
}

/* Move all elements. Called with the GIL, which is let go for long copies out; what is written into (an array that
 * others may look at as soon as they can run) is written with the GIL held. Copies out may end with RUN_RAISED, when
 * the handler of a signal raised, or with RUN_MISMATCH, for an index out of range. */
int move_run(const Machine *m, const Move *move) {
    Job job = {.move = move};
    const Region *r = move->region;
    npy_intp units = r->count, block = 1;
    for (int d = 0; d < r->n_plain; d++)
        *(d < r->n_before ? &units : &block) *= r->shape[d];
    if (units == 0 || block == 0)
        return RUN_DONE;
    block_make(&job);
    int last = job.ndim - 1;
    int packed = job.own[last] == move->itemsize && job.part[last] == move->itemsize && job.shape[last] > 1;
    job.line = move->what == MOVE_ADD ? adder(move->type_num) : copier(move->itemsize, packed);
    double work = (double)units * (8.0 + block * (packed ? 0.5 : 2.0));
    range_fn run = r->numbers != NULL ? pieces_run : units_run;
    int status = RUN_DONE;
    if (work < WORK_FOR_GIL || move->what != MOVE_OUT) {
        run(&job, 0, units);
    } else {
        int64_t grain = units / (8 * threads_get()), least = r->numbers != NULL ? PIECE / 4 : 1;
        status = run_long(run, &job, units, grain < least ? least : grain, work, m->thread_scale * work_for_threads);
    }
    return status == RUN_DONE && atomic_load(&job.mismatch) ? RUN_MISMATCH : status;
}
