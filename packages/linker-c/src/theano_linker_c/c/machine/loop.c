/* Loops: a program that runs many times in one call. Each run reads a row of the sequences and the states of the run
 * before; a result is stacked, summed, or replaced by that of the next run.
 *
 * Rows are views whose data pointers move. A result that is stacked is computed right in its row, which is offered to
 * the instruction as its memory (`slots` of the frame); the next run reads a state there. Other states change places
 * with the buffer of the result that follows them, so that two arrays serve all runs; and as the array of a state has
 * no owner but the machine from the second run on, an instruction may overwrite it where the state dies.
 */
#include "loop.h"

/* Let `view` be a row of an array. */
static int view_row(const Loop *r, PyArrayObject *whole, npy_intp row, PyArrayObject **view) {
    char *data = PyArray_BYTES(whole) + row * PyArray_STRIDES(whole)[0];
    if (*view != NULL && r->movable && Py_REFCNT(*view) == 1 && PyArray_ISALIGNED(whole)) {
        ((PyArrayObject_fields *)*view)->data = data;
        return 0;
    }
    PyArray_Descr *descr = PyArray_DESCR(whole);
    Py_INCREF(descr);
    PyArrayObject *made = (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, descr, PyArray_NDIM(whole) - 1,
                                                                PyArray_DIMS(whole) + 1, PyArray_STRIDES(whole) + 1,
                                                                data, PyArray_FLAGS(whole) & NPY_ARRAY_WRITEABLE, NULL);
    if (made == NULL)
        return -1;
    if (PyArray_SetBaseObject(made, Py_NewRef(owner_of((PyObject *)whole))) < 0) {
        Py_DECREF(made);
        return -1;
    }
    Py_XSETREF(*view, made);
    return 0;
}

static void set_shape(Result *o, PyArrayObject *array) {
    o->known = 1;
    o->ndim = PyArray_NDIM(array);
    /* An array without dimensions has no list of them. */
    for (int d = 0; d < o->ndim; d++)
        o->shape[d] = PyArray_DIM(array, d);
}

static PyObject *shape_tuple(const npy_intp *shape, int ndim) {
    PyObject *found = PyTuple_New(ndim);
    for (int d = 0; found != NULL && d < ndim; d++)
        PyTuple_SET_ITEM(found, d, PyLong_FromSsize_t(shape[d]));
    return found;
}

/* Set the exception that the caller makes for a value of another shape than that of the first run. */
static int raise_mismatch(const Loop *r, int k, PyArrayObject *value) {
    const Result *o = &r->results[k];
    PyObject *got = shape_tuple(PyArray_DIMS(value), PyArray_NDIM(value)), *wanted = shape_tuple(o->shape, o->ndim);
    PyObject *error = NULL;
    if (got != NULL && wanted != NULL)
        error = PyObject_CallFunction(r->raise_mismatch, "inOO", k, r->row, got, wanted);
    if (error != NULL && PyExceptionInstance_Check(error))
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    else if (error != NULL)
        PyErr_SetString(PyExc_SystemError, "loop: the complaint is no exception");
    Py_XDECREF(error);
    Py_XDECREF(got);
    Py_XDECREF(wanted);
    return -1;
}

static int has_shape(const Result *o, PyArrayObject *value) {
    return PyArray_NDIM(value) == o->ndim && PyArray_CompareLists(PyArray_DIMS(value), o->shape, o->ndim);
}

/* Make the array of all values of a result, whose shape is known. */
static int make_stack(Loop *r, Result *o, int type_num) {
    npy_intp shape[NPY_MAXDIMS];
    int stored;
    if (o->ndim + 1 > NPY_MAXDIMS || type_num < 0) {
        PyErr_SetString(PyExc_ValueError, "loop: values of this type or number of dimensions cannot be stacked");
        return -1;
    }
    shape[0] = r->runs;
    memcpy(shape + 1, o->shape, o->ndim * sizeof(npy_intp));
    Py_CLEAR(o->stack);
    Py_CLEAR(o->views[0]);
    Py_CLEAR(o->views[1]);
    o->slot = NULL;
    o->stack = buffer_get(r->m, o->reg, type_num, o->ndim + 1, shape, 0, &stored);
    return o->stack == NULL ? -1 : 0;
}

