/* What Python code and users' C code leave as results: looked at before it gets into registers, so that whatever reads
 * a register finds there what the type says. Arrays, NumPy scalars for arrays without axes, and values of a class that
 * has been found right before are told at once; everything else is handed to `on_result`, which returns the value in
 * the form that registers hold, or raises the error that names the op. */
#include "runtime.h"

enum { KIND_ANYTHING = -1, KIND_BY_CLASS = -2, KIND_BY_VALUE = -3 };

struct ResultCheck {
    int kind; /* number of the dtype of an array, or one of the kinds above */
    int ndim;
    npy_intp *shape;    /* -1 where not known ahead */
    PyTypeObject *seen; /* owned: class of the value that was found right last, or NULL */
};

static int is_right_array(const ResultCheck *check, PyObject *value) {
    if (!PyArray_Check(value))
        return 0;
    PyArrayObject *array = (PyArrayObject *)value;
    if (PyArray_TYPE(array) != check->kind || PyArray_NDIM(array) != check->ndim || !PyArray_ISBEHAVED_RO(array))
        return 0;
    for (int d = 0; d < check->ndim; d++)
        if (check->shape[d] >= 0 && check->shape[d] != PyArray_DIMS(array)[d])
            return 0;
    return 1;
}

static int is_right(const ResultCheck *check, PyObject *value) {
    if (check->kind >= 0)
        return is_right_array(check, value);
    return check->kind == KIND_ANYTHING || (check->kind == KIND_BY_CLASS && check->seen == Py_TYPE(value));
}

/* Ask Python. Takes over `value`, and returns what is to be stored, or NULL with an exception. */
static PyObject *ask(const Instruction *in, int k, PyObject *value, int replaced) {
    ResultCheck *check = &in->checks[k];
    PyObject *accepted = PyObject_CallFunction(in->machine->on_result, "niOi", in->position, k, value, replaced);
    if (accepted == value && check->kind == KIND_BY_CLASS)
        Py_XSETREF(check->seen, (PyTypeObject *)Py_NewRef((PyObject *)Py_TYPE(value)));
    Py_DECREF(value);
    return accepted;
}

/* Put a result, which is taken over, into its register. `replaced`: it does not lie where it should. */
int result_store(Frame *f, const Instruction *in, int k, PyObject *value, int replaced) {
    if (in->checks != NULL) {
        const ResultCheck *check = &in->checks[k];
        if (check->kind >= 0 && check->ndim == 0 && !replaced && !PyArray_CheckExact(value) &&
            PyArray_IsScalar(value, Generic))
            Py_SETREF(value, PyArray_FromScalar(value, NULL));
        if (value != NULL && (replaced || !is_right(check, value)))
            value = ask(in, k, value, replaced);
        if (value == NULL)
            return RUN_RAISED;
    }
    frame_set(f, in->outputs[k], value);
    return RUN_DONE;
}

/* Store what a function has returned. */
int frame_store(Frame *f, const Instruction *in, PyObject *results) {
    Py_ssize_t count = PySequence_Size(results);
    if (count < 0)
        return RUN_RAISED;
    if (count != in->n_outputs) {
        PyErr_Format(PyExc_ValueError, "%zd results for %d outputs", count, in->n_outputs);
        return RUN_RAISED;
    }
    for (int k = 0; k < in->n_outputs; k++) {
        PyObject *value = PySequence_GetItem(results, k);
        if (value == NULL || result_store(f, in, k, value, 0) < 0)
            return RUN_RAISED;
    }
    return RUN_DONE;
}

void results_free(Instruction *in) {
    for (int k = 0; in->checks != NULL && k < in->n_outputs; k++) {
        PyMem_Free(in->checks[k].shape);
        Py_CLEAR(in->checks[k].seen);
    }
    PyMem_Free(in->checks);
    in->checks = NULL;
}

/* `rows`: for each output its kind, and the static shape of an array. */
int results_setup(Instruction *in, PyObject *rows) {
    if (PyTuple_GET_SIZE(rows) != in->n_outputs) {
        PyErr_SetString(PyExc_ValueError, "program: one check for each output");
        return -1;
    }
    in->checks = PyMem_Calloc(in->n_outputs + 1, sizeof *in->checks);
    for (int k = 0; in->checks != NULL && k < in->n_outputs; k++) {
        ResultCheck *check = &in->checks[k];
        PyObject *shape;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(rows, k), "iO!", &check->kind, &PyTuple_Type, &shape) ||
            (check->shape = parse_intps(shape, &check->ndim)) == NULL)
            return -1;
    }
    return in->checks == NULL ? -1 : 0;
}

