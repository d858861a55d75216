/* Loops whose step is one elementwise kernel over few elements: after the first run, which checks everything, the
 * kernel is called with pointers that move. An instruction in full would cost several times as much as the kernel. */
#include "loop.h"

/* Code for all steps takes a few elements through all of them, then the next ones: that pays while they are few. */
#define MOST_ELEMENTS 256
/* Elements of a block, for which it does the work where there are fewer, too. */
#define LEAST_ELEMENTS 8

/* Do some steps, of which each operand moves by so many bytes; 0 where operands lie in another way
 * (kernels/_elementwise.py). */
typedef int (*whole_fn)(int64_t steps, int64_t n, char *const *data, const int64_t *strides, const int64_t *moves);

/* Where an operand lies in the next run; how far it moves from run to run, or with what it changes places. */
typedef struct {
    char *at, *other;
    npy_intp step;
} Place;

typedef struct {
    elementwise_fn fn;
    whole_fn whole;         /* does many steps in a call; NULL: there is no such code */
    npy_intp size, at_once; /* how many steps it is given */
    int count;
    Place *places;
    char **data;
    int64_t *strides, *moves;
} Calls;

/* Let an operand lie in an array of as many elements as the kernel works on, or of one that broadcasts. */
static int set_place(Calls *c, int i, PyArrayObject *array, int type_num) {
    npy_intp size = PyArray_SIZE(array);
    if (PyArray_TYPE(array) != type_num || !PyArray_IS_C_CONTIGUOUS(array) || !PyArray_ISBEHAVED_RO(array) ||
        (size != c->size && size != 1))
        return 0;
    c->places[i] = (Place){PyArray_BYTES(array), NULL, 0};
    c->strides[i] = size == 1 ? 0 : PyArray_ITEMSIZE(array);
    return 1;
}

/* The same for a row of an array: that of the run `behind` steps before the next one. */
static int set_row(const Loop *r, Calls *c, int i, PyArrayObject *whole, PyArrayObject *row, int type_num, int behind) {
    npy_intp step = PyArray_STRIDES(whole)[0], next = r->backwards ? r->runs - 1 - r->run : r->run;
    if (row == NULL || !PyArray_ISBEHAVED_RO(whole) || !set_place(c, i, row, type_num))
        return 0;
    c->places[i].at = PyArray_BYTES(whole) + (r->backwards ? next + behind : next - behind) * step;
    c->places[i].step = r->backwards ? -step : step;
    return 1;
}

/* The newest value of a result, if nobody else sees its array. */
static PyArrayObject *own_array(const Loop *r, int k) {
    PyObject *value = k < r->states ? r->state[k] : r->results[k].value;
    if (value == NULL || !PyArray_CheckExact(value) || !buffer_is_plain((PyArrayObject *)value))
        return NULL;
    Py_ssize_t stored = 0;
    for (int reg = 0; reg < r->m->n_registers; reg++)
        stored += r->m->buffers[reg] == value;
    return Py_REFCNT(value) == 1 + stored ? (PyArrayObject *)value : NULL;
}

static int set_input(const Loop *r, Calls *c, int i, int reg, int type_num) {
    const Machine *m = r->m;
    int k = 0;
    while (k < m->n_inputs && m->inputs[k].reg != reg)
        k++;
    if (k < r->rows)
        return set_row(r, c, i, (PyArrayObject *)PyTuple_GET_ITEM(r->given, k), r->views[k], type_num, 0);
    if (k < r->rows + r->states) {
        const Result *o = &r->results[k - r->rows];
        if (o->kind == STACK)
            return set_row(r, c, i, o->stack, o->views[0], type_num, 1);
        PyArrayObject *array = own_array(r, k - r->rows);
        if (array == NULL || o->spare == NULL || !set_place(c, i, array, type_num))
            return 0;
        c->places[i].other = PyArray_BYTES(o->spare);
        return 1;
    }
    PyObject *value = k < m->n_inputs ? r->fixed[k] : r->f->registers[reg];
    return value != NULL && PyArray_Check(value) && set_place(c, i, (PyArrayObject *)value, type_num);
}

static int set_output(const Loop *r, Calls *c, int i, int reg, int type_num) {
    int k = 0;
    while (k < r->n_results && r->results[k].reg != reg)
        k++;
    if (k == r->n_results || r->results[k].kind == SUM)
        return 0;
    const Result *o = &r->results[k];
    if (o->kind == STACK)
        return set_row(r, c, i, o->stack, o->views[0], type_num, 0);
    PyArrayObject *array = own_array(r, k);
    if (array == NULL || !set_place(c, i, array, type_num))
        return 0;
    if (k < r->states) {
        c->places[i].at = PyArray_BYTES(o->spare);
        c->places[i].other = PyArray_BYTES(array);
    }
    return 1;
}

/* Give each state of which only the newest value stays a second array. Returns 0 where that is not possible. */
static int make_spares(Loop *r) {
    for (int k = 0; k < r->states; k++) {
        Result *o = &r->results[k];
        PyArrayObject *array = o->kind == LAST ? own_array(r, k) : NULL;
        int stored;
        if (o->kind == LAST && array == NULL)
            return 0;
        if (array != NULL) {
            o->spare =
                buffer_get(r->m, o->reg, PyArray_TYPE(array), PyArray_NDIM(array), PyArray_DIMS(array), 0, &stored);
            if (o->spare == NULL)
                return -1;
        }
    }
    return 1;
}