/* Before the first run: the shape of a state is that of its first value; the stack that an earlier call has left for
 * another result is a guess at its shape. */
static int result_begin(Loop *r, int k) {
    Result *o = &r->results[k];
    const Machine *m = r->m;
    if (k < r->states && PyArray_Check(r->state[k])) {
        set_shape(o, (PyArrayObject *)r->state[k]);
        int type_num = m->inputs[r->rows + k].type_num;
        return o->kind == STACK && type_num >= 0 ? make_stack(r, o, type_num) : 0;
    }
    PyArrayObject *left = (PyArrayObject *)m->buffers[o->reg];
    if (o->kind == STACK && left != NULL && Py_REFCNT(left) == 1 && buffer_is_plain(left) &&
        PyArray_IS_C_CONTIGUOUS(left) && PyArray_NDIM(left) > 0 && PyArray_DIMS(left)[0] == r->runs)
        o->stack = (PyArrayObject *)Py_NewRef((PyObject *)left);
    return 0;
}

/* Whether foreign code, or an observer, may get hold of arrays. */
static int all_ours(const Machine *m) {
    for (int i = 0; i < m->n_instructions; i++)
        if (shows_operands(m->instructions[i].code))
            return 0;
    return m->profile == NULL && m->retained == NULL;
}

/* Accept the arguments that all runs share, and look at the others. */
static int begin(Loop *r, PyObject *kinds) {
    Machine *m = r->m;
    for (int k = 0; k < m->n_inputs; k++) {
        PyObject *value = PyTuple_GET_ITEM(r->given, k);
        int reg = m->inputs[k].reg;
        if (k < r->rows) {
            if (!PyArray_Check(value) || PyArray_NDIM((PyArrayObject *)value) < 1 ||
                PyArray_DIMS((PyArrayObject *)value)[0] < r->runs) {
                PyErr_SetString(PyExc_ValueError, "loop: a sequence is no array with a row for each run");
                return -1;
            }
        } else if (k < r->rows + r->states) {
            r->state[k - r->rows] = Py_NewRef(value);
            r->home[k - r->rows] = -1;
        } else {
            if (input_accept(m, r->f, k, value) < 0)
                return -1;
            r->fixed[k] = Py_NewRef(r->f->registers[reg]);
        }
    }
    for (int k = 0; k < r->n_results; k++) {
        Result *o = &r->results[k];
        o->kind = (int)PyLong_AsLong(PyTuple_GET_ITEM(kinds, k));
        o->reg = m->outputs[k];
        if (o->kind < STACK || o->kind > LAST) {
            PyErr_SetString(PyExc_ValueError, "loop: unknown kind of result");
            return -1;
        }
        if (result_begin(r, k) < 0)
            return -1;
    }
    r->movable = all_ours(m);
    return 0;
}

/* Fill the registers for one run, and offer the places of results that are stacked. */
static int load(Loop *r) {
    Machine *m = r->m;
    Frame *f = r->f;
    for (int k = 0; k < r->rows; k++)
        if (view_row(r, (PyArrayObject *)PyTuple_GET_ITEM(r->given, k), r->row, &r->views[k]) < 0 ||
            input_accept(m, f, k, (PyObject *)r->views[k]) < 0)
            return -1;
    for (int j = 0; j < r->states; j++) {
        PyObject *value = r->state[j];
        int reg = m->inputs[r->rows + j].reg, failed = input_accept(m, f, r->rows + j, value) < 0;
        if (!failed && f->registers[reg] == value)
            f->home[reg] = r->home[j];
        r->state[j] = NULL; /* the register is the only owner now */
        Py_DECREF(value);
        if (failed)
            return -1;
    }
    for (int k = r->rows + r->states; k < m->n_inputs; k++)
        frame_set(f, m->inputs[k].reg, Py_NewRef(r->fixed[k]));
    for (int k = 0; k < r->n_results; k++) {
        Result *o = &r->results[k];
        if (o->kind == LAST)
            Py_CLEAR(o->value);
        o->slot = NULL;
        if (o->stack == NULL)
            continue;
        int free = o->views[0] == NULL || Py_REFCNT(o->views[0]) == 1 ? 0 : 1;
        if (view_row(r, o->stack, r->row, &o->views[free]) < 0)
            return -1;
        o->slot = o->views[free];
        r->slots[o->reg] = o->slot;
    }
    return cells_read(m, f);
}

