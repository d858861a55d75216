/* Buffers: device memory, and copies between it and the host. */
#include "runtime.h"
#include <stdlib.h>

static BufferObject *make_buffer(ContextObject *c, Py_ssize_t bytes) {
    if (bytes < 0) {
        PyErr_Format(PyExc_ValueError, "a buffer cannot have %zd bytes", bytes);
        return NULL;
    }
    BufferObject *b = PyObject_New(BufferObject, &BufferType);
    if (b == NULL)
        return NULL;
    b->context = (ContextObject *)Py_NewRef(c);
    b->block = NULL;
    b->owner = NULL;
    b->address = 0;
    b->bytes = (size_t)bytes;
    atomic_init(&b->used, 0);
    atomic_init(&b->shared, 0);
    return b;
}

static int take(ContextObject *c, BufferObject *b, Failure *failure) {
    int result;
    b->block = pool_take_free(&c->pool, b->bytes);
    if (b->block != NULL)
        return 0;
    Py_BEGIN_ALLOW_THREADS;
    result = pool_take(&c->pool, b->bytes, &b->block, failure);
    Py_END_ALLOW_THREADS;
    return result;
}

/* Arrays that nobody reaches, in cycles of references, may hold what is missing. */
static void collect_garbage(void) {
    PyObject *gc = PyImport_ImportModule("gc");
    PyObject *count = gc == NULL ? NULL : PyObject_CallMethod(gc, "collect", NULL);
    if (count == NULL)
        PyErr_WriteUnraisable(gc);
    Py_XDECREF(count);
    Py_XDECREF(gc);
}

PyObject *buffer_allocate(ContextObject *c, Py_ssize_t bytes) {
    BufferObject *b = make_buffer(c, bytes);
    Failure failure = {0};
    if (b == NULL || bytes == 0)
        return (PyObject *)b;
    if (take(c, b, &failure) < 0 && failure.out_of_memory) {
        Failure again = {0};
        collect_garbage();
        if (take(c, b, &again) == 0)
            failure_clear(&failure);
        failure_clear(&again);
    }
    if (b->block == NULL) {
        Py_DECREF(b);
        raise_failure(&failure);
        return NULL;
    }
    b->address = b->block->address;
    return (PyObject *)b;
}

PyObject *buffer_wrap(ContextObject *c, Address address, Py_ssize_t bytes, PyObject *owner) {
    BufferObject *b = make_buffer(c, bytes);
    if (b != NULL) {
        b->address = address;
        b->owner = Py_NewRef(owner);
    }
    return (PyObject *)b;
}

static void note_number(PyObject *arguments, long long number) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments); i++) {
        PyObject *item = PyTuple_GET_ITEM(arguments, i);
        if (Py_IS_TYPE(item, &BufferType))
            atomic_store(&((BufferObject *)item)->used, number);
        else if (PyTuple_CheckExact(item)) /* an operand of a product */
            note_number(item, number);
    }
}

void note_work(ContextObject *c, PyObject *arguments) { note_number(arguments, submitted(c)); }

/* Which streams of others use memory is not known, and they may be gone: all work of the device has to end. While a
 * list is captured the device cannot be waited for, so that this takes its turn with launches. */
static int settle(ContextObject *c) {
    PyObject *error, *type, *traceback;
    Failure failure = {0};
    int result;
    PyErr_Fetch(&type, &error, &traceback);
    Py_BEGIN_ALLOW_THREADS;
    pthread_mutex_lock(&c->lock);
    result = c->table->settle(c->context, &failure);
    pthread_mutex_unlock(&c->lock);
    Py_END_ALLOW_THREADS;
    if (result < 0) {
        raise_failure(&failure);
        PyErr_WriteUnraisable((PyObject *)c);
    }
    PyErr_Restore(type, error, traceback);
    return result;
}

