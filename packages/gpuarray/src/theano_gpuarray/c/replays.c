/* Calls of regions that have been made before: what they need is looked up, allocated, put into the queue and returned
 * without Python code in between.
 *
 * Two calls are the same where the arrays on the device have the same shapes, strides and offsets, and the arrays of
 * the host, as far as they matter, the same shapes or elements. What a call does is told once, by `keep`.
 */
#include "runtime.h"
#include <structmember.h>

enum { MOST_WORDS = 1024, MOST_CALLS = 256, STATUS_WORDS = 4 };
/* What matters of an array on the host: that it is transferred, and its elements. */
enum { MOVED = 1, KEYED = 2 };
/* Where the memory of a list comes from; the same numbers as in region/_recording.py. */
enum { INPUT, OWN, HELD, STATUS };
/* Attributes of arrays. */
enum { BUFFER, DTYPE, SHAPE, STRIDES, OFFSET, CONTEXT, N_SLOTS };
/* Items of what is kept for a call. */
enum { THE_LIST, THE_SOURCES, THE_OUTPUTS, THE_STATUS, THE_EXPLAIN, N_ITEMS };
static const char *const slot_names[] = {"buffer", "dtype", "shape", "strides", "offset", "context"};

typedef struct {
    PyObject ob_base;
    ContextObject *context;
    PyObject *array;           /* the class of arrays on the device */
    Py_ssize_t slots[N_SLOTS]; /* where its objects have their attributes */
    PyObject *array_context;   /* the context that arrays name */
    PyObject *empty;           /* numpy.empty */
    PyObject *calls;           /* a dict */
    PyObject *clean;           /* a list: memory for statuses that holds zeros */
    unsigned char *flags;      /* for each value what matters of it */
    Py_ssize_t n_values;
} ReplaysObject;

static int is_array(const ReplaysObject *r, PyObject *value) {
    return PyObject_TypeCheck(value, (PyTypeObject *)r->array);
}

static PyObject *slot(const ReplaysObject *r, PyObject *array, int which) {
    return *(PyObject **)((char *)array + r->slots[which]);
}

/* Where objects of a class have the attributes that `__slots__` names. */
static int find_slots(ReplaysObject *r) {
    for (int k = 0; k < N_SLOTS; k++) {
        PyObject *found = PyObject_GetAttrString(r->array, slot_names[k]);
        if (found == NULL)
            return -1;
        int fits = Py_IS_TYPE(found, &PyMemberDescr_Type);
        if (fits)
            r->slots[k] = ((PyMemberDescrObject *)found)->d_member->offset;
        Py_DECREF(found);
        if (!fits) {
            PyErr_Format(PyExc_TypeError, "%R keeps `%s` in no slot", r->array, slot_names[k]);
            return -1;
        }
    }
    return 0;
}

/* The key of a call as it grows: numbers, one after the other. */
typedef struct {
    int64_t words[MOST_WORDS];
    Py_ssize_t count;
} Key;

static int add_word(Key *key, int64_t word) {
    if (key->count == MOST_WORDS)
        return 0;
    key->words[key->count++] = word;
    return 1;
}

static int add_numbers(Key *key, PyObject *numbers) {
    if (numbers == NULL || !PyTuple_CheckExact(numbers))
        return 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(numbers); i++) {
        long long number = PyLong_AsLongLong(PyTuple_GET_ITEM(numbers, i));
        if ((number == -1 && PyErr_Occurred()) || !add_word(key, number))
            return 0;
    }
    return 1;
}

static int add_bytes(Key *key, const void *bytes, Py_ssize_t count) {
    Py_ssize_t words = (count + 7) / 8;
    if (words > MOST_WORDS - key->count - 1)
        return 0;
    key->words[key->count++] = count;
    if (words > 0)
        key->words[key->count + words - 1] = 0;
    memcpy(key->words + key->count, bytes, (size_t)count);
    key->count += words;
    return 1;
}

static int add_array(const ReplaysObject *r, Key *key, PyObject *array) {
    PyObject *shape = slot(r, array, SHAPE), *offset = slot(r, array, OFFSET), *buffer = slot(r, array, BUFFER);
    if (shape == NULL || offset == NULL || buffer == NULL || !Py_IS_TYPE(buffer, &BufferType))
        return 0;
    long long start = PyLong_AsLongLong(offset);
    return !(start == -1 && PyErr_Occurred()) && add_word(key, -1) && add_word(key, start) && add_numbers(key, shape) &&
           add_numbers(key, slot(r, array, STRIDES));
}

