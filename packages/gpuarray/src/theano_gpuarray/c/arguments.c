/* Arguments of launches and products, as Python gives them: at once with buffers, or in lists with numbers of them. */
#include "runtime.h"

/* Note where the address of a buffer goes. */
static int add_patch(Resolver *r, Address *place, int number, Py_ssize_t least) {
    if ((r->n_patches & (r->n_patches - 1)) == 0) { /* it grows where its length is a power of two */
        size_t room = r->n_patches == 0 ? 1 : (size_t)r->n_patches * 2;
        Patch *grown = PyMem_Realloc(r->patches, room * sizeof *grown);
        if (grown == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        r->patches = grown;
    }
    r->patches[r->n_patches++] = (Patch){place, number, least};
    return 0;
}

int parse_number(Resolver *r, long number, Py_ssize_t least, Address *place) {
    if (number >= 0 && number < r->n_buffers)
        return add_patch(r, place, (int)number, least);
    PyErr_Format(PyExc_ValueError, "there is no buffer %ld: the list has %d", number, r->n_buffers);
    return -1;
}

int parse_buffer(Resolver *r, PyObject *given, Py_ssize_t least, Address *place) {
    if (r->in_list) {
        if (PyTuple_CheckExact(given) && PyTuple_GET_SIZE(given) == 1)
            given = PyTuple_GET_ITEM(given, 0);
        long number = PyLong_AsLong(given);
        if (number == -1 && PyErr_Occurred())
            return -1;
        return parse_number(r, number, least, place);
    }
    if (!Py_IS_TYPE(given, &BufferType)) {
        PyErr_Format(PyExc_TypeError, "a buffer is wanted, not %.80s", Py_TYPE(given)->tp_name);
        return -1;
    }
    BufferObject *b = (BufferObject *)given;
    if (b->context != r->context) {
        PyErr_SetString(PyExc_ValueError, "the buffer belongs to another context\n  Hint: copy it to this one first");
        return -1;
    }
    *place = b->address;
    return check_range(b, 0, least, "the buffer is too small");
}

static int parse_integer(PyObject *given, long long low, long long high, long long *value) {
    PyObject *number = PyNumber_Index(given);
    int overflow = 0;
    if (number == NULL)
        return -1;
    *value = PyLong_AsLongLongAndOverflow(number, &overflow);
    Py_DECREF(number);
    if (*value == -1 && PyErr_Occurred())
        return -1;
    if (!overflow && *value >= low && *value <= high)
        return 0;
    PyErr_Format(PyExc_OverflowError, "%R is out of bounds: from %lld to %lld", given, low, high);
    return -1;
}

/* Bounds of numbers of 8 and 16 bits; those without a sign have capital letters. */
static long long least_of(char letter) { return letter == 'b' ? INT8_MIN : letter == 'h' ? INT16_MIN : 0; }

static long long most_of(char letter) {
    return letter == 'b' ? INT8_MAX : letter == 'B' ? UINT8_MAX : letter == 'h' ? INT16_MAX : UINT16_MAX;
}

static int parse_value(Resolver *r, char letter, PyObject *given, Value *value) {
    long long integer = 0;
    double real = 0;
    memset(value, 0, sizeof *value);
    switch (letter) {
    case 'P':
        if (r->in_list && !PyTuple_CheckExact(given)) {
            PyErr_Format(PyExc_TypeError, "a buffer is told by its number, as (number,), not by %.80s",
                         Py_TYPE(given)->tp_name);
            return -1;
        }
        return parse_buffer(r, given, 0, &value->P);
    case 'q':
        if (parse_integer(given, INT64_MIN, INT64_MAX, &integer) < 0)
            return -1;
        value->q = integer;
        return 0;
    case 'b':
    case 'B':
    case 'h':
    case 'H':
        if (parse_integer(given, least_of(letter), most_of(letter), &integer) < 0)
            return -1;
        value->i = (int32_t)integer;
        return 0;
    case 'i':
        if (parse_integer(given, INT32_MIN, INT32_MAX, &integer) < 0)
            return -1;
        value->i = (int32_t)integer;
        return 0;
    case 'I':
        if (parse_integer(given, 0, UINT32_MAX, &integer) < 0)
            return -1;
        value->I = (uint32_t)integer;
        return 0;
    default:
        real = PyFloat_AsDouble(given);
        if (real == -1.0 && PyErr_Occurred())
            return -1;
        if (letter == 'f')
            value->f = (float)real;
        else
            value->d = real;
        return 0;
    }
}

/* Begin the text of the exception that is set with a place. */
static int add_place(const char *kernel, Py_ssize_t position) {
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    PyErr_Format(type, "kernel %s, argument %zd: %S", kernel, position, error == NULL ? Py_None : error);
    Py_XDECREF(type);
    Py_XDECREF(error);
    Py_XDECREF(traceback);
    return -1;
}

static int parse_values(Launch *launch, Resolver *r, PyObject *arguments) {
    PyObject *items = PySequence_Fast(arguments, "arguments of a launch are a sequence");
    if (items == NULL)
        return -1;
    int result = 0;
    if (PySequence_Fast_GET_SIZE(items) != launch->count) {
        PyErr_Format(PyExc_TypeError, "kernel %s has %d parameters, not %zd", launch->name, launch->count,
                     PySequence_Fast_GET_SIZE(items));
        result = -1;
    }
    for (int k = 0; result == 0 && k < launch->count; k++)
        if (parse_value(r, launch->parameters[k], PySequence_Fast_GET_ITEM(items, k), &launch->values[k]) < 0)
            result = add_place(launch->name, k);
    Py_DECREF(items);
    return result;
}

/* One to three sizes, each within its limit; returns how many. */
static int parse_sizes(PyObject *given, const int64_t *limits, long long least, size_t *sizes, const char *what) {
    PyObject *items = PySequence_Fast(given, "sizes of a launch are a sequence");
    if (items == NULL)
        return -1;
    Py_ssize_t count = PySequence_Fast_GET_SIZE(items);
    if (count < 1 || count > 3) {
        PyErr_Format(PyExc_ValueError, "%s have one to three dimensions, not %zd", what, count);
        count = -1;
    }
    for (Py_ssize_t d = 0; d < count; d++) {
        long long value;
        if (parse_integer(PySequence_Fast_GET_ITEM(items, d), least, limits[d], &value) < 0) {
            add_place(what, d);
            count = -1;
        } else
            sizes[d] = (size_t)value;
    }
    Py_DECREF(items);
    return (int)count;
}

static int parse_shape(Launch *launch, const ContextObject *c, const KernelObject *k, PyObject *groups,
                       PyObject *local) {
    int dimensions = parse_sizes(groups, c->properties.max_groups, 0, launch->groups, "work-groups of a launch");
    if (dimensions < 0)
        return -1;
    launch->dimensions = parse_sizes(local, c->properties.max_locals, 1, launch->local, "work-items of a work-group");
    if (launch->dimensions < 0)
        return -1;
    size_t items = 1;
    for (int d = 0; d < launch->dimensions; d++)
        items *= launch->local[d];
    if (launch->dimensions != dimensions)
        PyErr_Format(PyExc_ValueError, "kernel %s: groups have %d dimensions, and work-items %d", k->name, dimensions,
                     launch->dimensions);
    else if ((int64_t)items > k->max_local)
        PyErr_Format(PyExc_ValueError, "kernel %s: a work-group of %zu work-items; it can have %lld at most", k->name,
                     items, (long long)k->max_local);
    else if ((int64_t)launch->shared > c->properties.local_memory)
        PyErr_Format(PyExc_ValueError, "kernel %s: %zu bytes of local memory; the device has %lld", k->name,
                     launch->shared, (long long)c->properties.local_memory);
    else
        return 0;
    return -1;
}

int parse_launch(Launch *launch, Resolver *r, PyObject *kernel, PyObject *groups, PyObject *local, PyObject *arguments,
                 Py_ssize_t shared) {
    *launch = (Launch){0};
    if (!Py_IS_TYPE(kernel, &KernelType)) {
        PyErr_Format(PyExc_TypeError, "a kernel is launched, not %.80s", Py_TYPE(kernel)->tp_name);
        return -1;
    }
    KernelObject *k = (KernelObject *)kernel;
    if (k->module->context != r->context) {
        PyErr_Format(PyExc_ValueError, "kernel %s belongs to another context", k->name);
        return -1;
    }
    if (shared < 0) {
        PyErr_Format(PyExc_ValueError, "kernel %s: %zd bytes of local memory", k->name, shared);
        return -1;
    }
    launch->kernel = k->kernel;
    launch->name = k->name;
    launch->parameters = k->parameters;
    launch->count = k->count;
    launch->shared = (size_t)shared;
    if (parse_shape(launch, r->context, k, groups, local) < 0)
        return -1;
    launch->values = PyMem_Malloc(((size_t)k->count + 1) * sizeof *launch->values);
    if (launch->values == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    return parse_values(launch, r, arguments);
}

int launch_is_empty(const Launch *launch) {
    for (int d = 0; d < launch->dimensions; d++)
        if (launch->groups[d] == 0)
            return 1;
    return 0;
}

static int parse_matrix(Resolver *r, PyObject *given, Matrix *matrix) {
    PyObject *buffer;
    long long offset, leading, stride;
    if (!PyArg_ParseTuple(given, "OLLL:product", &buffer, &offset, &leading, &stride))
        return -1;
    matrix->offset = offset;
    matrix->leading = leading;
    matrix->stride = stride;
    return parse_buffer(r, buffer, 0, &matrix->address);
}

static int parse_factor(Resolver *r, PyObject *given, Factor *factor) {
    PyObject *buffer;
    long long offset;
    if (!PyTuple_Check(given)) {
        factor->value = PyFloat_AsDouble(given);
        return factor->value == -1.0 && PyErr_Occurred() ? -1 : 0;
    }
    if (!PyArg_ParseTuple(given, "OL:product", &buffer, &offset))
        return -1;
    factor->offset = offset;
    return parse_buffer(r, buffer, 0, &factor->address);
}

int parse_product(Product *p, Resolver *r, PyObject *args) {
    const char *dtype;
    PyObject *alpha, *a, *b, *beta, *z;
    long long m, n, k, batch;
    memset(p, 0, sizeof *p);
    if (!PyArg_ParseTuple(args, "s(pp)(LLLL)OOOOO:product", &dtype, &p->transpose_a, &p->transpose_b, &m, &n, &k,
                          &batch, &alpha, &a, &b, &beta, &z))
        return -1;
    PyOS_snprintf(p->dtype, sizeof p->dtype, "%s", dtype);
    p->m = m;
    p->n = n;
    p->k = k;
    p->batch = batch;
    return parse_factor(r, alpha, &p->alpha) < 0 || parse_matrix(r, a, &p->a) < 0 || parse_matrix(r, b, &p->b) < 0 ||
                   parse_factor(r, beta, &p->beta) < 0 || parse_matrix(r, z, &p->z) < 0
               ? -1
               : 0;
}
