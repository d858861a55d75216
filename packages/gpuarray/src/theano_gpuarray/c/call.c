/* Operations of other libraries, as Python describes them: computed at once, or as steps of a list. */
#include "runtime.h"

/* A name, a dtype, and a tuple of numbers. */
static int parse_operation(Call *call, const char *name, const char *dtype, PyObject *numbers) {
    memset(call, 0, sizeof *call);
    PyOS_snprintf(call->name, sizeof call->name, "%s", name);
    PyOS_snprintf(call->dtype, sizeof call->dtype, "%s", dtype);
    call->count = (int)PyTuple_GET_SIZE(numbers);
    if (PyTuple_GET_SIZE(numbers) > MOST_NUMBERS) {
        PyErr_Format(PyExc_ValueError, "%s: an operation has %d numbers at most", name, MOST_NUMBERS);
        return -1;
    }
    for (int k = 0; k < call->count; k++) {
        call->numbers[k] = PyLong_AsLongLong(PyTuple_GET_ITEM(numbers, k));
        if (call->numbers[k] == -1 && PyErr_Occurred())
            return -1;
    }
    return 0;
}

/* (buffer, offset, bytes) */
static int parse_place(Resolver *r, PyObject *given, Place *place) {
    PyObject *buffer;
    Py_ssize_t offset, bytes;
    if (!PyTuple_Check(given) || !PyArg_ParseTuple(given, "Onn:call", &buffer, &offset, &bytes))
        return -1;
    if (offset < 0 || bytes < 0) {
        PyErr_SetString(PyExc_ValueError, "call: offsets and lengths are not negative");
        return -1;
    }
    place->offset = (size_t)offset;
    place->bytes = (size_t)bytes;
    return parse_buffer(r, buffer, offset + bytes, &place->address);
}

int parse_call(Call *call, Resolver *r, PyObject *args) {
    Py_ssize_t count = PyTuple_GET_SIZE(args);
    PyObject *head = PyTuple_GetSlice(args, 0, 3), *numbers;
    const char *name, *dtype;
    int result = head != NULL && PyArg_ParseTuple(head, "ssO!:call", &name, &dtype, &PyTuple_Type, &numbers)
                     ? parse_operation(call, name, dtype, numbers)
                     : -1;
    Py_XDECREF(head);
    if (result == 0 && count - 3 > MOST_PLACES) {
        PyErr_Format(PyExc_ValueError, "%s: an operation has %d arrays at most", call->name, MOST_PLACES);
        result = -1;
    }
    for (Py_ssize_t k = 3; result == 0 && k < count; k++)
        result = parse_place(r, PyTuple_GET_ITEM(args, k), &call->places[call->n_places++]);
    return result;
}

static int run(ContextObject *c, const Call *call, int64_t *workspace) {
    Failure failure = {0};
    int result;
    Py_BEGIN_ALLOW_THREADS;
    pthread_mutex_lock(&c->lock);
    result = workspace != NULL ? c->table->workspace(c->context, call, workspace, &failure)
                               : c->table->call(c->context, call, &failure);
    pthread_mutex_unlock(&c->lock);
    Py_END_ALLOW_THREADS;
    if (result < 0)
        raise_failure(&failure);
    return result;
}

PyObject *context_workspace(PyObject *self, PyObject *args) {
    ContextObject *c = (ContextObject *)self;
    const char *name, *dtype;
    PyObject *numbers;
    int64_t bytes = 0;
    Call call;
    if (!PyArg_ParseTuple(args, "ssO!:workspace", &name, &dtype, &PyTuple_Type, &numbers) ||
        check_process(c->era) < 0 || parse_operation(&call, name, dtype, numbers) < 0)
        return NULL;
    if (c->table->workspace == NULL)
        Py_RETURN_NONE;
    int result = run(c, &call, &bytes);
    if (result < 0)
        return NULL;
    if (result == 0)
        Py_RETURN_NONE;
    return PyLong_FromLongLong(bytes);
}

PyObject *context_call(PyObject *self, PyObject *args) {
    ContextObject *c = (ContextObject *)self;
    Resolver resolver = {.context = c};
    Call call;
    if (check_process(c->era) < 0 || parse_call(&call, &resolver, args) < 0)
        return NULL;
    if (c->table->call == NULL)
        return PyErr_Format(PyExc_ValueError, "the driver %s has no operations of libraries", c->table->name);
    int result = run(c, &call, NULL);
    note_work(c, args);
    if (result < 0)
        return NULL;
    Py_RETURN_NONE;
}
