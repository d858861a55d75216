/* Convolutions of images, and their gradients by images and filters: the instruction, and what its forms share.
 *
 * Whatever is out of the ordinary (shapes that do not fit, nothing to do) is left to the op's Python code, which
 * computes it or raises. */
#include "runtime.h"
#include "convolution.h"
#include <stdlib.h>

enum { FORWARD = 0, INPUT_GRAD = 1, WEIGHT_GRAD = 2 };
/* Widths of borders that depend on the filters. */
enum { HALF = -1, FULL = -2 };
/* Lengths and steps up to here are computed with; products of steps are numbers of phases (convolution_apply.c). */
#define MOST_LENGTH ((int64_t)1 << 40)
#define MOST_STEPS 4096
/* So much memory stays in a slot. */
#define KEPT_BYTES ((size_t)1 << 22)

typedef struct {
    int task, type_num, ndim, flip;
    int64_t groups;
    npy_intp *strides, *dilations, *before, *after; /* [ndim] */
    PyObject *fallback;                             /* borrowed from the payload: input values -> output values */
} Convolution;

enum { SLOTS = 32 };
static Slot slots[SLOTS];

/* Take a slot that nobody uses, of at least so many bytes; NULL if there is none. */
static Slot *claim(size_t bytes) {
    for (int i = 0; i < SLOTS; i++) {
        int none = 0;
        if (!atomic_compare_exchange_strong(&slots[i].busy, &none, 1))
            continue;
        if (slots[i].size >= bytes)
            return &slots[i];
        atomic_store(&slots[i].busy, 0);
    }
    return NULL;
}

/* Memory of at least so many bytes, at a multiple of 64; NULL if there is none. */
void *workspace_take(size_t bytes, Slot **slot) {
    bytes = (bytes + 127) / 64 * 64;
    Slot *s = *slot = claim(bytes);
    if (s == NULL)
        s = *slot = claim(0);
    if (s == NULL)
        return aligned_alloc(64, bytes);
    if (s->size < bytes) {
        free(s->memory);
        s->memory = aligned_alloc(64, bytes);
        s->size = s->memory == NULL ? 0 : bytes;
    }
    void *memory = s->memory;
    if (memory == NULL)
        workspace_give(s, NULL);
    return memory;
}

void workspace_give(Slot *slot, void *memory) {
    if (slot == NULL) {
        free(memory);
        return;
    }
    if (slot->size > KEPT_BYTES) {
        free(slot->memory);
        slot->memory = NULL;
        slot->size = 0;
    }
    atomic_store(&slot->busy, 0);
}

void layout_set(Layout *l, int64_t channels, const int64_t *image, const int64_t *before, const int64_t *after,
                int64_t phases) {
    l->channels = channels;
    l->phases = phases;
    l->plane = phases;
    l->whole = phases == 1;
    for (int d = 0; d < 3; d++) {
        l->image[d] = image[d];
        l->before[d] = before[d];
        l->padded[d] = before[d] + image[d] + after[d];
        if (d == 2)
            l->padded[d] = (l->padded[d] + phases - 1) / phases;
        l->plane *= l->padded[d];
        l->whole &= before[d] == 0 && after[d] == 0;
    }
}

int64_t layout_size(const Layout *l) { return l->channels * l->plane; }

/* Where an element lies, counted from the first one of the padding; for offsets between elements, too. */
int64_t layout_offset(const Layout *l, int64_t depth, int64_t row, int64_t column) {
    return ((depth * l->padded[1] + row) * l->phases + column % l->phases) * l->padded[2] + column / l->phases;
}

void layout_fill(const Layout *l, size_t item, char *to, const char *from) {
    int64_t length = l->image[2], phases = l->phases;
    size_t bytes = (size_t)length * item;
    memset(to, 0, (size_t)layout_size(l) * item);
    for (int64_t c = 0; c < l->channels; c++)
        for (int64_t d = 0; d < l->image[0]; d++)
            for (int64_t r = 0; r < l->image[1]; r++, from += bytes) {
                char *row =
                    to + (size_t)(c * l->plane + layout_offset(l, d + l->before[0], r + l->before[1], 0)) * item;
                if (phases == 1) {
                    memcpy(row + (size_t)l->before[2] * item, from, bytes);
                    continue;
                }
                for (int64_t j = 0; j < length; j++) {
                    int64_t at = j + l->before[2];
                    memcpy(row + (size_t)(at % phases * l->padded[2] + at / phases) * item, from + (size_t)j * item,
                           item);
                }
            }
}

