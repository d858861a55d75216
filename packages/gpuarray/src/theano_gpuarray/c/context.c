/* Contexts: opening and closing, compiling, waiting, and what is counted. */
#include "runtime.h"
#include <stdlib.h>

PyObject *properties_dict(const Properties *p) {
    return Py_BuildValue("{ss ss ss ss ss si si sL sL sL sL sL sL sO sO sO sO}", "name", p->name, "vendor", p->vendor,
                         "version", p->version, "arch", p->arch, "place", p->place, "platform", p->platform, "number",
                         p->number, "max_local", (long long)p->max_local, "local_memory", (long long)p->local_memory,
                         "memory", (long long)p->memory, "max_buffer", (long long)p->max_buffer, "units",
                         (long long)p->units, "warp", (long long)p->warp, "doubles", p->doubles ? Py_True : Py_False,
                         "halves", p->halves ? Py_True : Py_False, "long_atomics", p->long_atomics ? Py_True : Py_False,
                         "cpu", p->cpu ? Py_True : Py_False);
}

PyObject *context_open(DriverObject *driver, int index, const Options *options, int64_t preallocate) {
    ContextObject *c = PyObject_New(ContextObject, &ContextType);
    if (c == NULL)
        return NULL;
    memset((char *)c + sizeof(PyObject), 0, sizeof *c - sizeof(PyObject));
    Failure failure = {0};
    int result;
    c->driver = (DriverObject *)Py_NewRef(driver);
    c->table = driver->table;
    c->index = index;
    c->era = fork_era;
    pthread_mutex_init(&c->lock, NULL);
    staging_open(&c->staging, &c->submitted, &c->finished);
    reply_open(&c->reply);
    Py_BEGIN_ALLOW_THREADS;
    result = c->table->properties(driver->state, index, &c->properties, &failure);
    if (result == 0)
        result = c->table->context_open(driver->state, index, options, &c->context, &failure);
    pool_open(&c->pool, c->table, c->context, &c->properties, preallocate >= 0);
    if (result == 0 && preallocate > 0)
        pool_preallocate(&c->pool, (size_t)preallocate);
    Py_END_ALLOW_THREADS;
    if (result < 0) {
        c->context = NULL;
        Py_DECREF(c);
        raise_failure(&failure);
        return NULL;
    }
    return (PyObject *)c;
}

static void context_dealloc(PyObject *self) {
    ContextObject *c = (ContextObject *)self;
    if (c->context != NULL && c->era == fork_era) {
        Failure failure = {0};
        Py_BEGIN_ALLOW_THREADS;
        c->table->synchronize(c->context, &failure);
        staging_close(&c->staging, c->table, c->context);
        reply_close(&c->reply, c->table, c->context);
        pool_close(&c->pool);
        c->table->context_close(c->context);
        pthread_mutex_destroy(&c->lock);
        Py_END_ALLOW_THREADS;
        failure_clear(&failure);
    }
    interface_free(c->interface);
    Py_DECREF(c->driver);
    PyObject_Free(self);
}

int context_synchronize(ContextObject *c) {
    Failure failure = {0};
    long long number = atomic_load(&c->submitted);
    int result;
    Py_BEGIN_ALLOW_THREADS;
    result = c->table->synchronize(c->context, &failure);
    Py_END_ALLOW_THREADS;
    if (result < 0)
        return raise_failure(&failure);
    mark_finished(c, number);
    return 0;
}

static PyObject *synchronize(PyObject *self, PyObject *unused) {
    ContextObject *c = (ContextObject *)self;
    (void)unused;
    if (check_process(c->era) < 0 || context_synchronize(c) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *allocate(PyObject *self, PyObject *size) {
    ContextObject *c = (ContextObject *)self;
    Py_ssize_t bytes = PyNumber_AsSsize_t(size, PyExc_OverflowError);
    if ((bytes == -1 && PyErr_Occurred()) || check_process(c->era) < 0)
        return NULL;
    return buffer_allocate(c, bytes);
}

static PyObject *wrap(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"address", "nbytes", "owner", NULL};
    ContextObject *c = (ContextObject *)self;
    unsigned long long address;
    PyObject *number, *owner;
    Py_ssize_t bytes;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OnO:wrap", names, &number, &bytes, &owner) ||
        check_process(c->era) < 0)
        return NULL;
    address = PyLong_AsUnsignedLongLong(number);
    if (address == (unsigned long long)-1 && PyErr_Occurred())
        return NULL;
    return buffer_wrap(c, (Address)address, bytes, owner);
}

