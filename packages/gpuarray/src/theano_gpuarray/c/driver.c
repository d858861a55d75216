/* Drivers as Python objects. */
#include "runtime.h"

static const DriverTable *const tables[] = {&null_driver, &opencl_driver, &cuda_driver};
#define TABLES ((int)(sizeof tables / sizeof *tables))

/* A driver is opened once in a process; a child process cannot open it again, for its threads are not there. */
static DriverObject *opened[TABLES];

/* Read a mapping of names to paths; the strings belong to `items`, a list of pairs, which the caller drops. */
static int read_libraries(PyObject *mapping, PyObject **items, Library *found, Libraries *libraries) {
    *items = PyMapping_Items(mapping);
    if (*items == NULL)
        return -1;
    Py_ssize_t count = PyList_GET_SIZE(*items);
    if (count > 16) {
        PyErr_SetString(PyExc_ValueError, "at most 16 libraries can be given");
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!PyArg_ParseTuple(PyList_GET_ITEM(*items, i), "ss:libraries", &found[i].role, &found[i].path))
            return -1;
    }
    *libraries = (Libraries){found, (int)count};
    return 0;
}

static DriverObject *make_driver(const DriverTable *table, const Libraries *libraries) {
    DriverObject *d = PyObject_New(DriverObject, &DriverType);
    if (d == NULL)
        return NULL;
    Failure failure = {0};
    int result;
    d->table = table;
    d->state = NULL;
    d->count = 0;
    d->era = fork_era;
    Py_BEGIN_ALLOW_THREADS;
    result = table->open(libraries, &d->state, &failure);
    if (result == 0)
        result = table->count(d->state, &d->count, &failure);
    Py_END_ALLOW_THREADS;
    if (result < 0) {
        raise_failure(&failure);
        Py_CLEAR(d);
    }
    return d;
}

PyObject *open_driver(PyObject *module, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"name", "libraries", NULL};
    const char *name;
    PyObject *mapping, *items = NULL;
    Library found[16];
    Libraries libraries;
    int i = 0;
    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "sO:open_driver", names, &name, &mapping))
        return NULL;
    while (i < TABLES && strcmp(tables[i]->name, name) != 0)
        i++;
    if (i == TABLES)
        return PyErr_Format(PyExc_ValueError, "there is no driver \"%s\"; there are null, opencl and cuda", name);
    if (opened[i] != NULL && opened[i]->era != fork_era && opened[i]->table == &null_driver)
        Py_CLEAR(opened[i]); /* it has no threads, and works in every process */
    if (opened[i] == NULL) {
        if (read_libraries(mapping, &items, found, &libraries) == 0) {
            DriverObject *made = make_driver(tables[i], &libraries);
            if (opened[i] == NULL)
                opened[i] = made;
            else
                Py_XDECREF(made); /* another thread was faster */
        }
        Py_XDECREF(items);
        if (opened[i] == NULL)
            return NULL;
        PyErr_Clear();
    }
    if (check_process(opened[i]->era) < 0)
        return NULL;
    return Py_NewRef((PyObject *)opened[i]);
}

static int check_index(const DriverObject *d, int index) {
    if (check_process(d->era) < 0)
        return -1;
    if (index >= 0 && index < d->count)
        return 0;
    PyErr_Format(DeviceError, "there is no device %d: %s has %d\n  Hint: choose one below that number", index,
                 d->table->name, d->count);
    return -1;
}

static PyObject *driver_properties(PyObject *self, PyObject *args) {
    DriverObject *d = (DriverObject *)self;
    Properties properties;
    Failure failure = {0};
    int index, result;
    if (!PyArg_ParseTuple(args, "i:properties", &index) || check_index(d, index) < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    result = d->table->properties(d->state, index, &properties, &failure);
    Py_END_ALLOW_THREADS;
    if (result < 0) {
        raise_failure(&failure);
        return NULL;
    }
    return properties_dict(&properties);
}

static PyObject *driver_version(PyObject *self, PyObject *args) {
    const DriverObject *d = (DriverObject *)self;
    const char *role, *why = NULL;
    if (!PyArg_ParseTuple(args, "s:version", &role) || check_process(d->era) < 0)
        return NULL;
    int64_t version = d->table->version == NULL ? 0 : d->table->version(d->state, role, &why);
    return Py_BuildValue("Lz", (long long)version, why);
}

static PyObject *driver_count(PyObject *self, PyObject *unused) {
    const DriverObject *d = (DriverObject *)self;
    (void)unused;
    return check_process(d->era) < 0 ? NULL : PyLong_FromLong(d->count);
}

static PyObject *driver_open(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"index", "single_stream", "preallocate", "blocking", NULL};
    DriverObject *d = (DriverObject *)self;
    Options options = {1, 0};
    long long preallocate = 0;
    int index;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "i|$pLp:open", names, &index, &options.single_stream, &preallocate,
                                     &options.blocking) ||
        check_index(d, index) < 0)
        return NULL;
    return context_open(d, index, &options, preallocate);
}

static PyObject *driver_name(PyObject *self, void *unused) {
    (void)unused;
    return PyUnicode_FromString(((DriverObject *)self)->table->name);
}

static PyMethodDef methods[] = {
    {"properties", driver_properties, METH_VARARGS, "Return the properties of a device, by name."},
    {"version", driver_version, METH_VARARGS,
     "Return the version of a library, 0 where there is none, and why it cannot be used."},
    {"count", driver_count, METH_NOARGS, "Return the number of devices, over all platforms."},
    {"open", (PyCFunction)(void (*)(void))driver_open, METH_VARARGS | METH_KEYWORDS, "Open a context on a device."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef attributes[] = {{"name", driver_name, NULL, "The name that it was opened by.", NULL},
                                   {NULL, NULL, NULL, NULL, NULL}};

PyTypeObject DriverType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "theano_gpuarray._device.Driver",
    .tp_doc = "A driver that has been opened.",
    .tp_basicsize = sizeof(DriverObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_methods = methods,
    .tp_getset = attributes,
};
