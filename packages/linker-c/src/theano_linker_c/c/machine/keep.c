/* Intermediate results that stay after a call, to be looked at; the next call lets go of them before it begins. */
#include "runtime.h"

struct Keep {
    int count, *registers;
    PyObject **values; /* of each of the registers; NULL where there is none */
};

void keep_drop(Machine *m) {
    for (int k = 0; m->keep != NULL && k < m->keep->count; k++)
        Py_CLEAR(m->keep->values[k]);
}

void keep_take(Machine *m, const Frame *f) {
    keep_drop(m);
    for (int k = 0; m->keep != NULL && k < m->keep->count; k++)
        m->keep->values[k] = Py_XNewRef(f->registers[m->keep->registers[k]]);
}

void keep_free(Machine *m) {
    if (m->keep == NULL)
        return;
    keep_drop(m);
    PyMem_Free(m->keep->registers);
    PyMem_Free(m->keep->values);
    PyMem_Free(m->keep);
    m->keep = NULL;
}

/* Instead of letting go of a register: it keeps its array, unless an output of the instruction has taken that over. */
void keep_instead(Frame *f, const Instruction *in, int reg) {
    for (int k = 0; k < in->n_outputs; k++)
        if (f->registers[in->outputs[k]] == f->registers[reg]) {
            if (in->outputs[k] != reg)
                frame_set(f, reg, NULL);
            return;
        }
}

int keep_traverse(Machine *m, visitproc visit, void *arg) {
    for (int k = 0; m->keep != NULL && k < m->keep->count; k++)
        Py_VISIT(m->keep->values[k]);
    return 0;
}

/* Method `keep_registers(registers)`. */
PyObject *machine_keep_registers(PyObject *self, PyObject *registers) {
    Machine *m = (Machine *)self;
    if (!PyTuple_Check(registers)) {
        PyErr_SetString(PyExc_TypeError, "keep_registers: a tuple is wanted");
        return NULL;
    }
    keep_free(m);
    Keep *keep = m->keep = PyMem_Calloc(1, sizeof *keep);
    if (keep == NULL || (keep->registers = parse_ints(registers, &keep->count)) == NULL ||
        (keep->values = PyMem_Calloc(keep->count + 1, sizeof(PyObject *))) == NULL) {
        if (keep != NULL)
            keep->count = 0;
        keep_free(m);
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    for (int k = 0; k < keep->count; k++)
        if (keep->registers[k] < 0 || keep->registers[k] >= m->n_registers) {
            PyErr_SetString(PyExc_ValueError, "keep_registers: register out of range");
            keep_free(m);
            return NULL;
        }
    Py_RETURN_NONE;
}

/* Method `kept()`: register -> value of the last call. */
PyObject *machine_kept(PyObject *self, PyObject *unused) {
    Machine *m = (Machine *)self;
    PyObject *found = PyDict_New();
    (void)unused;
    for (int k = 0; found != NULL && m->keep != NULL && k < m->keep->count; k++) {
        if (m->keep->values[k] == NULL)
            continue;
        PyObject *number = PyLong_FromLong(m->keep->registers[k]);
        if (number == NULL || PyDict_SetItem(found, number, m->keep->values[k]) < 0)
            Py_CLEAR(found);
        Py_XDECREF(number);
    }
    return found;
}