static PyArrayObject *plain(const Frame *f, int reg, int type_num, int ndim) {
    PyArrayObject *a = (PyArrayObject *)f->registers[reg];
    return a != NULL && PyArray_Check(a) && PyArray_TYPE(a) == type_num && PyArray_NDIM(a) == ndim &&
                   PyArray_ISBEHAVED_RO(a) && PyArray_SIZE(a) > 0
               ? a
               : NULL;
}

/* The lengths in an array of a program, as axes. */
static void axes_of(const Convolution *p, const npy_intp *lengths, int64_t *axes) {
    for (int d = 0; d < 3; d++)
        axes[d] = d < 3 - p->ndim ? 1 : lengths[d - (3 - p->ndim)];
}

/* Fill in how filters of `kernel` slide over images; 0 if they do not fit. */
static int slide(const Convolution *p, Geometry *g) {
    int64_t steps = 1;
    g->groups = p->groups;
    g->flip = p->flip;
    for (int d = 0; d < 3; d++) {
        int k = d - (3 - p->ndim);
        if (g->image[d] < 1 || g->kernel[d] < 1 || g->image[d] > MOST_LENGTH || g->kernel[d] > MOST_LENGTH)
            return 0;
        g->stride[d] = k < 0 ? 1 : p->strides[k];
        g->dilation[d] = k < 0 ? 1 : p->dilations[k];
        int64_t span = (g->kernel[d] - 1) * g->dilation[d],
                sides[2] = {k < 0 ? 0 : p->before[k], k < 0 ? 0 : p->after[k]};
        for (int side = 0; side < 2; side++)
            sides[side] = sides[side] == HALF ? (span + 1) / 2 : sides[side] == FULL ? span : sides[side];
        int64_t last_start = g->image[d] + sides[0] + sides[1] - span - 1;
        if (last_start < 0 || (steps *= g->stride[d]) > MOST_STEPS)
            return 0;
        g->before[d] = sides[0];
        g->output[d] = last_start / g->stride[d] + 1;
    }
    return 1;
}

static int same_output(const Convolution *p, const Geometry *g, PyArrayObject *output) {
    int64_t axes[3];
    axes_of(p, PyArray_DIMS(output) + 2, axes);
    return PyArray_DIMS(output)[0] == g->images && PyArray_DIMS(output)[1] == g->filters * g->groups &&
           memcmp(axes, g->output, sizeof axes) == 0;
}

/* Read shapes: of images and filters (or lengths in their place), and of the result where there is one. */
static int understand(const Convolution *p, Geometry *g, PyArrayObject *images, PyArrayObject *kernel,
                      PyArrayObject *output, PyArrayObject *lengths) {
    const npy_intp *given = lengths == NULL ? NULL : PyArray_DATA(lengths);
    axes_of(p, images == NULL ? given : PyArray_DIMS(images) + 2, g->image);
    axes_of(p, kernel == NULL ? given : PyArray_DIMS(kernel) + 2, g->kernel);
    int64_t filters = kernel == NULL ? PyArray_DIMS(output)[1] : PyArray_DIMS(kernel)[0];
    int64_t channels = images == NULL ? PyArray_DIMS(kernel)[1] * p->groups : PyArray_DIMS(images)[1];
    g->images = PyArray_DIMS(images == NULL ? output : images)[0];
    g->filters = filters / p->groups;
    g->channels = channels / p->groups;
    return filters % p->groups == 0 && channels % p->groups == 0 &&
           (kernel == NULL || PyArray_DIMS(kernel)[1] == g->channels) && slide(p, g) &&
           (output == NULL || same_output(p, g, output));
}

static PyArrayObject *result(Machine *m, Frame *f, const Instruction *in, const Convolution *p, const Geometry *g) {
    npy_intp shape[5] = {g->images, g->filters * g->groups};
    const int64_t *lengths = p->task == FORWARD ? g->output : p->task == INPUT_GRAD ? g->image : g->kernel;
    if (p->task == INPUT_GRAD)
        shape[1] = g->channels * g->groups;
    if (p->task == WEIGHT_GRAD) {
        shape[0] = g->filters * g->groups;
        shape[1] = g->channels;
    }
    for (int d = 0; d < p->ndim; d++)
        shape[2 + d] = lengths[3 - p->ndim + d];
    return buffer_obtain(m, f, in->outputs[0], p->type_num, 2 + p->ndim, shape, 0);
}

