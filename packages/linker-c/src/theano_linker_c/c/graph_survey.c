/* A first look at expressions: which nodes and shared variables there are, and roughly what the nodes look like.
 * `_givens.py` and `_disk_lookup.py` do the same in Python. */
#include "graph.h"
#include "pointers.h"

/* Arrays of so many bytes take part in sketches. */
enum { SMALL_BYTES = 64 };

typedef struct {
    PyObject *owner, *inputs; /* names of attributes */
    PyObject *known, *seen;   /* borrowed dictionaries */
    PyTypeObject *kind;       /* borrowed */
    PyObject *found;          /* a list of the leaves of this class */
    PyObject **waiting;       /* owned */
    size_t n_waiting, most_waiting;
} Survey;

static int wait_for(Survey *s, PyObject *variable) {
    if (with_room((void **)&s->waiting, &s->most_waiting, s->n_waiting + 1, sizeof *s->waiting) < 0)
        return -1;
    s->waiting[s->n_waiting++] = Py_NewRef(variable);
    return 0;
}

/* Whether an input has to be looked at; -1 with an exception. */
static int is_wanted(const Survey *s, PyObject *variable) {
    PyObject *owner = PyObject_GetAttr(variable, s->owner);
    if (owner == NULL)
        return -1;
    int seen = owner == Py_None ? 0 : PyDict_Contains(s->seen, owner);
    int wanted = seen < 0 ? -1 : owner == Py_None ? PyObject_TypeCheck(variable, s->kind) : !seen;
    Py_DECREF(owner);
    return wanted;
}

static int meet_inputs(Survey *s, PyObject *node) {
    PyObject *inputs = list_of(node, s->inputs);
    int status = inputs == NULL ? -1 : 0;
    for (Py_ssize_t i = inputs == NULL ? 0 : PyList_GET_SIZE(inputs); status == 0 && i-- > 0;) {
        PyObject *variable = Py_NewRef(PyList_GET_ITEM(inputs, i));
        int wanted = is_wanted(s, variable);
        status = wanted < 0 || (wanted && wait_for(s, variable) < 0) ? -1 : 0;
        Py_DECREF(variable);
    }
    Py_XDECREF(inputs);
    return status;
}

static int meet(Survey *s, PyObject *variable) {
    int known = PyDict_Contains(s->known, variable);
    if (known != 0)
        return known < 0 ? -1 : 0;
    PyObject *owner = PyObject_GetAttr(variable, s->owner);
    if (owner == NULL)
        return -1;
    int status = 0;
    if (owner == Py_None)
        status = PyObject_TypeCheck(variable, s->kind) ? PyList_Append(s->found, variable) : 0;
    else {
        Py_ssize_t count = PyDict_GET_SIZE(s->seen);
        status = PyDict_SetDefault(s->seen, owner, Py_None) == NULL ? -1 : 0;
        if (status == 0 && PyDict_GET_SIZE(s->seen) > count)
            status = meet_inputs(s, owner);
    }
    Py_DECREF(owner);
    return status;
}

/* Function `meet_nodes(expressions, known, seen, kind)`: enters the nodes of expressions into the dictionary `seen`, up
 * to variables in `known`, and returns the leaves of a class, in the order in which they are read, with repetitions. */
PyObject *meet_nodes(PyObject *module, PyObject *args) {
    (void)module;
    Survey s = {0};
    PyObject *expressions;
    if (!PyArg_ParseTuple(args, "O!O!O!O!", &PyList_Type, &expressions, &PyDict_Type, &s.known, &PyDict_Type, &s.seen,
                          &PyType_Type, &s.kind))
        return NULL;
    s.owner = PyUnicode_InternFromString("owner");
    s.inputs = PyUnicode_InternFromString("inputs");
    s.found = PyList_New(0);
    int status = s.owner == NULL || s.inputs == NULL || s.found == NULL ? -1 : 0;
    for (Py_ssize_t i = PyList_GET_SIZE(expressions); status == 0 && i-- > 0;)
        status = wait_for(&s, PyList_GET_ITEM(expressions, i));
    while (status == 0 && s.n_waiting > 0) {
        PyObject *variable = s.waiting[--s.n_waiting];
        status = meet(&s, variable);
        Py_DECREF(variable);
    }
    while (s.n_waiting > 0)
        Py_DECREF(s.waiting[--s.n_waiting]);
    PyMem_Free(s.waiting);
    Py_XDECREF(s.owner);
    Py_XDECREF(s.inputs);
    if (status < 0)
        Py_CLEAR(s.found);
    return s.found;
}