static int add_host(Key *key, PyObject *value, int flags) {
    Py_buffer view;
    if (PyObject_GetBuffer(value, &view, PyBUF_ND) < 0)
        return 0;
    int done = add_word(key, -2);
    for (int i = 0; done && i < view.ndim; i++)
        done = add_word(key, view.shape[i]);
    if (done && flags & KEYED)
        done = add_bytes(key, view.buf, view.len);
    PyBuffer_Release(&view);
    return done;
}

/* The key of a call; NULL without an exception where it is one of which nothing is kept. */
static PyObject *key_of(const ReplaysObject *r, PyObject *values, PyObject *token) {
    Key key;
    key.count = 0;
    if (!PyList_CheckExact(values) || PyList_GET_SIZE(values) != r->n_values)
        return NULL;
    long long mark = PyLong_AsLongLong(token);
    int done = !(mark == -1 && PyErr_Occurred()) && add_word(&key, mark);
    for (Py_ssize_t i = 0; done && i < r->n_values; i++) {
        PyObject *value = PyList_GET_ITEM(values, i);
        if (is_array(r, value))
            done = add_array(r, &key, value);
        else if (r->flags[i] != 0)
            done = add_host(&key, value, r->flags[i]);
    }
    if (done)
        return PyBytes_FromStringAndSize((const char *)key.words, key.count * (Py_ssize_t)sizeof key.words[0]);
    PyErr_Clear();
    return NULL;
}

/* Views of the arrays of the host that are lent to the queue: their memory stays until the queue has been waited for.
 * NULL where a call does not wait: arrays are copied then. */
typedef struct {
    Py_buffer *views;
    Py_ssize_t count;
} Lent;

static int lend_begin(Lent *lent, PyObject *sources, int waits) {
    *lent = (Lent){NULL, 0};
    if (!waits)
        return 0;
    lent->views = PyMem_Calloc((size_t)PyTuple_GET_SIZE(sources) + 1, sizeof *lent->views);
    if (lent->views != NULL)
        return 0;
    PyErr_NoMemory();
    return -1;
}

static void lend_end(Lent *lent) {
    while (lent->count > 0)
        PyBuffer_Release(&lent->views[--lent->count]);
    PyMem_Free(lent->views);
}

/* Write an array of the host. Where the call waits for the queue before it returns, it need not be copied first. */
static PyObject *upload(const ReplaysObject *r, PyObject *value, Lent *lent) {
    const int lends = lent->views != NULL;
    Py_buffer own, *view = lends ? &lent->views[lent->count] : &own;
    if (PyObject_GetBuffer(value, view, PyBUF_ND) < 0)
        return NULL;
    PyObject *buffer = buffer_allocate(r->context, view->len == 0 ? 1 : view->len);
    if (buffer != NULL && view->len > 0 &&
        (lends ? buffer_stage_lent : buffer_stage)((BufferObject *)buffer, 0, view) < 0)
        Py_CLEAR(buffer);
    if (lends)
        lent->count++;
    else
        PyBuffer_Release(view);
    return buffer;
}

static PyObject *clean_status(ReplaysObject *r) {
    Py_ssize_t count = PyList_GET_SIZE(r->clean);
    const Py_ssize_t bytes = STATUS_WORDS * sizeof(int64_t);
    if (count > 0) {
        PyObject *found = Py_NewRef(PyList_GET_ITEM(r->clean, count - 1));
        if (PyList_SetSlice(r->clean, count - 1, count, NULL) < 0)
            Py_CLEAR(found);
        return found;
    }
    PyObject *made = buffer_allocate(r->context, bytes);
    if (made != NULL && buffer_set((BufferObject *)made, 0, (size_t)bytes, 0) < 0)
        Py_CLEAR(made);
    return made;
}

static PyObject *find_memory(ReplaysObject *r, PyObject *source, PyObject *values, Lent *lent) {
    PyObject *what = PyTuple_GET_ITEM(source, 1);
    switch (PyLong_AsLong(PyTuple_GET_ITEM(source, 0))) {
    case INPUT: {
        PyObject *value = PyList_GET_ITEM(values, PyLong_AsSsize_t(what));
        return is_array(r, value) ? Py_NewRef(slot(r, value, BUFFER)) : upload(r, value, lent);
    }
    case OWN: return buffer_allocate(r->context, PyLong_AsSsize_t(what));
    case HELD: return Py_NewRef(what);
    default: return clean_status(r);
    }
}