static PyObject *compile_text(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"text", "options", NULL};
    ContextObject *c = (ContextObject *)self;
    const char *text, *options = "";
    unsigned char *binary = NULL;
    size_t bytes = 0;
    Failure failure = {0};
    int result;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s|s:compile", names, &text, &options) || check_process(c->era) < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    result = c->table->compile(c->context, text, options, &binary, &bytes, &failure);
    Py_END_ALLOW_THREADS;
    if (result < 0) {
        raise_failure(&failure);
        return NULL;
    }
    atomic_fetch_add(&c->compilations, 1);
    PyObject *made = PyBytes_FromStringAndSize((char *)binary, (Py_ssize_t)bytes);
    free(binary);
    return made;
}

static PyObject *load(PyObject *self, PyObject *binary) {
    ContextObject *c = (ContextObject *)self;
    return check_process(c->era) < 0 ? NULL : module_load(c, binary);
}

static PyObject *statistics(PyObject *self, PyObject *unused) {
    ContextObject *c = (ContextObject *)self;
    Pool *p = &c->pool;
    (void)unused;
    if (check_process(c->era) < 0)
        return NULL;
    pthread_mutex_lock(&p->lock);
    long long in_use = p->in_use, pooled = p->pooled, peak = p->peak, buffers = p->buffers, asked = p->allocations;
    pthread_mutex_unlock(&p->lock);
    return Py_BuildValue("{sL sL sL sL sL sL sL sL sL sL}", "in_use", in_use, "pooled", pooled, "peak", peak, "buffers",
                         buffers, "allocations", asked, "launches", atomic_load(&c->launches), "writes",
                         atomic_load(&c->writes), "reads", atomic_load(&c->reads), "copies", atomic_load(&c->copies),
                         "compilations", atomic_load(&c->compilations));
}

static PyObject *trim(PyObject *self, PyObject *unused) {
    ContextObject *c = (ContextObject *)self;
    (void)unused;
    if (check_process(c->era) < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    pool_trim(&c->pool);
    Py_END_ALLOW_THREADS;
    Py_RETURN_NONE;
}

static PyObject *sizes_tuple(const size_t *sizes, int count) {
    PyObject *tuple = PyTuple_New(count);
    for (int d = 0; tuple != NULL && d < count; d++) {
        PyObject *size = PyLong_FromSize_t(sizes[d]);
        if (size == NULL)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, d, size);
    }
    return tuple;
}

static PyObject *value_object(char letter, const Value *value) {
    switch (letter) {
    case 'q': return PyLong_FromLongLong(value->q);
    case 'b':
    case 'B':
    case 'h':
    case 'H':
    case 'i': return PyLong_FromLong(value->i);
    case 'I': return PyLong_FromUnsignedLong(value->I);
    case 'f': return PyFloat_FromDouble((double)value->f);
    case 'd': return PyFloat_FromDouble(value->d);
    default: return PyLong_FromSize_t((size_t)value->P);
    }
}

static PyObject *record_object(const Record *r) {
    const Launch *l = &r->launch;
    if (strcmp(r->what, "fill") == 0)
        return Py_BuildValue("sni", r->what, (Py_ssize_t)r->bytes, r->value);
    if (l->name == NULL)
        return Py_BuildValue("sn", r->what, (Py_ssize_t)r->bytes);
    PyObject *values = PyTuple_New(l->count);
    for (int k = 0; values != NULL && k < l->count; k++) {
        PyObject *value = value_object(l->parameters[k], &l->values[k]);
        if (value == NULL)
            Py_CLEAR(values);
        else
            PyTuple_SET_ITEM(values, k, value);
    }
    if (values == NULL)
        return NULL;
    return Py_BuildValue("ssNNNn", r->what, l->name, sizes_tuple(l->groups, l->dimensions),
                         sizes_tuple(l->local, l->dimensions), values, (Py_ssize_t)l->shared);
}

