/* What stands in the modules and classes of the library: tens of thousands of objects, nearly all of which are told by
 * pointers. Python looks at the rest (_function/_cached/_exchanged.py), and at all where there is no runtime. */
#include "pointers.h"

typedef struct {
    PyObject *names;   /* a set of the modules whose content is looked at */
    PyObject *found;   /* a list of what Python has to look at: (name, value) */
    PyObject *module;  /* the text "__module__" */
    PyObject *wrapped; /* the text "__func__" */
    Pointers spaces;   /* their dictionaries */
    Pointers seen;     /* classes and functions that have been looked at */
} Look;

static int look_at(Look *look, PyObject *content);

static int leave_to_python(Look *look, PyObject *name, PyObject *value) {
    PyObject *pair = PyTuple_Pack(2, name, value);
    int status = pair == NULL ? -1 : PyList_Append(look->found, pair);
    Py_XDECREF(pair);
    return status;
}

static int is_ours(const Look *look, PyObject *value) {
    return PyFunction_Check(value) && pointers_get(&look->spaces, ((PyFunctionObject *)value)->func_globals, 0);
}

/* The module in which a class was made, a new reference; NULL where it was made in C, or does not tell. */
static PyObject *module_of(const Look *look, const PyTypeObject *type) {
    PyObject *module = NULL;
    if (!PyType_HasFeature((PyTypeObject *)type, Py_TPFLAGS_HEAPTYPE))
        return NULL;
    Py_BEGIN_CRITICAL_SECTION(type->tp_dict);
    module = Py_XNewRef(PyDict_GetItem(type->tp_dict, look->module));
    Py_END_CRITICAL_SECTION();
    if (module != NULL && !PyUnicode_CheckExact(module))
        Py_CLEAR(module);
    return module;
}

static int look_at_class(Look *look, PyObject *name, PyObject *value) {
    int is_new = pointers_set(&look->seen, value, 1);
    if (is_new <= 0)
        return is_new;
    PyObject *module = module_of(look, (PyTypeObject *)value);
    int ours = module != NULL && PySet_Contains(look->names, module) == 1;
    Py_XDECREF(module);
    return ours ? look_at(look, ((PyTypeObject *)value)->tp_dict) : leave_to_python(look, name, value);
}

/* Whether nothing but code of the modules is in a wrapper of functions. */
static int wraps_ours(const Look *look, PyObject *value) {
    static const char *const parts[] = {"fget", "fset", "fdel"};
    if (Py_IS_TYPE(value, &PyStaticMethod_Type) || Py_IS_TYPE(value, &PyClassMethod_Type)) {
        PyObject *function = PyObject_GetAttr(value, look->wrapped);
        int ours = function == NULL ? -1 : is_ours(look, function);
        Py_XDECREF(function);
        return ours;
    }
    for (int k = 0; k < 3; k++) {
        PyObject *function = PyObject_GetAttrString(value, parts[k]);
        if (function == NULL)
            return -1;
        int ours = function == Py_None || is_ours(look, function);
        Py_DECREF(function);
        if (!ours)
            return 0;
    }
    return 1;
}

static int look_at_value(Look *look, PyObject *name, PyObject *value) {
    PyTypeObject *type = Py_TYPE(value);
    if (Py_IS_TYPE(value, &PyFunction_Type)) {
        int is_new = is_ours(look, value) ? 0 : pointers_set(&look->seen, value, 1);
        return is_new <= 0 ? is_new : leave_to_python(look, name, value);
    }
    if (PyType_Check(value))
        return look_at_class(look, name, value);
    if (Py_IS_TYPE(value, &PyStaticMethod_Type) || Py_IS_TYPE(value, &PyClassMethod_Type) ||
        Py_IS_TYPE(value, &PyProperty_Type)) {
        int ours = wraps_ours(look, value);
        return ours < 0 ? -1 : ours ? 0 : leave_to_python(look, name, value);
    }
    PyObject *module = module_of(look, type);
    int mocks = module != NULL && PyUnicode_CompareWithASCIIString(module, "unittest.mock") == 0;
    Py_XDECREF(module);
    return mocks ? leave_to_python(look, name, value) : 0;
}

/* Other threads may define names meanwhile: what is looked at is held. */
static int look_at(Look *look, PyObject *content) {
    PyObject *name, *value;
    Py_ssize_t position = 0;
    int status = 0;
    Py_BEGIN_CRITICAL_SECTION(content);
    while (status == 0 && PyDict_Next(content, &position, &name, &value)) {
        Py_INCREF(name);
        Py_INCREF(value);
        status = look_at_value(look, name, value);
        Py_DECREF(name);
        Py_DECREF(value);
    }
    Py_END_CRITICAL_SECTION();
    return status;
}

static int look_at_all(Look *look, PyObject *spaces) {
    PyObject *name, *content;
    Py_ssize_t position = 0;
    while (PyDict_Next(spaces, &position, &name, &content)) {
        if (!PyDict_CheckExact(content)) {
            PyErr_SetString(PyExc_TypeError, "uncommon() needs a dictionary of the contents of modules");
            return -1;
        }
        if (PySet_Add(look->names, name) < 0 || pointers_set(&look->spaces, content, 1) < 0)
            return -1;
    }
    position = 0;
    while (PyDict_Next(spaces, &position, &name, &content))
        if (look_at(look, content) < 0)
            return -1;
    return 0;
}

/* Function `uncommon(contents)`: `contents` has the dictionaries of modules by name. Returns a list of (name, value):
 * the functions and classes that stand in them, and in the classes made in them, but come from elsewhere, each once,
 * with what wraps such functions, and the objects of `unittest.mock`. */
PyObject *uncommon(PyObject *module, PyObject *spaces) {
    (void)module;
    if (!PyDict_CheckExact(spaces)) {
        PyErr_SetString(PyExc_TypeError, "uncommon() needs a dictionary of the contents of modules");
        return NULL;
    }
    Look look = {.names = PySet_New(NULL),
                 .found = PyList_New(0),
                 .module = PyUnicode_InternFromString("__module__"),
                 .wrapped = PyUnicode_InternFromString("__func__")};
    if (look.names == NULL || look.found == NULL || look.module == NULL || look.wrapped == NULL ||
        look_at_all(&look, spaces) < 0)
        Py_CLEAR(look.found);
    pointers_free(&look.spaces);
    pointers_free(&look.seen);
    Py_XDECREF(look.names);
    Py_XDECREF(look.module);
    Py_XDECREF(look.wrapped);
    return look.found;
}