static int compute(Machine *m, Convolution *p, const Geometry *g, PyArrayObject *first, PyArrayObject *second,
                   PyArrayObject *out) {
    Engine engine = {window_kernels(p->type_num == NPY_DOUBLE), (size_t)PyArray_ITEMSIZE(out),
                     m->thread_scale * work_for_threads};
    const char *a = PyArray_BYTES(first), *b = PyArray_BYTES(second);
    switch (p->task) {
    case FORWARD: return convolution_forward(&engine, g, a, b, PyArray_BYTES(out));
    case INPUT_GRAD: return convolution_input_grad(&engine, g, a, b, PyArray_BYTES(out));
    default: return convolution_weight_grad(&engine, g, a, b, PyArray_BYTES(out));
    }
}

static int convolution_run(Machine *m, Frame *f, const Instruction *in) {
    Convolution *p = in->plan;
    Geometry g;
    PyArrayObject *a = plain(f, in->inputs[0], p->type_num, 2 + p->ndim), *lengths = NULL;
    PyArrayObject *b = plain(f, in->inputs[1], p->type_num, 2 + p->ndim);
    int fits = a != NULL && b != NULL;
    if (fits && p->task != FORWARD) {
        lengths = plain(f, in->inputs[2], NPY_INTP, 1);
        fits = lengths != NULL && PyArray_DIMS(lengths)[0] == p->ndim && PyArray_IS_C_CONTIGUOUS(lengths);
    }
    if (!fits || !(p->task == FORWARD      ? understand(p, &g, a, b, NULL, NULL)
                   : p->task == INPUT_GRAD ? understand(p, &g, NULL, a, b, lengths)
                                           : understand(p, &g, a, NULL, b, lengths)))
        return frame_call(f, in, p->fallback);
    /* Held: a buffer of this register may be one of the operands of the call before. */
    PyArrayObject *first = PyArray_GETCONTIGUOUS(a), *second = first == NULL ? NULL : PyArray_GETCONTIGUOUS(b);
    PyArrayObject *out = second == NULL ? NULL : result(m, f, in, p, &g);
    int status = out == NULL ? RUN_RAISED : compute(m, p, &g, first, second, out);
    Py_XDECREF(first);
    Py_XDECREF(second);
    return status;
}

static void convolution_free(void *plan) {
    Convolution *p = plan;
    PyMem_Free(p->strides);
    PyMem_Free(p->dilations);
    PyMem_Free(p->before);
    PyMem_Free(p->after);
    PyMem_Free(p);
}

/* A number for each axis, of at least `least`, and so small that products with lengths stay in range. */
static npy_intp *read_axes(PyObject *numbers, int ndim, npy_intp least) {
    int count;
    npy_intp *found = parse_intps(numbers, &count);
    int right = found != NULL && count == ndim;
    for (int d = 0; right && d < ndim; d++)
        right = found[d] >= least && found[d] <= (npy_intp)1 << 20;
    if (found != NULL && !right) {
        PyMem_Free(found);
        found = NULL;
    }
    return found;
}

/* Payload: (task, type, whether filters are flipped, groups, strides, dilations, zeros before, zeros after, Python
 * form); zeros are numbers, HALF or FULL. */
int convolution_prepare(Machine *m, Instruction *in, PyObject *payload) {
    PyObject *strides, *dilations, *before, *after;
    long long groups;
    (void)m;
    Convolution *p = PyMem_Calloc(1, sizeof *p);
    if (p == NULL)
        return -1;
    in->plan = p;
    in->run = convolution_run;
    in->free = convolution_free;
    if (!PyArg_ParseTuple(payload, "iiiLO!O!O!O!O", &p->task, &p->type_num, &p->flip, &groups, &PyTuple_Type, &strides,
                          &PyTuple_Type, &dilations, &PyTuple_Type, &before, &PyTuple_Type, &after, &p->fallback))
        return -1;
    p->groups = groups;
    p->ndim = (int)PyTuple_GET_SIZE(strides);
    int known = p->task >= FORWARD && p->task <= WEIGHT_GRAD && p->ndim >= 1 && p->ndim <= 3 && groups > 0 &&
                (p->type_num == NPY_FLOAT || p->type_num == NPY_DOUBLE) && in->n_outputs == 1 &&
                in->n_inputs == (p->task == FORWARD ? 2 : 3);
    if (known && (p->strides = read_axes(strides, p->ndim, 1)) != NULL &&
        (p->dilations = read_axes(dilations, p->ndim, 1)) != NULL &&
        (p->before = read_axes(before, p->ndim, FULL)) != NULL && (p->after = read_axes(after, p->ndim, FULL)) != NULL)
        return 0;
    if (!PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "convolution payload: unknown task, type or geometry");
    return -1;
}
