/* The instruction loop, and instructions that run Python code. */
#include "runtime.h"

typedef struct {
    PyObject *perform, *node, *params; /* borrowed from the payload; params may be NULL */
} Perform;

PyObject *frame_values(const Frame *f, const Instruction *in) {
    PyObject *values = PyList_New(in->n_inputs);
    if (values == NULL)
        return NULL;
    for (int i = 0; i < in->n_inputs; i++) {
        PyObject *value = f->registers[in->inputs[i]];
        PyList_SET_ITEM(values, i, Py_NewRef(value == NULL ? Py_None : value));
    }
    return values;
}

PyObject *frame_results(const Frame *f, const Instruction *in) {
    PyObject *values = PyList_New(in->n_outputs);
    for (int k = 0; values != NULL && k < in->n_outputs; k++) {
        PyObject *value = f->registers[in->outputs[k]];
        PyList_SET_ITEM(values, k, Py_NewRef(value == NULL ? Py_None : value));
    }
    return values;
}

/* A result as registers hold it: NumPy scalars become arrays without dimensions. Takes over the reference. */
static PyObject *as_register_value(PyObject *value) {
    if (value == NULL || PyArray_CheckExact(value) || !PyArray_IsScalar(value, Generic))
        return value;
    PyObject *array = PyArray_FromScalar(value, NULL);
    Py_DECREF(value);
    return array;
}

static int store_results(Frame *f, const Instruction *in, PyObject *storage, int nested) {
    for (int k = 0; k < in->n_outputs; k++) {
        PyObject *value = PySequence_GetItem(storage, k);
        if (value != NULL && nested)
            Py_SETREF(value, PySequence_GetItem(value, 0));
        if (k >= 64 || !(in->scalars >> k & 1))
            value = as_register_value(value);
        if (value == NULL)
            return RUN_RAISED;
        frame_set(f, in->outputs[k], value);
    }
    return RUN_DONE;
}

int frame_store(Frame *f, const Instruction *in, PyObject *results) { return store_results(f, in, results, 0); }

/* Let a Python function from input values to output values do an instruction. */
int frame_call(Frame *f, const Instruction *in, PyObject *function) {
    PyObject *values = frame_values(f, in);
    PyObject *results = values == NULL ? NULL : PyObject_CallOneArg(function, values);
    Py_XDECREF(values);
    if (results == NULL)
        return RUN_RAISED;
    int status = frame_store(f, in, results);
    Py_DECREF(results);
    return status;
}

static int perform_run(Machine *m, Frame *f, const Instruction *in) {
    const Perform *p = in->plan;
    (void)m;
    int status = RUN_RAISED;
    PyObject *values = frame_values(f, in), *storage = PyList_New(in->n_outputs), *answer = NULL;
    if (values == NULL || storage == NULL)
        goto done;
    for (int k = 0; k < in->n_outputs; k++) {
        PyObject *slot = PyList_New(1);
        if (slot == NULL)
            goto done;
        PyList_SET_ITEM(slot, 0, Py_NewRef(Py_None));
        PyList_SET_ITEM(storage, k, slot);
    }
    PyObject *args[4] = {p->node, values, storage, p->params};
    answer = PyObject_Vectorcall(p->perform, args, p->params == NULL ? 3 : 4, NULL);
    if (answer != NULL)
        status = store_results(f, in, storage, 1);
done:
    Py_XDECREF(answer);
    Py_XDECREF(values);
    Py_XDECREF(storage);
    return status;
}

/* Payload: (perform, node) or (perform, node, params). */
int perform_prepare(Machine *m, Instruction *in, PyObject *payload) {
    (void)m;
    Perform *p = PyMem_Calloc(1, sizeof *p);
    if (p == NULL)
        return -1;
    in->plan = p;
    in->run = perform_run;
    return PyArg_ParseTuple(payload, "OO|O", &p->perform, &p->node, &p->params) ? 0 : -1;
}

static int call_run(Machine *m, Frame *f, const Instruction *in) {
    (void)m;
    return frame_call(f, in, in->plan);
}

static void call_free(void *plan) { (void)plan; /* borrowed from `held` */ }

/* Payload: a callable from the list of input values to a sequence of output values. */
int call_prepare(Machine *m, Instruction *in, PyObject *payload) {
    (void)m;
    in->plan = payload;
    in->run = call_run;
    in->free = call_free;
    return 0;
}

/* Replace the exception that is set (or compose one for a misfit) by what the Python hook returns. */
void machine_explain(Machine *m, Frame *f, int position, int status) {
    PyObject *type = NULL, *error = NULL, *traceback = NULL;
    if (status == RUN_RAISED) {
        PyErr_Fetch(&type, &error, &traceback);
        PyErr_NormalizeException(&type, &error, &traceback);
        if (traceback != NULL && error != NULL)
            PyException_SetTraceback(error, traceback);
    }
    m->failed_instruction = position;
    PyObject *values = frame_values(f, &m->instructions[position]);
    PyObject *raised = NULL;
    if (values != NULL)
        raised = PyObject_CallFunction(m->on_error, "iOO", position, values, error == NULL ? Py_None : error);
    if (raised != NULL && PyExceptionInstance_Check(raised)) {
        PyObject *trace = PyException_GetTraceback(raised);
        PyErr_Restore(Py_NewRef((PyObject *)Py_TYPE(raised)), raised, trace);
        raised = NULL;
    } else if (raised != NULL) {
        PyErr_SetString(PyExc_SystemError, "on_error did not return an exception");
    }
    Py_XDECREF(raised);
    Py_XDECREF(values);
    Py_XDECREF(type);
    Py_XDECREF(error);
    Py_XDECREF(traceback);
}

/* Run one instruction. Returns RUN_DONE, RUN_ASKS, or -1 with an exception that names the node. */
int machine_step(Machine *m, Frame *f, int position) {
    const Instruction *in = &m->instructions[position];
    if (position > 0 && PyErr_CheckSignals() < 0) {
        m->failed_instruction = position;
        return -1;
    }
    int status = m->profile == NULL ? in->run(m, f, in) : profile_step(m, f, position);
    if (status < 0) {
        machine_explain(m, f, position, status);
        return -1;
    }
    return status;
}

/* Run all instructions that the call needs. Returns 0, or -1 with an exception that names the node. */
int machine_execute(Machine *m, Frame *f) {
    if (m->schedule != NULL)
        return schedule_execute(m, f);
    for (int i = 0; i < m->n_instructions; i++) {
        const Instruction *in = &m->instructions[i];
        int status = machine_step(m, f, i);
        if (status == RUN_ASKS) {
            PyErr_SetString(PyExc_RuntimeError, "a lazy operation asks for inputs that have been computed already");
            machine_explain(m, f, i, RUN_RAISED);
        }
        if (status != RUN_DONE)
            return -1;
        if (m->keep == NULL)
            for (int k = 0; k < in->n_release; k++)
                frame_set(f, in->release[k], NULL);
        else
            for (int k = 0; k < in->n_release; k++)
                keep_instead(f, in, in->release[k]);
    }
    return 0;
}
