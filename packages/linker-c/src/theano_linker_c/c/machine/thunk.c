/* Instructions that run the C code of a user's op: a function behind a pointer, without a Python frame. */
#include "runtime.h"

/* The beginning of what cop/thunk.h calls by the same name. */
#define THUNK_NAME "theano_linker_c.thunk"
typedef struct Thunk Thunk;
struct Thunk {
    int (*run)(Thunk *self, PyObject *const *inputs, PyObject **outputs);
    void (*free)(Thunk *self);
    PyObject *params;
    int n_inputs, n_outputs;
};

typedef struct {
    Thunk *thunk;   /* belongs to the capsule in `held` */
    int *type_nums; /* of each output; -1: no array, nothing is kept for the next call */
    int *ndims;
    int n_outputs;
} Plan;

/* Whether an output array of this call may be offered to the next one: nobody sees it, and it is no input. */
static int may_keep(const Frame *f, const Instruction *in, PyObject *value) {
    for (int i = 0; i < in->n_inputs; i++)
        if (f->registers[in->inputs[i]] == value)
            return 0;
    return 1;
}

static int thunk_run(Machine *m, Frame *f, const Instruction *in) {
    const Plan *plan = in->plan;
    PyObject **inputs = f->scratch, **outputs = inputs + in->n_inputs;
    for (int i = 0; i < in->n_inputs; i++) {
        inputs[i] = f->registers[in->inputs[i]];
        if (inputs[i] == NULL) {
            PyErr_Format(PyExc_ValueError, "operand %d has no value: the node that computes it left its output empty",
                         i);
            return RUN_RAISED;
        }
    }
    for (int k = 0; k < in->n_outputs; k++)
        outputs[k] =
            plan->type_nums[k] < 0 ? NULL : buffer_recall(m, in->outputs[k], plan->type_nums[k], plan->ndims[k]);
    if (plan->thunk->run(plan->thunk, inputs, outputs) < 0)
        return RUN_RAISED;
    int status = RUN_DONE;
    for (int k = 0; k < in->n_outputs; k++) {
        PyObject *value = outputs[k] == NULL ? Py_NewRef(Py_None) : outputs[k];
        if (status == RUN_RAISED)
            Py_DECREF(value);
        else if (result_store(f, in, k, value, 0) < 0)
            status = RUN_RAISED;
        else if (plan->type_nums[k] >= 0 && may_keep(f, in, f->registers[in->outputs[k]]))
            buffer_offer(m, f, in->outputs[k]);
    }
    return status;
}

static void thunk_free(void *plan) {
    Plan *p = plan;
    PyMem_Free(p->type_nums);
    PyMem_Free(p->ndims);
    PyMem_Free(p);
}

/* Payload: (capsule of a thunk, type numbers of the outputs, their numbers of dimensions). */
int thunk_prepare(Machine *m, Instruction *in, PyObject *payload) {
    PyObject *capsule, *type_nums, *ndims;
    int n_ndims;
    Plan *p = PyMem_Calloc(1, sizeof *p);
    if (p == NULL)
        return -1;
    in->plan = p;
    in->run = thunk_run;
    in->free = thunk_free;
    if (!PyArg_ParseTuple(payload, "OO!O!", &capsule, &PyTuple_Type, &type_nums, &PyTuple_Type, &ndims))
        return -1;
    p->thunk = PyCapsule_GetPointer(capsule, THUNK_NAME);
    p->type_nums = parse_ints(type_nums, &p->n_outputs);
    p->ndims = parse_ints(ndims, &n_ndims);
    if (p->thunk == NULL || p->type_nums == NULL || p->ndims == NULL)
        return -1;
    if (p->thunk->n_inputs != in->n_inputs || p->thunk->n_outputs != in->n_outputs || p->n_outputs != in->n_outputs ||
        n_ndims != in->n_outputs) {
        PyErr_SetString(PyExc_ValueError, "thunk payload: it is made for another number of inputs or outputs");
        return -1;
    }
    machine_need_scratch(m, (size_t)(in->n_inputs + in->n_outputs + 1) * sizeof(PyObject *));
    return 0;
}
