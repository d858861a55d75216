/* What stands in the modules and classes of the library: tens of thousands of objects, nearly all of which are told by
 * pointers. Python looks at the rest (_function/_disk_key.py), and at all where there is no runtime.
 *
 * A look notes what it has seen, so that the next one only compares pointers: what has been seen is held, or, where it
 * is no code, its type is. */
#include "graph.h"
#include "pointers.h"

static const char LOOK_NAME[] = "theano_linker_c.look";

/* The lowest bit of an item: a type stands for all of its objects. */
enum { OF_TYPE = 1 };

typedef struct {
    PyObject *content; /* the dictionary of a module or class */
    Py_ssize_t count;  /* of items; -1 where it has not been looked at */
    uintptr_t *items;  /* the values in order, owned, or their types */
} Space;

typedef struct {
    PyObject *names;   /* a set of the modules whose content is looked at */
    PyObject *held;    /* a list of what is known by its pointer */
    PyObject *found;   /* a list of what Python has to look at; only during a look */
    PyObject *module;  /* the text "__module__" */
    PyObject *wrapped; /* the text "__func__" */
    Space *spaces;
    size_t n_spaces, most_spaces;
    Pointers ours;  /* the dictionaries of modules */
    Pointers seen;  /* classes and functions that have been looked at */
    Pointers mocks; /* 1 for types of mocks, 0 for others */
} Look;

static int leave_to_python(Look *look, PyObject *value) { return PyList_Append(look->found, value); }

static int is_ours(const Look *look, PyObject *value) {
    return PyFunction_Check(value) && pointers_get(&look->ours, ((PyFunctionObject *)value)->func_globals, 0);
}

/* Enters an object, which is held from then on; 1 where it is new, -1 with an exception. */
static int enter(Look *look, Pointers *pointers, PyObject *object, int64_t number) {
    int is_new = pointers_get(pointers, object, -1) < 0;
    if (is_new && (PyList_Append(look->held, object) < 0 || pointers_set(pointers, object, number) < 0))
        return -1;
    return is_new;
}

