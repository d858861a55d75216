/* Steps of a list that run many times, with numbers that advance: the steps of a loop.
 *
 * They are written down round by round, so that drivers see a plain list, which CUDA captures as one graph. Where that
 * would be too long, a run goes round by round, and moves the numbers on.
 */
#include "lists.h"

/* Rounds, beside the first, in which it is checked what buffers need. */
enum { CHECKED = 3 };

int is_repeat(PyObject *item) {
    PyObject *kind = PyTuple_Check(item) && PyTuple_GET_SIZE(item) == 4 ? PyTuple_GET_ITEM(item, 0) : NULL;
    return kind != NULL && PyUnicode_Check(kind) && PyUnicode_CompareWithASCIIString(kind, "repeat") == 0;
}

static int parse_parts(PyObject *item, long long *count, PyObject **steps, PyObject **moves) {
    const char *kind;
    if (!PyArg_ParseTuple(item, "sLO!O!:repeat", &kind, count, &PyTuple_Type, steps, &PyTuple_Type, moves))
        return -1;
    if (*count >= 1 && PyTuple_GET_SIZE(*steps) == PyTuple_GET_SIZE(*moves))
        return 0;
    PyErr_SetString(PyExc_ValueError, "repeat: there is one round at least, and for each step what moves in it");
    return -1;
}

/* Whether all rounds are written down. */
static int is_written(long long count, Py_ssize_t steps) { return steps == 0 || count <= MOST_STEPS / steps; }

Py_ssize_t count_steps(PyObject *item) {
    long long count;
    PyObject *steps, *moves;
    if (!is_repeat(item))
        return 1;
    if (parse_parts(item, &count, &steps, &moves) < 0)
        return -1;
    Py_ssize_t found = PyTuple_GET_SIZE(steps);
    return is_written(count, found) ? (Py_ssize_t)count * found : (CHECKED + 1) * found;
}

/* The offset that a move of a product is about; NULL where there is none. */
static int64_t *product_offset(Product *product, int place) {
    int64_t *const found[] = {&product->a.offset, &product->b.offset, &product->z.offset, &product->alpha.offset,
                              &product->beta.offset};
    return place < 5 ? found[place] : NULL;
}

/* An array that a library computes with; NULL where the step has no such one. */
static Place *library_place(const Step *step, int place) {
    if (place < 0)
        return NULL;
    if (step->kind == STEP_CONVOLUTION) {
        Convolution *p = step->convolution;
        Place *const found[] = {&p->image, &p->filter, &p->top, &p->workspace};
        return place < 4 ? found[place] : NULL;
    }
    return step->kind == STEP_CALL && place < step->call->n_places ? &step->call->places[place] : NULL;
}

static size_t *byte_offset(Step *step, int place) {
    Place *found = library_place(step, place);
    if (step->kind == STEP_CONVOLUTION || step->kind == STEP_CALL)
        return found == NULL ? NULL : &found->offset;
    if (step->kind == STEP_FILL)
        return place == 0 ? &step->fill.offset : NULL;
    return place == 0 ? &step->copy.offset : place == 1 ? &step->copy.source_offset : NULL;
}

static int refuse_move(const char *why) {
    PyErr_Format(PyExc_ValueError, "repeat: a number that moves %s", why);
    return -1;
}

/* Add to a number of a launch; -1 where it does not fit. */
static int add_to_value(const Launch *launch, int place, int64_t delta) {
    Value *value = &launch->values[place];
    int64_t number = launch->parameters[place] == 'q'   ? value->q
                     : launch->parameters[place] == 'i' ? value->i
                                                        : (int64_t)value->I;
    if (__builtin_add_overflow(number, delta, &number))
        return -1;
    switch (launch->parameters[place]) {
    case 'q': value->q = number; return 0;
    case 'i': value->i = (int32_t)number; return number == (int32_t)number ? 0 : -1;
    default: value->I = (uint32_t)number; return number == (int64_t)(uint32_t)number ? 0 : -1;
    }
}

/* Move a number on; -1 without an exception where it is out of bounds then. */
static int add(Step *step, int place, int64_t delta) {
    if (step->kind == STEP_LAUNCH)
        return add_to_value(&step->launch, place, delta);
    if (step->kind == STEP_PRODUCT) {
        int64_t *offset = product_offset(&step->product, place);
        return __builtin_add_overflow(*offset, delta, offset) || *offset < 0 ? -1 : 0;
    }
    size_t *offset = byte_offset(step, place);
    int64_t number = (int64_t)*offset;
    if (__builtin_add_overflow(number, delta, &number) || number < 0)
        return -1;
    *offset = (size_t)number;
    return 0;
}