#define ADD(NUMBER, TYPE)                                                                                              \
    case NUMBER:                                                                                                       \
        for (npy_intp i = 0; i < size; i++)                                                                            \
            ((TYPE *)to)[i] += ((const TYPE *)from)[i];                                                                \
        return 0;

/* total += value, for arrays of one shape. Complex numbers are pairs here; signed integers wrap as unsigned ones. */
static int add(PyArrayObject *total, PyArrayObject *value) {
    int type = PyArray_TYPE(total), pairs = type == NPY_CFLOAT || type == NPY_CDOUBLE;
    npy_intp size = PyArray_SIZE(total) * (1 + pairs);
    void *to = PyArray_DATA(total);
    const void *from = PyArray_DATA(value);
    if (type == PyArray_TYPE(value) && PyArray_ISCARRAY(total) && PyArray_ISCARRAY_RO(value))
        switch (pairs ? type == NPY_CFLOAT ? NPY_FLOAT : NPY_DOUBLE : type) {
            ADD(NPY_FLOAT, float)
            ADD(NPY_DOUBLE, double)
            ADD(NPY_INT, npy_uint)
            ADD(NPY_LONG, npy_ulong)
        }
    PyObject *sum = PyNumber_InPlaceAdd((PyObject *)total, (PyObject *)value);
    Py_XDECREF(sum);
    return sum == NULL ? -1 : 0;
}
#undef ADD

/* Put the value of a run where the result wants it. */
static int take_stacked(Loop *r, Result *o, PyArrayObject *value) {
    if (o->slot == value)
        return 0;
    if (o->stack == NULL || PyArray_TYPE(o->stack) != PyArray_TYPE(value) || PyArray_NDIM(o->stack) != o->ndim + 1 ||
        !PyArray_CompareLists(PyArray_DIMS(o->stack) + 1, o->shape, o->ndim)) {
        if (r->run > 0 && o->stack != NULL) {
            PyErr_SetString(PyExc_TypeError, "loop: the values of a result have different dtypes");
            return -1;
        }
        if (make_stack(r, o, PyArray_TYPE(value)) < 0)
            return -1;
    }
    if (o->slot == NULL) {
        if (view_row(r, o->stack, r->row, &o->views[0]) < 0)
            return -1;
        o->slot = o->views[0];
    }
    return PyArray_CopyInto(o->slot, value);
}

static int take(Loop *r, int k) {
    Result *o = &r->results[k];
    PyObject *value = r->f->registers[o->reg];
    PyArrayObject *array = (PyArrayObject *)value;
    if (value == NULL || (o->kind != LAST && !PyArray_Check(value))) {
        PyErr_Format(PyExc_TypeError, "loop: the value of result %d is no array", k);
        return -1;
    }
    if (o->known && PyArray_Check(value) && !has_shape(o, array))
        return raise_mismatch(r, k, array);
    if (!o->known && o->kind != LAST)
        set_shape(o, array);
    switch (o->kind) {
    case STACK: return take_stacked(r, o, array);
    case SUM:
        if (o->value != NULL)
            return add((PyArrayObject *)o->value, array);
        o->value = PyArray_NewCopy(array, NPY_KEEPORDER);
        return o->value == NULL ? -1 : 0;
    default:
        if (k >= r->states)
            Py_XSETREF(o->value, Py_NewRef(value));
        return 0;
    }
}

/* The results of the first outputs are the states of the next run. Where the store holds the array, it does so for the
 * register of the state from now on, and what it held for that is the buffer of the next result. */
