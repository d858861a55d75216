/* Batches: many calls of one machine by one thread, during which other threads have the GIL.
 *
 * With the GIL, the arguments of all calls are accepted and arrays for their results are made. Then the calls run
 * without it: all arrays in registers are private, which means that no other thread refers to them. Arguments,
 * constants and values of shared variables are therefore arrays of the machine's own over the memory of others. That
 * memory is kept alive by the elements of the batch, or by a tuple, which ends the chain of bases. So references can
 * be counted as ever. An instruction that has to make, free or raise something takes the GIL for the rest of its run:
 * in the first call of a shape, as a rule, since buffers and views serve again in the next one.
 */
#include "batch.h"

_Thread_local PyThreadState *gil_let_go;

/* Whether calls may run without the GIL: no code but the runtime's own sees the arrays, and nothing is stored. */
int machine_is_nogil(const Machine *m) {
    if (m->n_updates > 0 || m->n_locks > 0 || m->n_overwrite > 0 || m->schedule != NULL || m->profile != NULL ||
        m->retained != NULL)
        return 0;
    for (int i = 0; i < m->n_inputs; i++)
        if (m->inputs[i].type_num < 0)
            return 0;
    for (int k = 0; k < m->n_constants; k++)
        if (!PyArray_CheckExact(m->constants[k].cell))
            return 0;
    for (int i = 0; i < m->n_instructions; i++)
        if (shows_operands(m->instructions[i].code) && m->instructions[i].code != CODE_copy)
            return 0;
    return 1;
}

/* ---- private arrays */

/* An array of our own over the memory of another. */
static PyObject *private_array(PyObject *value) {
    PyArrayObject *array = (PyArrayObject *)value;
    PyArray_Descr *descr = PyArray_DESCR(array);
    Py_INCREF(descr);
    PyObject *made = PyArray_NewFromDescr(&PyArray_Type, descr, PyArray_NDIM(array), PyArray_DIMS(array),
                                          PyArray_STRIDES(array), PyArray_DATA(array), 0, NULL);
    PyObject *owner = made == NULL ? NULL : PyTuple_Pack(1, value);
    if (owner == NULL || PyArray_SetBaseObject((PyArrayObject *)made, owner) < 0)
        Py_CLEAR(made);
    return made;
}

/* Let go of what a kept view shows. */
void view_leave(PyArrayObject *view) {
    PyArrayObject_fields *fields = (PyArrayObject_fields *)view;
    PyObject *base = fields->base;
    fields->base = NULL;
    if (base != NULL && Py_REFCNT(base) == 1)
        gil_take();
    Py_XDECREF(base);
}

/* Let the view that a register had in the last call show something else. Returns 0 where it does not serve. */
static int view_again(PyArrayObject *view, PyArrayObject *array, int ndim, const npy_intp *shape,
                      const npy_intp *strides, char *data) {
    PyArrayObject_fields *fields = (PyArrayObject_fields *)view;
    if (Py_REFCNT(view) != 1 || fields->base != NULL || PyArray_NDIM(view) != ndim ||
        PyArray_DESCR(view) != PyArray_DESCR(array))
        return 0;
    npy_intp step = PyArray_ITEMSIZE(array);
    for (int d = ndim - 1; d >= 0; d--) {
        PyArray_DIMS(view)[d] = shape[d];
        PyArray_STRIDES(view)[d] = strides == NULL ? step : strides[d];
        step *= shape[d];
    }
    fields->data = data;
    fields->base = Py_NewRef(owner_of((PyObject *)array));
    fields->flags = (fields->flags & ~NPY_ARRAY_WRITEABLE) | (PyArray_FLAGS(array) & NPY_ARRAY_WRITEABLE);
    PyArray_UpdateFlags(view, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS | NPY_ARRAY_ALIGNED);
    return 1;
}

/* Put a view of an array into a register; without strides, its elements follow each other. Borrowed. The base is the
 * owner itself, not a view in between: the reference count of the owner then tells the truth. */
