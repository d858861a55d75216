/* Capture: what is noted of a run while it is carried out; see capture.h. */
#include "capture.h"

#define CALLS_AFTER_FAILURE 1000
/* Limits: kernel calls of one instruction, bytes that a guard compares, bytes that the captures of a machine keep. */
#define MOST_CALLS 64
#define MOST_GUARDED 64
#define MOST_BYTES (1 << 20)

int capture_calls = 2;

void capture_reset(Capture *c) {
    for (int k = 0; k < c->room_held; k++)
        Py_XDECREF(c->held[k]);
    PyMem_Free(c->held);
    PyMem_Free(c->bytes);
    PyMem_Free(c->patches);
    c->held = NULL;
    c->bytes = NULL;
    c->patches = NULL;
    c->n_held = c->room_held = 0;
    c->n_patches = c->room_patches = 0;
    c->used = c->room = 0;
    *c->total_bytes -= c->held_bytes;
    c->held_bytes = 0;
    c->state = CAPTURE_EMPTY;
    c->calls = c->misses = c->stale = 0;
    c->failed = c->n_failed = 0;
    c->work = 0;
}

/* The present instruction cannot be captured. */
void capture_fail(Capture *c) { c->failed = 1; }

/* Where a value is, or may be put, in the table of what is held, which is never full. */
static PyObject **held_place(PyObject **held, int room, const PyObject *value) {
    size_t at = ((uintptr_t)value >> 4) * 0x9E3779B97F4A7C15u;
    for (at >>= 32;; at++) {
        PyObject **place = &held[at & (size_t)(room - 1)];
        if (*place == NULL || *place == value)
            return place;
    }
}

static int is_held(const Capture *c, const PyObject *value) {
    return c->room_held > 0 && *held_place(c->held, c->room_held, value) != NULL;
}

static int make_room(Capture *c) {
    int room = c->room_held == 0 ? 16 : 2 * c->room_held;
    PyObject **held = PyMem_Calloc(room, sizeof *held);
    if (held == NULL)
        return -1;
    for (int k = 0; k < c->room_held; k++)
        if (c->held[k] != NULL)
            *held_place(held, room, c->held[k]) = c->held[k];
    PyMem_Free(c->held);
    c->held = held;
    c->room_held = room;
    return 0;
}

static int keep_alive(Capture *c, PyObject *value, npy_intp bytes) {
    if (2 * c->n_held >= c->room_held && make_room(c) < 0) {
        capture_fail(c);
        return -1;
    }
    *held_place(c->held, c->room_held, value) = Py_NewRef(value);
    c->n_held++;
    c->held_bytes += bytes;
    *c->total_bytes += bytes;
    if (*c->total_bytes > MOST_BYTES)
        capture_fail(c);
    return 0;
}

/* Keep an array alive, so that its address holds. */
static void hold(Capture *c, PyArrayObject *array) {
    if (!is_held(c, (PyObject *)array))
        keep_alive(c, (PyObject *)array, PyArray_NBYTES(array));
}

/* Memory that stays as long as the capture; NULL without an exception. */
void *capture_keep(Capture *c, size_t size) {
    PyObject *block = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)size);
    char *found = NULL;
    if (block != NULL && keep_alive(c, block, (npy_intp)size) == 0)
        found = PyByteArray_AS_STRING(block);
    else
        capture_fail(c);
    Py_XDECREF(block);
    PyErr_Clear();
    return found;
}

/* The run that is being captured, unless what the present instruction computes is the same in all calls. */
Capture *capturing(const Machine *m, const Frame *f) {
    Capture *c = m->open;
    return c != NULL && f == &m->frame && !c->failed && !c->skips ? c : NULL;
}

/* Whether the memory of a register must not be taken for a result: it is not ours in later calls, or has contents that
 * they need again; and results that leave the run are memory of their own. */
int capture_refuses(const Machine *m, const Frame *f, int reg) {
    const Capture *c = m->open;
    if (c == NULL || f != &m->frame)
        return 0;
    return c->is_leaving || c->m->is_fixed[reg] || !is_held(c, f->registers[reg]);
}

/* How many references the capture has to the array in a register. */
int capture_holds(const Machine *m, const Frame *f, int reg) {
    const Capture *c = m->open;
    return c != NULL && f == &m->frame && is_held(c, f->registers[reg]);
}

/* Say which register the operand k of the next calls is. */
void capture_operand(Capture *c, int k, int reg) {
    if (k >= MOST_OPERANDS) {
        capture_fail(c);
        return;
    }
    c->operands[k] = c->m->slots[reg];
}

/* Say that the operand k of the next calls is an array that no register holds. */
void capture_array(Capture *c, int k, PyArrayObject *array) {
    if (k >= MOST_OPERANDS) {
        capture_fail(c);
        return;
    }
    c->operands[k] = -1;
    hold(c, array);
}

static void *reserve(Capture *c, size_t size) {
    if (c->used + size > c->room) {
        size_t room = 2 * c->room + size + 256;
        char *bytes = PyMem_Realloc(c->bytes, room);
        if (bytes == NULL)
            return NULL;
        c->bytes = bytes;
        c->room = room;
    }
    c->used += size;
    return c->bytes + c->used - size;
}

