/* Intermediate results that a machine retains after a call, for inspection, until the next call begins. */
#include "runtime.h"

struct Retained {
    int count, *registers;
    PyObject **values; /* of each of the registers; NULL where there is none */
};

void retained_drop(Machine *m) {
    for (int k = 0; m->retained != NULL && k < m->retained->count; k++)
        Py_CLEAR(m->retained->values[k]);
}

void retained_store(Machine *m, const Frame *f) {
    retained_drop(m);
    for (int k = 0; m->retained != NULL && k < m->retained->count; k++)
        m->retained->values[k] = Py_XNewRef(f->registers[m->retained->registers[k]]);
}

void retained_free(Machine *m) {
    if (m->retained == NULL)
        return;
    retained_drop(m);
    PyMem_Free(m->retained->registers);
    PyMem_Free(m->retained->values);
    PyMem_Free(m->retained);
    m->retained = NULL;
}

/* In place of a release: the register retains its array, unless an output of the instruction reuses that. */
void retain_instead_of_release(Frame *f, const Instruction *in, int reg) {
    for (int k = 0; k < in->n_outputs; k++)
        if (f->registers[in->outputs[k]] == f->registers[reg]) {
            if (in->outputs[k] != reg)
                frame_set(f, reg, NULL);
            return;
        }
}

int retained_traverse(Machine *m, visitproc visit, void *arg) {
    for (int k = 0; m->retained != NULL && k < m->retained->count; k++)
        Py_VISIT(m->retained->values[k]);
    return 0;
}

/* Method `retain_registers(registers)`. */
PyObject *machine_retain_registers(PyObject *self, PyObject *registers) {
    Machine *m = (Machine *)self;
    if (!PyTuple_Check(registers)) {
        PyErr_SetString(PyExc_TypeError, "retain_registers: a tuple is wanted");
        return NULL;
    }
    retained_free(m);
    Retained *retained = m->retained = PyMem_Calloc(1, sizeof *retained);
    if (retained == NULL || (retained->registers = parse_ints(registers, &retained->count)) == NULL ||
        (retained->values = PyMem_Calloc(retained->count + 1, sizeof(PyObject *))) == NULL) {
        if (retained != NULL)
            retained->count = 0;
        retained_free(m);
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    for (int k = 0; k < retained->count; k++)
        if (retained->registers[k] < 0 || retained->registers[k] >= m->n_registers) {
            PyErr_SetString(PyExc_ValueError, "retain_registers: register out of range");
            retained_free(m);
            return NULL;
        }
    Py_RETURN_NONE;
}

/* Method `retained()`: register -> value of the last call. */
PyObject *machine_retained(PyObject *self, PyObject *unused) {
    Machine *m = (Machine *)self;
    PyObject *found = PyDict_New();
    (void)unused;
    for (int k = 0; found != NULL && m->retained != NULL && k < m->retained->count; k++) {
        if (m->retained->values[k] == NULL)
            continue;
        PyObject *number = PyLong_FromLong(m->retained->registers[k]);
        if (number == NULL || PyDict_SetItem(found, number, m->retained->values[k]) < 0)
            Py_CLEAR(found);
        Py_XDECREF(number);
    }
    return found;
}