PyArrayObject *view_make(Machine *m, Frame *f, int reg, PyArrayObject *array, int ndim, const npy_intp *shape,
                         const npy_intp *strides, char *data) {
    PyObject **kept = m->batches == NULL ? NULL : &m->batches->views[reg];
    if (kept != NULL && *kept != NULL && view_again((PyArrayObject *)*kept, array, ndim, shape, strides, data)) {
        frame_set(f, reg, Py_NewRef(*kept));
        f->home[reg] = KEPT_VIEW;
        return (PyArrayObject *)*kept;
    }
    gil_take();
    PyArray_Descr *descr = PyArray_DESCR(array);
    Py_INCREF(descr);
    PyArrayObject *view =
        (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, descr, ndim, (npy_intp *)shape, (npy_intp *)strides, data,
                                              PyArray_FLAGS(array) & NPY_ARRAY_WRITEABLE, NULL);
    if (view == NULL)
        return NULL;
    if (PyArray_SetBaseObject(view, Py_NewRef(owner_of((PyObject *)array))) < 0) {
        Py_DECREF(view);
        return NULL;
    }
    frame_set(f, reg, (PyObject *)view);
    if (kept != NULL) {
        Py_XSETREF(*kept, Py_NewRef((PyObject *)view));
        f->home[reg] = KEPT_VIEW;
    }
    return view;
}

/* ---- what a machine keeps for its batches */

void batches_free(Machine *m) {
    Batches *b = m->batches;
    if (b == NULL)
        return;
    for (int r = 0; b->views != NULL && r < m->n_registers; r++)
        Py_CLEAR(b->views[r]);
    arguments_free(m, b);
    batch_results_clear(m);
    PyMem_Free(b->views);
    PyMem_Free(b->left);
    PyMem_Free(b->guesses);
    PyMem_Free(b->slots);
    PyMem_Free(b);
    m->batches = NULL;
}

/* Note which registers a call leaves to be emptied: the other ones hold constants, or an instruction releases them. */
static int left_note(const Machine *m, Batches *b) {
    signed char *is_released = PyMem_Calloc(m->n_registers + 1, 1);
    b->left = PyMem_Calloc(m->n_registers + 1, sizeof *b->left);
    if (is_released != NULL && b->left != NULL) {
        for (int i = 0; i < m->n_instructions; i++)
            for (int k = 0; k < m->instructions[i].n_release; k++)
                is_released[m->instructions[i].release[k]] = 1;
        for (int k = 0; k < m->n_variables; k++)
            if (!is_released[m->variables[k]])
                b->left[b->n_left++] = m->variables[k];
    }
    PyMem_Free(is_released);
    return is_released == NULL || b->left == NULL ? -1 : 0;
}

static int batches_setup(Machine *m) {
    Batches *b = m->batches = PyMem_Calloc(1, sizeof *b);
    if (b != NULL) {
        b->views = PyMem_Calloc(m->n_registers + 1, sizeof *b->views);
        b->guesses = PyMem_Calloc(m->n_outputs + 1, sizeof *b->guesses);
        b->slots = PyMem_Calloc(m->n_registers + 1, sizeof *b->slots);
    }
    if (b == NULL || b->views == NULL || b->guesses == NULL || b->slots == NULL || left_note(m, b) < 0) {
        batches_free(m);
        PyErr_NoMemory();
        return -1;
    }
    if (arguments_setup(m, b) < 0) {
        batches_free(m);
        return -1;
    }
    b->serves = m->n_outputs > 0;
    for (int k = 0; k < m->n_outputs; k++) {
        b->guesses[k].type_num = -1;
        for (int same = 0; same < k; same++)
            b->serves &= m->outputs[same] != m->outputs[k];
    }
    for (int k = 0; k < m->n_constants; k++) {
        PyObject *own = private_array(m->constants[k].cell);
        if (own == NULL) {
            batches_free(m);
            return -1;
        }
        Py_SETREF(m->constants[k].cell, own);
        frame_set(&m->frame, m->constants[k].reg, Py_NewRef(own));
    }
    return 0;
}

/* ---- with the GIL: before and after */