static int patch(Capture *c, size_t at, int slot, npy_intp offset) {
    if (c->n_patches == c->room_patches) {
        int room = 2 * c->room_patches + 32;
        Patch *patches = PyMem_Realloc(c->patches, room * sizeof *patches);
        if (patches == NULL)
            return -1;
        c->patches = patches;
        c->room_patches = room;
    }
    c->patches[c->n_patches++] = (Patch){at, slot, offset};
    return 0;
}

/* Note one call of a kernel. */
void capture_call(Capture *c, int kind, void *fn, int64_t n, int nops, char *const *data, const int64_t *strides,
                  int64_t rows, const int64_t *steps) {
    size_t columns = steps != NULL ? 3 : 2;
    if (c->failed || ++c->of_instruction > MOST_CALLS || nops > MOST_OPERANDS) {
        capture_fail(c);
        return;
    }
    size_t at = c->used;
    Call *call = reserve(c, sizeof *call + columns * nops * sizeof(int64_t));
    if (call == NULL) {
        capture_fail(c);
        return;
    }
    *call = (Call){
        .kind = kind, .nops = nops, .columns = (int)columns, .position = c->position, .n = n, .rows = rows, .fn = fn};
    char **to = (char **)(call + 1);
    memcpy(to, data, nops * sizeof *to);
    if (strides != NULL)
        memcpy(to + nops, strides, nops * sizeof *strides);
    else
        memset(to + nops, 0, nops * sizeof(int64_t));
    if (steps != NULL)
        memcpy(to + 2 * nops, steps, nops * sizeof *steps);
    for (int k = 0; k < nops; k++)
        if (c->operands[k] >= 0 &&
            patch(c, at + sizeof *call + k * sizeof *to, c->operands[k], data[k] - c->bases[c->operands[k]]) < 0)
            capture_fail(c);
}

/* Note a call of a function of the instruction's own. */
void capture_other(Capture *c, captured_fn fn, void *what, int nops, char *const *data) {
    size_t at = c->used;
    capture_call(c, CALL_OTHER, (void *)fn, 0, nops, data, NULL, 0, NULL);
    if (!c->failed)
        ((Call *)(c->bytes + at))->what = what;
}

/* Note that bytes are copied from operand 1 to operand 0. */
void capture_copy(Capture *c, char *to, char *from, npy_intp bytes) {
    char *data[] = {to, from};
    capture_call(c, CALL_COPY, NULL, bytes, 2, data, NULL, 0, NULL);
}

/* Say that what the present instruction does follows from the contents of a register, which are guarded. */
void capture_contents(Capture *c, const Frame *f, int reg) {
    PyArrayObject *array = (PyArrayObject *)f->registers[reg];
    npy_intp bytes = PyArray_NBYTES(array);
    char *data[] = {PyArray_BYTES(array)};
    if (c->m->is_fixed[reg] || bytes == 0)
        return;
    void *kept = bytes > MOST_GUARDED || !PyArray_IS_C_CONTIGUOUS(array) ? NULL : capture_keep(c, bytes);
    if (kept == NULL) {
        capture_fail(c);
        return;
    }
    memcpy(kept, data[0], bytes);
    capture_operand(c, 0, reg);
    capture_call(c, CALL_GUARD, kept, bytes, 1, data, NULL, 0, NULL);
}

/* Note the calls that loops over all elements make. */
void capture_nest(Capture *c, const LoopNest *nest, elementwise_fn fn, double cost) {
    int outer = nest->ndim - 1, nops = nest->nops;
    npy_intp index[NPY_MAXDIMS] = {0};
    char *data[nops + 1];
    if (loop_nest_size(nest) * cost >= WORK_FOR_GIL) {
        capture_fail(c);
        return;
    }
    c->work += loop_nest_size(nest) * cost;
    memcpy(data, nest->data, nops * sizeof(char *));
    if (nest->ndim == 0) {
        capture_call(c, CALL_ELEMENTS, (void *)fn, 1, nops, data, NULL, 0, NULL);
        return;
    }
    const int64_t *inner = (const int64_t *)(nest->strides + (npy_intp)outer * nops);
    for (int d = 0; d >= 0 && !c->failed;) {
        capture_call(c, CALL_ELEMENTS, (void *)fn, nest->shape[outer], nops, data, inner, 0, NULL);
        for (d = outer - 1; d >= 0; d--) {
            const npy_intp *strides = nest->strides + d * nops;
            int more = ++index[d] < nest->shape[d];
            for (int k = 0; k < nops; k++)
                data[k] += more ? strides[k] : -(nest->shape[d] - 1) * strides[k];
            if (more)
                break;
            index[d] = 0;
        }
    }
}

/* Before a result of the present instruction is written: the address of one that leaves the run is that of its slot. */
void capture_result(Capture *c, const Frame *f, int reg) {
    int slot = c->m->slots[reg];
    if (slot >= c->n_sources)
        c->bases[slot] = PyArray_BYTES((PyArrayObject *)f->registers[reg]);
}