static void hand_on(Loop *r) {
    Machine *m = r->m;
    for (int j = 0; j < r->states; j++) {
        Result *o = &r->results[j];
        PyObject *value = o->kind == STACK ? (PyObject *)o->slot : r->f->registers[o->reg];
        int to = m->inputs[r->rows + j].reg, from = r->f->home[o->reg];
        r->state[j] = Py_NewRef(value);
        if (from >= 0 && from != to && m->buffers[from] == value && m->buffers[to] != value)
            buffers_swap(m, from, to);
        r->home[j] = m->buffers[to] == value ? to : -1;
    }
}

#define LONGEST_PAUSE 1024
#define SWITCH_SECONDS 0.005

/* Now and then, let other threads have the GIL. The clock is read after some runs only, where these are short. */
void loop_yield(Loop *r) {
    if (++r->waited < r->pause)
        return;
    double now = profile_clock(), spent = now - r->looked;
    if (now - r->yielded > SWITCH_SECONDS) {
        Py_BEGIN_ALLOW_THREADS;
        Py_END_ALLOW_THREADS;
        r->yielded = now = profile_clock();
    }
    if (spent < SWITCH_SECONDS / 20 && r->pause < LONGEST_PAUSE)
        r->pause *= 2;
    else if (spent > SWITCH_SECONDS / 5 && r->pause > 1)
        r->pause /= 2;
    r->looked = now;
    r->waited = 0;
}

/* Run once. Returns 1 to go on, 0 when that was the last run, -1 with an exception. */
static int run_once(Loop *r) {
    Machine *m = r->m;
    Frame *f = r->f;
    double begin = m->profile == NULL ? 0 : profile_clock(), run_seconds = 0;
    if (m->retained != NULL && f == &m->frame)
        retained_drop(m);
    if (load(r) < 0 || PyErr_CheckSignals() < 0)
        return -1;
    double started = begin == 0 ? 0 : profile_clock();
    int status = machine_execute(m, f), more = 1;
    if (begin != 0)
        run_seconds = profile_clock() - started;
    for (int k = 0; status == 0 && k < r->n_results; k++)
        status = take(r, k);
    if (status == 0) {
        hand_on(r);
        if (r->until)
            more = PyObject_IsTrue(f->registers[m->outputs[r->n_results]]);
        if (more < 0 || (m->n_updates > 0 && updates_store(m, f) < 0))
            status = -1;
    }
    if (m->retained != NULL && f == &m->frame)
        retained_store(m, f);
    for (int k = 0; k < r->n_results; k++)
        r->slots[r->results[k].reg] = NULL;
    frame_release_all(m, f);
    if (begin != 0)
        profile_call(m, begin, run_seconds);
    return status < 0 ? -1 : r->until ? !more : 1;
}

/* Say in the exception that is set at which run it happened. */
static void note_run(const Loop *r) {
    PyObject *error = error_take();
    if (error != NULL && PyErr_GivenExceptionMatches(error, PyExc_Exception)) {
        PyObject *text = PyUnicode_FromFormat("  in step %zd of a loop of %zd, counted from 0", r->run, r->runs);
        PyObject *answer = text == NULL ? NULL : PyObject_CallMethod(error, "add_note", "O", text);
        Py_XDECREF(text);
        Py_XDECREF(answer);
        PyErr_Clear();
    }
    if (error != NULL)
        error_set(error);
}

/* What has become of the values, as (runs done, list). A new reference. */
static PyObject *collect(Loop *r) {
    PyObject *found = PyList_New(r->n_results);
    for (int k = 0; found != NULL && k < r->n_results; k++) {
        Result *o = &r->results[k];
        PyObject *value = o->kind == STACK                   ? (PyObject *)o->stack
                          : o->kind == LAST && k < r->states ? r->state[k]
                                                             : o->value;
        PyList_SET_ITEM(found, k, Py_NewRef(value));
    }
    return found == NULL ? NULL : Py_BuildValue("nN", r->run, found);
}