/* What the pool gets back is used again behind work that is in the queue; who owns wrapped memory knows nothing of
 * the queue, so that work has to end first. Memory that others may still use, since nobody could wait for them, is
 * never used again. */
static void let_go(BufferObject *b) {
    ContextObject *c = b->context;
    if (atomic_load(&b->shared) && settle(c) < 0 && b->block != NULL)
        return;
    if (b->block != NULL)
        pool_give(&c->pool, b->block);
    else if (b->owner != NULL && atomic_load(&b->used) > atomic_load(&c->finished)) {
        PyObject *error, *type, *traceback;
        PyErr_Fetch(&type, &error, &traceback);
        if (context_synchronize(c) < 0)
            PyErr_WriteUnraisable(b->owner);
        PyErr_Restore(type, error, traceback);
    }
}

static void buffer_dealloc(PyObject *self) {
    BufferObject *b = (BufferObject *)self;
    if (b->context->era == fork_era)
        let_go(b);
    Py_XDECREF(b->owner);
    Py_DECREF(b->context);
    PyObject_Free(self);
}

int check_range(const BufferObject *b, Py_ssize_t offset, Py_ssize_t bytes, const char *what) {
    if (offset >= 0 && bytes >= 0 && (size_t)offset <= b->bytes && (size_t)bytes <= b->bytes - (size_t)offset)
        return 0;
    PyErr_Format(PyExc_ValueError, "%s: %zd bytes from byte %zd on do not lie within a buffer of %zu bytes", what,
                 bytes, offset, b->bytes);
    return -1;
}

int copy_overlaps(const Copy *copy) {
    size_t a = copy->offset, b = copy->source_offset;
    return copy->target == copy->source && copy->bytes > 0 && a < b + copy->bytes && b < a + copy->bytes;
}

int refuse_overlap(void) {
    PyErr_SetString(PyExc_ValueError, "copy: source and target overlap\n  Hint: copy to another buffer first");
    return -1;
}

/* Check the process, and read the object's memory. */
static int start_transfer(BufferObject *b, PyObject *object, int flags, Py_ssize_t offset, Py_buffer *view,
                          const char *what) {
    if (check_process(b->context->era) < 0 || PyObject_GetBuffer(object, view, flags) < 0)
        return -1;
    if (check_range(b, offset, view->len, what) == 0)
        return 0;
    PyBuffer_Release(view);
    return -1;
}

/* Number the work that was put into the queue; raise what has failed. */
static int end_transfer(BufferObject *b, int result, Failure *failure) {
    atomic_store(&b->used, submitted(b->context));
    return result < 0 ? raise_failure(failure) : 0;
}

/* How a write gets at its source: it waits until that has been read, copies it first, or leaves it to the queue. */
typedef enum { WAIT, STAGE, LEND } WriteKind;

static int write_view(BufferObject *b, Py_ssize_t offset, const Py_buffer *view, WriteKind kind) {
    ContextObject *c = b->context;
    Failure failure = {0};
    int result = 0;
    size_t bytes = (size_t)view->len;
    Py_BEGIN_ALLOW_THREADS;
    if (bytes > 0 && kind != STAGE)
        result = c->table->write(c->context, b->address, (size_t)offset, view->buf, bytes, kind == WAIT, &failure);
    else if (bytes > 0)
        result =
            staging_write(&c->staging, c->table, c->context, b->address, (size_t)offset, view->buf, bytes, &failure);
    Py_END_ALLOW_THREADS;
    if (end_transfer(b, result, &failure) < 0)
        return -1;
    atomic_fetch_add(&c->writes, 1);
    return 0;
}

int buffer_stage(BufferObject *b, Py_ssize_t offset, const Py_buffer *view) {
    return write_view(b, offset, view, STAGE);
}

int buffer_stage_lent(BufferObject *b, Py_ssize_t offset, const Py_buffer *view) {
    return write_view(b, offset, view, b->context->table->reads_sources ? LEND : STAGE);
}