typedef struct {
    PyObject *owner, *inputs, *op, *data; /* names of attributes */
    PyObject *number_of;                  /* borrowed */
    PyTypeObject *constant;               /* borrowed */
    Pointers ops;
    char *text;
    size_t length, most;
} Sketch;

static int write_text(Sketch *s, const void *bytes, size_t count) {
    if (with_room((void **)&s->text, &s->most, s->length + count, 1) < 0)
        return -1;
    memcpy(s->text + s->length, bytes, count);
    s->length += count;
    return 0;
}

static int write_op(Sketch *s, PyObject *node) {
    PyObject *op = PyObject_GetAttr(node, s->op);
    if (op == NULL)
        return -1;
    int64_t number = pointers_get(&s->ops, op, -1);
    if (number < 0) {
        PyObject *told = PyObject_CallOneArg(s->number_of, op);
        number = told == NULL ? -1 : PyLong_AsLongLong(told);
        Py_XDECREF(told);
        if (number >= 0 && pointers_set(&s->ops, op, number) < 0)
            number = -1;
    }
    Py_DECREF(op);
    uint32_t short_number = (uint32_t)number;
    return number < 0 ? -1 : write_text(s, &short_number, sizeof short_number);
}

static int write_constant(Sketch *s, PyObject *variable) {
    PyObject *data = PyObject_GetAttr(variable, s->data);
    int status = data == NULL ? -1 : 0;
    if (data != NULL && PyArray_Check(data) && PyArray_NBYTES((PyArrayObject *)data) < SMALL_BYTES &&
        !PyDataType_REFCHK(PyArray_DESCR((PyArrayObject *)data))) {
        PyObject *bytes = PyArray_ToString((PyArrayObject *)data, NPY_CORDER);
        status = bytes == NULL ? -1 : write_text(s, PyBytes_AS_STRING(bytes), PyBytes_GET_SIZE(bytes));
        Py_XDECREF(bytes);
    }
    Py_XDECREF(data);
    return status;
}

static int write_input(Sketch *s, PyObject *variable) {
    PyObject *owner = PyObject_GetAttr(variable, s->owner);
    if (owner == NULL)
        return -1;
    int is_leaf = owner == Py_None;
    Py_DECREF(owner);
    if (write_text(s, is_leaf ? "." : "-", 1) < 0)
        return -1;
    return is_leaf && PyObject_TypeCheck(variable, s->constant) ? write_constant(s, variable) : 0;
}

static int write_node(Sketch *s, PyObject *node) {
    PyObject *inputs = list_of(node, s->inputs);
    int status = inputs == NULL ? -1 : write_op(s, node);
    for (Py_ssize_t i = 0; status == 0 && i < PyList_GET_SIZE(inputs); i++) {
        PyObject *variable = Py_NewRef(PyList_GET_ITEM(inputs, i));
        status = write_input(s, variable);
        Py_DECREF(variable);
    }
    Py_XDECREF(inputs);
    return status;
}

/* Function `sketch_rows(nodes, number_of, constant)`: for each node the number of its op and, for each input, whether
 * something computes it, and the bytes of small constants. */
PyObject *sketch_rows(PyObject *module, PyObject *args) {
    (void)module;
    Sketch s = {0};
    PyObject *given;
    if (!PyArg_ParseTuple(args, "OOO!", &given, &s.number_of, &PyType_Type, &s.constant))
        return NULL;
    PyObject **const places[] = {&s.owner, &s.inputs, &s.op, &s.data};
    static const char *const names[] = {"owner", "inputs", "op", "data"};
    PyObject *nodes = PySequence_Fast(given, "sketch_rows: the nodes are a sequence");
    int status = nodes == NULL ? -1 : 0;
    for (int i = 0; i < 4; i++)
        if ((*places[i] = PyUnicode_InternFromString(names[i])) == NULL)
            status = -1;
    for (Py_ssize_t i = 0; status == 0 && i < PySequence_Fast_GET_SIZE(nodes); i++)
        status = write_node(&s, PySequence_Fast_GET_ITEM(nodes, i));
    PyObject *text = status < 0 ? NULL : PyBytes_FromStringAndSize(s.text, s.length);
    for (int i = 0; i < 4; i++)
        Py_XDECREF(*places[i]);
    pointers_free(&s.ops);
    PyMem_Free(s.text);
    Py_XDECREF(nodes);
    return text;
}
