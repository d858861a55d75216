/* From the arguments of a call to its result. */
#include "runtime.h"
#include <limits.h>

int input_fits(const InputCheck *check, PyObject *value) {
    if (!PyArray_CheckExact(value))
        return 0;
    PyArrayObject *array = (PyArrayObject *)value;
    if (PyArray_TYPE(array) != check->type_num || PyArray_NDIM(array) != check->ndim || !PyArray_ISBEHAVED_RO(array))
        return 0;
    for (int d = 0; d < check->ndim; d++)
        if (check->shape[d] >= 0 && check->shape[d] != PyArray_DIMS(array)[d])
            return 0;
    return 1;
}

/* Where a number is put: where the caller says, or into an array in the register of its input. */
static void *place_of_number(Machine *m, Frame *f, const InputCheck *check, void *data) {
    if (data != NULL)
        return data;
    PyArrayObject *array = buffer_obtain(m, f, check->reg, check->type_num, 0, NULL, 0);
    return array == NULL ? NULL : PyArray_DATA(array);
}

static int accept_float(Machine *m, Frame *f, const InputCheck *check, double value, void *data) {
    if ((data = place_of_number(m, f, check, data)) == NULL)
        return -1;
    if (check->type_num == NPY_DOUBLE)
        *(double *)data = value;
    else
        *(float *)data = (float)value;
    return 1;
}

static int in_range(long long value, long long least, long long most) { return value >= least && value <= most; }

/* Whether a dtype holds an integer exactly; if it does, the value is written to `data`. */
static int write_integer(int type_num, long long value, void *data) {
    const long long exact_double = 1LL << 53, exact_float = 1LL << 24;
    switch (type_num) {
#define INTEGER(NUMBER, TYPE, LEAST, MOST)                                                                             \
    case NUMBER:                                                                                                       \
        if (!in_range(value, LEAST, MOST))                                                                             \
            return 0;                                                                                                  \
        *(TYPE *)data = (TYPE)value;                                                                                   \
        return 1;
        INTEGER(NPY_DOUBLE, double, -exact_double, exact_double)
        INTEGER(NPY_FLOAT, float, -exact_float, exact_float)
        INTEGER(NPY_BYTE, signed char, SCHAR_MIN, SCHAR_MAX)
        INTEGER(NPY_UBYTE, unsigned char, 0, UCHAR_MAX)
        INTEGER(NPY_SHORT, short, SHRT_MIN, SHRT_MAX)
        INTEGER(NPY_USHORT, unsigned short, 0, USHRT_MAX)
        INTEGER(NPY_INT, int, INT_MIN, INT_MAX)
        INTEGER(NPY_UINT, unsigned int, 0, UINT_MAX)
        INTEGER(NPY_LONG, long, LONG_MIN, LONG_MAX)
        INTEGER(NPY_ULONG, unsigned long, 0, LONG_MAX)
        INTEGER(NPY_LONGLONG, long long, LLONG_MIN, LLONG_MAX)
        INTEGER(NPY_ULONGLONG, unsigned long long, 0, LLONG_MAX)
#undef INTEGER
    }
    return 0;
}

/* A Python integer or a NumPy scalar for an argument without dimensions. Returns 1 when it was taken, 0 when the hook
 * has to look at it, -1 with an exception. */
static int accept_scalar(Machine *m, Frame *f, const InputCheck *check, PyObject *value, void *data) {
    if (PyLong_CheckExact(value)) {
        int overflow;
        long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
        _Alignas(long long) char trial[sizeof(long long)];
        if (overflow || !write_integer(check->type_num, number, trial))
            return 0;
        if ((data = place_of_number(m, f, check, data)) == NULL)
            return -1;
        return write_integer(check->type_num, number, data);
    }
    if (!PyArray_IsScalar(value, Generic))
        return 0;
    PyArray_Descr *descr = PyArray_DescrFromScalar(value);
    if (descr == NULL)
        return -1;
    int same = descr->type_num == check->type_num;
    Py_DECREF(descr);
    if (!same)
        return 0;
    if ((data = place_of_number(m, f, check, data)) == NULL)
        return -1;
    PyArray_ScalarAsCtype(value, data);
    return 1;
}

/* A number for an argument without dimensions, put into `data`, or where that is NULL into the register. Returns 1 when
 * it was taken, 0 when the hook has to look at it, -1 with an exception. */
inline int number_accept(Machine *m, Frame *f, const InputCheck *check, PyObject *value, void *data) {
    if (check->takes_float &&
        (PyFloat_CheckExact(value) || (check->type_num == NPY_DOUBLE && Py_IS_TYPE(value, &PyDoubleArrType_Type))))
        return accept_float(m, f, check, PyFloat_AS_DOUBLE(value), data);
    return check->takes_int ? accept_scalar(m, f, check, value, data) : 0;
}