/* Whether all that a run does is the one instruction, whose results are those of the loop. */
static int is_one_kernel(const Loop *r) {
    const Machine *m = r->m;
    const Instruction *in = m->instructions;
    if (m->n_instructions != 1 || in->code != CODE_elementwise || m->schedule != NULL || m->profile != NULL ||
        m->retained != NULL || m->n_cells > 0 || m->n_updates > 0 || r->until || in->n_outputs != r->n_results)
        return 0;
    for (int k = 0; k < r->n_results; k++)
        for (int other = 0; other < k; other++)
            if (r->results[k].reg == r->results[other].reg)
                return 0;
    return 1;
}

/* Elements that an operand has, and the kernel works on. */
static npy_intp size_of(const Result *o) {
    npy_intp size = 1;
    for (int d = 0; d < o->ndim; d++)
        size *= o->shape[d];
    return size;
}

static int prepare(Loop *r, Calls *c) {
    const Instruction *in = r->m->instructions;
    double cost;
    const int *types = elementwise_kernel(in, &c->fn, &cost);
    const Result *o = &r->results[0];
    if (!o->known && o->value != NULL && PyArray_Check(o->value))
        c->size = PyArray_SIZE((PyArrayObject *)o->value);
    else
        c->size = size_of(o);
    if (c->size == 0 || c->size * cost >= WORK_FOR_GIL || c->size * cost >= r->m->thread_scale * work_for_threads)
        return 0;
    int possible = make_spares(r);
    for (int i = 0; possible > 0 && i < in->n_inputs; i++)
        possible = set_input(r, c, i, in->inputs[i], types[i]);
    for (int k = 0; possible > 0 && k < in->n_outputs; k++) {
        int i = in->n_inputs + k;
        possible = set_output(r, c, i, in->outputs[k], types[i]) && (c->strides[i] != 0 || c->size == 1);
    }
    c->whole = c->size <= MOST_ELEMENTS ? (whole_fn)r->whole : NULL;
    c->at_once = (npy_intp)(WORK_FOR_GIL / (cost * (c->size < LEAST_ELEMENTS ? LEAST_ELEMENTS : c->size))) + 1;
    for (int i = 0; i < c->count; i++)
        c->moves[i] = c->places[i].step;
    return possible;
}

/* Runs between two looks at signals and the clock. */
#define RUNS_AT_ONCE 16

/* Let the places be those `runs` runs later, where operands that change places do so once. */
static void move_on(Calls *c, npy_intp runs) {
    for (int i = 0; i < c->count; i++) {
        Place *p = &c->places[i];
        char *at = c->data[i] = p->at;
        p->at = p->other == NULL ? at + runs * p->step : p->other;
        p->other = p->other == NULL ? NULL : at;
    }
}

/* Do some runs by one call. Returns how many, 0 where the code does not take operands that lie so. */
static npy_intp call_whole(Loop *r, Calls *c) {
    npy_intp left = r->runs - r->run, runs = left < c->at_once ? left : c->at_once;
    for (int i = 0; i < c->count; i++)
        c->data[i] = c->places[i].at;
    if (!c->whole(runs, c->size, c->data, c->strides, c->moves))
        return 0;
    move_on(c, runs);
    r->run += runs;
    return runs;
}

static int call_all(Loop *r, Calls *c) {
    int swapped = 0;
    while (r->run < r->runs) {
        if (c->whole != NULL && call_whole(r, c) > 0) {
            swapped ^= 1;
        } else {
            c->whole = NULL;
            for (int run = 0; run < RUNS_AT_ONCE && r->run < r->runs; run++, r->run++, swapped ^= 1) {
                move_on(c, 1);
                c->fn(c->size, c->data, c->strides);
            }
        }
        if (PyErr_CheckSignals() < 0)
            return -1;
        loop_yield(r);
    }
    for (int k = 0; k < r->states; k++) /* the first run left its value in the first array */
        if (r->results[k].spare != NULL && swapped) {
            PyObject *first = r->state[k];
            r->state[k] = (PyObject *)r->results[k].spare;
            r->results[k].spare = (PyArrayObject *)first;
        }
    return 1;
}

/* Called after the first run: do all others, where these are calls of one kernel. Returns 1 when the loop may go on or
 * is at its end, -1 with an exception. */
int loop_kernel(Loop *r) {
    if (r->runs < 3 || !is_one_kernel(r))
        return 1;
    Calls c = {.count = r->m->instructions->n_inputs + r->m->instructions->n_outputs};
    c.places = PyMem_Calloc(c.count, sizeof *c.places);
    c.data = PyMem_Calloc(c.count, sizeof *c.data);
    c.strides = PyMem_Calloc(c.count, sizeof *c.strides);
    c.moves = PyMem_Calloc(c.count, sizeof *c.moves);
    int status = -1;
    if (c.places == NULL || c.data == NULL || c.strides == NULL || c.moves == NULL)
        PyErr_NoMemory();
    else if ((status = prepare(r, &c)) > 0)
        status = call_all(r, &c);
    PyMem_Free(c.places);
    PyMem_Free(c.data);
    PyMem_Free(c.strides);
    PyMem_Free(c.moves);
    return status < 0 ? -1 : 1;
}