static PyObject *buffer_write(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"offset", "source", "blocking", NULL};
    BufferObject *b = (BufferObject *)self;
    Py_ssize_t offset;
    PyObject *source;
    int blocking = 1;
    Py_buffer view;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "nO|$p:write", names, &offset, &source, &blocking) ||
        start_transfer(b, source, PyBUF_SIMPLE, offset, &view, "write") < 0)
        return NULL;
    int result = write_view(b, offset, &view, blocking ? WAIT : STAGE);
    PyBuffer_Release(&view);
    return result < 0 ? NULL : Py_NewRef(Py_None);
}

int buffer_get(BufferObject *b, size_t offset, void *target, size_t bytes) {
    ContextObject *c = b->context;
    Failure failure = {0};
    int result;
    long long number = atomic_load(&c->submitted);
    Py_BEGIN_ALLOW_THREADS;
    if (bytes > 0)
        result = reply_read(&c->reply, c->table, c->context, target, b->address, offset, bytes, &failure);
    else
        result = c->table->synchronize(c->context, &failure);
    Py_END_ALLOW_THREADS;
    if (result < 0)
        return raise_failure(&failure);
    mark_finished(c, number);
    atomic_fetch_add(&c->reads, 1);
    return 0;
}

int buffer_fetch(BufferObject *b, Py_ssize_t offset, PyObject *target) {
    Py_buffer view;
    if (start_transfer(b, target, PyBUF_WRITABLE, offset, &view, "read") < 0)
        return -1;
    int result = buffer_get(b, (size_t)offset, view.buf, (size_t)view.len);
    PyBuffer_Release(&view);
    return result;
}

static PyObject *buffer_read(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"offset", "target", NULL};
    Py_ssize_t offset;
    PyObject *target;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "nO:read", names, &offset, &target) ||
        buffer_fetch((BufferObject *)self, offset, target) < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* Through memory of the host, a part at a time. */
static int copy_through_host(const ContextObject *to, const ContextObject *from, const Copy *copy, Failure *failure) {
    size_t most = (size_t)16 << 20, size = copy->bytes < most ? copy->bytes : most;
    char *host = malloc(size);
    int result = host == NULL ? failure_set(failure, "there is no memory on the host for a copy") : 0;
    for (size_t done = 0; result == 0 && done < copy->bytes; done += size) {
        size_t part = copy->bytes - done < size ? copy->bytes - done : size;
        result = from->table->read(from->context, host, copy->source, copy->source_offset + done, part, failure);
        if (result == 0)
            result = to->table->write(to->context, copy->target, copy->offset + done, host, part, 1, failure);
    }
    free(host);
    return result;
}

static int copy_between(const ContextObject *to, const ContextObject *from, const Copy *copy, Failure *failure) {
    if (copy->bytes == 0)
        return 0;
    if (to == from)
        return to->table->copy(to->context, copy, failure);
    if (to->table == from->table && to->table->copy_from != NULL)
        return to->table->copy_from(to->context, from->context, copy, failure);
    return copy_through_host(to, from, copy, failure);
}

static PyObject *buffer_copy(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"offset", "source", "source_offset", "nbytes", NULL};
    BufferObject *b = (BufferObject *)self, *source;
    Py_ssize_t offset, source_offset, bytes;
    Failure failure = {0};
    int result;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "nO!nn:copy", names, &offset, &BufferType, &source, &source_offset,
                                     &bytes) ||
        check_process(b->context->era) < 0 || check_process(source->context->era) < 0 ||
        check_range(b, offset, bytes, "copy, target") < 0 || check_range(source, source_offset, bytes, "copy") < 0)
        return NULL;
    Copy copy = {b->address, source->address, (size_t)offset, (size_t)source_offset, (size_t)bytes};
    if (copy_overlaps(&copy)) {
        refuse_overlap();
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS;
    result = copy_between(b->context, source->context, &copy, &failure);
    Py_END_ALLOW_THREADS;
    atomic_store(&b->used, submitted(b->context));
    atomic_store(&source->used, submitted(source->context));
    if (result < 0) {
        raise_failure(&failure);
        return NULL;
    }
    atomic_fetch_add(&b->context->copies, 1);
    Py_RETURN_NONE;
}

