/* The numbers of which the structural hash of a graph is made, for nodes that have nothing but an op and one plain
 * result; `theano_graph.hashing._scope` does the same in Python, and is asked here for all that comes up first or is
 * not plain. */
#include "graph.h"
#include "pointers.h"

enum { NEW, OPENED, DONE };
enum { NO_NAME = -1, UNKNOWN = -1 };

typedef struct {
    PyObject *inputs, *outputs, *op, *owner, *type, *name, *tag, *variable_class; /* names of attributes */
    PyObject *scope, *numbers, *stream, *used, *apply;                            /* borrowed, of the scope */
    PyObject *order;                                                              /* the nodes */
    PyObject **waiting;                                                           /* owned */
    size_t n_waiting, most_waiting;
    int64_t *row, *told; /* of the present node, and of all since the stream was told last */
    size_t n_row, most_row, n_told, most_told;
    Pointers states, ops, types, classes;
} Rows;

/* ---- the nodes in order */

static int push(Rows *r, PyObject *node) {
    if (with_room((void **)&r->waiting, &r->most_waiting, r->n_waiting + 1, sizeof *r->waiting) < 0)
        return -1;
    r->waiting[r->n_waiting++] = Py_NewRef(node);
    return 0;
}

/* Puts the owner of an input above its reader; 1 where it did, 0 where it need not, -1 with an exception, -2 for a
 * cycle. */
static int push_owner(Rows *r, PyObject *variable) {
    PyObject *owner = PyObject_GetAttr(variable, r->owner);
    int status = owner == NULL ? -1 : 0;
    if (owner != NULL && owner != Py_None) {
        int64_t state = pointers_get(&r->states, owner, NEW);
        int is_known = state == DONE ? 1 : PyDict_Contains(r->numbers, variable);
        status = is_known ? (is_known < 0 ? -1 : 0) : state == OPENED ? -2 : push(r, owner) < 0 ? -1 : 1;
    }
    Py_XDECREF(owner);
    return status;
}

/* What the inputs of a node need comes above it, the first input at the top; how many those are, or as above. */
static int push_inputs(Rows *r, PyObject *node) {
    PyObject *inputs = list_of(node, r->inputs);
    if (inputs == NULL)
        return -1;
    int count = 0;
    for (Py_ssize_t i = PyList_GET_SIZE(inputs); count >= 0 && i-- > 0;) {
        PyObject *variable = Py_NewRef(PyList_GET_ITEM(inputs, i));
        int status = push_owner(r, variable);
        count = status < 0 ? status : count + status;
        Py_DECREF(variable);
    }
    Py_DECREF(inputs);
    return count;
}

/* 0, -1 with an exception, -2 where a node depends on itself. */
static int walk(Rows *r, PyObject *roots) {
    for (Py_ssize_t i = PyList_GET_SIZE(roots); i-- > 0;)
        if (push(r, PyList_GET_ITEM(roots, i)) < 0)
            return -1;
    while (r->n_waiting > 0) {
        PyObject *node = r->waiting[r->n_waiting - 1];
        int64_t state = pointers_get(&r->states, node, NEW);
        if (state == NEW) {
            int count = pointers_set(&r->states, node, OPENED) < 0 ? -1 : push_inputs(r, node);
            if (count < 0)
                return count;
            if (count > 0)
                continue;
        }
        r->n_waiting--;
        int status = state == DONE || (pointers_set(&r->states, node, DONE) >= 0 && PyList_Append(r->order, node) == 0);
        Py_DECREF(node); /* the list holds it */
        if (!status)
            return -1;
    }
    return 0;
}

/* ---- their rows */