/* The memory of a call, in the order of the list. */
static PyObject *all_memory(ReplaysObject *r, PyObject *sources, PyObject *values, Lent *lent) {
    Py_ssize_t count = PyTuple_GET_SIZE(sources);
    PyObject *memory = PyTuple_New(count);
    for (Py_ssize_t i = 0; memory != NULL && i < count; i++) {
        PyObject *found = find_memory(r, PyTuple_GET_ITEM(sources, i), values, lent);
        if (found == NULL)
            Py_CLEAR(memory);
        else
            PyTuple_SET_ITEM(memory, i, found);
    }
    return memory;
}

/* An array on the device, or its elements on the host. */
static PyObject *make_array(const ReplaysObject *r, PyObject *told, PyObject *memory) {
    PyObject *buffer = PyTuple_GET_ITEM(memory, PyLong_AsSsize_t(PyTuple_GET_ITEM(told, 0)));
    PyObject *dtype = PyTuple_GET_ITEM(told, 2), *shape = PyTuple_GET_ITEM(told, 3);
    PyObject *offset = PyTuple_GET_ITEM(told, 5);
    if (PyTuple_GET_ITEM(told, 1) == Py_True) {
        PyObject *const arguments[] = {shape, dtype};
        PyObject *found = PyObject_Vectorcall(r->empty, arguments, 2, NULL);
        if (found != NULL && buffer_fetch((BufferObject *)buffer, PyLong_AsSsize_t(offset), found) < 0)
            Py_CLEAR(found);
        return found;
    }
    PyTypeObject *type = (PyTypeObject *)r->array;
    PyObject *made = type->tp_alloc(type, 0);
    PyObject *parts[] = {buffer, dtype, shape, PyTuple_GET_ITEM(told, 4), offset, r->array_context};
    for (int k = 0; made != NULL && k < N_SLOTS; k++)
        *(PyObject **)((char *)made + r->slots[k]) = Py_NewRef(parts[k]);
    return made;
}

static PyObject *make_outputs(const ReplaysObject *r, PyObject *outputs, PyObject *memory) {
    Py_ssize_t count = PyTuple_GET_SIZE(outputs);
    PyObject *results = PyList_New(count);
    for (Py_ssize_t i = 0; results != NULL && i < count; i++) {
        PyObject *told = PyTuple_GET_ITEM(outputs, i);
        PyObject *made = PyTuple_CheckExact(told) ? make_array(r, told, memory) : PyObject_CallOneArg(told, memory);
        if (made == NULL)
            Py_CLEAR(results);
        else
            PyList_SET_ITEM(results, i, made);
    }
    return results;
}

/* Wait, and raise what a kernel has found wrong. */
static int check_status(const ReplaysObject *r, PyObject *entry, PyObject *memory) {
    PyObject *which = PyTuple_GET_ITEM(entry, THE_STATUS);
    int64_t found[STATUS_WORDS];
    if (which == Py_None)
        return 0;
    PyObject *status = PyTuple_GET_ITEM(memory, PyLong_AsSsize_t(which));
    if (buffer_get((BufferObject *)status, 0, found, sizeof found) < 0)
        return -1;
    if (found[0] == 0)
        return PyList_Append(r->clean, status);
    PyObject *done = PyObject_CallFunction(PyTuple_GET_ITEM(entry, THE_EXPLAIN), "LLLL", (long long)found[0],
                                           (long long)found[1], (long long)found[2], (long long)found[3]);
    if (done != NULL)
        PyErr_SetString(PyExc_SystemError, "a kernel has found something wrong, and nothing says what");
    Py_XDECREF(done);
    return -1;
}

/* Whether a call reads something back, and so waits until all that it has put into the queue has ended. */
static int waits(PyObject *entry) {
    PyObject *outputs = PyTuple_GET_ITEM(entry, THE_OUTPUTS);
    int found = PyTuple_GET_ITEM(entry, THE_STATUS) != Py_None;
    for (Py_ssize_t i = 0; !found && i < PyTuple_GET_SIZE(outputs); i++) {
        PyObject *told = PyTuple_GET_ITEM(outputs, i);
        found = PyTuple_CheckExact(told) && PyTuple_GET_ITEM(told, 1) == Py_True;
    }
    return found;
}

