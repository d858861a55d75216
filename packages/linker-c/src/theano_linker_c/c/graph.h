/* What is shared by the walks over graphs of Python objects: places that grow, and attributes that are lists. */
#ifndef THEANO_GRAPH_H
#define THEANO_GRAPH_H
#include "runtime.h"

/* Room for `count` items; -1 with an exception. */
static inline int with_room(void **items, size_t *most, size_t count, size_t size) {
    if (count <= *most)
        return 0;
    size_t larger = 2 * count + 64;
    void *moved = PyMem_Realloc(*items, larger * size);
    if (moved == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    *items = moved;
    *most = larger;
    return 0;
}

/* A list that is an attribute of a node, a new reference; NULL with an exception. */
static inline PyObject *list_of(PyObject *node, PyObject *name) {
    PyObject *list = PyObject_GetAttr(node, name);
    if (list != NULL && !PyList_Check(list)) {
        PyErr_SetString(PyExc_TypeError, "the inputs and outputs of a node are lists");
        Py_CLEAR(list);
    }
    return list;
}

#endif