int buffer_set(BufferObject *b, size_t offset, size_t bytes, int value) {
    ContextObject *c = b->context;
    const Fill fill = {b->address, offset, bytes, value};
    Failure failure = {0};
    int result = 0;
    Py_BEGIN_ALLOW_THREADS;
    if (bytes > 0)
        result = c->table->fill(c->context, &fill, &failure);
    Py_END_ALLOW_THREADS;
    return end_transfer(b, result, &failure);
}

static PyObject *buffer_fill(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"offset", "nbytes", "value", NULL};
    BufferObject *b = (BufferObject *)self;
    Py_ssize_t offset, bytes;
    unsigned char value;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "nnb:fill", names, &offset, &bytes, &value) ||
        check_process(b->context->era) < 0 || check_range(b, offset, bytes, "fill") < 0 ||
        buffer_set(b, (size_t)offset, (size_t)bytes, value) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *get_context(PyObject *self, void *unused) {
    (void)unused;
    return Py_NewRef(((BufferObject *)self)->context);
}

static PyObject *get_bytes(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromSize_t(((BufferObject *)self)->bytes);
}

static PyObject *get_address(PyObject *self, void *unused) {
    const BufferObject *b = (BufferObject *)self;
    (void)unused;
    return check_process(b->context->era) < 0 ? NULL : PyLong_FromSize_t((size_t)b->address);
}

static PyObject *buffer_share(PyObject *self, PyObject *stream) {
    BufferObject *b = (BufferObject *)self;
    ContextObject *c = b->context;
    unsigned long long handle = stream == Py_None ? 0 : PyLong_AsUnsignedLongLong(stream);
    if (PyErr_Occurred() || check_process(c->era) < 0)
        return NULL;
    if (c->table->share == NULL)
        Py_RETURN_FALSE;
    atomic_store(&b->shared, 1);
    if (stream != Py_None) {
        Failure failure = {0};
        int result;
        Py_BEGIN_ALLOW_THREADS;
        result = c->table->share(c->context, (uintptr_t)handle, &failure);
        Py_END_ALLOW_THREADS;
        if (result < 0)
            return raise_failure(&failure), NULL;
    }
    return Py_NewRef(Py_True);
}

static PyMethodDef methods[] = {
    {"share", buffer_share, METH_O, "Let a stream of somebody else use the memory."},
    {"write", (PyCFunction)(void (*)(void))buffer_write, METH_VARARGS | METH_KEYWORDS,
     "Copy from an object of the buffer protocol."},
    {"read", (PyCFunction)(void (*)(void))buffer_read, METH_VARARGS | METH_KEYWORDS,
     "Wait for the queue, and copy into a writable object of the buffer protocol."},
    {"copy", (PyCFunction)(void (*)(void))buffer_copy, METH_VARARGS | METH_KEYWORDS, "Copy from another buffer."},
    {"fill", (PyCFunction)(void (*)(void))buffer_fill, METH_VARARGS | METH_KEYWORDS, "Set bytes."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef attributes[] = {{"context", get_context, NULL, "The context.", NULL},
                                   {"nbytes", get_bytes, NULL, "How many bytes were asked for.", NULL},
                                   {"address", get_address, NULL, "The CUdeviceptr or cl_mem, as a number.", NULL},
                                   {NULL, NULL, NULL, NULL, NULL}};

PyTypeObject BufferType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "theano_gpuarray._device.Buffer",
    .tp_doc = "A piece of device memory.",
    .tp_basicsize = sizeof(BufferObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_dealloc = buffer_dealloc,
    .tp_methods = methods,
    .tp_getset = attributes,
};