/* Returns 0 where the value of a shared variable is not an array. */
static int read_cells(Calls *c) {
    Machine *m = c->m;
    if (cells_read(m, c->f) < 0)
        return -1;
    for (int k = 0; k < m->n_cells; k++) {
        PyObject *value = c->f->registers[m->cells[k].reg];
        if (!PyArray_CheckExact(value))
            return 0;
        if ((c->cells[k] = private_array(value)) == NULL)
            return -1;
        frame_set(c->f, m->cells[k].reg, NULL);
    }
    return 1;
}

/* ---- without the GIL */

/* Take a result out of its register: that in its slot, or the machine's array, which another replaces then. What shows
 * other memory is copied. */
static int take_result(Calls *c, Py_ssize_t i, int k) {
    Machine *m = c->m;
    PyObject **place = &c->results[i * m->n_outputs + k], *value = c->f->registers[m->outputs[k]];
    PyArrayObject *array = (PyArrayObject *)value;
    Guess *g = &m->batches->guesses[k];
    if (value == *place)
        return 0;
    gil_take();
    if (value == NULL || !PyArray_Check(value)) {
        PyErr_SetString(PyExc_SystemError, "run_batch: a result is no array");
        return -1;
    }
    g->type_num = PyArray_TYPE(array);
    g->ndim = PyArray_NDIM(array);
    g->fortran = is_fortran_only(array);
    for (int d = 0; d < g->ndim; d++)
        g->shape[d] = PyArray_DIM(array, d);
    PyObject *own = buffer_is_plain(array) ? Py_NewRef(value) : PyArray_NewCopy(array, NPY_KEEPORDER);
    Py_XSETREF(*place, own);
    return own == NULL ? -1 : 0;
}

static int run_call(Calls *c, Py_ssize_t i) {
    Machine *m = c->m;
    Frame *f = c->f;
    int status = arguments_show(c, i);
    for (int k = 0; k < m->n_cells; k++)
        frame_set(f, m->cells[k].reg, Py_NewRef(c->cells[k]));
    for (int k = 0; k < m->n_outputs; k++)
        m->batches->slots[m->outputs[k]] = (PyArrayObject *)c->results[i * m->n_outputs + k];
    f->slots = m->batches->slots;
    status = status < 0 ? status : machine_execute_in_batch(m, f);
    f->slots = NULL;
    for (int k = 0; status == 0 && k < m->n_outputs; k++)
        status = take_result(c, i, k);
    for (int k = 0; k < m->batches->n_left; k++)
        frame_set(f, m->batches->left[k], NULL);
    return status;
}

static Py_ssize_t run_calls(Calls *c) {
    Py_ssize_t done = 0;
    while (done < c->count && run_call(c, done) == 0)
        done++;
    gil_take();
    return done;
}

/* ---- the method */

static void set_error(PyObject **error) {
    PyObject *raised = error_take();
    Py_XSETREF(*error, raised);
}

/* Calls one by one, for a machine that is in use or cannot let the GIL go. */
static void call_each(Machine *m, PyObject *elements, PyObject *regular, PyObject *found) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(elements); i++) {
        PyObject *element = PyList_GET_ITEM(elements, i), *made;
        PyObject *const *values = values_of(m, &element, regular, &made);
        PyObject *result = values == NULL ? NULL : call_with(m, values, 0);
        Py_XDECREF(made);
        if (result == NULL)
            return;
        int failed = PyList_Append(found, result) < 0;
        Py_DECREF(result);
        if (failed)
            return;
    }
}

static void clear(Calls *c, Py_ssize_t most) {
    const Machine *m = c->m;
    for (Py_ssize_t i = 0; c->results != NULL && i < most * m->n_outputs; i++)
        Py_XDECREF(c->results[i]);
    for (int k = 0; c->cells != NULL && k < m->n_cells; k++)
        Py_XDECREF(c->cells[k]);
    Py_XDECREF(c->kept);
    PyMem_Free(c->arguments);
    PyMem_Free(c->results);
    PyMem_Free(c->cells);
    PyMem_Free(c->served);
}