static int check_place(Step *step, int place) {
    int fits = place >= 0;
    if (step->kind == STEP_LAUNCH)
        fits = fits && place < step->launch.count && strchr("qiI", step->launch.parameters[place]) != NULL;
    else if (step->kind == STEP_PRODUCT)
        fits = fits && product_offset(&step->product, place) != NULL;
    else
        fits = fits && byte_offset(step, place) != NULL;
    return fits ? 0 : refuse_move("is none of the step");
}

/* Read what moves in a step. */
static int parse_moves(Repeat *repeat, Step *steps, int step, PyObject *given) {
    if (!PyTuple_Check(given)) {
        PyErr_SetString(PyExc_TypeError, "repeat: what moves in a step is a tuple");
        return -1;
    }
    size_t room = (size_t)(repeat->n_moves + PyTuple_GET_SIZE(given));
    Move *grown = PyMem_Realloc(repeat->moves, (room + 1) * sizeof *grown);
    if (grown == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    repeat->moves = grown;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(given); i++) {
        long long linear, alternating;
        Move *move = &repeat->moves[repeat->n_moves];
        if (!PyArg_Parse(PyTuple_GET_ITEM(given, i), "(iLL)", &move->place, &linear, &alternating) ||
            check_place(&steps[step], move->place) < 0)
            return -1;
        move->step = step;
        move->linear = linear;
        move->alternating = alternating;
        repeat->n_moves++;
    }
    return 0;
}

/* What is added to a number from the first round to another one; -1 where that is out of bounds. */
static int moved(const Move *move, long long round, int64_t *delta) {
    return __builtin_mul_overflow(move->linear, round, delta) ||
                   (round % 2 != 0 && __builtin_add_overflow(*delta, move->alternating, delta))
               ? -1
               : 0;
}

/* Bytes that the buffer at a place of a step must have; of launches and products it is not known. */
static size_t least_of(const Step *step, const Address *place) {
    if (step->kind == STEP_COPY)
        return step->copy.bytes + (place == &step->copy.target ? step->copy.offset : step->copy.source_offset);
    for (int k = 0; k < MOST_PLACES; k++) {
        const Place *found = library_place(step, k);
        if (found != NULL && place == &found->address)
            return found->offset + found->bytes;
    }
    return step->kind == STEP_FILL ? step->fill.offset + step->fill.bytes : 0;
}

/* What a step owns, in which its addresses are; the step itself where it owns nothing. */
static void *owned(const Step *step) {
    switch (step->kind) {
    case STEP_LAUNCH: return step->launch.values;
    case STEP_CONVOLUTION: return step->convolution;
    case STEP_CALL: return step->call;
    default: return (void *)step;
    }
}

static void *copy_bytes(const void *from, size_t bytes) {
    void *made = PyMem_Malloc(bytes + 1);
    if (made == NULL)
        PyErr_NoMemory();
    else
        memcpy(made, from, bytes);
    return made;
}

/* The place in a copy of a step that belongs to one in the step. */
static Address *same_place(const Step *step, const Step *first, const Address *place) {
    return (Address *)((char *)owned(step) + ((const char *)place - (const char *)owned(first)));
}

/* Write down a step for another round; its numbers are those of the first one. */
static int copy_step(Step *step, const Step *first) {
    *step = *first;
    switch (first->kind) {
    case STEP_LAUNCH:
        step->launch.values = copy_bytes(first->launch.values, (size_t)first->launch.count * sizeof(Value));
        return step->launch.values == NULL ? -1 : 0;
    case STEP_CONVOLUTION:
        step->convolution = copy_bytes(first->convolution, sizeof *first->convolution);
        return step->convolution == NULL ? -1 : 0;
    case STEP_CALL: step->call = copy_bytes(first->call, sizeof *first->call); return step->call == NULL ? -1 : 0;
    default: return 0;
    }
}

/* The patches of the first round, by steps: those of step k end before `ends[k]`. */
static int copy_patches(LaunchList *l, Resolver *r, int from, int to, Step *step, const Step *first) {
    int numbers[2] = {0, 0};
    for (int i = from; i < to; i++) {
        const Patch patch = r->patches[i];
        Address *place = same_place(step, first, patch.place);
        size_t least = least_of(step, place);
        numbers[i == from ? 0 : 1] = patch.number;
        if (parse_number(r, patch.number, (Py_ssize_t)least, place) < 0)
            return -1;
    }
    return step->kind == STEP_COPY ? keep_apart(l, numbers, &step->copy) : 0;
}

