/* Replay: captured calls of kernels are made again; see capture.h. */
#include "capture.h"
#include <limits.h>

/* Calls that fit no capture before it is made anew, and how many times it is; calls whose guards fail. */
#define MISSES 32
#define MOST_MADE 8
#define FAILED_GUARDS 8
#define NEVER INT_MIN

static int fits(const CapturedInput *s, PyObject *value) {
    PyArrayObject *array = (PyArrayObject *)value;
    if (value == NULL || !PyArray_CheckExact(value) || PyArray_TYPE(array) != s->type_num ||
        PyArray_NDIM(array) != s->ndim || !PyArray_ISBEHAVED_RO(array) || is_donated(array))
        return 0;
    for (int d = 0; d < s->ndim; d++)
        if (PyArray_DIMS(array)[d] != s->dims[d] || (s->dims[d] > 1 && PyArray_STRIDES(array)[d] != s->strides[d]))
            return 0;
    return 1;
}

static void fill(char *to, const char *item, int64_t bytes, int64_t size) {
    for (int64_t done = 0; done < bytes; done += size)
        memcpy(to + done, item, size);
}

static void narrow(float *to, const double *from, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        to[i] = (float)from[i];
}

/* Make the calls. Returns NULL, or the call whose operands do not fit. */
static const Call *make_calls(const Capture *c) {
    for (char *at = c->bytes, *end = at + c->used; at < end;) {
        const Call *call = (const Call *)at;
        char *const *data = (char *const *)(call + 1);
        const int64_t *strides = (const int64_t *)(data + call->nops);
        switch (call->kind) {
        case CALL_ELEMENTS: ((elementwise_fn)call->fn)(call->n, data, strides); break;
        case CALL_ROWS: ((reduce_rows_fn)call->fn)(call->n, data, strides, call->rows, strides + call->nops); break;
        case CALL_FILL: fill(data[0], call->fn, call->n, call->rows); break;
        case CALL_COPY: memcpy(data[0], data[1], call->n); break;
        case CALL_ITEMS:
            for (int64_t i = 0; i < call->n; i++)
                memcpy(data[0] + i * strides[0], data[1] + i * strides[1], call->rows);
            break;
        case CALL_OTHER:
            if (!((captured_fn)call->fn)(call->what, data))
                return call;
            break;
        case CALL_GUARD:
            if (memcmp(data[0], call->fn, call->n) != 0)
                return call;
            break;
        default: narrow((float *)data[0], (const double *)data[1], call->n);
        }
        at += sizeof *call + (size_t)call->columns * call->nops * sizeof(int64_t);
    }
    return NULL;
}

static const Call *make_calls_freely(const Capture *c) {
    const Call *stopped;
    if (c->work < WORK_FOR_GIL)
        return make_calls(c);
    PyThreadState *state = gil_release();
    stopped = make_calls(c);
    gil_restore(state);
    return stopped;
}

static void drop_results(Frame *f, const Capture *c, int count) {
    for (int k = 0; k < count; k++)
        frame_set(f, c->results[k].reg, NULL);
}

/* Put the pointers of slots into the calls. */
static void put_bases(Capture *c, char *const *bases) {
    for (int i = 0; i < c->n_patches;) {
        int slot = c->patches[i].slot, changed = bases[slot] != c->bases[slot];
        for (; i < c->n_patches && c->patches[i].slot == slot; i++)
            if (changed)
                *(char **)(c->bytes + c->patches[i].at) = bases[slot] + c->patches[i].offset;
        c->bases[slot] = bases[slot];
    }
}

enum { REPLAYED = -1, OTHER_SHAPES = -2 };

/* Make the captured calls on the operands at hand. Returns REPLAYED, OTHER_SHAPES, or the position of the instruction
 * whose guard has failed. */
static int replay(Machine *m, Frame *f, Capture *c) {
    for (int k = 0; k < c->n_sources; k++)
        if (!fits(&c->sources[k], f->registers[c->sources[k].reg]))
            return OTHER_SHAPES;
    char *bases[c->n_sources + c->n_results + 1];
    for (int k = 0; k < c->n_sources; k++)
        bases[k] = PyArray_BYTES((PyArrayObject *)f->registers[c->sources[k].reg]);
    for (int k = 0; k < c->n_results; k++) {
        const CapturedResult *r = &c->results[k];
        PyArrayObject *array = buffer_obtain(m, f, r->reg, r->type_num, r->ndim, r->dims, r->fortran);
        if (array == NULL) {
            PyErr_Clear(); /* the instruction that makes it says so again */
            drop_results(f, c, k + 1);
            return OTHER_SHAPES;
        }
        bases[c->n_sources + k] = PyArray_BYTES(array);
    }
    put_bases(c, bases);
    const Call *stopped = make_calls_freely(c);
    if (stopped != NULL) {
        drop_results(f, c, c->n_results);
        return stopped->position;
    }
    for (int k = 0; k < c->n_dying; k++)
        frame_set(f, c->dying[k], NULL);
    return REPLAYED;
}

/* Operands have not fitted: after many times, the run is captured anew, or parted at a guard. */
static void missed(Machine *m, Capture *c, int guard) {
    c->misses++;
    if (guard >= 0 && c->misses > FAILED_GUARDS) {
        m->excluded[guard] = 1;
        captures_split(m, c);
    } else if (c->misses > MISSES) {
        int again = c->made < MOST_MADE;
        capture_reset(c);
        c->calls = again ? 0 : NEVER;
    }
}

/* At the beginning of a call: whether runs are looked for. They are found when there have been calls enough. */
int captures_apply(Machine *m, const Frame *f) {
    if (f != &m->frame || capture_calls < 0)
        return 0;
    if (m->captures == NULL && m->calls < INT_MAX && m->calls++ >= capture_calls) {
        gil_take();
        captures_setup(m);
    }
    return m->captures != NULL;
}

/* At an instruction: the one to go on with, which is the next one after a run that has been replayed. */
int captures_enter(Machine *m, Frame *f, int position) {
    Capture *c = m->captures[position];
    if (c == NULL || m->open != NULL || m->profile != NULL || m->retained != NULL || m->buffer_limit <= 0 ||
        f->commits != NULL || capture_calls < 0)
        return position;
    if (c->stale) {
        gil_take();
        capture_reset(c);
    }
    if (c->state == CAPTURE_READY) {
        int end = c->end, found = replay(m, f, c);
        if (found == REPLAYED) {
            c->misses = 0;
            return end;
        }
        gil_take();
        missed(m, c, found);
    } else if (c->calls == 0) {
        gil_take();
        capture_open(m, f, c);
    } else if (c->calls != NEVER) {
        c->calls++;
    }
    return position;
}