/* Returns 0 where the calls have to be made one by one. An exception may be left set after some results. */
static int run_quietly(Calls *c, PyObject *elements, Py_ssize_t most, PyObject *found, PyObject **error) {
    Machine *m = c->m;
    Py_ssize_t done = 0;
    int possible = 1;
    c->arguments = PyMem_Calloc(most + 1, m->batches->argument_bytes + 1);
    c->results = PyMem_Calloc(most * m->n_outputs + 1, sizeof *c->results);
    c->cells = PyMem_Calloc(m->n_cells + 1, sizeof *c->cells);
    c->served = PyMem_Calloc(most + 1, sizeof *c->served);
    if (c->arguments == NULL || c->results == NULL || c->cells == NULL || c->served == NULL)
        PyErr_NoMemory();
    else if ((possible = read_cells(c)) > 0) {
        accept_elements(c, elements, most);
        if (PyErr_Occurred())
            set_error(error);
        if (results_make(c) == 0)
            done = run_calls(c);
    }
    if (PyErr_Occurred())
        set_error(error); /* that of an earlier call */
    for (Py_ssize_t i = 0; i < done; i++) {
        PyObject *result = results_of(c, i);
        if (result == NULL || PyList_Append(found, result) < 0) {
            Py_XDECREF(result);
            set_error(error);
            break;
        }
        Py_DECREF(result);
    }
    clear(c, most);
    return possible != 0;
}

/* A list of the elements, or the array whose rows they are; nobody else changes either. */
static PyObject *elements_of(const Machine *m, PyObject *given) {
    if (PyList_CheckExact(given))
        return PyList_GetSlice(given, 0, PyList_GET_SIZE(given));
    if (PyArray_CheckExact(given) && PyArray_NDIM((PyArrayObject *)given) > 0)
        return rows_fit(m, given) ? Py_NewRef(given) : PySequence_List(given);
    PyErr_SetString(PyExc_TypeError, "run_batch() needs a list of elements or an array of them");
    return NULL;
}

/* Method `run_batch(elements, regular=None)`: a call for each element, which is a tuple of arguments, or the one
 * argument as an array or a number; `regular` makes the tuple of any other. Returns the list of results and None, or
 * those before the first call that failed and its exception. */
static PyObject *run_batch(Machine *m, PyObject *given, PyObject *regular) {
    PyObject *found, *error = NULL, *elements = elements_of(m, given);
    if (elements == NULL)
        return NULL;
    found = PyList_New(0);
    int alone = found != NULL && !m->frame.busy && machine_is_nogil(m) && (m->batches != NULL || batches_setup(m) == 0);
    if (alone) {
        Calls c = {.m = m, .f = &m->frame, .regular = regular};
        Py_ssize_t most =
            PyList_CheckExact(elements) ? PyList_GET_SIZE(elements) : PyArray_DIM((PyArrayObject *)elements, 0);
        c.f->busy = m->in_batch = 1;
        alone = run_quietly(&c, elements, most, found, &error);
        frame_release_all(m, c.f);
        c.f->busy = m->in_batch = 0;
    }
    if (found != NULL && !alone && !PyErr_Occurred()) {
        if (!PyList_CheckExact(elements))
            Py_SETREF(elements, PySequence_List(elements));
        if (elements != NULL)
            call_each(m, elements, regular, found);
    }
    Py_XDECREF(elements);
    if (PyErr_Occurred())
        set_error(&error);
    if (found == NULL) {
        Py_XDECREF(error);
        return PyErr_NoMemory();
    }
    return Py_BuildValue("NN", found, error == NULL ? Py_NewRef(Py_None) : error);
}

PyObject *machine_run_batch(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    PyObject *result;
    if (nargs < 1 || nargs > 2) {
        PyErr_Format(PyExc_TypeError, "run_batch() takes 1 or 2 arguments, got %zd", nargs);
        return NULL;
    }
    MACHINE_BEGIN(self);
    result = run_batch((Machine *)self, args[0], nargs < 2 || args[1] == Py_None ? NULL : args[1]);
    MACHINE_END();
    return result;
}
