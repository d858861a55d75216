/* The instruction loop, and instructions that run Python code. */
#include "capture.h"

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

/* Replace the exception that is set (or compose one for a mismatch) by what the Python hook returns. */
void machine_explain(Machine *m, Frame *f, int position, int status) {
    PyObject *error = status == RUN_RAISED ? error_take() : NULL;
    m->failed_instruction = position;
    PyObject *values = frame_values(f, &m->instructions[position]);
    PyObject *raised = NULL;
    if (values != NULL)
        raised = PyObject_CallFunction(m->on_error, "iOO", position, values, error == NULL ? Py_None : error);
    if (raised != NULL && PyExceptionInstance_Check(raised)) {
        error_set(raised);
        raised = NULL;
    } else if (raised != NULL) {
        PyErr_SetString(PyExc_SystemError, "on_error did not return an exception");
    }
    Py_XDECREF(raised);
    Py_XDECREF(values);
    Py_XDECREF(error);
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

/* The same in a batch of calls. The GIL is let go where the instruction can do without it. */
static int step_in_batch(Machine *m, Frame *f, int position) {
    const Instruction *in = &m->instructions[position];
    if (m->open != NULL || !is_nogil(in->code))
        gil_take();
    int status = in->run(m, f, in);
    if (status < 0) {
        gil_take();
        machine_explain(m, f, position, status);
        return -1;
    }
    return status;
}

/* Each of its two callers has a copy of its own, so that single calls do not ask whether they are in a batch. Runs are
 * captured with the GIL, and replayed without it in a batch. */
static inline __attribute__((always_inline)) int execute(Machine *m, Frame *f, const int in_batch) {
    const int replays = captures_apply(m, f);
    for (int i = 0; i < m->n_instructions; i++) {
        if (in_batch && gil_let_go == NULL && m->open == NULL)
            gil_let_go = PyEval_SaveThread();
        if (replays && m->captures[i] != NULL) {
            int next = captures_enter(m, f, i);
            if (next > i) {
                i = next - 1;
                continue;
            }
        }
        const Instruction *in = &m->instructions[i];
        int status = in_batch ? step_in_batch(m, f, i) : machine_step(m, f, i);
        if (status == RUN_ASKS) {
            gil_take();
            PyErr_SetString(PyExc_RuntimeError, "a lazy operation asks for inputs that have been computed already");
            machine_explain(m, f, i, RUN_RAISED);
        }
        if (status != RUN_DONE) {
            if (f == &m->frame)
                captures_abandon(m);
            return -1;
        }
        if (m->open != NULL && f == &m->frame)
            captures_after(m, f, i);
        if (in_batch || m->retained == NULL)
            for (int k = 0; k < in->n_release; k++)
                frame_set(f, in->release[k], NULL);
        else
            for (int k = 0; k < in->n_release; k++)
                retain_instead_of_release(f, in, in->release[k]);
    }
    return 0;
}

/* Run all instructions that the call needs. Returns 0, or -1 with an exception that names the node. */
int machine_execute(Machine *m, Frame *f) { return m->schedule != NULL ? schedule_execute(m, f) : execute(m, f, 0); }

/* The same for a call of a batch, by a machine without schedule, which keeps nothing: it may return without the GIL. */
int machine_execute_in_batch(Machine *m, Frame *f) { return execute(m, f, 1); }
