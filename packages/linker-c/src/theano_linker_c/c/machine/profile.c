/* Counters of a machine: calls, times of instructions. A machine without them pays one test of a pointer a call. */
#include "runtime.h"
#include <time.h>

struct Profile {
    double *seconds;      /* of each instruction */
    int64_t *counts;      /* how many times each has run to its end */
    double call_seconds;  /* whole calls, from the arguments to the result */
    double run_seconds;   /* running the instructions, with what lies between them */
    double watch_seconds; /* in the observer */
    int64_t calls;
    int skip;           /* calls whose figures are thrown away */
    PyObject *observer; /* called (index, input values, output values) after each instruction; or NULL */
};

double profile_clock(void) {
    struct timespec now;
    timespec_get(&now, TIME_UTC);
#ifdef CLOCK_MONOTONIC
    clock_gettime(CLOCK_MONOTONIC, &now);
#endif
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void profile_free(Machine *m) {
    Profile *p = m->profile;
    if (p == NULL)
        return;
    m->profile = NULL;
    PyMem_Free(p->seconds);
    PyMem_Free(p->counts);
    Py_XDECREF(p->observer);
    PyMem_Free(p);
}

int profile_traverse(Machine *m, visitproc visit, void *arg) {
    if (m->profile != NULL)
        Py_VISIT(m->profile->observer);
    return 0;
}

/* Method `start_profile(skip, observer)`: count from now on, without the first `skip` calls. */
PyObject *machine_start_profile(PyObject *self, PyObject *args) {
    Machine *m = (Machine *)self;
    PyObject *observer;
    int skip;
    if (!PyArg_ParseTuple(args, "iO", &skip, &observer))
        return NULL;
    Profile *p = PyMem_Calloc(1, sizeof *p);
    if (p == NULL)
        return PyErr_NoMemory();
    p->seconds = PyMem_Calloc(m->n_instructions + 1, sizeof(double));
    p->counts = PyMem_Calloc(m->n_instructions + 1, sizeof(int64_t));
    p->skip = skip;
    p->observer = observer == Py_None ? NULL : Py_NewRef(observer);
    profile_free(m);
    m->profile = p;
    if (p->seconds == NULL || p->counts == NULL) {
        profile_free(m);
        return PyErr_NoMemory();
    }
    Py_RETURN_NONE;
}

/* Method `read_profile()`: (calls, seconds of calls, of running, in the observer, counts, seconds), or None. */
PyObject *machine_read_profile(PyObject *self, PyObject *unused) {
    Machine *m = (Machine *)self;
    const Profile *p = m->profile;
    (void)unused;
    if (p == NULL)
        Py_RETURN_NONE;
    PyObject *counts = PyTuple_New(m->n_instructions), *seconds = PyTuple_New(m->n_instructions), *result = NULL;
    for (int i = 0; counts != NULL && seconds != NULL && i < m->n_instructions; i++) {
        PyTuple_SET_ITEM(counts, i, PyLong_FromLongLong(p->counts[i]));
        PyTuple_SET_ITEM(seconds, i, PyFloat_FromDouble(p->seconds[i]));
    }
    if (counts != NULL && seconds != NULL)
        result = Py_BuildValue("LdddOO", (long long)p->calls, p->call_seconds, p->run_seconds, p->watch_seconds, counts,
                               seconds);
    Py_XDECREF(counts);
    Py_XDECREF(seconds);
    return result;
}

static int observe(Machine *m, Frame *f, int position) {
    Profile *p = m->profile;
    const Instruction *in = &m->instructions[position];
    double begin = profile_clock();
    PyObject *inputs = frame_values(f, in), *outputs = frame_results(f, in), *answer = NULL;
    PyObject *observer = Py_NewRef(p->observer);
    if (inputs != NULL && outputs != NULL)
        answer = PyObject_CallFunction(observer, "iOO", position, inputs, outputs);
    Py_DECREF(observer);
    Py_XDECREF(inputs);
    Py_XDECREF(outputs);
    if (answer == NULL)
        return -1;
    Py_DECREF(answer);
    if (m->profile == p) /* the observer may have started another, which frees this one */
        p->watch_seconds += profile_clock() - begin;
    return 0;
}

/* Run one instruction and count it. */
int profile_step(Machine *m, Frame *f, int position) {
    const Instruction *in = &m->instructions[position];
    double begin = profile_clock();
    int status = in->run(m, f, in);
    if (m->profile == NULL) /* taken away by the code that has just run */
        return status;
    m->profile->seconds[position] += profile_clock() - begin;
    if (status == RUN_DONE) {
        m->profile->counts[position]++;
        if (m->profile->observer != NULL && observe(m, f, position) < 0)
            return RUN_RAISED;
    }
    return status;
}

/* A call has ended, perhaps with an error. A nested call counts too; its time is part of the instruction that made
 * it. */
void profile_call(Machine *m, double begin, double run_seconds) {
    Profile *p = m->profile;
    if (p == NULL)
        return;
    if (p->skip > 0) {
        p->skip--;
        memset(p->seconds, 0, m->n_instructions * sizeof(double));
        memset(p->counts, 0, m->n_instructions * sizeof(int64_t));
        p->watch_seconds = 0;
        return;
    }
    p->calls++;
    p->call_seconds += profile_clock() - begin;
    p->run_seconds += run_seconds;
}