/* ---- the beginning and the end of a capture */

static int source_note(Capture *c, const Frame *f, int k) {
    CapturedInput *s = &c->sources[k];
    PyArrayObject *array = (PyArrayObject *)f->registers[s->reg];
    if (array == NULL || !PyArray_CheckExact(array) || !PyArray_ISBEHAVED_RO(array) ||
        PyArray_NDIM(array) > MOST_DIMENSIONS || is_donated(array))
        return -1;
    s->type_num = PyArray_TYPE(array);
    s->ndim = PyArray_NDIM(array);
    for (int d = 0; d < s->ndim; d++) {
        s->dims[d] = PyArray_DIMS(array)[d];
        s->strides[d] = PyArray_STRIDES(array)[d];
    }
    c->bases[k] = PyArray_BYTES(array);
    return 0;
}

static void begin_instruction(const Machine *m, Capture *c, int position) {
    const Instruction *in = &m->instructions[position];
    c->position = position;
    c->of_instruction = c->is_leaving = c->failed = 0;
    c->skips = 1;
    for (int k = 0; k < in->n_outputs; k++) {
        int leaving = c->m->slots[in->outputs[k]] >= c->n_sources;
        c->is_leaving |= leaving;
        c->skips &= c->m->is_fixed[in->outputs[k]] && !leaving;
    }
}

/* Begin a capture, if what the run reads is such as kernels take it. */
void capture_open(Machine *m, Frame *f, Capture *c) {
    for (int k = 0; k < c->n_sources; k++)
        if (source_note(c, f, k) < 0) {
            c->calls = -CALLS_AFTER_FAILURE;
            return;
        }
    m->open = c;
    c->m = m;
    c->state = CAPTURE_OPEN;
    capture_learn(m, c, c->sources, NULL, NULL);
    begin_instruction(m, c, c->begin);
}

static int by_slot(const void *a, const void *b) { return ((const Patch *)a)->slot - ((const Patch *)b)->slot; }

/* Which register of a run a view lies in the memory of. */
static void view_note(Capture *c, const Instruction *in) {
    for (int k = 0; k < in->n_outputs; k++)
        c->m->slots[in->outputs[k]] = c->m->slots[in->inputs[0]];
}

static int result_note(Capture *c, const Frame *f, int k) {
    CapturedResult *r = &c->results[k];
    PyArrayObject *array = (PyArrayObject *)f->registers[r->reg];
    if (array == NULL || !PyArray_CheckExact(array) || PyArray_NDIM(array) > MOST_DIMENSIONS ||
        !(PyArray_FLAGS(array) & (NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS)))
        return -1;
    r->type_num = PyArray_TYPE(array);
    r->ndim = PyArray_NDIM(array);
    r->fortran = !PyArray_IS_C_CONTIGUOUS(array);
    if (r->ndim > 0)
        memcpy(r->dims, PyArray_DIMS(array), r->ndim * sizeof *r->dims);
    return 0;
}

static void capture_close(Machine *m, Frame *f, Capture *c) {
    m->open = NULL;
    c->made++;
    capture_forget(m, c);
    if (c->n_failed > 0) {
        captures_split(m, c);
        return;
    }
    for (int k = 0; k < c->n_results && !c->failed; k++)
        if (result_note(c, f, k) < 0)
            c->failed = 1;
    if (c->failed || c->stale) {
        int failed = c->failed;
        capture_reset(c);
        c->calls = failed ? -CALLS_AFTER_FAILURE : 0;
        return;
    }
    if (c->n_patches > 0)
        qsort(c->patches, c->n_patches, sizeof *c->patches, by_slot);
    c->state = CAPTURE_READY;
}

/* After an instruction of a run: what it has made stays alive, unless it leaves the run. */
void captures_after(Machine *m, Frame *f, int position) {
    Capture *c = m->open;
    const Instruction *in = &m->instructions[position];
    if (is_view(in->code) && PyArray_BASE((PyArrayObject *)f->registers[in->outputs[0]]) == NULL &&
        in->code == CODE_reshape) {
        c->m->slots[in->outputs[0]] = -1; /* a copy */
        hold(c, (PyArrayObject *)f->registers[in->outputs[0]]);
    } else if (is_view(in->code)) {
        view_note(c, in);
    } else {
        for (int k = 0; k < in->n_outputs; k++)
            if (c->m->slots[in->outputs[k]] < c->n_sources) {
                c->m->slots[in->outputs[k]] = -1;
                hold(c, (PyArrayObject *)f->registers[in->outputs[k]]);
            }
    }
    if (c->failed) {
        m->excluded[position] = 1;
        c->n_failed++;
    }
    if (position + 1 == c->end)
        capture_close(m, f, c);
    else
        begin_instruction(m, c, position + 1);
}

/* An error has ended the call. */
void captures_abandon(Machine *m) {
    if (m->open != NULL) {
        capture_forget(m, m->open);
        capture_reset(m->open);
        m->open->calls = -CALLS_AFTER_FAILURE;
        m->open = NULL;
    }
}