/* Wait although something has failed: the queue may read arrays that were lent to it. */
static void wait_after_failure(ContextObject *c) {
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    if (context_synchronize(c) < 0)
        PyErr_Clear();
    PyErr_Restore(type, error, traceback);
}

static PyObject *run_entry(ReplaysObject *r, PyObject *entry, PyObject *values) {
    PyObject *list = PyTuple_GET_ITEM(entry, THE_LIST), *results = NULL;
    PyObject *sources = PyTuple_GET_ITEM(entry, THE_SOURCES);
    Lent lent;
    if (lend_begin(&lent, sources, waits(entry)) < 0)
        return NULL;
    PyObject *memory = all_memory(r, sources, values, &lent);
    if (memory != NULL && (list == Py_None || list_replay(list, memory) == 0) && check_status(r, entry, memory) == 0)
        results = make_outputs(r, PyTuple_GET_ITEM(entry, THE_OUTPUTS), memory);
    if (results == NULL && lent.count > 0)
        wait_after_failure(r->context);
    lend_end(&lent);
    Py_XDECREF(memory);
    return results;
}

/* Whether a number is one from 0 up to a bound. */
static int is_number(PyObject *given, Py_ssize_t below) {
    Py_ssize_t number = PyLong_CheckExact(given) ? PyLong_AsSsize_t(given) : -1;
    PyErr_Clear();
    return number >= 0 && number < below;
}

static int fits_source(const ReplaysObject *r, PyObject *source) {
    if (!PyTuple_CheckExact(source) || PyTuple_GET_SIZE(source) != 2 || !is_number(PyTuple_GET_ITEM(source, 0), 4))
        return 0;
    PyObject *what = PyTuple_GET_ITEM(source, 1);
    switch (PyLong_AsLong(PyTuple_GET_ITEM(source, 0))) {
    case INPUT: return is_number(what, r->n_values);
    case OWN: return is_number(what, PY_SSIZE_T_MAX);
    case HELD: return Py_IS_TYPE(what, &BufferType);
    default: return 1;
    }
}

static int fits_output(PyObject *told, Py_ssize_t n_memory) {
    if (!PyTuple_CheckExact(told))
        return PyCallable_Check(told);
    return PyTuple_GET_SIZE(told) == 6 && is_number(PyTuple_GET_ITEM(told, 0), n_memory) &&
           PyTuple_CheckExact(PyTuple_GET_ITEM(told, 3)) && is_number(PyTuple_GET_ITEM(told, 5), PY_SSIZE_T_MAX);
}

/* Whether an entry is (list or None, sources, outputs, number of the status or None, what explains a failure). */
static int fits_entry(const ReplaysObject *r, PyObject *entry) {
    if (!PyTuple_CheckExact(entry) || PyTuple_GET_SIZE(entry) != N_ITEMS)
        return 0;
    PyObject *list = PyTuple_GET_ITEM(entry, THE_LIST), *status = PyTuple_GET_ITEM(entry, THE_STATUS);
    PyObject *sources = PyTuple_GET_ITEM(entry, THE_SOURCES), *outputs = PyTuple_GET_ITEM(entry, THE_OUTPUTS);
    int fits = (list == Py_None || Py_IS_TYPE(list, &LaunchListType)) && PyTuple_CheckExact(sources) &&
               PyTuple_CheckExact(outputs);
    for (Py_ssize_t i = 0; fits && i < PyTuple_GET_SIZE(sources); i++)
        fits = fits_source(r, PyTuple_GET_ITEM(sources, i));
    for (Py_ssize_t i = 0; fits && i < PyTuple_GET_SIZE(outputs); i++)
        fits = fits_output(PyTuple_GET_ITEM(outputs, i), PyTuple_GET_SIZE(sources));
    return fits && (status == Py_None || is_number(status, PyTuple_GET_SIZE(sources)));
}

/* A call of which nothing is kept; arrays on the host are C-contiguous. */
static PyObject *make(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    ReplaysObject *r = (ReplaysObject *)self;
    if (count != 2 || !PyList_CheckExact(args[0]) || PyList_GET_SIZE(args[0]) != r->n_values || !fits_entry(r, args[1]))
        return PyErr_Format(PyExc_TypeError, "make takes a list of values, and what the call does");
    return check_process(r->context->era) < 0 ? NULL : run_entry(r, args[1], args[0]);
}

