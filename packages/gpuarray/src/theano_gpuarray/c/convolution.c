/* Convolutions by a library, as Python describes them: planned, computed at once, or as steps of a list. */
#include "runtime.h"
#include <limits.h>

static const char *const tasks[] = {"forward", "input_grad", "weight_grad"};

/* Read `count` lengths of at least `least` each. */
static int parse_lengths(PyObject *given, int count, long least, int *lengths, const char *what) {
    if (!PyTuple_Check(given) || PyTuple_GET_SIZE(given) != count) {
        PyErr_Format(PyExc_ValueError, "%s of a convolution are a tuple of %d", what, count);
        return -1;
    }
    for (int d = 0; d < count; d++) {
        long value = PyLong_AsLong(PyTuple_GET_ITEM(given, d));
        if (value == -1 && PyErr_Occurred())
            return -1;
        if (value < least || value > INT_MAX) {
            PyErr_Format(PyExc_OverflowError, "%s of a convolution: %ld is out of bounds", what, value);
            return -1;
        }
        lengths[d] = (int)value;
    }
    return 0;
}

/* Bytes of an array; -1 where libraries, which count elements by 32 bits, cannot have so many. */
static Py_ssize_t bytes_of(const int *lengths, int count, size_t itemsize) {
    long long size = 1;
    for (int d = 0; d < count; d++) {
        size *= lengths[d];
        if (size > INT_MAX) {
            PyErr_SetString(PyExc_OverflowError, "an array of a convolution has more than 2147483647 elements");
            return -1;
        }
    }
    return (Py_ssize_t)size * (Py_ssize_t)itemsize;
}

static size_t itemsize_of(const char *dtype) {
    if (strcmp(dtype, "float64") == 0)
        return 8;
    return strcmp(dtype, "float32") == 0 ? 4 : strcmp(dtype, "float16") == 0 ? 2 : 0;
}

static int parse_names(Convolution *p, const char *task, const char *dtype, const char *precision) {
    int number = 0;
    while (number < 3 && strcmp(tasks[number], task) != 0)
        number++;
    if (number == 3 || itemsize_of(dtype) == 0) {
        PyErr_Format(PyExc_ValueError, "there is no convolution \"%s\" of %s", task, dtype);
        return -1;
    }
    p->task = (ConvolutionTask)number;
    PyOS_snprintf(p->dtype, sizeof p->dtype, "%s", dtype);
    PyOS_snprintf(p->precision, sizeof p->precision, "%s", precision);
    return 0;
}

/* (task, dtype, precision, images, filters, top, zeros, strides, dilations, groups, flipped) */
static int parse_description(Convolution *p, PyObject *given) {
    const char *task, *dtype, *precision;
    PyObject *images, *filters, *top, *zeros, *strides, *dilations;
    if (!PyArg_ParseTuple(given, "sssO!OOOOOip:convolution", &task, &dtype, &precision, &PyTuple_Type, &images,
                          &filters, &top, &zeros, &strides, &dilations, &p->groups, &p->flipped) ||
        parse_names(p, task, dtype, precision) < 0)
        return -1;
    p->axes = (int)PyTuple_GET_SIZE(images) - 2;
    if (p->axes < 2 || p->axes > MOST_AXES || p->groups < 1) {
        PyErr_Format(PyExc_ValueError, "a convolution along %d axes with %d groups", p->axes, p->groups);
        return -1;
    }
    return parse_lengths(images, p->axes + 2, 1, p->images, "lengths of images") < 0 ||
                   parse_lengths(filters, p->axes + 2, 1, p->filters, "lengths of filters") < 0 ||
                   parse_lengths(top, p->axes + 2, 1, p->top_lengths, "lengths of the result") < 0 ||
                   parse_lengths(zeros, p->axes, 0, p->zeros, "zeros around images") < 0 ||
                   parse_lengths(strides, p->axes, 1, p->strides, "strides") < 0 ||
                   parse_lengths(dilations, p->axes, 1, p->dilations, "dilations") < 0
               ? -1
               : 0;
}