/* Instructions that run `perform` -------------------------------------------------------------------------------- */

/* The storage that `perform` fills: a list of lists of one element. It serves the next call where nobody else has kept
 * a part of it. */
typedef struct {
    PyObject *storage;
    PyObject *slots[]; /* owned; what the list held when it was made */
} Storage;

typedef struct {
    PyObject *perform, *node, *params; /* borrowed from the payload; params may be NULL */
    Storage *spare;                    /* NULL while a call has it */
} Perform;

static void storage_free(Storage *s, int count) {
    Py_CLEAR(s->storage);
    for (int k = 0; k < count; k++)
        Py_CLEAR(s->slots[k]);
    PyMem_Free(s);
}

static Storage *storage_make(int count) {
    Storage *s = PyMem_Calloc(1, sizeof *s + count * sizeof(PyObject *));
    if (s == NULL)
        return (Storage *)PyErr_NoMemory();
    s->storage = PyList_New(count);
    for (int k = 0; s->storage != NULL && k < count; k++) {
        PyObject *slot = PyList_New(1);
        if (slot == NULL) {
            Py_CLEAR(s->storage);
            break;
        }
        PyList_SET_ITEM(slot, 0, Py_NewRef(Py_None));
        s->slots[k] = slot;
        PyList_SET_ITEM(s->storage, k, Py_NewRef(slot));
    }
    if (s->storage != NULL)
        return s;
    storage_free(s, count);
    return NULL;
}

/* Take the results out of the storage. Where all of it is as it was made, it is kept for the next call. */
static int storage_empty(Frame *f, const Instruction *in, Storage *s, int *reusable) {
    int whole = PyList_GET_SIZE(s->storage) == in->n_outputs;
    *reusable = whole && Py_REFCNT(s->storage) == 1;
    for (int k = 0; k < in->n_outputs; k++) {
        PyObject *slot = s->slots[k], *value;
        int replaced = !whole || PyList_GET_ITEM(s->storage, k) != slot || PyList_GET_SIZE(slot) != 1;
        if (replaced) {
            *reusable = 0;
            if (in->checks == NULL) {
                PyErr_SetString(PyExc_TypeError, "a cell for a result was replaced");
                return RUN_RAISED;
            }
            value = Py_NewRef(Py_None);
        } else if (Py_REFCNT(slot) == 2) {
            value = PyList_GET_ITEM(slot, 0);
            PyList_SET_ITEM(slot, 0, Py_NewRef(Py_None));
        } else {
            *reusable = 0;
            value = Py_NewRef(PyList_GET_ITEM(slot, 0));
        }
        if (result_store(f, in, k, value, replaced) < 0)
            return RUN_RAISED;
    }
    return RUN_DONE;
}

static int perform_run(Machine *m, Frame *f, const Instruction *in) {
    Perform *p = in->plan;
    int status = RUN_RAISED, reusable = 0;
    PyObject *values = frame_values(f, in), *answer = NULL;
    Storage *s = p->spare;
    (void)m;
    p->spare = NULL;
    if (values == NULL || (s == NULL && (s = storage_make(in->n_outputs)) == NULL))
        goto done;
    PyObject *args[4] = {p->node, values, s->storage, p->params};
    answer = PyObject_Vectorcall(p->perform, args, p->params == NULL ? 3 : 4, NULL);
    if (answer != NULL)
        status = storage_empty(f, in, s, &reusable);
done:
    Py_XDECREF(answer);
    Py_XDECREF(values);
    if (s != NULL && status == RUN_DONE && reusable && p->spare == NULL)
        p->spare = s;
    else if (s != NULL)
        storage_free(s, in->n_outputs);
    return status;
}

static void perform_free(void *plan) {
    Perform *p = plan;
    if (p->spare != NULL)
        storage_free(p->spare, (int)PyList_GET_SIZE(p->spare->storage));
    PyMem_Free(p);
}

/* Payload: (perform, node) or (perform, node, params). */
int perform_prepare(Machine *m, Instruction *in, PyObject *payload) {
    (void)m;
    Perform *p = PyMem_Calloc(1, sizeof *p);
    if (p == NULL)
        return -1;
    in->plan = p;
    in->run = perform_run;
    in->free = perform_free;
    return PyArg_ParseTuple(payload, "OO|O", &p->perform, &p->node, &p->params) ? 0 : -1;
}