static PyObject *run(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    ReplaysObject *r = (ReplaysObject *)self;
    if (count != 2)
        return PyErr_Format(PyExc_TypeError, "run takes values and a number, not %zd arguments", count);
    if (check_process(r->context->era) < 0)
        return NULL;
    PyObject *key = key_of(r, args[0], args[1]);
    if (key == NULL)
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    PyObject *entry = PyDict_GetItemWithError(r->calls, key);
    Py_DECREF(key);
    if (entry == NULL)
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    Py_INCREF(entry);
    PyObject *results = run_entry(r, entry, args[0]);
    Py_DECREF(entry);
    return results;
}

static PyObject *keep(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    ReplaysObject *r = (ReplaysObject *)self;
    Py_ssize_t position = 0;
    PyObject *oldest, *unused;
    if (count != 3 || !fits_entry(r, args[2]))
        return PyErr_Format(PyExc_TypeError, "keep takes values, a number, and what a call like this one does");
    PyObject *key = key_of(r, args[0], args[1]);
    if (key == NULL)
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_False);
    int result = 0;
    if (PyDict_GET_SIZE(r->calls) >= MOST_CALLS && PyDict_Next(r->calls, &position, &oldest, &unused)) {
        Py_INCREF(oldest);
        result = PyDict_DelItem(r->calls, oldest);
        Py_DECREF(oldest);
    }
    if (result == 0)
        result = PyDict_SetItem(r->calls, key, args[2]);
    Py_DECREF(key);
    return result < 0 ? NULL : Py_NewRef(Py_True);
}

static PyObject *replays_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"context", "array", "array_context", "empty", "flags", NULL};
    PyObject *context, *array, *array_context, *empty;
    const char *flags;
    Py_ssize_t n_values;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!OOy#:Replays", names, &ContextType, &context, &PyType_Type,
                                     &array, &array_context, &empty, &flags, &n_values))
        return NULL;
    ReplaysObject *r = (ReplaysObject *)type->tp_alloc(type, 0);
    if (r == NULL)
        return NULL;
    r->context = (ContextObject *)Py_NewRef(context);
    r->array = Py_NewRef(array);
    r->array_context = Py_NewRef(array_context);
    r->empty = Py_NewRef(empty);
    r->calls = PyDict_New();
    r->clean = PyList_New(0);
    r->n_values = n_values;
    r->flags = PyMem_Malloc((size_t)n_values + 1);
    if (r->flags == NULL)
        PyErr_NoMemory();
    else
        memcpy(r->flags, flags, (size_t)n_values);
    if (r->calls == NULL || r->clean == NULL || r->flags == NULL || find_slots(r) < 0)
        Py_CLEAR(r);
    return (PyObject *)r;
}

static int traverse(PyObject *self, visitproc visit, void *arg) {
    ReplaysObject *r = (ReplaysObject *)self;
    Py_VISIT(r->array);
    Py_VISIT(r->array_context);
    Py_VISIT(r->empty);
    Py_VISIT(r->calls);
    Py_VISIT(r->clean);
    return 0;
}

/* What a call in another thread uses is kept alive by that call. */
static int clear(PyObject *self) {
    ReplaysObject *r = (ReplaysObject *)self;
    if (r->calls != NULL)
        PyDict_Clear(r->calls);
    return 0;
}

static void replays_dealloc(PyObject *self) {
    ReplaysObject *r = (ReplaysObject *)self;
    PyObject_GC_UnTrack(self);
    Py_XDECREF(r->array);
    Py_XDECREF(r->array_context);
    Py_XDECREF(r->empty);
    Py_XDECREF(r->calls);
    Py_XDECREF(r->clean);
    Py_XDECREF(r->context);
    PyMem_Free(r->flags);
    Py_TYPE(self)->tp_free(self);
}

static PyMethodDef methods[] = {
    {"run", (PyCFunction)(void (*)(void))run, METH_FASTCALL, "Make a call that is known; None where it is not."},
    {"make", (PyCFunction)(void (*)(void))make, METH_FASTCALL, "Make a call of which it is told what it does."},
    {"keep", (PyCFunction)(void (*)(void))keep, METH_FASTCALL, "Say what a call like this one does."},
    {NULL, NULL, 0, NULL}};

PyTypeObject ReplaysType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "theano_gpuarray._device.Replays",
    .tp_doc = "Calls that have been made before, made again without Python code.",
    .tp_basicsize = sizeof(ReplaysObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = replays_new,
    .tp_dealloc = replays_dealloc,
    .tp_traverse = traverse,
    .tp_clear = clear,
    .tp_methods = methods,
};
