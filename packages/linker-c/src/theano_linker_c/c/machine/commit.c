/* Writes into the storage of shared variables that wait until the whole call has succeeded.
 *
 * What is to be written has been checked and is kept; it happens just before updates are stored. So the storage needs
 * no copy, readers of the old value need no order, and a failed call leaves it as it was. If by then somebody else sees
 * the array, it is copied first.
 */
#include "runtime.h"

/* The base of a view is the owner itself, not a view in between: the owner's reference count then tells the truth. */
PyObject *owner_of(PyObject *value) {
    while (PyArray_Check(value) && PyArray_BASE((PyArrayObject *)value) != NULL &&
           Py_IS_TYPE(PyArray_BASE((PyArrayObject *)value), &PyArray_Type))
        value = PyArray_BASE((PyArrayObject *)value);
    return value;
}

static void commit_drop(Commit *c) {
    Py_DECREF(c->array);
    c->free(c);
}

void commits_drop(Frame *f) {
    while (f->commits != NULL) {
        Commit *c = f->commits;
        f->commits = c->next;
        commit_drop(c);
    }
}

/* Put a write into `array` off, which becomes the new value of update `target`. The register `output` holds the array
 * itself, which is not changed yet. */
void commit_add(Frame *f, Commit *c, int target, int output, PyArrayObject *array) {
    Commit **end = &f->commits;
    c->next = NULL;
    c->target = target;
    c->output = output;
    c->array = (PyArrayObject *)Py_NewRef((PyObject *)array);
    while (*end != NULL)
        end = &(*end)->next;
    *end = c;
    frame_set(f, output, Py_NewRef((PyObject *)array));
}

/* Whether nobody but this call and the storage of one shared variable sees the array. */
static int only_ours(const Machine *m, const Frame *f, PyObject *array) {
    Py_ssize_t known = 0, stored = 0;
    if (!buffer_is_plain((PyArrayObject *)array))
        return 0;
    for (const Commit *c = f->commits; c != NULL; c = c->next)
        known += (PyObject *)c->array == array;
    for (int r = 0; r < m->n_registers; r++)
        known += (f->registers[r] == array) + (m->buffers[r] == array);
    for (int k = 0; k < m->n_cells; k++)
        stored += PyList_GET_SIZE(m->cells[k].cell) > 0 && PyList_GET_ITEM(m->cells[k].cell, 0) == array;
    return stored <= 1 && known + stored == Py_REFCNT(array);
}

/* Let all writes for one update go into a copy of `array`, in which another variable may have its storage, too. Returns
 * the copy (borrowed from the first of them), or NULL. */
static PyArrayObject *redirect(Frame *f, PyArrayObject *array, int target) {
    PyArrayObject *copy = (PyArrayObject *)PyArray_NewCopy(array, NPY_CORDER);
    if (copy == NULL)
        return NULL;
    Py_INCREF(array);
    for (Commit *c = f->commits; c != NULL; c = c->next) {
        if (c->array != array || c->target != target)
            continue;
        Py_SETREF(c->array, (PyArrayObject *)Py_NewRef((PyObject *)copy));
        if (f->registers[c->output] == (PyObject *)array)
            frame_set(f, c->output, Py_NewRef((PyObject *)copy));
    }
    Py_DECREF(array);
    Py_DECREF(copy);
    return copy;
}

/* Carry out what waits for the array in a register, in a copy of it that takes its place there: an instruction is
 * about to read it. Returns the array to be read (borrowed), or NULL with an exception. */
PyArrayObject *commits_settle(Frame *f, int reg) {
    PyArrayObject *array = (PyArrayObject *)f->registers[reg];
    int target = -1;
    for (const Commit *c = f->commits; c != NULL; c = c->next)
        if (c->output == reg && c->array == array)
            target = c->target;
    if (target < 0)
        return array;
    array = redirect(f, array, target);
    if (array == NULL)
        return NULL;
    for (Commit **at = &f->commits; *at != NULL;) {
        Commit *c = *at;
        if (c->array != array) {
            at = &c->next;
            continue;
        }
        c->run(c);
        *at = c->next;
        commit_drop(c);
    }
    return array;
}

/* Called when the call has succeeded: nothing can fail once the first array has changed. */
int commits_run(const Machine *m, Frame *f) {
    for (Commit *c = f->commits; c != NULL; c = c->next)
        if (!only_ours(m, f, (PyObject *)c->array) && redirect(f, c->array, c->target) == NULL)
            return -1;
    for (Commit *c = f->commits; c != NULL; c = c->next)
        c->run(c);
    commits_drop(f);
    return 0;
}