static int tell_stream(Rows *r) {
    if (r->n_told == 0)
        return 0;
    Py_ssize_t bytes = r->n_told * sizeof *r->told;
    PyObject *done = PyObject_CallMethod(r->stream, "frombytes", "y#", (const char *)r->told, bytes);
    r->n_told = 0;
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

/* The number that a method of the scope gives; -2 where it gives None, -1 with an exception. */
static int64_t asked(Rows *r, const char *method, PyObject *about) {
    PyObject *found = PyObject_CallMethod(r->scope, method, "O", about);
    int64_t number = found == NULL ? -1 : found == Py_None ? -2 : PyLong_AsLongLong(found);
    Py_XDECREF(found);
    return number;
}

static int64_t number_of_input(Rows *r, PyObject *variable) {
    PyObject *known = PyDict_GetItemWithError(r->numbers, variable);
    int64_t number = -1;
    if (known != NULL)
        number = PyLong_AsLongLong(known);
    else if (!PyErr_Occurred() && tell_stream(r) == 0)
        number = asked(r, "_add_leaf", variable);
    if (number >= 0 && number < PyByteArray_GET_SIZE(r->used))
        PyByteArray_AS_STRING(r->used)[number] = 1;
    return number;
}

static int number_inputs(Rows *r, PyObject *node) {
    PyObject *inputs = list_of(node, r->inputs);
    int status = inputs == NULL ? -1 : 0;
    r->n_row = 0;
    for (Py_ssize_t i = 0; status == 0 && i < PyList_GET_SIZE(inputs); i++) {
        PyObject *variable = Py_NewRef(PyList_GET_ITEM(inputs, i));
        int64_t number = number_of_input(r, variable);
        Py_DECREF(variable);
        status = number < 0 ? -1 : with_room((void **)&r->row, &r->most_row, r->n_row + 1, sizeof *r->row);
        if (status == 0)
            r->row[r->n_row++] = number;
    }
    Py_XDECREF(inputs);
    return status;
}

static int64_t number_of_op(Rows *r, PyObject *node) {
    PyObject *op = PyObject_GetAttr(node, r->op);
    int64_t number = op == NULL ? -1 : pointers_get(&r->ops, op, UNKNOWN);
    if (op != NULL && number == UNKNOWN) {
        number = asked(r, "_number_of_op", op); /* the scope keeps it alive */
        if (number >= 0 && pointers_set(&r->ops, op, number) < 0)
            number = -1;
    }
    Py_XDECREF(op);
    return number;
}

static int is_none(PyObject *object, PyObject *name) {
    PyObject *value = PyObject_GetAttr(object, name);
    Py_XDECREF(value);
    return value == NULL ? -1 : value == Py_None;
}

/* The number of a type that the scope knows, with the class of its variables; -2 where it does not, -1 with an
 * exception. */
static int64_t number_of_type(Rows *r, PyObject *type, PyObject **kind) {
    int64_t number = pointers_get(&r->types, type, UNKNOWN);
    if (number == UNKNOWN) {
        number = asked(r, "_known_type", type);
        PyObject *made = number < 0 ? NULL : PyObject_GetAttr(type, r->variable_class);
        if (number < 0)
            return number;
        int status = made == NULL ? -1 : pointers_set(&r->classes, type, (intptr_t)made);
        Py_XDECREF(made); /* it is compared only */
        if (status < 0 || pointers_set(&r->types, type, number) < 0)
            return -1;
    }
    *kind = (PyObject *)(intptr_t)pointers_get(&r->classes, type, 0);
    return number;
}

/* The number of the type of a node's one result that has nothing else to tell; -2 for other nodes, -1 with an
 * exception. */
static int64_t plain_type(Rows *r, PyObject *node, PyObject *variable) {
    int plain = (PyObject *)Py_TYPE(node) == r->apply ? is_none(node, r->tag) : 0;
    if (plain > 0)
        plain = is_none(variable, r->name);
    if (plain > 0)
        plain = is_none(variable, r->tag);
    if (plain <= 0)
        return plain < 0 ? -1 : -2;
    PyObject *kind = NULL, *type = PyObject_GetAttr(variable, r->type);
    int64_t number = type == NULL ? -1 : number_of_type(r, type, &kind);
    Py_XDECREF(type);
    return number >= 0 && (PyObject *)Py_TYPE(variable) != kind ? -2 : number;
}

/* Gives a result the next number; 1 where it had none, 0 where it had one, -1 with an exception. */
static int enter(Rows *r, PyObject *variable) {
    PyObject *number = PyLong_FromSsize_t(PyDict_GET_SIZE(r->numbers));
    PyObject *held = number == NULL ? NULL : PyDict_SetDefault(r->numbers, variable, number);
    int status = held == NULL ? -1 : held == number;
    Py_XDECREF(number);
    return status;
}

static int tell_row(Rows *r, int64_t op, int64_t type) {
    if (with_room((void **)&r->told, &r->most_told, r->n_told + r->n_row + 5, sizeof *r->told) < 0)
        return -1;
    int64_t *at = r->told + r->n_told;
    *at++ = op;
    *at++ = r->n_row;
    memcpy(at, r->row, r->n_row * sizeof *at);
    at += r->n_row;
    *at++ = 1;
    *at++ = type;
    *at++ = NO_NAME;
    r->n_told = at - r->told;
    return 0;
}

/* Leaves a node to the scope. */
static int tell_in_python(Rows *r, PyObject *node, int64_t op) {
    PyObject *row = tell_stream(r) < 0 ? NULL : PyList_New(r->n_row);
    for (size_t i = 0; row != NULL && i < r->n_row; i++) {
        PyObject *number = PyLong_FromLongLong(r->row[i]);
        if (number == NULL)
            Py_CLEAR(row);
        else
            PyList_SET_ITEM(row, i, number);
    }
    PyObject *done = row == NULL ? NULL : PyObject_CallMethod(r->scope, "_add_node", "OLO", node, (long long)op, row);
    Py_XDECREF(row);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

static int tell_node(Rows *r, PyObject *node) {
    int64_t op = number_inputs(r, node) < 0 ? -1 : number_of_op(r, node);
    PyObject *outputs = op < 0 ? NULL : list_of(node, r->outputs);
    if (outputs == NULL)
        return -1;
    int64_t type = -2;
    int is_new = 0;
    if (PyList_GET_SIZE(outputs) == 1) {
        PyObject *variable = Py_NewRef(PyList_GET_ITEM(outputs, 0));
        type = plain_type(r, node, variable);
        is_new = type < 0 ? 0 : enter(r, variable);
        Py_DECREF(variable);
    }
    Py_DECREF(outputs);
    if (type == -1 || is_new < 0)
        return -1;
    return is_new ? tell_row(r, op, type) : tell_in_python(r, node, op);
}

static int name_attributes(Rows *r) {
    PyObject **const places[] = {&r->inputs, &r->outputs, &r->op,  &r->owner,
                                 &r->type,   &r->name,    &r->tag, &r->variable_class};
    static const char *const names[] = {"inputs", "outputs", "op", "owner", "type", "name", "_tag", "variable_class"};
    int status = 0;
    for (int i = 0; i < 8; i++) {
        *places[i] = PyUnicode_InternFromString(names[i]);
        status = *places[i] == NULL ? -1 : status;
    }
    return status;
}

static void rows_free(Rows *r) {
    PyObject *const names[] = {r->inputs, r->outputs, r->op, r->owner, r->type, r->name, r->tag, r->variable_class};
    for (int i = 0; i < 8; i++)
        Py_XDECREF(names[i]);
    while (r->n_waiting > 0)
        Py_DECREF(r->waiting[--r->n_waiting]);
    PyMem_Free(r->waiting);
    PyMem_Free(r->row);
    PyMem_Free(r->told);
    pointers_free(&r->states);
    pointers_free(&r->ops);
    pointers_free(&r->types);
    pointers_free(&r->classes);
}

/* Function `graph_rows(scope, roots, numbers, stream, used, apply)`: numbers the nodes that `roots` need, writes their
 * rows to the array `stream`, and returns them in order; None, with nothing written, where one depends on itself. */
PyObject *graph_rows(PyObject *module, PyObject *args) {
    (void)module;
    Rows r = {0};
    PyObject *roots;
    if (!PyArg_ParseTuple(args, "OO!O!OO!O", &r.scope, &PyList_Type, &roots, &PyDict_Type, &r.numbers, &r.stream,
                          &PyByteArray_Type, &r.used, &r.apply))
        return NULL;
    r.order = PyList_New(0);
    int status = r.order == NULL || name_attributes(&r) < 0 ? -1 : walk(&r, roots);
    for (Py_ssize_t i = 0; status == 0 && i < PyList_GET_SIZE(r.order); i++)
        status = tell_node(&r, PyList_GET_ITEM(r.order, i));
    if (status == 0)
        status = tell_stream(&r);
    rows_free(&r);
    if (status < 0)
        Py_CLEAR(r.order);
    return status == -2 ? Py_NewRef(Py_None) : r.order;
}