/* (buffer, offset) */
static int parse_place(Resolver *r, PyObject *given, Py_ssize_t bytes, Place *place) {
    PyObject *buffer;
    Py_ssize_t offset;
    if (bytes < 0 || !PyArg_ParseTuple(given, "On:convolution", &buffer, &offset))
        return -1;
    if (offset < 0) {
        PyErr_SetString(PyExc_ValueError, "convolution: offsets are not negative");
        return -1;
    }
    place->offset = (size_t)offset;
    place->bytes = (size_t)bytes;
    return parse_buffer(r, buffer, offset + bytes, &place->address);
}

int parse_convolution(Convolution *p, Resolver *r, PyObject *args) {
    PyObject *description, *image, *filter, *top, *workspace;
    Py_ssize_t bytes;
    memset(p, 0, sizeof *p);
    if (!PyArg_ParseTuple(args, "O!iOOOOn:convolution", &PyTuple_Type, &description, &p->algorithm, &image, &filter,
                          &top, &workspace, &bytes) ||
        parse_description(p, description) < 0)
        return -1;
    const size_t itemsize = itemsize_of(p->dtype);
    const int count = p->axes + 2;
    if (parse_place(r, image, bytes_of(p->images, count, itemsize), &p->image) < 0 ||
        parse_place(r, filter, bytes_of(p->filters, count, itemsize), &p->filter) < 0 ||
        parse_place(r, top, bytes_of(p->top_lengths, count, itemsize), &p->top) < 0)
        return -1;
    if (bytes < 0) {
        PyErr_SetString(PyExc_ValueError, "convolution: a workspace of less than no bytes");
        return -1;
    }
    return bytes == 0 ? 0 : parse_place(r, workspace, bytes, &p->workspace);
}

static int run(ContextObject *c, Convolution *p, const Choice *choice) {
    Failure failure = {0};
    int result;
    Py_BEGIN_ALLOW_THREADS;
    pthread_mutex_lock(&c->lock);
    result =
        choice != NULL ? c->table->plan(c->context, p, choice, &failure) : c->table->convolve(c->context, p, &failure);
    pthread_mutex_unlock(&c->lock);
    Py_END_ALLOW_THREADS;
    if (result < 0)
        raise_failure(&failure);
    return result;
}

PyObject *context_plan(PyObject *self, PyObject *args) {
    static const char *const kinds[] = {"fixed", "guess", "time"};
    ContextObject *c = (ContextObject *)self;
    PyObject *description;
    Convolution p = {0};
    Choice choice = {0};
    const char *kind;
    Py_ssize_t most;
    int number = 0;
    if (!PyArg_ParseTuple(args, "O!sipn:plan", &PyTuple_Type, &description, &kind, &p.algorithm, &choice.deterministic,
                          &most) ||
        check_process(c->era) < 0 || parse_description(&p, description) < 0)
        return NULL;
    while (number < 3 && strcmp(kinds[number], kind) != 0)
        number++;
    if (number == 3)
        return PyErr_Format(PyExc_ValueError, "algorithms are chosen by \"fixed\", \"guess\" or \"time\", not \"%s\"",
                            kind);
    choice.kind = (ChoiceKind)number;
    choice.most_memory = most < 0 ? 0 : (size_t)most;
    if (c->table->plan == NULL)
        Py_RETURN_NONE;
    int result = run(c, &p, &choice);
    if (result < 0)
        return NULL;
    if (result == 0)
        Py_RETURN_NONE;
    return Py_BuildValue("in", p.algorithm, (Py_ssize_t)p.workspace.bytes);
}

PyObject *context_convolve(PyObject *self, PyObject *args) {
    ContextObject *c = (ContextObject *)self;
    Convolution p;
    Resolver resolver = {.context = c};
    if (check_process(c->era) < 0 || parse_convolution(&p, &resolver, args) < 0)
        return NULL;
    if (c->table->convolve == NULL)
        return PyErr_Format(PyExc_ValueError, "the driver %s has no convolutions by a library", c->table->name);
    int result = run(c, &p, NULL);
    note_work(c, args);
    if (result < 0)
        return NULL;
    Py_RETURN_NONE;
}