/* Write down a round. `ends` are the patches of the steps of the first one, and `from` is where they begin. */
static int write_round(LaunchList *l, Resolver *r, const Repeat *repeat, long long round, int from, const int *ends) {
    int begin = l->list.count;
    for (int k = repeat->begin; k < repeat->end; k++, l->list.count++)
        if (copy_step(&l->list.steps[l->list.count], &l->list.steps[k]) < 0)
            return -1;
    for (int m = 0; m < repeat->n_moves; m++) {
        const Move *move = &repeat->moves[m];
        int64_t delta;
        if (moved(move, round, &delta) < 0 ||
            add(&l->list.steps[begin + move->step - repeat->begin], move->place, delta) < 0)
            return refuse_move("is out of bounds");
    }
    for (int k = repeat->begin; k < repeat->end; k++) {
        int start = k == repeat->begin ? from : ends[k - repeat->begin - 1];
        if (copy_patches(l, r, start, ends[k - repeat->begin], &l->list.steps[begin + k - repeat->begin],
                         &l->list.steps[k]) < 0)
            return -1;
    }
    return 0;
}

/* Check what the buffers need in a round that is not written down. */
static int check_round(LaunchList *l, Resolver *r, const Repeat *repeat, long long round, int from, const int *ends) {
    int count = l->list.count, n_patches = r->n_patches, result = write_round(l, r, repeat, round, from, ends);
    for (int i = n_patches; result == 0 && i < r->n_patches; i++)
        if ((size_t)r->patches[i].least > l->least[r->patches[i].number])
            l->least[r->patches[i].number] = (size_t)r->patches[i].least;
    for (; l->list.count > count; l->list.count--)
        free_step(&l->list.steps[l->list.count - 1]);
    r->n_patches = n_patches;
    return result;
}

static int parse_first(LaunchList *l, Resolver *r, Repeat *repeat, PyObject *steps, PyObject *moves, int *ends) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(steps); i++) {
        int step = l->list.count;
        if (is_repeat(PyTuple_GET_ITEM(steps, i)))
            return refuse_move("belongs to a repeat within another one");
        if (parse_step(l, r, PyTuple_GET_ITEM(steps, i)) < 0)
            return -1;
        if (l->list.count == step) /* a launch without work-groups */
            continue;
        ends[step - repeat->begin] = r->n_patches;
        if (parse_moves(repeat, l->list.steps, step, PyTuple_GET_ITEM(moves, i)) < 0)
            return -1;
    }
    repeat->end = l->list.count;
    return 0;
}

static int write_rounds(LaunchList *l, Resolver *r, Repeat *repeat, int written, int from, const int *ends) {
    int result = 0;
    if (written) {
        for (long long round = 1; result == 0 && round < repeat->count; round++)
            result = write_round(l, r, repeat, round, from, ends);
        return result;
    }
    if (l->repeat.count > 0)
        return refuse_move("belongs to a second long repeat of a list");
    const long long rounds[CHECKED] = {1, repeat->count - 2, repeat->count - 1};
    for (int i = 0; result == 0 && i < CHECKED; i++)
        result = rounds[i] > 0 ? check_round(l, r, repeat, rounds[i], from, ends) : 0;
    l->repeat = *repeat;
    repeat->moves = NULL; /* they belong to the list now */
    return result;
}

int parse_repeat(LaunchList *l, Resolver *r, PyObject *item) {
    PyObject *steps, *moves;
    Repeat repeat = {.begin = l->list.count};
    long long launches = l->launches;
    if (parse_parts(item, &repeat.count, &steps, &moves) < 0)
        return -1;
    int from = r->n_patches, written = is_written(repeat.count, PyTuple_GET_SIZE(steps));
    int *ends = PyMem_Calloc((size_t)PyTuple_GET_SIZE(steps) + 1, sizeof *ends);
    if (ends == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    int result = parse_first(l, r, &repeat, steps, moves, ends);
    if (result == 0)
        result = write_rounds(l, r, &repeat, written, from, ends);
    l->launches = launches + (l->launches - launches) * repeat.count;
    PyMem_Free(repeat.moves);
    PyMem_Free(ends);
    return result;
}

/* Move all numbers from a round to the next, or from the last one back to the first. */
static void move_on(LaunchList *l, long long round, int back) {
    for (int m = 0; m < l->repeat.n_moves; m++) {
        const Move *move = &l->repeat.moves[m];
        int64_t alternating = round % 2 != 0 ? move->alternating : -move->alternating;
        int64_t delta =
            back ? -(move->linear * round + (round % 2 != 0 ? move->alternating : 0)) : move->linear + alternating;
        add(&l->list.steps[move->step], move->place, delta);
    }
}

int run_rounds(LaunchList *l, Failure *failure) {
    const Repeat *repeat = &l->repeat;
    long long round = 0;
    int result = 0;
    for (;; move_on(l, ++round, 0)) {
        for (int i = repeat->begin; result == 0 && i < repeat->end; i++)
            result = run_step(l->context, &l->list.steps[i], failure);
        if (result < 0 || round + 1 == repeat->count)
            break;
    }
    move_on(l, round, 1);
    return result;
}