static int add_space(Look *look, PyObject *content) {
    if (with_room((void **)&look->spaces, &look->most_spaces, look->n_spaces + 1, sizeof *look->spaces) < 0)
        return -1;
    look->spaces[look->n_spaces++] = (Space){.content = Py_NewRef(content), .count = -1};
    return 0;
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

static int look_at_class(Look *look, PyObject *value) {
    int is_new = enter(look, &look->seen, value, 1);
    if (is_new <= 0)
        return is_new;
    PyObject *module = module_of(look, (PyTypeObject *)value);
    int ours = module == NULL ? 0 : PySet_Contains(look->names, module);
    Py_XDECREF(module);
    if (ours < 0)
        return -1;
    return ours ? add_space(look, ((PyTypeObject *)value)->tp_dict) : leave_to_python(look, value);
}

static int is_wrapper(PyObject *value) {
    return Py_IS_TYPE(value, &PyStaticMethod_Type) || Py_IS_TYPE(value, &PyClassMethod_Type) ||
           Py_IS_TYPE(value, &PyProperty_Type);
}

/* Whether nothing but code of the modules is in a wrapper of functions. */
static int wraps_ours(const Look *look, PyObject *value) {
    static const char *const parts[] = {"fget", "fset", "fdel"};
    if (!Py_IS_TYPE(value, &PyProperty_Type)) {
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

static int look_at_object(Look *look, PyObject *value) {
    PyTypeObject *type = Py_TYPE(value);
    if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE))
        return 0;
    int64_t mocks = pointers_get(&look->mocks, type, -1);
    if (mocks < 0) {
        PyObject *module = module_of(look, type);
        mocks = module != NULL && PyUnicode_CompareWithASCIIString(module, "unittest.mock") == 0;
        Py_XDECREF(module);
        if (enter(look, &look->mocks, (PyObject *)type, mocks) < 0)
            return -1;
    }
    return mocks ? leave_to_python(look, value) : 0;
}

static int look_at_value(Look *look, PyObject *value) {
    if (Py_IS_TYPE(value, &PyFunction_Type)) {
        int is_new = is_ours(look, value) ? 0 : enter(look, &look->seen, value, 1);
        return is_new <= 0 ? is_new : leave_to_python(look, value);
    }
    if (PyType_Check(value))
        return look_at_class(look, value);
    if (is_wrapper(value)) {
        int ours = wraps_ours(look, value);
        return ours < 0 ? -1 : ours ? 0 : leave_to_python(look, value);
    }
    return look_at_object(look, value);
}

/* Whether a value is held itself: code, and what cannot hold anything of the user's. */
static int is_held(PyObject *value) {
    return PyUnicode_CheckExact(value) || PyFunction_Check(value) || PyType_Check(value) || is_wrapper(value) ||
           PyModule_CheckExact(value) || Py_IS_TYPE(value, &PyMemberDescr_Type) ||
           Py_IS_TYPE(value, &PyGetSetDescr_Type) || value == Py_None || PyBool_Check(value);
}

static void let_go(uintptr_t *items, Py_ssize_t count) {
    for (Py_ssize_t i = 0; i < count; i++)
        Py_DECREF((PyObject *)(items[i] & ~(uintptr_t)OF_TYPE));
    PyMem_Free(items);
}

/* Whether a dictionary holds what was seen in it. */
static int is_as_seen(const Space *space) {
    PyObject *value;
    Py_ssize_t position = 0, i = 0;
    int same = PyDict_GET_SIZE(space->content) == space->count;
    Py_BEGIN_CRITICAL_SECTION(space->content);
    while (same && PyDict_Next(space->content, &position, NULL, &value)) {
        uintptr_t item = i < space->count ? space->items[i++] : 0;
        same = item == (uintptr_t)value || item == ((uintptr_t)Py_TYPE(value) | OF_TYPE);
    }
    Py_END_CRITICAL_SECTION();
    return same && i == space->count;
}

/* Values of a dictionary, held. Most of the time would go into waiting for the memory of the values: it is fetched for
 * several of them at once. */
enum { CHUNK = 32 };
typedef struct {
    PyObject *values[CHUNK];
    int count;
} Chunk;

static void next_chunk(PyObject *content, Py_ssize_t *position, Chunk *chunk) {
    int k = 0;
    while (k < CHUNK && PyDict_Next(content, position, NULL, &chunk->values[k]))
        __builtin_prefetch(chunk->values[k++], 1);
    chunk->count = k;
    for (k = 0; k < chunk->count; k++)
        Py_INCREF(chunk->values[k]);
}

/* Looks at a value, and notes it. */
static int look_at_entry(Look *look, PyObject *value, uintptr_t *item) {
    if (look_at_value(look, value) < 0)
        return -1;
    *item = is_held(value) ? (uintptr_t)value : (uintptr_t)Py_TYPE(value) | OF_TYPE;
    Py_INCREF((PyObject *)(*item & ~(uintptr_t)OF_TYPE));
    return 0;
}

/* Other threads may define names meanwhile, which the next look finds. */
static int look_at(Look *look, PyObject *content, uintptr_t *items, Py_ssize_t most, Py_ssize_t *count) {
    Py_ssize_t position = 0;
    Chunk chunk = {.count = 1};
    int status = 0;
    Py_BEGIN_CRITICAL_SECTION(content);
    while (status == 0 && chunk.count > 0) {
        next_chunk(content, &position, &chunk);
        for (int k = 0; k < chunk.count; k++) {
            if (status == 0 && *count < most) {
                status = look_at_entry(look, chunk.values[k], &items[*count]);
                *count += status == 0;
            }
            Py_DECREF(chunk.values[k]);
        }
    }
    Py_END_CRITICAL_SECTION();
    return status;
}

/* Looks at the content of a module or class where it is not as it was. */
static int look_again(Look *look, size_t which) {
    Space old = look->spaces[which];
    if (old.count >= 0 && is_as_seen(&old))
        return 0;
    Py_ssize_t most = PyDict_GET_SIZE(old.content), count = 0;
    uintptr_t *items = PyMem_Malloc((most + 1) * sizeof *items);
    if (items == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    int status = look_at(look, old.content, items, most, &count);
    look->spaces[which].items = items; /* there may be more of them now, elsewhere */
    look->spaces[which].count = count;
    let_go(old.items, old.count);
    return status;
}

static int look_at_all(Look *look, PyObject *contents) {
    PyObject *name, *content;
    Py_ssize_t position = 0;
    while (PyDict_Next(contents, &position, &name, &content)) {
        if (!PyDict_CheckExact(content)) {
            PyErr_SetString(PyExc_TypeError, "uncommon() needs a dictionary of the contents of modules");
            return -1;
        }
        int is_new = PySet_Add(look->names, name) < 0 ? -1 : enter(look, &look->ours, content, 1);
        if (is_new < 0 || (is_new && add_space(look, content) < 0))
            return -1;
    }
    for (size_t i = 0; i < look->n_spaces; i++) /* those of classes come behind */
        if (look_again(look, i) < 0)
            return -1;
    return 0;
}

static void forget(PyObject *capsule) {
    Look *look = PyCapsule_GetPointer(capsule, LOOK_NAME);
    for (size_t i = 0; i < look->n_spaces; i++) {
        let_go(look->spaces[i].items, look->spaces[i].count);
        Py_DECREF(look->spaces[i].content);
    }
    PyMem_Free(look->spaces);
    pointers_free(&look->ours);
    pointers_free(&look->seen);
    pointers_free(&look->mocks);
    Py_XDECREF(look->names);
    Py_XDECREF(look->held);
    Py_XDECREF(look->found);
    Py_XDECREF(look->module);
    Py_XDECREF(look->wrapped);
    PyMem_Free(look);
}

/* Function `first_look()`: what `uncommon` notes what it has seen in. */
PyObject *first_look(PyObject *module, PyObject *none) {
    (void)module;
    (void)none;
    Look *look = PyMem_Calloc(1, sizeof *look);
    PyObject *capsule = look == NULL ? PyErr_NoMemory() : PyCapsule_New(look, LOOK_NAME, forget);
    if (capsule == NULL) {
        PyMem_Free(look);
        return NULL;
    }
    look->names = PySet_New(NULL);
    look->held = PyList_New(0);
    look->module = PyUnicode_InternFromString("__module__");
    look->wrapped = PyUnicode_InternFromString("__func__");
    if (look->names == NULL || look->held == NULL || look->module == NULL || look->wrapped == NULL)
        Py_CLEAR(capsule);
    return capsule;
}

/* Function `uncommon(look, contents)`: `contents` has the dictionaries of modules by name. Returns a list:
 * the functions and classes that stand in them, and in the classes made in them, but come from elsewhere, each
 * once, with what wraps such functions, and the objects of `unittest.mock`. Only what has changed since the look saw it
 * counts; after an exception the look is of no use. */
PyObject *uncommon(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *capsule, *contents;
    if (!PyArg_ParseTuple(args, "OO", &capsule, &contents))
        return NULL;
    Look *look = PyCapsule_GetPointer(capsule, LOOK_NAME);
    if (look == NULL)
        return NULL;
    if (!PyDict_CheckExact(contents)) {
        PyErr_SetString(PyExc_TypeError, "uncommon() needs a dictionary of the contents of modules");
        return NULL;
    }
    Py_XSETREF(look->found, PyList_New(0));
    if (look->found == NULL || look_at_all(look, contents) < 0)
        return NULL;
    PyObject *found = look->found;
    look->found = NULL;
    return found;
}