static PyObject *recorded(PyObject *self, PyObject *unused) {
    ContextObject *c = (ContextObject *)self;
    PyObject *list = check_process(c->era) < 0 ? NULL : PyList_New(0);
    Record r;
    (void)unused;
    while (list != NULL && c->table->recorded != NULL && c->table->recorded(c->context, &r)) {
        PyObject *item = record_object(&r);
        if (item == NULL || PyList_Append(list, item) < 0)
            Py_CLEAR(list);
        Py_XDECREF(item);
        free((char *)r.launch.name);
        free((char *)r.launch.parameters);
        free(r.launch.values);
    }
    return list;
}

/* Make the context the current one, or undo that. */
static PyObject *change_current(ContextObject *c, int (*change)(void *, Failure *)) {
    Failure failure = {0};
    if (check_process(c->era) < 0)
        return NULL;
    if (change != NULL && change(c->context, &failure) < 0) {
        raise_failure(&failure);
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *push(PyObject *self, PyObject *unused) {
    (void)unused;
    return change_current((ContextObject *)self, ((ContextObject *)self)->table->push);
}

static PyObject *pop(PyObject *self, PyObject *unused) {
    (void)unused;
    return change_current((ContextObject *)self, ((ContextObject *)self)->table->pop);
}

static PyObject *get_driver(PyObject *self, void *unused) {
    (void)unused;
    return Py_NewRef(((ContextObject *)self)->driver);
}

static PyObject *get_index(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromLong(((ContextObject *)self)->index);
}

static PyObject *get_handle(PyObject *self, void *second) {
    const ContextObject *c = (ContextObject *)self;
    uintptr_t handle, queue;
    if (check_process(c->era) < 0)
        return NULL;
    c->table->handles(c->context, &handle, &queue);
    return PyLong_FromSize_t(second == NULL ? handle : queue);
}

static PyMethodDef methods[] = {
    {"allocate", allocate, METH_O, "Return memory of the pool."},
    {"wrap", (PyCFunction)(void (*)(void))wrap, METH_VARARGS | METH_KEYWORDS,
     "Return memory that somebody else owns, who is kept alive."},
    {"compile", (PyCFunction)(void (*)(void))compile_text, METH_VARARGS | METH_KEYWORDS,
     "Compile text; return what `load` takes."},
    {"load", load, METH_O, "Load what `compile` returned."},
    {"launch", (PyCFunction)(void (*)(void))context_launch, METH_VARARGS | METH_KEYWORDS,
     "Put a launch into the queue."},
    {"product", context_product, METH_VARARGS, "Compute products by a library; False where there is none."},
    {"plan_convolution", context_plan, METH_VARARGS, "Choose the algorithm of a convolution by a library."},
    {"convolve", context_convolve, METH_VARARGS, "Compute a convolution by a library."},
    {"workspace", context_workspace, METH_VARARGS,
     "Return the bytes that an operation of a library works in; None where there is no such operation."},
    {"call", context_call, METH_VARARGS, "Put an operation of a library into the queue."},
    {"synchronize", synchronize, METH_NOARGS, "Wait until the queue is empty."},
    {"statistics", statistics, METH_NOARGS, "Return what has been counted."},
    {"trim", trim, METH_NOARGS, "Give memory of the pool that nobody uses back to the driver."},
    {"recorded", recorded, METH_NOARGS, "Return and forget what the null driver was asked to do."},
    {"push", push, METH_NOARGS, "Make the context the current one of the thread (CUDA)."},
    {"pop", pop, METH_NOARGS, "Undo `push`."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef attributes[] = {
    {"driver", get_driver, NULL, "The driver.", NULL},
    {"index", get_index, NULL, "Which device of the driver.", NULL},
    {"handle", get_handle, NULL, "The CUcontext or cl_context, as a number.", NULL},
    {"queue", get_handle, NULL, "The CUstream or cl_command_queue, as a number.", (void *)1},
    {NULL, NULL, NULL, NULL, NULL}};

PyTypeObject ContextType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "theano_gpuarray._device.Context",
    .tp_doc = "A device with its queue, its pool of memory and its modules.",
    .tp_basicsize = sizeof(ContextObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_dealloc = context_dealloc,
    .tp_methods = methods,
    .tp_getset = attributes,
};