/* Put the value of an argument into its register, in the form that the program wants. */
int input_accept(Machine *m, Frame *f, int index, PyObject *value) {
    const InputCheck *check = &m->inputs[index];
    if (check->type_num >= 0) {
        if (input_fits(check, value)) {
            frame_set(f, check->reg, Py_NewRef(value));
            return 0;
        }
        int taken = number_accept(m, f, check, value, NULL);
        if (taken != 0)
            return taken < 0 ? -1 : 0;
    }
    PyObject *filtered = in_native_form(PyObject_CallFunction(m->on_input, "iO", index, value));
    if (filtered == NULL)
        return -1;
    frame_set(f, check->reg, filtered);
    return 0;
}

int cells_read(Machine *m, Frame *f) {
    for (int k = 0; k < m->n_cells; k++) {
        PyObject *cell = m->cells[k].cell;
        if (PyList_GET_SIZE(cell) < 1) {
            PyErr_SetString(PyExc_ValueError, "the storage of a shared variable has been emptied");
            return -1;
        }
#if WITHOUT_GIL
        PyObject *value = PyList_GetItemRef(cell, 0);
        value = value == NULL ? NULL : in_native_form(value);
#else
        PyObject *value = in_native_form(Py_NewRef(PyList_GET_ITEM(cell, 0)));
#endif
        if (value == NULL)
            return -1;
        frame_set(f, m->cells[k].reg, value);
    }
    return 0;
}

/* Borrowed. */
static PyObject *result_of(const Machine *m, const Frame *f, int k) {
    PyObject *value = f->registers[m->outputs[k]];
    return m->n_overwrite > 0 ? donated_result(value) : value;
}

/* The outputs in the form that the call returns. */
static PyObject *collect(Machine *m, Frame *f, int raw) {
    if (m->single && !raw && m->finish == NULL)
        return Py_NewRef(result_of(m, f, 0));
    PyObject *outputs = PyList_New(m->n_outputs);
    if (outputs == NULL)
        return NULL;
    for (int k = 0; k < m->n_outputs; k++)
        PyList_SET_ITEM(outputs, k, Py_NewRef(result_of(m, f, k)));
    if (m->finish != NULL && !raw)
        Py_SETREF(outputs, PyObject_CallOneArg(m->finish, outputs));
    return outputs;
}

/* Everything has succeeded: store the updates. New values are all known before the first cell changes. */
int updates_store(Machine *m, Frame *f) {
    for (int k = 0; k < m->n_updates; k++)
        if (m->n_overwrite > 0 && undonate(f, m->updates[k].reg) < 0) /* the caller keeps what he has passed */
            return -1;
    for (int k = 0; k < m->n_updates; k++)
        if (PyList_GET_SIZE(m->updates[k].cell) < 1) {
            PyErr_SetString(PyExc_ValueError, "the storage of a shared variable has been emptied");
            return -1;
        }
    if (f->commits != NULL && commits_run(m, f) < 0)
        return -1;
    for (int k = 0; k < m->n_updates; k++) {
        PyObject *cell = m->updates[k].cell, *value = f->registers[m->updates[k].reg];
        if (value == NULL || PyList_GET_SIZE(cell) < 1)
            continue;
        PyObject *old;
        Py_BEGIN_CRITICAL_SECTION(cell);
        old = PyList_GET_ITEM(cell, 0);
        PyList_SET_ITEM(cell, 0, Py_NewRef(value));
        Py_END_CRITICAL_SECTION();
        buffer_retire(m, f, m->updates[k].reg, old);
    }
    return 0;
}

static PyObject *finish_call(Machine *m, Frame *f, int raw, double *run_seconds) {
    double begin = run_seconds == NULL ? 0 : profile_clock();
    int status = m->codes == NULL ? 0 : codes_run(m, f);
    if (status == 0)
        status = machine_execute(m, f);
    if (run_seconds != NULL)
        *run_seconds = profile_clock() - begin;
    if (status < 0)
        return NULL;
    PyObject *result = collect(m, f, raw);
    if (result != NULL && m->n_updates > 0 && updates_store(m, f) < 0)
        Py_CLEAR(result);
    return result;
}

/* The frame of a call that begins: the machine's own, or `extra` where that is in use. NULL with an exception. */
Frame *frame_begin(Machine *m, Frame *extra) {
    Frame *f = &m->frame;
    if (m->in_batch) {
        PyErr_SetString(PyExc_RuntimeError, "this machine runs a batch of calls; each thread needs one of its own");
        return NULL;
    }
    if (m->n_locks > 0 && locks_acquire(m) < 0)
        return NULL;
    if (f->busy) {
        f = extra;
        if (frame_make(m, f) < 0) {
            locks_release(m);
            return NULL;
        }
    }
    f->busy = 1;
    return f;
}