static PyObject *run_all(Loop *r) {
    int more = 1;
    while (more > 0 && r->run < r->runs) {
        r->row = r->backwards ? r->runs - 1 - r->run : r->run;
        more = run_once(r);
        if (more >= 0)
            r->run++;
        loop_yield(r);
        if (more > 0 && r->run == 1)
            more = loop_kernel(r);
    }
    if (more >= 0)
        return collect(r);
    note_run(r);
    return NULL;
}

static void clear(Loop *r) {
    for (int k = 0; r->views != NULL && k < r->rows; k++)
        Py_CLEAR(r->views[k]);
    for (int k = 0; r->fixed != NULL && k < r->m->n_inputs; k++)
        Py_CLEAR(r->fixed[k]);
    for (int j = 0; r->state != NULL && j < r->states; j++)
        Py_CLEAR(r->state[j]);
    for (int k = 0; r->results != NULL && k < r->n_results; k++) {
        Result *o = &r->results[k];
        Py_CLEAR(o->views[0]);
        Py_CLEAR(o->views[1]);
        Py_CLEAR(o->stack);
        Py_CLEAR(o->value);
        Py_CLEAR(o->spare);
    }
    PyMem_Free(r->views);
    PyMem_Free(r->fixed);
    PyMem_Free(r->state);
    PyMem_Free(r->home);
    PyMem_Free(r->results);
    PyMem_Free(r->slots);
}

static int allocate(Loop *r) {
    r->views = PyMem_Calloc(r->rows + 1, sizeof *r->views);
    r->fixed = PyMem_Calloc(r->m->n_inputs + 1, sizeof *r->fixed);
    r->state = PyMem_Calloc(r->states + 1, sizeof *r->state);
    r->home = PyMem_Calloc(r->states + 1, sizeof *r->home);
    r->results = PyMem_Calloc(r->n_results + 1, sizeof *r->results);
    r->slots = PyMem_Calloc(r->m->n_registers + 1, sizeof *r->slots);
    if (r->views == NULL || r->fixed == NULL || r->state == NULL || r->home == NULL || r->results == NULL ||
        r->slots == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    return 0;
}

/* Method `repeat(runs, values, rows, states, kinds, until, backwards, raise_mismatch, whole)`: the program's inputs
 * are rows of the first values, states that start as the next ones, and the other values as they are; its
 * outputs are the new states, further results, and with `until` the truth value that ends the loop.
 * `raise_mismatch(result, row, shape, wanted)` makes the exception for a changed shape. `whole` is the address
 * of code for all steps, or 0. Returns how many runs were done, and the list of results. */
static PyObject *run_loop(Machine *m, PyObject *args) {
    Loop r = {.m = m, .pause = 1};
    PyObject *kinds, *result = NULL;
    unsigned long long whole;
    if (!PyArg_ParseTuple(args, "nO!iiO!ppOK", &r.runs, &PyTuple_Type, &r.given, &r.rows, &r.states, &PyTuple_Type,
                          &kinds, &r.until, &r.backwards, &r.raise_mismatch, &whole))
        return NULL;
    r.whole = (uintptr_t)whole;
    r.n_results = (int)PyTuple_GET_SIZE(kinds);
    if (PyTuple_GET_SIZE(r.given) != m->n_inputs || r.rows < 0 || r.states < 0 || r.rows + r.states > m->n_inputs ||
        r.states > r.n_results || r.n_results + r.until != m->n_outputs || r.runs < 1) {
        PyErr_SetString(PyExc_ValueError, "loop: the program has other inputs or outputs, or there is nothing to run");
        return NULL;
    }
    Frame extra, *f = NULL;
    if (allocate(&r) == 0 && (r.f = f = frame_begin(m, &extra)) != NULL) {
        r.looked = r.yielded = profile_clock();
        f->slots = r.slots;
        if (begin(&r, kinds) == 0)
            result = run_all(&r);
        f->slots = NULL;
        frame_end(m, f, &extra);
    }
    clear(&r);
    return result;
}

PyObject *machine_run_loop(PyObject *self, PyObject *args) {
    PyObject *result;
    MACHINE_BEGIN(self);
    result = run_loop((Machine *)self, args);
    MACHINE_END();
    return result;
}