/* The call has ended: its registers are emptied. */
void frame_end(Machine *m, Frame *f, Frame *extra) {
    frame_release_all(m, f);
    f->busy = 0;
    locks_release(m);
    if (f == extra)
        frame_free(m, f);
}

PyObject *call_with(Machine *m, PyObject *const *values, int raw) {
    PyObject *result = NULL, *operands = NULL;
    const int sampled = codes_ask(m);
    double begin = m->profile == NULL && !sampled ? 0 : profile_clock(), run_seconds = 0;
    Frame extra, *f = frame_begin(m, &extra);
    if (f == NULL)
        return NULL;
    if (m->retained != NULL && f == &m->frame)
        retained_drop(m);
    for (int i = 0; i < m->n_inputs; i++)
        if (input_accept(m, f, i, values[i]) < 0)
            goto done;
    if (cells_read(m, f) == 0) {
        if (m->n_overwrite > 0 && donate_inputs(m, f) < 0)
            goto done;
        if (sampled && (operands = codes_operands(m, f)) == NULL)
            goto done;
        result = finish_call(m, f, raw, begin == 0 ? NULL : &run_seconds);
    }
done:
    if (m->retained != NULL && f == &m->frame)
        retained_store(m, f);
    frame_end(m, f, &extra);
    if (m->profile != NULL && begin != 0)
        profile_call(m, begin, run_seconds);
    if (result != NULL && operands != NULL && m->codes != NULL)
        codes_sampled(m, run_seconds, operands);
    Py_XDECREF(operands);
    return result;
}

static PyObject *call_irregular(Machine *m, PyObject *const *args, Py_ssize_t count, PyObject *kwnames) {
    /* What is read for an argument that was left out may be updated by another thread, too. */
    if (m->n_locks > 0 && locks_acquire(m) < 0)
        return NULL;
    PyObject *positional = PyTuple_New(count), *keywords = PyDict_New(), *answer = NULL, *result = NULL;
    if (positional == NULL || keywords == NULL)
        goto done;
    for (Py_ssize_t i = 0; i < count; i++)
        PyTuple_SET_ITEM(positional, i, Py_NewRef(args[i]));
    for (Py_ssize_t k = 0; kwnames != NULL && k < PyTuple_GET_SIZE(kwnames); k++)
        if (PyDict_SetItem(keywords, PyTuple_GET_ITEM(kwnames, k), args[count + k]) < 0)
            goto done;
    answer = PyObject_CallFunctionObjArgs(m->on_irregular, positional, keywords, NULL);
    if (answer == NULL)
        goto done;
    if (!PyTuple_CheckExact(answer)) /* the hook has run the call itself */
        result = Py_NewRef(answer);
    else if (PyTuple_GET_SIZE(answer) == m->n_inputs)
        result = call_with(m, ((PyTupleObject *)answer)->ob_item, 0);
    else
        PyErr_Format(PyExc_SystemError, "on_irregular gave %zd values for %d inputs", PyTuple_GET_SIZE(answer),
                     m->n_inputs);
done:
    Py_XDECREF(answer);
    Py_XDECREF(positional);
    Py_XDECREF(keywords);
    locks_release(m);
    return result;
}

static PyObject *call(Machine *m, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
    Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    if (kwnames != NULL ? PyTuple_GET_SIZE(kwnames) > 0 : 0)
        return call_irregular(m, args, count, kwnames);
    if (count != m->n_inputs)
        return call_irregular(m, args, count, NULL);
    return call_with(m, args, 0);
}

PyObject *machine_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
    PyObject *result;
    MACHINE_BEGIN(self);
    result = call((Machine *)self, args, nargsf, kwnames);
    MACHINE_END();
    return result;
}

/* Method `run(values)`: all outputs as a list, whatever form the call itself gives them. */
PyObject *machine_run(PyObject *self, PyObject *values) {
    Machine *m = (Machine *)self;
    PyObject *sequence = PySequence_Tuple(values), *result = NULL;
    if (sequence == NULL)
        return NULL;
    if (PyTuple_GET_SIZE(sequence) == m->n_inputs) {
        MACHINE_BEGIN(self);
        result = call_with(m, ((PyTupleObject *)sequence)->ob_item, 1);
        MACHINE_END();
    } else
        PyErr_Format(PyExc_TypeError, "run() needs %d values, got %zd", m->n_inputs, PyTuple_GET_SIZE(sequence));
    Py_DECREF(sequence);
    return result;
}
